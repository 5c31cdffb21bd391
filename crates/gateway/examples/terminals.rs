//! A hub with a thousand idle terminals and fifty busy ones, each with its own key, socket and association.
//!
//! Follows the terminal's side of `skyhop_gateway`, with `skyhop_live::engine` alone: the hub, a daemon, is measured.
//! Differs from terminals: all of them are one process, and their connections have no client.
//! `cargo run --release -p skyhop-gateway --example terminals -- [IDLE [BUSY [SECONDS]]]`, with the command built (`SKYHOP` names it).

#![allow(clippy::disallowed_methods, reason = "what runs here is stepped by the clock")]

use polling::{Event as PollEvent, Events, PollMode, Poller};
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
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

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
struct Hub(Child);

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Hub {
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |at: usize, or: usize| std::env::args().nth(at).map_or(Ok(or), |text| text.parse());
    let (idle, busy, seconds) = (number(1, 1000)?, number(2, 50)?, number(3, 30)?);
    let folder = std::env::temp_dir().join(format!("skyhop-terminals-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = measure(&folder, idle, busy, seconds as u64);
    std::fs::remove_dir_all(&folder)?;
    outcome
}

fn measure(folder: &Path, idle: usize, busy: usize, seconds: u64) -> Result<(), Box<dyn std::error::Error>> {
    let source = source()?;
    let (hub_keys, hub_public) = Keys::generate_pair();
    hub_keys.write(&folder.join("hub.key"))?;
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 58_000 + (std::process::id() % 1000) as u16));
    let mut file = format!(
        "role = \"hub\"\nkey = \"hub.key\"\nlisten = \"{at}\"\nmemory = \"16 MB\"\nallow = [\"127.0.0.0/8\"]\nrate = \"10 Mbit/s\"\n"
    );
    let mut terminals = Vec::new();
    let started = Instant::now();
    let now = || Time::ZERO + Span::from_secs(1) + Span::from_nanos(started.elapsed().as_nanos() as u64);
    let poller = Poller::new()?;
    for n in 0..idle + busy {
        let (keys, public) = Keys::generate_pair();
        write!(file, "[terminals.t{n}]\nkey = \"{public}\"\n")?;
        let path = folder.join(format!("t{n}.key"));
        keys.write(&path)?;
        let mut config = Config::new(Keys::read_own(&path, vec![hub_public])?);
        config.budgets.stream_window = 4 << 20;
        config.budgets.first_window = 1 << 20;
        let socket = Socket::bind(Carrier::Udp, (Ipv4Addr::LOCALHOST, 0).into(), 1 << 20)?;
        // SAFETY: the sockets live as long as the poller.
        unsafe { poller.add_with_mode(socket.io(), PollEvent::readable(n), PollMode::Level)? };
        let batch = Batch::new(socket.segments_max());
        let engine = Engine::new(now(), config, Arc::new(SystemEntropy));
        let fresh = (None, None, false, 0, false);
        let (link, stream, answered, received, lost) = fresh;
        terminals.push(Terminal { engine, socket, batch, link, stream, answered, received, lost });
    }
    std::fs::write(folder.join("hub.toml"), file)?;
    let skyhop = std::env::var("SKYHOP").unwrap_or_else(|_| "target/release/skyhop".into());
    let mut command = Command::new(skyhop);
    command.args(["gateway", "run", "hub.toml"]).current_dir(folder).stderr(Stdio::null());
    let hub = Hub(command.spawn()?);
    std::thread::sleep(Duration::from_millis(500));
    let alone = hub.usage().0;
    let mut world = World { terminals, poller, at, source, busy: 0 };
    // A few dozen at a time, as terminals would reconnect after a restart of the hub.
    let begun = Instant::now();
    for n in 0..world.terminals.len() {
        if world.terminals[n].engine.connect(now(), at).is_none() {
            return Err("a key is no key".into());
        }
        if n % 32 == 31 {
            world.step(now, Duration::from_millis(20))?;
        }
    }
    while world.up() < idle + busy && begun.elapsed() < Duration::from_secs(60) {
        world.step(now, Duration::from_millis(20))?;
    }
    println!(
        "{} of {} associations are open after {:.1} s",
        world.up(),
        idle + busy,
        begun.elapsed().as_secs_f64()
    );
    let (memory, before) = (hub.usage().0, hub.usage().1);
    let quiet = Instant::now();
    while quiet.elapsed() < Duration::from_secs(seconds) {
        world.step(now, Duration::from_millis(100))?;
    }
    let spent = (hub.usage().1 - before) as f64 / 100.0 / quiet.elapsed().as_secs_f64();
    let each = memory.saturating_sub(alone) as f64 / 1024.0 / (idle + busy) as f64;
    println!(
        "hub: {:.1} MB, {each:.1} kB each, {spent:.3} of a processor while all are idle",
        memory as f64 / 1048576.0
    );
    world.busy = busy;
    for terminal in &mut world.terminals[..busy] {
        terminal.open(source);
    }
    let first = Instant::now();
    while first.elapsed() < Duration::from_secs(seconds) {
        world.step(now, Duration::from_millis(20))?;
    }
    let before: Vec<u64> = world.terminals[..busy].iter().map(|terminal| terminal.received).collect();
    let (then, ticks) = (Instant::now(), hub.usage().1);
    while then.elapsed() < Duration::from_secs(seconds) {
        world.step(now, Duration::from_millis(20))?;
    }
    let got: Vec<f64> = world.terminals[..busy]
        .iter()
        .zip(before)
        .map(|(terminal, before)| (terminal.received - before) as f64)
        .collect();
    let (sum, squares) = (got.iter().sum::<f64>(), got.iter().map(|n| n * n).sum::<f64>());
    let jain = sum * sum / (busy as f64 * squares);
    let spent = (hub.usage().1 - ticks) as f64 / 100.0 / then.elapsed().as_secs_f64();
    println!(
        "{busy} busy: {:.1} Mbit/s together, Jain {jain:.3}, hub {:.1} MB and {spent:.2} of a processor",
        sum * 8.0 / 1e6 / then.elapsed().as_secs_f64(),
        hub.usage().0 as f64 / 1048576.0
    );
    let (up, lost) = (world.up(), world.terminals.iter().filter(|terminal| terminal.lost).count());
    println!("{up} are open at the end, {lost} were lost");
    let good = up == idle + busy && lost == 0 && jain >= 0.95 && got.iter().all(|n| *n > 0.0);
    println!("{} all stay, and the busy ones share alike", if good { "holds " } else { "FAILS " });
    if good { Ok(()) } else { Err("a bar was missed".into()) }
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
