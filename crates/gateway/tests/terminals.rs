//! A hub with many idle terminals and some busy ones, each with its own key, socket and association, on loopback.
//!
//! Follows the terminal's side of `skyhop_gateway`, with `skyhop_live::engine` alone: the hub, a daemon, is measured.
//! Differs from terminals: all of them are one process, and their connections have no client.
//! A thousand terminals: `cargo test --release -p skyhop-gateway --test terminals -- --ignored --nocapture a_thousand`.

#![allow(clippy::disallowed_methods, reason = "what runs here is stepped by the clock")]

mod common;

use common::{Folder, Hub, Terminal, clock, port};
use polling::{Events, Poller};
use skyhop_live::engine::Event;
use skyhop_live::keys::Keys;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::{Class, TrunkEvent};
use skyhop_units::Time;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

/// The hub's rate to all terminals together, and to the first one, bits per second.
const RATE: f64 = 20e6;
const FIRST_RATE: f64 = 0.2e6;

/// Sends zeros to each client until it has the requested bytes.
fn source() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                while stream.write_all(&[0; 65_536]).is_ok() {}
            });
        }
    });
    Ok(address)
}

#[test]
fn two_hundred_terminals_share_a_hub() {
    share(190, 10, 4);
}

#[test]
#[ignore = "two minutes: a row of docs/gateway.md"]
fn a_thousand_terminals_share_a_hub() {
    share(1000, 50, 20);
}

/// Terminals with keys, and the hub's file that lists them.
fn terminals(
    folder: &Path,
    count: usize,
    poller: &Poller,
    now: Time,
) -> io::Result<(SocketAddr, Vec<Terminal>)> {
    let (hub_keys, hub_public) = Keys::generate_pair();
    hub_keys.write(&folder.join("hub.key")).expect("a folder");
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port()));
    let mut file = format!(
        "role = \"hub\"\nkey = \"hub.key\"\nlisten = \"{at}\"\nmemory = \"16 MB\"\nallow = [\"127.0.0.0/8\"]\nrate = \"{} Mbit/s\"\n",
        RATE / 1e6
    );
    let mut terminals = Vec::new();
    for n in 0..count {
        let (terminal, public) = Terminal::new(folder, n, hub_public, poller, now)?;
        write!(file, "[terminals.t{n}]\nkey = \"{public}\"\n").expect("text");
        if n == 0 {
            writeln!(file, "rate = \"{} Mbit/s\"", FIRST_RATE / 1e6).expect("text");
        }
        terminals.push(terminal);
    }
    std::fs::write(folder.join("hub.toml"), file)?;
    Ok((at, terminals))
}

#[test]
#[ignore = "a program of the other tests"]
fn hub() {
    common::run_hub();
}

fn share(idle: usize, busy: usize, seconds: u64) {
    let folder = Folder(std::env::temp_dir().join(format!("skyhop-terminals-{}-{idle}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let source = source().unwrap();
    let (poller, now) = (Poller::new().unwrap(), clock());
    let (at, terminals) = terminals(&folder.0, idle + busy, &poller, now()).unwrap();
    let mut hub = Hub::start(&folder.0);
    std::thread::sleep(Duration::from_millis(500));
    let alone = hub.usage().0;
    let mut world = World { terminals, poller, at, source, busy: 0 };
    // A few dozen at a time, as terminals would reconnect after a restart of the hub.
    let begun = Instant::now();
    for n in 0..world.terminals.len() {
        assert!(world.terminals[n].engine.connect(now(), at).is_some(), "a key is no key");
        if n % 32 == 31 {
            world.step(now, Duration::from_millis(20)).unwrap();
        }
    }
    while world.up() < idle + busy && begun.elapsed() < Duration::from_secs(60) {
        world.step(now, Duration::from_millis(20)).unwrap();
        hub.check();
    }
    let took = begun.elapsed().as_secs_f64();
    println!("{} of {} associations are open after {took:.1} s", world.up(), idle + busy);
    assert_eq!(world.up(), idle + busy);
    let (memory, before) = hub.usage();
    let then = Instant::now();
    world.steps(now, seconds);
    let spent = (hub.usage().1 - before) as f64 / 100.0 / then.elapsed().as_secs_f64();
    let each = memory.saturating_sub(alone) as f64 / 1024.0 / (idle + busy) as f64;
    println!(
        "hub: {:.1} MB, {each:.1} kB each, {spent:.3} of a processor while all are idle",
        memory as f64 / 1048576.0
    );
    assert!(spent < 0.1, "idle terminals cost nothing");
    world.busy = busy;
    for terminal in &mut world.terminals[..busy] {
        terminal.open(source);
    }
    // Packets to terminals that others keep from running are lost: five tries, of which one has to be undisturbed.
    for attempt in 1.. {
        if shared(&mut world, &hub, now, (busy, seconds), attempt == 5) {
            break;
        }
    }
    let lost = world.terminals.iter().filter(|terminal| terminal.lost).count();
    assert_eq!((world.up(), lost), (idle + busy, 0), "those that are open at the end, and lost ones");
}

/// Rates of the busy terminals: true if the first has its own and the others have shared the rest; at last they must have.
fn shared(
    world: &mut World,
    hub: &Hub,
    now: impl Fn() -> Time + Copy,
    (busy, seconds): (usize, u64),
    last: bool,
) -> bool {
    world.steps(now, seconds);
    let before: Vec<u64> = world.terminals[..busy].iter().map(|terminal| terminal.received).collect();
    let (then, ticks) = (Instant::now(), hub.usage().1);
    world.steps(now, 2 * seconds);
    let took = then.elapsed().as_secs_f64();
    let rates: Vec<f64> = world.terminals[..busy]
        .iter()
        .zip(before)
        .map(|(terminal, before)| (terminal.received - before) as f64 * 8.0 / took)
        .collect();
    let (first, others) = (rates[0], &rates[1..]);
    let (sum, squares) = (others.iter().sum::<f64>(), others.iter().map(|n| n * n).sum::<f64>());
    let jain = sum * sum / (others.len() as f64 * squares);
    let spent = (hub.usage().1 - ticks) as f64 / 100.0 / took;
    let (all, memory) = ((sum + first) / RATE, hub.usage().0 as f64 / 1048576.0);
    println!(
        "{busy} busy: {all:.3} of the rate, Jain {jain:.3}, the first {:.3} of its own; hub {memory:.1} MB and {spent:.2} of a processor",
        first / FIRST_RATE
    );
    // Of 1500 bytes 1422 are data, at most; a busy machine may leave a part of the rate unused.
    if (0.7..0.96).contains(&all) && (0.7..0.98).contains(&(first / FIRST_RATE)) && jain >= 0.95 {
        return true;
    }
    println!("repeated: {rates:?}");
    assert!(
        !last,
        "{all} of the hub's rate, {first} bit/s to a terminal of {FIRST_RATE}, Jain {jain}: {rates:?}"
    );
    false
}

struct World {
    terminals: Vec<Terminal>,
    poller: Poller,
    at: SocketAddr,
    source: SocketAddr,
    busy: usize,
}

impl World {
    fn up(&self) -> usize {
        self.terminals.iter().filter(|terminal| terminal.link.is_some()).count()
    }

    fn steps(&mut self, now: impl Fn() -> Time + Copy, seconds: u64) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds) {
            self.step(now, Duration::from_millis(20)).unwrap();
        }
    }

    /// Waits for packets and timers, and handles them.
    fn step(&mut self, now: impl Fn() -> Time, most: Duration) -> io::Result<()> {
        let mut events = Events::new();
        let due = self.terminals.iter().filter_map(|terminal| terminal.engine.poll_timeout()).min();
        let wait = due.map_or(most, |due| Duration::from_nanos(due.since(now()).as_nanos()).min(most));
        self.poller.wait(&mut events, Some(wait))?;
        for event in events.iter() {
            self.terminals[event.key].receive(&now)?;
        }
        for terminal in &mut self.terminals {
            let at = now();
            if terminal.engine.poll_timeout().is_some_and(|due| due <= at) {
                terminal.engine.handle_timeout(at);
            }
            terminal.handle_events(self.at);
            terminal.send(at)?;
        }
        for terminal in &mut self.terminals[..self.busy] {
            if terminal.stream.is_none() && !terminal.lost {
                terminal.open(self.source);
            }
        }
        Ok(())
    }
}

/// A download.
trait Download {
    fn handle_events(&mut self, hub: SocketAddr);
    fn read(&mut self, link: u32, id: u64);
    fn open(&mut self, to: SocketAddr);
}

impl Download for Terminal {
    fn handle_events(&mut self, hub: SocketAddr) {
        while let Some(event) = self.engine.poll_event() {
            match event {
                Event::Up { id, peer, .. } if peer == hub => self.link = Some(id),
                Event::Down { .. } | Event::Failed { .. } => (self.link, self.lost) = (None, true),
                Event::Stream(link, TrunkEvent::Received(id, _)) => self.read(link, id),
                Event::Stream(_, TrunkEvent::Reset(..) | TrunkEvent::PeerFinished(_)) => self.lost = true,
                _ => {}
            }
        }
    }

    fn read(&mut self, link: u32, id: u64) {
        let Some(trunk) = self.engine.trunk(link) else { return };
        while let Some(data) = trunk.read(id, 256 << 10) {
            if !self.answered {
                self.answered = true;
                self.lost |= Answer::from_number(data[0]) != Answer::Connected;
            }
            self.received += data.len() as u64;
        }
    }

    /// Opens a connection to a server behind the hub.
    fn open(&mut self, to: SocketAddr) {
        let Some(trunk) = self.link.and_then(|link| self.engine.trunk(link)) else { return };
        let Some(id) = trunk.open(Class::default()) else { return };
        let mut bytes = Vec::new();
        Preamble::to(Destination::Address(to)).emit(&mut bytes);
        trunk.write(id, bytes.into());
        self.stream = Some(id);
    }
}
