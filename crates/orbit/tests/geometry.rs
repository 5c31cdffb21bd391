//! Positions and views against closed forms.
//!
//! Follows spherical trigonometry: slant range from the central angle by the law of cosines.
//! Differs: every value is bounded on both sides.
//! Left out: comparison with other programs, which is in the reference tests.

use skyhop_orbit::{
    Constellation, EarthModel, Ecef, Phasing, Shell, ShellError, Terminal, TerminalError, look, preset,
};

#[test]
fn geostationary_satellites_stand_still_at_35786_km() {
    let earth = EarthModel::SPHERE;
    let longitudes_deg = [-75.0f64, 0.0, 19.2, 170.0];
    let ring = Constellation::geostationary(earth, &longitudes_deg.map(f64::to_radians));
    assert_eq!(ring.name(2), "geo-2");
    assert_eq!(ring.plane_slot(2), None);
    for (index, longitude_deg) in (0u32..).zip(longitudes_deg) {
        let below = Terminal::from_degrees("below", 0.0, longitude_deg).expect("a place");
        for t_s in [0.0, 12_345.6, 86_400.0 * 30.0] {
            let seen = look(&earth, &below, ring.position_ecef(index, t_s).expect("it is there"));
            assert!((seen.slant_range_m - 35_786e3).abs() < 1e3, "{} m", seen.slant_range_m);
            assert!(seen.elevation_rad.to_degrees() > 89.999, "{} deg", seen.elevation_rad.to_degrees());
            let hop_ms = 2.0 * seen.slant_range_m / earth.c_m_s * 1e3;
            assert!((238.73..238.75).contains(&hop_ms), "{hop_ms} ms up and down");
        }
    }
}

#[test]
fn slant_range_and_elevation_follow_the_law_of_cosines() {
    let earth = EarthModel::SPHERE;
    let orbit_m = earth.geostationary_radius_m();
    let satellite = above_greenwich(earth);
    for (latitude_deg, longitude_deg) in
        [(0.0, 10.0), (45.0, 0.0), (-45.0, 30.0), (60.0, -60.0), (0.0, 120.0)]
    {
        let terminal = Terminal::from_degrees("t", latitude_deg, longitude_deg).expect("a place");
        let cos_apart = terminal.latitude_rad.cos() * terminal.longitude_rad.cos();
        let range_m =
            (orbit_m.powi(2) + earth.radius_m.powi(2) - 2.0 * orbit_m * earth.radius_m * cos_apart).sqrt();
        let sin_elevation = (orbit_m * cos_apart - earth.radius_m) / range_m;
        let seen = look(&earth, &terminal, satellite);
        assert!((seen.slant_range_m - range_m).abs() < 1e-3, "{} m", seen.slant_range_m - range_m);
        assert!((seen.elevation_rad.sin() - sin_elevation).abs() < 1e-12);
    }
}

#[test]
fn azimuth_is_a_compass_direction() {
    let earth = EarthModel::WGS84;
    let at = |latitude_deg, longitude_deg| {
        Terminal::from_degrees("t", latitude_deg, longitude_deg).expect("a place")
    };
    let satellite = above_greenwich(earth);
    for (terminal, azimuth_deg) in
        [(at(40.0, 0.0), 180.0), (at(-40.0, 0.0), 0.0), (at(0.0, 20.0), 270.0), (at(0.0, -20.0), 90.0)]
    {
        let seen = look(&earth, &terminal, satellite).azimuth_rad.to_degrees();
        assert!((seen - azimuth_deg).abs() < 1e-6 || (seen - azimuth_deg - 360.0).abs() < 1e-6, "{seen} deg");
    }
}

#[test]
fn ellipsoid_has_the_published_radii() {
    let metres = |latitude_deg: f64| EarthModel::WGS84.surface(latitude_deg.to_radians(), 0.5, 0.0).0.norm();
    assert!((metres(0.0) - 6_378_137.0).abs() < 1e-3);
    assert!((metres(90.0) - 6_356_752.314).abs() < 1e-2);
    let raised = EarthModel::WGS84.surface(0.7, 0.5, 1000.0);
    assert!((raised.distance_m(EarthModel::WGS84.surface(0.7, 0.5, 0.0)) - 1000.0).abs() < 1e-6);
}

#[test]
fn one_satellite_and_all_satellites_are_asked_alike() {
    for constellation in [preset::iridium(), preset::teledesic(), preset::geo(&[0.1, 0.2])] {
        let mut all = Vec::new();
        assert_eq!(constellation.positions_ecef(4321.0, &mut all), 0);
        let one: Vec<Option<Ecef>> =
            (0..constellation.len() as u32).map(|s| constellation.position_ecef(s, 4321.0)).collect();
        assert_eq!(all, one);
        assert_eq!(constellation.position_ecef(constellation.len() as u32, 0.0), None);
    }
}

#[test]
fn iridium_is_numbered_by_plane_and_slot() {
    let iridium = preset::iridium();
    assert_eq!((iridium.len(), iridium.planes().len(), iridium.planes().wraps()), (66, 6, false));
    assert_eq!((iridium.name(40).as_str(), iridium.plane_slot(40)), ("3.7", Some((3, 7))));
    // Satellite 1.0 is ahead by half a slot, rounded to two decimals of a degree: 16.36.
    let latitude_deg = iridium.position_ecef(11, 0.0).expect("it is there").latitude_rad().to_degrees();
    let expected_deg = (16.36f64.to_radians().sin() * 86.4f64.to_radians().sin()).asin().to_degrees();
    assert!((latitude_deg - expected_deg).abs() < 1e-5, "{latitude_deg} deg");
}

#[test]
fn walker_phasing_and_wrapping_planes() {
    let delta = Shell {
        planes: 24,
        satellites_per_plane: 66,
        altitude_m: 550e3,
        inclination_rad: 53f64.to_radians(),
        raan_spacing_rad: 15f64.to_radians(),
        phasing: Phasing::Walker(13.0),
        argument_decimals: None,
    };
    let constellation = Constellation::from_shell(EarthModel::SPHERE, &delta).expect("a valid shell");
    assert!(constellation.planes().wraps());
    let ahead_deg = delta.argument_rad(1, 0).to_degrees();
    assert!((ahead_deg - 13.0 * 360.0 / (24.0 * 66.0)).abs() < 1e-9, "{ahead_deg} deg");
}

#[test]
fn impossible_shells_and_places_are_refused() {
    let shell = preset::IRIDIUM;
    for (shell, message) in [
        (Shell { planes: 0, ..shell }, "shell of 0 x 11 satellites; expected 1 to 1000000 in all"),
        (Shell { planes: u32::MAX, satellites_per_plane: u32::MAX, ..shell }, "shell of 4294967295 x"),
        (Shell { altitude_m: -1e3, ..shell }, "altitude of -1 km; expected 100 to 1000000 km"),
        (Shell { inclination_rad: f64::NAN, ..shell }, "inclination of NaN deg; expected 0 to 180 deg"),
    ] {
        let error: ShellError = Constellation::from_shell(EarthModel::NS2, &shell).expect_err(message);
        assert!(error.to_string().starts_with(message), "{error}");
    }
    let error: TerminalError = Terminal::from_degrees("pole", 91.0, 0.0).expect_err("beyond the pole");
    assert_eq!(error.to_string(), "latitude of 91 deg for terminal \"pole\"; expected -90 to 90 deg");
    assert!(Terminal::from_degrees("nowhere", f64::NAN, 0.0).is_err());
    assert!(Terminal::from_degrees("nowhere", 0.0, 1e9).is_err());
}

fn above_greenwich(earth: EarthModel) -> Ecef {
    Constellation::geostationary(earth, &[0.0]).position_ecef(0, 0.0).expect("it is there")
}
