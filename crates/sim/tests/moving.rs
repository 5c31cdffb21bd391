//! Moving terminals, packet by packet: delays, addresses of cells, recorded series.
//!
//! Follows the geometry of a geostationary satellite over the equator, where distances follow from one cosine, and the bands of HT
//! 6.4.2. Differs: nothing known.
//! Leaves out the choice of satellites, which the `topology` crate's tests have.

use crate::common;
use skyhop_results::{AddressResult, FlowKind, PingResult, RunResult};

fn run(text: &str) -> RunResult {
    common::run_by_steps(text, 1)
}

fn ping(result: &RunResult) -> PingResult {
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
    ping.clone()
}

fn series(result: &RunResult, entity: &str, metric: &str) -> Vec<(f64, f64)> {
    let found = result.series.iter().find(|s| s.entity == entity && s.metric == metric);
    found.map_or(Vec::new(), |s| s.samples.iter().map(|(at, x)| (at.as_secs_f64(), *x)).collect())
}

// A ship from 170 to 190 degrees east in an hour, under a satellite at 180: R = 6378.137 km, r = 42,164.17 km from Kepler's third law and
// a day of 86,164.0905 s. A distance of 35,786 km is known to a metre, which is 3 ns.
#[test]
fn a_ship_over_the_dateline_is_as_far_as_the_cosine_says() {
    let result = run(r#"
        duration = "1 h"
        [constellation]
        geostationary = ["180 deg"]
        isl = { rate = "1 Tbit/s" }
        gsl = { rate = "1 Tbit/s" }
        [terminals]
        shore = { lat = "0 deg", lon = "180 deg" }
        [terminals.ship.track]
        kind = "points"
        points = [{ at = "0 s", lat = "0 deg", lon = "170 deg" }, { at = "1 h", lat = "0 deg", lon = "-170 deg" }]
        [[flows]]
        from = "shore"
        to = "ship"
        traffic = { kind = "ping", interval = "1 min", size = "0 B" }
    "#);
    let (radius_m, c_m_s) = (6_378_137.0, 299_792_458.0);
    let day = 86_164.090_54 / std::f64::consts::TAU;
    let orbit_m = (3.986_004_418e14f64 * day * day).cbrt();
    let delays = series(&result, "flow/flow-1", "delay_s");
    assert_eq!(delays.len(), 60);
    for &(t_s, delay_s) in &delays {
        let up_s = (orbit_m - radius_m) / c_m_s;
        let apart = ((t_s + up_s) / 3600.0 * 20.0 - 10.0).to_radians();
        let down_m = (radius_m.powi(2) + orbit_m.powi(2) - 2.0 * radius_m * orbit_m * apart.cos()).sqrt();
        let expected_s = up_s + down_m / c_m_s;
        assert!((delay_s - expected_s).abs() < 20e-9, "{t_s}: {delay_s} s and {expected_s} s");
    }
    let (least, most) = delays.iter().fold((1.0f64, 0.0f64), |(l, m), (_, d)| (l.min(*d), m.max(*d)));
    assert!(most - least > 0.3e-3, "{least} to {most}");
    // At 170 degrees west the ship is at the end of its track, and it has crossed the date line.
    let lons = series(&result, "terminal/ship", "longitude_deg");
    assert!(lons.first().is_some_and(|(_, lon)| (lon - 170.0).abs() < 1e-9));
    assert!(
        lons.iter().any(|(_, lon)| *lon < -170.0) && lons.iter().all(|(_, lon)| lon.abs() >= 170.0 - 1e-9)
    );
    assert_eq!(series(&result, "terminal/ship", "satellite").len(), lons.len());
}

/// A flow from London to a terminal in Oslo or to a moving one.
fn to(place: &str, routing: &str) -> String {
    format!(
        r#"
        host = "1999"
        duration = "50 min"
        [constellation]
        preset = "teledesic"
        isl = {{ rate = "1 Gbit/s" }}
        gsl = {{ rate = "100 Mbit/s" }}
        [routing]
        {routing}
        [terminals]
        london = {{ lat = "51.51 deg", lon = "-0.13 deg" }}
        other = {{ {place} }}
        [[flows]]
        from = "london"
        to = "other"
        traffic = {{ kind = "ping", interval = "1 s" }}
        [[flows]]
        from = "other"
        to = "london"
        traffic = {{ kind = "bulk", size = "5 MB" }}
        "#
    )
}

#[test]
fn a_track_of_one_point_is_a_place() {
    let point = r#"track = { kind = "points", points = [{ at = "5 s", lat = "59.91 deg", lon = "10.75 deg", height = "120 m" }] }"#;
    for routing in ["", "scheme = \"geographic\"", "scheme = \"central\""] {
        let place = r#"lat = "59.91 deg", lon = "10.75 deg", height = "120 m""#;
        let (stands, one) = (run(&to(place, routing)), run(&to(point, routing)));
        assert_eq!(format!("{stands:?}"), format!("{one:?}"));
        assert!(one.addresses.is_empty() && one.series.iter().all(|s| !s.entity.starts_with("terminal/")));
        assert!(ping(&one).received > 2_000);
    }
}

/// Due north along 0.3 E, from 0.1 N to 30.1 N in 50 min.
const NORTH: &str = r#"track = { kind = "points", points = [
    { at = "0 s", lat = "0.1 deg", lon = "0.3 deg" },
    { at = "50 min", lat = "30.1 deg", lon = "0.3 deg" },
] }"#;

fn addresses(result: &RunResult) -> AddressResult {
    let [addresses] = &result.addresses[..] else { panic!("one moves: {:?}", result.addresses) };
    addresses.clone()
}

// 128 bands of 1.40625 degrees: 30.1 / 1.40625 = 21.4, and 0.3 E is in the first cell of all of them.
#[test]
fn an_address_changes_with_each_band() {
    for scheme in ["shortest", "hybrid", "geographic", "central"] {
        let result = run(&to(NORTH, &format!("scheme = \"{scheme}\"")));
        let found = addresses(&result);
        assert_eq!((found.terminal.as_str(), found.address_changes), ("other", 21), "{scheme}");
        // RFC 5944: 20 + 8 + 24 + 22 bytes there and 20 + 8 + 20 + 22 back.
        assert_eq!(found.update_bytes, 21 * (74 + 70));
        let lost = (found.packets_old_address, found.packets_readdressed, found.packets_lost);
        assert_eq!(lost, (0, 0, 0), "{scheme}");
        if scheme != "hybrid" {
            assert!(ping(&result).sent - ping(&result).received < 10, "{scheme}: {:?}", ping(&result));
        }
        let changes = series(&result, "terminal/other", "address_changes");
        assert_eq!(changes.last().map(|(_, x)| *x), Some(21.0));
        let handovers = result.handovers.iter().find(|h| h.terminal == "other").expect("there");
        let recorded = series(&result, "terminal/other", "handovers");
        assert_eq!(recorded.last().map(|(_, x)| *x as u64), Some(handovers.handovers));
        assert!(handovers.handovers > 3);
    }
}

/// The same path back, away from London, so that the old cell lies on the way to the new one.
const SOUTH: &str = r#"track = { kind = "points", points = [
    { at = "0 s", lat = "30.1 deg", lon = "0.3 deg" },
    { at = "50 min", lat = "0.1 deg", lon = "0.3 deg" },
] }"#;

// 20 minutes are 12 degrees, as wide as a footprint of Teledesic: of those that see the old cell some see the terminal, others do not.
#[test]
fn old_addresses_are_found_by_satellites_and_lost_with_a_database() {
    for scheme in ["geographic", "central"] {
        let with = |mobility: &str| {
            run(&to(
                SOUTH,
                &format!("scheme = \"{scheme}\"\naddress_delay = \"20 min\"\nmobility = \"{mobility}\""),
            ))
        };
        let (known, asked) = (with("satellites"), with("database"));
        let (there, gone) = (addresses(&known), addresses(&asked));
        assert_eq!((there.address_changes, gone.address_changes), (21, 21));
        assert!(there.packets_readdressed > 500 && there.packets_lost == 0, "{scheme}: {there:?}");
        assert!(gone.packets_lost > 500 && gone.packets_readdressed == 0, "{scheme}: {gone:?}");
        assert!(gone.packets_lost <= gone.packets_old_address, "{scheme}: {gone:?}");
        assert!(ping(&known).sent - ping(&known).received < 20, "{scheme}: {:?}", ping(&known));
        assert!(
            ping(&asked).received > 1_000 && ping(&asked).received < 2_600,
            "{scheme}: {:?}",
            ping(&asked)
        );
        // Over a detour through the old cell.
        let mean = |result: &RunResult| ping(result).delay_mean_s.expect("some arrived");
        let direct = run(&to(SOUTH, &format!("scheme = \"{scheme}\"")));
        assert!(mean(&known) > mean(&direct), "{scheme}");
    }
}

// With links on the ground the path is computed in two parts; a packet still has one address.
#[test]
fn an_old_address_counts_once_beside_links_on_the_ground() {
    let lan = "[links.lan]\nbetween = [\"pc\", \"london\"]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n";
    for scheme in ["geographic", "hybrid", "central"] {
        let text = to(SOUTH, &format!("scheme = \"{scheme}\"\naddress_delay = \"20 min\""));
        let text = text.replace(
            "traffic = { kind = \"bulk\", size = \"5 MB\" }",
            "traffic = { kind = \"ping\", interval = \"7 s\" }",
        );
        let alone = addresses(&run(&text));
        assert!(alone.packets_old_address > 2_000, "{scheme}: {alone:?}");
        assert_eq!(addresses(&run(&format!("{text}{lan}"))), alone, "{scheme}");
        let from_pc = text.replacen("from = \"london\"", "from = \"pc\"", 1);
        let behind = addresses(&run(&format!("{from_pc}{lan}")));
        assert_eq!(behind.packets_old_address, alone.packets_old_address, "{scheme}");
    }
}
