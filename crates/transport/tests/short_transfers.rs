//! A request and its response over one link, compared with ns-2's FullTcp: the cost of short transfers over a satellite.
//!
//! HT 4.2.4 and its figure 4.21 count round trips and delayed acknowledgments; the reference has 1056 rows of link rate, round
//! trip, segment size, initial window and delayed ACK. Here a link is a rate and a delay, and the ends are the only machines.

use crate::testing;
use skyhop_transport::tcp::{Config, Connection, DelayedAck, Event, Variant};
use skyhop_units::{Span, Time};
use skyhop_wire::Packet;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

#[derive(Debug)]
struct Case {
    segments: u64,
    mss: u64,
    rtt: Span,
    initial_window: u64,
    delayed_ack: f64,
    mbps: f64,
    latency_s: f64,
}

fn cases() -> Option<Vec<Case>> {
    let text = testing::shared_text("reference/ns2/short_transfers.csv")?;
    let cases = text.lines().skip(1).map(|line| {
        let f: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        Case {
            segments: f[0] as u64,
            mss: f[1] as u64,
            rtt: Span::from_secs_f64(f[2] / 1e3),
            initial_window: f[3] as u64,
            delayed_ack: f[4],
            latency_s: f[5],
            mbps: f[7],
        }
    });
    Some(cases.collect())
}

/// One direction of the link.
struct Line {
    bps: f64,
    delay: Span,
    free_at: Time,
    arrivals: VecDeque<(Time, Packet)>,
}

impl Line {
    fn send(&mut self, now: Time, packet: Packet) {
        let serialisation = Span::from_secs_f64(packet.wire_len() as f64 * 8.0 / self.bps);
        self.free_at = self.free_at.max(now) + serialisation;
        self.arrivals.push_back((self.free_at + self.delay, packet));
    }
}

/// Seconds from the client's first segment to the last byte of the response.
fn latency(config: Config, response: u64, bps: f64, one_way_delay: Span) -> f64 {
    let [client, server] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 80));
    let mut ends = [
        Connection::connect(config.clone(), client, server, 7),
        Connection::listen(config, server, client, 9),
    ];
    let line = || Line { bps, delay: one_way_delay, free_at: Time::ZERO, arrivals: VecDeque::new() };
    let mut lines = [line(), line()];
    let mut now = Time::ZERO;
    let mut asked = 0;
    for _ in 0..100_000 {
        for end in [0, 1] {
            loop {
                while let Some(event) = ends[end].poll_event() {
                    match event {
                        Event::Connected if end == 0 => ends[0].write(REQUEST),
                        Event::Received(bytes) => {
                            ends[end].read();
                            asked += if end == 1 { bytes } else { 0 };
                            if end == 1 && asked == REQUEST {
                                ends[1].write(response);
                                ends[1].shutdown();
                            }
                        }
                        _ => {}
                    }
                }
                if ends[0].delivered() == response {
                    return now.as_secs_f64();
                }
                let Some(packet) = ends[end].poll_transmit(now) else { break };
                lines[end].send(now, packet);
            }
        }
        let timers = ends.iter().filter_map(Connection::poll_timeout);
        let arrivals = lines.iter().filter_map(|line| line.arrivals.front().map(|a| a.0));
        now = timers.chain(arrivals).min().expect("something is to come");
        for end in [0, 1] {
            if lines[1 - end].arrivals.front().is_some_and(|a| a.0 <= now) {
                let (_, packet) = lines[1 - end].arrivals.pop_front().unwrap();
                ends[end].handle_packet(now, &packet);
            }
            if ends[end].poll_timeout().is_some_and(|at| at <= now) {
                ends[end].handle_timeout(now);
            }
        }
    }
    panic!("no end by {now}");
}

const REQUEST: u64 = 100;

fn config(mss: u64, initial_segments: u64, delayed_ack: f64) -> Config {
    Config {
        variant: Variant::NewReno,
        mss: mss as u32,
        window: 1000 * mss,
        initial_window: initial_segments * mss,
        delayed_ack: match delayed_ack {
            0.0 => DelayedAck::None,
            // The reference says "one-shot", but its numbers are those of a clock that ticks from the start on: ns-2's FullTcp
            // sends delayed acknowledgments at multiples of the interval, as BSD does.
            wait => DelayedAck::Heartbeat(Span::from_secs_f64(wait)),
        },
        rto_initial: Span::from_secs(3),
        ..Config::default()
    }
}

#[test]
fn response_times_are_those_of_ns2() {
    let Some(cases) = cases() else { return };
    assert_eq!(cases.len(), 1056);
    let (mut worst, mut outside) = (0.0f64, Vec::new());
    for case in &cases {
        let config = config(case.mss, case.initial_window, case.delayed_ack);
        let ours = latency(config, case.segments * case.mss, case.mbps * 1e6, case.rtt / 2);
        let apart = (ours - case.latency_s).abs();
        worst = worst.max(apart / case.latency_s);
        if apart > (0.02 * case.latency_s).max(0.01) {
            outside.push(format!("{case:?}: {ours:.4} s"));
        }
    }
    println!("worst of {} rows: {:.2} %", cases.len(), worst * 100.0);
    println!("{} outside: {:#?}", outside.len(), &outside[..outside.len().min(20)]);
    assert!(outside.is_empty(), "{} of {} rows differ", outside.len(), cases.len());
}

// HT 4.2.4, figure 4.21: three segments at an initial window of one take three round trips and the delayed acknowledgment; with
// 4380 bytes at first (4KSS) two round trips.
#[test]
fn the_round_trips_of_figure_4_21() {
    let rtt = Span::from_millis(600);
    let trips = |initial, delayed_ack| latency(config(1460, initial, delayed_ack), 3 * 1460, 1e12, rtt / 2);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 0.001, "{a} s, {b} expected");
    near(trips(1, 0.2), 3.0 * 0.6 + 0.2);
    near(trips(1, 0.0), 3.0 * 0.6);
    near(trips(3, 0.2), 2.0 * 0.6);
}
