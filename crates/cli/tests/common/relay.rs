//! A relay of UDP between one server and its clients: a path with a delay, and a count of what goes over it.
//!
//! Follows a link without losses; sleeps of a thread are its clock, so delays are at least what they should be.
//! Leaves out rates, errors and ICMP.

#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A running relay, ended when it is dropped.
pub struct Relay {
    local: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    end: AtomicBool,
    /// The latest client's packets are counted until this is unset; another client sets it.
    counting: AtomicBool,
    to_server: AtomicU64,
    to_clients: AtomicU64,
    /// Counted bytes of one direction, whichever has them first, after which all packets are lost; 0 for never.
    lost_after: AtomicU64,
    /// All packets are lost from the moment that this holds, which is asked before each packet is passed on.
    lost_when: Mutex<Option<Condition>>,
    /// True while all packets are lost.
    cut: AtomicBool,
    /// True until all clients are forgotten.
    forgets: AtomicBool,
}

type Condition = Box<dyn Fn() -> bool + Send>;

impl Relay {
    /// A relay to a server, with a delay each way.
    pub fn to(server: &str, delay: Duration) -> Self {
        let (server, shared): (SocketAddr, _) = (server.parse().unwrap(), Arc::new(Shared::default()));
        // STP's port is the server's UDP port, so the relay has the same port at another address.
        let local = SocketAddr::from(([127, 0, 0, 2], server.port()));
        let front = UdpSocket::bind(local).unwrap();
        let inside = shared.clone();
        let thread = Some(std::thread::spawn(move || pass(&front, server, delay, &inside)));
        Relay { local, shared, thread }
    }

    pub fn address(&self) -> String {
        self.local.to_string()
    }

    /// Counts nothing until the next client comes.
    pub fn stop_counting(&self) {
        self.shared.counting.store(false, Ordering::SeqCst);
    }

    /// Forgets clients, all of which have ended: the next one may have the port of one of them.
    pub fn forget(&self) {
        self.shared.forgets.store(true, Ordering::SeqCst);
        while self.shared.forgets.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }

    /// Loses every packet from the moment that so many counted bytes have passed in one direction, until [`Self::mend`]: a
    /// test that is late finds the transfer where it wanted it.
    pub fn cut_after(&self, bytes: u64) {
        self.shared.lost_after.store(bytes, Ordering::SeqCst);
    }

    /// Loses every packet from the moment that a condition holds, until [`Self::mend`]: what one end does before it sends is true of
    /// none of the packets that have been passed on.
    pub fn cut_when(&self, holds: impl Fn() -> bool + Send + 'static) {
        *self.shared.lost_when.lock().unwrap() = Some(Box::new(holds));
    }

    /// True if the moment of [`Self::cut_after`] or [`Self::cut_when`] is over.
    pub fn is_cut(&self) -> bool {
        self.shared.cut.load(Ordering::SeqCst)
    }

    /// Passes packets again.
    pub fn mend(&self) {
        self.shared.lost_after.store(0, Ordering::SeqCst);
        *self.shared.lost_when.lock().unwrap() = None;
        self.shared.cut.store(false, Ordering::SeqCst);
    }

    /// Bytes of UDP payload of counted clients passed so far: to the server, and to clients.
    pub fn passed(&self) -> (u64, u64) {
        (self.shared.to_server.load(Ordering::SeqCst), self.shared.to_clients.load(Ordering::SeqCst))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::SeqCst);
        let _ = self.thread.take().unwrap().join();
    }
}

/// Passes packets on: each client has a socket of its own towards the server.
#[expect(clippy::disallowed_methods, reason = "a path of real packets goes by the clock")]
fn pass(front: &UdpSocket, server: SocketAddr, delay: Duration, shared: &Shared) {
    front.set_nonblocking(true).unwrap();
    let mut backs: BTreeMap<SocketAddr, UdpSocket> = BTreeMap::new();
    let mut waiting: VecDeque<(Instant, Option<SocketAddr>, SocketAddr, Vec<u8>)> = VecDeque::new();
    let mut buffer = vec![0; 65_536];
    let mut latest = None;
    while !shared.end.load(Ordering::SeqCst) {
        if shared.forgets.load(Ordering::SeqCst) {
            backs.clear();
            waiting.clear();
            shared.forgets.store(false, Ordering::SeqCst);
        }
        let (now, before) = (Instant::now(), waiting.len());
        while let Ok((len, client)) = front.recv_from(&mut buffer) {
            waiting.push_back((now + delay, None, client, buffer[..len].to_vec()));
        }
        for (client, back) in &backs {
            while let Ok(len) = back.recv(&mut buffer) {
                waiting.push_back((now + delay, Some(server), *client, buffer[..len].to_vec()));
            }
        }
        let idle = waiting.len() == before;
        while waiting.front().is_some_and(|(due, ..)| *due <= now) {
            let (_, from, client, bytes) = waiting.pop_front().unwrap();
            if shared.lost_when.lock().unwrap().as_ref().is_some_and(|holds| holds()) {
                shared.cut.store(true, Ordering::SeqCst);
            }
            if shared.cut.load(Ordering::SeqCst) {
                continue;
            }
            if !backs.contains_key(&client) {
                latest = Some(client);
                shared.counting.store(true, Ordering::SeqCst);
            }
            if latest == Some(client) && shared.counting.load(Ordering::SeqCst) {
                let count = if from.is_some() { &shared.to_clients } else { &shared.to_server };
                let passed = count.fetch_add(bytes.len() as u64, Ordering::SeqCst) + bytes.len() as u64;
                let lost_after = shared.lost_after.load(Ordering::SeqCst);
                if lost_after > 0 && passed >= lost_after {
                    shared.cut.store(true, Ordering::SeqCst);
                }
            }
            if from.is_some() {
                let _ = front.send_to(&bytes, client);
                continue;
            }
            let back = backs.entry(client).or_insert_with(|| {
                let back = UdpSocket::bind("127.0.0.1:0").unwrap();
                back.set_nonblocking(true).unwrap();
                back.connect(server).unwrap();
                back
            });
            let _ = back.send(&bytes);
        }
        if idle {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
}
