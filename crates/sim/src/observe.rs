//! What a run shows: samples on the way, totals at the end.
//!
//! Follows the scenario's `record` table; metrics are named in [`skyhop_results`].
//! Differs from a log: values at instants, and counters when all is over.
//! Leaves out files, which the `record` crate writes.

use crate::flow::App;
use crate::simulation::Simulation;
use skyhop_results::RunResult;
use skyhop_scenario::Scenario;
use skyhop_units::Span;

impl Simulation {
    /// Ends the run and returns what it found.
    pub fn finish(mut self) -> RunResult {
        let end = if self.unfinished.none() { self.now } else { self.end };
        for flow in &self.flows {
            if let App::Stream(stream) = &flow.app
                && stream.broken()
            {
                self.warnings.push(format!("flow {} was reset by its peer", flow.name));
            }
        }
        self.warnings.extend(self.network.warnings(self.now));
        let flows = self.flow_results(end);
        if self.sampled.completions {
            self.list_completions();
        }
        RunResult {
            scenario: self.name,
            seed: self.seed,
            simulated_s: end.as_secs_f64(),
            events: self.events,
            packet_hops: self.network.packet_hops(),
            flows,
            links: self.network.link_results(end),
            handovers: self.network.handover_results(),
            failures: self.network.failure_results(end),
            routing: self.network.routing_result(),
            splices: self.places.into_iter().map(|place| place.result).collect(),
            series: self.samples.take(),
            warnings: self.warnings,
        }
    }

    /// A row for each page and each short transfer, at the instant of its beginning.
    fn list_completions(&mut self) {
        for flow in &self.flows {
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

    pub(crate) fn open_series(&mut self, scenario: &Scenario) {
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let entity = format!("flow/{}", flow.name);
            if flow.through_space {
                let first = self.samples.open(entity.clone(), "path_delay_s");
                self.samples.open(entity.clone(), "path_satellites");
                self.sampled.paths.push((index as u32, first));
            }
            match &mut flow.app {
                App::Ping(ping) => ping.series = self.samples.open(entity, "delay_s"),
                App::Datagrams(sending) => sending.series = self.samples.open(entity, "delay_s"),
                App::Stream(stream) if stream.keeps() => {
                    let metrics =
                        ["cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "acked_bytes", "delivered_bytes"];
                    let all = metrics.map(|metric| self.samples.open(entity.clone(), metric));
                    self.sampled.transfers.push((index as u32, all[0]));
                }
                App::Stream(_) => {}
            }
        }
        for wire in 0..self.network.fixed_wires() {
            let direction = ["forward", "reverse"][wire as usize % 2];
            let entity = format!("link/{}/{direction}", self.network.link_name(wire));
            let series = self.samples.open(entity, "queue_packets");
            self.sampled.queues.push((wire, series));
        }
        self.sampled.completions = true;
        for place in &self.places {
            let series = self.samples.open(format!("splice/{}", place.result.name), "held_bytes");
            self.sampled.splices.get_or_insert(series);
        }
        // By default two thousand samples of each, fewer where there are many to take.
        let each = self.sampled.transfers.len() * 5 + self.sampled.queues.len();
        let default = scenario.duration / (2_000_000 / each.max(1) as u64).clamp(10, 2000);
        let floor = Span::from_micros(1);
        self.sample_interval = scenario.record.sample_interval.unwrap_or(default).max(floor);
    }

    pub(crate) fn handle_samples(&mut self) {
        let now = self.now;
        for &(flow, series) in &self.sampled.transfers {
            let App::Stream(stream) = &self.flows[flow as usize].app else { continue };
            // Connections side by side are one transfer; their windows together are its window.
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
            self.samples.add(series, now, sums[0] as f64);
            if let Some(ssthresh) = ssthresh {
                self.samples.add(series + 1, now, ssthresh as f64);
            }
            for (offset, sum) in sums[1..].iter().enumerate() {
                self.samples.add(series + 2 + offset, now, *sum as f64);
            }
        }
        for &(wire, series) in &self.sampled.queues {
            let waiting = self.network.waiting(wire, now);
            self.samples.add(series, now, waiting as f64);
        }
        if let Some(first) = self.sampled.splices {
            for (index, place) in self.places.iter().enumerate() {
                self.samples.add(first + index, now, place.held as f64);
            }
        }
        self.agenda.wake(self.sample_slot(), now + self.sample_interval);
    }

    /// Satellites have been looked at: the paths of flows through them.
    pub(crate) fn sample_paths(&mut self) {
        for &(flow, series) in &self.sampled.paths {
            if let Some((delay, satellites)) = self.network.path(self.flows[flow as usize].routes.start) {
                self.samples.add(series, self.now, delay);
                self.samples.add(series + 1, self.now, satellites as f64);
            }
        }
    }
}
