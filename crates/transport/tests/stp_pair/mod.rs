//! Two machines of STP, a channel between them, and somebody who watches both.
//!
//! `plan` says what happens, `net` does it, `observer` holds each packet against docs/stp.md.
//! Differs from `common`: the channel has no rate, and the payload is bytes.
//! Leaves out the peer that lies, which has a test of its own.
#![allow(dead_code)]

pub mod net;
pub mod observer;
pub mod plan;
