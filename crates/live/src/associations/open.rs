//! The open associations of a host, by number, by peer, by first packet, and by the time for which they have been idle.
//!
//! Follows the purpose of RFC 9000 §10.1: an association that is not used has an idle timeout.
//! Differs: a packet that arrives sets no timer. The time of a check is read again when it has come, so that a packet costs nothing.
//! Leaves out messages and events (`associations`, `endings`).

use crate::association::Association;
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// An open association, and where else it is noted.
struct Noted {
    association: Association,
    /// Ephemeral key of the peer's first packet, if the peer has opened the association.
    ephemeral: Option<[u8; 32]>,
    /// Time of the next check for idleness.
    check_at: Option<Time>,
}

/// The open associations. Each is noted at its peer's address and under its first packet, and has a check if it was unused at the last.
#[derive(Default)]
pub(crate) struct OpenAssociations {
    by_id: BTreeMap<u32, Noted>,
    by_peer: BTreeMap<SocketAddr, BTreeSet<u32>>,
    ephemerals: BTreeSet<[u8; 32]>,
    /// Times of the next checks, the earliest first.
    checks: BTreeSet<(Time, u32)>,
}

impl OpenAssociations {
    pub fn get(&self, id: u32) -> Option<&Association> {
        self.by_id.get(&id).map(|noted| &noted.association)
    }

    /// An association to be changed, other than its peer's address, which [`Self::move_to`] changes. If it is no longer used, or used
    /// again, a [`Self::check`] must follow.
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

    /// Returns true if a first packet with this ephemeral key has opened one of them.
    pub fn was_opened_by(&self, ephemeral: &[u8; 32]) -> bool {
        self.ephemerals.contains(ephemeral)
    }

    /// Adds one, which was opened by a first packet with this ephemeral key if a peer has opened it.
    pub fn insert(&mut self, id: u32, association: Association, ephemeral: Option<[u8; 32]>, idle: Span) {
        self.by_peer.entry(association.peer).or_default().insert(id);
        self.ephemerals.extend(ephemeral);
        self.by_id.insert(id, Noted { association, ephemeral, check_at: None });
        self.check(id, idle);
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

    /// Schedules the next check of one: when it has been unused and silent for `idle`, or for twice this time if the peer has opened it.
    pub fn check(&mut self, id: u32, idle: Span) {
        let Some(Noted { association, check_at, .. }) = self.by_id.get_mut(&id) else { return };
        let patience = if association.initiator() { idle } else { idle * 2 };
        let at = (!association.used).then(|| association.heard_at + patience);
        let before = std::mem::replace(check_at, at);
        if before != at {
            before.map(|before| self.checks.remove(&(before, id)));
            self.checks.extend(at.map(|at| (at, id)));
        }
    }

    /// The unused one that is idle first, if it is by `until`.
    pub fn first_idle(&mut self, idle: Span, until: Time) -> Option<u32> {
        while let Some(noted) = self.checks.first().copied().filter(|(at, _)| *at <= until) {
            self.check(noted.1, idle);
            if self.checks.first() == Some(&noted) {
                return Some(noted.1);
            }
        }
        None
    }

    /// Time of the next check; `None` if all are used.
    pub fn next_check(&self) -> Option<Time> {
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
        let mut open = OpenAssociations::default();
        open.insert(1, association(at(0), peer(1), true), None, IDLE);
        open.insert(2, association(at(0), peer(2), false), Some([2; 32]), IDLE);
        open.insert(3, association(at(3), peer(3), true), None, IDLE);
        assert_eq!((open.next_check(), open.first_idle(IDLE, at(9))), (Some(at(10)), None));
        open.get_mut(1).unwrap().heard_at = at(5);
        assert_eq!(open.next_check(), Some(at(10)), "a packet sets no timer");
        assert_eq!(open.first_idle(IDLE, at(12)), None);
        assert_eq!((open.next_check(), open.first_idle(IDLE, at(13))), (Some(at(13)), Some(3)));
        open.get_mut(3).unwrap().used = true;
        open.check(3, IDLE);
        assert_eq!(open.first_idle(IDLE, Time::MAX), Some(1));
        open.remove(1);
        assert_eq!(open.first_idle(IDLE, Time::MAX), Some(2));
        open.remove(2);
        assert_eq!((open.len(), open.next_check(), open.first_idle(IDLE, Time::MAX)), (1, None, None));
    }

    /// Random histories: the three indices, counted again from the associations after each step, are what they are kept as.
    #[test]
    fn each_association_is_noted_where_it_belongs_and_nowhere_else() {
        for seed in 0..50 {
            let mut chance = Seed(seed).stream("associations");
            let mut draw = |below: u32| (chance.uniform() * f64::from(below)) as u32;
            let mut open = OpenAssociations::default();
            for step in 0..200 {
                let (now, id) = (at(step), draw(8));
                match draw(6) {
                    0 | 1 if !open.contains(id) => {
                        let initiator = draw(2) == 0;
                        let ephemeral = (!initiator).then_some([id as u8; 32]);
                        open.insert(id, association(now, peer(draw(3) as u16), initiator), ephemeral, IDLE);
                    }
                    2 => open.remove(id),
                    3 => open.move_to(id, peer(draw(3) as u16)),
                    4 => {
                        if let Some(association) = open.get_mut(id) {
                            (association.used, association.heard_at) = (draw(2) == 0, now);
                            open.check(id, IDLE);
                        }
                    }
                    _ => {
                        while let Some(id) = open.first_idle(IDLE, now) {
                            let one = open.get(id).unwrap();
                            assert!(!one.used && now.since(one.heard_at) >= IDLE);
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
                    assert_eq!(noted.check_at.is_none(), noted.association.used);
                }
                assert_eq!((&peers, &ephemerals, &checks), (&open.by_peer, &open.ephemerals, &open.checks));
            }
        }
    }
}
