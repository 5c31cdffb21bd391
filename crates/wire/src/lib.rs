//! Headers and packets: what travels over a link, as structs, and how it looks in bytes.
//!
//! Follows RFC 791 (IPv4), 9293 (TCP), 2018, 7323, 1644 and 7413 (options), 792 (echo), 1191 (too large), 768 (UDP).
//! Differs from a packet library: a packet is its header as a struct and its payload as a length; bytes are made on demand.
//! Leaves out fragments, IPv6 and payload contents.

mod compress;
mod emit;
mod options;
mod packet;
mod parse;
mod sequence;
pub mod stp;
mod tcp;

pub use compress::Compressor;
pub use emit::{emit, emit_with};
pub use packet::{Echo, Ecn, Ipv4, Packet, TooLarge, Transport, Udp};
pub use parse::{ParseError, parse};
pub use sequence::{expand, wire_number};
pub use tcp::{Flags, MAX_SACK_BLOCKS, Opening, SackBlocks, TcpHeader, Timestamps};
