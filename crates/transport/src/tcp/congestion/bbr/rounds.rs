//! Rounds: a packet sent in one has been delivered when the next begins.
//!
//! Follows draft-ietf-ccwg-bbr-06 §5.5.1.
//! Differs: a round may be restarted at any time, as each phase of the cycle does.
//! Leaves out the rounds of losses (`short_term`).

#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// C.delivered: bytes delivered so far.
    pub delivered: u64,
    /// The round ends when a packet is delivered that was sent after this many bytes had been.
    next: u64,
    /// True if the acknowledgment being handled has started a round.
    pub start: bool,
    pub count: u64,
    pub since_probe_up: u64,
}

impl Rounds {
    /// Starts a round with the next packet sent.
    pub fn begin(&mut self) {
        self.next = self.delivered;
    }

    /// Handles the delivery of a packet that was sent when `prior_delivered` bytes had been delivered.
    #[inline]
    pub fn on_sample(&mut self, prior_delivered: u64) {
        if prior_delivered >= self.next {
            self.begin();
            self.count += 1;
            self.since_probe_up += 1;
            self.start = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_the_first_packet_sent_in_it() {
        let mut rounds = Rounds { delivered: 1000, ..Rounds::default() };
        rounds.on_sample(0);
        assert_eq!((rounds.start, rounds.count), (true, 1));
        rounds.start = false;
        rounds.delivered = 3000;
        rounds.on_sample(999);
        assert_eq!((rounds.start, rounds.count), (false, 1));
        rounds.on_sample(1000);
        assert_eq!((rounds.start, rounds.count, rounds.next), (true, 2, 3000));
    }
}
