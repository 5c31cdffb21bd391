//! POLLs that may still be answered, and since when none has been.
//!
//! Follows Q.2110's VT(PS), with the time in place of a number; docs/stp.md §6: an answer names its POLL.
//! Differs: a POLL is not repeated. After a silence those before it are given up, and the next silence is measured from a later one.
//! Leaves out the length of a silence (`timers`) and what an answer says of packets (`sender`).

use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// Largest number of POLLs kept; older ones can no longer be answered.
const MOST: usize = 256;
/// Number of awaited POLLs, and of those in a round trip, from which on the last packet of what was written carries none: the timer's POLL
/// is to find room.
const MANY: u64 = MOST as u64 / 2;

/// The data sent before a POLL.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentBefore {
    /// Number of SDs, including retransmissions, and VT(S).
    pub sent: u64,
    pub next: u64,
    /// Network-layer bytes of the SDs.
    pub bytes: f64,
    /// Time that the pace had offered by then and that was not used.
    pub unused: Span,
}

/// A POLL that may still be answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Poll {
    pub stamp: u64,
    pub sent_at: Time,
    pub before: SentBefore,
    /// True if a part of its answer has arrived.
    pub answered: bool,
    /// True if it is too old to be waited for.
    pub lost: bool,
    /// True if it only follows another, whose answer is waited for.
    follows: bool,
    /// VT(S) - VT(A) when it left.
    unacknowledged: u32,
}

impl Poll {
    /// VT(A) when it left: no answer to it acknowledges less.
    pub fn acked(&self) -> u64 {
        self.before.next.saturating_sub(self.unacknowledged.into())
    }

    fn is_awaited(&self) -> bool {
        !self.answered && !self.lost && !self.follows
    }
}

/// The POLLs, in order of their stamps.
#[derive(Debug, Default)]
pub(super) struct OutstandingPolls {
    polls: VecDeque<Poll>,
    /// Sending time of the first awaited POLL for which there was no room.
    displaced: Option<Time>,
    last_stamp: u64,
}

impl OutstandingPolls {
    /// Stamp of the last POLL, or 0.
    pub fn last_stamp(&self) -> u64 {
        self.last_stamp
    }

    /// Adds a POLL, and returns its stamp: the clock in microseconds, but larger than the last.
    pub fn send(&mut self, now: Time, before: SentBefore) -> u64 {
        self.last_stamp = (now.as_nanos() / 1000).max(self.last_stamp + 1);
        if self.polls.len() == MOST
            && let Some(poll) = self.polls.pop_front()
            && poll.is_awaited()
        {
            self.displaced.get_or_insert(poll.sent_at);
        }
        let poll = Poll {
            stamp: self.last_stamp,
            sent_at: now,
            before,
            answered: false,
            lost: false,
            follows: false,
            unacknowledged: 0,
        };
        self.polls.push_back(poll);
        self.last_stamp
    }

    /// Notes VT(A) when the last POLL left.
    pub fn last_acked(&mut self, acked: u64) {
        if let Some(last) = self.polls.back_mut() {
            last.unacknowledged = last.before.next.saturating_sub(acked).try_into().unwrap_or(u32::MAX);
        }
    }

    /// Declares the last POLL one that follows another: that it is not answered is no silence.
    pub fn last_follows(&mut self) {
        if let Some(last) = self.polls.back_mut() {
            last.follows = true;
        }
    }

    /// The POLL that an answer names by the lower half of its stamp.
    pub fn named(&self, echo: u32) -> Option<Poll> {
        self.polls.iter().find(|poll| poll.stamp as u32 == echo).copied()
    }

    /// Records an answer to a POLL. Answers to older ones bring no news, but parts of this one may still arrive.
    pub fn answer(&mut self, poll: &Poll) {
        self.displaced = None;
        while self.polls.front().is_some_and(|older| older.stamp < poll.stamp) {
            self.polls.pop_front();
        }
        if let Some(first) = self.polls.front_mut() {
            first.answered = true;
        }
    }

    /// Sending time of the oldest POLL that is awaited.
    pub fn unanswered_since(&self) -> Option<Time> {
        self.displaced.or_else(|| self.polls.iter().find(|poll| poll.is_awaited()).map(|poll| poll.sent_at))
    }

    /// Returns true if many POLLs are awaited, and the last left so shortly before that, with so many in a round trip, they would
    /// displace each other before their answers come.
    pub fn are_many(&self, now: Time, rtt: Span) -> bool {
        let last = self.polls.back().map_or(Time::ZERO, |last| last.sent_at);
        now.since(last).as_nanos().saturating_mul(MANY) < rtt.as_nanos() && self.awaited() as u64 >= MANY
    }

    /// Number of POLLs that are awaited.
    pub fn awaited(&self) -> usize {
        self.polls.iter().filter(|poll| poll.is_awaited()).count()
    }

    /// Returns true if the last POLL is unanswered.
    pub fn last_unanswered(&self) -> bool {
        self.polls.back().is_some_and(|poll| !poll.answered)
    }

    /// Gives up POLLs older than `patience`, so that the next silence is measured from a later one.
    pub fn give_up(&mut self, now: Time, patience: Span) {
        self.displaced = self.displaced.filter(|at| now.since(*at) < patience);
        for poll in self.polls.iter_mut().filter(|poll| now.since(poll.sent_at) >= patience) {
            poll.lost = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: SentBefore = SentBefore { sent: 0, next: 0, bytes: 0.0, unused: Span::ZERO };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Two POLLs within a microsecond differ, also by the lower halves of their stamps, which an answer names.
    #[test]
    fn each_poll_has_a_stamp_of_its_own() {
        let mut polls = OutstandingPolls::default();
        let late = Time::from_nanos((u64::from(u32::MAX) - 1) * 1000);
        let stamps = [late; 3].map(|now| polls.send(now, NOTHING));
        assert_eq!(stamps.map(|stamp| stamp as u32), [u32::MAX - 1, u32::MAX, 0]);
        assert_eq!(stamps.map(|stamp| polls.named(stamp as u32).unwrap().stamp), stamps);
        assert!(polls.named(1).is_none());
    }

    #[test]
    fn an_answer_ends_the_silence_of_all_before_it() {
        let mut polls = OutstandingPolls::default();
        let stamps = [1, 2, 3].map(|ms| polls.send(at(ms), NOTHING));
        assert_eq!((polls.unanswered_since(), polls.awaited()), (Some(at(1)), 3));
        let second = polls.named(stamps[1] as u32).unwrap();
        polls.answer(&second);
        assert_eq!((polls.unanswered_since(), polls.awaited()), (Some(at(3)), 1));
        assert!(polls.named(stamps[0] as u32).is_none() && polls.last_unanswered());
        // A further part of the answer.
        let second = polls.named(stamps[1] as u32).unwrap();
        assert!(second.answered);
        polls.answer(&second);
        assert_eq!((polls.unanswered_since(), polls.awaited()), (Some(at(3)), 1));
    }

    /// A silence begins at the first POLL, though there is no room for it any more; after it the next one begins later.
    #[test]
    fn a_displaced_poll_is_still_awaited() {
        let mut polls = OutstandingPolls::default();
        for ms in 0..1000 {
            polls.send(at(ms), NOTHING);
            assert_eq!(polls.unanswered_since(), Some(at(0)));
        }
        assert_eq!(polls.awaited(), MOST);
        polls.give_up(at(1000), Span::from_millis(1001));
        assert_eq!(polls.unanswered_since(), Some(at(0)));
        polls.give_up(at(1000), Span::from_millis(100));
        assert_eq!((polls.unanswered_since(), polls.awaited()), (Some(at(901)), 99));
        // A late answer to one that was given up ends the silence of those before it only.
        let late = polls.named(polls.last_stamp() as u32 - 200_000).unwrap();
        assert!(late.lost);
        polls.answer(&late);
        assert_eq!((polls.unanswered_since(), polls.last_unanswered()), (Some(at(901)), true));
    }
    #[test]
    fn an_answer_ends_the_silence_of_displaced_polls_too() {
        let mut polls = OutstandingPolls::default();
        let stamps: Vec<u64> = (0..300).map(|ms| polls.send(at(ms), NOTHING)).collect();
        let answered = polls.named(stamps[200] as u32).unwrap();
        polls.answer(&answered);
        assert_eq!(polls.unanswered_since(), Some(at(201)));
        // The answered one is displaced first, and is not awaited.
        while polls.named(stamps[200] as u32).is_some() {
            polls.send(at(400), NOTHING);
        }
        assert_eq!((polls.unanswered_since(), polls.awaited()), (Some(at(201)), MOST));
    }

    /// POLLs that follow another make no silence longer, but an answer to one ends it.
    #[test]
    fn a_poll_that_follows_is_not_awaited() {
        let mut polls = OutstandingPolls::default();
        polls.send(at(1), NOTHING);
        let stamp = polls.send(at(2), NOTHING);
        polls.last_follows();
        assert_eq!((polls.unanswered_since(), polls.awaited()), (Some(at(1)), 1));
        let follower = polls.named(stamp as u32).unwrap();
        polls.answer(&follower);
        assert_eq!((polls.unanswered_since(), polls.awaited()), (None, 0));
    }
}
