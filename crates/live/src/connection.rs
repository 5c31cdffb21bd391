//! One connection of this host: the machine, where its packets go, and who waits for it.
//!
//! Follows HT §5.1.1; the machine is `skyhop_transport::stp::Connection`, handed real bytes.
//! Differs: trouble that the network reports without proof ends a connection only if the peer stays silent too.
//! Leaves out the socket: packets are taken and given by `host`.

use crate::seal::OVERHEAD;
use bytes::Bytes;
use skyhop_transport::stp::{self, Event, Reason};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::Packet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Waker};

/// How long the STAT that proves an address is waited for before it is asked for again.
const PROOF_PAUSE: Span = Span::from_secs(1);

/// What carries a connection's packets to the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Channel {
    /// An association.
    Sealed(u32),
    /// Nothing but the peer's address.
    Plain(SocketAddr),
}

/// What tells a connection of this host from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub channel: Channel,
    pub local_port: u16,
    pub remote_port: u16,
    pub instance: u16,
}

/// What has crossed the network for a connection; bytes with the headers of IP and UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Packets sent.
    pub packets_sent: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Bytes received.
    pub bytes_received: u64,
}

/// Who waits.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Vec<Waker>);

impl Waiters {
    pub fn add(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.0.push(cx.waker().clone());
        }
    }

    pub fn wake(&mut self) {
        for waker in self.0.drain(..) {
            waker.wake();
        }
    }
}

/// Why a connection has failed.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub kind: io::ErrorKind,
    pub message: String,
}

impl Failed {
    pub fn error(&self) -> io::Error {
        io::Error::new(self.kind, self.message.clone())
    }

    fn reset(reason: Reason) -> Self {
        let (kind, message) = match reason {
            Reason::Refused => {
                (io::ErrorKind::ConnectionRefused, "the peer does not listen at that port, or is full")
            }
            Reason::Silent => (io::ErrorKind::TimedOut, "the peer has been silent for too long"),
            Reason::Protocol => (io::ErrorKind::InvalidData, "the peer speaks another version of STP"),
            Reason::Versions(lowest, highest) => {
                let message = format!("the peer speaks STP's versions {lowest} to {highest}");
                return Failed { kind: io::ErrorKind::InvalidData, message };
            }
            _ => (io::ErrorKind::ConnectionReset, "the peer has broken the connection off"),
        };
        Failed { kind, message: message.into() }
    }
}

/// A hint without proof, and what the connection had achieved by then.
#[derive(Debug, Clone)]
struct Hint {
    since: Time,
    acknowledged: u64,
    received: u64,
    failed: Failed,
}

/// For so long a connection may go on after a hint without any progress.
const HINT_PATIENCE: Span = Span::from_secs(3);

/// A connection.
pub(crate) struct Conn {
    pub machine: stp::Connection<Bytes>,
    /// Where packets go. `None` until the association is open.
    pub channel: Option<Channel>,
    pub key: Option<Key>,
    pub peer: SocketAddr,
    /// Which of this host's addresses the peer knows.
    pub reply_from: Option<IpAddr>,
    /// Bytes beneath STP in each packet.
    pub overhead: u32,
    pub traffic: Traffic,
    /// Whether the application still has it.
    pub owned: bool,
    pub connected: bool,
    pub peer_finished: bool,
    pub read_closed: bool,
    pub failed: Option<Failed>,
    pub written: u64,
    /// Bytes read since the machine was last asked whether to tell the peer.
    pub read_since: u64,
    pub readers: Waiters,
    pub writers: Waiters,
    pub finishers: Waiters,
    pub timer: Option<Time>,
    pub dirty: bool,
    /// The peer has connected, and not this host.
    pub accepted: bool,
    /// Without an association: the peer's address is not proven yet.
    pub unproven: bool,
    /// A packet that may not leave before the address is proven.
    pub held: Option<Packet<Bytes>>,
    /// What asks for the proof, and when it may be sent again.
    proof: Option<(Time, Packet<Bytes>)>,
    pub hints: u32,
    hint: Option<Hint>,
}

impl Conn {
    pub fn new(machine: stp::Connection<Bytes>, peer: SocketAddr, overhead: u32) -> Self {
        Conn {
            machine,
            channel: None,
            key: None,
            peer,
            reply_from: None,
            overhead,
            traffic: Traffic::default(),
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
            dirty: false,
            accepted: false,
            unproven: false,
            held: None,
            proof: None,
            hints: 0,
            hint: None,
        }
    }

    /// Bytes written and not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.written - self.machine.acknowledged().min(self.written)
    }

    /// Takes the machine's events, and wakes those whom they concern.
    pub fn take_events(&mut self, room_enough: u64) {
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
        if self.outstanding() <= room_enough {
            self.writers.wake();
        }
        if self.machine.end_acknowledged() {
            self.finishers.wake();
        }
        if !self.owned {
            // Nobody reads; what comes is dropped, so that the peer may come to its end.
            while self.machine.read(usize::MAX).is_some() {}
        }
    }

    /// The connection has failed.
    pub fn fail(&mut self, failed: Failed) {
        self.failed.get_or_insert(failed);
        self.readers.wake();
        self.writers.wake();
        self.finishers.wake();
    }

    /// The network says that packets do not arrive. Believed if nothing arrives for a while.
    pub fn hint(&mut self, now: Time, kind: io::ErrorKind, message: String) {
        self.hint.get_or_insert(Hint {
            since: now,
            acknowledged: self.machine.acknowledged(),
            received: self.traffic.packets_received,
            failed: Failed { kind, message },
        });
    }

    /// When to look at the hint again.
    pub fn hint_timeout(&self) -> Option<Time> {
        self.hint.as_ref().map(|hint| hint.since + HINT_PATIENCE)
    }

    /// Whether a hint has proven right. `big` says that only acknowledged data speak against it, because small packets pass.
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

    /// Bytes of IP and UDP in front of a datagram.
    pub fn beneath(&self) -> u64 {
        let sealed = matches!(self.channel, Some(Channel::Sealed(_)));
        u64::from(self.overhead) - if sealed { OVERHEAD as u64 } else { 0 }
    }

    /// Without proof of the address no more than three times what came from it. Data that are too much for that are held back; what
    /// shares their packet goes, and their POLL, whose STAT is the proof, goes again while nothing comes back. A probe of the
    /// path's MTU counts as lost: without its padding it would prove a size that was never sent.
    pub fn prove(&mut self, now: Time, mut packet: Packet<Bytes>) -> Option<Packet<Bytes>> {
        let room = (3 * self.traffic.bytes_received).saturating_sub(self.traffic.bytes_sent);
        let beneath = self.beneath();
        let fits = |packet: &Packet<Bytes>| packet.wire_len() as u64 + beneath <= room;
        if !self.unproven || fits(&packet) {
            return Some(packet);
        }
        if packet.data.is_none() && packet.control.as_ref().is_some_and(|control| control.padding > 0) {
            return None;
        }
        let first = Packet { data: None, ..packet.clone() };
        if packet.data.is_some() && packet.poll.is_some() {
            self.proof = Some((now, Packet { control: None, ..first.clone() }));
        }
        let answer = match &self.proof {
            _ if packet.data.is_some() && (packet.poll.is_some() || packet.control.is_some()) => Some(first),
            Some((due, ask)) if *due <= now => Some(ask.clone()),
            _ => None,
        };
        let answer = answer.filter(fits);
        if answer.is_some() {
            (packet.poll, packet.control) = (None, None);
            if let Some((due, _)) = &mut self.proof {
                *due = now + PROOF_PAUSE;
            }
        }
        self.held = Some(packet);
        answer
    }

    /// Whether nothing is left to be done.
    pub fn is_over(&self) -> bool {
        !self.owned && (self.machine.over() || self.failed.is_some())
    }
}
