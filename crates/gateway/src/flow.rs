//! One connection: a socket of the kernel, a stream of an association, and the progress of both.
//!
//! Follows docs/stp.md §16: a preamble precedes the client's data, and an answer of one byte the server's.
//! Leaves out the actions in each state (`gateway`).

use crate::ack_checks::AckChecks;
use crate::dscp::Dscp;
use crate::fate::End;
use crate::kernel::KernelSocket;
use crate::socks::Socks;
use crate::stream_class::StreamClass;
use crate::user_claims::UserClaims;
use bytes::Bytes;
use skyhop_splice::join::Join;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::Trunk;
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
    /// A client's connection.
    pub fn opened(now: Time, phase: Phase, socket: KernelSocket, client: SocketAddr) -> Self {
        SplitConnection { socket: Some(socket), opener: true, client: Some(client), ..Self::new(now, phase) }
    }

    /// The connection of a client whose handshake is not completed yet.
    pub fn held(now: Time, phase: Phase, client: SocketAddr) -> Self {
        SplitConnection { opener: true, client: Some(client), ..Self::new(now, phase) }
    }

    /// A client's connection to a server, without a far gateway.
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

    /// Reads the preamble of its stream, and no byte after it. Returns nothing while it is incomplete.
    pub fn read_preamble(&mut self, now: Time, trunk: &mut Trunk<Bytes>) -> Result<Option<Preamble>, End> {
        let (Phase::Reading(bytes), Some((_, id))) = (&mut self.phase, self.stream) else { return Ok(None) };
        let preamble = loop {
            match Preamble::parse(bytes) {
                Ok(Some((preamble, _))) => break preamble,
                Ok(None) => {}
                Err(_) => return Err(End::Answered(Answer::NotUnderstood)),
            }
            let wanted = match bytes.first_chunk::<3>() {
                Some(&[_, high, low]) if bytes.len() >= 4 => 4 + usize::from(u16::from_be_bytes([high, low])),
                _ => 4,
            };
            match trunk.read(id, wanted - bytes.len()) {
                Some(more) => bytes.extend_from_slice(&more),
                None if self.finished || now.since(self.since) >= ASKING_MAX => {
                    return Err(End::Answered(Answer::NotUnderstood));
                }
                None => return Ok(None),
            }
        };
        self.destination = Some(preamble.destination.clone());
        self.client = preamble.source;
        self.class.dscp = preamble.dscp.map_or(Dscp::default(), Dscp::from_number);
        Ok(Some(preamble))
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
