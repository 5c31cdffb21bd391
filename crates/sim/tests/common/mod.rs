//! Runs of a scenario's text, as most tests of the simulator need them.
//!
//! Differs from `skyhop_record::run_scenario`: nothing is written, and packets are counted again at the end, or after every event.
//! Leaves out scenarios in files and runs that a test changes on the way.

#![allow(dead_code, reason = "each test file uses a part")]

use skyhop_results::RunResult;
use skyhop_sim::Simulation;

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
