//! Announcements: the satellites that hear them, the number of messages, and the time until the last one knows.
//!
//! Follows HT 6.5.2: limited by hops, copies recognised by number; a constellation's mesh in place of a drawing.
//! Differs: reach and time are checked against plain searches over the same links.
//! Left out: announcements that overtake one another.

use skyhop_orbit::preset;
use skyhop_routing::flooding::{announce, flood};
use skyhop_routing::scheme::{LinkCause, RoutingScheme, Scope};
use skyhop_routing::{Failures, Geographic, Hybrid, PathMetric, Shortest, View};
use skyhop_topology::{LinkChange, LinkId, LinkKind, LinkState, NodeId, Rules, Topology};

const PER_HOP_S: f64 = 1e-3;

fn teledesic() -> Topology {
    let mut topology = Topology::new(preset::teledesic(), Vec::new(), Rules::teledesic()).expect("sound");
    (0..10).for_each(|step| drop(topology.update(f64::from(step) * 10.0).to_vec()));
    topology
}

#[test]
fn everyone_hears_along_the_quickest_path() {
    let (topology, none) = (teledesic(), Failures::none());
    let view = View::new(&topology, &none, 90.0);
    let up = topology.links().iter().filter(|link| link.up).count() as u64;
    for origin in [0, 17, 100, 287].map(NodeId) {
        let cost = flood(&view, origin, &Scope::Everywhere, PER_HOP_S);
        assert_eq!((cost.origins, cost.told), (1, 287));
        // Everyone passes it on over all links but the one it came by.
        assert_eq!(cost.messages, 2 * up - 287);
        let tree = view.published().tree(origin, |edge| Some(view.delay_s(edge.length_m) + PER_HOP_S));
        let last_s = (0..288).map(|node| tree.cost(NodeId(node))).fold(0.0, f64::max);
        assert!((cost.converged_s - last_s).abs() < 1e-12, "{} s, expected {last_s} s", cost.converged_s);
        assert!((0.06..0.2).contains(&last_s), "half way round the Earth takes {last_s} s");
    }
}

#[test]
fn a_radius_reaches_all_within_so_many_hops_and_no_one_else() {
    let (topology, mut failures) = (teledesic(), Failures::none());
    for link in [3, 40, 77, 300, 500, 700] {
        failures.fail(LinkId(link));
    }
    let view = View::new(&topology, &failures, 90.0);
    for origin in (0..288).step_by(7).map(NodeId) {
        let hops = view.published().tree(origin, |edge| (!failures.contains(edge.link)).then_some(1.0));
        let mut messages = 0;
        for radius in 0..5 {
            let cost = flood(&view, origin, &Scope::Radius(radius), PER_HOP_S);
            let within = (0..288).filter(|&node| hops.cost(NodeId(node)) <= f64::from(radius)).count();
            assert_eq!(cost.told, within as u64 - 1, "radius {radius}");
            assert!(cost.messages >= cost.told && (radius == 0 || cost.messages > messages));
            messages = cost.messages;
        }
        assert_eq!(flood(&view, origin, &Scope::Radius(0), PER_HOP_S).messages, 0);
    }
}

#[test]
fn a_zone_hears_and_its_neighbours_do_not() {
    let (topology, none) = (teledesic(), Failures::none());
    let view = View::new(&topology, &none, 90.0);
    let plane = |node: u32| topology.constellation().plane_slot(node).map(|(plane, _)| plane);
    let members: Vec<bool> = (0..288).map(|node| plane(node) == Some(4)).collect();
    let alone = Scope::Zone { radius: 0, members: members.clone() };
    let cost = flood(&view, NodeId(4 * 24), &alone, PER_HOP_S);
    assert_eq!(cost.told, 23, "the rest of the plane");
    // Two links each way: everyone passes it on over all but the one it came by, at most.
    assert!((23..=4 + 23 * 3).contains(&cost.messages), "{} messages", cost.messages);
    let wider = flood(&view, NodeId(4 * 24), &Scope::Zone { radius: 1, members }, PER_HOP_S);
    let links = view.working(NodeId(4 * 24)).count() as u64;
    assert_eq!(wider.told, 23 + links - 4, "and the neighbours in other planes");
}

#[test]
fn schemes_pay_for_what_they_know() {
    let (mut topology, none) = (teledesic(), Failures::none());
    let changes = topology.update(600.0).to_vec();
    assert!(changes.len() > 10, "{} changes", changes.len());
    let view = View::new(&topology, &none, 600.0);
    let cost = |scheme: &mut dyn RoutingScheme, cause, changes: &[LinkChange], view: &View<'_>| {
        scheme.refresh(view);
        announce(scheme, view, changes, cause, PER_HOP_S)
    };
    let all = cost(&mut Shortest::new(PathMetric::Hops), LinkCause::Published, &changes, &view);
    let hybrid = cost(&mut Hybrid::default(), LinkCause::Published, &changes, &view);
    let ours = cost(&mut Geographic::new(3), LinkCause::Published, &changes, &view);
    assert!(all.messages > 2 * hybrid.messages && hybrid.messages > 100, "{all:?} {hybrid:?}");
    assert_eq!((ours.messages, ours.origins), (0, 0), "orbits are no news");

    let low = |link: &LinkState| link.up && link.kind == LinkKind::InterPlane;
    let link = LinkId(topology.links().iter().position(low).expect("some are up") as u32);
    let was = topology.links()[link.index()];
    let failed = [LinkChange { link, was, is: LinkState { up: false, ..was } }];
    let mut failures = Failures::none();
    failures.fail(link);
    let view = View::new(&topology, &failures, 600.0);
    let [one, two, three] =
        [1, 2, 3].map(|radius| cost(&mut Geographic::new(radius), LinkCause::Failure, &failed, &view));
    assert_eq!((one.messages, one.converged_s), (0, 0.0), "both ends notice by themselves");
    let links = [was.a, was.b].map(|end| view.working(end).count() as u64);
    assert_eq!((two.origins, two.messages), (2, links[0] + links[1]));
    assert!(three.messages > two.messages && three.converged_s > two.converged_s);
    assert!((0.005..0.03).contains(&two.converged_s), "one hop takes {} s", two.converged_s);
}
