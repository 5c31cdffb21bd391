//! The channels to a host's peers: its associations, or without encryption the bare addresses; and the packets of no connection.
//!
//! Leaves out the connections in them (`connections`), and the consequences that events of associations have for those (`host`).

use crate::associations::{Associations, Event};
use crate::batch::Batch;
use crate::connection::{Conn, Key, PeerChannel};
use crate::connections::Connections;
use crate::entropy::Entropy;
use crate::handshake::{ECHO_LEN, Hello, RefusalReason, refusal_packet};
use crate::loose::LoosePackets;
use crate::options::Security;
use crate::seal::HEADER_LEN;
use bytes::Bytes;
use skyhop_transport::stp::Reason;
use skyhop_units::Time;
use skyhop_wire::stp::{Control, End, Packet, emit};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;

/// Packets that a connection sends in a turn.
const TURN: usize = 64;

/// The end of a connection's turn to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    /// It has sent as many packets as it may, and may have more.
    Spent,
    /// It has nothing more to send.
    Rest,
    /// Its association is over.
    Stranded,
}

/// The channels of a host.
pub(crate) struct PeerChannels {
    /// `None` without encryption.
    associations: Option<Associations>,
    /// Slots of the connections that wait for an association, by its number.
    waiting: BTreeMap<u32, Vec<usize>>,
    loose: LoosePackets,
    /// Lines for the key log.
    key_lines: Vec<String>,
}

impl PeerChannels {
    /// No channels yet.
    pub fn new(now: Time, security: &Security, entropy: &Arc<dyn Entropy>) -> Self {
        let associations = match security {
            Security::Sealed(config) => Some(Associations::new(now, (**config).clone(), entropy.clone())),
            Security::Insecure => None,
        };
        let (waiting, loose) = (BTreeMap::new(), LoosePackets::default());
        PeerChannels { associations, waiting, loose, key_lines: Vec::new() }
    }

    /// The associations; `None` without encryption.
    pub fn associations(&self) -> Option<&Associations> {
        self.associations.as_ref()
    }

    /// Allows peers to open associations.
    pub fn listen(&mut self) {
        if let Some(associations) = &mut self.associations {
            associations.accept(true);
        }
    }

    /// The channel to a peer for the connection in a slot. `None` if the connection has to wait for an association, of which an event
    /// tells.
    pub fn open(&mut self, now: Time, peer: SocketAddr, slot: usize) -> io::Result<Option<PeerChannel>> {
        let Some(associations) = &mut self.associations else {
            return Ok(Some(PeerChannel::Plain(peer)));
        };
        if let Some(id) = associations.fresh(now, peer) {
            return Ok(Some(PeerChannel::Sealed(id)));
        }
        // One handshake is enough for all that wait for it.
        let begun = associations.attempts(peer).find(|id| self.waiting.contains_key(id));
        let Some(id) = begun.or_else(|| associations.connect(now, peer)) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the key is no key"));
        };
        self.waiting.entry(id).or_default().push(slot);
        Ok(None)
    }

    /// Takes the slots of the connections that wait for an association.
    pub fn take_waiting(&mut self, id: u32) -> Vec<usize> {
        self.waiting.remove(&id).unwrap_or_default()
    }

    /// A connection waits no more.
    pub fn wait_no_more(&mut self, slot: usize) {
        self.waiting.values_mut().for_each(|slots| slots.retain(|waiting| *waiting != slot));
    }

    /// Records whether a channel has connections.
    pub fn set_used(&mut self, now: Time, channel: PeerChannel, used: bool) {
        if let (Some(associations), PeerChannel::Sealed(id)) = (&mut self.associations, channel) {
            associations.set_used(now, id, used);
        }
    }

    /// The channels to a peer.
    pub fn with(&self, peer: SocketAddr) -> Vec<PeerChannel> {
        match &self.associations {
            Some(associations) => associations.with(peer).map(PeerChannel::Sealed).collect(),
            None => vec![PeerChannel::Plain(peer)],
        }
    }

    /// The channel in which a packet to a peer with this beginning was sent. Only a host that has seen the packet can quote it.
    pub fn that_sent(&self, connections: &Connections, to: SocketAddr, quote: &[u8]) -> Option<PeerChannel> {
        if let Some(associations) = &self.associations {
            return associations.that_sent(to, quote).map(PeerChannel::Sealed);
        }
        let channel = PeerChannel::Plain(to);
        let number = |at: usize| Some(u16::from_be_bytes(quote.get(at..at + 2)?.try_into().ok()?));
        let (local_port, remote_port, instance) = (number(0)?, number(2)?, number(10)?);
        connections.find(&Key { channel, local_port, remote_port, instance }).map(|_| channel)
    }

    /// Handles a datagram from the network, for one of this host's addresses. Returns the channel and the position of the contents,
    /// which are a packet of STP or, without encryption, of anything.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        (from, to): (SocketAddr, Option<IpAddr>),
        datagram: &mut [u8],
    ) -> Option<(PeerChannel, Range<usize>)> {
        let Some(associations) = &mut self.associations else {
            return Some((PeerChannel::Plain(from), 0..datagram.len()));
        };
        let opened = associations.handle_datagram(now, from, datagram);
        self.drain(to);
        opened.map(|(id, contents)| (PeerChannel::Sealed(id), contents))
    }

    /// Handles a host's report that nothing listens at the address to which a packet with this beginning was sent.
    pub fn handle_unreachable(&mut self, now: Time, to: SocketAddr, quote: &[u8]) {
        if let Some(associations) = &mut self.associations {
            associations.handle_unreachable(now, to, quote);
        }
    }

    /// Serves the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if let Some(associations) = &mut self.associations
            && associations.poll_timeout().is_some_and(|at| at <= now)
        {
            associations.handle_timeout(now);
        }
        self.drain(None);
    }

    /// Time of the next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.associations.as_ref().and_then(Associations::poll_timeout)
    }

    /// The next event of an association.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.associations.as_mut().and_then(Associations::poll_event)
    }

    /// Keeps a line for the key log.
    pub fn log_keys(&mut self, line: String) {
        self.key_lines.push(line);
    }

    /// Takes the lines for the key log.
    pub fn take_key_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.key_lines)
    }

    /// Appends the packets of a connection's turn to a batch.
    pub fn send_turn(
        &mut self,
        now: Time,
        channel: PeerChannel,
        conn: &mut Conn,
        batch: &mut Batch,
    ) -> TurnEnd {
        for _ in 0..TURN {
            let Some(packet) = conn.poll_transmit(now) else { return TurnEnd::Rest };
            let fields = conn.machine.network_fields(&packet);
            let start = batch.buffer.len();
            if !self.write(channel, &packet, &mut batch.buffer) {
                return TurnEnd::Stranded;
            }
            conn.path.sent(batch.buffer.len() - start);
            let (to, from) = conn.path.addresses();
            batch.push_fields(to, from, start, fields);
        }
        conn.take_events();
        TurnEnd::Spent
    }

    /// Appends a connection's packet to a buffer, sealed if there is encryption. Returns false if the association is over.
    fn write(&mut self, channel: PeerChannel, packet: &Packet<Bytes>, buffer: &mut Vec<u8>) -> bool {
        match channel {
            PeerChannel::Plain(_) => emit(packet, buffer),
            PeerChannel::Sealed(id) => {
                let Some(association) = self.associations.as_mut().and_then(|a| a.get_mut(id)) else {
                    return false;
                };
                let start = buffer.len();
                buffer.resize(start + HEADER_LEN, 0);
                emit(packet, buffer);
                association.seal(buffer, start);
            }
        }
        true
    }

    /// Answers a BGN that nobody waits for. The answer is shorter than the BGN.
    pub fn refuse(&mut self, key: &Key, from: SocketAddr, reply_from: Option<IpAddr>) {
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
        if self.write(key.channel, &packet, &mut bytes) {
            self.loose.push(from, reply_from, bytes);
        }
    }

    /// Tells a peer that encrypts that this host does not. Returns false if there is no room for the answer.
    pub fn refuse_hello(&mut self, hello: &Hello<'_>, from: SocketAddr, reply_from: Option<IpAddr>) -> bool {
        let room = self.loose.has_room();
        if room {
            let echo = hello.noise[..ECHO_LEN].try_into().expect("of this length");
            self.loose.push(from, reply_from, refusal_packet(RefusalReason::PlainOnly, hello.index, &echo));
        }
        room
    }

    /// Ends all associations; nothing more is sent in them.
    pub fn end_all(&mut self) {
        if let Some(associations) = &mut self.associations {
            associations.end_all();
        }
        self.drain(None);
    }

    /// Returns true if no packet of no connection waits to be sent.
    pub fn has_said_all(&self) -> bool {
        self.loose.is_empty()
    }

    /// Moves the packets of no connection to a batch.
    pub fn fill(&mut self, batch: &mut Batch) {
        self.loose.fill(batch);
    }

    /// Takes the packets of the associations, which leave from this address of the host, or from the one that the kernel chooses.
    fn drain(&mut self, from: Option<IpAddr>) {
        while let Some((peer, packet)) = self.associations.as_mut().and_then(Associations::poll_transmit) {
            self.loose.push(peer, from, packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::associations::Config;
    use crate::connection::{Most, PeerPath, Standing};
    use crate::entropy::SystemEntropy;
    use crate::keys::Keys;
    use crate::memory::HostMemory;
    use skyhop_transport::stp;
    use skyhop_wire::stp::parse;

    const NOW: Time = Time::from_nanos(1_000_000_000);

    fn channels(security: &Security) -> PeerChannels {
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        PeerChannels::new(NOW, security, &entropy)
    }

    fn address(host: u8) -> SocketAddr {
        ([192, 0, 2, host], 13989).into()
    }

    fn conn() -> Conn {
        let machine = stp::Connection::connect(stp::Config::default(), stp::Ends::default(), 1);
        let path = PeerPath::new(address(2), 28, false);
        let most = Most { received: 1 << 20, written: 1 << 20 };
        let memory = HostMemory::new(1 << 20);
        Conn::new(machine, path, Standing::opened_here(), (&memory, 1 << 10), most).expect("there is memory")
    }

    /// The packets that wait to be sent, each with its destination.
    fn sent(channels: &mut PeerChannels) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut batch = Batch::new(1);
        channels.fill(&mut batch);
        let mut packets = Vec::new();
        while let Some(part) = batch.next().copied() {
            packets.push((part.to, batch.buffer[part.start..part.end].to_vec()));
            batch.advance();
        }
        packets
    }

    #[test]
    fn one_handshake_opens_the_channel_of_all_connections_that_wait_for_it() {
        let security = Security::Sealed(Box::new(Config::new(Keys::generate_shared())));
        let (mut here, mut there) = (channels(&security), channels(&security));
        there.listen();
        assert!((0..3).all(|slot| here.open(NOW, address(2), slot).is_ok_and(|channel| channel.is_none())));
        here.wait_no_more(1);
        here.handle_timeout(NOW);
        for (to, mut hello) in sent(&mut here) {
            assert_eq!(to, address(2));
            assert!(there.handle_datagram(NOW, (address(1), None), &mut hello).is_none());
        }
        let answers = sent(&mut there);
        assert_eq!(answers.len(), 1);
        for (to, mut answer) in answers {
            assert_eq!(to, address(1));
            assert!(here.handle_datagram(NOW, (address(2), None), &mut answer).is_none());
        }
        let Some(Event::Opened { id, .. }) = here.poll_event() else { panic!("an association was opened") };
        let channel = PeerChannel::Sealed(id);
        assert_eq!((here.take_waiting(id), here.take_waiting(id)), (vec![0, 2], vec![]));
        assert_eq!(
            (here.open(NOW, address(2), 3).ok(), here.with(address(2))),
            (Some(Some(channel)), vec![channel])
        );

        let key = Key { channel, local_port: 1, remote_port: 2, instance: 3 };
        here.refuse(&key, address(2), None);
        let (_, mut sealed) = sent(&mut here).pop().expect("a packet");
        let (_, contents) =
            there.handle_datagram(NOW, (address(1), None), &mut sealed).expect("it is sealed");
        let packet = parse(&sealed[contents]).expect("a packet of STP");
        assert_eq!((packet.source_port, packet.destination_port, packet.instance), (1, 2, 3));
        here.end_all();
        here.refuse(&key, address(2), None);
        assert_eq!(sent(&mut here).len(), 1, "the end of the association, and nothing in it");
    }

    #[test]
    fn without_encryption_a_channel_is_open_at_once_and_answers_are_limited() {
        let mut channels = channels(&Security::Insecure);
        let channel = PeerChannel::Plain(address(2));
        assert_eq!(channels.open(NOW, address(2), 0).ok(), Some(Some(channel)));
        assert!(channels.associations().is_none() && channels.poll_timeout().is_none());
        let arrived = channels.handle_datagram(NOW, (address(2), None), &mut [0; 20]);
        assert_eq!(arrived, Some((channel, 0..20)));
        let key = Key { channel, local_port: 1, remote_port: 2, instance: 3 };
        (0..2000).for_each(|_| channels.refuse(&key, address(2), None));
        assert!(!channels.has_said_all());
        let answers = sent(&mut channels);
        assert!(answers.len() == 1024 && channels.has_said_all());
        let end = parse(&answers[0].1).expect("a packet of STP").control.and_then(|control| control.end);
        assert_eq!(end, Some(End { reason: Reason::Refused }));
    }

    #[test]
    fn a_turn_ends_when_nothing_is_left_or_without_the_association() {
        let (mut channels, mut batch) = (channels(&Security::Insecure), Batch::new(1));
        let (plain, sealed) = (PeerChannel::Plain(address(2)), PeerChannel::Sealed(9));
        let mut first = conn();
        assert_eq!(channels.send_turn(NOW, plain, &mut first, &mut batch), TurnEnd::Rest);
        let bgn = parse(&batch.buffer).expect("one packet of STP");
        assert!(bgn.control.is_some_and(|control| control.begin.is_some()));
        assert_eq!(
            (first.path.traffic().packets_sent, batch.next().map(|part| part.to)),
            (1, Some(address(2)))
        );
        batch.advance();
        let mut second = conn();
        assert_eq!(channels.send_turn(NOW, sealed, &mut second, &mut batch), TurnEnd::Stranded);
        assert!(batch.is_empty() && second.path.traffic().packets_sent == 0);
    }

    #[test]
    fn a_quote_counts_if_it_has_the_names_of_a_connection() {
        let channels = channels(&Security::Insecure);
        let mut connections = Connections::new(HostMemory::new(1 << 20), 1);
        let slot = connections.insert(conn()).slot;
        let channel = PeerChannel::Plain(address(2));
        connections.bind(slot, Key { channel, local_port: 0x102, remote_port: 0x304, instance: 0x506 });
        let quote = [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 5, 6];
        assert_eq!(channels.that_sent(&connections, address(2), &quote), Some(channel));
        assert_eq!(channels.that_sent(&connections, address(3), &quote), None, "another peer");
        assert_eq!(channels.that_sent(&connections, address(2), &quote[..11]), None, "too short");
        assert_eq!(channels.that_sent(&connections, address(2), &[0; 12]), None, "of no connection");
    }
}
