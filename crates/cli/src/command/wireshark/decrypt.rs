//! `skyhop wireshark decrypt`: decrypts a capture's STP with a key log into a new capture.
//!
//! Follows docs/stp-hosts.md: `--key-log` of `skyhop stp` writes the secrets, the dissector reads the result.
//! Differs from decryption inside Wireshark: a dissector in Lua has no ciphers, so a plain capture is written once.
//! Leaves out keys inside the capture: a copy of the new one discloses its contents.

use crate::engine;
use crate::failure::Failure;
use clap::Args;
use skyhop_live::key_log::{KeyLog, Reader, Seen, Tally};
use skyhop_record::rewrite::{RewriteError, Rewritten, rewrite};
use skyhop_record::{Folder, FolderFile};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// `skyhop wireshark decrypt`.
#[derive(Debug, Args)]
pub struct Decrypt {
    /// Capture to read: pcapng or pcap. It is not changed.
    pub capture: PathBuf,
    /// Key log written by --key-log of skyhop stp; may be repeated.
    #[arg(long, value_name = "FILE", required = true)]
    pub keys: Vec<PathBuf>,
    /// New capture to write, as pcapng, readable by its owner only.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Do not print the counts.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Runs the command.
pub fn run(args: &Decrypt) -> Result<(), Failure> {
    engine::listen();
    let log = key_log(&args.keys)?;
    let shown = args.capture.display();
    let unreadable = |e: &io::Error| Failure::Scenario(format!("{shown}: {}", cause(e)));
    let input = open(&args.capture).map_err(|e| unreadable(&e))?;
    for (file, what) in
        [(&args.capture, "the capture")].into_iter().chain(args.keys.iter().map(|k| (k, "the key log")))
    {
        if same(file, &args.out) {
            return Err(Failure::Scenario(format!(
                "--out: {} is {what}, which is not overwritten",
                args.out.display()
            )));
        }
    }
    let (folder, mut output) = create(&args.out)?;
    let mut reader = Reader::new(&log);
    let done =
        rewrite(Interruptible(BufReader::with_capacity(1 << 18, input)), &mut output, |d| {
            match reader.datagram(d.source, d.destination, d.payload, d.whole) {
                Seen::Opened { packets, .. } => Some(packets),
                _ => None,
            }
        });
    if engine::interrupted() {
        return Err(Failure::Interrupted);
    }
    let done = done.map_err(|e| match e {
        RewriteError::Read(e) => Failure::Scenario(format!("{shown}: {e}")),
        RewriteError::Write(e) => Failure::Run(e.to_string()),
    })?;
    let tally = reader.tally();
    if tally.opened == 0 {
        // A copy of an unchanged capture under another name would look like success.
        return Err(Failure::Run(format!("{shown}: {}; nothing was written", nothing(&tally, log.len()))));
    }
    output.finish()?;
    folder.commit()?;
    if args.quiet { Ok(()) } else { super::super::print(&summary(args, &tally, &done)) }
}

fn key_log(files: &[PathBuf]) -> Result<KeyLog, Failure> {
    let mut log = KeyLog::default();
    for file in files {
        let wrong = |e: &dyn std::fmt::Display| Failure::Scenario(format!("--keys: {}: {e}", file.display()));
        let mut text = String::new();
        open(file).and_then(|mut f| f.read_to_string(&mut text)).map_err(|e| wrong(&cause(&e)))?;
        log.add(&text).map_err(|e| wrong(&e))?;
    }
    Ok(log)
}

fn open(path: &Path) -> io::Result<File> {
    if path.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { File::open(path) }
}

fn cause(e: &io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::IsADirectory => "is a directory, not a file".into(),
        ErrorKind::InvalidData => "not a text file".into(),
        _ => e.to_string(),
    }
}

/// Returns true if both paths are the same file.
fn same(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// Creates the file, which appears completely or not at all.
fn create(out: &Path) -> Result<(Folder, FolderFile), Failure> {
    let name = out.file_name().and_then(|name| name.to_str());
    let name =
        name.ok_or_else(|| Failure::Scenario(format!("--out: {} is no file's name", out.display())))?;
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut folder = Folder::create(parent)?;
    let file = folder.file(name)?;
    file.owner_only()?;
    Ok((folder, file))
}

/// The message for a capture in which nothing could be decrypted.
fn nothing(tally: &Tally, associations: usize) -> String {
    if tally.unopened() == 0 {
        return "no encrypted packets of STP in it".into();
    }
    let mut text = format!("none of {} encrypted packets opens with the keys of ", tally.unopened());
    let _ = write!(text, "{}: {}", plural(associations as u64, "association"), unopened(tally));
    text
}

fn unopened(tally: &Tally) -> String {
    let parts = [
        (tally.no_key, "without a key"),
        (tally.altered, "altered or forged"),
        (tally.cut_off, "cut off by the capture"),
    ];
    let parts: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    parts.join(", ")
}

fn summary(args: &Decrypt, tally: &Tally, done: &Rewritten) -> String {
    let mut text = format!(
        "{}: {} of {} opened, {} of handshakes, {}",
        args.out.display(),
        plural(tally.opened, "packet"),
        plural(tally.associations, "association"),
        tally.handshake,
        plural(tally.foreign + done.others, "other"),
    );
    match tally.unopened() {
        0 => {}
        n => {
            let _ = write!(text, "; {n} encrypted stay as they were: {}", unopened(tally));
        }
    }
    if done.cut {
        text.push_str("; the capture ends within a packet");
    }
    text.push('\n');
    text
}

fn plural(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A reader that fails after an interrupt by the user.
struct Interruptible<R>(R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if engine::interrupted() { Err(io::Error::other("interrupted")) } else { self.0.read(bytes) }
    }
}
