//! Datagrams: an outgoing queue that drops late ones, and an incoming queue of limited size.
//!
//! Follows docs/stp.md §15.7.
//! Differs from a socket's: credit keeps the sender from filling the receiver's queue, so that drops happen at the sender.
//! Leaves out fragments: a datagram fits one packet, or is refused.

use super::budgets::{DATAGRAM_COST, DatagramDelay};
use super::rounds::Turn;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Class, Payload};
use std::collections::VecDeque;

/// Counters of datagrams by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatagramStats {
    /// Datagrams accepted from the application.
    pub written: u64,
    /// Datagrams sent, each counted once.
    pub sent: u64,
    /// Datagrams dropped before they were sent: they were late, or the queue was full.
    pub late: u64,
    /// Datagrams received from the peer.
    pub received: u64,
    /// Datagrams dropped because the application did not read them.
    pub unread: u64,
}

#[derive(Debug)]
struct WaitingDatagram<P> {
    /// Time since which it waits; set at the next call with a time after it was written.
    since: Option<Time>,
    until: Time,
    channel: u64,
    data: P,
}

/// The control law by which the oldest datagrams of a standing queue are dropped (RFC 8289).
#[derive(Debug)]
struct StandingQueue {
    delay: DatagramDelay,
    /// Time at which the delay will have been above the target for an interval.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
}

impl StandingQueue {
    fn new(delay: DatagramDelay) -> Self {
        Self { delay, first_above: None, dropping: false, drop_next: Time::ZERO, count: 0 }
    }

    /// Time of the next drop (RFC 8289 §5.4).
    fn law(&self, at: Time) -> Time {
        let step = self.delay.interval.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt();
        at + Span::from_nanos(step as u64)
    }

    /// Returns true if the first datagram, which has waited for `waited`, must be dropped (RFC 8289 §5.5 and §5.6).
    fn drops(&mut self, now: Time, waited: Span) -> bool {
        if waited < self.delay.target {
            (self.first_above, self.dropping) = (None, false);
            return false;
        }
        let first = *self.first_above.get_or_insert(now + self.delay.interval);
        if now < first {
            return false;
        }
        if !self.dropping {
            // Soon after the last episode, drops continue at nearly the rate at which they stopped.
            let recent = now.since(self.drop_next) < self.delay.interval * 16;
            self.count = if self.count > 2 && recent { self.count - 2 } else { 1 };
            (self.dropping, self.drop_next) = (true, self.law(now));
            return true;
        }
        let due = now >= self.drop_next;
        if due {
            self.count += 1;
            self.drop_next = self.law(self.drop_next);
        }
        due
    }
}

/// Largest number of bytes of datagrams that wait to be sent, however many the peer accepts: a longer queue would only make them late.
pub(super) const QUEUE_MOST: u64 = 256 << 10;

/// Size of the largest packet in use, bytes.
const LARGEST: u64 = 9000;

/// Datagrams that wait to be sent.
#[derive(Debug)]
pub(super) struct Departures<P> {
    queue: VecDeque<WaitingDatagram<P>>,
    bytes: u64,
    most: u64,
    standing: Option<StandingQueue>,
    /// Bytes sent so far.
    pub next: u64,
    /// First offset that the peer does not accept.
    limit: u64,
    /// Largest credit so far: a datagram that is larger never has enough.
    window: u64,
    /// The earliest time at which one is late, or earlier.
    first_late: Time,
    pub turn: Turn,
    pub stats: DatagramStats,
}

impl<P: Payload> Departures<P> {
    pub fn new(most: u64, delay: Option<DatagramDelay>, limit: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            bytes: 0,
            most,
            standing: delay.map(StandingQueue::new),
            next: 0,
            limit,
            window: limit,
            first_late: Time::MAX,
            turn: Turn::new(Class::default()),
            stats: DatagramStats::default(),
        }
    }

    /// Appends a datagram; the oldest are dropped to make room for it.
    pub fn push(&mut self, channel: u64, data: P, until: Time) {
        self.stats.written += 1;
        self.bytes += data.len() as u64;
        self.first_late = self.first_late.min(until);
        self.queue.push_back(WaitingDatagram { since: None, until, channel, data });
        while self.bytes > self.most && self.queue.len() > 1 {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some(dropped) = self.queue.pop_front() {
            self.bytes -= dropped.data.len() as u64;
            self.stats.late += 1;
        }
    }

    /// Drops datagrams that are late, and the oldest of a standing queue.
    pub fn expire(&mut self, now: Time) {
        // Those without a time are the last.
        for waiting in self.queue.iter_mut().rev().take_while(|waiting| waiting.since.is_none()) {
            waiting.since = Some(now);
        }
        if self.first_late <= now {
            self.drop_late(now);
        }
        while self.window > 0 && self.queue.front().is_some_and(|first| first.data.len() as u64 > self.window)
        {
            self.drop_first();
        }
        while let (Some(standing), Some(first)) = (&mut self.standing, self.queue.front()) {
            let waited = first.since.map_or(Span::ZERO, |since| now.since(since));
            // The last one is always let through.
            if !standing.drops(now, waited) || self.queue.len() == 1 {
                break;
            }
            self.drop_first();
        }
    }

    fn drop_late(&mut self, now: Time) {
        let before = self.queue.len();
        let (bytes, first_late) = (&mut self.bytes, &mut self.first_late);
        *first_late = Time::MAX;
        self.queue.retain(|waiting| {
            let kept = waiting.until > now;
            if kept {
                *first_late = waiting.until.min(*first_late);
            } else {
                *bytes -= waiting.data.len() as u64;
            }
            kept
        });
        self.stats.late += (before - self.queue.len()) as u64;
    }

    /// Handles credit: the peer accepts datagrams up to this offset.
    pub fn accept(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
        self.window = self.window.max(self.limit.saturating_sub(self.next));
    }

    /// Channel and size of the first datagram, if the peer accepts it.
    pub fn first(&self) -> Option<(u64, usize)> {
        let first = self.queue.front()?;
        let len = first.data.len();
        (self.next + len as u64 <= self.limit).then_some((first.channel, len))
    }

    /// Bytes that could be sent.
    pub fn ready(&self) -> u64 {
        if self.first().is_some() { self.bytes.min(self.limit - self.next) } else { 0 }
    }

    /// Removes the first datagram; returns it with its channel and offset.
    pub fn take(&mut self) -> Option<(u64, u64, P)> {
        let WaitingDatagram { channel, data, .. } = self.queue.pop_front()?;
        let offset = self.next;
        self.bytes -= data.len() as u64;
        self.next += data.len() as u64;
        self.stats.sent += 1;
        Some((channel, offset, data))
    }

    /// Drops the first datagram, which no longer fits any packet of the path.
    pub fn refuse_first(&mut self) {
        self.drop_first();
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    pub fn clear(&mut self) {
        while !self.queue.is_empty() {
            self.drop_first();
        }
    }
}

/// Datagrams that have arrived and have not been read.
#[derive(Debug)]
pub(super) struct Arrivals<P> {
    /// Channel, offset and data of each.
    queue: VecDeque<(u64, u64, P)>,
    bytes: u64,
    most: u64,
    /// One past the highest byte that the peer has sent.
    high: u64,
    told: u64,
    pub received: u64,
    pub unread: u64,
}

impl<P: Payload> Arrivals<P> {
    pub fn new(most: u64) -> Self {
        Self { queue: VecDeque::new(), bytes: 0, most, high: 0, told: most, received: 0, unread: 0 }
    }

    /// Adds an arriving datagram; the oldest are dropped to make room for it.
    pub fn push(&mut self, channel: u64, offset: u64, data: P) {
        self.received += 1;
        self.before(offset + data.len() as u64);
        self.bytes += data.len() as u64;
        self.queue.push_back((channel, offset, data));
        // Small ones cost more memory than their bytes.
        while (self.bytes > self.most || self.queue.len() as u64 > self.most.div_ceil(32))
            && let Some((.., data)) = self.queue.pop_front()
        {
            self.bytes -= data.len() as u64;
            self.unread += 1;
        }
    }

    /// Bytes that wait to be read, with a cost for each datagram.
    pub fn held_with_cost(&self) -> u64 {
        self.bytes + DATAGRAM_COST * self.queue.len() as u64
    }

    /// Records that all datagrams before `offset` have been sent.
    pub fn before(&mut self, offset: u64) {
        self.high = self.high.max(offset);
    }

    pub fn read(&mut self) -> Option<(u64, u64, P)> {
        let (channel, offset, data) = self.queue.pop_front()?;
        self.bytes -= data.len() as u64;
        Some((channel, offset, data))
    }

    /// Credit to be announced to the peer, if it is enough for a frame.
    pub fn credit(&mut self) -> Option<u64> {
        let limit = self.high + self.most.saturating_sub(self.bytes);
        // The rest may be too little for the next one.
        let little = limit > self.told && self.told.saturating_sub(self.high) < LARGEST;
        let worth = little || limit >= self.told.saturating_add(self.most.div_ceil(2));
        worth.then(|| {
            self.told = limit;
            limit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_wire::stp::PayloadLength;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Datagrams of 1,000 bytes arrive every millisecond, and one leaves every `every`. Returns the longest wait at the end, and the number
    /// of dropped ones.
    fn run(delay: Option<DatagramDelay>, every: u64) -> (u64, u64) {
        let mut departures = Departures::new(1 << 20, delay, u64::MAX);
        let mut sent = VecDeque::new();
        for now in 0..40_000 {
            departures.push(now, PayloadLength(1000), Time::MAX);
            departures.expire(ms(now));
            if now % every == 0 {
                sent.extend(departures.take().map(|(at, ..)| now - at));
            }
        }
        (sent.into_iter().rev().take(1000).max().unwrap(), departures.stats.late)
    }

    #[test]
    fn a_queue_that_stands_is_shortened_and_one_that_does_not_is_left_alone() {
        let delay = DatagramDelay { target: Span::from_millis(20), interval: Span::from_millis(100) };
        let (waits, dropped) = run(None, 2);
        assert!(waits > 900 && dropped > 18_000, "bounded by its bytes alone: {waits} ms, {dropped}");
        let (waits, dropped) = run(Some(delay), 2);
        assert!(waits < 200 && (19_500..21_000).contains(&dropped), "{waits} ms, {dropped}");
        assert_eq!(run(Some(delay), 1), (0, 0));
    }

    #[test]
    fn what_comes_after_a_pause_has_not_waited() {
        let delay = DatagramDelay { target: Span::from_millis(20), interval: Span::from_millis(100) };
        let mut departures = Departures::new(1 << 20, Some(delay), u64::MAX);
        for now in [0, 10_000, 20_000] {
            departures.push(now, PayloadLength(1000), Time::MAX);
            departures.push(now, PayloadLength(1000), Time::MAX);
            departures.expire(ms(now));
            assert!(departures.take().is_some() && departures.take().is_some());
        }
        assert_eq!(departures.stats.late, 0);
    }
}
