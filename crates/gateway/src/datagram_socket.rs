//! UDP sockets: listeners for intercepted datagrams, replies from a server's address, and sockets towards servers.
//!
//! Follows ip(7), ipv6(7) and udp(7), and the kernel's tproxy.txt for the original destination address.
//! Differs from a socket of the library in the control messages, which carry that address.
//! Leaves out waiting (`daemon`).

use crate::kernel::{not_ip, set_integer, set_transparent};
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// The largest datagram, bytes.
pub const LARGEST: usize = 65_535;
/// The kernel's number of the control message with the original IPv6 destination.
const IPV6_ORIGDSTADDR: libc::c_int = 74;

/// A non-blocking UDP socket.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: Socket,
}

impl DatagramSocket {
    fn new(domain: Domain) -> io::Result<Self> {
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        Ok(DatagramSocket { socket })
    }

    /// Listens at a port for intercepted datagrams to any address of that version.
    pub fn transparent(v4: bool, port: u16) -> io::Result<Self> {
        let any = if v4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
        let made = Self::new(Domain::for_address((any, port).into()))?;
        if !v4 {
            made.socket.set_only_v6(true)?;
        }
        set_transparent(&made.socket, v4)?;
        let (level, name) = match v4 {
            true => (libc::IPPROTO_IP, libc::IP_RECVORIGDSTADDR),
            false => (libc::IPPROTO_IPV6, IPV6_ORIGDSTADDR),
        };
        set_integer(&made.socket, level, name, 1)?;
        made.socket.bind(&SocketAddr::new(any, port).into())?;
        Ok(made)
    }

    /// Opens a socket that sends replies to clients from a server's address.
    pub fn reply(server: SocketAddr) -> io::Result<Self> {
        let made = Self::new(Domain::for_address(server))?;
        made.socket.set_reuse_address(true)?;
        set_transparent(&made.socket, server.is_ipv4())?;
        made.socket.bind(&server.into())?;
        Ok(made)
    }

    /// Opens a socket to a server, from the client's address if that is given.
    pub fn connect(server: SocketAddr, source: Option<SocketAddr>) -> io::Result<Self> {
        let made = Self::new(Domain::for_address(server))?;
        if let Some(source) = source {
            made.socket.set_reuse_address(true)?;
            set_transparent(&made.socket, server.is_ipv4())?;
            made.socket.bind(&source.into())?;
        }
        made.socket.connect(&server.into())?;
        Ok(made)
    }

    /// Sends to the connected server.
    pub fn send(&self, data: &[u8]) -> io::Result<usize> {
        self.socket.send(data)
    }

    /// Sends to a client.
    pub fn send_to(&self, data: &[u8], client: SocketAddr) -> io::Result<usize> {
        self.socket.send_to(data, &client.into())
    }

    /// Receives the server's next datagram and returns its length; `None` if none is waiting.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the kernel writes at most the buffer's length.
        let read =
            unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        match usize::try_from(read) {
            Ok(read) => Ok(Some(read)),
            Err(_) => none_for_now(io::Error::last_os_error()),
        }
    }

    /// Receives a client's next datagram: its length, its sender and its original destination.
    pub fn receive_from(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr, SocketAddr)>> {
        let mut space = [0_u64; 16];
        let mut from = SockAddrStorage::zeroed();
        let mut io_vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: all of its fields may be zero, and its pointers refer to data that outlive the call.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_name = (&raw mut from).cast();
        message.msg_namelen = from.size_of();
        message.msg_iov = &raw mut io_vector;
        message.msg_iovlen = 1;
        message.msg_control = space.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&space) as _;
        // SAFETY: as above.
        let read = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, 0) };
        let Ok(len) = usize::try_from(read) else {
            return none_for_now(io::Error::last_os_error());
        };
        // SAFETY: the kernel has written an address of that length.
        let from = unsafe { SockAddr::new(from, message.msg_namelen) };
        let to = asked_for(&message).ok_or_else(not_ip)?;
        Ok(Some((len, from.as_socket().ok_or_else(not_ip)?, to)))
    }
}

fn none_for_now<T>(e: io::Error) -> io::Result<Option<T>> {
    match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(e),
    }
}

/// The original destination address in the control messages of a datagram.
fn asked_for(message: &libc::msghdr) -> Option<SocketAddr> {
    // SAFETY: the macros stay within the control messages that the kernel has written.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = at.as_ref() {
            let len = match (header.cmsg_level, header.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_ORIGDSTADDR) => size_of::<libc::sockaddr_in>(),
                (libc::IPPROTO_IPV6, IPV6_ORIGDSTADDR) => size_of::<libc::sockaddr_in6>(),
                _ => 0,
            };
            if len > 0 {
                let mut storage = SockAddrStorage::zeroed();
                std::ptr::copy_nonoverlapping(libc::CMSG_DATA(at), (&raw mut storage).cast::<u8>(), len);
                return SockAddr::new(storage, len as libc::socklen_t).as_socket();
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    }
    None
}

impl AsRawFd for DatagramSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
