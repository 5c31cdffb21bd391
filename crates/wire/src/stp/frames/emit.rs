//! Frames written as bytes.
//!
//! Follows docs/stp.md §15.2: a frame's type, then its numbers, then its data.
//! Differs from QUIC: each packet has one encoding (shortest numbers, no length on the last frame), so that tests can compare bytes.
//! Leaves out padding, except for the one byte of a packet without frames.

use super::{Class, Frame, Frames, kind, number_len};
use crate::stp::payload::Contents;

pub(super) fn put<P: Contents>(frames: &Frames<P>, out: &mut Vec<u8>) {
    if frames.0.is_empty() {
        out.push(kind::PAD);
    }
    let last = frames.0.len().saturating_sub(1);
    for (n, frame) in frames.0.iter().enumerate() {
        put_frame(frame, n == last, out);
    }
}

fn put_frame<P: Contents>(frame: &Frame<P>, last: bool, out: &mut Vec<u8>) {
    let to_the_end = if last { kind::TO_THE_END } else { 0 };
    match frame {
        Frame::Stream { id, opening, offset, end, data } => {
            let open = if opening.is_some() { kind::OPEN } else { 0 };
            let end = if *end { kind::END } else { 0 };
            out.push(kind::STREAM | to_the_end | end | open);
            number(out, *id);
            if let Some(class) = opening {
                put_class(out, *class);
            }
            number(out, *offset);
            put_data(out, data.as_ref(), last);
        }
        Frame::Reset { id, reason, end } => {
            out.push(kind::RESET);
            number(out, *id);
            out.push(*reason);
            number(out, *end);
        }
        Frame::Class { id, change, class } => {
            out.push(kind::CLASS);
            number(out, *id);
            number(out, *change);
            put_class(out, *class);
        }
        Frame::Credit { id, limit } => {
            out.push(kind::CREDIT);
            number(out, *id);
            number(out, *limit);
        }
        Frame::Ends { ids } => {
            out.push(kind::ENDS);
            number(out, ids.len() as u64);
            let mut before = 0;
            for id in ids {
                number(out, id - before);
                before = *id;
            }
        }
        Frame::CreditEach { limit } => put_one(out, kind::CREDIT_EACH, *limit),
        Frame::CreditAll { limit } => put_one(out, kind::CREDIT_ALL, *limit),
        Frame::CreditStreams { limit } => put_one(out, kind::CREDIT_STREAMS, *limit),
        Frame::CreditDatagrams { limit } => put_one(out, kind::CREDIT_DATAGRAMS, *limit),
        Frame::DatagramsBefore { offset } => put_one(out, kind::DATAGRAMS_BEFORE, *offset),
        Frame::Datagram { channel, offset, data } => {
            out.push(kind::DATAGRAM | to_the_end);
            number(out, *channel);
            number(out, *offset);
            put_data(out, Some(data), last);
        }
    }
}

fn put_one(out: &mut Vec<u8>, kind: u8, value: u64) {
    out.push(kind);
    number(out, value);
}

fn put_class(out: &mut Vec<u8>, class: Class) {
    out.extend_from_slice(&[class.priority, class.weight]);
}

fn put_data<P: Contents>(out: &mut Vec<u8>, data: Option<&P>, last: bool) {
    if !last {
        number(out, data.map_or(0, |data| data.len() as u64));
    }
    if let Some(data) = data {
        data.put(out);
    }
}

/// Appends a number below 2^62 in one, two, four or eight bytes (RFC 9000 §16).
fn number(out: &mut Vec<u8>, value: u64) {
    match number_len(value) {
        1 => out.push(value as u8),
        2 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        4 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value & super::MOST | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}
