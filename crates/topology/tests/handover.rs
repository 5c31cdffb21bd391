//! Handover policies and range limits, each counted over a quarter of a day or a whole one.
//!
//! Follows the policies' documentation; every count is bounded on both sides.
//! Left out: follow-plane, which is compared with ns-2 row by row.

use skyhop_orbit::visibility::elevation_rad;
use skyhop_orbit::{Constellation, EarthModel, Terminal, Walker, preset};
use skyhop_topology::{Handover, LinkKind, NodeId, Rules, Topology};

const STEP_S: f64 = 5.0;
/// Number of updates in a day, and in the quarter of it that most tests use.
const DAY: u32 = 17_280;
const QUARTER: u32 = DAY / 4;

fn berlin() -> Terminal {
    Terminal::from_degrees("berlin", 52.52, 13.41).expect("a place")
}

struct Day {
    handovers: usize,
    served: usize,
    /// Mean elevation while served, degrees.
    mean_deg: f64,
    /// Number of updates at which another satellite was higher, and at which one was nearer.
    higher: usize,
    nearer: usize,
    /// Number of updates at which the serving satellite flew north.
    northbound: usize,
    /// Number of handovers that were not at a multiple of 15 s.
    between: usize,
}

/// A quarter of a day of one terminal over Teledesic, checked every 5 s.
fn quarter(handover: Handover, rules: Rules) -> Day {
    day(handover, rules, QUARTER)
}

fn day(handover: Handover, rules: Rules, steps: u32) -> Day {
    let rules = Rules { handover, update_interval_s: STEP_S, ..rules };
    let mut topology = Topology::new(preset::teledesic(), vec![berlin()], rules).expect("sound");
    let (place, up) = (berlin().position_ecef(topology.constellation().earth()), berlin().up());
    let mut day =
        Day { handovers: 0, served: 0, mean_deg: 0.0, higher: 0, nearer: 0, northbound: 0, between: 0 };
    let mut last: Option<NodeId> = None;
    let mut positions = Vec::new();
    for step in 0..steps {
        let t_s = f64::from(step) * STEP_S;
        topology.update(t_s);
        let gsl = *topology.link(topology.gsl(0).expect("a terminal")).expect("a link");
        if !gsl.up {
            last = None;
            continue;
        }
        topology.positions_ecef(t_s, &mut positions);
        let satellites = &positions[..288];
        let at = satellites[gsl.b.index()].expect("there");
        let elevation = elevation_rad(place, up, at);
        assert!(elevation > rules.elevation_mask_rad);
        day.higher +=
            usize::from(satellites.iter().flatten().any(|s| elevation_rad(place, up, *s) > elevation));
        day.nearer +=
            usize::from(satellites.iter().flatten().any(|s| s.distance_m(place) < at.distance_m(place)));
        let motion = topology.constellation().motion(gsl.b.0, t_s).expect("there");
        day.northbound += usize::from(motion.velocity_m_s.z > 0.0);
        day.served += 1;
        day.mean_deg += elevation.to_degrees();
        if last.is_some_and(|last| last != gsl.b) {
            day.handovers += 1;
            day.between += usize::from(step % 3 != 0);
        }
        last = Some(gsl.b);
    }
    day.mean_deg /= day.served as f64;
    day
}

fn wide() -> Rules {
    Rules { elevation_mask_rad: 25f64.to_radians(), ..Rules::teledesic() }
}

#[test]
fn the_highest_and_the_nearest_are_what_they_say() {
    let highest = quarter(Handover::Highest, wide());
    assert_eq!((highest.served, highest.higher), (QUARTER as usize, 0));
    let nearest = quarter(Handover::Nearest, wide());
    assert_eq!((nearest.served, nearest.nearer), (QUARTER as usize, 0));
    // One shell over a sphere: the nearest is the highest.
    assert_eq!(highest.handovers, nearest.handovers);
    let on_loss = quarter(Handover::HighestOnLoss, wide());
    assert!(on_loss.higher > QUARTER as usize / 3, "{}", on_loss.higher);
    assert!(
        highest.handovers as f64 > 1.5 * on_loss.handovers as f64
            && highest.handovers < 20 * on_loss.handovers,
        "{} and {}",
        highest.handovers,
        on_loss.handovers
    );
    assert!(highest.mean_deg > on_loss.mean_deg + 5.0 && highest.mean_deg < 80.0);
}

#[test]
fn longest_visibility_hands_over_least() {
    let [longest, on_loss] =
        [Handover::LongestVisibility, Handover::HighestOnLoss].map(|h| quarter(h, wide()));
    assert_eq!(longest.served, QUARTER as usize);
    assert!(
        longest.handovers < on_loss.handovers && 3 * longest.handovers > on_loss.handovers,
        "{} and {}",
        longest.handovers,
        on_loss.handovers
    );
    // A pass over the zenith lasts 10.6 minutes above 25 degrees: no policy can do with fewer handovers.
    assert!((21_600 / 640..100).contains(&longest.handovers), "{}", longest.handovers);
}

/// Remaining visibility of a satellite, s, searched in steps of half a second; no pass over Berlin lasts an hour.
fn remaining_s(constellation: &Constellation, satellite: u32, t_s: f64, mask_rad: f64) -> f64 {
    let (place, up) = (berlin().position_ecef(constellation.earth()), berlin().up());
    let serves = |half: &u32| {
        let at = constellation.position_ecef(satellite, t_s + 0.5 * f64::from(*half)).expect("it flies");
        elevation_rad(place, up, at) > mask_rad
    };
    0.5 * f64::from((0..7200).take_while(serves).count() as u32)
}

/// The definition of a policy for the brute-force search.
struct Says<'a> {
    /// Returns true if the policy accepts a satellite in view.
    takes: &'a dyn Fn(&Constellation, u32, f64) -> bool,
    /// The measure that the policy maximises.
    measure: &'a dyn Fn(&Constellation, u32, f64) -> f64,
    /// Returns true at the multiples of 5 s at which the policy chooses anew even if it could keep its satellite.
    anew: fn(u32) -> bool,
    /// Tolerance below the maximum, for measures with a resolution.
    slack: f64,
}

fn any(_: &Constellation, _: u32, _: f64) -> bool {
    true
}

fn over_berlin_rad(constellation: &Constellation, satellite: u32, t_s: f64) -> f64 {
    let at = constellation.position_ecef(satellite, t_s).expect("it flies");
    elevation_rad(berlin().position_ecef(constellation.earth()), berlin().up(), at)
}

fn flies_north(constellation: &Constellation, satellite: u32, t_s: f64) -> bool {
    constellation.motion(satellite, t_s).expect("it flies").velocity_m_s.z > 0.0
}

/// Compares each choice of half a day over Teledesic with all satellites. Returns the number of choices, and the number of those
/// that fell on the lowest satellite number in view.
fn choices(handover: Handover, says: &Says) -> [usize; 2] {
    let rules = Rules { handover, update_interval_s: STEP_S, ..wide() };
    let mut topology = Topology::new(preset::teledesic(), vec![berlin()], rules).expect("sound");
    let (place, up) = (berlin().position_ecef(topology.constellation().earth()), berlin().up());
    let (mut last, mut counts, mut positions) = (None, [0; 2], Vec::new());
    for step in 0..DAY / 2 {
        let t_s = f64::from(step) * STEP_S;
        topology.update(t_s);
        let gsl = *topology.link(topology.gsl(0).expect("a terminal")).expect("a link");
        let constellation = topology.constellation();
        topology.positions_ecef(t_s, &mut positions);
        let takes = |s: &u32| {
            let at = positions[*s as usize].expect("it flies");
            elevation_rad(place, up, at) > rules.elevation_mask_rad && (says.takes)(constellation, *s, t_s)
        };
        let seen: Vec<u32> = (0..288u32).filter(takes).collect();
        assert_eq!(gsl.up, !seen.is_empty(), "at {t_s} s");
        match last.filter(|held| seen.contains(held) && !(says.anew)(step)) {
            Some(held) => assert_eq!(gsl.b.0, held, "what could be kept, at {t_s} s"),
            None if gsl.up => {
                let value = |s: u32| (says.measure)(constellation, s, t_s);
                let best = seen.iter().map(|s| value(*s)).fold(f64::MIN, f64::max);
                let chosen = value(gsl.b.0);
                assert!(chosen >= best - says.slack, "at {t_s} s: {chosen} of {best}, satellite {}", gsl.b.0);
                counts[0] += usize::from(last != Some(gsl.b.0));
                counts[1] += usize::from(last != Some(gsl.b.0) && gsl.b.0 == seen[0]);
            }
            None => {}
        }
        last = gsl.up.then_some(gsl.b.0);
    }
    counts
}

#[test]
fn each_choice_is_the_best_of_all_satellites_and_kept_as_the_policy_says() {
    let mask_rad = wide().elevation_mask_rad;
    let remaining = |constellation: &Constellation, satellite: u32, t_s: f64| {
        remaining_s(constellation, satellite, t_s, mask_rad)
    };
    let highest = Says { takes: &any, measure: &over_berlin_rad, anew: |_| false, slack: 0.0 };
    // Half a second is what the brute force sees, a tenth what the policy tells.
    let longest = choices(Handover::LongestVisibility, &Says { measure: &remaining, slack: 0.6, ..highest });
    let on_loss = choices(Handover::HighestOnLoss, &highest);
    let north = choices(Handover::Ascending, &Says { takes: &flies_north, ..highest });
    let south =
        choices(Handover::Descending, &Says { takes: &|c, s, t_s| !flies_north(c, s, t_s), ..highest });
    let fixed =
        choices(Handover::Synchronous { period_s: 15.0 }, &Says { anew: |step| step % 3 == 0, ..highest });
    // A pass over the zenith lasts 10.6 minutes; what lasts longest is changed least often.
    assert!(longest[0] < on_loss[0] && longest[0] > 43_200 / 640, "{longest:?} {on_loss:?}");
    for [choices, lowest] in [longest, on_loss, north, south, fixed] {
        assert!(2 * lowest < choices && choices > 20, "{lowest} of {choices} are the lowest number");
    }
}

#[test]
fn satellites_of_one_direction_serve_alone() {
    let [north, south] = [Handover::Ascending, Handover::Descending].map(|h| day(h, wide(), DAY));
    assert_eq!((north.northbound, south.northbound), (north.served, 0));
    // Each direction covers its half of the day, and a little of the other where planes overlap.
    for (name, day) in [("north", &north), ("south", &south)] {
        let share = day.served as f64 / f64::from(DAY);
        assert!((0.4..0.9).contains(&share), "{name}: {share} of the day");
    }
    assert!(north.served + south.served >= DAY as usize);
}

#[test]
fn synchronous_handovers_wait_for_their_instant() {
    let synchronous = quarter(Handover::Synchronous { period_s: 15.0 }, wide());
    assert_eq!((synchronous.served, synchronous.between), (QUARTER as usize, 0));
    let highest = quarter(Handover::Highest, wide());
    assert!(highest.between > highest.handovers / 2, "{} of {}", highest.between, highest.handovers);
    assert!(synchronous.handovers <= highest.handovers && 10 * synchronous.handovers > 9 * highest.handovers);
    // Between the instants another may have become higher.
    assert!((1..=highest.handovers).contains(&synchronous.higher), "{}", synchronous.higher);
    // With a mask near the highest elevations satellites are lost in between, and then there is no waiting.
    let high = Rules { elevation_mask_rad: 55f64.to_radians(), ..wide() };
    assert!(quarter(Handover::Synchronous { period_s: 600.0 }, high).between > 0);
}

#[test]
fn a_policy_without_a_period_is_refused() {
    let rules = Rules { handover: Handover::Synchronous { period_s: 0.0 }, ..wide() };
    let error = Topology::new(preset::teledesic(), vec![], rules).expect_err("no period").to_string();
    assert_eq!(error, "handover period (s) of 0; expected 0.001 to 86400");
}

#[test]
fn links_longer_than_their_range_are_down() {
    let shell = Walker::new(53.0, 120, 10, 3).expect("a pattern").delta(1000e3);
    let constellation = Constellation::from_shell(EarthModel::SPHERE, &shell).expect("a shell");
    let up = |limit_km: f64| {
        let rules = Rules { max_isl_range_m: limit_km * 1e3, ..Rules::default() };
        let mut topology = Topology::new(constellation.clone(), vec![], rules).expect("sound");
        topology.update(100.0);
        for link in topology.links() {
            let km = topology.distance_m(link.a, link.b, 100.0).expect("there") / 1e3;
            assert!(!link.up || km <= limit_km);
        }
        let of = |kind| topology.links().iter().filter(|link| link.kind == kind && link.up).count();
        (of(LinkKind::IntraPlane), of(LinkKind::InterPlane))
    };
    // Twelve in a plane are 2 r sin(15 degrees) = 3819 km apart.
    let chord_km = 2.0 * (EarthModel::SPHERE.radius_m + 1000e3) * 15f64.to_radians().sin() / 1e3;
    assert_eq!((up(chord_km - 1.0).0, up(chord_km + 1.0).0), (0, 120));
    let mut topology = Topology::new(constellation.clone(), vec![], Rules::default()).expect("sound");
    topology.update(100.0);
    let between = topology.links().iter().filter(|link| link.kind == LinkKind::InterPlane);
    let mut lengths_km: Vec<f64> =
        between.map(|link| topology.distance_m(link.a, link.b, 100.0).expect("there") / 1e3).collect();
    lengths_km.sort_by(f64::total_cmp);
    for (limit_km, expected) in
        [(lengths_km[0] - 1.0, 0), (0.5 * (lengths_km[59] + lengths_km[60]), 60), (1e6, 120)]
    {
        assert_eq!(up(limit_km).1, expected, "up to {limit_km} km");
    }
    let near = quarter(Handover::Highest, Rules { max_gsl_range_m: 1500e3, ..wide() });
    let far = quarter(Handover::Highest, Rules { max_gsl_range_m: 3000e3, ..wide() });
    assert!(
        near.served < far.served && near.served > QUARTER as usize / 20 && far.served == QUARTER as usize
    );
}
