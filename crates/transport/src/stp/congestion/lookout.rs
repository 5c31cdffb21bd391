//! Others who begin at about the same time, seen by small POLLs around this flow's train.
//!
//! Follows docs/stp.md §8.3 rule 5: the time for which others keep the bottleneck busy, beside that of this flow's train, gives its share.
//! Differs from a train's spacing: trains take milliseconds of a round trip, and most do not meet. Data that keep the path busy are no
//! train: a queue that stands does not count.
//! Leaves out trains that do meet (`opening`), and the rate afterwards (`climb`).

use super::answer::PollAnswer;
use skyhop_units::{Span, Time};

/// Interval of the POLLs until the first of them is answered, and then: a train keeps 200 Mbit/s busy for 7 ms. It grows tenfold for each
/// second that answers wait on the way back.
const INTERVAL: (Span, Span) = (Span::from_millis(7), Span::from_millis(14));
const WAITED: f64 = 10.0;
/// Packets that wait from which on so many POLLs are worth their answers: some 70 in half a second.
const WORTHWHILE: f64 = 700.0;
/// Time without an answer after which they begin, and end: shorter paths need none, and without an answer nothing is learnt.
const BEGINS: Span = Span::from_millis(100);
const ENDS: Span = Span::from_secs(1);
/// Shortest round trip for which others count, seconds: what is sent before its end is sent blindly.
const SHORTEST: f64 = 0.1;
/// Longest time between two POLLs that stands for what happened in it.
const APART: Span = Span::from_millis(100);
/// Largest number of POLLs that are kept.
const MOST: usize = 256;
/// Queue that counts: seconds, and a multiple of the jitter, which is the median of all less the least.
const QUEUE: (f64, f64) = (0.0003, 8.0);
/// Smallest share: hosts that are often late look like many others.
const LEAST: f64 = 1.0 / 32.0;
/// Longest train beside which others are looked for, in round trips: a longer one meets them itself.
const LONGEST: f64 = 0.2;
/// Time after the first packets until their queue has gone, in round trips of such a path, and after a train, as a multiple of the time
/// for which it keeps the bottleneck busy.
const QUIET: f64 = 1.0 / 12.0;
const DRAINED: f64 = 1.25;
/// Round trips for which the rate that a train has shown is remembered.
const SHOWN: f64 = 16.0;

/// A POLL that left without a packet since the one before.
#[derive(Debug, Clone, Copy)]
struct Met {
    sent_at: Time,
    /// Time since the POLL before, and since this flow's last packet.
    after: Span,
    quiet: Span,
    rtt: Span,
}

/// This flow's train.
#[derive(Debug, Clone, Copy)]
struct OwnTrain {
    begins: Time,
    /// Seconds for which it kept the bottleneck busy, and the rate that it has shown.
    busy: f64,
    rate: f64,
}

/// POLLs around the trains, and what they have met.
#[derive(Debug, Default)]
pub(super) struct Lookout {
    /// Nothing until a POLL may have met others, as most connections of a large host send little.
    look: Option<Box<TrainLook>>,
    /// Departure of the last POLL that packets preceded.
    sent_at: Time,
    over: bool,
}

#[derive(Debug, Default)]
struct TrainLook {
    met: Vec<Met>,
    own: Option<OwnTrain>,
    /// The smallest share so far.
    share: f64,
}

impl Lookout {
    /// A look, if it `is_due`.
    pub fn new(is_due: bool) -> Self {
        Self { over: !is_due, ..Self::default() }
    }

    /// The interval of POLLs while others may be seen; `since` is the departure of the oldest POLL without an answer, `waited` the last
    /// answer's wait on the way back, seconds, and `packets` wait.
    pub fn interval(&self, now: Time, since: Time, waited: f64, packets: f64) -> Option<Span> {
        let waits = now.since(since);
        let unanswered = self.look.as_ref().is_none_or(|look| look.met.is_empty());
        let interval = if unanswered { INTERVAL.0 } else { INTERVAL.1 };
        let rarely = (WORTHWHILE / packets.max(1.0)).max(1.0);
        let often = Span::from_secs_f64(interval.as_secs_f64() * (1.0 + WAITED * waited) * rarely);
        (!self.over && waits < ENDS).then(|| if waits < BEGINS { BEGINS } else { often })
    }

    /// Adds an answer, whose round trip is `rtt`, after the one `before`, on a path of `floor` seconds.
    pub fn add(&mut self, before: &PollAnswer, answer: &PollAnswer, rtt: Span, floor: f64) {
        let after = answer.sent_at.since(before.sent_at);
        let passed = self.own().is_some_and(|own| answer.sent_at.since(own.begins).as_secs_f64() >= floor);
        if passed || floor < SHORTEST {
            self.end();
        }
        if before.sent != answer.sent {
            self.sent_at = answer.sent_at;
        } else if !self.over && after <= APART {
            let quiet = answer.sent_at.since(self.sent_at);
            let met = &mut self.look.get_or_insert_default().met;
            if met.len() < MOST {
                met.push(Met { sent_at: answer.sent_at, after, quiet, rtt });
            }
        }
    }

    /// Ends the look.
    pub fn end(&mut self) {
        self.over = true;
        if let Some(look) = &mut self.look {
            look.met = Vec::new();
        }
    }

    /// True until the look has ended.
    pub fn goes_on(&self) -> bool {
        !self.over
    }

    /// True once this flow's train has shown a rate.
    pub fn has_begun(&self) -> bool {
        self.own().is_some()
    }

    /// This flow's share of the path, by what has been met so far, if its train of so many `bytes`, which left at `begins`, has shown
    /// `rate`.
    pub fn begin(&mut self, begins: Time, bytes: f64, rate: f64, floor: f64) -> f64 {
        let look = self.look.get_or_insert_default();
        (look.own, look.share) = (Some(OwnTrain { begins, busy: bytes / rate, rate }), 1.0);
        self.decreases(floor);
        self.look.as_ref().map_or(1.0, |look| look.share)
    }

    /// The rate of this flow's share, if what was met has made it smaller.
    pub fn decreases(&mut self, floor: f64) -> Option<f64> {
        let OwnTrain { begins, busy, rate } = self.own().filter(|_| !self.over)?;
        let share = (busy / (busy + self.others(begins, busy, floor))).max(LEAST);
        let look = self.look.as_mut()?;
        let less = share < look.share;
        look.share = look.share.min(share);
        less.then_some(rate * share)
    }

    /// Seconds for which others have kept the bottleneck busy, around this flow's train, which left at `begins` and did so for `busy`
    /// seconds. Their data, which begin a round trip after the first of their trains, do not count.
    pub fn others(&self, begins: Time, busy: f64, floor: f64) -> f64 {
        if self.over || busy > LONGEST * floor {
            return 0.0;
        }
        let Some(look) = &self.look else { return 0.0 };
        let limit = look.limit(floor);
        let drained = |met: &Met| {
            if met.sent_at < begins { QUIET * floor } else { DRAINED * busy }
        };
        let counts = |met: &Met| met.quiet.as_secs_f64() >= drained(met);
        // A train fills and drains the queue between two POLLs; what leaves it as it is are data at the rate of the path.
        let differ = |n: usize| {
            let (one, next) = (&look.met[n], &look.met[n + 1]);
            let apart = (next.rtt.as_secs_f64() - one.rtt.as_secs_f64()).abs();
            counts(one) && counts(next) && one.sent_at + next.after == next.sent_at && apart > limit - floor
        };
        let theirs = |n: &usize| {
            let met = &look.met[*n];
            let moves = *n > 0 && differ(n - 1) || n + 1 < look.met.len() && differ(*n);
            met.rtt.as_secs_f64() > limit && counts(met) && moves
        };
        let mut met = (0..look.met.len()).filter(theirs).map(|n| &look.met[n]).peekable();
        let begun = met.peek().map_or(begins, |first| first.sent_at.min(begins));
        let until = begun + Span::from_secs_f64(floor);
        met.take_while(|met| met.sent_at < until).map(|met| met.after.as_secs_f64()).sum()
    }

    /// The rate that a train has shown of late, or zero.
    pub fn shown(&self, now: Time, floor: f64) -> f64 {
        let late = |own: &OwnTrain| now.since(own.begins).as_secs_f64() < SHOWN * floor;
        self.own().filter(late).map_or(0.0, |own| own.rate)
    }

    fn own(&self) -> Option<OwnTrain> {
        self.look.as_ref()?.own
    }
}

impl TrainLook {
    /// The longest round trip that shows no queue, seconds.
    fn limit(&self, floor: f64) -> f64 {
        let mut all: Vec<Span> = self.met.iter().map(|met| met.rtt).collect();
        if all.is_empty() {
            return floor;
        }
        let middle = all.len() / 2;
        let median = all.select_nth_unstable(middle).1.as_secs_f64();
        floor + QUEUE.0 + QUEUE.1 * (median - floor).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: f64 = 0.6;

    fn answer(sent_ms: u64, rtt_us: u64, sent: u64) -> PollAnswer {
        PollAnswer::of(Time::ZERO + Span::from_millis(sent_ms), Span::from_micros(rtt_us), sent)
    }

    /// The share of a train of 120 packets that leaves at 600 ms and keeps 250 Mbit/s busy for 4.7 ms, if POLLs 10 ms apart meet queues of
    /// so many microseconds; packets precede those for which `sends` holds.
    fn share(queue_us: impl Fn(u64) -> u64, sends: impl Fn(u64) -> bool) -> f64 {
        let mut lookout = Lookout::new(true);
        let mut before = answer(0, 600_000, 10);
        for at in (100..1200).step_by(10) {
            let this = answer(at, 600_000 + queue_us(at), before.sent + 12 * u64::from(sends(at)));
            lookout.add(&before, &this, this.rtt, FLOOR);
            before = this;
        }
        lookout.begin(Time::ZERO + Span::from_millis(600), 120.0 * 1228.0, 250e6 / 8.0, FLOOR)
    }

    #[test]
    fn each_queue_that_is_met_stands_for_the_time_between_polls() {
        let busy = 120.0 * 1228.0 * 8.0 / 250e6;
        let at = |times: &'static [u64]| share(|at| 2000 * u64::from(times.contains(&at)), |_| false);
        assert_eq!(at(&[]), 1.0);
        for (times, count) in [(&[300][..], 1.0), (&[900], 1.0), (&[200, 400, 500, 700], 4.0)] {
            assert!((at(times) - busy / (busy + 0.01 * count)).abs() < 1e-9, "{times:?}");
        }
    }

    #[test]
    fn what_is_sent_a_round_trip_after_the_first_train_does_not_count() {
        let some = share(|at| 2000 * u64::from(at == 200), |_| false);
        assert_eq!(share(|at| 2000 * u64::from(at == 200 || at >= 800), |_| false), some);
    }

    #[test]
    fn a_queue_behind_packets_of_its_own_does_not_count() {
        let queue = |at| 2000 * u64::from((200..250).contains(&at));
        assert!(share(queue, |_| false) < 0.2);
        assert_eq!(share(queue, |at| at == 200), 1.0);
    }

    #[test]
    fn a_queue_that_stands_is_no_train() {
        assert_eq!(share(|at| 6000 * u64::from(at >= 130), |_| false), 1.0);
        let edges = share(|at| 6000 * u64::from((150..500).contains(&at)), |_| false);
        assert_eq!(edges, share(|at| 6000 * u64::from([200, 400].contains(&at)), |_| false));
        // A queue that drains is what a train, or many, have left.
        assert!(share(|at| (1000 * at).min(500_000 - 1000 * at.min(500)), |_| false) < 0.1);
    }

    #[test]
    fn jitter_is_nobody() {
        for most in [100, 1000, 20_000] {
            assert_eq!(share(|at| at * 7919 % most, |_| false), 1.0, "{most}");
        }
    }

    #[test]
    fn few_packets_are_worth_few_polls() {
        let interval = |waited, packets| {
            let now = Time::ZERO + Span::from_millis(200);
            Lookout::new(true).interval(now, Time::ZERO, waited, packets).map(|span| span.as_nanos() / 1000)
        };
        assert_eq!(
            [2000.0, 700.0, 70.0].map(|packets| interval(0.0, packets)),
            [Some(7000), Some(7000), Some(70_000)]
        );
        assert_eq!(interval(0.1, 350.0), Some(28_000));
    }

    #[test]
    fn shorter_paths_have_no_look() {
        let mut lookout = Lookout::new(true);
        assert!(lookout.interval(Time::ZERO + BEGINS, Time::ZERO, 0.0, 1e3).is_some());
        let one = answer(0, 40_000, 10);
        lookout.add(&one, &answer(10, 40_000, 10), one.rtt, 0.04);
        assert_eq!(lookout.interval(Time::ZERO + BEGINS, Time::ZERO, 0.0, 1e3), None);
    }
}
