//! The scheduler of streams: priorities, and deficit round robin among those of one priority.
//!
//! Follows Shreedhar and Varghese 1995 and docs/stp.md §15.6.
//! Differs: data are cut where a packet is full, so a turn interrupted by the end of a packet continues in the next.
//! Leaves out the data of members.

use skyhop_wire::stp::{Class, PRIORITY_LAST};
use std::collections::VecDeque;

/// Bytes of a turn for each unit of weight.
pub(super) const QUANTUM: u64 = 96;

/// A member of the round: a stream, or all datagrams together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    Stream(u64),
    Datagrams,
}

/// A member's place in the round.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    pub class: Class,
    /// Bytes that it may still send in this turn.
    pub deficit: u64,
    /// True if the turn has begun and its quantum has been granted.
    begun: bool,
    pub listed: bool,
}

/// Reason for which a member leaves its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// It has nothing to send now.
    Empty,
    /// Its quantum is used up.
    Over,
    /// The packet is full.
    Full,
}

impl Turn {
    pub fn new(class: Class) -> Self {
        Self { class, ..Self::default() }
    }

    /// Starts or continues a turn. Returns the bytes that the member may send now.
    pub fn begin(&mut self) -> u64 {
        if !self.begun {
            self.begun = true;
            self.deficit += QUANTUM * u64::from(self.class.weight.max(1));
        }
        self.deficit
    }

    /// Ends a turn.
    pub fn end(&mut self, left: Left) {
        match left {
            Left::Full => {}
            Left::Over => self.begun = false,
            Left::Empty => (self.begun, self.deficit, self.listed) = (false, 0, false),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct StreamRounds {
    members: [VecDeque<Member>; PRIORITY_LAST as usize + 1],
}

impl StreamRounds {
    fn round(&mut self, class: Class) -> &mut VecDeque<Member> {
        &mut self.members[class.priority.min(PRIORITY_LAST) as usize]
    }

    /// Enters a member that has something to send.
    pub fn enter(&mut self, member: Member, turn: &mut Turn) {
        if !std::mem::replace(&mut turn.listed, true) {
            self.round(turn.class).push_back(member);
        }
    }

    /// Moves a member to another class.
    pub fn change(&mut self, member: Member, turn: &mut Turn, class: Class) {
        if turn.listed && turn.class.priority != class.priority {
            self.round(turn.class).retain(|other| *other != member);
            self.round(class).push_back(member);
            turn.begun = false;
        }
        turn.class = class;
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.members.iter().map(VecDeque::len).sum()
    }

    /// Removes the members for which `stays` is false.
    pub fn retain(&mut self, stays: impl Fn(&Member) -> bool) {
        self.members.iter_mut().for_each(|round| round.retain(&stays));
    }

    /// Removes all members; their turns do not count any more.
    pub fn clear(&mut self) {
        self.members.iter_mut().for_each(VecDeque::clear);
    }

    /// The member whose turn it is, and its priority.
    pub fn next(&self) -> Option<(usize, Member)> {
        self.members.iter().enumerate().find_map(|(priority, round)| Some((priority, *round.front()?)))
    }

    /// Records that the first member of a priority has left its turn.
    pub fn left(&mut self, priority: usize, left: Left, turn: Option<&mut Turn>) {
        let round = &mut self.members[priority];
        match left {
            Left::Full => {}
            Left::Over => round.rotate_left(1),
            Left::Empty => drop(round.pop_front()),
        }
        if let Some(turn) = turn {
            turn.end(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members that always have data get shares by weight, whatever the packets' size.
    #[test]
    fn shares_are_as_weights() {
        for packet in [200, 1400, 9000] {
            let mut rounds = StreamRounds::default();
            let weights = [1, 16, 16, 64, 255];
            let mut turns = weights.map(|weight| Turn::new(Class { priority: 3, weight }));
            for (id, turn) in turns.iter_mut().enumerate() {
                rounds.enter(Member::Stream(id as u64), turn);
            }
            let mut sent = [0u64; 5];
            for _ in 0..20_000 {
                let mut room = packet;
                while room > 0 {
                    let Some((priority, Member::Stream(id))) = rounds.next() else { panic!("no turn") };
                    let turn = &mut turns[id as usize];
                    let bytes = turn.begin().min(room);
                    (turn.deficit, room) = (turn.deficit - bytes, room - bytes);
                    sent[id as usize] += bytes;
                    let left = if turn.deficit == 0 { Left::Over } else { Left::Full };
                    rounds.left(priority, left, Some(turn));
                }
            }
            let all: u64 = sent.iter().sum();
            for (sent, weight) in sent.iter().zip(weights) {
                let (is, shall) = (*sent as f64 / all as f64, f64::from(weight) / 352.0);
                assert!((is / shall - 1.0).abs() < 0.02, "{packet} B: weight {weight} has {is} of {shall}");
            }
        }
    }

    #[test]
    fn priorities_are_strict_and_change() {
        let mut rounds = StreamRounds::default();
        let [mut slow, mut fast] = [6, 2].map(|priority| Turn::new(Class { priority, weight: 1 }));
        rounds.enter(Member::Stream(0), &mut slow);
        rounds.enter(Member::Datagrams, &mut fast);
        assert_eq!(rounds.next(), Some((2, Member::Datagrams)));
        rounds.change(Member::Stream(0), &mut slow, Class { priority: 0, weight: 1 });
        assert_eq!(rounds.next(), Some((0, Member::Stream(0))));
        rounds.left(0, Left::Empty, Some(&mut slow));
        assert_eq!((rounds.next(), slow.listed), (Some((2, Member::Datagrams)), false));
        assert_eq!(rounds.len(), 1);
        rounds.retain(|member| *member != Member::Datagrams);
        assert_eq!((rounds.next(), rounds.len()), (None, 0));
    }
}
