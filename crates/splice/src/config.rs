//! What a splice is told: a protocol for each side, a buffer, and when to open and to close.
//!
//! Follows HT 4.3.1's ways to split, and RFC 1122 §4.2.3.5 for when a peer is given up.
//! Differs: the buffer is a bound for each direction, which the receive windows keep.
//! Leaves out which packets belong to which splice; whoever drives it knows.

use skyhop_transport::{stp, tcp};
use skyhop_units::Span;

/// A side of a splice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Towards the end that opens the connection.
    Client = 0,
    /// Towards the end that waits for it.
    Server = 1,
}

impl Side {
    /// Both.
    pub const BOTH: [Side; 2] = [Side::Client, Side::Server];

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// What is spoken on a side.
#[derive(Debug, Clone, PartialEq)]
pub enum Protocol {
    /// TCP. Its `window` is not used: the splice's buffer is the receive window.
    Tcp(Box<tcp::Config>),
    /// STP, with the same for its `window`.
    Stp(Box<stp::Config>),
}

/// When the connection to the server's side is opened, and with which numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opening {
    /// When the client's SYN arrives; the client has its answer at once (splitting).
    #[default]
    Syn,
    /// With the first data, or the client's FIN.
    Data,
    /// The SYN goes end to end, and so do the numbers that both ends choose: to them it is one connection (spoofing). What
    /// one end does not offer is not offered to the other. For two sides of TCP only: STP has nothing that could go through.
    EndToEnd,
}

/// When a FIN is acknowledged to the end that sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Close {
    /// When the other end has acknowledged all the data and the FIN: a clean close means that all has arrived.
    #[default]
    EndToEnd,
    /// When it arrives: what is under way is lost silently if the other side fails. Most proxies do this.
    Early,
}

/// Parameters of a splice.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What is spoken with the client's side and with the server's.
    pub sides: [Protocol; 2],
    /// The most that is held for each direction, bytes: from when it arrives until the other side has acknowledged it.
    pub buffer: u64,
    /// When the server's side is opened.
    pub opening: Opening,
    /// Whether what the client sends waits until it is said what becomes of it, as for a cache that reads requests.
    pub asks: bool,
    /// When a FIN is acknowledged.
    pub close: Close,
    /// A side that owes an answer and says nothing for so long is dead, and the other side is told with a reset.
    pub give_up: Span,
}

impl Config {
    /// RFC 1122 §4.2.3.5: at least 100 s before a connection is given up.
    pub const GIVE_UP: Span = Span::from_secs(100);

    /// Splits TCP connections, with `buffer` bytes for each direction.
    pub fn split(client: tcp::Config, server: tcp::Config, buffer: u64) -> Self {
        Self {
            sides: [Protocol::Tcp(Box::new(client)), Protocol::Tcp(Box::new(server))],
            buffer,
            opening: Opening::Syn,
            asks: false,
            close: Close::EndToEnd,
            give_up: Self::GIVE_UP,
        }
    }

    /// Acknowledges early what goes through with its own numbers.
    pub fn spoof(tcp: tcp::Config, buffer: u64) -> Self {
        Self { opening: Opening::EndToEnd, ..Self::split(tcp.clone(), tcp, buffer) }
    }

    /// Reads what clients ask for: answers it itself, or goes on to the server, to which it opens a connection then.
    pub fn cache(client: tcp::Config, server: tcp::Config, buffer: u64) -> Self {
        Self { opening: Opening::Data, asks: true, ..Self::split(client, server, buffer) }
    }
}
