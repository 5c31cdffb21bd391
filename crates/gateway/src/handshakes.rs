//! Clients' handshakes that wait for the server's answer.
//!
//! Follows docs/stp.md §16 for the answer. A SYN is given back once it is known what becomes of it; the newest of a client counts, since
//! it may have begun anew from the same port. Only data of the client cannot ride with the preamble.
//! Differs from the kernel's listeners, which answer a SYN at once. Leaves out opening the connection (`turns`), and the packets (`syn`).

use crate::fate::End;
use crate::syn::{Syn, SynVerdict};
use crate::user::User;
use skyhop_splice::preamble::Answer;
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// Most handshakes that wait, in all and of one user: each has a stream, and a connection at the far end.
const HELD_MAX: usize = 4096;
const HELD_PER_USER: usize = 256;
/// Time for which a connection that was given up must not be taken for a new one: the kernel repeats its SYN and ACK for so long.
const GONE: Span = Span::from_secs(70);

/// Time for which an answered handshake may take: the client repeats its SYN and the kernel its answer.
pub const COMPLETION_MAX: Span = Span::from_secs(10);

/// Client and server.
pub type ClientAndServer = (SocketAddr, SocketAddr);

#[derive(Debug)]
struct HeldSyn {
    slot: usize,
    user: User,
    syn: Syn,
    /// True once the kernel has been told to answer.
    answered: bool,
}

/// The owner of a connection that the kernel has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It belongs to the connection in this slot.
    Held(usize),
    /// Its server's connection has ended in the meantime.
    Gone,
    /// It was not held.
    New,
}

/// The verdict on the SYN of a connection that has ended before its handshake was completed; none if the client is to repeat it.
pub fn verdict_on(end: End) -> Option<SynVerdict> {
    match end {
        End::Refused(Answer::Refused) | End::Reset => Some(SynVerdict::Reset),
        End::Refused(Answer::Unreachable | Answer::NoSuchName) => Some(SynVerdict::Unreachable),
        End::Refused(Answer::Forbidden | Answer::OverQuota) => Some(SynVerdict::Prohibited),
        // A repeated SYN may find the server, room, or the firewall's rule for the time without an association.
        _ => None,
    }
}

/// The handshakes.
#[derive(Debug, Default)]
pub struct Handshakes {
    held: BTreeMap<ClientAndServer, HeldSyn>,
    by_user: BTreeMap<User, usize>,
    gone: BTreeMap<ClientAndServer, Time>,
    out: VecDeque<Vec<u8>>,
    /// SYNs that were not held for lack of room.
    pub ignored: u64,
}

impl Handshakes {
    /// The number of handshakes that wait.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Handles a SYN of a user. Returns true if it begins a handshake for which there is room, which the caller holds.
    pub fn begins(&mut self, syn: &Syn, user: User) -> bool {
        if let Some(held) = self.held.get_mut(&(syn.client, syn.server)) {
            held.syn = syn.clone();
            if held.answered {
                self.out.push_back(syn.with(SynVerdict::Accept));
            }
            return false;
        }
        let of_user = self.by_user.get(&user).copied().unwrap_or(0);
        let room = self.held.len() < HELD_MAX && of_user < HELD_PER_USER;
        self.ignored += u64::from(!room);
        room
    }

    /// Holds a handshake for the connection in this slot.
    pub fn hold(&mut self, slot: usize, syn: Syn, user: User) {
        let pair = (syn.client, syn.server);
        self.gone.remove(&pair);
        *self.by_user.entry(user).or_default() += 1;
        self.held.insert(pair, HeldSyn { slot, user, syn, answered: false });
    }

    /// Lets the kernel answer.
    pub fn answer(&mut self, pair: ClientAndServer) {
        if let Some(held) = self.held.get_mut(&pair) {
            held.answered = true;
            self.out.push_back(held.syn.with(SynVerdict::Accept));
        }
    }

    /// Gives up a handshake. Without a verdict the client hears nothing, and repeats its SYN.
    pub fn give_up(&mut self, now: Time, pair: ClientAndServer, verdict: Option<SynVerdict>) {
        let Some(held) = self.release(pair) else { return };
        if held.answered {
            self.gone.retain(|_, since| now.since(*since) < GONE);
            self.gone.insert(pair, now);
        } else if let Some(verdict) = verdict {
            self.out.push_back(held.syn.with(verdict));
        }
    }

    /// Finds the handshake of a connection that the kernel has accepted.
    pub fn accepted(&mut self, pair: ClientAndServer) -> Accepted {
        match self.release(pair) {
            Some(held) => Accepted::Held(held.slot),
            None if self.gone.remove(&pair).is_some() => Accepted::Gone,
            None => Accepted::New,
        }
    }

    /// The next packet for the kernel.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    fn release(&mut self, pair: ClientAndServer) -> Option<HeldSyn> {
        let held = self.held.remove(&pair)?;
        if let Some(count) = self.by_user.get_mut(&held.user) {
            *count -= 1;
            if *count == 0 {
                self.by_user.remove(&held.user);
            }
        }
        Some(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN from a port of a client.
    fn syn(client: u8, port: u16, number: u8) -> Syn {
        let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 1, 0, client, 10, 9, 9, 9];
        packet.extend(port.to_be_bytes());
        packet.extend([0, 80, 0, 0, 0, number, 0, 0, 0, 0, 0x50, 2, 1, 0, 0, 0, 0, 0]);
        Syn::parse(&packet).expect("a SYN")
    }

    fn user(client: u8) -> User {
        User::of([10, 1, 0, client].into(), &[])
    }

    fn pair(client: u8, port: u16) -> ClientAndServer {
        let syn = syn(client, port, 0);
        (syn.client, syn.server)
    }

    const NOW: Time = Time::ZERO;

    #[test]
    fn the_newest_syn_is_given_back_once_the_server_has_answered() {
        let mut handshakes = Handshakes::default();
        assert!(handshakes.begins(&syn(2, 1000, 1), user(2)));
        handshakes.hold(7, syn(2, 1000, 1), user(2));
        assert!(!handshakes.begins(&syn(2, 1000, 5), user(2)), "it is held already");
        assert_eq!(handshakes.poll_transmit(), None);
        handshakes.answer(pair(2, 1000));
        assert_eq!(handshakes.poll_transmit(), Some(syn(2, 1000, 5).with(SynVerdict::Accept)));
        assert!(!handshakes.begins(&syn(2, 1000, 5), user(2)));
        assert_eq!(
            handshakes.poll_transmit(),
            Some(syn(2, 1000, 5).with(SynVerdict::Accept)),
            "if it was lost"
        );
        assert_eq!(handshakes.accepted(pair(2, 1000)), Accepted::Held(7));
        assert_eq!((handshakes.accepted(pair(2, 1000)), handshakes.len()), (Accepted::New, 0));
    }

    #[test]
    fn a_handshake_that_was_given_up_is_refused_or_forgotten() {
        let mut handshakes = Handshakes::default();
        for (port, verdict) in [(1, Some(SynVerdict::Reset)), (2, None)] {
            handshakes.hold(0, syn(2, port, 0), user(2));
            handshakes.give_up(NOW, pair(2, port), verdict);
            assert_eq!(handshakes.poll_transmit(), verdict.map(|verdict| syn(2, port, 0).with(verdict)));
            assert_eq!(handshakes.accepted(pair(2, port)), Accepted::New);
        }
        handshakes.hold(0, syn(2, 3, 0), user(2));
        handshakes.answer(pair(2, 3));
        handshakes.poll_transmit();
        handshakes.give_up(NOW, pair(2, 3), Some(SynVerdict::Reset));
        assert_eq!(handshakes.poll_transmit(), None, "the kernel has answered, and accepting it resets it");
        assert_eq!(handshakes.accepted(pair(2, 3)), Accepted::Gone);
    }

    #[test]
    fn a_flood_of_one_client_leaves_room_for_others() {
        let mut handshakes = Handshakes::default();
        let mut held = 0;
        for port in 0..20_000 {
            if handshakes.begins(&syn(2, port, 0), user(2)) {
                handshakes.hold(0, syn(2, port, 0), user(2));
                held += 1;
            }
        }
        assert_eq!((held, handshakes.ignored), (HELD_PER_USER, 20_000 - HELD_PER_USER as u64));
        assert!(handshakes.begins(&syn(3, 1, 0), user(3)));
        handshakes.give_up(NOW, pair(2, 0), None);
        assert!(handshakes.begins(&syn(2, 30_000, 0), user(2)), "an end makes room");
    }
}
