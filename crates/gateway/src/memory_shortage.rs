//! Associations that are short of memory, and the connections to reset in one that has been so for long.
//!
//! Follows docs/gateway.md, "Memory". Differs from the shares of users, which bound what is held by connections that are new: the first
//! data of a connection cannot be refused, and the kernel's buffers hide for a while that nobody reads; so connections of the user who
//! holds most are reset. A slow reader is no better for the others than one who does not read.
//! Leaves out the reset (`gateway`).

use crate::user::User;
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;

/// Used memory, in eighths, beyond which an association is short of it, and the part at which a search for connections to reset ends.
pub const FULL: u64 = 7;
pub const RELIEVED: u64 = 6;
/// The part of the memory, in eighths, that a user holds at least whose connections are reset.
pub const MUCH: u64 = 2;
/// The time for which an association may be short of memory.
const FULL_MAX: Span = Span::from_secs(10);
/// The interval of searches while one is.
const SEARCH: Span = Span::from_secs(1);

/// Associations that are short of memory, with the times at which they were found so.
#[derive(Debug, Default)]
pub struct MemoryShortage {
    links: BTreeMap<u32, Time>,
    search_at: Option<Time>,
}

impl MemoryShortage {
    /// Notes that an association holds more than [`FULL`].
    pub fn begins(&mut self, now: Time, link: u32) {
        self.links.entry(link).or_insert(now);
        self.search_at.get_or_insert(now + SEARCH);
    }

    /// The time of the next search.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.search_at
    }

    /// The associations that have been short of memory for long, if a search is due. `holds` returns true if an association holds more
    /// than so many eighths of its memory, and nothing if it is lost.
    pub fn search(&mut self, now: Time, holds: impl Fn(u32, u64) -> Option<bool>) -> Vec<u32> {
        let mut long = Vec::new();
        if self.search_at.take_if(|at| *at <= now).is_none() {
            return long;
        }
        // Slow readers free a little of it again and again.
        self.links.retain(|link, _| holds(*link, RELIEVED) == Some(true));
        self.search_at = (!self.links.is_empty()).then(|| now + SEARCH);
        let full = |link: u32| holds(link, FULL) == Some(true);
        long.extend(
            self.links
                .iter()
                .filter(|(link, since)| now.since(**since) >= FULL_MAX && full(**link))
                .map(|(link, _)| *link),
        );
        long
    }
}

/// The user who holds most of an association's memory, if there are others and the user holds much, with the user's connections: those
/// with most data that wait to be read first. A connection is its user, its data, and its slot.
pub fn most_holding(
    connections: impl Iterator<Item = (User, u64, usize)>,
    is_much: impl Fn(u64) -> bool,
) -> Option<(User, Vec<usize>)> {
    let mut of_users: BTreeMap<User, (u64, Vec<(u64, usize)>)> = BTreeMap::new();
    for (user, data, slot) in connections {
        let (held, own) = of_users.entry(user).or_default();
        *held += data;
        own.push((data, slot));
    }
    let others = of_users.len() > 1;
    let most = of_users.into_iter().max_by_key(|(_, (held, _))| *held);
    let (user, (_, mut own)) = most.filter(|(_, (held, _))| others && is_much(*held))?;
    own.sort_unstable_by(|one, other| other.cmp(one));
    Some((user, own.into_iter().map(|(_, slot)| slot).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn an_association_is_relieved_after_a_while_and_watched_until_it_holds_less() {
        let mut shortage = MemoryShortage::default();
        let holding = |eighths: u64| move |_: u32, asked: u64| Some(eighths > asked);
        assert!(shortage.search(at(100), holding(8)).is_empty());
        shortage.begins(at(0), 7);
        shortage.begins(at(5), 7);
        assert_eq!(shortage.poll_timeout(), Some(at(1)));
        for second in 1..10 {
            assert!(shortage.search(at(second), holding(8)).is_empty(), "{second}");
            assert_eq!(shortage.poll_timeout(), Some(at(second + 1)));
        }
        assert!(shortage.search(at(10), holding(7)).is_empty(), "a little was read");
        assert_eq!(shortage.search(at(11), holding(8)), [7]);
        assert_eq!(shortage.search(at(12), holding(8)), [7], "and again");
        assert!(shortage.search(at(13), holding(6)).is_empty());
        assert_eq!(shortage.poll_timeout(), None);
        shortage.begins(at(14), 7);
        assert!(shortage.search(at(30), |_, _| None).is_empty(), "it is lost");
        assert_eq!(shortage.poll_timeout(), None);
    }

    #[test]
    fn the_user_with_most_loses_the_largest_connections_first_unless_alone() {
        let [one, other] = [1, 2].map(|last| User::of([10, 1, 0, last].into(), &[]));
        let all = [(one, 3, 10), (other, 1, 11), (one, 5, 12), (other, 6, 13), (one, 0, 14)];
        let much = |held: u64| held >= 8;
        assert_eq!(most_holding(all.into_iter(), much), Some((one, vec![12, 10, 14])));
        assert_eq!(most_holding(all.into_iter(), |held| held > 8), None, "too little");
        let own = all.into_iter().filter(|(user, ..)| *user == one);
        assert_eq!(most_holding(own, much), None, "nobody else has to wait");
    }
}
