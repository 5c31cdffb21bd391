//! Datagrams from one end to the other, and the receiver's statistics.
//!
//! Follows RFC 768; RFC 3550 §6.4.1 for jitter.
//! Differs: the receiver knows the sending times, since both ends share a clock.
//! Leaves out answers.

use crate::carried::{CarriedCounts, DatagramCarrier};
use crate::echo::SpanStats;
use crate::twins::Twins;
use skyhop_results::DatagramResult;
use skyhop_traffic::Datagrams;
use skyhop_units::{Span, Time};
use skyhop_wire::{Ip, Packet, Transport, Udp, Version};
use std::net::SocketAddrV4;

/// Datagrams from end 0 to end 1.
pub(crate) struct DatagramFlow {
    pub source: Datagrams,
    ip: Version,
    addresses: [SocketAddrV4; 2],
    sent: u64,
    pub twins: Twins,
    /// Its passages through associations, and the outcome of its datagrams there.
    pub carriers: Vec<DatagramCarrier>,
    pub counts: CarriedCounts,
    delays: SpanStats,
    /// Latest sending time among those that arrived, and the delay of the last arrival.
    newest: Option<Time>,
    last_delay: Option<Span>,
    reordered: u64,
    /// RFC 3550's J, and the sum from which it is smoothed.
    jitter_s: f64,
    jitter_sum_s: f64,
    /// Series of one-way delays, and the time of its next sample.
    pub series: usize,
    sample_from: Time,
}

impl DatagramFlow {
    pub fn new(source: Datagrams, ip: Version, addresses: [SocketAddrV4; 2]) -> Self {
        Self {
            source,
            ip,
            addresses,
            sent: 0,
            twins: Twins::default(),
            carriers: Vec::new(),
            counts: CarriedCounts::default(),
            delays: SpanStats::default(),
            newest: None,
            last_delay: None,
            reordered: 0,
            jitter_s: 0.0,
            jitter_sum_s: 0.0,
            series: crate::sample::NOWHERE,
            sample_from: Time::ZERO,
        }
    }

    /// The next datagram that is due by `now`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if !self.source.poll_transmit(now) {
            return None;
        }
        let packet = self.packet(self.sent as u16);
        self.sent += 1;
        Some(packet)
    }

    /// The datagram with this identification.
    pub fn packet(&self, identification: u16) -> Packet {
        let [source, destination] = self.addresses;
        Packet {
            ip: Ip { identification, ..Ip::new(self.ip, *source.ip(), *destination.ip()) },
            transport: Transport::Udp(Udp {
                source_port: source.port(),
                destination_port: destination.port(),
            }),
            payload_len: self.source.size(),
        }
    }

    /// Handles the arrival of a datagram. Returns true if its delay is to be sampled.
    pub fn arrived(&mut self, sent_at: Time, now: Time, interval: Span) -> bool {
        let delay = now.since(sent_at);
        self.delays.add(delay);
        if self.newest.is_some_and(|newest| newest > sent_at) {
            self.reordered += 1;
        }
        self.newest = Some(self.newest.map_or(sent_at, |newest| newest.max(sent_at)));
        if let Some(before) = self.last_delay.replace(delay) {
            let apart = (delay.as_secs_f64() - before.as_secs_f64()).abs();
            self.jitter_s += (apart - self.jitter_s) / 16.0;
            self.jitter_sum_s += apart;
        }
        let sample = sent_at >= self.sample_from;
        if sample {
            self.sample_from = sent_at + interval;
        }
        sample
    }

    /// Results; `in_flight` packets are still in the network or at gateways, and the flow was active for `active_s`.
    pub fn result(&self, in_flight: u64, active_s: f64) -> DatagramResult {
        let [delay_min_s, delay_mean_s, delay_max_s] = self.delays.min_mean_max_s();
        let received = self.delays.count;
        let bytes = received * u64::from(self.source.size());
        // Packets in flight may be copies of some that have arrived.
        let due = self.sent - in_flight.min(self.sent - received);
        DatagramResult {
            sent: self.sent,
            received,
            reordered: self.reordered,
            dropped_late: (!self.carriers.is_empty()).then_some(self.counts.late),
            loss: (due > 0).then(|| (due - received) as f64 / due as f64),
            goodput_bps: if active_s > 0.0 { bytes as f64 * 8.0 / active_s } else { 0.0 },
            bytes_delivered: bytes,
            delay_min_s,
            delay_mean_s,
            delay_max_s,
            jitter_s: (received > 1).then_some(self.jitter_s),
            jitter_mean_s: (received > 1).then(|| self.jitter_sum_s / (received - 1) as f64),
        }
    }
}
