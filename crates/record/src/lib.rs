//! The output of a run: a summary, tables, captures, charts and a report.
//!
//! A map of the code: [`session`] runs a scenario and records it; [`summary`] is `summary.json`; [`tables`] the parquet files and
//! Python's tables; [`capture`] and [`pcapng`] the packets; [`rewrite`] changes existing captures; [`chart`] and [`report`] are
//! for people; [`folder`] writes to disk; `pace` decides how often a run's caller is asked whether to continue.
//! Differs from a log: results are returned at the end, and a folder appears completely or not at all.
//! Leaves out the simulation, which is in `skyhop-sim`. Without the feature `tables` there are no runs and no tables.

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
pub use chart::{Chart, ChartAxis, Mark, map::Map};
pub use folder::{Folder, FolderError, FolderFile, write_all};
pub use pcapng::{LinkType, PcapngError, PcapngWriter};
pub use report::{HtmlReport, ReportTable, Section, report_html};
#[cfg(feature = "tables")]
pub use session::{RecordError, RunError, RunOptions, run_scenario, write_run};
pub use summary::{Meta, summary_json, summary_text};
#[cfg(feature = "tables")]
pub use tables::{TableWriteError, Tables, write_flows_parquet, write_series_parquet};
