//! `skyhop stp serve`: receives files, sends files, and discards measurement traffic.
//!
//! Follows the practice of safe writes: into a temporary file, which is renamed when it is complete.
//! Differs from a file server: one folder, plain names, and no overwriting unless that is allowed.
//! Leaves out users; every holder of the key has all rights.

use super::names::{plain_name, shown};
use super::options::{Common, bind_failure};
use super::parts::{self, PartialFile};
use super::places::{TransferPlace, TransferPlaces};
use super::report::line;
use super::transfer::{
    Ask, Broken, Digest, Patient, ReceivedPrefix, Reply, Told, TransferRequest, hex, put_data, take_data,
};
use super::uploads::{Running, Uploads};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::stopwatch::{Stopwatch, pause};
use clap::Args;
use skyhop_live::socket::Carrier;
use skyhop_live::{Endpoint, Notice, StpStream};
use skyhop_units::Bytes;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// `skyhop stp serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Address to listen at; by default all of this host, of IPv4 and IPv6. The port is 57824 if left out.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Folder for received files, and of files to send.
    #[arg(long, value_name = "DIR", conflicts_with = "to")]
    pub dir: Option<PathBuf>,
    /// Write received data into this file, under any name; - is standard output.
    #[arg(long, value_name = "FILE", requires = "once")]
    pub to: Option<PathBuf>,
    /// Allow files of the folder to be replaced.
    #[arg(long, requires = "dir")]
    pub overwrite: bool,
    /// Largest amount of data held of transfers that broke off, for a week and to be resumed; the oldest are removed.
    #[arg(long, value_name = "SIZE", default_value = "50 GB", requires = "dir")]
    pub hold: Bytes,
    /// Exit after the first transfer; the exit code is its result.
    #[arg(long)]
    pub once: bool,
    /// Common options.
    #[command(flatten)]
    pub common: Common,
}

/// Time limit for a request to arrive: as long as an opening goes on, since beside others on a slow link it may be repeated often.
const REQUEST_PATIENCE: Duration = Duration::from_secs(120);
/// Time limit for a pause in a transfer: a sender that reads from a pipe may have no data for a while.
const DATA_PATIENCE: Duration = Duration::from_secs(3600);

/// Runs the command.
pub fn run(args: &Serve) -> Result<(), Failure> {
    if let Some(dir) = &args.dir
        && !dir.is_dir()
    {
        return Err(Failure::Scenario(format!("--dir: {} is not a folder", dir.display())));
    }
    let mut options = args.common.options(false)?;
    let any: IpAddr = match options.carrier {
        Carrier::Udp => Ipv6Addr::UNSPECIFIED.into(),
        Carrier::Ip(_) => Ipv4Addr::UNSPECIFIED.into(),
    };
    let any = SocketAddr::new(any, skyhop_live::UDP_PORT);
    let listen = args.listen.as_deref().map_or(Ok(any), super::options::address)?;
    let quiet = args.common.quiet;
    options.notices = Some(Arc::new(move |notice: &Notice| {
        if !quiet && !matches!(notice, Notice::Opened(..)) {
            eprintln!("skyhop: {notice}");
        }
    }));
    let endpoint = Endpoint::bind(listen, options).map_err(|e| bind_failure(listen, e))?;
    if let Some(dir) = &args.dir {
        parts::tidy(dir, args.hold.get(), quiet);
    }
    let listener = endpoint.listen();
    if !quiet {
        eprintln!("skyhop: listening at {}", endpoint.local_addr());
    }
    let places = TransferPlaces::default();
    let uploads = Uploads::default();
    let result = std::thread::scope(|scope| {
        loop {
            if interrupted() {
                return Err(Failure::Stopped("interrupted".into()));
            }
            if places.are_taken() {
                if listener.waiting() > 0 {
                    places.make_room();
                }
                pause(Duration::from_millis(20));
                continue;
            }
            let (stream, peer) = match listener.accept_timeout(Duration::from_millis(200)) {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == io::ErrorKind::TimedOut => continue,
                Err(e) => return Err(Failure::Run(e.to_string())),
            };
            if args.once {
                return handle(args, &uploads, &stream, peer, None).map_err(Failure::Run);
            }
            let (place, places, uploads) = (places.take(), &places, &uploads);
            scope.spawn(move || {
                if let Err(why) = handle(args, uploads, &stream, peer, Some(&place))
                    && !quiet
                {
                    eprintln!("error: {why}");
                }
                drop(stream);
                places.leave(&place);
            });
        }
    });
    endpoint.close(Duration::from_secs(3));
    result
}

/// Serves one connection. The error names the cause and the peer.
fn handle(
    args: &Serve,
    uploads: &Uploads,
    stream: &StpStream,
    peer: SocketAddr,
    place: Option<&Arc<TransferPlace>>,
) -> Result<(), String> {
    let say = |why: String| format!("{peer}: {why}");
    let mut patient = Patient::new(stream).map_err(|e| say(e.to_string()))?;
    place.into_iter().for_each(|place| patient.at(place.clone()));
    // A peer that requests nothing, or has failed, does not occupy a slot for ever.
    patient.limit(REQUEST_PATIENCE);
    let request = TransferRequest::take(&mut patient).map_err(|e| say(e.to_string()))?;
    patient.limit(DATA_PATIENCE);
    let begin = Stopwatch::start();
    let name = shown(&request.name);
    let done = match request.ask {
        Ask::Put | Ask::PutRest => put(args, uploads, &mut patient, &request),
        Ask::Get | Ask::GetRest => {
            return get(args, patient, &request).map_err(|e| say(format!("{name}: {e}")));
        }
        Ask::Sink => take(&mut patient, &mut io::sink(), ReceivedPrefix::of_measurement(), |_| true)
            .map_err(|fault| fault.why),
    };
    let reply = match &done {
        Ok(taken) => Reply::Done(taken.digest),
        Err(why) => Reply::Failed(why.clone()),
    };
    let stats = stream.stats();
    let told = patient.tell(&reply);
    match (done, told) {
        (Ok(taken), Told::Acknowledged) => {
            if !args.common.quiet {
                let line = line(false, &name, taken.bytes, taken.held, begin.elapsed(), &stats);
                eprintln!("{line}\nsha256 {}", hex(&taken.digest));
            }
            Ok(())
        }
        (Ok(_), Told::Unconfirmed(e)) => {
            Err(say(format!("{name}: the file is complete, but the sender has not confirmed the reply: {e}")))
        }
        (Ok(_), Told::Untold(e)) => {
            Err(say(format!("{name}: the file is complete, but the reply could not be sent: {e}")))
        }
        (Err(why), _) => Err(say(format!("{name}: {why}"))),
    }
}

/// Data that were received.
struct Taken {
    bytes: u64,
    held: u64,
    digest: Digest,
}

/// The failure of a reception.
struct Fault {
    why: String,
    /// The data so far are good, and may be resumed.
    resumable: bool,
}

/// Receives the part after a kept beginning, and compares digests.
fn take(
    from: &mut impl Read,
    target: &mut impl Write,
    beginning: ReceivedPrefix,
    go_on: impl Fn(u64) -> bool,
) -> Result<Taken, Fault> {
    let held = beginning.bytes();
    match take_data(from, target, beginning, |bytes| go_on(bytes) && !interrupted()) {
        Ok((bytes, digest, expected)) if digest == expected => Ok(Taken { bytes, held, digest }),
        Ok(_) => Err(Fault {
            why: "the received data are not the sent data: the digests differ".into(),
            resumable: false,
        }),
        Err(Broken::Source(e)) => Err(Fault { why: format!("the transfer broke off: {e}"), resumable: true }),
        Err(Broken::Target(e)) => Err(Fault { why: unwritten(e), resumable: false }),
    }
}

fn unwritten(e: io::Error) -> String {
    format!("cannot write: {e}")
}

/// Answers a sender's question about the kept part of a file.
fn tell_held(to: &mut impl Write, request: &TransferRequest, held: &ReceivedPrefix) -> Result<(), String> {
    if request.ask != Ask::PutRest {
        return Ok(());
    }
    let told = Reply::Done(held.digest()).put(to).and_then(|()| to.write_all(&held.bytes().to_be_bytes()));
    told.map_err(|e| format!("the transfer broke off: {e}"))
}

fn put(
    args: &Serve,
    uploads: &Uploads,
    from: &mut Patient<'_>,
    request: &TransferRequest,
) -> Result<Taken, String> {
    let new = ReceivedPrefix::of_file;
    if let Some(to) = &args.to {
        tell_held(from, request, &new())?;
        if to == Path::new("-") {
            let mut out = io::stdout().lock();
            let taken = take(from, &mut out, new(), |_| true).map_err(|fault| fault.why)?;
            out.flush().map_err(unwritten)?;
            return Ok(taken);
        }
        let mut file = File::create(to).map_err(unwritten)?;
        let taken = take(from, &mut file, new(), |_| true).map_err(|fault| fault.why)?;
        parts::sync(&file).map_err(unwritten)?;
        return Ok(taken);
    }
    let Some(dir) = &args.dir else {
        return Err("this host does not accept files (serve with --dir or --to)".into());
    };
    let path = dir.join(plain_name(&request.name)?);
    if path.exists() && !args.overwrite {
        let exists = || format!("{} exists and is not overwritten", request.name);
        return confirm(from, request, &path).unwrap_or_else(|| Err(exists()));
    }
    let running = uploads.begin(&request.name);
    from.stop_by(Some(running.stop()));
    let taken = put_part(args, &running, from, request, &path);
    from.stop_by(None);
    if taken.is_err() {
        parts::tidy(dir, args.hold.get(), true);
    }
    taken
}

/// Compares a file that is there with one that is to be resumed: its sender may not know that it was complete. `None` if it is not
/// to be resumed, or another one.
fn confirm(from: &mut Patient<'_>, request: &TransferRequest, path: &Path) -> Option<Result<Taken, String>> {
    let mut file = File::open(path).ok().filter(|_| request.ask == Ask::PutRest)?;
    let len = file.metadata().ok().filter(|meta| meta.is_file())?.len();
    request.size.filter(|size| *size == len)?;
    let beginning = ReceivedPrefix::read(&mut file, len).ok()?;
    if let Err(why) = tell_held(from, request, &beginning) {
        return Some(Err(why));
    }
    // Data beyond it have no place: the slice of no bytes takes none.
    let taken = take(from, &mut [0_u8; 0].as_mut_slice(), beginning, |_| true);
    Some(taken.map_err(|fault| fault.why))
}

/// Receives into a part, which is put aside if the transfer breaks off.
fn put_part(
    args: &Serve,
    running: &Running<'_>,
    from: &mut Patient<'_>,
    request: &TransferRequest,
    path: &Path,
) -> Result<Taken, String> {
    let mut held = None;
    if request.ask == Ask::PutRest {
        if !running.take_over() {
            return Err(format!("{} is being received over another connection", request.name));
        }
        held = PartialFile::held(path).map_err(unwritten)?;
    }
    let (mut part, beginning) = match held {
        None => (PartialFile::create(path).map_err(unwritten)?, ReceivedPrefix::of_file()),
        Some((mut part, len)) => {
            let beginning = ReceivedPrefix::read(&mut part.file, len)
                .map_err(|e| format!("the part held cannot be read: {e}"))?;
            (part, beginning)
        }
    };
    tell_held(from, request, &beginning)?;
    match take(from, &mut part.file, beginning, |bytes| running.advance(bytes)) {
        Ok(taken) => part.finish(args.overwrite).map(|()| taken).map_err(unwritten),
        Err(fault) => {
            // Data of unknown size come from a pipe, which cannot be read again.
            if !fault.resumable || request.size.is_none() {
                part.discard();
            }
            Err(fault.why)
        }
    }
}

fn get(args: &Serve, mut stream: Patient<'_>, request: &TransferRequest) -> Result<(), String> {
    let rest = request.ask == Ask::GetRest;
    let digest = match rest {
        true => Some(super::transfer::take::<32>(&mut stream).map_err(|e| e.to_string())?),
        false => None,
    };
    let begin = Stopwatch::start();
    let opened = (|| {
        let dir = args.dir.as_ref().ok_or("this host does not send files (serve with --dir)")?;
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
    let held = request.size.filter(|_| rest).unwrap_or(0);
    let beginning = match ReceivedPrefix::read(&mut file, held) {
        Ok(beginning) if digest.is_none_or(|digest| digest == beginning.digest()) => beginning,
        Err(e) if e.kind() != io::ErrorKind::UnexpectedEof => return Err(format!("cannot be read: {e}")),
        _ => {
            stream.tell(&Reply::OtherFile);
            return Err(format!("the receiver holds {held} bytes that are not the beginning of it"));
        }
    };
    let sent = (|| {
        Reply::Done([0; 32]).put(&mut stream).map_err(Broken::Target)?;
        stream.write_all(&size.to_be_bytes()).map_err(Broken::Target)?;
        put_data(&mut file, &mut stream, beginning, |_| !interrupted())
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
                    line(true, &shown(&request.name), bytes, held, begin.elapsed(), &stats),
                    hex(&digest)
                );
            }
            Ok(())
        }
        Ok(Reply::Done(_) | Reply::OtherFile) => {
            Err("the received data are not the sent data: the digests differ".into())
        }
        Ok(Reply::Failed(why)) => Err(format!("the receiver says: {why}")),
        Err(e) => Err(format!("the receiver did not say that all is there: {e}")),
    }
}
