//! Signals to an emulation: Ctrl-C, and requests to end.
//!
//! Follows signal(7) and shells: a terminal's interrupt has reached the command too; one sent to this process alone is passed on.
//! Differs from a handler of one flag: interrupts are counted, and a signal that was ignored stays ignored (nohup).
//! Leaves out the reactions (`session`).

use std::sync::atomic::{AtomicU32, Ordering};

static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
static SENT: AtomicU32 = AtomicU32::new(0);
static ENDS: AtomicU32 = AtomicU32::new(0);

/// Counts of signals received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signals {
    /// Number of SIGINTs.
    pub interrupts: u32,
    /// Those that did not come from a terminal, and so reached this process alone.
    pub sent: u32,
    /// Number of SIGTERMs and SIGHUPs.
    pub ends: u32,
}

impl Signals {
    /// True if there were none.
    pub fn none(self) -> bool {
        self == Self::default()
    }
}

extern "C" fn note(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if signal != libc::SIGINT {
        ENDS.fetch_add(1, Ordering::Relaxed);
        return;
    }
    // SAFETY: the system hands over a structure to handlers that ask for it.
    if unsafe { by_a_process(info) } {
        SENT.fetch_add(1, Ordering::Relaxed);
    }
    INTERRUPTS.fetch_add(1, Ordering::Relaxed);
}

/// Returns true if a process sent the signal, and not a terminal.
///
/// # Safety
///
/// `info` is the argument of a handler.
pub(crate) unsafe fn by_a_process(info: *const libc::siginfo_t) -> bool {
    // SAFETY: as the caller promises.
    !info.is_null() && unsafe { (*info).si_code } <= 0
}

/// Starts counting signals, except those that are ignored.
pub fn listen() {
    handle(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP], note);
}

/// A handler that receives the origin of its signal.
pub(crate) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs a handler for signals, except those that are ignored.
pub(crate) fn handle(signals: &[libc::c_int], handler: Handler) {
    for signal in signals.iter().filter(|signal| !is_ignored(**signal)) {
        // SAFETY: a zeroed structure is valid and has no flags, and handlers here do only what a handler may.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(*signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Counts of signals so far.
pub fn so_far() -> Signals {
    let of = |count: &AtomicU32| count.load(Ordering::Relaxed);
    Signals { interrupts: of(&INTERRUPTS), sent: of(&SENT), ends: of(&ENDS) }
}

/// Calls `listen`, then ignores again each signal that was ignored before.
pub fn keep_ignored(listen: impl FnOnce()) {
    let all = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
    let ignored: Vec<libc::c_int> = all.into_iter().filter(|signal| is_ignored(*signal)).collect();
    listen();
    for signal in ignored {
        // SAFETY: no function is called.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: the structure lives through the call, and a zeroed one is valid.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut before) == 0
            && before.sa_sigaction == libc::SIG_IGN
    }
}
