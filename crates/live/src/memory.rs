//! Memory that connections hold, counted against budgets: the host's, and each association's share of it.
//!
//! Follows Choudhury and Hahne 1998 (dynamic thresholds): a connection may hold a quarter of the free memory, so that later ones find
//! some, and a host with few connections gives much to each.
//! Differs: a connection may always hold a minimum, so that each proceeds. Counters are atomic, not locked, since applications write
//! while the host's thread works.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Received data that a connection may always hold, bytes.
pub(crate) const LEAST_RECEIVED: u64 = 64 << 10;
/// Written data that a connection may always hold, bytes.
pub(crate) const LEAST_WRITTEN: u64 = 16 << 10;
/// Minimum memory of a host: the written and received data of one stream, and packets in flight.
pub const MEMORY_LEAST: u64 = 256 << 10;

/// A budget.
#[derive(Debug)]
pub(crate) struct HostMemory {
    max: u64,
    used: AtomicU64,
    /// The budget of which this one is a part.
    whole: Option<Arc<HostMemory>>,
}

impl HostMemory {
    /// A host's budget.
    pub fn new(max: u64) -> Arc<Self> {
        Arc::new(HostMemory { max, used: AtomicU64::new(0), whole: None })
    }

    /// The budget of an association: three quarters of the host's, so that one association cannot use up the whole.
    pub fn share(whole: &Arc<Self>) -> Arc<Self> {
        Arc::new(HostMemory { max: whole.max / 4 * 3, used: AtomicU64::new(0), whole: Some(whole.clone()) })
    }

    /// Bytes held.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that may still be held.
    pub fn free(&self) -> u64 {
        let own = self.max.saturating_sub(self.used());
        self.whole.as_ref().map_or(own, |whole| own.min(whole.free()))
    }

    /// Bytes that a connection may hold beyond its minimum.
    pub fn fair(&self) -> u64 {
        self.free() / 4
    }

    /// Changes the count of a holder from `before` bytes to `now`.
    pub fn recount(&self, before: u64, now: u64) {
        if now >= before {
            self.used.fetch_add(now - before, Ordering::Relaxed);
        } else {
            self.used.fetch_sub(before - now, Ordering::Relaxed);
        }
        if let Some(whole) = &self.whole {
            whole.recount(before, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_association_has_a_share_and_counts_for_the_host() {
        let host = HostMemory::new(1000);
        let (one, other) = (HostMemory::share(&host), HostMemory::share(&host));
        one.recount(0, 700);
        assert_eq!((one.free(), other.free(), host.used()), (50, 300, 700));
        other.recount(0, 300);
        assert_eq!((one.free(), other.free(), host.free()), (0, 0, 0));
        one.recount(700, 100);
        assert_eq!((one.free(), other.free(), host.used()), (600, 450, 400));
    }

    #[test]
    fn who_comes_later_finds_something() {
        let host = HostMemory::new(512 << 20);
        let held: Vec<u64> = (0..40)
            .map(|_| {
                let fair = host.fair();
                host.recount(0, fair);
                fair
            })
            .collect();
        assert!(held[0] == 128 << 20 && held[39] > 0 && host.used() < 512 << 20);
    }
}
