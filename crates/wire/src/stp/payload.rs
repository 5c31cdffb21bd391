//! The payload of a data packet: real bytes, or only their number.
//!
//! The simulator needs to send a terabyte at no cost, and the hosts need to send a file.
//! Differs from a byte slice: pieces are cut from the front and joined at the end without a copy where possible.
//! Leaves out the meaning of the bytes.

use bytes::{Buf, Bytes, BytesMut};

/// The interface of a payload that the packet formats need. The default is empty.
pub trait Contents: Clone + Default + std::fmt::Debug {
    /// Length, bytes.
    fn len(&self) -> usize;
    /// Returns true if the length is zero.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Appends the bytes to `out`.
    fn put(&self, out: &mut Vec<u8>);
}

/// A payload that can be cut into packets and joined again.
pub trait Payload: Contents {
    /// Takes the first `n` bytes off; `n` is at most the length.
    fn split_to(&mut self, n: usize) -> Self;
    /// Appends `more` if that is cheap, given that the whole will be cut into packets of `packet` bytes; else returns it.
    fn join(&mut self, more: Self, packet: usize) -> Option<Self>;
    /// The same payload in its own memory, if it is part of a much larger buffer.
    fn owned(self) -> Self {
        self
    }
}

/// A payload of which only the length is known, bytes; it is written as zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct PayloadLength(pub u64);

impl Contents for PayloadLength {
    fn len(&self) -> usize {
        self.0 as usize
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.resize(out.len() + self.len(), 0);
    }
}

impl Payload for PayloadLength {
    fn split_to(&mut self, n: usize) -> Self {
        self.0 -= n as u64;
        PayloadLength(n as u64)
    }
    fn join(&mut self, more: Self, _packet: usize) -> Option<Self> {
        self.0 = self.0.saturating_add(more.0);
        None
    }
}

impl Contents for Bytes {
    fn len(&self) -> usize {
        Bytes::len(self)
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

impl Payload for Bytes {
    fn split_to(&mut self, n: usize) -> Self {
        Bytes::split_to(self, n)
    }
    fn join(&mut self, mut more: Self, packet: usize) -> Option<Self> {
        let room = packet.saturating_sub(self.len());
        if room == 0 || more.is_empty() {
            return Some(more);
        }
        // Small writes share a packet: less than one packet is copied.
        let taken = room.min(more.len());
        let mut joined = BytesMut::with_capacity(self.len() + taken);
        joined.extend_from_slice(self);
        joined.extend_from_slice(&more[..taken]);
        more.advance(taken);
        *self = joined.freeze();
        (!more.is_empty()).then_some(more)
    }
    fn owned(self) -> Self {
        Bytes::copy_from_slice(&self)
    }
}
