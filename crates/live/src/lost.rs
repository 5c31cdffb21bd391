//! A restarted peer: it no longer knows the association, and proves that.
//!
//! Follows the purpose of RFC 9000 §10.3. A sealed packet of an unknown association is answered by a packet that proves nothing;
//! its receiver opens another association with the same key, and asks there about the first. Only that answer ends anything.
//! Leaves out questions by a responder: an initiator that has ended leaves a closed port, which ICMP reports.

use crate::associations::{Associations, Event, Probe};
use crate::control::{Message, parse_unknown};
use skyhop_units::{Span, Time};
use std::net::SocketAddr;

/// Number of questions, and the interval between them.
const ASKS: u32 = 4;
const ASK_INTERVAL: Span = Span::from_secs(1);
/// Largest number of simultaneous probes.
const PROBES_MAX: usize = 16;
/// Shortest interval between doubts about an association.
const DOUBT_INTERVAL: Span = Span::from_secs(2);

impl Associations {
    /// Handles a sealed packet of no association.
    pub(crate) fn handle_unknown_sealed(&mut self, now: Time, from: SocketAddr, packet: &[u8]) {
        self.counters.unknown += 1;
        if let Some(answer) = self.admission.disown(now, packet) {
            self.outputs.send(from, answer);
        }
    }

    /// Handles an unproven message that a peer does not know an association. Only a host that has seen a packet of the association
    /// can send it, and it only makes this host ask.
    pub(crate) fn handle_unknown(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let doubted = parse_unknown(datagram).and_then(|(index, counter)| {
            let meant = self.with(from).find(|id| {
                self.open
                    .get(*id)
                    .is_some_and(|a| a.initiator() && a.peer_index() == index && counter < a.sealed())
            });
            let id = meant?;
            let association = self.open.get_mut(id)?;
            if association.doubted_at.is_some_and(|at| now.since(at) < DOUBT_INTERVAL) {
                return None;
            }
            association.doubted_at = Some(now);
            Some(id)
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

    /// Sends the question of a probe, when its new association opens or the question is due again.
    pub(crate) fn ask(&mut self, now: Time) {
        let mut questions = Vec::new();
        self.probes.retain(|&id, probe| {
            let Some((_, asked)) = probe.ask.filter(|(at, _)| *at <= now) else { return true };
            // A probe of an association forgotten meanwhile needs no answer.
            let Some(doubted) = self.open.get(probe.doubted).filter(|_| asked < ASKS) else { return false };
            questions.push((id, Message::Ask(doubted.peer_index())));
            probe.ask = Some((now + ASK_INTERVAL, asked + 1));
            true
        });
        for (id, question) in questions {
            self.say(id, None, question);
        }
    }

    /// Handles the peer's authenticated answer whether it knows the association with this index of its own.
    pub(crate) fn handle_verdict(&mut self, id: u32, index: u32, known: bool) {
        let asked = self.probes.get(&id).map(|probe| probe.doubted);
        let meant = asked.filter(|doubted| self.open.get(*doubted).is_some_and(|a| a.peer_index() == index));
        let Some(doubted) = meant else { return };
        self.probes.remove(&id);
        if !known {
            self.forget(doubted);
            self.outputs.report(Event::Lost { id: doubted, instead: id });
        }
    }
}
