//! A hub whose memory a user holds: the user's new connections wait, and are opened when there is room, or refused in the end.
//!
//! Follows docs/gateway.md, "Memory", and a terminal that intercepts connections, whose preambles name the users.
//! Differs from `skyhop-cli`'s test of users, in which they wait at the terminal.

#![allow(clippy::disallowed_methods, reason = "what runs here is stepped by the clock")]

#[allow(dead_code, reason = "terminals of other tests measure more")]
mod common;

use common::{Folder, Hub, Terminal, clock, port};
use polling::{Events, Poller};
use skyhop_live::engine::Event;
use skyhop_live::keys::Keys;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::{Class, TrunkEvent};
use skyhop_units::Time;
use std::collections::BTreeSet;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The hub's patience, in seconds: far less than the 10 s for which its memory may be used up.
const PATIENCE: u64 = 4;
/// Places of one user among the first windows that are a quarter of 2 MB: half of them.
const PLACES: usize = 15;

#[test]
#[ignore = "a program of the other tests"]
fn hub() {
    common::run_hub();
}

/// A server that reads only while the switch is on, and lists the first bytes of connections in the order in which they came.
fn server(reads: Arc<AtomicBool>, came: Arc<Mutex<Vec<u8>>>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    // The kernel takes little of what nobody reads.
    socket2::SockRef::from(&listener).set_recv_buffer_size(4096).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (reads, mut first) = (reads.clone(), [0]);
            assert_eq!(stream.peek(&mut first).unwrap(), 1);
            came.lock().unwrap().push(first[0]);
            std::thread::spawn(move || {
                let mut buffer = [0; 65_536];
                loop {
                    match reads.load(Ordering::Relaxed) {
                        true if !matches!(stream.read(&mut buffer), Ok(1..)) => return,
                        true => {}
                        false => std::thread::sleep(Duration::from_millis(20)),
                    }
                }
            });
        }
    });
    address
}

struct World<C> {
    terminal: Terminal,
    poller: Poller,
    now: C,
    server: SocketAddr,
    /// Streams without an answer.
    asks: BTreeSet<u64>,
    /// Answers, in the order in which they came.
    answers: Vec<(u64, Answer)>,
}

impl<C: Fn() -> Time + Copy> World<C> {
    fn steps(&mut self, most: Duration, mut over: impl FnMut(&Self) -> bool) -> bool {
        let begun = Instant::now();
        while !over(self) {
            if begun.elapsed() >= most {
                return false;
            }
            self.poller.wait(&mut Events::new(), Some(Duration::from_millis(2))).unwrap();
            self.terminal.receive(&self.now).unwrap();
            let at = (self.now)();
            self.terminal.engine.handle_timeout(at);
            self.handle_events();
            self.terminal.send(at).unwrap();
        }
        true
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.terminal.engine.poll_event() {
            match event {
                Event::Up { id, .. } => self.terminal.link = Some(id),
                Event::Stream(link, TrunkEvent::Received(id, _)) => {
                    let trunk = self.terminal.engine.trunk(link).unwrap();
                    let Some(answer) = trunk.read(id, 1) else { continue };
                    if self.asks.remove(&id) {
                        self.answers.push((id, Answer::from_number(answer[0])));
                    }
                }
                _ => {}
            }
        }
    }

    /// Opens a connection of a user, from another address of the user's /64 each time, with an upload of 8 MB of the stream's number.
    fn open(&mut self, user: u8) -> u64 {
        let trunk = self.terminal.link.and_then(|link| self.terminal.engine.trunk(link)).unwrap();
        let id = trunk.open(Class::default()).expect("a stream");
        let source = Some(SocketAddr::from(([0xfd00, 0, 0, user.into(), 0, 0, 0, id as u16], 5000)));
        let mut bytes = Vec::new();
        Preamble { source, ..Preamble::to(Destination::Address(self.server)) }.emit(&mut bytes);
        bytes.extend([id as u8; 8_000_000]);
        trunk.write(id, bytes.into());
        self.asks.insert(id);
        id
    }

    /// The answer to a stream, after this time at most.
    fn answer(&mut self, id: u64, most: Duration) -> Option<Answer> {
        self.steps(most, |world| !world.asks.contains(&id));
        self.answers.iter().find(|(of, _)| *of == id).map(|(_, answer)| *answer)
    }

    /// Opens connections of a user until one is not answered at once. Returns it.
    fn hoard(&mut self, user: u8) -> u64 {
        for _ in 0..100 {
            let id = self.open(user);
            match self.answer(id, Duration::from_secs(1)) {
                None => return id,
                answer => assert_eq!(answer, Some(Answer::Connected)),
            }
            self.wait_for_stop(id);
        }
        panic!("the memory is never used up");
    }

    /// Waits until the kernel and the hub have taken as much of a stream's data as they do.
    fn wait_for_stop(&mut self, id: u64) {
        let trunk = self.terminal.link.unwrap();
        let mut before = u64::MAX;
        for _ in 0..100 {
            let left = self.terminal.engine.trunk(trunk).unwrap().unacknowledged(id);
            if left == before {
                return;
            }
            before = left;
            self.steps(Duration::from_millis(200), |_| false);
        }
        panic!("the data of stream {id} are all taken");
    }
}

#[test]
fn new_connections_wait_at_a_hub_until_their_user_has_memory() {
    let folder = Folder(std::env::temp_dir().join(format!("skyhop-memory-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let (poller, now) = (Poller::new().unwrap(), clock());
    let (hub_keys, hub_public) = Keys::generate_pair();
    hub_keys.write(&folder.0.join("hub.key")).unwrap();
    let hub_at = SocketAddr::from((Ipv4Addr::LOCALHOST, port()));
    let (terminal, key) = Terminal::new(&folder.0, 0, hub_public, &poller, now()).unwrap();
    let file = format!(
        "role = \"hub\"\nkey = \"hub.key\"\nlisten = \"{hub_at}\"\nmemory = \"2 MB\"\nallow = [\"127.0.0.0/8\"]\n\
         connect_timeout = \"{PATIENCE} s\"\n[terminals.home]\nkey = \"{key}\"\n"
    );
    std::fs::write(folder.0.join("hub.toml"), file).unwrap();
    let mut hub = Hub::start(&folder.0);
    std::thread::sleep(Duration::from_millis(500));
    let reads = Arc::new(AtomicBool::new(false));
    let came = Arc::new(Mutex::new(Vec::new()));
    let server = server(reads.clone(), came.clone());
    let mut world = World { terminal, poller, now, server, asks: BTreeSet::new(), answers: Vec::new() };
    assert!(world.terminal.engine.connect(now(), hub_at).is_some());
    assert!(world.steps(Duration::from_secs(30), |world| world.terminal.link.is_some()));

    let first = world.hoard(2);
    let begun = Instant::now();
    let open = world.answers.len();
    let other = world.open(3);
    assert_eq!(world.answer(other, Duration::from_secs(30)), Some(Answer::Connected), "another /64");
    let more: Vec<u64> = (0..PLACES + 5).map(|_| world.open(2)).collect();
    assert!(world.steps(Duration::from_secs(30), |world| world.answers.len() >= open + 1 + 6));
    let refused: Vec<_> = world.answers[open + 1..].to_vec();
    // The first has a place too.
    let beyond: Vec<_> = more[PLACES - 1..].iter().map(|id| (*id, Answer::Full)).collect();
    assert_eq!(refused, beyond, "those for which there is no place");
    // Nothing ends, so that the rest are refused in the end, too.
    assert_eq!(world.answer(first, Duration::from_secs(30)), Some(Answer::Full));
    let waited = begun.elapsed().as_secs_f64();
    assert!(waited > PATIENCE as f64 - 2.0, "refused after {waited} s");
    assert!(world.steps(Duration::from_secs(30), |world| world.asks.is_empty()));

    let mut waiting = vec![world.hoard(2)];
    waiting.extend((1..PLACES).map(|_| world.open(2)));
    assert!(!world.steps(Duration::from_millis(500), |world| world.asks.len() < PLACES), "one has an answer");
    let open = world.answers.len();
    reads.store(true, Ordering::Relaxed);
    assert!(world.steps(Duration::from_secs(30), |world| world.asks.is_empty()));
    assert!(world.answers[open..].iter().all(|(_, answer)| *answer == Answer::Connected));
    let connected = world.answers.iter().filter(|(_, answer)| *answer == Answer::Connected).count();
    assert!(world.steps(Duration::from_secs(30), |_| came.lock().unwrap().len() == connected));
    let came = came.lock().unwrap();
    let last: Vec<u64> = came[came.len() - PLACES..].iter().copied().map(u64::from).collect();
    assert_eq!(last, waiting, "in the order in which they came");
    hub.check();
}
