//! The UDP flows that a gateway carries: a client's address and a server's, with the flow's stream.
//!
//! Follows docs/stp.md §16, and RFC 4787 REQ-5 for the timeout of idle flows.
//! Leaves out the handling of datagrams (`udp`).

use crate::datagram_socket::DatagramSocket;
use crate::flow::StreamName;
use bytes::Bytes;
use skyhop_splice::datagrams::EarlyDatagrams;
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

/// The timeout of an idle flow.
const IDLE: Span = Span::from_secs(120);

/// A flow.
#[derive(Debug)]
pub struct UdpFlow {
    pub stream: StreamName,
    pub client: Option<SocketAddr>,
    pub server: SocketAddr,
    /// The socket towards the server, if the server is on this side.
    pub socket: Option<DatagramSocket>,
    /// The far gateway's answer has been read, or this gateway is the one that answers.
    pub answered: bool,
    /// The beginning of a large datagram from the stream.
    pub partial: Vec<u8>,
    pub last: Time,
}

/// Sockets that send from servers' addresses, with the number of flows that use each.
type Replies = BTreeMap<SocketAddr, (DatagramSocket, usize)>;

/// All flows.
#[derive(Debug, Default)]
pub struct UdpFlows {
    slots: Vec<Option<UdpFlow>>,
    free: Vec<usize>,
    by_pair: BTreeMap<(SocketAddr, SocketAddr), usize>,
    by_stream: BTreeMap<StreamName, usize>,
    replies: Replies,
    pub early: EarlyDatagrams<StreamName, Bytes>,
    swept_at: Time,
}

impl UdpFlows {
    /// The number of flows.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Adds a flow. A flow of a client on this side needs a socket that sends from the server's address.
    ///
    /// # Errors
    ///
    /// That socket cannot be opened.
    pub fn insert(&mut self, flow: UdpFlow) -> io::Result<usize> {
        if let (Some(client), None) = (flow.client, &flow.socket) {
            match self.replies.get_mut(&flow.server) {
                Some((_, users)) => *users += 1,
                None => _ = self.replies.insert(flow.server, (DatagramSocket::reply(flow.server)?, 1)),
            }
            self.by_pair.insert((client, flow.server), self.next_slot());
        }
        let slot = self.next_slot();
        self.by_stream.insert(flow.stream, slot);
        match self.free.pop() {
            Some(free) => self.slots[free] = Some(flow),
            None => self.slots.push(Some(flow)),
        }
        Ok(slot)
    }

    /// The slot of the next flow to be added.
    pub fn next_slot(&self) -> usize {
        self.free.last().copied().unwrap_or(self.slots.len())
    }

    /// Removes a flow.
    pub fn remove(&mut self, slot: usize) -> Option<UdpFlow> {
        let flow = self.slots.get_mut(slot)?.take()?;
        self.free.push(slot);
        self.by_stream.remove(&flow.stream);
        if let (Some(client), None) = (flow.client, &flow.socket) {
            self.by_pair.remove(&(client, flow.server));
            if let Some((_, users)) = self.replies.get_mut(&flow.server) {
                *users -= 1;
                if *users == 0 {
                    self.replies.remove(&flow.server);
                }
            }
        }
        Some(flow)
    }

    /// A flow, and the sockets that send from servers' addresses.
    pub fn get_mut(&mut self, slot: usize) -> Option<(&mut UdpFlow, &Replies)> {
        Some((self.slots.get_mut(slot)?.as_mut()?, &self.replies))
    }

    /// The flow between a client and a server.
    pub fn of_pair(&self, client: SocketAddr, server: SocketAddr) -> Option<usize> {
        self.by_pair.get(&(client, server)).copied()
    }

    /// The flow of a stream.
    pub fn of_stream(&self, stream: StreamName) -> Option<usize> {
        self.by_stream.get(&stream).copied()
    }

    /// The flows of an association.
    pub fn of_link(&self, link: u32) -> Vec<usize> {
        self.by_stream.range((link, 0)..=(link, u64::MAX)).map(|(_, slot)| *slot).collect()
    }

    /// The time of the next check for idle flows.
    pub fn poll_timeout(&self) -> Option<Time> {
        (self.len() > 0).then(|| self.swept_at + IDLE / 8)
    }

    /// The idle flows, if a check is due.
    pub fn idle(&mut self, now: Time) -> Vec<usize> {
        if now.since(self.swept_at) < IDLE / 8 {
            return Vec::new();
        }
        self.swept_at = now;
        let flows = self.slots.iter().enumerate().filter_map(|(slot, flow)| Some((slot, flow.as_ref()?)));
        flows.filter(|(_, flow)| now.since(flow.last) >= IDLE).map(|(slot, _)| slot).collect()
    }
}

/// Splits a stream's bytes into datagrams, each after its length; an incomplete one stays.
pub fn whole_datagrams(partial: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let mut whole = Vec::new();
    let mut at = 0;
    while let Some(len) = partial[at..].first_chunk::<2>().map(|len| usize::from(u16::from_be_bytes(*len)))
        && let Some(data) = partial.get(at + 2..at + 2 + len)
    {
        whole.push(data.to_vec());
        at += 2 + len;
    }
    partial.drain(..at);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slots_are_used_again_and_idle_flows_are_found() {
        let mut flows = UdpFlows::default();
        let server: SocketAddr = "192.0.2.1:53".parse().unwrap();
        let flow = |id: u64, last| UdpFlow {
            stream: (7, id),
            client: None,
            server,
            socket: None,
            answered: true,
            partial: Vec::new(),
            last: Time::ZERO + Span::from_secs(last),
        };
        let slots = [0, 1, 2].map(|id| flows.insert(flow(id, 100 * id)).unwrap());
        assert_eq!(flows.of_link(7), slots);
        assert_eq!(flows.idle(Time::ZERO + Span::from_secs(220)), slots[..2]);
        flows.remove(slots[1]).unwrap();
        assert_eq!((flows.len(), flows.of_stream((7, 1))), (2, None));
        assert_eq!(flows.insert(flow(9, 0)).unwrap(), slots[1]);
        assert_eq!(flows.of_stream((7, 9)), Some(slots[1]));
    }

    proptest! {
        #[test]
        fn large_ones_come_out_of_the_stream_as_they_went_in(
            datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20), step in 1..50_usize,
        ) {
            let mut bytes = Vec::new();
            for data in &datagrams {
                bytes.extend_from_slice(&(data.len() as u16).to_be_bytes());
                bytes.extend_from_slice(data);
            }
            let (mut partial, mut came) = (Vec::new(), Vec::new());
            for piece in bytes.chunks(step) {
                partial.extend_from_slice(piece);
                came.extend(whole_datagrams(&mut partial));
            }
            prop_assert!(partial.is_empty());
            prop_assert_eq!(came, datagrams);
        }
    }
}
