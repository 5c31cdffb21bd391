//! UDP through an association: datagrams from clients and servers on this side, and their classes.
//!
//! Follows docs/stp.md §15.7 and §16: a datagram waits a short time at most, and a standing queue is shortened (RFC 8289).
//! Differs from TCP connections: datagrams are not acknowledged or retransmitted; one too large for a packet goes in the stream.
//! Leaves out fragments and ICMP: a client is not informed of an unreachable port.

use crate::config::SourceAddress;
use crate::connector::allowed;
use crate::datagram_socket::{DatagramSocket, LARGEST};
use crate::fate::End;
use crate::flow::{SplitConnection, StreamName};
use crate::gateway::Gateway;
use crate::poller_keys::{FIRST_UDP, UDP_LISTENERS};
use crate::udp_flows::{UdpFlow, whole_datagrams};
use bytes::Bytes;
use polling::{Event as PollEvent, PollMode};
use skyhop_splice::datagrams::{DatagramWay, FIRST, send_datagram};
use skyhop_splice::preamble::{Answer, Carries, Destination, Preamble};
use skyhop_transport::stp::{Class, TrunkEvent};
use skyhop_units::Time;
use std::io;
use std::net::SocketAddr;

/// Datagrams read from a socket before other sockets get their turn.
const READS: usize = 64;

impl Gateway {
    /// Opens or closes the sockets for intercepted datagrams.
    pub fn intercept_datagrams(&mut self, port: Option<u16>) -> io::Result<()> {
        for (place, v4) in [true, false].into_iter().enumerate() {
            match (&self.udp.listeners[place], port) {
                (None, Some(port)) => match DatagramSocket::transparent(v4, port) {
                    Ok(socket) => {
                        let event = PollEvent::readable(UDP_LISTENERS + place);
                        // SAFETY: the socket is removed from the poller before it is closed.
                        unsafe { self.poller.add_with_mode(&socket, event, PollMode::Level)? };
                        self.udp.listeners[place] = Some(socket);
                    }
                    Err(e) if !v4 && e.raw_os_error() == Some(libc::EAFNOSUPPORT) => {}
                    Err(e) => return Err(e),
                },
                (Some(socket), None) => {
                    self.poller.delete(socket)?;
                    self.udp.listeners[place] = None;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads intercepted datagrams from a socket.
    pub fn handle_datagrams(&mut self, now: Time, place: usize) {
        let mut buffer = std::mem::take(&mut self.udp.buffer);
        buffer.resize(LARGEST, 0);
        for _ in 0..READS {
            let Some(listener) = &self.udp.listeners[place] else { break };
            match listener.receive_from(&mut buffer) {
                Ok(Some((len, client, server))) => {
                    self.datagram_of_client(now, client, server, &buffer[..len])
                }
                // An error concerns one datagram, and the next may be valid.
                Err(_) => {}
                Ok(None) => break,
            }
        }
        self.udp.buffer = buffer;
    }

    /// Handles a datagram of a client on this side.
    fn datagram_of_client(&mut self, now: Time, client: SocketAddr, server: SocketAddr, data: &[u8]) {
        if server.port() == 53 && self.ask_name_server(now, client, server, data) {
            return;
        }
        self.carry_datagram(now, client, server, data);
    }

    /// Sends a client's datagram to the far end.
    pub(crate) fn carry_datagram(&mut self, now: Time, client: SocketAddr, server: SocketAddr, data: &[u8]) {
        let known = self.udp.flows.of_pair(client, server);
        let Some(slot) = known.or_else(|| self.open_datagrams(now, client, server)) else {
            self.core.journal.counters.datagrams.refused += 1;
            return;
        };
        let Some((flow, _)) = self.udp.flows.get_mut(slot) else { return };
        flow.last = now;
        let stream = flow.stream;
        self.send_datagram(now, stream, data);
    }

    fn open_datagrams(&mut self, now: Time, client: SocketAddr, server: SocketAddr) -> Option<usize> {
        if self.udp.flows.len() >= self.core.connections_max() {
            return None;
        }
        let preamble = Preamble {
            carries: Carries::Datagrams,
            source: Some(client),
            ..Preamble::to(Destination::Address(server))
        };
        let class = Class { priority: FIRST.priority, ..Class::default() };
        let stream = self.core.links.open(server, class, &preamble)?;
        let flow = UdpFlow {
            stream,
            client: Some(client),
            server,
            socket: None,
            answered: false,
            partial: Vec::new(),
            last: now,
        };
        let inserted = self.udp.flows.insert(flow);
        if let Err(e) = &inserted {
            self.core.journal.say(format!("a socket under {server}: {e}"));
            self.core.links.reset(stream);
        }
        inserted.ok()
    }

    /// Passes a datagram of a flow to the association.
    fn send_datagram(&mut self, now: Time, (link, id): (u32, u64), data: &[u8]) {
        let Some(trunk) = self.core.links.engine.trunk(link) else { return };
        let framed = || {
            let len = u16::try_from(data.len()).unwrap_or(u16::MAX);
            [&len.to_be_bytes()[..], data].concat().into()
        };
        let (load, whole) = (self.udp.loads.of(link), Bytes::copy_from_slice(data));
        match send_datagram(now, load, trunk, id, whole, framed) {
            DatagramWay::Datagram | DatagramWay::Stream => self.core.journal.counters.datagrams.to_link += 1,
            DatagramWay::Refused => self.core.journal.counters.datagrams.refused += 1,
        }
    }

    /// Accepts a stream for datagrams that the far gateway has opened.
    pub(crate) fn accept_datagrams(
        &mut self,
        now: Time,
        flow: &SplitConnection,
        preamble: &Preamble,
    ) -> Result<bool, End> {
        let (stream, Destination::Address(server)) = (flow.stream.ok_or(End::Reset)?, &preamble.destination)
        else {
            return Err(End::Answered(Answer::NotUnderstood));
        };
        if !allowed(&self.core.config, *server) {
            return Err(End::Answered(Answer::Forbidden));
        }
        if self.udp.flows.len() >= self.core.connections_max() {
            return Err(End::Answered(Answer::Full));
        }
        let source = preamble.source.filter(|client| {
            self.core.config.source == SourceAddress::Client
                && client.is_ipv4() == server.is_ipv4()
                && self.core.links.peers.has_user(stream.0, client.ip())
        });
        let socket = DatagramSocket::connect(*server, source);
        let socket = socket.map_err(|_| End::Answered(Answer::Unreachable))?;
        let event = PollEvent::readable(FIRST_UDP + self.udp.flows.next_slot());
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
        if let Ok(slot) = self.udp.flows.insert(flow) {
            self.core.links.answer(stream, Answer::Connected);
            for data in self.udp.flows.early.take(stream) {
                self.deliver_datagram(now, slot, &data);
            }
            self.read_datagram_stream(now, slot);
        }
        Err(End::HandedOver)
    }

    /// Handles datagrams that an association has received.
    pub(crate) fn read_datagrams(&mut self, now: Time, link: u32) {
        while let Some((channel, data)) =
            self.core.links.engine.trunk(link).and_then(|trunk| trunk.read_datagram())
        {
            match self.udp.flows.of_stream((link, channel)) {
                Some(slot) => self.deliver_datagram(now, slot, &data),
                None => self.udp.flows.early.keep(now, (link, channel), data),
            }
        }
    }

    fn deliver_datagram(&mut self, now: Time, slot: usize, data: &[u8]) {
        let Some((flow, replies)) = self.udp.flows.get_mut(slot) else { return };
        flow.last = now;
        let sent = match (&flow.socket, flow.client, replies.get(&flow.server)) {
            (Some(socket), ..) => socket.send(data),
            (None, Some(client), Some((reply, _))) => reply.send_to(data, client),
            _ => return,
        };
        match sent {
            Ok(_) => self.core.journal.counters.datagrams.from_link += 1,
            Err(_) => self.core.journal.counters.datagrams.refused += 1,
        }
    }

    /// Handles datagrams of a server's socket, or its report of an unreachable port.
    pub fn handle_server_datagrams(&mut self, now: Time, slot: usize) {
        let mut buffer = std::mem::take(&mut self.udp.buffer);
        buffer.resize(LARGEST, 0);
        for _ in 0..READS {
            let Some((flow, _)) = self.udp.flows.get_mut(slot) else { break };
            let (Some(socket), stream) = (&flow.socket, flow.stream) else { break };
            match socket.receive(&mut buffer) {
                Ok(Some(len)) => {
                    flow.last = now;
                    self.send_datagram(now, stream, &buffer[..len]);
                }
                Ok(None) => break,
                Err(_) => {
                    self.end_datagrams(slot, true);
                    break;
                }
            }
        }
        self.udp.buffer = buffer;
    }

    /// Reads the stream of a flow: the far gateway's answer, and large datagrams.
    pub(crate) fn read_datagram_stream(&mut self, now: Time, slot: usize) {
        let Some((flow, _)) = self.udp.flows.get_mut(slot) else { return };
        let (link, id) = flow.stream;
        let Some(trunk) = self.core.links.engine.trunk(link) else { return };
        while let Some(data) = trunk.read(id, 64 << 10) {
            flow.partial.extend_from_slice(&data);
        }
        if !flow.answered && !flow.partial.is_empty() {
            let answer = Answer::from_number(flow.partial.remove(0));
            flow.answered = true;
            if answer != Answer::Connected {
                self.core.journal.counters.refuse(answer);
                return self.end_datagrams(slot, true);
            }
        }
        for data in whole_datagrams(&mut flow.partial) {
            self.deliver_datagram(now, slot, &data);
        }
    }

    /// Handles an event of a stream without a connection: one of a flow of datagrams, or of a name server.
    pub(crate) fn handle_other_stream(&mut self, now: Time, stream: StreamName, event: TrunkEvent) {
        let over = matches!(event, TrunkEvent::Reset(..) | TrunkEvent::PeerFinished(_));
        if let Some(slot) = self.udp.flows.of_stream(stream) {
            self.read_datagram_stream(now, slot);
            if over {
                self.end_datagrams(slot, matches!(event, TrunkEvent::PeerFinished(_)));
            }
        } else if let Some(server) = self.name_server_of(stream) {
            match over {
                true => self.name_server_ends(now, server),
                false => self.read_name_server(now, server),
            }
        }
    }

    /// Ends a flow; with `tell` its stream is reset.
    pub(crate) fn end_datagrams(&mut self, slot: usize, tell: bool) {
        let Some(flow) = self.udp.flows.remove(slot) else { return };
        if let Some(socket) = &flow.socket {
            let _ = self.poller.delete(socket);
        }
        if tell {
            self.core.links.reset(flow.stream);
        }
    }

    /// Ends the flows of a lost association.
    pub(crate) fn lose_datagrams(&mut self, link: u32) {
        for slot in self.udp.flows.of_link(link) {
            self.end_datagrams(slot, false);
        }
        self.udp.loads.forget(link);
    }

    /// Ends idle flows.
    pub(crate) fn sweep_datagrams(&mut self, now: Time) {
        for slot in self.udp.flows.idle(now) {
            self.end_datagrams(slot, true);
        }
    }
}
