//! Duplicated and corrupted packets, against their probabilities.

use skyhop_chance::Seed;
use skyhop_link::{Corruption, Duplication, Fixed, FlippedBit, Label, Limit, Link, Loss};
use skyhop_units::{Rate, Span, Time};

const MEDIUM: Fixed = Fixed(Span::from_millis(10));
const SIZE: u32 = 125;

fn plain(loss: f64) -> Link<u32> {
    let loss = Loss::Packets { probability: loss };
    Link::new(Rate::mbit(1), Limit::packets(u64::MAX), loss, Some(Seed(1).stream("loss")))
}

fn doubling(link: Link<u32>, probability: f64, delay: Span) -> Link<u32> {
    link.with_duplication(Duplication { probability, delay }, Seed(1).stream("duplication"))
}

fn corrupting(link: Link<u32>, probability: f64) -> Link<u32> {
    link.with_corruption(Corruption { probability }, Seed(1).stream("corruption"))
}

/// An arrival: time in us, packet (plus 1,000,000 for a copy), true if it was lost, and the flipped bit.
type Arrived = (u64, u32, bool, Option<FlippedBit>);

/// Sends `count` packets, one each millisecond, and returns all arrivals.
fn run(link: &mut Link<u32>, count: u32) -> Vec<Arrived> {
    let mut arrived = Vec::new();
    let mut made = 0;
    for packet in 0..=count {
        let offered = Time::ZERO + Span::from_millis(u64::from(packet));
        let until = if packet < count { offered } else { Time::ZERO + Span::from_secs(3600) };
        while let Some(at) = link.poll_timeout().filter(|at| *at <= until) {
            while let Some(arrival) = link.poll_arrival(at, &MEDIUM) {
                arrived.push((at.as_nanos(), arrival.packet, arrival.lost, arrival.corrupted));
                if arrival.duplicated {
                    assert!(!arrival.lost && arrival.packet < 1_000_000, "copies and lost packets have none");
                    link.duplicate(at, &arrival, arrival.packet + 1_000_000);
                    made += 1;
                }
            }
        }
        if packet < count {
            link.handle_packet(offered, packet, SIZE, Label::default(), &MEDIUM).unwrap();
        }
    }
    assert_eq!((link.stats().packets_duplicated, link.held()), (made, 0));
    assert_eq!(arrived.len() as u64, link.stats().packets + made, "sent + duplicated = arrived");
    assert!(arrived.is_sorted_by_key(|arrived| arrived.0));
    arrived
}

/// Returns true if `count` of `of` is within four standard deviations of `share`.
fn is_share(count: u64, of: u64, share: f64) -> bool {
    let (count, of) = (count as f64, of as f64);
    (count - of * share).abs() < 4.0 * (of * share * (1.0 - share)).sqrt()
}

#[test]
fn as_many_copies_arrive_as_the_probability_says_and_so_much_later() {
    for (probability, delay) in
        [(0.3, Span::ZERO), (0.02, Span::from_micros(2_700)), (1.0, Span::from_millis(40))]
    {
        let mut link = doubling(plain(0.1), probability, delay);
        let arrived = run(&mut link, 20_000);
        let stats = link.stats();
        let whole = stats.packets - stats.packets_lost;
        let fits = if probability < 1.0 {
            is_share(stats.packets_duplicated, whole, probability)
        } else {
            stats.packets_duplicated == whole
        };
        assert!(fits, "{} of {whole}", stats.packets_duplicated);
        // A packet a millisecond is alone on the link: it arrives after 1 ms of sending and 10 ms of way.
        for (at, packet, lost, corrupted) in arrived {
            let sent = u64::from(packet % 1_000_000) * 1_000_000;
            let late = if packet >= 1_000_000 { delay.as_nanos() } else { 0 };
            assert_eq!((at, corrupted), (sent + 11_000_000 + late, None));
            assert!(!lost || packet < 1_000_000);
        }
    }
}

#[test]
fn bits_become_others_as_often_as_the_probability_says_and_anywhere() {
    let mut link = corrupting(plain(0.1), 0.2);
    let arrived = run(&mut link, 50_000);
    let stats = link.stats();
    let bits: Vec<u32> = arrived.iter().filter_map(|a| a.3).map(FlippedBit::bit).collect();
    assert_eq!(stats.packets_corrupted, bits.len() as u64);
    // A lost packet is not corrupted too; a corrupted one counts as lost.
    assert!(is_share(stats.packets_corrupted, 50_000, 0.9 * 0.2), "{stats:?}");
    assert!(is_share(stats.packets_lost, 50_000, 0.1 + 0.9 * 0.2), "{stats:?}");
    assert!(arrived.iter().all(|a| a.2 || a.3.is_none()));
    // Eight parts of the packet of a thousand bits, and each of eight bits of a byte.
    for of_eight in [|bit: u32| bit / 125, |bit: u32| bit % 8] {
        for part in 0..8 {
            let count = bits.iter().filter(|bit| of_eight(**bit) == part).count() as u64;
            assert!(is_share(count, bits.len() as u64, 0.125), "{count} in part {part}");
        }
    }
    assert!(bits.iter().all(|bit| *bit < SIZE * 8));
}

#[test]
fn a_bit_is_flipped_where_it_is_and_no_other() {
    let mut link = corrupting(plain(0.0), 1.0);
    for (_, _, lost, bit) in run(&mut link, 200) {
        let bit = bit.expect("each is corrupted");
        let mut bytes = [0u8; SIZE as usize];
        bit.flip(&mut bytes);
        let set: Vec<u32> =
            (0..SIZE * 8).filter(|at| bytes[(at / 8) as usize] >> (7 - at % 8) & 1 == 1).collect();
        assert_eq!((set, lost), (vec![bit.bit()], true));
        bit.flip(&mut bytes);
        assert_eq!(bytes, [0; SIZE as usize]);
        // Bytes that are fewer than the link was told.
        bit.flip(&mut bytes[..1]);
        bit.flip(&mut []);
    }
}

#[test]
fn either_draws_from_its_own_stream_alone() {
    let losses = |mut link: Link<u32>| -> Vec<u32> {
        let arrived = run(&mut link, 5_000);
        arrived.iter().filter(|a| a.2 && a.3.is_none()).map(|a| a.1).collect()
    };
    let bits = |mut link: Link<u32>| -> Vec<(u32, u32)> {
        run(&mut link, 5_000).iter().filter_map(|a| Some((a.1, a.3?.bit()))).collect()
    };
    let lost = losses(plain(0.05));
    assert_eq!(losses(doubling(plain(0.05), 0.5, Span::ZERO)), lost);
    assert_eq!(losses(corrupting(plain(0.05), 0.5)), lost);
    assert_eq!(
        bits(corrupting(plain(0.0), 0.1)),
        bits(doubling(corrupting(plain(0.0), 0.1), 0.5, Span::ZERO))
    );
    assert!(losses(corrupting(plain(0.0), 0.0)).is_empty(), "never, at a probability of 0");
}

#[test]
fn what_is_spoilt_on_its_way_has_no_copy() {
    let mut link = doubling(plain(0.0), 1.0, Span::from_millis(1));
    link.handle_packet(Time::ZERO, 7, SIZE, Label::default(), &MEDIUM).unwrap();
    link.disturb(Time::ZERO + Span::from_millis(5), &MEDIUM, || true, |_| {});
    let at = link.poll_timeout().unwrap();
    let arrival = link.poll_arrival(at, &MEDIUM).unwrap();
    assert_eq!((arrival.lost, arrival.duplicated), (true, false));
}
