//! The configuration of a splice: a protocol for each side, a buffer, and the rules for opening and closing.
//!
//! Follows HT 4.3.1's kinds of splitting, and RFC 1122 §4.2.3.5 for the time until a peer is given up.
//! Differs: the buffer is a bound for each direction, enforced by the receive windows.
//! Leaves out the assignment of packets to splices, which is the driver's.

use skyhop_transport::{stp, tcp};
use skyhop_units::Span;

/// A side of a splice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Towards the end that opens the connection.
    Client = 0,
    /// Towards the end that accepts it.
    Server = 1,
}

impl Side {
    /// Both sides.
    pub const BOTH: [Side; 2] = [Side::Client, Side::Server];

    /// The other side.
    pub const fn other(self) -> Self {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// The protocol of a side.
#[derive(Debug, Clone, PartialEq)]
pub enum Protocol {
    /// TCP. Its `window` is not used: the splice's buffer is the receive window.
    Tcp(Box<tcp::Config>),
    /// STP. Its `window` is not used either.
    Stp(Box<stp::Config>),
}

/// The time at which the connection to the server is opened, and its sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerOpening {
    /// At the client's SYN, which is answered at once (splitting).
    #[default]
    Syn,
    /// At the first data, or at the client's FIN.
    Data,
    /// The SYN travels end to end, and with it the sequence numbers of both ends, which see one connection (spoofing). An option
    /// that one end does not offer is not offered to the other. For TCP on both sides only: STP has no numbers that could be
    /// passed on.
    EndToEnd,
}

/// The time at which a FIN is acknowledged to its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Close {
    /// At the acknowledgment of all data and the FIN by the other end: a clean close means that everything has arrived.
    #[default]
    EndToEnd,
    /// On arrival: data on the way are lost silently if the other side fails. Most proxies do this.
    Early,
}

/// Parameters of a splice.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Protocols of the client's and of the server's side.
    pub sides: [Protocol; 2],
    /// Largest number of bytes held for each direction, from their arrival until the other side has acknowledged them.
    pub buffer: u64,
    /// Time at which the server's side is opened.
    pub opening: ServerOpening,
    /// True if the client's data wait for a decision of the owner, as in a cache that reads requests.
    pub asks: bool,
    /// Time at which a FIN is acknowledged.
    pub close: Close,
    /// Time after which a side that owes an answer and is silent counts as dead; the other side is then reset.
    pub give_up: Span,
}

impl Config {
    /// RFC 1122 §4.2.3.5: at least 100 s before a connection is given up.
    pub const GIVE_UP: Span = Span::from_secs(100);

    /// Splitting of TCP connections, with `buffer` bytes for each direction.
    pub fn split(client: tcp::Config, server: tcp::Config, buffer: u64) -> Self {
        Self {
            sides: [Protocol::Tcp(Box::new(client)), Protocol::Tcp(Box::new(server))],
            buffer,
            opening: ServerOpening::Syn,
            asks: false,
            close: Close::EndToEnd,
            give_up: Self::GIVE_UP,
        }
    }

    /// Spoofing: early acknowledgments with the sequence numbers of the ends.
    pub fn spoof(tcp: tcp::Config, buffer: u64) -> Self {
        Self { opening: ServerOpening::EndToEnd, ..Self::split(tcp.clone(), tcp, buffer) }
    }

    /// A cache: it answers a request itself, or opens a connection to the server and forwards it.
    pub fn cache(client: tcp::Config, server: tcp::Config, buffer: u64) -> Self {
        Self { opening: ServerOpening::Data, asks: true, ..Self::split(client, server, buffer) }
    }
}
