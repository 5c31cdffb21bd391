//! A peer whose address changes, because a NAT has dropped its binding or it has moved to another network.
//!
//! Follows RFC 9000 §9 and §8.2: a genuine packet from another address, newer than all others, makes this host challenge that
//! address, and the answer moves the association. Differs: until then all packets go to the old address, so that a copied packet
//! with another source diverts nothing, and the new address gets at most one small packet per interval.
//! Leaves out responders that move, and peers without encryption, which are identified by their addresses.

use crate::association::Moving;
use crate::associations::{Associations, Event};
use crate::control::Message;
use crate::entropy::random;
use skyhop_units::{Span, Time};
use std::net::SocketAddr;

/// Shortest interval between challenges.
const CHALLENGE_INTERVAL: Span = Span::from_millis(500);

impl Associations {
    /// Challenges the source address of a packet that is newer than all before and did not come from the peer's address.
    pub(crate) fn challenge(&mut self, now: Time, id: u32, from: SocketAddr) {
        let Some(association) = self.open.get_mut(id).filter(|a| !a.initiator()) else { return };
        if association.moving.as_ref().is_some_and(|moving| now.since(moving.asked_at) < CHALLENGE_INTERVAL) {
            return;
        }
        // The same challenge again: on a path longer than the interval its first answer is still in flight.
        let asked = association.moving.as_ref().filter(|moving| moving.to == from).map(|moving| moving.token);
        let token = asked.unwrap_or_else(|| random(&*self.entropy));
        association.moving = Some(Moving { to: from, token, asked_at: now });
        self.say(id, Some(from), Message::Challenge(token));
    }

    /// Moves the association to an address from which the challenge is answered.
    pub(crate) fn handle_response(&mut self, id: u32, from: SocketAddr, token: [u8; 8]) {
        let Some(association) = self.open.get_mut(id) else { return };
        if association.moving.take_if(|moving| moving.to == from && moving.token == token).is_some() {
            self.open.move_to(id, from);
            self.outputs.report(Event::Moved { id, peer: from });
        }
    }
}
