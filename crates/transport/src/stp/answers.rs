//! Answers to POLLs: when a list of missing packets is due, and its parts.
//!
//! Follows HT §5.1.1 and docs/stp.md §3.2 and §7: a list is of the time when its POLL arrived, and is split if it is long.
//! Differs from Q.2110: a later POLL replaces one that has not been answered, and the last answer is repeated for its credit.
//! Leaves out reports without a POLL (`gap_reports`).

use super::ecn::ReceivedMarks;
use super::missing::MissingRanges;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Gap, Report, Stat, wire_number};
use std::collections::VecDeque;

/// The packets that had arrived when a POLL did, for the report of its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceivedBefore {
    /// Time of the POLL's arrival.
    pub at: Time,
    /// Number of packets, without duplicates.
    pub received: u64,
    pub marks: ReceivedMarks,
}

/// An answer that is due: the POLL's timestamp, and the state when the POLL arrived.
#[derive(Debug, Clone, Copy)]
struct PendingAnswer {
    at: Time,
    echo: u32,
    /// `None` if it was answered before and is repeated for its credit.
    asked: Option<ReceivedBefore>,
    /// Number at which the list ends.
    upto: u64,
}

#[derive(Debug)]
pub(super) struct PendingAnswers {
    answer: Option<PendingAnswer>,
    /// Timestamp of the last POLL.
    last_echo: Option<u32>,
    /// Parts of an answer that wait for a packet each.
    parts: VecDeque<Stat>,
    compact: bool,
    /// True if answers have a report.
    report: bool,
}

impl PendingAnswers {
    pub fn new(compact: bool, report: bool) -> Self {
        Self { answer: None, last_echo: None, parts: VecDeque::new(), compact, report }
    }

    /// Time of the next answer.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.answer.map(|answer| answer.at)
    }

    /// Returns true if a part of an answer waits for a packet.
    pub fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Handles a POLL, to be answered after `wait` at the latest with a list that ends at `upto`.
    pub fn on_poll(&mut self, echo: u32, wait: Span, before: ReceivedBefore, upto: u64) {
        let latest = before.at + wait;
        let at = self.answer.map_or(latest, |answer| answer.at.min(latest));
        self.last_echo = Some(echo);
        self.answer = Some(PendingAnswer { at, echo, asked: Some(before), upto });
    }

    /// Returns true if a POLL left later than the last one; timestamps are compared as RFC 1982 compares numbers.
    pub fn is_newer(&self, echo: u32) -> bool {
        self.last_echo.is_none_or(|last| (1..1 << 31).contains(&echo.wrapping_sub(last)))
    }

    /// Answers the last POLL once more, with an empty list at `next`, so that the peer learns of new room.
    pub fn repeat(&mut self, next: u64) {
        if let Some(echo) = self.last_echo {
            let again = PendingAnswer { at: Time::ZERO, echo, asked: None, upto: next };
            self.answer.get_or_insert(again);
        }
    }

    /// Lists what is missing from `next` on, in parts of at most `room` bytes, if an answer is due. Returns the number at which the list
    /// ends.
    pub fn list(
        &mut self,
        now: Time,
        room: usize,
        next: u64,
        credit: u64,
        missing: &MissingRanges,
    ) -> Option<u64> {
        let answer = self.answer.take_if(|answer| answer.at <= now)?;
        let marks = answer.asked.and_then(|before| before.marks.counts());
        let report = answer.asked.filter(|_| self.report).map(|before| Report {
            received: before.received as u32,
            at: (before.at.as_nanos() / 1000) as u32,
            delayed: (now.since(before.at).as_nanos() / 1000) as u32,
            marks,
        });
        let upto = answer.upto.max(next);
        let mut stat = Stat {
            echo: answer.echo,
            next: wire_number(next),
            credit: wire_number(credit),
            from: wire_number(next),
            upto: wire_number(upto),
            gaps: Vec::new(),
            report,
            compact: self.compact,
        };
        // All fields but the list take less than 48 bytes, and 40 without counts of ECN.
        let fields = if marks.is_some() { 48 } else { 40 };
        let (room, mut len, mut before) = (room.saturating_sub(fields), 0, stat.from);
        for (start, end) in missing.between(next, upto) {
            let gap = Gap { start: wire_number(start), end: wire_number(end) };
            let mut one = if stat.compact { gap.wire_len(before) } else { 8 };
            if len + one > room && len > 0 {
                let full = Stat { upto: gap.start, gaps: std::mem::take(&mut stat.gaps), ..stat.clone() };
                self.parts.push_back(full);
                stat.from = gap.start;
                one = if stat.compact { gap.wire_len(gap.start) } else { 8 };
                len = 0;
            }
            stat.gaps.push(gap);
            (len, before) = (len + one, gap.end);
        }
        self.parts.push_back(stat);
        Some(upto)
    }

    /// The next part, for a packet of its own.
    pub fn take_part(&mut self) -> Option<Stat> {
        self.parts.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn before(ms: u64, received: u64) -> ReceivedBefore {
        ReceivedBefore { at: at(ms), received, marks: ReceivedMarks::default() }
    }

    fn parts(answers: &mut PendingAnswers) -> Vec<Stat> {
        std::iter::from_fn(|| answers.take_part()).collect()
    }

    #[test]
    fn an_answer_is_of_the_time_when_its_poll_arrived() {
        let (mut answers, mut missing) = (PendingAnswers::new(true, true), MissingRanges::default());
        missing.add(12, 14);
        missing.add(20, 30);
        answers.on_poll(7, Span::from_millis(2), before(5, 9), 25);
        assert_eq!(
            (answers.poll_timeout(), answers.list(at(6), 1000, 10, 100, &missing)),
            (Some(at(7)), None)
        );
        assert_eq!(answers.list(at(8), 1000, 11, 101, &missing), Some(25));
        let [stat] = parts(&mut answers).try_into().unwrap();
        let report = Report { received: 9, at: 5000, delayed: 3000, marks: None };
        assert_eq!((stat.echo, stat.next, stat.credit, stat.from, stat.upto), (7, 11, 101, 11, 25));
        assert_eq!(stat.gaps, [Gap { start: 12, end: 14 }, Gap { start: 20, end: 25 }]);
        assert_eq!((stat.report, answers.poll_timeout()), (Some(report), None));
    }

    /// docs/stp.md §7: a second POLL replaces the first, and does not delay the answer.
    #[test]
    fn a_later_poll_replaces_an_earlier_one() {
        let (mut answers, missing) = (PendingAnswers::new(true, false), MissingRanges::default());
        answers.on_poll(7, Span::from_millis(2), before(5, 9), 25);
        answers.on_poll(8, Span::from_millis(2), before(6, 9), 26);
        answers.repeat(10);
        assert_eq!(answers.poll_timeout(), Some(at(7)));
        assert_eq!(answers.list(at(7), 1000, 10, 100, &missing), Some(26));
        let [stat] = parts(&mut answers).try_into().unwrap();
        assert_eq!((stat.echo, stat.report), (8, None));
    }

    /// docs/stp.md §7, with timestamps that wrap.
    #[test]
    fn a_copy_of_a_poll_is_not_newer() {
        let mut answers = PendingAnswers::new(true, true);
        assert!(answers.is_newer(7));
        answers.on_poll(u32::MAX - 1, Span::ZERO, before(5, 9), 10);
        assert_eq!(
            [u32::MAX - 2, u32::MAX - 1, u32::MAX, 3].map(|echo| answers.is_newer(echo)),
            [false, false, true, true]
        );
    }

    /// docs/stp.md §7: the repeated answer has an empty range and no report.
    #[test]
    fn the_last_answer_is_repeated_for_its_credit() {
        let (mut answers, missing) = (PendingAnswers::new(true, true), MissingRanges::default());
        answers.repeat(10);
        assert_eq!(answers.poll_timeout(), None, "there is nothing to repeat");
        answers.on_poll(7, Span::ZERO, before(5, 9), 10);
        answers.list(at(5), 1000, 10, 100, &missing);
        parts(&mut answers);
        answers.repeat(10);
        assert_eq!(answers.list(at(6), 1000, 10, 140, &missing), Some(10));
        let [stat] = parts(&mut answers).try_into().unwrap();
        assert_eq!((stat.echo, stat.credit, stat.from, stat.upto), (7, 140, 10, 10));
        assert_eq!((stat.gaps, stat.report), (vec![], None));
    }

    /// docs/stp.md §3.2: the parts of a list cover consecutive ranges, have no more than the room and name each gap once.
    #[test]
    fn a_long_list_has_parts() {
        let mut missing = MissingRanges::default();
        for start in (10..2000).step_by(10) {
            missing.add(start, start + 3);
        }
        for compact in [true, false] {
            let mut answers = PendingAnswers::new(compact, true);
            answers.on_poll(7, Span::ZERO, before(5, 9), 2000);
            answers.list(at(5), 300, 10, 3000, &missing);
            assert!(answers.has_parts());
            let parts = parts(&mut answers);
            assert!(parts.len() > 1 && parts.iter().all(|part| part.wire_len() <= 300));
            assert!(parts.windows(2).all(|two| two[0].upto == two[1].from && two[1].report == two[0].report));
            let gaps: Vec<Gap> = parts.iter().flat_map(|part| part.gaps.clone()).collect();
            assert_eq!((parts[0].from, parts[parts.len() - 1].upto, gaps.len()), (10, 2000, 199));
            assert!(gaps.windows(2).all(|two| two[1].start == two[0].start + 10));
        }
    }
}
