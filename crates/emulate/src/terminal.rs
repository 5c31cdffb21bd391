//! The terminal, and its foreground process group.
//!
//! Follows tcsetpgrp(3): a shell in a host takes the terminal for itself and its jobs, and does not return it.
//! Leaves out all other properties of terminals.

/// The terminal of standard input, with this process in the foreground; restored when it is dropped.
pub(crate) struct Tty {
    group: libc::pid_t,
}

/// The foreground process group of standard input's terminal; negative without a terminal.
fn front() -> libc::pid_t {
    // SAFETY: the descriptor is standard input's.
    unsafe { libc::tcgetpgrp(0) }
}

impl Tty {
    /// `None` without a terminal, or if this process is in the background.
    pub fn of_this_process() -> Option<Self> {
        // SAFETY: this asks for a number.
        let group = unsafe { libc::getpgrp() };
        (front() == group).then_some(Self { group })
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        if front() != self.group {
            give(self.group);
        }
    }
}

/// Makes a process group the foreground one of standard input's terminal, if there is one. A background process is stopped for that
/// unless the signal is blocked.
pub(crate) fn give(group: libc::pid_t) {
    // SAFETY: sets of signals live through the calls, and the descriptor is standard input's.
    unsafe {
        let (mut stops, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&raw mut stops);
        libc::sigaddset(&raw mut stops, libc::SIGTTOU);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const stops, &raw mut before);
        libc::tcsetpgrp(0, group);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
}
