//! Any order of packets, losses, repeats, reordering and lies between two ends and the splice that joins them.
//!
//! Either side uses TCP or STP. The first eight bytes are the configuration, each further byte is an event.
//! Differs from the properties: nothing is fair, headers may lie, and time advances as the bytes specify.
//! Leaves out complete delivery during the case, which needs a path that lets packets through; it is asserted after the bytes end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_splice::{Config, Event, ServerOpening, Protocol, Side, Splice};
use skyhop_transport::stp::{self, Ends, PayloadLength};
use skyhop_transport::tcp::{self, Variant};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::UDP_PORT;
use skyhop_wire::{Ecn, Packet, Transport};
use std::collections::VecDeque;

const VARIANTS: [Variant; 8] = [
    Variant::Reno,
    Variant::NewReno,
    Variant::SackNewReno,
    Variant::Sack,
    Variant::Fack,
    Variant::Vegas,
    Variant::Cubic,
    Variant::Bbr,
];

/// An end of either protocol.
enum End {
    Tcp(Box<tcp::Connection>),
    Stp(Box<stp::Connection<PayloadLength>>),
}

/// Calls the same method of either.
macro_rules! either {
    ($end:expr, $name:ident($($argument:expr),*)) => {
        match $end {
            End::Tcp(tcp) => tcp.$name($($argument),*),
            End::Stp(stp) => stp.$name($($argument),*),
        }
    };
}

#[derive(Clone)]
enum Carried {
    Tcp(Packet),
    Stp(stp::Packet<PayloadLength>),
}

struct Net {
    now: Time,
    ends: [End; 2],
    splice: Splice,
    buffer: u64,
    /// Towards the splice from each end, and from the splice to each end.
    ways: [VecDeque<Carried>; 4],
    /// Bytes that each end wrote before it shut down; later ones go nowhere.
    written: [u64; 2],
    shut_down: [bool; 2],
    /// A header has lied, or an end was reset.
    lied: bool,
}

fuzz_target!(|bytes: &[u8]| {
    let Some((config, events)) = bytes.split_first_chunk::<8>() else { return };
    let mut net = Net::new(config);
    net.drain();
    for event in events {
        net.happens(*event);
        net.drain();
        net.check();
    }
    net.let_through();
});

impl Net {
    fn new(bytes: &[u8; 8]) -> Self {
        let end = |a: u8, b: u8| tcp::Config {
            variant: VARIANTS[a as usize % 8],
            timestamps: a & 8 != 0,
            dsack: a & 16 != 0,
            limited_transmit: a & 32 != 0,
            mss: 300 + 5 * u32::from(b),
            window: 2_000 + 200 * u64::from(b),
            rto_max: Span::from_secs(4),
            ..tcp::Config::default()
        };
        let buffer = 1_500 + 100 * u64::from(bytes[6]);
        let mut config = match bytes[7] % 3 {
            0 => Config::split(end(bytes[2], bytes[3]), end(bytes[4], bytes[5]), buffer),
            1 => Config::spoof(end(bytes[2], bytes[3]), buffer),
            _ => Config::split(end(bytes[2], bytes[3]), end(bytes[4], bytes[5]), buffer),
        };
        if bytes[7] % 3 == 2 {
            config.opening = if bytes[7] & 64 != 0 { ServerOpening::Data } else { ServerOpening::EndToEnd };
        }
        // A spoofed connection is one connection, so both of its sides are TCP.
        let spoofed = bytes[7] % 3 == 1;
        let speaks_stp = [8, 16].map(|bit| !spoofed && bytes[7] & bit != 0);
        let stp_config = |side: usize| stp::Config {
            window: 2_000 + 200 * u64::from(bytes[1 + 4 * side]),
            rto_max: Span::from_secs(4),
            ..stp::Config::default()
        };
        for side in 0..2 {
            if speaks_stp[side] {
                // Numbers that go end to end are those of one TCP connection.
                config.opening = if bytes[7] & 64 != 0 { ServerOpening::Data } else { ServerOpening::Syn };
                config.sides[side] = Protocol::Stp(Box::new(stp_config(side)));
            }
        }
        let [client, server] = ["10.0.0.1:49152", "10.0.0.2:80"].map(|a| a.parse().expect("an address"));
        let connects = Ends { local_port: 49152, remote_port: UDP_PORT, instance: 77, count: 5 };
        let listens = Ends { local_port: UDP_PORT, remote_port: 0, instance: 0, count: 0 };
        Self {
            now: Time::ZERO,
            ends: [
                if speaks_stp[0] {
                    End::Stp(Box::new(stp::Connection::connect(stp_config(0), connects, (1 << 24) - 3)))
                } else {
                    let config = end(bytes[0], bytes[1]);
                    End::Tcp(Box::new(tcp::Connection::connect(config, client, server, u32::MAX - 500)))
                },
                if speaks_stp[1] {
                    End::Stp(Box::new(stp::Connection::listen(stp_config(1), listens, 7)))
                } else {
                    End::Tcp(Box::new(tcp::Connection::listen(end(bytes[1], bytes[0]), server, client, 7)))
                },
            ],
            splice: Splice::new(config, [1 << 31, 0]),
            buffer,
            ways: Default::default(),
            written: [0; 2],
            shut_down: [false; 2],
            lied: false,
        }
    }

    fn happens(&mut self, event: u8) {
        let way = (event >> 3) as usize % 4;
        let more = event >> 5;
        match event % 8 {
            // Twice as often as all else: a packet arrives.
            0 | 1 => self.arrives(way),
            2 => {
                self.ways[way].pop_front();
            }
            3 => {
                if let Some(packet) = self.ways[way].front().cloned() {
                    self.ways[way].push_back(packet);
                }
            }
            4 => {
                let len = self.ways[way].len();
                if len > 1 {
                    self.ways[way].swap(0, 1 + more as usize % (len - 1));
                }
            }
            5 => self.lies(way, more),
            6 => {
                let steps = [1u64, 20, 200, 1_000, 3_000, 10_000, 70_000, 1_000_000];
                self.now += Span::from_millis(steps[more as usize]);
                self.timers();
            }
            _ => {
                let end = way % 2;
                match more {
                    0..=4 => {
                        let bytes = 1 << (3 * more);
                        self.written[end] += if self.shut_down[end] { 0 } else { bytes };
                        match &mut self.ends[end] {
                            End::Tcp(tcp) => tcp.write(bytes),
                            End::Stp(stp) => stp.write(PayloadLength(bytes)),
                        }
                    }
                    5 | 6 => {
                        self.shut_down[end] = true;
                        either!(&mut self.ends[end], shutdown());
                    }
                    _ => {
                        self.lied = true;
                        either!(&mut self.ends[end], reset());
                    }
                }
            }
        }
    }

    fn arrives(&mut self, way: usize) {
        let Some(packet) = self.ways[way].pop_front() else { return };
        match (way, &packet) {
            (0 | 1, Carried::Tcp(packet)) => self.splice.handle_packet(self.now, Side::BOTH[way], packet),
            (0 | 1, Carried::Stp(packet)) => self.splice.handle_stp(self.now, Side::BOTH[way], packet, Ecn::NotCapable),
            (_, Carried::Tcp(packet)) => {
                if let End::Tcp(tcp) = &mut self.ends[way - 2] {
                    tcp.handle_packet(self.now, packet);
                }
            }
            (_, Carried::Stp(packet)) => {
                if let End::Stp(stp) = &mut self.ends[way - 2] {
                    stp.handle_packet(self.now, packet);
                }
            }
        }
    }

    /// A header of TCP's that says what nobody has said; STP's are seen by `stp_pair` and the tests' adversary.
    fn lies(&mut self, way: usize, how: u8) {
        let Some(Carried::Tcp(packet)) = self.ways[way].front_mut() else { return };
        let Transport::Tcp(header) = &mut packet.transport else { return };
        self.lied = true;
        match how {
            0 => header.seq = header.seq.wrapping_add(1_000),
            1 => header.ack = header.ack.wrapping_add(1_000),
            2 => header.ack = header.ack.wrapping_sub(100_000),
            3 => header.window ^= 0xff00,
            4 => header.flags.0 ^= 1,
            5 => header.flags.0 ^= 2,
            6 => header.flags.0 ^= 4,
            _ => header.sack.push(header.ack.wrapping_add(500), header.ack.wrapping_sub(500)),
        }
    }

    fn timers(&mut self) {
        for end in &mut self.ends {
            if either!(&*end, poll_timeout()).is_some_and(|at| at <= self.now) {
                either!(&mut *end, handle_timeout(self.now));
            }
        }
        if self.splice.poll_timeout().is_some_and(|at| at <= self.now) {
            self.splice.handle_timeout(self.now);
        }
    }

    fn drain(&mut self) {
        let mut burst = 0;
        for end in 0..2 {
            loop {
                let packet = match &mut self.ends[end] {
                    End::Tcp(tcp) => {
                        while tcp.poll_event().is_some() {}
                        tcp.read();
                        tcp.poll_transmit(self.now).map(Carried::Tcp)
                    }
                    End::Stp(stp) => {
                        while stp.poll_event().is_some() {}
                        while stp.read(usize::MAX).is_some() {}
                        stp.poll_transmit(self.now).map(Carried::Stp)
                    }
                };
                let Some(packet) = packet else { break };
                self.ways[end].push_back(packet);
                burst += 1;
                assert!(burst < 5_000, "an endless burst");
            }
        }
        loop {
            while let Some(event) = self.splice.poll_event() {
                // Where headers lie, a forged close looks like a real one.
                assert!(
                    self.lied || !matches!(event, Event::Closed) || self.complete(),
                    "closed, and not all is there"
                );
            }
            let packet = match self.splice.poll_transmit(self.now) {
                Some((side, packet)) => Some((side, Carried::Tcp(packet))),
                None => {
                    self.splice.poll_transmit_stp(self.now).map(|(side, packet, _)| (side, Carried::Stp(packet)))
                }
            };
            let Some((side, packet)) = packet else { break };
            self.ways[2 + side as usize].push_back(packet);
            burst += 1;
            assert!(burst < 5_000, "an endless burst");
        }
    }

    fn complete(&self) -> bool {
        (0..2).all(|end| either!(&self.ends[1 - end], delivered()) == self.written[end])
    }

    fn check(&self) {
        for side in Side::BOTH {
            let held = self.splice.held_from(side);
            assert!(held <= self.buffer, "{held} held of {}", self.buffer);
        }
        if self.lied {
            return;
        }
        for end in 0..2 {
            let far = either!(&self.ends[1 - end], delivered());
            assert!(far <= self.written[end], "{far} delivered of {}", self.written[end]);
            let clean = match &self.ends[end] {
                End::Tcp(tcp) => tcp.fin_acknowledged(),
                End::Stp(stp) => stp.end_acknowledged(),
            };
            assert!(!clean || far == self.written[end], "a clean close, {far} delivered");
        }
    }

    /// From here on all arrives in order, in a millisecond: everything comes to an end.
    fn let_through(&mut self) {
        for end in &mut self.ends {
            either!(&mut *end, shutdown());
        }
        self.drain();
        // Ends that lies have set at odds may answer each other for ever.
        let most = if self.lied { 2_000 } else { 200_000 };
        for _ in 0..most {
            if self.ways.iter().any(|way| !way.is_empty()) {
                for way in 0..4 {
                    for _ in 0..self.ways[way].len() {
                        self.arrives(way);
                    }
                }
                self.now += Span::from_millis(1);
            } else {
                let ends = self.ends.iter().map(|end| either!(end, poll_timeout()));
                let timers = ends.chain([self.splice.poll_timeout()]);
                let Some(at) = timers.flatten().min() else { return };
                self.now = self.now.max(at);
            }
            self.timers();
            self.drain();
            self.check();
        }
        assert!(self.lied, "no end by {}", self.now);
    }
}
