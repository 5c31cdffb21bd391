//! Runs a sweep on every core.
//!
//! Each thread takes the next missing part, runs it and writes it; threads share only the list.
//! Differs from distributing single runs: a kill costs at most one part per thread.
//! Leaves out other machines, which take shards.

use crate::plan::Plan;
use crate::store::{Store, StoreError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The error for a sweep that ended early.
#[derive(Debug)]
pub enum Halt {
    /// The caller stopped it. Finished parts are kept.
    Stopped,
    /// The folder could not be written.
    Store(StoreError),
}

/// Runs the missing parts of a sweep with `threads` threads.
///
/// `go_on` is called often, with the number of runs done since its last call.
pub fn sweep(
    plan: &Plan,
    store: &Store,
    threads: usize,
    go_on: &(dyn Fn(u64) -> bool + Sync),
) -> Result<(), Halt> {
    let missing = Mutex::new(store.missing().into_iter());
    let halted = AtomicBool::new(false);
    let halt: Mutex<Option<Halt>> = Mutex::new(None);
    let stop = |why: Halt| {
        halted.store(true, Ordering::Relaxed);
        if let Ok(mut halt) = halt.lock() {
            halt.get_or_insert(why);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while !halted.load(Ordering::Relaxed) {
                    let Some(part) = missing.lock().ok().and_then(|mut parts| parts.next()) else { return };
                    let wanted = |done| go_on(done) && !halted.load(Ordering::Relaxed);
                    let Some(rows) = plan.run(store.units_of(part), wanted) else {
                        return stop(Halt::Stopped);
                    };
                    if let Err(e) = store.write(part, &rows) {
                        return stop(Halt::Store(e));
                    }
                }
            });
        }
    });
    match halt.into_inner() {
        Ok(Some(why)) => Err(why),
        _ => Ok(()),
    }
}
