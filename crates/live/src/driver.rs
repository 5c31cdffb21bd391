//! The thread that steps a host by the clock: it reads packets from the socket, writes packets to it, and sleeps in between.
//!
//! Follows the loop of the simulator: one input, then drain; the clock takes the place of the agenda.
//! Differs: packets are read and sent in batches, outside the lock that the application's calls take.
//! Leaves out several threads for one socket.

use crate::batch::Batch;
use crate::connection::Failed;
use crate::connections::Name;
use crate::entropy::SystemEntropy;
use crate::host::StpHost;
use crate::keys::create_secret;
use crate::options::{Notice, Options};
use crate::socket::{Socket, is_too_big};
use polling::{Event, Events, PollMode, Poller};
use skyhop_units::{Span, Time};
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since the driver began, as the machines count it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

#[expect(
    clippy::disallowed_methods,
    reason = "the one clock of a host, from which all machines are handed the time"
)]
impl Clock {
    fn start() -> Self {
        Clock(Instant::now())
    }

    pub fn now(self) -> Time {
        // Not from zero, which would look like "never".
        Time::ZERO + Span::from_secs(1) + Span::from_nanos(self.0.elapsed().as_nanos() as u64)
    }

    /// Milliseconds since 1970; 0 if the host's clock is set before that.
    fn wall_ms(self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }
}

/// State shared by the thread and the application's handles.
pub(crate) struct SharedHost {
    host: Mutex<StpHost>,
    poller: Poller,
    /// True if the thread knows that there is something to do.
    kicked: AtomicBool,
    /// Number of the application's handles.
    handles: AtomicUsize,
    pub clock: Clock,
    pub local: SocketAddr,
    /// Connections with which the application has done something.
    pub tell: Sender<Name>,
}

impl SharedHost {
    pub fn lock(&self) -> MutexGuard<'_, StpHost> {
        // A panic of another thread has left the host between two steps, in a state that a peer could have caused as well.
        self.host.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Wakes the thread.
    pub fn kick(&self) {
        if !self.kicked.swap(true, Ordering::AcqRel) {
            let _ = self.poller.notify();
        }
    }

    /// Counts one more handle of the application.
    pub fn hold(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one handle less, and wakes the thread, which ends after the last one.
    pub fn release(&self) {
        self.handles.fetch_sub(1, Ordering::Release);
        self.kick();
    }

    /// Returns true if the application has no handle, and can never have one again.
    fn is_released(&self) -> bool {
        self.handles.load(Ordering::Acquire) == 0
    }
}

const SOCKET: usize = 1;
/// Interval at which a host without handles checks if it may end.
const REST_CHECK: Span = Span::from_millis(50);
/// Calls of the kernel for incoming packets before outgoing ones are sent.
const READS: usize = 8;

struct Driver {
    shared: Arc<SharedHost>,
    told: Receiver<Name>,
    socket: Socket,
    batch: Batch,
    key_log: Option<File>,
    waits_for_room: bool,
}

/// Binds the socket and starts the thread, which ends when no handle is left and all connections have ended.
pub(crate) fn start(options: Options, local: SocketAddr) -> io::Result<Arc<SharedHost>> {
    options.check()?;
    let key_log = options.key_log.as_deref().map(create_secret).transpose()?;
    let socket = Socket::bind(options.carrier, local, options.socket_buffer)?;
    let local = socket.local_addr();
    let clock = Clock::start();
    let poller = Poller::new()?;
    // SAFETY: the driver owns both, and removes the socket from the poller before dropping it.
    unsafe { poller.add_with_mode(socket.io(), Event::readable(SOCKET), PollMode::Level)? };
    let asked = options.socket_buffer;
    let (tell, told) = channel();
    let host = StpHost::new(clock.now(), clock.wall_ms(), options, local, Arc::new(SystemEntropy));
    let given = socket.receive_buffer();
    // The kernel counts its overhead: the requested size is half of the reported one.
    if given / 2 < asked / 2 {
        host.notice(&Notice::SmallBuffer(given / 2, asked));
    }
    let shared = Arc::new(SharedHost {
        host: Mutex::new(host),
        poller,
        kicked: AtomicBool::new(false),
        handles: AtomicUsize::new(1),
        clock,
        local,
        tell,
    });
    let batch = Batch::new(socket.segments_max());
    let mut driver = Driver { shared: shared.clone(), told, socket, batch, key_log, waits_for_room: false };
    std::thread::Builder::new().name("stp".into()).spawn(move || driver.run())?;
    Ok(shared)
}

impl Driver {
    fn run(&mut self) {
        let mut events = Events::new();
        loop {
            self.shared.kicked.store(false, Ordering::Release);
            let worked = match self.step() {
                Ok(Some(worked)) => worked,
                Ok(None) => break,
                Err(e) => {
                    let message = format!("the socket of {}: {e}", self.shared.local);
                    self.shared.lock().break_down(&Failed::new(e.kind(), message));
                    break;
                }
            };
            let timeout = match worked {
                true => Duration::ZERO,
                false => self.until_due(),
            };
            events.clear();
            if self.shared.poller.wait(&mut events, Some(timeout)).is_err() {
                break;
            }
        }
        let _ = self.shared.poller.delete(self.socket.io());
    }

    /// Reads, steps and sends once. Returns true if there may be more to do at once; `None` at the end.
    fn step(&mut self) -> io::Result<Option<bool>> {
        let shared = self.shared.clone();
        let mut more = true;
        for read in 0..READS {
            let runs = self.socket.receive()?;
            if runs == 0 {
                more = false;
                break;
            }
            let mut host = shared.lock();
            let now = shared.clock.now();
            for run in 0..runs {
                let at = self.socket.arrival(run, now);
                let field = self.socket.field(run);
                let (from, to, datagrams) = self.socket.received(run);
                for datagram in datagrams {
                    if host.handle_datagram(at, (from, to, field), datagram) {
                        host.fill(shared.clock.now(), &mut self.batch);
                    }
                }
            }
            more = read + 1 == READS;
        }
        while let Some(trouble) = self.socket.trouble() {
            shared.lock().handle_trouble(shared.clock.now(), &trouble);
        }
        shared.lock().handle_timeout(shared.clock.now());
        loop {
            if !self.send()? {
                // The kernel has no room: waiting packets are sent first when it has.
                self.wait_for_room(true)?;
                return Ok(Some(false));
            }
            let mut host = shared.lock();
            self.told.try_iter().for_each(|name| host.handle_told(name));
            let mut left = host.fill(shared.clock.now(), &mut self.batch);
            let lines = host.take_key_lines();
            let ended = shared.is_released() && host.at_rest(shared.clock.now());
            if ended {
                host.say_goodbye();
                left = host.fill(shared.clock.now(), &mut self.batch);
            }
            drop(host);
            if let Some(file) = &mut self.key_log {
                for line in lines {
                    writeln!(file, "{line}")?;
                }
            }
            if self.batch.is_empty() {
                return Ok(if ended { None } else { Some(more) });
            }
            if left {
                // Between two batches the socket is read, too.
                more = true;
                if !self.send()? {
                    continue;
                }
                return Ok(Some(true));
            }
        }
    }

    /// Sends the batch. Returns false if the kernel has no room.
    fn send(&mut self) -> io::Result<bool> {
        while let Some(part) = self.batch.next().copied() {
            match self.socket.send(&self.batch.buffer, &part) {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if is_too_big(&e) => self.shared.lock().handle_too_big(part.to, part.segment),
                // An ICMP error for a peer that is unreachable at present: the packet counts as lost.
                Err(_) => {}
            }
            self.batch.advance();
        }
        self.wait_for_room(false)?;
        Ok(true)
    }

    fn wait_for_room(&mut self, wait: bool) -> io::Result<()> {
        if std::mem::replace(&mut self.waits_for_room, wait) == wait {
            return Ok(());
        }
        let interest = Event::new(SOCKET, true, wait);
        self.shared.poller.modify_with_mode(self.socket.io(), interest, PollMode::Level)
    }

    fn until_due(&self) -> Duration {
        let host = self.shared.lock();
        let now = self.shared.clock.now();
        // No timer tells when an ended connection has been quiet for long enough.
        let check = self.shared.is_released().then(|| now + REST_CHECK);
        let due = host.poll_timeout().into_iter().chain(check).min();
        due.map_or(Duration::from_secs(60), |due| Duration::from_nanos(due.since(now).as_nanos()))
    }
}
