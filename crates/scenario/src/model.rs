//! The scenario as types: what a file may say, with the default of everything it may leave out.
//!
//! Follows the field's words; one spelling serves Rust field, TOML key, Python keyword and column.
//! Differs from a settings file: every dimensioned value is a string with a unit, and unknown keys are errors.
//! Leaves out meaning across keys (does this link exist, is that start before the end), which [`crate::check`] holds.

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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::Span;
use std::collections::BTreeMap;

/// A scenario: a network, what is sent through it, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the results are called; the file's name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A sentence for the reader of the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How long to simulate. A run ends earlier when every flow has completed.
    pub duration: Span,
    /// The seed of every random stream.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The kind of host that flows and splices have where their transport names no other.
    #[serde(default)]
    pub host: Host,
    /// Version of IP of flows that name no other.
    #[serde(default, skip_serializing_if = "Ip::is_v4")]
    pub ip: Ip,
    /// Links by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, Link>,
    /// Satellites and the links between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constellation: Option<Constellation>,
    /// Several constellations by name, in place of the one of `constellation`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constellations: BTreeMap<String, Constellation>,
    /// Places on the ground by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub terminals: BTreeMap<String, Terminal>,
    /// Many terminals of a kind, by the name of the kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub populations: BTreeMap<String, Population>,
    /// Ends of flows that are more than a name, by that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, Node>,
    /// How packets find their way through the constellation.
    #[serde(default)]
    pub routing: Routing,
    /// What of the constellation does not work, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// What fails by chance, drawn from the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_failures: Option<RandomFailures>,
    /// What is sent, from where to where.
    pub flows: Vec<Flow>,
    /// Which of the flows are one in the file; known once it is read.
    #[serde(skip)]
    pub members: Vec<Members>,
    /// Gateways that split the connections which cross them, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub splices: BTreeMap<String, Splice>,
    /// What to write besides the summary.
    #[serde(default)]
    pub record: Record,
    /// What `skyhop sweep` varies; a single run takes no notice of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

fn default_seed() -> u64 {
    1
}

/// An end of flows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Node {
    /// The device of the machine that emulates the scenario behind which this node is, such as "eth1". A simulation takes no notice of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// What to write besides the summary.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// How often windows and queues are sampled; chosen for about two thousand samples of each if left out. Path delays are sampled at each `update_interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_interval: Option<Span>,
    /// Links whose packets are written to `packets.pcapng`, one interface per link and direction, by name; "*" is all of them.
    pub pcap: Vec<String>,
    /// Each member of a population of flows by itself in the summary and among the samples too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub members: bool,
}
