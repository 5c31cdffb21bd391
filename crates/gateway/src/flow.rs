//! One connection: a socket of the kernel, a stream of an association, and the progress of both.
//!
//! Follows docs/stp.md §16: a preamble precedes the client's data, and an answer of one byte the server's.
//! Leaves out the first bytes of its ends (`opening`), carrying data (`carrying`), and the actions in each state (`turns`).

use crate::ack_checks::AckChecks;
use crate::dscp::Dscp;
use crate::handshakes::ClientAndServer;
use crate::kernel::KernelSocket;
use crate::socks::Socks;
use crate::stream_class::StreamClass;
use crate::user_claims::UserClaims;
use bytes::Bytes;
use skyhop_splice::join::Join;
use skyhop_splice::preamble::{Destination, Preamble};
use skyhop_units::{Span, Time};
use std::net::SocketAddr;

pub use skyhop_splice::users::StreamName;

/// The time within which a program sends its destination, and a far gateway completes its preamble.
pub const ASKING_MAX: Span = Span::from_secs(30);

/// The state of a connection through the gateway.
#[derive(Debug)]
pub enum Phase {
    /// A program has not yet sent its destination.
    Asking(Socks),
    /// The peer's limit of streams, or the user's memory, is used up: a stream is not opened, or one that the far gateway has opened is not
    /// answered.
    Waiting(Preamble),
    /// There is no far gateway, and the connection to the server has not begun.
    Intercepted(SocketAddr),
    /// The preamble is sent, followed by the client's data; the far gateway has not answered.
    Opening,
    /// The server has answered, and the client's handshake is being completed, until this time at most.
    Completing(Time),
    /// The far gateway's preamble is incomplete.
    Reading(Vec<u8>),
    /// The server's name is being resolved.
    Resolving,
    /// The server has not answered; the addresses that remain to be tried.
    Connecting(Vec<SocketAddr>),
    /// Both ends are connected.
    Open,
}

impl Phase {
    /// The name of the state in the status.
    pub fn name(&self) -> &'static str {
        match self {
            Phase::Asking(_) => "asking",
            Phase::Waiting(_) => "waiting",
            Phase::Intercepted(_) => "intercepted",
            Phase::Opening => "opening",
            Phase::Completing(_) => "completing",
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
    /// The client's socket, if there is no far gateway and `socket` is the server's.
    pub user: Option<KernelSocket>,
    pub stream: Option<StreamName>,
    /// True if the client's socket is here, and the server's at the far end.
    pub opener: bool,
    /// The client is a program that waits for a proxy's reply.
    pub replies: bool,
    /// The far end has closed its direction of the stream.
    pub finished: bool,
    pub join: Join<Bytes>,
    pub since: Time,
    pub client: Option<SocketAddr>,
    pub destination: Option<Destination>,
    /// The class of its stream.
    pub class: StreamClass,
    /// Its parts of its user's resources.
    pub claims: UserClaims,
    /// Checks of the socket for an acknowledgment.
    pub checks: AckChecks,
}

impl SplitConnection {
    /// The connection of a program that will send its destination.
    pub fn asking(now: Time, socket: KernelSocket, client: SocketAddr, program: Socks) -> Self {
        SplitConnection {
            socket: Some(socket),
            opener: true,
            replies: true,
            client: Some(client),
            ..Self::new(now, Phase::Asking(program))
        }
    }

    /// A client's connection that goes on in a stream; if it is `transparent`, the server shall see the client's address. Its socket is
    /// missing while the client's handshake is not completed.
    pub fn forwarded(now: Time, client: SocketAddr, to: Destination, dscp: Dscp, transparent: bool) -> Self {
        let marked = (dscp != Dscp::default()).then_some(dscp.number());
        let source = transparent.then_some(client);
        let preamble = Preamble { source, dscp: marked, ..Preamble::to(to.clone()) };
        SplitConnection {
            opener: true,
            client: Some(client),
            destination: Some(to),
            class: StreamClass::new(dscp),
            ..Self::new(now, Phase::Waiting(preamble))
        }
    }

    /// A client's connection to a server, without a far gateway.
    pub fn intercepted(
        now: Time,
        user: KernelSocket,
        client: SocketAddr,
        to: SocketAddr,
        dscp: Dscp,
    ) -> Self {
        SplitConnection {
            user: Some(user),
            client: Some(client),
            destination: Some(Destination::Address(to)),
            class: StreamClass::new(dscp),
            ..Self::new(now, Phase::Intercepted(to))
        }
    }

    /// A stream that the far gateway has opened.
    pub fn accepted(now: Time, stream: StreamName) -> Self {
        SplitConnection { stream: Some(stream), ..Self::new(now, Phase::Reading(Vec::new())) }
    }

    /// Client and server of a connection whose client has no socket yet.
    pub fn held_pair(&self) -> Option<ClientAndServer> {
        match (&self.socket, self.opener, self.client, &self.destination) {
            (None, true, Some(client), Some(Destination::Address(server))) => Some((client, *server)),
            _ => None,
        }
    }

    /// Bytes carried to the server and back, beyond those `before`.
    pub fn carried_since(&self, before: [u64; 2]) -> [u64; 2] {
        let carried = self.join.carried();
        [0, 1].map(|way| carried[way] - before[way])
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
            join: Join::new(),
            since,
            client: None,
            destination: None,
            class: StreamClass::new(Dscp::default()),
            claims: UserClaims::default(),
            checks: AckChecks::default(),
        }
    }
}
