//! An end of a connection of any protocol.
//!
//! Follows the operations that applications, samples and results need.
//! Differs from a trait: the choice is an enum, so that a packet costs no dynamic dispatch.
//! Leaves out packet formats, which belong to each machine.

use crate::stp::{Alone, StpCarrier, StpEnd};
use skyhop_chance::Stream;
use skyhop_traffic::End;
use skyhop_transport::stp;
use skyhop_transport::tcp::{self, Connection, Memory, Open, State};
use skyhop_units::Time;
use std::net::SocketAddrV4;

pub(crate) use crate::told::{Event, SentCounts};

/// Packet size that every path is assumed to carry, STP's header included (RFC 8899 §5.1.2).
const STP_BASE: u32 = 1200;

/// Protocol of a connection's end, with its configuration.
pub(crate) enum EndProtocol {
    Tcp(Box<tcp::Config>),
    /// STP, and the protocol that carries its packets.
    Stp(Box<stp::Config>, StpCarrier),
}

/// One end of a connection.
// TCP's is stored inline, since most runs consist mainly of TCP.
#[allow(clippy::large_enum_variant)]
pub(crate) enum FlowEndpoint {
    Tcp(Connection),
    Stp(Box<StpEnd>),
}

impl EndProtocol {
    /// Returns true if a connection starts from the state of earlier ones; on a path with a small MTU that state includes it.
    pub fn remembers(&self, narrow: bool) -> bool {
        match self {
            EndProtocol::Tcp(config) => config.open != Open::Handshake || config.share || narrow,
            EndProtocol::Stp(..) => false,
        }
    }

    /// Prepares for a path with a link that may be too narrow: STP, whose packets have a fixed length, begins with 1200 bytes and
    /// searches for more (docs/stp.md §6.4). TCP gets messages from the router.
    pub fn over_narrow(mut self) -> Self {
        if let EndProtocol::Stp(config, _) = &mut self {
            config.base_size = STP_BASE;
        }
        self
    }

    /// The client's end, which opens, or the server's.
    pub fn end(
        &self,
        end: End,
        addresses: [SocketAddrV4; 2],
        connection: u32,
        initial: u32,
        chance: Stream,
    ) -> FlowEndpoint {
        let [client, server] = addresses;
        match (self, end) {
            (EndProtocol::Tcp(config), End::Client) => FlowEndpoint::Tcp(
                Connection::connect((**config).clone(), client, server, initial).with_chance(chance),
            ),
            (EndProtocol::Tcp(config), End::Server) => FlowEndpoint::Tcp(
                Connection::listen((**config).clone(), server, client, initial).with_chance(chance),
            ),
            (EndProtocol::Stp(config, carrier), end) => {
                let stp = Alone::new((config, *carrier), end, addresses, connection + 1, initial);
                FlowEndpoint::Stp(Box::new(StpEnd::Alone(stp)))
            }
        }
    }
}

impl FlowEndpoint {
    /// Returns true if it has ended and has no further event.
    pub fn over(&self) -> bool {
        match self {
            FlowEndpoint::Tcp(tcp) => matches!(tcp.state(), State::Closed | State::TimeWait),
            FlowEndpoint::Stp(stp) => stp.over(),
        }
    }

    /// Sets the MTU of its own link. STP probes the path instead.
    pub fn over_link(self, mtu: Option<u32>) -> Self {
        match self {
            FlowEndpoint::Tcp(tcp) => FlowEndpoint::Tcp(tcp.over_link(mtu)),
            stp => stp,
        }
    }

    /// Returns true if it was closed or broken, and neither end waits for data in flight.
    pub fn closed(&self) -> bool {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.state() == State::Closed,
            FlowEndpoint::Stp(stp) => stp.over(),
        }
    }

    /// Returns true if its FIN is sent or about to be, and not acknowledged.
    pub fn closing(&self) -> bool {
        match self {
            FlowEndpoint::Tcp(tcp) => {
                matches!(tcp.state(), State::FinWait1 | State::Closing | State::LastAck)
                    && !tcp.fin_acknowledged()
            }
            FlowEndpoint::Stp(stp) => stp.closing(),
        }
    }

    /// Returns true if the peer has all data and the FIN.
    pub fn fin_acknowledged(&self) -> bool {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.fin_acknowledged(),
            FlowEndpoint::Stp(stp) => stp.fin_acknowledged(),
        }
    }

    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.handle_timeout(now),
            FlowEndpoint::Stp(stp) => stp.handle_timeout(now),
        }
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.poll_timeout(),
            FlowEndpoint::Stp(stp) => stp.poll_timeout(),
        }
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.poll_event(),
            FlowEndpoint::Stp(stp) => stp.poll_event(),
        }
    }

    pub fn write(&mut self, bytes: u64) {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.write(bytes),
            FlowEndpoint::Stp(stp) => stp.write(bytes),
        }
    }

    /// Reads all data that have arrived in order.
    pub fn read(&mut self) {
        match self {
            FlowEndpoint::Tcp(tcp) => drop(tcp.read()),
            FlowEndpoint::Stp(stp) => stp.read(),
        }
    }

    pub fn shutdown(&mut self) {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.shutdown(),
            FlowEndpoint::Stp(stp) => stp.shutdown(),
        }
    }

    /// Withdraws data that were written and not yet sent, and closes this direction.
    pub fn stop_writing(&mut self) {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.stop_writing(),
            FlowEndpoint::Stp(stp) => stp.stop_writing(),
        }
    }

    /// Payload that the peer has acknowledged, bytes.
    pub fn acknowledged(&self) -> u64 {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.acknowledged(),
            FlowEndpoint::Stp(stp) => stp.acknowledged(),
        }
    }

    /// Payload delivered in order to this end, bytes.
    pub fn delivered(&self) -> u64 {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.delivered(),
            FlowEndpoint::Stp(stp) => stp.delivered(),
        }
    }

    /// Highest sequence number received by this end, bytes; `None` over STP, whose numbers count packets.
    pub fn sequence_max(&self) -> Option<u64> {
        match self {
            FlowEndpoint::Tcp(tcp) => Some(tcp.sequence_max()),
            FlowEndpoint::Stp(_) => None,
        }
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u64 {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.in_flight(),
            FlowEndpoint::Stp(stp) => stp.in_flight(),
        }
    }

    /// Congestion window, bytes; 0 for a stream, whose association has the window.
    pub fn cwnd(&self) -> u64 {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.cwnd(),
            FlowEndpoint::Stp(stp) => stp.cwnd(),
        }
    }

    /// Slow-start threshold, bytes; `None` without limit.
    pub fn ssthresh(&self) -> Option<u64> {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.ssthresh(),
            FlowEndpoint::Stp(_) => None,
        }
    }

    /// Starts this end from the state that earlier connections between the two hosts have left.
    pub fn with_memory(self, memory: Memory) -> Self {
        match self {
            FlowEndpoint::Tcp(tcp) => FlowEndpoint::Tcp(tcp.with_memory(memory)),
            FlowEndpoint::Stp(_) => self,
        }
    }

    /// State that this end leaves for a later connection between the two hosts.
    pub fn memory(&self) -> Memory {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.memory(),
            FlowEndpoint::Stp(_) => Memory::default(),
        }
    }

    /// Starts counting the time by limiting cause.
    pub fn count_limits(&mut self, now: Time) {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.count_limits(now),
            FlowEndpoint::Stp(stp) => stp.count_limits(now),
        }
    }

    /// Informs the end that there is a path to the peer and back, or none.
    pub fn set_path_up(&mut self, now: Time, up: bool) {
        match self {
            FlowEndpoint::Tcp(tcp) => tcp.set_path_up(now, up),
            FlowEndpoint::Stp(stp) => stp.set_path_up(now, up),
        }
    }

    /// Counters of the sending half up to `now`.
    pub fn sent(&self, now: Time) -> SentCounts {
        match self {
            FlowEndpoint::Tcp(tcp) => {
                let stats = tcp.stats();
                SentCounts {
                    segments: stats.segments_sent,
                    segments_retransmitted: stats.segments_retransmitted,
                    timeouts: stats.timeouts,
                    rtt: stats.rtt,
                    limits: tcp.limits().spent(now),
                }
            }
            FlowEndpoint::Stp(stp) => stp.sent(now),
        }
    }
}
