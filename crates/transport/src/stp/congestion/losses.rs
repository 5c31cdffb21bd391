//! Losses due to channel errors, distinguished from losses due to congestion.
//!
//! Follows docs/stp.md §8.3: losses that grow with the rate are due to congestion, others to the channel.
//! Differs from a threshold: a sample is compared with the recent loss of the channel and the deviation expected by chance; if a lower
//! rate has the same share of losses, the channel has it.
//! Leaves out the reaction to losses (`delay`).

use super::samples::PollSample;
use skyhop_units::Time;

/// Minimum number of packets in a sample that is judged.
pub(super) const ENOUGH: u64 = 20;
/// Share of losses in addition to the channel's that counts as congestion.
const BEYOND: f64 = 0.02;
/// Number of packets after which the weight of an earlier packet is halved.
const HALF: f64 = 5000.0;
/// Lower bound of [`LossJudge::scale`].
const LEAST_SCALE: f64 = 0.25;

#[derive(Debug)]
pub(super) struct LossJudge {
    /// Weighted numbers of packets lost and sent without signs of congestion.
    lost: f64,
    sent: f64,
    /// Weighted numbers of packets lost and sent while there was a queue.
    queued: (f64, f64),
    /// Time of the last reduction for losses.
    cut: Option<Time>,
    /// Factor of the queue's target delay; losses while there is a queue lower it.
    pub scale: f64,
}

impl Default for LossJudge {
    fn default() -> Self {
        Self { lost: 0.0, sent: 0.0, queued: (0.0, 0.0), cut: None, scale: 1.0 }
    }
}

impl LossJudge {
    /// Share of packets that the channel loses.
    pub fn usual(&self) -> f64 {
        if self.sent < 50.0 { 0.0 } else { (self.lost / self.sent).min(0.5) }
    }

    /// Returns true if `lost` of `sent` packets exceed the losses of the channel by more than chance explains.
    pub fn beyond(&self, lost: f64, sent: f64) -> bool {
        let usual = sent * (self.lost + 1.0) / (self.sent + 20.0);
        lost - usual > 3.0 * usual.sqrt() + 3.0
    }

    fn learn(&mut self, lost: f64, sent: f64) {
        let old = (-sent / HALF).exp2();
        (self.lost, self.sent) = (self.lost * old + lost, self.sent * old + sent);
    }

    /// Judges a sample; `free` if there was no queue at any time. Returns true if its losses are due to congestion.
    pub fn judge(&mut self, now: Time, sample: &PollSample, free: bool) -> bool {
        if sample.sent < ENOUGH || self.cut.is_some_and(|at| sample.sent_from < at) {
            return false;
        }
        let (lost, sent) = (sample.lost() as f64, sample.sent as f64);
        let part = lost / sent;
        if free || part < 0.5 * self.usual() {
            // A loss without a queue is due to the channel.
            if free && self.cut.take().is_some() && part > self.usual() + BEYOND {
                (self.lost, self.sent) = (0.0, 0.0);
                self.scale = 1.0;
            }
            self.learn(lost, sent);
            self.scale = (1.02 * self.scale).min(1.0);
            return false;
        }
        self.in_queue(lost, sent);
        self.scale = (1.02 * self.scale).min(1.0);
        if part > self.usual() + BEYOND && self.beyond(lost, sent) {
            self.cut = Some(now);
            self.wants_shorter();
            return true;
        }
        false
    }

    /// Lowers the target delay after a mark: the queue is to be shorter.
    pub fn wants_shorter(&mut self) {
        self.scale = (self.scale / 2.0).max(LEAST_SCALE);
    }

    /// Lowers the target delay for few but repeated losses while there is a queue, which an AQM causes to shorten it.
    fn in_queue(&mut self, lost: f64, sent: f64) {
        let old = (-sent / HALF).exp2();
        (self.queued.0, self.queued.1) = (self.queued.0 * old + lost, self.queued.1 * old + sent);
        let usual = self.usual() * self.queued.1;
        let more = self.queued.0 - usual;
        if more > 0.003 * self.queued.1 && more > 2.0 * usual.sqrt() + 3.0 {
            self.wants_shorter();
            self.queued = (0.0, 0.0);
        }
    }

    /// Returns true if a sample has more losses than the channel usually has; if that has none, any loss counts.
    pub fn any(&self, sample: &PollSample) -> bool {
        let usual = sample.sent as f64 * self.usual();
        sample.lost() as f64 > usual + 2.0 * usual.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::PollAnswer;
    use super::super::samples::PollSamples;
    use super::*;
    use skyhop_units::Span;

    fn sample(sent: u64, lost: u64) -> PollSample {
        let mut samples = PollSamples::default();
        let answer = |at: u64, sent, arrived| PollAnswer {
            sent_at: Time::from_nanos(at),
            rtt: Span::from_millis(100),
            sent,
            arrived,
            clock_us: at / 1000,
            needless: 0,
            unused: Span::ZERO,
            next: sent,
            bytes: 1000.0 * sent as f64,
            marked: 0,
        };
        samples.add(answer(0, 0, 0));
        samples.add(answer(1_000_000_000, sent, sent - lost));
        samples.last_two().expect("two answers")
    }

    /// docs/stp.md §8.3: losses without a queue are due to the channel and do not lower the rate; with a queue the same share is no
    /// congestion, a larger one is.
    #[test]
    fn loss_that_grows_is_congestion_and_loss_that_does_not_is_the_channel() {
        let mut losses = LossJudge::default();
        for _ in 0..5 {
            assert!(!losses.judge(Time::ZERO, &sample(1000, 50), true));
        }
        assert!((losses.usual() - 0.05).abs() < 0.001);
        assert!(!losses.judge(Time::ZERO, &sample(1000, 60), false));
        assert!(losses.judge(Time::ZERO, &sample(1000, 120), false));
        assert!((losses.usual() - 0.05).abs() < 0.001, "congestion is not learnt");
        assert!(losses.scale < 1.0, "the queue is to be shorter");
    }
}
