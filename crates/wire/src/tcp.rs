//! The TCP header and its options.
//!
//! Follows RFC 9293 §3.1, RFC 2018 (SACK), RFC 7323 (window scale, timestamps), RFC 3168 (ECE, CWR), RFC 1644 (CC), RFC 7413 (cookies).
//! Differs: options are fields; as bytes they stand in one fixed order.
//! Leaves out urgent data, and options that skyhop does not send.

use std::ops::{BitOr, BitOrAssign};

/// The control bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronises sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// The connection is reset.
    pub const RST: Flags = Flags(0x04);
    /// The receiver should pass its data to the application.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field is valid.
    pub const ACK: Flags = Flags(0x10);
    /// ECN-Echo: the receiver has seen a mark (RFC 3168 §6.1).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced: the sender has responded to a mark.
    pub const CWR: Flags = Flags(0x80);

    /// Returns true if all bits of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}
impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}
impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// Largest number of SACK blocks, which fit if there is no other option.
pub const MAX_SACK_BLOCKS: usize = 4;

/// SACK blocks: left edge and right edge (one past the last byte), most recent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// Adds a block; does nothing if the list is full.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(slot) = self.blocks.get_mut(self.count as usize) {
            *slot = (left, right);
            self.count += 1;
        }
    }
    /// The blocks, most recent first.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count as usize]
    }
    /// Returns true if there is no block.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The timestamps option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the peer's clock, echoed.
    pub echo: u32,
}

/// An option that opens a connection without a handshake, or prepares one that will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// CC: the number of the sender's connection (RFC 1644 §2.1).
    Count(u32),
    /// CC.NEW: a count from a client whose counts may have started again.
    NewCount(u32),
    /// CC and CC.ECHO: the answer to CC or CC.NEW.
    EchoedCount {
        /// Number of the sender's connection.
        count: u32,
        /// Number of the peer's connection.
        echo: u32,
    },
    /// A Fast Open option without a cookie, which requests one (RFC 7413 §4.1.1).
    CookieRequest,
    /// A Fast Open cookie of eight bytes.
    Cookie(u64),
}

impl Opening {
    /// Length of the option without padding, bytes.
    pub const fn option_len(&self) -> u32 {
        match self {
            Opening::Count(_) | Opening::NewCount(_) => 6,
            Opening::EchoedCount { .. } => 12,
            Opening::CookieRequest => 2,
            Opening::Cookie(_) => 10,
        }
    }
}

/// A TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpHeader {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window field, before scaling.
    pub window: u16,
    /// Maximum segment size (SYN only).
    pub mss: Option<u16>,
    /// Window scale (SYN only).
    pub window_scale: Option<u8>,
    /// SACK permitted (SYN only).
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// T/TCP's connection counts, or a Fast Open cookie.
    pub opening: Option<Opening>,
    /// SACK blocks.
    pub sack: SackBlocks,
}

impl TcpHeader {
    /// Length of the options, padded to a multiple of four bytes.
    pub const fn options_len(&self) -> u32 {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        if self.window_scale.is_some() {
            len += 3;
        }
        if self.sack_permitted {
            len += 2;
        }
        if self.timestamps.is_some() {
            len += 10;
        }
        if let Some(opening) = &self.opening {
            len += opening.option_len();
        }
        if !self.sack.is_empty() {
            len += 2 + 8 * self.sack.count as u32;
        }
        (len + 3) & !3
    }
    /// Length of the header with its options, bytes.
    #[inline]
    pub const fn header_len(&self) -> u32 {
        20 + self.options_len()
    }
}
