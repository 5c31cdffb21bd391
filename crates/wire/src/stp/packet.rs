//! One STP packet as a struct.
//!
//! Follows HT §5.1.1 and figure 5.1; docs/stp.md §3 gives every byte.
//! Differs: what is rare lies in a box, so that the packet of the bulk, data with or without a POLL, stays small.
//! Leaves out lengths and checksums, which follow from the rest.

use super::payload::Contents;

/// Bytes of the header that every packet has.
pub const HEADER_LEN: usize = 12;

/// The bits of the header's type field; a packet's type is the OR of what it contains.
pub mod kind {
    /// Sequenced data.
    pub const SD: u8 = 0x01;
    /// Asks for a STAT.
    pub const POLL: u8 = 0x02;
    /// The state of the receiver.
    pub const STAT: u8 = 0x04;
    /// Gaps, unasked.
    pub const USTAT: u8 = 0x08;
    /// Opens.
    pub const BGN: u8 = 0x10;
    /// Answers a BGN.
    pub const BGNAK: u8 = 0x20;
    /// Ends a direction, or with a reason the connection.
    pub const END: u8 = 0x40;
    /// Answers an END.
    pub const ENDAK: u8 = 0x80;
}

/// Bit of a list's flags: the short form.
pub const COMPACT: u8 = 0x01;
/// Bit of a STAT's flags: the receiver's clock and count are in it.
pub const REPORT: u8 = 0x02;
/// Bit of a STAT's flags in the long form: nothing is missing, and what a list speaks of is left out.
pub const BARE: u8 = 0x04;

/// What the two ends agree on: the initiator offers, the other end keeps what it understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(pub u8);

impl Features {
    /// The plain format of the papers.
    pub const PLAIN: Features = Features(0);
    /// Lists in their short form, several gaps to a USTAT.
    pub const COMPACT: Features = Features(0x01);
    /// STATs with the receiver's clock and count of packets.
    pub const REPORT: Features = Features(0x02);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }
    /// Both.
    pub const fn with(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }
    /// What both have.
    pub const fn common(self, other: Features) -> Features {
        Features(self.0 & other.0)
    }
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// This direction has sent all that it will.
    Finished,
    /// The application gave up.
    Aborted,
    /// The peer was silent for too long.
    Silent,
    /// Nobody listens, or the listener is full.
    Refused,
    /// The peers do not understand each other.
    Protocol,
    /// They do not for want of a common version: those from the first to the second are understood.
    Versions(u8, u8),
    /// A number that is not defined.
    Other(u8),
}

impl Reason {
    /// The byte on the wire.
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
    /// From the byte on the wire.
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
    /// The three bytes behind it: versions, if they are named.
    pub(super) const fn detail(self) -> u32 {
        match self {
            Reason::Versions(lowest, highest) => (lowest as u32) << 16 | (highest as u32) << 8,
            _ => 0,
        }
    }
    /// From the byte and the three behind it.
    pub(super) const fn read(number: u8, detail: u32) -> Self {
        let (lowest, highest) = ((detail >> 16) as u8, (detail >> 8) as u8);
        if number == 4 && lowest > 0 && highest >= lowest {
            return Reason::Versions(lowest, highest);
        }
        Self::from_number(number)
    }
}

/// What a BGN or BGNAK says of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    /// Version of the layout.
    pub version: u8,
    /// Offered (BGN) or agreed (BGNAK).
    pub features: Features,
    /// The most data that its sender takes in one SD, bytes.
    pub max_payload: u16,
    /// Number of the first SD that its sender will send; 24 bits.
    pub first: u32,
    /// N(MR): the first SD that its sender does not yet take; 24 bits. In a BGN it counts from zero: the peer's first number is not known yet.
    pub credit: u32,
    /// Connection count: grows with every connection of the initiator's, so that an old BGN is known; a BGNAK repeats it.
    pub count: u32,
}

/// An END.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// `Finished` ends one direction behind the packet's N(S); any other ends the connection.
    pub reason: Reason,
}

/// Numbers that have not arrived: from `start` up to and without `end`; 24 bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first missing.
    pub start: u32,
    /// The first behind it that is not.
    pub end: u32,
}

/// The receiver's clock and count when the POLL came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Different SDs received since the connection began, modulo 2^32.
    pub received: u32,
    /// The receiver's clock, microseconds modulo 2^32.
    pub at: u32,
    /// How long the answer was held back, microseconds.
    pub delayed: u32,
}

/// The state of the receiver, as the answer to a POLL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// The POLL's timestamp.
    pub echo: u32,
    /// N(R): everything before it has arrived; 24 bits.
    pub next: u32,
    /// N(MR): the first SD that is not yet taken; 24 bits.
    pub credit: u32,
    /// The list speaks of the numbers from here …
    pub from: u32,
    /// … up to and without this one. Whatever of them is in no gap has arrived.
    pub upto: u32,
    /// What is missing, in order.
    pub gaps: Vec<Gap>,
    /// Present if agreed.
    pub report: Option<Report>,
    /// Written in the short form.
    pub compact: bool,
}

/// Gaps, reported when they are seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ustat {
    /// N(R).
    pub next: u32,
    /// N(MR).
    pub credit: u32,
    /// What is missing, in order; exactly one in the plain format.
    pub gaps: Vec<Gap>,
    /// Written in the short form.
    pub compact: bool,
}

/// The contents that most packets do not have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Control {
    /// BGN.
    pub begin: Option<Begin>,
    /// BGNAK.
    pub begin_ack: Option<Begin>,
    /// END.
    pub end: Option<End>,
    /// ENDAK.
    pub end_ack: bool,
    /// STAT.
    pub stat: Option<Stat>,
    /// USTAT.
    pub ustat: Option<Ustat>,
    /// Bytes that fill a POLL without data up to a size that is to be tried.
    pub padding: u16,
}

impl Control {
    /// Whether it holds nothing.
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
    /// Bytes on the wire.
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
    /// Tells connections of the same ports apart; the initiator chooses.
    pub instance: u16,
    /// N(S): the number of the data; without data, that of the next SD to be sent for the first time. 24 bits.
    pub seq: u32,
    /// Timestamp of a POLL: the sender's clock in microseconds modulo 2^32, larger with every POLL.
    pub poll: Option<u32>,
    /// Data; never empty.
    pub data: Option<P>,
    /// What is rare.
    pub control: Option<Box<Control>>,
}

impl<P: Contents> Packet<P> {
    /// The header's type field.
    pub fn kind(&self) -> u8 {
        let data = if self.data.is_some() { kind::SD } else { 0 };
        let poll = if self.poll.is_some() { kind::POLL } else { 0 };
        data | poll | self.control.as_ref().map_or(0, |control| control.kind())
    }
    /// Bytes of header, contents and data.
    pub fn wire_len(&self) -> usize {
        HEADER_LEN
            + 4 * self.poll.is_some() as usize
            + self.control.as_ref().map_or(0, |control| control.wire_len())
            + self.data.as_ref().map_or(0, Contents::len)
    }
    /// The number behind everything that this packet says has been sent: what a POLL or an END in it refers to.
    pub fn behind(&self) -> u32 {
        (self.seq + self.data.is_some() as u32) & super::SEQUENCE_MASK
    }
}

impl<P> Packet<P> {
    /// The same packet with other data, if they can be made.
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
    /// The same packet with other data.
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
