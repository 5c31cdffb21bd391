//! All associations of a host: opening, assignment of packets, and bounded memory under any load.
//!
//! Differs from RFC 9000: an association is open for the responder when the first sealed packet arrives, so a first packet, replayed or
//! not, only takes one of a bounded number of slots for a while (`admission`).
//! Leaves out sockets, clocks and randomness: the caller passes datagrams, the time and entropy.

mod admission;
mod answer_limit;
mod config;
mod event;
mod half_open;
mod key_exchange;
mod open;
mod outputs;
mod probes;

use crate::association::{Association, Counters, sealed_index};
use crate::attempts::{AssociationFailure, AttemptStep, Attempts};
use crate::control::{Message, STP_MIN, parse_unknown};
use crate::entropy::{Entropy, random};
use crate::handshake::{Hello, INDEX_MASK, RefusalReason, kind, parse_answer};
use crate::keys::Keys;
use admission::Admission;
pub use config::Config;
pub use event::Event;
use half_open::HalfOpen;
use key_exchange::KeyExchange;
use open::OpenAssociations;
use outputs::Outputs;
use probes::Probes;
use skyhop_units::Time;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

/// The associations of a host.
pub struct Associations {
    entropy: Arc<dyn Entropy>,
    key_exchange: KeyExchange,
    open: OpenAssociations,
    admission: Admission,
    attempts: Attempts,
    probes: Probes,
    outputs: Outputs,
    counters: Counters,
}

impl Associations {
    /// An empty set. Numbers, keys and cookies are drawn from `entropy`.
    pub fn new(now: Time, config: Config, entropy: Arc<dyn Entropy>) -> Self {
        Associations {
            admission: Admission::new(now, &config, entropy.clone()),
            attempts: Attempts::new(config.hello_interval, config.opening),
            key_exchange: KeyExchange::new(&config, entropy.clone()),
            entropy,
            open: OpenAssociations::new(config.associations_max, config.idle),
            probes: Probes::default(),
            outputs: Outputs::default(),
            counters: Counters::default(),
        }
    }

    /// Counters of packets so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Sets whether others may open associations.
    pub fn accept(&mut self, accepts: bool) {
        self.admission.accept(accepts);
    }

    /// Replaces the keys. Open associations stay.
    pub fn set_keys(&mut self, keys: Keys) {
        self.key_exchange.set_keys(keys);
    }

    /// Number of stored first packets.
    pub fn half_open(&self) -> usize {
        self.admission.len()
    }

    /// An open association.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Association> {
        self.open.get_mut(id)
    }

    /// The numbers of all open associations.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.open.ids()
    }

    /// The number of open associations.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns true if no association is open.
    pub fn is_empty(&self) -> bool {
        self.open.len() == 0
    }

    /// The attempts to open an association with a peer.
    pub fn attempts(&self, peer: SocketAddr) -> impl Iterator<Item = u32> + use<'_> {
        self.attempts.at(peer)
    }

    /// The numbers of the open associations with a peer.
    pub fn with(&self, peer: SocketAddr) -> impl Iterator<Item = u32> + use<'_> {
        self.open.with(peer)
    }

    /// An open association with a peer from which a packet arrived recently.
    pub fn fresh(&self, now: Time, peer: SocketAddr) -> Option<u32> {
        self.open.fresh(now, peer)
    }

    /// Forgets an association, or abandons an attempt.
    pub fn forget(&mut self, id: u32) {
        self.attempts.end(id);
        self.probes.end(id);
        self.open.remove(id);
    }

    /// Records whether an association has connections or streams. One without any may make room for others, and ends when it is idle.
    pub fn set_used(&mut self, now: Time, id: u32, used: bool) {
        if self.open.set_used(now, id, used) {
            self.forget(id);
        }
    }

    /// Ends an association, and tells the peer.
    pub fn end(&mut self, id: u32) {
        self.say(id, None, Message::Bye);
        self.forget(id);
    }

    /// Ends all associations.
    pub fn end_all(&mut self) {
        for id in self.open.ids().collect::<Vec<_>>() {
            self.end(id);
        }
    }

    /// Starts opening an association with a peer; an event reports the result. `None` if the keys are invalid.
    pub fn connect(&mut self, now: Time, to: SocketAddr) -> Option<u32> {
        let id = self.new_index();
        let initiator = self.key_exchange.initiate(id)?;
        self.attempts.begin(now, id, initiator, to);
        self.handle_timeout(now);
        Some(id)
    }

    /// Handles a datagram from the network. Returns the association and the position of the contents if it is a valid sealed packet.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &mut [u8],
    ) -> Option<(u32, Range<usize>)> {
        match datagram.first() {
            Some(&kind::SEALED) => return self.handle_sealed(now, from, datagram),
            Some(&kind::HELLO) if self.admission.accepts() => self.handle_hello(now, from, datagram),
            Some(&kind::HELLO) => self.counters.unknown += 1,
            Some(&kind::ANSWER) => self.handle_answer(now, from, datagram),
            Some(&kind::COOKIE) => self.handle_cookie(now, from, datagram),
            Some(&kind::REFUSED) => self.handle_refusal(now, from, datagram),
            Some(&kind::UNKNOWN) => self.handle_unknown(now, from, datagram),
            _ => {
                self.counters.garbage += 1;
                if let Some(refusal) = self.admission.refuse_foreign(now, datagram) {
                    self.outputs.send(from, refusal);
                }
                for id in self.attempts.at(from).collect::<Vec<_>>() {
                    self.hint(now, id, AssociationFailure::NotStp);
                }
            }
        }
        None
    }

    /// Handles a host's report that nothing listens at the address to which a packet with this beginning was sent.
    pub fn handle_unreachable(&mut self, now: Time, to: SocketAddr, quote: &[u8]) {
        if let Some(id) = self.attempts.that_sent(to, quote) {
            self.hint(now, id, AssociationFailure::Unreachable);
        }
    }

    /// The association with a peer in which a sealed packet with this beginning was sent.
    pub(crate) fn that_sent(&self, to: SocketAddr, quote: &[u8]) -> Option<u32> {
        self.open.that_sent(to, quote)
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.admission.handle_timeout(now);
        while let Some(step) = self.attempts.handle_timeout(now) {
            match step {
                AttemptStep::Send { to, packet, unanswered } => {
                    self.outputs.send_hello(to, packet);
                    if unanswered {
                        self.outputs.report(Event::Unanswered { peer: to });
                    }
                }
                AttemptStep::Fail(id, why) => self.fail(id, why),
            }
        }
        self.ask(now);
        while let Some(id) = self.open.first_idle(now) {
            self.end(id);
            self.outputs.report(Event::Ended { id });
        }
    }

    /// Reports an attempt that has failed.
    fn fail(&mut self, id: u32, why: AssociationFailure) {
        // An unanswered probe needs no event: the connections notice the silence themselves.
        if !self.probes.end(id) {
            self.outputs.report(Event::Failed { id, why });
        }
    }

    /// Time at which [`Associations::handle_timeout`] is due next.
    pub fn poll_timeout(&self) -> Option<Time> {
        let timers = [
            self.attempts.poll_timeout(),
            self.open.poll_timeout(),
            self.admission.poll_timeout(),
            self.probes.poll_timeout(),
        ];
        timers.into_iter().flatten().min()
    }

    /// The next datagram to send other than sealed packets.
    pub fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.outputs.poll_transmit()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.outputs.poll_event()
    }

    fn handle_sealed(
        &mut self,
        now: Time,
        from: SocketAddr,
        packet: &mut [u8],
    ) -> Option<(u32, Range<usize>)> {
        let Some(id) = sealed_index(packet) else {
            self.counters.garbage += 1;
            return None;
        };
        let contents = if let Some(association) = self.open.get_mut(id) {
            association.open(now, from, packet, &mut self.counters)?
        } else if self.admission.is_from(id, from) {
            self.complete(now, id, from, packet)?
        } else {
            self.counters.unknown += 1;
            if let Some(answer) = self.admission.disown(now, packet) {
                self.outputs.send(from, answer);
            }
            return None;
        };
        let newest = self.open.get(id).is_some_and(|association| association.newest);
        let is_message = contents.len() < STP_MIN;
        if let Some(message) = Message::parse(&packet[contents.clone()]).filter(|_| is_message) {
            self.handle_message(id, from, message);
        }
        // After the message, which may be the answer to a challenge of that address.
        if newest
            && let Some(association) = self.open.get_mut(id).filter(|association| association.peer != from)
            && let Some(token) = association.challenge(now, from, &*self.entropy)
        {
            self.say(id, Some(from), Message::Challenge(token));
        }
        (!is_message).then_some((id, contents))
    }

    /// Completes an association at its first sealed packet, which proves the peer's address and key.
    fn complete(&mut self, now: Time, id: u32, from: SocketAddr, packet: &mut [u8]) -> Option<Range<usize>> {
        let contents = self.admission.open(now, id, from, packet, &mut self.counters)?;
        if !self.make_room() {
            return None;
        }
        let HalfOpen { association, ephemeral, line, .. } = self.admission.take(id)?;
        self.begin(id, association, Some(ephemeral), line);
        Some(contents)
    }

    /// Begins an association, which a first packet with this ephemeral key has opened if the peer is its initiator.
    fn begin(
        &mut self,
        id: u32,
        association: Association,
        ephemeral: Option<[u8; 32]>,
        line: Option<String>,
    ) {
        self.outputs.report(Event::Opened { id, peer: association.peer, key: association.key });
        if let Some(line) = line {
            self.outputs.report(Event::Keys(line));
        }
        self.open.insert(id, association, ephemeral);
    }

    /// Makes room for one more association by ending the unused one that was silent for longest. Returns false if all are used.
    fn make_room(&mut self) -> bool {
        while !self.open.has_room() {
            let Some(id) = self.open.first_idle(Time::MAX) else { return false };
            self.counters.evicted += 1;
            self.end(id);
            self.outputs.report(Event::Ended { id });
        }
        true
    }

    fn handle_message(&mut self, id: u32, from: SocketAddr, message: Message) {
        match message {
            Message::Ask(index) => {
                let known = self.open.contains(index);
                self.say(id, None, if known { Message::Here(index) } else { Message::Gone(index) });
            }
            Message::Here(index) => _ = self.probes.handle_verdict(id, index, &self.open),
            Message::Gone(index) => {
                if let Some(doubted) = self.probes.handle_verdict(id, index, &self.open) {
                    self.forget(doubted);
                    self.outputs.report(Event::Lost { id: doubted, instead: id });
                }
            }
            Message::Challenge(token) => self.say(id, None, Message::Response(token)),
            Message::Response(token) => {
                if self.open.get_mut(id).is_some_and(|a| a.handle_response(from, token)) {
                    self.open.move_to(id, from);
                    self.outputs.report(Event::Moved { id, peer: from });
                }
            }
            Message::Bye => {
                if self.open.handle_bye(id) {
                    self.forget(id);
                }
                self.outputs.report(Event::Ended { id });
            }
        }
    }

    /// Sends a message inside an association, to its peer or to the peer's presumed address.
    fn say(&mut self, id: u32, to: Option<SocketAddr>, message: Message) {
        let Some(association) = self.open.get_mut(id) else { return };
        self.outputs.send(to.unwrap_or(association.peer), association.seal_message(message));
    }

    fn handle_hello(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let Some(hello) = Hello::parse(datagram) else {
            self.counters.garbage += 1;
            return;
        };
        self.counters.hellos += 1;
        if self.attempts.own(&hello.ephemeral()) {
            // With a shared key either end may open, so this host would open an association with itself.
            self.counters.reflected_hellos += 1;
            return;
        }
        if self.open.was_opened_by(&hello.ephemeral()) {
            self.counters.repeated_hellos += 1;
            return;
        }
        if let Some(instead) = self.admission.screen(now, from, &hello, &mut self.counters) {
            self.outputs.send(from, instead);
            return;
        }
        match self.respond(now, from, &hello) {
            Ok(answer) => self.outputs.send(from, answer),
            Err(reason) => {
                self.counters.refused += 1;
                self.outputs.report_stranger(Event::Refused { from, reason });
                let refusal = self.admission.refuse(&hello, reason);
                self.outputs.send(from, refusal);
            }
        }
    }

    /// The answer to a first packet, which half opens an association.
    fn respond(&mut self, now: Time, from: SocketAddr, hello: &Hello<'_>) -> Result<Vec<u8>, RefusalReason> {
        self.key_exchange.check(hello)?;
        if self.open.is_full() {
            return Err(RefusalReason::Full);
        }
        let id = self.new_index();
        let half_open = self.key_exchange.respond(now, from, hello, id)?;
        let answer = half_open.answer.clone();
        self.admission.remember(now, id, half_open);
        Ok(answer)
    }

    fn handle_answer(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let Some((id, noise)) = parse_answer(datagram) else {
            self.counters.garbage += 1;
            return;
        };
        if !self.attempts.is_at(id, from) {
            self.counters.unknown += 1;
            return;
        }
        let Some((peer_index, secrets)) = self.attempts.finish(id, noise) else {
            self.counters.forged += 1;
            return self.hint(now, id, AssociationFailure::Refused(RefusalReason::Key));
        };
        let (association, line) = self.key_exchange.finish(now, from, (id, peer_index), &secrets);
        self.begin(id, association, None, line);
        if self.probes.handle_opened(now, id) {
            self.ask(now);
        }
    }

    fn handle_cookie(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        if self.attempts.handle_cookie(now, from, datagram) {
            self.handle_timeout(now);
        } else {
            self.counters.unknown += 1;
        }
    }

    fn handle_refusal(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        match self.attempts.refused(from, datagram) {
            Some((id, reason)) => self.hint(now, id, AssociationFailure::Refused(reason)),
            None => self.counters.unknown += 1,
        }
    }

    /// Handles an unproven message that a peer does not know an association. Only a host that has seen a packet of the association
    /// can send it, and it only makes this host ask.
    fn handle_unknown(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let doubted =
            parse_unknown(datagram).and_then(|(index, counter)| self.open.doubt(now, from, index, counter));
        let Some(doubted) = doubted.filter(|_| self.probes.has_room()) else {
            self.counters.unknown += 1;
            return;
        };
        if !self.probes.is_about(doubted)
            && let Some(id) = self.connect(now, from)
        {
            self.probes.begin(id, doubted);
        }
    }

    /// Asks the peers about associations in doubt.
    fn ask(&mut self, now: Time) {
        for (id, index) in self.probes.handle_timeout(now, &self.open) {
            self.say(id, None, Message::Ask(index));
        }
    }

    /// Handles unproven evidence against an attempt.
    fn hint(&mut self, now: Time, id: u32, why: AssociationFailure) {
        if self.attempts.hint(now, id, why) {
            self.fail(id, why);
        }
    }

    fn new_index(&self) -> u32 {
        loop {
            let index = u32::from_be_bytes(random(&*self.entropy)) & INDEX_MASK;
            let taken =
                self.open.contains(index) || self.admission.contains(index) || self.attempts.contains(index);
            if !taken {
                return index;
            }
        }
    }
}
