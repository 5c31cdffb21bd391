//! Flows: two ends, their traffic, and their results.
//!
//! Follows the papers' experiments: an application over connections, or echoes.
//! Differs from real hosts: an application reads arriving data at once.
//! Leaves out the applications themselves, which the `traffic` crate holds.

use crate::conversation::Conversations;
use crate::datagrams::DatagramFlow;
use crate::echo::Pinging;
use crate::ids::ConversationId;
use crate::programs::Programs;
use skyhop_network::{Account, Frame};
use skyhop_results::population::quantile;
use skyhop_results::{CompletionsResult, FlowKind, FlowResult, LimitsResult, PingResult, TransferResult};
use skyhop_traffic::{Application, Bulk, Completions};
use skyhop_units::{Span, Time};
use skyhop_wire::Packet;
use std::ops::Range;

pub(crate) struct FlowState {
    pub name: String,
    /// Its routes in the network: from host to host, or one for each leg between hosts and splices.
    pub routes: Range<u32>,
    /// Index of the network's account for its packets.
    pub account: u32,
    /// True if its whole path leads over satellites.
    pub through_space: bool,
    /// The association whose streams carry its connections.
    pub association: Option<String>,
    pub start: Time,
    pub stop: Option<Time>,
    pub started: bool,
    pub stopped: bool,
    /// True if it is sampled over time.
    pub sampled: bool,
    pub app: App,
}

pub(crate) enum App {
    /// An application over connections.
    Stream(Box<AppStream>),
    /// Echoes.
    Ping(Box<Pinging>),
    /// One-way datagrams.
    Datagrams(Box<DatagramFlow>),
    /// Traffic of programs.
    Programs(Box<Programs>),
}

/// An application and its connections.
pub(crate) struct AppStream {
    pub application: Application,
    pub conversations: Conversations,
}

impl AppStream {
    /// Returns true if a finished connection is kept, because its counters are the flow's.
    pub fn keeps(&self) -> bool {
        match &self.application {
            Application::Bulk(_) => true,
            Application::Web(_)
            | Application::Transfers(_)
            | Application::Batches(_)
            | Application::Fetch(_) => false,
        }
    }

    /// Returns true if the flow has ended because its connection broke.
    pub fn broken(&self) -> bool {
        match &self.application {
            Application::Bulk(bulk) => bulk.reset(),
            // A connection is one of many there.
            Application::Web(_)
            | Application::Transfers(_)
            | Application::Batches(_)
            | Application::Fetch(_) => false,
        }
    }
}

impl FlowState {
    /// Number of legs between its two hosts.
    pub fn legs(&self) -> usize {
        self.routes.len()
    }

    /// A packet of none of its connections, at the beginning of a leg or at the end if it goes backward.
    pub fn frame(&self, leg: u8, backward: bool, sent_at: Time, packet: Packet) -> Frame {
        let route = self.routes.start + u32::from(leg);
        Frame::new(route, backward, ConversationId::NONE.numbers(), sent_at, packet)
    }

    /// Returns true if the flow has ended and has no further event; `account` has its packets.
    #[inline]
    pub fn finished(&self, now: Time, account: &Account) -> bool {
        match &self.app {
            App::Stream(stream) => {
                let over =
                    |s: &AppStream| s.broken() || s.application.finished() && s.conversations.all_over();
                self.started && over(stream)
            }
            App::Ping(_) | App::Datagrams(_) => {
                self.stop.is_some_and(|stop| stop <= now) && account.in_flight() == 0
            }
            // Programs may send at any time.
            App::Programs(_) => false,
        }
    }

    pub fn result(&self, end: Time, account: &Account) -> FlowResult {
        let kind = match &self.app {
            App::Stream(stream) => match (&stream.application, stream.application.completions()) {
                (Application::Bulk(bulk), _) => FlowKind::Transfer(self.transfer_result(stream, bulk, end)),
                (_, None) => FlowKind::Completions(CompletionsResult::default()),
                (_, Some(all)) => FlowKind::Completions(self.completions_result(stream, all, end)),
            },
            App::Datagrams(sending) => {
                let until = self.stop.map_or(end, |stop| stop.min(end));
                let active_s = until.since(self.start).as_secs_f64();
                let in_flight = account.in_flight() + sending.counts.pending();
                FlowKind::Datagrams(sending.result(in_flight, active_s))
            }
            App::Programs(programs) => FlowKind::Programs(programs.result(account.in_flight())),
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
        let limits = match &self.app {
            App::Stream(stream) => {
                let spent = stream.conversations.totals(end).limits;
                Some(LimitsResult { spent_ns: spent.map(Span::as_nanos), bottleneck: None })
            }
            App::Ping(_) | App::Datagrams(_) | App::Programs(_) => None,
        };
        FlowResult {
            name: self.name.clone(),
            association: self.association.clone(),
            kind,
            limits,
            forward_bytes: account.bytes[0],
            return_bytes: account.bytes[1],
            packets_sent: account.sent,
            packets_duplicated: account.duplicated,
            packets_delivered: account.delivered,
            packets_dropped: account.dropped,
            packets_lost: account.lost,
            packets_in_flight: account.in_flight(),
        }
    }

    fn completions_result(&self, stream: &AppStream, all: &Completions, end: Time) -> CompletionsResult {
        let totals = stream.conversations.totals(end);
        // Goodput of the web is counted at the browser, that of transfers at the receiver.
        let towards = match &stream.application {
            Application::Web(_) | Application::Batches(_) | Application::Fetch(_) => 0,
            Application::Bulk(_) | Application::Transfers(_) => 1,
        };
        let delivered = totals.delivered[towards];
        let active_s = self.stop.map_or(end, |stop| stop.min(end)).since(self.start).as_secs_f64();
        let [rtt_min_s, rtt_max_s] = totals.rtt_min_max_s();
        let times = all.sorted_s();
        CompletionsResult {
            started: all.started,
            completed: all.all.len() as u64,
            failed: all.failed,
            files: all.all.iter().map(|one| u64::from(one.files)).sum(),
            connections: u64::from(stream.application.opened()),
            completion_min_s: times.first().copied(),
            completion_mean_s: (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64),
            completion_median_s: quantile(&times, 0.5),
            completion_p95_s: quantile(&times, 0.95),
            completion_max_s: times.last().copied(),
            goodput_bps: if active_s > 0.0 { delivered as f64 * 8.0 / active_s } else { 0.0 },
            bytes_delivered: delivered,
            sequence_max_bytes: totals.sequence_max[towards],
            segments_sent: totals.segments_sent,
            segments_retransmitted: totals.segments_retransmitted,
            timeouts: totals.timeouts,
            rtt_min_s,
            rtt_mean_s: totals.rtt_mean_s(),
            rtt_max_s,
        }
    }

    fn transfer_result(&self, stream: &AppStream, bulk: &Bulk, end: Time) -> TransferResult {
        let totals = stream.conversations.totals(end);
        let delivered = totals.delivered[1];
        let until = bulk.completed().unwrap_or(self.stop.map_or(end, |stop| stop.min(end)));
        let active = until.since(self.start).as_secs_f64();
        let [rtt_min_s, rtt_max_s] = totals.rtt_min_max_s();
        TransferResult {
            goodput_bps: if active > 0.0 { delivered as f64 * 8.0 / active } else { 0.0 },
            completed_s: bulk.completed().map(|at| at.since(self.start).as_secs_f64()),
            bytes_delivered: delivered,
            sequence_max_bytes: totals.sequence_max[1],
            segments_sent: totals.segments_sent,
            segments_retransmitted: totals.segments_retransmitted,
            timeouts: totals.timeouts,
            rtt_min_s,
            rtt_mean_s: totals.rtt_mean_s(),
            rtt_max_s,
        }
    }
}
