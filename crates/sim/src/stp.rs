//! STP in the simulator: the end of a connection with its addresses, or of a stream.
//!
//! Follows docs/stp.md §2: over UDP, or straight over IP with a protocol number of its own.
//! Differs from a host: the packet inside travels as a struct, so that nothing is encoded and decoded.
//! Leaves out encryption: a sealed packet is only longer by its seal.

use crate::stream::StreamEnd;
use crate::told::{Event, SentCounts, event};
use skyhop_scenario::StpOver;
use skyhop_traffic::End;
use skyhop_transport::stp::{Config, Connection, Ends, NetworkFields, PayloadLength};
use skyhop_transport::tcp::RttSamples;
use skyhop_units::Time;
use skyhop_wire::stp::Contents;
use skyhop_wire::{Ip, Packet, Transport, Udp, Version, stp};
use std::net::SocketAddrV4;

/// The protocol that carries STP's packets, and the network layer beneath it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StpCarrier {
    pub over: StpOver,
    pub ip: Version,
}

/// Encapsulates STP's packets for the network layer; UDP's ports repeat STP's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    carrier: StpCarrier,
    local: SocketAddrV4,
    remote: SocketAddrV4,
    identification: u16,
}

impl Envelope {
    pub fn new(carrier: StpCarrier, [local, remote]: [SocketAddrV4; 2]) -> Self {
        Self { carrier, local, remote, identification: 0 }
    }

    pub fn wrap<P: Contents>(&mut self, packet: &stp::Packet<P>, fields: NetworkFields) -> Packet {
        self.identification = self.identification.wrapping_add(1);
        let inside = packet.wire_len() as u32;
        Packet {
            ip: Ip {
                identification: self.identification,
                ecn: fields.ecn,
                may_fragment: fields.may_fragment,
                ..Ip::new(self.carrier.ip, *self.local.ip(), *self.remote.ip())
            },
            transport: match self.carrier.over {
                StpOver::Udp | StpOver::SealedUdp => Transport::Udp(Udp {
                    source_port: packet.source_port,
                    destination_port: packet.destination_port,
                }),
                StpOver::Ip => Transport::Other(stp::IP_PROTOCOL),
            },
            payload_len: if self.carrier.over == StpOver::SealedUdp {
                inside + stp::SEAL_LEN
            } else {
                inside
            },
        }
    }
}

/// The end of an STP connection.
// Boxed: a stream's state is as large as a connection's, which would otherwise have two boxes.
#[allow(clippy::large_enum_variant)]
pub(crate) enum StpEnd {
    /// A connection with packets of its own.
    Alone(Alone),
    /// A stream of an association, whose packets carry it.
    Stream(StreamEnd),
}

/// The end of an STP connection that has its own packets.
pub(crate) struct Alone {
    pub machine: Connection<PayloadLength>,
    pub envelope: Envelope,
}

impl Alone {
    /// The client's end, which opens, or the server's. `count` distinguishes connections of the two hosts.
    pub fn new(
        (config, carrier): (&Config, StpCarrier),
        end: End,
        addresses: [SocketAddrV4; 2],
        count: u32,
        initial: u32,
    ) -> Self {
        let [client, mut server] = addresses;
        server.set_port(stp::UDP_PORT);
        let (local, remote) = if end == End::Client { (client, server) } else { (server, client) };
        let ends =
            Ends { local_port: local.port(), remote_port: remote.port(), instance: count as u16, count };
        Self {
            machine: match end {
                End::Client => Connection::connect(config.clone(), ends, initial),
                End::Server => Connection::listen(config.clone(), ends, initial),
            },
            envelope: Envelope::new(carrier, [local, remote]),
        }
    }

    /// Window, bytes; with a rate in place of a window, the bytes sent in a round trip.
    pub fn cwnd(&self) -> u64 {
        match (self.machine.window(), self.machine.rate_bps(), self.machine.srtt()) {
            (u64::MAX, Some(bps), Some(srtt)) => (bps / 8.0 * srtt.as_secs_f64()) as u64,
            (u64::MAX, ..) => 0,
            (window, ..) => window,
        }
    }
}

/// The operations of [`crate::endpoint::FlowEndpoint`].
impl StpEnd {
    pub fn over(&self) -> bool {
        match self {
            StpEnd::Alone(end) => end.machine.over(),
            StpEnd::Stream(end) => end.over,
        }
    }

    pub fn closing(&self) -> bool {
        match self {
            StpEnd::Alone(end) => end.machine.is_shut_down() && !end.machine.end_acknowledged(),
            StpEnd::Stream(end) => end.closing(),
        }
    }

    pub fn fin_acknowledged(&self) -> bool {
        match self {
            StpEnd::Alone(end) => end.machine.end_acknowledged(),
            StpEnd::Stream(end) => end.over,
        }
    }

    pub fn handle_timeout(&mut self, now: Time) {
        if let StpEnd::Alone(end) = self {
            end.machine.handle_timeout(now);
        }
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            StpEnd::Alone(end) => end.machine.poll_timeout(),
            StpEnd::Stream(_) => None,
        }
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        match self {
            StpEnd::Alone(end) => end.machine.poll_event().map(event),
            StpEnd::Stream(end) => end.poll_event(),
        }
    }

    pub fn write(&mut self, bytes: u64) {
        match self {
            StpEnd::Alone(end) => end.machine.write(PayloadLength(bytes)),
            StpEnd::Stream(end) => end.write(bytes),
        }
    }

    /// Reads all data that have arrived in order; for a stream they have been read from the association already.
    pub fn read(&mut self) {
        if let StpEnd::Alone(end) = self {
            while end.machine.read(usize::MAX).is_some() {}
        }
    }

    pub fn shutdown(&mut self) {
        match self {
            StpEnd::Alone(end) => end.machine.shutdown(),
            StpEnd::Stream(end) => end.shutdown(),
        }
    }

    pub fn stop_writing(&mut self) {
        match self {
            StpEnd::Alone(end) => end.machine.stop_writing(),
            StpEnd::Stream(end) => end.stop_writing(),
        }
    }

    pub fn acknowledged(&self) -> u64 {
        match self {
            StpEnd::Alone(end) => end.machine.acknowledged(),
            StpEnd::Stream(end) => end.acknowledged,
        }
    }

    pub fn delivered(&self) -> u64 {
        match self {
            StpEnd::Alone(end) => end.machine.delivered(),
            StpEnd::Stream(end) => end.delivered,
        }
    }

    pub fn in_flight(&self) -> u64 {
        match self {
            StpEnd::Alone(end) => end.machine.in_flight(),
            StpEnd::Stream(end) => end.in_flight,
        }
    }

    /// Window, bytes; 0 for a stream, whose association has the window.
    pub fn cwnd(&self) -> u64 {
        match self {
            StpEnd::Alone(end) => end.cwnd(),
            StpEnd::Stream(_) => 0,
        }
    }

    pub fn count_limits(&mut self, now: Time) {
        match self {
            StpEnd::Alone(end) => end.machine.count_limits(now),
            StpEnd::Stream(end) => end.held.counts = true,
        }
    }

    /// Informs a connection that there is a path, or none; the association of a stream is informed separately.
    pub fn set_path_up(&mut self, now: Time, up: bool) {
        if let StpEnd::Alone(end) = self {
            end.machine.set_path_up(now, up);
        }
    }

    /// Counters of the sending half; packets and round trips of a stream are the association's.
    pub fn sent(&self, now: Time) -> SentCounts {
        match self {
            StpEnd::Alone(end) => {
                let stats = end.machine.stats();
                SentCounts {
                    segments: stats.packets_sent,
                    segments_retransmitted: stats.packets_retransmitted,
                    timeouts: stats.timeouts,
                    rtt: stats.rtt,
                    limits: end.machine.limits().spent(now),
                }
            }
            StpEnd::Stream(end) => SentCounts {
                segments: 0,
                segments_retransmitted: 0,
                timeouts: 0,
                rtt: RttSamples::default(),
                limits: end.held.spent,
            },
        }
    }
}
