//! One-way delays against ns-2's satellite module, row by row.
//!
//! Follows the reference's README, part A: the times of updates, and the state that a packet meets.
//! Differs: rows that ns-2 lost to its own link layer are not compared.
//! Left out: delays under the hop metric and paths of Teledesic, where equally good routes differ.

use crate::testing;
use std::path::{Path, PathBuf};

use skyhop_orbit::{Terminal, preset};
use skyhop_routing::{PathMetric, Router, Walk, one_way_delay_path};
use skyhop_topology::{NodeId, Rules, Topology};

const TOLERANCE_MS: f64 = 0.01;

#[test]
fn iridium_series_agree_with_ns2() {
    check("series_iridium_lat");
}

#[test]
fn iridium_cross_seam_series_agree_with_ns2() {
    check("series_iridium_xs_");
}

#[test]
fn teledesic_series_agree_with_ns2() {
    check("series_teledesic_lat");
}

#[test]
fn teledesic_series_without_seam_links_agree_with_ns2() {
    check("series_teledesic_noxs_");
}

#[test]
fn random_pairs_over_iridium_agree_with_ns2() {
    check("random_iridium_lat");
}

#[test]
fn random_pairs_over_iridium_cross_seam_agree_with_ns2() {
    check("random_iridium_xs_");
}

#[test]
fn random_pairs_over_teledesic_agree_with_ns2() {
    check("random_teledesic_");
}

/// Compares every file whose name begins with `prefix`.
fn check(prefix: &str) {
    let Some(folder) = testing::shared("reference/constellation") else { return };
    let entries = std::fs::read_dir(&folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no file {prefix}* in {}", folder.display());
    let failures: Vec<String> = files.iter().flat_map(|file| check_file(file)).collect();
    assert!(
        failures.is_empty(),
        "{} rows differ:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
}

struct Row {
    time_s: f64,
    /// Latitudes and longitudes in degrees, in the files with random places.
    places: Option<[f64; 4]>,
    delay_ms: f64,
    satellites: usize,
    path: String,
    status: String,
}

fn check_file(file: &Path) -> Vec<String> {
    let name = file.file_stem().expect("a csv file has a name").to_string_lossy().into_owned();
    let parts: Vec<&str> = name.split('_').collect();
    let hops = parts.contains(&"hop");
    let mut router = Router::new(if hops { PathMetric::Hops } else { PathMetric::Delay });
    let mut topology = network(&parts);
    let (mut next_update_s, mut worst_ms, mut compared) = (0.0, 0.0f64, 0);
    let mut failures = Vec::new();
    for row in rows(file) {
        while next_update_s <= row.time_s {
            topology.update(next_update_s);
            next_update_s += topology.rules().update_interval_s;
        }
        if let Some([lat1, lon1, lat2, lon2]) = row.places {
            for (terminal, lat, lon) in [(0, lat1, lon1), (1, lat2, lon2)] {
                let place = Terminal::from_degrees("random", lat, lon).expect("the file has places");
                topology.move_terminal(terminal, &place, row.time_s).expect("there are two terminals");
            }
        }
        if row.status == "ns2_lost" {
            continue;
        }
        compared += 1;
        let [from, to] = [0, 1].map(|index| topology.terminal_node(index).expect("there are two terminals"));
        let walk = one_way_delay_path(&mut router, &topology, from, to, row.time_s);
        match (walk, row.status.as_str()) {
            (None, "noroute") => {}
            (Some(walk), "ok") => {
                let off_ms = (walk.delay_s * 1e3 - row.delay_ms).abs();
                let (path, satellites) = (path_of(&topology, &walk), walk.nodes.len() - 2);
                if !hops {
                    worst_ms = worst_ms.max(off_ms);
                }
                let same = if hops { satellites == row.satellites } else { off_ms <= TOLERANCE_MS };
                if !same || (!hops && name.contains("iridium") && path != row.path) {
                    let ours = walk.delay_s * 1e3;
                    failures.push(format!(
                        "{name} {}: {ours:.6} ms by {path}; ns-2 {} ms by {}",
                        row.time_s, row.delay_ms, row.path
                    ));
                }
            }
            (walk, status) => {
                failures.push(format!("{name} {}: found {walk:?}, expected {status}", row.time_s));
            }
        }
    }
    assert!(compared > 300, "{name}: only {compared} rows");
    println!("{name}: {compared} rows, worst {:.3} us", worst_ms * 1e3);
    failures
}

fn network(parts: &[&str]) -> Topology {
    let iridium = parts.contains(&"iridium");
    let mut rules = match (iridium, parts.contains(&"xs"), parts.contains(&"noxs")) {
        (true, true, _) => Rules::iridium_cross_seam(),
        (true, false, _) => Rules::iridium(),
        (false, _, noxs) => Rules {
            cross_seam: if noxs { None } else { Rules::teledesic().cross_seam },
            ..Rules::teledesic()
        },
    };
    let limit =
        parts.iter().find_map(|part| part.strip_prefix("lat")).expect("files name the latitude limit");
    rules.isl_latitude_limit_rad = limit.parse::<f64>().expect("the limit is in degrees").to_radians();
    let terminals = match parts[0] {
        "series" => parts[parts.len() - 2..].iter().map(|city| place(city)).collect(),
        _ => ["a", "b"].map(|name| Terminal::from_degrees(name, 0.0, 0.0).expect("a place")).to_vec(),
    };
    let constellation = if iridium { preset::iridium() } else { preset::teledesic() };
    Topology::new(constellation, terminals, rules).expect("the network is sound")
}

fn place(city: &str) -> Terminal {
    let (lat, lon) = match city {
        "newyork" => (40.71, -74.01),
        "sanfrancisco" => (37.77, -122.42),
        "quito" => (-0.22, -78.51),
        "london" => (51.51, -0.13),
        "berkeley" => (37.9, -122.3),
        "boston" => (42.3, -71.1),
        city => panic!("no coordinates for {city}"),
    };
    Terminal::from_degrees(city, lat, lon).expect("cities are on the Earth")
}

fn path_of(topology: &Topology, walk: &Walk) -> String {
    let satellites: Vec<NodeId> =
        walk.nodes.iter().copied().filter(|&node| topology.is_satellite(node)).collect();
    satellites.iter().map(|&node| topology.node_name(node)).collect::<Vec<_>>().join("-")
}

fn rows(file: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(file).expect("the reference can be read");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("the reference has a header").split(',').collect();
    let column = |name: &str| header.iter().position(|&heading| heading == name);
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let text = |name: &str| column(name).map_or("", |index| cells[index]);
            let number = |name: &str| text(name).parse::<f64>().expect("the column holds numbers");
            Row {
                time_s: number("time_s"),
                places: column("lat1").map(|_| ["lat1", "lon1", "lat2", "lon2"].map(number)),
                delay_ms: number("delay_ms"),
                satellites: number("satellites") as usize,
                path: text("path").to_owned(),
                status: text("status").to_owned(),
            }
        })
        .collect()
}
