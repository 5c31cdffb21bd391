//! The socket: receives and sends datagrams, many at a time if the kernel supports it.
//!
//! Follows UDP (RFC 768); `quinn-udp` does the offloads, prevents fragmentation (except of packets that have become too large for
//! the path), and reads ICMP messages.
//! Differs: straight over IP the protocol number takes the place of ports, and packets are sent one by one. A socket at `[::]` serves
//! IPv4 too: its callers see IPv4 addresses, and not the mapped ones of RFC 4291 §2.5.5.2.
//! Leaves out the contents of packets.

use crate::kernel_address::address;
use crate::receive::{self, BATCH, Run};
use quinn_udp::{EcnCodepoint, Transmit, UdpSocketState};
use skyhop_units::Time;
use skyhop_wire::Ecn;
use socket2::{Domain, Protocol, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Carrier of the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Carrier {
    /// UDP.
    #[default]
    Udp,
    /// IPv4 with this protocol number; requires the privilege for raw sockets.
    Ip(u8),
}

/// Largest size of one of them, bytes.
const DATAGRAM_MAX: usize = 65_536;

/// Age up to which packets count as received at the kernel's time. Older ones waited for this host, and the peer should see that
/// delay.
const AGE_MAX: Duration = Duration::from_millis(20);

/// Errors of a socket caused by an ICMP message; the messages are read from their own queue. Anyone may send one.
const OF_ICMP: [i32; 8] = [
    libc::ECONNREFUSED,
    libc::EMSGSIZE,
    libc::EHOSTUNREACH,
    libc::ENETUNREACH,
    libc::EHOSTDOWN,
    libc::EOPNOTSUPP,
    libc::EPROTO,
    libc::EACCES,
];

/// A run of datagrams to one peer, all as long as the first except the last, which may be shorter.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Destination.
    pub to: SocketAddr,
    /// Source, one of this host's addresses, if known.
    pub from: Option<IpAddr>,
    /// Offset of the first byte in the batch.
    pub start: usize,
    /// Offset of the end in the batch.
    pub end: usize,
    /// Length of each datagram.
    pub segment: usize,
    /// True for a single datagram that may be fragmented.
    pub fragments: bool,
    /// True if queues may mark them: they are sent with ECT(0).
    pub capable: bool,
}

/// A message of ICMP about a datagram that was sent. Anyone can forge one, so the part of the datagram that it quotes is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Address that the datagram was for.
    pub to: SocketAddr,
    /// Beginning of the datagram, as far as the message quotes it.
    pub quote: Vec<u8>,
    /// The message.
    pub kind: TroubleKind,
}

/// A message of ICMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// The host says that nothing listens at the port.
    Unreachable,
    /// The path carries packets of at most this many bytes.
    TooBig(u32),
}

/// Number of quoted bytes of a datagram that are read.
const QUOTE_MAX: usize = 256;

/// A bound non-blocking socket.
pub struct Socket {
    io: socket2::Socket,
    state: UdpSocketState,
    carrier: Carrier,
    local: SocketAddr,
    buffer: Vec<u8>,
    runs: [Run; BATCH],
    /// Arrival of the last run.
    arrived_at: Time,
}

impl Socket {
    /// Binds to an address, with buffers of at least `buffer_bytes` if the kernel allows. `[::]` is both families, or IPv4 alone if the
    /// kernel has no IPv6.
    pub fn bind(carrier: Carrier, local: SocketAddr, buffer_bytes: usize) -> io::Result<Self> {
        match Self::bind_to(carrier, local, buffer_bytes) {
            Err(e) if local.ip() == Ipv6Addr::UNSPECIFIED && without_ipv6(&e) => {
                let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), local.port());
                Self::bind_to(carrier, any, buffer_bytes)
            }
            done => done,
        }
    }

    fn bind_to(carrier: Carrier, local: SocketAddr, buffer_bytes: usize) -> io::Result<Self> {
        let domain = Domain::for_address(local);
        let io = match carrier {
            Carrier::Udp => socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?,
            Carrier::Ip(_) if !local.is_ipv4() => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "straight over IP goes with IPv4 only",
                ));
            }
            Carrier::Ip(number) => {
                socket2::Socket::new(domain, Type::RAW, Some(Protocol::from(i32::from(number))))?
            }
        };
        if local.ip() == Ipv6Addr::UNSPECIFIED {
            io.set_only_v6(false)?;
        }
        io.bind(&local.into())?;
        let state = UdpSocketState::new((&io).into())?;
        state.enable_transport_errors((&io).into())?;
        // As much as the kernel allows; a smaller buffer costs packets, not the connection.
        let _ = io.set_recv_buffer_size(buffer_bytes);
        let _ = io.set_send_buffer_size(buffer_bytes);
        let bound = io.local_addr()?.as_socket().unwrap_or(local);
        let local = if carrier == Carrier::Udp { bound } else { SocketAddr::new(bound.ip(), local.port()) };
        Ok(Socket {
            io,
            state,
            carrier,
            local,
            buffer: vec![0; BATCH * DATAGRAM_MAX],
            runs: [Run::default(); BATCH],
            arrived_at: Time::ZERO,
        })
    }

    /// The address that it is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The socket itself, for polling.
    pub fn io(&self) -> &socket2::Socket {
        &self.io
    }

    /// Largest number of datagrams in one part.
    pub fn segments_max(&self) -> usize {
        if self.carrier == Carrier::Udp { self.state.max_gso_segments() } else { 1 }
    }

    /// Size of the kernel's buffer for incoming packets, bytes.
    pub fn receive_buffer(&self) -> usize {
        self.io.recv_buffer_size().unwrap_or(0)
    }

    /// Reads available datagrams with one call. Returns the number of runs that [`Socket::received`] then has.
    pub fn receive(&mut self) -> io::Result<usize> {
        let mut slices = self.buffer.chunks_exact_mut(DATAGRAM_MAX);
        let mut slices: [&mut [u8]; BATCH] =
            std::array::from_fn(|_| slices.next().expect("as many as the buffer was made for"));
        match receive::receive(self.io.as_raw_fd(), &mut slices, &mut self.runs) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(e) if e.raw_os_error().is_some_and(|code| OF_ICMP.contains(&code)) => Ok(0),
            other => other,
        }
    }

    /// Time since the kernel received run `index`; zero if unknown.
    #[expect(clippy::disallowed_methods, reason = "the kernel stamps packets with this clock")]
    pub fn age(&self, index: usize) -> Duration {
        let since = self.runs[index].stamp.zip(SystemTime::now().duration_since(UNIX_EPOCH).ok());
        // The host's clock may have been set in between.
        since.map_or(Duration::ZERO, |(then, now)| now.saturating_sub(then)).min(AGE_MAX)
    }

    /// The time at which the kernel received run `index`, and not that at which this thread woke, since the spacing of packets shows the
    /// path's rate. Arrivals never move back.
    pub fn arrival(&mut self, index: usize, now: Time) -> Time {
        let age = self.age(index).as_nanos() as u64;
        self.arrived_at = Time::from_nanos(now.as_nanos().saturating_sub(age)).max(self.arrived_at);
        self.arrived_at
    }

    /// The ECN field of the datagrams of run `index`; the kernel combines only those with the same.
    pub fn field(&self, index: usize) -> Ecn {
        self.runs[index].field
    }

    /// The datagrams of run `index`: source, destination (one of this host's addresses), and the bytes of each.
    pub fn received(
        &mut self,
        index: usize,
    ) -> (SocketAddr, Option<IpAddr>, impl Iterator<Item = &mut [u8]>) {
        let received = self.runs[index];
        let from = received.from.unwrap_or(self.local);
        let begin = index * DATAGRAM_MAX;
        let run = &mut self.buffer[begin..begin + received.len];
        let at = received.at.map(|ip| ip.to_canonical());
        if self.carrier == Carrier::Udp {
            return (canonical(from), at, run.chunks_mut(received.stride.max(1)));
        }
        // A raw socket returns the IP header too; its first byte has the length.
        let header = run.first().map_or(0, |first| usize::from(first & 15) * 4).min(run.len());
        (SocketAddr::new(from.ip(), 0), at, run[header..].chunks_mut(DATAGRAM_MAX))
    }

    /// Sends a part of a batch.
    pub fn send(&self, batch: &[u8], part: &Part) -> io::Result<()> {
        let contents = &batch[part.start..part.end];
        if part.fragments {
            return self.send_in_fragments(contents, part);
        }
        self.try_send(&Transmit { segment_size: Some(part.segment), ..self.transmit(contents, part) })
    }

    fn transmit<'a>(&self, contents: &'a [u8], part: &Part) -> Transmit<'a> {
        let mut destination = part.to;
        if let (SocketAddr::V6(_), SocketAddr::V4(to)) = (self.local, part.to) {
            destination = SocketAddr::new(to.ip().to_ipv6_mapped().into(), to.port());
        }
        let ecn = part.capable.then_some(EcnCodepoint::Ect0);
        Transmit { destination, ecn, contents, segment_size: None, src_ip: part.from }
    }

    /// Sends once more after an error caused by an ICMP message: such an error is returned once, by the next call, which then sends
    /// nothing.
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match self.state.try_send((&self.io).into(), transmit) {
            Err(e) if e.raw_os_error().is_some_and(|code| OF_ICMP.contains(&code)) => {
                self.state.try_send((&self.io).into(), transmit)
            }
            done => done,
        }
    }

    /// Sends without DF, or for IPv6, whose routers do not fragment, in pieces that every path carries. The option belongs to the
    /// socket: it is set for this datagram only, which is rare.
    fn send_in_fragments(&self, contents: &[u8], part: &Part) -> io::Result<()> {
        let transmit = self.transmit(contents, part);
        self.fragment(part.to.is_ipv4(), true)?;
        let sent = self.try_send(&transmit);
        self.fragment(part.to.is_ipv4(), false)?;
        sent
    }

    fn fragment(&self, v4: bool, allowed: bool) -> io::Result<()> {
        let set = |level, name, value: i32| {
            // SAFETY: the value is an integer that outlives the call, with the length given.
            let done = unsafe {
                let value = (&raw const value).cast();
                libc::setsockopt(self.io.as_raw_fd(), level, name, value, size_of::<i32>() as libc::socklen_t)
            };
            if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        if v4 {
            let how = if allowed { libc::IP_PMTUDISC_DONT } else { libc::IP_PMTUDISC_PROBE };
            return set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, how);
        }
        let (how, most) =
            if allowed { (libc::IPV6_PMTUDISC_DONT, 1280) } else { (libc::IPV6_PMTUDISC_PROBE, 0) };
        set(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, how)?;
        set(libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, i32::from(!allowed))?;
        set(libc::IPPROTO_IPV6, libc::IPV6_MTU, most)
    }

    /// The next ICMP message.
    pub fn trouble(&self) -> Option<Trouble> {
        let mut quote = [0_u8; QUOTE_MAX];
        // Aligned as the kernel's structures ask.
        let mut control = [0_u64; 64];
        // SAFETY: all zeros is a valid value of both.
        let (mut to, mut message): (libc::sockaddr_storage, libc::msghdr) = unsafe { std::mem::zeroed() };
        let mut room = libc::iovec { iov_base: quote.as_mut_ptr().cast(), iov_len: quote.len() };
        message.msg_name = (&raw mut to).cast();
        message.msg_iov = &raw mut room;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        loop {
            message.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            message.msg_controllen = size_of_val(&control);
            // SAFETY: the message names buffers that outlive the call, with their lengths.
            let len = unsafe {
                libc::recvmsg(self.io.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)
            };
            let len = usize::try_from(len).ok()?;
            // SAFETY: the kernel has filled them in.
            let told = unsafe { address(&to).zip(reported(&message)) };
            let Some((to, (kind, by))) = told else { continue };
            let mut to = canonical(to);
            // Only the peer itself can report that nothing listens at its port.
            if kind == TroubleKind::Unreachable && by.map(|ip| ip.to_canonical()) != Some(to.ip()) {
                continue;
            }
            if self.carrier != Carrier::Udp {
                to.set_port(0);
            }
            return Some(Trouble { to, quote: quote[..len.min(QUOTE_MAX)].to_vec(), kind });
        }
    }
}

/// True for errors of a kernel without IPv6, or with IPv6 turned off.
fn without_ipv6(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL))
}

/// An address of IPv4 as such if it is mapped into IPv6; others with their scope.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// The message of ICMP, and the host that sent it.
///
/// # Safety
/// The kernel must have filled the message in.
unsafe fn reported(message: &libc::msghdr) -> Option<(TroubleKind, Option<IpAddr>)> {
    // SAFETY: the macros walk through the control messages that the kernel has written.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(control) = header.as_ref() {
            let ours = (control.cmsg_level == libc::IPPROTO_IP && control.cmsg_type == libc::IP_RECVERR)
                || (control.cmsg_level == libc::IPPROTO_IPV6 && control.cmsg_type == libc::IPV6_RECVERR);
            if ours {
                let data = libc::CMSG_DATA(header).cast::<libc::sock_extended_err>();
                let error = data.read_unaligned();
                let kind = match (error.ee_origin, error.ee_type, error.ee_code) {
                    (libc::SO_EE_ORIGIN_ICMP, 3, 4) | (libc::SO_EE_ORIGIN_ICMP6, 2, 0) => {
                        TroubleKind::TooBig(error.ee_info)
                    }
                    (libc::SO_EE_ORIGIN_ICMP, 3, _) | (libc::SO_EE_ORIGIN_ICMP6, 1, _) => {
                        TroubleKind::Unreachable
                    }
                    _ => return None,
                };
                let by = data.add(1).cast::<libc::sockaddr_storage>();
                let room = control.cmsg_len - (by as usize - header as usize);
                let mut offender: libc::sockaddr_storage = std::mem::zeroed();
                std::ptr::copy_nonoverlapping(
                    by.cast::<u8>(),
                    (&raw mut offender).cast::<u8>(),
                    room.min(size_of::<libc::sockaddr_storage>()),
                );
                return Some((kind, address(&offender).map(|by| by.ip())));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
        None
    }
}

/// Returns true if sending failed because the packet exceeds the interface's MTU.
pub fn is_too_big(e: &io::Error) -> bool {
    quinn_udp::is_msg_size_err(e)
}
