//! The loop that steps a network by the clock: ports are read, the network does what is due, packets are written.
//!
//! Follows the simulator's order of events: what is due happens at its own time, also if the loop comes late, so that being late shows at the
//! ports only and does not add up along a path.
//! Differs from the simulator: a packet of a program enters at the instant at which it is read.
//! Leaves out hosts and programs.

use crate::ahead::Ahead;
use crate::bursts::{Bursts, Tag};
use crate::clock::Clock;
use crate::offload::{Offload, Shape};
use crate::port::{FRAME, Io, Port, Tap};
use crate::verdict::{Lateness, Limits};
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use skyhop_scenario::Link;
use skyhop_sim::{Arrived, Content, Simulation};
use skyhop_units::{Span, Time};
use skyhop_wire::{Observed, Packet, Transport, emit, observe};
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// From one look at the clock to the next.
const LOOK: Span = Span::from_millis(10);
/// How long the loop rests after work, so that packets that come one by one are read and written together: a little, or longer while many
/// come. Then what is due in half of that is done at once, so that packets are as much early as late.
const REST: Span = Span::from_micros(30);
const LEAST_REST: Span = Span::from_micros(5);
const LONG_REST: Span = Span::from_micros(80);
const EARLY: Span = Span::from_micros(40);
/// Frames of a round from which on many come.
const MANY: u64 = 3;
/// How long before something is due the loop stops sleeping and looks at the clock instead, as a sleeper wakes late.
const AWAKE: Span = Span::from_micros(50);
/// Of which share of all time it may do so, and how much of that it may save up.
const AWAKE_SHARE: u64 = 20;
const AWAKE_MOST: Span = Span::from_millis(1);
/// The most packets that are read from a port before what is due is done; a frame is read whole.
const MOST_PACKETS: u64 = 64;

/// A flow that is left to programs, as the loop needs it.
#[derive(Debug, Clone, Copy)]
pub struct Between {
    /// Its index in the scenario.
    pub flow: u32,
    /// Ports at its `from` and its `to`.
    pub ports: [u32; 2],
    /// Their addresses.
    pub addresses: [Ipv4Addr; 2],
}

/// What others are told while the loop runs, and what they tell it.
#[derive(Default)]
pub struct Shared {
    stop: AtomicBool,
    latest: Mutex<Option<Latest>>,
    /// Whether there are changes to make.
    asked: AtomicBool,
    changes: Mutex<Vec<(Vec<Change>, Vec<String>)>>,
    /// The changes that were made: when, and as they were asked for.
    made: Mutex<Vec<(Time, Vec<String>)>>,
}

/// A link of the scenario by its index, as it was and as it is to be.
pub struct Change {
    /// The link's place in the scenario.
    pub index: usize,
    /// What it was and what it is.
    pub links: [Box<Link>; 2],
}

/// A look at the loop while it runs.
#[derive(Debug, Clone, Default)]
pub struct Latest {
    /// How far it is.
    pub now: Time,
    /// Packets and bytes read and written, by port.
    pub ports: Vec<crate::port::PortCounts>,
    /// How late 99 of 100 packets left at most.
    pub late: Option<Span>,
    /// One-way delay of propagation by flow left to programs, s, and satellites on the way; `None` where there are none.
    pub paths: Vec<Option<(f64, usize)>>,
    /// By flow left to programs, there and back: packets handed in, arrived, and the sum of their one-way delays, s.
    pub flows: Vec<[(u64, u64, f64); 2]>,
    /// Links of the scenario: what waits, was dropped and was lost, there and back.
    pub links: Vec<(String, [[u64; 3]; 2])>,
}

impl Shared {
    /// Has the loop end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Has links changed, within some ten milliseconds.
    pub fn change(&self, changes: Vec<Change>, words: Vec<String>) {
        if let Ok(mut all) = self.changes.lock() {
            all.push((changes, words));
            self.asked.store(true, Ordering::Release);
        }
    }

    /// The changes that were made: when, and as they were asked for.
    pub fn made(&self) -> Vec<(Time, Vec<String>)> {
        self.made.lock().map(|made| made.clone()).unwrap_or_default()
    }

    /// The latest look.
    pub fn latest(&self) -> Option<Latest> {
        self.latest.lock().ok()?.clone()
    }
}

/// The loop.
pub struct Driver {
    /// The network, and the hosts that are simulated.
    pub simulation: Simulation,
    /// Ports by host.
    pub ports: Vec<Port>,
    /// How late it was.
    pub lateness: Lateness,
    clock: Clock,
    between: Vec<Between>,
    /// Where packets go, by port: sorted addresses.
    routes: Vec<Vec<(Ipv4Addr, u32, bool)>>,
    bursts: Bursts,
    ahead: Ahead,
    tap: Option<Box<dyn Tap + Send>>,
    epoll: OwnedFd,
    frame: Box<[u8]>,
    next_look: Time,
    /// What is left of the time for staying awake, and when it was last counted.
    awake: (Span, Time),
    /// Whether the last round had many frames, and all of them so far.
    busy: (bool, u64),
    /// Whether the last round looked for more without a rest: never two of them do.
    swept: bool,
}

impl Driver {
    /// A loop that begins when [`Driver::run`] is called. Frames under way have at most `memory` bytes.
    ///
    /// # Errors
    ///
    /// No descriptor is left.
    pub fn new(
        mut simulation: Simulation,
        ports: Vec<Port>,
        between: Vec<Between>,
        (memory, limits): (usize, &Limits),
        tap: Option<Box<dyn Tap + Send>>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (index, port) in ports.iter().enumerate() {
            epoll::add(&epoll, &port.tun, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
        }
        let mut routes = vec![Vec::new(); ports.len()];
        for Between { flow, ports: [from, to], addresses } in &between {
            routes[*from as usize].push((addresses[1], *flow, false));
            routes[*to as usize].push((addresses[0], *flow, true));
        }
        routes.iter_mut().for_each(|routes| routes.sort_unstable());
        let ahead = Ahead::start(&mut simulation);
        Ok(Self {
            simulation,
            ports,
            lateness: Lateness::new(limits),
            clock: Clock::start(),
            between,
            routes,
            bursts: Bursts::new(memory),
            ahead,
            tap,
            epoll,
            frame: vec![0; FRAME].into(),
            next_look: Time::ZERO,
            awake: (Span::ZERO, Time::ZERO),
            busy: (false, 0),
            swept: false,
        })
    }

    /// The clock of the run, which begins with the call of [`Driver::run`].
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Begins the run: from now on `run` is due.
    pub fn begin(&mut self) {
        self.clock = Clock::start();
        self.next_look = Time::ZERO + LOOK;
    }

    /// Runs until it is told to stop, or until `until`.
    ///
    /// # Errors
    ///
    /// A device that cannot be read any more.
    pub fn run(&mut self, shared: &Arc<Shared>, until: Option<Time>) -> io::Result<()> {
        let mut events = Vec::with_capacity(64);
        let mut told = Time::ZERO;
        loop {
            let now = self.clock.now();
            self.look(now);
            self.ahead.hand_over(now, &mut self.simulation);
            let early = if self.busy.0 { EARLY } else { Span::ZERO };
            self.simulation.run_until(now + early);
            if shared.asked.swap(false, Ordering::Acquire)
                && let Ok(mut changes) = shared.changes.lock()
            {
                for (changes, words) in changes.drain(..) {
                    for Change { index, links: [was, is] } in changes {
                        self.simulation.change_link(index, [&was, &is]);
                    }
                    if let Ok(mut made) = shared.made.lock() {
                        made.push((now, words));
                    }
                }
            }
            self.write();
            if shared.stop.load(Ordering::Acquire) || until.is_some_and(|until| now >= until) {
                break;
            }
            if now >= told {
                told = now + Span::from_millis(250);
                self.tell(now, shared);
            }
            self.wait(now, &mut events)?;
        }
        self.simulation.end_now();
        self.lateness.looks = self.simulation.late_looks();
        Ok(())
    }

    /// The network, the ports and the lateness; what taps have written to is closed.
    pub fn into_parts(self) -> (Simulation, Vec<Port>, Lateness) {
        (self.simulation, self.ports, self.lateness)
    }

    /// Notes how late it is looked at the clock.
    fn look(&mut self, now: Time) {
        if now >= self.next_look {
            self.lateness.wake.add(now.since(self.next_look), 1);
            let missed = now.since(self.next_look).as_nanos() / LOOK.as_nanos();
            self.next_look += Span::from_nanos((missed + 1) * LOOK.as_nanos());
        }
    }

    /// Rests a little if there was work, then waits until something is due or a port can be read, and reads.
    fn wait(&mut self, worked: Time, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let frames = self.ports.iter().map(|port| port.counts.read_frames + port.counts.written_frames).sum();
        self.busy = (frames >= self.busy.1 + MANY, frames);
        self.swept = !self.busy.0 && !self.swept;
        if self.swept {
            // What a host answers at once, as to an echo, is there when the packet is written.
            self.poll(Span::ZERO, events)?;
            if !events.is_empty() {
                return self.read_all(events);
            }
        }
        // However long the round has taken, the loop sleeps: what never does is ended by the system.
        let rest = worked + if self.busy.0 { LONG_REST } else { REST };
        let rested = self.clock.absolute(rest.max(self.clock.now() + LEAST_REST));
        let flags = rustix::time::ClockId::Monotonic;
        // Interrupted is rested.
        let _ = rustix::thread::clock_nanosleep_absolute(flags, &rested);
        let now = self.clock.now();
        let due = self.simulation.poll_timeout().unwrap_or(Time::MAX);
        let stays_awake = due < self.next_look && self.may_stay_awake(now);
        let until = match stays_awake {
            true => Time::ZERO + due.since(Time::ZERO + AWAKE),
            false => due.min(self.next_look),
        };
        self.poll(until.since(now), events)?;
        if stays_awake && events.is_empty() {
            let began = self.clock.now();
            let mut now = began;
            while now < due {
                std::hint::spin_loop();
                now = self.clock.now();
            }
            self.awake.0 = self.awake.0.saturating_sub(now.since(began));
        }
        self.read_all(events)
    }

    /// Waits for ports that can be read, so long at most.
    fn poll(&self, most: Span, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let ns = most.as_nanos();
        let wait = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }

    /// Reads ports.
    fn read_all(&mut self, events: &[epoll::Event]) -> io::Result<()> {
        events.iter().try_for_each(|event| self.read(event.data.u64() as usize))
    }

    /// Whether there is time left for staying awake until something is due.
    fn may_stay_awake(&mut self, now: Time) -> bool {
        let (left, counted) = self.awake;
        let more = Span::from_nanos(now.since(counted).as_nanos() / AWAKE_SHARE);
        self.awake = ((left + more).min(AWAKE_MOST), now);
        self.awake.0 >= AWAKE
    }

    /// Hands frames of a port to the network.
    fn read(&mut self, index: usize) -> io::Result<()> {
        let before = self.ports[index].counts.read_packets;
        let elsewhere = self.ports[index].counts.elsewhere;
        let most = |counts: &crate::port::PortCounts| {
            counts.read_packets - before + counts.elsewhere - elsewhere >= MOST_PACKETS
        };
        while !most(&self.ports[index].counts) {
            let Some((offload, len)) = self.ports[index].tun.read(&mut self.frame)? else { return Ok(()) };
            // What was done early is done.
            let now = self.clock.now().max(self.simulation.now());
            self.simulation.run_until(now);
            self.take(index, offload, len, now);
        }
        Ok(())
    }

    /// Hands the packets of a frame to the network, one by one.
    fn take(&mut self, index: usize, offload: Offload, len: usize, now: Time) {
        let counts = &mut self.ports[index].counts;
        let Ok(Observed { packet, flow: stream }) = observe(&self.frame[..len]) else {
            counts.malformed += 1;
            return;
        };
        // What is behind a packet is padding; a frame of many has none.
        let whole = packet.wire_len();
        let frame = &self.frame[..len.min(whole as usize)];
        let shape = Shape::of(offload, frame).filter(|shape| len == frame.len() || !shape.joins());
        let Some(shape) = shape else {
            counts.malformed += 1;
            return;
        };
        let routes = &self.routes[index];
        let destination = packet.ip.destination;
        let Ok(route) = routes.binary_search_by_key(&destination, |(address, ..)| *address) else {
            counts.elsewhere += 1;
            return;
        };
        let (_, flow, backward) = routes[route];
        counts.read_frames += 1;
        counts.read_packets += u64::from(shape.count());
        let Some(burst) = self.bursts.insert(frame, shape) else {
            counts.no_room += u64::from(shape.count());
            return;
        };
        if let Some(tap) = &mut self.tap {
            for part in 0..shape.count() {
                let mut room = [0; crate::offload::MAX_HEADERS];
                let (len, offload) = shape.headers(frame, [part, part], &mut room);
                tap.packet(index, now, &offload, &room[..len], &frame[shape.payload(part, part)]);
            }
        }
        for part in 0..shape.count() {
            let size = shape.packet_len(part);
            counts.read_bytes += u64::from(size);
            let one = segment(packet, whole.saturating_sub(size), shape.ahead(part));
            self.simulation.send_for(now, (flow, backward), [stream, Tag::new(burst, part).0], one);
        }
    }

    /// Writes what has arrived, and forgets what will not.
    fn write(&mut self) {
        let Self { simulation, ports, bursts, lateness, clock, tap, between, .. } = self;
        let mut io =
            Io { port: 0, bursts, clock: *clock, release: &mut lateness.release, tap: tap.as_deref_mut() };
        while let Some(tag) = simulation.poll_copied() {
            io.bursts.copied(Tag(tag).burst());
        }
        while let Some(Arrived { at, flow, backward, what }) = simulation.poll_arrival() {
            let Some(flow) = between.iter().find(|between| between.flow == flow) else { continue };
            io.port = flow.ports[usize::from(!backward)] as usize;
            let port = &mut ports[io.port];
            match what {
                Content::Tagged { tag, marked, corrupted: false } => {
                    port.deliver(Tag(tag), marked, at, &mut io)
                }
                Content::Tagged { tag, marked, corrupted: true } => {
                    let bits = simulation.poll_flipped().unwrap_or_default();
                    port.corrupted(Tag(tag), marked, &bits, &mut io);
                }
                Content::Message(packet) => {
                    let mut bytes = Vec::new();
                    emit(&packet, usize::MAX, &mut bytes);
                    port.message(&bytes, &mut io);
                }
            }
        }
        for (index, port) in ports.iter_mut().enumerate() {
            io.port = index;
            port.flush(&mut io);
        }
        while let Some(tag) = simulation.poll_ended() {
            io.bursts.release(Tag(tag).burst(), 1);
        }
    }

    /// Tells others how far it is, if none of them is reading that just now.
    fn tell(&mut self, now: Time, shared: &Shared) {
        let Ok(mut latest) = shared.latest.try_lock() else { return };
        let paths = self.between.iter().map(|between| self.simulation.path(between.flow as usize)).collect();
        let ports = self.ports.iter().map(|port| port.counts).collect();
        let flows = self.between.iter().filter_map(|between| self.simulation.programs(between.flow as usize));
        let (flows, late) = (flows.collect(), self.lateness.release.quantile(0.99));
        *latest = Some(Latest { now, ports, late, paths, flows, links: self.simulation.links_now() });
    }
}

/// A packet of a frame of many: `less` bytes shorter than the frame, and `ahead` bytes behind its first.
fn segment(mut packet: Packet, less: u32, ahead: u32) -> Packet {
    packet.payload_len = packet.payload_len.saturating_sub(less);
    if let Transport::Tcp(tcp) = &mut packet.transport {
        tcp.seq = tcp.seq.wrapping_add(ahead);
    }
    packet
}
