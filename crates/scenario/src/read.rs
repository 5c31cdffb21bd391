//! Reads a scenario: from bytes through parsing, `--set`, shape and types to checks.
//!
//! Follows the order in which a person wants to hear of mistakes: file, syntax, keys, meaning.
//! Differs from serde alone: each stage reports all mistakes that it finds, and the next runs only if there are none.
//! Leaves out running.

use crate::check::{check, traps, warnings};
use crate::error::{Errors, MOST_PROBLEMS, Place, Problem, quoted};
use crate::expand::{Origins, Wrong, expand};
use crate::files::{Files, LARGEST_FILE, Named, named, tables_of_populations};
use crate::finding::Finding;
use crate::fit::{Mistakes, fit};
use crate::model::{GATEWAY_MEMORY, Ip, Scenario, Tcp};
use crate::network::SkyWay;
use crate::path::{KeyPath, KeyStep, split};
use crate::shape::SCENARIO;
use crate::tree::{Origin, TreeNode, Value};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use skyhop_text::spelling::hint_of_file;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// Largest scenario file, bytes.
pub const LARGEST_SCENARIO: u64 = 4_000_000;

/// A scenario with its files and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The scenario, with `--set` applied and populations expanded.
    pub scenario: Scenario,
    /// The scenario before expansion, if it has populations.
    compact: Option<Box<Scenario>>,
    /// Name of the results: the scenario's `name`, or the file's name without its extension.
    pub name: String,
    /// SHA-256 of the file's bytes, in hexadecimal; `--set` does not change it.
    pub sha256: String,
    /// Values given with `--set`, in order.
    pub sets: Vec<(String, String)>,
    /// Contents of the files that it names, read by [`load`] and [`Loaded::read_files`].
    pub files: Files,
    /// Warnings of settings that are valid but look like mistakes.
    pub warnings: Vec<Problem>,
    source: SourceText,
    /// Folder of the files that it names.
    folder: PathBuf,
}

impl Loaded {
    /// A problem at the dotted key `key`, for mistakes that are found later.
    pub fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let key = self.source.written_text(key).unwrap_or_else(|| key.to_owned());
        let place = self.source.at(self.source.top.locate_text(&key));
        Problem { place, key, message: message.into() }
    }

    /// The scenario before the expansion of populations.
    pub fn written(&self) -> &Scenario {
        self.compact.as_deref().unwrap_or(&self.scenario)
    }

    /// Warnings that need the flows' paths through satellites, by index of flow and leg.
    pub fn path_warnings(&self, way: &dyn Fn(usize, usize) -> Option<SkyWay>) -> Vec<Problem> {
        let Ok(network) = crate::network::resolve(&self.scenario) else { return Vec::new() };
        let mut found = self.source.found(traps(&self.scenario, &network, way));
        found.retain(|problem| !self.warnings.contains(problem));
        found.truncate(MOST_PROBLEMS);
        found
    }

    /// The scenario as TOML with the defaults of all keys that the file left out.
    pub fn resolved(&self) -> String {
        // TOML can express every scenario.
        toml::to_string(self.written()).unwrap_or_default()
    }

    /// The same scenario with more values set, for one run of a sweep.
    pub fn with(&self, sets: &[(String, String)]) -> Result<Loaded, Errors> {
        let (source, files) = (self.source.clone(), self.files.clone());
        finish(source, self.sha256.clone(), self.sets.clone(), sets, (files, Some(&self.folder)))
    }

    /// The scenario without its sweep, so that lists of thousands of values do not slow down [`Loaded::with`].
    pub fn without_sweep(&self) -> Loaded {
        let mut alone = self.clone();
        alone.source = self.source.without("sweep");
        alone.scenario.sweep = None;
        if let Some(compact) = &mut alone.compact {
            compact.sweep = None;
        }
        alone
    }

    /// Checks that every value of a sweep can be set; the error is at the value that cannot.
    fn check_sweep(&self) -> Result<(), Errors> {
        let Some(sweep) = &self.scenario.sweep else { return Ok(()) };
        let alone = self.source.without("sweep");
        let mut problems = Vec::new();
        for (group, lists) in [("grid", &sweep.grid), ("zip", &sweep.zip)] {
            let at = KeyPath::default().key("sweep").key(group);
            for (path, values) in lists {
                for (i, value) in values.iter().enumerate() {
                    let set = [(path.clone(), value.to_string())];
                    if let Err(errors) = alone.clone().set(&set) {
                        let at = at.key(path).index(i);
                        let place = self.source.place(&at);
                        let wrong = |p: Problem| Problem {
                            place: place.clone(),
                            key: at.to_string(),
                            message: p.message,
                        };
                        problems.extend(errors.problems.into_iter().map(wrong));
                    }
                    if problems.len() >= MOST_PROBLEMS {
                        break;
                    }
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(self.source.errors(problems, 0)) }
    }

    /// Reads the files that the scenario names, relative to `folder`.
    pub fn read_files(&mut self, folder: &Path) -> Result<(), Errors> {
        self.folder = folder.to_path_buf();
        self.source.files(named(&self.scenario), folder, &mut self.files)
    }
}

/// Reads and checks the scenario in the file at `path`, and the files that it names.
pub fn load(path: &Path, sets: &[(String, String)]) -> Result<Loaded, Errors> {
    let file = path.display().to_string();
    let wrong = |message: String| Errors::one(Place::File { file: file.clone() }, "", message);
    let bytes = read_limited(path, LARGEST_SCENARIO, "4 MB").map_err(wrong)?;
    read(&bytes, &file, sets, (Files::new(), Some(path.parent().unwrap_or(Path::new("")))))
}

/// Reads and checks a scenario from standard input, called `stdin` in errors; its files are relative to the current folder.
pub fn load_stdin(sets: &[(String, String)]) -> Result<Loaded, Errors> {
    let wrong = |message: String| Errors::one(Place::File { file: "stdin".into() }, "", message);
    let bytes = limited(std::io::stdin().lock(), LARGEST_SCENARIO, "4 MB").map_err(wrong)?;
    read(&bytes, "stdin", sets, (Files::new(), Some(Path::new(""))))
}

/// A scenario that is not in a file.
#[derive(Debug, Clone)]
pub struct Given {
    /// Text of the scenario.
    pub text: String,
    /// Name in errors.
    pub name: String,
    /// True if a person wrote the text, so that errors have its lines; false if it was built from keys and values, whose errors
    /// have only keys.
    pub has_lines: bool,
    /// Contents of the files that it names, by name.
    pub files: Files,
    /// Folder of its other files.
    pub base: PathBuf,
}

/// Reads and checks a scenario that is not in a file, and the files that it names and that are not given.
pub fn load_given(given: Given, sets: &[(String, String)]) -> Result<Loaded, Errors> {
    let Given { text, name, has_lines, files, base } = given;
    let mut loaded = read(text.as_bytes(), &name, sets, (files, Some(&base)))
        .map_err(|e| if has_lines { e } else { e.without_lines() })?;
    if !has_lines {
        loaded.source.lines = None;
        let problems = std::mem::take(&mut loaded.warnings);
        loaded.warnings = Errors { problems, more: 0 }.without_lines().problems;
    }
    Ok(loaded)
}

/// Reads and checks a scenario in memory, called `file` in errors. Tables of populations are read from the current folder.
pub fn parse(bytes: &[u8], file: &str, sets: &[(String, String)]) -> Result<Loaded, Errors> {
    read(bytes, file, sets, (Files::new(), None))
}

/// As [`parse`], with the contents of the files that the scenario names.
pub fn parse_with(
    bytes: &[u8],
    file: &str,
    sets: &[(String, String)],
    files: Files,
) -> Result<Loaded, Errors> {
    read(bytes, file, sets, (files, None))
}

/// Contents of given files, and the folder of the others; without one only tables of populations are read.
type GivenFiles<'a> = (Files, Option<&'a Path>);

fn read(bytes: &[u8], file: &str, sets: &[(String, String)], beside: GivenFiles) -> Result<Loaded, Errors> {
    let whole = |message: &str| Err(Errors::one(Place::File { file: file.to_owned() }, "", message));
    if bytes.len() as u64 > LARGEST_SCENARIO {
        return whole(&too_large(bytes.len() as u64, "4 MB"));
    }
    let lines: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i).collect();
    let line_of =
        |at: usize| Place::Line { file: file.to_owned(), line: lines.partition_point(|end| *end < at) + 1 };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            let at = e.valid_up_to();
            let message = format!("byte 0x{:02x} is not valid UTF-8", bytes[at]);
            return Err(Errors::one(line_of(at), "", message));
        }
    };
    if text.trim().is_empty() {
        return whole("file is empty; a scenario has at least a duration and flows");
    }
    if let Some(at) = text.find('\0') {
        return Err(Errors::one(line_of(at), "", "byte 0x00 is not text; is this a scenario file?"));
    }
    let (table, syntax) = DeTable::parse_recoverable(text);
    if !syntax.is_empty() {
        return Err(syntax_errors(text, &syntax, line_of));
    }

    let source = SourceText {
        file: file.to_owned(),
        lines: Some(lines),
        top: TreeNode::top(table.into_inner()),
        sets: Vec::new(),
        origins: Origins::default(),
    };
    let loaded = finish(source, hex(&Sha256::digest(bytes)), Vec::new(), sets, beside)?;
    loaded.check_sweep()?;
    Ok(loaded)
}

/// The scenario of a tree with some values set.
fn finish(
    mut source: SourceText,
    sha256: String,
    mut before: Vec<(String, String)>,
    sets: &[(String, String)],
    (mut files, folder): GivenFiles,
) -> Result<Loaded, Errors> {
    source.set(sets)?;
    // A tree that fits the shape fits the types, so an error here is our bug; it is still better reported than lost.
    let mut plain = source.top.clone().into_plain();
    inherit_host(&mut plain);
    inherit_ip(&mut plain);
    give_memory(&mut plain);
    let written = Scenario::deserialize(plain)
        .map_err(|e| Errors::one(Place::File { file: source.file.clone() }, "", e.message()))?;
    let tables = tables_of_populations(&written);
    source.files(tables, folder.unwrap_or(Path::new("")), &mut files)?;
    let (scenario, compact) = match expand(&written, &files) {
        Ok(None) => (written, None),
        Ok(Some((scenario, origins))) => {
            source.origins = origins;
            (scenario, Some(Box::new(written)))
        }
        Err(Wrong::Keys(findings, more)) => return Err(source.errors(source.found(findings), more)),
        Err(Wrong::Table(problem)) => return Err(problem.into()),
    };
    let (findings, more) = check(&scenario);
    if !findings.is_empty() {
        let (all, told) = (findings.len(), source.found(findings));
        // Further mistakes of the members of a population are not counted.
        let more = if told.len() < all { 0 } else { more };
        return Err(source.errors(told, more));
    }
    if let Some(folder) = folder {
        source.files(named(&scenario), folder, &mut files)?;
    }
    let given = |path: &KeyPath| source.top.has(source.origins.written(path).as_ref().unwrap_or(path));
    let mut warnings = source.found(warnings(&scenario, given));
    warnings.truncate(MOST_PROBLEMS);
    let stem = Path::new(&source.file).file_stem().map(|s| s.to_string_lossy().into_owned());
    before.extend_from_slice(sets);
    Ok(Loaded {
        name: scenario.name.clone().or(stem).unwrap_or_else(|| "scenario".into()),
        sha256,
        sets: before,
        files,
        warnings,
        scenario,
        compact,
        source,
        folder: folder.unwrap_or(Path::new("")).to_path_buf(),
    })
}

/// Sets the `buffer` of every gateway with an association that names none.
fn give_memory(top: &mut toml::Value) {
    let splices = top.get_mut("splices").and_then(toml::Value::as_table_mut);
    for (_, splice) in splices.into_iter().flatten() {
        if let Some(splice) = splice.as_table_mut()
            && splice.contains_key("association")
        {
            splice.entry("buffer").or_insert_with(|| GATEWAY_MEMORY.into());
        }
    }
}

/// Sets the scenario's `host` in every TCP that names none.
fn inherit_host(top: &mut toml::Value) {
    let Some(host) = top.get("host").cloned() else { return };
    let give = |transport: &mut toml::Value| {
        if let Some(table) = transport.as_table_mut()
            && table.get("kind").and_then(toml::Value::as_str) == Some("tcp")
        {
            table.entry("host").or_insert_with(|| host.clone());
        }
    };
    for flow in top.get_mut("flows").and_then(toml::Value::as_array_mut).into_iter().flatten() {
        let Some(flow) = flow.as_table_mut() else { continue };
        let tcp = || toml::Table::from_iter([("kind".to_owned(), "tcp".into())]).into();
        give(flow.entry("transport").or_insert_with(tcp));
    }
    each_splice_transport(top, give);
}

/// Sets the scenario's `ip` in every flow that names none. Over IPv6 a TCP without an mss gets one that leaves room for the
/// larger header, so that packets are as long as over IPv4; so does a splice's TCP that may be on the path of such a flow.
fn inherit_ip(top: &mut toml::Value) {
    let ip = top.get("ip").cloned();
    let of_v6 = |ip: Option<&toml::Value>| ip.and_then(toml::Value::as_str) == Some("v6");
    let more = Ip::V6.header_len() - Ip::V4.header_len();
    let mss = toml::Value::from(format!("{} B", Tcp::default().mss.get() - more));
    let make_room = |transport: &mut toml::Value| {
        if let Some(table) = transport.as_table_mut()
            && table.get("kind").and_then(toml::Value::as_str) == Some("tcp")
        {
            table.entry("mss").or_insert_with(|| mss.clone());
        }
    };
    let mut any = false;
    for flow in top.get_mut("flows").and_then(toml::Value::as_array_mut).into_iter().flatten() {
        let Some(flow) = flow.as_table_mut() else { continue };
        if let Some(ip) = &ip {
            flow.entry("ip").or_insert_with(|| ip.clone());
        }
        if of_v6(flow.get("ip")) {
            any = true;
            let tcp = || toml::Table::from_iter([("kind".to_owned(), "tcp".into())]).into();
            make_room(flow.entry("transport").or_insert_with(tcp));
        }
    }
    if any {
        each_splice_transport(top, make_room);
    }
}

/// The transports that splices name.
fn each_splice_transport(top: &mut toml::Value, each: impl Fn(&mut toml::Value)) {
    let splices = top.get_mut("splices").and_then(toml::Value::as_table_mut);
    for (_, splice) in splices.into_iter().flat_map(|splices| splices.iter_mut()) {
        for side in ["transport", "transport_back"] {
            if let Some(transport) = splice.get_mut(side) {
                each(transport);
            }
        }
    }
}

impl Scenario {
    /// Reads and checks a scenario in memory, called `file` in errors.
    pub fn parse(text: &[u8], file: &str, sets: &[(String, String)]) -> Result<Loaded, Errors> {
        parse(text, file, sets)
    }
}

/// The tree of the text, which relates keys to lines.
#[derive(Debug, Clone, PartialEq)]
struct SourceText {
    file: String,
    /// Offsets of the ends of its lines, if it has any.
    lines: Option<Vec<usize>>,
    top: TreeNode,
    /// Paths of the values given with `--set`, in order.
    sets: Vec<String>,
    /// Places in the file of expanded items.
    origins: Origins,
}

impl SourceText {
    /// The same without a table of the top level.
    fn without(&self, key: &str) -> SourceText {
        let mut alone = self.clone();
        if let Value::Table(table) = &mut alone.top.value {
            table.remove(key);
        }
        alone
    }

    /// Sets values, and compares the tree with its shape.
    fn set(&mut self, sets: &[(String, String)]) -> Result<(), Errors> {
        for (path, value) in sets {
            let origin = Origin::Set(self.sets.len() as u32);
            self.sets.push(path.clone());
            crate::set::apply(&mut self.top, &SCENARIO, (path, value), origin)?;
        }
        let mut mistakes = Mistakes::default();
        fit(&SCENARIO, &self.top, &KeyPath::default(), &mut mistakes);
        if mistakes.list.is_empty() {
            return Ok(());
        }
        let problem = |(origin, path, message): (Origin, KeyPath, String)| Problem {
            place: self.at(origin),
            key: path.to_string(),
            message,
        };
        Err(self.errors(mistakes.list.into_iter().map(problem).collect(), mistakes.more))
    }

    fn at(&self, origin: Origin) -> Place {
        match origin {
            Origin::File(at) => match &self.lines {
                Some(lines) => {
                    Place::Line { file: self.file.clone(), line: lines.partition_point(|end| *end < at) + 1 }
                }
                None => Place::File { file: self.file.clone() },
            },
            Origin::Set(number) => {
                Place::Set { path: self.sets.get(number as usize).cloned().unwrap_or_default() }
            }
        }
    }

    /// Reads files that are not in `files` yet.
    fn files(&self, wanted: Vec<Named>, folder: &Path, files: &mut Files) -> Result<(), Errors> {
        for Named { key, name } in wanted {
            if files.contains_key(name) {
                continue;
            }
            let beside = folder.join(name);
            let bytes = read_limited(&beside, LARGEST_FILE, "256 MB").map_err(|message| {
                let key = self.origins.written(&key).unwrap_or(key);
                let message = format!("{}: {message}", beside.display());
                Errors::from(Problem { place: self.place(&key), key: key.to_string(), message })
            })?;
            files.insert(name.to_owned(), bytes.into());
        }
        Ok(())
    }

    /// The dotted key in the file from which `key` was expanded, if it is another one.
    fn written_text(&self, key: &str) -> Option<String> {
        let step = |step: String| step.parse().map_or(KeyStep::Key(step), KeyStep::Index);
        let path = KeyPath(split(key)?.into_iter().map(step).collect());
        self.origins.written(&path).map(|path| path.to_string())
    }

    fn place(&self, path: &KeyPath) -> Place {
        self.at(self.top.locate(path))
    }

    fn errors(&self, mut problems: Vec<Problem>, more: usize) -> Errors {
        problems.sort();
        problems.dedup();
        Errors { problems, more }
    }

    fn found(&self, findings: Vec<Finding>) -> Vec<Problem> {
        let mut of_kinds = BTreeSet::new();
        let mut problem = |f: Finding| {
            let kind = self.origins.written(&f.path);
            let path = kind.as_ref().unwrap_or(&f.path);
            let found = Problem { place: self.place(path), key: path.to_string(), message: f.message };
            // A mistake of one member is that of all others.
            (kind.is_none() || of_kinds.insert(found.key.clone())).then_some(found)
        };
        findings.into_iter().filter_map(&mut problem).collect()
    }
}

fn syntax_errors(text: &str, errors: &[toml::de::Error], line_of: impl Fn(usize) -> Place) -> Errors {
    let mut problems: Vec<Problem> = Vec::new();
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        // An error at the end of a line has the offset after its last character, which may be on the next line.
        let at = if span.start > 0 && span.is_empty() { span.start - 1 } else { span.start };
        let place = line_of(at);
        // One mistake often causes several parser errors on its line; the first is the most useful.
        if problems.len() >= MOST_PROBLEMS || problems.iter().any(|p| p.place == place) {
            continue;
        }
        let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |i| i + 1);
        let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or("").trim();
        // The usual mistake in a first scenario: rate = 10 Mbit/s.
        let value = text.get(span).filter(|v| v.contains(' ') && error.message().contains("quoted"));
        let cure = value.map(|v| format!("; write {} in quotes", quoted(v.trim()))).unwrap_or_default();
        let message =
            format!("not TOML: {} in {}{cure}", error.message().trim_end_matches('.'), quoted(line));
        problems.push(Problem { place, key: String::new(), message });
    }
    problems.sort();
    Errors { problems, more: 0 }
}

fn too_large(size: u64, limit: &str) -> String {
    format!("file of {size} bytes is larger than {limit}")
}

/// Reads a file of at most `limit` bytes; a pipe too, which is not read beyond the limit.
fn read_limited(path: &Path, limit: u64, limit_text: &str) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => format!("no such file{}", hint_of_file(path)),
        std::io::ErrorKind::PermissionDenied => "no permission to read the file".to_owned(),
        _ => format!("cannot be opened: {e}"),
    })?;
    let meta = file.metadata().map_err(|e| format!("cannot be read: {e}"))?;
    if meta.is_dir() {
        return Err("is a directory, not a file".into());
    }
    if meta.len() > limit {
        return Err(too_large(meta.len(), limit_text));
    }
    limited(file, limit, limit_text)
}

fn limited(input: impl Read, limit: u64, limit_text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    input.take(limit + 1).read_to_end(&mut bytes).map_err(|e| format!("cannot be read: {e}"))?;
    if bytes.len() as u64 > limit { Err(format!("input is larger than {limit_text}")) } else { Ok(bytes) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
