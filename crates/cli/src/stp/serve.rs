//! `skyhop stp serve`: receives files, sends files, and discards measurement traffic.
//!
//! Follows the practice of safe writes: into a temporary file, which is renamed when it is complete.
//! Differs from a file server: one folder, plain names, and no overwriting unless that is allowed.
//! Leaves out users; every holder of the key has all rights.

use super::names::{plain_name, shown};
use super::options::{Common, bind_failure};
use super::parts::{self, Part};
use super::report::line;
use super::transfer::{Ask, Broken, Patient, Reply, Told, TransferRequest, hex, put_data, take_data};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::stopwatch::{Stopwatch, pause};
use clap::Args;
use skyhop_live::{Endpoint, Notice, StpStream};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// `skyhop stp serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Address to listen at; the port is 57824 if left out.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub listen: String,
    /// Folder for received files, and of files to send.
    #[arg(long, value_name = "DIR", conflicts_with = "to")]
    pub dir: Option<PathBuf>,
    /// Write received data into this file, under any name; - is standard output.
    #[arg(long, value_name = "FILE", requires = "once")]
    pub to: Option<PathBuf>,
    /// Allow files of the folder to be replaced.
    #[arg(long, requires = "dir")]
    pub overwrite: bool,
    /// Exit after the first transfer; the exit code is its result.
    #[arg(long)]
    pub once: bool,
    /// Common options.
    #[command(flatten)]
    pub common: Common,
}

/// Largest number of simultaneous transfers.
const TRANSFERS_MAX: usize = 64;
/// Time limit for a request to arrive.
const REQUEST_PATIENCE: Duration = Duration::from_secs(30);
/// Time limit for a pause in a transfer: a sender that reads from a pipe may have no data for a while.
const DATA_PATIENCE: Duration = Duration::from_secs(3600);

/// Runs the command.
pub fn run(args: &Serve) -> Result<(), Failure> {
    if let Some(dir) = &args.dir
        && !dir.is_dir()
    {
        return Err(Failure::Scenario(format!("--dir: {} is not a folder", dir.display())));
    }
    let listen = super::options::address(&args.listen)?;
    let mut options = args.common.options(false)?;
    let quiet = args.common.quiet;
    options.notices = Some(Arc::new(move |notice: &Notice| {
        if !quiet && !matches!(notice, Notice::Opened(..)) {
            eprintln!("skyhop: {notice}");
        }
    }));
    let endpoint = Endpoint::bind(listen, options).map_err(|e| bind_failure(listen, e))?;
    if let Some(dir) = &args.dir {
        parts::sweep_quietly(dir, quiet);
    }
    let listener = endpoint.listen();
    if !quiet {
        eprintln!("skyhop: listening at {}", endpoint.local_addr());
    }
    let running = AtomicUsize::new(0);
    let result = std::thread::scope(|scope| {
        loop {
            if interrupted() {
                return Err(Failure::Stopped("interrupted".into()));
            }
            if running.load(Ordering::Relaxed) >= TRANSFERS_MAX {
                pause(Duration::from_millis(20));
                continue;
            }
            let (stream, peer) = match listener.accept_timeout(Duration::from_millis(200)) {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == io::ErrorKind::TimedOut => continue,
                Err(e) => return Err(Failure::Run(e.to_string())),
            };
            if args.once {
                return handle(args, &stream, peer).map_err(Failure::Run);
            }
            running.fetch_add(1, Ordering::Relaxed);
            let running = &running;
            scope.spawn(move || {
                if let Err(why) = handle(args, &stream, peer)
                    && !quiet
                {
                    eprintln!("error: {why}");
                }
                drop(stream);
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    endpoint.wait_at_rest(Duration::from_secs(3));
    result
}

/// Serves one connection. The error names the cause and the peer.
fn handle(args: &Serve, stream: &StpStream, peer: SocketAddr) -> Result<(), String> {
    let say = |why: String| format!("{peer}: {why}");
    let mut patient = Patient::new(stream).map_err(|e| say(e.to_string()))?;
    // A peer that requests nothing, or has failed, does not occupy a slot for ever.
    patient.limit(REQUEST_PATIENCE);
    let request = TransferRequest::take(&mut patient).map_err(|e| say(e.to_string()))?;
    patient.limit(DATA_PATIENCE);
    let begin = Stopwatch::start();
    let name = shown(&request.name);
    let done = match request.ask {
        Ask::Put => put(args, &mut patient, &request),
        Ask::Get => return get(args, patient, &request).map_err(|e| say(format!("{name}: {e}"))),
        Ask::Sink => take(&mut patient, &mut io::sink(), false),
    };
    let reply = match &done {
        Ok((_, digest)) => Reply::Done(*digest),
        Err(why) => Reply::Failed(why.clone()),
    };
    let stats = stream.stats();
    let told = patient.tell(&reply);
    match (done, told) {
        (Ok((bytes, digest)), Told::Acknowledged) => {
            if !args.common.quiet {
                eprintln!("{}\nsha256 {}", line(false, &name, bytes, begin.elapsed(), &stats), hex(&digest));
            }
            Ok(())
        }
        (Ok(_), Told::Unconfirmed(e)) => {
            Err(say(format!("{name}: all is here, but the sender has not confirmed that it knows: {e}")))
        }
        (Ok(_), Told::Untold(e)) => {
            Err(say(format!("{name}: all is here, but the sender could not be told: {e}")))
        }
        (Err(why), _) => Err(say(format!("{name}: {why}"))),
    }
}

type Taken = Result<(u64, [u8; 32]), String>;

/// Receives data and compares digests.
fn take(from: &mut impl Read, target: &mut impl Write, hashed: bool) -> Taken {
    match take_data(from, target, hashed, |_| !interrupted()) {
        Ok((bytes, found, expected)) if found == expected => Ok((bytes, found)),
        Ok(_) => Err("what has arrived is not what was sent: the digests differ".into()),
        Err(Broken::Source(e)) => Err(format!("the transfer broke off: {e}")),
        Err(Broken::Target(e)) => Err(format!("cannot write: {e}")),
    }
}

fn put(args: &Serve, from: &mut Patient<'_>, request: &TransferRequest) -> Taken {
    if let Some(to) = &args.to {
        if to == Path::new("-") {
            let mut out = io::stdout().lock();
            let taken = take(from, &mut out, true)?;
            out.flush().map_err(|e| format!("cannot write: {e}"))?;
            return Ok(taken);
        }
        let mut file = File::create(to).map_err(|e| format!("cannot write: {e}"))?;
        let taken = take(from, &mut file, true)?;
        parts::sync(&file).map_err(|e| format!("cannot write: {e}"))?;
        return Ok(taken);
    }
    let Some(dir) = &args.dir else {
        return Err("this host takes no files (serve with --dir or --to)".into());
    };
    let path = dir.join(plain_name(&request.name)?);
    if path.exists() && !args.overwrite {
        return Err(format!("{} exists and is not overwritten", request.name));
    }
    let written = |e: io::Error| format!("cannot write: {e}");
    let mut part = Part::create(&path).map_err(written)?;
    let taken = take(from, &mut part.file, true)?;
    part.finish(args.overwrite).map_err(written)?;
    Ok(taken)
}

fn get(args: &Serve, mut stream: Patient<'_>, request: &TransferRequest) -> Result<(), String> {
    let begin = Stopwatch::start();
    let opened = (|| {
        let dir = args.dir.as_ref().ok_or("this host gives no files (serve with --dir)")?;
        let path = dir.join(plain_name(&request.name)?);
        let meta = fs::symlink_metadata(&path).map_err(|_| "no such file".to_owned())?;
        if !meta.is_file() {
            return Err("no such file".to_owned());
        }
        let file = File::open(&path).map_err(|e| format!("cannot be read: {}", e.kind()))?;
        Ok((meta.len(), file))
    })();
    let (size, mut file) = match opened {
        Ok(opened) => opened,
        Err(why) => {
            let _ = Reply::Failed(why.clone()).put(&mut stream).and_then(|()| stream.finish());
            return Err(why);
        }
    };
    let sent = (|| {
        Reply::Done([0; 32]).put(&mut stream).map_err(Broken::Target)?;
        stream.write_all(&size.to_be_bytes()).map_err(Broken::Target)?;
        put_data(&mut file, &mut stream, true, |_| !interrupted())
    })();
    let (bytes, digest) = sent.map_err(|e| match e {
        Broken::Source(e) => format!("cannot be read: {e}"),
        Broken::Target(e) => format!("the transfer broke off: {e}"),
    })?;
    stream.finish().map_err(|e| format!("the transfer broke off: {e}"))?;
    match Reply::take(&mut stream) {
        Ok(Reply::Done(theirs)) if theirs == digest => {
            if !args.common.quiet {
                let stats = stream.stream.stats();
                eprintln!(
                    "{}\nsha256 {}",
                    line(true, &shown(&request.name), bytes, begin.elapsed(), &stats),
                    hex(&digest)
                );
            }
            Ok(())
        }
        Ok(Reply::Done(_)) => Err("what has arrived is not what was sent: the digests differ".into()),
        Ok(Reply::Failed(why)) => Err(format!("the receiver says: {why}")),
        Err(e) => Err(format!("the receiver did not say that all is there: {e}")),
    }
}
