//! Filtering of acknowledgments: a later one replaces a waiting one of its connection.
//!
//! Follows RFC 3449 §5.2.1: acknowledgments are cumulative, and one that carries more than its number is never removed.
//! Differs: the later one takes the earlier one's position, as ns-2's filter can, since at the tail of a full queue it would wait
//! for ever.
//! Leaves out random filtering, and thinning of duplicates.

use super::{Discarded, Fifo, Limit, Next, Waiting};

/// Classification of a packet for the filter. A pure acknowledgment has no data, SYN, FIN or RST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ack {
    /// Not a pure acknowledgment.
    #[default]
    No,
    /// A pure acknowledgment of this number, which may be removed.
    Plain(u32),
    /// One with SACK blocks, ECE, CWR or a mark: it replaces an earlier one and is never removed itself.
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

/// Returns true if `a` comes before `b` (RFC 9293 §3.4).
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl<T: Copy> Fifo<T> {
    /// Puts `packet` in the position of the last acknowledgment of its connection if that is earlier and may be removed. One with
    /// the same number is a duplicate, and three duplicates are a signal: both are kept from then on.
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
                // The position has waited since the earlier packet came, which is the time that CoDel measures.
                *last = Waiting { since: last.since, ..*packet };
                true
            }
            _ => false,
        }
    }
}

/// A drop-tail queue that keeps labels for the filter.
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
