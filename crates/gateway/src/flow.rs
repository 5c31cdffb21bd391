//! One connection: a socket of the kernel, a stream of an association, and how far both have got.
//!
//! Follows docs/stp.md §16: a preamble goes ahead of the client's data, and one byte of answer ahead of the server's.
//! Leaves out what is done at each step, which is `gateway`'s.

use crate::dscp::{Dscp, DscpTable};
use crate::kernel::KernelSocket;
use crate::socks::Socks;
use bytes::Bytes;
use skyhop_splice::join::Join;
use skyhop_splice::preamble::{Destination, Preamble};
use skyhop_units::Time;
use std::net::{IpAddr, SocketAddr};

/// A stream: the number of its association, and its own.
pub type StreamName = (u32, u64);

/// Priorities of connections that are new, and of those that have carried much.
const NEW: u8 = 3;
const LONG: u8 = 5;

/// The state of a connection through the gateway.
#[derive(Debug)]
pub enum Phase {
    /// A program has not yet said where it wants to go.
    Asking(Socks),
    /// The peer takes no more streams for now.
    Waiting(Preamble),
    /// There is no far gateway, and the server has not been asked.
    Intercepted(SocketAddr),
    /// The preamble is on its way, and the client's data behind it; the far gateway has not answered.
    Opening,
    /// The far gateway's preamble is not complete.
    Reading(Vec<u8>),
    /// The name of the server is being looked up.
    Resolving,
    /// The server has not answered; addresses that could be tried next.
    Connecting(Vec<SocketAddr>),
    /// Both ends are there.
    Open,
}

impl Phase {
    /// A word for the status.
    pub fn name(&self) -> &'static str {
        match self {
            Phase::Asking(_) => "asking",
            Phase::Waiting(_) => "waiting",
            Phase::Intercepted(_) => "intercepted",
            Phase::Opening => "opening",
            Phase::Reading(_) => "reading",
            Phase::Resolving => "resolving",
            Phase::Connecting(_) => "connecting",
            Phase::Open => "open",
        }
    }
}

/// A connection.
#[derive(Debug)]
pub struct SplitConnection {
    pub phase: Phase,
    pub socket: Option<KernelSocket>,
    /// The client's socket, where there is no far gateway and `socket` is the server's.
    pub user: Option<KernelSocket>,
    pub stream: Option<StreamName>,
    /// True if the client's socket is here, and the server's at the far end.
    pub opener: bool,
    /// The client is a program that waits for a proxy's reply.
    pub replies: bool,
    /// The far end has ended its direction of the stream.
    pub finished: bool,
    /// The connection has carried enough to yield to others.
    pub bulk: bool,
    pub join: Join<Bytes>,
    pub since: Time,
    pub client: Option<SocketAddr>,
    pub destination: Option<Destination>,
    /// The code point of the client's packets.
    pub dscp: Dscp,
    /// The user whose share of the link it uses, if it was opened here.
    pub sharer: Option<IpAddr>,
    /// Its weight within that share.
    pub weight: u8,
    /// Checks of the socket that found no new acknowledgment.
    pub looks: u32,
}

impl SplitConnection {
    /// A client's connection.
    pub fn opened(now: Time, phase: Phase, socket: KernelSocket, client: SocketAddr) -> Self {
        SplitConnection { socket: Some(socket), opener: true, client: Some(client), ..Self::new(now, phase) }
    }

    /// The priority of its stream: the table's, or that of its age.
    pub fn priority(&self, table: &DscpTable) -> u8 {
        table.priority(self.dscp).unwrap_or(if self.bulk { LONG } else { NEW })
    }

    /// A client's connection to a server, with no far gateway in between.
    pub fn intercepted(now: Time, user: KernelSocket, client: SocketAddr, to: SocketAddr) -> Self {
        let destination = Some(Destination::Address(to));
        SplitConnection {
            user: Some(user),
            client: Some(client),
            destination,
            ..Self::new(now, Phase::Intercepted(to))
        }
    }

    /// A stream that the far gateway has opened.
    pub fn accepted(now: Time, stream: StreamName) -> Self {
        SplitConnection { stream: Some(stream), ..Self::new(now, Phase::Reading(Vec::new())) }
    }

    fn new(since: Time, phase: Phase) -> Self {
        SplitConnection {
            phase,
            socket: None,
            user: None,
            stream: None,
            opener: false,
            replies: false,
            finished: false,
            bulk: false,
            join: Join::new(),
            since,
            client: None,
            destination: None,
            dscp: Dscp::default(),
            sharer: None,
            weight: 16,
            looks: 0,
        }
    }
}
