//! A capture of the packets read and written by ports: whole packets, in a pcapng file.
//!
//! Follows `skyhop_record::pcapng`; an interface is a host.
//! Differs from a capture of the simulator: it has the programs' own bytes. A separate thread writes them, so that a slow disk
//! delays nothing; packets that it cannot write in time are counted, and a full disk is reported.
//! Leaves out packets of simulated hosts.

use crate::error::{Error, Tried};
use crate::offload::{Offload, complete};
use crate::port::Tap;
use skyhop_record::{PcapngError, PcapngWriter};
use skyhop_units::Time;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Number of packets that may wait to be written.
const WAITING: usize = 16_384;

struct CapturedPacket {
    port: u32,
    at: Time,
    bytes: Vec<u8>,
}

/// A capture in progress.
pub struct EmulationCapture {
    sender: Option<SyncSender<CapturedPacket>>,
    writer: Option<JoinHandle<Result<(), PcapngError>>>,
    missed: Arc<AtomicU64>,
}

/// The ports' end of a capture.
pub struct CaptureTap {
    sender: SyncSender<CapturedPacket>,
    missed: Arc<AtomicU64>,
}

impl EmulationCapture {
    /// Starts a capture of hosts with these names.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    pub fn create(path: &Path, hosts: &[String]) -> Result<Self, Error> {
        let file = File::create(path).tried(|| format!("cannot write {}", path.display()))?;
        let hosts = hosts.to_vec();
        let (sender, packets) = sync_channel(WAITING);
        let writer = thread::spawn(move || write(file, &hosts, &packets));
        Ok(Self { sender: Some(sender), writer: Some(writer), missed: Arc::default() })
    }

    /// A handle through which ports pass packets.
    pub fn tap(&self) -> Option<Box<dyn Tap + Send>> {
        let sender = self.sender.clone()?;
        Some(Box::new(CaptureTap { sender, missed: self.missed.clone() }))
    }

    /// Ends the capture, after its taps are dropped. Returns the number of packets that are not in it, and the error, if there was
    /// one.
    pub fn finish(mut self) -> (u64, Option<String>) {
        self.sender = None;
        let done = self.writer.take().map(JoinHandle::join);
        let wrong = match done {
            Some(Ok(Err(why))) => Some(why.to_string()),
            Some(Err(_)) => Some("its writer has failed".to_owned()),
            Some(Ok(Ok(()))) | None => None,
        };
        (self.missed.load(Ordering::Relaxed), wrong)
    }
}

/// Writes packets until there are no more. After a failure the file ends with the last whole packet before it.
fn write(file: File, hosts: &[String], packets: &Receiver<CapturedPacket>) -> Result<(), PcapngError> {
    let mut out = PcapngWriter::new(BufWriter::with_capacity(1 << 20, file), hosts, None)?;
    for CapturedPacket { port, at, bytes } in packets {
        out.packet(port, at.as_nanos(), &bytes, bytes.len() as u32)?;
    }
    out.finish().map(drop)
}

impl Tap for CaptureTap {
    fn packet(&mut self, port: usize, at: Time, offload: &Offload, header: &[u8], payload: &[u8]) {
        let mut bytes = Vec::with_capacity(header.len() + payload.len());
        bytes.extend_from_slice(header);
        bytes.extend_from_slice(payload);
        complete(offload, &mut bytes);
        if self.sender.try_send(CapturedPacket { port: port as u32, at, bytes }).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}
