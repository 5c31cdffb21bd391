//! SGP4 positions against Hypatia's, whose satgenpy takes them from PyEphem.
//!
//! Follows the reference's README, part B: plain SGP4 is 37 m short on average there, 128 m at most, on whole paths.
//! Differs: the path is taken from the reference, so that only positions are compared here.
//! Left out: the choice of the path, which needs Hypatia's rule for ground links.

use crate::testing;
use skyhop_orbit::{Constellation, Ecef, Epoch, Vec3};

#[test]
fn kuiper_path_lengths_agree_with_hypatia() {
    check("kuiper_630", 34, 34);
}

#[test]
fn starlink_path_lengths_agree_with_hypatia() {
    check("starlink_550", 72, 22);
}

fn check(shell: &str, planes: u32, per_plane: usize) {
    let read = |name: String| testing::shared_text(&format!("reference/constellation/{name}"));
    let Some((tles, rows)) =
        read(format!("hypatia_{shell}_tles.txt")).zip(read(format!("hypatia_{shell}_rtt.csv")))
    else {
        return;
    };
    let stations = read("hypatia_ground_stations.txt".into()).expect("it is beside the others");
    let stations: Vec<Ecef> = stations.lines().map(station).collect();
    let (_size, tles) = tles.split_once('\n').expect("the first line is the shell's size");
    let epoch: Epoch = "2000-01-01T00:00:00Z".parse().expect("an epoch");
    let constellation = Constellation::from_tle(tles.as_bytes(), Some(epoch)).expect("sound");

    assert_eq!(constellation.planes().len(), planes);
    assert!(constellation.planes().wraps(), "a delta pattern has no seam");
    assert!((0..planes).all(|plane| constellation.planes().members(plane).len() == per_plane));

    let (mut rows_compared, mut sum_m, mut worst_m, mut beyond) = (0, 0.0, 0.0f64, 0);
    let (mut time, mut positions) = (f64::NAN, Vec::new());
    for row in rows.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |index: usize| cells[index].parse::<f64>().expect("the column holds numbers");
        if number(0) != time {
            time = number(0);
            assert_eq!(constellation.positions_ecef(time, &mut positions), 0);
        }
        if cells[6].is_empty() {
            continue;
        }
        let satellites = cells[6].split('-').map(|id| {
            let index: usize = id.parse().expect("the path holds satellites");
            positions[index].expect("they are available")
        });
        let [from, to] = [1, 2].map(|column| stations[number(column) as usize]);
        let places: Vec<Ecef> = std::iter::once(from).chain(satellites).chain([to]).collect();
        let length_m: f64 = places.windows(2).map(|hop| hop[0].distance_m(hop[1])).sum();
        let off_m = length_m - number(3);
        rows_compared += 1;
        sum_m += off_m;
        worst_m = worst_m.max(off_m.abs());
        beyond += usize::from(off_m.abs() > 2e-5 * length_m);
    }
    let mean_m = sum_m / f64::from(rows_compared);
    println!(
        "{shell}: {rows_compared} paths, {mean_m:.1} m on average, {worst_m:.1} m at most, {beyond} beyond 2e-5"
    );
    assert!((-50.0..-30.0).contains(&mean_m), "{mean_m} m on average");
    assert!((100.0..170.0).contains(&worst_m), "{worst_m} m at most");
    // PyEphem's error of tens of metres weighs most on paths of one satellite.
    assert!(100 * beyond <= rows_compared as usize, "{beyond} of {rows_compared} beyond 2e-5");
}

fn station(line: &str) -> Ecef {
    let cells: Vec<&str> = line.split(',').collect();
    let [x, y, z] = [5, 6, 7].map(|column| cells[column].parse().expect("the column holds metres"));
    Ecef(Vec3::new(x, y, z))
}
