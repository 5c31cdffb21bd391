//! SGP4 against the published verification vectors.
//!
//! Follows Vallado et al., AIAA 2006-6753: 31 objects near Earth and in deep space, 757 states.
//! Differs: our positions are in the rotating frame. Distances from the Earth's centre and from the equator are the same there
//! and must agree to 1 mm; so must the angle around the axis except for its first value, which must agree with the Astronomical
//! Almanac to metres.
//! Left out: velocities, which only Doppler uses here.

use skyhop_orbit::{Constellation, Epoch};

const VECTORS: &str = include_str!("data/vallado-2006.txt");

struct Object {
    lines: String,
    states: Vec<[f64; 4]>,
}

fn objects() -> Vec<Object> {
    let mut objects: Vec<Object> = Vec::new();
    for line in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        match line.len() {
            69 if line.starts_with("1 ") => {
                objects.push(Object { lines: format!("{line}\n"), states: vec![] })
            }
            69 => objects.last_mut().expect("line 1 first").lines += line,
            _ => {
                let cells: Vec<f64> = line.split(' ').map(|cell| cell.parse().expect("a number")).collect();
                objects.last_mut().expect("elements first").states.push(cells.try_into().expect("four"));
            }
        }
    }
    objects
}

/// Greenwich mean sidereal time in radians (Astronomical Almanac), `t_s` after an epoch.
fn sidereal_rad(epoch: Epoch, t_s: f64) -> f64 {
    let noon_2000: Epoch = "2000-01-01T12:00:00".parse().expect("a date");
    let centuries = (epoch.seconds_since(noon_2000) + t_s) / 86_400.0 / 36_525.0;
    let seconds =
        67_310.548_41 + (876_600.0 * 3600.0 + 8_640_184.812_866) * centuries + 0.093_104 * centuries.powi(2)
            - 6.2e-6 * centuries.powi(3);
    (seconds / 240.0).to_radians()
}

#[test]
fn positions_are_the_published_ones() {
    let (mut states, mut parted, mut flown, mut refused, mut gone) = (0, 0, 0, Vec::new(), Vec::new());
    for object in objects() {
        let number = object.lines[2..7].trim().to_owned();
        let constellation = match Constellation::from_tle(object.lines.as_bytes(), None) {
            Ok(constellation) => constellation,
            Err(error) => {
                refused.push(format!("{number}: {error}"));
                continue;
            }
        };
        flown += 1;
        let epoch = constellation.epoch().expect("elements have one");
        let mut first_rad = None;
        for [minutes, x, y, z] in object.states {
            let t_s = minutes * 60.0;
            let Some(at) = constellation.position_ecef(0, t_s) else {
                gone.push(format!("{number} at {minutes} min"));
                continue;
            };
            states += 1;
            let expected_m = [x, y, z].map(|km| km * 1e3);
            let [x, y, z] = expected_m;
            let radius_m = (x * x + y * y + z * z).sqrt();
            let off_m = (at.0.norm() - radius_m).abs();
            if number == "23599" && minutes >= 420.0 {
                // There the Air Force's way with small inclinations, which ours is, and the improved one part.
                assert!((1e-4..3e-2).contains(&off_m), "{number} at {minutes} min: {off_m} m");
                parted += 1;
                continue;
            }
            assert!(off_m < 1e-3, "{number} at {minutes} min: radius {off_m} m off");
            assert!((at.0.z - z).abs() < 1e-3, "{number} at {minutes} min: {} against {z}", at.0.z);
            // Our Earth turns at one rate: less that, the angle between ours and theirs is the first state's.
            let turned_rad = (at.0.y * x - at.0.x * y).atan2(at.0.x * x + at.0.y * y);
            let angle_rad = turned_rad + constellation.earth().rotation_rad_s() * t_s;
            let apart_rad = angle_rad - *first_rad.get_or_insert(angle_rad);
            let off_m = 2.0 * (apart_rad / 2.0).sin().abs() * x.hypot(y);
            assert!(off_m < 2e-3, "{number} at {minutes} min: {off_m} m around the axis of its first state");
            let (sin, cos) = sidereal_rad(epoch, t_s).sin_cos();
            let turned = [x * cos + y * sin, y * cos - x * sin];
            let off_m = (at.0.x - turned[0]).hypot(at.0.y - turned[1]);
            // A constant rate of rotation, with UTC for sidereal time: under a microradian a day.
            let days = 1.0 + t_s.abs() / 86_400.0;
            assert!(off_m < 1e-6 * radius_m * days, "{number} at {minutes} min: {off_m} m around the axis");
        }
    }
    println!("{flown} objects, {states} states within 1 mm; refused: {refused:?}; gone: {gone:?}");
    assert!(
        states >= 740 && flown == 31 && parted == 16,
        "{flown}, {states}, {parted}; {refused:?}; {gone:?}"
    );
    // One set of elements has a line too short for its fields, one is made up to fail: a revolution in 270 years.
    let why = |number: &str| refused.iter().any(|told| told.starts_with(&format!("{number}: line 1")));
    assert!(refused.len() == 2 && why("11801") && why("33334"), "{refused:?}");
    // Objects that end under ground or with an eccentricity out of range have no position any more.
    assert!(gone.len() <= 10, "{gone:?}");
}
