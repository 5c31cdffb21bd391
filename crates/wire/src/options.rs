//! TCP options as bytes, and the reverse.
//!
//! Follows RFC 9293 §3.2 and the registry of kinds: 2 MSS, 3 window scale, 4 and 5 SACK, 8 timestamps, 11 to 13 CC, 34 Fast Open.
//! Differs: written in one fixed order, with padding only at the end; a cookie has eight bytes.
//! Leaves out every other kind, which is skipped.

use crate::tcp::{Opening, TcpHeader, Timestamps};

/// Options of a header, padded to a multiple of four bytes.
pub(crate) struct Written {
    bytes: [u8; 60],
    len: usize,
}

impl Written {
    fn put(&mut self, bytes: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }

    fn put_number(&mut self, kind: u8, number: u32) {
        self.put(&[kind, 6]);
        self.put(&number.to_be_bytes());
    }

    /// The options as bytes, at most the 40 that a header has room for.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len.next_multiple_of(4).min(40)]
    }
}

pub(crate) fn emit(tcp: &TcpHeader) -> Written {
    let mut out = Written { bytes: [0; 60], len: 0 };
    if let Some(mss) = tcp.mss {
        out.put(&[2, 4]);
        out.put(&mss.to_be_bytes());
    }
    if tcp.sack_permitted {
        out.put(&[4, 2]);
    }
    if let Some(ts) = tcp.timestamps {
        out.put(&[8, 10]);
        out.put(&ts.value.to_be_bytes());
        out.put(&ts.echo.to_be_bytes());
    }
    if let Some(scale) = tcp.window_scale {
        out.put(&[3, 3, scale]);
    }
    match tcp.opening {
        None => {}
        Some(Opening::Count(count)) => out.put_number(11, count),
        Some(Opening::NewCount(count)) => out.put_number(12, count),
        Some(Opening::EchoedCount { count, echo }) => {
            out.put_number(11, count);
            out.put_number(13, echo);
        }
        Some(Opening::CookieRequest) => out.put(&[34, 2]),
        Some(Opening::Cookie(cookie)) => {
            out.put(&[34, 10]);
            out.put(&cookie.to_be_bytes());
        }
    }
    let blocks = tcp.sack.as_slice();
    if !blocks.is_empty() {
        out.put(&[5, 2 + 8 * blocks.len() as u8]);
        for (left, right) in blocks {
            out.put(&left.to_be_bytes());
            out.put(&right.to_be_bytes());
        }
    }
    out
}

/// Reads the known options into `header`. An option with an impossible length ends the list.
pub(crate) fn parse(mut bytes: &[u8], header: &mut TcpHeader) {
    while let [kind, rest @ ..] = bytes {
        match kind {
            0 => return,
            1 => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let Some((&len, _)) = rest.split_first() else { return };
        let Some(value) = bytes.get(2..len as usize) else { return };
        bytes = &bytes[len as usize..];
        take(*kind, value, header);
    }
}

fn take(kind: u8, value: &[u8], header: &mut TcpHeader) {
    let number =
        |at: usize| value.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_be_bytes);
    match (kind, value.len()) {
        (2, 2) => header.mss = Some(u16::from_be_bytes([value[0], value[1]])),
        (3, 1) => header.window_scale = Some(value[0]),
        (4, 0) => header.sack_permitted = true,
        (5, 8 | 16 | 24 | 32) => {
            (0..value.len()).step_by(8).for_each(|at| header.sack.push(number(at), number(at + 4)));
        }
        (8, 8) => header.timestamps = Some(Timestamps { value: number(0), echo: number(4) }),
        (11, 4) => header.opening = Some(Opening::Count(number(0))),
        (12, 4) => header.opening = Some(Opening::NewCount(number(0))),
        (13, 4) => {
            if let Some(Opening::Count(count)) = header.opening {
                header.opening = Some(Opening::EchoedCount { count, echo: number(0) });
            }
        }
        (34, 0) => header.opening = Some(Opening::CookieRequest),
        (34, 8) => {
            header.opening = value.try_into().ok().map(|cookie| Opening::Cookie(u64::from_be_bytes(cookie)));
        }
        _ => {}
    }
}
