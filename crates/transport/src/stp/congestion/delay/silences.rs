//! The rate by delay over silences: what is kept of it, and what packets that waited for the end of an outage say.
//!
//! Follows docs/stp.md §8.3 rule 9, and RFC 9959 §4 for half of a confirmed rate, and then all of it.
//! Leaves out when POLLs count as unanswered (`poll_timer`), and the first packets after an outage (`opening`).

use super::super::AnswerSignals;
use super::super::answer::PollAnswer;
use super::super::samples::ENOUGH;
use super::climb::STEPS;
use super::{Delay, RatePhase, RateTrial};

/// Round trips without a queue between two answered POLLs, and in the round trip of the second, within which a silence between them may be
/// due to chance.
const SHORT: (f64, f64) = (3.0, 1.5);

impl Delay {
    /// Handles POLLs without an answer: the estimates are kept until answers arrive again.
    pub fn on_silence(&mut self) {
        self.opening.cwnd = (self.opening.cwnd / 2.0).max(2.0 * self.mss);
        self.silent = true;
    }

    /// Returns true if a POLL left in a silence and waited for its end with the packets before it, of which a full queue may have dropped
    /// any number: it says nothing of the path. Where a queue has grown by as much, packets come at the path's rate.
    pub(super) fn has_outwaited(&self, answer: &PollAnswer) -> bool {
        let steady = matches!(self.phase, RatePhase::Cruise { .. } | RatePhase::Compete { .. });
        steady && answer.sent_at < self.known && self.path.have_waited()
    }

    /// Returns true if a silence may have been the loss of a POLL and of the one after it: where few packets are in a round trip, that is
    /// all there is, and the rate would be on trial anew again and again.
    fn was_chance(&self) -> bool {
        let sends = matches!(
            self.phase,
            RatePhase::Climb { .. } | RatePhase::Cruise { .. } | RatePhase::Compete { .. }
        );
        let floor = self.path.floor.seconds();
        let short = self.path.samples.last_two().is_some_and(|two| two.left_in < SHORT.0 * floor);
        // A POLL that has waited tells of an outage.
        let rtt =
            self.path.samples.last().map_or(f64::INFINITY, |last| self.path.samples.rtt(last).as_secs_f64());
        sends && short && rtt < SHORT.1 * floor && self.packets() < ENOUGH as f64
    }

    /// Handles the first answer after a silence. Returns true if it changes the phase.
    pub(super) fn end_silence(&mut self, signals: &AnswerSignals) -> bool {
        // POLLs that waited for the end of a silence met no others.
        self.lookout.end();
        if self.was_chance() {
            return false;
        }
        if self.resume(signals) {
            return true;
        }
        // Packets that left in the silence say nothing about the rate.
        self.known = signals.now;
        if let RatePhase::Climb { since, .. } = &mut self.phase {
            *since = signals.now;
            self.trial = RateTrial { first: signals.next, sent: 0, lost: 0, ..self.trial };
        }
        false
    }

    /// Restarts after unanswered POLLs, with half of the confirmed rate for a round trip, then with all of it (RFC 9959 §4). Returns
    /// false if the phase continues as it was.
    fn resume(&mut self, signals: &AnswerSignals) -> bool {
        let before = self.held.unwrap_or(self.rate);
        let rate = match self.phase {
            RatePhase::Start => return false,
            RatePhase::Promised(_) => {
                self.pardon(signals.now);
                return true;
            }
            // Once only: a train that the path does not carry makes a silence, too, and repeats come before the next one.
            RatePhase::Proof { train, rate, .. } if rate.is_infinite() && self.opening.trains == 1 => {
                self.train(signals, train.packets() / 2, rate, false);
                return true;
            }
            RatePhase::Proof { rate, .. } if rate.is_infinite() => {
                let rate = self.opening.first_packets as f64 * self.mss / self.path.floor.seconds();
                self.begin_climb(signals, rate, None, STEPS.len() - 1);
                return true;
            }
            RatePhase::Proof { rate, .. } => {
                // Trains have shown it, and a climb from below is to come back to it.
                self.confirmed.remember(signals.now, rate);
                rate
            }
            // Only POLLs were lost: most data between them have arrived.
            _ if self.path.samples.last_two().is_some_and(|two| 2 * two.arrived > two.sent) => return false,
            RatePhase::Climb { aim: Some(aim), .. } => aim.max(self.confirmed.rate()),
            // A rate that lacked data is hardly proven.
            RatePhase::Cruise { .. } => self.confirmed.rate().max(before),
            _ => self.confirmed.rate().max(before / 2.0),
        };
        self.path.samples.forget();
        // Earlier POLLs have waited for the end of the silence, and not in a queue.
        self.known = signals.now;
        self.begin_climb(signals, rate / 2.0, Some(rate), 0);
        true
    }
}
