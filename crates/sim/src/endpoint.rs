//! An end of a connection, whatever it speaks.
//!
//! Follows the verbs that applications, samples and results need of a transport.
//! Differs from a trait: the choice is an enum, so that a packet costs no dynamic dispatch.
//! Leaves out how packets look, which is each machine's business.

use crate::stp::{Alone, Carrier, StpEnd};
use skyhop_chance::Stream;
use skyhop_traffic::End;
use skyhop_transport::stp;
use skyhop_transport::tcp::{self, Connection, Memory, Open, State};
use skyhop_units::Time;
use std::net::SocketAddrV4;

pub(crate) use crate::told::{Event, Sent};

/// Packet size that every path is assumed to carry, STP's header included (RFC 8899 §5.1.2).
const STP_BASE: u32 = 1200;

/// Protocol of a connection's end, with its configuration.
pub(crate) enum Protocol {
    Tcp(Box<tcp::Config>),
    /// STP, and the carrier of its packets.
    Stp(Box<stp::Config>, Carrier),
}

/// One end of a connection.
// TCP's lies in place: it is what most runs have most of.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Endpoint {
    Tcp(Connection),
    Stp(Box<StpEnd>),
}

impl Protocol {
    /// Returns true if a connection begins with state of earlier ones; on a narrow path that state is its MTU.
    pub fn remembers(&self, narrow: bool) -> bool {
        match self {
            Protocol::Tcp(config) => config.open != Open::Handshake || config.share || narrow,
            Protocol::Stp(..) => false,
        }
    }

    /// A link on the way may be too narrow for its packets: STP, whose packets keep their length, begins with 1200 bytes and
    /// looks for more (docs/stp.md §6.4). TCP hears of it from the router.
    pub fn over_narrow(mut self) -> Self {
        if let Protocol::Stp(config, _) = &mut self {
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
    ) -> Endpoint {
        let [client, server] = addresses;
        match (self, end) {
            (Protocol::Tcp(config), End::Client) => Endpoint::Tcp(
                Connection::connect((**config).clone(), client, server, initial).with_chance(chance),
            ),
            (Protocol::Tcp(config), End::Server) => Endpoint::Tcp(
                Connection::listen((**config).clone(), server, client, initial).with_chance(chance),
            ),
            (Protocol::Stp(config, carrier), end) => {
                let stp = Alone::new((config, *carrier), end, addresses, connection + 1, initial);
                Endpoint::Stp(Box::new(StpEnd::Alone(stp)))
            }
        }
    }
}

impl Endpoint {
    /// Returns true if it is over, with no event left to come.
    pub fn over(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => matches!(tcp.state(), State::Closed | State::TimeWait),
            Endpoint::Stp(stp) => stp.over(),
        }
    }

    /// Tells it the MTU of its own link. STP asks the path instead.
    pub fn over_link(self, mtu: Option<u32>) -> Self {
        match self {
            Endpoint::Tcp(tcp) => Endpoint::Tcp(tcp.over_link(mtu)),
            stp => stp,
        }
    }

    /// Returns true if it was closed or broken, and no end waits for data still in flight.
    pub fn closed(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => tcp.state() == State::Closed,
            Endpoint::Stp(stp) => stp.over(),
        }
    }

    /// Returns true if its FIN is sent or about to be, and not acknowledged.
    pub fn closing(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => {
                matches!(tcp.state(), State::FinWait1 | State::Closing | State::LastAck)
                    && !tcp.fin_acknowledged()
            }
            Endpoint::Stp(stp) => stp.closing(),
        }
    }

    /// Returns true if the peer has all data and the FIN.
    pub fn fin_acknowledged(&self) -> bool {
        match self {
            Endpoint::Tcp(tcp) => tcp.fin_acknowledged(),
            Endpoint::Stp(stp) => stp.fin_acknowledged(),
        }
    }

    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Endpoint::Tcp(tcp) => tcp.handle_timeout(now),
            Endpoint::Stp(stp) => stp.handle_timeout(now),
        }
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            Endpoint::Tcp(tcp) => tcp.poll_timeout(),
            Endpoint::Stp(stp) => stp.poll_timeout(),
        }
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        match self {
            Endpoint::Tcp(tcp) => tcp.poll_event(),
            Endpoint::Stp(stp) => stp.poll_event(),
        }
    }

    pub fn write(&mut self, bytes: u64) {
        match self {
            Endpoint::Tcp(tcp) => tcp.write(bytes),
            Endpoint::Stp(stp) => stp.write(bytes),
        }
    }

    /// Takes all that has arrived in order.
    pub fn read(&mut self) {
        match self {
            Endpoint::Tcp(tcp) => drop(tcp.read()),
            Endpoint::Stp(stp) => stp.read(),
        }
    }

    pub fn shutdown(&mut self) {
        match self {
            Endpoint::Tcp(tcp) => tcp.shutdown(),
            Endpoint::Stp(stp) => stp.shutdown(),
        }
    }

    /// Takes back what was written and not yet sent, and closes this direction.
    pub fn stop_writing(&mut self) {
        match self {
            Endpoint::Tcp(tcp) => tcp.stop_writing(),
            Endpoint::Stp(stp) => stp.stop_writing(),
        }
    }

    /// Payload that the peer has acknowledged, bytes.
    pub fn acknowledged(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.acknowledged(),
            Endpoint::Stp(stp) => stp.acknowledged(),
        }
    }

    /// Payload delivered in order to this end, bytes.
    pub fn delivered(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.delivered(),
            Endpoint::Stp(stp) => stp.delivered(),
        }
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.in_flight(),
            Endpoint::Stp(stp) => stp.in_flight(),
        }
    }

    /// Congestion window, bytes; 0 of a stream, whose association has it.
    pub fn cwnd(&self) -> u64 {
        match self {
            Endpoint::Tcp(tcp) => tcp.cwnd(),
            Endpoint::Stp(stp) => stp.cwnd(),
        }
    }

    /// Slow-start threshold, bytes; `None` is without limit.
    pub fn ssthresh(&self) -> Option<u64> {
        match self {
            Endpoint::Tcp(tcp) => tcp.ssthresh(),
            Endpoint::Stp(_) => None,
        }
    }

    /// Lets this end begin with what earlier connections between the two hosts have left.
    pub fn with_memory(self, memory: Memory) -> Self {
        match self {
            Endpoint::Tcp(tcp) => Endpoint::Tcp(tcp.with_memory(memory)),
            Endpoint::Stp(_) => self,
        }
    }

    /// State that this end leaves to a later connection between the two hosts.
    pub fn memory(&self) -> Memory {
        match self {
            Endpoint::Tcp(tcp) => tcp.memory(),
            Endpoint::Stp(_) => Memory::default(),
        }
    }

    /// Counts from now on what holds its data up.
    pub fn count_limits(&mut self, now: Time) {
        match self {
            Endpoint::Tcp(tcp) => tcp.count_limits(now),
            Endpoint::Stp(stp) => stp.count_limits(now),
        }
    }

    /// Tells the end that there is a path to the peer and back, or none.
    pub fn set_path_up(&mut self, now: Time, up: bool) {
        match self {
            Endpoint::Tcp(tcp) => tcp.set_path_up(now, up),
            Endpoint::Stp(stp) => stp.set_path_up(now, up),
        }
    }

    /// Counters of the sending half up to `now`.
    pub fn sent(&self, now: Time) -> Sent {
        match self {
            Endpoint::Tcp(tcp) => {
                let stats = tcp.stats();
                Sent {
                    segments: stats.segments_sent,
                    segments_retransmitted: stats.segments_retransmitted,
                    timeouts: stats.timeouts,
                    rtt: stats.rtt,
                    limits: tcp.limits().spent(now),
                }
            }
            Endpoint::Stp(stp) => stp.sent(now),
        }
    }
}
