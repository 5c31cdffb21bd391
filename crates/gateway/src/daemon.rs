//! The thread of a gateway: its clock, poller, listeners and signals.
//!
//! Follows the loop of `skyhop_live`'s driver: one input, then drain. Systemd's sd_notify(3) for readiness.
//! Differs: it also opens and closes the kernel's connections, whose sockets are distinguished by the poller's keys.
//! Leaves out a second thread.

use crate::admin::Admin;
use crate::config::{Config, Handshake, Role, SourceAddress};
use crate::gateway::Gateway;
use crate::kernel::{Listener, congestion_controls, keep_freed_memory, raise_file_limit};
use crate::poller_keys::{FIRST_FLOW, FIRST_UDP, UDP_LISTENERS};
use crate::rule_counters::RuleCounters;
use crate::syn_device::SynDevice;
use crate::syn_log::SynLog;
use crate::usage::UsageFile;
use crate::{routing, rules};
use polling::{Event, Events, PollMode, Poller};
use skyhop_live::batch::Batch;
use skyhop_live::engine::PacketTap;
use skyhop_live::socket::{Carrier, Socket};
use skyhop_splice::preamble::Destination;
use skyhop_units::{Span, Time};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The reason that a gateway stops with an error.
#[derive(Debug)]
pub enum DaemonError {
    /// The file has an error, or requires something that this host does not have.
    Config(String),
    /// The gateway was running, and cannot continue.
    Run(String),
}

impl fmt::Display for DaemonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DaemonError::Config(message) | DaemonError::Run(message) => f.write_str(message),
        }
    }
}

const SOCKET: usize = 1;
const SIGNALS: usize = 2;
const SYNS: usize = 3;
const ADMIN: usize = 16;
const LISTENERS: usize = ADMIN + Admin::KEYS;
/// File descriptors reserved for purposes other than connections.
const FILES_BESIDE: usize = 64;
/// Receive calls on the association's socket before other work gets its turn: few, so that data are still in the processor's cache when
/// they are passed on.
const READS: usize = 2;
/// Connections accepted before other work gets its turn.
const ACCEPTS: usize = 64;
/// The time that open connections have to finish after a signal to stop.
const DRAIN: Span = Span::from_secs(10);
/// The kernel's buffer sizes of the association's socket, bytes.
const SOCKET_BUFFER: usize = 4 << 20;

/// The purpose of a listener.
#[derive(Debug, Clone)]
enum Purpose {
    Intercept,
    Socks,
    Forward(Destination),
}

struct Listening {
    listener: Listener,
    purpose: Purpose,
}

/// The way of held SYNs out of the kernel and back.
struct SynPath {
    log: SynLog,
    device: SynDevice,
    /// The time at which the log could not be read.
    failed_at: Option<Time>,
}

struct Daemon {
    path: PathBuf,
    gateway: Gateway,
    poller: Arc<Poller>,
    started: Instant,
    socket: Socket,
    batch: Batch,
    signals: OwnedFd,
    admin: Option<Admin>,
    listeners: Vec<Option<Listening>>,
    /// If clients' handshakes wait for servers.
    syns: Option<SynPath>,
    /// False at the limit of connections.
    accepting: bool,
    waits_for_room: bool,
    heard_at: Time,
    /// The deadline at which the gateway ends even with open connections.
    ends_at: Option<Time>,
    rules: bool,
    /// The file of the usage, if any terminal or user has a quota.
    usage: Option<UsageFile>,
    counted_at: Time,
    log: Box<dyn FnMut(&str)>,
}

/// Runs a gateway until SIGTERM or SIGINT; SIGHUP makes it read its file again. Log lines go to `log`, decrypted packets of associations to
/// `tap`.
///
/// # Errors
///
/// The file requires something that this host does not have, or the gateway cannot continue.
pub fn run(
    path: PathBuf,
    config: Config,
    tap: Option<PacketTap>,
    log: Box<dyn FnMut(&str)>,
) -> Result<(), DaemonError> {
    // Before any thread is started, so that all threads inherit it.
    let signals = block_signals().map_err(|e| DaemonError::Run(format!("signals: {e}")))?;
    let files = raise_file_limit();
    keep_freed_memory();
    let mut daemon = Daemon::start(path, config, signals, log)?;
    let most = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(FILES_BESIDE);
    if most < daemon.gateway.core.config.connections {
        // Beyond this limit the kernel would refuse connections one by one, and each would be retried at once.
        daemon.gateway.core.flows.files_max = most;
        let message = format!(
            "{files} files may be open, so {most} connections and not {} (ulimit -n, LimitNOFILE)",
            daemon.gateway.core.config.connections
        );
        (daemon.log)(&message);
    }
    daemon.gateway.core.links.engine.set_tap(tap);
    daemon.tell_ready();
    let ended = daemon.run();
    daemon.clean_up();
    ended
}

fn block_signals() -> io::Result<OwnedFd> {
    // SAFETY: the sets outlive the calls, and the new descriptor has no other owner.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        match libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

impl Daemon {
    #[expect(
        clippy::disallowed_methods,
        reason = "the gateway's one clock, from which all machines are handed the time"
    )]
    fn start(
        path: PathBuf,
        config: Config,
        signals: OwnedFd,
        log: Box<dyn FnMut(&str)>,
    ) -> Result<Self, DaemonError> {
        let run = |what: &str, e: io::Error| DaemonError::Run(format!("{what}: {e}"));
        let hub = config.hub_address().map_err(|e| DaemonError::Config(format!("hub: {e}")))?;
        let local = match hub {
            Some(SocketAddr::V6(_)) if config.listen.ip().is_unspecified() => {
                SocketAddr::from(([0_u16; 8], config.listen.port()))
            }
            _ => config.listen,
        };
        let socket = Socket::bind(Carrier::Udp, local, SOCKET_BUFFER)
            .map_err(|e| DaemonError::Config(format!("listen: {local}: {}", in_use(e))))?;
        let poller = Arc::new(Poller::new().map_err(|e| run("poller", e))?);
        // SAFETY: the daemon owns both, and they live as long as the poller.
        unsafe {
            poller
                .add_with_mode(socket.io(), Event::readable(SOCKET), PollMode::Level)
                .map_err(|e| run("poller", e))?;
            poller
                .add_with_mode(&signals, Event::readable(SIGNALS), PollMode::Level)
                .map_err(|e| run("poller", e))?;
        }
        let admin = match config.metrics {
            Some(address) => Some(
                Admin::bind(&poller, address, ADMIN)
                    .map_err(|e| DaemonError::Config(format!("metrics: {address}: {}", in_use(e))))?,
            ),
            None => None,
        };
        let started = Instant::now();
        let gateway = Gateway::new(Time::ZERO + Span::from_secs(1), config, hub, poller.clone())
            .map_err(|e| run("names", e))?;
        let batch = Batch::new(socket.segments_max());
        let mut daemon = Daemon {
            path,
            gateway,
            poller,
            started,
            socket,
            batch,
            signals,
            admin,
            listeners: Vec::new(),
            syns: None,
            accepting: true,
            waits_for_room: false,
            heard_at: Time::ZERO,
            ends_at: None,
            rules: false,
            usage: None,
            counted_at: Time::ZERO,
            log,
        };
        daemon.open_usage().map_err(DaemonError::Config)?;
        daemon.listen().map_err(DaemonError::Config)?;
        if let Err(e) = daemon.install_rules() {
            // Rules without a gateway behind them would stay for ever.
            if daemon.rules {
                daemon.remove_rules();
            }
            return Err(DaemonError::Config(e));
        }
        Ok(daemon)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the gateway's one clock, from which all machines are handed the time"
    )]
    fn now(&self) -> Time {
        Time::ZERO + Span::from_secs(1) + Span::from_nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// Reads the usage of quotas.
    fn open_usage(&mut self) -> Result<(), String> {
        let config = &self.gateway.core.config;
        let of_terminals = config.terminals.values().any(|terminal| terminal.quota.is_some());
        let of_users = config.users.iter().any(|users| users.quota.is_some());
        if self.usage.is_some() || !(of_terminals || of_users) {
            return Ok(());
        }
        let now = self.now();
        let path = UsageFile::place(&self.path);
        let opened = UsageFile::open(path.clone(), now, self.gateway.quotas_mut());
        self.usage = Some(opened.map_err(|e| format!("{}: {e}", path.display()))?);
        Ok(())
    }

    /// Counts the bytes that associations and users' connections have carried, once a second, and saves the usage periodically.
    #[expect(clippy::disallowed_methods, reason = "a quota's period is of the wall's clock")]
    fn count_usage(&mut self, at_end: bool) {
        let now = self.now();
        if self.usage.is_none() || !at_end && now.since(self.counted_at) < Span::from_secs(1) {
            return;
        }
        self.counted_at = now;
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.gateway.core.links.count(wall);
        self.gateway.users.quotas.count(wall, &self.gateway.core.config.users);
        if let Some(usage) = &mut self.usage
            && let Err(e) = usage.write(now, self.gateway.quotas(), at_end)
        {
            (self.log)(&format!("{}: {e}", usage.path().display()));
        }
    }

    /// Opens the listeners that a file names; those for intercepted connections exist only while the association does.
    fn listen(&mut self) -> Result<(), String> {
        let config = &self.gateway.core.config;
        let mut wanted = Vec::new();
        if let Some((address, _)) = config.socks {
            wanted.push((format!("socks.listen: {address}"), address, Purpose::Socks));
        }
        for forward in &config.forwards {
            let (host, port) = forward.to.clone();
            let to = match host.parse() {
                Ok(ip) => Destination::Address(SocketAddr::new(ip, port)),
                Err(_) => Destination::Name(host, port),
            };
            wanted.push((
                format!("forward.listen: {}", forward.listen),
                forward.listen,
                Purpose::Forward(to),
            ));
        }
        for (what, address, purpose) in wanted {
            let listener = Listener::bind(address).map_err(|e| format!("{what}: {e}"))?;
            self.add_listener(listener, purpose).map_err(|e| format!("{what}: {e}"))?;
        }
        if self.gateway.core.config.intercept.is_some() {
            if let Some(name) = &self.gateway.core.config.congestion {
                let known = congestion_controls();
                if !known.is_empty() && !known.contains(name) {
                    let known = known.join(", ");
                    return Err(format!(
                        "congestion: \"{name}\": this kernel has {known} (modprobe tcp_{name})"
                    ));
                }
            }
            // A trial, so that a missing privilege is reported at the start.
            let port = self.gateway.core.config.intercept.as_ref().map_or(0, |intercept| intercept.port);
            self.intercept(true).map_err(|e| format!("intercept: port {port}: {}", in_use(e)))?;
            if self.gateway.core.config.role == Role::Terminal {
                self.intercept(false).map_err(|e| format!("intercept: {e}"))?;
            }
        }
        Ok(())
    }

    fn add_listener(&mut self, listener: Listener, purpose: Purpose) -> io::Result<()> {
        let place = self.listeners.iter().position(Option::is_none).unwrap_or(self.listeners.len());
        // SAFETY: a listener is removed from the poller before it is closed.
        unsafe { self.poller.add_with_mode(&listener, Event::readable(LISTENERS + place), PollMode::Level)? };
        let listening = Some(Listening { listener, purpose });
        match self.listeners.get_mut(place) {
            Some(free) => *free = listening,
            None => self.listeners.push(listening),
        }
        Ok(())
    }

    /// Opens or closes the listeners for intercepted connections: without them the firewall passes or refuses new connections, according to
    /// its rules.
    fn intercept(&mut self, open: bool) -> io::Result<()> {
        let Some(intercept) = &self.gateway.core.config.intercept else { return Ok(()) };
        let port = intercept.port;
        let datagrams = (open && intercept.takes_datagrams()).then_some(port);
        self.gateway.udp.intercept(datagrams)?;
        let is_open = self.listeners.iter().flatten().any(|l| matches!(l.purpose, Purpose::Intercept));
        if open && !is_open {
            for v4 in [true, false] {
                match Listener::transparent(v4, port) {
                    Ok(listener) => self.add_listener(listener, Purpose::Intercept)?,
                    // A host without IPv6 has no IPv6 users.
                    Err(e) if !v4 && e.raw_os_error() == Some(libc::EAFNOSUPPORT) => {
                        (self.log)("this host has no IPv6: only connections of IPv4 are split");
                    }
                    Err(e) => return Err(e),
                }
            }
        } else if !open {
            for place in &mut self.listeners {
                if let Some(listening) = place.take_if(|l| matches!(l.purpose, Purpose::Intercept)) {
                    self.poller.delete(&listening.listener)?;
                }
            }
        }
        Ok(())
    }

    fn install_rules(&mut self) -> Result<(), String> {
        let config = self.gateway.core.config.clone();
        let Some(ruleset) = rules::ruleset(&config) else { return Ok(()) };
        let mark = mark(&config);
        self.open_syns(holds_syns(&config))?;
        rules::apply(&ruleset).map_err(|e| e.to_string())?;
        self.rules = true;
        if let Some(admin) = &mut self.admin {
            let waker = self.poller.clone();
            let counters = RuleCounters::start(move || _ = waker.notify());
            admin.count_rules(counters.map_err(|e| format!("rules: {e}"))?);
        }
        routing::add(mark).map_err(|e| e.to_string())?;
        if config.source == SourceAddress::Client || config.intercept.is_some() {
            for (file, why) in FORWARDING {
                if std::fs::read_to_string(file).is_ok_and(|value| value.trim() == "0") {
                    (self.log)(&format!("{file} is 0: {why}"));
                }
            }
        }
        Ok(())
    }

    /// Opens the way of held SYNs, before there are rules for them, or closes it, after there were.
    fn open_syns(&mut self, open: bool) -> Result<(), String> {
        let failed = |e: io::Error| format!("intercept.handshake: {e}");
        if !open {
            if let Some(syns) = self.syns.take() {
                self.poller.delete(&syns.log).map_err(failed)?;
            }
        } else if self.syns.is_none() {
            let device = SynDevice::open().map_err(failed)?;
            let log = SynLog::open().map_err(|e| failed(in_use(e)))?;
            // SAFETY: the log is removed from the poller before it is closed.
            unsafe {
                self.poller.add_with_mode(&log, Event::readable(SYNS), PollMode::Level).map_err(failed)?
            };
            self.syns = Some(SynPath { log, device, failed_at: None });
        }
        Ok(())
    }

    /// Reads new SYNs, a bounded number before other work gets its turn. If their log cannot be read twice within a second, the gateway
    /// ends, so that connections pass by `fail` and do not wait for nothing.
    fn read_syns(&mut self) -> Result<(), DaemonError> {
        let now = self.now();
        let Some(syns) = &mut self.syns else { return Ok(()) };
        for _ in 0..ACCEPTS {
            match syns.log.read(|packet| self.gateway.hold(now, packet)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => {
                    let message = format!("the log of SYNs: {e}");
                    if syns.failed_at.replace(now).is_some_and(|at| now.since(at) < Span::from_secs(1)) {
                        return Err(DaemonError::Run(message));
                    }
                    (self.log)(&message);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Gives SYNs back to the kernel.
    fn return_syns(&mut self) {
        while let Some(packet) = self.gateway.handshakes.poll_transmit() {
            if let Some(syns) = &self.syns {
                syns.device.send(&packet);
            }
        }
    }

    fn remove_rules(&mut self) {
        if let Err(e) = rules::remove() {
            (self.log)(&e.to_string());
        }
        routing::remove(mark(&self.gateway.core.config));
    }

    fn clean_up(&mut self) {
        self.count_usage(true);
        if self.rules {
            self.remove_rules();
        }
        // Connections that are still open are reset on both sides.
        for (id, _) in
            self.gateway.core.links.engine.links().map(|(id, link)| (id, link.since)).collect::<Vec<_>>()
        {
            self.gateway.core.links.engine.abort(id);
        }
        let now = self.now();
        self.gateway.core.links.engine.fill(now, &mut self.batch);
        let _ = self.send();
    }

    fn tell_ready(&mut self) {
        let config = &self.gateway.core.config;
        let message = match (&config.hub, config.terminals.len()) {
            (Some(hub), _) => format!("terminal of {hub}"),
            (None, _) if config.role == Role::Alone => {
                let devices =
                    config.intercept.as_ref().map_or(String::new(), |from| from.interfaces.join(", "));
                format!("hub alone, for users who come in by {devices}")
            }
            (None, terminals) => format!("hub on {} of {terminals} terminals", self.socket.local_addr()),
        };
        (self.log)(&message);
        if let Some(path) = std::env::var_os("NOTIFY_SOCKET")
            && let Ok(socket) = std::os::unix::net::UnixDatagram::unbound()
        {
            let _ = socket.send_to(b"READY=1", path);
        }
    }

    fn run(&mut self) -> Result<(), DaemonError> {
        let mut events = Events::new();
        loop {
            let busy = self.step().map_err(|e| DaemonError::Run(format!("the association's socket: {e}")))?;
            if self.is_over() {
                return Ok(());
            }
            let timeout = if busy { Duration::ZERO } else { self.until_due() };
            events.clear();
            self.poller
                .wait(&mut events, Some(timeout))
                .map_err(|e| DaemonError::Run(format!("poller: {e}")))?;
            for event in events.iter() {
                self.handle_event(&event)?;
            }
        }
    }

    /// Returns true when the gateway may end: no connection is open, and the far ends have been informed.
    fn is_over(&self) -> bool {
        let quiet = || {
            self.gateway.core.flows.len() == 0
                && self.gateway.core.links.engine.links().all(|(_, link)| link.trunk.streams() == 0)
        };
        self.ends_at.is_some_and(|at| quiet() || self.now() >= at)
    }

    fn until_due(&self) -> Duration {
        let due = self.gateway.poll_timeout().into_iter().chain(self.ends_at).min();
        let now = self.now();
        due.map_or(Duration::from_secs(60), |due| Duration::from_nanos(due.since(now).as_nanos()))
    }

    fn handle_event(&mut self, event: &Event) -> Result<(), DaemonError> {
        match event.key {
            SOCKET => {}
            SIGNALS => self.handle_signals(),
            SYNS => self.read_syns()?,
            key if key >= FIRST_UDP || (UDP_LISTENERS..UDP_LISTENERS + 2).contains(&key) => {
                let now = self.now();
                self.gateway.handle_datagrams(now, key);
            }
            key if key >= FIRST_FLOW => self.gateway.core.flows.handle_ready(event),
            key if key >= LISTENERS => self.accept(key - LISTENERS),
            _ => {
                let now = self.now();
                if let Some(admin) = &mut self.admin {
                    admin.handle_ready(&self.poller, event, now, &self.gateway);
                }
            }
        }
        Ok(())
    }

    /// Receives, works and sends once. Returns true if more work is ready.
    fn step(&mut self) -> io::Result<bool> {
        let mut more = self.receive()?;
        while let Some(trouble) = self.socket.trouble() {
            let now = self.now();
            self.gateway.core.links.engine.handle_trouble(now, trouble);
        }
        let now = self.now();
        self.gateway.handle_timeout(now);
        more |= self.gateway.work(now);
        if !self.send()? {
            self.wait_for_room(true)?;
        } else {
            self.wait_for_room(false)?;
            let now = self.now();
            more |= self.gateway.core.links.engine.fill(now, &mut self.batch);
            if !self.send()? {
                self.wait_for_room(true)?;
                more = false;
            }
        }
        more |= self.gateway.work(now);
        self.return_syns();
        while let Some(line) = self.gateway.core.journal.next_line() {
            (self.log)(&line);
        }
        if let Some(admin) = &mut self.admin {
            admin.answer(&self.poller, now, &self.gateway);
        }
        self.adjust();
        self.count_usage(false);
        Ok(more)
    }

    fn receive(&mut self) -> io::Result<bool> {
        for _ in 0..READS {
            let runs = self.socket.receive()?;
            if runs == 0 {
                return Ok(false);
            }
            let now = self.now();
            for run in 0..runs {
                // The kernel's receive times: the spacing of packets shows the path's rate.
                let age = Span::from_nanos(self.socket.age(run).as_nanos() as u64);
                let at =
                    Time::from_nanos(now.as_nanos() - age.as_nanos().min(now.as_nanos())).max(self.heard_at);
                self.heard_at = at;
                let field = self.socket.field(run);
                let (from, to, datagrams) = self.socket.received(run);
                for datagram in datagrams {
                    if self.gateway.core.links.engine.handle_datagram(at, (from, to, field), datagram) {
                        self.gateway.core.links.engine.fill(now, &mut self.batch);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Sends the batch. Returns false if the kernel's buffer is full.
    fn send(&mut self) -> io::Result<bool> {
        while let Some(part) = self.batch.next().copied() {
            match self.socket.send(&self.batch.buffer, &part) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // A packet to an unreachable peer, or one too large, counts as lost on the path.
                _ => self.batch.advance(),
            }
        }
        Ok(true)
    }

    fn wait_for_room(&mut self, wait: bool) -> io::Result<()> {
        if std::mem::replace(&mut self.waits_for_room, wait) == wait {
            return Ok(());
        }
        self.poller.modify_with_mode(self.socket.io(), Event::new(SOCKET, true, wait), PollMode::Level)
    }

    /// Opens and closes listeners according to the association and the limit of connections.
    fn adjust(&mut self) {
        let room = self.gateway.may_accept() && self.ends_at.is_none();
        if room != self.accepting {
            self.accepting = room;
            for (place, listening) in self.listeners.iter().enumerate() {
                let Some(listening) = listening else { continue };
                let interest = Event::new(LISTENERS + place, room, false);
                let _ = self.poller.modify_with_mode(&listening.listener, interest, PollMode::Level);
            }
        }
        let alone = self.gateway.core.config.role != Role::Terminal;
        let up = self.ends_at.is_none() && (alone || self.gateway.core.links.peers.any_up());
        if let Err(e) = self.intercept(up) {
            (self.log)(&format!("intercept: {e}"));
        }
    }

    fn accept(&mut self, place: usize) {
        let Some(Some(listening)) = self.listeners.get(place) else { return };
        let purpose = listening.purpose.clone();
        for _ in 0..ACCEPTS {
            let Some(Some(listening)) = self.listeners.get(place) else { return };
            if !self.gateway.may_accept() {
                return;
            }
            let (socket, client, to) = match listening.listener.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // The client has closed already, or this host has no more descriptors; the next accept may succeed.
                Err(_) => return,
            };
            let now = self.now();
            match &purpose {
                Purpose::Socks => self.gateway.accept_socks(now, socket, client),
                Purpose::Forward(to) => self.gateway.accept(now, socket, client, to.clone(), false),
                // The connection was not intercepted: it was addressed to the listener itself, and would loop.
                Purpose::Intercept
                    if listening.listener.local_addr().is_ok_and(|own| own.port() == to.port()) => {}
                Purpose::Intercept => {
                    let Some(socket) = self.gateway.take_held(now, socket, (client, to)) else { continue };
                    self.gateway.accept(now, socket, client, Destination::Address(to), true);
                }
            }
        }
    }

    fn handle_signals(&mut self) {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        loop {
            // SAFETY: the buffer has the given length.
            let read = unsafe { libc::read(self.signals.as_raw_fd(), info.as_mut_ptr().cast(), info.len()) };
            if read < info.len() as isize {
                return;
            }
            let number = u32::from_ne_bytes([info[0], info[1], info[2], info[3]]) as libc::c_int;
            match (number, self.ends_at) {
                (libc::SIGHUP, _) => self.reload(),
                (_, None) => {
                    (self.log)("ending: no new connections, those that are open have 10 s");
                    self.ends_at = Some(self.now() + DRAIN);
                    if self.rules {
                        // New connections now pass unsplit; open ones need the rule for their packets.
                        let _ = self.intercept(false);
                    }
                }
                (_, Some(_)) => self.ends_at = Some(self.now()),
            }
        }
    }

    /// Reads the file again. A file with an error changes nothing.
    fn reload(&mut self) {
        let config = match Config::read(&self.path) {
            Ok(config) => config,
            Err(e) => return (self.log)(&format!("not reloaded: {e}")),
        };
        let before = &self.gateway.core.config;
        let mut fixed = Vec::new();
        for (key, same) in [
            ("role", before.role == config.role),
            ("listen", before.listen == config.listen),
            ("hub", before.hub == config.hub),
            ("socks", before.socks == config.socks),
            ("forward", before.forwards == config.forwards),
            ("metrics", before.metrics == config.metrics),
            ("promised", before.promised == config.promised),
            ("memory", before.memory == config.memory),
            ("mtu", before.mtu == config.mtu),
            ("silence", before.silence == config.silence),
            (
                "intercept",
                before.intercept.is_some() == config.intercept.is_some() && mark(before) == mark(&config),
            ),
        ] {
            if !same {
                fixed.push(key);
            }
        }
        if !fixed.is_empty() {
            let need = if fixed.len() == 1 { "needs" } else { "need" };
            let message = format!("not reloaded: {} {need} a restart", fixed.join(", "));
            return (self.log)(&message);
        }
        if let Some(ruleset) = rules::ruleset(&config) {
            let holds = holds_syns(&config);
            let opened = if holds { self.open_syns(true) } else { Ok(()) };
            if let Err(e) = opened.and_then(|()| rules::apply(&ruleset).map_err(|e| e.to_string())) {
                return (self.log)(&format!("not reloaded: {e}"));
            }
            if !holds && let Err(e) = self.open_syns(false) {
                (self.log)(&e);
            }
        }
        self.gateway.reload(config);
        if let Err(e) = self.open_usage() {
            (self.log)(&e);
        }
        (self.log)("reloaded");
    }
}

/// Checks kernel settings without which a gateway splits nothing.
const FORWARDING: [(&str, &str); 2] = [
    (
        "/proc/sys/net/ipv4/ip_forward",
        "this host forwards no packets of IPv4, and what is not split does not pass",
    ),
    (
        "/proc/sys/net/ipv6/conf/all/forwarding",
        "this host forwards no packets of IPv6, and what is not split does not pass",
    ),
];

/// An error of a listener, with a hint if the port is taken.
fn in_use(e: io::Error) -> io::Error {
    match e.kind() {
        io::ErrorKind::AddrInUse => io::Error::new(
            e.kind(),
            "in use: another gateway runs on this host, or another program has the port",
        ),
        _ => e,
    }
}

/// Returns true if clients' handshakes wait for servers.
fn holds_syns(config: &Config) -> bool {
    config.intercept.as_ref().is_some_and(|intercept| intercept.handshake == Handshake::AfterServer)
}

fn mark(config: &Config) -> u32 {
    config.intercept.as_ref().map_or(crate::config::MARK, |intercept| intercept.mark)
}
