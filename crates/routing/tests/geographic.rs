//! Distributed routing: delivery, delay, and the losses of the thesis's protocol.
//!
//! Follows HT 6.5.3, figures 6.21 and 6.22: random pairs, the same for every scheme.
//! Differs: failed links too, which the thesis did not examine.
//! Left out: the full numbers, which the example `geographic` prints.

use crate::testing;
use skyhop_orbit::{Constellation, Terminal, preset};
use skyhop_routing::hybrid::Hybrid;
use skyhop_routing::scheme::{RoutingScheme, TripEnd, send_packet};
use skyhop_routing::survey::{PairSample, Survey};
use skyhop_routing::{Failures, Geographic, PacketHeader, PathMetric, Shortest, Stranded, View};
use skyhop_topology::{Rules, Topology};

/// Number of pairs for each constellation and share of failures, and of pairs for each network: a thousand networks, or with
/// SKYHOP_FULL 25,000. Means of so many pairs differ by a tenth of a millisecond.
fn samples() -> (u32, u32) {
    match (cfg!(debug_assertions), testing::full()) {
        (true, _) => (2_000, 24),
        (false, false) => (24_000, 24),
        (false, true) => (100_000, 4),
    }
}

fn systems() -> [(&'static str, Constellation, Rules); 4] {
    let without = Rules { cross_seam: None, ..Rules::teledesic() };
    [
        ("iridium", preset::iridium(), Rules::iridium()),
        ("iridium, cross-seam", preset::iridium(), Rules::iridium_cross_seam()),
        ("teledesic", preset::teledesic(), without),
        ("teledesic, cross-seam", preset::teledesic(), Rules::teledesic()),
    ]
}

fn survey(
    constellation: Constellation,
    rules: Rules,
    failed_share: f64,
    schemes: &mut [&mut dyn RoutingScheme],
    each: impl FnMut(&PairSample<'_>),
) {
    let (samples, per_update) = samples();
    let survey = Survey { samples, per_update, failed_share, ..Survey::default() };
    survey.run(constellation, rules, schemes, uniform(17), each).expect("the network is sound");
}

#[test]
fn geographic_routing_delivers_whenever_there_is_a_path() {
    delivers(0.0);
}

#[test]
fn geographic_routing_delivers_with_one_link_in_a_hundred_failed() {
    delivers(0.01);
}

#[test]
fn geographic_routing_delivers_with_one_link_in_twenty_failed() {
    delivers(0.05);
}

fn delivers(failed_share: f64) {
    let (samples, _) = samples();
    for (name, constellation, rules) in systems() {
        let (mut paths, mut none, mut sum_s, mut most_s) = (0u32, 0u32, 0.0, 0.0f64);
        let mut ours = Geographic::new(1);
        survey(constellation.clone(), rules, failed_share, &mut [&mut ours], |sample| {
            let trip = &sample.trips[0];
            let Some(least_s) = sample.least_delay_s else {
                none += 1;
                assert_eq!(trip.outcome, TripEnd::Stranded(Stranded::NoPath), "{name}: {trip:?}");
                return;
            };
            assert!(trip.delivered(), "{name}, {failed_share} failed: {trip:?}");
            paths += 1;
            let excess_s = trip.delay_s - least_s;
            assert!(excess_s > -1e-9, "{name}: nothing beats the best path: {trip:?}");
            sum_s += excess_s;
            most_s = most_s.max(excess_s);
        });
        let mean_ms = sum_s / f64::from(paths) * 1e3;
        println!(
            "{name}, {failed_share}: {paths} of {samples}, +{mean_ms:.3} ms, at most +{:.1}",
            most_s * 1e3
        );
        assert!(paths + none == samples && none < samples / 50, "{name}: no path for {none}");
        assert!(failed_share > 0.0 || (0.0..8.0).contains(&mean_ms), "{name}: {mean_ms} ms late on average");
        let bound = name == "teledesic, cross-seam" && failed_share == 0.0;
        assert!(!bound || (0.0..55e-3).contains(&most_s), "{name}: {most_s} s late at most");
    }
}

#[test]
fn the_protocol_of_1999_is_as_late_as_published_and_fails_at_the_seam() {
    let limit = 70f64.to_radians();
    let rules = Rules { isl_latitude_limit_rad: limit, ..Rules::teledesic() };
    let mut hybrid = Hybrid::default();
    let mut fewest = Shortest::new(PathMetric::Hops);
    let (mut far, mut behind_hops_s, mut behind_delay_s, mut most_s) = (0u32, 0.0, 0.0, 0.0f64);
    let (mut dead_ends, mut at_seam, mut loops) = (0u32, 0u32, 0u32);
    survey(preset::teledesic(), rules, 0.0, &mut [&mut hybrid, &mut fewest], |sample| {
        let [trip, fewest] = sample.trips else { panic!("two schemes, two trips") };
        match trip.outcome {
            TripEnd::Delivered => {}
            TripEnd::Looping => loops += 1,
            TripEnd::Stranded(_) => {
                dead_ends += 1;
                let at = trip.nodes.last().expect("it starts somewhere");
                let plane = sample.view.topology().constellation().plane_slot(at.0).map(|(plane, _)| plane);
                at_seam += u32::from(plane.is_some_and(|plane| !(2..10).contains(&plane)));
            }
        }
        if trip.delivered() && sample.separation_m > 5e6 {
            far += 1;
            behind_hops_s += trip.delay_s - fewest.delay_s;
            let excess_s = trip.delay_s - sample.least_delay_s.expect("there is a path");
            behind_delay_s += excess_s;
            most_s = most_s.max(excess_s);
        }
    });
    let mean_ms = |sum_s: f64| sum_s / f64::from(far) * 1e3;
    let (hops_ms, delay_ms) = (mean_ms(behind_hops_s), mean_ms(behind_delay_s));
    println!(
        "{far} far pairs: {hops_ms:.2} ms behind fewest hops, {delay_ms:.2} behind least delay, at most {:.1}; \
         {dead_ends} dead ends, {at_seam} at the seam, {loops} loops",
        most_s * 1e3
    );
    let share = |count: u32| f64::from(count) / f64::from(samples().0);
    assert!((-3.0..3.0).contains(&hops_ms), "{hops_ms} ms behind fewest hops");
    assert!((3.0..10.0).contains(&delay_ms), "{delay_ms} ms behind least delay");
    assert!((0.02..0.08).contains(&share(dead_ends)), "{dead_ends} dead ends");
    assert!(10 * at_seam > 9 * dead_ends, "{at_seam} of {dead_ends} dead ends at the seam");
    assert!(share(loops) < 0.001, "{loops} loops");
}

#[test]
fn a_wrong_plane_in_the_address_costs_time_and_no_packet() {
    let mut draw = uniform(5);
    let mut wrong = Geographic::new(1);
    let mut bare = Geographic::new(1).with_bare_places();
    let survey = Survey { samples: 2_000, failed_share: 0.05, ..Survey::default() };
    let each = |sample: &PairSample<'_>| {
        wrong.refresh(sample.view);
        let (from, to) = sample.ends;
        let place = sample.view.position(to).expect("terminals stay");
        for plane in [Some((12.0 * draw()) as u32), Some(99), None] {
            let mut packet = PacketHeader { to, place, plane, carried: Vec::new() };
            let trip = send_packet(&mut wrong, sample.view, from, &mut packet);
            assert_eq!(trip.delivered(), sample.least_delay_s.is_some(), "{trip:?}");
        }
        assert_eq!(sample.trips[0].delivered(), sample.least_delay_s.is_some(), "{:?}", sample.trips[0]);
    };
    survey
        .run(preset::teledesic(), Rules::teledesic(), &mut [&mut bare], uniform(23), each)
        .expect("the network is sound");
}

#[test]
fn packets_survive_a_network_that_changes_at_every_hop() {
    let mut draw = uniform(8);
    let mut anywhere = |name| {
        let latitude_deg = (2.0 * draw() - 1.0).asin().to_degrees();
        Terminal::from_degrees(name, latitude_deg, 360.0 * draw() - 180.0).expect("it is on the Earth")
    };
    let terminals = vec![anywhere("a"), anywhere("b")];
    let mut topology = Topology::new(preset::teledesic(), terminals, Rules::teledesic()).expect("sound");
    let none = Failures::none();
    let mut ours = Geographic::new(1);
    let (mut t_s, mut most, mut handovers) = (0.0, 0, 0);
    for _ in 0..500 {
        for index in [0, 1] {
            topology.move_terminal(index, &anywhere("elsewhere"), t_s).expect("there are two");
        }
        let [from, to] = [0, 1].map(|index| topology.terminal_node(index).expect("there are two"));
        let view = View::new(&topology, &none, t_s);
        let Some((mut at, mut egress)) = view.serving(from).zip(view.serving(to)) else { continue };
        let place = view.position(to).expect("terminals stay");
        let plane = topology.constellation().plane_slot(egress.0).map(|(plane, _)| plane);
        let mut packet = PacketHeader { to, place, plane, carried: Vec::new() };
        let mut hops = 0;
        loop {
            // Almost a minute for each hop, so that terminals change satellites meanwhile.
            for _ in 0..5 {
                t_s += 10.0;
                topology.update(t_s);
            }
            let view = View::new(&topology, &none, t_s);
            ours.refresh(&view);
            let Some(now) = view.serving(to) else { break };
            handovers += u32::from(now != egress);
            egress = now;
            if at == egress {
                break;
            }
            at = ours.next_hop(&view, at, &mut packet).expect("there is a path").to;
            hops += 1;
            assert!(hops < 60, "lost for {hops} hops");
        }
        most = most.max(hops);
    }
    println!("{most} hops at most, {handovers} handovers under way");
    assert!((8..60).contains(&most) && (40..1000).contains(&handovers), "{most} hops, {handovers} handovers");
}

/// SplitMix64 as numbers in [0, 1).
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
