//! One connection of this host: the machine, and its parts for the peer, the application, the host's thread and the memory.
//!
//! Follows HT §5.1.1; the machine is `skyhop_transport::stp::Connection`, handed real bytes.
//! Differs: an unproven error report of the network ends a connection only if the peer stays silent too; windows and buffers follow use,
//! within the budgets of `memory`.
//! Leaves out the socket: `host` takes and passes packets.

mod buffers;
mod evidence;
mod failure;
mod milestones;
mod path;
mod standing;
mod waiters;

use crate::memory::HostMemory;
pub(crate) use buffers::{Most, PIECE};
use buffers::{ReadMemory, WriteMemory};
use bytes::Bytes;
use evidence::{Evidence, Headway};
pub(crate) use failure::Failed;
use milestones::Milestones;
pub use path::PacketCounts;
pub(crate) use path::{Key, PeerChannel, PeerPath};
use skyhop_transport::stp::{self, Event};
use skyhop_units::Time;
use skyhop_wire::Ecn;
use skyhop_wire::stp::Packet;
use standing::NextTurn;
pub(crate) use standing::Standing;
use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
pub(crate) use waiters::Waiters;

/// A connection. Its lock is taken by the host's thread in the connection's turn, and by calls of the application; if the host's own
/// lock is needed too, that is taken first.
pub(crate) struct Conn {
    pub machine: stp::Connection<Bytes>,
    pub path: PeerPath,
    pub turn: NextTurn,
    standing: Standing,
    milestones: Milestones,
    evidence: Evidence,
    reading: ReadMemory,
    writing: WriteMemory,
}

impl Conn {
    /// A connection that keeps `least` bytes of memory for each direction; `None` if they are not there.
    pub fn new(
        machine: stp::Connection<Bytes>,
        path: PeerPath,
        standing: Standing,
        (memory, least): (&Arc<HostMemory>, u64),
        most: Most,
    ) -> Option<Self> {
        let mut conn = Conn {
            machine,
            path,
            turn: NextTurn::default(),
            standing,
            milestones: Milestones::default(),
            evidence: Evidence::default(),
            reading: ReadMemory::begin(memory, least, most.received)?,
            writing: WriteMemory::begin(memory, least, most.written)?,
        };
        if conn.path.is_unproven() {
            conn.machine.demand_proof();
        }
        conn.widen_by_use();
        Some(conn)
    }

    /// Packets take this channel from now on, and its budget counts what the connection holds.
    pub fn bind(&mut self, channel: PeerChannel, memory: &Arc<HostMemory>) {
        self.path.lead_through(channel);
        self.reading.count_in(memory);
        self.writing.count_in(memory);
    }

    /// Wakes the tasks that waited for the connection to open.
    pub fn wake_opened(&mut self) {
        self.milestones.opened();
    }
}

/// The host's calls for packets and timers.
impl Conn {
    /// Handles a packet of `len` bytes that has arrived at an address of this host. Returns true if it has proven the peer's address.
    pub fn handle_packet(
        &mut self,
        now: Time,
        (to, field): (Option<IpAddr>, Ecn),
        len: usize,
        packet: &Packet<Bytes>,
    ) -> bool {
        self.path.received(len);
        let proven = self.path.believe(packet);
        if proven {
            self.machine.allow(u64::MAX);
            self.milestones.made_room();
        }
        // An end that has connected may move: the kernel chooses the address that it sends from.
        self.path.reply_from(to.filter(|_| self.standing.is_by_peer()));
        self.reading.keep_for(&mut self.machine, packet);
        self.machine.handle_arrival(now, packet, field);
        self.take_events();
        proven
    }

    /// The next packet; `None` when there are no more. Before the address is proven, at most three times the bytes received from it
    /// are sent: the machine holds data back, and any excess counts as lost. A single POLL is sent nevertheless, like a repeated
    /// SYN-ACK: a peer with nothing to answer sends nothing, and both ends would wait for ever.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet<Bytes>> {
        if !self.path.is_unproven() {
            return self.machine.poll_transmit(now);
        }
        let allowed = self.path.allowed();
        loop {
            self.machine.allow(allowed);
            let packet = self.machine.poll_transmit(now)?;
            let asks = packet.poll.is_some() && packet.data.is_none() && packet.control.is_none();
            if asks || packet.wire_len() as u64 <= allowed {
                return Some(packet);
            }
        }
    }

    /// Serves the timers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.machine.handle_timeout(now);
        let hint = self.evidence.take_due(now);
        if let Some(failed) = hint.and_then(|hint| hint.confirmed(self.headway()))
            && !self.has_failed()
        {
            self.abort(failed);
        }
        self.take_events();
    }

    /// Time of the next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.machine.poll_timeout().into_iter().chain(self.evidence.poll_timeout()).min()
    }

    /// Takes the machine's events, and wakes the tasks that they concern.
    pub fn take_events(&mut self) {
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::Connected => self.milestones.connected(),
                Event::Received(_) => self.milestones.received(),
                Event::PeerFinished => self.milestones.peer_finished(),
                Event::AllAcknowledged | Event::Closed => self.milestones.acknowledged(),
                Event::Reset(reason) => self.fail(Failed::reset(reason)),
            }
        }
        if self.machine.end_acknowledged() {
            self.milestones.acknowledged();
        }
        // Without a reader, data are dropped so that the peer can finish; a peer that sends too much is reset.
        if self.standing.is_released() && !self.reading.drain(&mut self.machine) && !self.has_failed() {
            let message = "the application has let go of the connection";
            self.abort(Failed::new(io::ErrorKind::ConnectionAborted, message));
        }
        self.recount();
        if self.milestones.has_writers() && self.writing.has_room(&self.machine, self.path.is_unproven()) {
            self.milestones.made_room();
        }
    }

    /// Returns true if the connection has ended and has nothing left to send.
    pub fn is_over(&self) -> bool {
        self.standing.is_released() && (self.machine.over() || self.has_failed())
    }

    /// Updates the count of the bytes held.
    fn recount(&mut self) {
        self.reading.recount(&self.machine);
        self.writing.recount(&self.machine);
    }

    /// Grants a larger window to a connection whose data the application reads.
    fn widen_by_use(&mut self) {
        if self.standing.is_taken() && !self.path.is_unproven() {
            self.reading.widen(&mut self.machine, u64::MAX);
        }
    }
}

/// The way to the application, and from it.
impl Conn {
    /// Puts the connection among those that wait for the application, with this window until then. Returns false if it was among them
    /// before its address was proven.
    pub fn list(&mut self, window: u64) -> bool {
        let first = self.standing.list();
        if !first {
            self.widen_by_use();
        } else if !self.path.is_unproven() {
            self.reading.widen(&mut self.machine, window);
        }
        first
    }

    /// The application has accepted the connection.
    pub fn take(&mut self) {
        self.standing.take();
        self.widen_by_use();
    }

    /// Breaks off a connection that the application has not accepted.
    pub fn refuse(&mut self) {
        self.standing.release();
        self.machine.reset();
    }

    /// The application has let go of the connection.
    pub fn release(&mut self) {
        self.standing.release();
        if self.machine.readable() > 0 {
            // As in TCP, the connection is reset, because not all data were read.
            self.machine.reset();
        } else {
            self.machine.shutdown();
        }
    }
}

/// Failures, and evidence of them.
impl Conn {
    /// Records a failure of the connection.
    pub fn fail(&mut self, failed: Failed) {
        self.milestones.fail(failed);
    }

    /// Breaks the connection off with this failure.
    pub fn abort(&mut self, failed: Failed) {
        self.machine.reset();
        self.fail(failed);
    }

    /// A failure whose message names the peer.
    pub fn failure(&self, kind: io::ErrorKind, why: impl Display) -> Failed {
        Failed::new(kind, format!("{}: {why}", self.path.peer()))
    }

    pub fn has_failed(&self) -> bool {
        self.milestones.has_failed()
    }

    /// Counts a refusal that proves nothing. Returns true once there are enough.
    pub fn count_refusal(&mut self) -> bool {
        self.evidence.count_refusal(self.path.traffic().packets_sent)
    }

    /// Records an error report that packets do not arrive; it counts if nothing arrives for a while.
    pub fn hint(&mut self, now: Time, failed: Failed) {
        self.evidence.hint(now, self.headway(), failed);
    }

    /// Returns true if the peer has answered.
    pub fn is_connected(&self) -> bool {
        self.milestones.is_connected()
    }

    /// Returns true if the peer may never have heard of the connection.
    pub fn is_news_to_peer(&self) -> bool {
        !self.is_connected() && !self.standing.is_by_peer()
    }

    fn headway(&self) -> Headway {
        Headway {
            acknowledged: self.machine.acknowledged(),
            outstanding: self.writing.outstanding(&self.machine),
            received: self.path.traffic().packets_received,
        }
    }
}

/// The application's calls.
impl Conn {
    /// Ready when packets can be sent.
    pub fn poll_started(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let started = self.path.channel().is_some() && !self.has_failed();
        self.milestones.poll_done(cx, started)
    }

    /// Ready when the peer has answered.
    pub fn poll_connected(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.milestones.poll_connected(cx)
    }

    /// Ready when the peer has acknowledged all data and the end.
    pub fn poll_finished(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.milestones.poll_done(cx, self.machine.end_acknowledged())
    }

    /// Ready with the bytes that the application may write now. They are kept for it until it has called [`Conn::settle_write`].
    pub fn poll_room(&mut self, cx: &Context<'_>) -> Poll<io::Result<u64>> {
        if let Some(error) = self.milestones.error() {
            return Poll::Ready(Err(error));
        }
        if self.machine.is_shut_down() || self.machine.over() {
            let message = "this direction was shut down";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::BrokenPipe, message)));
        }
        let room = self.writing.take_room(&self.machine, self.path.is_unproven());
        if room == 0 {
            self.milestones.wait_for_room(cx);
            return Poll::Pending;
        }
        Poll::Ready(Ok(room))
    }

    /// Takes data of the application, within its room.
    pub fn write(&mut self, data: Bytes) {
        self.writing.write(&mut self.machine, data);
    }

    /// The application has written all that it has for the present.
    pub fn settle_write(&mut self) {
        self.recount();
    }

    /// The next data in order, at most so many bytes.
    pub fn read(&mut self, most: usize) -> Option<Bytes> {
        self.reading.read(&mut self.machine, most)
    }

    /// The application has read what it wanted for the present. Returns true if the peer is to be informed of free space earlier than the
    /// timer would have it.
    pub fn settle_read(&mut self) -> bool {
        if !self.reading.has_space_to_tell(&self.machine) {
            return false;
        }
        self.recount();
        self.widen_by_use();
        self.turn.is_too_late(self.machine.poll_timeout())
    }

    /// Ready if no more data will come, after all have been read.
    pub fn poll_end_of_data(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.milestones.poll_end_of_data(cx)
    }

    /// The application reads no more.
    pub fn close_reading(&mut self) {
        self.milestones.close_reading();
    }

    pub fn is_read_closed(&self) -> bool {
        self.milestones.is_read_closed()
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.writing.written()
    }
}
