//! Resets that this end sends, and challenges to acknowledgments that make no sense.
//!
//! Follows RFC 9293 §3.10.7.1 (resets), and RFC 5961 §7: two ends that were deceived would answer each other for ever, so that
//! answers to acknowledgments of data never sent are limited in rate.
//! Leaves out resets that arrive, which `connection` judges by the state.

use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, TcpHeader};

/// Smallest interval between two answers to acknowledgments of data never sent.
const CHALLENGE_INTERVAL: Span = Span::from_millis(500);

/// The reset that is due, and the latest challenge.
#[derive(Debug, Default)]
pub(super) struct Resets {
    /// Sequence number and acknowledgment.
    due: Option<(u32, Option<u32>)>,
    challenged_at: Option<Time>,
}

impl Resets {
    /// Answers a segment that belongs to no connection with a reset that the peer can relate to it.
    pub fn refuse(&mut self, tcp: &TcpHeader, payload_len: u32) {
        let len = payload_len + tcp.flags.has(Flags::SYN) as u32 + tcp.flags.has(Flags::FIN) as u32;
        self.due = if tcp.flags.has(Flags::RST) {
            None
        } else if tcp.flags.has(Flags::ACK) {
            Some((tcp.ack, None))
        } else {
            Some((0, Some(tcp.seq.wrapping_add(len))))
        };
    }

    /// Breaks a connection, with the highest number ever sent: a reset below the number that the peer expects would be ignored.
    pub fn send(&mut self, seq: u32, ack: u32) {
        self.due = Some((seq, Some(ack)));
    }

    /// Returns true if a reset is due.
    pub fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// The header of the reset that is due, from one of this connection's segments.
    pub fn take(&mut self, header: TcpHeader) -> Option<TcpHeader> {
        let (seq, ack) = self.due.take()?;
        let flags = if ack.is_some() { Flags::RST | Flags::ACK } else { Flags::RST };
        Some(TcpHeader { seq, ack: ack.unwrap_or(0), flags, ..header })
    }

    /// Returns true if an acknowledgment of data never sent is answered: data always are, others once in an interval.
    pub fn challenges(&mut self, now: Time, payload: u64) -> bool {
        let quiet = self.challenged_at.is_none_or(|at| now.since(at) >= CHALLENGE_INTERVAL);
        let answers = quiet || payload > 0;
        if answers {
            self.challenged_at = Some(now);
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_can_be_related_to_the_segment_that_it_refuses() {
        let mut resets = Resets::default();
        let header = TcpHeader { seq: 7, ..TcpHeader::default() };
        resets.refuse(&TcpHeader { ack: 5, flags: Flags::ACK, ..header }, 0);
        let reset = resets.take(header).expect("one is due");
        assert_eq!((reset.seq, reset.ack, reset.flags), (5, 0, Flags::RST));
        resets.refuse(&TcpHeader { flags: Flags::SYN, ..header }, 10);
        let reset = resets.take(header).expect("one is due");
        assert_eq!((reset.seq, reset.ack, reset.flags), (0, 18, Flags::RST | Flags::ACK));
        resets.refuse(&TcpHeader { flags: Flags::RST, ..header }, 0);
        assert!(resets.take(header).is_none(), "a reset is not answered");
    }

    #[test]
    fn challenges_are_half_a_second_apart_except_to_data() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut resets = Resets::default();
        let answers =
            [(0, 0), (499, 0), (400, 1), (899, 0), (900, 0)].map(|(ms, len)| resets.challenges(at(ms), len));
        assert_eq!(answers, [true, false, true, false, true]);
    }
}
