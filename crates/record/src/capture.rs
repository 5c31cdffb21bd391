//! Writes a run's packets into a capture.
//!
//! Follows [`skyhop_network::Capture`]: packets of all captured directions, in order of time.
//! Differs from a plain writer: the run does not stop at a full disk; the first error is kept and returned at the end.
//! Leaves out the choice of links, which the scenario makes.

use crate::folder::{FolderError, FolderFile};
use crate::pcapng::{LinkType, PcapngError, PcapngWriter};
use skyhop_network::{Capture, CapturedDirection, Inside};
use skyhop_units::Time;
use skyhop_wire::{Packet, Transport, aal5, emit, emit_with, stp};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The error for a capture that could not be written.
#[derive(Debug)]
pub enum CaptureError {
    /// A packet could not be written.
    Packet(PcapngError),
    /// The file could not be finished.
    File(FolderError),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Packet(e) => e.fmt(f),
            CaptureError::File(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for CaptureError {}

struct CaptureState {
    /// The writer; `None` after a write has failed.
    writer: Option<PcapngWriter<FolderFile>>,
    error: Option<PcapngError>,
}

/// A capture being written. Give [`CaptureFile::tap`] to the simulation and call [`CaptureFile::finish`] after it.
pub struct CaptureFile {
    state: Arc<Mutex<CaptureState>>,
    snaplen: Option<u32>,
    directions: Vec<CapturedDirection>,
}

impl CaptureFile {
    /// Begins a capture with an interface for each direction. At most `snaplen` bytes of each packet are kept.
    pub fn new(
        file: FolderFile,
        directions: &[CapturedDirection],
        snaplen: Option<u32>,
    ) -> Result<Self, CaptureError> {
        let link_type = |cells| if cells { LinkType::SunAtm } else { LinkType::Raw };
        let interfaces: Vec<_> = directions.iter().map(|d| (d.name.as_str(), link_type(d.cells))).collect();
        let writer =
            PcapngWriter::with_link_types(file, &interfaces, snaplen).map_err(CaptureError::Packet)?;
        let state = Arc::new(Mutex::new(CaptureState { writer: Some(writer), error: None }));
        Ok(CaptureFile { state, snaplen, directions: directions.to_vec() })
    }

    /// The receiver for the simulation.
    pub fn tap(&self) -> Box<dyn Capture + Send> {
        let snaplen = self.snaplen.map_or(usize::MAX, |s| s as usize);
        Box::new(FileTap {
            state: self.state.clone(),
            snaplen,
            directions: self.directions.clone(),
            bytes: Vec::new(),
            inside: Vec::new(),
        })
    }

    /// Returns true if a packet could not be written, so that it is useless to continue the run.
    pub fn failed(&self) -> bool {
        lock(&self.state).error.is_some()
    }

    /// Finishes the capture and syncs the file to disk.
    pub fn finish(self) -> Result<(), CaptureError> {
        let mut state = lock(&self.state);
        if let Some(error) = state.error.take() {
            return Err(CaptureError::Packet(error));
        }
        let Some(writer) = state.writer.take() else { return Ok(()) };
        writer.finish().map_err(CaptureError::Packet)?.finish().map_err(CaptureError::File)
    }
}

struct FileTap {
    state: Arc<Mutex<CaptureState>>,
    snaplen: usize,
    directions: Vec<CapturedDirection>,
    bytes: Vec<u8>,
    inside: Vec<u8>,
}

impl Capture for FileTap {
    fn packet(&mut self, interface: u32, at: Time, packet: &Packet, inside: Option<&Inside>) {
        let mut state = lock(&self.state);
        let Some(writer) = &mut state.writer else { return };
        self.bytes.clear();
        let cells = self.directions.get(interface as usize).is_some_and(|direction| direction.cells);
        // The CRC-32 of a PDU covers all of it; the writer truncates afterwards.
        let snaplen = if cells { usize::MAX } else { self.snaplen };
        let mut original = match inside {
            None => emit(packet, snaplen, &mut self.bytes),
            Some(inside) => {
                self.inside.clear();
                match inside {
                    Inside::Connection(inside) => stp::emit(inside, &mut self.inside),
                    Inside::Association(inside) => stp::emit(inside, &mut self.inside),
                }
                // A sealed packet is shown opened, as `skyhop wireshark decrypt` leaves it.
                let opened = Packet { payload_len: self.inside.len() as u32, ..*packet };
                emit_with(&opened, &self.inside, snaplen, &mut self.bytes)
            }
        };
        if cells {
            self.bytes = in_cells(packet, interface, &self.bytes);
            original = self.bytes.len() as u32;
        }
        if let Err(error) = writer.packet(interface, at.as_nanos(), &self.bytes, original) {
            state.writer = None;
            state.error = Some(error);
        }
    }
}

/// A packet as LINKTYPE_SUNATM has it: direction and kind of traffic, VPI, VCI, and the CPCS PDU with its trailer. Each flow has a
/// virtual channel of its own, by its port; interfaces come in pairs of forward and reverse.
fn in_cells(packet: &Packet, interface: u32, bytes: &[u8]) -> Vec<u8> {
    /// LLC multiplexed traffic.
    const LLC: u8 = 2;
    /// First VCI that no standard reserves, and first of the ports that senders have.
    const FIRST: (u16, u16) = (32, 49_152);
    let port = match &packet.transport {
        Transport::Tcp(tcp) => tcp.source_port.max(tcp.destination_port),
        Transport::Udp(udp) => udp.source_port.max(udp.destination_port),
        _ => 0,
    };
    let vci = FIRST.0 + port.saturating_sub(FIRST.1);
    let [high, low] = vci.to_be_bytes();
    let mut out = vec![(interface as u8 & 1) << 7 | LLC, 0, high, low];
    // A packet is at most 65,535 bytes long, as IP's length field limits it; with LLC/SNAP it may be too long for AAL5, and has no
    // trailer then.
    let payload: &[&[u8]] = &[&aal5::llc_snap(packet.ip.version), bytes];
    match aal5::pdu(payload, aal5::Indications::default()) {
        Ok(pdu) => out.extend(pdu),
        Err(_) => out.extend(payload.concat()),
    }
    out
}

/// Locks the state, which stays valid even if a thread has panicked while holding the lock.
fn lock(state: &Mutex<CaptureState>) -> MutexGuard<'_, CaptureState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
