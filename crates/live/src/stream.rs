//! Blocking streams and listeners like those of TCP; their parts also serve the asynchronous ones.
//!
//! Follows the names and behaviour of `std::net::{TcpStream, TcpListener}`, and HT figure 5.3 for the time at which data may be
//! sent.
//! Differs: `connect` returns when packets can be sent, before the peer has answered, so that the first data go with the BGN; an
//! endpoint is one socket for many connections; `finish` says that every byte has arrived. A call takes the lock of its own connection
//! and no other. Leaves out urgent data and peeking.

use crate::association::Counters;
use crate::connection::{Conn, Failed, PIECE, PacketCounts};
use crate::connections::{Name, SharedConn, lock};
use crate::driver::{self, SharedHost};
use crate::fullness::RefusedConnections;
use crate::options::Options;
use crate::socket::Carrier;
use crate::timers::Lateness;
use bytes::Bytes;
use skyhop_transport::stp::Stats;
use skyhop_units::Span;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker, ready};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Keeps the endpoint's thread running.
struct Handle(Arc<SharedHost>);

impl Handle {
    fn new(shared: &Arc<SharedHost>) -> Self {
        shared.hold();
        Handle(shared.clone())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A socket with its associations and connections.
pub struct Endpoint {
    handle: Handle,
    carrier: Carrier,
}

/// Accepts connections.
pub struct StpListener {
    handle: Handle,
}

/// An STP connection: a byte stream in each direction.
pub struct StpStream {
    handle: Handle,
    name: Name,
    conn: SharedConn,
    /// Wakes the host's thread for this connection.
    tell: Sender<Name>,
    peer: SocketAddr,
    /// Timeouts of reading and of writing.
    timeouts: Mutex<(Option<Duration>, Option<Duration>)>,
}

/// Statistics of a connection so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StreamStats {
    /// The machine's counters.
    pub stp: Stats,
    /// Traffic over the network.
    pub traffic: PacketCounts,
    /// Bytes written.
    pub written: u64,
    /// Bytes acknowledged by the peer.
    pub acknowledged: u64,
    /// Bytes received in order.
    pub delivered: u64,
    /// The smoothed round-trip time.
    pub srtt: Option<Span>,
    /// The pace of packets, network-layer bits per second; `None` if there is none yet, or with a window.
    pub pace_bps: Option<f64>,
    /// Bytes sent and neither acknowledged nor reported missing.
    pub in_flight: u64,
}

impl Endpoint {
    /// Binds to an address and starts the thread.
    pub fn bind(local: SocketAddr, options: Options) -> io::Result<Self> {
        let carrier = options.carrier;
        let shared = driver::start(options, local)?;
        // The first handle was counted before the thread started, which would otherwise have ended at once.
        Ok(Endpoint { handle: Handle(shared), carrier })
    }

    /// The address that it is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.handle.0.local
    }

    /// Allows others to connect to the socket's port.
    pub fn listen(&self) -> StpListener {
        self.handle.0.lock().listen();
        StpListener { handle: Handle::new(&self.handle.0) }
    }

    /// Opens a connection; returns when packets can be sent to the peer: at once, or after a round trip if there is no association
    /// yet. The first read or write shows whether the peer accepts it, or [`StpStream::wait_connected`].
    pub fn connect(&self, peer: SocketAddr) -> io::Result<StpStream> {
        let stream = self.open(peer)?;
        block_on(None, |cx| stream.poll_started(cx))?;
        Ok(stream)
    }

    /// Like [`Endpoint::connect`], for as long as `go_on` returns true, which is asked several times a second.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`]; `Interrupted` once `go_on` has returned false.
    pub fn connect_while(&self, peer: SocketAddr, go_on: impl Fn() -> bool) -> io::Result<StpStream> {
        let stream = self.open(peer)?;
        while go_on() {
            match block_on(Some(GO_ON), |cx| stream.poll_started(cx)) {
                Err(e) if e.kind() == io::ErrorKind::TimedOut && e.to_string() == NOTHING_HAPPENED => {}
                started => return started.map(|()| stream),
            }
        }
        Err(io::ErrorKind::Interrupted.into())
    }

    /// Starts opening a connection.
    pub(crate) fn open(&self, peer: SocketAddr) -> io::Result<StpStream> {
        let shared = &self.handle.0;
        let port = peer.port();
        // Straight over IP, addresses have no port.
        let peer = if self.carrier == Carrier::Udp { peer } else { SocketAddr::new(peer.ip(), 0) };
        let (name, conn) = shared.lock().connect(shared.clock.now(), peer, port)?;
        shared.kick();
        Ok(StpStream::new(shared, name, conn, SocketAddr::new(peer.ip(), port)))
    }

    /// Waits until all connections have ended, so that the peers have their answers. Returns false after the timeout.
    #[expect(clippy::disallowed_methods, reason = "an application waits by the clock")]
    pub fn wait_at_rest(&self, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        while Instant::now() < end {
            if self.handle.0.lock().may_leave(self.handle.0.clock.now()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Ends all associations once no answer is outstanding, and informs the peers, so that they need not wait for a timeout. Connections
    /// that are still open fail. Returns false if an answer was still outstanding after `timeout`; the peers are informed all the same.
    pub fn close(self, timeout: Duration) -> bool {
        let rested = self.wait_at_rest(timeout);
        let shared = &self.handle.0;
        shared.lock().say_goodbye();
        shared.kick();
        // The thread sends within a millisecond, unless the kernel has no room.
        for _ in 0..100 {
            if shared.lock().has_said_all() {
                break;
            }
            #[expect(clippy::disallowed_methods, reason = "an application waits by the clock")]
            std::thread::sleep(Duration::from_millis(1));
        }
        rested
    }

    /// Bytes that this host's connections hold in memory, written or received.
    pub fn memory(&self) -> u64 {
        self.handle.0.lock().connections().memory().used()
    }

    /// Connections of peers that were refused because there was no place for them.
    pub fn refused(&self) -> RefusedConnections {
        self.handle.0.lock().backlog().refused()
    }

    /// Associations that are open.
    pub fn associations(&self) -> usize {
        self.handle.0.lock().channels().associations().map_or(0, |associations| associations.len())
    }

    /// Lateness of this endpoint's timers so far: it shows a machine that is too busy, which the protocol's counters do not.
    pub fn lateness(&self) -> Lateness {
        self.handle.0.lock().connections().lateness()
    }

    /// Counters of sealed packets so far; `None` without encryption.
    pub fn counters(&self) -> Option<Counters> {
        self.handle.0.lock().channels().associations().map(|associations| associations.counters())
    }
}

impl StpListener {
    /// Binds a new endpoint.
    pub fn bind(local: SocketAddr, options: Options) -> io::Result<Self> {
        Ok(Endpoint::bind(local, options)?.listen())
    }

    /// The address that it is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.handle.0.local)
    }

    /// Waits for a connection.
    pub fn accept(&self) -> io::Result<(StpStream, SocketAddr)> {
        block_on(None, |cx| self.poll_accept(cx))
    }

    /// Waits for a connection, at most for `timeout`.
    pub fn accept_timeout(&self, timeout: Duration) -> io::Result<(StpStream, SocketAddr)> {
        block_on(Some(timeout), |cx| self.poll_accept(cx))
    }

    /// Connections that wait to be accepted.
    pub fn waiting(&self) -> usize {
        self.handle.0.lock().backlog().len()
    }

    pub(crate) fn poll_accept(&self, cx: &Context<'_>) -> Poll<io::Result<(StpStream, SocketAddr)>> {
        let shared = &self.handle.0;
        let (name, conn, peer) = ready!(shared.lock().poll_accept(cx))?;
        shared.kick();
        Poll::Ready(Ok((StpStream::new(shared, name, conn, peer), peer)))
    }
}

impl StpStream {
    fn new(shared: &Arc<SharedHost>, name: Name, conn: SharedConn, peer: SocketAddr) -> Self {
        let tell = shared.tell.clone();
        StpStream { handle: Handle::new(shared), name, conn, tell, peer, timeouts: Mutex::new((None, None)) }
    }

    /// Has the host's thread look at this connection.
    fn kick(&self, conn: &mut Conn) {
        if conn.turn.ask() {
            // The thread ends after the last handle only.
            let _ = self.tell.send(self.name);
        }
        self.handle.0.kick();
    }

    /// Opens a connection from a new endpoint.
    pub fn connect(peer: SocketAddr, options: Options) -> io::Result<Self> {
        let any: SocketAddr = if peer.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
        Endpoint::bind(any, options)?.connect(peer)
    }

    /// The address of the peer.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }

    /// The address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.handle.0.local)
    }

    /// Limits the time for which a read waits for data.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.timeouts.lock().unwrap_or_else(|p| p.into_inner()).0 = timeout;
        Ok(())
    }

    /// Limits the time for which a write waits for room.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.timeouts.lock().unwrap_or_else(|p| p.into_inner()).1 = timeout;
        Ok(())
    }

    /// Closes one or both directions. Written data still arrive; further reads return nothing.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.change(|conn| {
            if how != Shutdown::Read {
                conn.machine.shutdown();
            }
            if how != Shutdown::Write {
                conn.close_reading();
            }
        });
        Ok(())
    }

    /// Breaks the connection: the peer gets an error, and unsent data are dropped.
    pub fn reset(&self) -> io::Result<()> {
        self.change(|conn| {
            let message = "this host has broken the connection off";
            conn.abort(Failed::new(io::ErrorKind::ConnectionAborted, message));
        });
        Ok(())
    }

    /// Waits until the peer has answered.
    pub fn wait_connected(&self, timeout: Option<Duration>) -> io::Result<()> {
        block_on(timeout, |cx| self.poll_with(|conn| conn.poll_connected(cx)))
    }

    /// Closes the direction for writing, and waits until the peer has acknowledged every byte and the end.
    pub fn finish(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.shutdown(Shutdown::Write)?;
        block_on(timeout, |cx| self.poll_finished(cx))
    }

    /// Statistics of the connection so far.
    pub fn stats(&self) -> StreamStats {
        let conn = lock(&self.conn);
        StreamStats {
            stp: conn.machine.stats(),
            traffic: conn.path.traffic(),
            written: conn.bytes_written(),
            acknowledged: conn.machine.acknowledged(),
            delivered: conn.machine.delivered(),
            srtt: conn.machine.srtt(),
            pace_bps: conn.machine.rate_bps(),
            in_flight: conn.machine.in_flight(),
        }
    }

    /// Writes all without a copy; waits for room as often as necessary.
    pub fn write_bytes(&self, mut data: Bytes) -> io::Result<()> {
        let timeout = self.timeouts.lock().unwrap_or_else(|p| p.into_inner()).1;
        while !data.is_empty() {
            let part = |room: usize| data.slice(..room.min(data.len()));
            let written = block_on(timeout, |cx| self.poll_write_with(cx, |room, write| write(part(room))))?;
            bytes::Buf::advance(&mut data, written);
        }
        Ok(())
    }

    /// Reads one packet's data without a copy; `None` at the end.
    pub fn read_bytes(&self) -> io::Result<Option<Bytes>> {
        let timeout = self.timeouts.lock().unwrap_or_else(|p| p.into_inner()).0;
        block_on(timeout, |cx| self.poll_read_with(cx, |conn| conn.read(usize::MAX).map(Some)))
    }

    fn change(&self, f: impl FnOnce(&mut Conn)) {
        let mut conn = lock(&self.conn);
        f(&mut conn);
        self.kick(&mut conn);
    }

    fn poll_with<T>(&self, f: impl FnOnce(&mut Conn) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        f(&mut lock(&self.conn))
    }

    /// Ready when packets can be sent.
    pub(crate) fn poll_started(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with(|conn| conn.poll_started(cx))
    }

    /// Ready when everything has been acknowledged.
    pub(crate) fn poll_finished(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with(|conn| conn.poll_finished(cx))
    }

    fn poll_read_with<T: Default>(
        &self,
        cx: &Context<'_>,
        take: impl FnOnce(&mut Conn) -> Option<T>,
    ) -> Poll<io::Result<T>> {
        self.poll_with(|conn| {
            if conn.is_read_closed() {
                return Poll::Ready(Ok(T::default()));
            }
            let Some(taken) = take(conn) else { return conn.poll_end_of_data(cx).map_ok(|()| T::default()) };
            if conn.settle_read() {
                self.kick(conn);
            }
            Poll::Ready(Ok(taken))
        })
    }

    pub(crate) fn poll_read(&self, cx: &Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll_read_with(cx, |conn| {
            let mut len = 0;
            while len < buf.len()
                && let Some(data) = conn.read(buf.len() - len)
            {
                buf[len..len + data.len()].copy_from_slice(&data);
                len += data.len();
            }
            (len > 0).then_some(len)
        })
    }

    /// Writes the data returned by `give`, which is called with the free space in bytes.
    fn poll_write_with(
        &self,
        cx: &Context<'_>,
        give: impl FnOnce(usize, &mut dyn FnMut(Bytes)),
    ) -> Poll<io::Result<usize>> {
        self.poll_with(|conn| {
            let room = ready!(conn.poll_room(cx))?;
            let mut len = 0;
            give(room as usize, &mut |data| {
                len += data.len();
                conn.write(data);
            });
            conn.settle_write();
            self.kick(conn);
            Poll::Ready(Ok(len))
        })
    }

    pub(crate) fn poll_write(&self, cx: &Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        // In pieces, so that what is acknowledged does not stay because of what is not.
        self.poll_write_with(cx, |room, write| {
            buf[..room.min(buf.len())].chunks(PIECE).for_each(|piece| write(Bytes::copy_from_slice(piece)));
        })
    }
}

impl Drop for StpStream {
    fn drop(&mut self) {
        self.handle.0.lock().let_go(self.name);
        self.handle.0.kick();
    }
}

impl Read for &StpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let timeout = self.timeouts.lock().unwrap_or_else(|p| p.into_inner()).0;
        block_on(timeout, |cx| self.poll_read(cx, buf))
    }
}

impl Write for &StpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let timeout = self.timeouts.lock().unwrap_or_else(|p| p.into_inner()).1;
        block_on(timeout, |cx| self.poll_write(cx, buf))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for StpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }
}

impl Write for StpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self).write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Parker(Thread);

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Time between questions to the user of [`Endpoint::connect_while`].
const GO_ON: Duration = Duration::from_millis(100);

/// Text of the error after a timeout, which leaves the connection as it was.
pub const NOTHING_HAPPENED: &str = "no progress for too long";

/// Blocks until a poll is ready.
#[expect(clippy::disallowed_methods, reason = "an application waits by the clock")]
fn block_on<T>(
    timeout: Option<Duration>,
    mut poll: impl FnMut(&Context<'_>) -> Poll<io::Result<T>>,
) -> io::Result<T> {
    let end = timeout.map(|timeout| Instant::now() + timeout);
    let waker = Waker::from(Arc::new(Parker(std::thread::current())));
    let cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = poll(&cx) {
            return result;
        }
        match end.map(|end| end.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, NOTHING_HAPPENED));
            }
            Some(left) => std::thread::park_timeout(left),
            None => std::thread::park(),
        }
    }
}
