//! A connection of either kind, and the kernel's counters of a TCP connection.
//!
//! Follows tcp(7) and linux/tcp.h, whose `struct tcp_info` only grows at its end.
//! Leaves out the data.

use skyhop_live::keys::Keys;
use skyhop_live::{Endpoint, Options, Security, StpStream, associations};
use skyhop_units::Span;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A connection.
pub enum ClientSocket {
    /// A TCP connection of the kernel.
    Tcp(TcpStream),
    /// An STP connection.
    Stp(StpStream),
}

/// Counters of a TCP connection of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Info {
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Time in which data were to be sent or acknowledged.
    pub busy: Span,
    /// Part of that time in which the receive window was full.
    pub receive_window: Span,
    /// Part of that time in which the send buffer was full.
    pub send_buffer: Span,
}

impl Info {
    /// Sums of the counters of two connections.
    pub fn and(self, other: Self) -> Self {
        Self {
            retransmitted: self.retransmitted + other.retransmitted,
            busy: self.busy + other.busy,
            receive_window: self.receive_window + other.receive_window,
            send_buffer: self.send_buffer + other.send_buffer,
        }
    }
}

/// Interval between checks for unacknowledged data.
const LOOK: Duration = Duration::from_millis(1);

impl ClientSocket {
    /// Reads bytes; 0 at the end.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&*stream).read(bytes),
            Self::Stp(stream) => (&*stream).read(bytes),
        }
    }

    /// Reads until the buffer is full.
    pub fn read_exact(&self, bytes: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => (&*stream).read_exact(bytes),
            Self::Stp(stream) => (&*stream).read_exact(bytes),
        }
    }

    /// Writes some of the bytes. Returns their number.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&*stream).write(bytes),
            Self::Stp(stream) => (&*stream).write(bytes),
        }
    }

    /// Closes the direction for writing.
    pub fn finish_writing(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Stp(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Breaks the connection, so that no thread waits for it any more.
    pub fn break_off(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Stp(stream) => stream.reset(),
        };
    }

    /// Waits until the peer has acknowledged all data and the end, or until `over`.
    #[expect(clippy::disallowed_methods, reason = "the kernel tells nobody, so it is asked by the clock")]
    pub fn wait_acknowledged(&self, over: &AtomicBool) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                while outstanding(stream)? > 0 && !over.load(Ordering::Acquire) {
                    std::thread::sleep(LOOK);
                }
                Ok(())
            }
            Self::Stp(stream) => stream.finish(None),
        }
    }

    /// The kernel's counters; `None` for STP.
    pub fn info(&self) -> Option<Info> {
        match self {
            Self::Tcp(stream) => info(stream),
            Self::Stp(_) => None,
        }
    }

    /// Segments retransmitted.
    pub fn retransmitted(&self) -> u64 {
        match self {
            Self::Tcp(stream) => info(stream).map_or(0, |info| info.retransmitted),
            Self::Stp(stream) => stream.stats().stp.packets_retransmitted,
        }
    }
}

/// Number of bytes written and not acknowledged, plus one for an unacknowledged end.
fn outstanding(stream: &TcpStream) -> io::Result<usize> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the number lives through the call.
    let done = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes.max(0) as usize) }
}

fn info(stream: &TcpStream) -> Option<Info> {
    /// Offsets in `struct tcp_info`: total_retrans (4 bytes), busy_time, rwnd_limited, sndbuf_limited (8 bytes each, us).
    const RETRANSMITTED: usize = 100;
    const BUSY: usize = 168;
    let mut bytes = [0u8; 256];
    let mut len = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes no more than `len` bytes, which the array has.
    let done = unsafe {
        let room = bytes.as_mut_ptr().cast();
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, room, &raw mut len)
    };
    if done < 0 || (len as usize) < BUSY + 24 {
        return None;
    }
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    let [busy, receive_window, send_buffer] = [0, 8, 16].map(|at| Span::from_micros(long(BUSY + at)));
    Some(Info { retransmitted: word(RETRANSMITTED).into(), busy, receive_window, send_buffer })
}

/// A TCP socket bound to an address and a port.
pub fn bound(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(address))?;
    Ok(socket)
}

/// An STP endpoint bound to an address and a port, with a scenario's STP and the key of both hosts. It is sealed: without an
/// association an endpoint sends little to an address before it is proven, and the simulator's hosts know each other.
pub fn endpoint(
    address: IpAddr,
    port: u16,
    stp: &skyhop_transport::stp::Config,
    keys: &Keys,
) -> io::Result<Endpoint> {
    let mut config = associations::Config::new(keys.clone());
    config.accepts = port != 0;
    let mut options = Options::new(Security::Sealed(Box::new(config)));
    // The simulator's hosts know their path's MTU.
    options.mtu_base = None;
    options.mtu = stp.packet_size + stp.overhead;
    options.stp = stp.clone();
    Endpoint::bind(SocketAddr::new(address, port), options)
}
