//! A connection at a gateway in a run: its machine, its association, and its counters.
//!
//! Follows docs/stp.md §16 for the preamble, of which only the length is simulated.
//! Differs from a host: the association and the place on the path are known from the scenario.
//! Leaves out the association, which `gateways` passes to the machine.

use skyhop_chance::Stream;
use skyhop_splice::gateway_end::{EndConfig, EndRole, GatewayEnd};
use skyhop_splice::preamble::{Carries, Destination, Preamble};
use skyhop_splice::{Config, Protocol};
use skyhop_units::Rate;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

/// Number of connections for which the daemon has memory, unless its file says otherwise.
pub(crate) const CONNECTIONS: u64 = 16_384;

/// Parameters of a flow's connections at a gateway.
pub(crate) struct GatewayPlace {
    /// Number of the association.
    pub association: u32,
    /// Its side at which the gateway is.
    pub side: u8,
    pub role: EndRole,
    /// True if the flow uses IPv6.
    pub ipv6: bool,
    /// Highest rates of the user at the gateway's own side, from the user and to it.
    pub rates: [Option<Rate>; 2],
    /// The end of the flow at the terminal: 0 if that is its client, 1 if it is the server.
    pub users_end: usize,
}

/// A connection at a gateway.
pub(crate) struct GatewayJoint {
    pub end: GatewayEnd,
    pub association: u32,
    pub side: u8,
    pub role: EndRole,
    /// Hosts of client and server, which share the link as one user.
    pub user: [Ipv4Addr; 2],
    /// The host at the terminal's end, to whom the memory of its stream counts at both gateways.
    pub owner: Ipv4Addr,
    pub memory: u64,
    pub asked: bool,
    /// True if its stream counts among those of its user.
    pub shares: bool,
    /// True if its stream's memory counts as its user's.
    pub owned: bool,
    pub carried: [u64; 2],
    pub held_max: [u64; 2],
    /// Highest rates of the user at the gateway's own side, from the user and to it.
    pub rates: [Option<Rate>; 2],
}

impl GatewayPlace {
    /// A connection; `config` is that of a splice, of which the gateway has one side.
    pub fn open(
        &self,
        config: &Config,
        addresses: [SocketAddrV4; 2],
        initial: [u32; 2],
        [back, onward]: [Stream; 2],
    ) -> GatewayJoint {
        let (outer, chance) = match self.role {
            EndRole::Opener => (0, back),
            EndRole::Acceptor => (1, onward),
        };
        let tcp = match &config.sides[outer] {
            Protocol::Tcp(tcp) => tcp.clone(),
            // The scenario's checks refuse it.
            Protocol::Stp(_) => Box::default(),
        };
        let end = EndConfig {
            role: self.role,
            tcp,
            addresses,
            initial: initial[outer],
            preamble: self.preamble(Carries::Connection, addresses),
            memory: config.buffer,
            give_up: config.give_up,
        };
        GatewayJoint {
            end: GatewayEnd::new(end, chance),
            association: self.association,
            side: self.side,
            role: self.role,
            user: addresses.map(|address| *address.ip()),
            owner: *addresses[self.users_end].ip(),
            memory: config.buffer,
            asked: false,
            shares: false,
            owned: false,
            carried: [0; 2],
            held_max: [0; 2],
            rates: self.rates,
        }
    }

    /// Length of the preamble of an intercepted connection, or of a flow of datagrams.
    pub fn preamble(&self, carries: Carries, addresses: [SocketAddrV4; 2]) -> u64 {
        let [client, server] = addresses.map(|address| {
            let ip = *address.ip();
            let ip = if self.ipv6 { IpAddr::V6(ip.to_ipv6_compatible()) } else { IpAddr::V4(ip) };
            SocketAddr::new(ip, address.port())
        });
        let mut bytes = Vec::new();
        let to = Preamble::to(Destination::Address(server));
        Preamble { carries, source: Some(client), ..to }.emit(&mut bytes);
        bytes.len() as u64
    }
}
