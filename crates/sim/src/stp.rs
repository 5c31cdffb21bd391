//! STP in the simulator: an end with its addresses.
//!
//! Follows docs/stp.md §2: over UDP, or straight over IP with a protocol number of its own.
//! Differs from a host: what is inside a packet travels as a struct, so that nothing is written down and read again.
//! Leaves out encryption.

use skyhop_scenario::StpOver;
use skyhop_traffic::End;
use skyhop_transport::stp::{Config, Connection, Ends, Length};
use skyhop_wire::stp::Contents;
use skyhop_wire::{Ecn, Ip, Packet, Transport, Udp, Version, stp};
use std::net::SocketAddrV4;

/// The protocol that carries STP's packets, and the network layer beneath it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carrier {
    pub over: StpOver,
    pub ip: Version,
}

/// Puts STP's packets into the network layer's; UDP's ports repeat STP's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    carrier: Carrier,
    local: SocketAddrV4,
    remote: SocketAddrV4,
    identification: u16,
}

impl Envelope {
    pub fn new(carrier: Carrier, [local, remote]: [SocketAddrV4; 2]) -> Self {
        Self { carrier, local, remote, identification: 0 }
    }

    pub fn wrap<P: Contents>(&mut self, packet: &stp::Packet<P>) -> Packet {
        self.identification = self.identification.wrapping_add(1);
        Packet {
            ip: Ip {
                version: self.carrier.ip,
                source: *self.local.ip(),
                destination: *self.remote.ip(),
                identification: self.identification,
                ttl: 64,
                ecn: Ecn::NotCapable,
            },
            transport: match self.carrier.over {
                StpOver::Udp => Transport::Udp(Udp {
                    source_port: packet.source_port,
                    destination_port: packet.destination_port,
                }),
                StpOver::Ip => Transport::Other(stp::IP_PROTOCOL),
            },
            payload_len: packet.wire_len() as u32,
        }
    }
}

/// One end of an STP connection.
pub(crate) struct StpEnd {
    pub machine: Connection<Length>,
    pub envelope: Envelope,
}

impl StpEnd {
    /// The client's end, which opens, or the server's. `count` tells connections of the two hosts apart.
    pub fn new(
        (config, carrier): (&Config, Carrier),
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

    /// What may be in flight, bytes: where there is a rate and no window, what it sends in a round trip.
    pub fn cwnd(&self) -> u64 {
        match (self.machine.window(), self.machine.rate_bps(), self.machine.srtt()) {
            (u64::MAX, Some(bps), Some(srtt)) => (bps / 8.0 * srtt.as_secs_f64()) as u64,
            (u64::MAX, ..) => 0,
            (window, ..) => window,
        }
    }
}
