//! Routing of packets through a satellite network.
//!
//! Follows HT 6.3: shortest paths over the links that are up, by delay or by hops.
//! Differs: routes are computed per destination when first asked for, not for all pairs at each change.
//! Beyond it: schemes whose satellites know less ([`scheme`], HT 6.5), and the cost of knowledge ([`flooding`]).

pub mod aggregation;
pub mod cells;
pub mod central;
pub mod centralised;
mod cover;
pub mod flooding;
pub mod forwarding;
pub mod geographic;
pub mod graph;
pub mod hybrid;
pub mod hypatia;
pub mod minimise;
pub mod multipath;
pub mod network;
mod packing;
pub mod paths;
mod prime;
mod reached;
pub mod router;
pub mod scheme;
pub mod selection;
pub mod shortest;
pub mod snapshot;
pub mod survey;
pub mod tables;
pub mod view;
pub mod walk;

pub use centralised::{Centralised, TableUploads};
pub use geographic::Geographic;
pub use hybrid::Hybrid;
pub use multipath::Multipath;
pub use network::RoutedTopology;
pub use router::{Hop, PathMetric, Router};
pub use scheme::{PacketHeader, RoutingScheme, Stranded, Trip, send};
pub use selection::Selection;
pub use shortest::Shortest;
pub use snapshot::Snapshot;
pub use view::{Failures, View};
pub use walk::{Walk, one_way_delay_path};
