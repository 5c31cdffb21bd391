//! Any order of datagrams, losses, repeats, forgeries, address changes and restarts between two hosts' associations: packets that
//! can be decrypted were sealed by the peer and are accepted once, memory is bounded, and unknown hosts receive no more than they
//! send.
//!
//! Follows docs/stp-hosts.md and RFC 9000 §8.1. The first byte is the configuration, then each event has two.
//! Differs from the tests: nothing is fair. The key pairs come from the operating system, everything else from the case.
//! Leaves out sockets and STP's packets, which `stp_pair` drives.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_chance::{Seed, Stream};
use skyhop_live::associations::{Associations, Config, Event};
use skyhop_live::entropy::Entropy;
use skyhop_live::handshake::kind;
use skyhop_live::keys::Keys;
use skyhop_live::seal::{Cipher, HEADER_LEN};
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};

const CONNECTS_MAX: usize = 12;
const HALF_OPEN_MAX: usize = 4;
const ASSOCIATIONS_MAX: usize = 3;

fuzz_target!(|bytes: &[u8]| {
    let Some((&config, mut events)) = bytes.split_first() else { return };
    let mut net = Net::new(config);
    while let [what, how, rest @ ..] = events {
        events = net.happens(*what, *how, rest);
        net.check();
    }
    net.let_through();
});

struct Datagram {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// Of one stream for both hosts.
struct Seeded(Mutex<Stream>);

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) {
        let mut stream = self.0.lock().expect("nobody has panicked");
        bytes.fill_with(|| stream.bits() as u8);
    }
}

struct Net {
    now: Time,
    configs: [Config; 2],
    hosts: [Associations; 2],
    entropy: Arc<dyn Entropy>,
    /// Where the first host is now; the other does not move.
    place: u8,
    /// On their way to either host.
    ways: [VecDeque<Datagram>; 2],
    /// Contents that each host has sealed, and those of them that the other has opened.
    sealed: [BTreeSet<Vec<u8>>; 2],
    opened: [BTreeSet<Vec<u8>>; 2],
    serial: u64,
    /// How often an attempt of the first host has come to an end; attempts that it gave up are taken out.
    attempts: BTreeMap<u32, u32>,
    connects: usize,
}

fn address(host: usize, place: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, host as u8, place % 4], 4_000))
}

/// Kept, since pairs are drawn: both hosts know each other, and one of them a third.
fn keys() -> &'static [Keys; 4] {
    static KEYS: OnceLock<[Keys; 4]> = OnceLock::new();
    KEYS.get_or_init(|| {
        let ((Keys::Pair { private: a, .. }, a_public), (Keys::Pair { private: b, .. }, b_public)) =
            (Keys::generate_pair(), Keys::generate_pair())
        else {
            unreachable!("pairs")
        };
        let shared = Keys::Shared([7; 32].into());
        [
            shared.clone(),
            shared,
            Keys::Pair { private: a, peers: vec![b_public] },
            Keys::Pair { private: b, peers: vec![a_public] },
        ]
    })
}

impl Net {
    fn new(choice: u8) -> Self {
        let now = Time::ZERO + Span::from_secs(1_000);
        let config = |host: usize| {
            let pair = choice & 1 != 0;
            // Once in a while the second host has other keys, or another kind.
            let other = choice & 0xc0 == 0xc0 && host == 1;
            let mut config = Config::new(keys()[2 * usize::from(pair ^ other) + host].clone());
            config.sealing.cipher = [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305][(choice >> 1 & 1) as usize];
            config.sealing.replay_window = 64;
            config.sealing.epoch_bits = if choice & 4 != 0 { 3 } else { 20 };
            config.cookie_above = if choice & 8 != 0 { 0 } else { 2 };
            config.accepts = host == 1 || choice & 16 != 0;
            config.half_open_max = HALF_OPEN_MAX;
            config.associations_max = ASSOCIATIONS_MAX;
            config.key_log = choice & 32 != 0;
            config
        };
        let configs = [config(0), config(1)];
        let entropy: Arc<dyn Entropy> = Arc::new(Seeded(Mutex::new(Seed(1).stream("hosts"))));
        Self {
            now,
            hosts: configs.clone().map(|config| Associations::new(now, config, entropy.clone())),
            entropy,
            configs,
            place: 0,
            ways: Default::default(),
            sealed: Default::default(),
            opened: Default::default(),
            serial: 0,
            attempts: BTreeMap::new(),
            connects: 0,
        }
    }

    fn at(&self, host: usize) -> SocketAddr {
        address(host, if host == 0 { self.place } else { 0 })
    }

    fn happens<'a>(&mut self, what: u8, how: u8, rest: &'a [u8]) -> &'a [u8] {
        let to = (what >> 7) as usize;
        let n = how as usize;
        let taken = &rest[..(n % 64).min(rest.len())];
        match what % 16 {
            0 | 1 => self.arrives(to),
            2 if self.connects < CONNECTS_MAX => {
                self.connects += 1;
                let id = self.hosts[0].connect(self.now, self.at(1)).expect("these keys are keys");
                self.attempts.insert(id, 0);
            }
            3 | 4 => {
                // At least as long as a packet of STP; the serial number makes each of them another.
                self.serial += 1;
                let mut text = [&[1 - to as u8; 8][..], &self.serial.to_be_bytes()].concat();
                text.resize(16 + n, how);
                self.seals(1 - to, n, &text);
                self.sealed[1 - to].insert(text);
            }
            5 => {
                // Messages of a peer that has the key, other than STP: control messages, and nonsense of their lengths.
                self.seals(1 - to, n >> 4, &taken[..taken.len().min(11)]);
                return &rest[taken.len()..];
            }
            6 => drop(self.ways[to].pop_front()),
            7 => {
                let again = self.ways[to].front().map(|d| Datagram { bytes: d.bytes.clone(), ..*d });
                self.ways[to].extend(again);
            }
            8 => self.ways[to].rotate_left(n.min(self.ways[to].len())),
            9 => {
                if let Some(datagram) = self.ways[to].front_mut() {
                    let at = n % datagram.bytes.len().max(1);
                    datagram.bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= what | 1);
                }
            }
            10 => {
                if let Some(datagram) = self.ways[to].front_mut() {
                    datagram.bytes.truncate(n);
                }
            }
            11 => {
                let steps = [1u64, 20, 300, 1_000, 3_000, 10_000, 31_000, 200_000];
                self.now += Span::from_millis(steps[n % 8]);
                self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
            }
            12 => self.place = how,
            13 => {
                // A stranger's, of any kind.
                let bytes = [&[how >> 5][..], taken].concat();
                self.hands(to, Datagram { from: address(9, how), to: self.at(to), bytes });
                return &rest[taken.len()..];
            }
            14 => match how % 4 {
                0 => {
                    self.hosts[1] = Associations::new(self.now, self.configs[1].clone(), self.entropy.clone());
                }
                1 => {
                    // Of ICMP, about the first packet on its way from there, or about none.
                    let (from, quote) = (self.at(1 - to), self.ways[1 - to].front().map(|d| d.bytes.clone()));
                    self.hosts[to].handle_unreachable(self.now, from, &quote.unwrap_or_default());
                }
                2 => {
                    let id = self.hosts[to].ids().nth(n >> 3);
                    if let Some(id) = id {
                        match n & 4 {
                            0 => self.hosts[to].forget(id),
                            _ => self.hosts[to].set_used(self.now, id, n & 8 != 0),
                        }
                    }
                }
                _ => {
                    if let Some(id) = self.attempts.keys().nth(n >> 2).copied() {
                        self.hosts[0].forget(id);
                        self.attempts.remove(&id);
                    }
                }
            },
            15 => {
                // Back to where it came from, or as if from elsewhere.
                if let Some(mut datagram) = self.ways[to].pop_front() {
                    if n & 1 == 0 {
                        (datagram.from, datagram.to) = (datagram.to, datagram.from);
                        self.ways[1 - to].push_back(datagram);
                    } else {
                        datagram.from = address(9, how);
                        self.ways[to].push_back(datagram);
                    }
                }
            }
            _ => {}
        }
        self.drain();
        rest
    }

    fn seals(&mut self, host: usize, nth: usize, text: &[u8]) {
        let Some(id) = self.hosts[host].ids().nth(nth % 4) else { return };
        let association = self.hosts[host].get_mut(id).expect("it is open");
        let to = association.peer;
        let mut bytes = vec![0; HEADER_LEN];
        bytes.extend_from_slice(text);
        association.seal(&mut bytes, 0);
        let from = self.at(host);
        self.ways[1 - host].push_back(Datagram { from, to, bytes });
    }

    fn arrives(&mut self, to: usize) {
        let Some(datagram) = self.ways[to].pop_front() else { return };
        // A datagram to an address that the host has left is lost.
        if datagram.to == self.at(to) {
            self.hands(to, datagram);
        }
    }

    fn hands(&mut self, to: usize, Datagram { from, mut bytes, .. }: Datagram) {
        self.drain();
        let (len, first) = (bytes.len(), bytes.first().copied());
        if let Some((id, contents)) = self.hosts[to].handle_datagram(self.now, from, &mut bytes) {
            assert!(self.hosts[to].get_mut(id).is_some(), "of an association that is not open");
            let contents = bytes[contents].to_vec();
            assert!(self.sealed[1 - to].contains(&contents), "nobody has sealed this");
            assert!(self.opened[to].insert(contents), "it opens a second time");
        }
        let known = [kind::SEALED, kind::ANSWER, kind::COOKIE, kind::REFUSED, kind::UNKNOWN];
        if first.is_none_or(|first| !known.contains(&first)) {
            let mut out = 0;
            while let Some((to_whom, bytes)) = self.hosts[to].poll_transmit() {
                out += bytes.len();
                self.sends(to, to_whom, bytes);
            }
            assert!(out <= len, "{out} bytes for {len} of kind {first:?}");
        }
    }

    fn sends(&mut self, host: usize, to: SocketAddr, bytes: Vec<u8>) {
        let from = self.at(host);
        if self.ways[1 - host].len() < 256 {
            self.ways[1 - host].push_back(Datagram { from, to, bytes });
        }
    }

    fn drain(&mut self) {
        for host in 0..2 {
            for burst in 0.. {
                let Some((to, bytes)) = self.hosts[host].poll_transmit() else { break };
                assert!(burst < 1_025, "an endless burst");
                self.sends(host, to, bytes);
            }
            while let Some(event) = self.hosts[host].poll_event() {
                if let (0, Event::Opened { id, .. } | Event::Failed { id, .. }) = (host, event)
                    && let Some(outcomes) = self.attempts.get_mut(&id)
                {
                    *outcomes += 1;
                }
            }
        }
    }

    fn check(&mut self) {
        for host in &self.hosts {
            assert!(host.half_open() <= HALF_OPEN_MAX);
            assert!(host.ids().count() <= ASSOCIATIONS_MAX + HALF_OPEN_MAX + 2 * CONNECTS_MAX);
        }
        assert!(self.attempts.values().all(|outcomes| *outcomes <= 1), "two ends of one attempt");
    }

    /// From here on all arrives: each attempt comes to an end, and nobody talks for ever.
    fn let_through(&mut self) {
        for _ in 0..400 {
            for to in 0..2 {
                for _ in 0..self.ways[to].len() {
                    self.arrives(to);
                    self.drain();
                }
            }
            self.now += Span::from_secs(1);
            self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
            self.drain();
            self.check();
        }
        assert!(self.attempts.values().all(|outcomes| *outcomes == 1), "an attempt without an end");
        assert!(self.ways.iter().all(VecDeque::is_empty), "they still talk");
        assert_eq!(self.hosts[1].half_open(), 0, "remembered for ever");
    }
}
