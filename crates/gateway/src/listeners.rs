//! The TCP listeners of a gateway: for programs, for forwarded ports, and for intercepted connections.
//!
//! Follows listen(2), and the kernel's tproxy.txt for intercepted connections: those listeners exist only while connections can be split,
//! so that the firewall passes or refuses new ones otherwise.
//! Leaves out the connections (`gateway`), and the firewall (`rules`).

use crate::config::Config;
use crate::kernel::{KernelSocket, Listener};
use polling::{Event, PollMode, Poller};
use skyhop_splice::preamble::Destination;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// The purpose of a listener.
#[derive(Debug, Clone)]
pub enum Purpose {
    Intercept,
    Socks,
    Forward(Destination),
}

#[derive(Debug)]
struct Listening {
    listener: Listener,
    purpose: Purpose,
}

/// The listeners, by their keys of the poller.
#[derive(Debug)]
pub struct Listeners {
    poller: Arc<Poller>,
    first_key: usize,
    places: Vec<Option<Listening>>,
    /// False at the limit of connections.
    accepting: bool,
}

impl Listeners {
    /// No listeners yet; their keys are `first_key` and the next ones.
    pub fn new(poller: Arc<Poller>, first_key: usize) -> Self {
        Listeners { poller, first_key, places: Vec::new(), accepting: true }
    }

    /// Opens the listeners that a file names.
    pub fn open(&mut self, config: &Config) -> Result<(), String> {
        if let Some((address, _)) = config.socks {
            self.bind(&format!("socks.listen: {address}"), address, Purpose::Socks)?;
        }
        for forward in &config.forwards {
            let (host, port) = forward.to.clone();
            let to = match host.parse() {
                Ok(ip) => Destination::Address(SocketAddr::new(ip, port)),
                Err(_) => Destination::Name(host, port),
            };
            let what = format!("forward.listen: {}", forward.listen);
            self.bind(&what, forward.listen, Purpose::Forward(to))?;
        }
        Ok(())
    }

    fn bind(&mut self, what: &str, address: SocketAddr, purpose: Purpose) -> Result<(), String> {
        let added = Listener::bind(address).and_then(|listener| self.add(listener, purpose));
        added.map_err(|e| format!("{what}: {e}"))
    }

    fn add(&mut self, listener: Listener, purpose: Purpose) -> io::Result<()> {
        let place = self.places.iter().position(Option::is_none).unwrap_or(self.places.len());
        let event = Event::readable(self.first_key + place);
        // SAFETY: a listener is removed from the poller before it is closed.
        unsafe { self.poller.add_with_mode(&listener, event, PollMode::Level)? };
        let listening = Some(Listening { listener, purpose });
        match self.places.get_mut(place) {
            Some(free) => *free = listening,
            None => self.places.push(listening),
        }
        Ok(())
    }

    /// Opens or closes the listeners for intercepted connections. Returns true if they were opened on a host without IPv6.
    pub fn intercept(&mut self, open: bool, port: u16) -> io::Result<bool> {
        let is_open = self.places.iter().flatten().any(|of| matches!(of.purpose, Purpose::Intercept));
        if open && !is_open {
            for v4 in [true, false] {
                match Listener::transparent(v4, port) {
                    Ok(listener) => self.add(listener, Purpose::Intercept)?,
                    Err(e) if !v4 && e.raw_os_error() == Some(libc::EAFNOSUPPORT) => return Ok(true),
                    Err(e) => return Err(e),
                }
            }
        } else if !open {
            for place in &mut self.places {
                if let Some(listening) = place.take_if(|of| matches!(of.purpose, Purpose::Intercept)) {
                    self.poller.delete(&listening.listener)?;
                }
            }
        }
        Ok(false)
    }

    /// Reports new connections, or leaves them in the kernel.
    pub fn set_accepting(&mut self, accepting: bool) {
        if std::mem::replace(&mut self.accepting, accepting) == accepting {
            return;
        }
        for (place, listening) in self.places.iter().enumerate() {
            let Some(listening) = listening else { continue };
            let interest = Event::new(self.first_key + place, accepting, false);
            let _ = self.poller.modify_with_mode(&listening.listener, interest, PollMode::Level);
        }
    }

    /// The purpose of the listener with this key.
    pub fn purpose(&self, key: usize) -> Option<&Purpose> {
        Some(&self.places.get(key - self.first_key)?.as_ref()?.purpose)
    }

    /// Accepts the next connection: its socket, the client's address and the original destination.
    pub fn accept(&self, key: usize) -> Option<(KernelSocket, SocketAddr, SocketAddr)> {
        // An error is that none waits, that the client has closed already, or that this host has no more descriptors; the next accept may
        // succeed.
        self.places.get(key - self.first_key)?.as_ref()?.listener.accept().ok()
    }

    /// Returns true if a connection was not intercepted: it was addressed to the listener itself, and would loop.
    pub fn is_own(&self, key: usize, to: SocketAddr) -> bool {
        let listening = self.places.get(key - self.first_key).and_then(Option::as_ref);
        listening.is_some_and(|of| of.listener.local_addr().is_ok_and(|own| own.port() == to.port()))
    }
}

/// An error of a listener, with a hint if the port is taken.
pub fn in_use(e: io::Error) -> io::Error {
    match e.kind() {
        io::ErrorKind::AddrInUse => io::Error::new(
            e.kind(),
            "in use: another gateway runs on this host, or another program has the port",
        ),
        _ => e,
    }
}
