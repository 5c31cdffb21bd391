//! Finding losses and repairing them, apart from what they mean for the window.
//!
//! Follows two schools: counting duplicates (Tahoe to HK's SACK rules) and knowing what is in flight (RFC 6675, FACK, RACK).
//! Differs from a kernel: all of them stand side by side, one chosen for a connection when it is made.
//! Leaves out how the window grows, which is `congestion`'s.

pub(crate) mod counting;
pub(crate) mod pipe;
pub(crate) mod prr;
pub(crate) mod rack;
pub(crate) mod undo;
mod vegas;
