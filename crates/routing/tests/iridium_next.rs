//! Delays over the Iridium satellites of today, from their elements.
//!
//! Follows HT 6.3's city pair, with real orbits in place of the paper constellation.
//! Differs: there is no reference to the microsecond, so delays are bounded by geometry on both sides.
//! Left out: rates and queues.

use crate::testing;
use skyhop_orbit::{Constellation, Terminal};
use skyhop_routing::{PathMetric, Router, one_way_delay_path};
use skyhop_topology::{LinkKind, Rules, Topology};

#[test]
fn new_york_to_san_francisco_stays_plausible_for_a_day() {
    let Some(file) = testing::shared_text("data/tle/iridium_next.tle") else { return };
    let constellation = Constellation::from_tle(file.as_bytes(), None).expect("sound");
    let terminals = [("new-york", 40.71, -74.01), ("san-francisco", 37.77, -122.42)]
        .map(|(name, lat, lon)| Terminal::from_degrees(name, lat, lon).expect("cities are on the Earth"));
    let mut topology =
        Topology::new(constellation, terminals.to_vec(), Rules::iridium_next()).expect("sound");
    let [from, to] = [0, 1].map(|index| topology.terminal_node(index).expect("there are two terminals"));
    let chord_m = topology.distance_m(from, to, 0.0).expect("both are there");
    let chord_ms = chord_m / topology.constellation().earth().c_m_s * 1e3;
    assert!((13.5..13.9).contains(&chord_ms), "{chord_ms} ms through the Earth");
    // Between stations a packet goes through fibre: 4130 km at c / 1.468.
    let fibre_ms = topology.one_way_delay_s(from, to, 0.0).expect("both are there") * 1e3;
    assert!((20.15..20.35).contains(&fibre_ms), "{fibre_ms} ms through fibre");

    let mut router = Router::new(PathMetric::Delay);
    let mut delays_ms = Vec::new();
    for step in 0..8640 {
        let t_s = f64::from(step) * 10.0;
        topology.update(t_s);
        let walk = one_way_delay_path(&mut router, &topology, from, to, t_s + 0.01).expect("there is a path");
        delays_ms.push(walk.delay_s * 1e3);
    }
    assert!(topology.links().iter().all(|link| link.kind != LinkKind::CrossSeam));
    assert_eq!(topology.unavailable(), 0);
    delays_ms.sort_by(f64::total_cmp);
    let (least, median, most) = (delays_ms[0], delays_ms[4320], delays_ms[8639]);
    println!("{least:.2} {median:.2} {most:.2} ms");
    // 4130 km of ground take 13.8 ms; by way of 780 km of altitude never under 15. ns-2's Iridium: 20.4, 34.5, 113.
    assert!((18.0..24.0).contains(&least), "{least} ms");
    assert!((30.0..40.0).contains(&median), "{median} ms");
    assert!((80.0..130.0).contains(&most), "{most} ms");
}
