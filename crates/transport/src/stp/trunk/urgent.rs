//! Frames that an association sends before all that wait for a turn.
//!
//! Follows docs/stp.md §15.6: other frames go before STREAM and DATAGRAM, and so does what a stream must send without new data.
//! Differs from a list of frames: a stream has one place, and leaves it behind when it goes, so that the end of many is not quadratic.

use skyhop_wire::stp::{Frame, Payload};
use std::collections::VecDeque;

/// Places of streams that have gone, beyond as many as half of all, from which on they are removed before their turn.
const SPARE: usize = 64;

#[derive(Debug)]
pub(super) enum Urgent<P> {
    Frame(Frame<P>),
    /// A stream's opening or end without data, or data that were left out of a packet.
    Stream(u64),
}

impl<P: Payload> Urgent<P> {
    fn is_reset(&self) -> bool {
        matches!(self, Self::Frame(Frame::Reset { .. }))
    }

    /// Approximate size, bytes.
    fn bytes(&self) -> u64 {
        match self {
            Self::Frame(frame) => frame.wire_len(false) as u64,
            Self::Stream(_) => 1,
        }
    }
}

#[derive(Debug)]
pub(super) struct UrgentFrames<P> {
    queue: VecDeque<Urgent<P>>,
    /// Approximate size of all but streams that have gone, bytes.
    bytes: u64,
    /// Streams that have gone.
    gone: usize,
    /// Frames that reset a stream, which the peer's packets cause.
    resets: usize,
}

impl<P> Default for UrgentFrames<P> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), bytes: 0, gone: 0, resets: 0 }
    }
}

impl<P: Payload> UrgentFrames<P> {
    /// Number of frames and streams.
    pub fn len(&self) -> usize {
        self.queue.len() - self.gone
    }

    /// Number of frames that reset a stream.
    pub fn resets(&self) -> usize {
        self.resets
    }

    /// Approximate size, bytes; zero exactly if there are none.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn count(&mut self, urgent: &Urgent<P>) {
        self.bytes += urgent.bytes();
        self.resets += usize::from(urgent.is_reset());
    }

    pub fn push(&mut self, urgent: Urgent<P>) {
        self.count(&urgent);
        self.queue.push_back(urgent);
    }

    /// Takes back what did not fit a packet.
    pub fn put_back(&mut self, urgent: Urgent<P>) {
        self.count(&urgent);
        self.queue.push_front(urgent);
    }

    /// The first frame, or the first stream that `exists`.
    pub fn pop(&mut self, exists: impl Fn(u64) -> bool) -> Option<Urgent<P>> {
        loop {
            match self.queue.pop_front()? {
                Urgent::Stream(id) if !exists(id) => self.gone -= 1,
                urgent => {
                    self.bytes -= urgent.bytes();
                    self.resets -= usize::from(urgent.is_reset());
                    return Some(urgent);
                }
            }
        }
    }

    /// Records that one of its streams has gone, and does not exist any more.
    pub fn leave(&mut self, exists: impl Fn(u64) -> bool) {
        self.bytes -= 1;
        self.gone += 1;
        if self.gone > self.queue.len() / 2 + SPARE {
            self.queue.retain(|urgent| !matches!(urgent, Urgent::Stream(id) if !exists(*id)));
            self.gone = 0;
        }
    }

    /// Gives the memory back.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
