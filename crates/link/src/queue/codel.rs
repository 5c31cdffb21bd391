//! Controlled delay: packets are dropped or marked at the head when the queueing delay has exceeded a target for an interval.
//!
//! Follows RFC 8289 §5: target, interval, the square-root control law, and the state kept between dropping episodes.
//! Differs: the largest packet seen stands for the MTU.
//! Leaves out drops elsewhere than at the head.

use super::{Discarded, Fifo, Limit, Next, Waiting};
use skyhop_units::{Span, Time};

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodelConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// Acceptable queueing delay.
    pub target: Span,
    /// Time for which the delay may exceed the target: about the RTT of the flows.
    pub interval: Span,
    /// True to mark ECN-capable packets in place of dropping them.
    pub ecn: bool,
}

/// State of the control law for one queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Control {
    target: Span,
    interval: Span,
    ecn: bool,
    /// Time at which the delay will have been above the target for an interval; `None` while it is below.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
    last_count: u32,
    largest: u32,
}

impl Control {
    pub fn new(target: Span, interval: Span, ecn: bool) -> Self {
        Control {
            target,
            interval,
            ecn,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            largest: 0,
        }
    }

    /// RFC 8289 §5.5: takes the next packet of `fifo`; true if it may be dropped.
    fn take<T: Copy>(&mut self, now: Time, fifo: &mut Fifo<T>) -> Option<(Waiting<T>, bool)> {
        let Some(packet) = fifo.pop() else {
            self.first_above = None;
            return None;
        };
        self.largest = self.largest.max(packet.size);
        let waited = now.since(packet.since);
        if waited < self.target || fifo.bytes <= self.largest as u64 {
            self.first_above = None;
            return Some((packet, false));
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.interval);
                Some((packet, false))
            }
            Some(first) => Some((packet, now >= first)),
        }
    }

    /// RFC 8289 §5.4: the time of the drop after one at `at`.
    fn law(&self, at: Time) -> Time {
        let step = self.interval.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt();
        at + Span::from_nanos(step as u64)
    }

    /// RFC 8289 §5.6: the next packet to be sent. Dropped packets go to `out`.
    pub fn next<T: Copy>(
        &mut self,
        now: Time,
        fifo: &mut Fifo<T>,
        out: &mut Discarded<T>,
    ) -> Option<Waiting<T>> {
        let Some((mut packet, mut late)) = self.take(now, fifo) else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            if !late {
                self.dropping = false;
                return Some(packet);
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if self.marks(&mut packet) {
                    self.drop_next = self.law(self.drop_next);
                    return Some(packet);
                }
                out.push_back(packet.packet);
                (packet, late) = match self.take(now, fifo) {
                    Some(next) => next,
                    None => {
                        self.dropping = false;
                        return None;
                    }
                };
                if late {
                    self.drop_next = self.law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if late {
            // Soon after the last episode, drops resume at the rate at which they stopped.
            let recent = now.since(self.drop_next) < self.interval * 16;
            let before = self.count.saturating_sub(self.last_count);
            self.count = if before > 1 && recent { before } else { 1 };
            self.last_count = self.count;
            self.dropping = true;
            self.drop_next = self.law(now);
            if self.marks(&mut packet) {
                return Some(packet);
            }
            out.push_back(packet.packet);
            packet = match self.take(now, fifo) {
                Some((next, _)) => next,
                None => {
                    self.dropping = false;
                    return None;
                }
            };
        }
        Some(packet)
    }

    fn marks<T>(&self, packet: &mut Waiting<T>) -> bool {
        let marks = self.ecn && packet.label.ecn;
        packet.marked |= marks;
        marks
    }
}

pub(crate) struct Codel<T> {
    limit: Limit,
    control: Control,
    pub fifo: Fifo<T>,
}

impl<T: Copy> Codel<T> {
    pub fn new(config: CodelConfig) -> Self {
        let CodelConfig { limit, target, interval, ecn } = config;
        Codel { limit, control: Control::new(target, interval, ecn), fifo: Fifo::default() }
    }

    pub fn offer(&mut self, packet: Waiting<T>, sending: Option<u32>) -> bool {
        let fits = self.limit.admits(self.fifo.len() as u64, self.fifo.bytes, packet.size, sending);
        if fits {
            self.fifo.push(packet);
        }
        fits
    }

    pub fn pop(&mut self, now: Time, out: &mut Discarded<T>) -> Option<Next<T>> {
        self.control.next(now, &mut self.fifo, out).map(Next::from)
    }
}
