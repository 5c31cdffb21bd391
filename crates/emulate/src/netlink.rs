//! Links, addresses and routes of the network namespace in which a socket was opened.
//!
//! Follows rtnetlink(7), one request and its answer at a time.
//! Leaves out everything that a host with one device does not need, and rules (`rules`).

use crate::error::{Error, Tried};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A socket in one namespace.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// A device's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets for the device's reader that the kernel dropped.
    pub tx_dropped: u64,
    /// Packets of the device's writer that the kernel dropped.
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

    /// Sends a request and returns the messages before its acknowledgment.
    pub(crate) fn ask(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Option<RouteNetlinkMessage>> {
        Ok(self.exchange(message, NLM_F_ACK | flags)?.pop())
    }

    /// All objects of a kind.
    pub(crate) fn list(&mut self, message: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.exchange(message, NLM_F_DUMP)
    }

    fn exchange(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut found = Vec::new();
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
                    NetlinkPayload::InnerMessage(message) => found.push(message),
                    NetlinkPayload::Done(_) => return Ok(found),
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

    /// Index of a device, and true if it is up; `None` if there is none.
    pub fn device(&mut self, name: &str) -> Result<Option<(u32, bool)>, Error> {
        match self.link(name) {
            Ok(link) => Ok(Some((link.header.index, link.header.flags.contains(LinkFlags::Up)))),
            Err(why) if why.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(why) => Err(why).tried(|| format!("cannot ask for the device {name}")),
        }
    }

    /// Indices and names of all devices.
    pub fn devices(&mut self) -> Result<Vec<(u32, String)>, Error> {
        let all = self.list(RouteNetlinkMessage::GetLink(LinkMessage::default()));
        let all = all.tried(|| "cannot ask for devices".to_owned())?;
        let named = |message| {
            let RouteNetlinkMessage::NewLink(link) = message else { return None };
            let index = link.header.index;
            link.attributes.into_iter().find_map(|attribute| match attribute {
                LinkAttribute::IfName(name) => Some((index, name)),
                _ => None,
            })
        };
        Ok(all.into_iter().filter_map(named).collect())
    }

    /// Addresses of a device.
    pub fn addresses(&mut self, index: u32) -> Result<Vec<IpAddr>, Error> {
        let all = self.list(RouteNetlinkMessage::GetAddress(AddressMessage::default()));
        let all = all.tried(|| "cannot ask for addresses".to_owned())?;
        let own = |message| {
            let RouteNetlinkMessage::NewAddress(found) = message else { return None };
            let mut own = None;
            for attribute in found.attributes.into_iter().filter(|_| found.header.index == index) {
                match attribute {
                    // With a peer, the address attribute of a device is the peer's.
                    AddressAttribute::Local(address) => own = Some(address),
                    AddressAttribute::Address(address) => own = own.or(Some(address)),
                    _ => {}
                }
            }
            own
        };
        Ok(all.into_iter().filter_map(own).collect())
    }

    /// Destinations of the main table that lead over a device: address and prefix length.
    pub fn destinations(&mut self, index: u32) -> Result<Vec<(IpAddr, u8)>, Error> {
        let mut found = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = RouteMessage::default();
            message.header.address_family = family;
            let all = self.list(RouteNetlinkMessage::GetRoute(message));
            for message in all.tried(|| "cannot ask for routes".to_owned())? {
                let RouteNetlinkMessage::NewRoute(route) = message else { continue };
                let over = route.attributes.contains(&RouteAttribute::Oif(index));
                let header = &route.header;
                if !over || header.table != RouteHeader::RT_TABLE_MAIN || header.kind != RouteType::Unicast {
                    continue;
                }
                let to = route.attributes.iter().find_map(|attribute| match attribute {
                    RouteAttribute::Destination(RouteAddress::Inet(v4)) => Some(IpAddr::V4(*v4)),
                    RouteAttribute::Destination(RouteAddress::Inet6(v6)) => Some(IpAddr::V6(*v6)),
                    _ => None,
                });
                let any = match family {
                    AddressFamily::Inet => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                    _ => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
                };
                found.push((to.unwrap_or(any), header.destination_prefix_length));
            }
        }
        Ok(found)
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

    /// Sets a device up; if given, with an MTU and a queue length for its reader.
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

    /// Adds an address with its network to a device. The address is valid at once: nobody else can have it, and the kernel would drop
    /// what comes to it until its own thread has found that out.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<(), Error> {
        let mut message = AddressMessage::default();
        message.header.index = index;
        message.header.prefix_len = prefix;
        message.header.family = family(address);
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        let done = self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL);
        done.map(drop).tried(|| format!("cannot give a device the address {address}"))
    }

    /// Routes all packets of an address's version to a device, in the main table or another; if given, with a congestion control
    /// for TCP, since a namespace may not have a default of its own.
    pub fn add_default_route(
        &mut self,
        index: u32,
        source: IpAddr,
        table: Option<u32>,
        tcp: Option<&str>,
    ) -> Result<(), Error> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(source),
            table: table.map_or(RouteHeader::RT_TABLE_MAIN, |_| RouteHeader::RT_TABLE_UNSPEC),
            protocol: RouteProtocol::Boot,
            scope: RouteScope::Universe,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![RouteAttribute::Oif(index)];
        message.attributes.extend(table.map(RouteAttribute::Table));
        let metric = tcp.map(|name| RouteMetric::CcAlgo(name.to_owned()));
        message.attributes.extend(metric.map(|metric| RouteAttribute::Metrics(vec![metric])));
        let done = self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL);
        done.map(drop).tried(|| "cannot set the default route".to_owned())
    }
}

pub(crate) fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
