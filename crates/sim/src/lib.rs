//! Virtual time: hosts, their connections and applications on a network, stepped from event to event.
//!
//! A run is a function of its scenario and its seed: nothing here reads a clock, a file or entropy.
//! Differs from ns-2 and ns-3: a busy link has one entry in the queue, however many packets it carries.
//! Leaves out links, routes and satellites, which the `network` crate holds, and files, which `record` writes.

mod app;
mod arrivals;
mod association;
mod associations;
mod bottlenecks;
mod build;
mod cache;
mod carried;
mod carrying;
mod config;
mod conversation;
mod datagrams;
mod echo;
mod endpoint;
mod flow;
mod gateway_joint;
mod gateways;
mod given;
mod hosts;
mod ids;
mod observe;
mod programs;
mod route_owners;
mod sample;
mod schedule;
mod simulation;
mod slots;
mod splice;
mod stp;
mod stream;
mod streams;
mod told;
mod twins;
mod unfinished;
mod user_turns;

pub use app::{Exchanges, application_of, datagrams_of};
pub use config::{stp as stp_config, tcp as tcp_config};
pub use programs::{Arrived, Content};
pub use route_owners::LegWays;
pub use simulation::Simulation;
pub use skyhop_network::PathNow;
