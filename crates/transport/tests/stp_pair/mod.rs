//! Two machines of STP, a channel between them, and an observer of both.
//!
//! `plan` has the case, `net` executes it, `observer` checks each packet against docs/stp.md.
//! Differs from `common`: the channel has no rate, and the payload is bytes.
//! Leaves out a lying peer, which has its own test.
#![allow(dead_code)]

pub mod net;
pub mod observer;
pub mod plan;
