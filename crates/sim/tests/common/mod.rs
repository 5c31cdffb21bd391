//! Runs of a scenario's text, as most tests of the simulator need them.
//!
//! Differs from `skyhop_record::run_scenario`: nothing is written, and packets are counted again at the end, or after every event.
//! Leaves out scenarios in files and runs that a test changes on the way.

#![allow(dead_code, reason = "each test file uses a part")]

use skyhop_results::RunResult;
use skyhop_sim::Simulation;

/// The thesis's path (HT figure 4.22): 100 Mbit/s and 20 ms, then 10 and 1 Mbit/s and 580 ms between two gateways. `all` are keys of
/// the scenario, `internet` and `satellite` more keys of these links.
pub fn between_gateways(duration_s: u32, all: &str, internet: &str, satellite: &str) -> String {
    format!(
        r#"
        duration = "{duration_s} s"
        {all}
        [links.internet]
        between = ["server", "hub"]
        rate = "100 Mbit/s"
        delay = "10 ms"
        {internet}
        [links.satellite]
        between = ["hub", "terminal"]
        rate = "10 Mbit/s"
        delay = "290 ms"
        queue = {{ kind = "drop-tail", limit = "500 packets" }}
        reverse = {{ rate = "1 Mbit/s" }}
        {satellite}
        "#
    )
}

/// A link of 2 ms from the terminal's gateway to a user.
pub fn lan(user: &str) -> String {
    format!(
        "[links.lan-{user}]\nbetween = [\"terminal\", \"{user}\"]\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n"
    )
}

fn simulation(text: &str, seed: u64) -> Simulation {
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap_or_else(|e| panic!("{e}"))
}

/// Results of a run, in which no packet was unaccounted for at the end.
pub fn run(text: &str, seed: u64) -> RunResult {
    let mut simulation = simulation(text, seed);
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    simulation.finish()
}

/// Results of a run, in which no packet was unaccounted for after any event.
pub fn run_by_steps(text: &str, seed: u64) -> RunResult {
    let mut simulation = simulation(text, seed);
    while simulation.step() {
        simulation.check_conservation().unwrap();
    }
    simulation.finish()
}
