//! Prints the cost of simulating constellations: `speed [folder with Hypatia's TLEs and stations] [steps]`. `make bench` runs it.
//!
//! Follows Hypatia's comparison: next hops from every satellite for 100 stations, propagation and links included.
//! Differs: Hypatia's own times were recorded on another day; they are printed as such. Without the folder, the presets
//! of the same shells fly on circles. Exit code 1 if a requirement is missed. Left out: writing the state to files.

#![allow(clippy::disallowed_methods, reason = "what something costs is what is measured here")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use skyhop_orbit::visibility::elevation_rad;
use skyhop_orbit::{Constellation, Ecef, Epoch, Preset, Shell, Terminal, Vec3, places};
use skyhop_routing::forwarding::Forwarding;
use skyhop_routing::paths::ShortestPaths;
use skyhop_topology::{NodeId, Rules, Topology};

const FIVE_SHELLS_MS: f64 = 80.0;
const STEP_MS: f64 = 20.0;
const PATHS_S: f64 = 10.0;
const POSITIONS_US: f64 = 50.0;
const TIMES_SATGENPY: f64 = 300.0;

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().map(PathBuf::from).filter(|folder| folder.is_dir());
    let steps: u32 = args.next().map_or(50, |text| text.parse().expect("a number of steps"));
    let mut missed = false;
    let shells =
        [("kuiper_630", 34, 34, 1260e3, [2.9, 3.2]), ("starlink_550", 72, 22, 1089.686e3, [6.1, 7.3])];
    for (name, planes, per_plane, range_m, recorded_s) in shells {
        let constellation = shell(folder.as_deref(), name, planes, per_plane);
        let isls = Forwarding::plus_grid(planes, per_plane);
        let mut forwarding = Forwarding::new(constellation, isls, stations(folder.as_deref()), range_m);
        let median_ms = median_ms(steps, |step| forwarding.step(f64::from(step)));
        let [low, high] = recorded_s.map(|recorded_s| recorded_s * 1e3 / median_ms);
        println!(
            "{name}: {median_ms:.1} ms a step, {STEP_MS} at most required; \
             satgenpy took {} to {} s (recorded): {low:.0} to {high:.0} times, {TIMES_SATGENPY} required",
            recorded_s[0], recorded_s[1]
        );
        missed |= median_ms > STEP_MS || low < TIMES_SATGENPY;
        if name == "starlink_550" {
            let graph = forwarding.graph();
            let (begin, mut routes) = (Instant::now(), 0);
            for to in 0..100 {
                let node = |station| NodeId(planes * per_plane + station);
                let mut paths = ShortestPaths::new(&graph, node(to), |edge| Some(edge.length_m));
                routes += (0..to).map(|from| paths.from(node(from), 20).len()).sum::<usize>();
            }
            let took_s = begin.elapsed().as_secs_f64();
            println!(
                "  20 shortest paths of 4950 pairs: {took_s:.1} s, {PATHS_S} at most required, {routes} paths"
            );
            missed |= took_s > PATHS_S;
        }
    }
    missed |= five_shells(folder.as_deref(), steps) > FIVE_SHELLS_MS;
    missed |= ten_thousand(steps) > POSITIONS_US;
    if missed {
        std::process::exit(1);
    }
}

/// Time per step for Starlink's first generation, ms: each shell has its own grid, and stations use all satellites in view.
fn five_shells(folder: Option<&Path>, steps: u32) -> f64 {
    let preset = Preset::find("starlink").expect("a preset");
    let constellation = preset.constellation();
    let mut topology =
        Topology::new(constellation.clone(), Vec::new(), Rules::for_preset(preset)).expect("sound");
    topology.update(0.0);
    let isls = topology.links().iter().map(|link| (link.a.0, link.b.0)).collect();
    let count = constellation.len();
    let mut forwarding = Forwarding::new(constellation, isls, stations(folder), 1260e3);
    let median_ms = median_ms(steps, |step| forwarding.step(f64::from(step)));
    println!("five shells of {count}: {median_ms:.1} ms a step, {FIVE_SHELLS_MS} at most required");
    median_ms
}

/// Time to compute the positions of 10,000 satellites, us per step.
fn ten_thousand(steps: u32) -> f64 {
    let shell = Shell {
        planes: 100,
        satellites_per_plane: 100,
        altitude_m: 550e3,
        inclination_rad: 0.9,
        raan_spacing_rad: 0.01 * std::f64::consts::TAU,
        phasing: skyhop_orbit::Phasing::OddPlanes(0.5),
        argument_decimals: None,
    };
    let constellation =
        Constellation::from_shell(skyhop_orbit::EarthModel::WGS84, &shell).expect("a sound shell");
    let mut positions = Vec::new();
    let median_us = 1e3
        * median_ms(20 * steps, |step| {
            constellation.positions_ecef(f64::from(step), &mut positions);
        });
    println!("10,000 circular orbits: {median_us:.1} us a step, {POSITIONS_US} at most required");
    // The sum is used so that the compiler keeps the work.
    let up = Vec3::new(1.0, 0.0, 0.0);
    let seen = positions.iter().flatten().filter(|at| elevation_rad(Ecef(up * 6378e3), up, **at) > 0.4);
    println!("  of which {} are in view of 0,0", seen.count());
    median_us
}

fn median_ms(steps: u32, mut work: impl FnMut(u32)) -> f64 {
    let timed = |step| {
        let begin = Instant::now();
        work(step);
        begin.elapsed().as_secs_f64() * 1e3
    };
    let mut times_ms: Vec<f64> = (0..steps.max(1)).map(timed).collect();
    times_ms.sort_by(f64::total_cmp);
    times_ms[times_ms.len() / 2]
}

fn shell(folder: Option<&Path>, name: &str, planes: u32, per_plane: u32) -> Constellation {
    let Some(folder) = folder else {
        let preset = Preset::find(&name.replace('_', "-")).expect("a preset");
        assert_eq!(preset.satellites(), planes * per_plane);
        return preset.constellation();
    };
    let tles =
        std::fs::read_to_string(folder.join(format!("hypatia_{name}_tles.txt"))).expect("the file is there");
    let epoch: Epoch = "2000-01-01T00:00:00Z".parse().expect("an epoch");
    let (_size, tles) = tles.split_once('\n').expect("the first line is the shell's size");
    Constellation::from_tle(tles.as_bytes(), Some(epoch)).expect("sound elements")
}

/// Hypatia's hundred cities, or the first hundred of our table.
fn stations(folder: Option<&Path>) -> Vec<Ecef> {
    let earth = skyhop_orbit::EarthModel::WGS84;
    match folder {
        Some(folder) => std::fs::read_to_string(folder.join("hypatia_ground_stations.txt"))
            .expect("the file is there")
            .lines()
            .map(station)
            .collect(),
        None => places::CITIES[..100]
            .iter()
            .map(|(name, lat, lon)| {
                Terminal::from_degrees(*name, *lat, *lon).expect("a place").position_ecef(&earth)
            })
            .collect(),
    }
}

fn station(line: &str) -> Ecef {
    let cells: Vec<&str> = line.split(',').collect();
    let [x, y, z] = [5, 6, 7].map(|column| cells[column].parse().expect("the column holds metres"));
    Ecef(Vec3::new(x, y, z))
}
