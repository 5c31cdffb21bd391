//! Round trips between cities against Hypatia's own, over Kuiper-630 and Starlink-550.
//!
//! Follows the reference's README, part B: GSLs by range, +Grid ISLs always up, shortest total length.
//! Differs: positions come from plain SGP4; stations are put where PyEphem's geometry has them, relative to satellites.
//! Left out: the time a step takes; the example `forwarding` prints it.

use std::path::{Path, PathBuf};

use skyhop_orbit::{Constellation, Ecef, Epoch, Vec3};
use skyhop_routing::forwarding::{Forwarding, Next};

const TOLERANCE: f64 = 2e-5;

#[test]
fn kuiper_round_trips_agree_with_hypatia() {
    check("kuiper_630", 34, 34, (3.0 * 630e3f64.powi(2) + 630e3f64.powi(2)).sqrt());
}

#[test]
fn starlink_round_trips_agree_with_hypatia() {
    check("starlink_550", 72, 22, (940.7e3f64.powi(2) + 550e3f64.powi(2)).sqrt());
}

fn check(shell: &str, planes: u32, per_plane: u32, gsl_range_m: f64) {
    let Some((mut forwarding, rows)) = network(shell, planes, per_plane, gsl_range_m) else { return };
    let (mut time, mut compared, mut beyond, mut same_path) = (f64::NAN, 0, 0, 0);
    let (mut worst, mut worst_m) = (0.0f64, 0.0f64);
    for row in rows.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |index: usize| cells[index].parse::<f64>().expect("the column holds numbers");
        if number(0) != time {
            time = number(0);
            forwarding.step(time);
        }
        let path = forwarding.path(number(1) as usize, number(2) as usize);
        assert_eq!(path.is_none(), cells[6].is_empty(), "{row}");
        let Some((satellites, length_m)) = path else { continue };
        let length_m = length_m * SCALE;
        let rtt_ms = 2.0 * length_m / 299_792_458.0 * 1e3;
        let off = (rtt_ms - number(4)).abs() / number(4);
        compared += 1;
        worst = worst.max(off);
        worst_m = worst_m.max((length_m - number(3)).abs());
        beyond += usize::from(off > TOLERANCE);
        let names: Vec<String> = satellites.iter().map(u32::to_string).collect();
        same_path += usize::from(names.join("-") == cells[6]);
        let last = *satellites.last().expect("a path has satellites");
        assert_eq!(forwarding.next(last, number(2) as usize), Some(Next::Station));
    }
    println!(
        "{shell}: {compared} rows, {worst_m:.1} m and {worst:.2e} at most, {beyond} beyond {TOLERANCE:.0e}, {same_path} same paths"
    );
    assert!(compared > 1000, "only {compared} rows");
    assert_eq!((beyond, same_path), (0, compared));
    // With PyEphem's geometry left out, 26 short paths are beyond and 82 m off at most.
    assert!((1.0..60.0).contains(&worst_m), "{worst_m} m at most");
}

fn network(shell: &str, planes: u32, per_plane: u32, gsl_range_m: f64) -> Option<(Forwarding, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/constellation");
    let read =
        |name: String| -> Option<String> { std::fs::read_to_string::<PathBuf>(folder.join(name)).ok() };
    let Some((tles, rows)) =
        read(format!("hypatia_{shell}_tles.txt")).zip(read(format!("hypatia_{shell}_rtt.csv")))
    else {
        eprintln!("skipped: no reference data in {}", folder.display());
        return None;
    };
    let stations = read("hypatia_ground_stations.txt".into()).expect("it is beside the others");
    let stations: Vec<Ecef> = stations.lines().map(station).collect();
    let (_size, tles) = tles.split_once('\n').expect("the first line is the shell's size");
    let epoch: Epoch = "2000-01-01T00:00:00Z".parse().expect("an epoch");
    let constellation = Constellation::from_tle(tles.as_bytes(), Some(epoch)).expect("sound");
    let isls = Forwarding::plus_grid(planes, per_plane);
    Some((Forwarding::new(constellation, isls, stations, gsl_range_m / SCALE), rows))
}

/// PyEphem's Earth radius over that of WGS 72: it scales the positions that SGP4 gives in Earth radii.
const SCALE: f64 = 6378.16 / 6378.135;

/// A station as PyEphem sees it among its satellites, brought back to the scale and the Greenwich of ours.
///
/// PyEphem's Earth is 6378.16 km with flattening 1 / 298.25, its latitude is raised by a factor of 1 / (1 - f^2) on the
/// tangent, and its sidereal time is Newcomb's, some 60 ms behind that of IAU 1982.
fn station(line: &str) -> Ecef {
    let cells: Vec<&str> = line.split(',').collect();
    let [lat, lon] = [2, 3].map(|column| cells[column].parse::<f64>().expect("degrees").to_radians());
    let flattening = 1.0 / 298.25;
    let lat = (lat.tan() / (1.0 - flattening * flattening)).atan();
    let epoch: Epoch = "2000-01-01T00:00:00Z".parse().expect("an epoch");
    let lon = lon + newcomb_rad(36524.5 / 36525.0) - epoch.greenwich_rad();
    let normal_m = 6378.16e3 / (1.0 - (2.0 - flattening) * flattening * lat.sin().powi(2)).sqrt();
    let (across_m, up_m) = (normal_m * lat.cos(), normal_m * (1.0 - flattening).powi(2) * lat.sin());
    Ecef(Vec3::new(across_m * lon.cos(), across_m * lon.sin(), up_m) * (1.0 / SCALE))
}

/// Greenwich's angle by Newcomb, `centuries` after noon of 31 December 1899, less whole turns.
fn newcomb_rad(centuries: f64) -> f64 {
    let hours = 6.6460656 + (2400.051262 + 0.00002581 * centuries) * centuries;
    std::f64::consts::TAU * (hours / 24.0).fract()
}
