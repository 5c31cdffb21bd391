//! CUBIC's average windows, as printed in RFC 9438 §5.1 and §5.2, from connections that lose every nth segment.
//!
//! Tables 1 and 2 (RTT 0.1 and 0.01 s, C = 0.4, loss rates from 1e-2 to 1e-5) and table 3 (loss rates for 1, 10 and 100 Mbit/s),
//! whose model it is that each 1/p-th packet is lost.
//! Differs: segments are paced, so the window is spread over its round trip, as in the model's continuous time.
//! Leaves out loss rates below 1e-5, which `congestion/cubic.rs` has without connections.

use skyhop_transport::tcp::{Config, Connection, DelayedAck, Hystart, Variant};
use skyhop_units::{Span, Time};
use skyhop_wire::Packet;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

const MSS: u64 = 1460;

/// Mean window in segments of a connection that loses one data segment in `one_in`, over `cycles` losses.
fn mean_window(one_in: u64, rtt: Span, start: u64, cycles: u64) -> f64 {
    let config = Config {
        variant: Variant::Cubic,
        window: 1 << 30,
        initial_ssthresh: Some(start * MSS),
        delayed_ack: DelayedAck::None,
        rate_reduction: true,
        hystart: Hystart::Rfc9406,
        pacing: true,
        rto_min: Span::from_millis(200),
        ..Config::default()
    };
    let [here, there] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
    let mut ends =
        [Connection::connect(config.clone(), here, there, 1), Connection::listen(config, there, here, 1)];
    // Packets on their way to each end, in order of arrival.
    let mut ways: [VecDeque<(Time, Packet)>; 2] = Default::default();
    let (mut now, mut data) = (Time::ZERO, 0u64);
    // The first tenth is the transition from slow start to the cycle.
    let (first, last) = (one_in * cycles / 10, one_in * cycles);
    let mut began = None;
    ends[0].write(u64::MAX / 4);
    loop {
        for end in 0..2 {
            while let Some(packet) = ends[end].poll_transmit(now) {
                if packet.payload_len > 0 {
                    data += 1;
                    if data.is_multiple_of(one_in) {
                        continue;
                    }
                }
                ways[1 - end].push_back((now + rtt / 2, packet));
            }
            while ends[end].poll_event().is_some() {}
            ends[end].read();
        }
        if data >= first && began.is_none() {
            began = Some((now, ends[1].delivered()));
        }
        if data >= last {
            break;
        }
        let arrivals = ways.iter().filter_map(|way| way.front().map(|(at, _)| *at));
        let timers = ends.iter().filter_map(|end| end.poll_timeout());
        now = arrivals.chain(timers).min().expect("something happens").max(now);
        for end in 0..2 {
            if ends[end].poll_timeout().is_some_and(|at| at <= now) {
                ends[end].handle_timeout(now);
            }
            while ways[end].front().is_some_and(|(at, _)| *at <= now) {
                let (_, packet) = ways[end].pop_front().expect("one");
                ends[end].handle_packet(now, &packet);
            }
        }
    }
    let (began, before) = began.expect("a tenth of it");
    let segments = (ends[1].delivered() - before) as f64 / MSS as f64;
    assert_eq!(ends[0].stats().timeouts, 0);
    segments * rtt.as_secs_f64() / now.since(began).as_secs_f64()
}

// The model ignores that a round trip of each cycle is used for the repair, and that segments are whole: 4 % either way.
#[test]
fn rfc_9438_5_1_tables_1_and_2() {
    for (rtt_ms, rows) in [(100, [12, 38, 187, 1054]), (10, [12, 38, 120, 379])] {
        for (n, printed) in rows.into_iter().enumerate() {
            let cycles = [200, 100, 60, 20][n];
            let mean = mean_window(10u64.pow(n as u32 + 2), Span::from_millis(rtt_ms), printed, cycles);
            let p = ["1e-2", "1e-3", "1e-4", "1e-5"][n];
            println!("RTT {rtt_ms:>3} ms, p = {p}: {mean:7.1} segments, printed {printed}");
            assert!(
                (mean / printed as f64 - 1.0).abs() < 0.04,
                "{rtt_ms} ms, {p}: {mean}, printed {printed}"
            );
        }
    }
}

// 1500 bytes a packet and a round trip of 0.1 s. Loss rates have two digits, the first of them a 1 or 2: 4 % of a window. The last row's
// cycle settles where fast convergence meets a loss in every cycle just short of the last maximum; the equations, taken a round trip at
// a time, have 759 or 778 segments there, by where they begin.
#[test]
fn rfc_9438_5_2_table_3() {
    let rows = [(2.0e-2f64, 8.3, 1.0, 0.05), (2.9e-4, 83.3, 10.0, 0.05), (1.4e-5, 833.3, 100.0, 0.15)];
    for (p, printed, mbps, tolerance) in rows {
        let one_in = (1.0 / p).round() as u64;
        let mean = mean_window(one_in, Span::from_millis(100), printed as u64, (2_000_000 / one_in).min(200));
        let ours = mean * 8.0 * 1500.0 / 0.1 / 1e6;
        println!("p = {p:e}: {mean:6.1} segments, {ours:.2} Mbit/s, printed {printed} and {mbps}");
        assert!((ours / mbps - 1.0).abs() < tolerance, "p = {p}: {ours} Mbit/s, printed {mbps}");
    }
}
