//! Samples taken during a run: windows, queues, splices, paths.
//!
//! Follows the scenario's `record` table; metrics are named in [`skyhop_results`].
//! Differs from a log, which has every change.
//! Leaves out totals, which are counted where events occur, and files, which the `record` crate writes.

use crate::association::AssociationState;
use crate::flow::{App, FlowState};
use crate::sample::Samples;
use crate::splice::SpliceCounts;
use skyhop_network::Network;
use skyhop_results::Series;
use skyhop_scenario::Scenario;
use skyhop_units::{Span, Time};

/// The series of a moving terminal.
const TERMINAL: [&str; 10] = [
    "latitude_deg",
    "longitude_deg",
    "height_m",
    "handovers",
    "address_changes",
    "satellite",
    "satellite_latitude_deg",
    "satellite_longitude_deg",
    "elevation_deg",
    "gsl_delay_s",
];

/// Samples a run at intervals and stores the values.
#[derive(Default)]
pub(crate) struct Observer {
    samples: Samples,
    /// Flow, and the first of its series: cwnd, ssthresh, in flight, acknowledged, delivered.
    transfers: Vec<(u32, usize)>,
    /// Wire and its queue's series.
    queues: Vec<(u32, usize)>,
    /// Flow, and the first of its series: path delay, satellites.
    paths: Vec<(u32, usize)>,
    /// Moving terminal, and the first of its series.
    terminals: Vec<(usize, usize)>,
    /// Index of the first splice's series (bytes held); the others follow.
    splices: Option<usize>,
    /// Index of the first association's series: window and bytes in flight of its first flow's `from`, then of its `to`; the others
    /// follow.
    associations: Option<usize>,
    /// True if pages and short transfers are listed individually.
    completions: bool,
    /// Interval between samples.
    interval: Span,
}

impl Observer {
    /// Opens the series of a run.
    pub fn new(
        scenario: &Scenario,
        flows: &mut [FlowState],
        network: &Network,
        (places, associations): (&[SpliceCounts], &[AssociationState]),
    ) -> Self {
        let mut observer = Self { completions: true, ..Self::default() };
        if !scenario.record.members {
            let members = scenario.members.iter().flat_map(|members| members.flows.clone());
            members.for_each(|flow| flows[flow].sampled = false);
        }
        for (index, flow) in flows.iter_mut().enumerate().filter(|(_, flow)| flow.sampled) {
            let entity = format!("flow/{}", flow.name);
            if flow.through_space {
                let first = observer.samples.open(entity.clone(), "path_delay_s");
                observer.samples.open(entity.clone(), "path_satellites");
                observer.paths.push((index as u32, first));
            }
            match &mut flow.app {
                App::Ping(ping) => ping.series = observer.samples.open(entity, "delay_s"),
                App::Datagrams(sending) => sending.series = observer.samples.open(entity, "delay_s"),
                App::Stream(stream) if stream.keeps() => {
                    let metrics =
                        ["cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "bytes_acked", "bytes_delivered"];
                    let all = metrics.map(|metric| observer.samples.open(entity.clone(), metric));
                    observer.transfers.push((index as u32, all[0]));
                }
                App::Stream(_) | App::Programs(_) => {}
            }
        }
        for (terminal, name) in network.moving() {
            let entity = format!("terminal/{name}");
            let all = TERMINAL.map(|metric| observer.samples.open(entity.clone(), metric));
            observer.terminals.push((terminal, all[0]));
        }
        for wire in 0..network.fixed_wires() {
            let direction = ["forward", "reverse"][wire as usize % 2];
            let entity = format!("link/{}/{direction}", network.link_name(wire));
            let series = observer.samples.open(entity, "queue_packets");
            observer.queues.push((wire, series));
        }
        for place in places {
            let series = observer.samples.open(format!("splice/{}", place.result.name), "held_bytes");
            observer.splices.get_or_insert(series);
        }
        for association in associations {
            for end in ["from", "to"] {
                let entity = format!("association/{}/{end}", association.name);
                let series = observer.samples.open(entity.clone(), "cwnd_bytes");
                observer.samples.open(entity, "in_flight_bytes");
                observer.associations.get_or_insert(series);
            }
        }
        // By default about two thousand samples of each, fewer if there are many series.
        let each = observer.transfers.len() * 5 + observer.queues.len();
        let default = scenario.duration / (2_000_000 / each.max(1) as u64).clamp(10, 2000);
        let floor = Span::from_micros(1);
        observer.interval = scenario.record.sample_interval.unwrap_or(default).max(floor);
        observer
    }

    /// Returns true if anything is sampled at intervals.
    pub fn has_clock(&self) -> bool {
        !self.transfers.is_empty() || !self.queues.is_empty()
    }

    /// Adds a sample to a flow's own series.
    pub fn add(&mut self, series: usize, at: Time, value: f64) {
        self.samples.add(series, at, value);
    }

    /// Interval between samples.
    pub fn interval(&self) -> Span {
        self.interval
    }

    /// Stops sampling, except for values that flows add themselves.
    pub fn close(&mut self) {
        *self =
            Self { samples: std::mem::take(&mut self.samples), interval: self.interval, ..Self::default() };
    }

    /// Samples windows, queues and splices. Returns the time of the next samples.
    // Not inlined: samples are rare beside packets, whose loop must stay small.
    #[inline(never)]
    pub fn look(
        &mut self,
        now: Time,
        flows: &[FlowState],
        network: &mut Network,
        places: &[SpliceCounts],
        associations: &[AssociationState],
    ) -> Time {
        for &(flow, series) in &self.transfers {
            let App::Stream(stream) = &flows[flow as usize].app else { continue };
            // Parallel connections are one transfer, whose window is the sum of theirs.
            let (mut open, mut sums, mut ssthresh) = (0, [0; 4], Some(0));
            for conversation in stream.conversations.all() {
                let [sender, receiver] = &conversation.ends;
                let now = [sender.cwnd(), sender.in_flight(), sender.acknowledged(), receiver.delivered()];
                sums.iter_mut().zip(now).for_each(|(sum, value)| *sum += value);
                ssthresh = ssthresh.zip(sender.ssthresh()).map(|(sum, one)| sum + one);
                open += 1;
            }
            if open == 0 {
                continue;
            }
            // The window of a stream is that of its association.
            if flows[flow as usize].association.is_none() {
                self.samples.add(series, now, sums[0] as f64);
            }
            if let Some(ssthresh) = ssthresh {
                self.samples.add(series + 1, now, ssthresh as f64);
            }
            for (offset, sum) in sums[1..].iter().enumerate() {
                self.samples.add(series + 2 + offset, now, *sum as f64);
            }
        }
        for &(wire, series) in &self.queues {
            let waiting = network.waiting(wire, now);
            self.samples.add(series, now, waiting as f64);
        }
        if let Some(first) = self.splices {
            for (index, place) in places.iter().enumerate() {
                self.samples.add(first + index, now, place.held as f64);
            }
        }
        if let Some(first) = self.associations {
            let values =
                associations.iter().flat_map(|association| association.windows().into_iter().flatten());
            for (offset, value) in values.enumerate() {
                self.samples.add(first + offset, now, value as f64);
            }
        }
        now + self.interval
    }

    /// Samples the paths of flows through satellites and the moving terminals, after an update of satellites.
    pub fn look_at_paths(&mut self, now: Time, flows: &[FlowState], network: &mut Network) {
        for &(flow, series) in &self.paths {
            if let Some((delay, satellites)) = network.path(flows[flow as usize].routes.start) {
                self.samples.add(series, now, delay);
                self.samples.add(series + 1, now, satellites as f64);
            }
        }
        for &(terminal, series) in &self.terminals {
            let Some(found) = network.whereabouts(terminal, now) else { continue };
            let of_terminal = [
                found.latitude_deg,
                found.longitude_deg,
                found.height_m,
                found.handovers as f64,
                found.address_changes as f64,
            ];
            let of_satellite = found.held.map(|held| {
                let (below_lat, below_lon) = (held.latitude_deg, held.longitude_deg);
                [f64::from(held.satellite), below_lat, below_lon, held.elevation_deg, held.one_way_delay_s]
            });
            let values = of_terminal.into_iter().chain(of_satellite.into_iter().flatten());
            values.enumerate().for_each(|(offset, value)| self.samples.add(series + offset, now, value));
        }
    }

    /// All series, at the end of the run.
    pub fn finish(mut self, flows: &[FlowState]) -> Vec<Series> {
        if self.completions {
            self.list_completions(flows);
        }
        self.samples.take()
    }

    /// A row for each page and each short transfer, at the instant of its start.
    fn list_completions(&mut self, flows: &[FlowState]) {
        for flow in flows.iter().filter(|flow| flow.sampled) {
            let App::Stream(stream) = &flow.app else { continue };
            let Some(completions) = stream.application.completions() else { continue };
            let entity = format!("flow/{}", flow.name);
            let times = self.samples.open(entity.clone(), "completion_s");
            let bytes = self.samples.open(entity.clone(), "completion_bytes");
            let files = self.samples.open(entity, "completion_files");
            for one in &completions.all {
                self.samples.add(times, one.started, one.took.as_secs_f64());
                self.samples.add(bytes, one.started, one.bytes as f64);
                self.samples.add(files, one.started, f64::from(one.files));
            }
        }
    }
}
