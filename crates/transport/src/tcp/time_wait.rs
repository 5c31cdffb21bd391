//! The end of TIME-WAIT by the next connection between the same ports.
//!
//! Follows RFC 1644 §2.4 and §3 (T/TCP's truncation, and a SYN that acknowledges the last connection's FIN); RFC 9293 §3.6.1.
//! Leaves out the table of connections, whose owner queries the old connection and replaces it; and the duration (`opening`).

use super::config::Open;
use super::connection::Connection;
use super::state::State;
use skyhop_units::Time;
use skyhop_wire::{Flags, Opening, Packet, Transport};

impl Connection {
    /// Returns true if a new connection between the same ports may replace this one during TIME-WAIT, opened by this end. Only with
    /// T/TCP, and if this connection was short.
    pub fn gives_way(&self, now: Time) -> bool {
        match self.state() {
            State::Closed => true,
            State::TimeWait => self.beginning.may_be_followed(now),
            _ => false,
        }
    }

    /// Returns true if `packet` opens the next connection between the same ports, with a count above this one's. Then this one has
    /// ended: its FIN had arrived, or the peer would not open another. There is an event if it had not ended before. The owner of
    /// the connections creates a new one, with this one's [`Connection::memory`], and passes it the packet.
    pub fn makes_way(&mut self, packet: &Packet) -> bool {
        let Transport::Tcp(tcp) = &packet.transport else { return false };
        let opens = tcp.flags.has(Flags::SYN) && !tcp.flags.has(Flags::ACK) && !tcp.flags.has(Flags::RST);
        let transactions = matches!(self.sender.clock.config().open, Open::Transactions { .. });
        let (Some(Opening::Count(count)), true) = (tcp.opening, opens && transactions) else { return false };
        if !self.beginning.follows(count) {
            return false;
        }
        match self.state() {
            State::Closed => {}
            State::TimeWait => self.abandon(),
            State::LastAck | State::Closing => self.closed(),
            _ => return false,
        }
        true
    }
}
