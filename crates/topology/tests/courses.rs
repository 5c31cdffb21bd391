//! Terminals on a course: their positions, satellites and distances.
//!
//! Compared with a second network, in which the terminal stands at the first one's position of the instant.
//! Left out: packets, which the simulator's tests send over these links.

use skyhop_orbit::{Course, Terminal, Waypoint, preset};
use skyhop_topology::{Handover, Rules, Topology, TopologyError};

fn at(t_s: f64, latitude_deg: f64, longitude_deg: f64, height_m: f64) -> Waypoint {
    let (latitude_rad, longitude_rad) = (latitude_deg.to_radians(), longitude_deg.to_radians());
    Waypoint { t_s, latitude_rad, longitude_rad, height_m }
}

/// London to New York at 250 m/s, from 600 s on.
fn flight() -> Course {
    let to = (40.71f64.to_radians(), (-74.01f64).to_radians());
    Course::great_circle(preset::iridium().earth(), at(600.0, 51.51, -0.13, 11e3), to, 250.0)
        .expect("a course")
}

fn network(terminal: Terminal, rules: Rules) -> Topology {
    let berlin = Terminal::from_degrees("berlin", 52.52, 13.41).expect("a place");
    Topology::new(preset::iridium(), vec![terminal, berlin], rules).expect("sound")
}

#[test]
fn a_look_finds_what_a_terminal_at_that_place_would_find() {
    let rules = Rules { handover: Handover::Highest, update_interval_s: 10.0, ..Rules::iridium() };
    let course = flight();
    let mut flies = network(course.terminal("aircraft", 0.0), rules);
    flies.follow(0, course.clone()).expect("there is one");
    let mut kept = network(course.terminal("aircraft", 0.0), rules);
    let (mut differ, mut handovers, mut last) = (0, 0, None);
    for step in 0..2400u32 {
        let t_s = f64::from(step) * 10.0;
        flies.update(t_s);
        kept.update(t_s);
        let mut stands = network(course.terminal("aircraft", t_s), rules);
        stands.update(t_s);
        let link = |topology: &Topology| *topology.link(topology.gsl(0).expect("one")).expect("a link");
        assert_eq!(link(&flies), link(&stands), "at {t_s} s");
        differ += usize::from(link(&flies) != link(&kept));
        handovers += usize::from(last.replace(link(&flies).b).is_some_and(|last| last != link(&flies).b));
        let node = flies.terminal_node(0).expect("one");
        // Between looks too.
        for then_s in [t_s, t_s + 3.7] {
            let place = course.terminal("aircraft", then_s).position_ecef(flies.constellation().earth());
            assert!(flies.position_ecef(node, then_s).expect("a place").distance_m(place) < 1e-6);
            let satellite = flies.position_ecef(link(&flies).b, then_s).expect("a place");
            let off_m =
                flies.distance_m(node, link(&flies).b, then_s).expect("places") - satellite.distance_m(place);
            assert!(off_m.abs() < 1e-6, "{off_m} m at {then_s} s");
        }
        let mut positions = Vec::new();
        flies.positions_ecef(t_s, &mut positions);
        assert_eq!(positions[node.index()], flies.position_ecef(node, t_s));
        assert_eq!(flies.terminals()[0].height_m, 11e3);
        assert_eq!(flies.terminals()[1].name, "berlin");
    }
    assert!(differ > 200, "{differ} looks found what London would have held");
    assert!((20..200).contains(&handovers), "{handovers} handovers");
}

// 11 km of height and 250 m/s move the link's ends apart by what they are: after an hour the aircraft is 900 km from where it was.
#[test]
fn an_hour_at_900_km_h_is_900_km() {
    let mut topology = network(flight().terminal("aircraft", 0.0), Rules::iridium());
    topology.follow(0, flight()).expect("there is one");
    let node = topology.terminal_node(0).expect("one");
    let (a, b) = (topology.position_ecef(node, 600.0), topology.position_ecef(node, 4200.0));
    let (a, b) = (a.expect("a place"), b.expect("a place"));
    let angle_rad = a.0.cross(b.0).norm().atan2(a.0.dot(b.0));
    let earth = topology.constellation().earth();
    assert!((angle_rad * earth.mean_radius_m() - 900e3).abs() < 2.0, "{angle_rad}");
    assert_eq!(topology.position_ecef(node, 0.0), Some(a));
}

#[test]
fn who_is_moved_leaves_the_course_and_nobody_follows_without_being_there() {
    let mut topology = network(flight().terminal("aircraft", 0.0), Rules::iridium());
    assert!(matches!(
        topology.follow(2, flight()),
        Err(TopologyError::UnknownTerminal { index: 2, count: 2 })
    ));
    topology.follow(0, flight()).expect("there is one");
    assert!(topology.course(0).is_some() && topology.course(1).is_none());
    let lima = Terminal::from_degrees("x", -12.05, -77.04).expect("a place");
    topology.update(1000.0);
    topology.move_terminal(0, &lima, 1000.0).expect("a place");
    assert!(topology.course(0).is_none());
    topology.update(5000.0);
    assert_eq!(topology.terminals()[0].latitude_rad, lima.latitude_rad);
    let node = topology.terminal_node(0).expect("one");
    assert_eq!(topology.position_ecef(node, 9e3), Some(lima.position_ecef(topology.constellation().earth())));
}
