//! Reports of new gaps: when a USTAT is due, and the gaps that it names.
//!
//! Follows HT §5.1.1 and docs/stp.md §7: a gap is reported when so many packets have arrived since that it is not one of reordering.
//! Differs from the papers' USTAT: one report names all gaps of a short time, unless the format is plain.
//! Leaves out the gaps of lists, which answer a POLL (`answers`).

use super::config::Config;
use super::missing::MissingRanges;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Gap, wire_number};
use std::collections::VecDeque;

/// Largest number of USTATs between two lists in the plain format, where each USTAT names one gap: otherwise they could fill a slow
/// or very lossy reverse path.
const PLAIN_USTATS: u32 = 5;

/// A gap that may still close by reordering.
#[derive(Debug, Clone, Copy)]
struct Fresh {
    start: u64,
    end: u64,
    /// Number of packets received before the one that revealed it.
    received: u64,
}

#[derive(Debug)]
pub(super) struct GapReports {
    fresh: VecDeque<Fresh>,
    /// Gaps to be reported.
    ripe: Vec<(u64, u64)>,
    at: Option<Time>,
    /// Number of USTATs since the last list, which names all gaps.
    sent: u32,
    /// Number of packets after which a gap is not one of reordering.
    threshold: u64,
    /// Time that a report waits for more gaps.
    delay: Span,
    compact: bool,
}

impl GapReports {
    pub fn new(config: &Config, compact: bool) -> Self {
        Self {
            fresh: VecDeque::new(),
            ripe: Vec::new(),
            at: None,
            sent: 0,
            threshold: u64::from(config.ustat_threshold.max(1)),
            delay: if compact { config.ustat_delay } else { Span::ZERO },
            compact,
        }
    }

    /// Returns true if a gap may still close by reordering.
    pub fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// Time of the next report.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.at
    }

    /// Adds a gap that the packet after `received` others, a POLL or an END reveals.
    pub fn found(&mut self, start: u64, end: u64, received: u64) {
        self.fresh.push_back(Fresh { start, end, received });
    }

    /// Handles the arrival of a packet, the last of `received`.
    pub fn on_data(&mut self, now: Time, received: u64, missing: &MissingRanges) {
        while let Some(&fresh) = self.fresh.front()
            && received - fresh.received >= self.threshold
        {
            self.fresh.pop_front();
            let before = self.ripe.len();
            self.ripe.extend(missing.between(fresh.start, fresh.end));
            if self.ripe.len() > before {
                self.at.get_or_insert(now + self.delay);
            }
        }
    }

    /// Records a list of all gaps before `upto`. They need no USTAT; the POLL's time tells the peer which of them it has resent since.
    pub fn on_list(&mut self, now: Time, upto: u64) {
        self.fresh.retain(|fresh| fresh.start >= upto);
        if !self.compact {
            self.ripe.retain(|&(start, _)| start >= upto);
            self.sent = 0;
            self.at = (!self.ripe.is_empty()).then_some(now);
        }
    }

    /// The gaps that are due, have not been reported and are still missing, if any; their report takes at most `room` bytes.
    pub fn take(&mut self, now: Time, room: usize, missing: &MissingRanges) -> Option<Vec<Gap>> {
        self.at.take_if(|at| *at <= now)?;
        if !self.compact && self.sent >= PLAIN_USTATS {
            return None;
        }
        let most = if self.compact { (room.saturating_sub(20) / 8).clamp(1, 1024) } else { 1 };
        let ripe = std::mem::take(&mut self.ripe);
        let mut still: Vec<(u64, u64)> =
            ripe.iter().flat_map(|&(start, end)| missing.between(start, end)).collect();
        if still.len() > most {
            self.ripe = still.split_off(most);
            self.at = Some(now);
        }
        if still.is_empty() {
            return None;
        }
        self.sent += 1;
        let gaps = still.iter().map(|&(start, end)| Gap { start: wire_number(start), end: wire_number(end) });
        Some(gaps.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn reports(compact: bool) -> GapReports {
        GapReports::new(&Config { ustat_threshold: 3, ..Config::default() }, compact)
    }

    /// docs/stp.md §7: three packets, including the one that reveals the gap, and the part of it that is still missing.
    #[test]
    fn a_gap_is_reported_when_it_is_not_one_of_reordering() {
        let (mut reports, mut missing) = (reports(true), MissingRanges::default());
        missing.add(3, 6);
        reports.found(3, 6, 10);
        reports.on_data(at(0), 12, &missing);
        assert!(reports.has_fresh() && reports.poll_timeout().is_none());
        missing.fill(4);
        reports.on_data(at(1), 13, &missing);
        assert_eq!((reports.has_fresh(), reports.poll_timeout()), (false, Some(at(21))));
        assert_eq!(reports.take(at(20), 1000, &missing), None);
        missing.fill(3);
        assert_eq!(reports.take(at(21), 1000, &missing), Some(vec![Gap { start: 5, end: 6 }]));
        assert_eq!((reports.poll_timeout(), reports.take(at(99), 1000, &missing)), (None, None));
    }

    #[test]
    fn a_gap_that_closes_is_not_reported() {
        let (mut reports, mut missing) = (reports(true), MissingRanges::default());
        missing.add(3, 4);
        reports.found(3, 4, 10);
        missing.fill(3);
        reports.on_data(at(0), 13, &missing);
        assert_eq!((reports.has_fresh(), reports.poll_timeout()), (false, None));
    }

    /// docs/stp.md §7: with COMPACT one report names all gaps that fit; a list does not take them back.
    #[test]
    fn a_report_names_as_many_gaps_as_fit() {
        let (mut reports, mut missing) = (reports(true), MissingRanges::default());
        for start in [10, 20, 30] {
            missing.add(start, start + 1);
            reports.found(start, start + 1, 0);
        }
        reports.on_data(at(0), 3, &missing);
        assert_eq!(reports.take(at(20), 20 + 2 * 8, &missing).map(|gaps| gaps.len()), Some(2));
        reports.on_list(at(20), 40);
        assert_eq!(reports.take(at(20), 20, &missing), Some(vec![Gap { start: 30, end: 31 }]));
    }

    /// docs/stp.md §7: in the plain format one gap for each report, at once, and at most five between two lists.
    #[test]
    fn plain_reports_are_few() {
        let (mut reports, mut missing) = (reports(false), MissingRanges::default());
        for start in [10, 20, 30, 40, 50, 60, 70] {
            missing.add(start, start + 1);
            reports.found(start, start + 1, 0);
        }
        reports.on_data(at(0), 3, &missing);
        for start in [10, 20, 30, 40, 50] {
            assert_eq!(reports.take(at(0), 1000, &missing), Some(vec![Gap { start, end: start + 1 }]));
        }
        assert_eq!(reports.take(at(0), 1000, &missing), None);
        reports.on_list(at(1), 70);
        assert_eq!(reports.take(at(1), 1000, &missing), Some(vec![Gap { start: 70, end: 71 }]));
        assert_eq!(reports.poll_timeout(), None);
    }
}
