//! Terminals with several antennas, gateways and fibre.
//!
//! Follows the definitions: the highest satellites, each held once; a bent pipe is exactly two hops.
//! Differs: expectations are computed here from positions, without the topology's own search.
//! Left out: routes over gateways, which the routing crate's tests have.

use std::collections::BTreeSet;

use skyhop_orbit::visibility::elevation_rad;
use skyhop_orbit::{Terminal, preset};
use skyhop_topology::{
    Failing, Fibre, Handover, LinkKind, LinkState, Outage, Rules, Station, Topology, TopologyError,
};

fn place(name: &str, latitude_deg: f64, longitude_deg: f64) -> Terminal {
    Terminal::from_degrees(name, latitude_deg, longitude_deg).expect("a place")
}

fn berlin(antennas: u16) -> Station {
    Station { terminal: place("berlin", 52.52, 13.41), antennas, gateway: false }
}

fn held(topology: &Topology, terminal: usize) -> Vec<LinkState> {
    topology.gsls(terminal).filter_map(|link| topology.link(link)).copied().collect()
}

/// Satellites above the mask, highest first.
fn in_view(topology: &mut Topology, t_s: f64) -> Vec<u32> {
    let terminal = &topology.terminals()[0];
    let earth = topology.constellation().earth();
    let (site, up) = (terminal.position_ecef(earth), terminal.up());
    let mut positions = Vec::new();
    topology.constellation().positions_ecef(t_s, &mut positions);
    let elevations =
        (0u32..).zip(&positions).filter_map(|(s, at)| Some((elevation_rad(site, up, (*at)?), s)));
    let mut seen: Vec<(f64, u32)> =
        elevations.filter(|(elevation, _)| *elevation > topology.rules().elevation_mask_rad).collect();
    seen.sort_by(|a, b| b.0.total_cmp(&a.0));
    seen.into_iter().map(|(_, satellite)| satellite).collect()
}

#[test]
fn antennas_hold_the_highest_each_once() {
    for antennas in [2, 3, 5, Station::ALL_IN_VIEW] {
        let rules = Rules { handover: Handover::Highest, elevation_mask_rad: 0.3, ..Rules::teledesic() };
        let stations = vec![berlin(antennas)];
        let mut topology =
            Topology::with_stations(preset::teledesic(), stations, &Fibre::None, rules).expect("sound");
        let mut most = 0;
        for step in 0..200 {
            let t_s = f64::from(step) * 30.0;
            topology.update(t_s);
            let seen = in_view(&mut topology, t_s);
            let up: BTreeSet<u32> =
                held(&topology, 0).iter().filter(|link| link.up).map(|link| link.b.0).collect();
            let count = held(&topology, 0).iter().filter(|link| link.up).count();
            let wanted: BTreeSet<u32> = seen.iter().take(usize::from(antennas)).copied().collect();
            assert_eq!(up, wanted, "at {t_s} s");
            assert_eq!(count, wanted.len(), "no satellite twice at {t_s} s");
            most = most.max(count);
        }
        assert!((2..=30).contains(&most), "{antennas} antennas: {most} at most");
    }
}

// An antenna that keeps its satellite must not be moved by what the others do.
#[test]
fn each_antenna_keeps_its_satellite_while_it_may() {
    for handover in
        [Handover::HighestOnLoss, Handover::LongestVisibility, Handover::Synchronous { period_s: 60.0 }]
    {
        let rules = Rules { handover, elevation_mask_rad: 0.3, ..Rules::teledesic() };
        let mut topology = Topology::with_stations(preset::teledesic(), vec![berlin(3)], &Fibre::None, rules)
            .expect("sound");
        topology.update(0.0);
        let (mut before, mut moves) = (held(&topology, 0), 0);
        for step in 1..200 {
            let t_s = f64::from(step) * 10.0;
            topology.update(t_s);
            let seen = in_view(&mut topology, t_s);
            let now = held(&topology, 0);
            let fixed = !matches!(handover, Handover::Synchronous { .. }) || step % 6 != 0;
            for (was, is) in before.iter().zip(&now) {
                if fixed && was.up && seen.contains(&was.b.0) {
                    assert_eq!((is.b, is.up), (was.b, true), "{handover:?} at {t_s} s");
                }
                moves += usize::from(was.b != is.b);
            }
            let up: Vec<u32> = now.iter().filter(|link| link.up).map(|link| link.b.0).collect();
            assert_eq!(up.iter().collect::<BTreeSet<_>>().len(), up.len(), "a satellite twice at {t_s} s");
            assert_eq!(up.len(), seen.len().min(3));
            before = now;
        }
        assert!((3..=120).contains(&moves), "{handover:?}: {moves} moves");
    }
}

#[test]
fn one_antenna_is_what_a_terminal_always_had() {
    for handover in Handover::ALL {
        let rules = Rules { handover, ..Rules::teledesic() };
        let mut plain = Topology::new(preset::teledesic(), vec![berlin(1).terminal], rules).expect("sound");
        let mut station = Topology::with_stations(preset::teledesic(), vec![berlin(1)], &Fibre::Mesh, rules)
            .expect("sound");
        for step in 0..50 {
            let t_s = f64::from(step) * 10.0;
            plain.update(t_s);
            station.update(t_s);
            assert_eq!(plain.links(), station.links());
        }
        assert_eq!(plain.name(plain.gsl(0).expect("one")), "gsl:berlin");
    }
}

#[test]
fn fibre_joins_gateways_by_the_great_circle() {
    let gateway = |name, lat, lon| Station::gateway(place(name, lat, lon), 4);
    let stations = vec![gateway("quito", 0.0, -80.0), berlin(1), gateway("nairobi", 0.0, 40.0)];
    let rules = Rules { fibre_index: 1.5, fibre_detour: 1.2, ..Rules::teledesic() };
    let mut topology =
        Topology::with_stations(preset::teledesic(), stations.clone(), &Fibre::Mesh, rules).expect("sound");
    topology.update(0.0);
    let fibre: Vec<&LinkState> =
        topology.links().iter().filter(|link| link.kind == LinkKind::Fibre).collect();
    assert_eq!(fibre.len(), 1, "berlin is no gateway");
    let earth = topology.constellation().earth();
    let expected_s = earth.radius_m * 120f64.to_radians() * 1.5 * 1.2 / earth.c_m_s;
    let [a, b] = [fibre[0].a, fibre[0].b];
    let delay_s = topology.one_way_delay_s(a, b, 0.0).expect("both are somewhere");
    assert!((delay_s / expected_s - 1.0).abs() < 1e-12, "{delay_s} against {expected_s}");
    assert!(fibre[0].up && topology.relays(a) && topology.relays(b));
    assert!(!topology.relays(topology.terminal_named("berlin").expect("there")));
    // A gateway that fails takes fibre and antennas with it, and comes back.
    topology.schedule(vec![Outage { what: Failing::Station(2), from_s: 10.0, to_s: 20.0 }]);
    let mut up = |t_s| {
        topology.update(t_s);
        topology.links().iter().filter(|link| link.up && (link.a == b || link.b == b)).count()
    };
    assert_eq!((up(10.0), up(20.0) > 1), (0, true));
}

#[test]
fn stations_that_cannot_be() {
    let build = |stations, fibre: &Fibre| {
        Topology::with_stations(preset::teledesic(), stations, fibre, Rules::teledesic()).err()
    };
    assert_eq!(
        build(vec![berlin(0)], &Fibre::None),
        Some(TopologyError::NoAntenna { name: "berlin".into() })
    );
    assert_eq!(
        build(vec![berlin(1)], &Fibre::Between(vec![(0, 3)])),
        Some(TopologyError::UnknownTerminal { index: 3, count: 1 })
    );
}
