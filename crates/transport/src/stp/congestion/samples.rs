//! Samples between answered POLLs: packets sent and arrived, and the times of both.
//!
//! Follows docs/stp.md §8.3: a sample covers as many answered POLLs as it takes for the minimum duration and number of packets.
//! Differs from one sample for each answer: at a low rate, or if answers are lost, samples are longer, but never missing.
//! Leaves out the conclusions (`delay`).

use super::answer::PollAnswer;
use super::counted::Counted;
use super::way_back::WayBack;
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// Minimum number of packets in a sample.
pub(super) const ENOUGH: u64 = 8;
/// Part of a sample's time that may be unused for the sample to show what the path carries at most.
const UNUSED: f64 = 0.15;
/// Number of round trips from which jitter is computed.
const UNREST: usize = 16;
/// Answers in which the usual jitter follows the median by a factor of *e*.
const SLOWLY: f32 = 64.0;
/// Maximum number of stored answers.
const MOST: usize = 64;

/// Packets sent and arrived between two answered POLLs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PollSample {
    pub sent_from: Time,
    pub sent: u64,
    pub arrived: u64,
    /// Packets that may still be in flight, if the path reorders packets.
    pub late: u64,
    /// Durations in which the packets were sent, and in which they arrived, seconds.
    pub left_in: f64,
    pub arrived_in: f64,
    /// Network-layer bytes of the packets sent.
    bytes: f64,
    /// Seconds in which packets could have left and did not, for lack of data or because the host was late.
    unused: f64,
}

impl PollSample {
    fn between(one: &PollAnswer, two: &PollAnswer) -> Self {
        Self {
            sent_from: one.sent_at,
            sent: two.sent - one.sent,
            arrived: two.arrived.saturating_sub(one.arrived),
            late: 0,
            left_in: two.sent_at.since(one.sent_at).as_secs_f64(),
            arrived_in: two.clock_us.saturating_sub(one.clock_us) as f64 * 1e-6,
            bytes: two.bytes - one.bytes,
            unused: two.unused.saturating_sub(one.unused).as_secs_f64(),
        }
    }

    /// Rate at which packets arrived, network-layer bytes per second.
    pub fn arrives(&self) -> f64 {
        self.arrived as f64 * self.bytes / self.sent.max(1) as f64 / self.arrived_in.max(1e-6)
    }

    /// Rate at which the packets sent would have arrived in that time without losses.
    pub fn arrives_and_lost(&self) -> f64 {
        self.bytes / self.arrived_in.max(1e-6)
    }

    /// Rate at which packets were sent, network-layer bytes per second.
    pub fn leaves(&self) -> f64 {
        self.bytes / self.left_in.max(1e-6)
    }

    /// Returns true if the sender used the rate: a sample that lacked data does not show that the path has no more.
    pub fn full(&self) -> bool {
        self.unused <= UNUSED * self.left_in
    }

    /// Packets that did not arrive, without those that may be late.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.arrived + self.late)
    }

    pub fn is_overload(&self) -> bool {
        Counted { lost: self.lost() as f64, sent: self.sent as f64 }.is_overload()
    }
}

#[derive(Debug, Default)]
pub(super) struct PollSamples {
    answers: VecDeque<PollAnswer>,
    way_back: WayBack,
    /// Number of answers since packets passed each other, up to [`MOST`].
    passed: Option<u8>,
    /// Median jitter, smoothed where packets pass each other, seconds.
    usual_unrest: f32,
    /// Of the last answer, the round trip without its wait on the return path, and that wait, seconds: each packet asks for them.
    last: Option<(Span, f64)>,
}

impl PollSamples {
    /// Adds an answer. Returns the change of the return path's delay, microseconds; `None` if times of answers before it do not apply.
    pub fn add(&mut self, answer: PollAnswer) -> Option<i64> {
        // If a clock or a count decreases, the receiver is a new one: no sample covers both.
        let fits = self.answers.back().is_none_or(|last| {
            answer.sent_at >= last.sent_at && answer.clock_us >= last.clock_us && answer.sent >= last.sent
        });
        if !fits {
            self.answers.clear();
            self.way_back = WayBack::default();
        }
        let moved = self.way_back.add(&answer);
        let passes = self.answers.back().is_some_and(|last| answer.late > last.late);
        let since = self.passed.map(|answers| answers + 1).filter(|answers| usize::from(*answers) < MOST);
        self.passed = if passes { Some(0) } else { since };
        if self.answers.len() == MOST {
            self.answers.pop_front();
        }
        self.answers.push_back(answer);
        self.look_at_last();
        if let Some(median) = self.median_unrest() {
            let (usual, median) = (self.usual_unrest, median as f32);
            let smooth = usual > 0.0 && self.reorders();
            self.usual_unrest = if smooth { usual + (median - usual) / SLOWLY } else { median };
        }
        fits.then_some(moved)
    }

    fn look_at_last(&mut self) {
        let waited = |answer| self.way_back.waited(answer).as_secs_f64();
        self.last = self.answers.back().map(|answer| (self.rtt(answer), waited(answer)));
    }

    /// Starts again with the last answer, after a change of the path.
    pub fn restart(&mut self) {
        self.forget();
        if let Some(last) = self.answers.back() {
            self.way_back.restart(last);
        }
        self.look_at_last();
    }

    /// Round trip of an answer, without its wait on the return path.
    pub fn rtt(&self, answer: &PollAnswer) -> Span {
        answer.rtt.saturating_sub(self.way_back.waited(answer))
    }

    /// Round trip of the last answer.
    pub fn last_rtt(&self) -> Option<Span> {
        self.last.map(|(rtt, _)| rtt)
    }

    /// Wait of the last answer on the return path, seconds.
    pub fn waited(&self) -> f64 {
        self.last.map_or(0.0, |(_, waited)| waited)
    }

    /// Drops all answers but the last.
    pub fn forget(&mut self) {
        self.usual_unrest = self.unrest() as f32;
        self.answers.drain(..self.answers.len().saturating_sub(1));
    }

    pub fn last(&self) -> Option<&PollAnswer> {
        self.answers.back()
    }

    /// The shortest sample that ends with the last answer, covers at least `span` from `from` on, and has [`ENOUGH`] packets.
    pub fn latest(&self, span: Span, from: Time) -> Option<PollSample> {
        self.latest_of(ENOUGH, span, from)
    }

    /// The same with so many packets.
    pub fn latest_of(&self, packets: u64, span: Span, from: Time) -> Option<PollSample> {
        let last = self.answers.back()?;
        self.answers
            .iter()
            .rev()
            .skip(1)
            .take_while(|answer| answer.sent_at >= from)
            .find(|answer| last.sent_at.since(answer.sent_at) >= span && last.sent - answer.sent >= packets)
            .map(|answer| self.with_late(PollSample::between(answer, last)))
    }

    /// The longest sample that ends with the last answer and begins with a POLL sent at `from` or later.
    pub fn since(&self, from: Time) -> Option<PollSample> {
        let (one, last) = (self.answers.iter().find(|answer| answer.sent_at >= from)?, self.answers.back()?);
        Some(self.with_late(PollSample::between(one, last)))
    }

    /// On a path that reorders packets, those sent within the spread of round trips before the last POLL may be late.
    fn with_late(&self, mut sample: PollSample) -> PollSample {
        if self.reorders() {
            let spread = 4.0 * self.unrest();
            sample.late = (sample.sent as f64 * spread / sample.left_in.max(1e-6)) as u64;
        }
        sample
    }

    /// Returns true if packets that were reported missing were only late, within the last [`MOST`] answers.
    pub fn reorders(&self) -> bool {
        self.passed.is_some()
    }

    /// The smallest round trip of POLLs sent since `from`, among the last `most`.
    pub fn least_rtt(&self, from: Time, most: usize) -> Option<Span> {
        let late = self.answers.iter().rev().take(most).take_while(|answer| answer.sent_at >= from);
        late.map(|answer| self.rtt(answer)).min()
    }

    /// The largest round trip of these POLLs.
    pub fn most_rtt(&self, from: Time, most: usize) -> Option<Span> {
        let late = self.answers.iter().rev().take(most).take_while(|answer| answer.sent_at >= from);
        late.map(|answer| self.rtt(answer)).max()
    }

    /// Answer to the first POLL at or after this number.
    pub fn first_of(&self, first: u64) -> Option<&PollAnswer> {
        self.answers.iter().find(|answer| answer.next >= first)
    }

    /// Departure of that POLL.
    pub fn begun(&self, first: u64) -> Option<Time> {
        self.first_of(first).map(|answer| answer.sent_at)
    }

    fn train(&self, first: u64, end: u64, until: Time) -> impl Iterator<Item = &PollAnswer> + Clone {
        let within =
            move |answer: &PollAnswer| answer.next >= first && answer.next <= end && answer.sent_at <= until;
        // A POLL that no packet precedes measures a pause.
        let before = std::iter::once(None).chain(self.answers.iter().map(Some));
        let follows = |before: Option<&PollAnswer>, answer: &PollAnswer| {
            before.is_none_or(|before| before.sent < answer.sent)
        };
        let pairs = before.zip(&self.answers);
        pairs
            .filter(move |(before, answer)| within(answer) && follows(*before, answer))
            .map(|(_, answer)| answer)
    }

    /// The parts of a train: samples between successive POLLs with numbers from `first` to `end`, sent until `until`.
    pub fn parts(&self, first: u64, end: u64, until: Time) -> impl Iterator<Item = PollSample> {
        let of_it = self.train(first, end, until);
        let pairs = of_it.clone().zip(of_it.skip(1));
        pairs.map(|(one, two)| PollSample::between(one, two)).filter(|part| part.sent >= 3)
    }

    /// Sample over the whole train.
    pub fn whole(&self, first: u64, end: u64, until: Time) -> Option<PollSample> {
        let mut of_it = self.train(first, end, until);
        let one = of_it.next()?;
        let two = of_it.last()?;
        (two.sent - one.sent >= 3).then(|| PollSample::between(one, two))
    }

    /// Sample between the first and the last POLL with numbers from `first` to `end`.
    pub fn all_of(&self, first: u64, end: u64) -> Option<PollSample> {
        let mut of_it = self.train(first, end, Time::MAX);
        let one = of_it.next()?;
        Some(PollSample::between(one, of_it.last()?))
    }

    /// Sample between the last two answers.
    pub fn last_two(&self) -> Option<PollSample> {
        let mut late = self.answers.iter().rev();
        let (two, one) = (late.next()?, late.next()?);
        Some(PollSample::between(one, two))
    }

    /// The last two answers.
    pub fn last_answers(&self) -> Option<[&PollAnswer; 2]> {
        let mut late = self.answers.iter().rev();
        let (two, one) = (late.next()?, late.next()?);
        Some([one, two])
    }

    /// Departures and round trips, in seconds, of the last three answered POLLs.
    pub fn last_three(&self) -> Option<[(Time, f64); 3]> {
        let mut late =
            self.answers.iter().rev().map(|answer| (answer.sent_at, self.rtt(answer).as_secs_f64()));
        let (three, two, one) = (late.next()?, late.next()?, late.next()?);
        Some([one, two, three])
    }

    /// Jitter of successive round trips without their linear trend, seconds: the median of the last few, so that one jump does not count.
    /// Where packets pass each other, no less than the usual one: a median of few that is too small by chance makes late packets lost.
    pub fn unrest(&self) -> f64 {
        let median = self.median_unrest().unwrap_or(0.0);
        if self.reorders() { median.max(self.usual_unrest.into()) } else { median }
    }

    fn median_unrest(&self) -> Option<f64> {
        let mut late = self.answers.iter().rev().map(|answer| self.rtt(answer).as_secs_f64());
        let (mut differ, mut count) = ([0.0; UNREST], 0);
        let (mut one, mut two) = (late.next()?, late.next()?);
        for (three, differs) in late.zip(&mut differ) {
            *differs = (one - 2.0 * two + three).abs() / 2.0;
            (one, two) = (two, three);
            count += 1;
        }
        let differ = &mut differ[..count];
        differ.sort_unstable_by(f64::total_cmp);
        (count >= 3).then(|| differ[count / 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds an answer to the `n`th POLL, of so many ms; a packet was late if `passes`.
    fn add(samples: &mut PollSamples, n: u64, rtt_ms: u64, passes: bool) {
        let (sent_at, rtt) = (Time::from_nanos(10_000_000 * n), Span::from_millis(rtt_ms));
        let late = samples.last().map_or(0, |last| last.late) + u64::from(passes);
        samples.add(PollAnswer { late, ..PollAnswer::of(sent_at, rtt, 10 * n) });
    }

    /// docs/stp.md §8.3 rule 1: packets that pass each other are late by as much after a few round trips that were even by chance.
    #[test]
    fn jitter_that_lets_packets_pass_is_not_forgotten_by_chance() {
        for passes in [true, false] {
            let mut samples = PollSamples::default();
            // Round trips differ by 10 ms from their trend, and then by 1 ms.
            (0..200).for_each(|n| add(&mut samples, n, 40 + 10 * (n % 2), passes));
            (200..220).for_each(|n| add(&mut samples, n, 45 + n % 2, passes));
            let ms = samples.unrest() * 1e3;
            assert!(if passes { (7.0..9.0).contains(&ms) } else { (0.9..1.1).contains(&ms) }, "{ms}");
            samples.forget();
            let ms = samples.unrest() * 1e3;
            assert!(if passes { (7.0..9.0).contains(&ms) } else { ms == 0.0 }, "{ms}");
            // A path without it is one after a while.
            (220..500).for_each(|n| add(&mut samples, n, 45 + n % 2, passes));
            assert!((0.9..1.3).contains(&(samples.unrest() * 1e3)), "{}", samples.unrest());
        }
    }
}
