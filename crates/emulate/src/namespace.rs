//! Network namespaces, which serve as hosts.
//!
//! Follows network_namespaces(7). A namespace here has no name and no file: it vanishes with its last process and its last
//! descriptor, also when this process is killed.
//! Leaves out its devices and programs.

use crate::error::{Error, Tried};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::Signal;
use rustix::thread::{CapabilitySet, LinkNameSpaceType, UnshareFlags};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;

/// A network namespace, which lasts as long as a copy of this value.
#[derive(Debug, Clone)]
pub struct Namespace {
    /// A descriptor by which to enter it.
    pub fd: Arc<OwnedFd>,
}

impl Namespace {
    /// Moves the calling thread into it.
    pub fn enter(&self) -> io::Result<()> {
        Ok(rustix::thread::move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Runs `work` in it, on a separate thread. Sockets stay in the namespace where they were opened.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        thread::scope(|scope| match scope.spawn(|| self.enter().map(|()| work())).join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    /// Starts a program in it, which is killed when the calling thread ends, however that happens. Its process group is its own, so
    /// that Ctrl-C at a terminal does not reach it.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let network = self.fd.as_fd().as_raw_fd();
        let enter = move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // SAFETY: the descriptor outlives the call, as the parent waits until the child has done this.
            let network = unsafe { BorrowedFd::borrow_raw(network) };
            rustix::thread::move_into_link_name_space(network, Some(LinkNameSpaceType::Network))?;
            Ok(())
        };
        // SAFETY: between fork and exec system calls are made, which allocate nothing.
        unsafe { command.process_group(0).pre_exec(enter) }.spawn()
    }

    /// The calling thread's own namespace.
    pub fn own() -> Result<Self, Error> {
        let fd = openat(CWD, "/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        fd.map(|fd| Self { fd: Arc::new(fd) }).tried(|| "cannot open a network namespace".to_owned())
    }

    /// Creates a namespace and runs `furnish` in it, on a separate thread.
    pub fn with<T: Send>(furnish: impl FnOnce() -> Result<T, Error> + Send) -> Result<(Self, T), Error> {
        let make = || {
            // SAFETY: a namespace for the network changes no memory and no file descriptor of this thread.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
                .tried(|| "cannot make a network namespace".to_owned())?;
            Ok((Self::own()?, furnish()?))
        };
        thread::scope(|scope| match scope.spawn(make).join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}

/// Sets a parameter of the calling thread's network namespace, by its path below /proc/sys/net. One that this kernel lacks is
/// ignored.
pub fn set_parameter(name: &str, value: &str) -> Result<(), Error> {
    match fs::write(format!("/proc/sys/net/{name}"), value) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.tried(|| format!("cannot set net/{name} to {value}")),
    }
}

/// Spreads the packets that devices receive over all processors (receive packet steering, Documentation/networking/scaling.rst of
/// Linux), for devices that are created afterwards in the calling thread's namespace. A flow's packets stay in order. A kernel that
/// lacks or refuses this handles all packets on the processor of the thread that writes them.
pub fn spread_receiving() {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    if processors > 1 {
        let _ = set_parameter("core/rps_default_mask", &mask_of(processors));
    }
}

/// The first processors as the kernel writes such a set: groups of eight hexadecimal digits, the highest first.
fn mask_of(processors: usize) -> String {
    let group = |first: usize| u32::MAX >> (32 - (processors - first).min(32));
    let groups: Vec<String> =
        (0..processors).step_by(32).rev().map(|first| format!("{:08x}", group(first))).collect();
    groups.join(",")
}

/// A parameter of the calling thread's network namespace; `None` if this kernel lacks it.
pub fn parameter(name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/net/{name}")).ok().map(|text| text.trim().to_owned())
}

/// The path below /proc/sys/net of a parameter, from its name in sysctl(8).
///
/// # Errors
///
/// The reason for which no parameter can have this name.
pub fn parameter_path(name: &str) -> Result<String, String> {
    let path = name.replace('.', "/");
    let path = path.strip_prefix("net/").ok_or_else(|| format!("\"{name}\" is not below net."))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-/".contains(c);
    match !path.is_empty() && path.chars().all(plain) {
        true => Ok(path.to_owned()),
        false => Err(format!("\"{name}\" is no name of a parameter")),
    }
}

/// Sets a parameter that the user has asked for.
///
/// # Errors
///
/// This kernel lacks the parameter in a namespace, or refuses the value.
pub fn require_parameter(name: &str, value: &str) -> Result<(), Error> {
    let option = || format!("--sysctl net.{}", name.replace('/', "."));
    fs::write(format!("/proc/sys/net/{name}"), value).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => Error::Scenario(
            option(),
            "a host has no such parameter; expected one below net., such as net.ipv4.tcp_rmem".into(),
        ),
        _ => Error::Scenario(option(), format!("the kernel does not take \"{value}\": {why}")),
    })
}

/// Makes the process root of a user namespace if it may not create network namespaces. To be called before other threads start.
/// `device` is a device of this machine that serves as a host, if there is one: a user namespace has none of them.
///
/// # Errors
///
/// Neither is allowed; the message says which settings of the system forbid it.
pub fn become_able(device: Option<&str>) -> Result<bool, Error> {
    let able = rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN));
    if able {
        return Ok(false);
    }
    if let Some(device) = device {
        return Err(Error::Lacking(format!(
            "{device} is a device of this machine, so that its packets are for root alone to lead through the network (CAP_NET_ADMIN and \
             CAP_SYS_ADMIN); without a device at a host, this user may emulate the same scenario"
        )));
    }
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // SAFETY: the process has one thread, and a user namespace changes neither memory nor descriptors.
    let made = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) };
    let map = || {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
    };
    made.map_err(io::Error::from).and_then(|()| map()).map_err(|why| Error::Lacking(refused(&why)))?;
    Ok(true)
}

/// The reason for which this process may not create namespaces, and the setting that would allow it.
fn refused(why: &io::Error) -> String {
    let number = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let mut text = format!(
        "hosts of an emulation are network namespaces, which need root (CAP_SYS_ADMIN and CAP_NET_ADMIN) or a user namespace, and \
            the kernel refuses that: {why}"
    );
    for (path, zero, name) in [
        ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns",
        ),
    ] {
        if number(path).as_deref() == Some(zero) {
            text += &format!("\n  sysctl {name} is {zero}");
        }
    }
    text + "\n  skyhop run simulates the same scenario without any of it"
}

#[cfg(test)]
mod tests {
    use super::mask_of;

    #[test]
    fn a_set_of_processors_is_written_as_the_kernel_reads_it() {
        let written = [1, 2, 32, 33, 100].map(mask_of);
        let expected =
            ["00000001", "00000003", "ffffffff", "00000001,ffffffff", "0000000f,ffffffff,ffffffff,ffffffff"];
        assert_eq!(written, expected);
    }
}
