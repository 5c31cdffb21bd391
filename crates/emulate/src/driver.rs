//! The loop that steps a network by the clock: ports are read, the network does what is due, packets are written.
//!
//! Follows the simulator's order of events: what is due happens at its own time, also if the loop comes late, so that being late
//! shows at the ports only and does not add up along a path.
//! Differs from the simulator: a packet of a program enters when it was handed to the device, if it came alone, else when it is read.
//! Leaves out hosts and programs.

use crate::ahead::Ahead;
use crate::beside::Beside;
use crate::bursts::{Bursts, Tag};
use crate::clock::RunClock;
use crate::offload::{FrameShape, Offload};
use crate::pace::{Pace, Wait};
use crate::port::{FRAME, Io, Port, Tap};
use crate::routes::{AddressPrefix, PortRoutes};
use crate::verdict::{LatenessLimits, RunLateness};
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use skyhop_scenario::Link;
use skyhop_sim::{Arrived, Content, Simulation};
use skyhop_units::{Span, Time};
use skyhop_wire::{Observed, Packet, Transport, observe};
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Time between two progress reports.
const LOOK: Span = Span::from_millis(10);
/// The most packets that are read from a port before what is due is done; a frame is read whole.
const MOST_PACKETS: u64 = 64;

/// A flow that is left to programs, as the loop needs it.
#[derive(Debug, Clone)]
pub struct ProgramFlow {
    /// Its index in the scenario.
    pub flow: u32,
    /// Ports at its `from` and its `to`; `None` of an end that is simulated.
    pub ports: [Option<u32>; 2],
    /// Their addresses; of a device, what is behind it.
    pub ends: [FlowEnd; 2],
}

/// Addresses at an end of a flow.
#[derive(Debug, Clone)]
pub enum FlowEnd {
    /// Packets to the address of a host.
    Host(Ipv4Addr),
    /// Packets to the prefixes behind a device.
    Device(Vec<AddressPrefix>),
}

/// The loop and others tell each other, while it runs.
#[derive(Default)]
pub struct LoopState {
    stop: AtomicBool,
    /// A look is wanted: paths through satellites take time to find, which packets would wait for.
    wanted: AtomicBool,
    latest: Mutex<Option<Latest>>,
    told: Condvar,
    /// There are changes to make.
    asked: AtomicBool,
    changes: Mutex<Vec<(Vec<LinkUpdate>, Vec<String>)>>,
    /// The changes that were made: when, and as they were asked for.
    made: Mutex<Vec<(Time, Vec<String>)>>,
}

/// A link of the scenario by its index, as it was and as it is to be.
pub struct LinkUpdate {
    /// The link's place in the scenario.
    pub index: usize,
    /// The link before and after.
    pub links: [Box<Link>; 2],
}

/// A look at the loop while it runs.
#[derive(Debug, Clone, Default)]
pub struct Latest {
    /// Time of the run now.
    pub now: Time,
    /// Packets and bytes read and written, by port.
    pub ports: Vec<crate::port::PortCounts>,
    /// Lateness that 99 of 100 packets did not exceed.
    pub late: Option<Span>,
    /// One-way delay of propagation by flow left to programs, s, and satellites on the way; `None` where there are none.
    pub paths: Vec<Option<(f64, usize)>>,
    /// Numbers by flow of programs, there and back: packets handed in, arrived, and the sum of their one-way delays, s.
    pub flows: Vec<[(u64, u64, f64); 2]>,
    /// Links of the scenario: what waits, was dropped and was lost, there and back.
    pub links: Vec<(String, [[u64; 3]; 2])>,
}

impl LoopState {
    /// Has the loop end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Has links changed, within some ten milliseconds.
    pub fn change(&self, changes: Vec<LinkUpdate>, words: Vec<String>) {
        if let Ok(mut all) = self.changes.lock() {
            all.push((changes, words));
            self.asked.store(true, Ordering::Release);
        }
    }

    /// The changes that were made: when, and as they were asked for.
    pub fn made(&self) -> Vec<(Time, Vec<String>)> {
        self.made.lock().map(|made| made.clone()).unwrap_or_default()
    }

    /// A look at the loop, which takes it at its next round; `None` if it does not within a second.
    pub fn look(&self) -> Option<Latest> {
        let mut latest = self.latest.lock().ok()?;
        *latest = None;
        self.wanted.store(true, Ordering::Release);
        let waits = |latest: &mut Option<Latest>| latest.is_none();
        let told = self.told.wait_timeout_while(latest, Duration::from_secs(1), waits);
        told.ok()?.0.take()
    }
}

/// The loop of an emulation.
pub struct EmulationLoop {
    /// The network, and the hosts that are simulated.
    pub simulation: Simulation,
    /// Ports by host.
    pub ports: Vec<Port>,
    /// Lateness so far.
    pub lateness: RunLateness,
    /// Ends that are simulated beside programs.
    pub beside: Beside,
    clock: RunClock,
    between: Vec<ProgramFlow>,
    /// Destinations of packets, by port.
    routes: Vec<PortRoutes>,
    bursts: Bursts,
    ahead: Ahead,
    tap: Option<Box<dyn Tap + Send>>,
    epoll: OwnedFd,
    frame: Box<[u8]>,
    next_look: Time,
    pace: Pace,
}

impl EmulationLoop {
    /// A loop that begins when [`EmulationLoop::run`] is called. Frames under way have at most `memory` bytes.
    ///
    /// # Errors
    ///
    /// No descriptor is left.
    pub fn new(
        mut simulation: Simulation,
        ports: Vec<Port>,
        between: Vec<ProgramFlow>,
        (memory, limits): (usize, &LatenessLimits),
        tap: Option<Box<dyn Tap + Send>>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (index, port) in ports.iter().enumerate() {
            epoll::add(&epoll, &port.tun, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
        }
        let mut routes = vec![PortRoutes::default(); ports.len()];
        for ProgramFlow { flow, ports, ends } in &between {
            for (port, end, backward) in [(ports[0], &ends[1], false), (ports[1], &ends[0], true)] {
                let Some(port) = port else { continue };
                match end {
                    FlowEnd::Host(address) => routes[port as usize].to_host(*address, (*flow, backward)),
                    FlowEnd::Device(behind) => routes[port as usize].to_device(behind, (*flow, backward)),
                }
            }
        }
        routes.iter_mut().for_each(PortRoutes::complete);
        let ahead = Ahead::start(&mut simulation);
        Ok(Self {
            simulation,
            ports,
            lateness: RunLateness::new(limits),
            beside: Beside::default(),
            clock: RunClock::start(),
            between,
            routes,
            bursts: Bursts::new(memory),
            ahead,
            tap,
            epoll,
            frame: vec![0; FRAME].into(),
            next_look: Time::ZERO,
            pace: Pace::default(),
        })
    }

    /// The clock of the run, which begins with the call of [`EmulationLoop::run`].
    pub fn clock(&self) -> RunClock {
        self.clock
    }

    /// Begins the run: from now on `run` is due.
    pub fn begin(&mut self) {
        self.clock = RunClock::start();
        self.next_look = Time::ZERO + LOOK;
    }

    /// Runs until it is told to stop, or until `until`.
    ///
    /// # Errors
    ///
    /// A device that cannot be read any more.
    pub fn run(&mut self, shared: &Arc<LoopState>, until: Option<Time>) -> io::Result<()> {
        let mut events = Vec::with_capacity(64);
        loop {
            let now = self.clock.now();
            self.look(now);
            self.ahead.hand_over(now, &mut self.simulation);
            self.beside.run_until(&mut self.simulation, &mut self.bursts, now + self.pace.early());
            if shared.asked.swap(false, Ordering::Acquire) {
                self.change(now, shared);
            }
            self.write();
            if shared.stop.load(Ordering::Acquire) || until.is_some_and(|until| now >= until) {
                break;
            }
            if shared.wanted.swap(false, Ordering::Acquire) {
                self.tell(now, shared);
            }
            self.wait(now, &mut events)?;
        }
        self.simulation.end_now();
        self.lateness.looks = self.simulation.late_looks();
        Ok(())
    }

    /// Changes links as others have asked for.
    fn change(&mut self, now: Time, shared: &LoopState) {
        let (Ok(mut changes), Ok(mut made)) = (shared.changes.lock(), shared.made.lock()) else { return };
        for (changes, words) in changes.drain(..) {
            for LinkUpdate { index, links: [was, is] } in changes {
                self.simulation.change_link(index, [&was, &is]);
            }
            made.push((now, words));
        }
    }

    /// The network, the ports, the lateness and the simulated ends; what taps have written to is closed.
    pub fn into_parts(self) -> (Simulation, Vec<Port>, RunLateness, Beside) {
        (self.simulation, self.ports, self.lateness, self.beside)
    }

    /// Notes how late it is looked at the clock.
    fn look(&mut self, now: Time) {
        if now >= self.next_look {
            self.lateness.wake.add(now.since(self.next_look), 1);
            let missed = now.since(self.next_look).as_nanos() / LOOK.as_nanos();
            self.next_look += Span::from_nanos((missed + 1) * LOOK.as_nanos());
        }
    }

    /// Rests, then waits until something is due or a port can be read, and reads.
    fn wait(&mut self, began: Time, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let frames = self.ports.iter().map(|port| port.counts.read_frames + port.counts.written_frames).sum();
        if self.pace.handle_round(began, frames) {
            self.poll(Span::ZERO, events)?;
            if !events.is_empty() {
                return self.read_all(events);
            }
        }
        let now = self.clock.now();
        let rest = self.pace.rest(began, now);
        self.clock.sleep(rest);
        let until = now + rest;
        let now = self.clock.now();
        self.pace.overslept(now.since(until));
        let due = [self.simulation.poll_timeout(), self.beside.poll_timeout()].into_iter().flatten().min();
        let due = due.unwrap_or(Time::MAX);
        match self.pace.wait(now, due, self.next_look) {
            Wait::Asleep(until) => self.poll(until.since(now), events)?,
            Wait::Awake(from, until) => {
                self.poll(from.since(now), events)?;
                if events.is_empty() {
                    self.stay_awake(until);
                }
            }
        }
        self.read_all(events)
    }

    /// Looks at the clock until it is time.
    fn stay_awake(&mut self, until: Time) {
        let began = self.clock.now();
        let mut now = began;
        while now < until {
            std::hint::spin_loop();
            now = self.clock.now();
        }
        self.pace.was_awake(now.since(began));
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

    /// Reads the ports.
    fn read_all(&mut self, events: &[epoll::Event]) -> io::Result<()> {
        events.iter().try_for_each(|event| {
            let index = event.data.u64() as usize;
            let came = self.pace.one_by_one().then(|| self.ports[index].first_came(self.clock)).flatten();
            self.read(index, came)
        })
    }

    /// Hands frames of a port to the network, the first as of when it came, if that is known.
    fn read(&mut self, index: usize, mut came: Option<Time>) -> io::Result<()> {
        let before = self.ports[index].counts.read_packets;
        let elsewhere = self.ports[index].counts.elsewhere;
        let most = |counts: &crate::port::PortCounts| {
            counts.read_packets - before + counts.elsewhere - elsewhere >= MOST_PACKETS
        };
        while !most(&self.ports[index].counts) {
            let Some((offload, len)) = self.ports[index].tun.read(&mut self.frame)? else { return Ok(()) };
            let read = self.clock.now();
            self.ports[index].last_read = read;
            // Time does not go back behind what was done.
            let now = came.take().unwrap_or(read).min(read).max(self.simulation.now());
            self.beside.run_until(&mut self.simulation, &mut self.bursts, now);
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
        // Bytes behind a packet are padding; a frame of many has none.
        let whole = packet.wire_len();
        let frame = &self.frame[..len.min(whole as usize)];
        let shape = FrameShape::of(offload, frame).filter(|shape| len == frame.len() || !shape.joins());
        let Some(shape) = shape else {
            counts.malformed += 1;
            return;
        };
        let Some((flow, backward)) = self.routes[index].find(packet.ip.destination, frame) else {
            counts.elsewhere += u64::from(shape.count());
            return;
        };
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
        let Self { simulation, ports, bursts, lateness, clock, tap, between, pace, .. } = self;
        let mut io = Io {
            port: 0,
            bursts,
            clock: *clock,
            early: pace.writes_early(),
            release: &mut lateness.release,
            tap: tap.as_deref_mut(),
        };
        while let Some(tag) = simulation.poll_copied() {
            io.bursts.copied(Tag(tag).burst());
        }
        while let Some(Arrived { at, flow, backward, what }) = simulation.poll_arrival() {
            // Flows are in the scenario's order.
            let Ok(place) = between.binary_search_by_key(&flow, |between| between.flow) else { continue };
            let Some(port) = between[place].ports[usize::from(!backward)] else { continue };
            io.port = port as usize;
            let port = &mut ports[io.port];
            match what {
                Content::Tagged { tag, marked, corrupted: false } => {
                    port.deliver(Tag(tag), marked, at, &mut io)
                }
                Content::Tagged { tag, marked, corrupted: true } => {
                    let bits = simulation.poll_flipped().unwrap_or_default();
                    port.corrupted(Tag(tag), marked, &bits, &mut io);
                }
                Content::Message { tag, packet } => port.message(Tag(tag), &packet, &mut io),
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

    /// Tells those who have asked how far it is.
    fn tell(&mut self, now: Time, shared: &LoopState) {
        let paths = self.between.iter().map(|between| self.simulation.path(between.flow as usize)).collect();
        let ports = self.ports.iter().map(|port| port.counts).collect();
        let flows = self.between.iter().filter_map(|between| self.simulation.programs(between.flow as usize));
        let (flows, late) = (flows.collect(), self.lateness.release.quantile(0.99));
        let look = Latest { now, ports, late, paths, flows, links: self.simulation.links_now() };
        if let Ok(mut latest) = shared.latest.lock() {
            *latest = Some(look);
            shared.told.notify_all();
        }
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
