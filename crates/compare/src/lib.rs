//! Compares simulated transfers and requests with the same ones emulated, over the kernel's TCP and over STP.
//!
//! A map of the code: [`contender`] is a transport on both sides, [`simulated`] and [`emulated`] measure it, [`real_traffic`] opens a
//! flow in its hosts, [`carrier`] runs the simulator's applications over [`socket`]s, [`datagrams`] does so for flows without
//! connections, [`measured`] is a measurement, and [`verdict`] compares two of them.
//! Differs from a benchmark: both sides have the same scenario, the same losses by packet number, and the same random sizes.
//! Leaves out the explanation of differences, which needs captures of both.

#![cfg(target_os = "linux")]

pub mod carrier;
pub mod contender;
pub mod datagrams;
pub mod emulated;
pub mod measured;
pub mod real_traffic;
pub mod simulated;
pub mod socket;
pub mod verdict;
