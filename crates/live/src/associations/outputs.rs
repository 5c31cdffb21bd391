//! The outputs of a host's associations: packets to send other than sealed ones, and events.
//!
//! Differs from two plain queues: strangers cannot fill them, nor can a peer.
//! Leaves out a limit for first packets, of which each attempt of this host sends one at a time.

use super::event::Event;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Number of waiting packets from which further ones are dropped, but for first packets.
const PACKETS_MAX: usize = 1024;
/// Largest number of unread events about strangers; further ones are only counted.
const EVENTS_MAX: usize = 256;

/// The packets and events, in order.
#[derive(Default)]
pub(crate) struct Outputs {
    packets: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<Event>,
}

impl Outputs {
    /// Sends a packet, or drops it if too many wait.
    pub fn send(&mut self, to: SocketAddr, packet: Vec<u8>) {
        if self.packets.len() < PACKETS_MAX {
            self.packets.push_back((to, packet));
        }
    }

    /// Sends a first packet of this host.
    pub fn send_hello(&mut self, to: SocketAddr, packet: Vec<u8>) {
        self.packets.push_back((to, packet));
    }

    /// Reports an event.
    pub fn report(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Reports an event about a stranger, unless too many are unread.
    pub fn report_stranger(&mut self, event: Event) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }

    /// The next packet.
    pub fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.packets.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::RefusalReason;

    #[test]
    fn packets_and_events_about_strangers_are_limited_and_those_of_attempts_are_not() {
        let peer = SocketAddr::from(([192, 0, 2, 1], 1));
        let refused = Event::Refused { from: peer, reason: RefusalReason::Key };
        let mut outputs = Outputs::default();
        for _ in 0..=PACKETS_MAX {
            outputs.send(peer, vec![1]);
            outputs.report_stranger(refused.clone());
        }
        outputs.send_hello(peer, vec![2]);
        outputs.report(Event::Ended { id: 1 });
        let packets: Vec<_> = std::iter::from_fn(|| outputs.poll_transmit()).collect();
        assert_eq!((packets.len(), packets.last()), (PACKETS_MAX + 1, Some(&(peer, vec![2]))));
        let events: Vec<_> = std::iter::from_fn(|| outputs.poll_event()).collect();
        assert_eq!((events.len(), events.last()), (EVENTS_MAX + 1, Some(&Event::Ended { id: 1 })));
        outputs.send(peer, vec![1]);
        assert_eq!(outputs.poll_transmit(), Some((peer, vec![1])), "there is room again");
    }
}
