//! Explicit congestion notification: negotiation, marks, echoes, reactions.
//!
//! RFC 3168 §6.1: segments marked as capable, duration of the echo of a mark, and one reduction of the window per round trip.

use skyhop_transport::tcp::{Config, Connection, Event, Variant};
use skyhop_units::{Span, Time};
use skyhop_wire::{Ecn, Flags, Packet, TcpHeader, Transport};
use std::net::{Ipv4Addr, SocketAddrV4};

fn tcp(packet: &Packet) -> TcpHeader {
    let Transport::Tcp(tcp) = packet.transport else { panic!("not TCP") };
    tcp
}

/// Two ends 50 ms apart; `mark` selects A's packets that are marked on the path. Returns all packets, with their sender.
fn talk(config: [Config; 2], bytes: u64, mark: fn(usize) -> bool) -> (Vec<(usize, Packet)>, [Connection; 2]) {
    let [a, b] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
    let [ca, cb] = config;
    let mut ends = [Connection::connect(ca, a, b, 1), Connection::listen(cb, b, a, 2)];
    ends[0].write(bytes);
    let (mut log, mut now, mut sent) = (Vec::new(), Time::ZERO, 0);
    let mut wire: Vec<(Time, usize, Packet)> = Vec::new();
    while now < Time::ZERO + Span::from_secs(20) {
        for from in [0, 1] {
            while let Some(event) = ends[from].poll_event() {
                if let Event::Received(_) = event {
                    ends[from].read();
                }
            }
            while let Some(mut packet) = ends[from].poll_transmit(now) {
                log.push((from, packet));
                if from == 0 {
                    if mark(sent) && packet.ip.ecn != Ecn::NotCapable {
                        packet.ip.ecn = Ecn::Marked;
                    }
                    sent += 1;
                }
                wire.push((now + Span::from_millis(50), 1 - from, packet));
            }
        }
        let timers = ends.iter().filter_map(Connection::poll_timeout);
        let Some(next) = wire.iter().map(|w| w.0).chain(timers).min() else { break };
        now = next;
        if let Some(place) = wire.iter().position(|w| w.0 == now) {
            let (_, to, packet) = wire.remove(place);
            ends[to].handle_packet(now, &packet);
        } else {
            ends.iter_mut().for_each(|end| end.handle_timeout(now));
        }
    }
    (log, ends)
}

fn config(ecn: bool) -> Config {
    Config { variant: Variant::NewReno, mss: 1000, initial_window: 10_000, ecn, ..Config::default() }
}

#[test]
fn capability_is_asked_for_and_granted() {
    for (ask, grant) in [(true, true), (true, false), (false, true)] {
        let (log, _) = talk([config(ask), config(grant)], 5_000, |_| false);
        let bits = |packet: &Packet| (tcp(packet).flags.has(Flags::ECE), tcp(packet).flags.has(Flags::CWR));
        assert_eq!(bits(&log[0].1), (ask, ask), "the SYN");
        assert_eq!(bits(&log[1].1), (ask && grant, false), "its answer");
        for (_, packet) in &log {
            let capable = ask && grant && packet.payload_len > 0;
            assert_eq!(packet.ip.ecn == Ecn::Capable0, capable, "{packet:?}");
        }
    }
}

#[test]
fn a_mark_is_echoed_until_answered_and_cuts_the_window_once() {
    // The eleventh packet is data of the second flight.
    let (log, ends) = talk([config(true), config(true)], 60_000, |n| n == 12);
    assert_eq!((ends[0].stats().ecn_reductions, ends[0].stats().segments_retransmitted), (1, 0));
    assert_eq!(ends[1].delivered(), 60_000);
    let echoes: Vec<usize> = log
        .iter()
        .enumerate()
        .filter(|(_, (from, p))| *from == 1 && tcp(p).flags.has(Flags::ECE) && !tcp(p).flags.has(Flags::SYN))
        .map(|(i, _)| i)
        .collect();
    let answers: Vec<usize> = log
        .iter()
        .enumerate()
        .filter(|(_, (from, p))| *from == 0 && tcp(p).flags.has(Flags::CWR) && !tcp(p).flags.has(Flags::SYN))
        .map(|(i, _)| i)
        .collect();
    assert_eq!(answers.len(), 1, "one segment says that the window has been reduced");
    assert!(echoes[0] < answers[0] && echoes.len() >= 2, "{echoes:?} {answers:?}");
    let (unmarked, _) = talk([config(true), config(true)], 60_000, |_| false);
    assert!(unmarked.iter().all(|(_, p)| !tcp(p).flags.has(Flags::ECE) || tcp(p).flags.has(Flags::SYN)));
}

#[test]
fn marks_in_every_window_cut_once_a_round_trip() {
    let (_, ends) = talk([config(true), config(true)], 200_000, |_| true);
    let cuts = ends[0].stats().ecn_reductions;
    // With every packet marked the window is two to three segments: 200 segments take 66 to 100 round trips.
    assert!((40..=110).contains(&cuts), "{cuts} reductions");
    assert_eq!(ends[1].delivered(), 200_000);
}
