//! Iridium NEXT as catalogued in October 2025: the plane and slot of each satellite.
//!
//! Follows the operator's published layout, 66 satellites in 6 planes of 11.
//! Differs: the file has spares and decaying objects too, which must stay out of the planes.
//! Left out: links, which are tested with the topology.

use crate::testing;
use skyhop_orbit::{Constellation, Epoch};

#[test]
fn sixty_six_satellites_fly_in_six_planes_of_eleven() {
    let Some(file) = shared("data/tle/iridium_next.tle") else { return };
    let constellation = Constellation::from_tle(&file, None).expect("the file is sound");
    assert_eq!(constellation.len(), 80);
    let planes = constellation.planes();
    let sizes: Vec<usize> = (0..planes.len()).map(|plane| planes.members(plane).len()).collect();
    assert_eq!(sizes, [11; 6]);
    assert!(!planes.wraps(), "a star pattern has a seam");
    let mut positions = Vec::new();
    assert_eq!(constellation.positions_ecef(0.0, &mut positions), 0);
    for plane in 0..6 {
        for (slot, &satellite) in planes.members(plane).iter().enumerate() {
            assert_eq!(constellation.plane_slot(satellite), Some((plane, slot as u32)));
            // The next in the plane is 2 r sin(360/22 degrees) = 4033 km away, give or take station keeping.
            let next = planes.members(plane)[(slot + 1) % 11];
            let pair = positions[satellite as usize].zip(positions[next as usize]);
            let apart_km = pair.map(|(a, b)| a.distance_m(b) / 1e3).expect("both are available");
            assert!((3900.0..4170.0).contains(&apart_km), "{apart_km} km after {plane}.{slot}");
        }
    }
}

#[test]
fn planes_are_the_same_a_week_later() {
    let Some(file) = shared("data/tle/iridium_next.tle") else { return };
    let names = |epoch: &str| {
        let epoch: Epoch = epoch.parse().expect("an epoch");
        let constellation = Constellation::from_tle(&file, Some(epoch)).expect("the file is sound");
        assert_eq!(constellation.epoch(), Some(epoch));
        let planes = constellation.planes();
        let plane_names = |plane| {
            let mut names: Vec<String> =
                planes.members(plane).iter().map(|&s| constellation.name(s)).collect();
            names.sort();
            names
        };
        (0..planes.len()).map(plane_names).collect::<Vec<_>>()
    };
    // Planes are counted from the seam, so their numbers stay although RAANs drift.
    assert_eq!(names("2025-10-08T00:00:00Z"), names("2025-10-15T12:34:56.789Z"));
}

#[test]
fn altitude_and_latitude_are_those_of_iridium() {
    let Some(file) = shared("data/tle/iridium_next.tle") else { return };
    let constellation = Constellation::from_tle(&file, None).expect("the file is sound");
    let mut highest_latitude_deg = 0.0f64;
    for minute in 0..101 {
        let position = constellation.position_ecef(0, f64::from(minute) * 60.0).expect("it has not decayed");
        let altitude_km = position.0.norm() / 1e3 - 6378.137;
        assert!((765.0..795.0).contains(&altitude_km), "{altitude_km} km");
        highest_latitude_deg = highest_latitude_deg.max(position.latitude_rad().abs().to_degrees());
    }
    assert!((85.0..86.5).contains(&highest_latitude_deg), "{highest_latitude_deg} deg");
}

#[test]
fn planes_of_other_catalogued_constellations() {
    for (path, objects, expected) in [
        ("data/tle/gps.tle", 32, vec![]),
        ("data/tle/oneweb.tle", 651, vec![54, 51, 54, 52, 53, 51, 51, 49, 53, 53, 56, 55]),
        ("data/tle-historic/iridium_2013.tle", 92, vec![11; 6]),
    ] {
        let Some(file) = shared(path) else { return };
        let constellation = Constellation::from_tle(&file, None).expect(path);
        let planes = constellation.planes();
        let sizes: Vec<usize> = (0..planes.len()).map(|plane| planes.members(plane).len()).collect();
        assert_eq!((constellation.len(), sizes), (objects, expected), "{path}");
        assert_eq!(constellation.positions_ecef(0.0, &mut Vec::new()), 0, "{path}");
    }
}

// Public knowledge of Starlink in October 2025: generation 1 has 72 planes of 22 at 53.2 and at 53 degrees (the latter is being
// emptied), 36 of 20 at 70; generation 2 has 28 planes at 43 and at 53 degrees in each of its groups.
#[test]
fn starlink_is_several_shells() {
    let Some(file) = shared("data/tle/starlink.tle") else { return };
    let constellation = Constellation::from_tle(&file, None).expect("the file is sound");
    let planes = constellation.planes();
    let of_shell = |shell: &skyhop_orbit::planes::PlaneShell| {
        let first = planes.members(shell.planes.start)[0];
        let satellites: usize = shell.planes.clone().map(|plane| planes.members(plane).len()).sum();
        let period_min = constellation.period_s(first).expect("it flies") / 60.0;
        (shell.planes.len(), satellites, (period_min * 10.0).round() / 10.0, shell.wraps)
    };
    let shells: Vec<_> = planes.shells().iter().map(of_shell).collect();
    let placed: usize = shells.iter().map(|shell| shell.1).sum();
    assert!((7400..7800).contains(&placed), "{placed} of 8451: {shells:?}");
    for (count, period_min) in [(72, 95.4), (28, 95.8)] {
        let found = shells.iter().any(|shell| shell.0 == count && shell.2 == period_min && shell.3);
        assert!(found, "{count} planes of {period_min} min: {shells:?}");
    }
    // Satellites behind one another are neighbours in fact: along the orbit, not across it.
    let mut positions = Vec::new();
    constellation.positions_ecef(0.0, &mut positions);
    let gap_m = |a: u32, b: u32| {
        positions[a as usize].zip(positions[b as usize]).map_or(f64::NAN, |(a, b)| a.distance_m(b))
    };
    let largest = planes.shells()[0].planes.clone().flat_map(|plane| {
        let members = planes.members(plane);
        (0..members.len()).map(move |slot| gap_m(members[slot], members[(slot + 1) % members.len()]))
    });
    let mut gaps_m: Vec<f64> = largest.collect();
    gaps_m.sort_by(f64::total_cmp);
    let median_km = gaps_m[gaps_m.len() / 2] / 1e3;
    assert!((1800.0..2600.0).contains(&median_km), "{median_km} km: 43,500 km in 17 to 22 gaps");
}

/// A file of the shared folder; `None`, with a message, if the folder does not exist.
fn shared(path: &str) -> Option<Vec<u8>> {
    testing::shared(path).map(|path| std::fs::read(path).expect("a file"))
}
