//! Name servers of users: a cache in front of them, and a stream to each for queries that the cache cannot answer.
//!
//! Follows RFC 7766: queries share one TCP connection, each after its length, and answers arrive in any order. Its stream has the highest
//! priority and is reliable. A server without TCP is queried by the users' own datagrams.
//! Leaves out queries of this host's own programs, and servers on this host, which the firewall does not intercept.

use crate::config::Dns;
use crate::datagram_socket::DatagramSocket;
use crate::dns::QueryFate;
use crate::flow::StreamName;
use crate::gateway::Gateway;
use crate::name_streams::NameStream;
use crate::udp_flows::whole_datagrams;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::Class;
use skyhop_units::{Span, Time};
use std::net::SocketAddr;

/// The class of the streams.
const FIRST: Class = Class { priority: 0, weight: 255 };
/// The time during which a server that refused TCP is not queried by TCP again.
const REFUSED: Span = Span::from_secs(600);
/// Limit of servers with a stream.
const SERVERS_MOST: usize = 64;

impl Gateway {
    /// Handles a client's query to a server. Returns false if the query is to be sent like any other datagram.
    pub(crate) fn ask_name_server(
        &mut self,
        now: Time,
        client: SocketAddr,
        server: SocketAddr,
        query: &[u8],
    ) -> bool {
        let refused = self.name_servers.refused.get(&server).is_some_and(|until| *until > now);
        if self.core.config.dns() != Dns::Cache || refused {
            return false;
        }
        match self.name_servers.cache.ask(now, client, server, query) {
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
        // At a few hundred replies a second, a socket for each costs less than a table of sockets.
        let sent = DatagramSocket::reply(server).and_then(|socket| socket.send_to(answer, client));
        if let Err(e) = sent {
            self.core.journal.say(format!("an answer of {server}: {e}"));
        }
    }

    /// Sends queries in the server's stream, opening it if there is none. Returns false if that is impossible.
    fn send_question(&mut self, server: SocketAddr, messages: &[Vec<u8>]) -> bool {
        let known = self.name_servers.streams.get(&server).map(|stream| stream.stream);
        let Some((link, id)) = known.or_else(|| self.open_name_stream(server)) else { return false };
        let Some(trunk) = self.core.links.engine.trunk(link) else { return false };
        for message in messages {
            let len = (message.len() as u16).to_be_bytes();
            trunk.write(id, [&len[..], message].concat().into());
        }
        true
    }

    fn open_name_stream(&mut self, server: SocketAddr) -> Option<StreamName> {
        if self.name_servers.streams.len() >= SERVERS_MOST {
            // Any stream may be closed: its unanswered queries are sent again in a new one.
            let other = *self.name_servers.streams.keys().next()?;
            let before = self.name_servers.remove(other)?;
            self.core.links.engine.trunk(before.stream.0)?;
            self.core.links.reset(before.stream);
        }
        let stream = self.core.links.open(server, FIRST, &Preamble::to(Destination::Address(server)))?;
        let of_server = NameStream { stream, answered: false, partial: Vec::new(), answers: 0 };
        self.name_servers.streams.insert(server, of_server);
        self.name_servers.of_stream.insert(stream, server);
        Some(stream)
    }

    /// Sends a server's unanswered queries as the users' own datagrams.
    fn ask_by_datagrams(&mut self, now: Time, server: SocketAddr) {
        for asker in self.name_servers.cache.give_up(server) {
            self.carry_datagram(now, asker.client, server, &asker.query);
        }
    }

    /// The server of a stream, if the stream belongs to a name server.
    pub(crate) fn name_server_of(&self, stream: StreamName) -> Option<SocketAddr> {
        self.name_servers.of_stream.get(&stream).copied()
    }

    /// Handles data in a server's stream.
    pub(crate) fn read_name_server(&mut self, now: Time, server: SocketAddr) {
        let Some(stream) = self.name_servers.streams.get_mut(&server) else { return };
        let (link, id) = stream.stream;
        let Some(trunk) = self.core.links.engine.trunk(link) else { return };
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
            for (client, answer) in self.name_servers.cache.answer(now, server, &message) {
                self.tell_client(client, server, &answer);
            }
        }
    }

    /// Marks a server as one without TCP.
    fn refused_by_name_server(&mut self, now: Time, server: SocketAddr) {
        if let Some(stream) = self.name_servers.remove(server) {
            self.core.links.reset(stream.stream);
        }
        self.name_servers.refused.retain(|_, until| *until > now);
        self.name_servers.refused.insert(server, now + REFUSED);
        self.core.journal.say(format!("{server} takes no TCP: its users' questions go as datagrams"));
        self.ask_by_datagrams(now, server);
    }

    /// Handles the end of a server's stream: its unanswered queries are sent again in another.
    pub(crate) fn name_server_ends(&mut self, now: Time, server: SocketAddr) {
        self.read_name_server(now, server);
        let Some(stream) = self.name_servers.remove(server) else { return };
        self.core.links.reset(stream.stream);
        let open = self.name_servers.cache.open_to(server);
        if stream.answers == 0 {
            return self.refused_by_name_server(now, server);
        }
        if !open.is_empty() && !self.send_question(server, &open) {
            self.ask_by_datagrams(now, server);
        }
    }

    /// Drops the streams of a lost association; clients repeat their queries.
    pub(crate) fn lose_name_servers(&mut self, link: u32) {
        let lost = self.name_servers.of_stream.range((link, 0)..=(link, u64::MAX));
        let lost: Vec<SocketAddr> = lost.map(|(_, server)| *server).collect();
        for server in lost {
            self.name_servers.remove(server);
            self.name_servers.cache.give_up(server);
        }
    }
}
