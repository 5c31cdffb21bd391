//! The same streams for tokio.
//!
//! Follows the names and behaviour of `tokio::net::{TcpStream, TcpListener}`.
//! Differs: the endpoint's thread does the work and wakes the tasks, so that any executor is suitable.
//! Leaves out owned halves: a stream may be shared.

use crate::options::Options;
use crate::stream::{self, StreamStats};
use std::future::poll_fn;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A socket with its associations and connections.
pub struct Endpoint(stream::Endpoint);

/// Accepts connections.
pub struct StpListener(stream::StpListener);

/// A connection.
pub struct StpStream(stream::StpStream);

impl Endpoint {
    /// Binds to an address and starts the thread.
    pub fn bind(local: SocketAddr, options: Options) -> io::Result<Self> {
        Ok(Endpoint(stream::Endpoint::bind(local, options)?))
    }

    /// The address that it is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    /// Allows others to connect to the socket's port.
    pub fn listen(&self) -> StpListener {
        StpListener(self.0.listen())
    }

    /// Opens a connection; ready when packets can be sent to the peer.
    pub async fn connect(&self, peer: SocketAddr) -> io::Result<StpStream> {
        let stream = self.0.open(peer)?;
        poll_fn(|cx| stream.poll_started(cx)).await?;
        Ok(StpStream(stream))
    }
}

impl StpListener {
    /// Waits for a connection.
    pub async fn accept(&self) -> io::Result<(StpStream, SocketAddr)> {
        let (stream, peer) = poll_fn(|cx| self.0.poll_accept(cx)).await?;
        Ok((StpStream(stream), peer))
    }

    /// The address that it is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl StpStream {
    /// The address of the peer.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// The address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Closes the direction for writing, and waits until the peer has acknowledged every byte and the end.
    pub async fn finish(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)?;
        poll_fn(|cx| self.0.poll_finished(cx)).await
    }

    /// Statistics of the connection so far.
    pub fn stats(&self) -> StreamStats {
        self.0.stats()
    }
}

impl AsyncRead for StpStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = std::task::ready!(self.0.poll_read(cx, buf.initialize_unfilled()))?;
        buf.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for StpStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.shutdown(Shutdown::Write))
    }
}
