//! The least rate: two packets in a round trip, so that measurements go on, and fewer while most of them are lost.
//!
//! Follows docs/stp.md §8.3 rule 10, and RFC 6298 §5.5: a sender whose packets are lost sends less often.
//! Leaves out the bounds that are configured (`delay`).

use super::super::samples::{PollSample, PollSamples};
use skyhop_units::{Span, Time};

/// Packets in a round trip.
const PACKETS: f64 = 2.0;
/// Smallest part of them: the answers that are stored still cover a sample.
const FEWEST: f64 = 0.25;
/// Packets without a loss that double it again.
const ARRIVED: u64 = 3;

#[derive(Debug)]
pub(super) struct LeastRate {
    /// Size of a packet, bytes: its data, or its headers if those are more.
    packet: f64,
    part: f64,
    /// Time of the last change.
    since: Time,
}

impl LeastRate {
    /// The least rate of packets of so many bytes.
    pub fn new(packet: f64) -> Self {
        Self { packet, part: 1.0, since: Time::ZERO }
    }

    /// The rate over a round trip of so many seconds, network-layer bytes per second.
    pub fn over(&self, round_trip: f64) -> f64 {
        PACKETS * self.part * self.packet / round_trip
    }

    /// Judges what has been sent since the last change. Returns the sample, which covers `span` at least, if most of it was lost.
    pub fn judge(&mut self, now: Time, samples: &PollSamples, span: Span) -> Option<PollSample> {
        let arrived = samples.latest_of(ARRIVED, Span::ZERO, self.since);
        if self.part < 1.0 && arrived.is_some_and(|sample| sample.lost() == 0) {
            (self.part, self.since) = (2.0 * self.part, now);
            return None;
        }
        let most_lost = |sample: &PollSample| sample.full() && 2 * sample.lost() > sample.sent;
        let sample = samples.latest(span, self.since).filter(most_lost)?;
        if self.part <= FEWEST {
            return None;
        }
        (self.part, self.since) = (self.part / 2.0, now);
        Some(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::answer::PollAnswer;
    use super::*;

    /// docs/stp.md §8.3 rule 10: while seven of eight packets are lost, half a packet leaves in a round trip, and two once three arrive.
    #[test]
    fn the_least_rate_falls_while_most_is_lost() {
        let (mut least, mut samples) = (LeastRate::new(1.0), PollSamples::default());
        let (mut at, mut sent, mut arrived) = (0, 0, 0);
        let mut hear = |least: &mut LeastRate, lost: u64| {
            (at, sent, arrived) = (at + 500, sent + 8, arrived + 8 - lost);
            let sent_at = Time::from_nanos(at * 1_000_000);
            let rtt = Span::from_millis(600);
            samples.add(PollAnswer { arrived, ..PollAnswer::of(sent_at, rtt, sent) });
            least.judge(sent_at + rtt, &samples, rtt).is_some()
        };
        assert!((0..4).all(|_| !hear(&mut least, 4)) && least.over(1.0) == 2.0, "half is lost");
        let lowered = (0..40).filter(|_| hear(&mut least, 7)).count();
        assert_eq!((lowered, least.over(1.0)), (2, 0.5));
        let rounds = (1..20).find(|_| !hear(&mut least, 0) && least.over(1.0) == 2.0);
        assert!(rounds.is_some_and(|rounds| rounds <= 8), "{rounds:?}");
    }
}
