//! Filtering of acknowledgments against RFC 3449 §5.2.1.
//!
//! Tests its rules one by one, then all queues under random acknowledgments of several connections.
//! Differs from the simulator's tests: acknowledgments are labels, and there is no transport.
//! Leaves out the effect on a transfer, which the simulator's tests cover.

use skyhop_chance::Seed;
use skyhop_link::{
    Ack, CodelConfig, Discipline, DrrConfig, Fixed, FqCodelConfig, Label, Limit, Link, Loss, PriorityConfig,
    RedConfig,
};
use skyhop_units::{Amount, Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

const NEAR: Fixed = Fixed(Span::ZERO);
/// 1000 bytes take 1 ms.
const RATE: Rate = Rate::mbit(8);

fn filtered(discipline: impl Into<Discipline>) -> Link<u32> {
    Link::new(RATE, discipline, Loss::None, None).with_ack_filter()
}

fn ack(flow: u32, ack: Ack) -> Label {
    Label { flow, ack, ..Label::default() }
}

/// Offers packets at time 0 behind packet 0 of 1000 bytes; returns the arrivals with their times in us, and the discarded packets.
fn pass(link: &mut Link<u32>, packets: &[(u32, u32, Label)]) -> (Vec<(u32, u64)>, Vec<u32>) {
    link.handle_packet(Time::ZERO, 0, 1000, Label::default(), &NEAR).unwrap();
    for &(packet, size, label) in packets {
        link.handle_packet(Time::ZERO, packet, size, label, &NEAR).unwrap();
    }
    let discarded = std::iter::from_fn(|| link.poll_discarded()).collect();
    let mut arrived = Vec::new();
    while let Some(at) = link.poll_timeout() {
        while let Some(arrival) = link.poll_arrival(at, &NEAR) {
            arrived.push((arrival.packet, at.as_nanos() / 1000));
        }
    }
    assert_eq!(arrived.remove(0), (0, 1000));
    (arrived, discarded)
}

#[test]
fn a_later_acknowledgment_takes_the_place_of_an_older_one() {
    let mut link = filtered(Limit::packets(50));
    let data = Label { flow: 9, ..Label::default() };
    let packets = [
        (1, 40, ack(1, Ack::Plain(100))),
        (2, 1000, data),
        (3, 52, ack(1, Ack::Plain(200))),
        (4, 1000, data),
    ];
    // 52 bytes are 52 us, where 40 waited.
    assert_eq!(pass(&mut link, &packets), (vec![(3, 1052), (2, 2052), (4, 3052)], vec![1]));
    let stats = link.stats();
    assert_eq!((stats.packets_filtered, stats.packets_dropped, stats.bytes), (1, 1, 3052));
}

#[test]
fn what_says_more_than_its_number_stays() {
    let numbers = |pairs: &[(u32, Ack)]| {
        let packets: Vec<_> =
            pairs.iter().zip(1..).map(|((flow, a), packet)| (packet, 40, ack(*flow, *a))).collect();
        let (arrived, discarded) = pass(&mut filtered(Limit::packets(50)), &packets);
        (arrived.into_iter().map(|a| a.0).collect::<Vec<_>>(), discarded)
    };
    use Ack::{Kept, No, Plain};
    // Of another connection, with SACK blocks or marks, with data.
    assert_eq!(numbers(&[(1, Plain(1)), (2, Plain(2))]), (vec![1, 2], vec![]));
    assert_eq!(numbers(&[(1, Kept(1)), (1, Plain(2))]), (vec![1, 2], vec![]));
    assert_eq!(numbers(&[(1, No), (1, Plain(2))]), (vec![1, 2], vec![]));
    // One that is kept removes older ones all the same; one with data comes alone.
    assert_eq!(numbers(&[(1, Plain(1)), (1, Kept(2))]), (vec![2], vec![1]));
    assert_eq!(numbers(&[(1, Plain(1)), (1, No)]), (vec![1, 2], vec![]));
    // Three duplicates are a signal, whatever comes after; so is one that is late.
    let duplicates = [(1, Plain(1)), (1, Plain(1)), (1, Plain(1)), (1, Plain(2)), (1, Plain(3))];
    assert_eq!(numbers(&duplicates), (vec![1, 2, 3, 5], vec![4]));
    assert_eq!(numbers(&[(1, Plain(2)), (1, Plain(1))]), (vec![1, 2], vec![]));
    // Sequence numbers go round.
    assert_eq!(numbers(&[(1, Plain(u32::MAX)), (1, Plain(5))]), (vec![2], vec![1]));
    assert_eq!(numbers(&[(1, Plain(5)), (1, Plain(u32::MAX))]), (vec![1, 2], vec![]));
}

#[test]
fn one_that_the_queue_has_marked_stays() {
    let always = RedConfig { min: Amount::Packets(1), max: Amount::Packets(3), ..red() };
    let mut link = filtered(Discipline::Red(always, Seed(5).stream("red")));
    let label = |number| Label { ecn: true, ..ack(1, Ack::Plain(number)) };
    let other = |n| (n, 40, Label { flow: 2 + n, ..Label::default() });
    // The average follows at once: the fourth finds three, the fifth four, and both are marked for certain.
    let (arrived, discarded) =
        pass(&mut link, &[other(1), other(2), other(3), (4, 40, label(1)), (5, 40, label(2))]);
    let marked = link.stats().packets_marked;
    assert_eq!((marked, arrived.len(), discarded.len()), (2, 5, 0), "{arrived:?} {discarded:?}");
}

#[test]
fn a_full_queue_takes_an_acknowledgment_for_another() {
    let mut link = filtered(Limit::packets(2));
    link.handle_packet(Time::ZERO, 0, 1000, Label::default(), &NEAR).unwrap();
    for number in 1..=100 {
        link.handle_packet(Time::ZERO, number, 40, ack(1, Ack::Plain(number)), &NEAR).unwrap();
    }
    assert!(link.handle_packet(Time::ZERO, 101, 40, ack(2, Ack::Plain(101)), &NEAR).is_err());
    assert_eq!(
        std::iter::from_fn(|| link.poll_discarded()).collect::<Vec<_>>(),
        (1..100).collect::<Vec<_>>()
    );
    let at = Time::from_nanos(1_040_000);
    assert_eq!(std::iter::from_fn(|| link.poll_arrival(at, &NEAR)).map(|a| a.packet).last(), Some(100));
}

fn red() -> RedConfig {
    RedConfig {
        limit: Limit::packets(40),
        min: Amount::Packets(5),
        max: Amount::Packets(20),
        weight: 1.0,
        max_p: 1.0,
        gentle: true,
        wait: false,
        ecn: true,
        mean_packet: Bytes::new(500),
    }
}

/// Acknowledgments of four connections rise and sometimes repeat: no arriving number is lower than the one before, and the filter
/// removes no number that a later one does not cover.
#[test]
fn whatever_the_queue_the_last_word_arrives() {
    let (limit, ecn) = (Limit::packets(40), true);
    let [target, interval] = [5, 100].map(Span::from_millis);
    let disciplines = [
        Discipline::DropTail(limit),
        Discipline::Red(red(), Seed(2).stream("red")),
        Discipline::Codel(CodelConfig { limit, target, interval, ecn }),
        Discipline::FqCodel(FqCodelConfig { limit, target, interval, ecn, quantum: 300, queues: 3 }),
        Discipline::Drr(DrrConfig { limit, quantum: 300 }),
        Discipline::Priority(PriorityConfig { limit, bands: 2 }),
    ];
    for discipline in disciplines {
        let name = format!("{discipline:?}");
        let mut link = filtered(discipline);
        let mut chance = Seed(9).stream("acks");
        // By packet: connection, number, whether it must not be filtered.
        let mut sent: Vec<(u32, u32, bool)> = Vec::new();
        let mut number = [0u32; 4];
        let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
        let (mut arrived, mut dropped, mut kept_out) = (0u64, 0u64, 0u64);
        for step in 0..30_000u64 {
            let now = Time::from_nanos(step * 300_000);
            let flow = (chance.uniform() * 4.0) as u32;
            if step < 29_000 {
                let packet = sent.len() as u32;
                if chance.happens(0.2) {
                    sent.push((9, 0, true));
                    let label = Label { flow: 9, ..Label::default() };
                    dropped += link.handle_packet(now, packet, 1200, label, &NEAR).is_err() as u64;
                } else {
                    let repeats = chance.happens(0.1);
                    number[flow as usize] += !repeats as u32;
                    let (n, kept) = (number[flow as usize], chance.happens(0.05));
                    let what = if kept { Ack::Kept(n) } else { Ack::Plain(n) };
                    sent.push((flow, n, kept));
                    let label = Label { band: (flow % 2) as u8, ecn: step % 2 == 0, ..ack(flow, what) };
                    dropped += link.handle_packet(now, packet, 60, label, &NEAR).is_err() as u64;
                }
            }
            while let Some(arrival) = link.poll_arrival(now, &NEAR) {
                arrived += 1;
                let (flow, n, _) = sent[arrival.packet as usize];
                let before = seen.insert(flow, n).unwrap_or(0);
                assert!(before <= n, "{name}: connection {flow} said {n} after {before}");
            }
            while let Some(packet) = link.poll_discarded() {
                dropped += 1;
                kept_out += sent[packet as usize].2 as u64;
            }
            assert_eq!(sent.len() as u64, arrived + dropped + link.held() as u64, "{name}");
        }
        let stats = link.stats();
        assert_eq!((stats.packets_dropped, link.held()), (dropped, 0), "{name}");
        assert!(stats.packets_filtered > 300, "{name}: {stats:?}");
        if stats.packets_filtered == dropped {
            // Nothing was dropped for other reasons: then the last of each connection has arrived, and all that say more.
            assert_eq!(kept_out, 0, "{name}");
            assert!((0..4).all(|f| seen[&f] == number[f as usize]), "{name}: {seen:?} of {number:?}");
        }
        println!("{name:.12}: {arrived} arrived, {} filtered of {dropped}", stats.packets_filtered);
    }
}
