//! A hub in a process of its own, and terminals without users, as an engine and a socket each.
//!
//! Follows `skyhop_gateway`'s terminal. Leaves out the streams of a terminal, which each test opens.

use polling::{Event as PollEvent, PollMode, Poller};
use skyhop_gateway::Config as HubConfig;
use skyhop_live::batch::Batch;
use skyhop_live::engine::{Config, Engine};
use skyhop_live::entropy::SystemEntropy;
use skyhop_live::keys::{Keys, PublicKey};
use skyhop_live::socket::{Carrier, Socket};
use skyhop_units::{Span, Time};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// A terminal.
pub struct Terminal {
    pub engine: Engine,
    pub socket: Socket,
    pub batch: Batch,
    pub link: Option<u32>,
    pub stream: Option<u64>,
    pub answered: bool,
    pub received: u64,
    pub lost: bool,
}

/// The hub process, which is killed with this process.
pub struct Hub(pub Child, PathBuf);

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Hub {
    pub fn start(folder: &Path) -> Self {
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--exact", "hub", "--nocapture"])
            .env("SKYHOP_TEST_HUB", folder.join("hub.toml"));
        Hub(command.stdout(Stdio::null()).stderr(log).spawn().unwrap(), folder.join("log"))
    }

    /// Fails with its log if it has ended.
    pub fn check(&mut self) {
        if let Some(status) = self.0.try_wait().unwrap() {
            panic!("the hub has ended, {status}: {}", std::fs::read_to_string(&self.1).unwrap_or_default());
        }
    }

    /// Memory in bytes, and processor time in hundredths of a second, of the hub.
    pub fn usage(&self) -> (u64, u64) {
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

/// A folder that is removed with the test.
pub struct Folder(pub PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A free port below those that the kernel gives to the sockets of a thousand terminals, which take up a part of its range.
pub fn port() -> u16 {
    let first = 20_000 + (std::process::id() % 8000) as u16;
    (first..).find(|port| UdpSocket::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()).expect("a free port")
}

/// The clock of the terminals.
pub fn clock() -> impl Fn() -> Time + Copy {
    let started = Instant::now();
    move || Time::ZERO + Span::from_secs(1) + Span::from_nanos(started.elapsed().as_nanos() as u64)
}

/// Runs the hub of a test, which names its file in the environment.
pub fn run_hub() {
    let Some(path) = std::env::var_os("SKYHOP_TEST_HUB").map(PathBuf::from) else { return };
    let config = HubConfig::read(&path).expect("a file");
    skyhop_gateway::run(path, config, None, Box::new(|line| eprintln!("{line}"))).expect("an end");
}

impl Terminal {
    /// A terminal with a key pair, and its public key; the poller's key is `n`.
    pub fn new(
        folder: &Path,
        n: usize,
        hub: PublicKey,
        poller: &Poller,
        now: Time,
    ) -> io::Result<(Self, PublicKey)> {
        let (keys, public) = Keys::generate_pair();
        let path = folder.join(format!("t{n}.key"));
        keys.write(&path).expect("a folder");
        let mut config = Config::new(Keys::read_own(&path, vec![hub]).expect("a key"));
        config.budgets.stream_window = 4 << 20;
        config.budgets.first_window = 1 << 20;
        let socket = Socket::bind(Carrier::Udp, (Ipv4Addr::LOCALHOST, 0).into(), 1 << 20)?;
        // SAFETY: the sockets live as long as the poller.
        unsafe { poller.add_with_mode(socket.io(), PollEvent::readable(n), PollMode::Level)? };
        let batch = Batch::new(socket.segments_max());
        let engine = Engine::new(now, config, Arc::new(SystemEntropy));
        let fresh = (None, None, false, 0, false);
        let (link, stream, answered, received, lost) = fresh;
        Ok((Terminal { engine, socket, batch, link, stream, answered, received, lost }, public))
    }

    pub fn receive(&mut self, now: &impl Fn() -> Time) -> io::Result<()> {
        for _ in 0..8 {
            let runs = self.socket.receive()?;
            if runs == 0 {
                break;
            }
            let at = now();
            for run in 0..runs {
                let field = self.socket.field(run);
                let (from, to, datagrams) = self.socket.received(run);
                for datagram in datagrams {
                    if self.engine.handle_datagram(at, (from, to, field), datagram) {
                        self.engine.fill(at, &mut self.batch);
                    }
                }
            }
        }
        Ok(())
    }

    pub fn send(&mut self, now: Time) -> io::Result<()> {
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
