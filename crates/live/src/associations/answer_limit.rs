//! The number of answers per second to packets that prove nothing.
//!
//! Differs from a token bucket: whole seconds are counted, so two of them may meet with twice as many.
//! Leaves out the packets (`admission`).

use skyhop_units::{Span, Time};

/// The limit, and the answers of the current second.
pub(crate) struct AnswerLimit {
    most: usize,
    /// Beginning of the second.
    since: Time,
    answers: usize,
}

impl AnswerLimit {
    /// A limit of so many answers in each second.
    pub fn new(now: Time, most: usize) -> Self {
        AnswerLimit { most, since: now, answers: 0 }
    }

    /// Counts an answer.
    pub fn count(&mut self) {
        self.answers += 1;
    }

    /// Returns true if there were as many answers as there may be.
    pub fn is_reached(&mut self, now: Time) -> bool {
        self.in_second(now) >= self.most
    }

    /// Returns true if there were half as many.
    pub fn is_half_reached(&mut self, now: Time) -> bool {
        self.in_second(now) >= self.most / 2
    }

    fn in_second(&mut self, now: Time) -> usize {
        if now.since(self.since) >= Span::from_secs(1) {
            (self.since, self.answers) = (now, 0);
        }
        self.answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_for_a_second() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut limit = AnswerLimit::new(at(500), 4);
        let mut reached = |now| (limit.is_half_reached(now), limit.is_reached(now), limit.count()).0;
        assert_eq!([500, 600, 700].map(|ms| reached(at(ms))), [false, false, true]);
        assert!(!limit.is_reached(at(800)));
        limit.count();
        assert!(limit.is_reached(at(1499)) && limit.is_half_reached(at(1499)));
        assert!(!limit.is_half_reached(at(1500)) && !limit.is_reached(at(1500)));
    }
}
