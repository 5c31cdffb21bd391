//! Evidence against a connection (the answer of a peer that seals to one that does not, ICMP, an interface that is too narrow), and
//! this host's answers to connections that it does not accept.
//!
//! Follows RFC 5927 for ICMP: a message counts for the connection whose packet it quotes, and only if it quotes a part of the packet
//! that an attacker cannot guess.
//! Differs: even then it is a hint, which counts if nothing arrives from the peer for a while.
//! Leaves out associations that cannot be opened (`associations`).

use crate::connection::{Conn, Failed, Key, PeerChannel};
use crate::handshake::RefusalReason;
use crate::host::StpHost;
use crate::seal::HEADER_LEN;
use crate::socket::{Trouble, TroubleKind};
use bytes::Bytes;
use skyhop_transport::stp::Reason;
use skyhop_units::Time;
use skyhop_wire::stp::{Control, End, Packet, emit};
use std::io;
use std::net::{IpAddr, SocketAddr};

impl StpHost {
    /// Answers a BGN that nobody waits for. The answer is shorter than the BGN.
    pub(crate) fn refuse(&mut self, key: &Key, from: SocketAddr, reply_from: Option<IpAddr>) {
        if !self.loose.has_room() {
            return;
        }
        let control = Control { end: Some(End { reason: Reason::Refused }), ..Control::default() };
        let packet = Packet::<Bytes> {
            source_port: key.local_port,
            destination_port: key.remote_port,
            instance: key.instance,
            seq: 0,
            poll: None,
            data: None,
            control: Some(Box::new(control)),
        };
        let mut bytes = Vec::new();
        match key.channel {
            PeerChannel::Plain(_) => emit(&packet, &mut bytes),
            PeerChannel::Sealed(id) => {
                let Some(association) = self.associations.as_mut().and_then(|a| a.get_mut(id)) else {
                    return;
                };
                bytes.resize(HEADER_LEN, 0);
                emit(&packet, &mut bytes);
                association.seal(&mut bytes, 0);
            }
        }
        self.loose.push(from, reply_from, bytes);
    }

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
        if let (Some(associations), TroubleKind::Unreachable) = (&mut self.associations, trouble.kind) {
            associations.handle_unreachable(now, trouble.to, &trouble.quote);
            self.take_events(now);
        }
        let Some(channel) = self.channel_that_sent(trouble) else { return };
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

    /// The channel in which the packet quoted by an ICMP message was sent. Only a host that has seen the packet can quote it.
    fn channel_that_sent(&self, trouble: &Trouble) -> Option<PeerChannel> {
        if let Some(associations) = &self.associations {
            return associations.that_sent(trouble.to, &trouble.quote).map(PeerChannel::Sealed);
        }
        let channel = PeerChannel::Plain(trouble.to);
        let number = |at: usize| Some(u16::from_be_bytes(trouble.quote.get(at..at + 2)?.try_into().ok()?));
        let (local_port, remote_port, instance) = (number(0)?, number(2)?, number(10)?);
        self.connections.find(&Key { channel, local_port, remote_port, instance }).map(|_| channel)
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
        let channels: Vec<_> = match &self.associations {
            Some(associations) => associations.with(peer).map(PeerChannel::Sealed).collect(),
            None => vec![PeerChannel::Plain(peer)],
        };
        for slot in channels.into_iter().flat_map(|channel| self.connections.slots_of(channel)) {
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
