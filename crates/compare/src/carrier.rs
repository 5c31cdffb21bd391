//! Runs an application of the simulator over sockets in two hosts.
//!
//! Follows the simulator's hosts: actions open, write and close connections, and notices report their results. Each end of a
//! connection has a reading and a writing thread; the application gets their notices in order of arrival.
//! Differs: data written and not yet sent cannot be withdrawn from a kernel.
//! Leaves out contents: all data are zeros.

use crate::contender::Contender;
use crate::measured::{HeldShares, MeasuredFlow};
use crate::socket::{ClientSocket, Info, bound, endpoint};
use skyhop_emulate::clock::RunClock;
use skyhop_emulate::namespace::Namespace;
use skyhop_live::keys::Keys;
use skyhop_live::{Endpoint, StpListener};
use skyhop_traffic::{Action, AppNotice, Application, End};
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, Scope};
use std::time::Duration;

/// First port of the servers, to which the flow's index is added.
pub(crate) const LISTEN: u16 = 40_000;
/// First port of the clients.
pub(crate) const CLIENT: u16 = 5_000;
/// Number of the clients' ports.
const CLIENTS: u32 = 30_000;
/// Number of bytes written at once, as when the send buffer of `host = "linux"` was measured.
const CHUNK: usize = 256 << 10;
/// First word of a connection that belongs to no flow.
const NOBODY: u32 = u32::MAX;
/// Longest wait for a notice before the clock is checked.
const LOOK: Duration = Duration::from_millis(100);

/// The hosts and the transport of a flow.
pub struct FlowHosts {
    /// The flow's index in the scenario.
    pub flow: usize,
    /// Its transport.
    pub contender: Contender,
    /// STP's parameters, if the transport is STP.
    pub stp: skyhop_transport::stp::Config,
    /// Hosts of the flow's client and server.
    pub hosts: [Namespace; 2],
    /// Their addresses.
    pub addresses: [IpAddr; 2],
}

/// The times of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Start of the flow.
    pub start: Time,
    /// End of the offered traffic.
    pub stop: Time,
    /// End of the run.
    pub end: Time,
}

/// Sockets on which a flow's server listens, and from which STP's client connects.
enum Doors {
    Tcp(TcpListener),
    Stp { near: Endpoint, listener: StpListener, _far: Endpoint },
}

/// A flow whose sockets are open.
pub struct OpenFlow {
    place: FlowHosts,
    doors: Doors,
}

/// An order to an end of a connection.
enum Do {
    Write(u64),
    Shutdown,
    /// The client stops sending; data not written yet are dropped.
    Stop,
}

/// A notice from an end.
enum News {
    Told(Time, AppNotice),
    /// The end's last notice.
    Over,
}

/// State shared by the threads of all connections.
struct RunState<'a> {
    carrier: &'a OpenFlow,
    clock: RunClock,
    end: Time,
    tell: Mutex<Sender<News>>,
    /// All connections, to be broken off at the end of the run.
    all: Mutex<Vec<Arc<ClientSocket>>>,
    /// Orders for server's ends of connections that have not arrived yet, by the client's port or STP's first word.
    expected: Mutex<BTreeMap<u32, (u32, Receiver<Do>)>>,
    totals: Mutex<InfoTotals>,
    /// True if the client must report when all its data have been acknowledged.
    acknowledged: bool,
    over: AtomicBool,
}

/// Totals of connections that have ended.
#[derive(Default)]
struct InfoTotals {
    /// Totals of clients whose data have all been acknowledged, and the lifetimes of their connections.
    held: Info,
    life: Span,
    retransmitted: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl OpenFlow {
    /// Opens a flow's sockets.
    ///
    /// # Errors
    ///
    /// A port is in use, or a namespace cannot be entered.
    pub fn new(place: FlowHosts) -> io::Result<Self> {
        let [client, server] = place.addresses;
        let port = LISTEN + (place.flow % 10_000) as u16;
        let doors = match place.contender {
            Contender::Stp => {
                let keys = Keys::generate_shared();
                let far = place.hosts[1].within(|| endpoint(server, port, &place.stp, &keys))??;
                let near = place.hosts[0].within(|| endpoint(client, 0, &place.stp, &keys))??;
                Doors::Stp { near, listener: far.listen(), _far: far }
            }
            _ => Doors::Tcp(place.hosts[1].within(|| {
                let socket = bound(SocketAddr::new(server, port))?;
                socket.listen(1024)?;
                // Accepting polls for the end as often as reading does.
                socket.set_read_timeout(Some(LOOK))?;
                Ok::<_, io::Error>(TcpListener::from(socket))
            })??),
        };
        Ok(Self { place, doors })
    }

    fn server(&self) -> SocketAddr {
        SocketAddr::new(self.place.addresses[1], LISTEN + (self.place.flow % 10_000) as u16)
    }

    /// Opens the association of two hosts, as the simulator's hosts have one.
    fn associate(&self) -> io::Result<()> {
        let Doors::Stp { near, .. } = &self.doors else { return Ok(()) };
        let first = ClientSocket::Stp(near.connect(self.server())?);
        first.write(&NOBODY.to_be_bytes())?;
        first.finish_writing()
    }

    /// Runs an application until it or the run has ended. With STP it starts when the association is open.
    pub fn carry_out(
        &self,
        clock: RunClock,
        mut application: Application,
        mut times: Times,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> MeasuredFlow {
        if self.place.contender == Contender::Stp {
            clock.sleep_until(times.start);
            // Without an association no connection opens, and the measurement shows that.
            let _ = self.associate();
            times.start = times.start.max(clock.now());
        }
        let (tell, told) = channel();
        let common = RunState {
            carrier: self,
            clock,
            end: times.end,
            tell: Mutex::new(tell),
            all: Mutex::default(),
            expected: Mutex::default(),
            totals: Mutex::default(),
            acknowledged: matches!(application, Application::Bulk(_)),
            over: AtomicBool::new(false),
        };
        let delivered = thread::scope(|scope| {
            scope.spawn(|| common.accept_all(scope));
            let open = |connection, orders| {
                let common = &common;
                scope.spawn(move || common.open(connection, orders, scope));
            };
            let delivered = attend(&mut application, &common, (times, go_on), &told, open);
            common.over.store(true, Ordering::Release);
            locked(&common.all).iter().for_each(|connection| connection.break_off());
            delivered
        });
        let until = clock.now().min(times.stop).min(times.end);
        measured(&application, &locked(&common.totals), delivered, [times.start, until])
    }
}

/// Carries out actions and passes notices on until the end. Returns the payload received by each end.
fn attend(
    application: &mut Application,
    common: &RunState<'_>,
    (times, go_on): (Times, &(dyn Fn() -> bool + Sync)),
    told: &Receiver<News>,
    open: impl Fn(u32, Receiver<Do>),
) -> [u64; 2] {
    let clock = common.clock;
    let mut orders: BTreeMap<(u32, u8), Sender<Do>> = BTreeMap::new();
    let (mut delivered, mut talking, mut started, mut stopped) = ([0; 2], 0_u32, false, false);
    loop {
        while let Some(action) = application.poll_action() {
            let (end, order) = match action {
                Action::Open { connection } => {
                    let [near, far] = [End::Client, End::Server].map(|end| {
                        let (sender, receiver) = channel();
                        orders.insert((connection, end as u8), sender);
                        receiver
                    });
                    talking += 2;
                    locked(&common.expected).insert(common.key(connection), (connection, far));
                    open(connection, near);
                    continue;
                }
                Action::Write { connection, end, bytes } => ((connection, end), Do::Write(bytes)),
                Action::Shutdown { connection, end } => ((connection, end), Do::Shutdown),
                Action::StopWriting { connection, end } => ((connection, end), Do::Stop),
            };
            if let Some(to) = orders.get(&(end.0, end.1 as u8)) {
                // An end that has finished needs no orders.
                let _ = to.send(order);
            }
        }
        let now = clock.now();
        if !go_on()
            || now >= times.end
            || (started && application.finished() && (common.acknowledged || talking == 0))
        {
            return delivered;
        }
        let mut due = if started { application.poll_timeout().unwrap_or(Time::MAX) } else { times.start };
        if !started && now >= times.start {
            started = true;
            application.start(now);
            continue;
        }
        if started && !stopped {
            due = due.min(times.stop);
            if now >= times.stop {
                stopped = true;
                application.stop(now);
                continue;
            }
        }
        if started && due <= now {
            application.handle_timeout(now);
            continue;
        }
        let wait = Duration::from_nanos(due.min(times.end).since(now).as_nanos()).min(LOOK);
        match told.recv_timeout(wait) {
            Ok(News::Told(at, notice)) => {
                if let AppNotice::Delivered { end, bytes, .. } = notice {
                    delivered[end as usize] += bytes;
                }
                if started {
                    application.handle(at, notice);
                }
            }
            Ok(News::Over) => talking -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return delivered,
        }
    }
}

impl RunState<'_> {
    /// Number by which the server identifies a connection: the client's port, or STP's first word.
    fn key(&self, connection: u32) -> u32 {
        match self.carrier.doors {
            Doors::Tcp(_) => connection % CLIENTS,
            Doors::Stp { .. } => connection,
        }
    }

    fn tell(&self, notice: AppNotice) {
        let now = self.clock.now();
        let _ = locked(&self.tell).send(News::Told(now, notice));
    }

    fn tell_over(&self) {
        let _ = locked(&self.tell).send(News::Over);
    }

    fn over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Connects, and runs the client's end.
    fn open<'s>(&'s self, connection: u32, orders: Receiver<Do>, scope: &'s Scope<'s, '_>) {
        let began = self.clock.now();
        match self.connect(connection) {
            Ok(socket) => self.talk((connection, End::Client), socket, orders, began, scope),
            Err(_) => {
                self.tell(AppNotice::Reset { connection, end: End::Client });
                self.tell_over();
                // The other end will not see the connection.
                locked(&self.expected).remove(&self.key(connection));
                self.tell_over();
            }
        }
    }

    fn connect(&self, connection: u32) -> io::Result<ClientSocket> {
        let OpenFlow { place, doors } = self.carrier;
        let server = self.carrier.server();
        match doors {
            Doors::Tcp(_) => {
                place.hosts[0].enter()?;
                let port = CLIENT + (connection % CLIENTS) as u16;
                let socket = bound(SocketAddr::new(place.addresses[0], port))?;
                let left = Duration::from_nanos(self.end.since(self.clock.now()).as_nanos());
                socket.connect_timeout(&server.into(), left.max(Duration::from_millis(1)))?;
                Ok(ClientSocket::Tcp(socket.into()))
            }
            Doors::Stp { near, .. } => Ok(ClientSocket::Stp(near.connect(server)?)),
        }
    }

    /// Accepts connections until the end.
    fn accept_all<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        while !self.over() {
            match &self.carrier.doors {
                Doors::Tcp(listener) => {
                    let Ok((stream, peer)) = listener.accept() else { continue };
                    // An accepted socket inherits the timeout.
                    let _ = stream.set_read_timeout(None);
                    let key = u32::from(peer.port().wrapping_sub(CLIENT));
                    scope.spawn(move || self.accepted(ClientSocket::Tcp(stream), Some(key), scope));
                }
                Doors::Stp { listener, .. } => {
                    let Ok((stream, _)) = listener.accept_timeout(LOOK) else { continue };
                    scope.spawn(move || self.accepted(ClientSocket::Stp(stream), None, scope));
                }
            }
        }
    }

    /// Runs the server's end of an accepted connection.
    fn accepted<'s>(&'s self, socket: ClientSocket, key: Option<u32>, scope: &'s Scope<'s, '_>) {
        let began = self.clock.now();
        let mut word = [0; 4];
        let key = key.or_else(|| socket.read_exact(&mut word).is_ok().then_some(u32::from_be_bytes(word)));
        let found = key.and_then(|key| locked(&self.expected).remove(&key));
        if let Some((connection, orders)) = found {
            self.talk((connection, End::Server), socket, orders, began, scope);
        }
    }

    /// Runs an end: one thread reads, and this one writes.
    fn talk<'s>(
        &'s self,
        (connection, end): (u32, End),
        socket: ClientSocket,
        orders: Receiver<Do>,
        began: Time,
        scope: &'s Scope<'s, '_>,
    ) {
        self.tell(AppNotice::Opened { connection, end });
        let socket = Arc::new(socket);
        locked(&self.all).push(socket.clone());
        let reads = socket.clone();
        scope.spawn(move || self.read_all((connection, end), &reads));
        let Some(written) = self.write_all(&socket, self.first_word(connection, end), &orders) else {
            return;
        };
        if self.acknowledged && end == End::Client {
            if socket.wait_acknowledged(&self.over).is_err() || self.over() {
                return;
            }
            let life = self.clock.now().since(began);
            self.tell(AppNotice::AllAcknowledged { connection, end, bytes: written });
            if let Some(info) = socket.info() {
                let mut totals = locked(&self.totals);
                totals.held = totals.held.and(info);
                totals.life += life;
            }
        }
    }

    /// Reads until the end.
    fn read_all(&self, (connection, end): (u32, End), socket: &Arc<ClientSocket>) {
        let mut bytes = vec![0; CHUNK];
        loop {
            match socket.read(&mut bytes) {
                Ok(0) => break self.tell(AppNotice::PeerFinished { connection, end }),
                Ok(len) => self.tell(AppNotice::Delivered { connection, end, bytes: len as u64 }),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(_) if self.over() => break,
                Err(_) => break self.tell(AppNotice::Reset { connection, end }),
            }
        }
        locked(&self.totals).retransmitted += socket.retransmitted();
        locked(&self.all).retain(|one| !Arc::ptr_eq(one, socket));
        self.tell_over();
    }

    /// First word by which a server identifies an STP connection, sent before the client's bytes.
    fn first_word(&self, connection: u32, end: End) -> Option<[u8; 4]> {
        let tells = end == End::Client && matches!(self.carrier.doors, Doors::Stp { .. });
        tells.then(|| connection.to_be_bytes())
    }

    /// Writes as ordered until the end, with the first word and the data after it in one piece. Returns the bytes written without
    /// that word;
    /// `None` if the connection has broken or no orders come any more.
    fn write_all(
        &self,
        socket: &ClientSocket,
        mut first_word: Option<[u8; 4]>,
        orders: &Receiver<Do>,
    ) -> Option<u64> {
        let zeros = vec![0; CHUNK];
        let mut queue = VecDeque::new();
        let mut written = 0;
        if let Some(word) = first_word {
            // A train of packets that starts with a small one measures nothing; an end without data sends the word nevertheless.
            match orders.recv_timeout(LOOK) {
                Ok(order) => queue.push_back(order),
                Err(RecvTimeoutError::Timeout) => {
                    socket.write(&word).ok()?;
                    first_word = None;
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        while let Do::Write(mut left) = queue.pop_front().map_or_else(|| orders.recv().ok(), Some)? {
            while left > 0 {
                match orders.try_recv() {
                    Ok(Do::Stop) => {
                        queue.push_front(Do::Stop);
                        break;
                    }
                    Ok(order) => queue.push_back(order),
                    Err(TryRecvError::Empty) => {}
                    // Orders received before are still carried out.
                    Err(TryRecvError::Disconnected) if self.over() => return None,
                    Err(TryRecvError::Disconnected) => {}
                }
                if let Some(word) = first_word {
                    let mut bytes = word.to_vec();
                    bytes.resize(4 + left.min(CHUNK as u64) as usize, 0);
                    let done = socket.write(&bytes).ok()?.checked_sub(4)?;
                    first_word = None;
                    (left, written) = (left - done as u64, done as u64);
                    continue;
                }
                let done = socket.write(&zeros[..left.min(CHUNK as u64) as usize]);
                match done {
                    Ok(len) => (left, written) = (left - len as u64, written + len as u64),
                    Err(why) if why.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return None,
                }
            }
        }
        if let Some(word) = first_word {
            socket.write(&word).ok()?;
        }
        socket.finish_writing().ok().map(|()| written)
    }
}

/// The measurement of an application that has ended.
fn measured(
    application: &Application,
    totals: &InfoTotals,
    delivered: [u64; 2],
    [start, until]: [Time; 2],
) -> MeasuredFlow {
    let share = |part: Span| part.as_secs_f64() / totals.life.as_secs_f64();
    let mut found = MeasuredFlow { segments_retransmitted: totals.retransmitted, ..MeasuredFlow::default() };
    let (towards, until) = match (application, application.completions()) {
        (Application::Bulk(bulk), _) => {
            found.completed_s = bulk.completed().map(|at| at.since(start).as_secs_f64());
            found.held = (totals.life > Span::ZERO).then(|| HeldShares {
                busy: share(totals.held.busy),
                receive_window: share(totals.held.receive_window),
                send_buffer: share(totals.held.send_buffer),
            });
            (End::Server, bulk.completed().unwrap_or(until))
        }
        (_, Some(all)) => {
            let times = all.sorted_s();
            found.completion_mean_s =
                (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64);
            (found.completed, found.failed) = (times.len() as u64, all.failed);
            let web = matches!(application, Application::Web(_));
            (if web { End::Client } else { End::Server }, until)
        }
        (_, None) => (End::Server, until),
    };
    let active_s = until.since(start).as_secs_f64();
    if active_s > 0.0 {
        found.goodput_bps = delivered[towards as usize] as f64 * 8.0 / active_s;
    }
    found
}
