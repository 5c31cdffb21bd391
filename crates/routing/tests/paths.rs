//! The k shortest paths and all minimum-hop paths, against a list of all paths.
//!
//! Follows the definition: all simple paths are listed and sorted.
//! Differs: on graphs of nine nodes, since there are too many paths in any larger one.
//! Left out: speed; the example `forwarding` prints it.

use skyhop_orbit::preset;
use skyhop_routing::graph::Graph;
use skyhop_routing::paths::{FewestHops, ShortestPaths};
use skyhop_routing::{Failures, View};
use skyhop_topology::{LinkId, NodeId, Rules, Topology};

/// A graph of nine nodes, of which the last does not forward.
fn graph(draw: &mut impl FnMut() -> f64) -> Graph {
    let pairs = (0..9u32).flat_map(|a| (0..a).map(move |b| (a, b)));
    let chosen: Vec<(u32, u32)> = pairs.filter(|_| draw() < 0.45).collect();
    let links: Vec<_> = (0u32..)
        .zip(chosen)
        .map(|(number, (a, b))| (LinkId(number), NodeId(a), NodeId(b), 1.0 + (8.0 * draw()).floor()))
        .collect();
    Graph::new(9, 8, &links)
}

/// Every simple path from the end of `path` to `to`, with its length.
fn all(graph: &Graph, path: &mut Vec<NodeId>, spent: f64, to: NodeId, found: &mut Vec<(f64, Vec<NodeId>)>) {
    let at = path[path.len() - 1];
    if at == to {
        found.push((spent, path.clone()));
        return;
    }
    for edge in graph.at(at) {
        if !path.contains(&edge.to) && (graph.relays(edge.to) || edge.to == to) {
            path.push(edge.to);
            all(graph, path, spent + edge.length_m, to, found);
            path.pop();
        }
    }
}

#[test]
fn the_k_shortest_paths_are_the_first_k_of_all() {
    let mut draw = uniform(1);
    let mut most = 0;
    for _ in 0..200 {
        let graph = graph(&mut draw);
        for (from, to) in [(0, 7), (8, 3), (5, 8)].map(|(a, b)| (NodeId(a), NodeId(b))) {
            let mut every = Vec::new();
            all(&graph, &mut vec![from], 0.0, to, &mut every);
            every.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
            most = most.max(every.len());
            let mut paths = ShortestPaths::new(&graph, to, |edge| Some(edge.length_m));
            for k in [1, 5, every.len() + 1] {
                let found = paths.from(from, k);
                let costs: Vec<f64> = found.iter().map(|route| route.cost).collect();
                let expected: Vec<f64> = every.iter().take(k).map(|(cost, _)| *cost).collect();
                assert_eq!(costs, expected, "from {from:?} to {to:?}");
            }
            let mut found: Vec<_> =
                paths.from(from, usize::MAX).into_iter().map(|route| (route.cost, route.nodes)).collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
            assert_eq!(found, every, "each path once");

            let fewest = every.iter().map(|(_, nodes)| nodes.len()).min();
            let mut short: Vec<Vec<NodeId>> = every
                .into_iter()
                .map(|(_, nodes)| nodes)
                .filter(|nodes| Some(nodes.len()) == fewest)
                .collect();
            let hops = FewestHops::new(&graph, to, |_| true);
            assert_eq!(hops.hops(from), fewest.map(|nodes| nodes as u32 - 1));
            assert_eq!(hops.count(from), short.len() as u64);
            let mut found = hops.paths(from, usize::MAX);
            found.sort();
            short.sort();
            assert_eq!(found, short);
            assert_eq!(hops.paths(from, 1).len(), found.len().min(1));
        }
    }
    assert!(most > 100, "at most {most} paths is too easy");
}

#[test]
fn a_mesh_has_many_paths_of_fewest_hops() {
    let mut topology = Topology::new(preset::iridium(), Vec::new(), Rules::iridium()).expect("sound");
    topology.update(0.0);
    let none = Failures::none();
    let view = View::new(&topology, &none, 0.0);
    let node = |plane: u32, slot: u32| NodeId(plane * 11 + slot);
    let hops = FewestHops::new(view.published(), node(4, 1), |_| true);
    // Over the equator nothing is off: 3 planes and 1 slot can be crossed in 4 orders.
    assert_eq!((hops.hops(node(1, 0)), hops.count(node(1, 0))), (Some(4), 4));
    assert_eq!(hops.next_hops(node(1, 0)).count(), 2);
    assert_eq!((hops.hops(node(4, 1)), hops.count(node(4, 1))), (Some(0), 1));
}

/// SplitMix64 as numbers in [0, 1).
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
