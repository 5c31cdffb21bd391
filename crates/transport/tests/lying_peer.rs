//! A lying peer: acknowledgments of data never sent, impossible blocks, shrunken windows, unsolicited data.
//!
//! RFC 9293 3.10.7.4 and RFC 5961 specify which are answered and which ignored. For any input nothing panics, no byte is delivered
//! twice, and the honest part of the conversation continues.

use skyhop_transport::tcp::{Config, Connection, DelayedAck, Event, State};
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Ip, Packet, SackBlocks, TcpHeader, Timestamps, Transport, Version};
use std::net::{Ipv4Addr, SocketAddrV4};

#[test]
fn an_acknowledgment_of_what_was_never_sent_is_answered_and_ignored() {
    let mut v = Victim::new();
    v.end.write(20_000);
    v.drain();
    for beyond in [1, 5_000, 1 << 30] {
        let lie = TcpHeader { ack: ISS + 1 + 10_000 + beyond, ..v.header() };
        let answer = v.feed(lie, 500);
        assert_eq!(answer.len(), 1, "{beyond} bytes beyond");
        assert_eq!((answer[0].payload_len, v.end.acknowledged(), v.end.delivered()), (0, 0, 0));
    }
    v.goes_on();
}

#[test]
fn impossible_blocks_are_ignored() {
    let mut v = Victim::new();
    v.end.write(20_000);
    v.drain();
    let sent = ISS + 1;
    for (left, right) in [
        (sent + 3_000, sent + 2_000),
        (sent + 3_000, sent + 3_000),
        (sent + 5_000, sent + 10_001),
        (sent + 50_000, sent + 60_000),
        (sent - 5_000, sent + 3_000),
        (sent.wrapping_sub(1 << 31), sent.wrapping_add(1 << 31)),
        (0, u32::MAX),
    ] {
        let mut sack = SackBlocks::default();
        sack.push(left, right);
        v.feed(TcpHeader { sack, ..v.header() }, 0);
    }
    // If any of them were accepted, the timeout would skip the segments it names.
    let mut repeated = 0;
    for n in 0..10 {
        repeated += v.time_out().iter().map(|p| p.payload_len).sum::<u32>();
        v.feed(TcpHeader { ack: sent + (n + 1) * 1_000, ..v.header() }, 0);
    }
    assert!(repeated >= 9_000, "{repeated} bytes repeated");
    v.goes_on();
}

#[test]
fn a_block_of_all_but_the_first_segment_does_not_stop_the_timer() {
    let mut v = Victim::new();
    v.end.write(10_000);
    v.drain();
    let mut sack = SackBlocks::default();
    sack.push(ISS + 1 + 1_000, ISS + 1 + 10_000);
    for _ in 0..10 {
        v.feed(TcpHeader { sack, ..v.header() }, 0);
    }
    // The peer discards reported data: RFC 2018 8 permits it, and after a timeout blocks are forgotten.
    for n in 1..=10 {
        let sent = v.time_out();
        assert!(sent.iter().any(|p| p.payload_len > 0), "segment {n}");
        v.feed(TcpHeader { ack: ISS + 1 + n * 1_000, ..v.header() }, 0);
    }
    assert_eq!(v.end.acknowledged(), 10_000);
    v.goes_on();
}

#[test]
fn a_window_that_is_taken_back_stops_new_data_and_loses_nothing() {
    let mut v = Victim::new();
    v.end.write(40_000);
    v.drain();
    // RFC 9293 3.8.6: a sender must be robust against it. What was allowed once may be sent, and no more.
    v.feed(TcpHeader { ack: ISS + 1 + 10_000, window: 100, ..v.header() }, 0);
    let flight = v.end.in_flight();
    assert!((0..=50_000).contains(&flight), "{flight} bytes in flight");
    v.feed(TcpHeader { ack: ISS + 1 + 10_000, window: 0, ..v.header() }, 0);
    v.acknowledge_all();
    assert_eq!(v.end.acknowledged(), 40_000);
    v.goes_on();
}

#[test]
fn data_beyond_the_window_is_cut_off() {
    let mut v = Victim::new();
    let answer = v.feed(TcpHeader { seq: PEER + 1 + WINDOW, ..v.header() }, 1_000);
    assert_eq!((answer.len(), v.end.delivered()), (1, 0), "entirely beyond: answered and ignored");
    v.end.read();
    v.feed(v.header(), WINDOW + 5_000);
    assert_eq!(v.end.delivered(), WINDOW as u64);
    v.feed(TcpHeader { seq: PEER + 1 + WINDOW, ..v.header() }, 1_000);
    assert_eq!(v.end.delivered(), WINDOW as u64, "the window is closed until somebody reads");
}

#[test]
fn no_byte_is_delivered_twice() {
    // Overlapping pieces of 9,000 bytes in an order that only malice would choose.
    let mut v = Victim::new();
    let pieces = [
        (2_000, 3_000),
        (500, 1_000),
        (2_500, 100),
        (4_000, 5_000),
        (0, 600),
        (0, 600),
        (499, 1_002),
        (1_400, 700),
        (3_000, 6_000),
        (8_999, 1),
        (0, 9_000),
        (5_000, 10),
    ];
    let mut reported = 0;
    for (start, len) in pieces {
        v.feed(TcpHeader { seq: PEER + 1 + start, ..v.header() }, len);
        while let Some(event) = v.end.poll_event() {
            if let Event::Received(n) = event {
                reported += n;
            }
        }
        assert!(v.end.delivered() <= 9_000);
    }
    assert_eq!((reported, v.end.delivered(), v.end.read()), (9_000, 9_000, 9_000));
    v.goes_on();
}

#[test]
fn nothing_is_delivered_from_behind_a_fin() {
    for overtaking in [false, true] {
        let mut v = Victim::new();
        let fin = TcpHeader { seq: PEER + 1 + 1_000, flags: Flags::FIN | Flags::ACK, ..v.header() };
        let behind = [
            (TcpHeader { seq: PEER + 1 + 1_000, ..v.header() }, 3_000),
            (TcpHeader { seq: PEER + 1 + 1_001, ..v.header() }, 3_000),
            (TcpHeader { seq: PEER + 1 + 1_500, flags: Flags::FIN | Flags::ACK, ..v.header() }, 2_000),
        ];
        let data = (v.header(), 1_000);
        v.feed(fin, 0);
        if !overtaking {
            v.feed(data.0, data.1);
        }
        for (header, len) in behind {
            v.feed(header, len);
        }
        v.feed(data.0, data.1);
        for (header, len) in behind {
            v.feed(header, len);
        }
        assert_eq!((v.end.delivered(), v.end.state()), (1_000, State::CloseWait));
        let finished = std::iter::from_fn(|| v.end.poll_event()).filter(|e| *e == Event::PeerFinished);
        assert_eq!(finished.count(), 1);
        // One byte for the FIN and none for what came behind it.
        assert_eq!(v.probe(), PEER + 1 + 1_001);
    }
}

#[test]
fn what_came_before_a_fin_that_belongs_behind_it_is_not_delivered() {
    let mut v = Victim::new();
    v.feed(TcpHeader { seq: PEER + 1 + 1_000, ..v.header() }, 3_000);
    v.feed(TcpHeader { seq: PEER + 1 + 1_000, flags: Flags::FIN | Flags::ACK, ..v.header() }, 0);
    v.feed(v.header(), 1_000);
    assert_eq!((v.end.delivered(), v.end.state()), (1_000, State::CloseWait));
    assert_eq!(v.probe(), PEER + 1 + 1_001);
}

#[test]
fn an_old_fin_is_none() {
    let mut v = Victim::new();
    v.feed(v.header(), 5_000);
    v.feed(TcpHeader { seq: PEER + 1 + 1_000, flags: Flags::FIN | Flags::ACK, ..v.header() }, 500);
    assert_eq!((v.end.state(), v.end.delivered()), (State::Established, 5_000));
    v.feed(TcpHeader { seq: PEER + 1 + 5_000, ..v.header() }, 1_000);
    assert_eq!(v.end.delivered(), 6_000);
}

#[test]
fn a_syn_in_an_open_connection_is_challenged() {
    // RFC 5961 4: whatever its number.
    for seq in [PEER, PEER + 1, PEER + 1_000, PEER + 10 * WINDOW] {
        let mut v = Victim::new();
        let answer = v.feed(TcpHeader { seq, flags: Flags::SYN, ack: 0, ..v.header() }, 0);
        assert_eq!((answer.len(), v.end.state()), (1, State::Established), "SYN at {seq}");
        v.goes_on();
    }
}

#[test]
fn garbage_flags_do_no_harm() {
    for flags in 0..=255u8 {
        // A reset at the number expected is no garbage.
        if Flags(flags).has(Flags::RST) {
            continue;
        }
        let mut v = Victim::new();
        v.end.write(3_000);
        v.drain();
        v.feed(TcpHeader { flags: Flags(flags), seq: PEER + 1 + 2_000, ..v.header() }, 700);
        v.feed(v.header(), 2_000);
        let delivered = v.end.delivered();
        assert!([2_000, 2_700].contains(&delivered), "flags {flags:#04x}: {delivered} bytes");
        v.acknowledge_all();
        assert_eq!(v.end.acknowledged(), 3_000, "flags {flags:#04x}");
    }
}

#[test]
fn an_echo_of_a_time_to_come_does_not_upset_the_timer() {
    let mut v = Victim::with(Config { timestamps: true, ..config() });
    v.end.write(10_000);
    v.drain();
    for (n, echo) in [(1, 0), (2, u32::MAX), (3, 5_000_000), (4, 1)] {
        let timestamps = Some(Timestamps { value: u32::MAX, echo });
        v.feed(TcpHeader { ack: ISS + 1 + n * 900, timestamps, ..v.header() }, 0);
    }
    let wait = v.end.poll_timeout().expect("a timer").since(v.now).as_secs_f64();
    assert!((0.5..=61.0).contains(&wait), "the timer waits {wait} s");
}

const ISS: u32 = 1_000_000;
const PEER: u32 = 5_000_000;
const WINDOW: u32 = 50_000;

fn config() -> Config {
    Config {
        mss: 1000,
        window: WINDOW as u64,
        initial_window: 10_000,
        delayed_ack: DelayedAck::None,
        ..Config::default()
    }
}

/// An honest end that is told lies.
struct Victim {
    end: Connection,
    now: Time,
    /// Bytes of payload it has sent.
    sent: u32,
}

impl Victim {
    fn new() -> Self {
        Self::with(config())
    }

    fn with(config: Config) -> Self {
        let [here, there] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        let timestamps = config.timestamps.then_some(Timestamps { value: 1, echo: 1 });
        let mut victim =
            Self { end: Connection::connect(config, here, there, ISS), now: Time::ZERO, sent: 0 };
        victim.drain();
        victim.now += Span::from_millis(100);
        let syn = TcpHeader {
            seq: PEER,
            flags: Flags::SYN | Flags::ACK,
            mss: Some(1000),
            window_scale: Some(0),
            sack_permitted: true,
            timestamps,
            ..victim.header()
        };
        victim.feed(syn, 0);
        assert_eq!(victim.end.poll_event(), Some(Event::Connected));
        victim
    }

    /// An acknowledgment of nothing, at the first byte of the peer's data.
    fn header(&self) -> TcpHeader {
        let flags = Flags::ACK;
        TcpHeader { seq: PEER + 1, ack: ISS + 1, flags, window: 50_000, ..TcpHeader::default() }
    }

    fn feed(&mut self, header: TcpHeader, payload_len: u32) -> Vec<Packet> {
        let [source, destination] = [2, 1].map(|n| Ipv4Addr::new(10, 0, 0, n));
        let ip = Ip::new(Version::V4, source, destination);
        self.end.handle_packet(self.now, &Packet { ip, transport: Transport::Tcp(header), payload_len });
        self.drain()
    }

    fn drain(&mut self) -> Vec<Packet> {
        let packets: Vec<Packet> = std::iter::from_fn(|| self.end.poll_transmit(self.now)).collect();
        for packet in packets.iter().filter(|p| p.payload_len > 0) {
            self.sent = self.sent.max(tcp(packet).seq - ISS - 1 + packet.payload_len);
        }
        packets
    }

    fn time_out(&mut self) -> Vec<Packet> {
        let Some(at) = self.end.poll_timeout() else { return Vec::new() };
        self.now = at;
        self.end.handle_timeout(at);
        self.drain()
    }

    /// Acknowledgment number with which the end answers an old segment.
    fn probe(&mut self) -> u32 {
        let answer = self.feed(self.header(), 1);
        tcp(&answer[0]).ack
    }

    /// An honest peer from here on: acknowledges all data until there are no more.
    fn acknowledge_all(&mut self) {
        for _ in 0..200 {
            self.feed(TcpHeader { ack: ISS + 1 + self.sent, ..self.header() }, 0);
            if self.end.in_flight() == 0 && self.end.poll_timeout().is_none() {
                return;
            }
            self.time_out();
        }
        panic!("{} bytes still in flight", self.end.in_flight());
    }

    /// Asserts that the connection still transfers data in both directions.
    fn goes_on(&mut self) {
        self.acknowledge_all();
        let (acknowledged, delivered) = (self.end.acknowledged(), self.end.delivered());
        self.end.write(3_000);
        self.drain();
        self.acknowledge_all();
        assert_eq!(self.end.acknowledged(), acknowledged + 3_000);
        let ack = ISS + 1 + self.sent;
        self.feed(TcpHeader { seq: PEER + 1 + delivered as u32, ack, ..self.header() }, 500);
        assert_eq!(self.end.delivered(), delivered + 500);
    }
}

fn tcp(packet: &Packet) -> TcpHeader {
    let Transport::Tcp(tcp) = packet.transport else { panic!("not TCP: {packet:?}") };
    tcp
}
