//! Attempts of this host to open associations: their first packets, and when they are sent again.
//!
//! Follows TCP's SYN for the repetition, with intervals that double twice.
//! Differs: unauthenticated evidence against an attempt counts once for each first packet that was sent.
//! Leaves out the packets that answer (`associations`).

use crate::cookie::COOKIE_LEN;
use crate::handshake::{Initiator, RefusalReason};
use skyhop_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Reason for which an association was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssociationFailure {
    /// Refused by the peer, for this reason.
    Refused(RefusalReason),
    /// The peer's host reports that nothing listens at the address.
    Unreachable,
    /// The peer answers in another protocol.
    NotStp,
    /// There was no answer.
    NoAnswer,
}

impl fmt::Display for AssociationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssociationFailure::Refused(reason) => write!(f, "refused: {reason}"),
            AssociationFailure::Unreachable => f.write_str("nothing listens at that address and port"),
            AssociationFailure::NotStp => {
                f.write_str("the service at that address and port does not use this protocol")
            }
            AssociationFailure::NoAnswer => f.write_str(
                "no answer: no such host, a firewall in between, or no \"skyhop stp serve\" at that port",
            ),
        }
    }
}

impl AssociationFailure {
    /// The kind of error that the application sees.
    pub(crate) fn kind(self) -> io::ErrorKind {
        match self {
            AssociationFailure::Refused(_) => io::ErrorKind::PermissionDenied,
            AssociationFailure::Unreachable => io::ErrorKind::ConnectionRefused,
            AssociationFailure::NotStp => io::ErrorKind::InvalidData,
            AssociationFailure::NoAnswer => io::ErrorKind::TimedOut,
        }
    }
}

/// Number of hints by which an attempt fails.
const HINTS: u32 = 3;

/// An attempt.
pub(crate) struct Attempt {
    pub initiator: Initiator,
    pub to: SocketAddr,
    /// First packets sent since the beginning, or since the peer asked for a cookie.
    pub tries: u32,
    /// First packets sent in all.
    pub sent: u32,
    /// The latest hint from an unauthenticated packet.
    pub hint: Option<AssociationFailure>,
    /// The number of hints, at most one for each first packet that was sent. A single one proves nothing, so the attempt continues for a
    /// while.
    hints: u32,
    /// True if the peer asked for a cookie.
    asked: bool,
    send_at: Time,
    /// True if the application knows that there is no answer yet.
    pub told: bool,
    /// Time at which the attempt fails.
    pub until: Time,
}

impl Attempt {
    /// Records a hint. Returns true if there are now enough of them to give up.
    pub fn note(&mut self, why: AssociationFailure) -> bool {
        // Copies of one answer to one packet are no more certain than it is.
        self.hints = (self.hints + 1).min(self.sent);
        self.hint = Some(why);
        self.hints >= HINTS
    }

    /// Takes a cookie for the next first packet.
    pub fn take_cookie(&mut self, cookie: [u8; COOKIE_LEN]) {
        self.initiator.take_cookie(cookie);
        if !std::mem::replace(&mut self.asked, true) {
            // The host is there and answered properly; only once, since a cookie is not authenticated.
            self.tries = 0;
        }
    }
}

/// The attempts of a host, by the number reserved for the association.
#[derive(Default)]
pub(crate) struct Attempts {
    by_id: BTreeMap<u32, Attempt>,
    /// Times at which attempts are due.
    due: BTreeSet<(Time, u32)>,
    by_target: BTreeMap<SocketAddr, BTreeSet<u32>>,
    /// The ephemeral keys of their first packets.
    ephemeral: BTreeSet<[u8; 32]>,
}

impl Attempts {
    /// Begins an attempt, which is due at once.
    pub fn begin(&mut self, now: Time, id: u32, initiator: Initiator, to: SocketAddr, until: Time) {
        self.ephemeral.insert(initiator.ephemeral());
        self.by_target.entry(to).or_default().insert(id);
        self.due.insert((now, id));
        let attempt = Attempt {
            initiator,
            to,
            tries: 0,
            sent: 0,
            hint: None,
            hints: 0,
            asked: false,
            told: false,
            send_at: now,
            until,
        };
        self.by_id.insert(id, attempt);
    }

    /// Ends an attempt.
    pub fn end(&mut self, id: u32) {
        let Some(attempt) = self.by_id.remove(&id) else { return };
        self.due.remove(&(attempt.send_at, id));
        self.ephemeral.remove(&attempt.initiator.ephemeral());
        if let Some(ids) = self.by_target.get_mut(&attempt.to) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_target.remove(&attempt.to);
            }
        }
    }

    pub fn contains(&self, id: u32) -> bool {
        self.by_id.contains_key(&id)
    }

    pub fn get(&self, id: u32) -> Option<&Attempt> {
        self.by_id.get(&id)
    }

    pub fn get_mut(&mut self, id: u32) -> Option<&mut Attempt> {
        self.by_id.get_mut(&id)
    }

    /// The attempts at an address.
    pub fn at(&self, to: SocketAddr) -> impl Iterator<Item = u32> + use<'_> {
        self.by_target.get(&to).into_iter().flatten().copied()
    }

    /// Returns true for an ephemeral key of this host's own first packets.
    pub fn own(&self, ephemeral: &[u8; 32]) -> bool {
        self.ephemeral.contains(ephemeral)
    }

    /// Sends the next first packet of an attempt at `at`.
    pub fn schedule(&mut self, id: u32, at: Time) {
        let Some(attempt) = self.by_id.get_mut(&id) else { return };
        self.due.remove(&(attempt.send_at, id));
        attempt.send_at = at;
        self.due.insert((at, id));
    }

    /// The same at `at`, unless it is due before.
    pub fn hurry(&mut self, id: u32, at: Time) {
        if self.by_id.get(&id).is_some_and(|attempt| attempt.send_at > at) {
            self.schedule(id, at);
        }
    }

    /// An attempt that is due.
    pub fn due(&self, now: Time) -> Option<u32> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// Time at which one is due next.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }
}
