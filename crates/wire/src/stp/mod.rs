//! STP packets: a header of twelve bytes, then up to eight kinds of contents.
//!
//! Follows HT §5.1.1 and figure 5.1 (kinds, fields, combinations as the OR of kinds), HK §VII.A; the layout is docs/stp.md §3.
//! Differs: HT does not give the byte order within a kind, so it is ours; lists have a second, short form.
//! Leaves out encryption, which wraps whole packets, and the meaning of numbers, which is the machine's.

mod emit;
mod frames;
mod packet;
mod parse;
mod payload;
mod sequence;

pub use emit::emit;
pub use frames::{
    Class, Frame, FrameError, Frames, MOST, PRIORITY_FIRST, PRIORITY_LAST, datagram_header, number_len,
    stream_header,
};
pub use packet::{
    BARE, Begin, COMPACT, Control, End, Features, Gap, HEADER_LEN, MARKS, MarkCounts, Packet, REPORT, Reason,
    Report, Stat, Ustat, kind,
};
pub use parse::{ParseError, parse};
pub use payload::{Contents, Payload, PayloadLength};
pub use sequence::{SEQUENCE_MASK, expand, wire_number};

/// Default UDP port of a listener (from the dynamic range; none is assigned).
pub const UDP_PORT: u16 = 57_824;
/// Bytes that a seal adds to a packet: a header of 12 and a tag of 16 (docs/stp-hosts.md).
pub const SEAL_LEN: u32 = 28;
/// IP protocol number of STP directly over IP: one of the two reserved for experiments (RFC 3692).
pub const IP_PROTOCOL: u8 = 253;
/// Version of the packet layout for a single connection.
pub const VERSION: u8 = 1;
/// Version whose data are frames: an association of streams.
pub const VERSION_STREAMS: u8 = 2;
