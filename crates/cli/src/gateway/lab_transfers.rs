//! Transfers of a gateway's laboratory: a server that sends as many bytes as it is asked for, and clients that take the time.
//!
//! Follows HTTP/1.0 in what it is for: a request, an answer, the end. A page is several small objects by a few connections at once.
//! Differs from a browser: nothing is parsed.
//! Leaves out uploads.

use super::lab_hosts::LabHosts;
use crate::failure::Failure;
use skyhop_emulate::namespace::Namespace;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Number of the user's host, and of the server's.
const USER: usize = 0;
const SERVER: usize = 4;
/// The server's address and port.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 2);
const PORT: u16 = 80;
/// Interval between two samples of the bytes that have arrived.
const SAMPLE: Duration = Duration::from_millis(50);
/// Time without data after which a transfer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server, until it is dropped.
pub struct LabServer {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LabServer {
    /// Starts it in a host. `congestion` is the kernel's law by which it sends, if it is not the default.
    pub fn start(lab: &LabHosts, congestion: Option<&str>) -> Result<Self, Failure> {
        if let Some(law) = congestion {
            lab.prefer(SERVER, law)?;
        }
        let bound = lab.within(SERVER, || {
            let listener = TcpListener::bind((ADDRESS, PORT))?;
            listener.set_nonblocking(true).map(|()| listener)
        })?;
        let listener = bound.map_err(|e| Failure::Run(format!("server: {e}")))?;
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let thread = Some(thread::spawn(move || serve(&listener, &ends)));
        Ok(LabServer { over, thread })
    }
}

impl Drop for LabServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a server of a laboratory waits by the clock")]
fn serve(listener: &TcpListener, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => _ = thread::spawn(move || answer(stream)),
            Err(_) => thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Reads how many bytes are wanted, and sends them.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut wanted = [0; 8];
    stream.read_exact(&mut wanted)?;
    let mut left = u64::from_be_bytes(wanted);
    let piece = [0x5a; 64 << 10];
    while left > 0 {
        let now = left.min(piece.len() as u64);
        stream.write_all(&piece[..now as usize])?;
        left -= now;
    }
    Ok(())
}

/// A download: seconds until it was whole, and megabytes that had come by a time.
pub struct Download {
    pub seconds: f64,
    pub samples: Vec<(f64, f64)>,
}

#[expect(clippy::disallowed_methods, reason = "what is measured here is time")]
fn now() -> Instant {
    Instant::now()
}

/// Downloads so many bytes. `go_on` is asked now and then.
fn fetch(size: u64, go_on: &dyn Fn() -> bool) -> io::Result<Download> {
    let begun = now();
    let seconds = || (now() - begun).as_secs_f64();
    let mut stream = TcpStream::connect_timeout(&(ADDRESS, PORT).into(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&size.to_be_bytes())?;
    let (mut came, mut samples, mut buffer) = (0, vec![(0.0, 0.0)], vec![0; 256 << 10]);
    loop {
        let read = stream.read(&mut buffer)?;
        came += read as u64;
        let at = seconds();
        if read == 0 || at >= samples.last().map_or(0.0, |last| last.0) + SAMPLE.as_secs_f64() {
            samples.push((at, came as f64 / 1e6));
            if !go_on() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        match (read, came == size) {
            (0, true) => return Ok(Download { seconds: at, samples }),
            (0, false) => return Err(io::Error::other(format!("{came} of {size} bytes came"))),
            _ => {}
        }
    }
}

/// A download to the user's host.
pub fn download(lab: &LabHosts, size: u64, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Download, Failure> {
    let fetched = lab.within(USER, || fetch(size, go_on))?;
    fetched.map_err(|e| told("the download", &e))
}

fn told(what: &str, e: &io::Error) -> Failure {
    match e.kind() {
        io::ErrorKind::Interrupted => Failure::Interrupted,
        _ => Failure::Run(format!("{what}: {e}")),
    }
}

/// Seconds that a page takes: `objects` of `size` bytes each, by six connections at once.
pub fn page(lab: &LabHosts, objects: usize, size: u64) -> Result<f64, Failure> {
    let (host, next, wrong) = (lab.host(USER), AtomicUsize::new(0), Mutex::new(None));
    let begun = now();
    let take = |host: &Namespace| -> io::Result<()> {
        host.enter()?;
        while next.fetch_add(1, Ordering::Relaxed) < objects {
            fetch(size, &|| true)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                if let Err(e) = take(&host)
                    && let Ok(mut wrong) = wrong.lock()
                {
                    *wrong = Some(e);
                }
            });
        }
    });
    match wrong.into_inner().ok().flatten() {
        Some(e) => Err(told("the page", &e)),
        None => Ok((now() - begun).as_secs_f64()),
    }
}
