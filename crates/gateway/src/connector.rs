//! Connections to servers: names are resolved, and the addresses tried one after another, with a free port of this host.
//!
//! Follows docs/stp.md §16 for the answers, and docs/gateway.md, "Many connections to one server".
//! Differs from a proxy's defaults: it does not connect to this host's own or special-purpose addresses unless the file allows them.
//! Leaves out memory for the connection (`user_memory`), and carrying data afterwards (`turns`).

use crate::config::{Config, Role, SourceAddress};
use crate::fate::End;
use crate::flow::{Phase, SplitConnection};
use crate::flows::Flows;
use crate::gateway_core::GatewayCore;
use crate::kernel::KernelSocket;
use crate::names::{Found, Names};
use crate::poller_keys::FAR;
use crate::port_waits::PortWaits;
use crate::prefix::{is_special, plain};
use bytes::Bytes;
use skyhop_splice::preamble::{Answer, Destination};
use skyhop_units::{Span, Time};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// The pause before a connection for which no port was free is tried again.
const PORT_PAUSE: Span = Span::from_millis(200);

/// Connections to servers that have not been answered.
pub struct Connector {
    names: Names,
    /// Connections that wait for a port of this host towards their server.
    ports: PortWaits,
}

impl Connector {
    /// Starts without connections; `wake` is called for each name that is resolved.
    pub fn start(wake: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        Ok(Connector { names: Names::start(wake)?, ports: PortWaits::default() })
    }

    /// Begins the connection to a destination.
    pub fn begin(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        to: Destination,
        core: &mut GatewayCore,
    ) -> Result<bool, End> {
        match to {
            Destination::Address(address) => self.connect(now, slot, flow, vec![address], core),
            Destination::Name(name, port) => {
                if !self.names.ask(core.flows.name(slot), name, port) {
                    return Err(End::Answered(Answer::Full));
                }
                flow.phase = Phase::Resolving;
                Ok(false)
            }
        }
    }

    /// The next result of a resolution.
    pub fn found(&self) -> Option<Found> {
        self.names.found()
    }

    /// Goes on with the addresses of a name.
    pub fn resolved(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        addresses: Vec<SocketAddr>,
        core: &mut GatewayCore,
    ) -> Result<bool, End> {
        match addresses.is_empty() {
            true => Err(End::Answered(Answer::NoSuchName)),
            false => self.connect(now, slot, flow, addresses, core),
        }
    }

    /// Begins a connection to the first allowed address that can be tried; the remaining addresses are kept for later attempts.
    fn connect(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        mut addresses: Vec<SocketAddr>,
        core: &mut GatewayCore,
    ) -> Result<bool, End> {
        let mut answer = Answer::Unreachable;
        while !addresses.is_empty() {
            let to = addresses.remove(0);
            let to = SocketAddr::new(plain(to.ip()), to.port());
            if !allowed(&core.config, to) {
                answer = Answer::Forbidden;
                continue;
            }
            let link = flow.stream.map_or(0, |(link, _)| link);
            let source = flow.client.filter(|client| {
                core.config.source == SourceAddress::Client
                    && client.is_ipv4() == to.is_ipv4()
                    && (core.config.role == Role::Alone || core.links.peers.has_user(link, client.ip()))
            });
            // A client's own address and port are no other connection's.
            let shares = source.is_none();
            if shares && !self.ports.may_try(now, to, flow.since, slot) {
                addresses.insert(0, to);
                return self.wait_for_port(now, slot, flow, (addresses, shares), core);
            }
            match KernelSocket::connect(to, source, core.config.dscp.server(flow.class.dscp)) {
                Ok(socket) => {
                    self.leave_ports(now, to, flow.since, slot, &mut core.flows);
                    core.flows.watch(slot, FAR, &socket).map_err(|_| End::Answered(Answer::Full))?;
                    flow.socket = Some(socket);
                    flow.phase = Phase::Connecting(addresses);
                    core.flows.set_timer(slot, Some(now + core.config.connect_timeout));
                    return Ok(false);
                }
                Err(e) if e.kind() == io::ErrorKind::AddrNotAvailable => {
                    core.journal.lacks_port(to);
                    // The kernel looks through all ports for a free one, so that not each connection should ask.
                    if shares {
                        self.ports.note_lack(to, now + PORT_PAUSE / 2);
                    }
                    addresses.insert(0, to);
                    return self.wait_for_port(now, slot, flow, (addresses, shares), core);
                }
                Err(e) => {
                    self.leave_ports(now, to, flow.since, slot, &mut core.flows);
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
        core: &mut GatewayCore,
    ) -> Result<bool, End> {
        let Some(to) = addresses.first().copied() else { return Err(End::Answered(Answer::Full)) };
        let ends = flow.since + core.config.connect_timeout;
        if now >= ends {
            self.leave_ports(now, to, flow.since, slot, &mut core.flows);
            return Err(End::Answered(Answer::Full));
        }
        if shares {
            self.ports.wait(to, flow.since, slot);
        }
        let first = !shares || self.ports.is_first(to, flow.since, slot);
        flow.phase = Phase::Connecting(addresses);
        core.flows.set_timer(slot, Some(if first { ends.min(now + PORT_PAUSE) } else { ends }));
        Ok(false)
    }

    /// Takes a connection that has ended out of those that wait for a port.
    pub fn ended(&mut self, now: Time, slot: usize, flow: &SplitConnection, flows: &mut Flows) {
        if let (Phase::Connecting(addresses), None) = (&flow.phase, &flow.socket)
            && let Some(to) = addresses.first()
        {
            self.leave_ports(now, *to, flow.since, slot, flows);
        }
    }

    /// Notes that a connection does not wait for a port any more; the next one to the server tries.
    fn leave_ports(&mut self, now: Time, to: SocketAddr, since: Time, slot: usize, flows: &mut Flows) {
        if let Some(next) = self.ports.leave(to, since, slot) {
            flows.set_timer(next, Some(now));
        }
    }

    /// Handles the server's answer, or the lack of one: the connection is open, or tries the next address.
    pub fn connected(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        core: &mut GatewayCore,
    ) -> Result<bool, End> {
        let Phase::Connecting(others) = &mut flow.phase else { return Ok(false) };
        let Some(socket) = &flow.socket else {
            let others = std::mem::take(others);
            return self.connect(now, slot, flow, others, core);
        };
        let failed = if socket.writable {
            socket.take_error().map(|e| answer_to(&e))
        } else if now.since(flow.since) >= core.config.connect_timeout {
            Some(Answer::TimedOut)
        } else {
            return Ok(false);
        };
        let others = std::mem::take(others);
        let Some(answer) = failed else {
            if let Some((link, id)) = flow.stream {
                let trunk = core.links.engine.trunk(link).ok_or(End::Lost)?;
                trunk.write(id, Bytes::copy_from_slice(&[Answer::Connected.number()]));
                trunk.unreserve(id);
            }
            flow.phase = Phase::Open;
            core.flows.set_timer(slot, None);
            return Ok(true);
        };
        if let Some(socket) = flow.socket.take() {
            core.flows.unwatch(&socket);
        }
        if others.is_empty() || answer == Answer::TimedOut {
            return Err(End::Answered(answer));
        }
        self.connect(now, slot, flow, others, core)
    }
}

/// Returns true if connections to the address are allowed: a special-purpose address or one of this host's only if the file names it. A
/// terminal connects only to addresses that the file names.
pub fn allowed(config: &Config, to: SocketAddr) -> bool {
    let named = config.allow.iter().any(|prefix| prefix.contains(to.ip()));
    let open = config.role != Role::Terminal && !is_special(to.ip()) && !is_own(to.ip());
    to.port() != 0 && (named || open)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway_core::tests::alone;

    #[test]
    fn special_and_own_addresses_are_allowed_only_if_the_file_names_them() {
        let (strict, named) =
            (alone("").config, alone("allow = [\"127.0.0.0/8\", \"169.254.1.0/24\"]").config);
        for (to, open, of_file) in [
            ("8.8.8.8:80", true, true),
            ("8.8.8.8:0", false, false),
            ("127.0.0.1:80", false, true),
            ("169.254.1.3:80", false, true),
            ("169.254.2.3:80", false, false),
        ] {
            let to: SocketAddr = to.parse().unwrap();
            assert_eq!([allowed(&strict, to), allowed(&named, to)], [open, of_file], "{to}");
        }
    }
}
