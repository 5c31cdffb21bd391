//! An end of a connection, whatever it speaks.
//!
//! Follows the verbs that applications, samples and results need of a transport.
//! Differs from a trait: the choice is an enum, so that a packet costs no dynamic dispatch.
//! Leaves out how packets look, which is each machine's business.

use skyhop_chance::Stream;
use skyhop_transport::tcp::{self, Connection, Memory, Open, RttSamples, State};
use skyhop_units::Time;
use std::net::SocketAddrV4;

pub(crate) use skyhop_transport::tcp::Event;

/// What both ends of a connection speak, and how.
pub(crate) enum Protocol {
    Tcp(tcp::Config),
}

/// One end of a connection.
pub(crate) enum Endpoint {
    Tcp(Connection),
}

/// What a sending end has counted.
pub(crate) struct Sent {
    pub segments: u64,
    pub segments_retransmitted: u64,
    pub timeouts: u64,
    pub rtt: RttSamples,
}

impl Protocol {
    /// Whether a connection begins with what earlier ones have left.
    pub fn remembers(&self) -> bool {
        match self {
            Protocol::Tcp(config) => config.open != Open::Handshake || config.share,
        }
    }

    /// The end that opens, and the one that waits for it.
    pub fn pair(
        &self,
        [client, server]: [SocketAddrV4; 2],
        mut initial: impl FnMut() -> u32,
        [first, second]: [Stream; 2],
    ) -> [Endpoint; 2] {
        match self {
            Protocol::Tcp(config) => [
                Connection::connect(config.clone(), client, server, initial()).with_chance(first),
                Connection::listen(config.clone(), server, client, initial()).with_chance(second),
            ]
            .map(Endpoint::Tcp),
        }
    }
}

impl Endpoint {
    /// Whether nothing more will come of it.
    pub fn over(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => matches!(tcp.state(), State::Closed | State::TimeWait),
        }
    }

    /// Whether it was closed or broken, and nobody waits for what is still under way.
    pub fn closed(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => tcp.state() == State::Closed,
        }
    }

    /// Whether it has sent its FIN or is about to, and it is not acknowledged.
    pub fn closing(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => {
                matches!(tcp.state(), State::FinWait1 | State::Closing | State::LastAck)
                    && !tcp.fin_acknowledged()
            }
        }
    }

    /// Whether the peer has all that was written, and knows that it is all.
    pub fn fin_acknowledged(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => tcp.fin_acknowledged(),
        }
    }

    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Endpoint::Tcp(tcp) => tcp.handle_timeout(now),
        }
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            Endpoint::Tcp(tcp) => tcp.poll_timeout(),
        }
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        match self {
            Endpoint::Tcp(tcp) => tcp.poll_event(),
        }
    }

    pub fn write(&mut self, bytes: u64) {
        match self {
            Endpoint::Tcp(tcp) => tcp.write(bytes),
        }
    }

    /// Takes all that has arrived in order.
    pub fn read(&mut self) {
        match self {
            Endpoint::Tcp(tcp) => drop(tcp.read()),
        }
    }

    pub fn shutdown(&mut self) {
        match self {
            Endpoint::Tcp(tcp) => tcp.shutdown(),
        }
    }

    /// Takes back what was written and not yet sent, and closes this direction.
    pub fn stop_writing(&mut self) {
        match self {
            Endpoint::Tcp(tcp) => tcp.stop_writing(),
        }
    }

    /// Payload that the peer has acknowledged, bytes.
    pub fn acknowledged(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.acknowledged(),
        }
    }

    /// Payload delivered in order to this end, bytes.
    pub fn delivered(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.delivered(),
        }
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.in_flight(),
        }
    }

    /// Congestion window, bytes.
    pub fn cwnd(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.cwnd(),
        }
    }

    /// Slow-start threshold, bytes; `None` is without limit.
    pub fn ssthresh(&self) -> Option<u64> {
        match self {
            Endpoint::Tcp(tcp) => tcp.ssthresh(),
        }
    }

    /// Lets this end begin with what earlier connections between the two hosts have left.
    pub fn with_memory(self, memory: Memory) -> Self {
        match self {
            Endpoint::Tcp(tcp) => Endpoint::Tcp(tcp.with_memory(memory)),
        }
    }

    /// What this end would leave to a later connection between the two hosts.
    pub fn memory(&self) -> Memory {
        match self {
            Endpoint::Tcp(tcp) => tcp.memory(),
        }
    }

    /// Counters of the sending half.
    pub fn sent(&self) -> Sent {
        match self {
            Endpoint::Tcp(tcp) => {
                let stats = tcp.stats();
                Sent {
                    segments: stats.segments_sent,
                    segments_retransmitted: stats.segments_retransmitted,
                    timeouts: stats.timeouts,
                    rtt: stats.rtt,
                }
            }
        }
    }
}
