//! How packets find their way.
//!
//! Follows HT 6.3: shortest paths over the links that are up, by delay or by hops.
//! Differs: routes are computed per destination when first asked for, not for all pairs at each change.
//! Left out: multipath, distributed geographic routing, and routers that know the network late (HT 6.5, 6.6).

pub mod cells;
pub mod flooding;
pub mod geographic;
pub mod graph;
pub mod hybrid;
pub mod router;
pub mod scheme;
pub mod shortest;
pub mod survey;
pub mod view;
pub mod walk;

pub use geographic::Geographic;
pub use hybrid::Hybrid;
pub use router::{Hop, Metric, Router};
pub use scheme::{Packet, Scheme, Stranded, Trip, send};
pub use shortest::Shortest;
pub use view::{Failures, View};
pub use walk::{Walk, one_way_delay_path};
