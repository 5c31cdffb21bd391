//! Filtering of acknowledgments: a later one takes the place of an older one of its connection that still waits.
//!
//! Follows RFC 3449 §5.2.1: cumulative, so the later says all that the older said; never one that says more than its number.
//! Differs: the later takes the older's place, as ns-2's filter can, since at the tail a full queue would hold it for ever.
//! Leaves out filtering at random, and thinning of duplicates.

use super::{Discarded, Fifo, Limit, Next, Waiting};

/// What a filter may know of a pure acknowledgment: a segment without data, SYN, FIN and RST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ack {
    /// It is none.
    #[default]
    No,
    /// It says only its number, and may be filtered.
    Plain(u32),
    /// It has SACK blocks, ECE, CWR or a mark: it takes an older one's place, and keeps its own.
    Kept(u32),
}

impl Ack {
    fn number(self) -> Option<u32> {
        match self {
            Ack::No => None,
            Ack::Plain(n) | Ack::Kept(n) => Some(n),
        }
    }
}

/// Whether `a` comes before `b` (RFC 9293 §3.4).
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl<T: Copy> Fifo<T> {
    /// Gives `packet` the place of the last acknowledgment of its connection, if that is older and may be filtered.
    /// One with the same number is a duplicate, and three of those are a signal: both are kept from then on.
    pub fn filter(&mut self, packet: &mut Waiting<T>, out: &mut Discarded<T>) -> bool {
        let Some(number) = packet.label.ack.number() else { return false };
        let same = |w: &&mut Waiting<T>| w.label.flow == packet.label.flow && w.label.ack != Ack::No;
        let Some(last) = self.waiting.iter_mut().rev().find(same) else { return false };
        if last.label.ack.number() == Some(number) {
            last.label.ack = Ack::Kept(number);
            packet.label.ack = Ack::Kept(number);
            return false;
        }
        match last.label.ack {
            Ack::Plain(older) if before(older, number) && !last.marked => {
                out.push_back(last.packet);
                self.bytes = self.bytes - last.size as u64 + packet.size as u64;
                // The place has waited since the older came, which is what CoDel measures.
                *last = Waiting { since: last.since, ..*packet };
                true
            }
            _ => false,
        }
    }
}

/// Drop-tail that remembers labels, for a filter to look at.
pub(crate) struct Tail<T> {
    limit: Limit,
    pub fifo: Fifo<T>,
}

impl<T: Copy> Tail<T> {
    pub fn new(limit: Limit) -> Self {
        Tail { limit, fifo: Fifo::default() }
    }

    pub fn offer(&mut self, packet: Waiting<T>, sending: Option<u32>) -> bool {
        let fits = self.limit.admits(self.fifo.len() as u64, self.fifo.bytes, packet.size, sending);
        if fits {
            self.fifo.push(packet);
        }
        fits
    }

    pub fn pop(&mut self) -> Option<Next<T>> {
        self.fifo.pop().map(Next::from)
    }
}
