//! Flows: two ends, what they send each other, and what they have seen.
//!
//! Follows the papers' experiments: an application over connections, or echoes.
//! Differs from real hosts: an application takes what arrives at once.
//! Leaves out the applications themselves, which the `traffic` crate holds.

use crate::conversation::Conversations;
use crate::echo::Pinging;
use crate::results::{FlowKind, FlowResult, PingResult, TransferResult};
use skyhop_topology::NodeId;
use skyhop_traffic::{Application, Bulk};
use skyhop_units::Time;

/// The way of a flow's packets over one leg: from host to host, or to the next splice.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// Wires in order, there and back.
    Wires([Box<[u32]>; 2]),
    /// From node to node of links that stay, on several ways, hop by hop.
    Mesh([NodeId; 2]),
    /// From terminal to terminal, hop by hop.
    Space([NodeId; 2]),
}

pub(crate) struct Flow {
    pub name: String,
    pub legs: Box<[Way]>,
    pub start: Time,
    pub stop: Option<Time>,
    pub started: bool,
    pub stopped: bool,
    /// Band of its packets in queues that have bands.
    pub priority: u8,
    pub app: App,
    pub sent: u64,
    pub delivered: u64,
    pub dropped: u64,
    pub lost: u64,
}

pub(crate) enum App {
    /// An application over connections.
    Stream(Box<Stream>),
    /// Echoes.
    Ping(Box<Pinging>),
}

/// An application and its connections.
pub(crate) struct Stream {
    pub application: Application,
    pub conversations: Conversations,
}

impl Stream {
    /// Whether a connection that is over is kept, because its numbers are the flow's.
    pub fn keeps(&self) -> bool {
        match &self.application {
            Application::Bulk(_) => true,
        }
    }

    /// Whether the flow's connection was broken, so that it is over.
    pub fn broken(&self) -> bool {
        match &self.application {
            Application::Bulk(bulk) => bulk.reset(),
        }
    }
}

impl Flow {
    /// Whether nothing more will come of it.
    pub fn finished(&self, now: Time) -> bool {
        match &self.app {
            App::Stream(stream) => {
                let over = |s: &Stream| s.broken() || s.application.finished() && s.conversations.all_over();
                self.started && over(stream)
            }
            App::Ping(_) => self.stop.is_some_and(|stop| stop <= now) && self.in_flight() == 0,
        }
    }

    /// Packets in the network.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.delivered - self.dropped - self.lost
    }

    pub fn result(&self, end: Time) -> FlowResult {
        let kind = match &self.app {
            App::Stream(stream) => match &stream.application {
                Application::Bulk(bulk) => FlowKind::Transfer(self.transfer_result(stream, bulk, end)),
            },
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

    fn transfer_result(&self, stream: &Stream, bulk: &Bulk, end: Time) -> TransferResult {
        let totals = stream.conversations.totals();
        let delivered = totals.delivered[1];
        let until = bulk.completed().unwrap_or(self.stop.map_or(end, |stop| stop.min(end)));
        let active = until.since(self.start).as_secs_f64();
        let [rtt_min_s, rtt_max_s] = totals.rtt_min_max_s();
        TransferResult {
            goodput_bps: if active > 0.0 { delivered as f64 * 8.0 / active } else { 0.0 },
            completed_s: bulk.completed().map(|at| at.since(self.start).as_secs_f64()),
            bytes_delivered: delivered,
            segments_sent: totals.segments_sent,
            segments_retransmitted: totals.segments_retransmitted,
            timeouts: totals.timeouts,
            rtt_min_s,
            rtt_mean_s: totals.rtt_mean_s(),
            rtt_max_s,
        }
    }
}
