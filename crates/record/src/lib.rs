//! What a run leaves behind: a summary, tables, captures, charts and a report.
//!
//! A map of the code: [`session`] runs a scenario and records it, [`summary`] is `summary.json`, [`tables`] the parquet
//! files and Python's tables, [`capture`] and [`pcapng`] the packets, [`rewrite`] changes captures from elsewhere,
//! [`chart`] and [`report`] what people look at, [`folder`] how any of it reaches a disk; `pace` says when a run's caller is
//! asked whether to go on.
//! Differs from a log: results are handed over whole, and a folder appears whole or not at all.
//! Leaves out finding anything out, which `skyhop-sim` does.

pub mod capture;
pub mod chart;
pub mod folder;
mod pace;
pub mod pcapng;
pub mod report;
pub mod rewrite;
pub mod session;
pub mod summary;
pub mod tables;

pub use capture::{CaptureError, CaptureFile};
#[cfg(feature = "png")]
pub use chart::png::{PngError, png};
pub use chart::{Axis, Chart, Mark, map::Map};
pub use folder::{Folder, FolderError, FolderFile, write_all};
pub use pcapng::{PcapngError, PcapngWriter};
pub use report::{Report, Section, Table, report_html};
pub use session::{RunError, RunOptions, run_scenario};
pub use summary::{Meta, summary_json, summary_text};
pub use tables::{
    FLOW_METRICS, FlowMetric, FlowNumber, TableError, Tables, write_flows_parquet, write_series_parquet,
};

use skyhop_sim::results::RunResult;
use std::fmt;

/// Why a run's files could not be written.
#[derive(Debug)]
pub enum RecordError {
    /// A file or the folder could not be written.
    Folder(FolderError),
    /// A table could not be written.
    Table(TableError),
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

impl From<TableError> for RecordError {
    fn from(e: TableError) -> Self {
        RecordError::Table(e)
    }
}

/// Writes `flows.parquet`, `series.parquet` and, last, `summary.json` into a folder that the caller commits.
///
/// The summary comes last because a folder's files move in the order in which they were made:
/// whoever sees the new summary sees the new tables.
pub fn write_run(folder: &mut Folder, result: &RunResult, meta: &Meta) -> Result<(), RecordError> {
    let tables = Tables::new(result);
    write_flows_parquet(folder.file("flows.parquet")?, &tables)?.finish()?;
    write_series_parquet(folder.file("series.parquet")?, &tables)?.finish()?;
    folder.write("summary.json", summary_text(&summary_json(result, meta)).as_bytes())?;
    Ok(())
}
