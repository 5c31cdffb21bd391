//! Sockets of the kernel: listeners that take what was meant for others, connections out under a client's address.
//!
//! Follows ip(7) and tcp(7). Differs from a proxy's defaults: a socket resets its connection when it is closed, however that comes about,
//! until its end was earned; so a gateway that is killed cannot make a truncated stream look whole.
//! Leaves out waiting, which is the daemon's.

use bytes::{Buf, Bytes, BytesMut};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;
/// The least room in which something is read.
const READ_MIN: usize = 16 << 10;
/// Bytes that share an allocation.
const ARENA: usize = 256 << 10;

/// A listener that never waits.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

impl Listener {
    /// At an address of this host.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        Self::listen(socket, address)
    }

    /// At a port, for connections to any address of that version which the firewall hands over.
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
        // Accepted sockets inherit it: also one that is never accepted is reset.
        socket.set_linger(Some(Duration::ZERO))?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(Listener { socket })
    }

    /// The next connection, with the client's address and that which the client has asked for.
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

fn not_ip() -> io::Error {
    io::Error::other("the address is not of IP")
}

/// Lets a socket have addresses that are not this host's.
fn set_transparent(socket: &Socket, v4: bool) -> io::Result<()> {
    let done = if v4 { socket.set_ip_transparent_v4(true) } else { socket.set_ip_transparent_v6(true) };
    done.map_err(|e| match e.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            e.kind(),
            "no right to take connections that are meant for others: run with CAP_NET_ADMIN, or as root",
        ),
        _ => e,
    })
}

/// A connection of the kernel's TCP.
#[derive(Debug)]
pub struct KernelSocket {
    socket: Socket,
    /// False since the kernel had nothing to read, until the poller says otherwise.
    pub readable: bool,
    /// False since the kernel had no room.
    pub writable: bool,
    /// An error of the connection.
    failed: Option<io::ErrorKind>,
}

impl KernelSocket {
    fn new(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_linger(Some(Duration::ZERO))?;
        socket.set_tcp_nodelay(true)?;
        // An end that is gone is noticed in a quarter of an hour, also if it owes nothing.
        let keepalive =
            TcpKeepalive::new().with_time(Duration::from_secs(600)).with_interval(Duration::from_secs(60));
        socket.set_tcp_keepalive(&keepalive)?;
        Ok(KernelSocket { socket, readable: true, writable: true, failed: None })
    }

    /// Begins a connection to a server, under the client's address if that is given.
    pub fn connect(to: SocketAddr, source: Option<SocketAddr>) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
        if let Some(source) = source {
            socket.set_reuse_address(true)?;
            set_transparent(&socket, to.is_ipv4())?;
            socket.bind(&source.into())?;
        }
        let mut side = Self::new(socket)?;
        (side.readable, side.writable) = (false, false);
        match side.socket.connect(&to.into()) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
            _ => Ok(side),
        }
    }

    /// The error of a connection attempt that the poller says is over.
    pub fn take_error(&self) -> Option<io::Error> {
        self.socket.take_error().unwrap_or_else(Some)
    }

    /// Returns true if the connection has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Reads at most `most` bytes; `None` if there are none for now, an empty piece at the end.
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
                // SAFETY: the kernel has just filled so many bytes.
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

    /// Writes as much as the kernel has room for; the rest comes back.
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

    /// Ends this direction behind what was written.
    pub fn shutdown(&mut self) {
        if let Err(e) = self.socket.shutdown(std::net::Shutdown::Write) {
            self.failed = Some(e.kind());
        }
    }

    /// Bytes written, and the end, that the peer has not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        let mut queued: libc::c_int = 0;
        // SAFETY: the kernel writes an integer, and it outlives the call.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) };
        if done == 0 { queued.max(0) as u64 } else { 0 }
    }

    /// Closes in peace: the kernel delivers what was written, and the end.
    pub fn close(self) {
        let _ = self.socket.set_linger(None);
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

/// Lets the process have as many files open as its hard limit allows; returns how many.
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
