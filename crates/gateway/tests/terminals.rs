//! A hub with many idle terminals and some busy ones, each with its own key, socket and association, on loopback.
//!
//! Follows the terminal's side of `skyhop_gateway`, with `skyhop_live::engine` alone: the hub, a daemon, is measured.
//! Differs from terminals: all of them are one process, and their connections have no client.
//! A thousand terminals: `cargo test --release -p skyhop-gateway --test terminals -- --ignored --nocapture a_thousand`.

#![allow(clippy::disallowed_methods, reason = "what runs here is stepped by the clock")]

use polling::{Event as PollEvent, Events, PollMode, Poller};
use skyhop_gateway::Config as HubConfig;
use skyhop_live::batch::Batch;
use skyhop_live::engine::{Config, Engine, Event};
use skyhop_live::entropy::SystemEntropy;
use skyhop_live::keys::Keys;
use skyhop_live::socket::{Carrier, Socket};
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::{Class, TrunkEvent};
use skyhop_units::{Span, Time};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The hub's rate to all terminals together, and to the first one, bits per second.
const RATE: f64 = 20e6;
const FIRST_RATE: f64 = 0.2e6;

/// A terminal.
struct Terminal {
    engine: Engine,
    socket: Socket,
    batch: Batch,
    link: Option<u32>,
    stream: Option<u64>,
    answered: bool,
    received: u64,
    lost: bool,
}

/// The hub process, which is killed with this process.
struct Hub(Child, PathBuf);

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Hub {
    fn start(folder: &Path) -> Self {
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--exact", "hub", "--nocapture"])
            .env("SKYHOP_TEST_HUB", folder.join("hub.toml"));
        Hub(command.stdout(Stdio::null()).stderr(log).spawn().unwrap(), folder.join("log"))
    }

    /// Fails with its log if it has ended.
    fn check(&mut self) {
        if let Some(status) = self.0.try_wait().unwrap() {
            panic!("the hub has ended, {status}: {}", std::fs::read_to_string(&self.1).unwrap_or_default());
        }
    }

    /// Memory in bytes, and processor time in hundredths of a second, of the hub.
    fn usage(&self) -> (u64, u64) {
        let folder = format!("/proc/{}", self.0.id());
        let status = std::fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
        let memory = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        let stat = std::fs::read_to_string(format!("{folder}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks =
            fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        (memory.unwrap_or(0) * 1024, ticks)
    }
}

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

#[test]
#[ignore = "a program of the other tests"]
fn hub() {
    let Some(path) = std::env::var_os("SKYHOP_TEST_HUB").map(PathBuf::from) else { return };
    let config = HubConfig::read(&path).expect("a file");
    skyhop_gateway::run(path, config, None, Box::new(|line| eprintln!("{line}"))).expect("an end");
}

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A free port below those that the kernel gives to the sockets of a thousand terminals, which take up a part of its range.
fn port() -> u16 {
    let first = 20_000 + (std::process::id() % 8000) as u16;
    (first..).find(|port| UdpSocket::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()).expect("a free port")
}

/// The clock of the terminals.
fn clock() -> impl Fn() -> Time + Copy {
    let started = Instant::now();
    move || Time::ZERO + Span::from_secs(1) + Span::from_nanos(started.elapsed().as_nanos() as u64)
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
        let (keys, public) = Keys::generate_pair();
        write!(file, "[terminals.t{n}]\nkey = \"{public}\"\n").expect("text");
        if n == 0 {
            writeln!(file, "rate = \"{} Mbit/s\"", FIRST_RATE / 1e6).expect("text");
        }
        let path = folder.join(format!("t{n}.key"));
        keys.write(&path).expect("a folder");
        let mut config = Config::new(Keys::read_own(&path, vec![hub_public]).expect("a key"));
        config.budgets.stream_window = 4 << 20;
        config.budgets.first_window = 1 << 20;
        let socket = Socket::bind(Carrier::Udp, (Ipv4Addr::LOCALHOST, 0).into(), 1 << 20)?;
        // SAFETY: the sockets live as long as the poller.
        unsafe { poller.add_with_mode(socket.io(), PollEvent::readable(n), PollMode::Level)? };
        let batch = Batch::new(socket.segments_max());
        let engine = Engine::new(now, config, Arc::new(SystemEntropy));
        let fresh = (None, None, false, 0, false);
        let (link, stream, answered, received, lost) = fresh;
        terminals.push(Terminal { engine, socket, batch, link, stream, answered, received, lost });
    }
    std::fs::write(folder.join("hub.toml"), file)?;
    Ok((at, terminals))
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
    world.steps(now, seconds);
    let spent = (hub.usage().1 - before) as f64 / 100.0 / seconds as f64;
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
    let lost = world.terminals.iter().filter(|terminal| terminal.lost).count();
    assert_eq!((world.up(), lost), (idle + busy, 0), "those that are open at the end, and lost ones");
    // Of 1500 bytes 1422 are data, at most; a busy machine may leave a part of the rate unused.
    assert!((0.7..0.96).contains(&all), "{all} of the hub's rate");
    assert!((0.7..0.98).contains(&(first / FIRST_RATE)), "{first} bit/s to a terminal of {FIRST_RATE}");
    assert!(jain >= 0.95, "{jain}: {rates:?}");
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

impl Terminal {
    fn receive(&mut self, now: &impl Fn() -> Time) -> io::Result<()> {
        for _ in 0..8 {
            let runs = self.socket.receive()?;
            if runs == 0 {
                break;
            }
            let at = now();
            for run in 0..runs {
                let (from, to, datagrams) = self.socket.received(run);
                for datagram in datagrams {
                    if self.engine.handle_datagram(at, from, to, datagram) {
                        self.engine.fill(at, &mut self.batch);
                    }
                }
            }
        }
        Ok(())
    }

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

    fn send(&mut self, now: Time) -> io::Result<()> {
        self.engine.fill(now, &mut self.batch);
        while let Some(part) = self.batch.next().copied() {
            match self.socket.send(&self.batch.buffer, &part) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // A packet that cannot be sent counts as lost on the path.
                _ => self.batch.advance(),
            }
        }
        Ok(())
    }
}
