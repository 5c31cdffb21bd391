//! What a data packet carries: real bytes, or only their number.
//!
//! Follows the simulator's need to send a terabyte for nothing, and the hosts' need to send a file.
//! Differs from a byte slice: pieces are taken off the front and joined at the back without a copy where that is possible.
//! Leaves out what the bytes mean.

use bytes::{Buf, Bytes, BytesMut};

/// What a packet of data carries, as far as the packet has to know it. The default is empty.
pub trait Contents: Clone + Default + std::fmt::Debug {
    /// Bytes.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Writes the bytes behind `out`.
    fn put(&self, out: &mut Vec<u8>);
}

/// Data that can be cut into packets and put together again.
pub trait Payload: Contents {
    /// Takes the first `n` bytes off; `n` is at most the length.
    fn split_to(&mut self, n: usize) -> Self;
    /// Puts `more` behind this one if that costs little while the whole is to be cut into packets of `packet` bytes; else gives it back.
    fn join(&mut self, more: Self, packet: usize) -> Option<Self>;
    /// The same in memory of its own, where it is a part of something much larger.
    fn owned(self) -> Self {
        self
    }
}

/// So many bytes whose contents no one looks at; zeros where they have to be written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct Length(pub u64);

impl Contents for Length {
    fn len(&self) -> usize {
        self.0 as usize
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.resize(out.len() + self.len(), 0);
    }
}

impl Payload for Length {
    fn split_to(&mut self, n: usize) -> Self {
        self.0 -= n as u64;
        Length(n as u64)
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
        // Small writes share a packet: what is copied is less than one packet.
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
