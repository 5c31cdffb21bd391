//! Real programs behind the paths of a scenario: the simulator's network, driven by the clock.
//!
//! A map of the code: [`plan`] says which flows are left to programs and which hosts there are, [`namespace`], [`netlink`] and
//! [`tun`] make a host of the kernel's, [`device`] and [`rules`] make one of a device of this machine, [`inside`] starts a program
//! in it and [`serve`] answers by default; [`offload`] takes frames apart and puts them together,
//! [`bursts`] holds them, [`port`] reads and writes them, [`beside`] holds [`simulated`] ends of flows that a program has the other
//! end of, [`routes`] say where their packets go, [`driver`] steps the network by the clock, at the [`pace`] that packets have, and
//! [`ahead`] works satellites out before they are due; [`lateness`] and [`verdict`] say how late it was, [`profile`] has scenarios
//! without a file, [`control`] answers while it runs, [`session`] is all of it from a scenario to its end, `attend` what runs
//! meanwhile, told by [`signals`], and `report` its summary. Differs from the simulator: packets of programs enter and leave at
//! ports, and being late is a result. Leaves out hosts on other machines, but for those behind a device.

#![cfg(target_os = "linux")]

mod about;
pub mod ahead;
mod answers;
mod attend;
pub mod beside;
pub mod bursts;
pub mod capture;
pub mod clock;
pub mod control;
pub mod device;
pub mod driver;
pub mod inside;
pub mod lateness;
pub mod namespace;
pub mod netlink;
pub mod offload;
pub mod pace;
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
