//! Streams to name servers, and the servers without TCP.
//!
//! Follows RFC 7766 in that a server has one connection for all queries. Leaves out the queries (`dns`).

use crate::dns::DnsCache;
use crate::flow::StreamName;
use skyhop_units::Time;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A stream to a server.
#[derive(Debug)]
pub struct NameStream {
    pub stream: StreamName,
    pub answered: bool,
    pub partial: Vec<u8>,
    /// Answers received in it: a stream that ends without any is not opened again.
    pub answers: u64,
}

/// The servers, and their answers.
#[derive(Debug, Default)]
pub struct NameServers {
    pub cache: DnsCache,
    pub streams: BTreeMap<SocketAddr, NameStream>,
    pub of_stream: BTreeMap<StreamName, SocketAddr>,
    pub refused: BTreeMap<SocketAddr, Time>,
}

impl NameServers {
    /// Removes a server's stream.
    pub fn remove(&mut self, server: SocketAddr) -> Option<NameStream> {
        let stream = self.streams.remove(&server)?;
        self.of_stream.remove(&stream.stream);
        Some(stream)
    }
}
