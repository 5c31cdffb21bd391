//! The opening of a connection: the identity of its ends, the BGN and the answer to it.
//!
//! Follows HT §5.1.1 and docs/stp.md §3.2 and §5: a BGN is repeated by its timer until a BGNAK comes, and copies are answered.
//! Differs from TCP's handshake: the initiator's data do not wait for the answer, so several packets may carry the BGN.
//! Leaves out what the ends learn of each other's halves: first number, credit and packet size (`connection`).

use super::repeat_timer::RepeatTimer;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Begin, Features, Packet, SEQUENCE_MASK, wire_number};

/// Identity of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// This end's port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// Chosen by the initiator; a listener takes it from the BGN.
    pub instance: u16,
    /// The initiator's connection count; a listener takes it from the BGN.
    pub count: u32,
}

/// The exchange of BGN and BGNAK.
#[derive(Debug)]
pub(super) struct BeginExchange {
    pub ends: Ends,
    /// False for a listener.
    pub initiator: bool,
    /// The number of this end's first SD.
    pub first: u64,
    /// Features offered to the peer; once open, those of both ends.
    pub features: Features,
    /// True if both ends know of each other.
    open: bool,
    /// Number of BGNs sent.
    sent: u32,
    /// Time of the first BGN.
    first_sent: Option<Time>,
    /// True if a BGNAK is to be sent, and the number of those sent.
    pub answer_due: bool,
    answers: u32,
    pub timer: RepeatTimer,
}

impl BeginExchange {
    pub fn new(ends: Ends, first: u64, initiator: bool, features: Features) -> Self {
        Self {
            ends,
            initiator,
            first,
            features,
            open: false,
            sent: 0,
            first_sent: None,
            answer_due: false,
            answers: 0,
            timer: RepeatTimer::default(),
        }
    }

    /// Returns true if both ends know of each other.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Returns true if this end may send: an initiator at once, a listener when it has a peer.
    pub fn may_send(&self) -> bool {
        self.initiator || self.open
    }

    /// Returns true if the peer may know of the connection: not before a BGN was sent or received.
    pub fn may_be_known(&self) -> bool {
        self.open || self.sent > 0
    }

    /// Returns true if a BGN has been sent, and the peer has not answered.
    pub fn waits(&self) -> bool {
        self.initiator && !self.open && self.sent > 0
    }

    /// Returns true if a packet is from the peer, or opens the connection of a listener.
    pub fn accepts<P>(&self, packet: &Packet<P>) -> bool {
        if packet.destination_port != self.ends.local_port {
            return false;
        }
        if !self.may_send() {
            return packet.control.as_ref().is_some_and(|control| control.begin.is_some());
        }
        packet.instance == self.ends.instance && packet.source_port == self.ends.remote_port
    }

    /// A BGN or BGNAK of this end, which accepts packets of `max_payload` bytes before the number `credit`.
    pub fn begin(&self, version: u8, max_payload: u32, credit: u32) -> Begin {
        Begin {
            version,
            features: self.features,
            max_payload: max_payload.min(u32::from(u16::MAX)) as u16,
            first: wire_number(self.first),
            credit: credit & SEQUENCE_MASK,
            count: self.ends.count,
        }
    }

    /// Returns true if a BGN is to be sent, if need be alone.
    pub fn is_due(&self) -> bool {
        self.initiator && !self.open && (self.sent == 0 || self.timer.due)
    }

    /// Returns true if the next packet of data carries a BGN: the first `copies`, and those that ask for an answer.
    pub fn rides(&self, asks: bool, copies: u32) -> bool {
        self.initiator && !self.open && (asks || self.sent < copies.max(1) || self.timer.due)
    }

    /// Records a BGN. Returns true if it is the first.
    pub fn begin_sent(&mut self, now: Time, timeout: Span) -> bool {
        let first = self.first_sent.is_none();
        self.first_sent.get_or_insert(now);
        self.sent += 1;
        self.timer.start(now, timeout);
        first
    }

    /// Takes the identity of the peer from its BGN, which is to be answered.
    pub fn on_begin(&mut self, instance: u16, port: u16, count: u32) {
        (self.ends.instance, self.ends.remote_port, self.ends.count) = (instance, port, count);
        self.answer_due = true;
    }

    /// Handles a copy of the BGN, which is answered if its sender `waits` for an answer.
    pub fn on_copy(&mut self, count: u32, waits: bool) {
        self.answer_due |= count == self.ends.count && waits;
    }

    /// Returns true if nothing tells that the peer has this end's BGN or BGNAK: it has answered neither, nor a number before `acked`.
    pub fn is_unanswered(&self, acked: u64) -> bool {
        self.waits() || (!self.initiator && acked == self.first)
    }

    /// Returns true if a BGNAK is to be sent now, and counts it.
    pub fn take_answer(&mut self) -> bool {
        let due = std::mem::take(&mut self.answer_due);
        self.answers += u32::from(due);
        due
    }

    /// Returns true if the next packet of data carries a BGNAK that is not due, and counts it: those among the first `copies` do while the
    /// peer has acknowledged no number, as it can use none of them without the BGNAK.
    pub fn answer_rides(&mut self, acked: u64, copies: u32) -> bool {
        let rides = !self.initiator && self.is_unanswered(acked) && (1..copies).contains(&self.answers);
        self.answers += u32::from(rides);
        rides
    }

    /// Returns true if a BGNAK answers this end's BGN.
    pub fn is_answer(&self, answer: &Begin) -> bool {
        self.initiator && answer.count == self.ends.count
    }

    /// The round-trip time that an answer measures: with several BGNs, it is unknown which is answered.
    pub fn round_trip(&self, now: Time) -> Option<Span> {
        self.first_sent.filter(|_| self.sent == 1).map(|sent| now.since(sent))
    }

    /// Opens the connection, with the features that the peer supports as well.
    pub fn open(&mut self, peer: Features) {
        self.features = self.features.common(peer);
        self.open = true;
    }

    pub fn handle_timeout(&mut self, now: Time) {
        self.timer.handle_timeout(now, !self.open);
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        self.timer.poll_timeout().filter(|_| !self.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_wire::stp::{Control, PayloadLength};

    const SECOND: Span = Span::from_secs(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn exchange(initiator: bool) -> BeginExchange {
        let ends = Ends { local_port: 1, remote_port: 2, instance: 3, count: 4 };
        BeginExchange::new(ends, 5, initiator, Features::COMPACT.with(Features::REPORT))
    }

    fn packet(destination_port: u16, instance: u16, begin: Option<Begin>) -> Packet<PayloadLength> {
        let control = begin.map(|begin| Box::new(Control { begin: Some(begin), ..Control::default() }));
        Packet { source_port: 2, destination_port, instance, seq: 0, poll: None, data: None, control }
    }

    /// docs/stp.md §5: in LISTEN everything except a BGN is dropped, and so is a packet of another instance.
    #[test]
    fn packets_of_others_are_not_accepted() {
        let mut listener = exchange(false);
        let begin = exchange(true).begin(1, 1000, 64);
        assert!(!listener.accepts(&packet(1, 3, None)) && !listener.accepts(&packet(9, 3, Some(begin))));
        assert!(listener.accepts(&packet(1, 70, Some(begin))));
        listener.on_begin(70, 2, 4);
        listener.open(begin.features);
        assert!(listener.accepts(&packet(1, 70, None)) && !listener.accepts(&packet(1, 3, Some(begin))));
        assert!(exchange(true).accepts(&packet(1, 3, None)) && !exchange(true).accepts(&packet(1, 4, None)));
    }

    /// docs/stp.md §5: the BGN shares the first packets of data and those that ask, and is repeated alone by its timer.
    #[test]
    fn a_begin_is_repeated_until_it_is_answered() {
        let mut opening = exchange(true);
        assert!(opening.is_due() && !opening.waits() && !opening.may_be_known());
        assert!(opening.begin_sent(at(0), SECOND));
        assert!(opening.rides(false, 2) && !opening.is_due() && opening.waits() && opening.may_be_known());
        assert_eq!(opening.round_trip(at(600)), Some(Span::from_millis(600)));
        assert!(!opening.begin_sent(at(10), SECOND));
        assert!(!opening.rides(false, 2) && opening.rides(true, 2));
        assert_eq!((opening.round_trip(at(600)), opening.poll_timeout()), (None, Some(at(1010))));
        opening.handle_timeout(at(1010));
        assert!(opening.is_due() && opening.rides(false, 2));
        opening.open(Features::COMPACT);
        assert!(opening.is_open() && !opening.is_due() && !opening.rides(true, 2) && !opening.waits());
        assert_eq!(opening.features, Features::COMPACT);
    }

    #[test]
    fn a_listener_answers_the_first_begin_and_copies_that_wait() {
        let mut opening = exchange(false);
        assert!(!opening.is_due() && !opening.may_send() && !opening.may_be_known());
        opening.on_begin(70, 80, 90);
        assert_eq!(opening.ends, Ends { local_port: 1, remote_port: 80, instance: 70, count: 90 });
        assert!(opening.take_answer() && !opening.take_answer());
        opening.open(Features::REPORT);
        opening.on_copy(90, false);
        opening.on_copy(91, true);
        assert!(!opening.answer_due && !opening.is_answer(&opening.begin(1, 1000, 64)));
        opening.on_copy(90, true);
        assert!(opening.answer_due);
    }

    /// docs/stp.md §5: the first packets of a listener's data carry the BGNAK, until one is acknowledged; in the plain format one does.
    #[test]
    fn an_answer_shares_the_first_packets_of_data() {
        let mut opening = exchange(false);
        assert!(!opening.answer_rides(5, 3), "no BGN has come");
        opening.on_begin(70, 80, 90);
        assert!(opening.take_answer() && !opening.take_answer());
        assert!(!opening.answer_rides(5, 1), "the plain format");
        assert!(!opening.answer_rides(6, 3), "the first is acknowledged");
        assert!(opening.answer_rides(5, 3) && opening.answer_rides(5, 3) && !opening.answer_rides(5, 3));
    }
}
