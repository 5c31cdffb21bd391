//! Prints the delivery, delay and cost of distributed routing: `geographic [samples]`.
//!
//! Follows HT 6.5.3: random pairs, the same for every scheme; `docs/geographic-routing.md` explains the numbers.
//! Differs: failed links, state, messages and convergence are measured too.
//! Left out: packets in flight while the network changes.

use skyhop_orbit::{Constellation, Terminal, preset};
use skyhop_routing::flooding::{Flood, announce};
use skyhop_routing::scheme::{LinkCause, RoutingScheme, TripEnd};
use skyhop_routing::survey::{PairSample, Survey};
use skyhop_routing::{Failures, Geographic, Hybrid, PathMetric, Shortest, Stranded, View};
use skyhop_topology::{LinkChange, LinkId, LinkKind, LinkState, NodeId, Rules, Topology};

/// Time in which a satellite forwards an announcement, in addition to propagation.
const PER_HOP_S: f64 = 1e-3;

fn main() {
    let samples = std::env::args().nth(1).map_or(100_000, |text| text.parse().expect("a number of samples"));
    let without = Rules { cross_seam: None, ..Rules::teledesic() };
    let limit = 70f64.to_radians();
    let published = Rules { isl_latitude_limit_rad: limit, ..Rules::teledesic() };
    let systems = [
        ("iridium", preset::iridium(), Rules::iridium()),
        ("iridium, cross-seam", preset::iridium(), Rules::iridium_cross_seam()),
        ("teledesic, no cross-seam", preset::teledesic(), without),
        ("teledesic", preset::teledesic(), Rules::teledesic()),
        ("teledesic, limit 70 deg", preset::teledesic(), published),
    ];
    for (name, constellation, rules) in systems {
        println!("\n{name}: {samples} pairs");
        println!(
            "{:>7} {:<14} {:>8} {:>6} {:>6} {:>6} {:>9} {:>9} {:>9} {:>11} {:>13}",
            "failed",
            "scheme",
            "arrived",
            "none",
            "lost",
            "loops",
            "mean ms",
            "p99 ms",
            "max ms",
            "words",
            "state"
        );
        for failed_share in [0.0, 0.01, 0.05] {
            paths(&constellation, rules, failed_share, samples);
        }
        costs(&constellation, rules);
        let (satellites, planes) = handovers(constellation, rules);
        println!("a terminal changes satellite {satellites:.1} times an hour, and plane {planes:.2} times");
    }
}

/// Changes of satellite and of plane per hour: the mean of 200 random terminals over a day.
fn handovers(constellation: Constellation, rules: Rules) -> (f64, f64) {
    let mut draw = uniform(29);
    let place = |index: u32| {
        let latitude_deg = (2.0 * draw() - 1.0).asin().to_degrees();
        let longitude_deg = 360.0 * draw() - 180.0;
        Terminal::from_degrees(format!("t{index}"), latitude_deg, longitude_deg).expect("it is on the Earth")
    };
    let terminals = (0..200).map(place).collect();
    let mut topology = Topology::new(constellation, terminals, rules).expect("the network is sound");
    let (mut satellites, mut planes) = (0, 0);
    for step in 0..8640 {
        let changes = topology.update(f64::from(step) * 10.0).to_vec();
        let moved = |change: &&LinkChange| change.is.kind == LinkKind::Gsl && change.was.b != change.is.b;
        for change in changes.iter().filter(moved).filter(|_| step > 0) {
            let plane = |node: NodeId| topology.constellation().plane_slot(node.0).map(|(plane, _)| plane);
            satellites += 1;
            planes += u32::from(plane(change.was.b) != plane(change.is.b));
        }
    }
    let hourly = |count: u32| f64::from(count) / 200.0 / 24.0;
    (hourly(satellites), hourly(planes))
}

fn schemes() -> Vec<(String, Box<dyn RoutingScheme>)> {
    let radius = |radius| {
        (format!("ours, radius {radius}"), Box::new(Geographic::new(radius)) as Box<dyn RoutingScheme>)
    };
    vec![
        radius(1),
        radius(2),
        radius(3),
        ("ours, bare".into(), Box::new(Geographic::new(1).with_bare_places())),
        ("hybrid".into(), Box::new(Hybrid::default())),
        ("fewest hops".into(), Box::new(Shortest::new(PathMetric::Hops))),
    ]
}

#[derive(Default)]
struct Tally {
    /// Delay in excess of the best path, seconds.
    late_s: Vec<f64>,
    none: u32,
    lost: u32,
    loops: u32,
    words: u64,
    most_words: usize,
    state: u64,
    most_state: usize,
    satellites: u64,
}

fn paths(constellation: &Constellation, rules: Rules, failed_share: f64, samples: u32) {
    let mut schemes = schemes();
    let mut tallies: Vec<Tally> = schemes.iter().map(|_| Tally::default()).collect();
    let survey = Survey { samples, failed_share, ..Survey::default() };
    let mut borrowed: Vec<&mut dyn RoutingScheme> = Vec::new();
    for (_, scheme) in &mut schemes {
        borrowed.push(scheme.as_mut());
    }
    let each = |sample: &PairSample<'_>| {
        for (tally, trip) in tallies.iter_mut().zip(sample.trips) {
            match (trip.outcome, sample.least_delay_s) {
                (TripEnd::Delivered, Some(least_s)) => tally.late_s.push(trip.delay_s - least_s),
                (TripEnd::Stranded(Stranded::NoPath | Stranded::DeadEnd), None) => tally.none += 1,
                (TripEnd::Looping, _) => tally.loops += 1,
                _ => tally.lost += 1,
            }
            tally.words += trip.carried as u64;
            tally.most_words = tally.most_words.max(trip.carried);
        }
    };
    let uniform = uniform(17);
    survey.run(constellation.clone(), rules, &mut borrowed, uniform, each).expect("the network is sound");
    states(constellation, rules, failed_share, &mut schemes, &mut tallies);
    for ((name, _), mut tally) in schemes.into_iter().zip(tallies) {
        tally.late_s.sort_by(f64::total_cmp);
        let arrived = tally.late_s.len();
        let mean_s = tally.late_s.iter().sum::<f64>() / arrived as f64;
        let [p99_s, most_s] = [arrived * 99 / 100, arrived - 1].map(|index| tally.late_s[index]);
        println!(
            "{:>6.0}% {:<14} {:>8} {:>6} {:>6} {:>6} {:>9.3} {:>9.2} {:>9.1} {:>6.2}/{:>4} {:>8.1}/{:>4}",
            failed_share * 100.0,
            name,
            arrived,
            tally.none,
            tally.lost,
            tally.loops,
            mean_s * 1e3,
            p99_s * 1e3,
            most_s * 1e3,
            tally.words as f64 / f64::from(samples),
            tally.most_words,
            tally.state as f64 / tally.satellites.max(1) as f64,
            tally.most_state,
        );
    }
}

/// Entries per satellite, mean and largest, over 20 instants with 100 terminals.
fn states(
    constellation: &Constellation,
    rules: Rules,
    failed_share: f64,
    schemes: &mut [(String, Box<dyn RoutingScheme>)],
    tallies: &mut [Tally],
) {
    let survey = Survey { samples: 20, per_update: 1, failed_share, terminals: 100 };
    let mut borrowed: Vec<&mut dyn RoutingScheme> = Vec::new();
    let each = |sample: &PairSample<'_>| {
        for ((_, scheme), tally) in schemes.iter_mut().zip(tallies.iter_mut()) {
            scheme.refresh(sample.view);
            for satellite in (0..sample.view.satellites() as u32).map(NodeId) {
                let state = scheme.state(sample.view, satellite);
                tally.state += state as u64;
                tally.most_state = tally.most_state.max(state);
                tally.satellites += 1;
            }
        }
    };
    survey.run(constellation.clone(), rules, &mut borrowed, uniform(3), each).expect("the network is sound");
}

/// Messages and convergence, for every single ISL failure at one instant and for an hour of orbital changes.
fn costs(constellation: &Constellation, rules: Rules) {
    let mut topology = Topology::new(constellation.clone(), Vec::new(), rules).expect("the network is sound");
    let none = Failures::none();
    println!(
        "{:<14} {:>21} {:>12} {:>10} {:>22}",
        "", "messages a failure", "told", "within ms", "messages/s, orbits"
    );
    for (name, mut scheme) in schemes() {
        let mut orbits = Flood::default();
        for step in 0..360 {
            let t_s = f64::from(step) * 10.0;
            let changes = topology.update(t_s).to_vec();
            let view = View::new(&topology, &none, t_s);
            scheme.refresh(&view);
            if step > 0 {
                orbits =
                    orbits.and(announce(scheme.as_ref(), &view, &changes, LinkCause::Published, PER_HOP_S));
            }
        }
        let (mut failures, mut count, mut longest_s) = (Flood::default(), 0, 0.0f64);
        for (number, link) in (0u32..).zip(topology.links()) {
            if !link.up || link.kind == LinkKind::Gsl {
                continue;
            }
            let mut broken = Failures::none();
            broken.fail(LinkId(number));
            let view = View::new(&topology, &broken, 3590.0);
            scheme.refresh(&view);
            let change =
                LinkChange { link: LinkId(number), was: *link, is: LinkState { up: false, ..*link } };
            let cost = announce(scheme.as_ref(), &view, &[change], LinkCause::Failure, PER_HOP_S);
            longest_s = longest_s.max(cost.converged_s);
            failures = failures.and(cost);
            count += 1;
        }
        let per_failure = |total: u64| total as f64 / f64::from(count);
        println!(
            "{name:<14} {:>21.1} {:>12.1} {:>10.1} {:>22.2}",
            per_failure(failures.messages),
            per_failure(failures.told),
            longest_s * 1e3,
            orbits.messages as f64 / 3590.0,
        );
    }
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
