//! A transfer over several connections side by side (HT 4.1.6), with and without shared state (RFC 9040).
//!
//! Follows the thesis's reasoning: n connections grow by n segments a round trip and lose an n-th of their window at a loss.
//! Differs: one flow, whose numbers are those of all its connections.
//! Leaves out striping over several paths.

use crate::common;
use skyhop_results::{FlowKind, RunResult, TransferResult};

fn run(connections: u32, size: &str, link: &str, tcp: &str) -> (TransferResult, RunResult) {
    let text = format!(
        "host = \"1999\"\nduration = \"300 s\"\n[links.sat]\nrate = \"10 Mbit/s\"\ndelay = \"300 ms\"\n\
         queue = {{ kind = \"drop-tail\", limit = \"500 packets\" }}\n{link}\n\
         [[flows]]\nname = \"f\"\npath = [\"a\", \"sat\", \"b\"]\n\
         transport = {{ kind = \"tcp\", variant = \"sack\", mss = \"1000 B\", window = \"1 MB\"{tcp} }}\n\
         traffic = {{ kind = \"bulk\", connections = {connections}{size} }}\n"
    );
    let result = common::run(&text, 1);
    let FlowKind::Transfer(transfer) = result.flows[0].kind.clone() else { panic!("not a transfer") };
    (transfer, result)
}

const LOSSY: &str =
    "loss = { kind = \"packets\", probability = 0.001 }\nreverse = { loss = { kind = \"none\" } }";

#[test]
fn n_connections_have_n_times_what_losses_leave_to_one() {
    // Far below the link's rate each connection has a rate given by its own losses.
    let one = run(1, "", LOSSY, "").0.goodput_bps;
    for n in [2, 4, 8] {
        let times = run(n, "", LOSSY, "").0.goodput_bps / one;
        println!("{n} connections: {times:.2} times one, which has {one:.0}");
        assert!((0.75 * n as f64..1.3 * n as f64).contains(&times), "{n}: {times}");
    }
}

#[test]
fn parts_make_the_whole_and_windows_are_added() {
    let (transfer, result) = run(3, ", size = \"1000001 B\"", "", "");
    assert_eq!(transfer.bytes_delivered, 1_000_001);
    let last = |metric: &str| {
        let series = result.series.iter().find(|s| s.metric == metric).unwrap();
        series.samples.last().unwrap().1
    };
    assert!(last("bytes_acked") <= 1_000_001.0 && last("bytes_acked") > 900_000.0);
    let first = result.series.iter().find(|s| s.metric == "cwnd_bytes").unwrap().samples[0].1;
    assert_eq!(first, 3.0 * 2000.0, "three initial windows of two segments");
    // Slow start from six segments saves a round trip or two of one that begins with two.
    let alone = run(1, ", size = \"1000001 B\"", "", "").0.completed_s.unwrap();
    let saved = alone - transfer.completed_s.unwrap();
    assert!((0.5..1.9).contains(&saved), "{saved} s");
}

#[test]
fn a_number_that_is_none_is_refused() {
    for n in ["0", "1001", "\"4\""] {
        let text = format!(
            "host = \"1999\"\nduration = \"1 s\"\n[links.l]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flows]]\npath = [\"a\", \
                \"l\", \"b\"]\n\
             traffic = {{ kind = \"bulk\", connections = {n} }}\n"
        );
        let error = skyhop_scenario::parse(text.as_bytes(), "s.toml", &[]).unwrap_err().to_string();
        assert!(
            error.contains("flows.0.traffic.connections: expected a whole number from 1 to 1000"),
            "{error}"
        );
    }
}
