//! A packet while it is filled with frames.
//!
//! Follows docs/stp.md §15.2: the last frame of a packet has no length, all before it have.
//! Differs from a list of frames: it knows the space left.
//! Leaves out the choice of frames.

use skyhop_wire::stp::{Contents, Frame, Frames, number_len};

/// Smallest amount of data for which a further frame is begun: less would be mostly header.
pub(super) const CRUMB: usize = 32;

#[derive(Debug)]
pub(super) struct Packing<P> {
    room: usize,
    /// Bytes of the frames so far, if another one follows.
    len: usize,
    frames: Frames<P>,
}

impl<P: Contents> Packing<P> {
    pub fn new(room: usize) -> Self {
        Self { room, len: 0, frames: Frames::default() }
    }

    /// Bytes left for a frame that would be the last.
    pub fn room(&self) -> usize {
        self.room.saturating_sub(self.len)
    }

    pub fn is_empty(&self) -> bool {
        self.frames.0.is_empty()
    }

    pub fn fits(&self, frame: &Frame<P>) -> bool {
        frame.wire_len(true) <= self.room()
    }

    /// Returns true if `available` bytes of data after a header are worth a frame.
    pub fn worth(&self, header: usize, available: usize) -> bool {
        let room = self.room().saturating_sub(header);
        room > 0 && (self.is_empty() || room >= available.min(CRUMB))
    }

    pub fn push(&mut self, frame: Frame<P>) {
        self.len += frame.wire_len(false);
        self.frames.0.push(frame);
    }

    /// Adds a stream that ends without data. Returns false if there is no room.
    pub fn push_end(&mut self, id: u64) -> bool {
        if let Some(Frame::Ends { ids }) = self.frames.0.last_mut()
            && let Some(last) = ids.last()
            && id > *last
        {
            let count = ids.len() as u64;
            let more = number_len(id - last) + number_len(count + 1) - number_len(count);
            let fits = more <= self.room.saturating_sub(self.len);
            if fits {
                ids.push(id);
                self.len += more;
            }
            return fits;
        }
        let frame = Frame::Ends { ids: vec![id] };
        let fits = self.fits(&frame);
        if fits {
            self.push(frame);
        }
        fits
    }

    pub fn done(self) -> Frames<P> {
        self.frames
    }
}
