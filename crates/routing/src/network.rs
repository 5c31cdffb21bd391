//! A network that advances in time: links are updated at intervals, routes are computed when a packet needs them.
//!
//! Follows HT 6.2: links and handovers at fixed intervals from t = 0, paths and delays at the instant of sending.
//! Differs from a walk that routes at every node: the path is chosen once, which changes a delay by microseconds at most.
//! Leaves out queues and transmission, which are the simulator's.

use skyhop_topology::{NodeId, Topology};

use crate::router::{PathMetric, Router};
use crate::walk::Walk;

/// A topology with its routes, updated as packets are sent.
#[derive(Debug, Clone)]
pub struct RoutedTopology {
    topology: Topology,
    router: Router,
    next_update_s: f64,
}

/// Number of nodes from which a search for one pair is cheaper than one for all nodes.
const LARGE: usize = 200;

impl RoutedTopology {
    /// The network at t = 0.
    pub fn new(topology: Topology, metric: PathMetric) -> Self {
        let mut network = Self { topology, router: Router::new(metric), next_update_s: 0.0 };
        network.advance(0.0);
        network
    }

    /// The network at `t_s` as if it began there: no handovers precede it.
    pub fn at(mut topology: Topology, metric: PathMetric, t_s: f64) -> Self {
        let next_update_s = t_s + topology.rules().update_interval_s;
        topology.update(t_s);
        Self { topology, router: Router::new(metric), next_update_s }
    }

    /// The same metric over another state of the links, without routes.
    pub fn with_topology(&self, topology: Topology) -> Self {
        self.with_metric(topology, self.router.metric())
    }

    /// Another state of the links, routed by another metric.
    pub fn with_metric(&self, topology: Topology, metric: PathMetric) -> Self {
        Self { topology, router: Router::new(metric), next_update_s: self.next_update_s }
    }

    /// The links as of the last update.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Updates links and handovers up to `t_s`. Returns, for each terminal, true if it held a satellite at some update.
    pub fn advance(&mut self, t_s: f64) -> Vec<bool> {
        let mut served = vec![false; self.topology.terminals().len()];
        while self.next_update_s <= t_s {
            self.settle(self.next_update_s);
            self.topology.update(self.next_update_s);
            for (terminal, served) in served.iter_mut().enumerate() {
                *served |= self.serves(terminal);
            }
            self.next_update_s += self.topology.rules().update_interval_s;
        }
        self.settle(t_s);
        served
    }

    /// Handles the events between updates: ends of acquisitions, and asynchronous checks.
    fn settle(&mut self, t_s: f64) {
        while let Some(event_s) = self.topology.next_event_s().filter(|event_s| *event_s <= t_s) {
            self.topology.settle(event_s);
        }
    }

    /// Returns true if a terminal holds a satellite.
    pub fn serves(&self, terminal: usize) -> bool {
        self.topology.gsls(terminal).any(|link| self.topology.link(link).is_some_and(|link| link.up))
    }

    /// Updates the links outside the interval, for example after failures have changed.
    pub fn update(&mut self, t_s: f64) {
        self.topology.update(t_s);
    }

    /// Takes the distances at `t_s` for routing.
    pub fn route(&mut self, t_s: f64) {
        self.router.refresh(&self.topology, t_s);
    }

    /// The path and delay of a packet sent at `t_s`, for which [`Self::route`] was called; `None` if there is no path.
    pub fn walk(&mut self, from: NodeId, to: NodeId, t_s: f64) -> Option<Walk> {
        let goal_directed = self.topology.nodes() >= LARGE && self.router.metric() == PathMetric::Delay;
        let nodes =
            if goal_directed { self.router.path_between(from, to)? } else { self.router.path(from, to)? };
        let delay_s = self.delay_along(&nodes, t_s)?;
        Some(Walk { delay_s, nodes })
    }

    /// Delay of a packet sent at `t_s` along `nodes`, s; `None` if two successive ones have no link.
    pub fn delay_along(&self, nodes: &[NodeId], t_s: f64) -> Option<f64> {
        let mut delay_s = 0.0;
        for hop in nodes.windows(2) {
            delay_s += self.topology.one_way_delay_s(hop[0], hop[1], t_s + delay_s)?;
        }
        Some(delay_s)
    }

    /// Number of satellites on a path.
    pub fn satellites(&self, walk: &Walk) -> usize {
        walk.nodes.iter().filter(|node| self.topology.is_satellite(**node)).count()
    }

    /// The names of the relays of a path, gateways in brackets, joined by a sign that no name contains.
    pub fn path_text(&self, walk: &Walk) -> String {
        let relays = walk.nodes.get(1..walk.nodes.len() - 1).unwrap_or_default();
        let name = |&node: &NodeId| match self.topology.is_satellite(node) {
            true => self.topology.node_name(node),
            false => format!("[{}]", self.topology.node_name(node)),
        };
        let names: Vec<String> = relays.iter().map(name).collect();
        names.join(if names.iter().any(|name| name.contains('-')) { ">" } else { "-" })
    }

    /// Sends packets between each of `pairs` at `start_s` and every `step_s`, before `start_s + duration_s`. Passes the instant,
    /// the pair's index and the path to `each`, which stops the series by returning `false`.
    pub fn series(
        &mut self,
        pairs: &[[NodeId; 2]],
        (start_s, duration_s, step_s): (f64, f64, f64),
        mut each: impl FnMut(&mut Self, f64, usize, Option<Walk>) -> bool,
    ) {
        let count = ((duration_s / step_s - 1e-9).ceil().max(1.0)) as u64;
        for k in 0..count {
            let t_s = start_s + k as f64 * step_s;
            self.advance(t_s);
            self.route(t_s);
            for (index, &[from, to]) in pairs.iter().enumerate() {
                let walk = self.walk(from, to, t_s);
                if !each(self, t_s, index, walk) {
                    return;
                }
            }
        }
    }
}
