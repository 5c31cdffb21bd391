//! A pcapng writer: nanosecond times, one interface per link and direction, packets that begin with an IP header.
//!
//! Follows draft-ietf-opsawg-pcapng §4.1-4.3 and LINKTYPE_RAW, so that IPv4 and IPv6 share a file; LINKTYPE_SUNATM where there are cells.
//! Differs: times count from the start of the run and no block has a date or a machine, so a run's capture is reproducible byte by byte.
//! Leaves out reading, name resolution, statistics and options other than a name and a resolution.

use std::fmt;
use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;

/// First bytes of an interface's packets (the list of link-layer header types of libpcap).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum LinkType {
    /// The IP header.
    Raw = 101,
    /// Four bytes that name the virtual channel, then an AAL5 CPCS PDU.
    SunAtm = 123,
}

const OPT_END: u16 = 0;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;

/// The error for a capture that could not be written.
#[derive(Debug)]
pub enum PcapngError {
    /// The file could not be written.
    Io(io::Error),
    /// A packet of an interface that the capture does not have.
    UnknownInterface {
        /// The requested interface.
        interface: u32,
        /// Number of interfaces.
        count: u32,
    },
    /// An interface's name does not fit the format's 16-bit length.
    NameTooLong {
        /// Length in bytes.
        len: usize,
    },
    /// A packet is longer than the format's 32-bit length.
    PacketTooLong {
        /// Length in bytes.
        len: usize,
    },
}

impl fmt::Display for PcapngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PcapngError::Io(e) => e.fmt(f),
            PcapngError::UnknownInterface { interface, count } => {
                write!(f, "packet on interface {interface} of a capture with {count}")
            }
            PcapngError::NameTooLong { len } => {
                write!(f, "interface name of {len} bytes exceeds the limit of {}", u16::MAX)
            }
            PcapngError::PacketTooLong { len } => {
                write!(f, "packet of {len} bytes exceeds the limit of {MAX_PACKET}")
            }
        }
    }
}

impl std::error::Error for PcapngError {}

impl From<io::Error> for PcapngError {
    fn from(e: io::Error) -> Self {
        PcapngError::Io(e)
    }
}

/// Longest packet that readers accept, bytes (libpcap's MAXIMUM_SNAPLEN).
const MAX_PACKET: usize = 262_144;

/// Writes packets as they come. The writer is not buffered here; pass a buffered one.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    interfaces: u32,
    snaplen: usize,
    /// Buffer of one block, which is written at once; this saves allocations and avoids incomplete blocks.
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a capture of IP packets: a section header and a description of each interface. At most `snaplen` bytes of each packet are
    /// kept; all of it if `None`.
    pub fn new(out: W, interfaces: &[String], snaplen: Option<u32>) -> Result<Self, PcapngError> {
        let raw: Vec<_> = interfaces.iter().map(|name| (name.as_str(), LinkType::Raw)).collect();
        Self::with_link_types(out, &raw, snaplen)
    }

    /// [`PcapngWriter::new`] with a link type for each interface.
    pub fn with_link_types(
        out: W,
        interfaces: &[(&str, LinkType)],
        snaplen: Option<u32>,
    ) -> Result<Self, PcapngError> {
        let count = u32::try_from(interfaces.len()).unwrap_or(u32::MAX);
        let mut writer = PcapngWriter {
            out,
            interfaces: count,
            snaplen: snaplen.map_or(usize::MAX, |s| s as usize),
            block: Vec::with_capacity(2048),
        };
        writer.section_header()?;
        for (name, link_type) in interfaces {
            writer.interface(name, *link_type, snaplen)?;
        }
        Ok(writer)
    }

    /// Writes a packet that was on `interface` at `t_ns` nanoseconds after the start of the run. `bytes` may be only its
    /// beginning; `original_len` is its length on the link.
    pub fn packet(
        &mut self,
        interface: u32,
        t_ns: u64,
        bytes: &[u8],
        original_len: u32,
    ) -> Result<(), PcapngError> {
        if interface >= self.interfaces {
            return Err(PcapngError::UnknownInterface { interface, count: self.interfaces });
        }
        let kept = &bytes[..bytes.len().min(self.snaplen)];
        if kept.len() > MAX_PACKET {
            return Err(PcapngError::PacketTooLong { len: kept.len() });
        }
        let captured = kept.len() as u32;
        let original = original_len.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.begin(ENHANCED_PACKET);
        self.u32(interface);
        self.u32((t_ns >> 32) as u32);
        self.u32(t_ns as u32);
        self.u32(captured);
        self.u32(original);
        self.block.extend_from_slice(kept);
        self.end()
    }

    /// Ends the capture and returns the writer, flushed.
    pub fn finish(mut self) -> Result<W, PcapngError> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn section_header(&mut self) -> Result<(), PcapngError> {
        self.begin(SECTION_HEADER);
        self.u32(BYTE_ORDER_MAGIC);
        self.u16(1);
        self.u16(0);
        // The section length is unknown while streaming.
        self.block.extend_from_slice(&(-1i64).to_le_bytes());
        self.option(SHB_USERAPPL, concat!("skyhop ", env!("CARGO_PKG_VERSION")).as_bytes());
        self.option(OPT_END, &[]);
        self.end()
    }

    fn interface(
        &mut self,
        name: &str,
        link_type: LinkType,
        snaplen: Option<u32>,
    ) -> Result<(), PcapngError> {
        if name.len() > u16::MAX as usize {
            return Err(PcapngError::NameTooLong { len: name.len() });
        }
        self.begin(INTERFACE_DESCRIPTION);
        self.u16(link_type as u16);
        self.u16(0);
        self.u32(snaplen.unwrap_or(0));
        self.option(IF_NAME, name.as_bytes());
        self.option(IF_TSRESOL, &[9]);
        self.option(OPT_END, &[]);
        self.end()
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.u32(kind);
        // Length of the block, filled in by `end`.
        self.u32(0);
    }

    fn end(&mut self) -> Result<(), PcapngError> {
        self.pad();
        let len = self.block.len() as u32 + 4;
        self.block[4..8].copy_from_slice(&len.to_le_bytes());
        self.u32(len);
        Ok(self.out.write_all(&self.block)?)
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.block.extend_from_slice(value);
        self.pad();
    }

    /// Pads the block to a multiple of four bytes, as the format requires.
    fn pad(&mut self) {
        let len = self.block.len().next_multiple_of(4);
        self.block.resize(len, 0);
    }

    fn u16(&mut self, v: u16) {
        self.block.extend_from_slice(&v.to_le_bytes());
    }

    fn u32(&mut self, v: u32) {
        self.block.extend_from_slice(&v.to_le_bytes());
    }
}
