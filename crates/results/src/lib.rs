//! What a run found out, as plain data: totals per flow and link, and series over time.
//!
//! Field names are the keys of `summary.json` and the columns of the parquet files, in their order; `measured!` keeps the list.
//! Differs from a log: everything is returned at the end, nothing is written on the way.
//! Leaves out files and formats, which the `record` crate holds.

mod measure;
pub mod population;

use crate::measure::measured;
pub use crate::measure::{Measure, Metric, Type};
pub use skyhop_transport::Cause;
use skyhop_units::Time;
use std::ops::Range;
use std::sync::LazyLock;

/// One run's results.
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
    /// Which of the flows the scenario has as one, in its order.
    pub populations: Vec<PopulationResult>,
    /// Members of populations are wanted by themselves in the summary too.
    pub each_member: bool,
    /// Links in order of their names.
    pub links: Vec<LinkResult>,
    /// Changes of satellite by terminal, in order of their names; empty without a constellation.
    pub handovers: Vec<HandoverResult>,
    /// Changes of the addresses of terminals that move and their cost, in order of their names; empty if none moves.
    pub addresses: Vec<AddressResult>,
    /// What of the constellation failed during the run, in order of time.
    pub failures: Vec<FailureResult>,
    /// What routing through the constellation took; `None` without one.
    pub routing: Option<RoutingResult>,
    /// Splices in order of their names; empty without any.
    pub splices: Vec<SpliceResult>,
    /// Associations in order of their names; empty without any.
    pub associations: Vec<AssociationResult>,
    /// Samples over time, ordered by entity and metric as first seen, then by time.
    pub series: Vec<Series>,
    /// What a user should know before trusting the numbers.
    pub warnings: Vec<String>,
}

/// Flows that the scenario has as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PopulationResult {
    /// Name of the population.
    pub name: String,
    /// Which of the run's flows are its members.
    pub flows: Range<usize>,
}

/// A failure of a satellite, a link or a station, listed or drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct FailureResult {
    /// `satellite`, `link` or `station`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// When it fails, s.
    pub from_s: f64,
    /// When it is repaired, s; `None` if it is not.
    pub until_s: Option<f64>,
}

measured! {
    /// How often a terminal changed its satellite, and what that cost.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct HandoverResult {
        /// Name of the terminal.
        pub terminal: String,
        ;
        /// Changes from one satellite to another, of all its antennas.
        pub handovers: u64,
        /// Time in which a satellite was being acquired and packets waited, s, of all its antennas.
        pub gap_s: f64,
        /// Packets that `handover_loss` cost, of those that waited or were on their way.
        pub packets_lost: u64,
    }
}

measured! {
    /// How often a terminal that moves came into another cell, and so to another address (HT 6.4.1), and what that cost.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct AddressResult {
        /// Name of the terminal.
        pub terminal: String,
        ;
        /// Changes of its address: cells that it was found in at looks.
        pub address_changes: u64,
        /// Bytes of the messages that tell of them, answers included; they take no capacity.
        pub update_bytes: u64,
        /// Packets that were sent to it by an address that was not its any more.
        pub packets_old_address: u64,
        /// Of those, the ones that a satellite of the old cell sent on to the present one.
        pub packets_readdressed: u64,
        /// Of those, the ones that found it gone.
        pub packets_lost: u64,
    }
}

measured! {
    /// What went through a splice.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct SpliceResult {
        /// Name of the splice.
        pub name: String,
        ;
        /// Connections that were opened with it.
        pub connections: u64,
        /// Of those, the ones that it had to break because a side broke them or fell silent.
        pub connections_broken: u64,
        /// Requests that a cache answered.
        pub hits: u64,
        /// Requests that a cache handed on.
        pub misses: u64,
        /// Payload that came into order from the flows' `from`.
        pub forward_bytes: u64,
        /// Payload that came into order from the flows' `to`.
        pub backward_bytes: u64,
        /// The most bytes that it held at once, all connections and both directions.
        pub held_max_bytes: u64,
        /// The most bytes that it held at once for a direction of a connection.
        pub connection_held_max_bytes: u64,
    }
}

measured! {
    /// What the flows of an association have in common: its packets, which belong to no flow alone.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct AssociationResult {
        /// Name of the association.
        pub name: String,
        ;
        /// Streams that were opened: connections of its flows.
        pub streams: u64,
        /// The most of them that were open at once.
        pub streams_max: u64,
        /// Payload that came into order in all streams, both ways.
        pub bytes_delivered: u64,
        /// Packets of data that its ends sent, repeats included.
        pub segments_sent: u64,
        /// Of those, the repeats.
        pub segments_retransmitted: u64,
        /// POLLs that no answer came to in time.
        pub timeouts: u64,
        /// Smallest RTT sample of either end, s.
        pub rtt_min_s: Option<f64>,
        /// Mean of the RTT samples, s.
        pub rtt_mean_s: Option<f64>,
        /// Largest RTT sample, s.
        pub rtt_max_s: Option<f64>,
        /// Bytes, headers of IP and above included, that the `from` of the first flow that names it handed to a first link.
        pub forward_bytes: u64,
        /// The same of that flow's `to`.
        pub return_bytes: u64,
        /// Packets handed to the network by either end.
        pub packets_sent: u64,
        /// Packets that reached either end.
        pub packets_delivered: u64,
        /// Packets dropped at a full queue or at a link that went down, or for want of a route.
        pub packets_dropped: u64,
        /// Packets lost to errors on a link.
        pub packets_lost: u64,
        /// Packets in the network at the end of the run.
        pub packets_in_flight: u64,
    }
}

measured! {
    /// What routing through the constellation took, and the packets that it could not help.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct RoutingResult {
        /// Name of the scheme.
        pub scheme: &'static str,
        /// Entries that a satellite keeps beyond published orbits and its own links, the most of any at any time.
        pub state_entries_max: u64,
        /// Their mean over satellites and changes of the network.
        pub state_entries_mean: f64,
        /// Links that came up, went down or moved after the start.
        pub topology_changes: u64,
        /// Announcements of changes that satellites made; `None` if they were not simulated.
        pub announcements: Option<u64>,
        /// Transmissions of announcements over ISLs; `None` if they were not simulated.
        pub messages: Option<u64>,
        /// Longest time from a change until nodes routed by it, s; `None` if announcements were not simulated.
        pub convergence_max_s: Option<f64>,
        /// Packets dropped where the scheme knew no way on.
        pub stranded_dead_end: u64,
        /// Packets dropped because there was no path.
        pub stranded_no_path: u64,
        /// Packets dropped because the link that the tables name was down, or led elsewhere by then.
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
        /// What it measured.
        pub kind: FlowKind,
        /// What limited it; `None` without connections.
        pub limits: Option<LimitsResult>,
        /// The association whose streams its connections are: its packets are that one's, and its own keys for them are null.
        pub association: Option<String>,
        /// Copies of its packets that links have made; no column, since few flows have any.
        pub packets_duplicated: u64,
        ;
        /// Bytes, headers of IP and above included, that its `from` handed to a first link.
        pub forward_bytes: u64,
        /// The same of its `to`: acknowledgments, and whatever else goes back.
        pub return_bytes: u64,
        /// Packets handed to the network by either end.
        pub packets_sent: u64,
        /// Packets that reached either end.
        pub packets_delivered: u64,
        /// Packets dropped at a full queue or at a link that went down, or for want of a route.
        pub packets_dropped: u64,
        /// Packets lost to errors on a link.
        pub packets_lost: u64,
        /// Packets in the network at the end of the run.
        pub packets_in_flight: u64,
    }
}

/// Metrics of packets, which a flow of an association has none of: its streams share them with those of other flows.
const OF_PACKETS: [&str; 6] =
    ["segments_sent", "segments_retransmitted", "timeouts", "rtt_min_s", "rtt_mean_s", "rtt_max_s"];

impl FlowResult {
    /// Whether a metric is one of packets that the flow shares with others of its association.
    pub fn shares(&self, metric: &str) -> bool {
        let packets = || OF_PACKETS.contains(&metric) || Self::METRICS.iter().any(|own| own.name == metric);
        self.association.is_some() && packets()
    }
}

/// What limited a flow over connections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitsResult {
    /// Time by what held the sending ends of its connections up, ns, in the order of [`Cause::ALL`]: together the sum of the
    /// connections' lives, from the call to connect until all has been acknowledged, or until the end.
    pub spent_ns: [u64; Cause::COUNT],
    /// Name of the busiest link on its way, in the direction of its data; `None` if none was ever busy.
    pub bottleneck: Option<String>,
}

impl LimitsResult {
    /// Sum of the connections' lives, ns.
    pub fn total_ns(&self) -> u64 {
        self.spent_ns.iter().sum()
    }

    /// Share of that time in which `cause` held; `None` if there was no time.
    pub fn share(&self, cause: Cause) -> Option<f64> {
        let total = self.total_ns();
        (total > 0).then(|| self.spent_ns[cause as usize] as f64 / total as f64)
    }

    /// What held for the most time, of equals the first; `None` if there was no time.
    pub fn limited_by(&self) -> Option<Cause> {
        let most = *self.spent_ns.iter().max()?;
        Cause::ALL.into_iter().find(|cause| most > 0 && self.spent_ns[*cause as usize] == most)
    }
}

/// What the kinds of flow measure.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowKind {
    /// A transfer over a transport.
    Transfer(TransferResult),
    /// Echo requests.
    Ping(PingResult),
    /// Pages, exchanges or short transfers.
    Completions(CompletionsResult),
    /// Datagrams one way.
    Datagrams(DatagramResult),
    /// Packets of programs.
    Programs(ProgramsResult),
    /// A program at one end, and a simulated one at the other.
    OneEnd(OneEndResult),
}

impl FlowKind {
    /// What the kind is called in tables.
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

    /// Names and values of what it measures, in their order.
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

/// A metric that flows of some kind have: a column of a table of flows.
#[derive(Debug, Clone)]
pub struct FlowMetric {
    /// Its name, with its unit at the end if it has one.
    pub name: String,
    /// What it is.
    pub about: &'static str,
    /// The type of its values.
    pub kind: Type,
    source: Source,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// Its place among the metrics of each kind.
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
    /// All metrics of all kinds, in the order of columns: as each kind has its own, what few have before what follows it in others.
    pub fn all() -> &'static [FlowMetric] {
        static ALL: LazyLock<Vec<FlowMetric>> = LazyLock::new(columns);
        &ALL
    }

    /// The metric of a flow; without a value if its kind has none.
    pub fn of<'a>(&self, flow: &'a FlowResult) -> Measure<'a> {
        fn at<'a, T>(metrics: &[Metric<T>], place: Option<usize>, of: &'a T) -> Option<Measure<'a>> {
            Some((metrics[place?].get)(of))
        }
        let value = match (self.source, &flow.kind) {
            _ if flow.shares(&self.name) => None,
            (Source::Kind { transfer, .. }, FlowKind::Transfer(t)) => {
                at(TransferResult::METRICS, transfer, t)
            }
            (Source::Kind { completions, .. }, FlowKind::Completions(c)) => {
                at(CompletionsResult::METRICS, completions, c)
            }
            (Source::Kind { datagrams, .. }, FlowKind::Datagrams(d)) => {
                at(DatagramResult::METRICS, datagrams, d)
            }
            (Source::Kind { ping, .. }, FlowKind::Ping(p)) => at(PingResult::METRICS, ping, p),
            (Source::Kind { programs, .. }, FlowKind::Programs(p)) => {
                at(ProgramsResult::METRICS, programs, p)
            }
            (Source::Kind { one_end, .. }, FlowKind::OneEnd(o)) => at(OneEndResult::METRICS, one_end, o),
            (Source::LimitedBy, _) => {
                let cause = flow.limits.as_ref().and_then(LimitsResult::limited_by);
                Some(Measure::Text(cause.map(Cause::name)))
            }
            (Source::Limited(cause), _) => {
                Some(Measure::Real(flow.limits.as_ref().and_then(|limits| limits.share(cause))))
            }
            (Source::Bottleneck, _) => {
                Some(Measure::Text(flow.limits.as_ref().and_then(|limits| limits.bottleneck.as_deref())))
            }
            (Source::Flow(place), _) => at(FlowResult::METRICS, Some(place), flow),
        };
        value.unwrap_or(match self.kind {
            Type::Count => Measure::Count(None),
            Type::Real => Measure::Real(None),
            Type::Text => Measure::Text(None),
        })
    }
}

/// The kinds' lists as one: always the first head that stands behind no other list's head.
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
        let source = Source::Kind { transfer, completions, datagrams, ping, programs, one_end };
        found.push(FlowMetric { name: name.to_owned(), about, kind, source });
        for (kind, head) in kinds.iter().zip(&mut heads) {
            *head += usize::from(kind.get(*head).is_some_and(|(other, ..)| *other == name));
        }
    }
    let mut add = |name: String, about, kind, source| found.push(FlowMetric { name, about, kind, source });
    add("limited_by".into(), "What held its data up for the most time.", Type::Text, Source::LimitedBy);
    for cause in Cause::ALL {
        let about = "Share of its connections' lives in which this held its data up.";
        add(format!("limited_{}", cause.name()), about, Type::Real, Source::Limited(cause));
    }
    add("bottleneck".into(), "Name of the busiest link on its way.", Type::Text, Source::Bottleneck);
    for (place, metric) in FlowResult::METRICS.iter().enumerate() {
        add(metric.name.to_owned(), metric.about, metric.kind, Source::Flow(place));
    }
    found
}

measured! {
    /// Pages, exchanges or short transfers: how many, and how long they took.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct CompletionsResult {
        /// In-order payload bits per second that came to the browser or receiver, from the flow's start to its stop or the end.
        pub goodput_bps: f64,
        /// Pages, exchanges or transfers that were begun.
        pub started: u64,
        /// Those that came to an end.
        pub completed: u64,
        /// Those that were given up because a connection was broken, or could not be opened.
        pub failed: u64,
        /// Files of the pages that came to an end; of anything else there is one each.
        pub files: u64,
        /// Connections opened.
        pub connections: u64,
        /// Shortest time from the beginning to the last byte at the receiver, s: of a page, its page-load time.
        pub completion_min_s: Option<f64>,
        /// Mean of the times, s.
        pub completion_mean_s: Option<f64>,
        /// Median of the times, s.
        pub completion_median_s: Option<f64>,
        /// 95th percentile of the times, s.
        pub completion_p95_s: Option<f64>,
        /// Longest time, s.
        pub completion_max_s: Option<f64>,
        /// That payload.
        pub bytes_delivered: u64,
        /// Segments with payload, SYN or FIN that the sender of that payload sent, repeats included.
        pub segments_sent: u64,
        /// Of those, the repeats.
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
    /// What packets of programs met, from their flow's `from` to its `to`.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct ProgramsResult {
        ;
        /// Packets that were handed to the network.
        pub sent: u64,
        /// Packets that arrived.
        pub received: u64,
        /// Share of the packets that did not arrive, those still on their way not counted.
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
    /// A program at one end and a simulated one at the other: what the simulated end counts, and what packets met from `from` to `to`.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct OneEndResult {
        /// In-order payload bits per second in the direction that had more, from the first connection's opening to the last byte that arrived.
        pub goodput_bps: f64,
        /// From the flow's start until a simulated sender knows that all of its transfer has arrived, s.
        pub completed_s: Option<f64>,
        /// Exchanges that a simulated client has completed.
        pub completed: Option<u64>,
        /// Those that it gave up.
        pub failed: Option<u64>,
        /// Connections that were opened.
        pub connections: u64,
        /// Mean time of a simulated client's exchanges, s.
        pub completion_mean_s: Option<f64>,
        /// That payload.
        pub bytes_delivered: u64,
        /// Segments with payload, SYN or FIN that the simulated end sent, repeats included.
        pub segments_sent: u64,
        /// Of those, the repeats.
        pub segments_retransmitted: u64,
        /// Retransmission timeouts of the simulated end.
        pub timeouts: u64,
        /// Packets that were handed to the network.
        pub sent: u64,
        /// Packets that arrived.
        pub received: u64,
        /// Share of the packets that did not arrive, those still on their way not counted.
        pub loss: Option<f64>,
        /// Smallest one-way delay, s.
        pub delay_min_s: Option<f64>,
        /// Mean one-way delay, s.
        pub delay_mean_s: Option<f64>,
        /// Largest one-way delay, s.
        pub delay_max_s: Option<f64>,
        /// Smallest RTT sample of the simulated end, s.
        pub rtt_min_s: Option<f64>,
        /// Mean of its RTT samples, s.
        pub rtt_mean_s: Option<f64>,
        /// Largest of them, s.
        pub rtt_max_s: Option<f64>,
    }
}

measured! {
    /// Datagrams one way.
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
        /// Of those, the ones that one sent later had overtaken.
        pub reordered: u64,
        /// Share of the datagrams that did not arrive, those still on their way not counted.
        pub loss: Option<f64>,
        /// Smallest one-way delay, s.
        pub delay_min_s: Option<f64>,
        /// Mean one-way delay, s.
        pub delay_mean_s: Option<f64>,
        /// Largest one-way delay, s.
        pub delay_max_s: Option<f64>,
        /// RFC 3550's interarrival jitter at the end, s.
        pub jitter_s: Option<f64>,
        /// Mean difference of the delays of one arrival and the next, s, which RFC 3550 smooths.
        pub jitter_mean_s: Option<f64>,
    }
}

measured! {
    /// A transfer over a transport.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct TransferResult {
        /// In-order payload bits delivered per second, from the flow's start to its completion or the end of the run.
        pub goodput_bps: f64,
        /// From the flow's start until the sender knows that all of it has arrived, s; `None` if it did not happen.
        pub completed_s: Option<f64>,
        /// Payload delivered in order.
        pub bytes_delivered: u64,
        /// Segments with payload, SYN or FIN that the sender sent, repeats included.
        pub segments_sent: u64,
        /// Of those, the repeats.
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
    /// Echo requests and their answers.
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
        /// Answers that came back to the sender.
        pub answers_received: u64,
        /// Smallest round trip, s.
        pub rtt_min_s: Option<f64>,
        /// Mean round trip, s.
        pub rtt_mean_s: Option<f64>,
        /// Largest round trip, s.
        pub rtt_max_s: Option<f64>,
    }
}

/// A link's two directions.
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
        /// Packets put on the wire, those lost on it included.
        pub packets: u64,
        /// Their bytes, headers included.
        pub bytes: u64,
        /// Packets that found the queue full or the link down, or were larger than its MTU.
        pub dropped_packets: u64,
        /// Packets lost to errors, after they were put on the wire.
        pub lost_packets: u64,
        /// Of those lost, packets that arrived with a bit that is another.
        pub corrupted_packets: u64,
        /// Copies that arrived behind packets, which are not among `packets`.
        pub duplicated_packets: u64,
        /// Of those dropped, acknowledgments whose place a later one took.
        pub filtered_packets: u64,
        /// Of those dropped, packets larger than its MTU.
        pub too_large_packets: u64,
        /// Packets that its queue marked (RFC 3168).
        pub marked_packets: u64,
        /// Share of the run in which the transmitter was busy.
        pub utilisation: f64,
        /// The most packets that waited at once, the one on the transmitter not counted.
        pub queue_max_packets: u64,
    }
}

/// Samples of one metric of one entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// `flow/<name>`, `link/<name>/<forward|reverse>`, `splice/<name>` or, of one that moves, `terminal/<name>`.
    pub entity: String,
    /// `cwnd_bytes`, `ssthresh_bytes`, `in_flight_bytes`, `acked_bytes`, `delivered_bytes`, `queue_packets`,
    /// `path_delay_s`, `path_satellites`, `held_bytes`, and `delay_s`, a ping's one-way delay at the instant of sending. Of a terminal
    /// `latitude_deg`, `longitude_deg`, `height_m`, `handovers`, `address_changes`, and while it holds one `satellite`,
    /// `satellite_latitude_deg`, `satellite_longitude_deg`, `elevation_deg`, `gsl_delay_s`.
    pub metric: &'static str,
    /// When, and how much.
    pub samples: Vec<(Time, f64)>,
}
