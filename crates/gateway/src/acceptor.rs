//! The server's end of a connection: reads the preamble, resolves the name, and connects to the server.
//!
//! Follows docs/stp.md §16. A hub alone has no preamble to read, and connects to the server on the client's behalf.
//! Differs from a proxy's defaults: it does not connect to this host's own or special-purpose addresses unless the file allows them.
//! Leaves out carrying data afterwards (`gateway`).

use crate::config::{Role, SourceAddress};
use crate::dscp::Dscp;
use crate::fate::End;
use crate::flow::{ASKING_MAX, Phase, SplitConnection};
use crate::gateway::Gateway;
use crate::kernel::KernelSocket;
use crate::poller_keys::FAR;
use crate::prefix::{is_special, plain};
use crate::user_shares::user_of;
use bytes::Bytes;
use skyhop_splice::preamble::{Answer, Carries, Destination, Preamble};
use skyhop_units::{Span, Time};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// The pause before a connection for which no port was free is tried again.
const PORT_PAUSE: Span = Span::from_millis(200);

impl Gateway {
    /// Reads the preamble of a stream that the far gateway has opened, and no byte after it.
    pub(crate) fn read_preamble(&mut self, now: Time, flow: &mut SplitConnection) -> Result<bool, End> {
        let (Phase::Reading(bytes), Some((link, id))) = (&mut flow.phase, flow.stream) else {
            return Ok(false);
        };
        let trunk = self.core.links.engine.trunk(link).ok_or(End::Lost)?;
        let preamble = loop {
            match Preamble::parse(bytes) {
                Ok(Some((preamble, _))) => break preamble,
                Ok(None) => {}
                Err(_) => return Err(End::Answered(Answer::NotUnderstood)),
            }
            let wanted = match bytes.first_chunk::<3>() {
                Some(&[_, high, low]) if bytes.len() >= 4 => 4 + usize::from(u16::from_be_bytes([high, low])),
                _ => 4,
            };
            match trunk.read(id, wanted - bytes.len()) {
                Some(more) => bytes.extend_from_slice(&more),
                None if flow.finished || now.since(flow.since) >= ASKING_MAX => {
                    return Err(End::Answered(Answer::NotUnderstood));
                }
                None => return Ok(false),
            }
        };
        flow.destination = Some(preamble.destination.clone());
        flow.client = preamble.source;
        flow.class.dscp = preamble.dscp.map_or(Dscp::default(), Dscp::from_number);
        if self.core.links.peers.is_over_quota(link) {
            return Err(End::Answered(Answer::OverQuota));
        }
        if preamble.carries == Carries::Datagrams {
            return self.accept_datagrams(now, flow, &preamble);
        }
        // The count includes this connection.
        if self.core.flows.len() > self.core.connections_max() {
            return Err(End::Answered(Answer::Full));
        }
        flow.phase = Phase::Waiting(preamble);
        Ok(true)
    }

    /// Begins the connection to the server, once there is memory for another one of its user.
    pub(crate) fn admit(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let (Some(destination), Some((link, _))) = (flow.destination.clone(), flow.stream) else {
            return Ok(false);
        };
        if let Some(user) = user_of(
            &destination,
            flow.client,
            self.core.config.role == Role::Terminal,
            &self.core.config.users,
        ) {
            if !self.users.memory.admits(now, slot, flow, (link, user), &mut self.core)? {
                return Ok(false);
            }
            self.users.memory.own(flow, user, &mut self.core);
        }
        match destination {
            Destination::Address(address) => self.connect(now, slot, flow, vec![address]),
            Destination::Name(name, port) => {
                if !self.names.ask(self.core.flows.name(slot), name, port) {
                    return Err(End::Answered(Answer::Full));
                }
                flow.phase = Phase::Resolving;
                Ok(false)
            }
        }
    }

    pub(crate) fn resolved(&mut self, now: Time, slot: usize, addresses: Vec<SocketAddr>) {
        let Some(mut flow) = self.core.flows.take(slot) else { return };
        let begun = match addresses.is_empty() {
            true => Err(End::Answered(Answer::NoSuchName)),
            false => self.connect(now, slot, &mut flow, addresses),
        };
        match begun {
            Ok(_) => {
                self.core.flows.put(slot, flow);
                self.core.flows.touch(slot);
            }
            Err(end) => self.finish(now, slot, flow, end),
        }
    }

    /// Begins a connection to the first allowed address that can be tried; the remaining addresses are kept for later attempts.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        mut addresses: Vec<SocketAddr>,
    ) -> Result<bool, End> {
        let mut answer = Answer::Unreachable;
        while !addresses.is_empty() {
            let to = addresses.remove(0);
            let to = SocketAddr::new(plain(to.ip()), to.port());
            if !self.allowed(to) {
                answer = Answer::Forbidden;
                continue;
            }
            let link = flow.stream.map_or(0, |(link, _)| link);
            let source = flow.client.filter(|client| {
                self.core.config.source == SourceAddress::Client
                    && client.is_ipv4() == to.is_ipv4()
                    && (self.core.config.role == Role::Alone
                        || self.core.links.peers.has_user(link, client.ip()))
            });
            // A client's own address and port are no other connection's.
            let shares = source.is_none();
            if shares && !self.port_waits.may_try(now, to, flow.since, slot) {
                addresses.insert(0, to);
                return self.wait_for_port(now, slot, flow, (addresses, shares));
            }
            match KernelSocket::connect(to, source, self.core.config.dscp.server(flow.class.dscp)) {
                Ok(socket) => {
                    self.leave_ports(now, to, flow.since, slot);
                    self.core.flows.watch(slot, FAR, &socket).map_err(|_| End::Answered(Answer::Full))?;
                    flow.socket = Some(socket);
                    flow.phase = Phase::Connecting(addresses);
                    self.core.flows.set_timer(slot, Some(now + self.core.config.connect_timeout));
                    return Ok(false);
                }
                Err(e) if e.kind() == io::ErrorKind::AddrNotAvailable => {
                    self.note_lack_of_ports(now, to, shares);
                    addresses.insert(0, to);
                    return self.wait_for_port(now, slot, flow, (addresses, shares));
                }
                Err(e) => {
                    self.leave_ports(now, to, flow.since, slot);
                    answer = answer_to(&e);
                }
            }
        }
        Err(End::Answered(answer))
    }

    /// Makes a connection wait until this host has a free port towards the server: all are in use, or were until a minute ago.
    fn wait_for_port(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        (addresses, shares): (Vec<SocketAddr>, bool),
    ) -> Result<bool, End> {
        let Some(to) = addresses.first().copied() else { return Err(End::Answered(Answer::Full)) };
        let ends = flow.since + self.core.config.connect_timeout;
        if now >= ends {
            self.leave_ports(now, to, flow.since, slot);
            return Err(End::Answered(Answer::Full));
        }
        if shares {
            self.port_waits.wait(to, flow.since, slot);
        }
        let first = !shares || self.port_waits.is_first(to, flow.since, slot);
        flow.phase = Phase::Connecting(addresses);
        self.core.flows.set_timer(slot, Some(if first { ends.min(now + PORT_PAUSE) } else { ends }));
        Ok(false)
    }

    /// Notes that a connection does not wait for a port any more; the next one to the server tries.
    pub(crate) fn leave_ports(&mut self, now: Time, to: SocketAddr, since: Time, slot: usize) {
        if let Some(next) = self.port_waits.leave(to, since, slot) {
            self.core.flows.set_timer(next, Some(now));
        }
    }

    /// The kernel looks through all ports for a free one, so that not each connection should ask.
    fn note_lack_of_ports(&mut self, now: Time, to: SocketAddr, shares: bool) {
        self.core.journal.lacks_port(to);
        if shares {
            self.port_waits.note_lack(to, now + PORT_PAUSE / 2);
        }
    }

    /// Returns true if connections to the address are allowed: a special-purpose address or one of this host's only if the file names it. A
    /// terminal connects only to addresses that the file names.
    pub(crate) fn allowed(&self, to: SocketAddr) -> bool {
        let named = self.core.config.allow.iter().any(|prefix| prefix.contains(to.ip()));
        let open = self.core.config.role != Role::Terminal && !is_special(to.ip()) && !is_own(to.ip());
        to.port() != 0 && (named || open)
    }

    pub(crate) fn connected(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
    ) -> Result<bool, End> {
        let Phase::Connecting(others) = &mut flow.phase else { return Ok(false) };
        let Some(socket) = &flow.socket else {
            let others = std::mem::take(others);
            return self.connect(now, slot, flow, others);
        };
        let failed = if socket.writable {
            socket.take_error().map(|e| answer_to(&e))
        } else if now.since(flow.since) >= self.core.config.connect_timeout {
            Some(Answer::TimedOut)
        } else {
            return Ok(false);
        };
        let others = std::mem::take(others);
        let Some(answer) = failed else {
            if let Some((link, id)) = flow.stream {
                let trunk = self.core.links.engine.trunk(link).ok_or(End::Lost)?;
                trunk.write(id, Bytes::copy_from_slice(&[Answer::Connected.number()]));
                trunk.unreserve(id);
            }
            flow.phase = Phase::Open;
            self.core.flows.set_timer(slot, None);
            return Ok(true);
        };
        if let Some(socket) = flow.socket.take() {
            self.core.flows.unwatch(&socket);
        }
        if others.is_empty() || answer == Answer::TimedOut {
            return Err(End::Answered(answer));
        }
        self.connect(now, slot, flow, others)
    }
}

/// Returns true if the address is one of this host's: other hosts' addresses cannot be bound.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

fn answer_to(e: &io::Error) -> Answer {
    match e.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Answer::Refused,
        io::ErrorKind::TimedOut => Answer::TimedOut,
        io::ErrorKind::PermissionDenied => Answer::Forbidden,
        _ => Answer::Unreachable,
    }
}
