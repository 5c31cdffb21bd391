//! A network without hosts: packets from node to node, over fixed links and over moving satellites.
//!
//! Tests conservation after every step, and delays against arithmetic and against the distances between nodes.

use skyhop_chance::Seed;
use skyhop_network::{Account, Agenda, Frame, Network, NetworkEpoch, Route, Way, address};
use skyhop_scenario::network::{NetworkPlan, resolve};
use skyhop_units::{Span, Time};
use skyhop_wire::{Ip, Packet, TooLarge, Transport, Udp, Version};
use std::net::Ipv4Addr;

const HEADERS: u32 = 28;

/// A network driven by a clock alone.
struct Bench {
    plan: NetworkPlan,
    network: Network,
    agenda: Agenda,
    now: Time,
    arrived: Vec<(Time, Frame)>,
}

impl Bench {
    fn new(text: &str, seed: u64) -> Self {
        let loaded =
            skyhop_scenario::parse(text.as_bytes(), "raw.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        let plan = resolve(&loaded.scenario).unwrap();
        let mut agenda = Agenda::default();
        let network = Network::new(&loaded.scenario, &plan, &loaded.files, Seed(seed), &mut agenda).unwrap();
        Self { plan, network, agenda, now: Time::ZERO, arrived: Vec::new() }
    }

    fn route(&mut self, way: Way, narrow: bool) -> u32 {
        let account = self.network.open_account();
        let route = Route { way, account, priority: 0, narrow, told: false, counted: [true; 2] };
        self.network.add_route(route, false)
    }

    fn send(&mut self, route: u32, backward: bool, number: u32, size: u32) {
        let frame = Frame::new(route, backward, [0, number], self.now, datagram(size, number));
        let back = self.network.send(self.now, &mut self.agenda, frame, None);
        if let Some(delivery) = back {
            self.arrived.push((self.now, self.network.take(delivery).0));
        }
        self.network.check_conservation().unwrap();
    }

    fn run_until(&mut self, until: Time) {
        while let Some((now, slot)) = self.agenda.pop(until) {
            assert!(self.network.owns(slot) && now >= self.now);
            self.now = now;
            let mut next = self.network.handle_timeout(now, &mut self.agenda, slot);
            while let Some(delivery) = next {
                assert_eq!(self.network.delivered(&delivery).packet.ip.ttl, 64);
                self.arrived.push((now, self.network.take(delivery).0));
                // Between two arrivals the accounts agree too.
                self.network.check_conservation().unwrap();
                next = self.network.poll_delivery(now, &mut self.agenda);
            }
            self.network.check_conservation().unwrap();
        }
        self.now = until;
    }
}

fn datagram(size: u32, number: u32) -> Packet {
    let ip = Ip {
        identification: number as u16,
        ..Ip::new(Version::V4, Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2))
    };
    let transport = Transport::Udp(Udp { source_port: 7, destination_port: 7 });
    Packet { ip, transport, payload_len: size - HEADERS }
}

fn wires(there: &[u32]) -> Way {
    Way::Wires([there.into(), there.iter().rev().map(|wire| wire ^ 1).collect()])
}

const FIXED: &str = r#"
duration = "100 s"
[links.first]
rate = "1 Mbit/s"
delay = "10 ms"
queue = { kind = "drop-tail", limit = "5 packets" }
[links.second]
rate = "500 kbit/s"
delay = "20 ms"
mtu = "1000 B"
queue = { kind = "drop-tail", limit = "5 packets" }
[links.third]
rate = "1 Mbit/s"
delay = "30 ms"
loss = { kind = "list", packets = [3] }
[[flows]]
path = ["a", "first", "second", "third", "b"]
traffic = { kind = "ping" }
"#;

#[test]
fn packets_cross_links_that_stay_and_every_end_is_counted() {
    let mut bench = Bench::new(FIXED, 1);
    let route = bench.route(wires(&[0, 2, 4]), true);
    // 1000 bytes take 8 ms, 16 ms and 8 ms to send; the first link holds five, the one that is being sent among them.
    for number in 0..6 {
        bench.send(route, false, number, 1000);
    }
    bench.run_until(Time::from_nanos(1_000_000_000));
    let at: Vec<(u32, u64)> =
        bench.arrived.iter().map(|(at, d)| (d.tag, at.as_nanos() / 1_000_000)).collect();
    // The first arrives after all delays; each other one when the narrowest link has sent it. The third is lost.
    assert_eq!(at, [(0, 92), (1, 108), (3, 140), (4, 156)]);
    let account = bench.network.account(0);
    assert_eq!(
        account,
        Account { sent: 6, duplicated: 0, delivered: 4, dropped: 1, lost: 1, bytes: [6000, 0] }
    );

    // Back, from the other end, and a packet that the second link does not carry: its router says so.
    bench.arrived.clear();
    bench.send(route, true, 7, 500);
    bench.send(route, false, 8, 1200);
    bench.run_until(Time::from_nanos(2_000_000_000));
    let [(_, told), (at, back)] = &bench.arrived[..] else { panic!("{:?}", bench.arrived) };
    assert_eq!((back.tag, back.backward), (7, true));
    assert_eq!(at.since(Time::from_nanos(1_000_000_000)), Span::from_millis(60 + 4 + 8 + 4));
    assert!(told.backward && told.tag == 8);
    let Transport::TooLarge(TooLarge { next_hop_mtu, .. }) = told.packet.transport else {
        panic!("{told:?}")
    };
    assert_eq!((next_hop_mtu, told.packet.ip.source), (1000, address(bench.plan.links[1].a as u32)));
    let account = bench.network.account(0);
    assert_eq!((account.sent, account.delivered, account.dropped), (9, 6, 2));
}

#[test]
fn a_packet_that_the_first_link_does_not_carry_comes_back_at_once() {
    let mut bench = Bench::new(
        &FIXED.replace(
            "rate = \"1 Mbit/s\"\ndelay = \"10 ms\"",
            "rate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nmtu = \"600 B\"",
        ),
        1,
    );
    let route = bench.route(wires(&[0, 2, 4]), true);
    bench.send(route, false, 1, 601);
    let [(at, told)] = &bench.arrived[..] else { panic!("{:?}", bench.arrived) };
    assert_eq!(*at, Time::ZERO);
    assert!(matches!(told.packet.transport, Transport::TooLarge(TooLarge { next_hop_mtu: 600, .. })));
}

const SPACE: &str = r#"
duration = "3000 s"
[constellation]
preset = "iridium"
update_interval = "1 s"
gsl = { rate = "1 Mbit/s" }
isl = { rate = "1 Mbit/s" }
[terminals]
lima = { lat = "-12 deg", lon = "-77 deg" }
oslo = { lat = "60 deg", lon = "11 deg" }
[[flows]]
from = "lima"
to = "oslo"
traffic = { kind = "ping" }
"#;

#[test]
fn packets_cross_satellites_that_move_and_come_out_after_the_paths_delay() {
    let mut bench = Bench::new(SPACE, 1);
    let ends = ["lima", "oslo"].map(|name| bench.network.node(name).unwrap());
    let route = bench.route(Way::Space(ends), false);
    bench.run_until(Time::from_nanos(1));
    let mut delays = std::collections::BTreeSet::new();
    for number in 0..300 {
        let (delay_s, satellites) = bench.network.path(route).unwrap();
        let sent = bench.now;
        bench.send(route, number % 2 == 1, number, 125);
        bench.run_until(sent + Span::from_secs_f64(9.7));
        let Some((at, delivery)) = bench.arrived.pop() else { continue };
        assert_eq!(delivery.tag, number);
        // 125 bytes take 1 ms on each link, and satellites move while a packet is under way.
        let links = satellites as f64 + 1.0;
        let took = at.since(sent).as_secs_f64() - 1e-3 * links;
        assert!((took - delay_s).abs() < 2e-4, "{number}: {took} s for {delay_s} s");
        delays.insert((delay_s * 1e4) as u64);
    }
    let Account { sent, delivered, dropped, lost, .. } = bench.network.account(0);
    assert_eq!((sent, dropped + lost), (300, 300 - delivered));
    assert!(delivered >= 295, "{delivered}");
    assert!(delays.len() > 50, "the path changes its length: {}", delays.len());
}

/// Arrivals of one packet every 100 ms for ten minutes; satellites are updated when due, or ahead by another thread.
fn arrivals(scenario: &str, ahead: bool) -> Vec<(Time, u32)> {
    let mut bench = Bench::new(scenario, 1);
    let ends = ["lima", "oslo"].map(|name| bench.network.node(name).unwrap());
    let route = bench.route(Way::Space(ends), false);
    let (sender, epochs) = std::sync::mpsc::sync_channel(3);
    if ahead {
        let mut outlook = bench.network.outlook(Time::ZERO).unwrap();
        std::thread::spawn(move || while sender.send(outlook.next()).is_ok() {});
    }
    let (mut all, mut coming) = (Vec::new(), None);
    for number in 0..6000u32 {
        let until = Time::from_nanos(u64::from(number) * 100_000_000);
        let wanted = until + Span::from_secs(2);
        while ahead && coming.as_ref().is_none_or(|epoch: &NetworkEpoch| epoch.at() <= wanted) {
            if let Some(epoch) = coming.replace(epochs.recv().unwrap()) {
                bench.network.look_ahead(epoch);
            }
        }
        bench.run_until(until);
        bench.send(route, number % 3 == 0, number, 125);
        all.extend(bench.arrived.drain(..).map(|(at, delivery)| (at, delivery.tag)));
    }
    assert_eq!(bench.network.late_looks(), 0);
    all
}

#[test]
fn epochs_that_another_thread_works_out_ahead_are_those_that_the_network_sees_itself() {
    let several = SPACE.replace(
        "[[flows]]",
        "[[failures]]\nsatellite = \"3.4\"\nfrom = \"60 s\"\nuntil = \"200 s\"\n[routing]\nscheme = \"multipath\"\n[[flows]]",
    );
    let gaps = SPACE
        .replace("update_interval", "handover_gap = \"150 ms\"\nhandover_check = \"3 s\"\nupdate_interval");
    for scenario in [SPACE, &several, &gaps] {
        let inline = arrivals(scenario, false);
        assert!(inline.len() > 5800, "{}", inline.len());
        assert_eq!(arrivals(scenario, true), inline);
    }
}

#[test]
fn an_epoch_that_is_late_leaves_links_and_routes_as_they_were() {
    let mut bench = Bench::new(SPACE, 1);
    let ends = ["lima", "oslo"].map(|name| bench.network.node(name).unwrap());
    let route = bench.route(Way::Space(ends), false);
    let mut outlook = bench.network.outlook(Time::ZERO).unwrap();
    bench.network.look_ahead(outlook.next());
    bench.run_until(Time::from_nanos(1));
    let before = bench.network.path(route).unwrap();
    bench.run_until(Time::from_nanos(5_000_000_000));
    assert_eq!(bench.network.path(route), Some(before));
    assert_eq!(bench.network.late_looks(), 1, "one was due, and none comes before it");
    bench.send(route, false, 1, 125);
    while outlook.next_at() <= bench.now {
        bench.network.look_ahead(outlook.next());
    }
    bench.run_until(Time::from_nanos(5_100_000_000));
    assert_ne!(bench.network.path(route), Some(before));
    bench.run_until(Time::from_nanos(5_900_000_000));
    assert_eq!(bench.arrived.len(), 1);
}

const FAULTY: &str = r#"
duration = "100 s"
[links.first]
rate = "10 Mbit/s"
delay = "10 ms"
duplication = { probability = 0.3, delay = "2 ms" }
corruption = { probability = 0.1 }
[links.second]
rate = "10 Mbit/s"
delay = "20 ms"
duplication = { probability = 0.2 }
corruption = { probability = 0.2 }
loss = { kind = "packets", probability = 0.1 }
[[flows]]
path = ["a", "first", "second", "b"]
traffic = { kind = "ping" }
"#;

/// A thousand packets over two faulty links, and the number of flipped bits in each that arrived.
fn over_faulty_links(keep: bool) -> (Bench, Vec<usize>) {
    let mut bench = Bench::new(FAULTY, 5);
    if keep {
        bench.network.keep_corrupted();
    }
    let route = bench.route(wires(&[0, 2]), false);
    let mut flipped = Vec::new();
    for number in 0..1000 {
        let until = Time::ZERO + Span::from_millis(u64::from(number) * 10);
        while let Some((now, slot)) = bench.agenda.pop(until) {
            let mut next = bench.network.handle_timeout(now, &mut bench.agenda, slot);
            while let Some(delivery) = next {
                flipped.push(bench.network.flipped(&delivery).len());
                let (frame, _) = bench.network.take(delivery);
                bench.arrived.push((now, frame));
                bench.network.check_conservation().unwrap();
                next = bench.network.poll_delivery(now, &mut bench.agenda);
            }
            bench.network.check_conservation().unwrap();
        }
        bench.now = until;
        bench.send(route, false, number, 1000);
    }
    (bench, flipped)
}

#[test]
fn copies_are_packets_of_their_own_and_what_is_corrupted_is_lost() {
    let (bench, flipped) = over_faulty_links(false);
    let account = bench.network.account(0);
    let within = |n: u64, from: u64, to: u64| assert!((from..to).contains(&n), "{n} of {account:?}");
    // The first link passes 900 of 1000 and 270 copies; the second passes 0.9 * 0.8 of these 1170, and a fifth of those twice.
    within(account.duplicated, 370, 510);
    within(account.delivered, 930, 1090);
    within(account.lost, 360, 500);
    let Account { sent, duplicated, delivered, dropped, lost, .. } = account;
    assert_eq!((sent, dropped), (1000, 0));
    assert_eq!(sent + duplicated, delivered + lost + account.in_flight());
    assert_eq!(flipped.iter().sum::<usize>(), 0);
    // Each packet arrives up to four times, and is told to be one of several.
    let mut times = vec![0; 1000];
    for (_, frame) in &bench.arrived {
        times[frame.tag as usize] += 1;
    }
    assert_eq!(times.iter().max(), Some(&4));
    assert!(bench.arrived.iter().all(|(_, frame)| frame.twin || times[frame.tag as usize] == 1));
    let result = bench.network.direction_result(0, bench.now);
    within(result.packets_duplicated, 220, 320);
    within(result.packets_corrupted, 70, 135);
    assert_eq!((result.packets, result.packets_lost), (1000, result.packets_corrupted));
}

#[test]
fn a_driver_that_has_the_bytes_gets_what_is_corrupted_with_the_bits() {
    let (bench, flipped) = over_faulty_links(true);
    let account = bench.network.account(0);
    // Only the second link loses anything now; 1 % and more have a bit of each link that is another.
    assert!((90..160).contains(&account.lost), "{account:?}");
    let with = |bits: usize| flipped.iter().filter(|count| **count == bits).count();
    assert!((200..330).contains(&with(1)) && (5..45).contains(&with(2)), "{} {}", with(1), with(2));
    assert_eq!(with(0) + with(1) + with(2), bench.arrived.len());
}
