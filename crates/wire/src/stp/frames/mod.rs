//! What the data of an association's packets consist of: frames of streams, datagrams, credit.
//!
//! Follows docs/stp.md §15.2, which gives every byte; RFC 9000 §16 and §19 in variable-length numbers and in what a stream says.
//! Differs from QUIC: acknowledgments, POLLs and repeats belong to the packet around them; an opening says its class.
//! Leaves out what a frame does to a stream, which is the machine's business.

mod emit;
mod parse;

use super::payload::Contents;
pub use parse::FrameError;

/// The largest number that a frame can hold (RFC 9000 §16).
pub const MOST: u64 = (1 << 62) - 1;
/// The most urgent priority.
pub const PRIORITY_FIRST: u8 = 0;
/// The least urgent one.
pub const PRIORITY_LAST: u8 = 7;

/// The types of frames; a stream's has three bits below its own.
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
    /// Bit of STREAM and DATAGRAM: the data reach to the end of the packet, and have no length.
    pub const TO_THE_END: u8 = 0x01;
    /// Bit of STREAM: this direction ends behind the data.
    pub const END: u8 = 0x02;
    /// Bit of STREAM: the class follows the id.
    pub const OPEN: u8 = 0x04;
}

/// Which streams go first: of two priorities the lower number; of one priority each by its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// 0 to 7; whoever is at a lower number has something to send goes first.
    pub priority: u8,
    /// 1 to 255: the share among streams of one priority.
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
    /// A piece of one direction of a stream, its opening, its end, or several of these.
    Stream {
        /// Number of the stream; even ones are the initiator's.
        id: u64,
        /// The opener's wish, on every frame until one of them is known to have arrived.
        opening: Option<Class>,
        /// Where the data lie in the stream.
        offset: u64,
        /// This direction ends behind the data.
        end: bool,
        /// Without any only to open or to end.
        data: Option<P>,
    },
    /// Both directions of a stream are broken off.
    Reset {
        /// The stream.
        id: u64,
        /// As in an END; 1 aborted, 2 silent, 3 refused, 4 protocol error.
        reason: u8,
        /// Behind the last byte that its sender has sent in the stream.
        end: u64,
    },
    /// The class of a stream has changed.
    Class {
        /// The stream.
        id: u64,
        /// How often its sender has changed it: the highest holds.
        change: u64,
        /// The class from now on.
        class: Class,
    },
    /// The first byte of a stream that is not taken.
    Credit {
        /// The stream.
        id: u64,
        /// The offset.
        limit: u64,
    },
    /// This direction of several streams ends, and nothing has been sent in it.
    Ends {
        /// The streams, ascending; never none.
        ids: Vec<u64>,
    },
    /// The first byte that is not taken of any stream of which nothing else has been said.
    CreditEach {
        /// The offset.
        limit: u64,
    },
    /// How many bytes of all streams together are taken, from the beginning.
    CreditAll {
        /// The sum of the streams' offsets.
        limit: u64,
    },
    /// How many streams the peer may have opened, from the beginning.
    CreditStreams {
        /// Their number.
        limit: u64,
    },
    /// The first byte of the datagrams' count that is not taken.
    CreditDatagrams {
        /// The offset.
        limit: u64,
    },
    /// Every datagram before this has been sent, or never will be.
    DatagramsBefore {
        /// Behind the last one's end.
        offset: u64,
    },
    /// Data that are neither repeated nor put in order.
    Datagram {
        /// Tells flows of datagrams apart.
        channel: u64,
        /// Bytes of all datagrams sent before it.
        offset: u64,
        /// The bytes; never empty.
        data: P,
    },
}

/// The data of one packet. Without a frame they are one byte of padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames<P>(pub Vec<Frame<P>>);

impl<P> Default for Frames<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Bytes of a number as QUIC writes it.
pub const fn number_len(number: u64) -> usize {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Bytes of a stream's frame but for its data and their length.
pub const fn stream_header(id: u64, opening: bool, offset: u64) -> usize {
    1 + number_len(id) + 2 * opening as usize + number_len(offset)
}

/// Bytes of a datagram's frame but for its data and their length.
pub const fn datagram_header(channel: u64, offset: u64) -> usize {
    1 + number_len(channel) + number_len(offset)
}

impl<P: Contents> Frame<P> {
    /// Bytes on the wire; what stands last in a packet needs no length of its data.
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
    /// The same frames with other data.
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
