//! The protocol of `skyhop stp` over a stream: a request, blocks of data, a digest, a reply.
//!
//! Follows the end-to-end argument: the receiver's application confirms the data, not its transport.
//! Differs from HTTP: the length need not be known, and the digest follows the data.
//! Leaves out names with folders: a file goes into one folder, under one name.

use super::names::is_shown;
use super::places::TransferPlace;
use crate::engine::interrupted;
use crate::stopwatch::Stopwatch;
use ring::digest::{Context, SHA256};
use skyhop_live::StpStream;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Upload of a file.
    Put = 1,
    /// Download of a file.
    Get = 2,
    /// Upload of data to be discarded.
    Sink = 3,
    /// Upload of the part that the receiver does not keep yet.
    PutRest = 4,
    /// Download of the part that this side does not keep yet; `size` is the kept length, and the digest of that follows.
    GetRest = 5,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRequest {
    /// Kind of the request.
    pub ask: Ask,
    /// Name of the file, as the peer has written it: to be checked before it is used, and escaped before it is printed.
    pub name: String,
    /// Size in bytes, if known.
    pub size: Option<u64>,
}

/// The receiver's answer at the end, or as soon as the transfer has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Everything has arrived, with this digest.
    Done(Digest),
    /// The transfer failed, for this reason.
    Failed(String),
    /// The receiver holds the beginning of another file.
    OtherFile,
}

const MAGIC: &[u8; 8] = b"SKYSTP-1";
/// Largest size of a block, bytes.
const BLOCK: usize = 256 << 10;
/// Interval at which a waiting call checks for interrupts.
const GLANCE: Duration = Duration::from_millis(200);

/// Time for the peer to acknowledge a result after an interrupt by the user; several round trips.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A stream whose calls fail after an interrupt by the user, or after a time limit without progress.
pub struct Patient<'a> {
    /// The stream itself.
    pub stream: &'a StpStream,
    limit: Option<Duration>,
    stop: Option<Arc<AtomicBool>>,
    place: Option<Arc<TransferPlace>>,
}

/// How certain it is that the peer knows a result.
#[derive(Debug)]
pub enum Told {
    /// The peer has acknowledged every byte of it.
    Acknowledged,
    /// The result has been sent, but not acknowledged.
    Unconfirmed(io::Error),
    /// The connection had failed before.
    Untold(io::Error),
}

impl<'a> Patient<'a> {
    /// Wraps a stream.
    pub fn new(stream: &'a StpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(GLANCE))?;
        stream.set_write_timeout(Some(GLANCE))?;
        Ok(Patient { stream, limit: None, stop: None, place: None })
    }

    /// Sets the time limit of all later calls.
    pub fn limit(&mut self, patience: Duration) {
        self.limit = Some(patience);
    }

    /// Lets reads fail once the flag is set.
    pub fn stop_by(&mut self, stop: Option<Arc<AtomicBool>>) {
        self.stop = stop;
    }

    /// Lets calls fail once the place is lost, and tells it of progress.
    pub fn at(&mut self, place: Arc<TransferPlace>) {
        self.place = Some(place);
    }

    /// Repeats an attempt until it is done, until `grace` has passed since an interrupt, or to the time limit.
    fn wait<T>(&self, grace: Duration, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let begin = Stopwatch::start();
        let mut interrupt = None;
        loop {
            match attempt() {
                Err(e) if e.kind() == io::ErrorKind::TimedOut && e.get_ref().is_some_and(is_glance) => {
                    let waited =
                        |since: &mut Option<Stopwatch>| since.get_or_insert_with(Stopwatch::start).elapsed();
                    if interrupted() && waited(&mut interrupt) >= grace {
                        return Err(io::Error::other("interrupted"));
                    }
                    if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                        return Err(io::Error::other("another connection continues this transfer"));
                    }
                    if self.place.as_ref().is_some_and(|place| place.is_lost()) {
                        return Err(io::Error::new(
                            io::ErrorKind::TimedOut,
                            "the peer said nothing while others waited for its place",
                        ));
                    }
                    if self.limit.is_some_and(|patience| begin.elapsed() >= patience) {
                        return Err(io::Error::new(
                            io::ErrorKind::TimedOut,
                            "no packet of the peer for too long",
                        ));
                    }
                }
                other => {
                    self.place.iter().for_each(|place| place.moved());
                    return other;
                }
            }
        }
    }

    /// Waits until all written data and the end of the stream are acknowledged.
    pub fn finish(&self) -> io::Result<()> {
        self.wait(Duration::ZERO, || self.stream.finish(Some(GLANCE)))
    }

    /// Sends the result to the peer as this side's last message; an interrupt waits for that.
    pub fn tell(&mut self, reply: &Reply) -> Told {
        if let Err(e) = reply.put(self) {
            return Told::Untold(e);
        }
        match self.wait(LAST_WORDS, || self.stream.finish(Some(GLANCE))) {
            Ok(()) => Told::Acknowledged,
            // Only the acknowledgment of the end is missing.
            Err(e) => match self.stream.stats() {
                stats if stats.acknowledged >= stats.written && stats.written > 0 => Told::Acknowledged,
                _ => Told::Unconfirmed(e),
            },
        }
    }
}

/// Returns true for the timeout of one interval, false for a failure of the connection.
fn is_glance(e: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    e.to_string() == skyhop_live::NOTHING_HAPPENED
}

impl Read for Patient<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.wait(Duration::ZERO, || (&*self.stream).read(buf))
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.wait(Duration::ZERO, || (&*self.stream).write(buf))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wrong(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.into())
}

/// Reads a fixed number of bytes.
pub fn take<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(e.kind(), "the other end has closed the connection"),
        _ => e,
    })?;
    Ok(bytes)
}

/// Appends a text with its length in front.
fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(1024);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.extend_from_slice(&(end as u16).to_be_bytes());
    out.extend_from_slice(&text.as_bytes()[..end]);
}

/// Reads a text as it is.
fn take_raw_text(from: &mut impl Read) -> io::Result<String> {
    let len = usize::from(u16::from_be_bytes(take(from)?));
    if len > 1024 {
        return Err(wrong("a text that is too long"));
    }
    let mut text = vec![0; len];
    from.read_exact(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Reads a text to be printed on a terminal: characters that cannot be shown are removed.
fn take_text(from: &mut impl Read) -> io::Result<String> {
    Ok(take_raw_text(from)?.chars().filter(|c| is_shown(*c)).collect())
}

impl TransferRequest {
    /// Writes the request to a new stream.
    pub fn open(&self, stream: &StpStream) -> io::Result<()> {
        self.put(&mut Patient::new(stream)?)
    }

    /// Writes the request.
    pub fn put(&self, to: &mut impl Write) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(self.ask as u8);
        bytes.extend_from_slice(&self.size.unwrap_or(u64::MAX).to_be_bytes());
        put_text(&mut bytes, &self.name);
        to.write_all(&bytes)
    }

    /// Reads a request.
    pub fn take(from: &mut impl Read) -> io::Result<Self> {
        if take::<8>(from)? != *MAGIC {
            return Err(wrong("the peer's data are not a request of \"skyhop stp\""));
        }
        let [ask] = take(from)?;
        let ask =
            [Ask::Put, Ask::Get, Ask::Sink, Ask::PutRest, Ask::GetRest].into_iter().find(|a| *a as u8 == ask);
        let size = u64::from_be_bytes(take(from)?);
        let ask = ask.ok_or_else(|| wrong("the peer's request is unknown to this version"))?;
        Ok(TransferRequest { ask, name: take_raw_text(from)?, size: (size != u64::MAX).then_some(size) })
    }
}

impl Reply {
    /// Writes the reply.
    pub fn put(&self, to: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::new();
        match self {
            Reply::Done(digest) => {
                bytes.push(0);
                bytes.extend_from_slice(digest);
            }
            Reply::Failed(why) => {
                bytes.push(1);
                put_text(&mut bytes, why);
            }
            Reply::OtherFile => bytes.push(2),
        }
        to.write_all(&bytes)
    }

    /// Reads a reply.
    pub fn take(from: &mut impl Read) -> io::Result<Self> {
        match take(from)? {
            [0] => Ok(Reply::Done(take(from)?)),
            [1] => Ok(Reply::Failed(take_text(from)?)),
            [2] => Ok(Reply::OtherFile),
            _ => Err(wrong("the peer's data are not a reply of \"skyhop stp\"")),
        }
    }
}

/// The error of a failed copy of data.
#[derive(Debug)]
pub enum Broken {
    /// The source could not be read.
    Source(io::Error),
    /// The target could not be written.
    Target(io::Error),
}

/// The part of a file that was read or written so far: its length, and its digest unless it is a measurement.
#[derive(Clone)]
pub struct ReceivedPrefix {
    bytes: u64,
    digest: Option<Context>,
}

impl ReceivedPrefix {
    /// An empty beginning of a file.
    pub fn of_file() -> Self {
        ReceivedPrefix { bytes: 0, digest: Some(Context::new(&SHA256)) }
    }

    /// An empty beginning of a measurement.
    pub fn of_measurement() -> Self {
        ReceivedPrefix { bytes: 0, digest: None }
    }

    /// Reads this many bytes of a file; fails if it is shorter.
    pub fn read(file: &mut impl Read, bytes: u64) -> io::Result<Self> {
        let (mut beginning, mut buffer) = (Self::of_file(), vec![0; BLOCK]);
        while beginning.bytes < bytes {
            let len = (bytes - beginning.bytes).min(BLOCK as u64) as usize;
            file.read_exact(&mut buffer[..len])?;
            beginning.add(&buffer[..len]);
            if interrupted() {
                return Err(io::Error::other("interrupted"));
            }
        }
        Ok(beginning)
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Digest of a file, or the length of a measurement.
    pub fn digest(&self) -> Digest {
        let mut out = [0; 32];
        match &self.digest {
            Some(digest) => out.copy_from_slice(digest.clone().finish().as_ref()),
            None => out[..8].copy_from_slice(&self.bytes.to_be_bytes()),
        }
        out
    }

    fn add(&mut self, data: &[u8]) {
        if let Some(digest) = &mut self.digest {
            digest.update(data);
        }
        self.bytes += data.len() as u64;
    }
}

/// Writes a source, the part after a kept beginning, as blocks, then the digest of the whole file. `go_on` is called after each
/// block, and before the end: what ended because it was interrupted is not the whole.
pub fn put_data(
    source: &mut impl Read,
    to: &mut impl Write,
    beginning: ReceivedPrefix,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<(u64, Digest), Broken> {
    let mut buffer = vec![0; BLOCK + 4];
    let mut whole = beginning;
    loop {
        let len = match source.read(&mut buffer[4..]) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            other => other.map_err(Broken::Source)?,
        };
        if len > 0 {
            buffer[..4].copy_from_slice(&(len as u32).to_be_bytes());
            to.write_all(&buffer[..4 + len]).map_err(Broken::Target)?;
            whole.add(&buffer[4..4 + len]);
        }
        if !go_on(whole.bytes) {
            return Err(Broken::Target(io::Error::other("interrupted")));
        }
        if len == 0 {
            to.write_all(&[0; 4]).map_err(Broken::Target)?;
            break;
        }
    }
    to.write_all(&whole.digest()).map_err(Broken::Target)?;
    Ok((whole.bytes, whole.digest()))
}

/// A file that fails to be read if it ends before its size, as one that is cut while it is read does.
pub struct WholeFile<R> {
    file: R,
    left: u64,
}

impl<R: Read> WholeFile<R> {
    /// A file of so many bytes.
    pub fn new(file: R, size: u64) -> Self {
        Self { file, left: size }
    }
}

impl<R: Read> Read for WholeFile<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(buffer)?;
        if len == 0 && !buffer.is_empty() && self.left > 0 {
            let message = format!("it has become shorter by {} bytes while it was read", self.left);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        self.left = self.left.saturating_sub(len as u64);
        Ok(len)
    }
}

/// Reads blocks, which follow a beginning, and the digest of the whole, and writes the data. Returns the number of bytes, their
/// digest, and the expected digest.
pub fn take_data(
    from: &mut impl Read,
    target: &mut impl Write,
    beginning: ReceivedPrefix,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<(u64, Digest, Digest), Broken> {
    let mut buffer = vec![0; BLOCK];
    let mut whole = beginning;
    loop {
        let mut left = u32::from_be_bytes(take(from).map_err(Broken::Source)?) as usize;
        if left == 0 {
            let expected = take(from).map_err(Broken::Source)?;
            return Ok((whole.bytes, whole.digest(), expected));
        }
        if left > BLOCK {
            return Err(Broken::Source(wrong("a block that is too long")));
        }
        // Each piece is written as it comes, and not the block as a whole: a kill loses little.
        while left > 0 {
            let len = match from.read(&mut buffer[..left]) {
                Ok(0) => return Err(Broken::Source(io::ErrorKind::UnexpectedEof.into())),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other.map_err(Broken::Source)?,
            };
            target.write_all(&buffer[..len]).map_err(Broken::Target)?;
            whole.add(&buffer[..len]);
            left -= len;
            if !go_on(whole.bytes) {
                return Err(Broken::Source(io::Error::other("interrupted")));
            }
        }
    }
}

/// A digest in hexadecimal.
pub fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_come_through_with_their_digest() {
        for len in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17] {
            let data: Vec<u8> = (0..len).map(|n| (n * 7 + n / 256) as u8).collect();
            let mut wire = Vec::new();
            let (sent, digest) =
                put_data(&mut &data[..], &mut wire, ReceivedPrefix::of_file(), |_| true).unwrap();
            let mut out = Vec::new();
            let (received, found, expected) =
                take_data(&mut &wire[..], &mut out, ReceivedPrefix::of_file(), |_| true).unwrap();
            assert_eq!((sent, received), (len as u64, len as u64));
            assert!(out == data && found == expected && found == digest);
            // A truncated end is detected.
            let cut = &wire[..wire.len() - 1];
            assert!(matches!(
                take_data(&mut &cut[..], &mut io::sink(), ReceivedPrefix::of_file(), |_| true),
                Err(Broken::Source(_))
            ));
        }
        // The digest is that of the whole file, also if only its rest is sent.
        let data = vec![7; 3 * BLOCK];
        for held in [0, 1, BLOCK as u64, data.len() as u64] {
            let mut source = &data[..];
            let beginning = ReceivedPrefix::read(&mut source, held).unwrap();
            let (mut wire, mut out) = (Vec::new(), data[..held as usize].to_vec());
            put_data(&mut source, &mut wire, beginning.clone(), |_| true).unwrap();
            let (bytes, found, expected) = take_data(&mut &wire[..], &mut out, beginning, |_| true).unwrap();
            assert!(out == data && found == expected && bytes == data.len() as u64);
            assert_eq!(found, ReceivedPrefix::read(&mut &data[..], bytes).unwrap().digest());
        }
        assert!(ReceivedPrefix::read(&mut &data[..], 3 * BLOCK as u64 + 1).is_err());
        // The example of FIPS 180-4.
        let (_, digest) =
            put_data(&mut &b"abc"[..], &mut Vec::new(), ReceivedPrefix::of_file(), |_| true).unwrap();
        assert!(hex(&digest).starts_with("ba7816bf8f01cfea414140de5dae2223"));
    }

    #[test]
    fn requests_and_replies_read_back() {
        for size in [None, Some(0), Some(1 << 40)] {
            let request = TransferRequest { ask: Ask::Put, name: "größe.bin".into(), size };
            let mut wire = Vec::new();
            request.put(&mut wire).unwrap();
            assert_eq!(TransferRequest::take(&mut &wire[..]).unwrap(), request);
            wire[3] ^= 1;
            assert_eq!(TransferRequest::take(&mut &wire[..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        // A name is not mended on the way: one that cannot be shown is refused later.
        let request = TransferRequest { ask: Ask::Put, name: "a\nb\u{202e}".into(), size: None };
        let mut wire = Vec::new();
        request.put(&mut wire).unwrap();
        assert_eq!(TransferRequest::take(&mut &wire[..]).unwrap().name, "a\nb\u{202e}");
        let mut wire = Vec::new();
        Reply::Failed("No space\u{1b}[2J left\u{202e}\n".into()).put(&mut wire).unwrap();
        assert_eq!(Reply::take(&mut &wire[..]).unwrap(), Reply::Failed("No space[2J left".into()));
        assert!(Reply::take(&mut &[9_u8; 40][..]).is_err());
    }

    #[test]
    fn what_ends_early_is_not_the_whole() {
        let mut wire = Vec::new();
        let interrupted = put_data(&mut &b""[..], &mut wire, ReceivedPrefix::of_file(), |_| false);
        assert!(matches!(interrupted, Err(Broken::Target(_))) && wire.is_empty());
        for (size, whole) in [(3, true), (2, true), (4, false)] {
            let mut file = WholeFile::new(&b"abc"[..], size);
            let sent = put_data(&mut file, &mut Vec::new(), ReceivedPrefix::of_file(), |_| true);
            assert_eq!(sent.is_ok(), whole, "{size}");
        }
    }
}
