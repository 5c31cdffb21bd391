//! The relay's path as a scenario, and a simulated transfer over it.
//!
//! Follows `scenarios/geo.toml` for the shape of the path; the errors are many times those of a real one.
//! Differs: an altered packet is lost.
//! Leaves out the association, whose 28 bytes per packet slow the link instead.

use skyhop_results::FlowKind;
use skyhop_sim::Simulation;

/// The same path and transfer, simulated: seconds from connect to the last byte acknowledged.
pub fn simulated(bytes: usize, seed: u64) -> f64 {
    // 1472 bytes at this rate take as long as the 1500 of a sealed packet at 100 Mbit/s; 0.01 + 0.99 x 0.01 are lost.
    let text = format!(
        r#"
        host = "1999"
        duration = "{} s"
        [links.satellite]
        rate = "98.133333 Mbit/s"
        delay = "300 ms"
        queue = {{ kind = "drop-tail", limit = "7500000 B" }}
        loss = {{ kind = "packets", probability = 0.0199 }}
        reordering = {{ probability = 0.01, delay = "1500 us" }}
        duplication = {{ probability = 0.001, delay = "1 ms" }}
        [[flows]]
        name = "transfer"
        path = ["server", "satellite", "user"]
        transport = {{ kind = "stp", packet_size = "1444 B", granularity = "1 ms" }}
        traffic = {{ kind = "bulk", size = "{bytes} B" }}
        "#,
        60 + bytes / 1_000_000,
    );
    let loaded =
        skyhop_scenario::parse(text.as_bytes(), "parity.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
    simulation.without_series();
    simulation.run_until(simulation.end());
    let result = simulation.finish();
    let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("a transfer") };
    assert_eq!(transfer.bytes_delivered, bytes as u64);
    transfer.completed_s.expect("it completes")
}
