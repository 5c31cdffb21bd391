//! Loss detection and repair.
//!
//! Follows two methods: counting duplicates (from Tahoe to HK's SACK rules), and tracking segments in flight (RFC 6675, FACK,
//! RACK).
//! Differs from a kernel: all of them coexist, and each connection uses one.
//! Leaves out the growth of the window (`congestion`).

pub(crate) mod counting;
pub(crate) mod pipe;
pub(crate) mod prr;
pub(crate) mod rack;
pub(crate) mod undo;
pub(crate) mod vegas;
