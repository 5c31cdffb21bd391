//! Programs inside a host: processes that see the host's network and names, and no process outside.
//!
//! Follows pid_namespaces(7) and mount_namespaces(7): the program's parent is the first process of a PID namespace, so that its end
//! kills all processes that the program has left; and it is killed when this process ends, however that happens.
//! Differs from `ip netns exec`: names of hosts are in /etc/hosts, and there is no name server.
//! Leaves out the files of other hosts: all share the file system.

use crate::error::{Error, Tried};
use crate::namespace::Namespace;
use crate::signals::{by_a_process, handle};
use crate::terminal;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};

/// First argument of a process that becomes a program inside a host; not for users.
pub const ARGUMENT: &str = "emulate-inside";

/// Option after it if the program is a shell.
const SHELL: &str = "shell";

/// Exit codes of shells.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
const NOT_PREPARED: u8 = 125;

/// Path of a command: the given one, or that in the first folder of `PATH` which contains it.
///
/// # Errors
///
/// There is no such command, or it cannot be executed; with the exit code that shells use.
pub fn find(command: &OsStr) -> Result<PathBuf, Error> {
    let name = Path::new(command);
    let shown = name.display();
    let executable =
        |path: &Path| rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file();
    if command.as_bytes().contains(&b'/') {
        return match (executable(name), name.exists()) {
            (true, _) => Ok(name.to_owned()),
            (false, true) => Err(Error::Command(format!("{shown}: it cannot be executed"), NOT_EXECUTABLE)),
            (false, false) => Err(Error::Command(format!("{shown}: there is no such file"), NOT_FOUND)),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| executable(path));
    found.ok_or_else(|| Error::Command(format!("{shown}: command not found"), NOT_FOUND))
}

/// Use of the terminal by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalOwner {
    /// A command: it has the standard streams of skyhop.
    Front,
    /// A shell: the same, and it controls the terminal while it runs.
    Shell,
    /// A server: it has no input, writes to standard error, and is not interrupted with the command.
    Behind,
}

/// Starts a command in a host whose table of names is `names`. `own` is a program that calls [`main`], with leading arguments; this
/// program's own file if there is none.
///
/// # Errors
///
/// The system cannot start a process.
pub fn start(
    namespace: &Namespace,
    names: &str,
    (own, command): (&[OsString], &[OsString]),
    place: TerminalOwner,
) -> Result<Child, Error> {
    let (program, words) = match own.split_first() {
        Some((program, words)) => (PathBuf::from(program), words),
        None => (own_file()?, [].as_slice()),
    };
    let network = namespace.fd.as_fd().as_raw_fd();
    let mut process = Command::new(program);
    process
        .args(words)
        .arg(ARGUMENT)
        .arg(if place == TerminalOwner::Shell { SHELL } else { "" })
        .arg(names)
        .args(command);
    if place == TerminalOwner::Behind {
        let to = io::stderr()
            .as_fd()
            .try_clone_to_owned()
            .tried(|| "cannot write to standard error".to_owned())?;
        process.stdin(Stdio::null()).stdout(to).process_group(0);
    }
    let enter = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // SAFETY: the descriptor is that of a namespace which outlives the call; the parent waits until the child has done this.
        let network = unsafe { rustix::fd::BorrowedFd::borrow_raw(network) };
        rustix::thread::move_into_link_name_space(network, Some(LinkNameSpaceType::Network))?;
        // The loop's limits do not apply to the command.
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure lives through the calls.
        unsafe {
            if libc::getrlimit(libc::RLIMIT_RTTIME, &raw mut limit) == 0 {
                limit.rlim_cur = limit.rlim_max;
                libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit);
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec system calls are made, which allocate nothing.
    unsafe { process.pre_exec(enter) };
    process.spawn().tried(|| "cannot start a process inside a host".to_owned())
}

/// This program's file; if another file has taken its name since the start, the running one.
fn own_file() -> Result<PathBuf, Error> {
    let file = std::env::current_exe().tried(|| "cannot find this program's own file".to_owned())?;
    Ok(if file.exists() { file } else { PathBuf::from("/proc/self/exe") })
}

/// The exit code that a shell would give to a process.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.map_or(1, |code| code as u8)
}

/// Main function of a process whose first argument is [`ARGUMENT`]: it creates its namespaces, and in them a process that starts
/// the command and waits for it. Returns the exit code.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let shell = arguments.next().is_some_and(|word| word == SHELL);
    let names = arguments.next().unwrap_or_default();
    let command: Vec<OsString> = arguments.collect();
    hand_signals_on();
    match prepare(&names) {
        Ok(()) => {}
        Err(why) => {
            eprintln!("skyhop emulate: {why}");
            return NOT_PREPARED;
        }
    }
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        0 => first_process(&command, shell),
        child if child > 0 => {
            BELOW.store(child, Ordering::Relaxed);
            wait_for(Pid::from_raw(child))
        }
        _ => {
            eprintln!("skyhop emulate: cannot start a process: {}", io::Error::last_os_error());
            NOT_PREPARED
        }
    }
}

/// The process to which this one passes signals on: 0 is none yet, -1 is all processes of a namespace except its first.
static BELOW: AtomicI32 = AtomicI32::new(0);

/// Installs signal handlers: Ctrl-C reaches the program from the terminal, as it reaches this process, and the program may
/// continue; a signal sent by a process is passed on. Started programs have the default effect of handled signals; ignored ones
/// stay ignored.
fn hand_signals_on() {
    extern "C" fn hand_on(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        let below = BELOW.load(Ordering::Relaxed);
        // SAFETY: the system hands the structure over, and sending a signal is allowed in a handler.
        unsafe {
            if below != 0 && by_a_process(info) {
                libc::kill(below, signal);
            }
        }
    }
    handle(&[libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP], hand_on);
}

/// Creates PID and mount namespaces, with the names of hosts and the devices of this network.
fn prepare(names: &OsStr) -> Result<(), Error> {
    // SAFETY: the process has one thread, and these namespaces change no memory.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::NEWPID) }
        .tried(|| "cannot make a namespace of mounts".to_owned())?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).tried(|| "cannot keep mounts to this host".to_owned())?;
    // A private place for two files; /sys is mounted again below in any case, so that it shows this network's devices.
    let nothing = None::<&std::ffi::CStr>;
    rustix::mount::mount("tmpfs", "/sys", "tmpfs", MountFlags::empty(), nothing)
        .tried(|| "cannot mount a place for the names of hosts".to_owned())?;
    for (file, text) in [("/etc/hosts", names.as_bytes()), ("/etc/resolv.conf", b"".as_slice())] {
        let Ok(target) = fs::canonicalize(file) else { continue };
        let own = Path::new("/sys").join(target.file_name().unwrap_or_default());
        fs::write(&own, text).tried(|| format!("cannot write {file} of this host"))?;
        // Readable by a program that drops its privileges.
        let _ = fs::set_permissions(&own, fs::Permissions::from_mode(0o644));
        rustix::mount::mount_bind(&own, &target).tried(|| format!("cannot give this host its own {file}"))?;
    }
    rustix::mount::unmount("/sys", UnmountFlags::DETACH).tried(|| "cannot unmount /sys".to_owned())?;
    // In a nested user namespace the system may refuse this; /sys then shows the devices outside, which harms nothing.
    let _ = rustix::mount::mount("sysfs", "/sys", "sysfs", MountFlags::empty(), nothing);
    Ok(())
}

/// The first process of its namespace: it starts the command, waits for orphaned processes, and ends with the command.
fn first_process(command: &[OsString], shell: bool) -> u8 {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let _ = rustix::mount::mount("proc", "/proc", "proc", MountFlags::empty(), None::<&std::ffi::CStr>);
    let Some(program) = command.first() else { return NOT_PREPARED };
    let mut process = Command::new(program);
    process.args(&command[1..]);
    if shell {
        // A shell whose process group is outside of its namespace has no job control.
        let lead = || {
            rustix::process::setpgid(None, None)?;
            terminal::give(rustix::process::getpid().as_raw_nonzero().get());
            Ok(())
        };
        // SAFETY: between fork and exec system calls are made, which allocate nothing.
        unsafe { process.pre_exec(lead) };
    }
    let child = match process.spawn() {
        Ok(child) => child,
        Err(why) => {
            eprintln!("skyhop emulate: {}: {why}", program.display());
            return if why.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
        }
    };
    BELOW.store(-1, Ordering::Relaxed);
    wait_for(Pid::from_raw(child.id() as i32))
}

/// Waits for all processes that end, until `process` has. Returns its exit code.
fn wait_for(process: Option<Pid>) -> u8 {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == process => return code_of(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return NOT_PREPARED,
        }
    }
}

fn code_of(status: WaitStatus) -> u8 {
    let signal = || status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or_else(signal).map_or(1, |code| code as u8)
}

/// The user's shell.
pub fn shell() -> OsString {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}
