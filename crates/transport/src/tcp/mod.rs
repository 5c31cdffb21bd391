//! TCP: a byte-stream endpoint with real headers.
//!
//! Follows RFC 9293, 5681, 6298, 6582, 7323, 2018 and the seven rules of HK's appendix.
//! Differs: bytes are counted, and stored only by [`Carry`]; a connection has exactly one peer.
//! Leaves out urgent data, simultaneous open and keep-alives.
//!
//! | file | holds |
//! |---|---|
//! | `connection` | the handshake, segments, closing, timers, the public calls |
//! | `state` | the state of a connection, and what may change it |
//! | `socket_pair` | the sockets of both ends, and packets between them |
//! | `events` | the events for the application |
//! | `carry` | an end with the bytes themselves, and packets as bytes |
//! | `stretch` | the bytes of a stream by their offsets |
//! | `opening` | T/TCP and Fast Open: the options of SYNs, and TIME-WAIT |
//! | `resets` | resets, and challenges to acknowledgments of data never sent |
//! | `agreed` | what both ends have agreed on by their SYNs |
//! | `timestamps` | this end's clock in each segment, and the peer's echoed |
//! | `time_wait` | the end of TIME-WAIT by the next connection |
//! | `memory` | state kept from one connection to the next |
//! | `ensemble` | the connections between two hosts, which divide their windows |
//! | `sender` | the next segment that recovery, windows, pace and data allow |
//! | `sender::ack_clock` | the reactions to acknowledgments, marks and timeouts |
//! | `flight` | outstanding data: the send sequence space |
//! | `send_buffer` | written data, and their limit |
//! | `peer_window` | the peer's window, and the persist timer |
//! | `marks` | the reactions of both ends to ECN marks |
//! | `window_use` | the use of the congestion window, without which it does not grow |
//! | `path_mtu` | the path's MTU, by routers' messages or by probes |
//! | `held` | the limit of a sender that may not send anything more |
//! | `pacing` | the times of packets: paces, hosts' delays, idle times |
//! | `recovery` | loss detection and repair, by counting duplicates or by a pipe |
//! | `congestion` | the laws of cwnd and ssthresh |
//! | `segments` | data in flight, segment by segment |
//! | `retransmission_timer` | the timer, and the acknowledgments that measure an RTT |
//! | `rtt` | the estimate of the RTT |
//! | `scoreboard` | selectively acknowledged data |
//! | `timers` | the timers of a connection, and which is due next |
//! | `receiver` | reassembly, SACK blocks, the window |
//! | `acknowledger` | the times of acknowledgments |
//! | `receive_tuning` | the receive window that tunes itself |
//! | `ato` | adaptive delayed acknowledgments |

mod acknowledger;
mod agreed;
mod ato;
mod carry;
mod config;
mod congestion;
mod connection;
mod ensemble;
mod events;
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
mod resets;
mod retransmission_timer;
mod rtt;
mod scoreboard;
mod segments;
mod send_buffer;
mod sender;
mod socket_pair;
mod state;
mod stretch;
mod time_wait;
mod timers;
mod timestamps;
mod window_use;

pub use carry::{Carry, Refused, Segment};
pub use config::{
    AfterIdle, Config, DelayedAck, Hystart, Increase, Law, LossRecovery, Open, PathMtu, Saved, Variant,
};
pub use connection::Connection;
pub use ensemble::divide;
pub use events::Event;
pub use memory::{Memory, PathMemory};
pub use rtt::RttSamples;
pub(crate) use rtt::Smoothed;
pub use sender::SenderStats;
pub use state::State;
