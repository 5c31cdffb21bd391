//! A link against closed forms: serialisation, propagation, queueing, order and conservation.

use skyhop_chance::Seed;
use skyhop_link::{Fixed, Label, Limit, Link, Loss, Medium};
use skyhop_units::{Amount, Bytes, Rate, Span, Time};

const WIRE: u32 = 1040;

fn t1() -> Rate {
    Rate::from_bps(1_500_000).unwrap()
}

fn drain(link: &mut Link<u32>, medium: &impl Medium) -> Vec<(u64, u32)> {
    let mut arrivals = Vec::new();
    while let Some(at) = link.poll_timeout() {
        while let Some(arrival) = link.poll_arrival(at, medium) {
            arrivals.push((at.as_nanos(), arrival.packet));
        }
    }
    arrivals
}

#[test]
fn delay_is_serialisation_plus_propagation_to_the_nanosecond() {
    let medium = Fixed(Span::from_millis(298));
    let mut link = Link::new(t1(), Limit::packets(50), Loss::None, None);
    for packet in 0..3 {
        link.handle_packet(Time::ZERO, packet, WIRE, Label::default(), &medium).unwrap();
    }
    // 8 * 1040 / 1.5e6 s = 5,546,666.67 ns, rounded once for each packet.
    let expected = [303_546_667, 309_093_334, 314_640_001];
    assert_eq!(drain(&mut link, &medium), expected.into_iter().zip(0..).collect::<Vec<_>>());
}

#[test]
fn fifty_packets_are_forty_nine_that_wait_and_one_being_sent() {
    let medium = Fixed(Span::ZERO);
    let mut link = Link::new(t1(), Limit::packets(50), Loss::None, None);
    let taken = (0..60)
        .filter(|p| link.handle_packet(Time::ZERO, *p, WIRE, Label::default(), &medium).is_ok())
        .count();
    assert_eq!((taken, link.waiting(Time::ZERO, &medium)), (50, 49));
    assert_eq!(link.stats().packets_dropped, 10);
    // As soon as the first has left there is room for exactly one more.
    let later = Time::ZERO + t1().serialisation(Bytes::new(WIRE as u64));
    assert!(link.handle_packet(later, 60, WIRE, Label::default(), &medium).is_ok());
    assert!(link.handle_packet(later, 61, WIRE, Label::default(), &medium).is_err());
}

#[test]
fn a_limit_in_bytes_counts_headers_and_the_packet_being_sent() {
    let medium = Fixed(Span::ZERO);
    let limit = Limit(Amount::Bytes(Bytes::new(3 * WIRE as u64)));
    let mut link = Link::new(t1(), limit, Loss::None, None);
    let taken = (0..5)
        .filter(|p| link.handle_packet(Time::ZERO, *p, WIRE, Label::default(), &medium).is_ok())
        .count();
    assert_eq!(taken, 3);
}

#[test]
fn an_end_that_comes_nearer_never_reorders() {
    struct Falling;
    impl Medium for Falling {
        fn one_way_delay(&self, at: Time) -> Span {
            // A jump of 80 ms, as when the seam moves away.
            if at < Time::from_nanos(20_000_000) { Span::from_millis(100) } else { Span::from_millis(20) }
        }
    }
    let mut link = Link::new(t1(), Limit::packets(50), Loss::None, None);
    for packet in 0..10 {
        link.handle_packet(Time::ZERO, packet, WIRE, Label::default(), &Falling).unwrap();
    }
    let arrivals = drain(&mut link, &Falling);
    assert!(arrivals.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1), "{arrivals:?}");
    assert_eq!(arrivals.len(), 10);
    // The fourth packet leaves at 22.2 ms; alone it would arrive at 42 ms, it waits for the third at 116.6 ms.
    assert_eq!(arrivals[3].0, arrivals[2].0);
}

#[test]
fn waiting_time_of_poisson_arrivals_is_that_of_m_d_1() {
    // Mean wait in an M/D/1 queue: rho * service / (2 * (1 - rho)).
    let medium = Fixed(Span::ZERO);
    let rate = Rate::mbit(8);
    let service = rate.serialisation(Bytes::new(1000)).as_secs_f64();
    for rho in [0.5, 0.8] {
        let mut link: Link<u64> = Link::new(rate, Limit::packets(1_000_000), Loss::None, None);
        let mut chance = Seed(11).stream("arrivals");
        let (mut now, mut total, mut n) = (0.0, 0.0, 0u64);
        let mut left = 400_000;
        while left > 0 || link.held() > 0 {
            let next = if left > 0 { Time::ZERO + Span::from_secs_f64(now) } else { Time::MAX };
            while link.poll_timeout().is_some_and(|at| at <= next) {
                let at = link.poll_timeout().unwrap();
                while let Some(arrival) = link.poll_arrival(at, &medium) {
                    total += at.as_secs_f64() - Time::from_nanos(arrival.packet).as_secs_f64() - service;
                    n += 1;
                }
            }
            if left > 0 {
                link.handle_packet(next, next.as_nanos(), 1000, Label::default(), &medium).unwrap();
                now += -(1.0 - chance.uniform()).ln() * service / rho;
                left -= 1;
            }
        }
        let (mean, expected) = (total / n as f64, rho * service / (2.0 * (1.0 - rho)));
        assert!((mean / expected - 1.0).abs() < 0.03, "load {rho}: waited {mean} s, theory {expected} s");
    }
}

#[test]
fn a_link_that_goes_down_drops_what_waits_and_delivers_what_has_left() {
    let medium = Fixed(Span::from_millis(10));
    let mut link = Link::new(t1(), Limit::packets(50), Loss::None, None);
    for packet in 0..5 {
        link.handle_packet(Time::ZERO, packet, WIRE, Label::default(), &medium).unwrap();
    }
    let mut dropped = Vec::new();
    link.set_down(Time::ZERO + Span::from_millis(6), &medium, |p| dropped.push(p));
    assert_eq!(dropped, [2, 3, 4]);
    assert!(
        link.handle_packet(Time::ZERO + Span::from_millis(7), 9, WIRE, Label::default(), &medium).is_err()
    );
    assert_eq!(drain(&mut link, &medium).iter().map(|a| a.1).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn packets_keep_the_peer_they_were_sent_to() {
    let medium = Fixed(Span::from_millis(10));
    let mut link = Link::new(t1(), Limit::packets(50), Loss::None, None);
    link.set_peer(Time::ZERO, 7, &medium);
    link.handle_packet(Time::ZERO, 0, WIRE, Label::default(), &medium).unwrap();
    link.handle_packet(Time::ZERO, 1, WIRE, Label::default(), &medium).unwrap();
    link.set_peer(Time::ZERO + Span::from_millis(1), 8, &medium);
    let mut peers = Vec::new();
    while let Some(at) = link.poll_timeout() {
        while let Some(arrival) = link.poll_arrival(at, &medium) {
            peers.push((arrival.packet, arrival.peer));
        }
    }
    assert_eq!(peers, [(0, 7), (1, 8)]);
}

#[test]
fn a_captured_link_reports_each_transmission_when_it_begins() {
    let medium = Fixed(Span::from_millis(100));
    let mut link = Link::new(t1(), Limit::packets(50), Loss::None, None);
    link.capture();
    for packet in 0..3 {
        link.handle_packet(Time::ZERO, packet, WIRE, Label::default(), &medium).unwrap();
    }
    let mut sent = Vec::new();
    while let Some(at) = link.poll_timeout() {
        while let Some(s) = link.poll_sent(at, &medium) {
            assert!(s.at <= at);
            sent.push((s.at.as_nanos(), s.packet));
        }
        while link.poll_arrival(at, &medium).is_some() {}
    }
    assert_eq!(sent, [(0, 0), (5_546_667, 1), (11_093_334, 2)]);
}
