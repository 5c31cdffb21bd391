//! The same transfers and requests simulated, and emulated with the kernel's TCP and with STP: is the simulation to be believed?
//!
//! A map of the code: [`contender`] is a transport in both worlds, [`simulated`] and [`emulated`] measure it in each, [`carrier`]
//! carries out over [`socket`]s what the simulator's own applications ask for, [`measured`] is a measurement, and [`verdict`] what
//! two of them come to. Differs from a benchmark: both sides have the same scenario, the same losses by packet number, and the same
//! sizes drawn. Leaves out how differences are explained, which takes a capture of both.

#![cfg(target_os = "linux")]

pub mod carrier;
pub mod contender;
pub mod emulated;
pub mod measured;
pub mod simulated;
pub mod socket;
pub mod verdict;
