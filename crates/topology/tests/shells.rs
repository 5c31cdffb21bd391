//! Links between shells: one for each satellite of the smaller shell, kept while it is possible, and none shared.

use std::collections::BTreeSet;

use skyhop_orbit::{Constellation, EarthModel, PlacedShell, Walker};
use skyhop_topology::{LinkKind, LinkState, Rules, Topology, isl};

/// Two shells whose altitudes make them drift past each other; the second is larger.
fn topology(rules: Rules) -> Topology {
    let shell = |pattern: &str, altitude_m: f64| {
        PlacedShell::from(pattern.parse::<Walker>().unwrap().delta(altitude_m))
    };
    let shells = [shell("53: 60/6/1", 550e3), shell("70: 96/8/1", 1150e3)];
    let constellation = Constellation::from_shells(EarthModel::WGS84, &shells).unwrap();
    Topology::new(constellation, Vec::new(), rules).unwrap()
}

fn between(topology: &Topology) -> Vec<LinkState> {
    topology.links().iter().filter(|link| link.kind == LinkKind::InterShell).copied().collect()
}

#[test]
fn each_satellite_of_the_smaller_shell_keeps_the_nearest_that_is_free_while_it_may() {
    let rules = Rules { inter_shell: true, max_isl_range_m: 2500e3, ..Rules::default() };
    let mut topology = topology(rules);
    let mut before: Vec<LinkState> = Vec::new();
    let (mut kept, mut taken_anew) = (0, 0);
    for step in 0..360 {
        let t_s = f64::from(step) * 10.0;
        topology.update(t_s);
        let links = between(&topology);
        assert_eq!(links.len(), 60);
        let up: Vec<LinkState> = links.iter().filter(|link| link.up).copied().collect();
        assert!(up.len() >= 50, "{} at {t_s} s", up.len());
        let peers: BTreeSet<u32> = up.iter().map(|link| link.b.0).collect();
        assert_eq!(peers.len(), up.len(), "two satellites hold one at {t_s} s");
        for link in &up {
            assert!(link.a.0 < 60 && link.b.0 >= 60, "{link:?}");
            assert!(topology.distance_m(link.a, link.b, t_s).unwrap() <= 2500e3, "{link:?}");
        }
        for (was, is) in before.iter().zip(&links).filter(|(was, _)| was.up) {
            let stands = topology.distance_m(was.a, was.b, t_s).unwrap() <= 2500e3;
            if stands {
                assert_eq!(was, is, "a link that may stand does, at {t_s} s");
                kept += 1;
            } else if is.up {
                assert_ne!(was.b, is.b);
                taken_anew += 1;
                // No free satellite is nearer.
                let free = (60..156).filter(|peer| !peers.contains(peer));
                let held_m = topology.distance_m(is.a, is.b, t_s).unwrap();
                for other in free {
                    let other = skyhop_topology::NodeId(other);
                    assert!(topology.distance_m(is.a, other, t_s).unwrap() >= held_m, "{is:?} {other:?}");
                }
            }
        }
        before = links;
    }
    assert!(kept > 10_000 && taken_anew > 150, "{kept} kept, {taken_anew} taken anew");
    assert_eq!(topology.name(skyhop_topology::LinkId(first(&topology))), "isl:0.0-shell");
}

fn first(topology: &Topology) -> u32 {
    topology.links().iter().position(|link| link.kind == LinkKind::InterShell).unwrap() as u32
}

#[test]
fn shells_are_one_network_only_with_links_between_them() {
    let groups = |inter_shell| {
        let topology = topology(Rules { inter_shell, ..Rules::default() });
        isl::groups(156, topology.links())
    };
    assert_eq!((groups(false), groups(true)), (2, 1));
}
