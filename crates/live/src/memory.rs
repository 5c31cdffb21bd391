//! Memory that connections hold, counted against budgets: the host's, and each association's share of it.
//!
//! Follows Choudhury and Hahne 1998 (dynamic thresholds): who wants more may hold a quarter of what is free, so that whoever comes next
//! finds something, and a host that is little used gives much to one.
//! Differs: a connection keeps a little from its beginning, so that each goes on; if that is not there, it does not begin. Growth leaves
//! an eighth to those that begin, and to packets without which nothing goes on. So the sum never exceeds the budget, whatever comes.
//! Counters are atomic, not locked: applications write while the host's thread is at work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most that a connection keeps for received data, and for written data, when it holds none, bytes.
const LEAST_MAX: u64 = 32 << 10;
/// Bytes that count for each packet held, beside its data.
pub(crate) const PACKET_COST: u64 = 96;
/// Least memory of a host: one stream's of both kinds, and packets in flight.
pub const MEMORY_LEAST: u64 = 256 << 10;

/// Memory that a connection keeps for received data, and for written data, of a host with a budget for so many connections: together half
/// of the budget, and at least a packet each.
pub(crate) fn least_kept(memory: u64, connections_max: usize, packet: u32) -> u64 {
    let share = memory / 4 / (connections_max as u64).max(1);
    share.clamp(2 * (u64::from(packet) + PACKET_COST), LEAST_MAX.max(2 * (u64::from(packet) + PACKET_COST)))
}

/// A budget.
#[derive(Debug)]
pub(crate) struct HostMemory {
    max: u64,
    /// Bytes held, or kept for those that hold less.
    kept: AtomicU64,
    /// Bytes held.
    held: AtomicU64,
    /// The budget that this is a part of.
    whole: Option<Arc<HostMemory>>,
}

impl HostMemory {
    /// A host's budget.
    pub fn new(max: u64) -> Arc<Self> {
        Arc::new(HostMemory { max, kept: AtomicU64::new(0), held: AtomicU64::new(0), whole: None })
    }

    /// The budget of an association: three quarters of the host's, so that one association cannot use up the whole.
    pub fn share(whole: &Arc<Self>) -> Arc<Self> {
        let (kept, held) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(HostMemory { max: whole.max / 4 * 3, kept, held, whole: Some(whole.clone()) })
    }

    /// Bytes held.
    pub fn used(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Bytes that those which are there may hold in addition.
    pub fn free(&self) -> u64 {
        let own = (self.max - self.max / 8).saturating_sub(self.kept.load(Ordering::Relaxed));
        self.whole.as_ref().map_or(own, |whole| own.min(whole.free()))
    }

    /// Bytes that a connection may hold beyond its minimum.
    pub fn fair(&self) -> u64 {
        self.free() / 4
    }

    /// Keeps so many more bytes, if they are there: `urgent` also those that growth leaves.
    fn take(&self, bytes: u64, urgent: bool) -> bool {
        let most = if urgent { self.max } else { self.max - self.max / 8 };
        let more = |kept: u64| kept.checked_add(bytes).filter(|sum| *sum <= most);
        if self.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return false;
        }
        let whole = self.whole.as_ref().is_none_or(|whole| whole.take(bytes, urgent));
        if !whole {
            self.kept.fetch_sub(bytes, Ordering::Relaxed);
        }
        whole
    }

    /// Keeps another number of bytes than before, which is not refused.
    fn change(&self, before: u64, now: u64) {
        add(&self.kept, before, now);
        if let Some(whole) = &self.whole {
            whole.change(before, now);
        }
    }

    /// A holder of `before` bytes holds `now`.
    fn recount(&self, before: u64, now: u64) {
        add(&self.held, before, now);
        if let Some(whole) = &self.whole {
            whole.recount(before, now);
        }
    }
}

fn add(counter: &AtomicU64, before: u64, now: u64) {
    if now >= before {
        counter.fetch_add(now - before, Ordering::Relaxed);
    } else {
        counter.fetch_sub(before - now, Ordering::Relaxed);
    }
}

/// A part of a budget: what one holder holds, and at least what it keeps.
#[derive(Debug)]
pub(crate) struct Holding {
    memory: Arc<HostMemory>,
    least: u64,
    kept: u64,
    held: u64,
}

impl Holding {
    /// A holder that keeps `least` bytes from now on; `None` if they are not there.
    pub fn begin(memory: &Arc<HostMemory>, least: u64) -> Option<Self> {
        memory.take(least, true).then(|| Holding { memory: memory.clone(), least, kept: least, held: 0 })
    }

    /// The budget.
    pub fn memory(&self) -> &HostMemory {
        &self.memory
    }

    /// Bytes that it may always hold.
    pub fn least(&self) -> u64 {
        self.least
    }

    /// It holds `held` bytes, and may soon hold `more` in addition. Returns how much it may hold.
    pub fn ask(&mut self, held: u64, more: u64, urgent: bool) -> u64 {
        let wanted = held.saturating_add(more);
        if wanted > self.kept && self.memory.take(wanted - self.kept, urgent) {
            self.kept = wanted;
        }
        self.kept
    }

    /// It holds so many bytes.
    pub fn set(&mut self, held: u64) {
        let keep = held.max(self.least);
        if keep != self.kept {
            self.memory.change(self.kept, keep);
            self.kept = keep;
        }
        if held != self.held {
            self.memory.recount(self.held, held);
            self.held = held;
        }
    }

    /// It belongs to another budget from now on.
    pub fn move_to(&mut self, memory: Arc<HostMemory>) {
        memory.change(0, self.kept);
        memory.recount(0, self.held);
        let before = std::mem::replace(&mut self.memory, memory);
        before.change(self.kept, 0);
        before.recount(self.held, 0);
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.memory.change(self.kept, 0);
        self.memory.recount(self.held, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(memory: &Arc<HostMemory>, bytes: u64) -> Holding {
        let mut holding = Holding::begin(memory, 10).unwrap();
        let may = holding.ask(0, bytes, false);
        holding.set(bytes.min(may));
        holding
    }

    #[test]
    fn an_association_has_a_share_and_counts_for_the_host() {
        let host = HostMemory::new(1600);
        let (one, other) = (HostMemory::share(&host), HostMemory::share(&host));
        let mut first = holding(&one, 1000);
        assert_eq!((one.free(), other.free(), host.used()), (50, 400, 1000));
        let second = holding(&other, 400);
        assert_eq!((one.free(), other.free(), host.used()), (0, 0, 1400));
        first.set(100);
        assert_eq!((one.free(), other.free(), host.used()), (900, 650, 500));
        drop((first, second));
        assert_eq!((host.used(), host.free()), (0, 1400));
    }

    #[test]
    fn who_comes_later_finds_something() {
        let host = HostMemory::new(512 << 20);
        let held: Vec<Holding> = (0..40).map(|_| holding(&host, host.fair())).collect();
        assert!(held[0].held == 112 << 20 && held[39].held > 10 && host.used() < 512 << 20);
    }

    #[test]
    fn growth_leaves_room_for_those_that_begin_and_they_for_what_is_urgent() {
        let host = HostMemory::new(8000);
        let mut greedy = holding(&host, 7000);
        assert_eq!(greedy.ask(7000, 1, false), 7000, "an eighth is not for growth");
        let begun: Vec<Holding> = std::iter::from_fn(|| Holding::begin(&host, 100)).take(9).collect();
        assert_eq!((begun.len(), greedy.ask(7000, 100, true)), (9, 7100));
        assert!(Holding::begin(&host, 1).is_none() && greedy.ask(7100, 1, true) == 7100);
        greedy.set(0);
        assert_eq!((host.used(), Holding::begin(&host, 7000).is_some()), (0, true));
    }

    #[test]
    fn a_holder_that_moves_takes_its_bytes_along() {
        let host = HostMemory::new(8000);
        let mut mover = holding(&host, 50);
        let share = HostMemory::share(&host);
        mover.move_to(share.clone());
        assert_eq!((host.used(), share.used(), host.free()), (50, 50, 6950));
    }

    #[test]
    fn the_least_of_all_connections_is_half_of_the_budget_at_most_or_two_packets_each() {
        assert_eq!(least_kept(512 << 20, 16_384, 1500), 8192);
        assert_eq!(least_kept(16 << 20, 16_384, 1500), 2 * 1596);
        assert_eq!(least_kept(1 << 40, 16_384, 1500), LEAST_MAX);
        assert_eq!(least_kept(1 << 20, 16_384, 65_535), 2 * (65_535 + PACKET_COST));
    }
}
