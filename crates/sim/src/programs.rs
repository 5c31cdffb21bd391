//! Flows whose packets come from programs: their counters and arrivals.
//!
//! Differs from other flows: the emulator keeps their bytes, by tag.
//! Leaves out sending, which is the hosts', and packets that have arrived, which are in `arrivals`.

use crate::echo::SpanStats;
use skyhop_network::Frame;
use skyhop_results::ProgramsResult;
use skyhop_units::Time;
use skyhop_wire::{Ecn, Packet, Transport};
use std::net::Ipv4Addr;

/// Counters of a flow's packets.
pub(crate) struct Programs {
    pub ends: [Ipv4Addr; 2],
    /// Directions whose packets are for an end that the driver simulates; true is backward.
    pub held: Option<bool>,
    /// Packets sent, forward and backward.
    sent: [u64; 2],
    /// Delays of arrived packets, forward and backward.
    delays: [SpanStats; 2],
}

/// A packet for a program.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// Arrival at its end.
    pub at: Time,
    /// Index of its flow.
    pub flow: u32,
    /// True for a packet to the flow's `from`.
    pub backward: bool,
    /// The packet.
    pub what: Content,
}

/// Origin of a packet for a program.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// The packet that was sent with this tag.
    Tagged {
        /// Its tag.
        tag: u32,
        /// True if a queue has marked it.
        marked: bool,
        /// True if it has flipped bits: the next list of [`Simulation::poll_flipped`](crate::Simulation::poll_flipped).
        corrupted: bool,
    },
    /// A router's message about the packet that was sent with this tag. A packet that was duplicated may have several.
    Message {
        /// The packet's tag, which ends with the message.
        tag: u32,
        /// The message.
        packet: Packet,
    },
}

impl Programs {
    pub fn between(ends: [Ipv4Addr; 2]) -> Self {
        Self { ends, held: None, sent: [0; 2], delays: [SpanStats::default(), SpanStats::default()] }
    }

    /// Counts a packet that has been sent.
    pub fn sent(&mut self, backward: bool) {
        self.sent[usize::from(backward)] += 1;
    }

    pub fn arrived(&mut self, frame: &Frame, now: Time) {
        if !is_message(&frame.packet) {
            self.delays[usize::from(frame.backward)].add(now.since(frame.sent_at));
        }
    }

    /// Packets sent and arrived, and the sum of their delays, s, forward and backward.
    pub fn totals(&self) -> [(u64, u64, f64); 2] {
        [0, 1].map(|way| {
            let delays = &self.delays[way];
            let mean = delays.min_mean_max_s()[1].unwrap_or(0.0);
            (self.sent[way], delays.count, mean * delays.count as f64)
        })
    }

    pub fn result(&self, in_flight: u64) -> ProgramsResult {
        let [there, _] = &self.delays;
        let [delay_min_s, delay_mean_s, delay_max_s] = there.min_mean_max_s();
        let (sent, received) = (self.sent[0], there.count);
        // Packets in flight can be attributed to this direction only if none of the other is missing.
        let back = self.sent[1].saturating_sub(self.delays[1].count);
        let known = back == 0 || in_flight == 0;
        let missing = sent.saturating_sub(received).saturating_sub(in_flight);
        let loss = (sent > 0 && known).then(|| missing as f64 / sent as f64);
        ProgramsResult { sent, received, loss, delay_min_s, delay_mean_s, delay_max_s }
    }
}

/// Returns true for a router's message.
pub(crate) fn is_message(packet: &Packet) -> bool {
    matches!(packet.transport, Transport::TooLarge(_))
}

impl Arrived {
    pub(crate) fn of(flow: u32, frame: &Frame, at: Time, corrupted: bool) -> Self {
        let what = match is_message(&frame.packet) {
            true => Content::Message { tag: frame.tag, packet: frame.packet },
            false => {
                Content::Tagged { tag: frame.tag, marked: frame.packet.ip.ecn == Ecn::Marked, corrupted }
            }
        };
        Self { at, flow, backward: frame.backward, what }
    }
}
