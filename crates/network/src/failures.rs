//! The failures of a run in its results.
//!
//! Follows the scenario's `failures` and the random ones drawn from `random_failures`.
//! Differs from the topology's outages: names in place of numbers, and only failures that began before the end.
//! Leaves out the effect of a failure on packets.

use skyhop_results::FailureResult;
use skyhop_topology::{Failing, NodeId, Outage, Topology};

/// The failures that begin before `end_s`, in order of time.
pub(crate) fn results(outages: &[Outage], topology: &Topology, end_s: f64) -> Vec<FailureResult> {
    let result = |outage: &Outage| {
        let (kind, name) = match outage.what {
            Failing::Satellite(satellite) => ("satellite", topology.node_name(NodeId(satellite))),
            Failing::Link(link) => ("link", topology.name(link)),
            Failing::Station(station) => ("station", topology.terminals()[station as usize].name.clone()),
        };
        let until_s = Some(outage.to_s).filter(|to_s| to_s.is_finite());
        FailureResult { kind, name, from_s: outage.from_s.max(0.0), until_s }
    };
    let mut all: Vec<FailureResult> = outages.iter().filter(|o| o.from_s < end_s).map(result).collect();
    all.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    all
}
