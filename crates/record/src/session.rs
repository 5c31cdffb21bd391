//! Runs a loaded scenario and records its results, for the command and for Python.
//!
//! The caller is asked every few ten milliseconds whether to continue, for its progress bar and Ctrl-C.
//! Differs from the simulator: files are written and the wall clock is read, for `wall_s` and for the pace of the calls.
//! Leaves out several runs at once.

use crate::capture::{CaptureError, CaptureFile};
use crate::chart::track::tracks;
use crate::folder::{Folder, FolderError};
use crate::pace::PartLimits;
use crate::summary::{Meta, summary_json, summary_text};
use crate::tables::{TableWriteError, Tables, write_flows_parquet, write_series_parquet};
use skyhop_network::BuildError;
use skyhop_results::RunResult;
use skyhop_scenario::Loaded;
use skyhop_sim::Simulation;
use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

/// Options of a run beside its scenario.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Seed; the scenario's if `None`.
    pub seed: Option<u64>,
    /// Results folder; if `None`, no files are written, not even captures.
    pub out: Option<PathBuf>,
    /// Largest number of bytes of each packet that a capture keeps; all if `None`.
    pub snaplen: Option<u32>,
}

/// The error for a run's files that could not be written.
#[derive(Debug)]
pub enum RecordError {
    /// A file or the folder could not be written.
    Folder(FolderError),
    /// A table could not be written.
    Table(TableWriteError),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Folder(e) => e.fmt(f),
            RecordError::Table(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<FolderError> for RecordError {
    fn from(e: FolderError) -> Self {
        RecordError::Folder(e)
    }
}

impl From<TableWriteError> for RecordError {
    fn from(e: TableWriteError) -> Self {
        RecordError::Table(e)
    }
}

/// The error for a run without results.
#[derive(Debug)]
pub enum RunError {
    /// The scenario cannot be built.
    Build(BuildError),
    /// The results cannot be written.
    Record(RecordError),
    /// The capture cannot be written.
    Capture(CaptureError),
    /// The caller stopped the run.
    Stopped,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Build(e) => e.fmt(f),
            RunError::Record(e) => e.fmt(f),
            RunError::Capture(e) => e.fmt(f),
            RunError::Stopped => f.write_str("the run was stopped"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<FolderError> for RunError {
    fn from(e: FolderError) -> Self {
        RunError::Record(RecordError::Folder(e))
    }
}

/// Writes `flows.parquet`, `series.parquet`, a picture of each moving terminal (`track-<name>.svg`) and last `summary.json` into
/// a folder, which the caller commits.
///
/// The summary is last because a folder's files are moved in the order in which they were begun: if the summary is new, so are
/// the tables.
pub fn write_run(folder: &mut Folder, result: &RunResult, meta: &Meta) -> Result<(), RecordError> {
    let tables = Tables::new(result);
    write_flows_parquet(folder.file("flows.parquet")?, &tables)?.finish()?;
    write_series_parquet(folder.file("series.parquet")?, &tables)?.finish()?;
    for (name, svg) in tracks(result) {
        folder.write(&format!("track-{name}.svg"), svg.as_bytes())?;
    }
    folder.write("summary.json", summary_text(&summary_json(result, meta)).as_bytes())?;
    Ok(())
}

/// Runs a scenario to its end and, if there is a folder, writes the results there.
///
/// `go_on` is called at intervals with the state of the run; if it returns false nothing is written and the error is
/// [`RunError::Stopped`].
#[expect(
    clippy::disallowed_methods,
    reason = "for `wall_s`, and for when the caller is asked; nothing else hangs on it"
)]
pub fn run_scenario(
    loaded: &Loaded,
    options: &RunOptions,
    mut go_on: impl FnMut(&Simulation) -> bool,
) -> Result<(RunResult, Meta), RunError> {
    let started = Instant::now();
    let seed = options.seed.unwrap_or(loaded.scenario.seed);
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).map_err(RunError::Build)?;
    let mut folder = options.out.as_ref().map(Folder::create).transpose()?;
    let capture = match &mut folder {
        Some(folder) if !simulation.captured().is_empty() => {
            let file = folder.file("packets.pcapng")?;
            let capture = CaptureFile::new(file, simulation.captured(), options.snaplen);
            Some(capture.map_err(RunError::Capture)?)
        }
        _ => None,
    };
    if let Some(capture) = &capture {
        simulation.set_capture(capture.tap());
    }
    // The first event updates the satellites, if there are any.
    simulation.step();
    let ways = simulation.leg_ways();
    let mut pace = PartLimits::new();
    let mut began = Instant::now();
    while let Some(done) = pace.share(simulation.now(), || simulation.step().then(|| simulation.now())) {
        pace.learn(done, began.elapsed());
        if !go_on(&simulation) {
            return Err(RunError::Stopped);
        }
        if capture.as_ref().is_some_and(CaptureFile::failed) {
            break;
        }
        began = Instant::now();
    }
    let mut result = simulation.finish();
    if let Some(capture) = capture {
        capture.finish().map_err(RunError::Capture)?;
    }
    result.scenario.clone_from(&loaded.name);
    let paths = loaded.path_warnings(&|flow, leg| ways.get(&(flow, leg)).cloned());
    result.warnings.splice(0..0, loaded.warnings.iter().chain(&paths).map(ToString::to_string));
    let sets = loaded.sets.iter().map(|(path, value)| format!("{path}={value}")).collect();
    let meta = Meta {
        scenario_sha256: loaded.sha256.clone(),
        wall_s: started.elapsed().as_secs_f64(),
        sets,
        resolved: serde_json::to_value(loaded.written()).unwrap_or_default(),
        emulation: serde_json::Value::Null,
    };
    if let Some(mut folder) = folder {
        write_run(&mut folder, &result, &meta).map_err(RunError::Record)?;
        folder.commit()?;
    }
    Ok((result, meta))
}
