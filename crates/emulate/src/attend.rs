//! Programs in the hosts of an emulation: servers, and the command until it has ended.
//!
//! Follows shells: Ctrl-C goes to the command, which may handle it and continue; a second one ends it. A signal that ends skyhop
//! ends the command, first with SIGTERM. Leaves out starting a program (`inside`).

use crate::about::EmulationOptions;
use crate::clock::RunClock;
use crate::error::{Error, Tried};
use crate::inside;
use crate::namespace::Namespace;
use crate::serve::Servers;
use crate::signals::Signals;
use crate::terminal::Tty;
use skyhop_units::{Span, Time};
use std::io;
use std::os::fd::AsFd;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// Interval between checks for signals.
const LOOK: Duration = Duration::from_millis(100);
/// Time allowed to a command after it was asked to end.
const PATIENCE: Span = Span::from_secs(5);
/// Exit code of a run that was interrupted.
const INTERRUPTED: u8 = 130;

/// The hosts of programs.
#[derive(Debug)]
pub struct ProgramHosts<'a> {
    /// The host of the command.
    pub user: &'a Namespace,
    /// The host of the server.
    pub server: &'a Namespace,
    /// The server's host is a device: machines behind it have servers of their own.
    pub server_behind: bool,
    /// Some host is a device, whose traffic an interrupt ends in the regular way.
    pub routes: bool,
    /// The table of names in them: `/etc/hosts`.
    pub names: String,
}

/// Starts servers and the command, and waits until the command has ended; without one, until the loop has. Returns the exit code.
///
/// # Errors
///
/// A program or a server cannot be started.
pub fn attend(
    hosts: &ProgramHosts<'_>,
    options: &EmulationOptions,
    loop_ended: &Receiver<()>,
    mut signals: impl FnMut() -> Signals,
) -> Result<u8, Error> {
    let names = &hosts.names;
    let _server = match options.server.as_slice() {
        [] if hosts.server_behind => None,
        [] => {
            Servers { folder: options.folder.clone() }.start(hosts.server)?;
            None
        }
        command => {
            let host = hosts.server;
            let mut server = Killed(inside::start(
                host,
                names,
                (&options.inside, command),
                inside::TerminalOwner::Behind,
            )?);
            wait_for_listener(host, &mut server.0)?;
            Some(server)
        }
    };
    if options.command.is_empty() {
        while let Err(RecvTimeoutError::Timeout) = loop_ended.recv_timeout(LOOK) {
            if !signals().none() {
                return Ok(if hosts.routes { 0 } else { INTERRUPTED });
            }
        }
        return Ok(0);
    }
    if !signals().none() {
        return Ok(INTERRUPTED);
    }
    let place = if options.shell { inside::TerminalOwner::Shell } else { inside::TerminalOwner::Front };
    // The terminal is taken back when the command has ended, whatever state the command left it in.
    let _terminal = Tty::of_this_process();
    let child = Killed(inside::start(hosts.user, names, (&options.inside, &options.command), place)?);
    watch_over(child, loop_ended, signals)
}

/// Waits until a command has ended, and ends it when that is due. Returns its exit code.
fn watch_over(
    mut child: Killed,
    loop_ended: &Receiver<()>,
    mut signals: impl FnMut() -> Signals,
) -> Result<u8, Error> {
    let pid = child.0.id() as libc::pid_t;
    let (tell, told) = channel();
    let clock = RunClock::start();
    thread::scope(|scope| {
        let waits = scope.spawn(move || {
            let status = child.0.wait();
            let _ = tell.send(());
            status
        });
        let mut ending = CommandEnding::default();
        while let Err(RecvTimeoutError::Timeout) = told.recv_timeout(LOOK) {
            // Without the loop the command would wait for ever.
            let alone = !matches!(loop_ended.try_recv(), Err(TryRecvError::Empty));
            if let Some(signal) = ending.signal(clock.now(), signals(), alone) {
                // SAFETY: the process is a child that has not been waited for, or just has been: its number is not used again so soon.
                unsafe { libc::kill(pid, signal) };
            }
        }
        match waits.join() {
            Ok(status) => status.map(inside::exit_code).tried(|| "cannot wait for the command".to_owned()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Progress of ending a command.
#[derive(Debug, Default)]
struct CommandEnding {
    /// Number of interrupts passed on.
    handed_on: u32,
    /// Time at which it was asked to end.
    asked: Option<Time>,
    alone: bool,
    killed: bool,
}

impl CommandEnding {
    /// The signal to send to the command now; `alone` is true without a network.
    fn signal(&mut self, now: Time, seen: Signals, alone: bool) -> Option<libc::c_int> {
        self.alone |= alone;
        let waited = self.asked.is_some_and(|asked| now >= asked + PATIENCE);
        if !self.killed && (waited || seen.interrupts >= 2) {
            self.killed = true;
            return Some(libc::SIGKILL);
        }
        if self.asked.is_none() && (self.alone || seen.ends > 0) {
            self.asked = Some(now);
            return Some(libc::SIGTERM);
        }
        // An interrupt from a terminal has reached the command too.
        (seen.sent > std::mem::replace(&mut self.handed_on, seen.sent)).then_some(libc::SIGINT)
    }
}

/// A process that is killed when it is dropped, with everything in its host.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a server listens in a host, at most five seconds; a server that has exited by then is an error.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn wait_for_listener(namespace: &Namespace, server: &mut Child) -> Result<(), Error> {
    let listens = || {
        let network = Some(rustix::thread::LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(namespace.fd.as_fd(), network).ok()?;
        // State 10 is LISTEN; sockets of UDP are in state 7.
        let any = |file: &str, state: &str| {
            let text = std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
            text.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(state))
        };
        let mut looks_after_end = 0;
        for _ in 0..100 {
            if ["tcp", "tcp6"].iter().any(|file| any(file, "0A"))
                || ["udp", "udp6"].iter().any(|file| any(file, "07"))
            {
                return Some(Ok(()));
            }
            let ended = server.try_wait().ok().flatten();
            if ended.is_some_and(|status| status.success()) {
                // It has served a simulated client by now, or continues in the background, as nginx does.
                looks_after_end += 1;
                if looks_after_end > 20 {
                    return Some(Ok(()));
                }
            } else if let Some(status) = ended {
                let code = inside::exit_code(status);
                return Some(Err(Error::Command(format!("--server: it has ended at once, with {code}"), 1)));
            }
            thread::sleep(Duration::from_millis(50));
        }
        let word = b"skyhop: no program listens at the server after 5 s; the command starts anyway\n";
        let _ = io::Write::write_all(&mut io::stderr(), word);
        None
    };
    let done = thread::scope(|scope| scope.spawn(listens).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{SIGINT, SIGKILL, SIGTERM};

    fn s(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    #[test]
    fn one_interrupt_is_the_commands_own_and_a_second_ends_it() {
        let mut ending = CommandEnding::default();
        let seen = |interrupts, sent| Signals { interrupts, sent, ends: 0 };
        assert_eq!(ending.signal(s(0), seen(0, 0), false), None);
        assert_eq!(ending.signal(s(1), seen(1, 0), false), None, "it has it from the terminal");
        assert_eq!(ending.signal(s(3600), seen(1, 0), false), None, "and may take its time");
        assert_eq!(ending.signal(s(3601), seen(2, 0), false), Some(SIGKILL));
        assert_eq!(ending.signal(s(3602), seen(3, 0), false), None);
        let mut ending = CommandEnding::default();
        assert_eq!(ending.signal(s(1), seen(1, 1), false), Some(SIGINT), "sent to skyhop alone");
        assert_eq!(ending.signal(s(9), seen(1, 1), false), None);
    }

    #[test]
    fn who_is_to_end_has_five_seconds() {
        for (ends, alone) in [(1, false), (0, true)] {
            let mut ending = CommandEnding::default();
            let seen = Signals { ends, ..Signals::default() };
            assert_eq!(ending.signal(s(10), seen, alone), Some(SIGTERM));
            assert_eq!(ending.signal(s(14), seen, false), None);
            assert_eq!(ending.signal(s(15), seen, false), Some(SIGKILL));
            assert_eq!(ending.signal(s(30), seen, false), None);
        }
    }
}
