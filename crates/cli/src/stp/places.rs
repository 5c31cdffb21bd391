//! Places for transfers at a server: their number, and the transfer that loses its place if all are taken and another one waits.
//!
//! Follows the idle timeouts of file servers; differs in that a silent transfer keeps its place until another one needs it.
//! Leaves out fairness among those that move data, however slowly.

use crate::stopwatch::Stopwatch;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Largest number of simultaneous transfers.
pub const TRANSFERS_MAX: usize = 64;
/// Silence after which a transfer may lose its place: many round trips, and most outages of a satellite path. It can be resumed.
const SILENCE: Duration = Duration::from_secs(10);

/// The place of a transfer.
pub struct TransferPlace {
    since: Mutex<Stopwatch>,
    lost: AtomicBool,
}

/// The places of a server.
#[derive(Default)]
pub struct TransferPlaces(Mutex<Vec<Arc<TransferPlace>>>);

impl TransferPlace {
    /// Records that data were transferred.
    pub fn moved(&self) {
        *self.since.lock().unwrap_or_else(|p| p.into_inner()) = Stopwatch::start();
    }

    /// Returns true if the transfer has to end.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn silence(&self) -> Duration {
        self.since.lock().unwrap_or_else(|p| p.into_inner()).elapsed()
    }
}

impl TransferPlaces {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<TransferPlace>>> {
        self.0.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Returns true if all are taken.
    pub fn are_taken(&self) -> bool {
        self.lock().len() >= TRANSFERS_MAX
    }

    /// A place for a transfer.
    pub fn take(&self) -> Arc<TransferPlace> {
        let place =
            Arc::new(TransferPlace { since: Mutex::new(Stopwatch::start()), lost: AtomicBool::new(false) });
        self.lock().push(place.clone());
        place
    }

    /// Frees the place of a transfer that has ended.
    pub fn leave(&self, place: &Arc<TransferPlace>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, place));
    }

    /// Somebody waits: the transfer that was silent for longest ends, if it was for long.
    pub fn make_room(&self) {
        let longest = self.lock().iter().max_by_key(|place| place.silence()).cloned();
        if let Some(place) = longest.filter(|place| place.silence() >= SILENCE) {
            place.lost.store(true, Ordering::Relaxed);
        }
    }
}
