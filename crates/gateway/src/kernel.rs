//! TCP sockets of the kernel: listeners for intercepted connections, and connections from a client's address.
//!
//! Follows ip(7) and tcp(7). Differs from a proxy's defaults: closing a socket in any way resets its connection, unless both directions
//! have ended; so the clients of a killed gateway never take a truncated stream for a complete one.
//! Leaves out waiting (`daemon`).

use crate::dscp::Dscp;
use bytes::{Buf, Bytes, BytesMut};
use skyhop_splice::gateway::PIECES_MAX;
use skyhop_units::Rate;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

/// The backlog of a listener.
const BACKLOG: i32 = 4096;
/// The smallest space for a read, bytes.
const READ_MIN: usize = 16 << 10;
/// The size of an allocation, which several reads share, bytes.
const ARENA: usize = 256 << 10;
/// Freed memory that the process keeps, bytes.
const KEPT_MAX: libc::c_int = 16 << 20;

/// A non-blocking listener.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

impl Listener {
    /// Listens at an address of this host.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        Self::listen(socket, address)
    }

    /// Listens at a port for intercepted connections to any address of that version.
    pub fn transparent(v4: bool, port: u16) -> io::Result<Self> {
        let any = if v4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
        let address = SocketAddr::new(any, port);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if !v4 {
            socket.set_only_v6(true)?;
        }
        set_transparent(&socket, v4)?;
        Self::listen(socket, address)
    }

    fn listen(socket: Socket, address: SocketAddr) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // Accepted sockets inherit it, so a connection that is never accepted is reset too.
        socket.set_linger(Some(Duration::ZERO))?;
        // With it accepted sockets know the code point of the first packets.
        let (level, name) = match address.is_ipv4() {
            true => (libc::IPPROTO_IP, libc::IP_RECVTOS),
            false => (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS),
        };
        set_integer(&socket, level, name, 1)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(Listener { socket })
    }

    /// Accepts the next connection: its socket, the client's address and the original destination.
    pub fn accept(&self) -> io::Result<(KernelSocket, SocketAddr, SocketAddr)> {
        let (socket, from) = self.socket.accept()?;
        let accepted = KernelSocket::new(socket)?;
        let to = accepted.socket.local_addr()?.as_socket().ok_or_else(not_ip)?;
        Ok((accepted, from.as_socket().ok_or_else(not_ip)?, to))
    }

    /// The local address of the socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()?.as_socket().ok_or_else(not_ip)
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

pub fn not_ip() -> io::Error {
    io::Error::other("the address is not of IP")
}

/// Allows a socket to use addresses of other hosts.
pub fn set_transparent(socket: &Socket, v4: bool) -> io::Result<()> {
    let done = if v4 { socket.set_ip_transparent_v4(true) } else { socket.set_ip_transparent_v6(true) };
    done.map_err(|e| match e.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            e.kind(),
            "no right to take connections that are meant for others: run with CAP_NET_ADMIN, or as root",
        ),
        _ => e,
    })
}

/// A TCP connection of the kernel.
#[derive(Debug)]
pub struct KernelSocket {
    socket: Socket,
    /// False after a read that found nothing, until the poller reports the socket readable.
    pub readable: bool,
    /// False after a write that the kernel's buffer did not take whole.
    pub writable: bool,
    /// An error of the connection.
    failed: Option<io::ErrorKind>,
}

impl KernelSocket {
    fn new(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_linger(Some(Duration::ZERO))?;
        socket.set_tcp_nodelay(true)?;
        // Keep-alive finds a vanished end within a quarter of an hour, even if no data are outstanding.
        let keepalive =
            TcpKeepalive::new().with_time(Duration::from_secs(600)).with_interval(Duration::from_secs(60));
        socket.set_tcp_keepalive(&keepalive)?;
        Ok(KernelSocket { socket, readable: true, writable: true, failed: None })
    }

    /// Begins a connection to a server with this code point, from the client's address if that is given.
    pub fn connect(to: SocketAddr, source: Option<SocketAddr>, dscp: Dscp) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
        if let Some(source) = source {
            socket.set_reuse_address(true)?;
            set_transparent(&socket, to.is_ipv4())?;
            socket.bind(&source.into())?;
        }
        let mut side = Self::new(socket)?;
        (side.readable, side.writable) = (false, false);
        side.mark(dscp);
        match side.socket.connect(&to.into()) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
            _ => Ok(side),
        }
    }

    /// The code point with which the client opened the connection.
    pub fn dscp(&self) -> Dscp {
        // Control messages, which the kernel writes here, are aligned to longs.
        let mut space = [0_u64; 16];
        let mut len = size_of_val(&space) as libc::socklen_t;
        let (level, name) = match self.socket.domain() {
            Ok(Domain::IPV6) => (libc::IPPROTO_IPV6, IPV6_2292PKTOPTIONS),
            _ => (libc::IPPROTO_IP, libc::IP_PKTOPTIONS),
        };
        // SAFETY: the kernel writes at most the given length.
        let got = unsafe {
            libc::getsockopt(self.socket.as_raw_fd(), level, name, space.as_mut_ptr().cast(), &raw mut len)
        };
        if got != 0 {
            return Dscp::default();
        }
        let wanted = if level == libc::IPPROTO_IP { libc::IP_TOS } else { libc::IPV6_TCLASS };
        let bytes: Vec<u8> = space.iter().flat_map(|word| word.to_ne_bytes()).take(len as usize).collect();
        let mut rest = &bytes[..];
        // Length, level, type, then the value.
        while let Some((head, behind)) = rest.split_at_checked(16) {
            let field = |at: usize| i32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            let whole = usize::from_ne_bytes(head[..8].try_into().expect("of eight bytes"));
            if (field(8), field(12)) == (level, wanted) && !behind.is_empty() {
                // IPv4 has a byte, IPv6 an integer.
                let low = if cfg!(target_endian = "big") && whole >= 20 { 3 } else { 0 };
                return Dscp::of_byte(behind.get(low).copied().unwrap_or(0));
            }
            let Some(next) = rest.get(whole.max(16).next_multiple_of(8)..) else { break };
            rest = next;
        }
        Dscp::default()
    }

    /// Sets the code point of packets sent from now on, unless it is zero. A socket that cannot be marked still works.
    pub fn mark(&self, dscp: Dscp) {
        if dscp != Dscp::default() {
            let _ = self.set_dscp(dscp);
        }
    }

    fn set_dscp(&self, dscp: Dscp) -> io::Result<()> {
        let value = libc::c_int::from(dscp.byte());
        match self.socket.domain()? {
            Domain::IPV6 => set_integer(&self.socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, value),
            _ => set_integer(&self.socket, libc::IPPROTO_IP, libc::IP_TOS, value),
        }
    }

    /// Prepares a connection that crosses the satellite link.
    ///
    /// # Errors
    ///
    /// The kernel does not have that congestion control. The other settings are made as far as the process's privileges allow.
    pub fn tune(&self, tuning: &SocketTuning<'_>) -> io::Result<()> {
        // Exceeds the kernel's own limit with CAP_NET_ADMIN. Half of the accounted memory is data.
        let buffer = libc::c_int::try_from(tuning.buffer).unwrap_or(libc::c_int::MAX);
        set_integer(&self.socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, buffer)
            .or_else(|_| self.socket.set_send_buffer_size(buffer as usize))?;
        // Unsent data wait at the server instead of here.
        let unsent = libc::c_int::try_from(tuning.unsent).unwrap_or(libc::c_int::MAX);
        set_integer(&self.socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, unsent)?;
        if let Some(rate) = tuning.rate {
            let bytes = libc::c_int::try_from(rate.as_bps() / 8).unwrap_or(libc::c_int::MAX);
            set_integer(&self.socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes)?;
        }
        tuning.congestion.map_or(Ok(()), |name| self.socket.set_tcp_congestion(name.as_bytes()))
    }

    /// The error of a connection attempt that the poller reports as finished.
    pub fn take_error(&self) -> Option<io::Error> {
        self.socket.take_error().unwrap_or_else(Some)
    }

    /// Returns true if the connection has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Reads at most `most` bytes; `None` if none are waiting, an empty piece at the end of the stream.
    pub fn read(&mut self, most: u64, arena: &mut BytesMut) -> io::Result<Option<Bytes>> {
        if !self.readable {
            return Ok(None);
        }
        if arena.capacity() < READ_MIN {
            *arena = BytesMut::with_capacity(ARENA);
        }
        let spare = arena.spare_capacity_mut();
        let len = spare.len().min(most as usize);
        match self.socket.recv(&mut spare[..len]) {
            Ok(read) => {
                // SAFETY: the kernel has just filled that many bytes.
                unsafe { arena.set_len(read) };
                Ok(Some(arena.split().freeze()))
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(None)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(e) => {
                self.failed = Some(e.kind());
                Err(e)
            }
        }
    }

    /// Writes as much as the kernel's buffer takes, and returns the rest.
    pub fn write(&mut self, mut data: Bytes) -> Option<Bytes> {
        while self.writable && !data.is_empty() && self.failed.is_none() {
            match self.socket.send(&data) {
                Ok(sent) => data.advance(sent),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => self.failed = Some(e.kind()),
            }
        }
        (!data.is_empty()).then_some(data)
    }

    /// Writes as much as the kernel's buffer takes, many pieces in one call, and leaves the rest.
    pub fn write_pieces(&mut self, pieces: &mut VecDeque<Bytes>) {
        while self.writable && !pieces.is_empty() && self.failed.is_none() {
            let mut slices = [IoSlice::new(&[]); PIECES_MAX];
            let count = pieces.len().min(PIECES_MAX);
            slices.iter_mut().zip(pieces.iter()).for_each(|(slice, piece)| *slice = IoSlice::new(piece));
            match self.socket.send_vectored(&slices[..count]) {
                Ok(sent) => advance(pieces, sent),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => self.failed = Some(e.kind()),
            }
        }
    }

    /// Closes this direction after the written data.
    pub fn shutdown(&mut self) {
        if let Err(e) = self.socket.shutdown(std::net::Shutdown::Write) {
            self.failed = Some(e.kind());
        }
    }

    /// Written bytes, the FIN included, that the peer has not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        let mut queued: libc::c_int = 0;
        // SAFETY: the kernel writes an integer, which outlives the call.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) };
        if done == 0 { queued.max(0) as u64 } else { 0 }
    }

    /// Closes without a reset: the kernel delivers the written data and the FIN.
    pub fn close(self) {
        let _ = self.socket.set_linger(None);
    }
}

/// Removes the first `count` bytes, and pieces without bytes before the next.
fn advance(pieces: &mut VecDeque<Bytes>, mut count: usize) {
    while let Some(piece) = pieces.front_mut() {
        if piece.len() > count {
            return piece.advance(count);
        }
        count -= piece.len();
        pieces.pop_front();
    }
}

impl AsRawFd for KernelSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for KernelSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Settings of a connection that crosses the satellite link.
#[derive(Debug, Clone, Copy)]
pub struct SocketTuning<'a> {
    /// Congestion control, if other than the kernel's default.
    pub congestion: Option<&'a str>,
    /// The send buffer, bytes.
    pub buffer: u64,
    /// Limit of the bytes in it that have not been sent.
    pub unsent: u64,
    /// Limit of the sending rate.
    pub rate: Option<Rate>,
}

/// The kernel's number of the option by which RFC 2292 reads TCP control messages; libc does not define it.
const IPV6_2292PKTOPTIONS: libc::c_int = 6;

pub fn set_integer(
    socket: &Socket,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads an integer, which outlives the call.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), len) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Congestion controls loaded in this kernel.
pub fn congestion_controls() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Lets the allocator keep freed memory for the next reads, up to a limit: returned to the kernel after each turn it comes again as zeroed
/// pages, which cost 6 % of a hub's processor time.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the calls change two limits of the allocator.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 2 * ARENA as libc::c_int);
    }
}

/// Raises the limit of open descriptors to the hard limit, and returns it.
pub fn raise_file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure outlives both calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return 1024;
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
    }
    limit.rlim_cur
}
