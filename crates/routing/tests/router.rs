//! Next hops: shortest, free of loops, the same in every run, and never through a terminal.
//!
//! Follows Dijkstra; the reference is a plain relaxation over all links.
//! Differs: checked on the constellations themselves instead of drawn graphs.
//! Left out: speed.

use skyhop_orbit::{Terminal, preset};
use skyhop_routing::{PathMetric, Router, one_way_delay_path};
use skyhop_topology::{NodeId, Rules, Topology};

fn network() -> Topology {
    let terminals = [("a", 40.0, -74.0), ("b", 37.0, -122.0), ("c", 39.0, -100.0), ("d", -30.0, 60.0)]
        .map(|(name, lat, lon)| Terminal::from_degrees(name, lat, lon).expect("a place"));
    let mut topology =
        Topology::new(preset::iridium(), terminals.to_vec(), Rules::iridium_cross_seam()).expect("sound");
    for step in 0..200 {
        topology.update(f64::from(step) * 10.0);
    }
    topology
}

/// Least cost from every node to `destination`, by relaxing all links until nothing improves.
fn least_costs(topology: &Topology, metric: PathMetric, destination: NodeId, t_s: f64) -> Vec<f64> {
    let mut costs = vec![f64::INFINITY; topology.nodes()];
    costs[destination.index()] = 0.0;
    let relays = |node: NodeId| topology.is_satellite(node) || node == destination;
    for _ in 0..topology.nodes() {
        for link in topology.links().iter().filter(|link| link.up) {
            let weight = match metric {
                PathMetric::Delay => topology.one_way_delay_s(link.a, link.b, t_s).expect("both are there"),
                PathMetric::Hops => 1.0,
            };
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                if relays(to) {
                    costs[from.index()] = costs[from.index()].min(costs[to.index()] + weight);
                }
            }
        }
    }
    costs
}

#[test]
fn every_path_costs_the_least() {
    let topology = network();
    for metric in [PathMetric::Delay, PathMetric::Hops] {
        let mut router = Router::new(metric);
        router.refresh(&topology, 1995.0);
        for destination in (0..topology.nodes() as u32).map(NodeId) {
            let least = least_costs(&topology, metric, destination, 1995.0);
            for from in (0..topology.nodes() as u32).map(NodeId) {
                let path = router.path(from, destination).expect("Iridium is connected");
                assert_eq!((path[0], *path.last().expect("not empty")), (from, destination));
                let inner = path.get(1..path.len() - 1).unwrap_or_default();
                assert!(
                    inner.iter().all(|&node| topology.is_satellite(node)),
                    "terminals never relay: {path:?}"
                );
                let cost: f64 = path
                    .windows(2)
                    .map(|hop| match metric {
                        PathMetric::Delay => {
                            topology.one_way_delay_s(hop[0], hop[1], 1995.0).expect("both are there")
                        }
                        PathMetric::Hops => 1.0,
                    })
                    .sum();
                assert!((cost - least[from.index()]).abs() < 1e-12, "{cost} of {}", least[from.index()]);
            }
        }
    }
}

#[test]
fn next_hops_name_links_that_are_up() {
    let topology = network();
    let mut router = Router::new(PathMetric::Delay);
    router.refresh(&topology, 1995.0);
    let destination = topology.terminal_named("d").expect("a terminal");
    for node in (0..topology.nodes() as u32).map(NodeId).filter(|&node| node != destination) {
        let hop = router.next_hop(node, destination).expect("Iridium is connected");
        let link = topology.link(hop.link).expect("it exists");
        assert!(link.up && link.other(node) == Some(hop.to), "{hop:?} from {node:?} over {link:?}");
    }
    assert_eq!(router.next_hop(destination, destination), None);
}

#[test]
fn equal_paths_are_chosen_alike_in_every_run() {
    let topology = network();
    let destination = topology.terminal_named("b").expect("a terminal");
    let table = |asked_before: &[u32]| {
        let mut router = Router::new(PathMetric::Hops);
        router.refresh(&topology, 0.0);
        router.refresh(&topology, 1995.0);
        asked_before.iter().for_each(|&other| drop(router.path(NodeId(3), NodeId(other))));
        (0..topology.nodes() as u32)
            .map(|node| router.next_hop(NodeId(node), destination))
            .collect::<Vec<_>>()
    };
    assert_eq!(table(&[]), table(&[7, 1, 60, 67]));
}

#[test]
fn unknown_and_cut_off_nodes_have_no_route() {
    let topology = network();
    let mut router = Router::new(PathMetric::Delay);
    assert_eq!(router.next_hop(NodeId(0), NodeId(1)), None, "it knows no links before a refresh");
    router.refresh(&topology, 1995.0);
    assert_eq!(router.next_hop(NodeId(9999), NodeId(1)), None);
    assert_eq!(router.path(NodeId(0), NodeId(9999)), None);
    assert_eq!(router.path(NodeId(9999), NodeId(9999)), None);
    assert_eq!(router.path(NodeId(5), NodeId(5)), Some(vec![NodeId(5)]));

    let pole = Terminal::from_degrees("pole", 89.0, 0.0).expect("a place");
    let below = Terminal::from_degrees("below", 0.0, 0.0).expect("a place");
    let mut geo = Topology::new(preset::geo(&[0.0]), vec![pole, below], Rules::geo()).expect("sound");
    geo.update(0.0);
    router.refresh(&geo, 0.0);
    assert_eq!(router.path(NodeId(1), NodeId(2)), None);
    assert_eq!(one_way_delay_path(&mut router, &geo, NodeId(1), NodeId(2), 0.0), None);
    assert_eq!(router.path(NodeId(0), NodeId(2)), Some(vec![NodeId(0), NodeId(2)]));
}

#[test]
fn geostationary_hop_agrees_with_the_closed_form() {
    let terminals = [("west", 30.0f64, -20.0f64), ("east", -10.0, 40.0)]
        .map(|(name, lat, lon)| Terminal::from_degrees(name, lat, lon).expect("a place"));
    let earth = skyhop_orbit::EarthModel::SPHERE;
    let constellation = preset::geo(&[0.0]).with_earth(earth);
    let mut topology = Topology::new(constellation, terminals.to_vec(), Rules::geo()).expect("sound");
    topology.update(0.0);
    let mut router = Router::new(PathMetric::Delay);
    let walk = one_way_delay_path(&mut router, &topology, NodeId(1), NodeId(2), 0.01)
        .expect("one satellite sees both");
    assert_eq!(walk.nodes, [NodeId(1), NodeId(0), NodeId(2)]);
    let orbit_m = earth.geostationary_radius_m();
    let range_m = |lat: f64, lon: f64| {
        let cos_apart = lat.to_radians().cos() * lon.to_radians().cos();
        (orbit_m.powi(2) + earth.radius_m.powi(2) - 2.0 * orbit_m * earth.radius_m * cos_apart).sqrt()
    };
    let expected_s = (range_m(30.0, -20.0) + range_m(-10.0, 40.0)) / earth.c_m_s;
    assert!((walk.delay_s - expected_s).abs() < 1e-9, "{} s, expected {expected_s} s", walk.delay_s);
}
