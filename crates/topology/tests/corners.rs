//! Combinations of transitions: a second handover within a gap, asynchronous checks with fixed periods, many outages.
//!
//! Expectations come from positions and schedules by the documented rules, not from the topology's search.
//! Left out: the simple cases, which `transitions.rs` has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use skyhop_chance::Seed;
use skyhop_orbit::visibility::elevation_rad;
use skyhop_orbit::{Terminal, preset};
use skyhop_topology::{
    Failing, Fibre, Handover, HandoverPolicy, LinkKind, LinkState, NodeId, Outage, Reliability, Rules,
    Station, Topology, VisibleSatellite,
};

fn place(name: &str, latitude_deg: f64, longitude_deg: f64) -> Terminal {
    Terminal::from_degrees(name, latitude_deg, longitude_deg).expect("a place")
}

fn rules() -> Rules {
    Rules { handover: Handover::HighestOnLoss, elevation_mask_rad: 0.3, ..Rules::teledesic() }
}

fn with_antennas(antennas: u16, rules: Rules) -> Topology {
    let berlin = Station { terminal: place("berlin", 52.52, 13.41), antennas, gateway: false };
    Topology::with_stations(preset::teledesic(), vec![berlin], &Fibre::None, rules).expect("sound")
}

fn gsl(topology: &Topology) -> LinkState {
    *topology.link(topology.gsl(0).expect("a terminal")).expect("a link")
}

fn held(topology: &Topology) -> Vec<u32> {
    let links = topology.gsls(0).filter_map(|link| topology.link(link));
    links.filter(|link| link.up).map(|link| link.b.0).collect()
}

/// Updates every 10 s and settles events in between, calling `each` after each of them.
fn run(topology: &mut Topology, steps: std::ops::Range<u32>, mut each: impl FnMut(&Topology, f64)) {
    for step in steps {
        let t_s = f64::from(step) * 10.0;
        topology.update(t_s);
        each(topology, t_s);
        while let Some(event_s) = topology.next_event_s().filter(|event_s| *event_s < t_s + 10.0) {
            topology.settle(event_s);
            each(topology, event_s);
        }
    }
}

// The satellite that is being acquired fails in the middle of a gap of 25 s: the gap begins again with the third.
#[test]
fn a_second_handover_within_a_gap_has_a_whole_gap_too() {
    let mut topology = with_antennas(1, Rules { handover_gap_s: 25.0, ..rules() });
    topology.update(0.0);
    let first = gsl(&topology).b.0;
    let fails = |satellite, from_s| Outage { what: Failing::Satellite(satellite), from_s, to_s: 1e9 };
    topology.schedule(vec![fails(first, 10.0)]);
    topology.update(10.0);
    let second = gsl(&topology);
    assert!(!second.up && second.b.0 != first);
    topology.schedule(vec![fails(first, 10.0), fails(second.b.0, 20.0)]);
    topology.update(20.0);
    let third = gsl(&topology);
    assert!(!third.up && ![first, second.b.0].contains(&third.b.0), "{third:?}");
    assert_eq!(topology.next_event_s(), Some(45.0));
    assert!(topology.update(40.0).iter().all(|change| change.is.kind != LinkKind::Gsl));
    topology.settle(45.0);
    assert!(gsl(&topology).up && gsl(&topology).b == third.b);
}

// The old satellite fails while the next one is being acquired: the link is down, and already that of the next one.
#[test]
fn what_breaks_before_it_is_made_is_a_gap_on_the_way_to_the_next() {
    for own_clock in [false, true] {
        let made = Rules { make_before_break: true, gsl_acquisition_s: 25.0, ..rules() };
        let mut topology = with_antennas(1, made);
        if own_clock {
            topology.check_asynchronously(10.0, 1.0, Seed(7).stream("checks")).expect("sound");
        }
        let (mut broken, mut last) = (None, None);
        run(&mut topology, 0..360, |topology, t_s| {
            // The present change was decided 25 s ago.
            let now = gsl(topology).b;
            if let Some(old) = last.filter(|old| *old != now && broken.is_none()) {
                broken = Some((t_s - 25.0, old));
            }
            last = Some(now);
        });
        let (t_s, old) = broken.expect("a handover in an hour");
        let mut topology = with_antennas(1, made);
        if own_clock {
            topology.check_asynchronously(10.0, 1.0, Seed(7).stream("checks")).expect("sound");
        }
        let outage = Outage { what: Failing::Satellite(old.0), from_s: t_s + 1e-3, to_s: 1e9 };
        topology.schedule(vec![outage]);
        let (mut gap, mut after) = (None, None);
        run(&mut topology, 0..360, |topology, now_s| {
            let link = gsl(topology);
            if now_s > t_s && !link.up && gap.is_none() {
                gap = Some((now_s, link.b));
                assert!(topology.is_acquiring(topology.gsl(0).expect("one")));
            }
            if gap.is_some() && link.up && after.is_none() {
                after = Some((now_s, link.b));
            }
        });
        let ((gap_s, next), (after_s, then)) = (gap.expect("a gap"), after.expect("an end"));
        assert!(next != old && next == then, "{old:?}, {next:?}, {then:?}");
        // Noticed at the next look or update; acquired when it would have been.
        assert!(
            gap_s - t_s <= 11.0 && (after_s - t_s - 25.0).abs() < 1e-9,
            "{gap_s} and {after_s} after {t_s}"
        );
    }
}

// With make-before-break the next satellite is chosen for the instant at which it will serve: it is then above the mask,
// and a handover never leads to one that sets before the next look.
#[test]
fn what_is_made_before_the_break_lasts() {
    for handover in [Handover::HighestOnLoss, Handover::Highest, Handover::Nearest] {
        let mut made = rules();
        (made.handover, made.make_before_break, made.gsl_acquisition_s) = (handover, true, 7.0);
        let mut topology = with_antennas(1, made);
        let (place, up) = {
            let terminal = &topology.terminals()[0];
            (terminal.position_ecef(topology.constellation().earth()), terminal.up())
        };
        let (mut last, mut handovers, mut down) = (None::<NodeId>, 0, 0);
        run(&mut topology, 0..720, |topology, t_s| {
            let link = gsl(topology);
            down += usize::from(!link.up);
            if link.up && last.is_some_and(|last| last != link.b) {
                handovers += 1;
                let at = topology.position_ecef(link.b, t_s + 10.0).expect("there");
                assert!(elevation_rad(place, up, at) > 0.3, "{handover:?} at {t_s} s");
                if handover == Handover::Highest {
                    let elevation =
                        |s| elevation_rad(place, up, topology.position_ecef(NodeId(s), t_s).expect("there"));
                    let best = (0..288).map(elevation).fold(f64::MIN, f64::max);
                    assert!(elevation(link.b.0) > best - 1e-9, "not the highest at {t_s} s");
                }
            }
            last = link.up.then_some(link.b);
        });
        assert!((5..400).contains(&handovers), "{handover:?}: {handovers}");
        assert_eq!(down, 0, "{handover:?} broke");
    }
}

// Terminals that look at their own times pass multiples of the period between looks, never at one of them.
#[test]
fn fixed_periods_hold_for_terminals_with_own_clocks() {
    for handover in [
        Handover::EarthFixedCells { period_s: 60.0, cell_deg: 1.44 },
        Handover::Synchronous { period_s: 60.0 },
    ] {
        let mut topology = with_antennas(1, Rules { handover, ..rules() });
        topology.check_asynchronously(10.0, 2.0, Seed(5).stream("checks")).expect("sound");
        let mut in_step = with_antennas(1, Rules { handover, ..rules() });
        let (mut ours, mut theirs, mut late_s) = (Vec::new(), Vec::new(), 0.0f64);
        run(&mut topology, 0..360, |topology, t_s| {
            if ours.last() != Some(&gsl(topology).b) {
                ours.push(gsl(topology).b);
                late_s = late_s.max(if t_s > 0.0 { t_s % 60.0 } else { 0.0 });
            }
        });
        run(&mut in_step, 0..360, |topology, _| {
            if theirs.last() != Some(&gsl(topology).b) {
                theirs.push(gsl(topology).b);
            }
        });
        // The choice at a multiple of a minute is made at the first look after it.
        assert!((1e-6..12.0).contains(&late_s), "{handover:?}: {late_s} s late");
        assert!(theirs.len() >= 8, "{theirs:?}");
        assert!(ours.len().abs_diff(theirs.len()) <= 3, "{handover:?}: {} and {}", ours.len(), theirs.len());
    }
}

#[test]
fn checks_that_cannot_be_are_refused() {
    let mut topology = with_antennas(1, rules());
    let mut tries = |period_s, dither_s| {
        let tried = topology.check_asynchronously(period_s, dither_s, Seed(1).stream("checks"));
        tried.map_err(|error| error.to_string())
    };
    assert_eq!(tries(10.0, 5.0), Ok(()));
    assert_eq!(tries(-1.0, 0.0), Err("check period (s) of -1; expected 0.001 to 86400".into()));
    assert_eq!(tries(10.0, 10.0), Err("check dither (s) of 10; expected 0 to 9".into()));
    assert_eq!(tries(10.0, f64::NAN), Err("check dither (s) of NaN; expected 0 to 9".into()));
}

#[test]
fn several_antennas_of_a_cell_hold_what_is_highest_over_its_centre() {
    let cells = Handover::EarthFixedCells { period_s: 60.0, cell_deg: 1.44 };
    let near = |name, lat, lon| Station { terminal: place(name, lat, lon), antennas: 2, gateway: false };
    let stations = vec![near("a", 52.3, 13.3), near("b", 52.5, 13.5)];
    let mut topology = Topology::with_stations(
        preset::teledesic(),
        stations,
        &Fibre::None,
        Rules { handover: cells, ..rules() },
    )
    .expect("sound");
    let mut seen = BTreeSet::new();
    for step in 0..360 {
        let changes = topology.update(f64::from(step) * 10.0);
        let moved = changes.iter().filter(|change| change.is.kind == LinkKind::Gsl).count();
        assert!(step % 6 == 0 || moved == 0, "{moved} changes within a period");
        let of = |terminal| -> BTreeSet<u32> {
            let links = topology.gsls(terminal).filter_map(|link| topology.link(link));
            links.filter(|link| link.up).map(|link| link.b.0).collect()
        };
        assert_eq!((of(0).len(), of(0)), (2, of(1)));
        seen.extend(of(0));
    }
    assert!((8..120).contains(&seen.len()), "{}", seen.len());
}

/// A policy that takes the lowest satellite and stays with one in view.
#[derive(Debug)]
struct Lowest;

impl HandoverPolicy for Lowest {
    fn choose(&self, seen: &[VisibleSatellite], held: Option<u32>, _t_s: f64) -> Option<u32> {
        let lowest = seen.iter().min_by(|a, b| a.elevation_rad.total_cmp(&b.elevation_rad));
        held.or(lowest.map(|one| one.satellite))
    }
}

#[test]
fn a_policy_of_ones_own_is_asked_for_every_antenna() {
    let mut topology = with_antennas(2, rules());
    topology.set_handover_policy(Arc::new(Lowest));
    topology.update(0.0);
    let terminal = &topology.terminals()[0];
    let (place, up) = (terminal.position_ecef(topology.constellation().earth()), terminal.up());
    let elevation = |s: u32| elevation_rad(place, up, topology.position_ecef(NodeId(s), 0.0).expect("there"));
    let mut above: Vec<u32> = (0..288).filter(|&s| elevation(s) > 0.3).collect();
    above.sort_by(|&a, &b| elevation(a).total_cmp(&elevation(b)));
    assert!(above.len() > 3);
    assert_eq!(held(&topology), above[..2]);
    for step in 1..100 {
        let before = held(&topology);
        topology.update(f64::from(step) * 10.0);
        let now = held(&topology);
        assert_eq!((now.len(), now[0] == now[1]), (2, false));
        let t_s = f64::from(step) * 10.0;
        let lasts =
            |s: &u32| elevation_rad(place, up, topology.position_ecef(NodeId(*s), t_s).expect("there")) > 0.3;
        for (was, is) in before.iter().zip(&now).filter(|(was, _)| lasts(was)) {
            assert_eq!(was, is, "at {t_s} s");
        }
    }
}

// Whatever the number of outages, what is down is what the schedule says.
#[test]
fn thousands_of_outages_take_down_what_they_name() {
    let reliability = Reliability {
        satellite_mtbf_s: 40_000.0,
        isl_mtbf_s: 10_000.0,
        station_mtbf_s: 1_500.0,
        mttr_s: 500.0,
    };
    let mut topology = with_antennas(4, rules());
    let mut sound = topology.clone();
    let outages = reliability.draw(&topology, 86_400.0, &mut Seed(2).stream("failures"));
    assert!((9_000..14_000).contains(&outages.len()), "{}", outages.len());
    topology.schedule(outages.clone());
    let (mut failed, mut stranded) = (0, 0);
    for step in 0..400 {
        let t_s = f64::from(step) * 10.0;
        topology.update(t_s);
        sound.update(t_s);
        let mut now = BTreeMap::new();
        for outage in outages.iter().filter(|outage| outage.is_at(t_s)) {
            now.insert(format!("{:?}", outage.what), ());
        }
        let fails = |what: Failing| now.contains_key(&format!("{what:?}"));
        for (number, (is, ought)) in (0u32..).zip(topology.links().iter().zip(sound.links())) {
            let ends = [is.a, is.b].into_iter().any(|end| fails(Failing::Satellite(end.0)));
            match is.kind {
                LinkKind::Gsl => {
                    assert!(!is.up || !(fails(Failing::Station(0)) || fails(Failing::Satellite(is.b.0))));
                    stranded += usize::from(!is.up && fails(Failing::Station(0)));
                }
                LinkKind::CrossSeam => assert!(!is.up || !ends),
                _ => {
                    let link = fails(Failing::Link(skyhop_topology::LinkId(number)));
                    assert_eq!(is.up, ought.up && !link && !ends, "{is:?} at {t_s} s");
                    failed += usize::from(link);
                }
            }
        }
    }
    assert!(failed > 1_000 && stranded > 0, "{failed} and {stranded}");
}

#[test]
fn failures_without_time_between_them_end() {
    let topology = with_antennas(1, rules());
    let never = f64::INFINITY;
    for (satellite_mtbf_s, mttr_s) in [(0.0, 0.0), (f64::NAN, 1.0), (-1.0, -1.0), (1.0, never)] {
        let reliability = Reliability { satellite_mtbf_s, isl_mtbf_s: never, station_mtbf_s: never, mttr_s };
        let outages = reliability.draw(&topology, 2.0, &mut Seed(2).stream("failures"));
        // At most what a thousandth of a second each would give.
        assert!(outages.len() <= 288 * 3_000, "{}", outages.len());
        assert!(outages.iter().all(|outage| outage.from_s >= 0.0 && outage.to_s >= outage.from_s));
    }
}
