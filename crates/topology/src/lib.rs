//! The links of a satellite network as functions of time.
//!
//! Follows HT 2.2.1 and 6.2 for inter-satellite links, handovers and their thresholds, with ns-2's exact rules.
//! Differs: link numbers are permanent, and an update returns the changes in place of rebuilding the network.
//! Left out: antenna beams and patterns.

mod acquisition;
mod antennas;
mod checks;
pub mod defaults;
pub mod failures;
pub mod fleet;
mod geometry;
mod ground;
pub mod gsl;
pub mod isl;
pub mod link;
pub mod reliability;
pub mod rules;
mod shells;
pub mod station;
pub mod topology;

pub use defaults::Defaults;
pub use failures::{Failing, Outage};
pub use fleet::{Fleet, Fleets};
pub use ground::GroundLink;
pub use gsl::{HandoverPolicy, VisibleSatellite};
pub use isl::LinkRule;
pub use link::{LinkChange, LinkId, LinkKind, LinkState, NodeId};
pub use reliability::{Reliability, failed_share};
pub use rules::{CrossSeam, Handover, Rules, RulesError};
pub use station::{Fibre, Station};
pub use topology::{Topology, TopologyError};
