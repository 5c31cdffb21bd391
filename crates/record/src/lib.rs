//! What a run leaves behind: a summary, tables, captures, charts and a report.
//!
//! A map of the code: [`session`] runs a scenario and records it, [`summary`] is `summary.json`, [`tables`] the parquet
//! files and Python's tables, [`capture`] and [`pcapng`] the packets, [`rewrite`] changes captures from elsewhere,
//! [`chart`] and [`report`] what people look at, [`folder`] how any of it reaches a disk; `pace` says when a run's caller is
//! asked whether to go on.
//! Differs from a log: results are handed over whole, and a folder appears whole or not at all.
//! Leaves out finding anything out, which `skyhop-sim` does. Without the feature `tables` there are no runs and no tables.

pub mod capture;
pub mod chart;
pub mod folder;
#[cfg(feature = "tables")]
mod pace;
pub mod pcapng;
pub mod report;
pub mod rewrite;
#[cfg(feature = "tables")]
pub mod session;
pub mod summary;
#[cfg(feature = "tables")]
pub mod tables;

pub use capture::{CaptureError, CaptureFile};
#[cfg(feature = "png")]
pub use chart::png::{PngError, png};
pub use chart::{Axis, Chart, Mark, map::Map};
pub use folder::{Folder, FolderError, FolderFile, write_all};
pub use pcapng::{PcapngError, PcapngWriter};
pub use report::{Report, Section, Table, report_html};
#[cfg(feature = "tables")]
pub use session::{RecordError, RunError, RunOptions, run_scenario, write_run};
pub use summary::{Meta, summary_json, summary_text};
#[cfg(feature = "tables")]
pub use tables::{TableError, Tables, write_flows_parquet, write_series_parquet};
