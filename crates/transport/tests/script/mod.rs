//! A sender and a scripted peer.
//!
//! Segments have 1000 bytes and are identified by numbers.
//! Differs from a conversation: no path and no receiver, so each acknowledgment can be arbitrary.
//! Leaves out data of the peer.

// Each test file uses a part of it.
#![allow(dead_code)]

use skyhop_transport::tcp::{Config, Connection, DelayedAck, Event, State, Variant};
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Ip, Packet, SackBlocks, TcpHeader, Timestamps, Transport, Version};
use std::net::{Ipv4Addr, SocketAddrV4};

pub const MSS: u64 = 1000;
pub const ISS: u32 = 1_000_000;
pub const PEER: u32 = 5_000_000;

pub fn config(variant: Variant, initial_segments: u64) -> Config {
    Config {
        variant,
        mss: MSS as u32,
        initial_window: initial_segments * MSS,
        limited_transmit: false,
        delayed_ack: DelayedAck::None,
        ..Config::default()
    }
}

pub fn segments(range: std::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

/// SACK blocks for the segments that have arrived, the latest first.
pub fn blocks_of(arrived: &[u64]) -> Vec<(u64, u64)> {
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for &n in arrived {
        match blocks.first_mut() {
            Some(block) if block.1 == n => block.1 = n + 1,
            _ => blocks.insert(0, (n, n + 1)),
        }
    }
    blocks
}

/// A sender and a scripted peer. Segment n is bytes n * 1000 to (n + 1) * 1000.
pub struct Script {
    pub end: Connection,
    pub now: Time,
    pub window: u16,
    /// Segments sent at least once.
    pub highest: u64,
}

impl Script {
    pub fn new(variant: Variant, initial_segments: u64) -> Self {
        Self::with(config(variant, initial_segments))
    }

    pub fn with(config: Config) -> Self {
        Self::over(config, Span::from_millis(100))
    }

    /// A connection whose handshake takes `rtt`.
    pub fn over(config: Config, rtt: Span) -> Self {
        // A peer for large windows counts in larger units.
        let scale = if config.window < 1 << 30 { 0 } else { 7 };
        let [here, there] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        let stamped = config.timestamps;
        let end = Connection::connect(config, here, there, ISS);
        let mut script = Self { end, now: Time::ZERO, window: 60_000, highest: 0 };
        assert!(script.end.poll_transmit(script.now).is_some(), "a SYN");
        script.now += rtt;
        let syn = TcpHeader {
            seq: PEER,
            flags: Flags::SYN | Flags::ACK,
            mss: Some(MSS as u16 + if stamped { 12 } else { 0 }),
            window_scale: Some(scale),
            sack_permitted: true,
            timestamps: stamped.then(|| Self::echo(Time::ZERO)),
            ..script.header(0)
        };
        assert_eq!(script.feed(syn, 0).len(), 1, "its acknowledgment");
        assert_eq!(script.end.poll_event(), Some(Event::Connected));
        assert_eq!(script.end.state(), State::Established);
        script
    }

    /// The peer's timestamps option, which echoes a packet sent at `at`: milliseconds, from 1 on.
    pub fn echo(at: Time) -> Timestamps {
        Timestamps { value: 1, echo: (at.as_nanos() / 1_000_000) as u32 + 1 }
    }

    /// The application offers `n` more segments. Returns the segments sent.
    pub fn send(&mut self, n: u64) -> Vec<u64> {
        self.end.write(n * MSS);
        let packets = self.drain();
        self.numbers(&packets)
    }

    /// All segments below `n` have arrived. Returns the segments sent.
    pub fn ack(&mut self, n: u64) -> Vec<u64> {
        self.sack(n, &[])
    }

    /// Segment `n` is missing, and another has arrived. Returns the segments sent.
    pub fn dup(&mut self, n: u64) -> Vec<u64> {
        self.sack(n, &[])
    }

    pub fn dups(&mut self, n: u64, times: usize) -> Vec<u64> {
        (0..times).flat_map(|_| self.dup(n)).collect()
    }

    /// All segments below `n` have arrived, and those in `blocks`. Returns the segments sent.
    pub fn sack(&mut self, n: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        let mut sack = SackBlocks::default();
        for (left, right) in blocks {
            sack.push(ISS + 1 + (left * MSS) as u32, ISS + 1 + (right * MSS) as u32);
        }
        let packets = self.feed(TcpHeader { sack, ..self.header(n) }, 0);
        self.numbers(&packets)
    }

    /// The retransmission timer expires. Returns the segments sent.
    pub fn time_out(&mut self) -> Vec<u64> {
        self.now = self.end.poll_timeout().expect("a timer");
        self.end.handle_timeout(self.now);
        let packets = self.drain();
        self.numbers(&packets)
    }

    pub fn header(&self, n: u64) -> TcpHeader {
        TcpHeader {
            seq: PEER + 1,
            ack: ISS + 1 + (n * MSS) as u32,
            flags: Flags::ACK,
            window: self.window,
            ..TcpHeader::default()
        }
    }

    pub fn feed(&mut self, header: TcpHeader, payload_len: u32) -> Vec<Packet> {
        let [source, destination] = [2, 1].map(|n| Ipv4Addr::new(10, 0, 0, n));
        let ip = Ip::new(Version::V4, source, destination);
        self.end.handle_packet(self.now, &Packet { ip, transport: Transport::Tcp(header), payload_len });
        self.drain()
    }

    pub fn drain(&mut self) -> Vec<Packet> {
        std::iter::from_fn(|| self.end.poll_transmit(self.now)).collect()
    }

    /// The numbers of full segments sent.
    pub fn numbers(&mut self, packets: &[Packet]) -> Vec<u64> {
        let data = packets.iter().filter(|p| p.payload_len > 0);
        let numbers: Vec<u64> = data
            .map(|p| {
                let Transport::Tcp(tcp) = p.transport else { panic!("not TCP: {p:?}") };
                let start = (tcp.seq - ISS - 1) as u64;
                assert_eq!((start % MSS, p.payload_len as u64), (0, MSS), "a full segment");
                start / MSS
            })
            .collect();
        self.highest = numbers.iter().map(|n| n + 1).fold(self.highest, u64::max);
        numbers
    }
}
