//! The socket of a gateway's associations, with the packets that wait to be sent.
//!
//! Follows udp(7), with segmentation by the kernel where it offers that. A few receive calls alternate with other work.
//! Leaves out the associations themselves (`skyhop_live::engine`), and waiting (`daemon`).

use crate::daemon_clock::DaemonClock;
use polling::{Event, PollMode, Poller};
use skyhop_live::batch::Batch;
use skyhop_live::engine::Engine;
use skyhop_live::socket::{Carrier, Socket};
use std::io;
use std::net::SocketAddr;

/// Receive calls before other work gets its turn: few, so that data are still in the processor's cache when they are passed on.
const READS: usize = 2;
/// The kernel's buffer sizes, bytes.
const BUFFER: usize = 4 << 20;

/// The socket.
pub struct LinkSocket {
    socket: Socket,
    key: usize,
    batch: Batch,
    /// The kernel's buffer is full, and the poller reports room in it.
    waits_for_room: bool,
}

impl LinkSocket {
    /// Binds the socket, which has this key of the poller.
    pub fn bind(local: SocketAddr, key: usize) -> io::Result<Self> {
        let socket = Socket::bind(Carrier::Udp, local, BUFFER)?;
        let batch = Batch::new(socket.segments_max());
        Ok(LinkSocket { socket, key, batch, waits_for_room: false })
    }

    /// Reports datagrams to a poller.
    pub fn watch(&self, poller: &Poller) -> io::Result<()> {
        // SAFETY: the daemon owns both, and the socket lives as long as the poller.
        unsafe { poller.add_with_mode(self.socket.io(), Event::readable(self.key), PollMode::Level) }
    }

    /// Its address.
    pub fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    /// Passes received datagrams, and reports of those that were lost, to the associations. Returns true if there may be more.
    pub fn receive(&mut self, clock: DaemonClock, engine: &mut Engine) -> io::Result<bool> {
        let more = self.receive_some(clock, engine)?;
        while let Some(trouble) = self.socket.trouble() {
            engine.handle_trouble(clock.now(), trouble);
        }
        Ok(more)
    }

    fn receive_some(&mut self, clock: DaemonClock, engine: &mut Engine) -> io::Result<bool> {
        for _ in 0..READS {
            let runs = self.socket.receive()?;
            if runs == 0 {
                return Ok(false);
            }
            let now = clock.now();
            for run in 0..runs {
                let at = self.socket.arrival(run, now);
                let field = self.socket.field(run);
                let (from, to, datagrams) = self.socket.received(run);
                for datagram in datagrams {
                    if engine.handle_datagram(at, (from, to, field), datagram) {
                        engine.fill(now, &mut self.batch);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Sends what waits, and then what the associations have to send. Returns true if there is more work: `more` before, or theirs, unless
    /// the kernel's buffer is full.
    pub fn transmit(
        &mut self,
        poller: &Poller,
        clock: DaemonClock,
        engine: &mut Engine,
        more: bool,
    ) -> io::Result<bool> {
        if !self.send()? {
            self.wait_for_room(poller, true)?;
            return Ok(more);
        }
        self.wait_for_room(poller, false)?;
        let more = more | engine.fill(clock.now(), &mut self.batch);
        if !self.send()? {
            self.wait_for_room(poller, true)?;
            return Ok(false);
        }
        Ok(more)
    }

    /// Sends the last packets, as far as the kernel takes them.
    pub fn transmit_last(&mut self, clock: DaemonClock, engine: &mut Engine) {
        engine.fill(clock.now(), &mut self.batch);
        let _ = self.send();
    }

    /// Sends the batch. Returns false if the kernel's buffer is full.
    fn send(&mut self) -> io::Result<bool> {
        while let Some(part) = self.batch.next().copied() {
            match self.socket.send(&self.batch.buffer, &part) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // A packet to an unreachable peer, or one too large, counts as lost on the path.
                _ => self.batch.advance(),
            }
        }
        Ok(true)
    }

    fn wait_for_room(&mut self, poller: &Poller, wait: bool) -> io::Result<()> {
        if std::mem::replace(&mut self.waits_for_room, wait) == wait {
            return Ok(());
        }
        poller.modify_with_mode(self.socket.io(), Event::new(self.key, true, wait), PollMode::Level)
    }
}
