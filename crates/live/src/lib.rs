//! STP on real hosts: packets over UDP or IP, encrypted and authenticated, with streams like those of TCP.
//!
//! Follows HT chapter 5 for the protocol, whose machine is `skyhop_transport::stp`; here are sockets, clocks and keys.
//! Differs from the papers: packets are sent inside an association of two hosts that know each other's keys.
//! Leaves out the gateway, which is another crate.
//!
//! | file | holds |
//! |---|---|
//! | `keys` | key files |
//! | `handshake` | the packets that open an association, with Noise |
//! | `entropy` | sources of random bytes |
//! | `cookie` | proof of an address without state |
//! | `seal` | AEAD, counters, changes of keys |
//! | `replay` | the window of counters seen |
//! | `association` | one open association |
//! | `associations` | all associations of a host: admission, keys, open ones, probes, outputs |
//! | `attempts` | attempts of this host to open associations |
//! | `key_log` | decryption of captures with logged secrets |
//! | `control` | control messages between hosts, besides STP |
//! | `roaming` | a peer whose address changes |
//! | `options` | options of an endpoint |
//! | `socket` | UDP, or IP itself |
//! | `batch` | packets sent in one call of the kernel |
//! | `memory` | budgets for the memory of connections |
//! | `connection` | one connection: the machine, and parts for the peer, the application and the memory |
//! | `connections` | all connections of a host: names, keys, timers, turns |
//! | `timers` | the timers of connections, and their lateness |
//! | `backlog` | connections that wait to be accepted |
//! | `loose` | packets of no connection that wait to be sent |
//! | `channels` | the channels to peers: associations, or bare addresses |
//! | `fullness` | connections refused because there is no place |
//! | `unproven` | connections without encryption whose peers are not proven |
//! | `seen` | the BGNs seen without encryption |
//! | `openings` | active and passive opening, the counts of BGNs |
//! | `refusals` | evidence against a connection: unproven answers, ICMP |
//! | `host` | all connections of a socket, stepped |
//! | `engine` | a host with associations that carry streams, for another driver |
//! | `driver` | the thread that steps a host by the clock |
//! | `stream` | the blocking streams |
//! | `tokio` | the asynchronous ones, with the feature of that name |

pub mod association;
pub mod associations;
pub mod attempts;
mod backlog;
pub mod batch;
mod channels;
mod connection;
mod connections;
mod control;
pub mod cookie;
mod driver;
pub mod engine;
pub mod entropy;
mod fullness;
pub mod handshake;
mod host;
mod kernel_address;
pub mod key_log;
pub mod keys;
mod loose;
mod memory;
mod openings;
pub mod options;
mod receive;
mod refusals;
pub mod replay;
mod roaming;
pub mod seal;
mod seen;
pub mod socket;
mod stream;
mod timers;
#[cfg(feature = "tokio")]
pub mod tokio;
mod unproven;

pub use connection::PacketCounts;
pub use fullness::{FullReason, RefusedConnections};
pub use memory::MEMORY_LEAST;
pub use options::{Notice, Options, Security};
pub use skyhop_transport::stp::Congestion;
pub use skyhop_wire::stp::UDP_PORT;
pub use stream::{Endpoint, NOTHING_HAPPENED, StpListener, StpStream, StreamStats};
pub use timers::Lateness;
