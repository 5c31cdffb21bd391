//! The events of a host's associations.
//!
//! Leaves out the events of connections and streams in them.

use crate::attempts::AssociationFailure;
use crate::handshake::RefusalReason;
use crate::keys::PublicKey;
use std::net::SocketAddr;

/// Events of associations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An association was opened.
    Opened {
        /// Its number.
        id: u32,
        /// Address of the peer.
        peer: SocketAddr,
        /// The peer's public key, if the hosts have pairs of keys; `None` with a shared key.
        key: Option<PublicKey>,
    },
    /// An association requested by this host was not opened.
    Failed {
        /// Number reserved for it.
        id: u32,
        /// Reason.
        why: AssociationFailure,
    },
    /// Three first packets to a peer have had no answer; more are sent.
    Unanswered {
        /// Address of the peer.
        peer: SocketAddr,
    },
    /// The peer has proven that it no longer knows the association, which was removed.
    Lost {
        /// Its number.
        id: u32,
        /// The new association with the peer, in which the proof arrived.
        instead: u32,
    },
    /// The peer has ended the association, or it was unused for longest and made room for another. Nothing more is sent in it.
    Ended {
        /// Its number.
        id: u32,
    },
    /// The peer has moved to another address, and has proven that it is there.
    Moved {
        /// The association's number.
        id: u32,
        /// New address of the peer.
        peer: SocketAddr,
    },
    /// A first packet was refused.
    Refused {
        /// Its source address, which is not proven.
        from: SocketAddr,
        /// Reason.
        reason: RefusalReason,
    },
    /// A line for the key log.
    Keys(String),
}
