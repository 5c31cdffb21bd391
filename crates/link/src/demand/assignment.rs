//! Requests of terminals and the slots assigned to them: the messages between requester and controller.
//!
//! Follows EN 301 545-2 for the categories.
//! Leaves out their encoding.

/// A request for capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A rate, bit/s, until another request or the end of its persistence.
    Rate(u64),
    /// A number of additional slots.
    Volume(u64),
}

/// Slots of a terminal in a frame, by category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assigned {
    /// Constant assignment.
    pub constant: u32,
    /// Slots for the requested rate.
    pub rate_based: u32,
    /// Slots for the requested volume.
    pub volume_based: u32,
    /// Free capacity.
    pub free: u32,
}

impl Assigned {
    /// Slots of all categories.
    pub fn all(&self) -> u32 {
        self.constant + self.rate_based + self.volume_based + self.free
    }
}
