//! Random pairs of terminals at many instants, routed by several schemes side by side.
//!
//! Follows HT 6.5.2: two random points on the globe, again and again, the same for every scheme.
//! Differs: terminals stay for a while, so that handovers leave some on a satellite that is not the highest.
//! Left out: statistics; the caller gets every sample.

use skyhop_orbit::{Constellation, Terminal};
use skyhop_topology::{NodeId, Rules, Topology, TopologyError};

use crate::router::PathMetric;
use crate::scheme::{RoutingScheme, Trip, send};
use crate::shortest::Shortest;
use crate::view::{Failures, View};

/// Parameters of a survey.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Number of pairs in total.
    pub samples: u32,
    /// Number of pairs at each topology update.
    pub per_update: u32,
    /// Probability with which each ISL has failed, drawn again at each update.
    pub failed_share: f64,
    /// Number of terminals at a time, at least two. A quarter of them move elsewhere at each update.
    pub terminals: usize,
}

impl Default for Survey {
    /// HT's ten thousand pairs, without failures.
    fn default() -> Self {
        Self { samples: 10_000, per_update: 4, failed_share: 0.0, terminals: 16 }
    }
}

/// One pair at one instant.
#[derive(Debug)]
pub struct PairSample<'a> {
    /// The network at that instant.
    pub view: &'a View<'a>,
    /// Sender and receiver.
    pub ends: (NodeId, NodeId),
    /// Distance between them along the ground, metres.
    pub separation_m: f64,
    /// Delay of the best path in seconds; `None` if there is no path.
    pub least_delay_s: Option<f64>,
    /// The trip of each scheme, in the order in which they were given.
    pub trips: &'a [Trip],
}

impl Survey {
    /// Samples pairs and passes each to `each`. `uniform` draws from [0, 1).
    pub fn run(
        &self,
        constellation: Constellation,
        rules: Rules,
        schemes: &mut [&mut dyn RoutingScheme],
        mut uniform: impl FnMut() -> f64,
        mut each: impl FnMut(&PairSample<'_>),
    ) -> Result<(), TopologyError> {
        let interval_s = rules.update_interval_s;
        let count = self.terminals.max(2);
        let terminals = (0..count).map(|index| somewhere(index, &mut uniform)).collect();
        let mut topology = Topology::new(constellation, terminals, rules)?;
        let mut best = Shortest::new(PathMetric::Delay);
        let mut left = self.samples;
        let mut t_s = 0.0;
        while left > 0 {
            topology.update(t_s);
            for _ in 0..count.div_ceil(4) {
                let index = below(count, &mut uniform);
                topology.move_terminal(index, &somewhere(index, &mut uniform), t_s)?;
            }
            let failures = Failures::drawn(&topology, self.failed_share, &mut uniform);
            let view = View::new(&topology, &failures, t_s + uniform() * interval_s);
            best.refresh(&view);
            schemes.iter_mut().for_each(|scheme| scheme.refresh(&view));
            for _ in 0..self.per_update.clamp(1, left) {
                let from = below(count, &mut uniform);
                let to = (from + 1 + below(count - 1, &mut uniform)) % count;
                let [from, to] = [from, to].map(|index| NodeId((view.satellites() + index) as u32));
                let least = send(&mut best, &view, from, to);
                let trips: Vec<Trip> =
                    schemes.iter_mut().map(|scheme| send(*scheme, &view, from, to)).collect();
                each(&PairSample {
                    view: &view,
                    ends: (from, to),
                    separation_m: separation_m(&view, from, to),
                    least_delay_s: least.delivered().then_some(least.delay_s),
                    trips: &trips,
                });
                left -= 1;
            }
            t_s += interval_s;
        }
        Ok(())
    }
}

fn separation_m(view: &View<'_>, a: NodeId, b: NodeId) -> f64 {
    let Some((a, b)) = view.position(a).zip(view.position(b)) else { return f64::NAN };
    let cos = a.0.dot(b.0) / (a.0.norm() * b.0.norm());
    cos.clamp(-1.0, 1.0).acos() * view.topology().constellation().earth().radius_m
}

fn somewhere(index: usize, uniform: &mut impl FnMut() -> f64) -> Terminal {
    let latitude_deg = (2.0 * uniform() - 1.0).asin().to_degrees();
    let longitude_deg = 360.0 * uniform() - 180.0;
    Terminal::from_degrees(format!("t{index}"), latitude_deg, longitude_deg).expect("it is on the Earth")
}

fn below(count: usize, uniform: &mut impl FnMut() -> f64) -> usize {
    ((uniform() * count as f64) as usize).min(count - 1)
}
