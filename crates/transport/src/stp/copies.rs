//! Further copies of retransmissions: of which packets, how many, and when.
//!
//! Follows docs/stp.md §6.1.
//! Differs from Q.2110, which sends a retransmission once for each report.
//! Leaves out the packets, which `sender` keeps.

use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// Acceptable mean number of retransmissions that are lost together with all their copies.
const ENOUGH: f64 = 0.01;
/// Largest share of all packets that the copies of packets which were lost again may be.
const AGAIN: f64 = 0.025;
/// Share of losses above which no copy is sent.
const OVERFLOW: f64 = 0.5;
/// Copies that are always allowed, and the part of all packets that copies may be beyond these: one in so many.
const ALLOWED: (u64, u64) = (30, 10);

/// The circumstances of the next retransmission, which decide the cost of losing it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RepeatRisk {
    /// Share of the packets that the peer has reported missing.
    pub loss: f64,
    /// SDs from the oldest one that is not acknowledged.
    pub outstanding: u64,
    /// SDs from there that the peer accepts.
    pub window: u64,
    /// SDs sent so far.
    pub sent: u64,
    /// True if a retransmission of this packet has been lost before.
    pub again: bool,
    /// True if no new data wait.
    pub last: bool,
}

#[derive(Debug, Clone, Copy)]
struct WaitingCopy {
    number: u64,
    at: Time,
    left: u32,
    apart: Span,
}

/// Copies that wait for their time, and those that have been sent.
#[derive(Debug, Default)]
pub(super) struct RepeatCopies {
    waiting: VecDeque<WaitingCopy>,
    /// Copies sent, and their network-layer bytes: no sample of the path counts them, as the receiver counts a packet once.
    pub sent: u64,
    pub bytes: f64,
}

impl RepeatCopies {
    /// Number of copies of the next retransmission, at most `most`.
    pub fn wanted(&self, most: u32, risk: RepeatRisk) -> u32 {
        if most == 0 {
            return 0;
        }
        // So much is lost by a queue that overflows, where each copy pushes out another packet.
        let last = if risk.last && risk.loss <= OVERFLOW { enough(most, risk) } else { 0 };
        // A packet that is lost again and again will block the receiver's window. With one packet in n lost, one in n squared is twice.
        let blocks = risk.again && 2 * risk.outstanding > risk.window;
        let again = if blocks { (AGAIN / risk.loss.powi(2)) as u32 } else { 0 };
        let allowed = (ALLOWED.0 + risk.sent / ALLOWED.1).saturating_sub(self.sent);
        last.max(again.min(most)).min(allowed.min(u64::from(most)) as u32)
    }

    /// Lets `left` copies of this packet follow, `apart` from each other.
    pub fn follow(&mut self, now: Time, number: u64, left: u32, apart: Span) {
        // In order of time even if round-trip times shrink, since the timer waits for the first.
        let at = self.waiting.back().map_or(now + apart, |last| last.at.max(now + apart));
        self.waiting.push_back(WaitingCopy { number, at, left, apart });
    }

    /// Number of the packet of which the next copy is, and its time.
    pub fn next(&self) -> Option<(u64, Time)> {
        self.waiting.front().map(|copy| (copy.number, copy.at))
    }

    /// Gives up the next copy and those that would follow it.
    pub fn skip(&mut self) {
        self.waiting.pop_front();
    }

    /// Notes that the next copy, of so many network-layer bytes, has been sent.
    pub fn count(&mut self, now: Time, bytes: f64) {
        self.sent += 1;
        self.bytes += bytes;
        if let Some(copy) = self.waiting.pop_front().filter(|copy| copy.left > 1) {
            self.follow(now, copy.number, copy.left - 1, copy.apart);
        }
    }
}

/// Number of copies with which a loss of all copies of any outstanding packet's retransmission is unlikely.
fn enough(most: u32, risk: RepeatRisk) -> u32 {
    // Expected losses of retransmissions, and of those with one copy.
    let mut fail = risk.outstanding as f64 * risk.loss.powi(3);
    let mut copies = 1;
    while copies < most && fail > ENOUGH {
        (copies, fail) = (copies + 1, fail * risk.loss);
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risk(loss: f64) -> RepeatRisk {
        RepeatRisk { loss, outstanding: 20_000, window: 30_000, sent: 70_000, again: false, last: false }
    }

    /// docs/stp.md §6.1: no copies while new data wait, and as many at the end as make the loss of all of them unlikely.
    #[test]
    fn the_end_of_the_data_has_as_many_copies_as_losses_ask_for() {
        let copies = RepeatCopies::default();
        let last = |loss| copies.wanted(3, RepeatRisk { last: true, ..risk(loss) });
        assert_eq!(copies.wanted(3, risk(0.1)), 0);
        assert_eq!((last(0.001), last(0.01), last(0.1)), (1, 2, 3));
        assert_eq!(copies.wanted(0, RepeatRisk { last: true, ..risk(0.1) }), 0);
    }

    /// docs/stp.md §6.1: a packet that is lost again has copies if the window is about to be blocked, and few if many are lost.
    #[test]
    fn a_packet_that_is_lost_again_has_copies_before_it_blocks_the_window() {
        let copies = RepeatCopies::default();
        let again = |loss| copies.wanted(3, RepeatRisk { again: true, ..risk(loss) });
        assert_eq!((again(0.01), again(0.1), again(0.15), again(0.2)), (3, 2, 1, 0));
        let small = RepeatRisk { again: true, outstanding: 10_000, ..risk(0.1) };
        assert_eq!(copies.wanted(3, small), 0);
    }

    /// Where many packets are lost, it may be a queue that overflows: copies stay few, and there are none where most are lost.
    #[test]
    fn copies_are_a_tenth_of_the_packets_at_most() {
        let mut copies = RepeatCopies::default();
        let end = RepeatRisk { last: true, sent: 100, ..risk(0.45) };
        assert_eq!(copies.wanted(3, RepeatRisk { loss: 0.6, ..end }), 0);
        let sent = (0..1000)
            .map(|number| {
                let wanted = copies.wanted(3, end);
                (0..wanted).for_each(|_| {
                    copies.follow(Time::ZERO, number, 1, Span::from_millis(1));
                    copies.count(Time::ZERO, 1500.0);
                });
                wanted
            })
            .sum::<u32>();
        assert_eq!((sent, copies.sent), (40, 40));
    }
}
