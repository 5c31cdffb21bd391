//! Real programs behind the paths of a scenario: the simulator's network, driven by the clock.
//!
//! A map of the code: [`plan`] selects the flows of programs and their hosts; [`namespace`], [`netlink`] and [`tun`] create a host
//! in the kernel, [`device`] and [`rules`] make one of a device of this machine, [`inside`] starts a program in it, and [`serve`]
//! has default servers; [`offload`] splits and joins frames, [`bursts`] stores them, [`port`] reads and writes them, [`beside`] has
//! [`simulated`] ends of flows whose other end is a program, and [`routes`] the destinations of packets; [`driver`] steps the
//! network by the clock, paced by [`pace`], and [`ahead`] computes satellites ahead of time; [`lateness`] and [`verdict`] measure
//! and judge lateness, [`profile`] has scenarios without a file, [`control`] serves requests while it runs, [`session`] leads from
//! a scenario to its outcome, [`attend`] watches over programs, with the help of [`signals`], and `report` makes the summary.
//! Differs from the simulator: packets of programs enter and leave at ports, and lateness is a result.
//! Leaves out hosts on other machines, except those behind a device.

#![cfg(target_os = "linux")]

mod about;
pub mod ahead;
mod answers;
pub mod attend;
pub mod beside;
pub mod bursts;
pub mod capture;
pub mod clock;
pub mod control;
pub mod device;
pub mod driver;
pub mod inside;
mod interface;
pub mod lateness;
pub mod namespace;
pub mod netlink;
pub mod offload;
pub mod pace;
pub mod paths;
pub mod plan;
pub mod port;
pub mod profile;
mod report;
pub mod routes;
pub mod rules;
pub mod serve;
pub mod session;
pub mod signals;
pub mod simulated;
pub mod stamps;
mod terminal;
mod told;
pub mod tun;
pub mod verdict;

mod error;
pub use error::Error;
