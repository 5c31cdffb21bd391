//! Explicit congestion notification: the reactions of both ends to marks.
//!
//! Follows RFC 3168 §6.1.2 (the sender) and §6.1.3 (the receiver).
//! Leaves out marks on acknowledgments (`acknowledger`).

/// The sender's side: one reduction per RTT, and its announcement.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// One past the highest byte sent at the last reduction for a mark.
    reduced_at: u64,
    /// §6.1.2: true if the next new segment must announce that the window has been reduced.
    pub cwr_due: bool,
}

impl Marks {
    /// Returns true if a mark, echoed when all below `una` is acknowledged, requires another reduction.
    pub fn ask(&self, una: u64) -> bool {
        una >= self.reduced_at
    }

    /// Records a reduction of the window; `max` is one past the highest byte sent.
    pub fn reduced(&mut self, max: u64) {
        (self.reduced_at, self.cwr_due) = (max, true);
    }
}

/// The receiver's side: a mark is echoed until the sender announces that it has reduced its window.
#[derive(Debug, Default)]
pub(crate) struct MarkEcho {
    pub on: bool,
}

impl MarkEcho {
    /// Handles a packet that is `marked` or not, and that announces that the window is `reduced` or not.
    #[inline]
    pub fn take(&mut self, marked: bool, reduced: bool) {
        self.on = marked || (self.on && !reduced);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_reduced_once_for_what_was_outstanding() {
        let mut marks = Marks::default();
        assert!(marks.ask(0));
        marks.reduced(5001);
        assert!(marks.cwr_due && !marks.ask(5000) && marks.ask(5001));
    }

    // RFC 3168 §6.1.3: a marked packet with CWR starts another echo.
    #[test]
    fn a_mark_is_echoed_until_the_window_is_reduced() {
        let mut echo = MarkEcho::default();
        for (marked, reduced, on) in [
            (false, false, false),
            (true, false, true),
            (false, false, true),
            (true, true, true),
            (false, true, false),
        ] {
            echo.take(marked, reduced);
            assert_eq!(echo.on, on);
        }
    }
}
