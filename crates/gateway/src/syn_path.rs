//! The way of held SYNs out of the kernel, by the firewall's log, and back, through a device of their own.
//!
//! Follows docs/gateway.md, "Handshakes after the server's". Leaves out which SYNs are held (`handshakes`), and the rules (`rules`).

use crate::listeners::in_use;
use crate::syn_device::SynDevice;
use crate::syn_log::SynLog;
use polling::{Event, PollMode, Poller};
use skyhop_units::{Span, Time};
use std::io;
use std::sync::Arc;

/// SYNs read before other work gets its turn.
const READS: usize = 64;
/// The time within which a second failure to read the log is the last one.
const AGAIN: Span = Span::from_secs(1);

/// Both ends, which are open together.
struct OpenPath {
    log: SynLog,
    device: SynDevice,
    /// The time at which the log could not be read.
    failed_at: Option<Time>,
}

/// The way, open if clients' handshakes wait for servers.
pub struct SynPath {
    poller: Arc<Poller>,
    key: usize,
    open: Option<OpenPath>,
}

/// A failure to read the log.
#[derive(Debug)]
pub enum SynLogFailure {
    /// The first, which may pass.
    Once(String),
    /// Another one soon after: without the log, connections would wait for nothing.
    Again(String),
}

impl SynPath {
    /// A way that is closed; its key of the poller is `key`.
    pub fn new(poller: Arc<Poller>, key: usize) -> Self {
        SynPath { poller, key, open: None }
    }

    /// Opens the way, before there are rules for it, or closes it, after there were.
    pub fn set_open(&mut self, open: bool) -> Result<(), String> {
        let failed = |e: io::Error| format!("intercept.handshake: {e}");
        if !open {
            if let Some(open) = self.open.take() {
                self.poller.delete(&open.log).map_err(failed)?;
            }
        } else if self.open.is_none() {
            let device = SynDevice::open().map_err(failed)?;
            let log = SynLog::open().map_err(|e| failed(in_use(e)))?;
            // SAFETY: the log is removed from the poller before it is closed.
            unsafe {
                let event = Event::readable(self.key);
                self.poller.add_with_mode(&log, event, PollMode::Level).map_err(failed)?
            };
            self.open = Some(OpenPath { log, device, failed_at: None });
        }
        Ok(())
    }

    /// Reads new SYNs, a bounded number.
    pub fn read(&mut self, now: Time, mut hold: impl FnMut(&[u8])) -> Result<(), SynLogFailure> {
        let Some(open) = &mut self.open else { return Ok(()) };
        for _ in 0..READS {
            match open.log.read(&mut hold) {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => {
                    let message = format!("the log of SYNs: {e}");
                    let again = open.failed_at.replace(now).is_some_and(|at| now.since(at) < AGAIN);
                    return Err(match again {
                        true => SynLogFailure::Again(message),
                        false => SynLogFailure::Once(message),
                    });
                }
            }
        }
        Ok(())
    }

    /// Gives a SYN back to the kernel.
    pub fn give_back(&self, packet: &[u8]) {
        if let Some(open) = &self.open {
            open.device.send(packet);
        }
    }
}
