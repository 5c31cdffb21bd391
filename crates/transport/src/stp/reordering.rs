//! Packets that pass each other: which of those that a report names may only be late, and the evidence that some were.
//!
//! Follows RFC 8985 §6.2 step 4, a window that needless retransmissions open, and docs/stp.md §6.2.
//! Differs: a list has the time at which its POLL left, so the next list decides, and no timer.
//! Leaves out the length of the window, which follows from jitter (`congestion`).

use skyhop_units::{Span, Time};

#[derive(Debug, Default)]
pub(super) struct Reordering {
    /// Longest time by which a packet passes another, as far as is known; zero if none does.
    window: Span,
    /// Retransmissions of packets that were only late. The receiver counts them with the first one.
    needless: u32,
    /// Packets that were only late.
    late: u32,
    /// True if the last list names a packet that may only be late.
    waits: bool,
}

impl Reordering {
    /// Sets the window, before a report is handled.
    pub fn begin_report(&mut self, window: Span) {
        (self.window, self.waits) = (window, false);
    }

    /// Returns true if a packet that left at `sent_at` and is missing in a list may only be late. The list's POLL left at `asked_at`;
    /// reports without a POLL do not tell how late a packet is.
    pub fn may_be_late(&mut self, sent_at: Time, asked_at: Option<Time>) -> bool {
        let late = self.window > Span::ZERO && asked_at.is_none_or(|asked| sent_at + self.window >= asked);
        self.waits |= late && asked_at.is_some();
        late
    }

    /// Returns true if another list is needed.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Counts the arrival of a packet that was retransmitted without need.
    pub fn count_needless(&mut self) {
        self.needless = self.needless.saturating_add(1);
    }

    /// Counts a packet that was only late.
    pub fn count_late(&mut self) {
        self.late = self.late.saturating_add(1);
    }

    pub fn needless(&self) -> u64 {
        self.needless.into()
    }

    pub fn late(&self) -> u64 {
        self.late.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// docs/stp.md §6.2: up to the window before the POLL, and any that a USTAT names; none while no packet passes another.
    #[test]
    fn the_window_decides_which_packets_may_be_late() {
        let mut reordering = Reordering::default();
        assert!(!reordering.may_be_late(at(100), Some(at(100))) && !reordering.may_be_late(at(100), None));
        reordering.begin_report(Span::from_millis(20));
        assert!(!reordering.may_be_late(at(79), Some(at(100))));
        assert!(reordering.may_be_late(at(0), None) && !reordering.waits());
        assert!(reordering.may_be_late(at(80), Some(at(100))) && reordering.waits());
        reordering.begin_report(Span::from_millis(20));
        assert!(!reordering.waits());
    }
}
