//! The extension module `skyhop._skyhop`: runs, emulations, satellites, their tables and streams of STP for Python.
//!
//! Follows `skyhop_record::run_scenario`, as the command does, so that both give the same numbers and files.
//! Differs from it: a `RunError` becomes a Python exception and Ctrl-C a `KeyboardInterrupt`.
//! Leaves out all logic, and the convenient interface, which is in `python/skyhop`.

#[cfg(target_os = "linux")]
mod emulate;
mod space;
#[cfg(target_os = "linux")]
mod stp;
mod sweep;
mod table;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use skyhop_record::{RunError, RunOptions, Tables, run_scenario, summary_json, summary_text};
use skyhop_scenario::{Errors, Given, Loaded, load, load_given};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use table::Table;

create_exception!(
    skyhop,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be run. The text has a line for each mistake: file, line, key, what is allowed."
);

/// Overrides of the file: dotted paths, and values as in the file.
type Sets = Vec<(String, String)>;

/// A scenario that is not in a file: its text, true if a person wrote it, contents of its files, and the folder of other files.
type ScenarioText = (String, bool, BTreeMap<String, Vec<u8>>, PathBuf);

/// The scenario in `file`, or in `text`, which errors then call `file`.
fn read(file: &Path, text: Option<ScenarioText>, sets: &Sets) -> Result<Loaded, Errors> {
    let Some((text, has_lines, files, base)) = text else { return load(file, sets) };
    let files = files.into_iter().map(|(name, bytes)| (name, bytes.into())).collect();
    load_given(Given { text, name: file.display().to_string(), has_lines, files, base }, sets)
}

/// Runs a scenario. Returns the summary's JSON, the flows and the series.
#[pyfunction]
#[pyo3(signature = (file, text, sets, seed=None, out=None, progress=None))]
fn run(
    py: Python<'_>,
    file: PathBuf,
    text: Option<ScenarioText>,
    sets: Sets,
    seed: Option<u64>,
    out: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Table, Table)> {
    // Python's lock is taken only between two slices, so that other threads can run.
    let mut interrupt = None;
    let outcome = py.detach(|| -> Result<_, NoResult> {
        let loaded = read(&file, text, &sets).map_err(NoResult::Scenario)?;
        let options = RunOptions { seed, out, snaplen: None };
        let (result, meta) = run_scenario(&loaded, &options, |simulation| {
            let share = simulation.now().as_secs_f64() / simulation.end().as_secs_f64();
            interrupt = Python::attach(|py| {
                py.check_signals().and_then(|()| match &progress {
                    Some(told) => told.call1(py, (share.min(1.0),)).map(drop),
                    None => Ok(()),
                })
            })
            .err();
            interrupt.is_none()
        })
        .map_err(|error| match error {
            // A mistake that only building finds has a place in the scenario too.
            RunError::Build(e) => NoResult::Scenario(loaded.problem(&e.key, e.message).into()),
            other => NoResult::Run(other),
        })?;
        Ok((summary_text(&summary_json(&result, &meta)), Tables::new(&result)))
    });
    match outcome {
        Ok((summary, tables)) => {
            let flows = Table::new(tables.flows.schema(), vec![tables.flows]);
            Ok((summary, flows, Table::new(tables.series_schema, tables.series)))
        }
        Err(failure) => Err(interrupt.unwrap_or_else(|| failure.into())),
    }
}

/// Checks a scenario. Returns warnings; raises `ScenarioError` if it cannot be run.
#[pyfunction]
fn check(py: Python<'_>, file: PathBuf, text: Option<ScenarioText>, sets: Sets) -> PyResult<Vec<String>> {
    let Loaded { warnings, .. } = py.detach(|| read(&file, text, &sets)).map_err(NoResult::Scenario)?;
    Ok(warnings.iter().map(ToString::to_string).collect())
}

/// The reason why there is no result.
enum NoResult {
    Scenario(Errors),
    Run(RunError),
}

impl From<NoResult> for PyErr {
    fn from(failure: NoResult) -> PyErr {
        match failure {
            NoResult::Scenario(e) => ScenarioError::new_err(e.to_string()),
            NoResult::Run(e) => PyOSError::new_err(e.to_string()),
        }
    }
}

#[pymodule]
fn _skyhop(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<Table>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    #[cfg(target_os = "linux")]
    emulate::add(module)?;
    #[cfg(target_os = "linux")]
    stp::add(module)?;
    module.add_function(wrap_pyfunction!(space::place, module)?)?;
    module.add_function(wrap_pyfunction!(space::delay, module)?)?;
    module.add_function(wrap_pyfunction!(space::passes, module)?)?;
    module.add_function(wrap_pyfunction!(space::look, module)?)?;
    module.add_function(wrap_pyfunction!(space::tables, module)?)?;
    module.add_function(wrap_pyfunction!(space::survey, module)?)?;
    module.add_function(wrap_pyfunction!(space::snapshot, module)?)?;
    module.add_class::<sweep::SweepFolder>()?;
    module.add_function(wrap_pyfunction!(sweep::run_part, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::factorial, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::read_table, module)?)
}
