//! Runs scenarios for the command line: loading, the progress bar, Ctrl-C.
//!
//! Follows [`skyhop_record::run_scenario`], which Python uses too, so that both give the same numbers and files.
//! Differs from it: errors have the scenario's line.
//! Leaves out printing.

use crate::failure::Failure;
use crate::progress::RunProgress;
use skyhop_emulate::signals::keep_ignored;
use skyhop_network::BuildError;
use skyhop_record::{Meta, RunError, RunOptions, run_scenario};
use skyhop_results::RunResult;
use skyhop_scenario::{Loaded, parse_set};
use skyhop_sim::{LegWays, Simulation};
use skyhop_units::Time;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// A finished run.
pub struct Done {
    /// Results of the run.
    pub result: RunResult,
    /// Further data for the summary.
    pub meta: Meta,
}

/// Loads a scenario with the values of `--set`; `-` is standard input.
pub fn load(file: &Path, sets: &[String]) -> Result<Loaded, Failure> {
    let sets = sets.iter().map(|s| parse_set(s)).collect::<Result<Vec<_>, _>>()?;
    match file == Path::new("-") {
        true => Ok(skyhop_scenario::load_stdin(&sets)?),
        false => Ok(skyhop_scenario::load(file, &sets)?),
    }
}

/// Builds the simulation without running it, to find errors. Returns the flows' paths through satellites at the start.
pub fn build(loaded: &Loaded, seed: u64) -> Result<LegWays, Failure> {
    let built = Simulation::new(&loaded.scenario, &loaded.files, seed);
    let mut simulation = built.map_err(|e| at_line(loaded, e))?;
    // The first event updates the satellites, if there are any.
    simulation.step();
    Ok(simulation.leg_ways())
}

/// Runs a scenario to its end; its tables and captures go into `out`.
pub fn run(loaded: &Loaded, seed: u64, out: Option<&Path>, progress: &RunProgress) -> Result<Done, Failure> {
    let options = RunOptions { seed: Some(seed), out: out.map(Path::to_path_buf), snaplen: None };
    let mut before = Time::ZERO;
    let done = run_scenario(loaded, &options, |simulation| {
        progress.advance(before.since(Time::ZERO), simulation.now().since(Time::ZERO));
        before = simulation.now();
        !interrupted()
    });
    match done {
        Ok((result, meta)) => Ok(Done { result, meta }),
        Err(RunError::Build(e)) => Err(at_line(loaded, e)),
        Err(RunError::Stopped) => Err(Failure::Interrupted),
        Err(e) => Err(Failure::Run(e.to_string())),
    }
}

/// Converts a build error into a failure with the line of the scenario, whose fault it is, or that of the elements that it names.
pub fn at_line(loaded: &Loaded, BuildError { key, message }: BuildError) -> Failure {
    Failure::Scenario(loaded.problem(&key, message).to_string())
}

/// Starts to listen for Ctrl-C, which then ends a run in order: the files written so far are removed. The caller must then poll
/// [`interrupted`], or only SIGKILL ends the process.
pub fn listen() {
    static LISTEN: Once = Once::new();
    // If the handler cannot be installed, an interrupt ends the process as by default.
    // Signals that were ignored are still ignored: nohup.
    LISTEN.call_once(|| {
        keep_ignored(|| drop(ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed))));
    });
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Returns true if Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
