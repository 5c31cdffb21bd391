//! Rewrites a capture with some of its datagrams replaced and everything else unchanged.
//!
//! Reads pcapng and pcap, and writes pcapng.
//! Differs from a packet filter: blocks that are not replaced keep their bytes, options and order.
//! Leaves out the meaning of datagrams: the caller decides about each.

mod blocks;
mod datagram;

pub use blocks::ReadError;
pub use datagram::Datagram;

use blocks::{BlockKind, Blocks, replaced};
use std::fmt;
use std::io::{self, Read, Write};

/// The error for a capture that could not be rewritten.
#[derive(Debug)]
pub enum RewriteError {
    /// The capture could not be read.
    Read(ReadError),
    /// The new capture could not be written.
    Write(io::Error),
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RewriteError::Read(e) => e.fmt(f),
            RewriteError::Write(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for RewriteError {}

impl From<ReadError> for RewriteError {
    fn from(e: ReadError) -> Self {
        RewriteError::Read(e)
    }
}

/// Counters of a rewritten capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rewritten {
    /// Packets read.
    pub packets: u64,
    /// Packets among them without a datagram: fragments, TCP, other protocols, unknown link types.
    pub others: u64,
    /// Packets written.
    pub written: u64,
    /// True if the file ended within a packet; everything before it was rewritten.
    pub cut: bool,
}

/// Rewrites the capture `input` to `output` as pcapng. `change` is called for each datagram and returns `None` to keep it, or the
/// contents of one or several packets that replace it, with its headers and time.
///
/// # Errors
///
/// An invalid capture, and I/O errors. `output` is not flushed.
pub fn rewrite(
    input: impl Read,
    mut output: impl Write,
    mut change: impl FnMut(&Datagram<'_>) -> Option<Vec<Vec<u8>>>,
) -> Result<Rewritten, RewriteError> {
    let mut blocks = Blocks::new(input)?;
    let mut done = Rewritten::default();
    let mut new = Vec::new();
    while let Some((block, kind)) = blocks.next()? {
        let mut put = |bytes: &[u8]| output.write_all(bytes).map_err(RewriteError::Write);
        let BlockKind::Packet(packet) = kind else {
            put(block)?;
            continue;
        };
        done.packets += 1;
        let frame = &block[packet.at..packet.at + packet.captured];
        let found = packet.link_type.and_then(|link_type| datagram::find(link_type, frame, packet.original));
        let Some((datagram, places)) = found else {
            done.others += 1;
            done.written += 1;
            put(block)?;
            continue;
        };
        let frames: Option<Vec<Vec<u8>>> = change(&datagram).and_then(|contents| {
            let frames = (0u16..).zip(&contents).map(|(n, c)| datagram::replace(frame, places, n, c));
            frames.collect()
        });
        match frames {
            Some(frames) => {
                for frame in &frames {
                    replaced(block, &packet, frame, &mut new);
                    put(&new)?;
                }
                done.written += frames.len() as u64;
            }
            None => {
                done.written += 1;
                put(block)?;
            }
        }
    }
    done.cut = blocks.cut();
    Ok(done)
}
