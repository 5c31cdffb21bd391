//! The folder of a sweep: its manifest, its parts, and the table that is merged from them.
//!
//! A part is written to a temporary file, synced and renamed, so a run is done when its row is in a file with a part's name.
//! A part has a digest; a damaged one is run again, and is never merged.
//! Differs from a database: no process has to stay alive, shards on several machines share the folder, and parts are plain Parquet.
//! Leaves out results of single runs; a row is sufficient to repeat its run.

use crate::digest;
use crate::plan::Plan;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Shard `index` (from 1) of `count`: the parts whose number modulo `count` is `index` - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from 1.
    pub index: u64,
    /// Number of shards.
    pub count: u64,
}

impl Shard {
    /// The whole sweep as one shard.
    pub const WHOLE: Shard = Shard { index: 1, count: 1 };

    fn has(self, part: u64) -> bool {
        part % self.count == self.index - 1
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Shard { index, count }),
            _ => Err(format!("\"{text}\" is not a shard; expected I/N with I from 1 to N, such as 1/8")),
        }
    }
}

/// Number of rows in a row group of the table.
const ROWS_IN_A_GROUP: usize = 8_192;

/// The error for a folder that cannot be used.
#[derive(Debug)]
pub enum StoreError {
    /// An I/O error.
    Io {
        /// The operation.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        why: String,
    },
    /// The folder has another sweep.
    Changed {
        /// The folder.
        path: PathBuf,
        /// The keys that differ, with their old and new values, one per line.
        differences: Vec<String>,
    },
    /// Another process is using the folder.
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// A part has changed since it was written.
    Damaged {
        /// The part's file.
        path: PathBuf,
    },
    /// There is no sweep in the folder.
    Missing {
        /// The folder.
        path: PathBuf,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Io { action, path, why } => write!(f, "cannot {action} {}: {why}", path.display()),
            StoreError::Changed { path, differences } => {
                write!(f, "{} holds another sweep; use another --out, or undo:", path.display())?;
                differences.iter().try_for_each(|line| write!(f, "\n  {line}"))
            }
            StoreError::Busy { path } => {
                write!(f, "{}: another sweep is running in this folder", path.display())
            }
            StoreError::Damaged { path } => {
                write!(
                    f,
                    "{}: damaged since it was written; the same sweep again does it anew",
                    path.display()
                )
            }
            StoreError::Missing { path } => write!(f, "{}: there is no sweep in this folder", path.display()),
        }
    }
}

impl std::error::Error for StoreError {}

/// The description of a sweep, written when it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Manifest {
    version: String,
    scenario: String,
    scenario_sha256: String,
    /// Every value of the scenario by its dotted path, including those of `--set`.
    values: BTreeMap<String, String>,
    points: u64,
    runs: u64,
    /// Number of units of work: runs, or points if seeds are added until a mean is known.
    units: u64,
    units_per_part: u64,
}

impl Manifest {
    fn of(plan: &Plan) -> Self {
        let units = plan.units().unwrap_or(u64::MAX);
        let loaded = plan.base();
        let mut values = BTreeMap::new();
        flatten("", &serde_json::to_value(plan.scenario()).unwrap_or_default(), &mut values);
        Manifest {
            version: env!("CARGO_PKG_VERSION").into(),
            scenario: loaded.name.clone(),
            scenario_sha256: loaded.sha256.clone(),
            values,
            points: plan.points().unwrap_or(u64::MAX),
            runs: plan.runs().unwrap_or(u64::MAX),
            // A part is large enough to keep the number of files low, and small enough that little is lost by a kill.
            units,
            units_per_part: (units / 500).clamp(1, 256),
        }
    }

    fn parts(&self) -> u64 {
        self.units.div_ceil(self.units_per_part)
    }

    fn units_of(&self, part: u64) -> Range<u64> {
        let begin = part * self.units_per_part;
        begin..self.units.min(begin + self.units_per_part)
    }

    /// The differences, one per line. The files' bytes may differ although no value does, by comments.
    fn differences(&self, now: &Manifest) -> Vec<String> {
        let mut lines = Vec::new();
        if self.version != now.version {
            lines.push(format!("skyhop: was {}, is {}", self.version, now.version));
        }
        let keys: std::collections::BTreeSet<&String> = self.values.keys().chain(now.values.keys()).collect();
        for key in keys {
            match (self.values.get(key), now.values.get(key)) {
                (Some(was), Some(is)) if was != is => lines.push(format!("{key}: was {was}, is {is}")),
                (Some(was), None) => lines.push(format!("{key}: was {was}, is left out")),
                (None, Some(is)) => lines.push(format!("{key}: is {is}, was left out")),
                _ => {}
            }
        }
        lines
    }
}

fn flatten(at: &str, value: &serde_json::Value, out: &mut BTreeMap<String, String>) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match value {
        serde_json::Value::Object(table) => {
            table.iter().for_each(|(key, value)| flatten(&below(key), value, out));
        }
        serde_json::Value::Array(items) if !items.iter().all(|i| !i.is_object()) => {
            items.iter().enumerate().for_each(|(i, value)| flatten(&below(&i.to_string()), value, out));
        }
        value => {
            out.insert(at.to_owned(), value.to_string());
        }
    }
}

/// The progress of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Name of the scenario.
    pub scenario: String,
    /// Number of points.
    pub points: u64,
    /// Smallest number of runs to be done.
    pub runs: u64,
    /// True if seeds are added until a mean is known, so that there may be more runs.
    pub open_ended: bool,
    /// Number of rows in finished parts.
    pub rows: u64,
    /// Number of failed runs among them.
    pub failed: u64,
    /// Number of finished parts, and of all parts.
    pub parts: (u64, u64),
    /// Number of damaged parts, which have changed since they were written and must be run again.
    pub damaged: u64,
    /// True if a process is using the folder.
    pub busy: bool,
}

/// A sweep's folder, held by this process.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    manifest: Manifest,
    shard: Shard,
    /// Files of damaged parts, which have been removed.
    damaged: Vec<PathBuf>,
    /// Locks, which the system releases even after a kill.
    _locks: Vec<File>,
}

impl Store {
    /// Opens the folder for `shard` of `plan`, and creates it if it does not exist. Damaged parts of the shard are removed, so
    /// that they count as missing.
    pub fn open(dir: &Path, plan: &Plan, shard: Shard) -> Result<Self, StoreError> {
        let parts = dir.join("parts");
        fs::create_dir_all(&parts).map_err(failed("create", &parts))?;
        let manifest = Manifest::of(plan);
        let mut locks = Vec::new();
        // The whole sweep may be open once, or any number of shards, each once.
        let whole = lock_file(dir, ".lock")?;
        let taken = if shard == Shard::WHOLE { whole.try_lock() } else { whole.try_lock_shared() };
        locked(taken, dir)?;
        locks.push(whole);
        if shard != Shard::WHOLE {
            let own = lock_file(dir, &format!(".lock-{}-of-{}", shard.index, shard.count))?;
            locked(own.try_lock(), dir)?;
            locks.push(own);
        }
        let path = dir.join("sweep.json");
        match fs::read(&path) {
            Ok(bytes) => {
                let before: Manifest = serde_json::from_slice(&bytes).map_err(|e| StoreError::Io {
                    action: "read",
                    path: path.clone(),
                    why: format!("not written by skyhop: {e}"),
                })?;
                let differences = before.differences(&manifest);
                if !differences.is_empty() {
                    return Err(StoreError::Changed { path: dir.to_path_buf(), differences });
                }
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let text = serde_json::to_string_pretty(&manifest).unwrap_or_default() + "\n";
                // Shards that start at the same time write the same bytes.
                let temporary = dir.join(format!(".sweep-{}-of-{}", shard.index, shard.count));
                write_whole(&temporary, &path, |file| {
                    file.write_all(text.as_bytes()).map_err(|e| cause(&e))
                })?;
            }
            Err(e) => return Err(failed("read", &path)(e)),
        }
        let mut store = Store { dir: dir.to_path_buf(), manifest, shard, damaged: Vec::new(), _locks: locks };
        store.remove_damaged()?;
        Ok(store)
    }

    fn remove_damaged(&mut self) -> Result<(), StoreError> {
        let mine = (0..self.manifest.parts()).filter(|part| self.shard.has(*part));
        for path in mine.map(|part| part_of(&self.dir, part)).filter(|path| path.exists()) {
            match content(&path) {
                Ok(_) => {}
                Err(StoreError::Damaged { path }) => {
                    fs::remove_file(&path).map_err(failed("remove", &path))?;
                    self.damaged.push(path);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Files of parts that were damaged when the folder was opened; they are run again.
    pub fn damaged(&self) -> &[PathBuf] {
        &self.damaged
    }

    /// Numbers of the shard's parts that are not finished.
    pub fn missing(&self) -> Vec<u64> {
        let all = (0..self.manifest.parts()).filter(|part| self.shard.has(*part));
        all.filter(|part| !self.part(*part).exists()).collect()
    }

    /// The units of a part; see [`Plan::units`].
    pub fn units_of(&self, part: u64) -> Range<u64> {
        self.manifest.units_of(part)
    }

    /// Number of units of this shard, and of those in finished parts.
    pub fn progress(&self) -> (u64, u64) {
        let mine = (0..self.manifest.parts()).filter(|part| self.shard.has(*part));
        let length = |part: u64| self.units_of(part).end - self.units_of(part).start;
        mine.fold((0, 0), |(all, done), part| {
            let finished = if self.part(part).exists() { length(part) } else { 0 };
            (all + length(part), done + finished)
        })
    }

    /// Stores a part from bytes that [`part_bytes`] made elsewhere.
    pub fn write_bytes(&self, part: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.part(part);
        if !digest::is_sound(bytes) {
            return Err(StoreError::Damaged { path });
        }
        let temporary = path.with_extension(format!("writing-{}-of-{}", self.shard.index, self.shard.count));
        write_whole(&temporary, &path, |file| file.write_all(bytes).map_err(|e| cause(&e)))
    }

    /// Stores a part.
    pub fn write(&self, part: u64, rows: &RecordBatch) -> Result<(), StoreError> {
        let bytes =
            part_bytes(rows).map_err(|why| StoreError::Io { action: "write", path: self.part(part), why })?;
        self.write_bytes(part, &bytes)
    }

    /// Returns true if every part of every shard is finished.
    pub fn complete(&self) -> bool {
        (0..self.manifest.parts()).all(|part| self.part(part).exists())
    }

    /// Merges the finished parts into `runs.parquet`, in the order of points. Returns its path and number of rows.
    pub fn merge(&self) -> Result<(PathBuf, u64), StoreError> {
        merge(&self.dir, &self.manifest)
    }

    fn part(&self, part: u64) -> PathBuf {
        part_of(&self.dir, part)
    }
}

/// The bytes of a part's file, including its digest.
pub fn part_bytes(rows: &RecordBatch) -> Result<Vec<u8>, String> {
    let note = KeyValue::new(digest::KEY.to_owned(), digest::BLANK.to_owned());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let properties = properties.set_key_value_metadata(Some(vec![note])).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).map_err(text)?;
    writer.write(rows).map_err(text)?;
    let mut file = writer.into_inner().map_err(text)?;
    digest::seal(&mut file)?;
    Ok(file)
}

/// A table as the bytes of a Parquet file.
pub fn table_bytes(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Vec<u8>, String> {
    let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties())).map_err(text)?;
    batches.iter().try_for_each(|rows| writer.write(rows)).map_err(text)?;
    writer.into_inner().map_err(text)
}

/// The table in bytes of [`table_bytes`].
pub fn table_of(bytes: Vec<u8>) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).map_err(text)?;
    let schema = reader.schema().clone();
    let batches = reader.build().map_err(text)?.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    Ok((schema, batches))
}

/// Columns and rows of the table in a file.
pub fn read_table(path: &Path) -> Result<(SchemaRef, Vec<RecordBatch>), StoreError> {
    let file = File::open(path).map_err(failed("read", path))?;
    let schema = ParquetRecordBatchReaderBuilder::try_new(file).map_err(broken(path))?.schema().clone();
    let file = File::open(path).map_err(failed("read", path))?;
    Ok((schema, batches(path, file)?.collect::<Result<_, _>>()?))
}

/// The progress of the sweep in a folder.
pub fn status(dir: &Path) -> Result<Status, StoreError> {
    let manifest = manifest(dir)?;
    let mut status = Status {
        scenario: manifest.scenario.clone(),
        points: manifest.points,
        runs: manifest.runs,
        open_ended: manifest.values.keys().any(|key| key.starts_with("sweep.until")),
        rows: 0,
        failed: 0,
        parts: (0, manifest.parts()),
        damaged: 0,
        busy: lock_file(dir, ".lock")?.try_lock().is_err(),
    };
    for part in (0..manifest.parts()).map(|part| part_of(dir, part)).filter(|path| path.exists()) {
        let rows = match content(&part) {
            Ok(bytes) => batches(&part, bytes)?,
            Err(StoreError::Damaged { .. }) => {
                status.damaged += 1;
                continue;
            }
            Err(e) => return Err(e),
        };
        status.parts.0 += 1;
        for batch in rows {
            let batch = batch?;
            status.rows += batch.num_rows() as u64;
            let errors = batch.column_by_name("error");
            status.failed += errors.map_or(0, |e| e.len() - e.null_count()) as u64;
        }
    }
    Ok(status)
}

/// Merges the finished parts of the sweep in a folder.
pub fn merge_folder(dir: &Path) -> Result<(PathBuf, u64), StoreError> {
    merge(dir, &manifest(dir)?)
}

fn merge(dir: &Path, manifest: &Manifest) -> Result<(PathBuf, u64), StoreError> {
    let path = dir.join("runs.parquet");
    let mut rows = 0;
    let present = || (0..manifest.parts()).map(|part| part_of(dir, part)).filter(|path| path.exists());
    let Some(first) = present().next() else { return Err(StoreError::Missing { path: dir.to_path_buf() }) };
    let measured = measured(&first, present())?;
    let bytes = content(&first)?;
    let schema = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(broken(&first))?.schema().clone();
    let schema = Arc::new(schema.project(&measured).map_err(|e| StoreError::Io {
        action: "read",
        path: first.clone(),
        why: e.to_string(),
    })?);
    // Shards that end at the same time both merge, to the same bytes.
    let temporary = dir.join(format!(".runs-{}", std::process::id()));
    write_whole(&temporary, &path, |file| {
        let mut writer = ArrowWriter::try_new(file, schema, Some(properties())).map_err(text)?;
        let mut waiting = 0;
        for part in present() {
            for batch in content(&part).and_then(|bytes| batches(&part, bytes)).map_err(|e| e.to_string())? {
                let batch = batch.and_then(|b| {
                    b.project(&measured).map_err(|e| StoreError::Io {
                        action: "read",
                        path: part.clone(),
                        why: e.to_string(),
                    })
                });
                let batch = batch.map_err(|e| e.to_string())?;
                rows += batch.num_rows() as u64;
                writer.write(&batch).map_err(text)?;
                // A row group keeps a dictionary and pages for each column in memory until it is written: with all rows in one,
                // memory would grow with the sweep.
                waiting += batch.num_rows();
                if waiting >= ROWS_IN_A_GROUP || writer.in_progress_size() > 4_000_000 {
                    waiting = 0;
                    writer.flush().map_err(text)?;
                }
            }
        }
        writer.close().map(drop).map_err(text)
    })?;
    Ok((path, rows))
}

/// Columns with at least one value: in a sweep over transfers those of pings are all empty, and omitted from the table.
fn measured(first: &Path, parts: impl Iterator<Item = PathBuf>) -> Result<Vec<usize>, StoreError> {
    let open = |path: &Path| -> Result<_, StoreError> {
        ParquetRecordBatchReaderBuilder::try_new(content(path)?).map_err(broken(path))
    };
    let schema = open(first)?.schema().clone();
    let mut says: Vec<bool> =
        schema.fields().iter().map(|f| !f.is_nullable() || f.name() == "error").collect();
    for part in parts {
        for group in open(&part)?.metadata().row_groups() {
            for (says, column) in says.iter_mut().zip(group.columns()) {
                let nulls = column.statistics().and_then(|s| s.null_count_opt());
                *says |= nulls.is_none_or(|nulls| nulls < group.num_rows() as u64);
            }
        }
    }
    Ok((0..says.len()).filter(|i| says[*i]).collect())
}

fn manifest(dir: &Path) -> Result<Manifest, StoreError> {
    let path = dir.join("sweep.json");
    let bytes = fs::read(&path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => StoreError::Missing { path: dir.to_path_buf() },
        _ => failed("read", &path)(e),
    })?;
    serde_json::from_slice(&bytes).map_err(|e| StoreError::Io { action: "read", path, why: e.to_string() })
}

/// The bytes of a part. Fails if it is damaged.
fn content(path: &Path) -> Result<Bytes, StoreError> {
    let bytes = fs::read(path).map_err(failed("read", path))?;
    match digest::is_sound(&bytes) {
        true => Ok(Bytes::from(bytes)),
        false => Err(StoreError::Damaged { path: path.to_path_buf() }),
    }
}

/// The rows of a file.
fn batches<R: ChunkReader + 'static>(
    path: &Path,
    file: R,
) -> Result<impl Iterator<Item = Result<RecordBatch, StoreError>> + use<R>, StoreError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(broken(path))?;
    let reader = reader.build().map_err(broken(path))?;
    let path = path.to_path_buf();
    Ok(reader.map(move |batch| {
        batch.map_err(|e| StoreError::Io { action: "read", path: path.clone(), why: e.to_string() })
    }))
}

fn part_of(dir: &Path, part: u64) -> PathBuf {
    dir.join("parts").join(format!("part-{part:06}.parquet"))
}

fn properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::SNAPPY).build()
}

/// Writes a temporary file, syncs it, and renames it into place.
fn write_whole(
    temporary: &Path,
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), String>,
) -> Result<(), StoreError> {
    let done = || -> Result<(), StoreError> {
        let mut file = File::create(temporary).map_err(failed("write", path))?;
        write(&mut file).map_err(|why| StoreError::Io { action: "write", path: path.to_path_buf(), why })?;
        file.sync_all().map_err(failed("write", path))?;
        fs::rename(temporary, path).map_err(failed("write", path))?;
        // The new name is on disk once the folder is synced.
        if let Some(folder) = path.parent().and_then(|p| File::open(p).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    };
    let done = done();
    if done.is_err() {
        let _ = fs::remove_file(temporary);
    }
    done
}

fn lock_file(dir: &Path, name: &str) -> Result<File, StoreError> {
    let path = dir.join(name);
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(failed("lock", &path))
}

fn locked(taken: Result<(), TryLockError>, dir: &Path) -> Result<(), StoreError> {
    match taken {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy { path: dir.to_path_buf() }),
        Err(TryLockError::Error(e)) => Err(failed("lock", dir)(e)),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |e| StoreError::Io { action, path, why: cause(&e) }
}

fn broken(path: &Path) -> impl Fn(ParquetError) -> StoreError {
    let path = path.to_path_buf();
    move |e| StoreError::Io { action: "read", path: path.clone(), why: e.to_string() }
}

/// The message of the wrapped error, which is more specific than the library's.
fn text(e: ParquetError) -> String {
    match &e {
        ParquetError::External(inner) => match inner.downcast_ref::<io::Error>() {
            Some(inner) => cause(inner),
            None => inner.to_string(),
        },
        _ => e.to_string(),
    }
}

/// The system's message without Rust's "(os error 28)".
fn cause(e: &io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
