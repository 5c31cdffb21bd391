//! The open associations of a host, by number, by peer, by first packet, and by the time for which they have been idle; and their ends,
//! by their owner, by their peer, because they are idle, or to make room for another.
//!
//! Follows the purpose of RFC 9000 §10.1 (idle timeout) and §10.2 (immediate close).
//! Differs: an association with connections or streams is never idle, since those have timers of their own. A packet that arrives sets
//! no timer: the time of a check is read again when it has come, so that a packet costs nothing.
//! Leaves out messages and events (`associations`), and an acknowledgment of the closing message: a peer that misses it learns of the
//! end when it sends again (`probes`).

use crate::association::Association;
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// An open association, and where else it is noted.
struct Noted {
    association: Association,
    /// Ephemeral key of the peer's first packet, if the peer has opened the association.
    ephemeral: Option<[u8; 32]>,
    /// True if there are connections or streams in it.
    used: bool,
    /// True if the peer has ended it while it was used: it ends when its last connection does.
    ended_by_peer: bool,
    /// Time of the next check for idleness.
    check_at: Option<Time>,
}

/// The open associations. Each is noted at its peer's address and under its first packet, and has a check if it was unused at the last.
pub(crate) struct OpenAssociations {
    /// Number of them from which another one needs the room of an unused one.
    most: usize,
    /// Time after which an unused one is idle, if this host has opened it.
    idle: Span,
    by_id: BTreeMap<u32, Noted>,
    by_peer: BTreeMap<SocketAddr, BTreeSet<u32>>,
    ephemerals: BTreeSet<[u8; 32]>,
    /// Times of the next checks, the earliest first.
    checks: BTreeSet<(Time, u32)>,
}

impl OpenAssociations {
    /// None yet; there is room for `most`, and unused ones end after `idle`.
    pub fn new(most: usize, idle: Span) -> Self {
        let (by_id, by_peer) = (BTreeMap::new(), BTreeMap::new());
        OpenAssociations { most, idle, by_id, by_peer, ephemerals: BTreeSet::new(), checks: BTreeSet::new() }
    }

    pub fn get(&self, id: u32) -> Option<&Association> {
        self.by_id.get(&id).map(|noted| &noted.association)
    }

    /// An association to be changed, other than its peer's address, which [`Self::move_to`] changes.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Association> {
        self.by_id.get_mut(&id).map(|noted| &mut noted.association)
    }

    pub fn contains(&self, id: u32) -> bool {
        self.by_id.contains_key(&id)
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// All numbers, the lowest first.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.by_id.keys().copied()
    }

    /// The numbers of those with a peer.
    pub fn with(&self, peer: SocketAddr) -> impl Iterator<Item = u32> + use<'_> {
        self.by_peer.get(&peer).into_iter().flatten().copied()
    }

    /// One with a peer from which a packet arrived recently.
    pub fn fresh(&self, now: Time, peer: SocketAddr) -> Option<u32> {
        self.with(peer).find(|id| self.get(*id).is_some_and(|a| now.since(a.heard_at) < self.idle))
    }

    /// The one with a peer in which a sealed packet with this beginning was sent.
    pub fn that_sent(&self, peer: SocketAddr, quote: &[u8]) -> Option<u32> {
        self.with(peer).find(|id| self.get(*id).is_some_and(|association| association.has_sent(quote)))
    }

    /// The one that this host has opened with a peer whose index of it and counter these are, if it was not in doubt just now.
    pub fn doubt(&mut self, now: Time, peer: SocketAddr, index: u32, counter: u64) -> Option<u32> {
        let id = self
            .with(peer)
            .find(|id| self.get(*id).is_some_and(|a| a.initiator() && a.has_sealed(index, counter)))?;
        self.get_mut(id)?.doubt(now).then_some(id)
    }

    /// Returns true if there is room for one more.
    pub fn has_room(&self) -> bool {
        self.len() < self.most
    }

    /// Returns true if there is no room for one more, and no unused one could make it.
    pub fn is_full(&self) -> bool {
        !self.has_room() && self.checks.is_empty()
    }

    /// Returns true if a first packet with this ephemeral key has opened one of them.
    pub fn was_opened_by(&self, ephemeral: &[u8; 32]) -> bool {
        self.ephemerals.contains(ephemeral)
    }

    /// Adds one, which was opened by a first packet with this ephemeral key if a peer has opened it.
    pub fn insert(&mut self, id: u32, association: Association, ephemeral: Option<[u8; 32]>) {
        self.by_peer.entry(association.peer).or_default().insert(id);
        self.ephemerals.extend(ephemeral);
        let noted = Noted { association, ephemeral, used: false, ended_by_peer: false, check_at: None };
        self.by_id.insert(id, noted);
        self.check(id);
    }

    /// Removes one.
    pub fn remove(&mut self, id: u32) {
        let Some(noted) = self.by_id.remove(&id) else { return };
        if let Some(ephemeral) = noted.ephemeral {
            self.ephemerals.remove(&ephemeral);
        }
        if let Some(at) = noted.check_at {
            self.checks.remove(&(at, id));
        }
        self.not_at(noted.association.peer, id);
    }

    /// Moves the peer of one to another address.
    pub fn move_to(&mut self, id: u32, peer: SocketAddr) {
        let Some(association) = self.get_mut(id) else { return };
        let before = std::mem::replace(&mut association.peer, peer);
        self.not_at(before, id);
        self.by_peer.entry(peer).or_default().insert(id);
    }

    fn not_at(&mut self, peer: SocketAddr, id: u32) {
        if let Some(ids) = self.by_peer.get_mut(&peer) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_peer.remove(&peer);
            }
        }
    }

    /// Records whether one has connections or streams. Returns true if it is over: its peer had ended it while it was used.
    pub fn set_used(&mut self, now: Time, id: u32, used: bool) -> bool {
        let Some(noted) = self.by_id.get_mut(&id).filter(|noted| noted.used != used) else { return false };
        noted.used = used;
        if !used {
            if noted.ended_by_peer {
                return true;
            }
            // The idle time begins now, since its owner may use it again.
            noted.association.heard_at = noted.association.heard_at.max(now);
        }
        self.check(id);
        false
    }

    /// Handles the peer's end of one. Returns true if it is over; a used one is after its last use.
    pub fn handle_bye(&mut self, id: u32) -> bool {
        let Some(noted) = self.by_id.get_mut(&id) else { return false };
        // Its last connection may have ended already, and not be removed yet.
        noted.ended_by_peer |= noted.used;
        !noted.used
    }

    /// Schedules the next check of one: when it has been unused and silent for the idle time, or twice this time if the peer has opened it.
    fn check(&mut self, id: u32) {
        let idle = self.idle;
        let Some(Noted { association, used, check_at, .. }) = self.by_id.get_mut(&id) else { return };
        let patience = if association.initiator() { idle } else { idle * 2 };
        let at = (!*used).then(|| association.heard_at + patience);
        let before = std::mem::replace(check_at, at);
        if before != at {
            before.map(|before| self.checks.remove(&(before, id)));
            self.checks.extend(at.map(|at| (at, id)));
        }
    }

    /// The unused one that is idle first, if it is by `until`.
    pub fn first_idle(&mut self, until: Time) -> Option<u32> {
        while let Some(noted) = self.checks.first().copied().filter(|(at, _)| *at <= until) {
            self.check(noted.1);
            if self.checks.first() == Some(&noted) {
                return Some(noted.1);
            }
        }
        None
    }

    /// Time of the next check; `None` if all are used.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.checks.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::association::Sealing;
    use crate::handshake::Secrets;
    use crate::seal::Cipher;
    use skyhop_chance::Seed;

    const IDLE: Span = Span::from_secs(10);

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    fn peer(number: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], number))
    }

    fn association(now: Time, peer: SocketAddr, initiator: bool) -> Association {
        let sealing = Sealing { cipher: Cipher::default(), replay_window: 64, epoch_bits: 8 };
        let secrets = Secrets { forward: Default::default(), back: Default::default() };
        Association::new(now, peer, 1, sealing, &secrets, initiator)
    }

    /// A responder waits twice as long, a packet puts the end off without a new check, and used associations are never idle.
    #[test]
    fn the_first_idle_one_is_the_unused_one_that_was_silent_for_longest() {
        let mut open = OpenAssociations::new(3, IDLE);
        open.insert(1, association(at(0), peer(1), true), None);
        open.insert(2, association(at(0), peer(2), false), Some([2; 32]));
        open.insert(3, association(at(3), peer(3), true), None);
        assert_eq!((open.poll_timeout(), open.first_idle(at(9))), (Some(at(10)), None));
        open.get_mut(1).unwrap().heard_at = at(5);
        assert_eq!(open.poll_timeout(), Some(at(10)), "a packet sets no timer");
        assert_eq!(open.first_idle(at(12)), None);
        assert_eq!((open.poll_timeout(), open.first_idle(at(13))), (Some(at(13)), Some(3)));
        assert!(!open.set_used(at(13), 3, true));
        assert_eq!(open.first_idle(Time::MAX), Some(1));
        open.remove(1);
        assert_eq!(open.first_idle(Time::MAX), Some(2));
        open.remove(2);
        assert_eq!((open.len(), open.poll_timeout(), open.first_idle(Time::MAX)), (1, None, None));
    }

    /// A used one may still be used; an unused one is over at once.
    #[test]
    fn an_association_that_its_peer_has_ended_is_over_after_its_last_use() {
        let mut open = OpenAssociations::new(2, IDLE);
        open.insert(1, association(at(0), peer(1), true), None);
        open.insert(2, association(at(0), peer(2), true), None);
        assert!(!open.set_used(at(1), 1, true) && !open.set_used(at(2), 1, false), "before its end");
        assert!(!open.set_used(at(3), 1, true) && !open.handle_bye(1) && !open.set_used(at(4), 1, true));
        assert!(open.set_used(at(5), 1, false));
        assert!(open.handle_bye(2) && !open.handle_bye(3));
    }

    #[test]
    fn there_is_no_room_while_all_are_used() {
        let mut open = OpenAssociations::new(2, IDLE);
        open.insert(1, association(at(0), peer(1), true), None);
        assert!(open.has_room() && !open.is_full());
        open.insert(2, association(at(0), peer(1), true), None);
        assert!(!open.has_room() && !open.is_full(), "either may make room");
        (1..=2).for_each(|id| _ = open.set_used(at(1), id, true));
        assert!(open.is_full());
        open.remove(1);
        assert!(open.has_room() && !open.is_full());
    }

    #[test]
    fn an_association_is_fresh_for_the_idle_time_after_a_packet() {
        let mut open = OpenAssociations::new(2, IDLE);
        open.insert(1, association(at(0), peer(1), true), None);
        open.insert(2, association(at(5), peer(1), true), None);
        assert_eq!([9, 10, 14, 15].map(|s| open.fresh(at(s), peer(1))), [Some(1), Some(2), Some(2), None]);
        assert_eq!(open.fresh(at(9), peer(2)), None);
    }

    /// Random histories: the three indices, counted again from the associations after each step, are what they are kept as.
    #[test]
    fn each_association_is_noted_where_it_belongs_and_nowhere_else() {
        for seed in 0..50 {
            let mut chance = Seed(seed).stream("associations");
            let mut draw = |below: u32| (chance.uniform() * f64::from(below)) as u32;
            let mut open = OpenAssociations::new(3, IDLE);
            for step in 0..200 {
                let (now, id) = (at(step), draw(8));
                match draw(6) {
                    0 | 1 if !open.contains(id) => {
                        let initiator = draw(2) == 0;
                        let ephemeral = (!initiator).then_some([id as u8; 32]);
                        open.insert(id, association(now, peer(draw(3) as u16), initiator), ephemeral);
                    }
                    2 => open.remove(id),
                    3 => open.move_to(id, peer(draw(3) as u16)),
                    4 => {
                        if let Some(association) = open.get_mut(id) {
                            association.heard_at = now;
                            assert!(!open.set_used(now, id, draw(2) == 0));
                        }
                    }
                    _ => {
                        while let Some(id) = open.first_idle(now) {
                            let one = &open.by_id[&id];
                            assert!(!one.used && now.since(one.association.heard_at) >= IDLE);
                            open.remove(id);
                        }
                    }
                }
                let (mut peers, mut ephemerals, mut checks) =
                    (BTreeMap::<_, BTreeSet<_>>::new(), BTreeSet::new(), BTreeSet::new());
                for (id, noted) in &open.by_id {
                    peers.entry(noted.association.peer).or_default().insert(*id);
                    ephemerals.extend(noted.ephemeral);
                    checks.extend(noted.check_at.map(|at| (at, *id)));
                    assert_eq!(noted.check_at.is_none(), noted.used);
                }
                assert_eq!((&peers, &ephemerals, &checks), (&open.by_peer, &open.ephemerals, &open.checks));
            }
        }
    }
}
