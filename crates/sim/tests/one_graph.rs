//! Links and satellites as one graph: server, Internet, gateway, constellation, terminal, LAN, user.
//!
//! Compares delays with those of the constellation alone at the same instants, and checks conservation after every event.

use skyhop_results::{FlowKind, RunResult};
use skyhop_sim::Simulation;

const SKY: &str = r#"
[constellation]
preset = "iridium"
gsl = { rate = "10 Mbit/s" }
isl = { rate = "25 Mbit/s" }
[terminals]
lima = { lat = "-12.05 deg", lon = "-77.04 deg" }
oslo = { lat = "59.91 deg", lon = "10.75 deg" }
"#;

const GROUND: &str = r#"
[links.internet]
between = ["server", "lima"]
rate = "1 Gbit/s"
delay = "17 ms"
queue = { kind = "fq-codel" }
[links.lan]
between = ["oslo", "user"]
rate = "1 Gbit/s"
delay = "2 ms"
[links.access]
between = ["other", "server"]
rate = "100 Mbit/s"
delay = "1 ms"
"#;

fn run(text: &str, every_event: bool) -> RunResult {
    let loaded =
        skyhop_scenario::parse(text.as_bytes(), "one_graph.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap();
    while simulation.step() {
        if every_event {
            simulation.check_conservation().unwrap();
        }
    }
    simulation.check_conservation().unwrap();
    simulation.finish()
}

fn delays(result: &RunResult, flow: &str) -> Vec<f64> {
    let entity = format!("flow/{flow}");
    let series = result.series.iter().find(|s| s.entity == entity && s.metric == "delay_s").unwrap();
    series.samples.iter().map(|sample| sample.1).collect()
}

#[test]
fn a_ping_takes_what_the_constellation_takes_at_that_instant_and_the_links_on_both_sides() {
    let flow = |from: &str, to: &str, start: &str| {
        format!(
            "[[flows]]\nname = \"echo\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{start}\"\n\
             traffic = {{ kind = \"ping\", interval = \"10 s\" }}\n"
        )
    };
    let head = "duration = \"3600 s\"\n";
    // 84 bytes take 672 ns at 1 Gbit/s, after which and 17 ms the echo leaves lima.
    let alone = run(&format!("{head}{SKY}{}", flow("lima", "oslo", "17.000672 ms")), false);
    let whole = run(&format!("{head}{SKY}{GROUND}{}", flow("server", "user", "0 s")), true);
    let (alone, whole) = (delays(&alone, "echo"), delays(&whole, "echo"));
    assert_eq!((alone.len(), whole.len()), (360, 360));
    for (at, (alone, whole)) in alone.iter().zip(&whole).enumerate() {
        let ground = 0.019 + 2.0 * 672e-9;
        assert!((whole - alone - ground).abs() < 1e-6, "{at}: {whole} s, {alone} s in the constellation");
    }
    let (least, most) = alone.iter().fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
    assert!(most - least > 0.01, "{least} to {most} s");
}

#[test]
fn a_transfer_crosses_everything_beside_a_competitor_through_splices_and_a_failure() {
    let text = format!(
        r#"duration = "300 s"
        {SKY}{GROUND}
        [splices.hub]
        at = "lima"
        flows = ["download"]
        [splices.terminal]
        at = "oslo"
        flows = ["download"]
        [[failures]]
        link = "lan"
        from = "10 s"
        until = "20 s"
        [[flows]]
        name = "download"
        from = "server"
        to = "user"
        start = "8 s"
        traffic = {{ kind = "bulk", size = "5 MB" }}
        [[flows]]
        name = "competitor"
        from = "other"
        to = "lima"
        stop = "60 s"
        traffic = {{ kind = "bulk", size = "50 MB" }}
        "#
    );
    let result = run(&text, true);
    let FlowKind::Transfer(download) = &result.flows[0].kind else { panic!() };
    assert_eq!(download.bytes_delivered, 5_000_000);
    let took = download.completed_s.unwrap();
    assert!((12.0..40.0).contains(&took), "{took} s: the LAN is down from 2 to 12 s after its beginning");
    let [hub, terminal] = &result.splices[..] else { panic!() };
    assert_eq!([hub.connections, terminal.connections], [1, 1]);
    assert_eq!([hub.forward_bytes, terminal.forward_bytes], [5_000_000; 2]);
    let failure = &result.failures[0];
    assert_eq!((failure.kind, failure.name.as_str(), failure.until_s), ("link", "lan", Some(20.0)));
    let FlowKind::Transfer(competitor) = &result.flows[1].kind else { panic!() };
    assert_eq!(competitor.bytes_delivered, 50_000_000);
    let links: Vec<&str> = result.links.iter().map(|link| link.name.as_str()).collect();
    assert!(["internet", "lan", "access", "gsl:lima", "gsl:oslo"].iter().all(|name| links.contains(name)));
}

#[test]
fn a_link_out_by_the_clock_holds_the_flow_up_and_the_way_is_known() {
    let outage = "delay = \"2 ms\"\nschedule = [{ from = \"1 s\", to = \"6 s\", outage = \"wait\" }]";
    let ground = GROUND.replace("delay = \"2 ms\"", outage);
    let flow = "[[flows]]\nname = \"download\"\nfrom = \"server\"\nto = \"user\"\ntraffic = { kind = \"bulk\", size = \"5 MB\" }\n";
    let result = run(&format!("duration = \"100 s\"\n{SKY}{ground}{flow}"), true);
    let limits = result.flows[0].limits.as_ref().unwrap();
    let spent = limits.spent_ns[skyhop_results::Cause::NoLink as usize] as f64 / 1e9;
    assert!((4.9..5.1).contains(&spent), "{spent} s without a link");
}

#[test]
fn a_packet_too_large_for_a_link_behind_the_satellites_is_told_of() {
    let ground = GROUND.replace("delay = \"2 ms\"", "delay = \"2 ms\"\nmtu = \"1000 B\"");
    let flow = "[[flows]]\nname = \"download\"\nfrom = \"server\"\nto = \"user\"\n\
                traffic = { kind = \"bulk\", size = \"1 MB\" }\ntransport = { kind = \"tcp\", path_mtu = \"icmp\" }\n";
    let result = run(&format!("duration = \"100 s\"\n{SKY}{ground}{flow}"), true);
    let FlowKind::Transfer(download) = &result.flows[0].kind else { panic!() };
    assert_eq!(download.bytes_delivered, 1_000_000);
    let lan = result.links.iter().find(|link| link.name == "lan").unwrap();
    assert!(lan.reverse.packets_too_large + lan.forward.packets_too_large > 0);
    // The router's messages do not count as packets of the receiver.
    assert_eq!(result.flows[0].return_bytes, lan.reverse.bytes);
}

#[test]
fn traffic_between_ground_nodes_stays_on_the_ground_where_that_is_shorter() {
    let more = "[links.cable]\nbetween = [\"server\", \"user\"]\nrate = \"10 Mbit/s\"\ndelay = \"30 ms\"\n";
    let flow =
        "[[flows]]\nname = \"echo\"\nfrom = \"server\"\nto = \"user\"\ntraffic = { kind = \"ping\" }\n";
    let result = run(&format!("duration = \"60 s\"\n{SKY}{GROUND}{more}{flow}"), true);
    let delays = delays(&result, "echo");
    assert!(delays.iter().all(|delay| (delay - 0.030 - 84.0 * 8.0 / 1e7).abs() < 1e-9), "{delays:?}");
}

#[test]
fn a_constellations_own_scheme_carries_packets_between_the_links_on_both_sides() {
    let text = |scheme: &str| {
        format!(
            "duration = \"1200 s\"\n[routing]\nscheme = \"{scheme}\"\n{SKY}{GROUND}[[flows]]\nname = \"echo\"\nfrom = \"server\"\n\
             to = \"user\"\ntraffic = {{ kind = \"ping\", interval = \"1 s\" }}\n[[flows]]\nname = \"data\"\nfrom = \"user\"\n\
             to = \"other\"\ntraffic = {{ kind = \"bulk\", size = \"5 MB\" }}\n"
        )
    };
    let shortest = run(&text("shortest"), false);
    let known = delays(&shortest, "echo");
    for scheme in ["geographic", "central", "hybrid"] {
        let result = run(&text(scheme), true);
        let found = delays(&result, "echo");
        let least = if scheme == "hybrid" { 900 } else { 1150 };
        assert!(found.len() >= least, "{scheme}: {} of 1200 pings arrived", found.len());
        assert!(found.iter().all(|delay_s| *delay_s > 0.019 + 0.02), "{scheme}");
        let mean = |delays: &[f64]| delays.iter().sum::<f64>() / delays.len() as f64;
        let ratio = mean(&found) / mean(&known);
        assert!((0.98..1.25).contains(&ratio), "{scheme}: {ratio} of the shortest");
        let FlowKind::Transfer(data) = &result.flows[1].kind else { panic!() };
        assert_eq!(data.bytes_delivered, 5_000_000, "{scheme}");
        assert_eq!(result.routing.as_ref().unwrap().scheme, scheme);
    }
}
