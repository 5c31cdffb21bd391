//! The data of an association's packets: frames of streams, datagrams and credit.
//!
//! Follows docs/stp.md §15.2, which defines every byte; RFC 9000 §16 for variable-length numbers and §19 for the fields of a
//! stream's frame.
//! Differs from QUIC: acknowledgments, POLLs and retransmissions belong to the packet around the frames; an opening gives its class.
//! Leaves out the effect of a frame on a stream, which the machine decides.

mod emit;
mod parse;

use super::payload::Contents;
pub use parse::FrameError;
use smallvec::SmallVec;

/// The largest number that a frame can hold (RFC 9000 §16).
pub const MOST: u64 = (1 << 62) - 1;
/// The most urgent priority.
pub const PRIORITY_FIRST: u8 = 0;
/// The least urgent priority.
pub const PRIORITY_LAST: u8 = 7;

/// Frame types. The three low bits of a STREAM frame's type are flags.
mod kind {
    pub const PAD: u8 = 0x00;
    pub const RESET: u8 = 0x01;
    pub const CLASS: u8 = 0x02;
    pub const CREDIT: u8 = 0x03;
    pub const CREDIT_ALL: u8 = 0x04;
    pub const CREDIT_STREAMS: u8 = 0x05;
    pub const CREDIT_DATAGRAMS: u8 = 0x06;
    pub const DATAGRAMS_BEFORE: u8 = 0x07;
    pub const STREAM: u8 = 0x08;
    pub const DATAGRAM: u8 = 0x10;
    pub const CREDIT_EACH: u8 = 0x12;
    pub const ENDS: u8 = 0x13;
    /// Flag of STREAM and DATAGRAM: the data extend to the end of the packet and have no length field.
    pub const TO_THE_END: u8 = 0x01;
    /// Flag of STREAM: this direction ends after the data.
    pub const END: u8 = 0x02;
    /// Flag of STREAM: the class follows the id.
    pub const OPEN: u8 = 0x04;
}

/// Order among streams: a lower priority number goes first; streams of equal priority share by weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Priority, 0 to 7. A stream with data to send goes before every stream of a higher number.
    pub priority: u8,
    /// Share among streams of one priority, 1 to 255.
    pub weight: u8,
}

impl Default for Class {
    fn default() -> Self {
        Self { priority: 3, weight: 16 }
    }
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame<P> {
    /// A piece of one direction of a stream, and possibly its opening or its end.
    Stream {
        /// Number of the stream; the initiator's are even.
        id: u64,
        /// Class that the opener asks for; on every frame until one is known to have arrived.
        opening: Option<Class>,
        /// Offset of the data in the stream, bytes.
        offset: u64,
        /// True if this direction ends after the data.
        end: bool,
        /// The data; `None` in a frame that only opens or ends.
        data: Option<P>,
    },
    /// Aborts both directions of a stream.
    Reset {
        /// Number of the stream.
        id: u64,
        /// Reason as in an END: 1 aborted, 2 silent, 3 refused, 4 protocol error.
        reason: u8,
        /// Offset after the last byte that the sender of this frame has sent in the stream.
        end: u64,
    },
    /// Changes the class of a stream.
    Class {
        /// Number of the stream.
        id: u64,
        /// Count of the changes that the sender has made to this stream; the highest count holds.
        change: u64,
        /// The new class.
        class: Class,
    },
    /// Flow control of one stream.
    Credit {
        /// Number of the stream.
        id: u64,
        /// Offset of the first byte that is not accepted.
        limit: u64,
    },
    /// Ends this direction of several streams in which nothing has been sent.
    Ends {
        /// Numbers of the streams, ascending; never empty.
        ids: Vec<u64>,
    },
    /// Flow control of every stream that has had no [`Frame::Credit`].
    CreditEach {
        /// Offset of the first byte that is not accepted.
        limit: u64,
    },
    /// Flow control of all streams together.
    CreditAll {
        /// Limit of the sum of all streams' offsets, bytes since the association began.
        limit: u64,
    },
    /// Limit of the streams that the peer may open.
    CreditStreams {
        /// Number of streams since the association began.
        limit: u64,
    },
    /// Flow control of datagrams.
    CreditDatagrams {
        /// Offset of the first byte that is not accepted, counted over all datagrams.
        limit: u64,
    },
    /// States that every datagram before an offset has been sent, or never will be.
    DatagramsBefore {
        /// Offset after the last of these datagrams.
        offset: u64,
    },
    /// A datagram: data that are neither retransmitted nor put in order.
    Datagram {
        /// Number of the flow of datagrams that this one belongs to.
        channel: u64,
        /// Bytes of all datagrams sent before this one.
        offset: u64,
        /// The data; never empty.
        data: P,
    },
}

/// The data of one packet. A packet without frames has one byte of padding.
///
/// Most packets have one frame, which needs no memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames<P>(pub SmallVec<[Frame<P>; 1]>);

impl<P> Default for Frames<P> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

/// Length of a variable-length number (RFC 9000 §16), bytes.
pub const fn number_len(number: u64) -> usize {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Length of a STREAM frame without its data and their length field, bytes.
pub const fn stream_header(id: u64, opening: bool, offset: u64) -> usize {
    1 + number_len(id) + 2 * opening as usize + number_len(offset)
}

/// Length of a DATAGRAM frame without its data and their length field, bytes.
pub const fn datagram_header(channel: u64, offset: u64) -> usize {
    1 + number_len(channel) + number_len(offset)
}

impl<P: Contents> Frame<P> {
    /// Encoded length, bytes. The last frame of a packet needs no length field for its data.
    pub fn wire_len(&self, last: bool) -> usize {
        let with_data = |len: usize| len + if last { 0 } else { number_len(len as u64) };
        match self {
            Frame::Stream { id, opening, offset, data, .. } => {
                stream_header(*id, opening.is_some(), *offset)
                    + with_data(data.as_ref().map_or(0, Contents::len))
            }
            Frame::Reset { id, end, .. } => 2 + number_len(*id) + number_len(*end),
            Frame::Class { id, change, .. } => 3 + number_len(*id) + number_len(*change),
            Frame::Credit { id, limit } => 1 + number_len(*id) + number_len(*limit),
            Frame::Ends { ids } => {
                let distances = ids.windows(2).map(|pair| number_len(pair[1] - pair[0]));
                let first = ids.first().map_or(0, |id| number_len(*id));
                1 + number_len(ids.len() as u64) + first + distances.sum::<usize>()
            }
            Frame::CreditEach { limit }
            | Frame::CreditAll { limit }
            | Frame::CreditStreams { limit }
            | Frame::CreditDatagrams { limit }
            | Frame::DatagramsBefore { offset: limit } => 1 + number_len(*limit),
            Frame::Datagram { channel, offset, data } => {
                datagram_header(*channel, *offset) + with_data(data.len())
            }
        }
    }
}

impl<P> Frames<P> {
    /// The same frames with each piece of data replaced by `to` of it.
    pub fn map<Q>(self, mut to: impl FnMut(P) -> Q) -> Frames<Q> {
        let frame = |frame| match frame {
            Frame::Stream { id, opening, offset, end, data } => {
                Frame::Stream { id, opening, offset, end, data: data.map(&mut to) }
            }
            Frame::Datagram { channel, offset, data } => Frame::Datagram { channel, offset, data: to(data) },
            Frame::Reset { id, reason, end } => Frame::Reset { id, reason, end },
            Frame::Class { id, change, class } => Frame::Class { id, change, class },
            Frame::Credit { id, limit } => Frame::Credit { id, limit },
            Frame::Ends { ids } => Frame::Ends { ids },
            Frame::CreditEach { limit } => Frame::CreditEach { limit },
            Frame::CreditAll { limit } => Frame::CreditAll { limit },
            Frame::CreditStreams { limit } => Frame::CreditStreams { limit },
            Frame::CreditDatagrams { limit } => Frame::CreditDatagrams { limit },
            Frame::DatagramsBefore { offset } => Frame::DatagramsBefore { offset },
        };
        Frames(self.0.into_iter().map(frame).collect())
    }
}

impl<P: Contents> Contents for Frames<P> {
    fn len(&self) -> usize {
        let last = self.0.len().saturating_sub(1);
        self.0.iter().enumerate().map(|(n, frame)| frame.wire_len(n == last)).sum::<usize>().max(1)
    }
    fn put(&self, out: &mut Vec<u8>) {
        emit::put(self, out);
    }
}
