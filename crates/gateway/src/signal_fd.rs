//! The signals of a gateway, as a file descriptor for its poller.
//!
//! Follows signalfd(2): the signals are blocked, and read like data. Leaves out the reactions (`daemon`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The descriptor.
#[derive(Debug)]
pub struct SignalFd {
    fd: OwnedFd,
}

impl SignalFd {
    /// Blocks signals in this thread and in those that it starts later; from now on they are read here.
    pub fn block(signals: &[libc::c_int]) -> io::Result<Self> {
        // SAFETY: the sets outlive the calls, and the new descriptor has no other owner.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            match libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(SignalFd { fd: OwnedFd::from_raw_fd(fd) }),
            }
        }
    }

    /// The next signal, if one has come.
    pub fn next(&self) -> Option<libc::c_int> {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        // SAFETY: the buffer has the given length.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), info.len()) };
        (read >= info.len() as isize)
            .then(|| u32::from_ne_bytes([info[0], info[1], info[2], info[3]]) as libc::c_int)
    }
}

impl AsRawFd for SignalFd {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
