//! The buffer of an ATM switch beside a model that counts every cell.
//!
//! Follows Kota et al. 1999 §4 for the policies; the model keeps each cell with the time at which it has left.
//! Leaves out packets of band 0 beside cells that mix.

use skyhop_chance::{Seed, Stream};
use skyhop_link::{CellOrder, Fixed, Label, Link, Loss, UbrConfig, UbrPolicy};
use skyhop_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

const POLICIES: [UbrPolicy; 5] = [
    UbrPolicy::TailDrop,
    UbrPolicy::PartialPacketDiscard,
    UbrPolicy::EarlyPacketDiscard,
    UbrPolicy::SelectiveDrop,
    UbrPolicy::FairBufferAllocation,
];

/// One cell in a microsecond.
fn rate() -> Rate {
    Rate::from_bps(424_000_000).unwrap()
}

fn config(cells: u64, policy: UbrPolicy) -> UbrConfig {
    let service = CellOrder::Trains;
    let limit = Bytes::new(cells * 53);
    UbrConfig { limit, policy, threshold: 0.8, scale: 0.8, service, port_rate: None, guaranteed: None }
}

fn link(config: UbrConfig) -> Link<u32> {
    Link::new(rate(), skyhop_link::Discipline::Ubr(config), Loss::None, None)
}

/// Cells, each with its channel, the packet that it ends if all of it is here, and the time at which it has left.
struct Model {
    config: UbrConfig,
    cells: Vec<(u32, Option<u32>, Time)>,
    /// Channels whose next packet begins in the middle of another.
    endless: BTreeMap<u32, bool>,
}

impl Model {
    fn offer(&mut self, now: Time, id: u32, channel: u32, count: u64) {
        let capacity = self.config.limit.get() / 53;
        let inside = || self.cells.iter().filter(|(.., leaves)| *leaves > now);
        let x = inside().count() as u64;
        let own = inside().filter(|(of, ..)| *of == channel).count() as u64;
        let mut channels: Vec<u32> = inside().map(|(of, ..)| *of).collect();
        channels.sort_unstable();
        channels.dedup();
        let (xf, n, k) = (x as f64, channels.len() as f64, capacity as f64);
        let (r, z) = (self.config.threshold * k, self.config.scale);
        let whole = match self.config.policy {
            UbrPolicy::TailDrop | UbrPolicy::PartialPacketDiscard => true,
            UbrPolicy::EarlyPacketDiscard => xf <= r,
            UbrPolicy::SelectiveDrop => xf <= r || own as f64 * n <= z * xf,
            UbrPolicy::FairBufferAllocation => xf <= r || own as f64 * n * (xf - r) <= z * (k - r) * xf,
        };
        if !whole {
            return;
        }
        let room = (capacity - x).min(count);
        let last_is_in = room == count || (room > 0 && self.config.policy != UbrPolicy::TailDrop);
        let endless = self.endless.entry(channel).or_default();
        let good = room == count && !*endless;
        if last_is_in {
            *endless = false;
        } else if room > 0 {
            *endless = true;
        }
        for n in 0..room {
            let begins = self.cells.last().map_or(now, |(.., leaves)| (*leaves).max(now));
            let ends = (good && n + 1 == count).then_some(id);
            self.cells.push((channel, ends, begins + Span::from_micros(1)));
        }
    }
}

#[test]
fn as_a_model_of_every_cell_says() {
    let mut chance: Stream = Seed(1).stream("ubr");
    let mut draw = |from: u64, to: u64| from + chance.bits() % (to - from);
    let (mut kept, mut lost) = ([0; 5], [0; 5]);
    for case in 0..10_000 {
        let policy = POLICIES[case % 5];
        let largest = draw(1, 40);
        // Eighths, so that the products are exact on both sides.
        let config = UbrConfig {
            threshold: draw(1, 9) as f64 / 8.0,
            scale: draw(1, 9) as f64 / 8.0,
            ..config(draw(largest, 4 * largest + 1), policy)
        };
        let channels = draw(2, 21);
        let (mut link, mut model) =
            (link(config), Model { config, cells: Vec::new(), endless: BTreeMap::new() });
        let (mut now, medium) = (Time::ZERO, Fixed(Span::ZERO));
        let mut refused = Vec::new();
        let mut arrived = Vec::new();
        let packets = 200;
        for id in 0..packets {
            // Off the beat of cells, so that nothing leaves at the very moment at which another comes.
            now += Span::from_nanos(draw(0, largest) * 1000 + 10);
            while let Some(at) = link.poll_timeout().filter(|at| *at <= now) {
                while let Some(arrival) = link.poll_arrival(at, &medium) {
                    arrived.push((arrival.packet, at));
                }
            }
            let (channel, cells) = (draw(0, channels) as u32, draw(1, largest + 1));
            let label = Label { flow: channel, ..Label::default() };
            if link.handle_packet(now, id, (cells * 53) as u32, label, &medium).is_err() {
                refused.push(id);
            }
            model.offer(now, id, channel, cells);
        }
        while let Some(at) = link.poll_timeout() {
            while let Some(arrival) = link.poll_arrival(at, &medium) {
                arrived.push((arrival.packet, at));
            }
        }
        // The rest of a packet that was cut last.
        link.waiting(now + Span::from_secs(1), &medium);
        let expected: Vec<(u32, Time)> =
            model.cells.iter().filter_map(|(_, ends, at)| Some(((*ends)?, *at))).collect();
        let differs = arrived.iter().zip(&expected).position(|(ours, theirs)| ours != theirs);
        assert!(arrived == expected, "case {case}: {config:?}, from {differs:?} on");
        assert_eq!(arrived.len() + refused.len(), packets as usize);
        assert_eq!(link.stats().bytes, model.cells.len() as u64 * 53, "cells that were sent, case {case}");
        assert_eq!(link.held(), 0);
        kept[case % 5] += arrived.len();
        lost[case % 5] += refused.len();
    }
    // All policies are put to the test: none loses all or nothing.
    for share in kept.iter().zip(lost).map(|(kept, lost)| lost as f64 / (*kept as f64 + lost as f64)) {
        assert!((0.05..0.9).contains(&share), "{kept:?} {lost:?}");
    }
}

/// The packets that pass, by channel: four channels each send ten packets of ten cells at once into a buffer of 100 cells, after a fifth
/// has sent 70.
fn passed(policy: UbrPolicy) -> Vec<usize> {
    let mut link = link(config(100, policy));
    let medium = Fixed(Span::ZERO);
    let mut passed = vec![0; 5];
    let offer = |channel: u32, link: &mut Link<u32>| {
        let label = Label { flow: channel, ..Label::default() };
        usize::from(link.handle_packet(Time::ZERO, 0, 530, label, &medium).is_ok())
    };
    for _ in 0..7 {
        passed[4] += offer(4, &mut link);
    }
    for _ in 0..10 {
        for channel in [4, 0, 1, 2, 3] {
            passed[channel as usize] += offer(channel, &mut link);
        }
    }
    passed
}

#[test]
fn policies_decide_who_gets_the_last_fifth_of_the_buffer() {
    // First come, first served, up to the last cell.
    assert_eq!(passed(UbrPolicy::TailDrop), [1, 1, 0, 0, 8]);
    assert_eq!(passed(UbrPolicy::PartialPacketDiscard), [1, 1, 0, 0, 8]);
    // Nothing new above 80 cells.
    assert_eq!(passed(UbrPolicy::EarlyPacketDiscard), [1, 0, 0, 0, 8]);
    // Only those below their share: channel 4 has 80 of 90.
    assert_eq!(passed(UbrPolicy::SelectiveDrop), [1, 1, 0, 0, 8]);
    assert_eq!(passed(UbrPolicy::FairBufferAllocation), [1, 1, 0, 0, 8]);
}

#[test]
fn a_packet_that_is_cut_uses_the_link_and_spoils_the_next_if_its_end_is_lost() {
    for (policy, next) in [(UbrPolicy::TailDrop, false), (UbrPolicy::PartialPacketDiscard, true)] {
        let mut link = link(config(10, policy));
        let medium = Fixed(Span::ZERO);
        let label = Label { flow: 7, ..Label::default() };
        assert!(link.handle_packet(Time::ZERO, 1, 8 * 53, label, &medium).is_ok());
        assert!(link.handle_packet(Time::ZERO, 2, 8 * 53, label, &medium).is_err(), "two of its cells go in");
        let later = Time::ZERO + Span::from_micros(9);
        assert_eq!(link.handle_packet(later, 3, 4 * 53, label, &medium).is_ok(), next, "{policy:?}");
        assert!(link.handle_packet(later, 4, 4 * 53, label, &medium).is_ok());
        let mut arrivals = Vec::new();
        while let Some(at) = link.poll_timeout() {
            arrivals.extend(
                link.poll_arrival(at, &medium).map(|a| (a.packet, at.since(Time::ZERO).as_nanos() / 1000)),
            );
        }
        let third = next.then_some((3, 14));
        assert_eq!(arrivals, [Some((1, 8)), third, Some((4, 18))].into_iter().flatten().collect::<Vec<_>>());
    }
}

/// Packets that arrive, with their times, those that are dropped, and bytes sent.
fn arrivals(config: UbrConfig, offered: &[(Time, u32, u64)]) -> (Vec<(u32, Time)>, Vec<u32>, u64) {
    let (mut link, medium) = (link(config), Fixed(Span::from_micros(3)));
    let (mut arrived, mut refused) = (Vec::new(), Vec::new());
    let mut drain = |link: &mut Link<u32>, until: Time| {
        while let Some(at) = link.poll_timeout().filter(|at| *at <= until) {
            while let Some(arrival) = link.poll_arrival(at, &medium) {
                arrived.push((arrival.packet, at));
            }
        }
    };
    for (id, (now, channel, cells)) in (0..).zip(offered) {
        drain(&mut link, *now);
        let label = Label { flow: *channel, ..Label::default() };
        if link.handle_packet(*now, id, (cells * 53) as u32, label, &medium).is_err() {
            refused.push(id);
        }
    }
    drain(&mut link, Time::ZERO + Span::from_secs(10));
    link.waiting(Time::ZERO + Span::from_secs(10), &medium);
    refused.extend(std::iter::from_fn(|| link.poll_discarded()));
    assert_eq!(link.held(), 0);
    (arrived, refused, link.stats().bytes)
}

#[test]
fn each_cell_and_trains_drop_the_same_packets_and_deliver_within_a_cell() {
    let mut chance: Stream = Seed(2).stream("ubr");
    let mut draw = |from: u64, to: u64| from + chance.bits() % (to - from);
    let (mut kept, mut lost, mut furthest) = ([0; 5], [0; 5], Span::ZERO);
    for case in 0..10_000 {
        let policy = POLICIES[case % 5];
        let largest = draw(1, 40);
        let limit = draw(largest, 4 * largest + 1);
        let trains = UbrConfig {
            threshold: draw(1, 9) as f64 / 8.0,
            scale: draw(1, 9) as f64 / 8.0,
            ..config(limit, policy)
        };
        let channels = draw(2, 21);
        let mut now = Time::ZERO;
        let offered: Vec<_> = (0..100)
            .map(|_| {
                now += Span::from_nanos(draw(0, largest) * 1000 + 10);
                (now, draw(0, channels) as u32, draw(1, largest + 1))
            })
            .collect();
        let (ours, refused, bytes) = arrivals(trains, &offered);
        let (theirs, dropped, sent) = arrivals(UbrConfig { service: CellOrder::Cells, ..trains }, &offered);
        assert_eq!((&refused, bytes), (&dropped, sent), "case {case}: {trains:?}");
        assert_eq!(ours.len(), theirs.len());
        for ((packet, at), (other, then)) in ours.iter().zip(&theirs) {
            assert_eq!(packet, other, "case {case}");
            furthest = furthest.max(at.since(*then)).max(then.since(*at));
        }
        kept[case % 5] += ours.len();
        lost[case % 5] += refused.len();
    }
    println!("{kept:?} packets delivered, {lost:?} dropped, no further apart than {furthest:?}");
    assert!(furthest <= Span::from_micros(1));
    for share in kept.iter().zip(lost).map(|(kept, lost)| lost as f64 / (*kept as f64 + lost as f64)) {
        assert!((0.05..0.9).contains(&share), "{kept:?} {lost:?}");
    }
}

#[test]
fn channels_take_turns_cell_by_cell() {
    let at = |us: u64| Time::ZERO + Span::from_micros(us);
    let by_channel =
        UbrConfig { service: CellOrder::Channels, ..config(1000, UbrPolicy::EarlyPacketDiscard) };
    // A long packet is on its way when two short ones of other channels come, and a second one of the last.
    let offered = [(at(0), 1, 100), (at(10), 2, 5), (at(10), 3, 3), (at(10), 3, 3)];
    let (arrived, refused, bytes) = arrivals(by_channel, &offered);
    assert_eq!((refused, bytes), (vec![], 111 * 53));
    // Eleven cells of the first leave before; then 1, 2 and 3 in turn: 3 ends with its third cell, 2 with its fifth, 3's next with its
    // sixth.
    let ends: Vec<_> = arrived.iter().map(|(id, then)| (*id, then.since(at(3)).as_nanos() / 1000)).collect();
    assert_eq!(ends, [(2, 20), (1, 25), (3, 28), (0, 111)]);
    // First come, first served, all wait for the first.
    let (arrived, ..) = arrivals(config(1000, UbrPolicy::EarlyPacketDiscard), &offered);
    let ends: Vec<_> = arrived.iter().map(|(id, then)| (*id, then.since(at(3)).as_nanos() / 1000)).collect();
    assert_eq!(ends, [(0, 100), (1, 105), (2, 108), (3, 111)]);
}

#[test]
fn channels_share_the_link_evenly_however_much_each_sends() {
    let by_channel = UbrConfig { service: CellOrder::Channels, ..config(2000, UbrPolicy::SelectiveDrop) };
    let mut offered = Vec::new();
    // Channel 0 sends at twice the rate of the link, the other three each at a third of it: there is a quarter for each.
    for us in 0..100_000u64 {
        let now = Time::ZERO + Span::from_nanos(us * 1000 + 10);
        if us % 10 == 0 {
            offered.push((now, 0, 20));
        }
        (1..4)
            .filter(|channel| us % 60 == 7 * channel)
            .for_each(|channel| offered.push((now, channel as u32, 20)));
    }
    let (arrived, ..) = arrivals(by_channel, &offered);
    let mut cells = [0; 4];
    for (id, _) in arrived.iter().filter(|(_, at)| *at <= Time::ZERO + Span::from_millis(100)) {
        let (_, channel, of) = offered[*id as usize];
        cells[channel as usize] += of;
    }
    for share in cells.map(|cells| cells as f64 / 100_000.0) {
        assert!((0.235..0.26).contains(&share), "{cells:?}");
    }
}

#[test]
fn ubr_has_its_guaranteed_rate_beside_traffic_that_goes_first_and_the_rest_when_there_is_none() {
    for service in [CellOrder::Trains, CellOrder::Cells, CellOrder::Channels] {
        // A quarter of a cell in a microsecond.
        let guaranteed = Rate::from_bps(106_000_000);
        let config = UbrConfig { service, guaranteed, ..config(500, UbrPolicy::EarlyPacketDiscard) };
        let (mut link, medium) = (link(config), Fixed(Span::ZERO));
        let mut sums = [[0u64; 2]; 3];
        let mut offered = Vec::new();
        for us in 0..300_000u64 {
            let now = Time::ZERO + Span::from_nanos(us * 1000 + 10);
            while let Some(at) = link.poll_timeout().filter(|at| *at <= now) {
                while let Some(arrival) = link.poll_arrival(at, &medium) {
                    let (band, phase): (u8, usize) = offered[arrival.packet as usize];
                    sums[phase][usize::from(band)] += 20;
                }
            }
            // UBR always has more than the link; what goes first has it too, but for the second 100 ms.
            let phase = (us / 100_000) as usize;
            for band in 0..2u8 {
                let sends = us % 10 == u64::from(band) && (band == 1 || phase != 1);
                if sends {
                    let label = Label { flow: u32::from(band), band, ..Label::default() };
                    offered.push((band, phase));
                    let id = offered.len() as u32 - 1;
                    let _ = link.handle_packet(now, id, 20 * 53, label, &medium);
                }
            }
        }
        let shares = sums.map(|sums| sums.map(|cells| cells as f64 / 100_000.0));
        println!("{service:?}: {shares:?}");
        for phase in [0, 2] {
            assert!((0.74..0.77).contains(&shares[phase][0]), "{shares:?}");
            assert!((0.245..0.26).contains(&shares[phase][1]), "{shares:?}");
        }
        assert!(shares[1][0] == 0.0 && shares[1][1] > 0.98, "{shares:?}");
    }
}

#[test]
fn what_goes_down_with_a_link_is_all_its_cells() {
    for service in [CellOrder::Trains, CellOrder::Cells, CellOrder::Channels] {
        let config = UbrConfig {
            service,
            guaranteed: Rate::from_bps(1_000_000),
            ..config(50, UbrPolicy::PartialPacketDiscard)
        };
        let (mut link, medium) = (link(config), Fixed(Span::ZERO));
        for id in 0..20 {
            let label = Label { flow: id % 3, band: (id % 2) as u8, ..Label::default() };
            let _ = link.handle_packet(Time::ZERO, id, 7 * 53, label, &medium);
        }
        let mut dropped = 0;
        link.set_down(Time::ZERO + Span::from_micros(1), &medium, |_| dropped += 1);
        link.set_up();
        assert!(dropped > 5 && link.held() <= 1, "{dropped}");
        // The buffer has room for a packet as large as itself.
        let later = Time::ZERO + Span::from_millis(1);
        let label = Label { flow: 9, band: 1, ..Label::default() };
        while let Some(at) = link.poll_timeout() {
            while link.poll_arrival(at, &medium).is_some() {}
        }
        assert!(link.handle_packet(later, 99, 40 * 53, label, &medium).is_ok(), "{service:?}");
        let mut arrived = Vec::new();
        while let Some(at) = link.poll_timeout() {
            arrived.extend(
                link.poll_arrival(at, &medium).map(|a| (a.packet, at.since(later).as_nanos() / 1000)),
            );
        }
        assert_eq!(arrived, [(99, 40)], "{service:?}");
    }
}

/// A packet of the model of ports.
struct AtPort {
    channel: u32,
    cells: u64,
    /// Time at which its first cell comes.
    first: Time,
    /// True once a cell has been dropped; all are if the policy refuses the first.
    cut: bool,
    refused: bool,
    /// Cells in the buffer so far, and whether those before them lack their end.
    taken: u64,
    spoilt: bool,
}

/// Packets delivered, with their times, and cells sent, where a cell comes from a port every `spacing`.
fn mixed(config: UbrConfig, spacing: Span, offered: &[(Time, u32, u64)]) -> (Vec<(u32, Time)>, u64) {
    let mut free: BTreeMap<u32, Time> = BTreeMap::new();
    let mut cells = Vec::new();
    let mut packets: Vec<AtPort> = Vec::new();
    for (id, &(at, channel, count)) in offered.iter().enumerate() {
        let first = at.max(free.get(&channel).copied().unwrap_or(Time::ZERO));
        free.insert(channel, first + spacing * count);
        cells.extend((0..count).map(|n| (first + spacing * n, id, n)));
        packets.push(AtPort {
            channel,
            cells: count,
            first,
            cut: false,
            refused: false,
            taken: 0,
            spoilt: false,
        });
    }
    cells.sort();
    let (capacity, policy) = (config.limit.get() / 53, config.policy);
    let (k, z) = (capacity as f64, config.scale);
    let r = config.threshold * k;
    let mut endless: BTreeMap<u32, bool> = BTreeMap::new();
    // Channel and time of leaving of every cell that went in.
    let mut inside: Vec<(u32, Time)> = Vec::new();
    let mut delivered = Vec::new();
    for (at, id, n) in cells {
        let packet = &mut packets[id];
        let now: Vec<u32> = inside.iter().filter(|(_, leaves)| *leaves > at).map(|(of, _)| *of).collect();
        let x = now.len() as u64;
        if n == 0 {
            assert_eq!(at, packet.first);
            let own = now.iter().filter(|of| **of == packet.channel).count() as f64;
            let mut channels = now.clone();
            channels.sort_unstable();
            channels.dedup();
            let (xf, na) = (x as f64, channels.len() as f64);
            packet.refused = xf > r
                && match policy {
                    UbrPolicy::TailDrop | UbrPolicy::PartialPacketDiscard => false,
                    UbrPolicy::EarlyPacketDiscard => true,
                    UbrPolicy::SelectiveDrop => own * na > z * xf,
                    UbrPolicy::FairBufferAllocation => own * na * (xf - r) > z * (k - r) * xf,
                };
        }
        let last = n + 1 == packet.cells;
        let ends = endless.entry(packet.channel).or_default();
        let full = x >= capacity;
        packet.cut |= full && !packet.refused;
        let goes = match (packet.refused, packet.cut, policy) {
            (true, ..) => false,
            (_, false, _) => true,
            (_, true, UbrPolicy::TailDrop) => !full,
            (_, true, _) => !full && last && packet.taken > 0,
        };
        if !goes {
            *ends |= last && packet.taken > 0;
            continue;
        }
        if packet.taken == 0 {
            packet.spoilt = *ends;
        }
        packet.taken += 1;
        let leaves = inside.last().map_or(at, |(_, leaves)| (*leaves).max(at)) + Span::from_micros(1);
        inside.push((packet.channel, leaves));
        if last {
            *ends = false;
            if !packet.cut && !packet.spoilt {
                delivered.push((id as u32, leaves));
            }
        }
    }
    (delivered, inside.len() as u64)
}

#[test]
fn cells_that_mix_are_dropped_as_a_model_of_every_cell_says() {
    let mut chance: Stream = Seed(3).stream("ubr");
    let mut draw = |from: u64, to: u64| from + chance.bits() % (to - from);
    let (mut kept, mut lost, mut unlike) = ([0; 5], [0; 5], 0);
    for case in 0..10_000 {
        let policy = POLICIES[case % 5];
        let largest = draw(1, 40);
        let port_rate = Rate::from_bps(draw(200, 2000) * 1_000_000);
        let config = UbrConfig {
            threshold: draw(1, 9) as f64 / 8.0,
            scale: draw(1, 9) as f64 / 8.0,
            service: CellOrder::Cells,
            port_rate,
            ..config(draw(largest, 4 * largest + 1), policy)
        };
        let channels = draw(2, 21);
        let mut now = Time::ZERO;
        let offered: Vec<_> = (0..100)
            .map(|_| {
                now += Span::from_nanos(draw(0, largest) * 1000 + 17);
                (now, draw(0, channels) as u32, draw(1, largest + 1))
            })
            .collect();
        let spacing = port_rate.unwrap().serialisation(Bytes::new(53));
        let (expected, sent) = mixed(config, spacing, &offered);
        let expected: Vec<_> = expected.into_iter().map(|(id, at)| (id, at + Span::from_micros(3))).collect();
        let (arrived, refused, bytes) = arrivals(config, &offered);
        assert_eq!(arrived.len() + refused.len(), offered.len());
        let differs = arrived.iter().zip(&expected).position(|(ours, theirs)| ours != theirs);
        assert!(arrived == expected, "case {case}: {config:?}, from {differs:?} on");
        assert_eq!(bytes, sent * 53, "cells that were sent, case {case}");
        let together = UbrConfig { port_rate: None, ..config };
        let alike = arrivals(together, &offered).0.iter().map(|a| a.0).eq(arrived.iter().map(|a| a.0));
        unlike += usize::from(!alike);
        kept[case % 5] += arrived.len();
        lost[case % 5] += offered.len() - arrived.len();
    }
    println!(
        "{kept:?} packets delivered, {lost:?} dropped; {unlike} cases differ from cells that come together"
    );
    assert!(unlike > 5_000, "{unlike}");
    for share in kept.iter().zip(lost).map(|(kept, lost)| lost as f64 / (*kept as f64 + lost as f64)) {
        assert!((0.05..0.9).contains(&share), "{kept:?} {lost:?}");
    }
}

#[test]
fn an_outage_takes_packets_of_which_cells_are_still_to_come() {
    let config = UbrConfig {
        service: CellOrder::Cells,
        port_rate: Rate::from_bps(424_000_000),
        ..config(1000, UbrPolicy::EarlyPacketDiscard)
    };
    let (mut link, medium) = (link(config), Fixed(Span::ZERO));
    for id in 0..10 {
        let label = Label { flow: id % 5, ..Label::default() };
        assert!(link.handle_packet(Time::ZERO, id, 7 * 53, label, &medium).is_ok());
    }
    let mut dropped = Vec::new();
    link.set_down(Time::ZERO + Span::from_nanos(4_500), &medium, |id| dropped.push(id));
    dropped.sort_unstable();
    link.set_up();
    let mut arrived = Vec::new();
    while let Some(at) = link.poll_timeout() {
        arrived.extend(link.poll_arrival(at, &medium).map(|arrival| arrival.packet));
    }
    assert_eq!(dropped, (0..10).collect::<Vec<_>>());
    assert_eq!((arrived.len(), link.held()), (0, 0));
    let later = Time::ZERO + Span::from_secs(1);
    assert!(link.handle_packet(later, 99, 7 * 53, Label::default(), &medium).is_ok());
    while let Some(at) = link.poll_timeout() {
        arrived.extend(link.poll_arrival(at, &medium).map(|arrival| arrival.packet));
    }
    assert_eq!(arrived, [99]);
}
