//! The transfer of one file to a serving host, over a connection of its own.
//!
//! Follows the end-to-end argument: a transfer is complete when the receiver's application has written and hashed it.
//! Leaves out the arguments and the report of `skyhop stp send` (`send`, `several`).

use super::options::bind_failure;
use super::report::{Bar, line, numbers};
use super::transfer::{
    Ask, Broken, Digest, Patient, ReceivedPrefix, Reply, TransferRequest, WholeFile, hex, put_data, take,
};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::stopwatch::{Stopwatch, pause};
use serde_json::Value;
use skyhop_live::{Endpoint, StpStream, StreamStats};
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file to send, or standard input.
pub struct FileSource {
    path: PathBuf,
    /// Its name at the receiver.
    pub name: String,
    /// Size in bytes of a regular file.
    pub size: Option<u64>,
    /// A pipe or a device, which may be opened once only.
    opened: Option<File>,
}

impl FileSource {
    /// A file to be sent under its own name, or another.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, is a folder, or has no beginning to be read again if it is to be resumed.
    pub fn new(path: &Path, name: Option<&str>, resume: bool) -> Result<Self, String> {
        let shown = path.display();
        if path == Path::new("-") {
            if resume {
                return Err("--resume: standard input cannot be read from its beginning again".into());
            }
            let name = name.unwrap_or("stdin").to_owned();
            return Ok(FileSource { path: path.to_owned(), name, size: None, opened: None });
        }
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (meta, file) = opened.map_err(|e| format!("{shown}: {e}"))?;
        if meta.is_dir() {
            return Err(format!("{shown}: a folder; \"tar c {shown} | skyhop stp send -\" sends it"));
        }
        if resume && !meta.is_file() {
            return Err(format!("--resume: {shown} is no regular file"));
        }
        let own = || path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(FileSource {
            path: path.to_owned(),
            name: name.map(str::to_owned).or_else(own).unwrap_or_else(|| "stdin".into()),
            size: meta.is_file().then_some(meta.len()),
            opened: (!meta.is_file()).then_some(file),
        })
    }

    /// The file, to be read from its beginning.
    fn open(&mut self) -> io::Result<Box<dyn Read>> {
        if self.path == Path::new("-") {
            return Ok(Box::new(io::stdin().lock()));
        }
        if let Some(file) = self.opened.take() {
            return Ok(Box::new(file));
        }
        let file = File::open(&self.path)?;
        let size = file.metadata()?.len();
        self.size = Some(size);
        Ok(Box::new(WholeFile::new(file, size)))
    }
}

/// A file of which the receiver says that it has it.
pub struct SentFile {
    name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Bytes that the receiver held before.
    pub held: u64,
    elapsed: Duration,
    stats: StreamStats,
    ours: Digest,
    theirs: Digest,
}

impl SentFile {
    /// The numbers of the transfer.
    pub fn numbers(&self) -> Value {
        let mut value = numbers(self.bytes, self.held, self.elapsed, &self.stats);
        value["sha256"] = Value::from(hex(&self.ours));
        value["sha256_receiver"] = Value::from(hex(&self.theirs));
        value["acknowledged"] = Value::from(self.ours == self.theirs);
        value
    }

    /// The same for a terminal.
    pub fn lines(&self) -> String {
        let line = line(true, &self.name, self.bytes, self.held, self.elapsed, &self.stats);
        format!("{line}\nsha256 here  {}\nsha256 there {}\n", hex(&self.ours), hex(&self.theirs))
    }

    /// Fails if the receiver has other data.
    pub fn check(&self, to: SocketAddr) -> Result<(), Failure> {
        if self.ours == self.theirs {
            return Ok(());
        }
        Err(Failure::Run(format!("{}: the data that arrived at {to} are not those sent", self.name)))
    }
}

/// A file that was not sent.
pub struct UnsentFile {
    /// The reason.
    pub failure: Failure,
    /// True if the reason is the path or the peer, so that other files fare no better.
    pub disconnected: bool,
}

/// The host that receives.
pub struct UploadTarget<'a> {
    /// Name or address, as the user has written it.
    pub shown: &'a str,
    /// Address.
    pub address: SocketAddr,
    /// The endpoint that its packets go over.
    pub endpoint: &'a Endpoint,
}

/// Sends a file, or the part of it that the receiver does not hold.
pub fn send_file(
    receiver: &UploadTarget<'_>,
    source: &mut FileSource,
    resume: bool,
    bar: &mut Bar,
) -> Result<SentFile, UnsentFile> {
    let unsent = |source: &FileSource, e: SendError| UnsentFile {
        disconnected: matches!(e, SendError::Network(_) | SendError::Interrupted),
        failure: describe(e, source, receiver.shown),
    };
    let mut file = source.open().map_err(|e| unsent(source, SendError::Source(e)))?;
    let stream = open(receiver.endpoint, receiver.address)
        .map_err(|failure| UnsentFile { failure, disconnected: true })?;
    let (mut begin, mut held) = (Stopwatch::start(), 0);
    let ask = if resume { Ask::PutRest } else { Ask::Put };
    let request = TransferRequest { ask, name: source.name.clone(), size: source.size };
    let sent = request.open(&stream).map_err(SendError::Network).and_then(|()| {
        let mut beginning = ReceivedPrefix::of_file();
        if resume {
            beginning = held_part(&stream, &mut file)?;
            (held, begin) = (beginning.bytes(), Stopwatch::start());
            bar.resume(held);
        }
        send(&stream, &mut file, beginning, |bytes| bar.show(bytes, || stream.stats()))
    });
    let (elapsed, stats) = (begin.elapsed(), stream.stats());
    if matches!(sent, Err(SendError::OtherFile(_))) {
        let _ = stream.reset();
    }
    let (bytes, ours, theirs) = sent.map_err(|e| unsent(source, e))?;
    Ok(SentFile { name: source.name.clone(), bytes, held, elapsed, stats, ours, theirs })
}

/// An endpoint whose address family matches a peer's.
pub fn endpoint_for(to: SocketAddr, options: skyhop_live::Options) -> Result<Endpoint, Failure> {
    let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
    Endpoint::bind(any, options).map_err(|e| bind_failure(any, e))
}

/// A connection to a peer.
pub fn open(endpoint: &Endpoint, to: SocketAddr) -> Result<StpStream, Failure> {
    endpoint.connect_while(to, || !interrupted()).map_err(|e| match e.kind() {
        io::ErrorKind::Interrupted => Failure::Stopped("interrupted; the host has not answered".into()),
        _ => Failure::Run(format!("cannot connect: {e}")),
    })
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

fn describe(e: SendError, source: &FileSource, to: &str) -> Failure {
    let file = source.path.display();
    let hint = if source.size.is_some() { "; --resume continues from the data that have" } else { "" };
    match e {
        SendError::Source(e) => Failure::Run(format!("{file}: {e}")),
        SendError::Network(e) => Failure::Run(format!("{file}: not all data have arrived: {e}{hint}")),
        SendError::Receiver(why) => Failure::Run(format!("the receiver says: {why}")),
        SendError::OtherFile(held) if source.size == Some(held) => Failure::Scenario(format!(
            "--resume: the {held} bytes that {to} has under that name are not {file}"
        )),
        SendError::OtherFile(held) => Failure::Scenario(format!(
            "--resume: the {held} bytes that {to} holds are not the beginning of {file}; without --resume it is sent anew"
        )),
        SendError::Interrupted => Failure::Stopped(format!("interrupted; not all data have arrived{hint}")),
    }
}

/// Reads the receiver's kept length, and as much of the source, which must be the same.
fn held_part(stream: &StpStream, source: &mut dyn Read) -> Result<ReceivedPrefix, SendError> {
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
