//! Reads captures block by block: pcapng as it is, pcap as the equivalent pcapng.
//!
//! Follows draft-ietf-opsawg-pcapng §3 and §4, and draft-ietf-opsawg-pcap §4 and §5, in both byte orders.
//! Differs from a packet reader: each block keeps its bytes, so that unknown blocks are copied, including comments and names.
//! Leaves out compressed files and old pcap variants with longer records.

use std::fmt;
use std::io::{self, Read};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const IF_TSRESOL: u16 = 9;
/// Largest block, bytes. Readers refuse packets above 256 kB; other blocks are names and comments.
const LONGEST: usize = 16 << 20;

/// The error for a capture that could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The file could not be read.
    Io(io::Error),
    /// The file is not a capture; its likely type, if known.
    NoCapture(Option<&'static str>),
    /// An invalid block.
    Broken {
        /// Offset of the block in the file, bytes.
        at: u64,
        /// The reason.
        why: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(e) => e.fmt(f),
            ReadError::NoCapture(None) => f.write_str("not a capture; expected pcap or pcapng"),
            ReadError::NoCapture(Some(what)) => {
                write!(f, "not a capture but {what}; expected pcap or pcapng")
            }
            ReadError::Broken { at, why } => write!(f, "byte {at}: {why}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(e: io::Error) -> Self {
        ReadError::Io(e)
    }
}

/// The byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, bytes: &[u8]) -> u16 {
        let bytes = bytes[..2].try_into().expect("two bytes");
        if self == Order::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    pub fn u32(self, bytes: &[u8]) -> u32 {
        let bytes = bytes[..4].try_into().expect("four bytes");
        if self == Order::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    pub fn put(self, bytes: &mut [u8], value: u32) {
        let value = if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() };
        bytes[..4].copy_from_slice(&value);
    }
}

/// The type of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// A block to be copied.
    Other,
    /// A packet.
    Packet(BlockPacket),
}

/// The position of a packet in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockPacket {
    /// Link type, by the numbers of tcpdump.org; `None` for an interface without a description.
    pub link_type: Option<u16>,
    /// Offset of the packet's bytes in the block.
    pub at: usize,
    /// Number of bytes captured.
    pub captured: usize,
    /// Length of the packet on the link, bytes.
    pub original: u32,
    order: Order,
    simple: bool,
}

/// A reader of blocks.
pub(super) struct Blocks<R> {
    input: R,
    form: Form,
    /// Number of bytes of the file read so far.
    at: u64,
    /// True if the file ends within a block.
    cut: bool,
    block: Vec<u8>,
    /// For a pcap file, the blocks to be returned before its first packet.
    head: Vec<Vec<u8>>,
}

enum Form {
    Pcapng { order: Order, interfaces: Vec<Interface> },
    Pcap { order: Order, link_type: u16, per_second: u64 },
}

#[derive(Clone, Copy)]
struct Interface {
    link_type: u16,
    snaplen: u32,
}

impl<R: Read> Blocks<R> {
    /// Reads the beginning of the file, which gives its type.
    pub fn new(mut input: R) -> Result<Self, ReadError> {
        let mut magic = Vec::new();
        input.by_ref().take(4).read_to_end(&mut magic)?;
        let Ok(bytes) = <[u8; 4]>::try_from(&magic[..]) else {
            return Err(ReadError::NoCapture(magic.is_empty().then_some("an empty file")));
        };
        let order = |little| if little { Order::Little } else { Order::Big };
        let mut blocks = Blocks {
            input,
            form: Form::Pcapng { order: Order::Little, interfaces: Vec::new() },
            at: 4,
            cut: false,
            block: magic,
            head: Vec::new(),
        };
        match bytes {
            [0x0a, 0x0d, 0x0d, 0x0a] => blocks.begin_pcapng()?,
            [0xd4, 0xc3, 0xb2, 0xa1] | [0xa1, 0xb2, 0xc3, 0xd4] => {
                blocks.begin_pcap(order(bytes[0] == 0xd4), 1_000_000)?;
            }
            [0x4d, 0x3c, 0xb2, 0xa1] | [0xa1, 0xb2, 0x3c, 0x4d] => {
                blocks.begin_pcap(order(bytes[0] == 0x4d), 1_000_000_000)?;
            }
            [0x1f, 0x8b, ..] => return Err(ReadError::NoCapture(Some("a file of gzip; unpack it first"))),
            [0x28, 0xb5, 0x2f, 0xfd] => {
                return Err(ReadError::NoCapture(Some("a file of zstd; unpack it first")));
            }
            _ => return Err(ReadError::NoCapture(None)),
        }
        Ok(blocks)
    }

    /// The next block: its bytes and its type; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(&[u8], BlockKind)>, ReadError> {
        if !self.head.is_empty() {
            self.block = self.head.remove(0);
            return Ok(Some((&self.block, BlockKind::Other)));
        }
        let kind = match self.form {
            Form::Pcapng { .. } => self.next_pcapng()?,
            Form::Pcap { order, link_type, per_second } => self.next_pcap(order, link_type, per_second)?,
        };
        Ok(kind.map(|kind| (&self.block[..], kind)))
    }

    /// Returns true if the file ended within a block, as after an interrupted capture.
    pub fn cut(&self) -> bool {
        self.cut
    }

    /// Reads the first section header as a block; only its magic number has been read before.
    fn begin_pcapng(&mut self) -> Result<(), ReadError> {
        let block = std::mem::take(&mut self.block);
        match self.read_pcapng(block)? {
            Some(BlockKind::Other) => {
                self.head.push(std::mem::take(&mut self.block));
                Ok(())
            }
            _ => Err(self.broken("the file ends within its header")),
        }
    }

    fn begin_pcap(&mut self, order: Order, per_second: u64) -> Result<(), ReadError> {
        let mut header = std::mem::take(&mut self.block);
        if !self.fill(&mut header, 24)? {
            return Err(self.broken("the file ends within its header"));
        }
        if order.u16(&header[4..]) != 2 {
            return Err(ReadError::NoCapture(Some("a pcap of another version than 2")));
        }
        // The bits above the lower 16 give the length of a checksum after packets.
        let link_type = order.u32(&header[20..]) as u16;
        self.form = Form::Pcap { order, link_type, per_second };
        self.head = Vec::from([section(), interface(link_type, order.u32(&header[16..]), per_second)]);
        Ok(())
    }

    fn next_pcap(
        &mut self,
        order: Order,
        link_type: u16,
        per_second: u64,
    ) -> Result<Option<BlockKind>, ReadError> {
        let mut record = std::mem::take(&mut self.block);
        record.clear();
        if !self.fill(&mut record, 16)? {
            return Ok(None);
        }
        let number = |at: usize| order.u32(&record[at..]);
        let (captured, original) = (number(8) as usize, number(12));
        if captured > LONGEST {
            return Err(self.broken("a packet that claims more than 16 MB"));
        }
        let t = u64::from(number(0)) * per_second + u64::from(number(4));
        let mut block = Vec::with_capacity(captured.min(1 << 16) + 40);
        for word in [
            ENHANCED_PACKET,
            0,
            0,
            (t >> 32) as u32,
            t as u32,
            captured as u32,
            original.max(captured as u32),
        ] {
            block.extend_from_slice(&word.to_le_bytes());
        }
        let at = block.len();
        if !self.fill(&mut block, at + captured)? {
            self.cut = true;
            return Ok(None);
        }
        close(&mut block);
        self.block = block;
        let packet = BlockPacket {
            link_type: Some(link_type),
            at,
            captured,
            original,
            order: Order::Little,
            simple: false,
        };
        Ok(Some(BlockKind::Packet(packet)))
    }

    fn next_pcapng(&mut self) -> Result<Option<BlockKind>, ReadError> {
        let mut head = std::mem::take(&mut self.block);
        head.clear();
        if !self.fill(&mut head, 4)? {
            return Ok(None);
        }
        self.read_pcapng(head)
    }

    /// Reads a block whose first four bytes are in `block`.
    fn read_pcapng(&mut self, mut block: Vec<u8>) -> Result<Option<BlockKind>, ReadError> {
        let begin = self.at - 4;
        let section = block[..4] == SECTION_HEADER.to_le_bytes();
        if !self.fill(&mut block, if section { 12 } else { 8 })? {
            self.cut = true;
            return Ok(None);
        }
        let Form::Pcapng { order, interfaces } = &mut self.form else { unreachable!("asked for a pcapng") };
        if section {
            *order = match Order::Little.u32(&block[8..]) {
                BYTE_ORDER_MAGIC => Order::Little,
                n if n.swap_bytes() == BYTE_ORDER_MAGIC => Order::Big,
                _ => {
                    return Err(ReadError::Broken { at: begin, why: "a section without its order of bytes" });
                }
            };
            interfaces.clear();
        }
        let order = *order;
        let len = order.u32(&block[4..]) as usize;
        let least = if section { 28 } else { 12 };
        if len < least || !len.is_multiple_of(4) {
            return Err(ReadError::Broken { at: begin, why: "a block whose length cannot be" });
        }
        if len > LONGEST {
            return Err(ReadError::Broken { at: begin, why: "a block that claims more than 16 MB" });
        }
        if !self.fill(&mut block, len)? {
            self.cut = true;
            return Ok(None);
        }
        if order.u32(&block[len - 4..]) as usize != len {
            return Err(ReadError::Broken { at: begin, why: "a block whose two lengths differ" });
        }
        let Form::Pcapng { interfaces, .. } = &mut self.form else { unreachable!("asked for a pcapng") };
        let kind = match order.u32(&block) {
            SECTION_HEADER => {
                // The section's length changes with its packets; "unknown" is always right.
                block[16..24].fill(0xff);
                Ok(BlockKind::Other)
            }
            INTERFACE_DESCRIPTION if len >= 20 => {
                interfaces
                    .push(Interface { link_type: order.u16(&block[8..]), snaplen: order.u32(&block[12..]) });
                Ok(BlockKind::Other)
            }
            kind @ (ENHANCED_PACKET | OBSOLETE_PACKET) if len >= 32 => {
                let number = |at: usize| order.u32(&block[at..]);
                let (captured, original) = (number(20) as usize, number(24));
                let interface =
                    if kind == ENHANCED_PACKET { number(8) as usize } else { order.u16(&block[8..]).into() };
                let link_type = interfaces.get(interface).map(|i| i.link_type);
                if captured > len - 32 {
                    Err("a packet that is longer than its block")
                } else {
                    Ok(BlockKind::Packet(BlockPacket {
                        link_type,
                        at: 28,
                        captured,
                        original,
                        order,
                        simple: false,
                    }))
                }
            }
            SIMPLE_PACKET if len >= 16 => {
                let original = order.u32(&block[8..]);
                let interface = interfaces.first();
                let snaplen = interface.map_or(0, |i| i.snaplen);
                let room = if snaplen == 0 { len - 16 } else { (len - 16).min(snaplen as usize) };
                let captured = room.min(original as usize);
                let link_type = interface.map(|i| i.link_type);
                Ok(BlockKind::Packet(BlockPacket {
                    link_type,
                    at: 12,
                    captured,
                    original,
                    order,
                    simple: true,
                }))
            }
            INTERFACE_DESCRIPTION | ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                Err("a block that is too short for its type")
            }
            _ => Ok(BlockKind::Other),
        };
        self.block = block;
        kind.map(Some).map_err(|why| ReadError::Broken { at: begin, why })
    }

    /// Reads until `bytes` has length `len`. Returns false at the end of the file, which is then truncated unless it is between
    /// blocks. Memory grows with the bytes read, not with a length that the file claims.
    fn fill(&mut self, bytes: &mut Vec<u8>, len: usize) -> Result<bool, ReadError> {
        let wanted = len.saturating_sub(bytes.len());
        let got = self.input.by_ref().take(wanted as u64).read_to_end(bytes)?;
        self.at += got as u64;
        self.cut |= got > 0 && got < wanted;
        Ok(got == wanted)
    }

    fn broken(&self, why: &'static str) -> ReadError {
        ReadError::Broken { at: self.at, why }
    }
}

/// The block of `packet` with other packet bytes; options are kept.
pub(super) fn replaced(block: &[u8], packet: &BlockPacket, bytes: &[u8], out: &mut Vec<u8>) {
    let order = packet.order;
    let len = bytes.len() as u32;
    out.clear();
    out.extend_from_slice(&block[..packet.at]);
    out.extend_from_slice(bytes);
    out.resize(out.len().next_multiple_of(4), 0);
    if packet.simple {
        order.put(&mut out[8..], len);
    } else {
        order.put(&mut out[20..], len);
        order.put(&mut out[24..], len);
        let options = (packet.at + packet.captured).next_multiple_of(4);
        out.extend_from_slice(block.get(options..block.len() - 4).unwrap_or_default());
    }
    let whole = out.len() as u32 + 4;
    order.put(&mut out[4..], whole);
    let mut tail = [0; 4];
    order.put(&mut tail, whole);
    out.extend_from_slice(&tail);
}

/// Pads a block of ours, and writes its length at its beginning and end.
fn close(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
    let len = block.len() as u32 + 4;
    block[4..8].copy_from_slice(&len.to_le_bytes());
    block.extend_from_slice(&len.to_le_bytes());
}

fn section() -> Vec<u8> {
    let mut block = Vec::new();
    for word in [SECTION_HEADER, 0, BYTE_ORDER_MAGIC, 1, u32::MAX, u32::MAX] {
        block.extend_from_slice(&word.to_le_bytes());
    }
    close(&mut block);
    block
}

fn interface(link_type: u16, snaplen: u32, per_second: u64) -> Vec<u8> {
    let mut block = Vec::new();
    for word in [INTERFACE_DESCRIPTION, 0, u32::from(link_type), snaplen] {
        block.extend_from_slice(&word.to_le_bytes());
    }
    block.extend_from_slice(&IF_TSRESOL.to_le_bytes());
    block.extend_from_slice(&1_u16.to_le_bytes());
    block.extend_from_slice(&[per_second.ilog10() as u8, 0, 0, 0, 0, 0, 0, 0]);
    close(&mut block);
    block
}
