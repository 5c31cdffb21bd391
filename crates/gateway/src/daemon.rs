//! The thread of a gateway: its poller, and what it does with each event, signal and file.
//!
//! Follows the loop of `skyhop_live`'s driver: one input, then drain. Systemd's sd_notify(3) for readiness.
//! Differs: it also opens and closes the kernel's connections, whose sockets are distinguished by the poller's keys.
//! Leaves out a second thread.

use crate::admin::Admin;
use crate::config::{Config, Handshake, Role, SourceAddress};
use crate::daemon_clock::{DaemonClock, STARTED};
use crate::gateway::Gateway;
use crate::kernel::{congestion_controls, keep_freed_memory, raise_file_limit};
use crate::link_socket::LinkSocket;
use crate::listeners::{Listeners, Purpose, in_use};
use crate::poller_keys::{FIRST_FLOW, FIRST_UDP, UDP_LISTENERS};
use crate::rule_counters::RuleCounters;
use crate::signal_fd::SignalFd;
use crate::syn_path::{SynLogFailure, SynPath};
use crate::usage_meter::UsageMeter;
use crate::{routing, rules};
use polling::{Event, Events, PollMode, Poller};
use skyhop_live::engine::PacketTap;
use skyhop_splice::preamble::Destination;
use skyhop_units::{Span, Time};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
/// Connections accepted before other work gets its turn.
const ACCEPTS: usize = 64;
/// The time that open connections have to finish after a signal to stop.
const DRAIN: Span = Span::from_secs(10);

struct Daemon {
    path: PathBuf,
    gateway: Gateway,
    poller: Arc<Poller>,
    clock: DaemonClock,
    link: LinkSocket,
    signals: SignalFd,
    admin: Option<Admin>,
    listeners: Listeners,
    syns: SynPath,
    /// The deadline at which the gateway ends even with open connections.
    ends_at: Option<Time>,
    /// The firewall's rules have been installed.
    rules: bool,
    usage: UsageMeter,
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
    let signals = SignalFd::block(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP])
        .map_err(|e| DaemonError::Run(format!("signals: {e}")))?;
    let files = raise_file_limit();
    keep_freed_memory();
    let most = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(FILES_BESIDE);
    if most == 0 {
        // It would take connections and carry none.
        let message = format!(
            "{files} files may be open, and more than {FILES_BESIDE} are needed (ulimit -n, LimitNOFILE)"
        );
        return Err(DaemonError::Run(message));
    }
    let mut daemon = Daemon::start(path, config, signals, log)?;
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

impl Daemon {
    fn start(
        path: PathBuf,
        config: Config,
        signals: SignalFd,
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
        let link = LinkSocket::bind(local, SOCKET)
            .map_err(|e| DaemonError::Config(format!("listen: {local}: {}", in_use(e))))?;
        let poller = Arc::new(Poller::new().map_err(|e| run("poller", e))?);
        link.watch(&poller).map_err(|e| run("poller", e))?;
        // SAFETY: the daemon owns both, and they live as long as the poller.
        unsafe {
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
        let clock = DaemonClock::start();
        let gateway = Gateway::new(STARTED, config, hub, poller.clone()).map_err(|e| run("names", e))?;
        let mut daemon = Daemon {
            path,
            gateway,
            clock,
            link,
            signals,
            admin,
            listeners: Listeners::new(poller.clone(), LISTENERS),
            syns: SynPath::new(poller.clone(), SYNS),
            poller,
            ends_at: None,
            rules: false,
            usage: UsageMeter::default(),
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

    fn open_usage(&mut self) -> Result<(), String> {
        self.usage.open(self.clock, &self.path, &mut self.gateway)
    }

    fn count_usage(&mut self, at_end: bool) {
        if let Err(e) = self.usage.count(self.clock, &mut self.gateway, at_end) {
            (self.log)(&e);
        }
    }

    /// Opens the listeners that a file names; those for intercepted connections exist only while the association does.
    fn listen(&mut self) -> Result<(), String> {
        self.listeners.open(&self.gateway.core.config)?;
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

    /// Opens or closes the listeners for intercepted connections: without them the firewall passes or refuses new connections, according to
    /// its rules.
    fn intercept(&mut self, open: bool) -> io::Result<()> {
        let Some(intercept) = &self.gateway.core.config.intercept else { return Ok(()) };
        let port = intercept.port;
        let datagrams = (open && intercept.takes_datagrams()).then_some(port);
        self.gateway.udp.intercept(datagrams)?;
        if self.listeners.intercept(open, port)? {
            // A host without IPv6 has no IPv6 users.
            (self.log)("this host has no IPv6: only connections of IPv4 are split");
        }
        Ok(())
    }

    fn install_rules(&mut self) -> Result<(), String> {
        let config = self.gateway.core.config.clone();
        let Some(ruleset) = rules::ruleset(&config) else { return Ok(()) };
        let mark = mark(&config);
        self.syns.set_open(holds_syns(&config))?;
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

    /// Reads new SYNs. If their log cannot be read twice within a second, the gateway ends, so that connections pass by `fail` and do not
    /// wait for nothing.
    fn read_syns(&mut self) -> Result<(), DaemonError> {
        let now = self.clock.now();
        match self.syns.read(now, |packet| self.gateway.hold(now, packet)) {
            Ok(()) => {}
            Err(SynLogFailure::Once(message)) => (self.log)(&message),
            Err(SynLogFailure::Again(message)) => return Err(DaemonError::Run(message)),
        }
        Ok(())
    }

    /// Gives SYNs back to the kernel.
    fn return_syns(&mut self) {
        while let Some(packet) = self.gateway.handshakes.poll_transmit() {
            self.syns.give_back(&packet);
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
        self.link.transmit_last(self.clock, &mut self.gateway.core.links.engine);
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
            (None, terminals) => format!("hub on {} of {terminals} terminals", self.link.local_addr()),
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
        self.ends_at.is_some_and(|at| quiet() || self.clock.now() >= at)
    }

    fn until_due(&self) -> Duration {
        let due = self.gateway.poll_timeout().into_iter().chain(self.ends_at).min();
        let now = self.clock.now();
        due.map_or(Duration::from_secs(60), |due| Duration::from_nanos(due.since(now).as_nanos()))
    }

    fn handle_event(&mut self, event: &Event) -> Result<(), DaemonError> {
        match event.key {
            SOCKET => {}
            SIGNALS => self.handle_signals(),
            SYNS => self.read_syns()?,
            key if key >= FIRST_UDP || (UDP_LISTENERS..UDP_LISTENERS + 2).contains(&key) => {
                let now = self.clock.now();
                self.gateway.handle_datagrams(now, key);
            }
            key if key >= FIRST_FLOW => self.gateway.core.flows.handle_ready(event),
            key if key >= LISTENERS => self.accept(key),
            _ => {
                let now = self.clock.now();
                if let Some(admin) = &mut self.admin {
                    admin.handle_ready(&self.poller, event, now, &self.gateway);
                }
            }
        }
        Ok(())
    }

    /// Receives, works and sends once. Returns true if more work is ready.
    fn step(&mut self) -> io::Result<bool> {
        let mut more = self.link.receive(self.clock, &mut self.gateway.core.links.engine)?;
        let now = self.clock.now();
        self.gateway.handle_timeout(now);
        more |= self.gateway.work(now);
        let engine = &mut self.gateway.core.links.engine;
        more = self.link.transmit(&self.poller, self.clock, engine, more)?;
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

    /// Opens and closes listeners according to the association and the limit of connections.
    fn adjust(&mut self) {
        let room = self.gateway.may_accept() && self.ends_at.is_none();
        self.listeners.set_accepting(room);
        let alone = self.gateway.core.config.role != Role::Terminal;
        let up = self.ends_at.is_none() && (alone || self.gateway.core.links.peers.any_up());
        if let Err(e) = self.intercept(up) {
            (self.log)(&format!("intercept: {e}"));
        }
    }

    fn accept(&mut self, key: usize) {
        let Some(purpose) = self.listeners.purpose(key).cloned() else { return };
        for _ in 0..ACCEPTS {
            if !self.gateway.may_accept() {
                return;
            }
            let Some((socket, client, to)) = self.listeners.accept(key) else { return };
            let now = self.clock.now();
            match &purpose {
                Purpose::Socks => self.gateway.accept_socks(now, socket, client),
                Purpose::Forward(to) => self.gateway.accept(now, socket, client, to.clone(), false),
                Purpose::Intercept if self.listeners.is_own(key, to) => {}
                Purpose::Intercept => {
                    let Some(socket) = self.gateway.take_held(now, socket, (client, to)) else { continue };
                    self.gateway.accept(now, socket, client, Destination::Address(to), true);
                }
            }
        }
    }

    fn handle_signals(&mut self) {
        while let Some(number) = self.signals.next() {
            match (number, self.ends_at) {
                (libc::SIGHUP, _) => self.reload(),
                (_, None) => {
                    (self.log)("ending: no new connections, those that are open have 10 s");
                    self.ends_at = Some(self.clock.now() + DRAIN);
                    if self.rules {
                        // New connections now pass unsplit; open ones need the rule for their packets.
                        let _ = self.intercept(false);
                    }
                }
                (_, Some(_)) => self.ends_at = Some(self.clock.now()),
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
            let opened = if holds { self.syns.set_open(true) } else { Ok(()) };
            if let Err(e) = opened.and_then(|()| rules::apply(&ruleset).map_err(|e| e.to_string())) {
                return (self.log)(&format!("not reloaded: {e}"));
            }
            if !holds && let Err(e) = self.syns.set_open(false) {
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

/// Returns true if clients' handshakes wait for servers.
fn holds_syns(config: &Config) -> bool {
    config.intercept.as_ref().is_some_and(|intercept| intercept.handshake == Handshake::AfterServer)
}

fn mark(config: &Config) -> u32 {
    config.intercept.as_ref().map_or(crate::config::MARK, |intercept| intercept.mark)
}
