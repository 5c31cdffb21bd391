//! Ellipses, patterns and mixtures against closed forms.
//!
//! Follows Kepler's laws, vis-viva and Walker's notation.
//! Differs: every value is bounded on both sides.
//! Left out: comparison with other programs, which is in the reference tests.

use std::f64::consts::{PI, TAU};

use skyhop_orbit::elliptic::eccentric_anomaly_rad;
use skyhop_orbit::{
    Constellation, Drift, EarthModel, Epoch, Kepler, KeplerError, MixtureError, PlacedShell, Planes, Walker,
    preset,
};

const EARTH: EarthModel = EarthModel::SPHERE;

fn molniya() -> Kepler {
    Kepler {
        semi_major_axis_m: 26_556e3,
        eccentricity: 0.71,
        inclination_rad: 63.435f64.to_radians(),
        raan_rad: 0.3,
        argument_of_perigee_rad: 270f64.to_radians(),
        mean_anomaly_rad: 0.0,
    }
}

fn one(orbit: Kepler, drift: Drift) -> Constellation {
    Constellation::from_kepler(EARTH, &[orbit], Planes::none(1), drift).expect("an ellipse")
}

#[test]
fn keplers_equation_is_solved_for_every_eccentricity() {
    for e in [0.0, 1e-9, 0.01, 0.3, 0.71, 0.9, 0.97, 0.999] {
        for step in -2000..2000 {
            let mean = f64::from(step) * 0.005;
            let anomaly = eccentric_anomaly_rad(mean, e);
            let off = anomaly - e * anomaly.sin() - mean;
            assert!(off.abs() < 2e-14 * (1.0 + mean.abs()), "e {e}, M {mean}: off by {off}");
        }
    }
}

#[test]
fn molniya_climbs_to_its_apogee_in_the_north() {
    let orbit = one(molniya(), Drift::None);
    let period_s = orbit.period_s(0).expect("it has one");
    let closed_s = TAU * (molniya().semi_major_axis_m.powi(3) / EARTH.mu_m3_s2).sqrt();
    assert!((period_s - closed_s).abs() < 1e-6, "{period_s} s");
    assert!((period_s - 43_068.0).abs() < 30.0, "half a day nearly: {period_s} s");
    let height_km = |t_s| (orbit.position_ecef(0, t_s).expect("there").0.norm() - EARTH.radius_m) / 1e3;
    let closed_km = |e: f64| (26_556.0 * (1.0 + e)) - EARTH.radius_m / 1e3;
    assert!((height_km(0.0) - closed_km(-0.71)).abs() < 1e-6);
    assert!((height_km(0.5 * period_s) - closed_km(0.71)).abs() < 1e-6);
    let north_deg = |t_s| orbit.position_ecef(0, t_s).expect("there").latitude_rad().to_degrees();
    assert!((north_deg(0.5 * period_s) - 63.435).abs() < 1e-9);
    let north = (0..1000).filter(|step| north_deg(f64::from(*step) * period_s / 1000.0) > 0.0).count();
    // North of the equator while the true anomaly is beyond 90 degrees, which Kepler's equation turns into time.
    let edge = (0.71f64).acos();
    let share = 1.0 - (edge - 0.71 * edge.sin()) / PI;
    assert!((north as f64 / 1000.0 - share).abs() < 2e-3, "{north} of 1000, expected {share}");
}

#[test]
fn speed_is_vis_viva_and_the_derivative_of_position() {
    for (orbit, name) in [
        (one(molniya(), Drift::None), "molniya"),
        (Constellation::from_shell(EARTH, &preset::IRIDIUM).expect("a shell"), "iridium"),
        (Constellation::geostationary(EARTH, &[0.4]), "geo"),
    ] {
        for step in 0..40 {
            let t_s = f64::from(step) * 997.0;
            let motion = orbit.motion(0, t_s).expect("there");
            assert_eq!(Some(motion.position), orbit.position_ecef(0, t_s));
            let [before, after] = [-0.05, 0.05].map(|dt| orbit.position_ecef(0, t_s + dt).expect("there").0);
            let off = ((after - before) * 10.0 - motion.velocity_m_s).norm();
            assert!(off < 0.01, "{name} at {t_s} s: off by {off} m/s");
            // Over the turning ground: v_inertial = v + rotation x r.
            let (r, v) = (motion.position.0, motion.velocity_m_s);
            let rate = EARTH.rotation_rad_s();
            let speed2 = (v.x - rate * r.y).powi(2) + (v.y + rate * r.x).powi(2) + v.z * v.z;
            let a = if name == "molniya" { 26_556e3 } else { r.norm() };
            let vis_viva = EARTH.mu_m3_s2 * (2.0 / r.norm() - 1.0 / a);
            assert!((speed2 / vis_viva - 1.0).abs() < 1e-9, "{name}: {speed2} and {vis_viva}");
        }
    }
}

#[test]
fn oblateness_turns_nodes_only_if_asked() {
    // A sun-synchronous orbit's node goes round once a year: 0.9856 degrees a day.
    let orbit = Kepler {
        semi_major_axis_m: EARTH.radius_m + 800e3,
        eccentricity: 0.0,
        inclination_rad: 98.603f64.to_radians(),
        raan_rad: 0.0,
        argument_of_perigee_rad: 0.0,
        mean_anomaly_rad: 0.0,
    };
    for (drift, per_day_deg) in [(Drift::None, 0.0), (Drift::J2, 360.0 / 365.2422)] {
        let satellite = one(orbit, drift);
        // The orbit's normal, from position and a quarter of a revolution later, turned back to inertial space.
        let node_deg = |t_s: f64| {
            let inertial = |t_s: f64| {
                let p = satellite.position_ecef(0, t_s).expect("there").0;
                let (sin, cos) = (EARTH.rotation_rad_s() * t_s).sin_cos();
                (cos * p.x - sin * p.y, sin * p.x + cos * p.y, p.z)
            };
            let ((ax, ay, az), (bx, by, bz)) = (inertial(t_s), inertial(t_s + 1500.0));
            (ay * bz - az * by).atan2(-(az * bx - ax * bz)).to_degrees()
        };
        let turned = node_deg(10.0 * 86_400.0) - node_deg(0.0);
        assert!((turned - 10.0 * per_day_deg).abs() < 0.01, "{drift:?}: {turned} degrees in ten days");
    }
    // At the critical inclination the perigee stays.
    let critical = Kepler { inclination_rad: (0.8f64).sqrt().asin(), ..molniya() };
    let satellite = one(critical, Drift::J2);
    let period_s = satellite.period_s(0).expect("it has one");
    let apogee = satellite.position_ecef(0, 500.5 * period_s).expect("there");
    assert!((apogee.latitude_rad() - critical.inclination_rad).abs() < 1e-6);
}

#[test]
fn shells_fly_the_same_by_keplers_elements() {
    let shell = Walker::new(53.0, 40, 5, 2).expect("a pattern").delta(550e3);
    let circular = Constellation::from_shell(EARTH, &shell).expect("a shell");
    let orbits = shell.kepler(&EARTH).expect("a shell");
    let planes = circular.planes().clone();
    let elliptic = Constellation::from_kepler(EARTH, &orbits, planes, Drift::None).expect("ellipses");
    for satellite in 0..40 {
        let [a, b] = [&circular, &elliptic].map(|c| c.position_ecef(satellite, 54_321.0).expect("there"));
        assert!(a.distance_m(b) < 1e-3, "{} m", a.distance_m(b));
        assert_eq!(circular.name(satellite), elliptic.name(satellite));
    }
}

#[test]
fn walkers_notation_is_read_and_written() {
    let walker: Walker = "53: 1584/72/39".parse().expect("a pattern");
    assert_eq!(walker.to_string(), "53: 1584/72/39");
    let (delta, star) = (walker.delta(550e3), walker.star(550e3));
    assert_eq!(
        (delta.planes, delta.satellites_per_plane, delta.wraps(), star.wraps()),
        (72, 22, true, false)
    );
    assert!((delta.raan_spacing_rad - TAU / 72.0).abs() < 1e-12);
    assert!((star.raan_spacing_rad - PI / 72.0).abs() < 1e-12);
    let step_deg = (delta.argument_rad(1, 0) - delta.argument_rad(0, 0)).to_degrees();
    assert!((step_deg - 39.0 * 360.0 / 1584.0).abs() < 1e-12, "{step_deg} degrees");
    for (text, message) in [
        ("53", "pattern \"53\"; expected i: t/p/f like 53: 1584/72/39"),
        ("53: 10/3/1", "10 satellites in 3 planes; expected a multiple of the planes"),
        ("53: 10/0/1", "10 satellites in 0 planes; expected a multiple of the planes"),
        ("53: 10/5/5", "phasing of 5; expected 0 to 4"),
        ("nan: 10/5/1", "pattern \"nan: 10/5/1\""),
        ("53: 10/5/1/1", "pattern \"53: 10/5/1/1\""),
    ] {
        let error = text.parse::<Walker>().expect_err(text).to_string();
        assert!(error.starts_with(message), "{error}\nexpected {message}");
    }
}

#[test]
fn going_round_a_delta_neighbours_stay_level() {
    for f in 0..6 {
        let shell = Walker::new(50.0, 48, 6, f).expect("a pattern").delta(1000e3);
        let constellation = Constellation::from_shell(EARTH, &shell).expect("a shell");
        let planes = constellation.planes();
        let mut longest = [f64::NEG_INFINITY; 2];
        for (which, plane) in [(0, 2), (1, 5)] {
            let pairs = planes.facing_east(plane, 1);
            assert_eq!(pairs.len(), 8);
            for (a, b) in pairs {
                let [a, b] =
                    [a, b].map(|satellite| constellation.position_ecef(satellite, 0.0).expect("there"));
                longest[which] = longest[which].max(a.distance_m(b));
            }
        }
        // Seen in its own plane's frame every link is the same, so the longest are, but for the instant.
        assert!((longest[0] / longest[1] - 1.0).abs() < 0.1, "f {f}: {longest:?}");
    }
}

#[test]
fn several_shells_and_sources_are_one_constellation() {
    let low = Walker::new(53.0, 40, 5, 1).expect("a pattern").delta(550e3);
    let high = Walker::new(86.0, 24, 4, 0).expect("a pattern").star(1200e3);
    let shells = [PlacedShell::from(low), PlacedShell { raan_rad: 0.5, ..high.into() }];
    let both = Constellation::from_shells(EARTH, &shells).expect("two shells");
    assert_eq!((both.len(), both.planes().len(), both.planes().shells().len()), (64, 9, 2));
    assert_eq!((both.name(39), both.name(40), both.name(63)), ("4.7".into(), "5.0".into(), "8.5".into()));
    assert_eq!(both.planes().facing_east(4, 1).len(), 8, "the delta goes round");
    assert!(both.planes().facing_east(8, 1).is_empty(), "the star has a seam");
    assert!((both.position_ecef(40, 0.0).expect("there").longitude_rad() - 0.5).abs() < 1e-12);
    let hour = |radius_m: f64| TAU / EARTH.mean_motion_rad_s(radius_m);
    assert_eq!(both.period_s(0), Some(hour(EARTH.radius_m + 550e3)));
    assert_eq!(both.period_s(63), Some(hour(EARTH.radius_m + 1200e3)));
    let alone = Constellation::from_shell(EARTH, &low).expect("a shell");

    let ring = Constellation::geostationary(EARTH, &[0.0, 1.0]);
    let mixed =
        Constellation::mixed(vec![ring.clone(), both, ring, one(molniya(), Drift::None)]).expect("one");
    assert_eq!(mixed.len(), 69);
    assert_eq!(
        ["geo-1", "0.0", "geo-2", "satellite-68"].map(str::to_owned),
        [1, 2, 66, 68].map(|s| mixed.name(s))
    );
    assert_eq!((mixed.plane_slot(0), mixed.plane_slot(2), mixed.plane_slot(68)), (None, Some((0, 0)), None));
    assert_eq!(mixed.position_ecef(9, 777.0), alone.position_ecef(7, 777.0));
    assert_eq!(mixed.position_ecef(69, 0.0), None);
    let mut all = Vec::new();
    assert_eq!(mixed.positions_ecef(777.0, &mut all), 0);
    let singly: Vec<_> = (0..69).map(|satellite| mixed.position_ecef(satellite, 777.0)).collect();
    assert_eq!(all, singly);
}

#[test]
fn mixtures_that_make_no_sense_are_refused() {
    assert_eq!(Constellation::mixed(vec![]).expect_err("nothing"), MixtureError::Nothing);
    let file = "1 41917U 17003A   25280.46368645  .00000466  00000+0  15920-3 0  9997\n\
                2 41917  86.4038 194.1078 0002337  70.8062 289.3387 14.34217580456988\n";
    let at = |text: &str| {
        let epoch: Epoch = text.parse().expect("an epoch");
        Constellation::from_tle(file.as_bytes(), Some(epoch)).expect("sound")
    };
    let error = Constellation::mixed(vec![at("2025-10-07"), at("2025-10-08")]).expect_err("two instants");
    assert_eq!(
        error.to_string(),
        "constellations that begin at 2025-10-07T00:00:00Z and at 2025-10-08T00:00:00Z; expected one epoch"
    );
    let both = Constellation::mixed(vec![at("2025-10-07"), preset::geo(&[0.0])]).expect("one instant");
    assert_eq!((both.len(), both.epoch().is_some(), both.catalogue().is_none()), (2, true, true));
    assert_eq!(both.elements(0).map(|set| set.norad_id), Some(41_917));
    for (orbit, message) in [
        (Kepler { eccentricity: 1.0, ..molniya() }, "eccentricity of 1; expected 0 to 0.999"),
        (Kepler { eccentricity: 0.8, ..molniya() }, "perigee at -1066"),
        (Kepler { inclination_rad: 4.0, ..molniya() }, "inclination of 229"),
        (Kepler { raan_rad: f64::NAN, ..molniya() }, "angle of NaN; expected a finite number"),
    ] {
        let refused = Constellation::from_kepler(EARTH, &[orbit], Planes::none(1), Drift::None);
        let error: KeplerError = refused.expect_err(message);
        assert!(error.to_string().starts_with(message), "{error}\nexpected {message}");
    }
}
