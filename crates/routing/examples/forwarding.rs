//! Prints how long forwarding state takes: `forwarding <folder with the TLEs and stations> [steps]`.
//!
//! Follows Hypatia's comparison: next hops from every satellite for 100 stations, propagation and links included.
//! Differs: Hypatia's own times were recorded on another day; they are printed as such.
//! Left out: writing the state to files.

use std::path::Path;
use std::time::Instant;

use skyhop_orbit::{Constellation, Ecef, Epoch, Vec3};
use skyhop_routing::forwarding::Forwarding;
use skyhop_routing::paths::ShortestPaths;
use skyhop_topology::NodeId;

fn main() {
    let folder = std::env::args().nth(1).expect("a folder");
    let steps: u32 = std::env::args().nth(2).map_or(50, |text| text.parse().expect("a number of steps"));
    let shells =
        [("kuiper_630", 34, 34, 1260e3, [2.9, 3.2]), ("starlink_550", 72, 22, 1089.686e3, [6.1, 7.3])];
    for (shell, planes, per_plane, range_m, recorded_s) in shells {
        let read =
            |name: String| std::fs::read_to_string(Path::new(&folder).join(name)).expect("the file is there");
        let tles = read(format!("hypatia_{shell}_tles.txt"));
        let stations = read("hypatia_ground_stations.txt".into()).lines().map(station).collect();
        let epoch: Epoch = "2000-01-01T00:00:00Z".parse().expect("an epoch");
        let (_size, tles) = tles.split_once('\n').expect("the first line is the shell's size");
        let constellation = Constellation::from_tle(tles.as_bytes(), Some(epoch)).expect("sound elements");
        let isls = Forwarding::plus_grid(planes, per_plane);
        let mut forwarding = Forwarding::new(constellation, isls, stations, range_m);
        let mut times_ms: Vec<f64> = (0..steps.max(1))
            .map(|step| {
                let begin = Instant::now();
                forwarding.step(f64::from(step));
                begin.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times_ms.sort_by(f64::total_cmp);
        let (best, median) = (times_ms[0], times_ms[times_ms.len() / 2]);
        let [low, high] = recorded_s.map(|recorded_s| recorded_s * 1e3 / median);
        println!(
            "{shell}: {best:.1} ms a step at best, {median:.1} at the median of {steps}; \
             satgenpy took {} to {} s (recorded): {low:.0} to {high:.0} times",
            recorded_s[0], recorded_s[1]
        );
        let graph = forwarding.graph();
        let (begin, mut routes) = (Instant::now(), 0);
        for to in 0..100 {
            let node = |station| NodeId(planes * per_plane + station);
            let mut paths = ShortestPaths::new(&graph, node(to), |edge| Some(edge.length_m));
            routes += (0..to).map(|from| paths.from(node(from), 20).len()).sum::<usize>();
        }
        println!("  20 shortest paths of 4950 pairs: {:.1} s, {routes} paths", begin.elapsed().as_secs_f64());
    }
}

fn station(line: &str) -> Ecef {
    let cells: Vec<&str> = line.split(',').collect();
    let [x, y, z] = [5, 6, 7].map(|column| cells[column].parse().expect("the column holds metres"));
    Ecef(Vec3::new(x, y, z))
}
