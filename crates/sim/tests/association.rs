//! Flows that are streams of one association: together as fast as one, and the small ones beside the large one.
//!
//! Follows docs/stp.md §15.10, whose numbers are of the machine alone: here applications, links and results are those of any run.
//! Differs from `stp_today`: many flows have one congestion control; their packets are the association's, and so are its counts.
//! Leaves out what frames look like, which `skyhop-wire` and the captures of `record` hold.

use skyhop_results::{AssociationResult, Cause, CompletionsResult, FlowKind, RunResult, TransferResult};
use skyhop_sim::Simulation;

/// The path of docs/stp.md §11: 250 Mbit/s there and 3 back, 600 ms, queues of one product; `more` are keys of the link.
fn path(duration_s: u32, more: &str) -> String {
    format!(
        r#"
        duration = "{duration_s} s"
        [links.satellite]
        between = ["server", "user"]
        rate = "250 Mbit/s"
        delay = "300 ms"
        queue = {{ kind = "drop-tail", limit = "18750000 B" }}
        {more}
        reverse = {{ rate = "3 Mbit/s", queue = {{ kind = "drop-tail", limit = "225000 B" }} }}
        "#
    )
}

/// A flow from the server to the user; `transport` are keys behind `kind`.
fn down(name: &str, transport: &str, rest: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"user\"\ntransport = {{ kind = \"stp\"{transport} }}\n{rest}\n"
    )
}

/// The other way.
fn up(name: &str, transport: &str, rest: &str) -> String {
    down(name, transport, rest).replacen("from = \"server\"\nto = \"user\"", "from = \"user\"\nto = \"server\"", 1)
}

/// Without series, checking after each event if `every`.
fn run_checked(text: &str, seed: u64, every: bool) -> RunResult {
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
    simulation.without_series();
    if every {
        while simulation.step() {
            simulation.check_conservation().unwrap();
        }
    }
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    simulation.finish()
}

fn run(text: &str, seed: u64) -> RunResult {
    run_checked(text, seed, false)
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

fn completed_s(result: &RunResult, name: &str) -> f64 {
    transfer(result, name).completed_s.unwrap_or_else(|| panic!("{name} is not complete"))
}

/// When the last transfer of a population or a flow was complete, all of them having begun at 0, s.
fn last_s(result: &RunResult) -> f64 {
    let of = |flow: &skyhop_results::FlowResult| match &flow.kind {
        FlowKind::Transfer(transfer) => transfer.completed_s.expect("it completes"),
        other => panic!("{} is {}", flow.name, other.name()),
    };
    result.flows.iter().map(of).fold(0.0, f64::max)
}

/// A metric of packets of an association: repeats among the packets of data.
fn again(association: &AssociationResult) -> f64 {
    association.segments_retransmitted as f64 / association.segments_sent as f64
}

/// So many flows of one association share so many bytes; all begin at once.
fn crowd(flows: u64, megabytes: u64, transport: &str, more: &str, seed: u64) -> RunResult {
    let size = megabytes * 1_000_000 / flows;
    let rest = format!(
        "count = {flows}\nstart_spread = \"0 s\"\ntraffic = {{ kind = \"bulk\", size = \"{size} B\" }}"
    );
    let text = path(900, more) + &down("file", &format!(", association = \"one\"{transport}"), &rest);
    let result = run(&text, seed);
    let delivered: u64 = result
        .flows
        .iter()
        .map(|flow| match &flow.kind {
            FlowKind::Transfer(transfer) => transfer.bytes_delivered,
            _ => 0,
        })
        .sum();
    assert_eq!((result.flows.len() as u64, delivered), (flows, size * flows));
    assert_eq!(result.associations[0].bytes_delivered, delivered);
    assert_eq!(result.associations[0].streams, flows);
    result
}

#[test]
fn many_flows_of_an_association_take_no_longer_than_one() {
    let mut one = None;
    for flows in [1, 10, 100, 1000] {
        let result = crowd(flows, 100, "", "", 1);
        let [association] = &result.associations[..] else { panic!("one association") };
        let (seconds, again, back) = (last_s(&result), again(association), association.return_bytes);
        println!("{flows} flows: {seconds:.3} s, {:.2} % again, {back} B back, {association:?}", again * 100.0);
        let (first_s, first_back) = *one.get_or_insert((seconds, back));
        assert!((3.86..1.3 * first_s).contains(&seconds), "{flows} flows: {seconds} s; one: {first_s} s");
        assert!(again <= 0.01, "{flows} flows: {again}");
        assert!((200..=3 * first_back).contains(&back), "{flows} flows: {back} B back; one: {first_back} B");
        assert_eq!(result.links[0].forward.bytes, association.forward_bytes);
    }
}
