//! Transitions between states of a link: gaps, acquisition, make-before-break, asynchronous checks.
//!
//! Follows the rules' documentation; instants are worked out by hand from the update interval and the given times.
//! Left out: the effect on packets, which the simulator's tests cover.

use std::collections::{BTreeMap, BTreeSet};

use skyhop_chance::Seed;
use skyhop_orbit::{Terminal, preset};
use skyhop_topology::{Failing, Handover, LinkKind, LinkState, Reliability, Rules, Topology};

fn berlin() -> Terminal {
    Terminal::from_degrees("berlin", 52.52, 13.41).expect("a place")
}

fn teledesic(rules: Rules) -> Topology {
    Topology::new(preset::teledesic(), vec![berlin()], rules).expect("sound")
}

fn rules() -> Rules {
    Rules { handover: Handover::HighestOnLoss, ..Rules::teledesic() }
}

/// Every change of a terminal's link for an hour, with its instant, between updates too.
fn hour(topology: &mut Topology) -> Vec<(f64, LinkState, LinkState)> {
    let mut seen = Vec::new();
    let gsl = topology.gsl(0).expect("a terminal");
    let mut note = |t_s: f64, changes: &[skyhop_topology::LinkChange]| {
        seen.extend(changes.iter().filter(|c| c.link == gsl).map(|c| (t_s, c.was, c.is)));
    };
    for step in 0..360 {
        let t_s = f64::from(step) * 10.0;
        note(t_s, topology.update(t_s));
        while let Some(event_s) = topology.next_event_s().filter(|event_s| *event_s < t_s + 10.0) {
            note(event_s, topology.settle(event_s));
        }
    }
    seen
}

#[test]
fn without_times_nothing_is_ever_due() {
    let mut topology = teledesic(rules());
    let changes = hour(&mut topology);
    assert_eq!(topology.next_event_s(), None);
    assert!((5..120).contains(&changes.len()), "{}", changes.len());
    assert!(changes.iter().skip(1).all(|(_, was, is)| was.up && is.up && was.b != is.b));
}

#[test]
fn a_gap_is_as_long_as_stated_and_changes_nothing_else() {
    let plain = hour(&mut teledesic(rules()));
    let gaps = hour(&mut teledesic(Rules { handover_gap_s: 0.08, gsl_acquisition_s: 0.5, ..rules() }));
    // The first satellite has been acquired already.
    assert_eq!(gaps[0], plain[0]);
    assert_eq!(gaps.len() - 1, 2 * (plain.len() - 1));
    for (pair, (t_s, was, is)) in gaps[1..].chunks(2).zip(&plain[1..]) {
        let [(down_s, before, gap), (up_s, still, after)] = pair else { panic!("a gap without an end") };
        assert_eq!((down_s, before, after), (t_s, was, is));
        assert!(!gap.up && gap == still && (up_s - down_s - 0.58).abs() < 1e-9, "{down_s} to {up_s} s");
    }
}

#[test]
fn make_before_break_leaves_no_gap() {
    let made = Rules { make_before_break: true, gsl_acquisition_s: 4.0, handover_gap_s: 1.0, ..rules() };
    let mut topology = teledesic(made);
    let changes = hour(&mut topology);
    let handovers: Vec<_> = changes[1..].iter().filter(|(_, was, is)| was.up && is.up).collect();
    let broken = changes[1..].iter().filter(|(_, _, is)| !is.up).count();
    assert!(handovers.len() >= 5, "{}", handovers.len());
    assert!(broken <= handovers.len() / 5, "{broken} gaps beside {} handovers", handovers.len());
    for (t_s, ..) in handovers {
        // Acquired four seconds after an update, and not before.
        assert!(((t_s % 10.0) - 4.0).abs() < 1e-9, "{t_s} s");
    }
    // The old satellite must really have served until then: it is above the mask at the next update at the latest.
    assert!((5..150).contains(&hour(&mut teledesic(rules())).len()));
}

#[test]
fn isls_come_up_later_and_go_down_at_once() {
    let mut plain = teledesic(rules());
    let mut slow = teledesic(Rules { isl_acquisition_s: 12.0, ..rules() });
    plain.update(0.0);
    slow.update(0.0);
    assert_eq!(plain.links(), slow.links(), "acquired before the beginning");
    // Links that came up, with the instant at which they should carry packets.
    let (mut due, mut late, mut early): (BTreeMap<u32, f64>, usize, usize) = (BTreeMap::new(), 0, 0);
    for step in 1..60 {
        let t_s = f64::from(step) * 10.0;
        for change in plain.update(t_s).to_vec() {
            let moved = change.was.b != change.is.b;
            match change.is.up && change.is.kind != LinkKind::Gsl && (moved || !change.was.up) {
                true => due.insert(change.link.0, t_s + 12.0),
                false => due.remove(&change.link.0),
            };
        }
        slow.update(t_s);
        for (number, (a, b)) in (0u32..).zip(plain.links().iter().zip(slow.links())) {
            let waits = due.get(&number).is_some_and(|at_s| *at_s > t_s);
            assert_eq!(b.up, a.up && !waits, "{a:?} against {b:?} at {t_s} s");
            late += usize::from(waits);
            early += usize::from(!waits && a.up);
        }
    }
    assert!(late > 100 && early > 10_000, "{late} waited, {early} did not");
}

#[test]
fn terminals_check_at_their_own_times() {
    let places = [("berlin", 52.52, 13.41), ("quito", -0.22, -78.51), ("tokyo", 35.69, 139.69)];
    let terminals = places.map(|(name, lat, lon)| Terminal::from_degrees(name, lat, lon).expect("a place"));
    let mut topology = Topology::new(preset::teledesic(), terminals.to_vec(), rules()).expect("sound");
    topology.check_asynchronously(10.0, 5.0, Seed(3).stream("checks")).expect("sound");
    let mut instants: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for step in 0..360 {
        let t_s = f64::from(step) * 10.0;
        let updated = topology.update(t_s).iter().filter(|change| change.is.kind == LinkKind::Gsl).count();
        assert!(step == 0 || updated == 0, "a terminal changed at {t_s} s");
        while let Some(event_s) = topology.next_event_s().filter(|event_s| *event_s < t_s + 10.0) {
            for change in topology.settle(event_s) {
                instants.entry(change.link.0).or_default().push(event_s);
            }
        }
    }
    assert_eq!(instants.len(), 3);
    for times_s in instants.values() {
        assert!((5..150).contains(&times_s.len()), "{}", times_s.len());
        let odd = times_s.iter().filter(|t_s| (*t_s % 1.0) > 1e-6).count();
        assert_eq!(odd, times_s.len(), "checks in step with the updates");
    }
}

#[test]
fn a_cell_changes_as_one() {
    // Two places of one cell and one far away.
    let cells = Handover::EarthFixedCells { period_s: 60.0, cell_deg: 1.44 };
    let place = |name, lat, lon| Terminal::from_degrees(name, lat, lon).expect("a place");
    let terminals = vec![place("a", 52.3, 13.3), place("b", 52.5, 13.5), place("c", 40.0, -100.0)];
    let mut topology =
        Topology::new(preset::teledesic(), terminals, Rules { handover: cells, ..rules() }).expect("sound");
    let (mut held, mut changes) = (BTreeSet::new(), 0);
    for step in 0..360 {
        let t_s = f64::from(step) * 10.0;
        for change in topology.update(t_s).iter().filter(|c| c.is.kind == LinkKind::Gsl) {
            assert!(step % 6 == 0, "{change:?} at {t_s} s");
            changes += 1;
        }
        let of = |terminal| *topology.link(topology.gsl(terminal).expect("there")).expect("there");
        assert_eq!((of(0).b, of(0).up), (of(1).b, of(1).up), "at {t_s} s");
        held.insert(of(0).b);
    }
    assert!(held.len() >= 5 && changes >= 15, "{} satellites, {changes} changes", held.len());
}

#[test]
fn random_failures_last_as_long_as_they_should() {
    let topology = teledesic(rules());
    let reliability = Reliability {
        satellite_mtbf_s: 50_000.0,
        isl_mtbf_s: 20_000.0,
        station_mtbf_s: f64::INFINITY,
        mttr_s: 1_000.0,
    };
    let until_s = 400_000.0;
    let outages = reliability.draw(&topology, until_s, &mut Seed(1).stream("failures"));
    assert_eq!(outages, reliability.draw(&topology, until_s, &mut Seed(1).stream("failures")));
    let share = |of: &dyn Fn(&Failing) -> bool, things: usize| {
        let down_s: f64 =
            outages.iter().filter(|o| of(&o.what)).map(|o| o.to_s.min(until_s) - o.from_s).sum();
        down_s / (things as f64 * until_s)
    };
    let isls = topology.links().iter().filter(|link| link.kind != LinkKind::Gsl).count();
    // Unavailability is mttr / (mtbf + mttr): 1/51 and 1/21.
    let satellites = share(&|what| matches!(what, Failing::Satellite(_)), 288);
    assert!((0.018..0.0212).contains(&satellites), "{satellites}");
    let links = share(&|what| matches!(what, Failing::Link(_)), isls);
    assert!((0.046..0.0492).contains(&links), "{links}");
    assert!(!outages.iter().any(|outage| matches!(outage.what, Failing::Station(_))));
}
