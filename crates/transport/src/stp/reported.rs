//! The receiver's count of packets and its clock, as told by its reports.
//!
//! Follows docs/stp.md §3.2: both are of 32 bits and wrap.
//! Differs from the wire: here they are of 64 bits, and never go back.
//! Leaves out the rest of a report (`sender`, `ecn`).

use skyhop_units::{Span, Time};

/// Most packets between two reports. More cannot have been sent.
const MOST_PACKETS: u32 = 1 << 23;
/// Most microseconds between two reports, half an hour.
const MOST_TIME: u32 = (1 << 31) - 1;

/// Most microseconds by which a report may be older than one that came before it: POLLs pass each other.
const PASSED: u32 = 60_000_000;

/// Packets received and the clock, µs, in the last report, extended beyond their wrapping; `None` before the first.
#[derive(Debug, Default)]
pub(super) struct ReportedTotals {
    totals: Option<(u64, u64)>,
    /// This end's time at that report.
    heard: Time,
}

impl ReportedTotals {
    /// Extends the packets received and the clock of a report. `None` if its POLL came before one that was answered earlier; `None`,
    /// and the next report begins again, if they have gone back further, or are false.
    pub fn extend(&mut self, now: Time, received: u32, clock_us: u32) -> Option<(u64, u64)> {
        let (before, then) = self.totals.unwrap_or((received.into(), clock_us.into()));
        let (more, later) = (received.wrapping_sub(before as u32), clock_us.wrapping_sub(then as u32));
        // After a longer pause the clock has all but wrapped.
        let soon = now.since(self.heard) < Span::from_micros(PASSED.into());
        if soon && (1..=PASSED).contains(&(then as u32).wrapping_sub(clock_us)) {
            return None;
        }
        self.heard = now;
        let fits = more <= MOST_PACKETS && later <= MOST_TIME;
        self.totals = fits.then(|| (before + u64::from(more), then + u64::from(later)));
        self.totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_grow_beyond_their_wrapping_and_begin_again_when_they_go_back() {
        let mut totals = ReportedTotals::default();
        let (first, high) = (u32::MAX - 10, 1u64 << 32);
        assert_eq!(totals.extend(Time::ZERO, first, 5), Some((first.into(), 5)));
        assert_eq!(totals.extend(Time::ZERO, 9, MOST_TIME), Some((high + 9, MOST_TIME.into())));
        let nearly = 2 * MOST_TIME;
        assert_eq!(totals.extend(Time::ZERO, 9, nearly), Some((high + 9, nearly.into())));
        assert_eq!(totals.extend(Time::ZERO, 9, 3), Some((high + 9, high + 3)));
        assert_eq!(
            totals.extend(Time::ZERO, 9 + MOST_PACKETS, 3),
            Some((high + 9 + u64::from(MOST_PACKETS), high + 3))
        );
        // One packet fewer; what follows is a beginning.
        assert_eq!(totals.extend(Time::ZERO, 8 + MOST_PACKETS, 4), None);
        assert_eq!(totals.extend(Time::ZERO, 7, 2 * PASSED), Some((7, (2 * PASSED).into())));
        // A report that is older by more than POLLs pass each other.
        assert_eq!(totals.extend(Time::ZERO, 7, PASSED - 1), None);
        assert_eq!(totals.extend(Time::ZERO, 7, 2), Some((7, 2)));
    }

    /// docs/stp.md §8.3: the POLL came before one that was answered earlier. What follows is no beginning, though the clock has wrapped.
    #[test]
    fn a_report_that_was_passed_is_not_used() {
        let mut totals = ReportedTotals::default();
        totals.extend(Time::ZERO, 10, u32::MAX - 5);
        assert_eq!(totals.extend(Time::ZERO, 20, 5000), Some((20, (1 << 32) + 5000)));
        assert_eq!(
            (totals.extend(Time::ZERO, 19, 4999), totals.extend(Time::ZERO, 5, u32::MAX - 5)),
            (None, None)
        );
        assert_eq!(totals.extend(Time::ZERO, 30, 6000), Some((30, (1 << 32) + 6000)));
    }

    /// The clock wraps after 71.6 minutes. 20 s less after the last report is no report that was passed, and what follows is a beginning.
    #[test]
    fn a_clock_that_has_nearly_wrapped_is_no_report_that_was_passed() {
        let mut totals = ReportedTotals::default();
        let (at, clock) = (Time::ZERO + Span::from_secs(4275), 100_000_000);
        assert!(totals.extend(Time::ZERO, 10, clock).is_some());
        assert_eq!(totals.extend(at, 20, clock - 20_000_000), None);
        assert_eq!(totals.extend(at, 20, clock - 19_000_000), Some((20, 81_000_000)));
    }
}
