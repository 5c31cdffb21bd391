//! Files that this host is receiving, by name, so that a sender that comes back gets on with its own.
//!
//! A server learns late, or only by silence, that a sender was killed: the new connection of the same transfer may be there before.
//! Differs from a lock: the newer connection wins once the older one is silent, and is refused while that one has data.
//! Leaves out other processes with the same folder; the locks of their parts keep those apart.

use crate::engine::interrupted;
use crate::stopwatch::{Stopwatch, pause};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Silence after which another connection may take a transfer over: over a round trip, with the first repeats of what is lost.
const SILENCE: Duration = Duration::from_secs(2);
/// Longest wait for that silence.
const PATIENCE: Duration = Duration::from_secs(10);

/// Running uploads, oldest first.
#[derive(Default)]
pub struct Uploads(Mutex<Vec<Arc<Upload>>>);

struct Upload {
    name: String,
    bytes: AtomicU64,
    stop: Arc<AtomicBool>,
}

/// An upload in the list until it is dropped, which must be after its part was put aside.
pub struct Running<'a> {
    all: &'a Uploads,
    upload: Arc<Upload>,
}

impl Uploads {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Upload>>> {
        self.0.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Puts an upload on the list.
    pub fn begin(&self, name: &str) -> Running<'_> {
        let upload = Upload { name: name.to_owned(), bytes: AtomicU64::new(0), stop: Arc::default() };
        let upload = Arc::new(upload);
        self.lock().push(upload.clone());
        Running { all: self, upload }
    }
}

impl Running<'_> {
    /// Set when another connection takes the upload over.
    pub fn stop(&self) -> Arc<AtomicBool> {
        self.upload.stop.clone()
    }

    /// Records the number of bytes so far; false if the upload is to stop.
    pub fn advance(&self, bytes: u64) -> bool {
        self.upload.bytes.store(bytes, Ordering::Relaxed);
        !self.upload.stop.load(Ordering::Relaxed)
    }

    /// Takes over from older uploads of the same name: ends each that is silent. False if one is not.
    pub fn take_over(&self) -> bool {
        let (begin, mut since, mut before) = (Stopwatch::start(), Stopwatch::start(), None);
        loop {
            let mut older = Vec::new();
            for upload in self.all.lock().iter().take_while(|upload| !Arc::ptr_eq(upload, &self.upload)) {
                if upload.name == self.upload.name {
                    older.push(upload.clone());
                }
            }
            if older.is_empty() {
                return true;
            }
            let bytes = older.iter().map(|upload| upload.bytes.load(Ordering::Relaxed)).sum::<u64>();
            if before != Some(bytes) {
                (before, since) = (Some(bytes), Stopwatch::start());
            }
            if since.elapsed() >= SILENCE {
                older.iter().for_each(|upload| upload.stop.store(true, Ordering::Relaxed));
            }
            if begin.elapsed() >= PATIENCE || interrupted() || !self.advance(0) {
                return false;
            }
            pause(Duration::from_millis(20));
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.all.lock().retain(|upload| !Arc::ptr_eq(upload, &self.upload));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_connection_waits_for_the_older_ones_silence() {
        let uploads = Uploads::default();
        assert!(uploads.begin("a").take_over(), "nobody is there");
        let other = uploads.begin("b");
        let silent = uploads.begin("a");
        let stop = silent.stop();
        std::thread::scope(|scope| {
            let newer = scope.spawn(|| uploads.begin("a").take_over());
            while !stop.load(Ordering::Relaxed) {
                pause(Duration::from_millis(5));
            }
            assert!(!newer.is_finished(), "the older one has not put its part aside");
            drop(silent);
            assert!(newer.join().unwrap());
        });
        assert!(other.advance(1), "another name goes on");
    }

    #[test]
    fn an_upload_with_data_is_not_taken_over() {
        let uploads = Uploads::default();
        let busy = uploads.begin("a");
        std::thread::scope(|scope| {
            let newer = scope.spawn(|| uploads.begin("a").take_over());
            let mut bytes = 0;
            while !newer.is_finished() {
                bytes += 1;
                assert!(busy.advance(bytes));
                pause(Duration::from_millis(100));
            }
            assert!(!newer.join().unwrap());
        });
    }
}
