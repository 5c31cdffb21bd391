//! Two ends of an association, a channel between them, and applications that know what they wrote.
//!
//! `plan` says what happens, `net` does it and holds every promise of docs/stp.md §15 on the way.
//! Differs from `stp_pair`: streams, datagrams, classes and resets in place of one stream each way.
//! Leaves out rates: the channel has none.
#![allow(dead_code)]

pub mod net;
pub mod plan;
