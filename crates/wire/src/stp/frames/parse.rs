//! Bytes read as frames.
//!
//! Follows docs/stp.md §15.2 and §15.7: data that are not entirely valid frames are refused as a whole.
//! Differs from the frames that skyhop writes: numbers may be longer than necessary, and the last frame may have a length field.
//! Leaves out whether a frame is valid in the state of its stream.

use super::{Class, Frame, Frames, MOST, PRIORITY_LAST, kind};
use smallvec::SmallVec;
use std::fmt;

/// The error for data that are not frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// The data end within a frame.
    Short,
    /// A type that version 2 does not have.
    Kind(u8),
    /// A priority above 7, or a weight of zero.
    Class,
    /// Data or numbers that end beyond 2^62, stream numbers that do not ascend, or an empty frame.
    Range,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Short => f.write_str("the packet ends within a frame"),
            FrameError::Kind(kind) => write!(f, "a frame of type {kind:#04x}, which version 2 does not have"),
            FrameError::Class => {
                write!(f, "a class is a priority of 0 to {PRIORITY_LAST} and a weight of 1 to 255")
            }
            FrameError::Range => {
                f.write_str("a frame that is empty, exceeds 2^62, or lists streams out of order")
            }
        }
    }
}

impl std::error::Error for FrameError {}

impl<'a> Frames<&'a [u8]> {
    /// Reads the data of one packet; the frames borrow from `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let mut reader = FrameReader(bytes);
        let mut frames = SmallVec::new();
        while let Some(kind) = reader.kind() {
            if kind != kind::PAD {
                frames.push(reader.frame(kind)?);
            }
        }
        Ok(Frames(frames))
    }
}

struct FrameReader<'a>(&'a [u8]);

impl<'a> FrameReader<'a> {
    fn kind(&mut self) -> Option<u8> {
        let (&kind, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(kind)
    }

    fn frame(&mut self, kind: u8) -> Result<Frame<&'a [u8]>, FrameError> {
        Ok(match kind {
            kind::RESET => Frame::Reset { id: self.number()?, reason: self.byte()?, end: self.number()? },
            kind::CLASS => Frame::Class { id: self.number()?, change: self.number()?, class: self.class()? },
            kind::CREDIT => Frame::Credit { id: self.number()?, limit: self.number()? },
            kind::ENDS => Frame::Ends { ids: self.ids()? },
            kind::CREDIT_EACH => Frame::CreditEach { limit: self.number()? },
            kind::CREDIT_ALL => Frame::CreditAll { limit: self.number()? },
            kind::CREDIT_STREAMS => Frame::CreditStreams { limit: self.number()? },
            kind::CREDIT_DATAGRAMS => Frame::CreditDatagrams { limit: self.number()? },
            kind::DATAGRAMS_BEFORE => Frame::DatagramsBefore { offset: self.number()? },
            _ if kind & !7 == kind::STREAM => self.stream(kind)?,
            _ if kind & !1 == kind::DATAGRAM => self.datagram(kind)?,
            _ => return Err(FrameError::Kind(kind)),
        })
    }

    /// Ascending numbers, each written as its distance from the one before.
    fn ids(&mut self) -> Result<Vec<u64>, FrameError> {
        let count = self.number()?;
        if count == 0 || count > self.0.len() as u64 {
            return Err(FrameError::Range);
        }
        let mut ids = vec![self.number()?];
        for _ in 1..count {
            let (before, distance) = (ids[ids.len() - 1], self.number()?);
            if distance == 0 || distance > MOST - before {
                return Err(FrameError::Range);
            }
            ids.push(before + distance);
        }
        Ok(ids)
    }

    fn stream(&mut self, kind: u8) -> Result<Frame<&'a [u8]>, FrameError> {
        let id = self.number()?;
        let opening = if kind & kind::OPEN != 0 { Some(self.class()?) } else { None };
        let offset = self.number()?;
        let data = self.data(kind, offset)?;
        let end = kind & kind::END != 0;
        let data = (!data.is_empty()).then_some(data);
        if data.is_none() && opening.is_none() && !end {
            return Err(FrameError::Range);
        }
        Ok(Frame::Stream { id, opening, offset, end, data })
    }

    fn datagram(&mut self, kind: u8) -> Result<Frame<&'a [u8]>, FrameError> {
        let (channel, offset) = (self.number()?, self.number()?);
        let data = self.data(kind, offset)?;
        if data.is_empty() {
            return Err(FrameError::Range);
        }
        Ok(Frame::Datagram { channel, offset, data })
    }

    fn data(&mut self, kind: u8, offset: u64) -> Result<&'a [u8], FrameError> {
        let len = if kind & kind::TO_THE_END != 0 {
            self.0.len()
        } else {
            usize::try_from(self.number()?).map_err(|_| FrameError::Short)?
        };
        let (data, rest) = self.0.split_at_checked(len).ok_or(FrameError::Short)?;
        self.0 = rest;
        if len as u64 > MOST - offset { Err(FrameError::Range) } else { Ok(data) }
    }

    fn class(&mut self) -> Result<Class, FrameError> {
        let (priority, weight) = (self.byte()?, self.byte()?);
        if priority > PRIORITY_LAST || weight == 0 {
            return Err(FrameError::Class);
        }
        Ok(Class { priority, weight })
    }

    fn byte(&mut self) -> Result<u8, FrameError> {
        self.kind().ok_or(FrameError::Short)
    }

    fn number(&mut self) -> Result<u64, FrameError> {
        let len = 1 << (self.0.first().ok_or(FrameError::Short)? >> 6);
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(FrameError::Short)?;
        self.0 = rest;
        let all = bytes.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        // The two highest bits hold the length.
        Ok(all & ((1 << (8 * len - 2)) - 1))
    }
}
