//! `skyhop stp receive`: receives a file from a serving host.
//!
//! Follows `send` in the other direction: the sender learns that everything has arrived.
//! Differs: the file gets its name when it is complete.
//! Leaves out lists of available files.

use super::options::{Common, address};
use super::parts::{PartialFile, folder, tidy};
use super::report::{Bar, line, numbers};
use super::transfer::{
    Ask, Broken, Digest, Patient, ReceivedPrefix, Reply, Told, TransferRequest, hex, take_data,
};
use super::upload::{endpoint_for, open};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use clap::Args;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `skyhop stp receive`.
#[derive(Debug, Args)]
pub struct Receive {
    /// Name of the file at the serving host.
    pub name: String,
    /// Serving host, with its port unless it is 57824.
    pub from: String,
    /// File to write; - is standard output. By default the name itself.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Receive the missing part of a transfer that broke off; all of it, if nothing is kept.
    #[arg(long)]
    pub resume: bool,
    /// Print the results as JSON.
    #[arg(long)]
    pub json: bool,
    /// Common options.
    #[command(flatten)]
    pub common: Common,
}

/// Longest pause in the data, as the transport's for a silent peer; the data come from a file.
const SILENCE: Duration = Duration::from_secs(120);

/// A failure while data arrive, and true if the sender is to be informed of it.
type ReceiveFailure = (Failure, bool);

/// Runs the command.
pub fn run(args: &Receive) -> Result<(), Failure> {
    let target = ReceivedFile::of(args)?;
    let from = address(&args.from)?;
    if !target.stdout {
        tidy(folder(&target.out), u64::MAX, args.common.quiet);
    }
    let (mut part, beginning) = target.held(args.resume)?;
    let endpoint = endpoint_for(from, args.common.options(false)?)?;
    let stream = open(&endpoint, from)?;
    let hint = if target.stdout { "" } else { "; --resume continues from the data that have" };
    let broken = |e: io::Error| match interrupted() {
        true => Failure::Stopped(format!("interrupted; not all data have arrived{hint}")),
        false => Failure::Run(format!("{}: not all data have arrived: {e}{hint}", args.name)),
    };
    let mut patient = Patient::new(&stream).map_err(broken)?;
    let held = beginning.bytes();
    match request(&mut patient, &args.name, &beginning).map_err(broken)? {
        Reply::Done(_) => {}
        Reply::Failed(why) => return Err(Failure::Run(format!("{from} says: {}: {why}", args.name))),
        Reply::OtherFile => return Err(target.other_file(held, &args.name, from)),
    }
    // The transport reports the loss of the peer only to an end that has sent data.
    patient.limit(SILENCE);
    let mut size = [0; 8];
    patient.read_exact(&mut size).map_err(broken)?;
    let mut bar = Bar::new(&args.name, Some(u64::from_be_bytes(size)), args.common.quiet);
    bar.resume(held);
    let begin = Stopwatch::start();
    let show = |bytes| {
        bar.show(bytes, || stream.stats());
        !interrupted()
    };
    let taken = target.receive(&mut patient, &mut part, beginning, show, broken);
    bar.clear();
    let (bytes, digest) = match taken {
        Ok(done) => done,
        Err((failure, tell)) => {
            if tell {
                part.iter_mut().for_each(PartialFile::discard);
                inform(&mut patient, &failure);
            }
            drop(stream);
            endpoint.close(Duration::from_secs(2));
            return Err(failure);
        }
    };
    let elapsed = begin.elapsed();
    let stats = stream.stats();
    let here =
        |rest: &str, e| Failure::Run(format!("{}: the file is complete, but the {rest}: {e}", args.name));
    match patient.tell(&Reply::Done(digest)) {
        Told::Acknowledged => {}
        Told::Unconfirmed(e) => return Err(here("sender has not confirmed the reply", e)),
        Told::Untold(e) => return Err(here("reply could not be sent", e)),
    }
    drop(stream);
    endpoint.close(Duration::from_secs(2));
    let mut value = numbers(bytes, held, elapsed, &stats);
    value["sha256"] = Value::from(hex(&digest));
    let text = match args.json {
        true => format!("{value:#}\n"),
        false => {
            format!("{}\nsha256 {}\n", line(false, &args.name, bytes, held, elapsed, &stats), hex(&digest))
        }
    };
    if target.stdout {
        // Standard output belongs to the file.
        eprint!("{text}");
        return Ok(());
    }
    crate::command::print(&text)
}

/// The file to write, or standard output.
struct ReceivedFile {
    out: PathBuf,
    stdout: bool,
}

impl ReceivedFile {
    /// The target that the arguments name.
    ///
    /// # Errors
    ///
    /// The file exists, the name is not that of a file in this folder, or standard output is to be resumed.
    fn of(args: &Receive) -> Result<Self, Failure> {
        let out = args.out.clone().unwrap_or_else(|| PathBuf::from(&args.name));
        let stdout = out == Path::new("-");
        if !stdout && out.exists() {
            return Err(Failure::Scenario(format!("{} exists and is not overwritten", out.display())));
        }
        if args.out.is_none() && (out.components().count() != 1 || out.file_name().is_none()) {
            return Err(Failure::Scenario(format!(
                "\"{}\" is no plain file name: say where with --out",
                args.name
            )));
        }
        if args.resume && stdout {
            return Err(Failure::Scenario("--resume: standard output has no beginning to go on from".into()));
        }
        Ok(Self { out, stdout })
    }

    fn unwritten(&self, e: io::Error) -> Failure {
        Failure::Run(format!("{}: cannot write: {e}", self.out.display()))
    }

    /// The part kept from an earlier transfer and the state of its data, or none and the state of an empty file.
    fn held(&self, resume: bool) -> Result<(Option<PartialFile>, ReceivedPrefix), Failure> {
        let held = if resume { PartialFile::held(&self.out).map_err(|e| self.unwritten(e))? } else { None };
        let Some((mut part, len)) = held else { return Ok((None, ReceivedPrefix::of_file())) };
        let beginning = ReceivedPrefix::read(&mut part.file, len).map_err(|e| {
            Failure::Run(format!("{}: the part held cannot be read: {e}", self.out.display()))
        })?;
        Ok((Some(part), beginning))
    }

    fn other_file(&self, held: u64, name: &str, from: SocketAddr) -> Failure {
        Failure::Scenario(format!(
            "--resume: the {held} bytes held of {} are not the beginning of {name} at {from}; without --resume it is \
             received anew",
            self.out.display(),
        ))
    }

    /// Writes the data of a transfer, and gives the file its name. Returns the number of bytes and their digest.
    fn receive(
        &self,
        patient: &mut Patient<'_>,
        part: &mut Option<PartialFile>,
        beginning: ReceivedPrefix,
        show: impl FnMut(u64) -> bool,
        broken: impl Fn(io::Error) -> Failure,
    ) -> Result<(u64, Digest), ReceiveFailure> {
        let written = |e: io::Error| (self.unwritten(e), true);
        if part.is_none() && !self.stdout {
            *part = Some(PartialFile::create(&self.out).map_err(written)?);
        }
        let mut pipe = io::stdout().lock();
        let mut target: &mut dyn Write = part.as_mut().map_or(&mut pipe, |part| &mut part.file);
        let (bytes, found, expected) =
            take_data(patient, &mut target, beginning, show).map_err(|e| match e {
                Broken::Source(e) => (broken(e), false),
                Broken::Target(e) => written(e),
            })?;
        if found != expected {
            let message = "the received data are not the sent data: the digests differ";
            return Err((Failure::Run(message.into()), true));
        }
        part.take().map_or_else(|| pipe.flush(), |part| part.finish(false)).map_err(written)?;
        Ok((bytes, found))
    }
}

/// Requests a file, or what follows the data that are held. Returns the reply.
fn request(patient: &mut Patient<'_>, name: &str, beginning: &ReceivedPrefix) -> io::Result<Reply> {
    let held = beginning.bytes();
    let (ask, size) = if held > 0 { (Ask::GetRest, Some(held)) } else { (Ask::Get, None) };
    TransferRequest { ask, name: name.to_owned(), size }.put(patient)?;
    if held > 0 {
        patient.write_all(&beginning.digest())?;
    }
    Reply::take(patient)
}

/// Informs the sender of a failure at this end.
fn inform(patient: &mut Patient<'_>, failure: &Failure) {
    let mut words = Vec::new();
    let _ = failure.tell(&mut words);
    let why = String::from_utf8_lossy(&words).trim().trim_start_matches("error: ").to_owned();
    patient.limit(Duration::from_secs(5));
    let _ = patient.tell(&Reply::Failed(why));
}
