//! Explicit congestion notification: counts of marks at the receiver, and the sender's trust in them.
//!
//! Follows RFC 3168 (ECT and CE) and RFC 9000 §13.4.2 (counts that cannot be right end the use of ECN); docs/stp.md §6.5.
//! Differs: the receiver counts what did not arrive as ECT(0), so that it has nothing to report on a path without marks.
//! Leaves out the reaction to marks, which is congestion control's.

use skyhop_wire::Ecn;
use skyhop_wire::stp::{Features, MarkCounts, Report};

/// Features without which marks are not counted.
pub(super) const COUNTED_MARKS: Features = Features::ECN.with(Features::REPORT);

/// Largest step of a count between two reports: a larger one means that it has decreased.
const STEP_MAX: u32 = 1 << 23;

/// Received SDs by their ECN field.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReceivedMarks(MarkCounts);

impl ReceivedMarks {
    /// Counts an SD that arrived for the first time.
    pub fn add(&mut self, field: Ecn) {
        let count = match field {
            Ecn::Capable0 => return,
            Ecn::Marked => &mut self.0.marked,
            Ecn::NotCapable | Ecn::Capable1 => &mut self.0.erased,
        };
        *count = count.wrapping_add(1);
    }

    /// The counts for a report; none if the path has changed nothing.
    pub fn counts(self) -> Option<MarkCounts> {
        (self.0 != MarkCounts::default()).then_some(self.0)
    }
}

/// The peer's counts, as far as they can be right.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReportedMarks {
    /// Marks reported so far, extended beyond the wrapping of their field.
    marked: u64,
    /// True if the counts were wrong, or the path erases the field.
    distrusted: bool,
}

impl ReportedMarks {
    /// Returns true if the counts of all reports so far can be right.
    pub fn trusted(self) -> bool {
        !self.distrusted
    }

    /// Takes the counts of a report by which `received` SDs had arrived, of `sent` so far. Returns the marks so far.
    pub fn take(&mut self, report: Option<Report>, received: u64, sent: u64) -> u64 {
        let counts = report.and_then(|report| report.marks).unwrap_or_default();
        let more = counts.marked.wrapping_sub(self.marked as u32);
        let marked = self.marked + u64::from(more);
        // A queue's marks cannot be relied on if a later hop erases the field.
        self.distrusted |= more > STEP_MAX || marked > received.min(sent) || counts.erased > 0;
        if !self.distrusted {
            self.marked = marked;
        }
        self.marked
    }
}
