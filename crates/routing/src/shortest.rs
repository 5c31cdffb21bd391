//! Least-delay and minimum-hop routing in which every satellite knows the whole network.
//!
//! Follows HT 6.3: the two global shortest paths that distributed routing is measured against.
//! Differs: the knowledge has its cost; link states go to every satellite, as in an ordinary link-state protocol.
//! Left out: routing while announcements are under way.

use std::collections::BTreeMap;

use skyhop_topology::NodeId;

use crate::graph::Tree;
use crate::router::{Hop, PathMetric};
use crate::scheme::{LinkCause, PacketHeader, RoutingScheme, Scope, Stranded};
use crate::view::View;

/// Shortest paths by one metric.
#[derive(Debug, Clone)]
pub struct Shortest {
    metric: PathMetric,
    trees: BTreeMap<NodeId, Tree>,
}

impl Shortest {
    /// Routing by `metric` at every satellite.
    pub fn new(metric: PathMetric) -> Self {
        Self { metric, trees: BTreeMap::new() }
    }

    /// Cost of the path from one satellite to another, in metres or hops; infinite if there is none.
    pub fn cost(&mut self, view: &View<'_>, from: NodeId, to: NodeId) -> f64 {
        self.tree(view, to).cost(from)
    }

    fn tree(&mut self, view: &View<'_>, to: NodeId) -> &Tree {
        let metric = self.metric;
        self.trees.entry(to).or_insert_with(|| {
            view.published().tree(to, |edge| {
                let usable = view.topology().is_satellite(edge.to) && !view.failures().contains(edge.link);
                usable.then_some(match metric {
                    PathMetric::Delay => edge.length_m,
                    PathMetric::Hops => 1.0,
                })
            })
        })
    }
}

impl RoutingScheme for Shortest {
    fn name(&self) -> &str {
        match self.metric {
            PathMetric::Delay => "least delay",
            PathMetric::Hops => "fewest hops",
        }
    }

    fn refresh(&mut self, _view: &View<'_>) {
        self.trees.clear();
    }

    fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut PacketHeader) -> Result<Hop, Stranded> {
        let egress = view.serving(packet.to).ok_or(Stranded::NoPath)?;
        self.tree(view, egress).next_hop(at).ok_or(Stranded::NoPath)
    }

    /// A record for each satellite, and the position of each terminal.
    fn state(&self, view: &View<'_>, _satellite: NodeId) -> usize {
        view.topology().nodes()
    }

    fn announces(&self, _view: &View<'_>, _origin: NodeId, _change: LinkCause) -> Option<Scope> {
        Some(Scope::Everywhere)
    }
}
