//! Views, footprints, passes and coverage against closed forms.
//!
//! Follows the triangle of centre, terminal and satellite, and an orbit over an Earth without rotation.
//! Differs: every value is bounded on both sides.
//! Left out: refraction.

use std::f64::consts::{PI, TAU};

use skyhop_orbit::coverage::in_view;
use skyhop_orbit::footprint::Footprint;
use skyhop_orbit::visibility::{doppler_hz, elevation_rad, elevation_rate_rad_s, range_rate_m_s};
use skyhop_orbit::{Constellation, EarthModel, Kepler, Planes, Sky, Terminal, Walker, look, passes, preset};

/// An Earth that takes forty thousand years for one rotation.
const STILL: EarthModel = EarthModel { rotation_period_s: 1.3e12, ..EarthModel::SPHERE };

fn place(latitude_deg: f64, longitude_deg: f64) -> Terminal {
    Terminal::from_degrees("here", latitude_deg, longitude_deg).expect("a place")
}

/// One satellite in a polar orbit, at the equator at t = 0 and northbound.
fn polar(earth: EarthModel, altitude_m: f64) -> Constellation {
    let orbit = Kepler {
        semi_major_axis_m: earth.radius_m + altitude_m,
        eccentricity: 0.0,
        inclination_rad: 0.5 * PI,
        raan_rad: 0.0,
        argument_of_perigee_rad: 0.0,
        mean_anomaly_rad: 0.0,
    };
    Constellation::from_kepler(earth, &[orbit], Planes::none(1), Default::default()).expect("an orbit")
}

#[test]
fn footprints_are_those_of_the_triangle() {
    let earth = EarthModel::SPHERE;
    let geo = Footprint::new(earth.radius_m, earth.geostationary_radius_m(), 0.0);
    assert!((geo.half_angle_rad.to_degrees() - 81.3).abs() < 0.02, "{}", geo.half_angle_rad.to_degrees());
    assert!((geo.area_share() - 0.4243).abs() < 1e-3, "{}", geo.area_share());
    // HT's Iridium reaches 2465 km of slant range at 8.2 degrees.
    let iridium = Footprint::new(6378e3, 7158e3, 8.2f64.to_radians());
    assert!((2464e3..2467e3).contains(&iridium.slant_range_m), "{} m", iridium.slant_range_m);
    for mask_deg in [0.0f64, 5.0, 25.0, 40.0, 80.0] {
        for altitude_m in [300e3, 550e3, 1400e3, 10_352e3, 35_786e3] {
            let print = Footprint::new(earth.radius_m, earth.radius_m + altitude_m, mask_deg.to_radians());
            let edge = place(print.half_angle_rad.to_degrees(), 0.0);
            let seen = look(&earth, &edge, earth.surface(0.0, 0.0, altitude_m));
            assert!((seen.elevation_rad.to_degrees() - mask_deg).abs() < 1e-9);
            assert!((seen.slant_range_m / print.slant_range_m - 1.0).abs() < 1e-9);
            assert!((print.area_share() - 0.5 * (1.0 - print.half_angle_rad.cos())).abs() < 1e-12);
        }
    }
    assert!(Footprint::new(6378e3, 7158e3, 0.5 * PI).half_angle_rad < 1e-12);
}

#[test]
fn doppler_is_nil_at_culmination_and_greatest_at_the_horizon() {
    let satellite = polar(STILL, 780e3);
    let (radius_m, terminal) = (STILL.radius_m + 780e3, place(40.0, 0.0));
    let here = terminal.position_ecef(&STILL);
    let n = STILL.mean_motion_rad_s(radius_m);
    let overhead_s = 40f64.to_radians() / n;
    let rate = |t_s: f64| range_rate_m_s(here, &satellite.motion(0, t_s).expect("there"));
    assert!(rate(overhead_s).abs() < 1e-3, "{}", rate(overhead_s));
    // At the horizon the range rate is the ground track's speed: n R, since R is the lever at the tangent.
    let horizon_s = (STILL.radius_m / radius_m).acos() / n;
    for (t_s, sign) in [(overhead_s - horizon_s, -1.0), (overhead_s + horizon_s, 1.0)] {
        assert!((rate(t_s) - sign * n * STILL.radius_m).abs() < 0.1, "{} m/s", rate(t_s));
    }
    let shift_hz = doppler_hz(rate(overhead_s - horizon_s), 1.6e9, STILL.c_m_s);
    assert!((35_000.0..36_500.0).contains(&shift_hz), "L band over Iridium: {shift_hz} Hz");
    for step in 0..600 {
        let t_s = f64::from(step) * 10.0;
        let [before, after] = [-0.01, 0.01].map(|dt| {
            let at = satellite.position_ecef(0, t_s + dt).expect("there");
            (at.distance_m(here), elevation_rad(here, terminal.up(), at))
        });
        assert!(((after.0 - before.0) / 0.02 - rate(t_s)).abs() < 0.01);
        let elevation_rate =
            elevation_rate_rad_s(here, terminal.up(), &satellite.motion(0, t_s).expect("there"));
        assert!(((after.1 - before.1) / 0.02 - elevation_rate).abs() < 2e-6, "at {t_s} s");
    }
}

#[test]
fn a_pass_overhead_lasts_as_long_as_the_footprint_is_wide() {
    for (mask_deg, altitude_m) in [(0.0f64, 780e3), (8.2, 780e3), (40.0, 1375e3), (10.0, 10_390e3)] {
        let satellite = polar(STILL, altitude_m);
        let radius_m = STILL.radius_m + altitude_m;
        let (n, mask_rad) = (STILL.mean_motion_rad_s(radius_m), mask_deg.to_radians());
        let half_s = Footprint::new(STILL.radius_m, radius_m, mask_rad).half_angle_rad / n;
        let overhead_s = 60f64.to_radians() / n;
        let found = passes(&satellite, &place(60.0, 0.0), 0, mask_rad, (0.0, 3.0 * TAU / n));
        let expected = if overhead_s < half_s { 4 } else { 3 };
        assert_eq!(found.len(), expected, "{altitude_m} m");
        let pass = found[1];
        let again_s = overhead_s + TAU / n;
        for (is_s, expected_s) in [
            (pass.rise_s.expect("it rises"), again_s - half_s),
            (pass.culmination_s, again_s),
            (pass.set_s.expect("it sets"), again_s + half_s),
        ] {
            assert!((is_s - expected_s).abs() < 1e-3, "{is_s} s, expected {expected_s} s");
        }
        assert!((pass.highest.elevation_rad.to_degrees() - 90.0).abs() < 1e-3);
        for edge in [pass.first, pass.last] {
            assert!((edge.elevation_rad - mask_rad).abs() < 1e-6);
        }
        // It comes from the south and leaves over the pole.
        assert!((pass.first.azimuth_rad - PI).abs() < 1e-6);
        assert!(pass.last.azimuth_rad.min(TAU - pass.last.azimuth_rad) < 1e-6);
    }
}

#[test]
fn passes_are_all_found_and_only_those() {
    let constellation = preset::iridium();
    let terminal = place(48.15, 11.58);
    let (earth, mask_rad) = (constellation.earth(), 8.2f64.to_radians());
    let here = terminal.position_ecef(earth);
    for satellite in [0, 17, 42, 65] {
        let found = passes(&constellation, &terminal, satellite, mask_rad, (0.0, 86_400.0));
        assert!(found.windows(2).all(|pair| pair[0].set_s < pair[1].rise_s));
        let mut samples = 0;
        for second in 0..86_400 {
            let t_s = f64::from(second);
            let at = constellation.position_ecef(satellite, t_s).expect("there");
            let above = elevation_rad(here, terminal.up(), at) > mask_rad;
            let within = found
                .iter()
                .any(|pass| pass.rise_s.is_none_or(|r| r <= t_s) && pass.set_s.is_none_or(|s| t_s < s));
            assert_eq!(above, within, "satellite {satellite} at {t_s} s");
            samples += usize::from(above);
        }
        assert!((500..6000).contains(&samples), "{samples} s in view");
        for pass in &found {
            let middle = constellation.position_ecef(satellite, pass.culmination_s).expect("there");
            let highest = elevation_rad(here, terminal.up(), middle);
            for dt in [-5.0, 5.0] {
                let beside = constellation.position_ecef(satellite, pass.culmination_s + dt).expect("there");
                let inside = pass.rise_s.is_none_or(|r| pass.culmination_s + dt > r)
                    && pass.set_s.is_none_or(|s| pass.culmination_s + dt < s);
                assert!(!inside || elevation_rad(here, terminal.up(), beside) < highest);
            }
        }
    }
}

#[test]
fn standing_satellites_pass_for_ever() {
    let ring = Constellation::geostationary(EarthModel::SPHERE, &[0.0, PI]);
    let found = passes(&ring, &place(10.0, 5.0), 0, 0.0, (0.0, 86_400.0));
    assert_eq!((found.len(), found[0].rise_s, found[0].set_s), (1, None, None));
    assert!(passes(&ring, &place(10.0, 5.0), 1, 0.0, (0.0, 86_400.0)).is_empty());
}

#[test]
fn coverage_is_the_sum_of_footprints() {
    // However a shell is arranged, places see on average the sum of its footprints' shares, weighted by area.
    let shell = Walker::new(53.0, 400, 20, 1).expect("a pattern").delta(550e3);
    let constellation = Constellation::from_shell(EarthModel::SPHERE, &shell).expect("a shell");
    let latitudes_rad: Vec<f64> = (0..180).map(|step| (f64::from(step) - 89.5).to_radians()).collect();
    let mask_rad = 25f64.to_radians();
    let rows = in_view(&constellation, &latitudes_rad, 90, &[0.0, 100.0, 300.0], mask_rad);
    let weight: f64 = latitudes_rad.iter().map(|latitude| latitude.cos()).sum();
    let mean = rows.iter().map(|row| row.mean * row.latitude_rad.cos()).sum::<f64>() / weight;
    let radius_m = EarthModel::SPHERE.radius_m;
    let expected = 400.0 * Footprint::new(radius_m, radius_m + 550e3, mask_rad).area_share();
    assert!((mean / expected - 1.0).abs() < 0.02, "{mean}, expected {expected}");
    let beyond = rows.iter().filter(|row| row.latitude_rad.abs() > 63f64.to_radians());
    assert!(beyond.clone().count() > 40 && beyond.clone().all(|row| row.most == 0 && row.covered == 0.0));
    // HT: Teledesic covers everywhere but the poles' last degrees with at least one satellite, at 40 degrees.
    let rows = in_view(&preset::teledesic(), &[0.0, 0.5, 1.0], 72, &[0.0, 1000.0], 40f64.to_radians());
    assert!(rows.iter().all(|row| row.covered > 0.95 && row.mean > 1.0), "{rows:?}");
}

#[test]
fn places_lie_all_around_a_latitude() {
    // One satellite that stands: on the equator it is seen 81.3 degrees to both sides, from a share of 0.4517 of it; from
    // beyond 81.3 degrees of latitude it is not.
    let one = Constellation::geostationary(EarthModel::SPHERE, &[1.0]);
    let rows = in_view(&one, &[0.0, 82f64.to_radians()], 3600, &[0.0, 5000.0], 0.0);
    assert!(
        (rows[0].covered - 0.4517).abs() < 1e-3 && (rows[0].mean - rows[0].covered).abs() < 1e-12,
        "{rows:?}"
    );
    assert_eq!((rows[0].least, rows[0].most, rows[1].most, rows[1].covered), (0, 1, 0, 0.0));
}

#[test]
fn the_sky_finds_what_asking_each_finds() {
    let shell = Walker::new(70.0, 10_000, 100, 1).expect("a pattern").delta(600e3);
    let mixed = Constellation::mixed(vec![
        Constellation::from_shell(EarthModel::WGS84, &shell).expect("a shell"),
        preset::geo(&[0.0, 1.0]),
    ])
    .expect("one");
    let (earth, mut positions) = (*mixed.earth(), Vec::new());
    mixed.positions_ecef(4321.0, &mut positions);
    let terminals: Vec<Terminal> =
        (0..1000).map(|i| place(f64::from(i) * 0.18 - 90.0, f64::from(i * 37 % 360))).collect();
    let sky = Sky::new(&earth, &positions);
    for mask_deg in [-10.0f64, 0.0, 10.0, 60.0] {
        for terminal in terminals.iter().step_by(20) {
            let (here, up, mask_rad) = (terminal.position_ecef(&earth), terminal.up(), mask_deg.to_radians());
            let mut ours: Vec<u32> =
                sky.in_view(here, up, mask_rad).map(|(satellite, _)| satellite).collect();
            ours.sort_unstable();
            let each = (0u32..)
                .zip(&positions)
                .filter(|(_, at)| elevation_rad(here, up, at.expect("there")) > mask_rad);
            assert_eq!(ours, each.map(|(satellite, _)| satellite).collect::<Vec<_>>(), "{terminal:?}");
        }
    }
}
