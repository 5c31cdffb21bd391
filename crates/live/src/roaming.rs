//! A peer whose address changes: a NAT has forgotten it, or it is on another network now.
//!
//! Follows RFC 9000 §9 and §8.2: a good packet from elsewhere, newer than all others, makes this host ask there, and the answer moves the
//! association. Differs: until then everything still goes to the old address, so that a copied packet with another source
//! diverts nothing and the new address gets no more than one small packet a second.
//! Leaves out a responder that moves, and addresses of peers that do not encrypt: those are their names.

use crate::association::Moving;
use crate::associations::{Associations, Event};
use crate::control::Message;
use crate::entropy::random;
use skyhop_units::{Span, Time};
use std::net::SocketAddr;

/// A new address is asked again, or another one instead, at the earliest after this.
const CHALLENGE_INTERVAL: Span = Span::from_millis(500);

impl Associations {
    /// A packet has opened that is newer than all before and comes from another address than the peer's.
    pub(crate) fn challenge(&mut self, now: Time, id: u32, from: SocketAddr) {
        let Some(association) = self.open.get_mut(&id).filter(|a| !a.initiator()) else { return };
        if association.moving.as_ref().is_some_and(|moving| now.since(moving.asked_at) < CHALLENGE_INTERVAL) {
            return;
        }
        // The same question again: over a path of more than the interval its first answer is still under way.
        let asked = association.moving.as_ref().filter(|moving| moving.to == from).map(|moving| moving.token);
        let token = asked.unwrap_or_else(|| random(&*self.entropy));
        association.moving = Some(Moving { to: from, token, asked_at: now });
        self.say(id, Some(from), Message::Challenge(token));
    }

    /// A peer that answers from the address that was asked is there.
    pub(crate) fn handle_response(&mut self, id: u32, from: SocketAddr, token: [u8; 8]) {
        let Some(association) = self.open.get_mut(&id) else { return };
        if association.moving.take_if(|moving| moving.to == from && moving.token == token).is_some() {
            association.peer = from;
            self.events.push_back(Event::Moved { id, peer: from });
        }
    }
}
