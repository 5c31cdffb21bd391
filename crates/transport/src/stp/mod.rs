//! STP: selective negative acknowledgments requested by the sender. One machine for the simulator and for real hosts.
//!
//! Follows HT chapter 5 and HK §VII, which build on ITU-T Q.2110; docs/stp.md is the specification.
//! Differs: half-close, tolerance of reordering, coalesced reports, discovery of the path's rate; docs/stp.md marks each.
//! Leaves out sockets, encryption and the association (crate `live`).

mod allowance;
mod answers;
mod closing;
mod config;
mod congestion;
mod connection;
mod copies;
mod credit;
mod ecn;
mod ending;
mod events;
mod gap_reports;
mod held;
mod missing;
mod mtu;
mod opening;
mod pace;
mod poll_timer;
mod polls;
mod ready;
mod receive_buffer;
mod receiver;
mod reordering;
mod repeat_timer;
mod reported;
mod sender;
mod silence;
mod source;
mod state;
mod timers;
mod transmit;
mod trunk;

pub use config::{Config, Congestion, SavedRate};
pub use connection::{Connection, NetworkFields};
pub use events::Event;
pub use opening::Ends;
pub use sender::Stats;
pub use skyhop_wire::stp::{Class, Features, Frames, Packet, Payload, PayloadLength, Reason};
pub use state::State;
pub use trunk::{Budgets, DatagramDelay, DatagramStats, Trunk, TrunkEvent, TrunkStats};
