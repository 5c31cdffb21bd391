//! One rate for all associations of a host, and their turns within it.
//!
//! Follows round robin: whoever has data and may not send them waits in line, and sends a few packets when it is at the head.
//! Differs from a queue of packets: data stay with their streams until they leave, so priorities and round trips are not delayed.
//! Leaves out packets without data, which leave at once and are counted.

use skyhop_units::{Rate, Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// Packets of data leave in bursts at this interval, as the engine's timers do.
const TICK: Span = Span::from_millis(1);
/// Lateness of a timer that is made up for; whoever has been silent for longer has no claim to a burst.
const LATENESS: Span = Span::from_millis(20);
/// Packets of an association in its turn while others wait.
pub(super) const PACKETS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct SharedRate {
    bytes_per_s: Option<f64>,
    next_send: Time,
    line: VecDeque<u32>,
    waits: BTreeSet<u32>,
}

impl SharedRate {
    /// A rate, or none.
    pub fn new(rate: Option<Rate>) -> Self {
        let mut shared = SharedRate::default();
        shared.set(rate);
        shared
    }

    /// Replaces the rate.
    pub fn set(&mut self, rate: Option<Rate>) {
        self.bytes_per_s = rate.filter(|rate| rate.as_bps() > 0).map(|rate| rate.as_bps() as f64 / 8.0);
    }

    /// Time at which data may leave.
    fn release(&self) -> Time {
        let at = Span::from_nanos(self.next_send.as_nanos());
        Time::from_nanos(at.round_up(TICK).as_nanos())
    }

    /// Returns true if data have to wait at `now`, for others or for time; `at_head` says whose turn it is.
    pub fn holds(&self, now: Time, at_head: bool) -> bool {
        let open = if at_head { self.next_send } else { self.release() };
        self.bytes_per_s.is_some() && (open > now || !(at_head || self.line.is_empty()))
    }

    /// Counts a packet of `bytes` with all headers.
    pub fn sent(&mut self, now: Time, bytes: usize) {
        let Some(rate) = self.bytes_per_s else { return };
        let begin = if now.since(self.next_send) > LATENESS { now } else { self.next_send };
        self.next_send = begin + Span::from_secs_f64(bytes as f64 / rate);
    }

    /// An association waits in line.
    pub fn wait(&mut self, id: u32) {
        if self.waits.insert(id) {
            self.line.push_back(id);
        }
    }

    /// Removes and returns the association at the head, if data may leave at `now`.
    pub fn next(&mut self, now: Time) -> Option<u32> {
        if self.line.is_empty() || self.release() > now {
            return None;
        }
        let id = self.line.pop_front()?;
        self.waits.remove(&id);
        Some(id)
    }

    /// Returns true if others wait.
    pub fn is_wanted(&self) -> bool {
        !self.line.is_empty()
    }

    /// Time at which the head of the line may send.
    pub fn poll_timeout(&self) -> Option<Time> {
        (!self.line.is_empty()).then(|| self.release())
    }

    /// Removes an association from the line.
    pub fn remove(&mut self, id: u32) {
        if self.waits.remove(&id) {
            self.line.retain(|other| *other != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_turns_go_round() {
        let us = |us: u64| Time::from_nanos(us * 1000);
        let mut shared = SharedRate::new(Rate::from_bps(8_000_000));
        let (mut now, mut taken) = (us(1_000_000), [0; 3]);
        (0..3).for_each(|id| shared.wait(id));
        // A host of which each look is 300 us late, and that sends 1000 bytes at a time, of one millisecond each.
        while now < us(2_000_000) {
            while let Some(id) = shared.next(now) {
                while !shared.holds(now, true) {
                    shared.sent(now, 1000);
                    taken[id as usize] += 1;
                }
                shared.wait(id);
            }
            now = shared.poll_timeout().expect("three wait") + Span::from_micros(300);
        }
        let sum: i32 = taken.iter().sum();
        assert!((995..=1005).contains(&sum), "{taken:?}");
        assert!(taken.iter().all(|n| (n - sum / 3).abs() <= 5), "{taken:?}");
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut shared = SharedRate::new(None);
        shared.sent(Time::ZERO, 1 << 30);
        assert!(!shared.holds(Time::ZERO, false) && shared.poll_timeout().is_none());
    }

    #[test]
    fn who_is_not_at_the_head_waits() {
        let now = Time::from_nanos(5_000_000);
        let mut shared = SharedRate::new(Rate::from_bps(8_000_000));
        assert!(!shared.holds(now, false));
        shared.wait(7);
        assert!(shared.holds(now, false) && !shared.holds(now, true));
        shared.remove(7);
        assert!(!shared.holds(now, false));
    }
}
