//! STP on real hosts: packets over UDP or IP, encrypted and authenticated, behind streams as one knows them from TCP.
//!
//! Follows HT chapter 5 for the protocol, whose machine is `skyhop_transport::stp`; here are sockets, clocks and keys.
//! Differs from the papers: packets ride inside an association of two hosts that know each other's key.
//! Leaves out the network in between, and the gateway, which is a crate of its own.
//!
//! | file | holds |
//! |---|---|
//! | `keys` | files of keys |
//! | `handshake` | the packets that open an association, Noise in them |
//! | `entropy` | where random bytes come from |
//! | `cookie` | proof of an address without memory |
//! | `seal` | AEAD, counters, keys that move on |
//! | `replay` | which counters were seen |
//! | `association` | one open association |
//! | `associations` | all of a host, those half open too |
//! | `key_log` | packets of a capture opened with secrets that were kept |
//! | `control` | what hosts say to each other beside STP |
//! | `lost` | a peer that was restarted |
//! | `roaming` | a peer whose address changes |
//! | `options` | what an endpoint may be told |
//! | `socket` | UDP, or IP itself |
//! | `batch` | packets that the kernel takes together |
//! | `connection` | a machine and who waits for it |
//! | `connections` | all of a host: names, keys, timers, turns |
//! | `openings` | the counts of BGNs, sent and seen |
//! | `host` | all connections of a socket, stepped |
//! | `engine` | a host of associations with streams in them, stepped by whoever has a loop |
//! | `driver` | the thread that steps them by the clock |
//! | `stream` | the blocking streams |
//! | `tokio` | the asynchronous ones, with the feature of that name |

pub mod association;
pub mod associations;
pub mod batch;
mod connection;
mod connections;
mod control;
pub mod cookie;
mod driver;
pub mod engine;
pub mod entropy;
pub mod handshake;
mod host;
pub mod key_log;
pub mod keys;
mod lost;
mod openings;
pub mod options;
pub mod replay;
mod roaming;
pub mod seal;
pub mod socket;
mod stream;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use connection::PacketCounts;
pub use host::Lateness;
pub use options::{Notice, Options, Security};
pub use skyhop_transport::stp::Congestion;
pub use skyhop_wire::stp::UDP_PORT;
pub use stream::{Endpoint, NOTHING_HAPPENED, StpListener, StpStream, StreamStats};
