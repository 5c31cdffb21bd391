//! Transport endpoints: machines that are handed `now`, packets and the application's wishes, and drained of output.
//!
//! Follows the sans-IO contract of quinn and str0m: one input, then drain `poll_transmit` and `poll_event`, then wait until `poll_timeout`.
//! Differs: TCP's payloads are lengths, so a terabyte of data costs nothing to send; STP's are lengths or real bytes.
//! Leaves out sockets, clocks and entropy; whoever drives an endpoint owns those.

mod limits;
pub mod stp;
pub mod tcp;

pub use limits::{Cause, Limits};
