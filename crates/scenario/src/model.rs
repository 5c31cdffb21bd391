//! The scenario as types: the keys of the file, with the defaults of optional ones.
//!
//! Follows the terms of the field; Rust field, TOML key, Python keyword and column have the same spelling.
//! Differs from a settings file: every dimensioned value is a string with a unit, and unknown keys are errors.
//! Leaves out checks across keys (that a link exists, that a start is before an end), which are in [`crate::check`].

mod distributions;
mod flows;
mod hosts;
mod links;
mod many;
mod named;
mod radio;
mod space;
mod splices;
mod stp;
mod sweep;
mod tcp;
mod track;
mod uplinks;

pub use distributions::*;
pub use flows::*;
pub use hosts::*;
pub use links::*;
pub use many::*;
pub use radio::*;
pub use space::*;
pub use splices::*;
pub use stp::*;
pub use sweep::*;
pub use tcp::*;
pub use track::*;
pub use uplinks::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::Span;
use std::collections::BTreeMap;

/// A scenario: a network, its traffic, and the duration of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the results; the file's name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A sentence for the reader of the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Simulated time. A run ends earlier when every flow has completed.
    pub duration: Span,
    /// Seed of all random streams.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Host type of flows and splices whose transport names none.
    #[serde(default)]
    pub host: Host,
    /// IP version of flows that name none.
    #[serde(default, skip_serializing_if = "Ip::is_v4")]
    pub ip: Ip,
    /// Links by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, Link>,
    /// Uplinks by name, which terminals share by time and frequency.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uplinks: BTreeMap<String, Uplink>,
    /// Satellites and the links between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constellation: Option<Constellation>,
    /// Several constellations by name, in place of the one of `constellation`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constellations: BTreeMap<String, Constellation>,
    /// Terminals on the ground by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub terminals: BTreeMap<String, Terminal>,
    /// Populations of terminals by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub populations: BTreeMap<String, Population>,
    /// Nodes that have more than a name, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, Node>,
    /// Routing of packets through the constellation.
    #[serde(default)]
    pub routing: Routing,
    /// Failures in the constellation, with their times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Random failures, drawn from the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_failures: Option<RandomFailures>,
    /// Flows: the traffic between pairs of hosts.
    pub flows: Vec<Flow>,
    /// Flows that the file defines together; filled in when the file is read.
    #[serde(skip)]
    pub members: Vec<Members>,
    /// Splices by name: gateways that split the connections which cross them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub splices: BTreeMap<String, Splice>,
    /// Output besides the summary.
    #[serde(default)]
    pub record: Record,
    /// Values that `skyhop sweep` varies; ignored in a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

fn default_seed() -> u64 {
    1
}

/// A node at the end of flows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Node {
    /// Device of the emulating machine behind which this node is, such as "eth1". Ignored in a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Output besides the summary.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Interval at which windows and queues are sampled; chosen for about two thousand samples of each if left out. Path delays are
    /// sampled at each `update_interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_interval: Option<Span>,
    /// Names of links whose packets are written to `packets.pcapng`, with one interface per link and direction; "*" is all of them.
    pub pcap: Vec<String>,
    /// True to list each member of a population of flows in the summary and the samples too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub members: bool,
}
