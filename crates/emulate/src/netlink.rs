//! Links, addresses and routes of the network namespace in which a socket was opened.
//!
//! Follows rtnetlink(7), one request and its answer at a time.
//! Leaves out everything that a host with one device does not need.

use crate::error::{Error, Tried};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::net::IpAddr;

/// A socket in one namespace.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// A device's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets that the kernel did not queue for the device's reader.
    pub tx_dropped: u64,
    /// Packets that the kernel did not take from the device's writer.
    pub rx_dropped: u64,
}

impl Netlink {
    /// Opens a socket in the calling thread's namespace.
    pub fn open() -> Result<Self, Error> {
        let tried = || "cannot open a netlink socket".to_owned();
        let mut socket = Socket::new(NETLINK_ROUTE).tried(tried)?;
        socket.bind_auto().tried(tried)?;
        socket.connect(&SocketAddr::new(0, 0)).tried(tried)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends a request and returns what comes before its acknowledgment.
    fn ask(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Option<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut found = None;
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
                let len = (message.header.length as usize).next_multiple_of(4).clamp(16, rest.len());
                rest = &rest[len..];
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::Error(answer) => {
                        return match answer.code {
                            None => Ok(found),
                            Some(_) => Err(answer.to_io()),
                        };
                    }
                    NetlinkPayload::InnerMessage(message) => found = Some(message),
                    _ => {}
                }
            }
        }
    }

    fn link(&mut self, name: &str) -> io::Result<LinkMessage> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        match self.ask(RouteNetlinkMessage::GetLink(message), 0)? {
            Some(RouteNetlinkMessage::NewLink(link)) => Ok(link),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The index of a device.
    pub fn index(&mut self, name: &str) -> Result<u32, Error> {
        let link = self.link(name).tried(|| format!("there is no device {name}"))?;
        Ok(link.header.index)
    }

    /// A device's counters.
    pub fn counts(&mut self, name: &str) -> Result<Counts, Error> {
        let link = self.link(name).tried(|| format!("cannot ask for the counters of {name}"))?;
        let stats = link.attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(stats) => Some(stats),
            _ => None,
        });
        Ok(stats.map_or(Counts::default(), |stats| Counts {
            tx_dropped: stats.tx_dropped,
            rx_dropped: stats.rx_dropped,
        }))
    }

    /// Takes a device up, with an MTU and room for so many packets that wait for its reader, if they are told.
    pub fn set_up(&mut self, index: u32, mtu: Option<u32>, queue: Option<u32>) -> Result<(), Error> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes.extend(mtu.map(LinkAttribute::Mtu));
        message.attributes.extend(queue.map(LinkAttribute::TxQueueLen));
        let done = self.ask(RouteNetlinkMessage::SetLink(message), 0);
        done.map(drop).tried(|| "cannot take a device up".to_owned())
    }

    /// Gives a device an address of its own network.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<(), Error> {
        let mut message = AddressMessage::default();
        message.header.index = index;
        message.header.prefix_len = prefix;
        message.header.family = family(address);
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        let done = self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL);
        done.map(drop).tried(|| format!("cannot give a device the address {address}"))
    }

    /// Sends everything of an address's version to a device. What TCP sends there has that congestion control, if it is told: a namespace
    /// may not have a default of its own.
    pub fn add_default_route(&mut self, index: u32, source: IpAddr, tcp: Option<&str>) -> Result<(), Error> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(source),
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Boot,
            scope: RouteScope::Universe,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![RouteAttribute::Oif(index)];
        let metric = tcp.map(|name| RouteMetric::CcAlgo(name.to_owned()));
        message.attributes.extend(metric.map(|metric| RouteAttribute::Metrics(vec![metric])));
        let done = self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL);
        done.map(drop).tried(|| "cannot set the default route".to_owned())
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
