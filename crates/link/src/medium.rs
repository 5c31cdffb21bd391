//! The propagation delay of a link.
//!
//! Follows the speed of light over a distance, which changes where a satellite moves.
//! Differs from a field of the link: its caller knows the distance, and states it at each call.
//! Leaves out additional delays of packets (`lateness`), and those of a timeline.

use skyhop_units::{Span, Time};

/// The propagation delay of a link as a function of time.
pub trait Medium {
    /// One-way propagation delay of a packet whose last bit leaves at `at`.
    fn one_way_delay(&self, at: Time) -> Span;
}

/// A constant delay.
#[derive(Debug, Clone, Copy)]
pub struct Fixed(pub Span);

impl Medium for Fixed {
    fn one_way_delay(&self, _: Time) -> Span {
        self.0
    }
}
