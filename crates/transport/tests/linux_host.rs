//! A current Linux host over a path with a rate: windows that tune themselves, buffers, and undone reductions.
//!
//! Expectations are from the rules of Linux 6.18 named in `tcp/`, computed at the tests.
//! Differs: one link in each direction, with a queue before the first; the return path has no rate.
//! Leaves out random losses, which `properties.rs` has.

use skyhop_transport::tcp::{
    AfterIdle, Config, Connection, DelayedAck, Event, Hystart, SenderStats, Variant,
};
use skyhop_units::{Span, Time};
use skyhop_wire::{Packet, Transport};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

const MIB: u64 = 1 << 20;

/// A host of Linux 6.18 with the limits measured in `live/tests/linux.rs`.
fn linux() -> Config {
    Config {
        variant: Variant::Cubic,
        window: 64_240,
        window_max: 21_233_664,
        initial_window: 14_600,
        adaptive_reordering: true,
        hystart: Hystart::Linux,
        rate_reduction: true,
        undo: true,
        timestamps: true,
        dsack: true,
        delayed_ack: DelayedAck::Adaptive { least: ms(40), most: ms(200) },
        quick_acks: 16,
        after_idle: AfterIdle::Decay,
        validate_window: true,
        rto_min: ms(200),
        rto_variation_min: ms(200),
        rto_max: Span::from_secs(120),
        rto_granularity: ms(1),
        ..Config::default()
    }
}

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn s(n: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(n)
}

/// State of the sender at each transmission.
#[derive(Debug, Clone, Copy)]
struct Sight {
    at: f64,
    cwnd: u64,
    ssthresh: Option<u64>,
    in_flight: u64,
    /// The last announced window.
    window: u64,
}

struct Path {
    now: Time,
    ends: [Connection; 2],
    bps: f64,
    one_way: Span,
    /// Interval in which the forward path takes longer, and by how much.
    slower: (f64, f64, Span),
    /// Bytes that may wait, and when the link is free.
    queue: u64,
    free_at: Time,
    /// Numbers of lost data packets.
    lost: Vec<u64>,
    sent: u64,
    overflows: u64,
    longest_queue: f64,
    agenda: BTreeMap<(Time, u64), (usize, Packet)>,
    order: u64,
    scale: u8,
    window: u64,
    sights: Vec<Sight>,
    /// Bytes received at each second.
    delivered: Vec<u64>,
    acknowledgments: u64,
    reads: bool,
}

impl Path {
    fn new(config: Config, bps: f64, rtt: Span, queue: u64) -> Self {
        let [a, b] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        Self {
            now: Time::ZERO,
            ends: [Connection::connect(config.clone(), a, b, 1), Connection::listen(config, b, a, 2)],
            bps,
            one_way: rtt / 2,
            slower: (f64::MAX, f64::MAX, Span::ZERO),
            queue,
            free_at: Time::ZERO,
            lost: Vec::new(),
            sent: 0,
            overflows: 0,
            longest_queue: 0.0,
            agenda: BTreeMap::new(),
            order: 0,
            scale: 0,
            window: 0,
            sights: Vec::new(),
            delivered: vec![0],
            acknowledgments: 0,
            reads: true,
        }
    }

    fn carry(&mut self, from: usize, packet: Packet) {
        let at = if from == 0 {
            let len = packet.payload_len as u64 + 52;
            let waits = self.free_at.since(self.now).as_secs_f64();
            self.sent += (packet.payload_len > 0) as u64;
            if packet.payload_len > 0 && self.lost.contains(&(self.sent - 1)) {
                return;
            }
            if waits * self.bps / 8.0 > self.queue as f64 {
                self.overflows += 1;
                return;
            }
            self.longest_queue = self.longest_queue.max(waits);
            self.free_at = self.free_at.max(self.now) + Span::from_secs_f64(len as f64 * 8.0 / self.bps);
            let t = self.now.as_secs_f64();
            let more = if t >= self.slower.0 && t < self.slower.1 { self.slower.2 } else { Span::ZERO };
            self.free_at + self.one_way + more
        } else {
            self.acknowledgments += 1;
            self.now + self.one_way
        };
        self.order += 1;
        self.agenda.insert((at, self.order), (1 - from, packet));
    }

    fn drain(&mut self) {
        for from in [0, 1] {
            let mut any = false;
            loop {
                while let Some(event) = self.ends[from].poll_event() {
                    if self.reads && matches!(event, Event::Received(_)) {
                        self.ends[from].read();
                    }
                }
                let Some(packet) = self.ends[from].poll_transmit(self.now) else { break };
                let Transport::Tcp(tcp) = packet.transport else { panic!("not TCP") };
                if from == 1 {
                    self.scale = tcp.window_scale.unwrap_or(self.scale);
                    let shift = if tcp.window_scale.is_some() { 0 } else { self.scale };
                    self.window = (tcp.window as u64) << shift;
                }
                self.carry(from, packet);
                any |= from == 0;
            }
            if any {
                let end = &self.ends[0];
                self.sights.push(Sight {
                    at: self.now.as_secs_f64(),
                    cwnd: end.cwnd(),
                    ssthresh: end.ssthresh(),
                    in_flight: end.in_flight(),
                    window: self.window,
                });
            }
        }
    }

    fn run(&mut self, until: f64) {
        let until = s(until);
        loop {
            self.drain();
            while s(self.delivered.len() as f64) <= self.now {
                self.delivered.push(self.ends[1].delivered());
            }
            let timers = self.ends.iter().filter_map(Connection::poll_timeout);
            let packet = self.agenda.first_key_value().map(|(&(at, _), _)| at);
            let Some(next) = timers.chain(packet).min().filter(|at| *at <= until) else { break };
            self.now = self.now.max(next);
            match self.agenda.first_entry() {
                Some(entry) if entry.key().0 <= self.now => {
                    let (to, packet) = entry.remove();
                    self.ends[to].handle_packet(self.now, &packet);
                }
                _ => {
                    for end in &mut self.ends {
                        end.handle_timeout(self.now);
                    }
                }
            }
        }
        self.now = until;
        while s(self.delivered.len() as f64) <= until {
            self.delivered.push(self.ends[1].delivered());
        }
    }

    fn stats(&self) -> SenderStats {
        self.ends[0].stats()
    }

    /// Bits per second that arrived between two whole seconds.
    fn rate(&self, from: usize, to: usize) -> f64 {
        (self.delivered[to] - self.delivered[from]) as f64 * 8.0 / (to - from) as f64
    }
}

// 100 Mbit/s over 600 ms: 7.5 MB, of which a window of 64,240 bytes is a hundredth. The window must be ahead of slow start in every
// round trip: used up only in those covered by the first buffer.
#[test]
fn the_receive_window_opens_ahead_of_slow_start_and_fills_a_long_path() {
    for timestamps in [true, false] {
        let config = Config { timestamps, hystart: Hystart::Off, ..linux() };
        let mut path = Path::new(config, 100e6, ms(600), 32 * MIB);
        path.ends[0].write(1 << 40);
        path.run(20.0);
        assert_eq!((path.overflows, path.stats().timeouts), (0, 0));
        // 1448 of 1500 bytes.
        let rate = path.rate(10, 20);
        assert!((96.0e6..=96.6e6).contains(&rate), "{timestamps}: {rate}");
        // Until the flow fills the path, in its eleventh round trip, the window is never the limit, and at least 1.4 times the data
        // in flight; without timestamps a round trip is measured later, by a window's worth.
        let early = path.sights.iter().filter(|sight| (0.5..7.1).contains(&sight.at));
        let least =
            early.map(|sight| sight.window as f64 / sight.in_flight.max(1) as f64).fold(f64::MAX, f64::min);
        assert!((1.3..=1.6).contains(&least), "{timestamps}: {least}");
        let at = |t: f64| path.sights.iter().rev().find(|sight| sight.at <= t).unwrap();
        let windows: Vec<u64> = (1..12).map(|round| at(0.6 * round as f64 + 0.59).window).collect();
        println!("timestamps {timestamps}: windows at the end of each round trip {windows:?}");
        for pair in windows[3..].windows(2) {
            let growth = pair[1] as f64 / pair[0] as f64;
            assert!((1.5..=2.6).contains(&growth), "{windows:?}");
        }
        if timestamps {
            // Six times of what a round trip read, 20, 40, 80 segments of 1448 bytes, a round trip before; in steps of 512 bytes.
            for (round, window) in windows[4..10].iter().enumerate() {
                let expected = (120 * 1448u64) << (round + 1);
                assert!(
                    (expected * 98 / 100..=expected * 102 / 100).contains(window),
                    "{round}: {window}, not {expected}"
                );
            }
        }
        assert_eq!(path.sights.last().unwrap().window, 21_233_664);
    }
}

// At its maximum the window limits the flow to a window per round trip.
#[test]
fn a_receiver_is_limited_by_its_maximum() {
    let config = Config { window_max: 3_000_000, ..linux() };
    let mut path = Path::new(config, 100e6, ms(600), 32 * MIB);
    path.ends[0].write(1 << 40);
    path.run(30.0);
    let (rate, expected) = (path.rate(15, 30), 3_000_000.0 * 8.0 / 0.6);
    println!("{rate} bit/s, a window a round trip {expected}");
    assert!((0.985..=1.0).contains(&(rate / expected)), "{rate} and {expected}");
    // The congestion window does not grow while it is not used (tcp_is_cwnd_limited: twice at most).
    let last = path.sights.last().unwrap();
    assert!((3_000_000..=6_002_920).contains(&last.cwnd), "{last:?}");
    assert_eq!(last.window, 3_000_000 / 64 * 64);
}

// A buffer of two windows is sufficient for a path of any length; at its maximum it acts as a receive window of the sender.
#[test]
fn a_send_buffer_follows_the_window_up_to_its_maximum() {
    let buffers = |send_buffer_max| Config { send_buffer: 45_600, send_buffer_max, ..linux() };
    let mut path = Path::new(buffers(64 * MIB), 100e6, ms(600), 4 * MIB);
    path.ends[0].write(200_000_000);
    path.ends[0].shutdown();
    path.run(40.0);
    assert_eq!(path.ends[1].delivered(), 200_000_000);
    assert!(path.ends[0].fin_acknowledged());
    let plain = {
        let mut path = Path::new(linux(), 100e6, ms(600), 4 * MIB);
        path.ends[0].write(200_000_000);
        path.run(40.0);
        path.sights.last().unwrap().at
    };
    let last = path.sights.last().unwrap().at;
    println!("200 MB: the last byte left at {last}, {plain} without a limit");
    assert!((0.0..0.7).contains(&(last - plain)), "{last} and {plain}");

    let mut path = Path::new(buffers(4_150_000), 100e6, ms(600), 4 * MIB);
    path.ends[0].write(1 << 40);
    path.run(30.0);
    let most = path.sights.iter().map(|sight| sight.in_flight).max().unwrap();
    assert_eq!(most, 4_150_000 / 1448 * 1448);
    let (rate, expected) = (path.rate(15, 30), 4_150_000.0 * 8.0 / 0.6);
    println!("{rate} bit/s, a buffer a round trip {expected}");
    assert!((0.985..=1.0).contains(&(rate / expected)), "{rate} and {expected}");
    let last = path.sights.last().unwrap();
    assert!((4_150_000..=2 * 4_150_000 + 2_920).contains(&last.cwnd), "{last:?}");
}

// tcp_event_data_recv and tcp_grow_window: 16 segments are acknowledged one by one, and each that lets the window grow; afterwards
// every second.
#[test]
fn segments_are_acknowledged_one_by_one_at_the_start() {
    let count = |config: Config| {
        let mut path = Path::new(Config { initial_window: 60 * 1448, ..config }, 1e9, ms(100), MIB);
        path.ends[0].write(40 * 1448);
        path.run(2.0);
        assert_eq!(path.ends[1].delivered(), 40 * 1448);
        // The SYN's answer is none.
        path.acknowledgments - 1
    };
    let fixed = Config { window: 200_000, window_max: 0, ..linux() };
    assert_eq!(count(fixed.clone()), 16 + 24 / 2);
    assert_eq!(count(Config { quick_acks: 0, ..fixed }), 40 / 2);
    // (81,162 - 64,240) / 2920: six segments use up what the first buffer has beyond the first window, and 16 | 1 is one more for each of
    // them. (A 6.18 whose application does not read acknowledges 16 + 5 so, since what waits is in the way of the sixth.)
    assert_eq!(count(linux()), 16 + 6 + 18 / 2);
}

// tcp_cwnd_restart, and tcp_is_cwnd_limited.
#[test]
fn an_unused_window_falls() {
    let config = Config { window: 10_000_000, hystart: Hystart::Off, ..linux() };
    let open = || {
        let mut path = Path::new(config.clone(), 100e6, ms(100), 4 * MIB);
        path.ends[0].write(3_000_000);
        path.run(3.0);
        assert_eq!(path.ends[1].delivered(), 3_000_000);
        path
    };
    // Silence: the window is halved for each timeout of 300 ms (100 + 200) but the first.
    let mut path = open();
    let (silent_since, cwnd) = (path.sights.last().unwrap().at, path.ends[0].cwnd());
    let rto = 0.300;
    path.run(silent_since + 3.5 * rto);
    path.ends[0].write(1448);
    path.run(silent_since + 3.5 * rto + 0.05);
    let ratio = path.ends[0].cwnd() as f64 / cwnd as f64;
    println!("{cwnd} bytes, {ratio} of it after 3.5 timeouts");
    assert!((0.125..=0.13).contains(&ratio), "{cwnd} and {ratio}");
    assert_eq!(path.ends[0].ssthresh(), None);
    // Occasional segments with acknowledgments are no idle time, and the window neither falls nor grows.
    let mut path = open();
    path.ends[0].write(1448);
    path.run(3.25);
    let cwnd = path.ends[0].cwnd();
    for n in 0..100 {
        path.ends[0].write(1448);
        path.run(3.3 + 0.05 * n as f64);
    }
    assert_eq!(path.ends[0].cwnd(), cwnd);
}

// A geostationary path: slow start continues until the queue overflows. HyStart ends it when the train of acknowledgments is half a
// round trip long: in the first round that begins with half to one bandwidth-delay product, after half a product more.
#[test]
fn hystart_leaves_slow_start_without_an_overflow() {
    let rtt = 0.6;
    for (bps, queue_share) in [(20e6, 0.6), (35e6, 0.6), (50e6, 0.6), (200e6, 0.6), (10e6, 2.0)] {
        // The payload's bandwidth-delay product.
        let product = bps / 8.0 * rtt * 1448.0 / 1500.0;
        let run = |hystart| {
            let config = Config { hystart, window_max: 1 << 28, ..linux() };
            let mut path = Path::new(config, bps, ms(600), (product * queue_share) as u64);
            path.ends[0].write(1 << 40);
            path.run(8.0);
            path
        };
        let path = run(Hystart::Linux);
        let ended = path.sights.iter().find(|sight| sight.ssthresh.is_some()).unwrap();
        let share = ended.cwnd as f64 / product;
        let early = path
            .sights
            .iter()
            .filter(|sight| sight.at < ended.at + 1.2)
            .map(|sight| sight.in_flight)
            .max()
            .unwrap();
        println!(
            "{bps} bit/s, queue {queue_share}: over at {:.2} s, {share:.2} of the product; {} lost, longest queue {:.0} ms; {} \
                without HyStart",
            ended.at,
            path.overflows,
            path.longest_queue * 1e3,
            run(Hystart::Off).overflows,
        );
        assert_eq!((path.overflows, path.stats().timeouts), (0, 0));
        if bps < 12e6 {
            // Every second segment of 1500 bytes is acknowledged, at 2.4 ms: no train. The delay criterion applies when a queue has
            // built up.
            assert!((1.0..=2.0).contains(&share), "{share} of the product");
            continue;
        }
        assert!((1.0..=1.52).contains(&share), "{share} of the product");
        assert!((early as f64) < 1.05 * share * product, "{early} and {product}");
        assert!(run(Hystart::Off).overflows > 100);
    }
}

// At a satellite handover the round trip grows by 1.7 s from one packet to the next: a probe is sent after 800 ms, the timer
// expires after 800 ms more, and the answers are to packets sent before. With timestamps the first acknowledgment shows it, without
// them F-RTO when an original is acknowledged that was not repeated.
#[test]
fn a_timeout_that_came_too_early_is_undone() {
    let (bps, step) = (20e6, 15.0);
    for timestamps in [true, false] {
        let run = |undo| {
            // The receive window leaves the queue empty, and the round trip unchanged.
            let config = Config { undo, timestamps, window_max: 1_200_000, ..linux() };
            let mut path = Path::new(config, bps, ms(600), 4 * MIB);
            path.slower = (step, f64::MAX, ms(1_700));
            path.ends[0].write(1 << 40);
            path.run(45.0);
            path
        };
        let (with, without) = (run(true), run(false));
        // Seconds of a window a round trip of 2.3 s that are missing in 30.
        let cost = |path: &Path| 30.0 - path.rate(15, 45) * 30.0 / (1_200_000.0 * 8.0 / 2.3);
        for (name, path) in [("undone", &with), ("kept", &without)] {
            let stats = path.stats();
            let lowest =
                path.sights.iter().filter(|sight| sight.at > step + 3.0).map(|sight| sight.cwnd).min();
            println!(
                "timestamps {timestamps}, {name}: {} timeouts, {} recoveries, {} undone, {} of {} segments repeated, {lowest:?} \
                    bytes at least, {:.2} s lost",
                stats.timeouts,
                stats.fast_retransmits,
                stats.undone,
                stats.segments_retransmitted,
                stats.segments_sent,
                cost(path),
            );
        }
        let before = with.sights.iter().rev().find(|sight| sight.at < step + 0.5).unwrap();
        let after = with.sights.iter().find(|sight| sight.at > step + 3.0).unwrap();
        assert!(with.stats().timeouts >= 1 && with.stats().undone >= 1);
        assert!(after.cwnd >= before.cwnd, "{before:?} and {after:?}");
        assert!(with.stats().segments_retransmitted <= 3, "{:?}", with.stats());
        // The step itself is 1.7 s without packets.
        assert!((-0.6..=1.2).contains(&cost(&with)), "{}", cost(&with));
        assert!((2.0..15.0).contains(&cost(&without)), "{}", cost(&without));
    }
}

// Linux 6.18 (`tcp_synack_rtt_meas`, `tcp_ack_update_rtt`): the handshake is timed in microseconds, where timestamps of milliseconds
// show 40 or 41 ms. Behind an emulator of 600 ms the kernel measured 600.116 to 600.146 ms.
#[test]
fn the_handshake_is_timed_in_microseconds_at_both_ends() {
    let mut path = Path::new(linux(), 1e9, Span::from_micros(40_700), 1 << 20);
    path.run(1.0);
    for end in &path.ends {
        let rtt = end.stats().rtt;
        assert_eq!(rtt.count, 1);
        let measured = rtt.min.unwrap().as_secs_f64() * 1e6;
        assert!((40_700.0..40_702.0).contains(&measured), "{measured} us");
    }
}

// Linux 6.18 (`tcp_clean_rtx_queue`): a retransmission at the end of a queue that has grown since the timer was set is not late while
// data sent before it arrive. Before 0.8 s of queue in slow start the RTT grows by more than the timeout's 200 ms.
#[test]
fn a_retransmission_behind_a_grown_queue_is_waited_for() {
    let mut longest = 0.0f64;
    for lost in (50..700).step_by(10) {
        let config = Config { hystart: Hystart::Off, ..linux() };
        let mut path = Path::new(config, 10e6, ms(100), MIB);
        path.ends[0].write(3 << 20);
        path.lost = vec![lost];
        path.run(4.0);
        longest = longest.max(path.longest_queue);
        assert_eq!(path.overflows, 0, "packet {lost}");
        let stats = path.stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 1), "packet {lost}");
    }
    assert!(longest > 0.5, "{longest} s");
}
