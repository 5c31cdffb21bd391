//! Partial segments: a sender with and without silly window avoidance.
//!
//! Follows RFC 9293 §3.8.6.2.1 (avoidance of the silly window syndrome) and KG 4.2.2, which turns it off.
//! Differs: the congestion window leaves room for a part, as in a stack that counts bytes; the peer's window is large.
//! Leaves out the receiver's side, which never offers a small window here.

use skyhop_transport::tcp::{Config, Connection, DelayedAck, LossRecovery, Variant};
use skyhop_units::{Span, Time};
use skyhop_wire::Packet;

/// Lengths of the segments of each of the first three round trips of 100 ms.
fn flights(config: Config) -> Vec<Vec<u32>> {
    let [a, b] = ["10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap()];
    let mut ends = [Connection::connect(config.clone(), a, b, 1), Connection::listen(config, b, a, 2)];
    ends[0].write(100_000);
    let mut flights = vec![Vec::new()];
    for step in 0..8 {
        let now = Time::ZERO + Span::from_millis(50 * step);
        let (from, to) = (step as usize % 2, 1 - step as usize % 2);
        ends[to].read();
        ends[from].handle_timeout(now);
        let mut sent: Vec<Packet> = Vec::new();
        while let Some(packet) = ends[from].poll_transmit(now) {
            sent.push(packet);
        }
        if from == 0 && step > 0 {
            flights.push(sent.iter().map(|packet| packet.payload_len).filter(|len| *len > 0).collect());
        }
        for packet in sent {
            ends[to].handle_packet(now + Span::from_millis(50), &packet);
        }
    }
    flights.split_off(1)
}

fn config(recovery: LossRecovery, silly_window_avoidance: bool) -> Config {
    Config {
        mss: 1000,
        window: 1_000_000,
        variant: if recovery == LossRecovery::Rack { Variant::Cubic } else { Variant::Reno },
        recovery: Some(recovery),
        initial_window: 2500,
        initial_ssthresh: Some(2000),
        delayed_ack: DelayedAck::None,
        silly_window_avoidance,
        ..Config::default()
    }
}

#[test]
fn a_segment_waits_for_room_for_all_of_it_unless_that_is_turned_off() {
    use LossRecovery::*;
    for how in [Reno, NewReno, SackReno, SackNewReno, Sack1, Rfc6675] {
        let waiting = flights(config(how, true));
        assert_eq!(waiting[0], [1000, 1000], "{how:?}");
        assert!(waiting.iter().flatten().all(|len| *len == 1000), "{how:?}: {waiting:?}");
        let silly = flights(config(how, false));
        assert_eq!(silly[0], [1000, 1000, 500], "{how:?}");
        // The receiver answers each flight once, and each answer opens the window by 1000²/cwnd, which is used to the byte:
        // 2500, 2900 and 3244.8 B.
        let sums: Vec<u32> = silly.iter().map(|flight| flight.iter().sum()).collect();
        assert_eq!(sums, [2500, 2900, 3244], "{how:?}: {silly:?}");
    }
}
