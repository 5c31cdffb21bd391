//! Losses without a queue: the rate of the test that tells if they are the rate's own.
//!
//! Follows docs/stp.md §8.3, rule 4. Leaves out what the test tells (`own_losses`).

use super::super::losses::ENOUGH as JUDGED;
use super::super::own_losses::{LASTS, RunningTest};
use super::Delay;

use skyhop_units::{Span, Time};

/// Longest test that is begun, in round trips.
const SOON: f64 = 16.0;

impl Delay {
    /// Returns true if what a sample lost may be the channel's, as it met no queue.
    pub(super) fn is_free(&mut self, now: Time, from: Time) -> bool {
        self.empty(from) && !self.losses.owns(now, self.rate)
    }

    /// Counts what was lost without a queue since the last count; if much was lost again and again, a test begins.
    pub(super) fn begins_test(&mut self, now: Time, grain: Span) -> bool {
        let counted = self.losses.test.as_ref().map_or(Time::ZERO, |test| test.counted);
        let sample = self.path.samples.latest_of(JUDGED, grain, counted);
        let Some((sample, last)) = sample.zip(self.path.samples.last()) else { return false };
        if self.losses.test.is_none() && sample.lost() == 0 {
            return false;
        }
        // Packets that are only late would count as lost. Losses beside a queue are judged with it, if a round trip has enough packets.
        let judged = sample.left_in < 2.0 * grain.as_secs_f64() && !self.empty(sample.sent_from);
        let ignored = !sample.full() || self.path.samples.reorders() || judged;
        let channel = self.losses.test.get_or_insert_default();
        channel.counted = last.sent_at;
        if ignored {
            channel.restart();
            return false;
        }
        let Some(test) = channel.add(now, self.rate, (sample.lost() as f64, sample.sent as f64)) else {
            return false;
        };
        // The answers that are stored do not cover a test of so many round trips.
        let takes = test.packets() as f64 * self.mss / test.lower();
        if takes > SOON * self.path.floor.seconds() {
            channel.give_up(now);
            return false;
        }
        self.set_rate(test.lower());
        true
    }

    /// Sends less until it is known if as much is lost.
    pub(super) fn test_channel(&mut self, now: Time, test: RunningTest, rtt: f64) {
        let span = |times: f64| Span::from_secs_f64(times * rtt);
        let sample = self.path.samples.latest_of(test.packets(), span(LASTS.0), test.since + span(1.0));
        let sample = match sample {
            Some(sample) if sample.full() => sample,
            None if now.since(test.since) < span(LASTS.1) => return,
            // Nothing is known.
            _ => {
                if let Some(channel) = &mut self.losses.test {
                    channel.give_up(now);
                }
                return self.set_rate(test.rate);
            }
        };
        let (lost, sent) = (sample.lost() as f64, sample.sent as f64);
        if self.losses.test.as_mut().is_some_and(|channel| channel.end(now, lost, sent)) {
            self.losses.forget();
            self.confirmed.replace(self.rate);
        } else {
            self.set_rate(test.rate);
        }
    }
}
