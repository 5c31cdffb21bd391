//! An STP packet written as bytes.
//!
//! Follows docs/stp.md §3: header, then BGN, BGNAK, END, STAT, USTAT, POLL and data in this order.
//! Differs: the checksum covers the packet without a pseudo-header, so that addresses may be translated on the way.
//! Leaves out the network layer.

use super::packet::{BARE, Begin, COMPACT, Gap, MARKS, Packet, REPORT, Report, Stat, Ustat};
use super::payload::Contents;
use super::sequence::SEQUENCE_MASK;

/// Appends the packet to `out`.
pub fn emit<P: Contents>(packet: &Packet<P>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&packet.source_port.to_be_bytes());
    out.extend_from_slice(&packet.destination_port.to_be_bytes());
    word(out, packet.kind(), packet.seq);
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&packet.instance.to_be_bytes());
    if let Some(control) = &packet.control {
        for begin in control.begin.iter().chain(&control.begin_ack) {
            put_begin(out, begin);
        }
        if let Some(end) = control.end {
            word(out, end.reason.number(), end.reason.detail());
        }
        if let Some(stat) = &control.stat {
            put_stat(out, stat);
        }
        if let Some(ustat) = &control.ustat {
            put_ustat(out, ustat);
        }
    }
    if let Some(poll) = packet.poll {
        out.extend_from_slice(&poll.to_be_bytes());
    }
    if let Some(control) = &packet.control {
        out.resize(out.len() + usize::from(control.padding), 0);
    }
    if let Some(data) = &packet.data {
        data.put(out);
    }
    let sum = checksum(&out[start..]);
    out[start + 8..start + 10].copy_from_slice(&sum.to_be_bytes());
}

/// The Internet checksum (RFC 1071) of `bytes`; zero if `bytes` contain their own correct checksum.
pub(super) fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u64 = 0;
    let (words, rest) = bytes.as_chunks::<4>();
    // In the machine's own order (RFC 1071 §2 (B)): no word has to be turned round, so that several are added at once. Only 16 GB
    // could overflow it, and a check for each word would prevent that.
    for word in words {
        sum = sum.wrapping_add(u64::from(u32::from_ne_bytes(*word)));
    }
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum += u64::from(u32::from_ne_bytes(last));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::from_be(sum as u16)
}

/// Appends one byte and a 24-bit number.
fn word(out: &mut Vec<u8>, byte: u8, number: u32) {
    out.extend_from_slice(&(u32::from(byte) << 24 | number & SEQUENCE_MASK).to_be_bytes());
}

fn put_begin(out: &mut Vec<u8>, begin: &Begin) {
    out.extend_from_slice(&[begin.version, begin.features.0]);
    out.extend_from_slice(&begin.max_payload.to_be_bytes());
    word(out, 0, begin.first);
    word(out, 0, begin.credit);
    out.extend_from_slice(&begin.count.to_be_bytes());
}

fn put_stat(out: &mut Vec<u8>, stat: &Stat) {
    let form = match (stat.compact, stat.lists()) {
        (true, _) => COMPACT,
        (false, true) => 0,
        (false, false) => BARE,
    };
    let report = match stat.report {
        None => 0,
        Some(Report { marks: None, .. }) => REPORT,
        Some(_) => REPORT | MARKS,
    };
    word(out, form | report, stat.next);
    out.extend_from_slice(&stat.echo.to_be_bytes());
    if stat.compact {
        varint(out, distance(stat.next, stat.credit));
        varint(out, distance(stat.next, stat.from));
        varint(out, distance(stat.from, stat.upto));
        varint(out, stat.gaps.len() as u32);
    } else {
        word(out, 0, stat.credit);
        if stat.lists() {
            word(out, 0, stat.from);
            word(out, 0, stat.upto);
            word(out, 0, stat.gaps.len() as u32);
        }
    }
    put_gaps(out, stat.compact, stat.from, &stat.gaps);
    if let Some(report) = stat.report {
        out.extend_from_slice(&report.received.to_be_bytes());
        out.extend_from_slice(&report.at.to_be_bytes());
        out.extend_from_slice(&report.delayed.to_be_bytes());
        if let Some(marks) = report.marks {
            out.extend_from_slice(&marks.marked.to_be_bytes());
            out.extend_from_slice(&marks.erased.to_be_bytes());
        }
    }
}

fn put_ustat(out: &mut Vec<u8>, ustat: &Ustat) {
    word(out, if ustat.compact { COMPACT } else { 0 }, ustat.next);
    if ustat.compact {
        varint(out, distance(ustat.next, ustat.credit));
        varint(out, ustat.gaps.len() as u32);
    } else {
        word(out, ustat.gaps.len() as u8, ustat.credit);
    }
    put_gaps(out, ustat.compact, ustat.next, &ustat.gaps);
}

fn put_gaps(out: &mut Vec<u8>, compact: bool, from: u32, gaps: &[Gap]) {
    let mut before = from;
    for gap in gaps {
        if compact {
            varint(out, distance(before, gap.start));
            varint(out, distance(gap.start, gap.end));
            before = gap.end;
        } else {
            word(out, 0, gap.start);
            word(out, 0, gap.end);
        }
    }
}

fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from) & SEQUENCE_MASK
}

/// Appends a number below 2^30 in one, two or four bytes (RFC 9000 §16).
fn varint(out: &mut Vec<u8>, number: u32) {
    match varint_len(number) {
        1 => out.push(number as u8),
        2 => out.extend_from_slice(&(number as u16 | 0x4000).to_be_bytes()),
        _ => out.extend_from_slice(&(number & 0x3fff_ffff | 0x8000_0000).to_be_bytes()),
    }
}

fn varint_len(number: u32) -> usize {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        _ => 4,
    }
}

fn gaps_len(compact: bool, from: u32, gaps: &[Gap]) -> usize {
    if !compact {
        return 8 * gaps.len();
    }
    let mut before = from;
    gaps.iter().map(|gap| gap.wire_len(std::mem::replace(&mut before, gap.end))).sum()
}

impl Gap {
    /// Length of the gap in the short form, bytes, where `before` is the number that precedes it in the list.
    pub fn wire_len(&self, before: u32) -> usize {
        varint_len(distance(before, self.start)) + varint_len(distance(self.start, self.end))
    }
}

impl Stat {
    /// Returns true if the list says more than N(R): numbers are missing, or it is part of a longer list.
    pub(super) fn lists(&self) -> bool {
        !self.gaps.is_empty() || self.from != self.next || self.upto != self.next
    }

    /// Encoded length, bytes.
    pub fn wire_len(&self) -> usize {
        let numbers = if self.compact {
            let lens = [
                distance(self.next, self.credit),
                distance(self.next, self.from),
                distance(self.from, self.upto),
            ];
            lens.into_iter().chain([self.gaps.len() as u32]).map(varint_len).sum()
        } else if self.lists() {
            16
        } else {
            4
        };
        8 + numbers
            + gaps_len(self.compact, self.from, &self.gaps)
            + self.report.map_or(0, |report| report.wire_len())
    }
}

impl Report {
    /// Encoded length, bytes.
    pub fn wire_len(&self) -> usize {
        12 + 8 * self.marks.is_some() as usize
    }
}

impl Ustat {
    /// Encoded length, bytes.
    pub fn wire_len(&self) -> usize {
        let numbers = if self.compact {
            varint_len(distance(self.next, self.credit)) + varint_len(self.gaps.len() as u32)
        } else {
            4
        };
        4 + numbers + gaps_len(self.compact, self.next, &self.gaps)
    }
}
