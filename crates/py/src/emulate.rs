//! `skyhop.emulate`, in the process of `python/skyhop/_emulator.py`: an emulation, and the start of programs inside its hosts.
//!
//! Follows [`skyhop_emulate::session`], as the command does, with the same options by the same names.
//! Differs from the command: an error names the Python keyword of an option.
//! Leaves out the start of the process and the return of its results, which Python does.

use crate::{NoResult, ScenarioError, ScenarioText, Sets, read, table::Table};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError};
use pyo3::prelude::*;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use skyhop_emulate::session::{EmulationOptions, EmulationOutcome, emulate};
use skyhop_emulate::verdict::LatenessLimits;
use skyhop_emulate::{Error, inside, namespace, plan, signals};
use skyhop_record::{Folder, Tables, summary_json, summary_text, write_run};
use skyhop_scenario::Loaded;
use skyhop_units::{Bytes, Span};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

/// Keywords of `skyhop.emulate` in addition to the scenario.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Choices {
    seed: Option<u64>,
    at: Option<String>,
    offload: bool,
    late: String,
    memory: String,
    tcp: Option<String>,
    sysctls: Vec<(String, String)>,
    pcap: Option<PathBuf>,
    server: Vec<OsString>,
    folder: PathBuf,
    command: Vec<OsString>,
    devices: Vec<(String, String)>,
    inside: Vec<OsString>,
    out: Option<PathBuf>,
}

/// Emulates a scenario: the summary's JSON, the flows, the series and the exit code. The process still has one thread, and ends
/// with its `parent`.
#[pyfunction]
fn emulate_here(
    py: Python<'_>,
    file: PathBuf,
    text: Option<ScenarioText>,
    sets: Sets,
    choices: Choices,
    parent: i32,
) -> PyResult<(String, Table, Table, u8)> {
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    let loaded = py.detach(|| read(&file, text, &sets)).map_err(NoResult::Scenario)?;
    let out = choices.out.clone();
    let options = options(choices)?;
    let raised = |why| raised(&loaded, why);
    // This comes before other threads, which would keep their old privileges.
    let devices = plan::devices(&loaded.scenario, &options.devices);
    namespace::become_able(devices.first().map(|(_, _, device)| device.as_str())).map_err(raised)?;
    let broken = |why: &dyn std::fmt::Display| PyOSError::new_err(why.to_string());
    let folder = out.map(Folder::create).transpose().map_err(|e| broken(&e))?;
    signals::listen();
    if getppid().is_none_or(|now| now.as_raw_pid() != parent) {
        return Err(PyOSError::new_err("the process that requested the emulation has ended"));
    }
    let done = py.detach(|| emulate(&loaded, &options, |_, _| signals::so_far()));
    let EmulationOutcome { result, meta, exit_code, traces, .. } = done.map_err(raised)?;
    if let Some(mut folder) = folder {
        write_run(&mut folder, &result, &meta).map_err(|e| broken(&e))?;
        for (name, text) in &traces {
            folder.write(name, text.as_bytes()).map_err(|e| broken(&e))?;
        }
        folder.commit().map_err(|e| broken(&e))?;
    }
    let tables = Tables::new(&result);
    let flows = Table::new(tables.flows.schema(), vec![tables.flows]);
    let series = Table::new(tables.series_schema, tables.series);
    Ok((summary_text(&summary_json(&result, &meta)), flows, series, exit_code))
}

fn options(choices: Choices) -> PyResult<EmulationOptions> {
    let Choices {
        seed,
        at,
        offload,
        late,
        memory,
        tcp,
        sysctls,
        pcap,
        server,
        folder,
        command,
        devices,
        inside,
        ..
    } = choices;
    let path = |(name, value): (String, String)| match namespace::parameter_path(&name) {
        Ok(path) => Ok((path, value)),
        Err(why) => Err(wrong("sysctls", why + "; expected one such as net.ipv4.tcp_window_scaling")),
    };
    Ok(EmulationOptions {
        seed,
        at,
        offload,
        limits: LatenessLimits { late: quantity::<Span>("late", &late)?, ..LatenessLimits::default() },
        memory: quantity::<Bytes>("memory", &memory)?.get() as usize,
        tcp,
        sysctls: sysctls.into_iter().map(path).collect::<PyResult<_>>()?,
        pcap,
        server,
        folder: Some(folder),
        command,
        shell: false,
        devices,
        inside,
    })
}

fn quantity<T: FromStr<Err: std::fmt::Display>>(keyword: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|why: T::Err| wrong(keyword, why.to_string()))
}

fn wrong(keyword: &str, why: String) -> PyErr {
    ScenarioError::new_err(format!("{keyword}: {why}"))
}

/// Converts an error into a Python exception. Options of the command are keywords here.
fn raised(loaded: &Loaded, why: Error) -> PyErr {
    match why {
        Error::Scenario(key, why) => match key.strip_prefix("--") {
            Some("") => wrong("command", why),
            Some(option) => wrong(&keyword(option), why),
            None => NoResult::Scenario(loaded.problem(&key, why).into()).into(),
        },
        Error::Refused(why) => ScenarioError::new_err(why),
        Error::Command(why, code) => match (why.strip_prefix("--").unwrap_or(&why).to_owned(), code) {
            (why, 127) => PyFileNotFoundError::new_err(why),
            (why, 126) => PyPermissionError::new_err(why),
            (why, _) => PyOSError::new_err(why),
        },
        why => PyOSError::new_err(why.to_string()),
    }
}

/// The keyword of an option, which may be followed by the name of the one with the wrong value.
fn keyword(option: &str) -> String {
    let (name, rest) = option.split_once(' ').unwrap_or((option, ""));
    let name = match name {
        "device" => "devices",
        "sysctl" => "sysctls",
        other => other,
    };
    format!("{name} {rest}").trim_end().to_owned()
}

/// Runs a process that begins inside a host. Returns its exit code.
#[pyfunction]
fn begin_inside(arguments: Vec<OsString>) -> u8 {
    inside::main(arguments.into_iter())
}

/// Adds these functions to the extension module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INSIDE", inside::ARGUMENT)?;
    module.add_function(wrap_pyfunction!(emulate_here, module)?)?;
    module.add_function(wrap_pyfunction!(begin_inside, module)?)
}
