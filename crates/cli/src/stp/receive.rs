//! `skyhop stp receive`: receives a file from a serving host.
//!
//! Follows `send` in the other direction: the sender learns that everything has arrived.
//! Differs: the file gets its name when it is complete.
//! Leaves out lists of available files.

use super::options::{Common, address};
use super::parts::{Part, folder, sweep_quietly};
use super::report::{Bar, line, numbers};
use super::send::{endpoint_for, open};
use super::transfer::{Ask, Broken, Patient, Reply, Told, TransferRequest, hex, take_data};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use clap::Args;
use serde_json::Value;
use std::io::{self, Read, Write};
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
    /// Print the results as JSON.
    #[arg(long)]
    pub json: bool,
    /// Common options.
    #[command(flatten)]
    pub common: Common,
}

/// Runs the command.
pub fn run(args: &Receive) -> Result<(), Failure> {
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
    let from = address(&args.from)?;
    if !stdout {
        sweep_quietly(folder(&out), args.common.quiet);
    }
    let endpoint = endpoint_for(from, args.common.options(false)?)?;
    let stream = open(&endpoint, from)?;
    let begin = Stopwatch::start();
    let broken = |e: io::Error| match interrupted() {
        true => Failure::Stopped("interrupted; what had arrived was thrown away".into()),
        false => Failure::Run(format!("{}: not all has arrived: {e}", args.name)),
    };
    let mut patient = Patient::new(&stream).map_err(broken)?;
    TransferRequest { ask: Ask::Get, name: args.name.clone(), size: None }
        .put(&mut patient)
        .map_err(broken)?;
    if let Reply::Failed(why) = Reply::take(&mut patient).map_err(broken)? {
        return Err(Failure::Run(format!("{from} says: {}: {why}", args.name)));
    }
    let mut size = [0; 8];
    patient.read_exact(&mut size).map_err(broken)?;
    let mut bar = Bar::new(&args.name, Some(u64::from_be_bytes(size)), args.common.quiet);

    let show = |bytes| {
        bar.show(bytes, || stream.stats());
        !interrupted()
    };
    let written = |e: io::Error| (Failure::Run(format!("{}: cannot write: {e}", out.display())), true);
    let taken = (|| {
        let mut part = if stdout { None } else { Some(Part::create(&out).map_err(written)?) };
        let mut pipe = io::stdout().lock();
        let mut target: &mut dyn Write = part.as_mut().map_or(&mut pipe, |part| &mut part.file);
        let (bytes, found, expected) =
            take_data(&mut patient, &mut target, true, show).map_err(|e| match e {
                Broken::Source(e) => (broken(e), false),
                Broken::Target(e) => written(e),
            })?;
        if found != expected {
            let message = "what has arrived is not what was sent: the digests differ";
            return Err((Failure::Run(message.into()), true));
        }
        part.map_or_else(|| pipe.flush(), |part| part.finish(false)).map_err(written)?;
        Ok((bytes, found))
    })();
    bar.clear();
    let (bytes, digest) = match taken {
        Ok(done) => done,
        Err((failure, tell)) => {
            if tell {
                let mut words = Vec::new();
                let _ = failure.tell(&mut words);
                let why = String::from_utf8_lossy(&words).trim().trim_start_matches("error: ").to_owned();
                patient.limit(Duration::from_secs(5));
                let _ = patient.tell(&Reply::Failed(why));
            }
            drop(stream);
            endpoint.wait_at_rest(Duration::from_secs(2));
            return Err(failure);
        }
    };
    let elapsed = begin.elapsed();
    let stats = stream.stats();
    let here =
        |rest: &str, e| Failure::Run(format!("{}: all is here, but the sender {rest}: {e}", args.name));
    match patient.tell(&Reply::Done(digest)) {
        Told::Acknowledged => {}
        Told::Unconfirmed(e) => return Err(here("has not confirmed that it knows", e)),
        Told::Untold(e) => return Err(here("could not be told", e)),
    }
    drop(stream);
    endpoint.wait_at_rest(Duration::from_secs(2));
    let mut value = numbers(bytes, elapsed, &stats);
    value["sha256"] = Value::from(hex(&digest));
    let text = match args.json {
        true => format!("{value:#}\n"),
        false => format!("{}\nsha256 {}\n", line(false, &args.name, bytes, elapsed, &stats), hex(&digest)),
    };
    if stdout {
        // Standard output belongs to the file.
        eprint!("{text}");
        return Ok(());
    }
    crate::command::print(&text)
}
