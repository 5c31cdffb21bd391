//! Evidence against a connection: the answer of a peer that seals to one that does not, ICMP, an interface that is too narrow.
//!
//! Follows RFC 5927 for ICMP: a message counts for the connection whose packet it quotes, and only if it quotes a part of the packet
//! that an attacker cannot guess.
//! Differs: even then it is a hint, which counts if nothing arrives from the peer for a while.
//! Leaves out associations that cannot be opened (`associations`), and what is answered (`channels`).

use crate::attempts::AssociationFailure;
use crate::channels::PeerChannels;
use crate::connection::{Failed, PeerChannel};
use crate::connections::Connections;
use crate::handshake::RefusalReason;
use crate::socket::{Trouble, TroubleKind};
use skyhop_units::Time;
use std::io;
use std::net::SocketAddr;

/// Counts a peer's notice that it encrypts. One such packet proves nothing; three are taken as evidence.
pub(crate) fn count(connections: &Connections, from: SocketAddr, echo: &[u8], reason: RefusalReason) {
    for slot in connections.slots_of(PeerChannel::Plain(from)) {
        let Some(mut conn) = connections.locked(slot).filter(|conn| !conn.is_connected()) else {
            continue;
        };
        let ends = conn.machine.ends();
        if echo[..4] != [ends.local_port.to_be_bytes(), ends.remote_port.to_be_bytes()].concat() {
            continue;
        }
        if conn.count_refusal() {
            let failed = conn.failure(io::ErrorKind::PermissionDenied, reason);
            conn.abort(failed);
        }
    }
}

/// Weighs an error that the network reported to the kernel, on a host that needs paths of this MTU.
pub(crate) fn weigh(
    connections: &mut Connections,
    channels: &PeerChannels,
    now: Time,
    trouble: &Trouble,
    mtu: u32,
) {
    let Some(channel) = channels.that_sent(connections, trouble.to, &trouble.quote) else { return };
    match trouble.kind {
        TroubleKind::Unreachable => {
            let message = "nothing listens at that address and port";
            hint(connections, now, channel, io::ErrorKind::ConnectionRefused, message);
        }
        TroubleKind::TooBig(most) if most < mtu => {
            let message =
                format!("the path carries packets of {most} bytes and not of {mtu}: use --mtu {most}");
            hint(connections, now, channel, io::ErrorKind::InvalidInput, &message);
        }
        TroubleKind::TooBig(_) => {}
    }
}

/// Fails the connections to a peer for which the interface does not carry datagrams of so many bytes. Its report needs no proof, and is
/// ignored while the size is only probed.
pub(crate) fn too_big(
    connections: &Connections,
    channels: &PeerChannels,
    peer: SocketAddr,
    len: usize,
    mtu: u32,
) {
    if len as u32 + if peer.is_ipv4() { 28 } else { 48 } > mtu {
        return;
    }
    let message =
        format!("packets of {mtu} bytes are larger than this host's interface carries: use a smaller --mtu");
    for slot in channels.with(peer).into_iter().flat_map(|channel| connections.slots_of(channel)) {
        if let Some(mut conn) = connections.locked(slot) {
            conn.abort(Failed::new(io::ErrorKind::InvalidInput, message.clone()));
        }
    }
}

/// Records unproven evidence against the connections of a channel.
fn hint(connections: &mut Connections, now: Time, channel: PeerChannel, kind: io::ErrorKind, message: &str) {
    for slot in connections.slots_of(channel) {
        if let Some(mut conn) = connections.locked(slot) {
            let failed = conn.failure(kind, message);
            conn.hint(now, failed);
        }
        connections.touch(slot);
    }
}

/// Records the end of an association by the peer. Its last packets may still be in flight; a connection whose peer stays silent fails.
pub(crate) fn doubt(connections: &mut Connections, now: Time, id: u32) {
    let message = "the peer has ended its association with this host";
    hint(connections, now, PeerChannel::Sealed(id), io::ErrorKind::ConnectionReset, message);
}

/// Fails the connections in these slots, whose association was not opened.
pub(crate) fn fail(connections: &Connections, slots: Vec<usize>, why: AssociationFailure) {
    for slot in slots {
        if let Some(mut conn) = connections.locked(slot) {
            let failed = conn.failure(why.kind(), why);
            conn.fail(failed);
            conn.take_events();
        }
    }
}

/// Resets the connection in a slot, whose association is no more.
pub(crate) fn reset(connections: &Connections, slot: usize, why: &str) {
    if let Some(mut conn) = connections.locked(slot) {
        let failed = conn.failure(io::ErrorKind::ConnectionReset, why);
        conn.abort(failed);
        conn.take_events();
    }
}
