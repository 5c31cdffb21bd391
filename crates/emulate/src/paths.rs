//! The paths of programs over a run as traces of a link, which others can replay.
//!
//! Follows the form of `skyhop trace`: a row holds until the next. Differs from the path: one link for all of it, looked at once a
//! second. Leaves out queues and random losses, and paths over a mesh, whose links are chosen anew for each packet.

use skyhop_sim::{PathNow, Simulation};
use skyhop_trace::{Losses, Sample, Trace, table};
use skyhop_units::{Span, Time};

/// Time between two looks.
const LOOK: Span = Span::from_secs(1);
/// Unit of a delay, us: what changes by less is not a change.
const UNIT_NS: u64 = 1000;

/// Traces of flows in both directions.
#[derive(Debug, Clone, Default)]
pub struct PathTraces {
    /// Index of each flow, and its traces; `None` over a mesh.
    flows: Vec<(u32, [Option<Trace>; 2])>,
    next: Time,
}

impl PathTraces {
    /// Empty traces of flows, by index.
    pub fn new(flows: impl Iterator<Item = u32>) -> Self {
        Self {
            flows: flows
                .map(|flow| (flow, [const { Some(Trace { samples: Vec::new(), length: None }) }; 2]))
                .collect(),
            next: Time::ZERO,
        }
    }

    /// Looks at paths if it is time, or `now`.
    pub fn look(&mut self, simulation: &mut Simulation, changed: bool) {
        let now = simulation.now();
        if now < self.next && !changed {
            return;
        }
        self.next = now + LOOK;
        for (flow, ways) in &mut self.flows {
            for (backward, trace) in [false, true].into_iter().zip(ways) {
                let Some(path) = simulation.path_now(*flow as usize, backward) else {
                    *trace = None;
                    continue;
                };
                if let Some(trace) = trace {
                    // The first look is microseconds after the start.
                    let from = if trace.samples.is_empty() { Time::ZERO } else { now };
                    trace.put(sample(from, path));
                }
            }
        }
    }

    /// Name of a file and its contents, by flow and direction.
    pub fn files(&self, name: impl Fn(usize) -> String) -> Vec<(String, String)> {
        let one = |(flow, ways): &(u32, [Option<Trace>; 2])| {
            let name = name(*flow as usize);
            let file = |(suffix, trace): (&str, &Option<Trace>)| {
                let trace = trace.as_ref().filter(|trace| !trace.samples.is_empty())?;
                Some((format!("path-{name}{suffix}.csv"), table::write(trace)))
            };
            ["", "-reverse"].into_iter().zip(ways).filter_map(file).collect::<Vec<_>>()
        };
        self.flows.iter().flat_map(one).collect()
    }
}

/// A row of a trace.
fn sample(from: Time, path: PathNow) -> Sample {
    match path {
        PathNow::There { rate, delay } => {
            let delay = Span::from_nanos((delay.as_nanos() + UNIT_NS / 2) / UNIT_NS * UNIT_NS);
            Sample { from, rate_bps: Some(rate.as_bps()), delay: Some(delay), losses: None }
        }
        PathNow::Waits => Sample { from, rate_bps: Some(0), ..Sample::default() },
        PathNow::Out => Sample { from, losses: Some(Losses::Packets(1.0)), ..Sample::default() },
    }
}
