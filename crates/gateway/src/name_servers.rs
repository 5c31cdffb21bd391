//! Name servers that users ask: a cache in front of them, and a stream to each for what it does not know.
//!
//! Follows RFC 7766: questions go over one connection of TCP, each behind its length, and its answers come in any order. Its stream
//! goes before all others, and is not lost on the way. A server that takes no TCP is asked by the users' own datagrams.
//! Leaves out names that programs of this host look up, and servers at this host, which the firewall does not hand over.

use crate::config::Dns;
use crate::datagram_socket::DatagramSocket;
use crate::dns::QueryFate;
use crate::flow::StreamName;
use crate::gateway::Gateway;
use crate::name_streams::NameStream;
use crate::udp_flows::whole_datagrams;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::{Class, Reason};
use skyhop_units::{Span, Time};
use std::net::SocketAddr;

/// The class of the streams.
const FIRST: Class = Class { priority: 0, weight: 255 };
/// A server that has refused TCP is not asked by it again for this long.
const REFUSED: Span = Span::from_secs(600);
/// Servers with a stream at most.
const SERVERS_MOST: usize = 64;

impl Gateway {
    /// A client asks a server. False if the question is to go as any other datagram.
    pub(crate) fn ask_name_server(
        &mut self,
        now: Time,
        client: SocketAddr,
        server: SocketAddr,
        query: &[u8],
    ) -> bool {
        let refused = self.name_servers.refused.get(&server).is_some_and(|until| *until > now);
        if self.config.dns() != Dns::Cache || refused {
            return false;
        }
        match self.dns.ask(now, client, server, query) {
            QueryFate::Known(answer) => self.tell_client(client, server, &answer),
            QueryFate::Waits => {}
            QueryFate::Other => return false,
            QueryFate::Ask(message) => {
                if !self.send_question(server, &[message]) {
                    self.ask_by_datagrams(now, server);
                }
            }
        }
        true
    }

    fn tell_client(&mut self, client: SocketAddr, server: SocketAddr, answer: &[u8]) {
        // A few hundred questions a second are answered: a socket for each costs less than to keep them.
        let sent = DatagramSocket::reply(server).and_then(|socket| socket.send_to(answer, client));
        if let Err(e) = sent {
            self.log.push_back(format!("an answer of {server}: {e}"));
        }
    }

    /// Sends questions in the server's stream, which is opened if there is none. False if it cannot be.
    fn send_question(&mut self, server: SocketAddr, messages: &[Vec<u8>]) -> bool {
        let known = self.name_servers.streams.get(&server).map(|stream| stream.stream);
        let Some((link, id)) = known.or_else(|| self.open_name_stream(server)) else { return false };
        let Some(trunk) = self.engine.trunk(link) else { return false };
        for message in messages {
            let len = (message.len() as u16).to_be_bytes();
            trunk.write(id, [&len[..], message].concat().into());
        }
        true
    }

    fn open_name_stream(&mut self, server: SocketAddr) -> Option<StreamName> {
        if self.name_servers.streams.len() >= SERVERS_MOST {
            // Any of them: questions that are open in it are asked again in one of its own.
            let other = *self.name_servers.streams.keys().next()?;
            let before = self.name_servers.remove(other)?;
            self.engine.trunk(before.stream.0)?.reset(before.stream.1, Reason::Aborted);
        }
        let link = self.peers.link_to(server.ip())?;
        let trunk = self.engine.trunk(link)?;
        let id = trunk.open(FIRST)?;
        let mut bytes = Vec::new();
        Preamble::to(Destination::Address(server)).emit(&mut bytes);
        trunk.write(id, bytes.into());
        let stream = NameStream { stream: (link, id), answered: false, partial: Vec::new(), answers: 0 };
        self.name_servers.streams.insert(server, stream);
        self.name_servers.of_stream.insert((link, id), server);
        Some((link, id))
    }

    /// The open questions to a server go as the users' own datagrams.
    fn ask_by_datagrams(&mut self, now: Time, server: SocketAddr) {
        for asker in self.dns.give_up(server) {
            self.carry_datagram(now, asker.client, server, &asker.query);
        }
    }

    /// The server of a stream, if it is one of a name server's.
    pub(crate) fn name_server_of(&self, stream: StreamName) -> Option<SocketAddr> {
        self.name_servers.of_stream.get(&stream).copied()
    }

    /// Something has come in a server's stream.
    pub(crate) fn read_name_server(&mut self, now: Time, server: SocketAddr) {
        let Some(stream) = self.name_servers.streams.get_mut(&server) else { return };
        let (link, id) = stream.stream;
        let Some(trunk) = self.engine.trunk(link) else { return };
        while let Some(data) = trunk.read(id, 64 << 10) {
            stream.partial.extend_from_slice(&data);
        }
        if !stream.answered && !stream.partial.is_empty() {
            stream.answered = true;
            if Answer::from_number(stream.partial.remove(0)) != Answer::Connected {
                return self.refused_by_name_server(now, server);
            }
        }
        let messages = whole_datagrams(&mut stream.partial);
        stream.answers += messages.len() as u64;
        for message in messages {
            for (client, answer) in self.dns.answer(now, server, &message) {
                self.tell_client(client, server, &answer);
            }
        }
    }

    /// A server takes no TCP.
    fn refused_by_name_server(&mut self, now: Time, server: SocketAddr) {
        if let Some(stream) = self.name_servers.remove(server)
            && let Some(trunk) = self.engine.trunk(stream.stream.0)
        {
            trunk.reset(stream.stream.1, Reason::Aborted);
        }
        self.name_servers.refused.retain(|_, until| *until > now);
        self.name_servers.refused.insert(server, now + REFUSED);
        self.log.push_back(format!("{server} takes no TCP: its users' questions go as datagrams"));
        self.ask_by_datagrams(now, server);
    }

    /// A server's stream is over: what it has left open is asked again in another.
    pub(crate) fn name_server_ends(&mut self, now: Time, server: SocketAddr) {
        self.read_name_server(now, server);
        let Some(stream) = self.name_servers.remove(server) else { return };
        if let Some(trunk) = self.engine.trunk(stream.stream.0) {
            trunk.reset(stream.stream.1, Reason::Aborted);
        }
        let open = self.dns.open_to(server);
        if stream.answers == 0 {
            return self.refused_by_name_server(now, server);
        }
        if !open.is_empty() && !self.send_question(server, &open) {
            self.ask_by_datagrams(now, server);
        }
    }

    /// The streams of an association are lost with it; who has asked asks again.
    pub(crate) fn lose_name_servers(&mut self, link: u32) {
        let lost = self.name_servers.of_stream.range((link, 0)..=(link, u64::MAX));
        let lost: Vec<SocketAddr> = lost.map(|(_, server)| *server).collect();
        for server in lost {
            self.name_servers.remove(server);
            self.dns.give_up(server);
        }
    }
}
