//! Transport endpoints: machines that are handed `now`, packets and the application's calls, and drained of output.
//!
//! Follows the sans-IO contract of quinn and str0m: one input, then drain `poll_transmit` and `poll_event`, then wait until
//! `poll_timeout`.
//! Differs: TCP's payloads are lengths, so a terabyte of data costs nothing to send; STP's are lengths or real bytes.
//! Leaves out sockets, clocks and entropy, which belong to the driver of an endpoint.

mod limits;
pub mod stp;
pub mod tcp;

pub use limits::{Cause, Limits};
