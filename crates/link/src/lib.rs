//! One direction of a link: a queue, serialisation, propagation and losses.
//!
//! Follows the store-and-forward link of ns-2's manual: serialisation 8 * size / rate, then propagation.
//! Differs: the transmitter's state is computed when it is read, so a busy link needs one timer and not one per packet.
//! Leaves out framing and coding. A link may take turns on a shared transmitter, or send in slots that are assigned on demand
//! ([`demand`]).
//!
//! A link is a machine without a clock: it is handed `now` and a packet, and drained of arrivals.
//!
//! ```
//! use skyhop_link::{Fixed, Label, Limit, Link, Loss};
//! use skyhop_units::{Rate, Span, Time};
//! let mut link: Link<&str> = Link::new(Rate::mbit(1), Limit::packets(50), Loss::None, None);
//! let medium = Fixed(Span::from_millis(270));
//! link.handle_packet(Time::ZERO, "hello", 1250, Label::default(), &medium).unwrap();
//! let at = link.poll_timeout().unwrap();
//! assert_eq!(at, Time::ZERO + Span::from_millis(280));
//! assert_eq!(link.poll_arrival(at, &medium).unwrap().packet, "hello");
//! ```

mod buffer;
mod bursts;
pub mod demand;
mod distribution;
mod errors;
mod extras;
mod faults;
mod flying;
mod lateness;
mod link;
mod loss;
mod medium;
mod queue;
mod reports;
mod timeline;
mod transmitter;

pub use bursts::SlotShape;
pub use distribution::Shape;
pub use faults::{Corruption, Duplication, FlippedBit};
pub use flying::Arrival;
pub use lateness::{Jitter, Reordering};
pub use link::{Dropped, Link, Stats};
pub use loss::{Change, Loss};
pub use medium::{Fixed, Medium};
pub use queue::*;
pub use reports::Sent;
pub use timeline::{Outage, Step, Timeline};
