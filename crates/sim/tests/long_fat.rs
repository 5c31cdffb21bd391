//! A flow over a long fat pipe, compared with ns-2: 10 Mbit/s, RTT 600 ms, a queue of 721 packets, 1000 s (case a of speed.csv).
//!
//! Slow start overshoots by a thousand segments and the round trip outgrows the timer, so that what comes after a timeout that came
//! too early decides over the next ten minutes.
//! Leaves out the comparison of speed, which the benchmark has.

use crate::testing;
use skyhop_results::FlowKind;
use skyhop_sim::Simulation;

fn reference_mbps() -> Option<f64> {
    let text = testing::shared_text("reference/ns2/speed.csv")?;
    let row = text.lines().find(|line| line.starts_with("a_geo_1flow"))?;
    row.rsplit(',').next()?.parse().ok()
}

fn mbps(variant: &str) -> f64 {
    let text = format!(
        r#"
        host = "1999"
        duration = "1000 s"
        [links.left]
        rate = "100 Mbit/s"
        delay = "1 ms"
        queue = {{ kind = "drop-tail", limit = "100000 packets" }}
        [links.satellite]
        rate = "10 Mbit/s"
        delay = "298 ms"
        queue = {{ kind = "drop-tail", limit = "721 packets" }}
        [links.right]
        rate = "100 Mbit/s"
        delay = "1 ms"
        queue = {{ kind = "drop-tail", limit = "100000 packets" }}
        [[flows]]
        path = ["s", "left", "satellite", "right", "k"]
        traffic = {{ kind = "bulk" }}
        [flows.transport]
        kind = "tcp"
        variant = "{variant}"
        mss = "1000 B"
        window = "2 MB"
        rto_initial = "3 s"
        "#
    );
    let loaded =
        skyhop_scenario::parse(text.as_bytes(), "long_fat.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap();
    simulation.run_until(simulation.end());
    let FlowKind::Transfer(transfer) = simulation.finish().flows[0].kind.clone() else { panic!() };
    println!("{variant:<14} {:.3} Mbit/s, {} timeouts", transfer.goodput_bps / 1e6, transfer.timeouts);
    transfer.goodput_bps / 1e6
}

#[test]
fn goodput_over_a_long_fat_pipe_is_that_of_ns2() {
    let Some(theirs) = reference_mbps() else { return };
    for (variant, tolerance) in [("sack1", 0.002), ("sack", 0.01), ("sack-newreno", 0.01)] {
        let ours = mbps(variant);
        assert!((ours / theirs - 1.0).abs() < tolerance, "{variant}: {ours} Mbit/s, ns-2 {theirs}");
    }
}
