//! Bent pipes through gateways, and terminals that may use every satellite in view.
//!
//! Follows the definition: up to a satellite in view of the gateway too, down, through fibre, up and down again.
//! Differs: the best bent pipe is found by trying all satellites, gateway by gateway.
//! Left out: queues at the gateway.

use skyhop_orbit::visibility::elevation_rad;
use skyhop_orbit::{Preset, Terminal};
use skyhop_routing::paths::ShortestPaths;
use skyhop_routing::{Failures, PathMetric, RoutedTopology, Router, Snapshot, View};
use skyhop_topology::{Fibre, Handover, LinkKind, NodeId, Rules, Station, Topology};

fn place(name: &str, latitude_deg: f64, longitude_deg: f64) -> Terminal {
    Terminal::from_degrees(name, latitude_deg, longitude_deg).expect("a place")
}

fn all_in_view(terminal: Terminal, gateway: bool) -> Station {
    Station { terminal, antennas: Station::ALL_IN_VIEW, gateway }
}

fn starlink(stations: Vec<Station>, isls: bool) -> Topology {
    let preset = Preset::find("starlink").expect("a preset");
    let mut rules = Rules { handover: Handover::Highest, ..Rules::for_preset(preset) };
    if !isls {
        (rules.intra_plane_neighbours, rules.inter_plane_neighbours, rules.cross_seam) = (0, 0, None);
    }
    Topology::with_stations(preset.constellation(), stations, &Fibre::Mesh, rules).expect("sound")
}

#[test]
fn a_bent_pipe_is_the_best_of_all_satellites_and_gateways() {
    let stations = vec![
        all_in_view(place("berlin", 52.52, 13.41), false),
        all_in_view(place("madrid", 40.42, -3.70), false),
        all_in_view(place("frankfurt", 50.11, 8.68), true),
        all_in_view(place("villarejo", 40.17, -3.27), true),
    ];
    let mut topology = starlink(stations, false);
    let mut router = Router::new(PathMetric::Delay);
    let satellites = topology.constellation().len() as u32;
    let [berlin, madrid, frankfurt, villarejo] = [0, 1, 2, 3].map(|k| NodeId(satellites + k));
    for t_s in [0.0, 300.0, 3000.0] {
        topology.update(t_s);
        router.refresh(&topology, t_s);
        let sees = |station: NodeId, satellite: u32| {
            let terminal = &topology.terminals()[(station.0 - satellites) as usize];
            let at = topology.position_ecef(NodeId(satellite), t_s)?;
            let site = terminal.position_ecef(topology.constellation().earth());
            let above = elevation_rad(site, terminal.up(), at) > topology.rules().elevation_mask_rad;
            above.then(|| site.distance_m(at) / topology.constellation().earth().c_m_s)
        };
        let pipe = |from, to| {
            let through = |s| Some(sees(from, s)? + sees(to, s)?);
            (0..satellites).filter_map(through).fold(f64::INFINITY, f64::min)
        };
        let fibre_s = topology.one_way_delay_s(frankfurt, villarejo, t_s).expect("both stand");
        let mut expected_s = pipe(berlin, madrid);
        for (first, last) in [(frankfurt, villarejo), (villarejo, frankfurt)] {
            expected_s = expected_s.min(pipe(berlin, first) + fibre_s + pipe(last, madrid));
        }
        for one in [frankfurt, villarejo] {
            expected_s = expected_s.min(pipe(berlin, one) + pipe(one, madrid));
        }
        let nodes = router.path(berlin, madrid).expect("a bent pipe");
        let delay = |hop: &[NodeId]| topology.one_way_delay_s(hop[0], hop[1], t_s).expect("there");
        let found_s: f64 = nodes.windows(2).map(delay).sum();
        assert!((found_s - expected_s).abs() < 1e-12, "{found_s} against {expected_s} at {t_s} s: {nodes:?}");
        assert!((5e-3..25e-3).contains(&found_s), "{found_s}");
    }
}

// Starlink's five shells are not joined to one another; a terminal with one antenna is often on the wrong one.
#[test]
fn every_satellite_in_view_joins_shells_that_are_not_joined() {
    let cities = [
        ("berlin", 52.52, 13.41),
        ("london", 51.51, -0.13),
        ("new-york", 40.71, -74.01),
        ("tokyo", 35.69, 139.69),
        ("sydney", -33.87, 151.21),
        ("quito", -0.22, -78.51),
        ("johannesburg", -26.2, 28.04),
    ];
    let routes = |antennas| {
        let stations = cities.map(|(name, lat, lon)| Station {
            terminal: place(name, lat, lon),
            antennas,
            gateway: false,
        });
        let mut topology = starlink(stations.to_vec(), true);
        let mut router = Router::new(PathMetric::Delay);
        let mut found = 0;
        for t_s in [0.0, 1000.0, 5000.0] {
            topology.update(t_s);
            router.refresh(&topology, t_s);
            let nodes = (0..cities.len()).filter_map(|terminal| topology.terminal_node(terminal));
            let nodes: Vec<NodeId> = nodes.collect();
            for (k, &from) in nodes.iter().enumerate() {
                for &to in &nodes[k + 1..] {
                    let path = router.path(from, to);
                    let relays = path.iter().flat_map(|path| &path[1..path.len() - 1]);
                    assert!(relays.clone().all(|node| topology.is_satellite(*node)), "a terminal relays");
                    found += usize::from(path.is_some());
                }
            }
        }
        found
    };
    assert_eq!(routes(Station::ALL_IN_VIEW), 3 * 21);
    assert!((1..60).contains(&routes(1)), "one antenna would do: {}", routes(1));
}

// The goal-directed search must find what the full one finds, over ISLs and through gateways.
#[test]
fn a_search_for_one_pair_finds_the_same_paths() {
    let mut stations: Vec<Station> =
        [("quito", -0.22, -78.51), ("oslo", 59.91, 10.75), ("perth", -31.95, 115.86)]
            .map(|(name, lat, lon)| all_in_view(place(name, lat, lon), false))
            .to_vec();
    stations.push(all_in_view(place("lima", -12.05, -77.04), true));
    stations.push(all_in_view(place("madrid", 40.42, -3.70), true));
    let mut topology = starlink(stations, true);
    let mut router = Router::new(PathMetric::Delay);
    let mut different = 0;
    for t_s in [0.0, 777.0, 4321.0] {
        topology.update(t_s);
        router.refresh(&topology, t_s);
        let length = |nodes: &[NodeId]| {
            let delay = |hop: &[NodeId]| topology.one_way_delay_s(hop[0], hop[1], t_s).expect("there");
            nodes.windows(2).map(delay).sum::<f64>()
        };
        for (a, b) in [(0, 1), (1, 0), (0, 2), (1, 2), (2, 0)] {
            let [a, b] = [a, b].map(|terminal| topology.terminal_node(terminal).expect("there"));
            let (full, led) =
                (router.path(a, b).expect("a path"), router.path_between(a, b).expect("a path"));
            assert!((length(&full) - length(&led)).abs() < 1e-12, "{full:?} against {led:?}");
            different += usize::from(full != led);
        }
    }
    assert!(different <= 2, "{different} paths of 15 are others, without being longer");
}

// Graphs that are kept for other searches let gateways relay too, and terminals not.
#[test]
fn graphs_go_through_gateways_as_routers_do() {
    let stations = vec![
        all_in_view(place("new-york", 40.71, -74.01), false),
        all_in_view(place("madrid", 40.42, -3.70), false),
        all_in_view(place("boston", 42.36, -71.06), true),
        all_in_view(place("villarejo", 40.17, -3.27), true),
        all_in_view(place("philadelphia", 39.95, -75.17), false),
    ];
    let mut topology = starlink(stations, false);
    topology.update(600.0);
    let mut router = Router::new(PathMetric::Delay);
    router.refresh(&topology, 600.0);
    let [from, to, boston, villarejo] =
        [0, 1, 2, 3].map(|terminal| topology.terminal_node(terminal).expect("there"));
    let nodes = router.path(from, to).expect("a bent pipe at each end");
    assert_eq!((nodes.len(), nodes[2], nodes[3]), (6, boston, villarejo));
    let c_m_s = topology.constellation().earth().c_m_s;
    let delay = |hop: &[NodeId]| topology.one_way_delay_s(hop[0], hop[1], 600.0).expect("there");
    let expected_s: f64 = nodes.windows(2).map(delay).sum();
    // 5560 km of fibre between Boston and Villarejo, and four times 550 km of altitude or more.
    assert!((34e-3..45e-3).contains(&expected_s), "{expected_s}");
    let failures = Failures::none();
    let view = View::new(&topology, &failures, 600.0);
    let snapshot = Snapshot::new(&topology, &topology, 600.0);
    for graph in [view.published(), snapshot.view().published()] {
        let tree = graph.tree(to, |edge| Some(edge.length_m / c_m_s));
        assert!((tree.cost(from) - expected_s).abs() < 1e-12, "{} against {expected_s}", tree.cost(from));
        let routes = ShortestPaths::new(graph, to, |edge| Some(edge.length_m)).from(from, 20);
        assert_eq!((routes.len(), &routes[0].nodes), (20, &nodes));
        let relays = routes.iter().flat_map(|route| &route.nodes[1..route.nodes.len() - 1]);
        assert!(relays.clone().all(|node| topology.relays(*node)), "a terminal relays");
        assert!(relays.copied().any(|node| node == boston));
    }
    // A gateway is served by a satellite or by none, never by the far end of its fibre.
    let mut failures = Failures::none();
    for gsl in topology.gsls(2) {
        failures.fail(gsl);
    }
    let view = View::new(&topology, &failures, 600.0);
    assert_eq!(view.serving(boston), None);
    assert!(view.working(boston).any(|edge| edge.to == villarejo));
    assert!(view.serving(from).is_some_and(|node| topology.is_satellite(node)));
}

// A link acquired between two updates is there for a path requested between them.
#[test]
fn paths_end_with_a_gap_and_not_with_the_next_update() {
    let preset = Preset::find("teledesic-288").expect("a preset");
    let rules = Rules { handover_gap_s: 0.5, ..Rules::for_preset(preset) };
    let terminals = vec![place("berlin", 52.52, 13.41), place("quito", -0.22, -78.51)];
    let topology = Topology::new(preset.constellation(), terminals, rules).expect("sound");
    let [from, to] = [0, 1].map(|terminal| topology.terminal_node(terminal).expect("there"));
    let mut network = RoutedTopology::new(topology, PathMetric::Delay);
    let mut gaps = 0;
    for step in 1..360 {
        let t_s = f64::from(step) * 10.0;
        network.advance(t_s);
        let gsls = network.topology().links().iter().filter(|link| link.kind == LinkKind::Gsl);
        let gap = gsls.filter(|link| !link.up).count() > 0;
        gaps += usize::from(gap);
        let mut found = |ahead_s: f64| {
            network.advance(t_s + ahead_s);
            network.route(t_s + ahead_s);
            network.walk(from, to, t_s + ahead_s).is_some()
        };
        assert_eq!([found(0.49), found(0.51)], [!gap, true], "at {t_s} s");
    }
    assert!((10..150).contains(&gaps), "{gaps}");
}
