//! Sweeps for Python: the folder, its parts, and parts that are run elsewhere.
//!
//! Follows `skyhop_sweep`, as the command does, so that both give the same bytes in the same folder.
//! Differs from it: a part may be run in another process and returned as the bytes of its file.
//! Leaves out the choice of workers; `python/skyhop/_sweep.py` has threads and Dask.

use crate::table::Table;
use crate::{ScenarioError, ScenarioText, Sets, read};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use skyhop_scenario::{Files, Loaded};
use skyhop_sweep::{ColumnValues, Halt, Plan, Shard, Store, StoreError};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

fn wrong(error: impl Display) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

fn failed(error: StoreError) -> PyErr {
    match error {
        StoreError::Io { .. } | StoreError::Damaged { .. } => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// A sweep and its folder, which no other process may use at the same time.
#[pyclass(frozen, module = "skyhop._skyhop")]
pub struct SweepFolder {
    loaded: Loaded,
    plan: Plan,
    store: Store,
}

#[pymethods]
impl SweepFolder {
    #[new]
    fn new(
        file: PathBuf,
        text: Option<ScenarioText>,
        sets: Sets,
        out: Option<PathBuf>,
        shard: &str,
        most_runs: u64,
    ) -> PyResult<Self> {
        let loaded = read(&file, text, &sets).map_err(wrong)?;
        let plan = Plan::new(&loaded).map_err(wrong)?;
        let runs = plan.runs().unwrap_or(u64::MAX);
        if runs > most_runs {
            return Err(PyValueError::new_err(format!(
                "{runs} runs are more than {most_runs}; see `most_runs`"
            )));
        }
        let shard: Shard = shard.parse().map_err(PyValueError::new_err)?;
        let out = out.unwrap_or_else(|| PathBuf::from(format!("{}-sweep", loaded.name)));
        let store = Store::open(&out, &plan, shard).map_err(failed)?;
        Ok(SweepFolder { loaded, plan, store })
    }

    /// Files of parts that were damaged, and are run again.
    fn damaged(&self) -> Vec<PathBuf> {
        self.store.damaged().to_vec()
    }

    /// Numbers of the shard's parts that are not finished.
    fn missing(&self) -> Vec<u64> {
        self.store.missing()
    }

    /// First point of a part, and the end of its points, exclusive.
    fn units_of(&self, part: u64) -> (u64, u64) {
        let units = self.store.units_of(part);
        (units.start, units.end)
    }

    /// Number of points of this shard, and of those in finished parts.
    fn progress(&self) -> (u64, u64) {
        self.store.progress()
    }

    /// Contents of the scenario's files by name, which another process needs to run a part.
    fn files<'py>(&self, py: Python<'py>) -> BTreeMap<String, Bound<'py, PyBytes>> {
        self.loaded.files.iter().map(|(name, bytes)| (name.clone(), PyBytes::new(py, bytes))).collect()
    }

    /// Stores a part from the bytes that `run_part` returned.
    fn write(&self, py: Python<'_>, part: u64, bytes: &[u8]) -> PyResult<()> {
        py.detach(|| self.store.write_bytes(part, bytes)).map_err(failed)
    }

    /// Runs the missing parts with threads, and calls `told` at intervals with the number of runs done.
    #[expect(clippy::disallowed_methods, reason = "Python is asked by the clock whether to go on")]
    fn run(&self, py: Python<'_>, threads: usize, told: Bound<'_, PyAny>) -> PyResult<()> {
        let told = told.unbind();
        let interrupt: Mutex<Option<PyErr>> = Mutex::new(None);
        let done_since = AtomicU64::new(0);
        let last = Mutex::new(Instant::now());
        let halted = py.detach(|| {
            skyhop_sweep::sweep(&self.plan, &self.store, threads, &|done| {
                done_since.fetch_add(done, Ordering::Relaxed);
                // Python is called ten times a second and not for every run; while one thread calls, the others work.
                let Ok(mut last) = last.try_lock() else { return true };
                if last.elapsed().as_millis() < 100 {
                    return true;
                }
                let runs = done_since.swap(0, Ordering::Relaxed);
                let answer = Python::attach(|py| told.call1(py, (runs,)).and_then(|_| py.check_signals()));
                *last = Instant::now();
                match answer {
                    Ok(()) => true,
                    Err(e) => {
                        if let Ok(mut interrupt) = interrupt.lock() {
                            interrupt.get_or_insert(e);
                        }
                        false
                    }
                }
            })
        });
        match halted {
            // Reports the runs since the last call, so that a progress bar reaches its end.
            Ok(()) => match done_since.into_inner() {
                0 => Ok(()),
                runs => told.call1(py, (runs,)).map(drop),
            },
            Err(Halt::Store(e)) => Err(failed(e)),
            Err(Halt::Stopped) => match interrupt.into_inner() {
                Ok(Some(e)) => Err(e),
                _ => Err(PyValueError::new_err("the sweep was stopped")),
            },
        }
    }

    /// Merges the finished parts. Returns the table's path and number of rows.
    fn merge(&self, py: Python<'_>) -> PyResult<(PathBuf, u64)> {
        py.detach(|| self.store.merge()).map_err(failed)
    }

    /// Returns true if every part of every shard is finished.
    fn complete(&self) -> bool {
        self.store.complete()
    }
}

/// Runs points of a scenario that is given as text. Returns the bytes of the part's file.
#[pyfunction]
pub fn run_part<'py>(
    py: Python<'py>,
    text: &[u8],
    name: &str,
    sets: Sets,
    files: BTreeMap<String, Vec<u8>>,
    points: (u64, u64),
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py.detach(|| -> PyResult<Vec<u8>> {
        let files = files.into_iter().map(|(name, bytes)| (name, bytes.into())).collect::<Files>();
        let loaded = skyhop_scenario::parse_with(text, name, &sets, files).map_err(wrong)?;
        let plan = Plan::new(&loaded).map_err(wrong)?;
        let rows = plan.run(points.0..points.1, |_| true);
        let rows = rows.ok_or_else(|| PyValueError::new_err("the sweep was stopped"))?;
        skyhop_sweep::part_bytes(&rows).map_err(PyValueError::new_err)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The table in a Parquet file that a sweep has written.
#[pyfunction]
pub fn read_table(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    let (schema, batches) = py.detach(|| skyhop_sweep::read_table(&path)).map_err(failed)?;
    Ok(Table::new(schema, batches))
}

/// The values of a column.
#[derive(FromPyObject)]
pub enum Values {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

/// Analyses a full factorial design. Returns its numbers as JSON, its findings, and its tables as text and in Markdown.
#[pyfunction]
pub fn factorial(
    columns: Vec<(String, Values)>,
    response: &str,
    factors: Vec<String>,
    confidence: f64,
) -> PyResult<(String, Vec<String>, String, String)> {
    let columns: Vec<(String, ColumnValues)> = columns
        .into_iter()
        .map(|(name, values)| match values {
            Values::Numbers(numbers) => (name, ColumnValues::Numbers(numbers)),
            Values::Texts(texts) => (name, ColumnValues::Texts(texts)),
        })
        .collect();
    let found = skyhop_sweep::factorial(&columns, response, &factors, confidence);
    let found = found.map_err(|e| PyValueError::new_err(e.to_string()))?;
    let json = serde_json::to_string(&found).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok((json, found.findings(), found.text(), found.markdown()))
}
