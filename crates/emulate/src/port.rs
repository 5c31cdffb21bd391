//! A host's port: frames from its device into the network, and packets from the network as frames to its device.
//!
//! Follows the order in which the network delivers: packets that were neighbours in their frame, and leave together, are written as
//! one frame.
//! Leaves out the network in between.

use crate::bursts::{Bursts, Tag};
use crate::clock::RunClock;
use crate::lateness::Histogram;
use crate::offload::{LEN, MAX_HEADERS, Offload};
use crate::stamps::Stamps;
use crate::told::too_large;
use crate::tun::Tun;
use skyhop_link::FlippedBit;
use skyhop_units::{Span, Time};
use skyhop_wire::Packet;
use std::io;

/// Size of the buffer into which a frame is read behind its offload header, bytes.
pub const FRAME: usize = LEN + 65_536 + 256;

/// Smoothing of a write's duration: an eighth of each new value counts, and a longer one was interrupted.
const SMOOTHING: u64 = 8;
const LONGEST_WRITE: Span = Span::from_micros(100);
/// Longest time by which a write begins before its packet is due, so that the host has the packet at that time, about half way.
const MOST_LEAD: Span = Span::from_micros(25);

/// Packets to be written next, neighbours in one frame.
#[derive(Debug, Clone, Copy)]
struct PacketRun {
    burst: u32,
    first: u32,
    last: u32,
    marked: bool,
}

/// Counters of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounts {
    /// Packets of programs that were read.
    pub read_packets: u64,
    /// Bytes of those packets.
    pub read_bytes: u64,
    /// Frames of those packets.
    pub read_frames: u64,
    /// Packets written.
    pub written_packets: u64,
    /// Bytes of those packets.
    pub written_bytes: u64,
    /// Frames of those packets.
    pub written_frames: u64,
    /// Packets to other destinations: multicast, and addresses of no host.
    pub elsewhere: u64,
    /// Frames that are not IP packets.
    pub malformed: u64,
    /// Packets that the kernel refused.
    pub not_taken: u64,
    /// Packets dropped for want of memory.
    pub no_room: u64,
}

/// A port.
pub struct Port {
    /// The device.
    pub tun: Tun,
    /// Times at which the device got frames, if the kernel reports them.
    stamps: Option<Stamps>,
    /// Time of the last read of a frame.
    pub last_read: Time,
    /// Its counters.
    pub counts: PortCounts,
    /// True if neighbours are written as one frame.
    joins: bool,
    run: Option<PacketRun>,
    /// Due times of the packets to be written.
    dues: Vec<Time>,
    /// Smoothed duration of a write, ns.
    writing: u64,
    room: [u8; MAX_HEADERS],
}

/// Receiver of the packets of ports, for a capture.
pub trait Tap {
    /// Takes a packet that a port read or wrote at `at`: its headers, in which the transport's checksum may be left to the card,
    /// and payload.
    fn packet(&mut self, port: usize, at: Time, offload: &Offload, header: &[u8], payload: &[u8]);
}

impl Port {
    /// A port without packets to write.
    pub fn new(tun: Tun, stamps: Option<Stamps>) -> Self {
        Self {
            tun,
            stamps,
            last_read: Time::ZERO,
            counts: PortCounts::default(),
            joins: true,
            run: None,
            dues: Vec::new(),
            writing: 0,
            room: [0; MAX_HEADERS],
        }
    }

    /// Time at which the device got the first unread frame, if the kernel has recorded it.
    pub fn first_came(&self, clock: RunClock) -> Option<Time> {
        self.stamps.as_ref()?.first_since(self.last_read, |ns| clock.of_day(ns))
    }

    /// Returns true if a packet is the next neighbour of those to be written.
    fn continues(&self, tag: Tag, marked: bool, bursts: &Bursts) -> bool {
        self.joins
            && self.run.is_some_and(|run| {
                let next = run.burst == tag.burst() && run.last + 1 == tag.index() && run.marked == marked;
                next && bursts.get(run.burst).0.joins()
            })
    }

    /// Delivers a packet that was due at `due`.
    pub fn deliver(&mut self, tag: Tag, marked: bool, due: Time, io: &mut Io<'_>) {
        if self.continues(tag, marked, io.bursts) {
            if let Some(run) = &mut self.run {
                run.last = tag.index();
            }
        } else {
            self.flush(io);
            self.run = Some(PacketRun { burst: tag.burst(), first: tag.index(), last: tag.index(), marked });
        }
        self.dues.push(due);
    }

    /// Writes the packets that are delivered.
    pub fn flush(&mut self, io: &mut Io<'_>) {
        let Some(run) = self.run.take() else { return };
        let packets = run.last - run.first + 1;
        let lead = Span::from_nanos(self.writing / 2).min(MOST_LEAD);
        let began = io.now_or(self.dues.first().map(|due| due.before(lead)));
        let done = self.write(run, io);
        let took = io.clock.now().since(began);
        let now = began + Span::from_nanos(took.as_nanos() / 2);
        // Early counts as wrong, like late.
        self.dues.drain(..).for_each(|due| io.release.add(now.since(due).max(due.since(now)), 1));
        self.writing = (self.writing * (SMOOTHING - 1) + took.min(LONGEST_WRITE).as_nanos()) / SMOOTHING;
        if done.is_err() && packets > 1 {
            // Some kernels refuse frames of many packets, and only report it now.
            self.joins = false;
            for index in run.first..=run.last {
                let one = PacketRun { first: index, last: index, ..run };
                let done = self.write(one, io);
                self.wrote(done, one, io);
            }
        } else {
            self.wrote(done, run, io);
        }
    }

    fn wrote(&mut self, done: io::Result<()>, run: PacketRun, io: &mut Io<'_>) {
        let packets = run.last - run.first + 1;
        let (shape, _) = io.bursts.get(run.burst);
        match done {
            Ok(()) => {
                let bytes =
                    (run.first..=run.last).map(|index| u64::from(shape.packet_len(index))).sum::<u64>();
                self.counts.written_packets += u64::from(packets);
                self.counts.written_bytes += bytes;
                self.counts.written_frames += 1;
            }
            Err(_) => self.counts.not_taken += u64::from(packets),
        }
        io.bursts.release(run.burst, packets);
    }

    fn write(&mut self, run: PacketRun, io: &mut Io<'_>) -> io::Result<()> {
        let (shape, frame) = io.bursts.get(run.burst);
        let (len, offload) = shape.headers(frame, [run.first, run.last], &mut self.room);
        let payload = &frame[shape.payload(run.first, run.last)];
        let done = match (run.marked, len) {
            (true, 0) => {
                let mut packet = frame.to_vec();
                skyhop_wire::mark(&mut packet);
                self.tun.write(offload, &packet, &[])
            }
            (marked, len) => {
                if marked {
                    skyhop_wire::mark(&mut self.room[..len]);
                }
                self.tun.write(offload, &self.room[..len], payload)
            }
        };
        if let (Ok(()), Some(tap)) = (&done, &mut io.tap) {
            let at = io.clock.now();
            for index in run.first..=run.last {
                let (len, offload) = shape.headers(frame, [index, index], &mut self.room);
                let mut packet = self.room[..len].to_vec();
                packet.extend_from_slice(&frame[shape.payload(index, index)]);
                if run.marked {
                    skyhop_wire::mark(&mut packet);
                }
                tap.packet(io.port, at, &offload, &packet, &[]);
            }
        }
        done
    }

    /// Writes a corrupted packet as a frame of its own, with its checksum completed before its bits are flipped.
    pub fn corrupted(&mut self, tag: Tag, marked: bool, bits: &[FlippedBit], io: &mut Io<'_>) {
        self.flush(io);
        let mut packet = io.bursts.whole(tag);
        if marked {
            skyhop_wire::mark(&mut packet);
        }
        bits.iter().for_each(|bit| bit.flip(&mut packet));
        io.bursts.release(tag.burst(), 1);
        if let Some(tap) = &mut io.tap {
            tap.packet(io.port, io.clock.now(), &Offload::default(), &packet, &[]);
        }
        // The kernel refuses bytes that are no IP packet any more, as a host would.
        if self.tun.write(Offload::default(), &packet, &[]).is_ok() {
            self.wrote_one(packet.len());
        }
    }

    /// Writes a router's message about a packet, which is then no longer in flight.
    pub fn message(&mut self, tag: Tag, router: &Packet, io: &mut Io<'_>) {
        self.flush(io);
        let packet = too_large(router, &io.bursts.whole(tag));
        let packet = packet.as_slice();
        io.bursts.release(tag.burst(), 1);
        if let Some(tap) = &mut io.tap {
            tap.packet(io.port, io.clock.now(), &Offload::default(), packet, &[]);
        }
        match self.tun.write(Offload::default(), packet, &[]) {
            Ok(()) => self.wrote_one(packet.len()),
            Err(_) => self.counts.not_taken += 1,
        }
    }

    fn wrote_one(&mut self, bytes: usize) {
        self.counts.written_packets += 1;
        self.counts.written_bytes += bytes as u64;
        self.counts.written_frames += 1;
    }

    /// Returns true if neighbours are written as one frame, until the kernel refuses one.
    pub fn joins(&self) -> bool {
        self.joins
    }
}

/// Everything that a port needs to write.
pub struct Io<'a> {
    /// The port's number.
    pub port: usize,
    /// Frames in flight.
    pub bursts: &'a mut Bursts,
    /// The clock.
    pub clock: RunClock,
    /// True if packets are written as soon as they are here, even early.
    pub early: bool,
    /// Lateness of packets.
    pub release: &'a mut Histogram,
    /// Observer of packets.
    pub tap: Option<&'a mut (dyn Tap + Send + 'static)>,
}

impl Io<'_> {
    /// The time, once it is `due`; at once if packets are written early. It is never far off.
    fn now_or(&self, due: Option<Time>) -> Time {
        let due = if self.early { Time::ZERO } else { due.unwrap_or(Time::ZERO) };
        loop {
            let now = self.clock.now();
            if now >= due {
                return now;
            }
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::stepped;
    use crate::offload::FrameShape;
    use std::os::unix::net::UnixDatagram;

    /// How wrong a port is about 100 packets after its first 100, with a write that takes `took`, if it may not write early: the
    /// longest time between the middle of a write and the time at which its packet was due.
    fn wrong(took: Span) -> Span {
        let (device, host) = UnixDatagram::pair().expect("sockets");
        let mut port = Port::new(Tun::of_socket(device.into()), None);
        let (mut bursts, mut release) = (Bursts::new(1 << 20), Histogram::default());
        stepped::set(Span::ZERO, took);
        let clock = RunClock::start();
        for n in 1..=200u64 {
            if n == 101 {
                release = Histogram::default();
            }
            let frame = [0x45; 100];
            let shape = FrameShape::of(Offload::default(), &frame).expect("a packet");
            let burst = bursts.insert(&frame, shape).expect("room");
            let due = Time::ZERO + Span::from_millis(n);
            // A clock that moves by `took` with each reading shows, as its fourth, the time half of it before the packet is due, and
            // a little more, since a smoothed duration is a little too short.
            let lead = Span::from_nanos(took.as_nanos() / 2).min(MOST_LEAD);
            let fourth = due.before(lead) + Span::from_nanos(100);
            stepped::set(fourth.before(took * 3).since(Time::ZERO), took);
            let mut io =
                Io { port: 0, bursts: &mut bursts, clock, early: false, release: &mut release, tap: None };
            port.deliver(Tag::new(burst, 0), false, due, &mut io);
            port.flush(&mut io);
            assert_eq!(host.recv(&mut [0; 128]).expect("a frame"), LEN + 100);
        }
        assert_eq!(release.count(), 100);
        release.max()
    }

    #[test]
    fn a_write_begins_half_its_time_before_its_packet_is_due() {
        // Without the lead these are 8 to 40 us, or more.
        for took in [8, 16, 40] {
            let wrong = wrong(Span::from_micros(took));
            assert!(wrong <= Span::from_micros(1), "{took} us: {wrong:?}");
        }
        // A longer one begins by the most, and is wrong by the rest.
        let wrong = wrong(Span::from_micros(80)).as_nanos();
        assert!((15_000..=16_000).contains(&wrong), "{wrong} ns");
    }
}
