//! Two ends of an association, a channel between them, and applications that know the data written.
//!
//! `plan` has the case, `net` executes it and checks every guarantee of docs/stp.md §15; `pair` has cases written by hand.
//! Differs from `stp_pair`: streams, datagrams, classes and resets instead of one stream in each direction.
//! Leaves out rates: the channel has none.
#![allow(dead_code)]

pub mod net;
pub mod pair;
pub mod plan;
