//! One connection of this host: the machine, the destination of its packets, and its waiting tasks.
//!
//! Follows HT §5.1.1; the machine is `skyhop_transport::stp::Connection`, handed real bytes.
//! Differs: an unproven error report of the network ends a connection only if the peer stays silent too; windows and buffers follow use,
//! within the budgets of `memory`.
//! Leaves out the socket: `host` takes and passes packets.

mod failure;
mod path;
mod waiters;

use crate::memory::{Holding, HostMemory, PACKET_COST};
use crate::seal::OVERHEAD;
use bytes::Bytes;
pub(crate) use failure::Failed;
pub use path::PacketCounts;
pub(crate) use path::{Key, PeerChannel};
use skyhop_transport::stp::{self, Event};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::Packet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
pub(crate) use waiters::Waiters;

/// An unproven hint of failure, and the connection's progress at that time.
#[derive(Debug, Clone)]
struct Hint {
    since: Time,
    acknowledged: u64,
    received: u64,
    failed: Failed,
}

/// Time without progress after a hint for which a connection continues.
const HINT_PATIENCE: Span = Span::from_secs(3);
/// Bytes that may be written at the beginning, before use shows the need for more.
const FIRST_WRITTEN: u64 = 256 << 10;
/// Maximum number of bytes dropped from a connection that the application has released.
const DROPPED_MAX: u64 = 4 << 20;
/// Bytes of an application's data in one allocation.
pub(crate) const PIECE: usize = 16 << 10;

/// Upper bounds of the memory of a connection, whatever is free.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// Received data, bytes.
    pub received: u64,
    /// Written data, bytes.
    pub written: u64,
}

/// A connection. Its lock is taken by the host's thread in the connection's turn, and by calls of the application; if the host's own
/// lock is needed too, that is taken first.
pub(crate) struct Conn {
    pub machine: stp::Connection<Bytes>,
    /// Channel of its packets; `None` until the association is open.
    pub channel: Option<PeerChannel>,
    pub peer: SocketAddr,
    /// This host's address as known to the peer.
    pub reply_from: Option<IpAddr>,
    /// Size of the headers below STP in each packet, bytes.
    pub overhead: u32,
    pub traffic: PacketCounts,
    /// True while the application holds it.
    pub owned: bool,
    pub connected: bool,
    pub peer_finished: bool,
    pub read_closed: bool,
    pub failed: Option<Failed>,
    pub written: u64,
    /// Bytes read since the last check whether the peer needs an update of credit.
    pub read_since: u64,
    pub readers: Waiters,
    pub writers: Waiters,
    pub finishers: Waiters,
    /// The timer that the host has set.
    pub timer: Option<Time>,
    /// True if the host has been informed of the application's latest call.
    pub told: bool,
    /// True if the peer has opened the connection.
    pub accepted: bool,
    /// True if the connection waits to be accepted by the application, or has been accepted.
    pub listed: bool,
    /// True if the application has the connection, and reads its data.
    pub offered: bool,
    /// True for a connection without an association whose peer's address is not proven yet.
    pub unproven: bool,
    pub hints: u64,
    hint: Option<Hint>,
    most: Most,
    /// Memory of received data, and of written data.
    receiving: Holding,
    sending: Holding,
}

impl Conn {
    /// A connection that keeps `least` bytes of memory for each direction; `None` if they are not there.
    pub fn new(
        machine: stp::Connection<Bytes>,
        peer: SocketAddr,
        overhead: u32,
        (memory, least): (&Arc<HostMemory>, u64),
        most: Most,
    ) -> Option<Self> {
        let (receiving, sending) = (Holding::begin(memory, least)?, Holding::begin(memory, least)?);
        Some(Conn {
            machine,
            channel: None,
            peer,
            reply_from: None,
            overhead,
            traffic: PacketCounts::default(),
            owned: true,
            connected: false,
            peer_finished: false,
            read_closed: false,
            failed: None,
            written: 0,
            read_since: 0,
            readers: Waiters::default(),
            writers: Waiters::default(),
            finishers: Waiters::default(),
            timer: None,
            told: false,
            accepted: false,
            listed: false,
            offered: false,
            unproven: false,
            hints: 0,
            hint: None,
            most,
            receiving,
            sending,
        })
    }

    /// Bytes that the application may write now, if they are free.
    pub fn room(&self) -> u64 {
        let outstanding = self.outstanding();
        if self.unproven || outstanding == 0 {
            // Little for an unproven address, and always some, so that each connection proceeds.
            let fair = if self.unproven { 0 } else { self.buffer() };
            return fair.max(self.sending.least()).min(self.most.written).saturating_sub(outstanding);
        }
        self.buffer().saturating_sub(outstanding)
    }

    /// Bytes that the application may write now, which are kept for it until the next [`Conn::recount`].
    pub fn take_room(&mut self) -> u64 {
        let (room, cost) = (self.room(), self.cost_of_writing(0));
        let kept = self.sending.ask(cost, self.cost_of_writing(room) - cost, false);
        if self.cost_of_writing(room) <= kept {
            return room;
        }
        // The part kept for data, without the cost of their packets.
        let left = kept.saturating_sub(self.cost_of_writing(0) + 2 * PACKET_COST);
        room.min(left - left / 4)
    }

    /// Bytes that written data take with the packets that they are, and will be, in.
    fn cost_of_writing(&self, more: u64) -> u64 {
        let bytes = self.outstanding() + more;
        let (payload, piece) = (u64::from(self.machine.packet_size()), PIECE as u64);
        let packets = bytes.div_ceil(payload) + bytes.div_ceil(piece);
        let held = self.machine.held().0 as u64 + more.div_ceil(payload) + more.div_ceil(piece);
        bytes + PACKET_COST * packets.max(held)
    }

    /// Bytes that may be written and not acknowledged: so many that what is sent need not wait for the application, if they are free.
    fn buffer(&self) -> u64 {
        let used = FIRST_WRITTEN + 2 * self.machine.in_flight();
        let fair = self.sending.memory().fair() + self.outstanding().min(FIRST_WRITTEN / 4);
        used.min(fair).min(self.most.written)
    }

    /// Grants a window for received data: the present fair share, and at most `most`.
    pub fn widen(&mut self, most: u64) {
        let fair = self.receiving.memory().fair().max(self.receiving.least());
        let window = fair.min(most).min(self.most.received);
        let now = self.machine.receive_window();
        // Small changes are not worth a packet, and a window that is used up may be made smaller.
        if window > now + now / 2 || window < now / 2 || (window > now && window == self.most.received) {
            self.machine.set_receive_window(window);
        }
    }

    /// Grants a larger window after the application has read data.
    pub fn widen_by_use(&mut self) {
        if self.offered && !self.unproven {
            self.widen(u64::MAX);
        }
    }

    /// Keeps memory for a packet, if it is free. A packet that exceeds what is kept counts as lost.
    pub fn keep_for(&mut self, packet: &Packet<Bytes>) {
        let held = self.machine.held_with_cost(PACKET_COST);
        let (more, urgent) = self.machine.would_hold(packet, PACKET_COST);
        let most = self.receiving.ask(held, more, urgent);
        self.machine.hold_at_most(most, PACKET_COST);
    }

    /// Updates the count of the bytes held.
    pub fn recount(&mut self) {
        self.receiving.set(self.machine.held_with_cost(PACKET_COST));
        self.sending.set(self.cost_of_writing(0));
    }

    /// The connection belongs to an association whose budget is this.
    pub fn count_in(&mut self, memory: &Arc<HostMemory>) {
        self.receiving.move_to(memory.clone());
        self.sending.move_to(memory.clone());
    }

    /// Bytes written and not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.written - self.machine.acknowledged().min(self.written)
    }

    /// Takes the machine's events, and wakes the tasks that they concern.
    pub fn take_events(&mut self) {
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::Connected => {
                    self.connected = true;
                    self.finishers.wake();
                }
                Event::Received(_) => self.readers.wake(),
                Event::PeerFinished => {
                    self.peer_finished = true;
                    self.readers.wake();
                }
                Event::AllAcknowledged | Event::Closed => self.finishers.wake(),
                Event::Reset(reason) => self.fail(Failed::reset(reason)),
            }
        }
        if self.machine.end_acknowledged() {
            self.finishers.wake();
        }
        if !self.owned {
            // Without a reader, data are dropped so that the peer can finish; a peer that sends too much is reset.
            while let Some(data) = self.machine.read(usize::MAX) {
                self.read_since += data.len() as u64;
            }
            if self.read_since > DROPPED_MAX && self.failed.is_none() {
                self.machine.reset();
                let message = "the application has let go of the connection".into();
                self.fail(Failed { kind: io::ErrorKind::ConnectionAborted, message });
            }
        }
        self.recount();
        if !self.writers.is_empty() && self.room() >= (self.buffer() / 4).max(1) {
            self.writers.wake();
        }
    }

    /// Records a failure of the connection.
    pub fn fail(&mut self, failed: Failed) {
        self.failed.get_or_insert(failed);
        self.readers.wake();
        self.writers.wake();
        self.finishers.wake();
    }

    /// Records an error report that packets do not arrive; it counts if nothing arrives for a while.
    pub fn hint(&mut self, now: Time, kind: io::ErrorKind, message: String) {
        self.hint.get_or_insert(Hint {
            since: now,
            acknowledged: self.machine.acknowledged(),
            received: self.traffic.packets_received,
            failed: Failed { kind, message },
        });
    }

    /// Time at which the hint is checked.
    pub fn hint_timeout(&self) -> Option<Time> {
        self.hint.as_ref().map(|hint| hint.since + HINT_PATIENCE)
    }

    /// Checks a hint. If `big`, only acknowledged data refute it, because small packets pass.
    pub fn judge_hint(&mut self, now: Time) {
        let Some(hint) = self.hint.take_if(|hint| now.since(hint.since) >= HINT_PATIENCE) else { return };
        let too_big = hint.failed.kind == io::ErrorKind::InvalidInput;
        let stuck = if too_big {
            self.machine.acknowledged() == hint.acknowledged && self.outstanding() > 0
        } else {
            self.traffic.packets_received == hint.received
        };
        if stuck && self.failed.is_none() {
            self.machine.reset();
            self.fail(hint.failed);
        }
    }

    /// Size of the headers of IP and UDP, bytes.
    pub fn beneath(&self) -> u64 {
        let sealed = matches!(self.channel, Some(PeerChannel::Sealed(_)));
        u64::from(self.overhead) - if sealed { OVERHEAD as u64 } else { 0 }
    }

    /// The next packet; `None` when there are no more. Before the address is proven, at most three times the bytes received from it
    /// are sent: the machine holds data back, and any excess counts as lost. A single POLL is sent nevertheless, like a repeated
    /// SYN-ACK: a peer with nothing to answer sends nothing, and both ends would wait for ever.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet<Bytes>> {
        if !self.unproven {
            return self.machine.poll_transmit(now);
        }
        let beneath = self.beneath();
        loop {
            let room = (3 * self.traffic.bytes_received).saturating_sub(self.traffic.bytes_sent + beneath);
            self.machine.allow(room);
            let packet = self.machine.poll_transmit(now)?;
            let asks = packet.poll.is_some() && packet.data.is_none() && packet.control.is_none();
            if asks || packet.wire_len() as u64 <= room {
                return Some(packet);
            }
        }
    }

    /// Marks the peer's address as proven once the peer has answered a packet sent to it. Returns true if it was unproven before.
    pub fn believe(&mut self, packet: &Packet<Bytes>) -> bool {
        let control = packet.control.as_ref();
        let answers = control.is_some_and(|c| c.stat.is_some() || c.ustat.is_some() || c.end_ack);
        let proven = self.unproven && answers;
        if proven {
            self.unproven = false;
            self.machine.allow(u64::MAX);
            self.writers.wake();
        }
        proven
    }

    /// Returns true if the connection has ended and has nothing left to send.
    pub fn is_over(&self) -> bool {
        !self.owned && (self.machine.over() || self.failed.is_some())
    }
}
