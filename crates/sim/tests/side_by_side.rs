//! Several constellations in one network: the one that a flow uses, pinned paths, parallel and asymmetric links.
//!
//! Compares a terminal's choice with elevations computed from orbits alone, and delays with closed forms.

use skyhop_network::topology_of;
use skyhop_orbit::visibility::elevation_rad;
use skyhop_results::{FlowKind, RunResult};
use skyhop_scenario::network::SatelliteSegment;
use skyhop_sim::Simulation;

/// A farm and a teleport in the Atlantic, under a geostationary satellite and a LEO constellation with gaps in coverage.
const TWO: &str = r#"
[constellations.geo]
geostationary = ["-30 deg"]
gsl = { rate = "50 Mbit/s" }
[constellations.leo]
shell = { planes = 4, satellites_per_plane = 5, altitude = "1200 km", inclination = "60 deg" }
elevation_mask = "15 deg"
isls = false
gsl = { rate = "100 Mbit/s" }
[terminals]
farm = { lat = "38.5 deg", lon = "-28.0 deg" }
teleport = { lat = "41.15 deg", lon = "-25 deg", gateway = true, gsl = { rate = "1 Gbit/s" } }
[links.internet]
between = ["server", "teleport"]
rate = "1 Gbit/s"
delay = "10 ms"
"#;

fn build(text: &str) -> (skyhop_scenario::Loaded, Simulation) {
    let loaded =
        skyhop_scenario::parse(text.as_bytes(), "two.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let simulation = Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap_or_else(|e| panic!("{e}"));
    (loaded, simulation)
}

fn run(text: &str) -> RunResult {
    let (_, mut simulation) = build(text);
    while simulation.step() {
        simulation.check_conservation().unwrap();
    }
    simulation.finish()
}

/// Samples with their time in seconds.
fn series(result: &RunResult, flow: &str, metric: &str) -> Vec<(f64, f64)> {
    let entity = format!("flow/{flow}");
    let found = result.series.iter().find(|s| s.entity == entity && s.metric == metric);
    let found = found.unwrap_or_else(|| panic!("no {metric} of {flow}"));
    found.samples.iter().map(|(at, value)| (at.as_secs_f64(), *value)).collect()
}

fn link<'a>(result: &'a RunResult, name: &str) -> &'a skyhop_results::LinkResult {
    result.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("no link {name}"))
}

#[test]
fn a_terminal_goes_over_geo_while_no_leo_satellite_is_above_its_mask_and_comes_back() {
    let text = format!(
        "duration = \"4 h\"\n{TWO}[[flows]]\nname = \"echo\"\nfrom = \"farm\"\nto = \"server\"\n\
         traffic = {{ kind = \"ping\", interval = \"1 s\" }}\n"
    );
    let (loaded, _) = build(&text);
    let result = run(&text);
    let topology = topology_of(&loaded.scenario, &loaded.files).unwrap();
    let mask_rad = 15f64.to_radians();
    // Both ends see one satellite of the constellation, without links between satellites.
    let common = |t_s: f64| {
        topology.fleets().satellites(1).any(|satellite| {
            topology.terminals().iter().all(|terminal| {
                let place = terminal.position_ecef(topology.constellation().earth());
                let at = topology.constellation().position_ecef(satellite, t_s).unwrap();
                elevation_rad(place, terminal.up(), at) > mask_rad
            })
        })
    };
    let (mut over_leo, mut over_geo, mut changes, mut before) = (0, 0, 0, None);
    for (t_s, delay_s) in series(&result, "echo", "delay_s") {
        // Samples have the time of sending; routes are those of the last update, every 10 s.
        let leo = common((t_s / 10.0).floor() * 10.0);
        match leo {
            true => assert!(delay_s < 0.06, "{delay_s} s at {t_s} s, with a satellite in view"),
            false => assert!((0.25..0.28).contains(&delay_s), "{delay_s} s at {t_s} s, with none in view"),
        }
        over_leo += u32::from(leo);
        over_geo += u32::from(!leo);
        changes += u32::from(before.replace(leo).is_some_and(|before| before != leo));
    }
    assert!(over_leo > 1000 && over_geo > 1000 && changes > 4, "{over_leo}, {over_geo}, {changes} changes");
}

#[test]
fn transfers_pinned_to_one_constellation_each_run_side_by_side() {
    let flow = |name: &str| {
        format!(
            "[[flows]]\nname = \"by-{name}\"\npath = [\"server\", \"internet\", \"teleport\", \"{name}\", \"farm\"]\n\
             traffic = {{ kind = \"bulk\", size = \"10 MB\" }}\n"
        )
    };
    let result = run(&format!("duration = \"600 s\"\n{TWO}{}{}", flow("geo"), flow("leo")));
    for (name, rtt_s) in [("geo", 0.51..0.56), ("leo", 0.03..0.06)] {
        let flow = result.flows.iter().find(|flow| flow.name == format!("by-{name}")).unwrap();
        let FlowKind::Transfer(transfer) = &flow.kind else { panic!() };
        assert_eq!(transfer.bytes_delivered, 10_000_000, "{name}");
        let rtt = transfer.rtt_min_s.unwrap();
        assert!(rtt_s.contains(&rtt), "{name}: {rtt} s");
    }
    // All of one flow's data, and none of the other's.
    let down = link(&result, "gsl:farm.geo").reverse.bytes;
    assert!((10_000_000..11_000_000).contains(&down), "{down} bytes");
}

#[test]
fn preference_decides_against_the_shorter_way() {
    let text = |routing: &str| {
        format!(
            "duration = \"20 min\"\n{TWO}{routing}[[flows]]\nname = \"echo\"\nfrom = \"farm\"\nto = \"server\"\n\
             traffic = {{ kind = \"ping\", interval = \"1 s\" }}\n"
        )
    };
    let over_geo = |routing: &str| {
        let result = run(&text(routing));
        let samples = series(&result, "echo", "delay_s");
        (samples.iter().filter(|(_, delay_s)| *delay_s > 0.2).count(), samples.len())
    };
    let (without, all) = over_geo("");
    assert!(without < all / 2, "{without} of {all}");
    assert_eq!(over_geo("[routing]\nprefer = [\"leo\", \"geo\"]\n").0, without, "by delay and by preference");
    assert_eq!(over_geo("[routing]\nprefer = [\"geo\"]\n"), (all, all));
    assert_eq!(over_geo("[routing]\nmetric = \"hops\"\nprefer = [\"geo\", \"leo\"]\n"), (all, all));
}

#[test]
fn a_terminal_sees_what_it_says() {
    let sees = TWO.replace("lon = \"-28.0 deg\" }", "lon = \"-28.0 deg\", sees = [\"geo\"] }");
    let text = format!(
        "duration = \"60 s\"\n{sees}[[flows]]\nname = \"echo\"\nfrom = \"farm\"\nto = \"server\"\n\
         traffic = {{ kind = \"ping\", interval = \"1 s\" }}\n"
    );
    let result = run(&text);
    let all = series(&result, "echo", "delay_s");
    assert!(all.len() == 60 && all.iter().all(|(_, delay_s)| *delay_s > 0.25), "{all:?}");
}

#[test]
fn one_constellation_among_several_is_what_it_is_alone() {
    let flow = |end: &str| {
        format!(
            "[terminals]\nlima = {{ lat = \"-12.05 deg\", lon = \"-77.04 deg\"{end} }}\n\
             oslo = {{ lat = \"59.91 deg\", lon = \"10.75 deg\"{end} }}\n[[flows]]\nname = \"echo\"\nfrom = \"lima\"\nto = \"oslo\"\n\
             traffic = {{ kind = \"ping\", interval = \"7 s\" }}\n"
        )
    };
    let iridium = "preset = \"iridium\"\ngsl = { rate = \"10 Mbit/s\" }\n";
    let alone = run(&format!("duration = \"1 h\"\n[constellation]\n{iridium}{}", flow("")));
    let beside = run(&format!(
        "duration = \"1 h\"\n[constellations.a]\npreset = \"teledesic\"\n[constellations.b]\n{iridium}[constellations.c]\npreset = \
            \"iridium\"\n{}",
        flow(", sees = [\"b\"]")
    ));
    let (alone, beside) = (series(&alone, "echo", "delay_s"), series(&beside, "echo", "delay_s"));
    assert_eq!(alone.len(), 515);
    for (alone, beside) in alone.iter().zip(&beside) {
        assert_eq!(alone, beside);
    }
}

#[test]
fn the_way_of_a_packet_among_parallel_and_lopsided_links_is_what_check_says() {
    let text = |reverse: &str| {
        format!(
            r#"duration = "30 s"
            [constellation]
            preset = "iridium"
            gsl = {{ rate = "10 Mbit/s" }}
            [terminals]
            lima = {{ lat = "-12.05 deg", lon = "-77.04 deg" }}
            oslo = {{ lat = "59.91 deg", lon = "10.75 deg" }}
            [links.internet]
            between = ["server", "lima"]
            rate = "1 Gbit/s"
            delay = "17 ms"
            reverse = {{ delay = "{reverse}" }}
            [links.lan]
            between = ["oslo", "user"]
            rate = "1 Gbit/s"
            delay = "2 ms"
            [links.lan-thin]
            between = ["oslo", "user"]
            rate = "1 Mbit/s"
            delay = "1 ms"
            [[flows]]
            name = "echo"
            from = "server"
            to = "user"
            traffic = {{ kind = "ping", interval = "1 s" }}
            [[flows]]
            name = "data"
            from = "server"
            to = "user"
            traffic = {{ kind = "bulk" }}
            "#
        )
    };
    let (_, mut simulation) = build(&text("200 ms"));
    simulation.step();
    let ways = simulation.leg_ways();
    let way = &ways[&(1, 0)];
    let links: Vec<usize> = way
        .passes
        .iter()
        .filter_map(|pass| if let SatelliteSegment::Link(link, _) = pass { Some(*link) } else { None })
        .collect();
    assert_eq!(links, [0, 2], "internet and lan-thin, which is the shorter");
    while simulation.step() {}
    let result = simulation.finish();
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!() };
    let rtt_s = ping.rtt_min_s.unwrap();
    let promised_s = way.rtt.as_secs_f64();
    // 84 bytes over links of 1, 10 and 25 Mbit/s, there and back.
    assert!((0.0..0.003).contains(&(rtt_s - promised_s)), "{rtt_s} s, where check says {promised_s} s");
    let FlowKind::Transfer(data) = &result.flows[1].kind else { panic!() };
    assert!((700_000.0..1_000_000.0).contains(&data.goodput_bps), "{} bit/s", data.goodput_bps);
    assert_eq!(
        result.flows[1].limits.as_ref().and_then(|limits| limits.bottleneck.as_deref()),
        Some("lan-thin")
    );
    // A link with a long reverse direction is not taken for that direction.
    let both = run(&text("17 ms"));
    let FlowKind::Ping(even) = &both.flows[0].kind else { panic!() };
    assert!((rtt_s - even.rtt_min_s.unwrap() - 0.183).abs() < 1e-4, "{rtt_s} {even:?}");
}

#[test]
fn a_path_of_satellites_by_name_is_taken() {
    let head = "duration = \"30 s\"\n[constellation]\npreset = \"iridium\"\ngsl = { rate = \"10 Mbit/s\" }\n[terminals]\n\
         lima = { lat = \"-12.05 deg\", lon = \"-77.04 deg\" }\noslo = { lat = \"59.91 deg\", lon = \"10.75 deg\" }\n";
    let flow = |way: &str| {
        format!(
            "{head}[[flows]]\nname = \"echo\"\n{way}\ntraffic = {{ kind = \"ping\", interval = \"1 s\" }}\n"
        )
    };
    let result = run(&flow("path = [\"lima\", \"constellation:0.5\", \"oslo\"]"));
    let used: Vec<&str> =
        result.links.iter().filter(|l| l.name.contains("0.5")).map(|l| l.name.as_str()).collect();
    assert!(!used.is_empty(), "a detour by 0.5");
    let direct = run(&flow("from = \"lima\"\nto = \"oslo\""));
    // Steps of a path are shortest paths, whatever scheme the satellites have.
    let schemed = flow("path = [\"lima\", \"constellation:0.5\", \"oslo\"]")
        .replace("[terminals]", "[routing]\nscheme = \"geographic\"\n[terminals]");
    assert_eq!(series(&run(&schemed), "echo", "delay_s"), series(&result, "echo", "delay_s"));
    let [detour, direct] = [&result, &direct].map(|result| series(result, "echo", "delay_s")[0].1);
    assert!(detour > direct + 0.001, "{detour} s by the detour, {direct} s direct");
}

// A step from terminal to terminal has its own shortest paths, which no flow without a pinned path uses.
#[test]
fn the_way_of_a_scheme_is_its_own_beside_a_pinned_path() {
    let ways = |scheme: &str, more: &str| {
        let text = format!(
            "duration = \"2 s\"\n[routing]\nscheme = \"{scheme}\"\n[constellation]\npreset = \"iridium\"\n\
             gsl = {{ rate = \"10 Mbit/s\" }}\n[terminals]\ntokyo = {{ lat = \"35.7 deg\", lon = \"139.7 deg\" }}\n\
             rosario = {{ lat = \"-32.9 deg\", lon = \"-60.6 deg\" }}\n[[flows]]\nfrom = \"tokyo\"\nto = \"rosario\"\n\
             traffic = {{ kind = \"ping\", interval = \"1 s\" }}\n{more}"
        );
        let (_, mut simulation) = build(&text);
        simulation.step();
        let ways = simulation.leg_ways();
        let way = &ways[&(0, 0)];
        let result = run(&text);
        let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!() };
        (way.rtt.as_secs_f64(), ping.rtt_min_s.unwrap())
    };
    let pinned =
        "[[flows]]\npath = [\"tokyo\", \"rosario\"]\ntraffic = { kind = \"ping\", interval = \"1 s\" }\n";
    let lan = "[links.lan]\nbetween = [\"rosario\", \"user\"]\nrate = \"1 Gbit/s\"\ndelay = \"2 ms\"\n";
    let (shortest_s, _) = ways("shortest", "");
    for beside in ["", lan] {
        let alone = ways("hybrid", beside);
        assert_eq!(ways("hybrid", &format!("{beside}{pinned}")), alone);
        assert!(alone.0 > shortest_s + 0.001, "{alone:?} is no detour from {shortest_s} s");
        // 84 bytes over links of 10 and 25 Mbit/s.
        assert!((0.0..0.002).contains(&(alone.1 - alone.0)), "{alone:?}");
    }
}

#[test]
fn everything_stands_on_a_pinned_path_too() {
    let text = format!(
        r#"duration = "60 s"
        {}
        [splices.hub]
        at = "teleport"
        flows = ["split"]
        [[failures]]
        satellite = "geo:geo-0"
        from = "40 s"
        until = "50 s"
        [[flows]]
        name = "split"
        path = ["server", "internet", "teleport", "geo", "farm"]
        traffic = {{ kind = "bulk" }}
        [[flows]]
        name = "plain"
        path = ["farm", "geo", "teleport", "internet", "server"]
        traffic = {{ kind = "bulk" }}
        [[flows]]
        name = "echo"
        path = ["farm", "geo", "teleport", "internet", "server"]
        traffic = {{ kind = "ping", interval = "1 s" }}
        [record]
        pcap = ["gsl:farm.geo"]
        "#,
        TWO.replace("delay = \"10 ms\"", "delay = \"10 ms\"\nmtu = \"1400 B\"")
    );
    let result = run(&text);
    let splice = &result.splices[0];
    assert!(splice.forward_bytes > 10_000_000, "{splice:?}");
    let internet = link(&result, "internet");
    assert!(internet.reverse.packets_too_large > 0, "{internet:?}");
    for flow in &result.flows {
        match &flow.kind {
            FlowKind::Transfer(transfer) => assert!(transfer.bytes_delivered > 10_000_000, "{flow:?}"),
            FlowKind::Ping(ping) => {
                assert_eq!((ping.sent, ping.received), (60, 50), "ten seconds of failure")
            }
            _ => panic!(),
        }
    }
    assert!(result.routing.as_ref().unwrap().stranded_no_path >= 5);
    let apart = result.warnings.iter().find(|warning| warning.contains("found no path"));
    assert_eq!(apart, None, "a pinned path is no fault of the constellations");
}

/// A flow of pings between two terminals, each with keys of its own.
fn pings(ends: [&str; 2]) -> String {
    format!(
        "[terminals]\nlima = {{ lat = \"-12.05 deg\", lon = \"-77.04 deg\"{} }}\n\
         oslo = {{ lat = \"59.91 deg\", lon = \"10.75 deg\"{} }}\n[[flows]]\nname = \"echo\"\nfrom = \"lima\"\nto = \"oslo\"\n\
         traffic = {{ kind = \"ping\", interval = \"7 s\" }}\n",
        ends[0], ends[1]
    )
}

const IRIDIUM: &str = "preset = \"iridium\"\ngsl = { rate = \"10 Mbit/s\" }\n";

#[test]
fn a_constellation_with_a_scheme_of_its_own_is_what_it_is_alone_with_that_scheme() {
    let failures = |prefix: &str| -> String {
        let satellites = ["0.3", "1.5", "2.2", "3.6", "4.1", "5.8"].iter().map(|name| {
            format!("[[failures]]\nsatellite = \"{prefix}{name}\"\nfrom = \"5 min\"\nuntil = \"20 min\"\n")
        });
        let link =
            format!("[[failures]]\nlink = \"isl:{prefix}0.1-0.2\"\nfrom = \"2 min\"\nuntil = \"25 min\"\n");
        satellites.chain([link]).collect()
    };
    for scheme in ["hybrid", "geographic", "central"] {
        let mut before = Vec::new();
        for more in ["", "failures", "convergence = \"3 s\"\n", "metric = \"hops\"\n"] {
            let (routing, fail) = if more == "failures" { ("", true) } else { (more, false) };
            let failing = |prefix: &str| if fail { failures(prefix) } else { String::new() };
            // The metric is that of the links between satellites.
            let alone = routing.replace("metric = \"hops\"\n", "");
            let alone = run(&format!(
                "duration = \"30 min\"\n[routing]\nscheme = \"{scheme}\"\n{alone}[constellation]\n{IRIDIUM}{}{}",
                failing(""),
                pings(["", ""])
            ));
            let beside = run(&format!(
                "duration = \"30 min\"\n[routing]\nprefer = [\"b\"]\n{routing}[constellations.a]\npreset = \"teledesic\"\n\
                 [constellations.b]\nscheme = \"{scheme}\"\n{IRIDIUM}[constellations.c]\npreset = \"iridium\"\nscheme = \"shortest\"\n{}{}",
                failing("b:"),
                pings(["", ""])
            ));
            let [alone, beside] = [alone, beside].map(|result| series(&result, "echo", "delay_s"));
            assert!(alone.len() > 150, "{scheme}: {} of 258 pings arrived", alone.len());
            assert_eq!(alone, beside, "{scheme}, {more}");
            before.push(alone);
        }
        assert_ne!(before[0], before[1], "{scheme}: failures are of no consequence");
    }
}

/// Difference of the delay of each packet from Lima over `b` to a hub and over `a` to Oslo from the sum of its parts, each in a
/// network with its constellation alone. The hub holds as many satellites in both.
fn apart_from_parts([first, second]: [&str; 2], antennas: &str) -> Vec<f64> {
    let flow = |from: &str, to: &str, hub: &str, ends: [&str; 2]| {
        let hub =
            format!("hub = {{ lat = \"40.7 deg\", lon = \"-74.0 deg\", antennas = {antennas}{hub} }}\n");
        let flow = pings(ends).replace("[terminals]\n", &format!("[terminals]\n{hub}"));
        let flow = flow.replace("from = \"lima\"", &format!("from = \"{from}\""));
        flow.replace("to = \"oslo\"", &format!("to = \"{to}\""))
    };
    let delays = |head: &str, flow: String| series(&run(&format!("{head}{flow}")), "echo", "delay_s");
    let ends = [", sees = [\"b\"]", ", sees = [\"a\"]"];
    let whole = delays(
        &format!(
            "duration = \"30 min\"\n[constellations.a]\npreset = \"teledesic\"\nscheme = \"{second}\"\n\
             [constellations.b]\nscheme = \"{first}\"\n{IRIDIUM}"
        ),
        flow("lima", "oslo", ", gateway = true", ends),
    );
    let part = |scheme: &str, constellation: &str, from: &str, to: &str| {
        let head = format!(
            "duration = \"30 min\"\n[routing]\nscheme = \"{scheme}\"\n[constellation]\n{constellation}"
        );
        delays(&head, flow(from, to, "", ["", ""]))
    };
    let parts =
        [part(first, IRIDIUM, "lima", "hub"), part(second, "preset = \"teledesic\"\n", "hub", "oslo")];
    let of =
        |part: &[(f64, f64)], at: f64| part.iter().find(|(t_s, _)| *t_s == at).map(|(_, delay_s)| *delay_s);
    let apart = |(at, delay_s): &(f64, f64)| Some(delay_s - of(&parts[0], *at)? - of(&parts[1], *at)?);
    whole.iter().filter_map(apart).collect()
}

#[test]
fn a_packet_goes_through_two_constellations_each_with_its_scheme() {
    for (schemes, antennas) in [
        (["shortest", "shortest"], "1"),
        (["central", "geographic"], "1"),
        (["geographic", "central"], "\"all\""),
        (["hybrid", "shortest"], "\"all\""),
        (["shortest", "hybrid"], "1"),
    ] {
        let apart = apart_from_parts(schemes, antennas);
        assert!(apart.len() > 250, "{schemes:?}: {} pings arrived", apart.len());
        // A packet is on its way while satellites move on.
        let most = apart.iter().map(|apart_s| apart_s.abs()).fold(0.0, f64::max);
        assert!(most < 20e-6, "{schemes:?}, {antennas} antennas: {most} s");
    }
}

// Both terminals hold satellites of both, and the nearer constellation without a scheme is not used in the other's.
#[test]
fn a_flow_goes_over_the_constellation_without_a_scheme_where_that_is_shorter() {
    let text = |scheme: &str| {
        format!(
            "duration = \"10 min\"\n[constellations.high]\nshell = {{ planes = 6, satellites_per_plane = 8, altitude = \"8000 km\", \
             inclination = \"80 deg\" }}\n{scheme}[constellations.low]\npreset = \"teledesic\"\n{}",
            pings(["", ""])
        )
    };
    let [plain, own] =
        ["", "scheme = \"geographic\"\n"].map(|scheme| series(&run(&text(scheme)), "echo", "delay_s"));
    assert!(plain.len() > 80);
    assert_eq!(plain, own);
}

// Routes are out of date for a while: a terminal whose planned satellite is gone takes an antenna of the constellation that has a scheme.
#[test]
fn a_packet_comes_into_a_scheme_by_an_antenna_that_was_not_planned() {
    let text = |scheme: &str| {
        let gone = (0..12).flat_map(|plane| (0..24).map(move |slot| (plane, slot))).map(|(plane, slot)| {
            format!("[[failures]]\nsatellite = \"leo:{plane}.{slot}\"\nfrom = \"61 s\"\nuntil = \"5 min\"\n")
        });
        format!(
            "duration = \"10 min\"\n[routing]\nconvergence = \"100 s\"\nprefer = [\"leo\"]\n[constellations.leo]\n\
             preset = \"teledesic\"\n[constellations.b]\nscheme = \"{scheme}\"\n{IRIDIUM}{}{}",
            pings(["", ""]),
            gone.collect::<String>()
        )
    };
    for scheme in ["shortest", "central", "geographic"] {
        let arrived = series(&run(&text(scheme)), "echo", "delay_s");
        let stale = arrived.iter().filter(|(at, _)| (61.0..161.0).contains(at)).count();
        assert_eq!(stale, 14, "{scheme}: one every seven seconds");
    }
}
