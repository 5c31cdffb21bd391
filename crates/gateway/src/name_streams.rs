//! Streams to name servers, and the servers that take none.
//!
//! Follows RFC 7766 in that a server has one connection for all questions. Leaves out questions, which are `dns`'s.

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
    /// Answers that have come by it: one that ends without any is not opened again.
    pub answers: u64,
}

/// The servers.
#[derive(Debug, Default)]
pub struct NameServers {
    pub streams: BTreeMap<SocketAddr, NameStream>,
    pub of_stream: BTreeMap<StreamName, SocketAddr>,
    pub refused: BTreeMap<SocketAddr, Time>,
}

impl NameServers {
    /// Takes a server's stream out.
    pub fn remove(&mut self, server: SocketAddr) -> Option<NameStream> {
        let stream = self.streams.remove(&server)?;
        self.of_stream.remove(&stream.stream);
        Some(stream)
    }
}
