//! Name servers of users: a cache in front of them, and a stream to each for queries that the cache cannot answer.
//!
//! Follows RFC 7766: queries share one TCP connection, each after its length, and answers arrive in any order. Its stream has the highest
//! priority and is reliable. A server without TCP is queried by the users' own datagrams, which the caller sends.
//! Leaves out queries of this host's own programs, and servers on this host, which the firewall does not intercept.

use crate::config::Dns;
use crate::datagram_socket::DatagramSocket;
use crate::dns::{Asker, DnsCache, QueryFate};
use crate::flow::StreamName;
use crate::gateway_core::GatewayCore;
use crate::journal::Journal;
use crate::udp_flows::whole_datagrams;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::Class;
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The class of the streams.
const FIRST: Class = Class { priority: 0, weight: 255 };
/// The time during which a server that refused TCP is not queried by TCP again.
const REFUSED: Span = Span::from_secs(600);
/// Limit of servers with a stream.
const SERVERS_MOST: usize = 64;

/// A stream to a server.
#[derive(Debug)]
struct NameStream {
    stream: StreamName,
    answered: bool,
    partial: Vec<u8>,
    /// Answers received in it: a stream that ends without any is not opened again.
    answers: u64,
}

/// The servers, and their answers.
#[derive(Debug, Default)]
pub struct NameServers {
    pub cache: DnsCache,
    streams: BTreeMap<SocketAddr, NameStream>,
    of_stream: BTreeMap<StreamName, SocketAddr>,
    /// Servers without TCP, and the times until which they count as such.
    refused: BTreeMap<SocketAddr, Time>,
}

impl NameServers {
    /// Handles a client's query to a server. Returns nothing if the query is to be sent like any other datagram, and otherwise those that
    /// are sent so since there can be no stream.
    pub fn ask(
        &mut self,
        now: Time,
        client: SocketAddr,
        server: SocketAddr,
        query: &[u8],
        core: &mut GatewayCore,
    ) -> Option<Vec<Asker>> {
        let refused = self.refused.get(&server).is_some_and(|until| *until > now);
        if core.config.dns() != Dns::Cache || refused {
            return None;
        }
        match self.cache.ask(now, client, server, query) {
            QueryFate::Known(answer) => tell_client(client, server, &answer, &mut core.journal),
            QueryFate::Waits => {}
            QueryFate::Other => return None,
            QueryFate::Ask(message) => {
                if !self.send_question(server, &[message], core) {
                    return Some(self.cache.give_up(server));
                }
            }
        }
        Some(Vec::new())
    }

    /// Sends queries in the server's stream, opening it if there is none. Returns false if that is impossible.
    fn send_question(&mut self, server: SocketAddr, messages: &[Vec<u8>], core: &mut GatewayCore) -> bool {
        let known = self.streams.get(&server).map(|stream| stream.stream);
        let Some((link, id)) = known.or_else(|| self.open(server, core)) else { return false };
        let Some(trunk) = core.links.engine.trunk(link) else { return false };
        for message in messages {
            let len = (message.len() as u16).to_be_bytes();
            trunk.write(id, [&len[..], message].concat().into());
        }
        true
    }

    fn open(&mut self, server: SocketAddr, core: &mut GatewayCore) -> Option<StreamName> {
        if self.streams.len() >= SERVERS_MOST {
            // Any stream may be closed: its unanswered queries are sent again in a new one.
            let other = *self.streams.keys().next()?;
            let before = self.remove(other)?;
            core.links.engine.trunk(before.stream.0)?;
            core.links.reset(before.stream);
        }
        let stream = core.links.open(server, FIRST, &Preamble::to(Destination::Address(server)))?;
        let of_server = NameStream { stream, answered: false, partial: Vec::new(), answers: 0 };
        self.streams.insert(server, of_server);
        self.of_stream.insert(stream, server);
        Some(stream)
    }

    /// The server of a stream, if the stream belongs to a name server.
    pub fn server_of(&self, stream: StreamName) -> Option<SocketAddr> {
        self.of_stream.get(&stream).copied()
    }

    /// Handles data in a server's stream. Returns the queries that are to be sent as datagrams, since the server takes no TCP.
    pub fn read(&mut self, now: Time, server: SocketAddr, core: &mut GatewayCore) -> Vec<Asker> {
        let Some(stream) = self.streams.get_mut(&server) else { return Vec::new() };
        let (link, id) = stream.stream;
        let Some(trunk) = core.links.engine.trunk(link) else { return Vec::new() };
        while let Some(data) = trunk.read(id, 64 << 10) {
            stream.partial.extend_from_slice(&data);
        }
        if !stream.answered && !stream.partial.is_empty() {
            stream.answered = true;
            if Answer::from_number(stream.partial.remove(0)) != Answer::Connected {
                return self.takes_no_tcp(now, server, core);
            }
        }
        let messages = whole_datagrams(&mut stream.partial);
        stream.answers += messages.len() as u64;
        for message in messages {
            for (client, answer) in self.cache.answer(now, server, &message) {
                tell_client(client, server, &answer, &mut core.journal);
            }
        }
        Vec::new()
    }

    /// Marks a server as one without TCP. Returns its unanswered queries.
    fn takes_no_tcp(&mut self, now: Time, server: SocketAddr, core: &mut GatewayCore) -> Vec<Asker> {
        if let Some(stream) = self.remove(server) {
            core.links.reset(stream.stream);
        }
        self.refused.retain(|_, until| *until > now);
        self.refused.insert(server, now + REFUSED);
        core.journal.say(format!("{server} takes no TCP: its users' questions go as datagrams"));
        self.cache.give_up(server)
    }

    /// Handles the end of a server's stream: its unanswered queries are sent again in another, or returned to be sent as datagrams.
    pub fn ended(&mut self, now: Time, server: SocketAddr, core: &mut GatewayCore) -> Vec<Asker> {
        let by_datagrams = self.read(now, server, core);
        let Some(stream) = self.remove(server) else { return by_datagrams };
        core.links.reset(stream.stream);
        let open = self.cache.open_to(server);
        if stream.answers == 0 {
            return self.takes_no_tcp(now, server, core);
        }
        if !open.is_empty() && !self.send_question(server, &open, core) {
            return self.cache.give_up(server);
        }
        Vec::new()
    }

    /// Drops the streams of a lost association; clients repeat their queries.
    pub fn lose(&mut self, link: u32) {
        let lost = self.of_stream.range((link, 0)..=(link, u64::MAX));
        let lost: Vec<SocketAddr> = lost.map(|(_, server)| *server).collect();
        for server in lost {
            self.remove(server);
            self.cache.give_up(server);
        }
    }

    /// Removes a server's stream.
    fn remove(&mut self, server: SocketAddr) -> Option<NameStream> {
        let stream = self.streams.remove(&server)?;
        self.of_stream.remove(&stream.stream);
        Some(stream)
    }
}

fn tell_client(client: SocketAddr, server: SocketAddr, answer: &[u8], journal: &mut Journal) {
    // At a few hundred replies a second, a socket for each costs less than a table of sockets.
    let sent = DatagramSocket::reply(server).and_then(|socket| socket.send_to(answer, client));
    if let Err(e) = sent {
        journal.say(format!("an answer of {server}: {e}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns_message::tests::query;
    use crate::gateway_core::tests::alone;

    #[test]
    fn without_an_association_queries_go_as_datagrams() {
        let (mut servers, mut core) = (NameServers::default(), alone(""));
        core.config.intercept.as_mut().unwrap().dns = Dns::Cache;
        let [client, server] = [[10, 1, 0, 2], [192, 0, 2, 1]].map(|ip| SocketAddr::from((ip, 53)));
        let asked = query(11, "a.example", None);
        let left = servers.ask(Time::ZERO, client, server, &asked, &mut core);
        assert_eq!(left, Some(vec![Asker { client, query: asked.clone() }]));
        assert_eq!(servers.ask(Time::ZERO, client, server, b"no query", &mut core), None);
        assert!(servers.streams.is_empty() && servers.of_stream.is_empty());
        servers.takes_no_tcp(Time::ZERO, server, &mut core);
        assert_eq!(servers.ask(Time::ZERO, client, server, &asked, &mut core), None, "it takes no TCP");
        let later = Time::ZERO + REFUSED + Span::from_secs(1);
        assert!(servers.ask(later, client, server, &asked, &mut core).is_some());
    }
}
