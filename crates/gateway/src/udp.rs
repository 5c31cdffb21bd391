//! UDP through an association: datagrams from clients and servers on this side, and their classes.
//!
//! Follows docs/stp.md §15.7 and §16: a datagram waits a short time at most, and a standing queue is shortened (RFC 8289).
//! Differs from TCP connections: datagrams are not acknowledged or retransmitted; one too large for a packet goes in the stream.
//! Leaves out fragments and ICMP: a client is not informed of an unreachable port.

use crate::config::SourceAddress;
use crate::connector::allowed;
use crate::datagram_socket::{DatagramSocket, LARGEST};
use crate::dns::Asker;
use crate::fate::End;
use crate::flow::StreamName;
use crate::gateway_core::GatewayCore;
use crate::name_servers::NameServers;
use crate::poller_keys::{FIRST_UDP, UDP_LISTENERS};
use crate::udp_flows::{UdpFlow, UdpFlows, whole_datagrams};
use crate::udp_loads::UdpLoads;
use bytes::Bytes;
use polling::{Event as PollEvent, PollMode, Poller};
use skyhop_splice::datagrams::{DatagramWay, FIRST, send_datagram};
use skyhop_splice::preamble::{Answer, Carries, Destination, Preamble};
use skyhop_transport::stp::{Class, TrunkEvent};
use skyhop_units::Time;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Datagrams read from a socket before other sockets get their turn.
const READS: usize = 64;

/// UDP through a gateway: its flows and their loads, and the name servers, whose queries take another way.
pub struct UdpRelay {
    poller: Arc<Poller>,
    pub flows: UdpFlows,
    loads: UdpLoads,
    pub name_servers: NameServers,
    /// Sockets for intercepted datagrams, one for each version of IP.
    listeners: [Option<DatagramSocket>; 2],
    buffer: Vec<u8>,
}

impl UdpRelay {
    /// No flows yet.
    pub fn new(poller: Arc<Poller>) -> Self {
        UdpRelay {
            poller,
            flows: UdpFlows::default(),
            loads: UdpLoads::default(),
            name_servers: NameServers::default(),
            listeners: [None, None],
            buffer: Vec::new(),
        }
    }

    /// Opens or closes the sockets for intercepted datagrams.
    pub fn intercept(&mut self, port: Option<u16>) -> io::Result<()> {
        for (place, v4) in [true, false].into_iter().enumerate() {
            match (&self.listeners[place], port) {
                (None, Some(port)) => match DatagramSocket::transparent(v4, port) {
                    Ok(socket) => {
                        let event = PollEvent::readable(UDP_LISTENERS + place);
                        // SAFETY: the socket is removed from the poller before it is closed.
                        unsafe { self.poller.add_with_mode(&socket, event, PollMode::Level)? };
                        self.listeners[place] = Some(socket);
                    }
                    Err(e) if !v4 && e.raw_os_error() == Some(libc::EAFNOSUPPORT) => {}
                    Err(e) => return Err(e),
                },
                (Some(socket), None) => {
                    self.poller.delete(socket)?;
                    self.listeners[place] = None;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Handles an event of a socket: of one for intercepted datagrams, or of a server's.
    pub fn handle_ready(&mut self, now: Time, key: usize, core: &mut GatewayCore) {
        match key.checked_sub(FIRST_UDP) {
            Some(slot) => self.handle_server(now, slot, core),
            None => self.handle_clients(now, key - UDP_LISTENERS, core),
        }
    }

    /// Reads intercepted datagrams from a socket.
    fn handle_clients(&mut self, now: Time, place: usize, core: &mut GatewayCore) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(LARGEST, 0);
        for _ in 0..READS {
            let Some(listener) = &self.listeners[place] else { break };
            match listener.receive_from(&mut buffer) {
                Ok(Some((len, client, server))) => {
                    self.datagram_of_client(now, client, server, &buffer[..len], core)
                }
                // An error concerns one datagram, and the next may be valid.
                Err(_) => {}
                Ok(None) => break,
            }
        }
        self.buffer = buffer;
    }

    /// Handles a datagram of a client on this side.
    fn datagram_of_client(
        &mut self,
        now: Time,
        client: SocketAddr,
        server: SocketAddr,
        data: &[u8],
        core: &mut GatewayCore,
    ) {
        if server.port() == 53
            && let Some(others) = self.name_servers.ask(now, client, server, data, core)
        {
            return self.carry_queries(now, server, others, core);
        }
        self.carry(now, client, server, data, core);
    }

    /// Sends queries to a name server as the users' own datagrams.
    fn carry_queries(&mut self, now: Time, server: SocketAddr, queries: Vec<Asker>, core: &mut GatewayCore) {
        for asker in queries {
            self.carry(now, asker.client, server, &asker.query, core);
        }
    }

    /// Sends a client's datagram to the far end.
    fn carry(
        &mut self,
        now: Time,
        client: SocketAddr,
        server: SocketAddr,
        data: &[u8],
        core: &mut GatewayCore,
    ) {
        let known = self.flows.of_pair(client, server);
        let Some(slot) = known.or_else(|| self.open(now, client, server, core)) else {
            core.journal.counters.datagrams.refused += 1;
            return;
        };
        let Some((flow, _)) = self.flows.get_mut(slot) else { return };
        flow.last = now;
        let stream = flow.stream;
        self.send(now, stream, data, core);
    }

    fn open(
        &mut self,
        now: Time,
        client: SocketAddr,
        server: SocketAddr,
        core: &mut GatewayCore,
    ) -> Option<usize> {
        if self.flows.len() >= core.connections_max() {
            return None;
        }
        let preamble = Preamble {
            carries: Carries::Datagrams,
            source: Some(client),
            ..Preamble::to(Destination::Address(server))
        };
        let class = Class { priority: FIRST.priority, ..Class::default() };
        let stream = core.links.open(server, class, &preamble)?;
        let flow = UdpFlow {
            stream,
            client: Some(client),
            server,
            socket: None,
            answered: false,
            partial: Vec::new(),
            last: now,
        };
        let inserted = self.flows.insert(flow);
        if let Err(e) = &inserted {
            core.journal.say(format!("a socket under {server}: {e}"));
            core.links.reset(stream);
        }
        inserted.ok()
    }

    /// Passes a datagram of a flow to the association.
    fn send(&mut self, now: Time, (link, id): StreamName, data: &[u8], core: &mut GatewayCore) {
        let Some(trunk) = core.links.engine.trunk(link) else { return };
        let framed = || {
            let len = u16::try_from(data.len()).unwrap_or(u16::MAX);
            [&len.to_be_bytes()[..], data].concat().into()
        };
        let (load, whole) = (self.loads.of(link), Bytes::copy_from_slice(data));
        match send_datagram(now, load, trunk, id, whole, framed) {
            DatagramWay::Datagram | DatagramWay::Stream => core.journal.counters.datagrams.to_link += 1,
            DatagramWay::Refused => core.journal.counters.datagrams.refused += 1,
        }
    }

    /// Accepts a stream for datagrams that the far gateway has opened, or refuses it.
    pub fn accept(
        &mut self,
        now: Time,
        stream: StreamName,
        preamble: &Preamble,
        core: &mut GatewayCore,
    ) -> Result<(), End> {
        let Destination::Address(server) = &preamble.destination else {
            return Err(End::Answered(Answer::NotUnderstood));
        };
        if !allowed(&core.config, *server) {
            return Err(End::Answered(Answer::Forbidden));
        }
        if self.flows.len() >= core.connections_max() {
            return Err(End::Answered(Answer::Full));
        }
        let source = preamble.source.filter(|client| {
            core.config.source == SourceAddress::Client
                && client.is_ipv4() == server.is_ipv4()
                && core.links.peers.has_user(stream.0, client.ip())
        });
        let socket = DatagramSocket::connect(*server, source);
        let socket = socket.map_err(|_| End::Answered(Answer::Unreachable))?;
        let event = PollEvent::readable(FIRST_UDP + self.flows.next_slot());
        // SAFETY: the socket is removed from the poller before it is closed.
        let watched = unsafe { self.poller.add_with_mode(&socket, event, PollMode::Level) };
        watched.map_err(|_| End::Answered(Answer::Full))?;
        let flow = UdpFlow {
            stream,
            client: preamble.source,
            server: *server,
            socket: Some(socket),
            answered: true,
            partial: Vec::new(),
            last: now,
        };
        // A flow with its own socket needs no shared one, so the insertion cannot fail.
        if let Ok(slot) = self.flows.insert(flow) {
            core.links.answer(stream, Answer::Connected);
            for data in self.flows.early.take(stream) {
                self.deliver(now, slot, &data, core);
            }
            self.read_stream(now, slot, core);
        }
        Ok(())
    }

    /// Handles datagrams that an association has received.
    pub fn read(&mut self, now: Time, link: u32, core: &mut GatewayCore) {
        while let Some((channel, data)) =
            core.links.engine.trunk(link).and_then(|trunk| trunk.read_datagram())
        {
            match self.flows.of_stream((link, channel)) {
                Some(slot) => self.deliver(now, slot, &data, core),
                None => self.flows.early.keep(now, (link, channel), data),
            }
        }
    }

    fn deliver(&mut self, now: Time, slot: usize, data: &[u8], core: &mut GatewayCore) {
        let Some((flow, replies)) = self.flows.get_mut(slot) else { return };
        flow.last = now;
        let sent = match (&flow.socket, flow.client, replies.get(&flow.server)) {
            (Some(socket), ..) => socket.send(data),
            (None, Some(client), Some((reply, _))) => reply.send_to(data, client),
            _ => return,
        };
        match sent {
            Ok(_) => core.journal.counters.datagrams.from_link += 1,
            Err(_) => core.journal.counters.datagrams.refused += 1,
        }
    }

    /// Handles datagrams of a server's socket, or its report of an unreachable port.
    fn handle_server(&mut self, now: Time, slot: usize, core: &mut GatewayCore) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(LARGEST, 0);
        for _ in 0..READS {
            let Some((flow, _)) = self.flows.get_mut(slot) else { break };
            let (Some(socket), stream) = (&flow.socket, flow.stream) else { break };
            match socket.receive(&mut buffer) {
                Ok(Some(len)) => {
                    flow.last = now;
                    self.send(now, stream, &buffer[..len], core);
                }
                Ok(None) => break,
                Err(_) => {
                    self.end(slot, true, core);
                    break;
                }
            }
        }
        self.buffer = buffer;
    }

    /// Reads the stream of a flow: the far gateway's answer, and large datagrams.
    fn read_stream(&mut self, now: Time, slot: usize, core: &mut GatewayCore) {
        let Some((flow, _)) = self.flows.get_mut(slot) else { return };
        let (link, id) = flow.stream;
        let Some(trunk) = core.links.engine.trunk(link) else { return };
        while let Some(data) = trunk.read(id, 64 << 10) {
            flow.partial.extend_from_slice(&data);
        }
        if !flow.answered && !flow.partial.is_empty() {
            let answer = Answer::from_number(flow.partial.remove(0));
            flow.answered = true;
            if answer != Answer::Connected {
                core.journal.counters.refuse(answer);
                return self.end(slot, true, core);
            }
        }
        for data in whole_datagrams(&mut flow.partial) {
            self.deliver(now, slot, &data, core);
        }
    }

    /// Handles an event of a stream without a connection: one of a flow of datagrams, or of a name server.
    pub fn handle_stream(
        &mut self,
        now: Time,
        stream: StreamName,
        event: TrunkEvent,
        core: &mut GatewayCore,
    ) {
        let over = matches!(event, TrunkEvent::Reset(..) | TrunkEvent::PeerFinished(_));
        if let Some(slot) = self.flows.of_stream(stream) {
            self.read_stream(now, slot, core);
            if over {
                self.end(slot, matches!(event, TrunkEvent::PeerFinished(_)), core);
            }
        } else if let Some(server) = self.name_servers.server_of(stream) {
            let by_datagrams = match over {
                true => self.name_servers.ended(now, server, core),
                false => self.name_servers.read(now, server, core),
            };
            self.carry_queries(now, server, by_datagrams, core);
        }
    }

    /// Ends a flow; with `tell` its stream is reset.
    fn end(&mut self, slot: usize, tell: bool, core: &mut GatewayCore) {
        let Some(flow) = self.flows.remove(slot) else { return };
        if let Some(socket) = &flow.socket {
            let _ = self.poller.delete(socket);
        }
        if tell {
            core.links.reset(flow.stream);
        }
    }

    /// Ends the flows of a lost association, and drops its streams to name servers.
    pub fn lose(&mut self, link: u32, core: &mut GatewayCore) {
        for slot in self.flows.of_link(link) {
            self.end(slot, false, core);
        }
        self.loads.forget(link);
        self.name_servers.lose(link);
    }

    /// Ends idle flows.
    pub fn sweep(&mut self, now: Time, core: &mut GatewayCore) {
        for slot in self.flows.idle(now) {
            self.end(slot, true, core);
        }
    }
}
