//! Rates over satellites: uplink and downlink, gateways and users, single links, and changes by schedule.
//!
//! Follows the scenario's own numbers: the rate of a link is the rate received, whatever else is on the path.
//! Differs from `capacity` of a scenario's check, which only computes it; here packets fill the links.
//! Leaves out the hosts' behaviour, which the transports' own tests have.

use skyhop_results::{DirectionResult, FlowKind, FlowResult, RunResult};
use skyhop_sim::Simulation;

/// Payload of a datagram that fills 1500 bytes.
const PAYLOAD: f64 = 1472.0;

/// Two users and two gateways under Starlink's first shell; `{}` is the constellation's `gsl`, then the users', then flows.
fn starlink(gsl: &str, users: [&str; 2], rest: &str) -> String {
    let [london, madrid] = users;
    format!(
        r#"
        duration = "20 s"
        [constellation]
        preset = "starlink-550"
        handover = "highest-on-loss"
        update_interval = "5 s"
        isl = {{ rate = "20 Gbit/s" }}
        gsl = {gsl}
        [terminals]
        london = {{ lat = "51.51 deg", lon = "-0.13 deg" {london} }}
        madrid = {{ lat = "40.42 deg", lon = "-3.70 deg" {madrid} }}
        frankfurt = {{ lat = "50.11 deg", lon = "8.68 deg", gateway = true, gsl = {{ rate = "10 Gbit/s" }} }}
        rouen = {{ lat = "49.44 deg", lon = "1.10 deg", gateway = true, gsl = {{ rate = "10 Gbit/s" }} }}
        {rest}
        "#
    )
}

fn flow(name: &str, from: &str, to: &str, traffic: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntraffic = {{ {traffic} }}\n")
}

fn cbr(name: &str, from: &str, to: &str, rate: &str) -> String {
    flow(name, from, to, &format!("kind = \"cbr\", rate = \"{rate}\", size = \"1472 B\""))
}

/// A run with a check of all links after about every thousandth event, as there are thousands of them.
fn run(text: &str) -> RunResult {
    run_with(text, "")
}

fn run_with(text: &str, trace: &str) -> RunResult {
    let mut loaded = skyhop_scenario::parse(text.as_bytes(), "t.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    loaded.files.insert("fade.csv".into(), trace.as_bytes().into());
    let mut simulation =
        Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap_or_else(|e| panic!("{e}"));
    let mut events = 0;
    while simulation.step() {
        events += 1;
        if events % 997 == 0 {
            simulation.check_conservation().unwrap();
        }
    }
    simulation.check_conservation().unwrap();
    simulation.finish()
}

fn goodput(result: &RunResult, name: &str) -> f64 {
    let flow: &FlowResult = result.flows.iter().find(|flow| flow.name == name).unwrap();
    match &flow.kind {
        FlowKind::Transfer(transfer) => transfer.goodput_bps,
        FlowKind::Datagrams(datagrams) => datagrams.goodput_bps,
        _ => panic!("{name} has no goodput"),
    }
}

/// Up and down of a link.
fn link<'a>(result: &'a RunResult, name: &str) -> [&'a DirectionResult; 2] {
    let link = result.links.iter().find(|link| link.name == name).unwrap();
    [&link.forward, &link.reverse]
}

const UP_AND_DOWN: &str = "{ up = { rate = \"20 Mbit/s\" }, down = { rate = \"250 Mbit/s\" } }";

#[test]
fn up_and_down_carry_what_they_are_said_to() {
    let flows = cbr("download", "frankfurt", "london", "300 Mbit/s")
        + &cbr("upload", "london", "rouen", "25 Mbit/s")
        + &cbr("trunk", "rouen", "frankfurt", "1 Gbit/s");
    let result = run(&starlink(UP_AND_DOWN, ["", ""], &flows));
    // 1472 of 1500 bytes are payload; a path of 5 ms takes a four-thousandth of 20 s.
    for (name, rate) in [("download", 250e6), ("upload", 20e6)] {
        let share = goodput(&result, name) / (rate * PAYLOAD / 1500.0);
        println!("{name}: {share:.5} of its rate");
        assert!((0.998..=1.0001).contains(&share), "{name}: {share}");
    }
    // A gateway's link is not a user's.
    let trunk = goodput(&result, "trunk") / 1e9;
    assert!((0.998..=1.0001).contains(&trunk), "trunk: {trunk}");
    let [up, down] = link(&result, "gsl:london").map(|direction| direction.utilisation);
    assert!((0.998..=1.0).contains(&up) && (0.998..=1.0).contains(&down), "{up} {down}");
}

#[test]
fn transfers_reach_their_own_rates() {
    let bulk = "kind = \"bulk\"";
    let flows = flow("download", "frankfurt", "london", bulk) + &flow("upload", "madrid", "rouen", bulk);
    let result = run(&starlink(UP_AND_DOWN, ["", ""], &flows));
    for (name, rate) in [("download", 250e6), ("upload", 20e6)] {
        // Payload is 1448 of 1500 bytes.
        let share = goodput(&result, name) / (rate * 1448.0 / 1500.0);
        println!("{name}: {share:.4} of its rate");
        assert!((0.95..=1.0).contains(&share), "{name}: {share}");
    }
}

#[test]
fn the_innermost_table_counts() {
    let gsl = "{ rate = \"8 Mbit/s\", loss = { kind = \"packets\", probability = 0.5 }, down = { loss = { kind = \"none\" } } }";
    let own = ", gsl = { down = { rate = \"2 Mbit/s\" }, loss = { kind = \"none\" } }";
    let flows = cbr("to-london", "frankfurt", "london", "30 Mbit/s")
        + &cbr("from-london", "london", "frankfurt", "30 Mbit/s")
        + &cbr("to-madrid", "frankfurt", "madrid", "30 Mbit/s")
        + &cbr("from-madrid", "madrid", "frankfurt", "30 Mbit/s");
    let text = starlink(gsl, [own, ""], &flows);
    let overrides = r#"
        [[constellation.overrides]]
        link = "gsl:madrid"
        rate = "5 Mbit/s"
        reverse = { rate = "3 Mbit/s" }
        [terminals]"#;
    // The gateway's own table leaves the constellation's loss unchanged.
    let text = text.replace("[terminals]", overrides).replace(
        "gsl = { rate = \"10 Gbit/s\" }",
        "gsl = { rate = \"10 Gbit/s\", loss = { kind = \"none\" } }",
    );
    let result = run(&text);
    let payload = |mbit: f64| mbit * 1e6 * PAYLOAD / 1500.0;
    for (name, least, most) in [
        ("to-london", payload(1.99), payload(2.0001)),
        ("from-london", payload(7.97), payload(8.0001)),
        ("to-madrid", payload(2.985), payload(3.0001)),
        // Half of 8700 packets are lost: five standard deviations are 233.
        ("from-madrid", payload(5.0 * 0.47), payload(5.0 * 0.53)),
    ] {
        let got = goodput(&result, name);
        println!("{name}: {got:.0} bit/s");
        assert!((least..=most).contains(&got), "{name}: {got}, expected {least} to {most}");
    }
}

#[test]
fn a_named_isl_is_narrower_than_the_others() {
    let flows = cbr("a", "quito", "tokyo", "3 Mbit/s");
    let text = |overrides: &str| {
        format!(
            "duration = \"20 s\"\n[constellation]\npreset = \"iridium\"\ngsl = {{ rate = \"10 Mbit/s\" }}\n{overrides}\n[terminals]\n\
             quito = {{ lat = \"0 deg\", lon = \"-78 deg\" }}\ntokyo = {{ lat = \"35 deg\", lon = \"139 deg\" }}\n{flows}"
        )
    };
    let result = run(&text(""));
    let busiest =
        result.links.iter().find(|link| link.name.starts_with("isl:") && link.forward.packets > 4000);
    let name = &busiest.expect("a link between satellites, crossed forward").name;
    let narrow = |own: &str| {
        let own = format!("[[constellation.overrides]]\nlink = \"{name}\"\n{own}");
        let result = run(&text(&own));
        link(&result, name).map(|direction| direction.bytes as f64 * 8.0 / 20.0)
    };
    let [forward, _] = narrow("rate = \"1 Mbit/s\"");
    assert!((0.97e6..=1.001e6).contains(&forward), "{forward}");
    // A rate for the reverse direction alone leaves forward unchanged: 3 Mbit/s of payload in 1500 of 1472 bytes.
    let [forward, _] = narrow("reverse = { rate = \"1 Mbit/s\" }");
    assert!((2.9e6..=3.1e6).contains(&forward), "{forward}");
}

#[test]
fn an_outage_by_trace_stops_one_download_and_not_its_neighbours() {
    let trace = "t_s,rate_bps\n0,\n8,0\n13,\n";
    let own = ", gsl = { down = { trace = \"fade.csv\", queue = { kind = \"drop-tail\", limit = \"10 packets\" } } }";
    let flows = cbr("london", "frankfurt", "london", "10 Mbit/s")
        + &cbr("london-up", "london", "frankfurt", "10 Mbit/s")
        + &cbr("madrid", "frankfurt", "madrid", "10 Mbit/s");
    let result = run_with(&starlink(UP_AND_DOWN, [own, ""], &flows), trace);
    let share = |name: &str| goodput(&result, name) / 10e6;
    let [london, up, madrid] = ["london", "london-up", "madrid"].map(share);
    println!("london {london:.4}, its upload {up:.4}, madrid {madrid:.4}");
    // 5 of 20 s are out; ten packets wait for its end.
    assert!((0.749..=0.752).contains(&london), "{london}");
    assert!((0.998..=1.0001).contains(&up), "{up}");
    assert!((0.998..=1.0001).contains(&madrid), "{madrid}");
}

#[test]
fn a_transfer_is_held_up_by_the_outage_of_its_own_downlink() {
    let own = ", gsl = { down = { schedule = [{ from = \"8 s\", to = \"13 s\", outage = \"wait\" }] } }";
    let bulk = "kind = \"bulk\"";
    let flows = flow("london", "frankfurt", "london", bulk) + &flow("madrid", "rouen", "madrid", bulk);
    let result = run(&starlink(UP_AND_DOWN, [own, ""], &flows));
    let out_s = |name: &str| {
        let flow = result.flows.iter().find(|flow| flow.name == name).unwrap();
        flow.limits.as_ref().unwrap().spent_ns[skyhop_transport::Cause::NoLink as usize] as f64 / 1e9
    };
    println!("{} s and {} s", out_s("london"), out_s("madrid"));
    assert!((4.99..=5.01).contains(&out_s("london")) && out_s("madrid") == 0.0);
}
