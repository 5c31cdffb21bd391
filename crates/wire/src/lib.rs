//! Packets and their headers: as structs, and as bytes.
//!
//! Follows RFC 791 (IPv4), 8200 (IPv6), 9293 (TCP), 2018, 7323, 1644 and 7413 (options), 792 and 4443 (echo), 1191 and 8201 (too large),
//! 768 (UDP); ITU-T I.363.5 and RFC 2684 for cells ([`aal5`]).
//! Differs from a packet library: a packet is its header as a struct and its payload as a length; bytes are made on demand.
//! Leaves out fragments and extension headers; [`observe`] takes such packets of real hosts for an unknown protocol.

pub mod aal5;
mod address;
mod compress;
mod emit;
mod observe;
mod options;
mod packet;
mod parse;
mod sequence;
pub mod stp;
mod tcp;

pub use compress::{Compressor, DeltaFields};
pub use emit::{emit, emit_with};
pub use observe::{Observed, mark, observe};
pub use packet::{Echo, Ecn, Ip, Packet, TooLarge, Transport, Udp, Version};
pub use parse::{ParseError, parse, parse_with_payload};
pub use sequence::{expand, wire_number};
pub use tcp::{Flags, MAX_SACK_BLOCKS, Opening, SackBlocks, TcpHeader, Timestamps};
