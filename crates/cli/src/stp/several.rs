//! Several files of one `skyhop stp send`: checked before the first packet, then a few at a time, in one association.
//!
//! Follows cp for what becomes of the others if one file fails: they are sent.
//! Differs: a file that is not there is found before any is sent; each has a connection of its own, so that what ends a transfer (a
//! full disk, a refused name) ends no other.
//! Leaves out sharing a path's rate among the connections, which each find it for themselves.

use super::names::shown;
use super::report::{Bar, bit_rate};
use super::upload::{FileSource, SentFile, UnsentFile, UploadTarget, send_file};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// The manner of sending.
pub struct Manner {
    /// Number of files sent at the same time.
    pub at_once: usize,
    /// True if only the part is sent that the receiver does not hold.
    pub resume: bool,
    /// True if the results are printed as JSON.
    pub json: bool,
    /// True if only results and failures are printed.
    pub quiet: bool,
}

/// The files at these paths; a single one may have another name at the receiver.
///
/// # Errors
///
/// Any of them cannot be sent, or two would have one name at the receiver. All reasons are named, one in a line.
pub fn sources(paths: &[PathBuf], name: Option<&str>, resume: bool) -> Result<Vec<FileSource>, Failure> {
    let several = paths.len() > 1;
    if several && name.is_some() {
        return Err(Failure::Scenario("--name: a name for one file, and there are several".into()));
    }
    if several && paths.iter().any(|path| path == Path::new("-")) {
        return Err(Failure::Scenario("-: standard input is sent alone, without other files".into()));
    }
    let (mut sources, mut mistakes) = (Vec::new(), Vec::new());
    let mut names = BTreeMap::new();
    for path in paths {
        match FileSource::new(path, name, resume) {
            Ok(source) => {
                if let Some(other) = names.insert(source.name.clone(), path) {
                    mistakes.push(format!(
                        "{} and {}: both would be \"{}\" at the receiver; send one of them alone, with --name",
                        other.display(),
                        path.display(),
                        source.name
                    ));
                }
                sources.push(source);
            }
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(sources) } else { Err(Failure::Scenario(mistakes.join("\n"))) }
}

/// A file's place among all, its name, and its outcome.
type SentOrNot = (usize, String, Result<SentFile, Failure>);

/// The files that wait, and the outcomes of the others with their names.
struct SeveralFiles<'a> {
    waiting: Mutex<VecDeque<(usize, &'a mut FileSource)>>,
    done: Mutex<Vec<SentOrNot>>,
    /// Set once the path or the peer has failed: the others are not tried.
    disconnected: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|p| p.into_inner())
}

/// Sends several files.
pub fn run(manner: &Manner, receiver: &UploadTarget<'_>, sources: &mut [FileSource]) -> Result<(), Failure> {
    let (files, begin) = (sources.len(), Stopwatch::start());
    let sending = SeveralFiles {
        waiting: Mutex::new(sources.iter_mut().enumerate().collect()),
        done: Mutex::default(),
        disconnected: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for _ in 0..files.min(manner.at_once) {
            scope.spawn(|| sending.work(manner, receiver));
        }
    });
    let seconds = begin.elapsed().as_secs_f64();
    let mut done = sending.done.into_inner().unwrap_or_else(|p| p.into_inner());
    done.sort_by_key(|(number, ..)| *number);
    let sent = || done.iter().filter_map(|(.., outcome)| outcome.as_ref().ok());
    let bytes: u64 = sent().map(|file| file.bytes - file.held).sum();
    let rate = bytes as f64 * 8.0 / seconds.max(1e-9);
    let arrived = sent().count();
    if manner.json {
        let rows: Vec<Value> = done.iter().map(|(_, name, outcome)| row(name, outcome)).collect();
        let value = json!({
            "files": rows, "files_sent": arrived, "bytes": bytes, "duration_s": seconds, "goodput_bps": rate,
        });
        crate::command::print(&format!("{value:#}\n"))?;
    } else {
        let rate = bit_rate(rate);
        crate::command::print(&format!(
            "sent {arrived} of {files} files: {bytes} bytes in {seconds:.2} s, {rate}\n"
        ))?;
    }
    if arrived == files {
        return Ok(());
    }
    let message = format!("{} of {files} files have not arrived", files - arrived);
    let codes = done.iter().filter_map(|(.., outcome)| Some(outcome.as_ref().err()?.exit_code()));
    Err(match codes.max() {
        _ if interrupted() => Failure::Stopped(format!("interrupted; {message}")),
        Some(2)
            if done.iter().all(|(.., outcome)| outcome.as_ref().err().is_none_or(|e| e.exit_code() == 2)) =>
        {
            Failure::Scenario(message)
        }
        _ => Failure::Run(message),
    })
}

impl SeveralFiles<'_> {
    /// Sends files one after the other, until none is left.
    fn work(&self, manner: &Manner, receiver: &UploadTarget<'_>) {
        loop {
            if interrupted() || self.disconnected.load(Ordering::Relaxed) {
                return;
            }
            let Some((number, source)) = lock(&self.waiting).pop_front() else { return };
            let sent = send_file(receiver, source, manner.resume, &mut Bar::new("", None, true));
            let outcome = sent.and_then(|file| match file.check(receiver.address) {
                Ok(()) => Ok(file),
                Err(failure) => Err(UnsentFile { failure, disconnected: false }),
            });
            let outcome = outcome.map_err(|unsent| {
                if unsent.disconnected {
                    self.disconnected.store(true, Ordering::Relaxed);
                }
                unsent.failure
            });
            report(manner, &source.name, &outcome);
            lock(&self.done).push((number, source.name.clone(), outcome));
        }
    }
}

/// Reports the outcome of a file as soon as it is known.
fn report(manner: &Manner, name: &str, outcome: &Result<SentFile, Failure>) {
    match outcome {
        Ok(_) if manner.json || manner.quiet => {}
        Ok(file) => {
            let _ = crate::command::print(&file.lines());
        }
        Err(failure) => eprintln!("error: {}: {}", shown(name), words(failure)),
    }
}

/// The text of a failure.
fn words(failure: &Failure) -> String {
    let mut words = Vec::new();
    let _ = failure.tell(&mut words);
    String::from_utf8_lossy(&words).trim().trim_start_matches("error: ").to_owned()
}

fn row(name: &str, outcome: &Result<SentFile, Failure>) -> Value {
    let mut value = match outcome {
        Ok(file) => file.numbers(),
        Err(failure) => json!({ "error": words(failure) }),
    };
    value["name"] = Value::from(name);
    value
}
