//! A peer that was restarted: it does not know the association any more, and proves that.
//!
//! Follows the purpose of RFC 9000 §10.3. A sealed packet of an unknown association is answered by a packet that proves nothing; who
//! gets it opens another association with the same key, and asks there for the first. Only that answer ends anything.
//! Leaves out a responder that has something to ask: an initiator that ends leaves a closed port behind, and ICMP says so.

use crate::associations::{Associations, Event, Probe};
use crate::control::{Message, parse_unknown, unknown_packet};
use skyhop_units::{Span, Time};
use std::net::SocketAddr;

/// So often the question is repeated, so far apart.
const ASKS: u32 = 4;
const ASK_INTERVAL: Span = Span::from_secs(1);
/// Probes at a time.
const PROBES_MAX: usize = 16;
/// An association is doubted again at the earliest after this.
const DOUBT_INTERVAL: Span = Span::from_secs(2);

impl Associations {
    /// A sealed packet belongs to no association. The answer is shorter than the packet, and there are so many a second at most.
    pub(crate) fn handle_unknown_sealed(&mut self, now: Time, from: SocketAddr, packet: &[u8]) {
        self.counters.unknown += 1;
        if self.config.accepts
            && !self.overwhelmed(now)
            // The other half is for first packets that fail.
            && self.failures.1 < self.config.cookie_above / 2
            && let Some(answer) = unknown_packet(packet)
        {
            self.failures.1 += 1;
            self.send(from, answer);
        }
    }

    /// A peer says without proof that it does not know an association. Who has not seen a packet of it cannot say so; who has can
    /// make this host ask, no more.
    pub(crate) fn handle_unknown(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let doubted = parse_unknown(datagram).and_then(|(index, counter)| {
            let meant = self.open.iter_mut().find(|(_, a)| {
                a.initiator() && a.peer == from && a.peer_index() == index && counter < a.sealed()
            });
            let (id, association) = meant?;
            if association.doubted_at.is_some_and(|at| now.since(at) < DOUBT_INTERVAL) {
                return None;
            }
            association.doubted_at = Some(now);
            Some(*id)
        });
        let Some(doubted) = doubted.filter(|_| self.probes.len() < PROBES_MAX) else {
            self.counters.unknown += 1;
            return;
        };
        if self.probes.values().all(|probe| probe.doubted != doubted)
            && let Some(id) = self.connect(now, from)
        {
            self.probes.insert(id, Probe { doubted, ask: None });
        }
    }

    /// The new association of a probe is open, or its question is due again.
    pub(crate) fn ask(&mut self, now: Time) {
        let mut questions = Vec::new();
        self.probes.retain(|&id, probe| {
            let Some((_, asked)) = probe.ask.filter(|(at, _)| *at <= now) else { return true };
            // A probe of an association forgotten meanwhile needs no answer.
            let Some(doubted) = self.open.get(&probe.doubted).filter(|_| asked < ASKS) else { return false };
            questions.push((id, Message::Ask(doubted.peer_index())));
            probe.ask = Some((now + ASK_INTERVAL, asked + 1));
            true
        });
        for (id, question) in questions {
            self.say(id, None, question);
        }
    }

    /// The peer, and nobody else, has said whether it knows the association that it calls by this index.
    pub(crate) fn handle_verdict(&mut self, id: u32, index: u32, known: bool) {
        let asked = self.probes.get(&id).map(|probe| probe.doubted);
        let meant = asked.filter(|doubted| self.open.get(doubted).is_some_and(|a| a.peer_index() == index));
        let Some(doubted) = meant else { return };
        self.probes.remove(&id);
        if !known {
            self.forget(doubted);
            self.events.push_back(Event::Lost { id: doubted, instead: id });
        }
    }
}
