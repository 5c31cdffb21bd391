//! Gateways with an association: many connections share it in both directions, as the daemons' do.
//!
//! Follows docs/gateway.md, whose measurements are of real hosts, and docs/splice.md for the keys.
//! Differs from `splices`, whose gateways have a connection each between them.
//! Leaves out the kernel's TCP: `skyhop compare` has that.

use crate::common::{between_gateways, lan};
use skyhop_results::{
    AssociationResult, CompletionsResult, FlowKind, RunResult, SpliceResult, TransferResult,
};
use skyhop_sim::Simulation;

/// The thesis's path (HT figure 4.22): 100 Mbit/s and 20 ms, then 10 and 1 Mbit/s and 580 ms, then users with 2 ms. `memory` is that
/// of both gateways, and `more` are keys of the satellite link.
fn path(duration_s: u32, memory: &str, more: &str) -> String {
    let gateway = |name: &str| {
        format!(
            "[splices.{name}]\nat = \"{name}\"\nassociation = \"sky\"\nbuffer = \"{memory}\"\n\
             transport = {{ kind = \"stp\", over = \"sealed-udp\", silence = \"30 s\" }}\n"
        )
    };
    [between_gateways(duration_s, "", "", more), gateway("hub"), gateway("terminal"), lan("ann"), lan("bob")]
        .concat()
}

fn flow(name: &str, [from, to]: [&str; 2], traffic: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntraffic = {{ {traffic} }}\n\
         transport = {{ kind = \"tcp\", variant = \"reno\" }}\n"
    )
}

/// A run, with conservation of packets checked after every event if `every`.
fn run(text: &str, every: bool) -> RunResult {
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 7).unwrap();
    simulation.without_series();
    while every && simulation.step() {
        simulation.check_conservation().unwrap();
    }
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    simulation.finish()
}

fn transfer<'a>(result: &'a RunResult, name: &str) -> &'a TransferResult {
    let flow = result.flows.iter().find(|flow| flow.name == name).unwrap_or_else(|| panic!("no flow {name}"));
    let FlowKind::Transfer(transfer) = &flow.kind else { panic!("{name} is no transfer") };
    transfer
}

fn completions<'a>(result: &'a RunResult, name: &str) -> &'a CompletionsResult {
    let flow = result.flows.iter().find(|flow| flow.name == name).unwrap_or_else(|| panic!("no flow {name}"));
    let FlowKind::Completions(completions) = &flow.kind else { panic!("{name} has no completions") };
    completions
}

fn sky(result: &RunResult) -> &AssociationResult {
    let [sky] = &result.associations[..] else { panic!("{} associations", result.associations.len()) };
    sky
}

fn gateway<'a>(result: &'a RunResult, name: &str) -> &'a SpliceResult {
    result.splices.iter().find(|splice| splice.name == name).unwrap_or_else(|| panic!("no splice {name}"))
}

#[test]
fn connections_of_both_directions_are_streams_of_one_association() {
    let text = [
        path(60, "8 MB", ""),
        flow("down", ["server", "ann"], "kind = \"bulk\", size = \"10 MB\""),
        flow("also", ["server", "bob"], "kind = \"bulk\", size = \"4 MB\""),
        flow("up", ["bob", "server"], "kind = \"bulk\", size = \"500 kB\""),
        flow(
            "ask",
            ["ann", "server"],
            "kind = \"request-response\", reply = { kind = \"fixed\", value = \"20 kB\" }",
        ),
    ]
    .concat();
    let result = run(&text, true);
    for (name, bytes) in [("down", 10_000_000), ("also", 4_000_000), ("up", 500_000)] {
        assert_eq!(transfer(&result, name).bytes_delivered, bytes, "{name}");
    }
    let asked = completions(&result, "ask");
    let sky = sky(&result);
    println!("{sky:?}\n{:?}\n{:?}", gateway(&result, "hub"), gateway(&result, "terminal"));
    assert!(asked.completed > 10, "{}", asked.completed);
    let connections = 3 + asked.connections;
    assert_eq!(sky.streams, connections, "one stream for each connection");
    for name in ["hub", "terminal"] {
        let gateway = gateway(&result, name);
        // The last may still be on its way at the end.
        let last = connections - gateway.connections;
        assert!(last <= 1 && gateway.connections_broken == 0, "{name}: {connections}, {gateway:?}");
    }
    // A preamble of 18 bytes and an answer of one, once for each.
    let data = 14_500_000 + asked.completed * (100 + 20_000);
    let overhead = sky.bytes_delivered - data;
    assert!(
        ((connections - 1) * 19..connections * 19 + 20_100).contains(&overhead),
        "{overhead} for {connections}"
    );
}

/// Of the link's 10 Mbit/s at most 9.48 can be data: 1431 bytes of 1500, less a little for frames.
#[test]
fn a_split_download_fills_the_satellite_link_with_few_bytes_back() {
    let text = path(60, "8 MB", "") + &flow("down", ["server", "ann"], "kind = \"bulk\"");
    let result = run(&text, false);
    let rate = transfer(&result, "down").bytes_delivered as f64 * 8.0 / 60.0;
    let sky = sky(&result);
    let back = sky.return_bytes as f64 / sky.forward_bytes as f64;
    println!("{:.3} Mbit/s, {:.4} % back", rate / 1e6, back * 100.0);
    assert!((9.0e6..9.5e6).contains(&rate), "{rate}");
    assert!((0.0001..0.003).contains(&back), "{back}");
    let held = gateway(&result, "hub").connection_held_max_bytes;
    // One to three times 10 Mbit/s times 600 ms: in flight, and read ahead.
    assert!((750_000..4_000_000).contains(&held), "{held}");
}

#[test]
fn a_user_with_eight_downloads_gets_as_much_as_a_user_with_one() {
    let many: String =
        (0..8).map(|i| flow(&format!("ann-{i}"), ["server", "ann"], "kind = \"bulk\"")).collect();
    let text = path(60, "16 MB", "") + &many + &flow("bob-0", ["server", "bob"], "kind = \"bulk\"");
    let result = run(&text, false);
    let bob = transfer(&result, "bob-0").bytes_delivered as f64;
    let ann: f64 = (0..8).map(|i| transfer(&result, &format!("ann-{i}")).bytes_delivered as f64).sum();
    println!("ann {:.1} MB, bob {:.1} MB", ann / 1e6, bob / 1e6);
    assert!((0.8..1.25).contains(&(ann / bob)), "{ann} {bob}");
    assert!(ann + bob > 0.85 * 60.0 * 10e6 / 8.0, "{}", ann + bob);
}

#[test]
fn a_lost_association_resets_its_connections_and_an_outage_does_not() {
    for (outage, breaks) in [("10 s", false), ("100 s", true)] {
        let until = if breaks { "110 s" } else { "20 s" };
        let more = format!("schedule = [{{ from = \"10 s\", to = \"{until}\", outage = \"lose\" }}]");
        let text = path(150, "8 MB", &more)
            + &flow("down", ["server", "ann"], "kind = \"bulk\", size = \"30 MB\"")
            + &flow("late", ["server", "bob"], "kind = \"bulk\", size = \"1 MB\"")
                .replace("[[flows]]", "[[flows]]\nstart = \"115 s\"");
        let result = run(&text, true);
        let (down, late) = (transfer(&result, "down"), transfer(&result, "late"));
        println!("{outage}: {} {:?} {:?}", down.bytes_delivered, down.completed_s, gateway(&result, "hub"));
        assert_eq!(down.bytes_delivered < 30_000_000, breaks, "{outage}");
        assert_eq!(gateway(&result, "hub").connections_broken, u64::from(breaks), "{outage}");
        assert_eq!(gateway(&result, "terminal").connections_broken, u64::from(breaks), "{outage}");
        assert_eq!(late.bytes_delivered, 1_000_000, "a later connection opens another association");
    }
}

#[test]
fn a_request_waits_for_its_own_round_trips_only() {
    let ask = "kind = \"request-response\", reply = { kind = \"fixed\", value = \"1 kB\" }";
    let text = path(60, "8 MB", "")
        + &flow("down", ["server", "ann"], "kind = \"bulk\"")
        + &flow("ask", ["bob", "server"], ask);
    let result = run(&text, false);
    let asked = completions(&result, "ask");
    println!("{:?} {:?} {:?}", asked.completion_min_s, asked.completion_median_s, asked.completion_p95_s);
    // 2 ms to the terminal, twice; 580 ms; 20 ms to the server, twice.
    let least = 2.0 * 0.002 + 0.580 + 2.0 * 0.020;
    assert!(
        asked.completion_min_s.is_some_and(|s| (least..least + 0.05).contains(&s)),
        "{:?}",
        asked.completion_min_s
    );
    assert!(asked.completion_p95_s.is_some_and(|s| s < least + 0.5), "{:?}", asked.completion_p95_s);
}
