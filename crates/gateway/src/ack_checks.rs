//! The times at which a connection looks whether the kernel's peer has acknowledged everything.
//!
//! Follows the doubling of RFC 6298 §5.5, with limits of its own: the kernel reports no such event, and tcp(7) has only SIOCOUTQ.
//! Leaves out the check itself (`kernel`).

use skyhop_units::Span;

/// The first and the longest pause between checks.
const PAUSE_MIN: Span = Span::from_millis(2);
const PAUSE_MAX: Span = Span::from_millis(256);

/// The checks of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckChecks {
    /// Checks so far that found data without an acknowledgment.
    checks: u32,
}

impl AckChecks {
    /// The pause before the next check, after one that found data without an acknowledgment.
    pub fn next_pause(&mut self) -> Span {
        let pause = (PAUSE_MIN * (1 << self.checks.min(7))).min(PAUSE_MAX);
        self.checks += 1;
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_quarter_of_a_second() {
        let mut checks = AckChecks::default();
        let pauses: Vec<u64> = (0..9).map(|_| checks.next_pause().as_nanos() / 1_000_000).collect();
        assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 256]);
    }
}
