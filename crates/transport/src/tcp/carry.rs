//! A TCP end that carries bytes: applications write and read them, and packets are IPv4 or IPv6 as on real hosts.
//!
//! Follows RFC 9293 §3.10.7.4 (overlaps are trimmed: the first copy of a byte counts) around [`Connection`], whose offsets number
//! the bytes. Differs from a socket: it is handed packets and `now`, and has one peer; a `write` accepts the bytes for which there
//! is room. Leaves out urgent data, and addresses of IPv6 outside 2001:db8::/96, as [`skyhop_wire::Ip`] has none.

use super::config::Config;
use super::connection::Connection;
use super::events::Event;
use super::scoreboard::Ranges;
use super::stretch::Stretch;
use skyhop_units::Time;
use skyhop_wire::{Flags, Packet, ParseError, TcpHeader, Transport, emit_with, expand, parse_with_payload};
use std::net::SocketAddrV4;
use std::ops::Range;

/// Default limit of written and unacknowledged bytes; [`Carry::with_capacity`] changes it.
const CAPACITY: usize = 4 << 20;

/// A packet to be sent: its header, and the position of its payload in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Header, and length of the payload.
    pub packet: Packet,
    /// Offsets of the payload, for [`Carry::payload`]; valid until the next packet is handled.
    pub payload: Range<u64>,
}

/// Packets that did not reach the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused {
    /// Packets with a wrong checksum.
    pub corrupt: u64,
    /// Packets that are too short, or whose length fields are wrong.
    pub malformed: u64,
    /// Fragments, and packets of unsupported protocols and versions.
    pub unsupported: u64,
    /// Packets of other connections.
    pub strays: u64,
}

/// One end of a connection, with its bytes.
#[derive(Debug)]
pub struct Carry {
    machine: Connection,
    /// Bytes written and not acknowledged.
    written: Stretch,
    /// Limit of `written`.
    capacity: usize,
    /// Bytes that have arrived and have not been read, including those behind gaps.
    arrived: Stretch,
    behind_gaps: Ranges,
    refused: Refused,
}

impl Carry {
    /// An end that opens the connection. `initial_seq` is its initial sequence number.
    ///
    /// Without `config.link_mtu` the MTU of this end's link is that of a packet with `mss`: options take their space from the data
    /// (RFC 6691), as on real links.
    pub fn connect(config: Config, local: SocketAddrV4, remote: SocketAddrV4, initial_seq: u32) -> Self {
        Self::around(Connection::connect(bounded(config), local, remote, initial_seq))
    }

    /// An end that waits for the peer to open the connection.
    pub fn listen(config: Config, local: SocketAddrV4, remote: SocketAddrV4, initial_seq: u32) -> Self {
        Self::around(Connection::listen(bounded(config), local, remote, initial_seq))
    }

    /// The end for a SYN, with its ports and addresses; the SYN must then be passed to it. `None` for another packet.
    pub fn accept(config: Config, syn: &Packet, initial_seq: u32) -> Option<Self> {
        let Transport::Tcp(tcp) = &syn.transport else { return None };
        let opens = tcp.flags.has(Flags::SYN) && !tcp.flags.has(Flags::ACK) && !tcp.flags.has(Flags::RST);
        let config = Config { ip: syn.ip.version, ..config };
        let local = SocketAddrV4::new(syn.ip.destination, tcp.destination_port);
        let remote = SocketAddrV4::new(syn.ip.source, tcp.source_port);
        opens.then(|| Self::listen(config, local, remote, initial_seq))
    }

    fn around(machine: Connection) -> Self {
        Self {
            machine,
            written: Stretch::new(1),
            capacity: CAPACITY,
            arrived: Stretch::new(1),
            behind_gaps: Ranges::default(),
            refused: Refused::default(),
        }
    }

    /// Sets the limit of written and unacknowledged bytes.
    pub fn with_capacity(mut self, bytes: usize) -> Self {
        self.capacity = bytes;
        self
    }

    /// The connection without bytes, for its state and counters.
    pub fn machine(&self) -> &Connection {
        &self.machine
    }

    /// Starts counting the time by limiting cause.
    pub fn count_limits(&mut self, now: Time) {
        self.machine.count_limits(now);
    }

    /// Packets that were refused.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    /// Number of bytes that [`Carry::write`] accepts now: none after a shutdown or a reset.
    pub fn writable(&self) -> usize {
        let closed = self.machine.sender.buffer.fin_queued() || self.machine.state() == super::State::Closed;
        if closed { 0 } else { self.capacity.saturating_sub(self.written.len()) }
    }

    /// Writes bytes to be sent. Returns the number accepted; acknowledgments make room for more.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.writable());
        if taken > 0 {
            self.written.append(&bytes[..taken]);
            self.machine.write(taken as u64);
        }
        taken
    }

    /// Number of bytes in order that have not been read.
    pub fn readable(&self) -> usize {
        (1 + self.machine.delivered() - self.arrived.start()) as usize
    }

    /// Reads bytes in order. Returns their number, by which the window opens. It is also 0 at the end of the stream, which
    /// [`Event::PeerFinished`] reports.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        let taken = into.len().min(self.readable());
        let start = self.arrived.start();
        let end = start + taken as u64;
        into[..taken].copy_from_slice(self.arrived.get(start..end));
        self.arrived.release(end);
        self.machine.read_up_to(taken as u64);
        taken
    }

    /// Sends a FIN after all written data; the other direction stays open.
    pub fn shutdown(&mut self) {
        self.machine.shutdown();
    }

    /// Withdraws data that were written and not yet sent, and closes this direction.
    pub fn stop_writing(&mut self) {
        self.machine.stop_writing();
        self.written.truncate(self.machine.sender.buffer.data_end);
    }

    /// Breaks the connection: tells the peer, and drops written data.
    pub fn reset(&mut self) {
        self.machine.reset();
        self.written.truncate(0);
    }

    /// Handles an IP packet from the network, as bytes. A packet of another connection, or with a wrong checksum, is dropped and
    /// counted.
    ///
    /// # Errors
    ///
    /// The reason for which a packet was dropped.
    pub fn handle_bytes(&mut self, now: Time, bytes: &[u8]) -> Result<(), ParseError> {
        let parsed = parse_with_payload(bytes);
        match &parsed {
            Ok((packet, payload)) => self.handle_packet(now, packet, payload),
            Err(ParseError::Checksum(_)) => self.refused.corrupt += 1,
            Err(ParseError::Malformed(_)) => self.refused.malformed += 1,
            Err(ParseError::Unsupported(_)) => self.refused.unsupported += 1,
        }
        parsed.map(|_| ())
    }

    /// Handles a packet whose checksums are right, and its payload.
    pub fn handle_packet(&mut self, now: Time, packet: &Packet, payload: &[u8]) {
        if !self.machine.sockets.concerns(packet) {
            self.refused.strays += 1;
            return;
        }
        let before = self.machine.receiver.progress();
        self.machine.handle_packet(now, packet);
        if let Transport::Tcp(tcp) = &packet.transport
            && self.machine.receiver.progress() != before
        {
            self.keep(tcp, payload, 1 + before.0);
        }
        self.written.release(self.machine.sender.clock.snd_una().max(1));
    }

    /// Stores the bytes of an accepted segment that are within the window and have not arrived before; all below `ordered` have.
    fn keep(&mut self, tcp: &TcpHeader, payload: &[u8], ordered: u64) {
        let receiver = &self.machine.receiver;
        let Some(seq) = expand(receiver.irs, tcp.seq, receiver.rcv_nxt) else { return };
        let start = seq + u64::from(tcp.flags.has(Flags::SYN));
        let end = (start + payload.len() as u64).min(receiver.edge());
        let mut from = start.max(ordered);
        while from < end {
            let gap = self.behind_gaps.next_gap(from);
            let until = self.behind_gaps.next_start(gap).unwrap_or(end).min(end);
            if gap < until {
                self.arrived.write(gap, &payload[(gap - start) as usize..(until - start) as usize]);
            }
            from = until.max(gap);
        }
        self.behind_gaps.insert(start.max(ordered), end);
        self.behind_gaps.remove_below(1 + receiver.delivered);
    }

    /// Next segment to send; `None` when there are no more.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let packet = self.machine.poll_transmit(now)?;
        let mut start = self.written.start();
        if let Transport::Tcp(tcp) = &packet.transport
            && packet.payload_len > 0
        {
            let seq = expand(self.machine.iss, tcp.seq, self.machine.sender.clock.snd_una());
            start = seq.unwrap_or(0) + u64::from(tcp.flags.has(Flags::SYN));
        }
        Some(Segment { packet, payload: start..start + u64::from(packet.payload_len) })
    }

    /// The payload of a segment.
    pub fn payload(&self, segment: &Segment) -> &[u8] {
        self.written.get(segment.payload.clone())
    }

    /// Appends the next packet to `out`, with its checksums. Returns false if there is none.
    pub fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let Some(segment) = self.poll_transmit(now) else { return false };
        emit_with(&segment.packet, self.payload(&segment), usize::MAX, out);
        true
    }

    /// Time at which [`Carry::handle_timeout`] is due next.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.machine.poll_timeout()
    }

    /// Handles the timers that are due at [`Carry::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        self.machine.handle_timeout(now);
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.machine.poll_event()
    }
}

/// The configuration with a limited packet size.
fn bounded(mut config: Config) -> Config {
    config.link_mtu.get_or_insert(config.mss + config.headers());
    config
}
