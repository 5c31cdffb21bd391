//! Bytes read as an STP packet.
//!
//! Follows docs/stp.md §3 and §9: bytes that are not exactly one packet are refused as a whole.
//! Differs: reserved bits are ignored, so that later versions may use them.
//! Leaves out whether numbers are valid in the state of a connection.

use super::emit::checksum;
use super::packet::{
    BARE, Begin, COMPACT, Control, End, Features, Gap, HEADER_LEN, MARKS, MarkCounts, Packet, REPORT, Reason,
    Report, Stat, Ustat, kind,
};
use super::sequence::SEQUENCE_MASK;
use std::fmt;

/// The error for bytes that are not an STP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseError {
    /// The bytes end too early.
    Short,
    /// The checksum does not match.
    Checksum,
    /// The type field is zero.
    NoKind,
    /// The type has SD but no data follow, or bytes follow the last part.
    Length,
    /// A list is out of order, overlaps itself, or announces more gaps than fit.
    List,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseError::Short => "too short for what its type announces",
            ParseError::Checksum => "bad STP checksum",
            ParseError::NoKind => "no type",
            ParseError::Length => "length does not match its type",
            ParseError::List => "a list of gaps that is not in order",
        })
    }
}

impl std::error::Error for ParseError {}

/// Reads one packet; its data borrow from `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Packet<&[u8]>, ParseError> {
    if bytes.len() < HEADER_LEN {
        return Err(ParseError::Short);
    }
    if checksum(bytes) != 0 {
        return Err(ParseError::Checksum);
    }
    let mut reader = ByteReader(bytes);
    let (source_port, destination_port) = (reader.u16()?, reader.u16()?);
    let (kind, seq) = reader.word()?;
    reader.u16()?;
    let instance = reader.u16()?;
    if kind == 0 {
        return Err(ParseError::NoKind);
    }
    let has = |bit: u8| kind & bit != 0;
    let mut control = Control { end_ack: has(kind::ENDAK), ..Control::default() };
    if has(kind::BGN) {
        control.begin = Some(reader.begin()?);
    }
    if has(kind::BGNAK) {
        control.begin_ack = Some(reader.begin()?);
    }
    if has(kind::END) {
        let (number, detail) = reader.word()?;
        control.end = Some(End { reason: Reason::read(number, detail) });
    }
    if has(kind::STAT) {
        control.stat = Some(reader.stat()?);
    }
    if has(kind::USTAT) {
        control.ustat = Some(reader.ustat()?);
    }
    let poll = if has(kind::POLL) { Some(reader.u32()?) } else { None };
    let data = has(kind::SD).then_some(reader.0);
    if has(kind::SD) {
        if reader.0.is_empty() {
            return Err(ParseError::Length);
        }
    } else if poll.is_some() {
        control.padding = u16::try_from(reader.0.len()).map_err(|_| ParseError::Length)?;
    } else if !reader.0.is_empty() {
        return Err(ParseError::Length);
    }
    let control = (!control.is_empty()).then(|| Box::new(control));
    Ok(Packet { source_port, destination_port, instance, seq, poll, data, control })
}

struct ByteReader<'a>(&'a [u8]);

impl ByteReader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(ParseError::Short)?;
        self.0 = rest;
        Ok(*head)
    }
    fn u16(&mut self) -> Result<u16, ParseError> {
        Ok(u16::from_be_bytes(self.take()?))
    }
    fn u32(&mut self) -> Result<u32, ParseError> {
        Ok(u32::from_be_bytes(self.take()?))
    }
    /// Reads one byte and a 24-bit number.
    fn word(&mut self) -> Result<(u8, u32), ParseError> {
        let word = self.u32()?;
        Ok(((word >> 24) as u8, word & SEQUENCE_MASK))
    }
    fn varint(&mut self) -> Result<u32, ParseError> {
        let first = *self.0.first().ok_or(ParseError::Short)?;
        match first >> 6 {
            0 => Ok(u32::from(self.take::<1>()?[0])),
            1 => Ok(u32::from(self.u16()? & 0x3fff)),
            2 => Ok(self.u32()? & 0x3fff_ffff),
            _ => Err(ParseError::List),
        }
    }
    fn begin(&mut self) -> Result<Begin, ParseError> {
        let [version, features] = self.take()?;
        Ok(Begin {
            version,
            features: Features(features),
            max_payload: self.u16()?,
            first: self.word()?.1,
            credit: self.word()?.1,
            count: self.u32()?,
        })
    }
    fn stat(&mut self) -> Result<Stat, ParseError> {
        let (flags, next) = self.word()?;
        let compact = flags & COMPACT != 0;
        let echo = self.u32()?;
        let (credit, from, upto, count) = if compact {
            let credit = self.ahead(next)?;
            let from = self.ahead(next)?;
            (credit, from, self.ahead(from)?, self.varint()?)
        } else if flags & BARE != 0 {
            (self.word()?.1, next, next, 0)
        } else {
            (self.word()?.1, self.word()?.1, self.word()?.1, self.word()?.1)
        };
        let gaps = self.gaps(compact, from, count)?;
        if let Some(last) = gaps.last()
            && distance(from, last.end) > distance(from, upto)
        {
            return Err(ParseError::List);
        }
        let report = if flags & REPORT != 0 {
            let (received, at, delayed) = (self.u32()?, self.u32()?, self.u32()?);
            let marks = if flags & MARKS != 0 {
                Some(MarkCounts { marked: self.u32()?, erased: self.u32()? })
            } else {
                None
            };
            Some(Report { received, at, delayed, marks })
        } else {
            None
        };
        Ok(Stat { echo, next, credit, from, upto, gaps, report, compact })
    }
    fn ustat(&mut self) -> Result<Ustat, ParseError> {
        let (flags, next) = self.word()?;
        let compact = flags & COMPACT != 0;
        let (credit, count) = if compact {
            (self.ahead(next)?, self.varint()?)
        } else {
            let (count, credit) = self.word()?;
            (credit, u32::from(count))
        };
        let gaps = self.gaps(compact, next, count)?;
        Ok(Ustat { next, credit, gaps, compact })
    }
    /// Reads a number that is written as its distance from `from`.
    fn ahead(&mut self, from: u32) -> Result<u32, ParseError> {
        let distance = self.varint()?;
        if distance > SEQUENCE_MASK { Err(ParseError::List) } else { Ok((from + distance) & SEQUENCE_MASK) }
    }
    /// Reads `count` gaps, which must ascend, must not be empty, and must lie within half the number space from `from`.
    fn gaps(&mut self, compact: bool, from: u32, count: u32) -> Result<Vec<Gap>, ParseError> {
        let least = if compact { 2 } else { 8 };
        if count as usize > self.0.len() / least {
            return Err(ParseError::List);
        }
        let mut gaps = Vec::with_capacity(count as usize);
        let mut before = from;
        for _ in 0..count {
            let (start, end) = if compact {
                let start = self.ahead(before)?;
                (start, self.ahead(start)?)
            } else {
                (self.word()?.1, self.word()?.1)
            };
            let (first, last) = (distance(from, start), distance(from, end));
            if first < distance(from, before) || last <= first || last >= 1 << 23 {
                return Err(ParseError::List);
            }
            gaps.push(Gap { start, end });
            before = end;
        }
        Ok(gaps)
    }
}

fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from) & SEQUENCE_MASK
}
