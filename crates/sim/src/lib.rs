//! Virtual time: a network of hosts and links, stepped by an event queue.
//!
//! A run is a function of its scenario and its seed: nothing here reads a clock, a file or entropy.
//! Differs from ns-2 and ns-3: a busy link has one entry in the queue, however many packets it carries.
//! Leaves out writing results, which the `record` crate does.

mod agenda;
pub mod apart;
mod app;
mod build;
mod cache;
mod capture;
mod config;
mod constellation;
mod conversation;
mod datagrams;
mod echo;
mod endpoint;
mod error;
mod failures;
mod flow;
mod frames;
mod hosts;
mod limited;
mod measure;
mod mesh;
mod mtu;
mod observe;
mod radio;
pub mod results;
mod routes;
mod sample;
mod simulation;
mod space;
mod splice;
mod stp;
mod tables;
mod trace;
mod transitions;
mod unfinished;
mod ways;
mod wire;

pub use capture::Capture;
pub use constellation::{Satellites, topology_of};
pub use error::BuildError;
pub use simulation::{LegRtts, Simulation};
pub use tables::metric;

// For commands that ask about satellites without a run.
pub use skyhop_chance as chance;
pub use skyhop_orbit as orbit;
pub use skyhop_routing as routing;
pub use skyhop_topology as topology;
