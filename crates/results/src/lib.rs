//! The results of a run as plain data: totals per flow and link, and series over time.
//!
//! Field names are the keys of `summary.json` and the columns of the parquet files, in order; `measured!` keeps the list.
//! Differs from a log: everything is returned at the end.
//! Leaves out files and formats, which the `record` crate holds.

mod measure;
pub mod population;

use crate::measure::measured;
pub use crate::measure::{Measure, Metric, Type};
pub use skyhop_transport::Cause;
use skyhop_units::Time;
use std::ops::Range;
use std::sync::LazyLock;

/// The results of one run.
#[derive(Debug, Clone, Default)]
pub struct RunResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Virtual time at the end, s.
    pub simulated_s: f64,
    /// Entries taken from the event queue.
    pub events: u64,
    /// Packets that left a link, summed over links.
    pub packet_hops: u64,
    /// Flows in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// The populations of the scenario, in its order.
    pub populations: Vec<PopulationResult>,
    /// True if the summary has members of populations individually too.
    pub each_member: bool,
    /// Links in order of name.
    pub links: Vec<LinkResult>,
    /// Handovers of each terminal, in order of name; empty without a constellation.
    pub handovers: Vec<HandoverResult>,
    /// Uplinks on demand, in order of name.
    pub uplinks: Vec<UplinkResult>,
    /// Address changes of each moving terminal, in order of name; empty if none moves.
    pub addresses: Vec<AddressResult>,
    /// Failures in the constellation during the run, in order of time.
    pub failures: Vec<FailureResult>,
    /// Counters of routing through the constellation; `None` without one.
    pub routing: Option<RoutingResult>,
    /// Splices in order of name.
    pub splices: Vec<SpliceResult>,
    /// Associations in order of name.
    pub associations: Vec<AssociationResult>,
    /// Samples over time, ordered by entity and metric as first seen, then by time.
    pub series: Vec<Series>,
    /// Warnings that affect the interpretation of the results.
    pub warnings: Vec<String>,
}

/// Flows that the scenario defines together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PopulationResult {
    /// Name of the population.
    pub name: String,
    /// Indices of its members among the flows of the run.
    pub flows: Range<usize>,
}

/// A failure of a satellite, a link or a station, listed or random.
#[derive(Debug, Clone, PartialEq)]
pub struct FailureResult {
    /// `satellite`, `link` or `station`.
    pub kind: &'static str,
    /// Name of the object that failed.
    pub name: String,
    /// Start of the failure, s.
    pub from_s: f64,
    /// Time of its repair, s; `None` if it is not repaired.
    pub until_s: Option<f64>,
}

measured! {
    /// The handovers of a terminal, and their cost.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct HandoverResult {
        /// Name of the terminal.
        pub terminal: String,
        ;
        /// Changes from one satellite to another, over all antennas.
        pub handovers: u64,
        /// Time in which a satellite was being acquired and packets waited, s, over all antennas.
        pub gap_s: f64,
        /// Packets lost to `handover_loss`, of those waiting or in flight.
        pub packets_lost: u64,
    }
}

measured! {
    /// The slots of an uplink that terminals share on demand, over all its satellites and beams.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct UplinkResult {
        /// Name of the uplink.
        pub name: String,
        ;
        /// Frames that began, summed over satellites and beams with terminals.
        pub frames: u64,
        /// Bits that the slots of all carriers hold in a second.
        pub capacity_bps: f64,
        /// Requests that terminals made.
        pub requests: u64,
        /// Share of the slots of planned frames that constant assignment took.
        pub constant_share: f64,
        /// Share of the slots that requested rates took.
        pub rate_based_share: f64,
        /// Share of the slots that requested volumes took.
        pub volume_based_share: f64,
        /// Share of the slots that were free capacity.
        pub free_share: f64,
        /// Share of the slots in which something was sent.
        pub used_share: f64,
        /// Mean time from a packet's arrival at its terminal's queue to the end of the slot in which its last byte left, s.
        pub access_delay_mean_s: Option<f64>,
    }
}

measured! {
    /// The changes of a moving terminal's address by its cell (HT 6.4.1), and their cost.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct AddressResult {
        /// Name of the terminal.
        pub terminal: String,
        ;
        /// Changes of its address, as noticed at updates.
        pub address_changes: u64,
        /// Bytes of the messages about them, including answers; they use no capacity.
        pub update_bytes: u64,
        /// Packets sent to it with an outdated address.
        pub packets_old_address: u64,
        /// Packets among them that a satellite of the old cell forwarded to the present one.
        pub packets_readdressed: u64,
        /// Packets among them that no longer found it.
        pub packets_lost: u64,
    }
}

measured! {
    /// The traffic through a splice.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct SpliceResult {
        /// Name of the splice.
        pub name: String,
        ;
        /// Connections opened through it.
        pub connections: u64,
        /// Connections among them that it reset because a side failed or fell silent.
        pub connections_broken: u64,
        /// Requests answered by its cache.
        pub hits: u64,
        /// Requests forwarded by its cache.
        pub misses: u64,
        /// Payload received in order from the flows' `from`.
        pub forward_bytes: u64,
        /// Payload received in order from the flows' `to`.
        pub return_bytes: u64,
        /// Largest number of bytes held at once, over all connections and both directions.
        pub held_max_bytes: u64,
        /// Largest number of bytes held at once for one direction of a connection.
        pub connection_held_max_bytes: u64,
    }
}

measured! {
    /// The totals of an association: its packets, which belong to no single flow.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct AssociationResult {
        /// Name of the association.
        pub name: String,
        ;
        /// Streams opened: connections of its flows.
        pub streams: u64,
        /// Largest number of streams open at once.
        pub streams_max: u64,
        /// Payload delivered in order in all streams, in both directions.
        pub bytes_delivered: u64,
        /// Data packets sent by its ends, including retransmissions.
        pub segments_sent: u64,
        /// Retransmitted SDs among them.
        pub segments_retransmitted: u64,
        /// POLLs without an answer in time.
        pub timeouts: u64,
        /// Smallest RTT sample of either end, s.
        pub rtt_min_s: Option<f64>,
        /// Mean of the RTT samples, s.
        pub rtt_mean_s: Option<f64>,
        /// Largest RTT sample, s.
        pub rtt_max_s: Option<f64>,
        /// Bytes, with IP headers and above, that the `from` of the first flow that names it sent into a first link.
        pub forward_bytes: u64,
        /// Bytes, with IP headers and above, that the `to` of that flow sent into a first link.
        pub return_bytes: u64,
        /// Packets sent by either end.
        pub packets_sent: u64,
        /// Packets that reached either end.
        pub packets_delivered: u64,
        /// Packets dropped at a full queue, at a link that went down, or because there was no path.
        pub packets_dropped: u64,
        /// Packets lost to errors on a link.
        pub packets_lost: u64,
        /// Packets in the network at the end of the run.
        pub packets_in_flight: u64,
    }
}

measured! {
    /// Counters of routing through the constellation, and packets without a path.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct RoutingResult {
        /// Name of the scheme.
        pub scheme: &'static str,
        /// Largest number of entries that a satellite kept beyond published orbits and its own links.
        pub state_entries_max: u64,
        /// Mean number of those entries, over satellites and changes of the network.
        pub state_entries_mean: f64,
        /// Links that came up, went down or moved after the start.
        pub topology_changes: u64,
        /// Announcements of changes by satellites; `None` if they were not simulated.
        pub announcements: Option<u64>,
        /// Transmissions of announcements over ISLs; `None` if they were not simulated.
        pub messages: Option<u64>,
        /// Longest time from a change until nodes route by it, s; `None` if announcements were not simulated.
        pub convergence_max_s: Option<f64>,
        /// Uploads of the central controller after the start, one for each satellite whose table changed; `None` if not counted.
        pub uploads: Option<u64>,
        /// Entries in those uploads: cells whose next hop changed; `None` if not counted.
        pub uploaded_entries: Option<u64>,
        /// Bytes of those entries; `None` if not counted.
        pub upload_bytes: Option<u64>,
        /// Packets dropped where the scheme knew no next hop.
        pub stranded_dead_end: u64,
        /// Packets dropped because there was no path.
        pub stranded_no_path: u64,
        /// Packets dropped because the link in the tables was down, or led elsewhere.
        pub stranded_link_down: u64,
        /// Packets dropped after 255 links.
        pub stranded_hop_limit: u64,
    }
}

measured! {
    /// One flow's results.
    #[derive(Debug, Clone, PartialEq)]
    pub struct FlowResult {
        /// Name of the flow.
        pub name: String,
        /// Measurements of its kind.
        pub kind: FlowKind,
        /// The causes that limited it; `None` without connections.
        pub limits: Option<LimitsResult>,
        /// The association whose streams are its connections; it counts their packets, and the flow's own keys for them are null.
        pub association: Option<String>,
        /// Copies of its packets made by links; not a column, since few flows have any.
        pub packets_duplicated: u64,
        ;
        /// Bytes, with IP headers and above, that its `from` sent into a first link.
        pub forward_bytes: u64,
        /// Bytes, with IP headers and above, that its `to` sent into a first link: acknowledgments and other traffic.
        pub return_bytes: u64,
        /// Packets sent by either end.
        pub packets_sent: u64,
        /// Packets that reached either end.
        pub packets_delivered: u64,
        /// Packets dropped at a full queue, at a link that went down, or because there was no path.
        pub packets_dropped: u64,
        /// Packets lost to errors on a link.
        pub packets_lost: u64,
        /// Packets in the network at the end of the run.
        pub packets_in_flight: u64,
    }
}

/// Metrics of packets, which a flow of an association does not have: its streams share packets with those of other flows.
const OF_PACKETS: [&str; 6] =
    ["segments_sent", "segments_retransmitted", "timeouts", "rtt_min_s", "rtt_mean_s", "rtt_max_s"];

impl FlowResult {
    /// Returns true if a metric is about packets that the flow shares with others of its association.
    pub fn shares(&self, metric: &str) -> bool {
        let packets = || OF_PACKETS.contains(&metric) || Self::METRICS.iter().any(|own| own.name == metric);
        self.association.is_some() && packets()
    }
}

/// The causes that limited a flow over connections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitsResult {
    /// Time by the cause that held up the sending ends of its connections, ns, in the order of [`Cause::ALL`]. The sum is the
    /// lifetime of all connections: from connecting until all data are acknowledged, or until the end.
    pub spent_ns: [u64; Cause::COUNT],
    /// Name of the busiest link on its path, in the direction of its data; `None` if none was ever busy.
    pub bottleneck: Option<String>,
}

impl LimitsResult {
    /// Sum of the lifetimes of its connections, ns.
    pub fn total_ns(&self) -> u64 {
        self.spent_ns.iter().sum()
    }

    /// Share of that time due to `cause`; `None` if there was no time.
    pub fn share(&self, cause: Cause) -> Option<f64> {
        let total = self.total_ns();
        (total > 0).then(|| self.spent_ns[cause as usize] as f64 / total as f64)
    }

    /// The cause with the most time, the first of equal ones; `None` if there was no time.
    pub fn limited_by(&self) -> Option<Cause> {
        let most = *self.spent_ns.iter().max()?;
        Cause::ALL.into_iter().find(|cause| most > 0 && self.spent_ns[*cause as usize] == most)
    }
}

/// The measurements of each kind of flow.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowKind {
    /// A transfer over a transport.
    Transfer(TransferResult),
    /// Echo requests.
    Ping(PingResult),
    /// Pages, exchanges or short transfers.
    Completions(CompletionsResult),
    /// Datagrams in one direction.
    Datagrams(DatagramResult),
    /// Packets of real programs.
    Programs(ProgramsResult),
    /// A real program at one end, and a simulated one at the other.
    OneEnd(OneEndResult),
}

impl FlowKind {
    /// Name of the kind in tables.
    pub fn name(&self) -> &'static str {
        match self {
            FlowKind::Transfer(_) => "transfer",
            FlowKind::Ping(_) => "ping",
            FlowKind::Completions(_) => "completions",
            FlowKind::Datagrams(_) => "datagrams",
            FlowKind::Programs(_) => "programs",
            FlowKind::OneEnd(_) => "one-end",
        }
    }

    /// Names and values of its metrics, in order.
    pub fn measures(&self) -> Vec<(&'static str, Measure<'_>)> {
        fn all<'a, T>(metrics: &[Metric<T>], of: &'a T) -> Vec<(&'static str, Measure<'a>)> {
            metrics.iter().map(|metric| (metric.name, (metric.get)(of))).collect()
        }
        match self {
            FlowKind::Transfer(t) => all(TransferResult::METRICS, t),
            FlowKind::Ping(p) => all(PingResult::METRICS, p),
            FlowKind::Completions(c) => all(CompletionsResult::METRICS, c),
            FlowKind::Datagrams(d) => all(DatagramResult::METRICS, d),
            FlowKind::Programs(p) => all(ProgramsResult::METRICS, p),
            FlowKind::OneEnd(o) => all(OneEndResult::METRICS, o),
        }
    }
}

/// A metric of flows, of one or more kinds: a column of a table of flows.
#[derive(Debug, Clone)]
pub struct FlowMetric {
    /// Name of the metric, with its unit at the end if it has one.
    pub name: String,
    /// Description of the metric.
    pub about: &'static str,
    /// Type of its values.
    pub kind: Type,
    source: ColumnSource,
}

#[derive(Debug, Clone, Copy)]
enum ColumnSource {
    /// Position among the metrics of each kind.
    Kind {
        transfer: Option<usize>,
        completions: Option<usize>,
        datagrams: Option<usize>,
        ping: Option<usize>,
        programs: Option<usize>,
        one_end: Option<usize>,
    },
    LimitedBy,
    Limited(Cause),
    Bottleneck,
    /// A metric of flows of all kinds.
    Flow(usize),
}

impl FlowMetric {
    /// All metrics of all kinds in the order of columns: each kind's order is kept, and a metric of few kinds comes before those
    /// that follow it there.
    pub fn all() -> &'static [FlowMetric] {
        static ALL: LazyLock<Vec<FlowMetric>> = LazyLock::new(columns);
        &ALL
    }

    /// The metric's value for a flow; empty if the flow's kind does not have it.
    pub fn of<'a>(&self, flow: &'a FlowResult) -> Measure<'a> {
        fn at<'a, T>(metrics: &[Metric<T>], place: Option<usize>, of: &'a T) -> Option<Measure<'a>> {
            Some((metrics[place?].get)(of))
        }
        let value = match (self.source, &flow.kind) {
            _ if flow.shares(&self.name) => None,
            (ColumnSource::Kind { transfer, .. }, FlowKind::Transfer(t)) => {
                at(TransferResult::METRICS, transfer, t)
            }
            (ColumnSource::Kind { completions, .. }, FlowKind::Completions(c)) => {
                at(CompletionsResult::METRICS, completions, c)
            }
            (ColumnSource::Kind { datagrams, .. }, FlowKind::Datagrams(d)) => {
                at(DatagramResult::METRICS, datagrams, d)
            }
            (ColumnSource::Kind { ping, .. }, FlowKind::Ping(p)) => at(PingResult::METRICS, ping, p),
            (ColumnSource::Kind { programs, .. }, FlowKind::Programs(p)) => {
                at(ProgramsResult::METRICS, programs, p)
            }
            (ColumnSource::Kind { one_end, .. }, FlowKind::OneEnd(o)) => {
                at(OneEndResult::METRICS, one_end, o)
            }
            (ColumnSource::LimitedBy, _) => {
                let cause = flow.limits.as_ref().and_then(LimitsResult::limited_by);
                Some(Measure::Text(cause.map(Cause::name)))
            }
            (ColumnSource::Limited(cause), _) => {
                Some(Measure::Real(flow.limits.as_ref().and_then(|limits| limits.share(cause))))
            }
            (ColumnSource::Bottleneck, _) => {
                Some(Measure::Text(flow.limits.as_ref().and_then(|limits| limits.bottleneck.as_deref())))
            }
            (ColumnSource::Flow(place), _) => at(FlowResult::METRICS, Some(place), flow),
        };
        value.unwrap_or(match self.kind {
            Type::Count => Measure::Count(None),
            Type::Real => Measure::Real(None),
            Type::Text => Measure::Text(None),
        })
    }
}

/// Merges the lists of all kinds: takes the first head that does not occur further down in another list.
fn columns() -> Vec<FlowMetric> {
    fn list<T>(metrics: &[Metric<T>]) -> Vec<(&'static str, &'static str, Type)> {
        metrics.iter().map(|metric| (metric.name, metric.about, metric.kind)).collect()
    }
    let kinds = [
        list(TransferResult::METRICS),
        list(CompletionsResult::METRICS),
        list(DatagramResult::METRICS),
        list(PingResult::METRICS),
        list(ProgramsResult::METRICS),
        list(OneEndResult::METRICS),
    ];
    let mut heads = [0; 6];
    let mut found = Vec::new();
    loop {
        let waits = |name: &str| {
            kinds
                .iter()
                .zip(heads)
                .any(|(kind, head)| kind.iter().skip(head + 1).any(|(other, ..)| *other == name))
        };
        let mut rest = kinds.iter().zip(heads).filter_map(|(kind, head)| kind.get(head));
        let Some(&(name, about, kind)) = rest.find(|(name, ..)| !waits(name)) else { break };
        let place = |of: usize| kinds[of].iter().position(|(other, ..)| *other == name);
        let [transfer, completions, datagrams, ping, programs, one_end] = [0, 1, 2, 3, 4, 5].map(place);
        let source = ColumnSource::Kind { transfer, completions, datagrams, ping, programs, one_end };
        found.push(FlowMetric { name: name.to_owned(), about, kind, source });
        for (kind, head) in kinds.iter().zip(&mut heads) {
            *head += usize::from(kind.get(*head).is_some_and(|(other, ..)| *other == name));
        }
    }
    let mut add = |name: String, about, kind, source| found.push(FlowMetric { name, about, kind, source });
    add(
        "limited_by".into(),
        "Cause that limited its sender for the largest share of the time.",
        Type::Text,
        ColumnSource::LimitedBy,
    );
    for cause in Cause::ALL {
        let about = "Share of its connections' lifetimes in which this cause limited its sender.";
        add(format!("limited_{}", cause.name()), about, Type::Real, ColumnSource::Limited(cause));
    }
    add("bottleneck".into(), "Name of the busiest link on its path.", Type::Text, ColumnSource::Bottleneck);
    for (place, metric) in FlowResult::METRICS.iter().enumerate() {
        add(metric.name.to_owned(), metric.about, metric.kind, ColumnSource::Flow(place));
    }
    found
}

measured! {
    /// Pages or short transfers: their number and their durations.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct CompletionsResult {
        /// In-order payload bits per second at the browser or receiver, from the flow's start to its stop or the end.
        pub goodput_bps: f64,
        /// Pages, exchanges or transfers begun.
        pub started: u64,
        /// Pages, exchanges or transfers completed.
        pub completed: u64,
        /// Exchanges abandoned because a connection was reset or could not be opened.
        pub failed: u64,
        /// Files of the completed pages; one each for exchanges and transfers.
        pub files: u64,
        /// Connections opened.
        pub connections: u64,
        /// Shortest time from the start to the last byte at the receiver, s: the page-load time of a page.
        pub completion_min_s: Option<f64>,
        /// Mean of the times, s.
        pub completion_mean_s: Option<f64>,
        /// Median of the times, s.
        pub completion_median_s: Option<f64>,
        /// 95th percentile of the times, s.
        pub completion_p95_s: Option<f64>,
        /// Longest time, s.
        pub completion_max_s: Option<f64>,
        /// Payload delivered in order at the browser or receiver.
        pub bytes_delivered: u64,
        /// Highest sequence number received there, also behind a gap, as payload from a connection's first byte, summed over
        /// connections; `None` over STP, whose numbers count packets.
        pub sequence_max_bytes: Option<u64>,
        /// Segments with payload, SYN or FIN from the sender of that payload, including retransmissions.
        pub segments_sent: u64,
        /// Retransmissions among them.
        pub segments_retransmitted: u64,
        /// Retransmission timeouts.
        pub timeouts: u64,
        /// Smallest RTT sample, s.
        pub rtt_min_s: Option<f64>,
        /// Mean of the RTT samples, s.
        pub rtt_mean_s: Option<f64>,
        /// Largest RTT sample, s.
        pub rtt_max_s: Option<f64>,
    }
}

measured! {
    /// The packets of real programs, from their flow's `from` to its `to`.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct ProgramsResult {
        ;
        /// Packets handed to the network.
        pub sent: u64,
        /// Packets that arrived.
        pub received: u64,
        /// Share of packets that did not arrive, without those still in flight.
        pub loss: Option<f64>,
        /// Smallest one-way delay, s.
        pub delay_min_s: Option<f64>,
        /// Mean one-way delay, s.
        pub delay_mean_s: Option<f64>,
        /// Largest one-way delay, s.
        pub delay_max_s: Option<f64>,
    }
}

measured! {
    /// A real program at one end and a simulated one at the other: counters of the simulated end, and packets from `from` to `to`.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct OneEndResult {
        /// In-order payload bits per second in the direction with more, from the first connection's opening to the last byte that
        /// arrived.
        pub goodput_bps: f64,
        /// Time from the flow's start until a simulated sender knows that all of its transfer has arrived, s.
        pub completed_s: Option<f64>,
        /// Exchanges completed by a simulated client.
        pub completed: Option<u64>,
        /// Exchanges abandoned by a simulated client.
        pub failed: Option<u64>,
        /// Connections opened.
        pub connections: u64,
        /// Mean duration of a simulated client's exchanges, s.
        pub completion_mean_s: Option<f64>,
        /// Payload delivered in order in the direction with more.
        pub bytes_delivered: u64,
        /// Segments with payload, SYN or FIN sent by the simulated end, including retransmissions.
        pub segments_sent: u64,
        /// Retransmissions among them.
        pub segments_retransmitted: u64,
        /// Retransmission timeouts of the simulated end.
        pub timeouts: u64,
        /// Packets handed to the network.
        pub sent: u64,
        /// Packets that arrived.
        pub received: u64,
        /// Share of packets that did not arrive, without those still in flight.
        pub loss: Option<f64>,
        /// Smallest one-way delay, s.
        pub delay_min_s: Option<f64>,
        /// Mean one-way delay, s.
        pub delay_mean_s: Option<f64>,
        /// Largest one-way delay, s.
        pub delay_max_s: Option<f64>,
        /// Smallest RTT sample of the simulated end, s.
        pub rtt_min_s: Option<f64>,
        /// Mean of the RTT samples of the simulated end, s.
        pub rtt_mean_s: Option<f64>,
        /// Largest RTT sample of the simulated end, s.
        pub rtt_max_s: Option<f64>,
    }
}

measured! {
    /// Datagrams in one direction.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct DatagramResult {
        /// Payload bits that arrived per second, from the flow's start to its stop or the end.
        pub goodput_bps: f64,
        /// Payload that arrived.
        pub bytes_delivered: u64,
        /// Datagrams sent.
        pub sent: u64,
        /// Datagrams that arrived.
        pub received: u64,
        /// Datagrams among them that arrived after one sent later.
        pub reordered: u64,
        /// Datagrams that a gateway dropped before they left it, as they had waited too long there or too many waited; `None` if no
        /// gateway carries them.
        pub dropped_late: Option<u64>,
        /// Share of datagrams that did not arrive, without those still in flight.
        pub loss: Option<f64>,
        /// Smallest one-way delay, s.
        pub delay_min_s: Option<f64>,
        /// Mean one-way delay, s.
        pub delay_mean_s: Option<f64>,
        /// Largest one-way delay, s.
        pub delay_max_s: Option<f64>,
        /// RFC 3550's interarrival jitter at the end, s.
        pub jitter_s: Option<f64>,
        /// Mean difference between the delays of successive arrivals, s, which RFC 3550 smooths.
        pub jitter_mean_s: Option<f64>,
    }
}

measured! {
    /// A transfer over a transport.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct TransferResult {
        /// In-order payload bits delivered per second, from the flow's start to its completion or the end of the run.
        pub goodput_bps: f64,
        /// Time from the flow's start until the sender knows that all data have arrived, s; `None` if that did not happen.
        pub completed_s: Option<f64>,
        /// Payload delivered in order.
        pub bytes_delivered: u64,
        /// Highest sequence number received, also behind a gap, as payload from the connection's first byte; `None` over STP, whose
        /// numbers count packets.
        pub sequence_max_bytes: Option<u64>,
        /// Segments with payload, SYN or FIN sent by the sender, including retransmissions.
        pub segments_sent: u64,
        /// Retransmissions among them.
        pub segments_retransmitted: u64,
        /// Retransmission timeouts.
        pub timeouts: u64,
        /// Smallest RTT sample, s.
        pub rtt_min_s: Option<f64>,
        /// Mean of the RTT samples, s.
        pub rtt_mean_s: Option<f64>,
        /// Largest RTT sample, s.
        pub rtt_max_s: Option<f64>,
    }
}

measured! {
    /// Echo requests and their replies.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct PingResult {
        /// Requests sent.
        pub sent: u64,
        /// Requests that reached the receiver.
        pub received: u64,
        /// Smallest one-way delay, s.
        pub delay_min_s: Option<f64>,
        /// Mean one-way delay, s.
        pub delay_mean_s: Option<f64>,
        /// Largest one-way delay, s.
        pub delay_max_s: Option<f64>,
        /// Replies received by the sender.
        pub answers_received: u64,
        /// Smallest round-trip time, s.
        pub rtt_min_s: Option<f64>,
        /// Mean round-trip time, s.
        pub rtt_mean_s: Option<f64>,
        /// Largest round-trip time, s.
        pub rtt_max_s: Option<f64>,
    }
}

/// The two directions of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkResult {
    /// Name of the link.
    pub name: String,
    /// Forward direction.
    pub forward: DirectionResult,
    /// Reverse direction.
    pub reverse: DirectionResult,
}

measured! {
    /// One direction of a link.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct DirectionResult {
        /// Packets transmitted, including those lost on the link.
        pub packets: u64,
        /// Bytes transmitted, headers included.
        pub bytes: u64,
        /// Packets that found the queue full or the link down, or were larger than the MTU.
        pub packets_dropped: u64,
        /// Packets lost to errors after their transmission.
        pub packets_lost: u64,
        /// Lost packets that arrived with a flipped bit.
        pub packets_corrupted: u64,
        /// Copies made by duplication, which are not among `packets`.
        pub packets_duplicated: u64,
        /// Dropped acknowledgments that a later one replaced.
        pub packets_filtered: u64,
        /// Dropped packets that were larger than the MTU.
        pub packets_too_large: u64,
        /// Packets marked by the queue (RFC 3168).
        pub packets_marked: u64,
        /// Share of the run in which the transmitter was busy.
        pub utilisation: f64,
        /// Largest number of packets that waited at once, without the one on the transmitter.
        pub queue_max_packets: u64,
    }
}

/// Samples of one metric of one entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// `flow/<name>`, `link/<name>/<forward|reverse>`, `splice/<name>` or, of a moving terminal, `terminal/<name>`.
    pub entity: String,
    /// `cwnd_bytes`, `ssthresh_bytes`, `in_flight_bytes`, `bytes_acked`, `bytes_delivered`, `queue_packets`,
    /// `path_delay_s`, `path_satellites`, `held_bytes`, and `delay_s`, a ping's one-way delay at the instant of sending. Of a terminal
    /// `latitude_deg`, `longitude_deg`, `height_m`, `handovers`, `address_changes`, and while it holds one `satellite`,
    /// `satellite_latitude_deg`, `satellite_longitude_deg`, `elevation_deg`, `gsl_delay_s`.
    pub metric: &'static str,
    /// Time and value of each sample.
    pub samples: Vec<(Time, f64)>,
}
