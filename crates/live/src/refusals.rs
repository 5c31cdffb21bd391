//! Evidence against a connection: the answer of a peer that seals to one that does not, ICMP, an interface that is too narrow.
//!
//! Follows RFC 5927 for ICMP: a message counts for the connection whose packet it quotes, and only if it quotes a part of the packet
//! that an attacker cannot guess.
//! Differs: even then it is a hint, which counts if nothing arrives from the peer for a while.
//! Leaves out associations that cannot be opened (`associations`).

use crate::connection::{Conn, Failed, PeerChannel};
use crate::handshake::RefusalReason;
use crate::host::StpHost;
use crate::socket::{Trouble, TroubleKind};
use skyhop_units::Time;
use std::io;
use std::net::SocketAddr;

impl StpHost {
    /// Handles a peer's notice that it encrypts. One such packet proves nothing; three are taken as evidence.
    pub(crate) fn handle_refusal(&mut self, from: SocketAddr, echo: &[u8], reason: RefusalReason) {
        for slot in self.connections.slots_of(PeerChannel::Plain(from)) {
            let Some(mut conn) = self.connections.locked(slot).filter(|conn| !conn.is_connected()) else {
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

    /// Handles an error that the network reported to the kernel.
    pub fn handle_trouble(&mut self, now: Time, trouble: &Trouble) {
        if trouble.kind == TroubleKind::Unreachable {
            self.channels.handle_unreachable(now, trouble.to, &trouble.quote);
            self.take_events(now);
        }
        let sent_in = self.channels.that_sent(&self.connections, trouble.to, &trouble.quote);
        let Some(channel) = sent_in else { return };
        let mtu = self.options.least_mtu();
        match trouble.kind {
            TroubleKind::Unreachable => {
                let message = "nothing listens at that address and port";
                self.hint(now, channel, io::ErrorKind::ConnectionRefused, message);
            }
            TroubleKind::TooBig(most) if most < mtu => {
                let message =
                    format!("the path carries packets of {most} bytes and not of {mtu}: use --mtu {most}");
                self.hint(now, channel, io::ErrorKind::InvalidInput, &message);
            }
            TroubleKind::TooBig(_) => {}
        }
    }

    /// Handles the interface's report that it does not carry datagrams of so many bytes to a peer. It needs no proof, and is ignored while
    /// the size is only probed.
    pub fn handle_too_big(&mut self, peer: SocketAddr, len: usize) {
        let mtu = self.options.least_mtu();
        if len as u32 + if peer.is_ipv4() { 28 } else { 48 } > mtu {
            return;
        }
        let message = format!(
            "packets of {mtu} bytes are larger than this host's interface carries: use a smaller --mtu"
        );
        for slot in
            self.channels.with(peer).into_iter().flat_map(|channel| self.connections.slots_of(channel))
        {
            if let Some(mut conn) = self.connections.locked(slot) {
                conn.abort(Failed::new(io::ErrorKind::InvalidInput, message.clone()));
            }
        }
    }

    /// Records unproven evidence against the connections of a channel.
    pub(crate) fn hint(&mut self, now: Time, channel: PeerChannel, kind: io::ErrorKind, message: &str) {
        for slot in self.connections.slots_of(channel) {
            if let Some(mut conn) = self.connections.locked(slot) {
                let failed = conn.failure(kind, message);
                conn.hint(now, failed);
            }
            self.connections.touch(slot);
        }
    }

    /// Handles a peer's loss of an association with all of its connections. Connections of which the peer never knew begin again in another
    /// association.
    pub(crate) fn lose(&mut self, now: Time, id: u32, instead: u32) {
        for slot in self.connections.slots_of(PeerChannel::Sealed(id)) {
            let Some(conn) = self.connections.get(slot).cloned() else { continue };
            let mut conn = crate::connections::lock(&conn);
            if conn.is_news_to_peer() {
                drop(conn);
                self.start(now, slot, PeerChannel::Sealed(instead));
                continue;
            }
            reset(&mut conn, "the peer was restarted, and this connection is lost");
            drop(conn);
            self.settle(slot);
            self.connections.touch(slot);
        }
    }

    /// Handles the end of an association by the peer. Its last packets may still be in flight; a connection whose peer stays silent fails.
    pub(crate) fn handle_ended(&mut self, now: Time, id: u32) {
        let message = "the peer has ended its association with this host";
        self.hint(now, PeerChannel::Sealed(id), io::ErrorKind::ConnectionReset, message);
    }

    /// Fails a connection whose packets can no longer be sent.
    pub(crate) fn strand(&mut self, slot: usize) {
        if let Some(mut conn) = self.connections.locked(slot) {
            reset(&mut conn, "the association with the peer is over");
        }
        self.settle(slot);
        let over = self.connections.locked(slot).is_some_and(|conn| conn.is_over());
        if over {
            self.connections.remove(slot);
        }
    }
}

fn reset(conn: &mut Conn, why: &str) {
    let failed = conn.failure(io::ErrorKind::ConnectionReset, why);
    conn.abort(failed);
}
