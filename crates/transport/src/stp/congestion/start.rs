//! The first packets: trains, and the rate of the path measured by them.
//!
//! Follows docs/stp.md §8.3, and RFC 9959 §4 for the saved rate of an earlier connection.
//! Differs from one packet pair: a train is accepted if its parts agree, and then only for a hundred times the packets that
//! arrived. Leaves out the rate afterwards (`delay`).

use super::super::config::{Config, SavedRate};
use super::samples::{PollSample, PollSamples};
use skyhop_units::{Span, Time};

/// Relative difference up to which parts of a train show the same rate.
const AGREE: f64 = 0.25;
/// Factor between the rates of two parts from which on one of them met an outage.
const PAUSED: f64 = 4.0;
/// Shorter samples are limited by the clock's resolution.
const GRAIN: f64 = 20e-6;

/// Largest number of trains before the result of the last one is used.
pub(super) const TRAINS: u32 = 3;
/// Largest number of packets of a train that keeps a slow path busy until its result arrives.
const BUSY: f64 = 800.0;
/// Rate of a train relative to the rate that it tests: if the train keeps the path busy, and if not.
const FASTER: (f64, f64) = (1.25, 2.0);

/// The first packets, and the number of trains that have followed them.
#[derive(Debug)]
pub(super) struct OpeningTrains {
    mss: f64,
    /// The window until a rate is known, and the data that have arrived of it.
    pub cwnd: f64,
    pub heard: u64,
    /// Number of packets sent together, and the first number.
    pub first_packets: u64,
    pub first: u64,
    /// The first packet after a pause of the data.
    pub resumed: Option<u64>,
    pub trains: u32,
    /// Saved state of an earlier connection.
    pub saved: Option<SavedRate>,
    /// True if a queue has marked a packet since the last train that was believed.
    pub marked: bool,
    /// True if an outage has lost most of the first packets, and others were the first train.
    pub renewed: bool,
}

impl OpeningTrains {
    pub fn new(config: &Config) -> Self {
        let mss = f64::from(config.max_payload());
        Self {
            mss,
            cwnd: config.initial_window as f64,
            heard: 0,
            first_packets: (config.initial_window as f64 / mss).ceil() as u64,
            first: u64::MAX,
            resumed: None,
            trains: 0,
            saved: config.saved,
            marked: false,
            renewed: false,
        }
    }

    /// True if silence has closed the window below that of the first packets, which data that come little by little are not to wait for.
    pub fn is_closed(&self) -> bool {
        self.cwnd < self.first_packets as f64 * self.mss
    }

    /// Begins anew with the packet of this number: an outage tells nothing of the path's rate. Once only, as a path with room for a few
    /// packets loses most of each train, too.
    pub fn renew(&mut self, next: u64) {
        self.renewed = true;
        self.first = next;
        self.resumed = None;
        self.cwnd = self.cwnd.max(self.first_packets as f64 * self.mss);
    }

    /// Packets of the next train and their pace, bytes per second: faster than the assumed rate of the path.
    pub fn next(&mut self, packets: u64, rate: f64, floor: f64, sure: bool) -> (u64, f64) {
        self.trains += 1;
        // As long as keeps the path busy until the result arrives, if few packets suffice; at most half of that if the rate is
        // uncertain.
        let fills = rate * floor / self.mss;
        let (packets, faster) = if sure && 1.3 * fills <= BUSY {
            (1.3 * fills, FASTER.0)
        } else {
            ((packets as f64).min(fills / 2.0), FASTER.1)
        };
        let packets = packets.max(2.0 * self.first_packets as f64) as u64;
        // A train is paced even if nothing is known about the path.
        (packets, faster * rate.min(packets as f64 * self.mss / floor * 100.0))
    }
}

/// Result of a train: the rate at which its packets came out of the narrowest link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TrainResult {
    /// Its parts agree on this rate, bytes a second.
    Rate(f64),
    /// The parts disagree: other packets came in between, or the train arrived in one burst. The approximate rate, if any.
    Unsure(Option<f64>),
    /// The train arrived at the pace at which it was sent: the path has this rate or more.
    More(f64),
}

/// A train: packets sent together as a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StartTrain {
    /// The first number, and one past the last.
    pub first: u64,
    pub end: u64,
    /// Time of the first packet.
    pub begins: Time,
    /// Time in which it leaves, seconds.
    pub leaves_in: f64,
}

impl StartTrain {
    pub fn packets(&self) -> u64 {
        self.end - self.first
    }

    /// Returns true if it leaves within a quarter of a round trip of `floor` seconds.
    pub fn is_short(&self, floor: f64) -> bool {
        self.leaves_in <= floor / 4.0
    }

    /// Returns true if a POLL is due on the packet of this number: the first, the last, and those that divide the train into four.
    pub fn asks(&self, number: u64) -> bool {
        let packets = self.packets();
        let cut = |quarter: u64| number == self.first + packets * quarter / 4;
        number + 1 == self.end || (number < self.end && (cut(0) || cut(1) || cut(2) || cut(3)))
    }

    /// The parts of the train of which each could show a rate.
    fn measured<'a>(&self, samples: &'a PollSamples) -> impl Iterator<Item = PollSample> + use<'a> {
        let parts = samples.parts(self.first + 1, self.end, Time::MAX);
        parts.filter(|part| part.arrived >= 3 && part.arrived_in >= GRAIN)
    }

    /// The highest rate that a part of the train shows.
    pub fn fastest(&self, samples: &PollSamples) -> Option<f64> {
        self.measured(samples).map(|part| part.arrives()).max_by(f64::total_cmp)
    }

    /// Returns true if one part took a quarter of a round trip of `floor` seconds and came at less than a quarter of another's rate: an
    /// outage between packets that left together, too short for a POLL to count as unanswered.
    pub fn paused(&self, samples: &PollSamples, floor: f64) -> bool {
        let slowest = self.measured(samples).max_by(|a, b| a.arrived_in.total_cmp(&b.arrived_in));
        slowest.zip(self.fastest(samples)).is_some_and(|(slowest, fastest)| {
            slowest.arrived_in > floor / 4.0 && PAUSED * slowest.arrives() < fastest
        })
    }

    /// Determines the result of the train from the samples.
    pub fn read(&self, samples: &PollSamples) -> TrainResult {
        // An answer's number is one past that of its packet.
        let (first, end) = (self.first + 1, self.end);
        let Some(begun) = samples.begun(first) else { return TrainResult::Unsure(None) };
        // Later POLLs measure the pause after the train.
        let until = begun + Span::from_secs_f64(1.5 * self.leaves_in + 0.001);
        let spread = |sample: &PollSample| {
            sample.arrived >= 3 && sample.arrived_in >= GRAIN && sample.left_in <= 0.85 * sample.arrived_in
        };
        let Some(whole) = samples.whole(first, end, until) else { return TrainResult::Unsure(None) };
        if whole.arrived < 3 || whole.arrived_in < GRAIN {
            return TrainResult::Unsure(None);
        }
        if whole.left_in > 0.85 * whole.arrived_in {
            return TrainResult::More(whole.arrives());
        }
        let rates = || samples.parts(first, end, until).filter(&spread).map(|part| part.arrives());
        let (count, least, most) =
            rates().fold((0, f64::INFINITY, 0.0f64), |(n, low, high), r| (n + 1, low.min(r), high.max(r)));
        if count >= 2 && most - least <= AGREE * most {
            return TrainResult::Rate(whole.arrives());
        }
        TrainResult::Unsure(Some(whole.arrives()))
    }
}
