//! The terminal, and which processes have it.
//!
//! Follows tcsetpgrp(3): a shell in a host takes the terminal for itself and its jobs, and does not give it back.
//! Leaves out everything else of terminals.

/// The terminal of standard input, which this process has. Dropped, it has it again.
pub(crate) struct Tty {
    group: libc::pid_t,
}

/// The group of processes that has the terminal of standard input; negative where there is none.
fn front() -> libc::pid_t {
    // SAFETY: the descriptor is standard input's.
    unsafe { libc::tcgetpgrp(0) }
}

impl Tty {
    /// `None` where there is none, or others have it.
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

/// Gives the terminal of standard input to a group of processes, if there is one. Who is not in front is stopped for that unless the
/// signal is kept off.
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
