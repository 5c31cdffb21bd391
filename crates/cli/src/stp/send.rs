//! `skyhop stp send`: sends a file or standard input to a serving host.
//!
//! Follows the end-to-end argument: a transfer is complete when the receiver's application has written and hashed it.
//! Differs from a copy: the receiver decides whether it accepts the file's name.
//! Leaves out folders; tar makes a stream of them.

use super::options::{Common, address, bind_failure};
use super::report::{Bar, line, numbers};
use super::transfer::{
    Ask, Broken, Digest, Patient, ReceivedPrefix, Reply, TransferRequest, hex, put_data, take,
};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::stopwatch::{Stopwatch, pause};
use clap::Args;
use serde_json::Value;
use skyhop_live::{Endpoint, StpStream};
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `skyhop stp send`.
#[derive(Debug, Args)]
pub struct Send {
    /// File to send; - is standard input.
    pub file: PathBuf,
    /// Serving host, with its port unless it is 57824.
    pub to: String,
    /// Name at the receiver; by default the file's own.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Send the missing part of a transfer that broke off; all of it, if the receiver keeps nothing.
    #[arg(long)]
    pub resume: bool,
    /// Print the results as JSON.
    #[arg(long)]
    pub json: bool,
    /// Common options.
    #[command(flatten)]
    pub common: Common,
}

/// Runs the command.
pub fn run(args: &Send) -> Result<(), Failure> {
    let stdin = args.file == Path::new("-");
    let shown = args.file.display();
    let own_name = args.file.file_name().filter(|_| !stdin).map(|name| name.to_string_lossy().into_owned());
    let name = args.name.clone().or(own_name).unwrap_or_else(|| "stdin".into());
    let (mut source, size): (Box<dyn Read>, Option<u64>) = if stdin {
        if args.resume {
            return Err(Failure::Scenario(
                "--resume: standard input cannot be read from its beginning again".into(),
            ));
        }
        (Box::new(io::stdin().lock()), None)
    } else {
        let opened = File::open(&args.file).and_then(|file| Ok((file.metadata()?, file)));
        let (meta, file) = opened.map_err(|e| Failure::Scenario(format!("{shown}: {e}")))?;
        if meta.is_dir() {
            return Err(Failure::Scenario(format!(
                "{shown}: a folder; \"tar c {shown} | skyhop stp send -\" sends it"
            )));
        }
        if args.resume && !meta.is_file() {
            return Err(Failure::Scenario(format!("--resume: {shown} is no regular file")));
        }
        (Box::new(file), meta.is_file().then_some(meta.len()))
    };
    let to = address(&args.to)?;
    let options = args.common.options(false)?;
    let endpoint = endpoint_for(to, options)?;
    let stream = open(&endpoint, to)?;
    let mut bar = Bar::new(&name, size, args.common.quiet);
    let mut begin = Stopwatch::start();
    let mut held = 0;
    let ask = if args.resume { Ask::PutRest } else { Ask::Put };
    let request = TransferRequest { ask, name: name.clone(), size };
    let sent = request.open(&stream).map_err(SendError::Network).and_then(|()| {
        let mut beginning = ReceivedPrefix::of_file();
        if args.resume {
            beginning = resume(&stream, &mut source)?;
            (held, begin) = (beginning.bytes(), Stopwatch::start());
            bar.resume(held);
        }
        send(&stream, &mut source, beginning, |bytes| bar.show(bytes, || stream.stats()))
    });
    bar.clear();
    let elapsed = begin.elapsed();
    let stats = stream.stats();
    if matches!(sent, Err(SendError::OtherFile(_))) {
        let _ = stream.reset();
    }
    drop(stream);
    let sent = sent.map_err(|e| describe(e, args, size.is_some()));
    // Also the word that the connection is broken off is to arrive.
    endpoint.close(Duration::from_secs(2));
    let (bytes, ours, theirs) = sent?;
    let same = ours == theirs;
    if args.json {
        let mut value = numbers(bytes, held, elapsed, &stats);
        value["sha256"] = Value::from(hex(&ours));
        value["sha256_receiver"] = Value::from(hex(&theirs));
        value["acknowledged"] = Value::from(same);
        crate::command::print(&format!("{value:#}\n"))?;
    } else {
        let line = line(true, &name, bytes, held, elapsed, &stats);
        crate::command::print(&format!(
            "{line}\nsha256 here  {}\nsha256 there {}\n",
            hex(&ours),
            hex(&theirs)
        ))?;
    }
    if !same {
        return Err(Failure::Run(format!("{name}: the data that arrived at {to} are not those sent")));
    }
    Ok(())
}

/// An endpoint whose address family matches a peer's.
pub fn endpoint_for(to: SocketAddr, options: skyhop_live::Options) -> Result<Endpoint, Failure> {
    let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
    Endpoint::bind(any, options).map_err(|e| bind_failure(any, e))
}

/// A connection to a peer.
pub fn open(endpoint: &Endpoint, to: SocketAddr) -> Result<StpStream, Failure> {
    endpoint.connect(to).map_err(|e| Failure::Run(format!("cannot connect: {e}")))
}

/// The error of a failed transmission.
#[derive(Debug)]
pub enum SendError {
    /// The file cannot be read.
    Source(io::Error),
    /// The connection failed.
    Network(io::Error),
    /// The receiver refused or failed, with its reason.
    Receiver(String),
    /// The receiver holds this many bytes that are not the beginning of the file.
    OtherFile(u64),
    /// The user interrupted the transfer.
    Interrupted,
}

fn describe(e: SendError, args: &Send, regular: bool) -> Failure {
    let (file, to) = (args.file.display(), &args.to);
    let hint = if regular { "; --resume continues from the data that have" } else { "" };
    match e {
        SendError::Source(e) => Failure::Run(format!("{file}: {e}")),
        SendError::Network(e) => Failure::Run(format!("{file}: not all data have arrived: {e}{hint}")),
        SendError::Receiver(why) => Failure::Run(format!("the receiver says: {why}")),
        SendError::OtherFile(held) => Failure::Scenario(format!(
            "--resume: the {held} bytes that {to} holds are not the beginning of {file}; without --resume it is sent anew"
        )),
        SendError::Interrupted => Failure::Stopped(format!("interrupted; not all data have arrived{hint}")),
    }
}

/// Reads the receiver's kept length, and as much of the source, which must be the same.
fn resume(stream: &StpStream, source: &mut dyn Read) -> Result<ReceivedPrefix, SendError> {
    let network = |e| if interrupted() { SendError::Interrupted } else { SendError::Network(e) };
    let mut from = Patient::new(stream).map_err(network)?;
    let theirs = match Reply::take(&mut from).map_err(network)? {
        Reply::Done(digest) => digest,
        Reply::Failed(why) => return Err(SendError::Receiver(why)),
        Reply::OtherFile => return Err(SendError::OtherFile(0)),
    };
    let held = u64::from_be_bytes(take(&mut from).map_err(network)?);
    let mut source = source;
    match ReceivedPrefix::read(&mut source, held) {
        Ok(beginning) if beginning.digest() == theirs => Ok(beginning),
        Ok(_) => Err(SendError::OtherFile(held)),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(SendError::OtherFile(held)),
        Err(_) if interrupted() => Err(SendError::Interrupted),
        Err(e) => Err(SendError::Source(e)),
    }
}

/// Sends the part of a file after its kept beginning, after its request, and waits for the receiver's confirmation. Returns the
/// number of bytes, our digest and the receiver's.
pub fn send(
    stream: &StpStream,
    source: &mut dyn Read,
    beginning: ReceivedPrefix,
    mut show: impl FnMut(u64),
) -> Result<(u64, Digest, Digest), SendError> {
    std::thread::scope(|scope| {
        // The reply may come early, for example if the disk is full, so it is read while data are sent.
        let reply = scope.spawn(|| {
            let reply = Patient::new(stream).and_then(|mut stream| Reply::take(&mut stream));
            if matches!(reply, Ok(Reply::Failed(_))) {
                let _ = stream.reset();
            }
            reply
        });
        let sent = (|| {
            let mut to = Patient::new(stream).map_err(Broken::Target)?;
            let mut source = source;
            let sent = put_data(&mut source, &mut to, beginning, |bytes| {
                show(bytes);
                !interrupted()
            })?;
            to.finish().map_err(Broken::Target)?;
            Ok(sent)
        })();
        if sent.is_err() {
            // A reply that explains the failure may be in flight; the wait for it is limited.
            if !reply.is_finished() {
                pause(Duration::from_millis(100));
            }
            let _ = stream.reset();
        }
        let reply = reply.join().expect("reading a reply does not panic");
        match (sent, reply) {
            (_, Ok(Reply::Failed(why))) => Err(SendError::Receiver(why)),
            (_, _) if interrupted() => Err(SendError::Interrupted),
            (Err(Broken::Source(e)), _) => Err(SendError::Source(e)),
            (Err(Broken::Target(e)), _) | (Ok(_), Err(e)) => Err(SendError::Network(e)),
            (Ok((bytes, ours)), Ok(Reply::Done(theirs))) => Ok((bytes, ours, theirs)),
            (Ok((bytes, _)), Ok(Reply::OtherFile)) => Err(SendError::OtherFile(bytes)),
        }
    })
}
