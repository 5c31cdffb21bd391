//! Explicit congestion notification: what marks make of either end.
//!
//! Follows RFC 3168 §6.1.2 (the sender) and §6.1.3 (the receiver).
//! Differs: none from these sections.
//! Leaves out the marks of acknowledgments, which are `acknowledger`'s.

/// The sender's side: one reduction a round trip, and the word that it has been made.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// One past the highest sent at the last reduction for a mark.
    reduced_at: u64,
    /// §6.1.2: the next new segment says that the window has been reduced.
    pub cwr_due: bool,
}

impl Marks {
    /// Returns true if a mark echoed when all below `una` is acknowledged asks for another reduction.
    pub fn ask(&self, una: u64) -> bool {
        una >= self.reduced_at
    }

    /// The window has been reduced; `max` is one past the highest sent.
    pub fn reduced(&mut self, max: u64) {
        (self.reduced_at, self.cwr_due) = (max, true);
    }
}

/// The receiver's side: a mark is echoed until the sender says that it has reduced its window.
#[derive(Debug, Default)]
pub(crate) struct MarkEcho {
    pub on: bool,
}

impl MarkEcho {
    /// A packet has come, `marked` or not, that says or not that the window is `reduced`.
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

    // RFC 3168 §6.1.3: a packet that is marked and says CWR begins another echo.
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
