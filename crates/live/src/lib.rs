//! STP on real hosts: packets over UDP or IP, encrypted and authenticated, behind streams as one knows them from TCP.
//!
//! Follows HT chapter 5 for the protocol, whose machine is `skyhop_transport::stp`; here are sockets, clocks and keys.
//! Differs from the papers: packets ride inside an association of two hosts that know each other's key.
//! Leaves out the network in between, and the gateway.
//!
//! | file | holds |
//! |---|---|
//! | `keys` | files of keys |
//! | `handshake` | the packets that open an association, Noise in them |
//! | `cookie` | proof of an address without memory |
//! | `seal` | AEAD, counters, keys that move on |
//! | `replay` | which counters were seen |
//! | `association` | one open association |
//! | `associations` | all of a host, those half open too |

pub mod association;
pub mod associations;
pub mod cookie;
pub mod handshake;
pub mod keys;
pub mod replay;
pub mod seal;
