//! Flows: two ends, what they send each other, and what they have seen.
//!
//! Follows the papers' experiments: one end opens the connection and sends, the other receives and closes when it is told all.
//! Differs from real hosts: an application takes what arrives at once.
//! Leaves out request and response.

use crate::results::{FlowKind, FlowResult, PingResult, TransferResult};
use skyhop_topology::NodeId;
use skyhop_traffic::{Bulk, Ping};
use skyhop_transport::tcp::{Connection, Event, State};
use skyhop_units::{Span, Time};
use skyhop_wire::{Echo, Ecn, Ipv4, Packet, Transport};
use std::net::SocketAddrV4;

/// The way of a flow's packets.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// Wires in order, there and back.
    Wires([Box<[u32]>; 2]),
    /// From terminal to terminal, hop by hop.
    Space([NodeId; 2]),
}

pub(crate) struct Flow {
    pub name: String,
    pub way: Way,
    pub start: Time,
    pub stop: Option<Time>,
    pub app: App,
    pub sent: u64,
    pub delivered: u64,
    pub dropped: u64,
    pub lost: u64,
}

pub(crate) enum App {
    Transfer(Box<Transfer>),
    Ping(Box<Pinging>),
}

/// A transfer: end 0 sends, end 1 receives.
pub(crate) struct Transfer {
    pub ends: [Connection; 2],
    pub bulk: Bulk,
    pub started: bool,
    pub completed: Option<Time>,
    pub reset: bool,
}

impl Transfer {
    /// Tells the application at `end` what has happened. True if it answered, so that there may be more to send.
    pub fn handle_events(&mut self, end: usize, now: Time) -> bool {
        let mut answered = false;
        while let Some(event) = self.ends[end].poll_event() {
            match event {
                Event::Received(_) => {
                    self.ends[end].read();
                    answered = true;
                }
                // A transfer that was stopped has all acknowledged that it sent, and is not complete.
                Event::AllAcknowledged if end == 0 && self.bulk.size == Some(self.ends[0].acknowledged()) => {
                    self.completed.get_or_insert(now);
                }
                Event::PeerFinished if end == 1 => {
                    self.ends[end].shutdown();
                    answered = true;
                }
                Event::Reset => self.reset = true,
                _ => {}
            }
        }
        answered
    }

    fn finished(&self) -> bool {
        let over = |c: &Connection| matches!(c.state(), State::Closed | State::TimeWait);
        self.started && (self.reset || self.ends.iter().all(over))
    }
}

/// Echo requests from end 0, answers from end 1.
pub(crate) struct Pinging {
    pub ping: Ping,
    pub addresses: [SocketAddrV4; 2],
    pub identifier: u16,
    pub next: u64,
    pub forward: Delays,
    pub round_trip: Delays,
    /// Series of one-way delays, at the instants of sending.
    pub series: usize,
}

impl Pinging {
    /// Request or answer `sequence`.
    pub fn packet(&self, reply: bool, sequence: u16) -> Packet {
        let end = reply as usize;
        Packet {
            ip: Ipv4 {
                source: *self.addresses[end].ip(),
                destination: *self.addresses[1 - end].ip(),
                identification: sequence,
                ttl: 64,
                ecn: Ecn::NotCapable,
            },
            transport: Transport::Icmp(Echo { reply, identifier: self.identifier, sequence }),
            payload_len: self.ping.size,
        }
    }
}

/// Smallest, largest and mean of a number of spans.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Delays {
    pub count: u64,
    sum_ns: u128,
    min: Option<Span>,
    max: Option<Span>,
}

impl Delays {
    pub fn add(&mut self, span: Span) {
        self.count += 1;
        self.sum_ns += span.as_nanos() as u128;
        self.min = Some(self.min.map_or(span, |m| m.min(span)));
        self.max = Some(self.max.map_or(span, |m| m.max(span)));
    }

    fn min_mean_max_s(&self) -> [Option<f64>; 3] {
        let mean = (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e9);
        [self.min.map(Span::as_secs_f64), mean, self.max.map(Span::as_secs_f64)]
    }
}

impl Flow {
    /// Whether nothing more will come of it.
    pub fn finished(&self, now: Time) -> bool {
        match &self.app {
            App::Transfer(transfer) => transfer.finished(),
            App::Ping(_) => self.stop.is_some_and(|stop| stop <= now) && self.in_flight() == 0,
        }
    }

    /// Packets in the network.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.delivered - self.dropped - self.lost
    }

    pub fn result(&self, end: Time) -> FlowResult {
        let kind = match &self.app {
            App::Transfer(transfer) => FlowKind::Transfer(self.transfer_result(transfer, end)),
            App::Ping(ping) => {
                let [delay_min_s, delay_mean_s, delay_max_s] = ping.forward.min_mean_max_s();
                let [rtt_min_s, rtt_mean_s, rtt_max_s] = ping.round_trip.min_mean_max_s();
                FlowKind::Ping(PingResult {
                    sent: ping.next,
                    received: ping.forward.count,
                    delay_min_s,
                    delay_mean_s,
                    delay_max_s,
                    answers_received: ping.round_trip.count,
                    rtt_min_s,
                    rtt_mean_s,
                    rtt_max_s,
                })
            }
        };
        FlowResult {
            name: self.name.clone(),
            kind,
            packets_sent: self.sent,
            packets_delivered: self.delivered,
            packets_dropped: self.dropped,
            packets_lost: self.lost,
            packets_in_flight: self.in_flight(),
        }
    }

    fn transfer_result(&self, transfer: &Transfer, end: Time) -> TransferResult {
        let stats = transfer.ends[0].stats();
        let delivered = transfer.ends[1].delivered();
        let until = transfer.completed.unwrap_or(self.stop.map_or(end, |stop| stop.min(end)));
        let active = until.since(self.start).as_secs_f64();
        TransferResult {
            goodput_bps: if active > 0.0 { delivered as f64 * 8.0 / active } else { 0.0 },
            completed_s: transfer.completed.map(|at| at.since(self.start).as_secs_f64()),
            bytes_delivered: delivered,
            segments_sent: stats.segments_sent,
            segments_retransmitted: stats.segments_retransmitted,
            timeouts: stats.timeouts,
            rtt_min_s: stats.rtt.min.map(Span::as_secs_f64),
            rtt_mean_s: (stats.rtt.count > 0).then(|| stats.rtt.sum.as_secs_f64() / stats.rtt.count as f64),
            rtt_max_s: stats.rtt.max.map(Span::as_secs_f64),
        }
    }
}
