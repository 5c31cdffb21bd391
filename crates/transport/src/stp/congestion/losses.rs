//! Losses due to channel errors, distinguished from losses due to congestion.
//!
//! Follows docs/stp.md §8.3: losses that grow with the rate are due to congestion, others to the channel.
//! Differs from a threshold: a sample is compared with the recent loss of the channel and the deviation expected by chance; if a lower
//! rate has the same share of losses, the channel has it.
//! Leaves out the reaction to losses (`delay`).

use super::by_queue::LossesByQueue;
use super::counted::Counted;
use super::own_losses::OwnLosses;
use super::samples::PollSample;
use skyhop_units::Time;

/// Minimum number of packets in a sample that is judged.
pub(super) const ENOUGH: u64 = 20;
/// Share of losses in addition to the channel's that counts as congestion.
const BEYOND: f64 = 0.02;
/// Samples beside a queue, without one that had none, after which half of the channel's losses are forgotten.
const QUEUES: u8 = 32;
/// Lower bound of [`LossJudge::scale`].
const LEAST_SCALE: f64 = 0.25;

#[derive(Debug)]
pub(super) struct LossJudge {
    /// Packets without signs of congestion, from which the channel's losses are learnt.
    learnt: Counted,
    /// Packets in samples with a queue.
    queued: Counted,
    by_queue: LossesByQueue,
    /// Since much was lost without a queue.
    pub test: Option<Box<OwnLosses>>,
    /// True if the last sample without a queue lost more than chance explains.
    many: bool,
    /// Samples beside a queue since the last one without, and the part of the learnt losses that still counts as the channel's.
    queues: u8,
    trust: f32,
    /// Time of the last reduction for losses.
    cut: Option<Time>,
    /// Factor of the queue's target delay; losses while there is a queue lower it.
    pub scale: f64,
}

impl Default for LossJudge {
    fn default() -> Self {
        Self {
            learnt: Counted::default(),
            queued: Counted::default(),
            by_queue: LossesByQueue::default(),
            test: None,
            many: false,
            queues: 0,
            trust: 1.0,
            cut: None,
            scale: 1.0,
        }
    }
}

impl LossJudge {
    /// Share of packets that the channel loses.
    pub fn usual(&self) -> f64 {
        let Counted { lost, sent } = self.learnt;
        if sent < 50.0 { 0.0 } else { (f64::from(self.trust) * lost / sent).min(0.5) }
    }

    /// Losses of the channel among `sent` packets, while little is known no fewer than one in twenty.
    fn expected(&self, sent: f64) -> f64 {
        let lost = f64::from(self.trust) * self.learnt.lost;
        sent * Counted { lost, ..self.learnt }.part()
    }

    /// Most losses that chance explains if so many are expected.
    fn by_chance(expected: f64) -> f64 {
        expected + 3.0 * expected.sqrt() + 3.0
    }

    /// Returns true if `lost` of `sent` packets exceed the losses of the channel by more than chance explains.
    pub fn beyond(&self, lost: f64, sent: f64) -> bool {
        lost > Self::by_chance(self.expected(sent))
    }

    /// Judges a sample; `free` if there was no queue at any time. Returns true if its losses are due to congestion.
    pub fn judge(&mut self, now: Time, sample: &PollSample, free: bool) -> bool {
        if self.cut.is_some_and(|at| sample.sent_from < at) {
            return false;
        }
        // By time, not by packets: a flow that sends few in a round trip would keep the short target, and yield to others for ever.
        self.scale = (1.02 * self.scale).min(1.0);
        // A flow that lacks data may never send more at a time.
        if sample.sent < ENOUGH && (sample.full() || !free) {
            return false;
        }
        let (lost, sent) = (sample.lost() as f64, sample.sent as f64);
        let part = lost / sent;
        let congested = if free {
            self.without_queue(lost, sent);
            false
        } else if part < 0.5 * self.usual() {
            self.learnt.add(lost, sent);
            false
        } else {
            self.beside_queue(lost, sent);
            self.is_too_much(sample)
        };
        if congested {
            self.cut = Some(now);
            self.wants_shorter();
        }
        congested
    }

    /// Returns true if a sample lost so much more than the channel does that the rate must be the cause.
    pub fn is_too_much(&self, sample: &PollSample) -> bool {
        let (lost, sent) = (sample.lost() as f64, sample.sent as f64);
        lost / sent > self.usual() + BEYOND && self.beyond(lost, sent)
    }

    /// Forgets what was learnt of the channel: it was the rate's own.
    pub fn forget(&mut self) {
        (self.learnt, self.many) = (Counted::default(), false);
    }

    /// Returns true while losses without a queue are those of the rate's own making.
    pub fn owns(&mut self, now: Time, rate: f64) -> bool {
        self.test.as_mut().is_some_and(|test| test.owns(now, rate))
    }

    /// Ends a test without a result.
    pub fn abandon_test(&mut self) {
        if let Some(test) = &mut self.test {
            test.running = None;
        }
    }

    /// Counts a sample by the longest queue that it met, seconds.
    pub fn count_by_queue(&mut self, sample: &PollSample, queue: f64) {
        self.by_queue.add(sample.lost() as f64, sample.sent as f64, queue);
    }

    /// Returns true if a sample lost more than those beside shorter queues than this, seconds, by two standard deviations.
    pub fn exceed_shorter(&self, sample: &PollSample, queue: f64) -> bool {
        let expected = sample.sent as f64 * self.by_queue.part_beside_shorter(queue);
        sample.lost() as f64 > expected + 2.0 * expected.sqrt()
    }

    /// Returns true if losses come with queues of this length, seconds.
    pub fn grow_with_queue(&self, queue: f64) -> bool {
        self.by_queue.grow_with_queue(queue)
    }

    /// Returns true if a sample lost anything, and losses come with a queue of its length: the rate is to be reduced.
    pub fn blames_queue(&mut self, now: Time, sample: &PollSample, queue: f64) -> bool {
        let judged = self.cut.is_some_and(|at| sample.sent_from < at);
        let blames = sample.lost() > 0 && !judged && self.grow_with_queue(queue);
        if blames {
            self.cut = Some(now);
        }
        blames
    }

    /// A loss without a queue is due to the channel.
    fn without_queue(&mut self, lost: f64, sent: f64) {
        (self.queues, self.trust) = (0, 1.0);
        if self.cut.take().is_some() && lost / sent > self.usual() + BEYOND {
            self.learnt = Counted::default();
            self.scale = 1.0;
        }
        // A short queue may overflow between two POLLs. So what exceeds chance is learnt if the next sample without a queue loses as many.
        let many = self.beyond(lost, sent);
        let confirmed = std::mem::replace(&mut self.many, many);
        let most = if many && !confirmed { Self::by_chance(self.expected(sent)) } else { lost };
        self.learnt.add(lost.min(most), sent);
    }

    /// Losses beside a queue may be due to it.
    fn beside_queue(&mut self, lost: f64, sent: f64) {
        self.queued.add(lost, sent);
        let usual = self.usual() * self.queued.sent;
        let more = self.queued.lost - usual;
        // Few but repeated losses are those of an AQM, which wants the queue shorter.
        if more > 0.003 * self.queued.sent && more > 2.0 * usual.sqrt() + 3.0 {
            self.wants_shorter();
            self.queued = Counted::default();
        }
        self.queues += 1;
        if self.queues == QUEUES {
            // A rate that causes the losses which it takes for the channel's would be kept for ever.
            (self.queues, self.trust) = (0, self.trust / 2.0);
        }
    }

    /// Lowers the target delay: the queue is to be shorter.
    pub fn wants_shorter(&mut self) {
        self.scale = (self.scale / 2.0).max(LEAST_SCALE);
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
            arrived,
            ..PollAnswer::of(Time::from_nanos(at), Span::from_millis(100), sent)
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

    /// docs/stp.md §8.3 rule 4: 35 round trips without losses undo what halved the target, however few packets there are in them.
    #[test]
    fn the_target_of_a_slow_flow_returns() {
        for sent in [4, 1000] {
            let mut losses = LossJudge::default();
            losses.wants_shorter();
            let rounds = (1..100).find(|_| {
                losses.judge(Time::ZERO, &sample(sent, 0), false);
                losses.scale == 1.0
            });
            assert_eq!(rounds, Some(36), "{sent} packets");
        }
    }

    /// docs/stp.md §8.3 rule 4: what a short queue lost between two POLLs is not the channel's; what is lost again is.
    #[test]
    fn one_burst_without_a_queue_is_hardly_learnt() {
        let mut once = LossJudge::default();
        once.judge(Time::ZERO, &sample(100, 50), true);
        once.judge(Time::ZERO, &sample(100, 0), true);
        assert!(once.usual() < 0.08, "{}", once.usual());
        let mut again = LossJudge::default();
        (0..10).for_each(|_| assert!(!again.judge(Time::ZERO, &sample(100, 50), true)));
        assert!(again.usual() > 0.45, "{}", again.usual());
    }

    /// A flow that loses a fifth by its own rate, and takes that for the channel's, notices it although its queue never goes.
    #[test]
    fn losses_that_only_show_beside_a_queue_are_doubted() {
        let mut losses = LossJudge::default();
        (0..3).for_each(|_| assert!(!losses.judge(Time::ZERO, &sample(200, 40), true)));
        let rounds = (1..100).find(|_| losses.judge(Time::ZERO, &sample(200, 40), false));
        assert_eq!(rounds, Some(QUEUES as usize));
        assert!(losses.usual() < 0.11, "{}", losses.usual());
        // Without the queue they are the channel's again.
        let later = Time::from_nanos(1);
        losses.cut = None;
        losses.judge(later, &sample(200, 40), true);
        assert!(losses.usual() > 0.17, "{}", losses.usual());
    }
}
