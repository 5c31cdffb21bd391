//! TCP: a byte-stream endpoint with real headers.
//!
//! Follows RFC 9293, 5681, 6298, 6582, 7323, 2018 and the seven rules of HK's appendix.
//! Differs: bytes are counted and stored only by [`Carry`]; a connection is one peer and one peer only.
//! Leaves out urgent data, simultaneous open and keep-alives.
//!
//! | file | holds |
//! |---|---|
//! | `connection` | segments, close, timers, the public verbs |
//! | `carry` | an end with the bytes themselves, and packets as bytes |
//! | `stretch` | the bytes of a stream by their offsets |
//! | `opening` | the handshake, T/TCP, Fast Open |
//! | `agreed` | what both ends have agreed on by their SYNs |
//! | `timestamps` | this end's clock in each segment, and the peer's echoed |
//! | `time_wait` | the wait behind a close, and T/TCP's short cut |
//! | `memory` | what is remembered from one connection to the next |
//! | `sender` | what is sent next, acknowledgments, timeouts |
//! | `flight` | what is outstanding: the send sequence space |
//! | `send_buffer` | what is written, and how much of it ahead |
//! | `peer_window` | what the peer allows, and the persist timer |
//! | `marks` | what ECN's marks make of either end |
//! | `window_use` | when the congestion window grows |
//! | `path_mtu` | how large a packet the path carries: by routers' words or by probes |
//! | `held` | what holds the sender up when it sends nothing more |
//! | `pacing` | when: paces, hosts' delays, silences |
//! | `recovery` | finding losses and repairing them: counting duplicates, or knowing what is in flight |
//! | `congestion` | the laws of cwnd and ssthresh |
//! | `segments` | what is in flight, segment by segment |
//! | `retransmission_timer` | when it runs out, and which acknowledgments measure a round trip |
//! | `rtt` | its estimate |
//! | `scoreboard` | what the peer has selectively acknowledged |
//! | `timers` | the timers of a connection, and which is due next |
//! | `receiver` | reassembly, SACK blocks, the window |
//! | `acknowledger` | when what has arrived is acknowledged |
//! | `receive_tuning` | how the receive window follows what arrives |
//! | `ato` | how long an acknowledgment waits where that adapts |

mod acknowledger;
mod agreed;
mod ato;
mod carry;
mod config;
mod congestion;
mod connection;
mod flight;
mod held;
mod marks;
mod memory;
mod opening;
mod pacing;
mod path_mtu;
mod peer_window;
mod receive_tuning;
mod receiver;
mod recovery;
mod retransmission_timer;
mod rtt;
mod scoreboard;
mod segments;
mod send_buffer;
mod sender;
mod stretch;
mod time_wait;
mod timers;
mod timestamps;
mod window_use;

pub use carry::{Carry, Refused, Segment};
pub use config::{
    AfterIdle, Config, DelayedAck, Hystart, Increase, Law, LossRecovery, Open, PathMtu, Saved, Variant,
};
pub use connection::{Connection, Event, State};
pub use memory::{Memory, PathMemory, divide};
pub use rtt::RttSamples;
pub(crate) use rtt::Smoothed;
pub use sender::SenderStats;
