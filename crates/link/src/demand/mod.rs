//! Bandwidth on demand: an uplink that terminals share by time and frequency, and whose slots a controller assigns.
//!
//! Follows ETSI EN 301 545-2 (DVB-RCS2) for the frame, the categories of capacity and their order; the requests are those of OpenSAND
//! and of SNS3.
//! Differs: a frame is one superframe of slots of one size, which begins at the same time for all terminals.
//! Leaves out the capacity that requests take, random access, log-on, and changes of modulation.
//!
//! Both ends are machines without a clock: a [`Requester`] at each terminal requests capacity, a [`Controller`] plans the frames, and
//! [`layout`] gives each terminal its place in a frame.

mod assignment;
mod controller;
mod layout;
mod requester;

pub use assignment::{Assigned, Request};
pub use controller::Controller;
pub use layout::{Window, layout};
pub use requester::Requester;

use skyhop_units::{Bytes, Rate, Span};

/// Nanoseconds in a second: the divisor of rates times spans.
const SECOND: u128 = 1_000_000_000;

/// The frame of an uplink: parallel carriers, each with consecutive slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameShape {
    /// Duration of a frame.
    pub frame: Span,
    /// Payload of a slot, bytes.
    pub slot: u32,
    /// Number of carriers; a terminal sends on one at a time.
    pub carriers: u32,
    /// Number of slots of each carrier.
    pub slots: u32,
    /// Duration of a slot.
    pub slot_time: Span,
}

impl FrameShape {
    /// The frame of carriers that have `rate` together; `None` if a carrier has no room for a slot, or for more than a million.
    /// The rest of the frame after whole slots is spread between them.
    pub fn new(rate: Rate, carriers: u32, frame: Span, slot: u32) -> Option<Self> {
        let bits = u128::from(rate.as_bps()) * u128::from(frame.as_nanos()) / u128::from(carriers.max(1));
        let slots = bits / (u128::from(slot) * 8 * SECOND).max(1);
        let slots = u32::try_from(slots).ok().filter(|slots| (1..=1_000_000).contains(slots))?;
        let slot_time = Span::from_nanos(frame.as_nanos() / u64::from(slots));
        Some(Self { frame, slot, carriers: carriers.max(1), slots, slot_time })
    }

    /// Number of slots of all carriers.
    pub fn all_slots(&self) -> u32 {
        self.carriers * self.slots
    }

    /// Bits that all slots carry in a second.
    pub fn capacity_bps(&self) -> f64 {
        f64::from(self.all_slots()) * f64::from(self.slot) * 8.0 / self.frame.as_secs_f64()
    }

    /// Number of slots for `bytes`.
    pub fn slots_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.slot))
    }
}

/// The largest capacity of a terminal, by category; a category that is left out has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Categories {
    /// Limit of all categories together: the rate of the terminal.
    pub most: Rate,
    /// Constant assignment (CRA), whether it is used or not.
    pub constant: Option<Rate>,
    /// Limit of capacity by requested rate (RBDC).
    pub rate_based: Option<Rate>,
    /// Limit of the volume requested and not yet assigned (VBDC).
    pub volume_based: Option<Bytes>,
    /// Limit of free capacity, which is assigned without a request (FCA).
    pub free: Option<Rate>,
}

/// The program whose algorithm for requests an uplink uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Law {
    /// OpenSAND's "legacy" agent: the rate of arrivals, plus the waiting bytes over the time from a request to its slots.
    #[default]
    OpenSand,
    /// SNS3's request manager: the rate of arrivals, plus the earlier waiting bytes over the time between requests.
    Sns3,
}

/// Converts a rate to whole slots in each frame; the remaining fraction is carried over to the next frame.
#[derive(Debug, Clone, Copy, Default)]
struct Fraction(u128);

impl Fraction {
    /// Slots of the next frame at `bps`.
    fn next(&mut self, bps: u64, shape: &FrameShape) -> u32 {
        let slot = u128::from(shape.slot) * 8 * SECOND;
        self.0 += u128::from(bps) * u128::from(shape.frame.as_nanos());
        let slots = self.0 / slot;
        self.0 %= slot;
        u32::try_from(slots).unwrap_or(u32::MAX)
    }
}
