//! How packets find their way.
//!
//! Follows HT 6.3: shortest paths over the links that are up, by delay or by hops.
//! Differs: routes are computed per destination when first asked for, not for all pairs at each change.
//! Left out: multipath, distributed geographic routing, and routers that know the network late (HT 6.5, 6.6).

pub mod aggregation;
pub mod cells;
mod packing;
pub mod router;
pub mod walk;

pub use router::{Hop, Metric, Router};
pub use walk::{Walk, one_way_delay_path};
