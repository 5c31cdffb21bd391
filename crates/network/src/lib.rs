//! The forwarding plane: links, frames, routes and satellites. Packets enter at one node and leave at another.
//!
//! Follows the sans-IO contract: one input ([`Network::send`], [`Network::handle_timeout`]), then all deliveries
//! ([`Network::poll_delivery`]), then wait for the [`Agenda`].
//! Differs from a network of machines: a node has no state but its routes, and a packet belongs to a route from end to end.
//! Leaves out hosts: the driver takes deliveries, and knows the meaning of packets.

mod account;
mod address;
mod addresses;
mod agenda;
pub mod apart;
mod beside;
mod build;
mod capture;
mod change;
mod compression;
mod constellation;
mod delays;
mod direction;
mod domains;
mod error;
mod failures;
mod files;
mod forward;
mod frame;
mod frames;
mod ground;
mod links;
mod mesh;
mod moving;
mod moving_topology;
mod mtu;
mod mtus;
mod network;
mod outlook;
mod packets;
mod path_now;
mod pinned;
mod place;
mod queues;
mod reconstruction;
mod resequencing;
mod route;
mod routes;
mod satellite_links;
mod shared;
mod space;
mod space_path;
mod tables;
mod trace;
mod transitions;
mod uplinks;
mod watch;
mod wire;
mod wire_numbers;

pub use account::{Account, PacketFate};
pub use address::address;
pub use agenda::{Agenda, Rank, Slot};
pub use beside::Inside;
pub use capture::{Capture, CapturedDirection};
pub use constellation::{Satellites, topology_of};
pub use error::BuildError;
pub use files::bytes_of;
pub use frame::{Delivery, Frame};
pub use moving::{HeldSatellite, Whereabouts};
pub use network::Network;
pub use outlook::{NetworkEpoch, Outlook};
pub use path_now::PathNow;
pub use pinned::{Pinned, PinnedStep, StepOver};
pub use place::place_of;
pub use route::{Route, Way};
pub use tables::metric;
