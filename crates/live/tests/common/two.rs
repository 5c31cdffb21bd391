//! Two hosts, and the packets between them.
//!
//! Leaves out what the path does to the packets, which the test says.

#![allow(dead_code, reason = "no test needs all of it")]

use skyhop_chance::{Seed, Stream};
use skyhop_live::associations::{Associations, Config, Event};
use skyhop_live::entropy::Entropy;
use skyhop_live::keys::Keys;
use skyhop_live::seal::HEADER_LEN;
use skyhop_units::{Span, Time};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

pub const RTT: Span = Span::from_millis(600);

pub fn address(n: u32) -> SocketAddr {
    SocketAddr::from(([198, 18, (n >> 8) as u8, n as u8], 40_000))
}

pub fn client() -> SocketAddr {
    address(1)
}

pub fn server() -> SocketAddr {
    address(2)
}

/// Entropy that a name is enough for.
pub struct Seeded(Mutex<Stream>);

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) {
        let mut stream = self.0.lock().unwrap();
        bytes.fill_with(|| stream.bits() as u8);
    }
}

pub fn seeded(name: &str) -> Arc<dyn Entropy> {
    Arc::new(Seeded(Mutex::new(Seed(1).stream(name))))
}

pub struct Two {
    pub now: Time,
    pub client: Associations,
    pub server: Associations,
    /// Every datagram that has passed: from the client or not, and its bytes.
    pub seen: Vec<(bool, Vec<u8>)>,
    pub client_events: Vec<Event>,
    pub server_events: Vec<Event>,
}

impl Two {
    pub fn new(client: Config, server: Config) -> Self {
        let now = Time::ZERO + Span::from_secs(1000);
        Two {
            now,
            client: Associations::new(now, client, seeded("client")),
            server: Associations::new(now, Config { accepts: true, ..server }, seeded("server")),
            seen: Vec::new(),
            client_events: Vec::new(),
            server_events: Vec::new(),
        }
    }

    /// Lets packets pass until nobody has anything to do. `path` sees each, and may alter it, or drop it by saying no.
    pub fn settle(&mut self, mut path: impl FnMut(bool, &mut Vec<u8>) -> bool) {
        for _ in 0..1000 {
            let mut quiet = true;
            while let Some((to, mut packet)) = self.client.poll_transmit() {
                assert_eq!(to, server());
                quiet = false;
                if path(true, &mut packet) {
                    self.seen.push((true, packet.clone()));
                    self.server.handle_datagram(self.now, client(), &mut packet);
                }
            }
            while let Some((to, mut packet)) = self.server.poll_transmit() {
                assert_eq!(to, client());
                quiet = false;
                if path(false, &mut packet) {
                    self.seen.push((false, packet.clone()));
                    self.client.handle_datagram(self.now, server(), &mut packet);
                }
            }
            self.client_events.extend(std::iter::from_fn(|| self.client.poll_event()));
            self.server_events.extend(std::iter::from_fn(|| self.server.poll_event()));
            if quiet {
                // Attempts have something to do within eight seconds; idle associations later.
                let soon = self.now + Span::from_secs(40);
                let Some(next) = self.client.poll_timeout().filter(|next| *next < soon) else { return };
                self.now = next.max(self.now + RTT);
                self.client.handle_timeout(self.now);
                self.server.handle_timeout(self.now);
            }
        }
        panic!("never at rest");
    }

    /// A sealed packet from the client.
    pub fn seal(&mut self, id: u32, text: &[u8]) -> Vec<u8> {
        sealed(&mut self.client, id, text)
    }

    /// The association's number at the client, with the server's after a first sealed packet.
    pub fn opened(&mut self) -> (u32, u32) {
        let Some(Event::Opened { id, .. }) = self.client_events.first() else {
            panic!("{:?}", self.client_events)
        };
        let client_id = *id;
        let mut packet = self.seal(client_id, b"first packet");
        let (server_id, contents) =
            self.server.handle_datagram(self.now, client(), &mut packet).expect("opens");
        assert_eq!(&packet[contents], b"first packet");
        self.server_events.extend(std::iter::from_fn(|| self.server.poll_event()));
        (client_id, server_id)
    }
}

pub fn sealed(associations: &mut Associations, id: u32, text: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; HEADER_LEN];
    packet.extend_from_slice(text);
    associations.get_mut(id).expect("open").seal(&mut packet, 0);
    packet
}

pub fn shared() -> Keys {
    Keys::generate_shared()
}

/// Keys of two hosts that know each other.
pub fn pair() -> (Keys, Keys) {
    let ((Keys::Pair { private: a, .. }, a_public), (Keys::Pair { private: b, .. }, b_public)) =
        (Keys::generate_pair(), Keys::generate_pair())
    else {
        unreachable!("pairs")
    };
    (Keys::Pair { private: a, peers: vec![b_public] }, Keys::Pair { private: b, peers: vec![a_public] })
}
