//! The loop that steps a network by the clock: it reads ports, advances the network, and writes packets.
//!
//! Follows the simulator's order of events: each event has its own time even if the loop is late, so that lateness appears only at
//! the ports and does not add up along a path.
//! Differs from the simulator: a program's packet enters at the time when the device got it, if it came alone, otherwise half a round
//! before it is read.
//! Leaves out hosts and programs.

use crate::ahead::Ahead;
use crate::beside::Beside;
use crate::bursts::{Bursts, Tag};
use crate::clock::RunClock;
use crate::offload::{FrameShape, Offload};
use crate::pace::{Pace, Wait};
use crate::paths::PathTraces;
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
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Interval between progress reports.
const LOOK: Span = Span::from_millis(10);
/// Largest number of packets read from a port before due events are handled; a frame is read as a whole.
const MOST_PACKETS: u64 = 64;
/// Number of ports up to which reading all is cheaper than asking which of them can be read.
const FEW_PORTS: usize = 4;

/// A flow of programs, as needed by the loop.
#[derive(Debug, Clone)]
pub struct ProgramFlow {
    /// Its index in the scenario.
    pub flow: u32,
    /// Ports at its `from` and its `to`; `None` for a simulated end.
    pub ports: [Option<u32>; 2],
    /// Addresses of its ends; for a device, those behind it.
    pub ends: [FlowEnd; 2],
}

/// Addresses at an end of a flow.
#[derive(Debug, Clone)]
pub enum FlowEnd {
    /// The address of a host.
    Host(Ipv4Addr),
    /// The prefixes behind a device.
    Device(Vec<AddressPrefix>),
}

/// State shared by the loop and other threads while it runs.
#[derive(Default)]
pub struct LoopState {
    stop: AtomicBool,
    /// True if a report is requested: paths through satellites take time to find, which would delay packets.
    wanted: AtomicBool,
    latest: Mutex<Option<Latest>>,
    told: Condvar,
    /// True if there are changes to make.
    asked: AtomicBool,
    changes: Mutex<Vec<(Vec<LinkUpdate>, Vec<String>)>>,
    /// Changes that were made: their time, and the request.
    made: Mutex<Vec<(Time, Vec<String>)>>,
}

/// A change of a link of the scenario.
pub struct LinkUpdate {
    /// Index of the link in the scenario.
    pub index: usize,
    /// The link before and after.
    pub links: [Box<Link>; 2],
}

/// A progress report of the loop.
#[derive(Debug, Clone, Default)]
pub struct Latest {
    /// Present time of the run.
    pub now: Time,
    /// Packets and bytes read and written, by port.
    pub ports: Vec<crate::port::PortCounts>,
    /// Lateness that 99 of 100 packets did not exceed.
    pub late: Option<Span>,
    /// One-way propagation delay by flow of programs, s, and number of satellites on the path; `None` without satellites.
    pub paths: Vec<Option<(f64, usize)>>,
    /// Packets by flow of programs, in each direction: the numbers sent and arrived, and the sum of their one-way delays, s.
    pub flows: Vec<[(u64, u64, f64); 2]>,
    /// Links of the scenario, each with the packets waiting, dropped and lost, forward and reverse.
    pub links: Vec<(String, [[u64; 3]; 2])>,
}

impl LoopState {
    /// Asks the loop to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Asks for changes of links, which take effect within about ten milliseconds.
    pub fn change(&self, changes: Vec<LinkUpdate>, words: Vec<String>) {
        if let Ok(mut all) = self.changes.lock() {
            all.push((changes, words));
            self.asked.store(true, Ordering::Release);
        }
    }

    /// Changes that were made: their time, and the request.
    pub fn made(&self) -> Vec<(Time, Vec<String>)> {
        self.made.lock().map(|made| made.clone()).unwrap_or_default()
    }

    /// A progress report, made in the loop's next round; `None` if there is none within a second.
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
    /// The network, and the simulated hosts.
    pub simulation: Simulation,
    /// Ports by host.
    pub ports: Vec<Port>,
    /// Lateness so far.
    pub lateness: RunLateness,
    /// Simulated ends of flows with programs.
    pub beside: Beside,
    /// The paths of programs over time.
    pub paths: PathTraces,
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
    /// A loop that starts when [`EmulationLoop::run`] is called. Frames in flight have at most `memory` bytes.
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
        let paths = PathTraces::new(between.iter().map(|between| between.flow));
        Ok(Self {
            simulation,
            ports,
            lateness: RunLateness::new(limits),
            beside: Beside::default(),
            paths,
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

    /// The clock of the run, which starts with the call of [`EmulationLoop::run`].
    pub fn clock(&self) -> RunClock {
        self.clock
    }

    /// Starts the run's clock; [`EmulationLoop::run`] must follow at once.
    pub fn begin(&mut self) {
        self.clock = RunClock::start();
        self.next_look = Time::ZERO + LOOK;
    }

    /// Runs until it is asked to end, or until `until`.
    ///
    /// # Errors
    ///
    /// A device can no longer be read.
    pub fn run(&mut self, shared: &Arc<LoopState>, until: Option<Time>) -> io::Result<()> {
        let mut events = Vec::with_capacity(64);
        loop {
            let now = self.clock.now();
            self.look(now);
            self.ahead.hand_over(now, &mut self.simulation);
            self.beside.run_until(&mut self.simulation, &mut self.bursts, now + self.pace.early());
            let asked = shared.asked.swap(false, Ordering::Acquire);
            if asked {
                self.change(now, shared);
            }
            self.write();
            self.paths.look(&mut self.simulation, asked);
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

    /// Makes the requested changes of links.
    fn change(&mut self, now: Time, shared: &LoopState) {
        let (Ok(mut changes), Ok(mut made)) = (shared.changes.lock(), shared.made.lock()) else { return };
        for (changes, words) in changes.drain(..) {
            for LinkUpdate { index, links: [was, is] } in changes {
                self.simulation.change_link(index, [&was, &is]);
            }
            made.push((now, words));
        }
    }

    /// The network, the ports, the lateness, the simulated ends and the traces of paths; taps are closed.
    pub fn into_parts(self) -> (Simulation, Vec<Port>, RunLateness, Beside, PathTraces) {
        (self.simulation, self.ports, self.lateness, self.beside, self.paths)
    }

    /// Records how wrong the time of a packet would be that was sent when the last wake-up was due.
    fn look(&mut self, now: Time) {
        if now >= self.next_look {
            let sent = now.before(self.pace.read_after());
            self.lateness.wake.add(sent.since(self.next_look).max(self.next_look.since(sent)), 1);
            let missed = now.since(self.next_look).as_nanos() / LOOK.as_nanos();
            self.next_look += Span::from_nanos((missed + 1) * LOOK.as_nanos());
        }
    }

    /// Rests, then waits until an event is due or a port can be read, and reads.
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
            // After a rest among many packets most ports have some; a packet that comes alone is read with its time at the device.
            Wait::Asleep(until)
                if until <= now && !self.pace.one_by_one() && self.ports.len() <= FEW_PORTS =>
            {
                return (0..self.ports.len()).try_for_each(|index| self.read(index, None));
            }
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

    /// Polls the clock until `until`.
    fn stay_awake(&mut self, until: Time) {
        let began = self.clock.now();
        let mut now = began;
        while now < until {
            std::hint::spin_loop();
            now = self.clock.now();
        }
        self.pace.was_awake(now.since(began));
    }

    /// Waits for readable ports, at most `most`.
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

    /// Reads frames of a port into the network, the first with its time of arrival at the device, if known.
    fn read(&mut self, index: usize, mut came: Option<Time>) -> io::Result<()> {
        let before = self.ports[index].counts.read_packets;
        let elsewhere = self.ports[index].counts.elsewhere;
        let most = |counts: &crate::port::PortCounts| {
            counts.read_packets - before + counts.elsewhere - elsewhere >= MOST_PACKETS
        };
        while !most(&self.ports[index].counts) {
            let Some((offload, place)) = self.ports[index].tun.read(&mut self.frame)? else { return Ok(()) };
            let read = self.clock.now();
            self.ports[index].last_read = read;
            // Time does not go back before events that were handled.
            let sent = read.before(self.pace.read_after());
            let now = came.take().unwrap_or(sent).min(read).max(self.simulation.now());
            self.beside.run_until(&mut self.simulation, &mut self.bursts, now);
            self.take(index, offload, place, now);
        }
        Ok(())
    }

    /// Sends the packets of a frame into the network, one by one.
    fn take(&mut self, index: usize, offload: Offload, place: Range<usize>, now: Time) {
        let counts = &mut self.ports[index].counts;
        let Ok(Observed { packet, flow: stream }) = observe(&self.frame[place.clone()]) else {
            counts.malformed += 1;
            return;
        };
        // Bytes after a packet are padding; a frame of many packets has none.
        let whole = packet.wire_len();
        let len = place.len();
        let frame = &self.frame[place][..len.min(whole as usize)];
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

    /// Writes packets that have arrived, and releases those that will not arrive.
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

    /// Makes a progress report, if one is requested.
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

/// A packet of a frame of many: `less` bytes shorter than the frame, and `ahead` bytes after its first.
fn segment(mut packet: Packet, less: u32, ahead: u32) -> Packet {
    packet.payload_len = packet.payload_len.saturating_sub(less);
    if let Transport::Tcp(tcp) = &mut packet.transport {
        tcp.seq = tcp.seq.wrapping_add(ahead);
    }
    packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::stepped;
    use crate::offload::{LEN, fold, sum};
    use crate::tun::Tun;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    const DELAY: Span = Span::from_millis(10);
    const EARLY: Span = Span::from_micros(79);
    const NOW: Time = Time::from_nanos(1_000_000_000);
    const NANOSECOND: Span = Span::from_nanos(1);

    /// A loop whose two ports are sockets, with the hosts' ends of them. It stands at `NOW` of a clock that moves when it is read,
    /// after frames that were `apart`, with a link of `DELAY` that takes no time to send.
    fn stand(apart: Span) -> (EmulationLoop, [UnixDatagram; 2]) {
        let text = "duration = \"60 s\"\n[links.l]\nrate = \"1000 Gbit/s\"\ndelay = \"10 ms\"\n[[flows]]\nreal = true\n\
            path = [\"a\", \"l\", \"b\"]\ntraffic = { kind = \"ping\" }\n";
        let loaded = skyhop_scenario::parse(text.as_bytes(), "test", &[]).expect("a scenario");
        let simulation = Simulation::with_programs(&loaded.scenario, &loaded.files, 1, &[0]);
        let pairs = [0; 2].map(|_| UnixDatagram::pair().expect("sockets"));
        let ports = pairs.each_ref().map(|(port, _)| {
            let port = port.try_clone().expect("a descriptor");
            port.set_nonblocking(true).expect("a socket");
            Port::new(Tun::of_socket(OwnedFd::from(port)), None)
        });
        let ends = [1, 2].map(|last| FlowEnd::Host(Ipv4Addr::new(10, 0, 0, last)));
        let between = vec![ProgramFlow { flow: 0, ports: [Some(0), Some(1)], ends }];
        let limits = LatenessLimits { late: Span::from_micros(150), missed: 0 };
        stepped::set(Span::ZERO, NANOSECOND);
        let made = EmulationLoop::new(
            simulation.expect("a network"),
            ports.into(),
            between,
            (1 << 20, &limits),
            None,
        );
        let mut made = made.expect("a descriptor");
        for n in 1..=100 {
            made.pace.handle_round(Time::ZERO + Span::from_nanos(apart.as_nanos() * n), n);
        }
        stepped::set(NOW.since(Time::ZERO), NANOSECOND);
        (made, pairs.map(|(_, host)| host))
    }

    const CLOSE: Span = Span::from_micros(100);
    const FAR: Span = Span::from_millis(5);

    /// Sends a packet of UDP from the first host to the second.
    fn send(host: &UnixDatagram) {
        let mut bytes = [0; LEN + 28];
        let packet = &mut bytes[LEN..];
        (packet[0], packet[3], packet[8], packet[9], packet[25]) = (0x45, 28, 64, 17, 8);
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let header = !fold(sum(&packet[..20]));
        packet[10..12].copy_from_slice(&header.to_be_bytes());
        host.send(&bytes).expect("a socket");
    }

    /// The time at which a packet counts as sent that is read at `NOW`, `came` being its time at the device.
    fn sent(apart: Span, came: Option<Time>) -> Time {
        let (mut made, [host, _]) = stand(apart);
        send(&host);
        made.read(0, came).expect("a socket");
        assert_eq!(made.ports[0].counts.read_packets, 1);
        made.simulation.run_until(NOW + DELAY + DELAY);
        made.simulation.poll_arrival().expect("a packet").at.before(DELAY)
    }

    /// Asserts that two times differ by at most a few readings of the clock, and the link's time to send a packet.
    fn close(found: Time, expected: Time) {
        let off = found.since(expected).max(expected.since(found));
        assert!(off <= Span::from_nanos(10), "{found:?} for {expected:?}");
    }

    #[test]
    fn a_packet_among_many_counts_as_sent_half_a_round_before_it_is_read() {
        close(sent(CLOSE, None), NOW.before(EARLY));
        close(sent(FAR, None), NOW);
        // One that comes alone counts from its time at the device.
        let came = NOW.before(Span::from_micros(23));
        close(sent(FAR, Some(came)), came);
    }

    #[test]
    fn a_packet_is_never_sent_before_an_event_that_was_handled() {
        let (mut made, [host, _]) = stand(CLOSE);
        let handled = NOW.before(Span::from_micros(30));
        made.simulation.run_until(handled);
        send(&host);
        made.read(0, None).expect("a socket");
        made.simulation.run_until(NOW + DELAY);
        close(made.simulation.poll_arrival().expect("a packet").at, handled + DELAY);
    }

    #[test]
    fn a_wake_up_is_wrong_by_what_a_packet_sent_then_would_be() {
        for (apart, after) in [(CLOSE, EARLY), (FAR, Span::ZERO)] {
            let (mut made, _hosts) = stand(apart);
            let late = Span::from_micros(11);
            made.next_look = NOW;
            made.look(NOW + after + late);
            assert_eq!((made.lateness.wake.count(), made.lateness.wake.max()), (1, late));
        }
    }

    /// A round handles and writes what is due within half a round, if packets are many; else nothing before it is due.
    #[test]
    fn packets_are_written_half_a_round_early_at_most() {
        for (apart, early) in [(CLOSE, EARLY), (FAR, Span::ZERO)] {
            for (before, written) in [(Span::from_micros(2), false), (Span::ZERO, true)] {
                let (mut made, [host, other]) = stand(apart);
                other.set_nonblocking(true).expect("a socket");
                send(&host);
                made.read(0, Some(NOW)).expect("a socket");
                let round = (NOW + DELAY + Span::from_micros(1)).before(early).before(before);
                stepped::set(round.since(Time::ZERO), NANOSECOND);
                // At its end the loop makes a last round, without a wait.
                made.run(&Arc::default(), Some(NOW)).expect("sockets");
                assert_eq!(other.recv(&mut [0; 128]).is_ok(), written, "{apart:?}, {before:?}");
                // It is written at once, and not when it is due.
                let wrong = made.lateness.release.max();
                let least = early.saturating_sub(Span::from_micros(2));
                assert!(
                    !written || (least..=early + Span::from_micros(2)).contains(&wrong),
                    "{apart:?}: {wrong:?}"
                );
            }
        }
    }

    /// A packet that was polled for is handled before it is due, and written when it is.
    #[test]
    fn a_single_packet_is_written_when_it_is_due() {
        let (mut made, [host, other]) = stand(FAR);
        send(&host);
        made.read(0, Some(NOW)).expect("a socket");
        made.pace.was_awake(Span::ZERO);
        let round = (NOW + DELAY).before(Span::from_micros(30));
        stepped::set(round.since(Time::ZERO), Span::from_nanos(10));
        made.run(&Arc::default(), Some(NOW)).expect("sockets");
        other.set_nonblocking(true).expect("a socket");
        assert!(other.recv(&mut [0; 128]).is_ok());
        let wrong = made.lateness.release.max();
        assert!(wrong <= Span::from_micros(1), "{wrong:?}");
    }
}
