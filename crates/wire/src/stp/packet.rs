//! An STP packet as a struct.
//!
//! Follows HT §5.1.1 and figure 5.1; docs/stp.md §3 defines every byte.
//! Differs: contents that few packets have are boxed, so that the common packet (data with or without a POLL) stays small.
//! Leaves out lengths and checksums, which follow from the rest.

use super::payload::Contents;

/// Length of the header, bytes.
pub const HEADER_LEN: usize = 12;

/// Bits of the header's type field; a packet's type is the OR of its contents.
pub mod kind {
    /// Sequenced data.
    pub const SD: u8 = 0x01;
    /// Request for a STAT.
    pub const POLL: u8 = 0x02;
    /// State of the receiver, in answer to a POLL.
    pub const STAT: u8 = 0x04;
    /// Gaps that the receiver reports unasked.
    pub const USTAT: u8 = 0x08;
    /// Request to open a connection.
    pub const BGN: u8 = 0x10;
    /// Answer to a BGN.
    pub const BGNAK: u8 = 0x20;
    /// End of one direction, or of the connection if it gives a reason.
    pub const END: u8 = 0x40;
    /// Answer to an END.
    pub const ENDAK: u8 = 0x80;
}

/// Flag of a list: it is in the short form.
pub const COMPACT: u8 = 0x01;
/// Flag of a STAT: it has the receiver's clock and packet count.
pub const REPORT: u8 = 0x02;
/// Flag of a STAT in the plain form: nothing is missing, and the list's range is left out.
pub const BARE: u8 = 0x04;
/// Flag of a STAT: counts of ECN follow the report.
pub const MARKS: u8 = 0x08;

/// Optional features: the initiator offers some, and the other end keeps those that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(pub u8);

impl Features {
    /// No feature: the plain format of the papers.
    pub const PLAIN: Features = Features(0);
    /// Lists in short form, and several gaps in one USTAT.
    pub const COMPACT: Features = Features(0x01);
    /// STATs with the receiver's clock and packet count.
    pub const REPORT: Features = Features(0x02);
    /// Packets are ECN-capable, and reports count those that were marked.
    pub const ECN: Features = Features(0x04);

    /// Returns true if all bits of `other` are set.
    pub const fn has(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }
    /// The union of both sets.
    pub const fn with(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }
    /// The intersection of both sets.
    pub const fn common(self, other: Features) -> Features {
        Features(self.0 & other.0)
    }
}

/// Reason for the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// This direction has sent all of its data.
    Finished,
    /// The application aborted the connection.
    Aborted,
    /// The peer was silent for too long.
    Silent,
    /// No listener accepts the connection, or the listener is full.
    Refused,
    /// A violation of the protocol.
    Protocol,
    /// No common version: the sender understands those from the first to the second.
    Versions(u8, u8),
    /// A reason that is not defined.
    Other(u8),
}

impl Reason {
    /// The reason as its byte in the packet.
    pub const fn number(self) -> u8 {
        match self {
            Reason::Finished => 0,
            Reason::Aborted => 1,
            Reason::Silent => 2,
            Reason::Refused => 3,
            Reason::Protocol | Reason::Versions(..) => 4,
            Reason::Other(number) => number,
        }
    }
    /// The reason for a byte in the packet.
    pub const fn from_number(number: u8) -> Self {
        match number {
            0 => Reason::Finished,
            1 => Reason::Aborted,
            2 => Reason::Silent,
            3 => Reason::Refused,
            4 => Reason::Protocol,
            number => Reason::Other(number),
        }
    }
    /// The three bytes after the reason: the version range of [`Reason::Versions`], else zero.
    pub(super) const fn detail(self) -> u32 {
        match self {
            Reason::Versions(lowest, highest) => (lowest as u32) << 16 | (highest as u32) << 8,
            _ => 0,
        }
    }
    /// The reason for its byte and the three bytes after it.
    pub(super) const fn read(number: u8, detail: u32) -> Self {
        let (lowest, highest) = ((detail >> 16) as u8, (detail >> 8) as u8);
        if number == 4 && lowest > 0 && highest >= lowest {
            return Reason::Versions(lowest, highest);
        }
        Self::from_number(number)
    }
}

/// The contents of a BGN or a BGNAK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    /// Version of the packet layout.
    pub version: u8,
    /// Features offered (BGN) or agreed (BGNAK).
    pub features: Features,
    /// Largest payload that the sender of this packet accepts in an SD, bytes.
    pub max_payload: u16,
    /// Number of the first SD that the sender of this packet will send, 24 bits.
    pub first: u32,
    /// N(MR): number of the first SD that is not yet accepted, 24 bits. In a BGN it counts from zero, as the peer's first number
    /// is unknown.
    pub credit: u32,
    /// Connection count, larger in each connection of the initiator, so that an old BGN is recognised; a BGNAK repeats it.
    pub count: u32,
}

/// The contents of an END.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// `Finished` ends one direction after N(S) of the packet; every other reason ends the connection.
    pub reason: Reason,
}

/// Numbers that have not arrived: `start` to `end`, exclusive; 24 bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first missing number.
    pub start: u32,
    /// The first number after the gap, not missing.
    pub end: u32,
}

/// Received SDs whose ECN field was not ECT(0), as counts since the connection began, modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarkCounts {
    /// Those that came with CE: a queue has marked them.
    pub marked: u32,
    /// Those that came with Not-ECT or ECT(1), in which they were not sent.
    pub erased: u32,
}

/// The receiver's clock and packet count at the arrival of the POLL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Distinct SDs received since the connection began, modulo 2^32.
    pub received: u32,
    /// The receiver's clock, microseconds modulo 2^32.
    pub at: u32,
    /// Time between the POLL and the answer, microseconds.
    pub delayed: u32,
    /// Counts of ECN, if the ends agreed on [`Features::ECN`] and one of them is not zero.
    pub marks: Option<MarkCounts>,
}

/// The state of the receiver, as the answer to a POLL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Timestamp of the POLL that it answers.
    pub echo: u32,
    /// N(R): every SD before this number has arrived; 24 bits.
    pub next: u32,
    /// N(MR): number of the first SD that is not yet accepted, 24 bits.
    pub credit: u32,
    /// First number of the range that the list covers.
    pub from: u32,
    /// End of that range, exclusive. Every number of it that is in no gap has arrived.
    pub upto: u32,
    /// The missing numbers of the range, ascending.
    pub gaps: Vec<Gap>,
    /// The receiver's clock and count, if the ends agreed on [`Features::REPORT`].
    pub report: Option<Report>,
    /// True if it is written in the short form.
    pub compact: bool,
}

/// Gaps, reported as soon as they are detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ustat {
    /// N(R), as in [`Stat::next`].
    pub next: u32,
    /// N(MR), as in [`Stat::credit`].
    pub credit: u32,
    /// The missing numbers, ascending; exactly one gap in the plain format.
    pub gaps: Vec<Gap>,
    /// True if it is written in the short form.
    pub compact: bool,
}

/// The contents that most packets lack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Control {
    /// The BGN, if there is one.
    pub begin: Option<Begin>,
    /// The BGNAK, if there is one.
    pub begin_ack: Option<Begin>,
    /// The END, if there is one.
    pub end: Option<End>,
    /// True if there is an ENDAK.
    pub end_ack: bool,
    /// The STAT, if there is one.
    pub stat: Option<Stat>,
    /// The USTAT, if there is one.
    pub ustat: Option<Ustat>,
    /// Padding that brings a POLL without data to the size of a path MTU probe, bytes.
    pub padding: u16,
}

impl Control {
    /// Returns true if it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.kind() == 0 && self.padding == 0
    }
    fn kind(&self) -> u8 {
        let bit = |present: bool, bit: u8| if present { bit } else { 0 };
        bit(self.begin.is_some(), kind::BGN)
            | bit(self.begin_ack.is_some(), kind::BGNAK)
            | bit(self.end.is_some(), kind::END)
            | bit(self.end_ack, kind::ENDAK)
            | bit(self.stat.is_some(), kind::STAT)
            | bit(self.ustat.is_some(), kind::USTAT)
    }
    /// Encoded length, bytes.
    pub fn wire_len(&self) -> usize {
        let begin = 16 * (self.begin.is_some() as usize + self.begin_ack.is_some() as usize);
        let end = 4 * self.end.is_some() as usize;
        begin
            + end
            + self.stat.as_ref().map_or(0, Stat::wire_len)
            + self.ustat.as_ref().map_or(0, Ustat::wire_len)
            + usize::from(self.padding)
    }
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<P> {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Number chosen by the initiator, which distinguishes connections between the same ports.
    pub instance: u16,
    /// N(S): number of the data; in a packet without data, the number of the next new SD. 24 bits.
    pub seq: u32,
    /// Timestamp of the POLL: the sender's clock in microseconds modulo 2^32, larger in each POLL.
    pub poll: Option<u32>,
    /// The data; never empty.
    pub data: Option<P>,
    /// The contents that most packets lack.
    pub control: Option<Box<Control>>,
}

impl<P: Contents> Packet<P> {
    /// The header's type field.
    pub fn kind(&self) -> u8 {
        let data = if self.data.is_some() { kind::SD } else { 0 };
        let poll = if self.poll.is_some() { kind::POLL } else { 0 };
        data | poll | self.control.as_ref().map_or(0, |control| control.kind())
    }
    /// Length of header, contents and data, bytes.
    pub fn wire_len(&self) -> usize {
        HEADER_LEN
            + 4 * self.poll.is_some() as usize
            + self.control.as_ref().map_or(0, |control| control.wire_len())
            + self.data.as_ref().map_or(0, Contents::len)
    }
    /// The number after the last SD that had been sent when this packet was: the one that a POLL or an END in it refers to.
    pub fn behind(&self) -> u32 {
        (self.seq + self.data.is_some() as u32) & super::SEQUENCE_MASK
    }
}

impl<P> Packet<P> {
    /// The packet with its data replaced by `data` of them; fails as `data` does.
    pub fn try_map<Q, E>(self, data: impl FnOnce(P) -> Result<Q, E>) -> Result<Packet<Q>, E> {
        let packet = self.map(data);
        let whole = packet.data.transpose()?;
        Ok(Packet {
            source_port: packet.source_port,
            destination_port: packet.destination_port,
            instance: packet.instance,
            seq: packet.seq,
            poll: packet.poll,
            data: whole,
            control: packet.control,
        })
    }
    /// The packet with its data replaced by `data` of them.
    pub fn map<Q>(self, data: impl FnOnce(P) -> Q) -> Packet<Q> {
        Packet {
            source_port: self.source_port,
            destination_port: self.destination_port,
            instance: self.instance,
            seq: self.seq,
            poll: self.poll,
            data: self.data.map(data),
            control: self.control,
        }
    }
}
