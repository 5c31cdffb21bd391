//! The set of links, their numbers and names, and their changes.
//!
//! Follows HT 6.2 and ns-2's rules as the crate states them.
//! Differs: delays are compared with ns-2 in the routing crate.

use crate::testing;
use std::collections::BTreeSet;

use skyhop_orbit::{Constellation, EarthModel, Phasing, Preset, Shell, Terminal, Walker, preset};
use skyhop_topology::{
    CrossSeam, Failing, LinkId, LinkKind, LinkState, NodeId, Outage, Rules, Topology, TopologyError,
};

fn city(name: &str, latitude_deg: f64, longitude_deg: f64) -> Terminal {
    Terminal::from_degrees(name, latitude_deg, longitude_deg).expect("cities are on the Earth")
}

fn cities() -> Vec<Terminal> {
    vec![city("new-york", 40.71, -74.01), city("san-francisco", 37.77, -122.42)]
}

fn count(topology: &Topology, kind: LinkKind) -> usize {
    topology.links().iter().filter(|link| link.kind == kind).count()
}

#[test]
fn iridium_has_four_isls_per_satellite_except_at_the_seam() {
    let topology = Topology::new(preset::iridium(), cities(), Rules::iridium()).expect("sound");
    assert_eq!(count(&topology, LinkKind::IntraPlane), 66);
    assert_eq!(count(&topology, LinkKind::InterPlane), 55);
    assert_eq!(count(&topology, LinkKind::CrossSeam), 0);
    assert_eq!(topology.nodes(), 68);
    assert!(topology.links().iter().all(|link| !link.up), "links are down before the first update");
    let names: Vec<String> =
        (0..topology.links().len() as u32).map(|link| topology.name(LinkId(link))).collect();
    assert_eq!(names[37], "isl:3.4-3.5");
    assert_eq!(names[66 + 26], "isl:2.4-3.4");
    assert_eq!(names[121..], ["gsl:new-york", "gsl:san-francisco"]);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "names are unique");
    assert_eq!(topology.gsl(1), Some(LinkId(122)));
    assert_eq!(topology.terminal_named("san-francisco"), Some(NodeId(67)));
    assert_eq!(topology.node_name(NodeId(67)), "san-francisco");
}

#[test]
fn teledesic_has_eight_isls_per_satellite() {
    let topology = Topology::new(preset::teledesic(), vec![], Rules::teledesic()).expect("sound");
    assert_eq!(count(&topology, LinkKind::IntraPlane), 2 * 288);
    assert_eq!(count(&topology, LinkKind::InterPlane), 11 * 24 + 10 * 24);
    assert_eq!(count(&topology, LinkKind::CrossSeam), 24);
    let seam =
        topology.links().iter().position(|link| link.kind == LinkKind::CrossSeam).expect("there are some");
    assert_eq!(topology.name(LinkId(seam as u32 + 3)), "isl:0.3-seam");
    let LinkState { a, b, .. } = topology.links()[seam + 3];
    assert_eq!((topology.node_name(a).as_str(), topology.node_name(b).as_str()), ("0.3", "11.8"));
}

#[test]
fn updates_report_exactly_what_changed() {
    let mut topology =
        Topology::new(preset::iridium(), cities(), Rules::iridium_cross_seam()).expect("sound");
    let mut mirror = topology.links().to_vec();
    let mut moved = 0;
    for step in 0..700 {
        let changes = topology.update(f64::from(step) * 10.0).to_vec();
        for change in changes {
            assert_eq!(mirror[change.link.index()], change.was);
            assert_ne!(change.was, change.is);
            assert_eq!((change.was.a, change.was.kind), (change.is.a, change.is.kind), "owner and kind stay");
            moved += usize::from(change.was.b != change.is.b && change.is.kind == LinkKind::CrossSeam);
            mirror[change.link.index()] = change.is;
        }
        assert_eq!(mirror, topology.links());
    }
    // In 7000 s, 1.16 revolutions, each of 11 owners passes 2 x 11 x 1.16 peers.
    assert!((250..310).contains(&moved), "{moved} cross-seam hand-offs");
}

#[test]
fn interplane_isls_are_down_near_the_poles_only() {
    let mut topology = Topology::new(preset::iridium(), vec![], Rules::iridium()).expect("sound");
    topology.update(500.0);
    for link in topology.links() {
        let latitudes = [link.a, link.b].map(|node| {
            topology.position_ecef(node, 500.0).expect("it is there").latitude_rad().abs().to_degrees()
        });
        let low = latitudes.iter().all(|&latitude| latitude <= 60.0);
        assert_eq!(link.up, link.kind == LinkKind::IntraPlane || low, "{link:?} {latitudes:?}");
    }
}

#[test]
fn terminals_hand_over_before_satellites_set() {
    let mut topology = Topology::new(preset::iridium(), cities(), Rules::iridium()).expect("sound");
    let (mut handovers, mut longest_km) = (0, 0.0f64);
    for step in 0..8640 {
        let t_s = f64::from(step) * 10.0;
        handovers += topology.update(t_s).iter().filter(|change| change.is.kind == LinkKind::Gsl).count();
        let gsl = *topology.link(topology.gsl(0).expect("a terminal")).expect("a link");
        assert!(gsl.up, "Iridium covers New York at all times");
        longest_km = longest_km.max(topology.distance_m(gsl.a, gsl.b, t_s).expect("both are there") / 1e3);
    }
    // A satellite at 780 km is above 8.2 degrees out to 2465 km, and for 9 minutes of a pass at most.
    assert!((2400.0..2466.0).contains(&longest_km), "{longest_km} km");
    assert!((2 * 160..2 * 400).contains(&handovers), "{handovers} handovers in a day");
}

#[test]
fn iridium_next_forms_the_pattern_of_iridium() {
    let Some(file) = testing::shared_text("data/tle/iridium_next.tle") else { return };
    let constellation = Constellation::from_tle(file.as_bytes(), None).expect("sound");
    let mut topology = Topology::new(constellation, cities(), Rules::iridium_next()).expect("sound");
    assert_eq!(count(&topology, LinkKind::IntraPlane), 66);
    assert_eq!(count(&topology, LinkKind::InterPlane), 55);
    assert_eq!(topology.name(LinkId(37)), "isl:3.4-3.5");
    for step in 0..600 {
        let t_s = f64::from(step) * 10.0;
        topology.update(t_s);
        for link in topology.links().iter().filter(|link| link.up) {
            let km = topology.distance_m(link.a, link.b, t_s).expect("both are there") / 1e3;
            let (low, high) = match link.kind {
                LinkKind::IntraPlane => (3900.0, 4170.0),
                LinkKind::InterPlane => (1500.0, 4600.0),
                LinkKind::CrossSeam | LinkKind::InterShell => panic!("there are none"),
                LinkKind::Gsl => (760.0, 2500.0),
                LinkKind::Fibre | LinkKind::Ground => panic!("no gateways here"),
            };
            assert!((low..high).contains(&km), "{link:?} of {km} km");
        }
        let up = |kind| topology.links().iter().filter(|link| link.kind == kind && link.up).count();
        assert_eq!((up(LinkKind::IntraPlane), up(LinkKind::Gsl)), (66, 2));
    }
}

#[test]
fn presets_have_the_links_of_their_publication() {
    for (name, intra, inter, seam) in [
        ("iridium", 66, 55, 0),
        ("teledesic", 576, 504, 24),
        ("teledesic-840", 1680, 0, 0),
        ("celestri", 63, 63, 0),
        ("spaceway-ngso", 20, 20, 0),
        ("globalstar", 0, 0, 0),
        ("starlink-550", 1584, 1584, 0),
        ("starlink-gen1", 4408, 4408, 0),
        ("kuiper", 3236, 3236, 0),
        ("geo-3", 0, 0, 0),
    ] {
        let preset = Preset::find(name).expect(name);
        let rules = Rules::for_preset(preset);
        let topology = Topology::new(preset.constellation(), vec![], rules).expect("sound");
        let counts =
            [LinkKind::IntraPlane, LinkKind::InterPlane, LinkKind::CrossSeam].map(|k| count(&topology, k));
        assert_eq!(counts, [intra, inter, seam], "{name}");
        let degrees = rules.elevation_mask_rad.to_degrees();
        assert!((degrees - preset.elevation_mask_deg).abs() < 1e-9, "{name}: {degrees}");
    }
    let iridium = Preset::find("iridium").expect("a preset");
    assert_eq!(Some(CrossSeam::for_preset(iridium)), Rules::iridium_cross_seam().cross_seam);
}

#[test]
fn grids_of_deltas_close_without_long_links() {
    // Walker's phasing is ahead by whole slots after going round; a grid that ignored it would have a row of long links.
    let shell = Walker::new(53.0, 120, 10, 3).expect("a pattern").delta(1000e3);
    let constellation = Constellation::from_shell(EarthModel::SPHERE, &shell).expect("a shell");
    let topology = Topology::new(constellation, vec![], Rules::default()).expect("sound");
    let mut per_satellite = vec![0; 120];
    let mut longest_km = [0.0f64; 2];
    for link in topology.links().iter().filter(|link| link.kind == LinkKind::InterPlane) {
        per_satellite[link.a.index()] += 1;
        per_satellite[link.b.index()] += 1;
        let round = (link.a.0 >= 108 && link.b.0 < 12) || (link.b.0 >= 108 && link.a.0 < 12);
        for quarter in 0..4 {
            let km = topology.distance_m(link.a, link.b, f64::from(quarter) * 1500.0).expect("there") / 1e3;
            longest_km[usize::from(round)] = longest_km[usize::from(round)].max(km);
        }
    }
    assert!(per_satellite.iter().all(|&links| links == 2), "{per_satellite:?}");
    let [within, round] = longest_km;
    assert!((round / within - 1.0).abs() < 0.02, "{within} km within, {round} km going round");
}

#[test]
fn delta_patterns_have_no_seam() {
    let delta = Shell {
        planes: 10,
        satellites_per_plane: 12,
        altitude_m: 1000e3,
        inclination_rad: 53f64.to_radians(),
        raan_spacing_rad: 36f64.to_radians(),
        phasing: Phasing::OddPlanes(0.5),
        argument_decimals: None,
    };
    let constellation = Constellation::from_shell(EarthModel::SPHERE, &delta).expect("a valid shell");
    let rules = Rules { cross_seam: Rules::teledesic().cross_seam, ..Rules::default() };
    let topology = Topology::new(constellation, vec![], rules).expect("sound");
    assert_eq!(count(&topology, LinkKind::InterPlane), 120);
    assert_eq!(count(&topology, LinkKind::CrossSeam), 0);
}

#[test]
fn geostationary_satellites_mirror() {
    let constellation = preset::geo(&[-100f64.to_radians(), 0.0]);
    let mut topology = Topology::new(constellation, cities(), Rules::geo()).expect("sound");
    assert_eq!(topology.update(0.0).len(), 2);
    assert!(topology.links().iter().all(|link| link.up && link.b == NodeId(0)));
    assert!(topology.update(40_000.0).is_empty(), "nothing moves");
    let mut blind = Topology::new(preset::geo(&[f64::NAN]), cities(), Rules::geo()).expect("sound");
    assert!(blind.update(0.0).is_empty(), "nobody sees a satellite that is nowhere");
    let delay_ms = topology.one_way_delay_s(NodeId(2), NodeId(0), 0.0).expect("both are there") * 1e3;
    assert!((119.4..139.0).contains(&delay_ms), "{delay_ms} ms");
}

#[test]
fn what_is_scheduled_to_fail_is_down_for_that_time_only() {
    let build = || Topology::new(preset::iridium(), cities(), Rules::iridium()).expect("sound");
    let (mut sound, mut failing) = (build(), build());
    sound.update(0.0);
    let served = sound.link(sound.gsl(0).expect("a terminal")).expect("a link").b;
    let isl = LinkId(0);
    failing.schedule(vec![
        Outage { what: Failing::Satellite(served.0), from_s: 20.0, to_s: 40.0 },
        Outage { what: Failing::Link(isl), from_s: 30.0, to_s: 50.0 },
    ]);
    for step in 0..7 {
        let t_s = f64::from(step) * 10.0;
        sound.update(t_s);
        failing.update(t_s);
        let up = |topology: &Topology, kind| {
            topology.links().iter().filter(|link| link.kind == kind && link.up).count()
        };
        let lost = up(&sound, LinkKind::IntraPlane) - up(&failing, LinkKind::IntraPlane);
        let (satellite, link) = ((20.0..40.0).contains(&t_s), (30.0..50.0).contains(&t_s));
        assert_eq!(lost, if satellite { 2 } else { 0 } + usize::from(link), "at {t_s} s");
        assert_eq!(failing.unavailable(), usize::from(satellite));
        assert_eq!(failing.links()[isl.index()].up, !link);
        let gsl = failing.link(failing.gsl(0).expect("a terminal")).expect("a link");
        assert!(gsl.up && (gsl.b != served || t_s < 20.0), "the terminal has gone to another: {gsl:?}");
    }
}

#[test]
fn impossible_networks_are_refused() {
    let refused = |constellation, terminals| {
        Topology::new(constellation, terminals, Rules::geo()).expect_err("refused").to_string()
    };
    assert_eq!(refused(preset::geo(&[]), vec![]), "constellation of 0 satellites; expected at least 1");
    let rules = Rules { elevation_mask_rad: f64::NAN, ..Rules::iridium() };
    let error = Topology::new(preset::iridium(), vec![], rules).expect_err("not a mask").to_string();
    assert_eq!(error, "elevation mask (deg) of NaN; expected -90 to 90");
    let rules = Rules { intra_plane_neighbours: u32::MAX, ..Rules::iridium() };
    let error = Topology::new(preset::iridium(), vec![], rules).expect_err("too many").to_string();
    assert_eq!(error, "intra-plane neighbours of 4294967295; expected 0 to 16");
    let twins = vec![city("here", 0.0, 0.0), city("here", 1.0, 1.0)];
    assert_eq!(
        refused(preset::iridium(), twins),
        "terminal \"here\" occurs twice; expected names that differ"
    );
    let nowhere = Terminal { height_m: f64::NAN, ..city("here", 0.0, 0.0) };
    assert!(refused(preset::iridium(), vec![nowhere.clone()]).starts_with("height of NaN m"));
    let mut topology = Topology::new(preset::iridium(), cities(), Rules::iridium()).expect("sound");
    assert!(topology.move_terminal(0, &nowhere, 0.0).is_err());
    let error = topology.move_terminal(2, &city("x", 0.0, 0.0), 0.0).expect_err("there are two");
    assert_eq!(error, TopologyError::UnknownTerminal { index: 2, count: 2 });
}
