//! The wait behind a close, and what cuts it short.
//!
//! Follows RFC 1644 §2.4 and §3 (T/TCP's truncation, and a SYN that acknowledges the last connection's FIN); RFC 9293 §3.6.1.
//! Differs: without T/TCP the wait is twice `rto_min`, since whoever keeps connections here numbers them and reuses no ports.
//! Leaves out the old connection's place in a table: its owner asks, and puts the new one there.

use super::config::Open;
use super::connection::{Connection, State};
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Opening, Packet, Transport};

/// Maximum segment lifetime (RFC 9293 §3.4.2).
const MSL: Span = Span::from_secs(120);

impl Connection {
    /// Time in TIME-WAIT, in which segments of the old connection may still come. T/TCP's counts tell those of the next
    /// connection from them, so that a short connection's wait need only outlast the peer's FIN (RFC 1644 §3.3: 8 RTO).
    pub(super) fn time_wait(&self, now: Time) -> Span {
        if self.beginning.in_each_segment().is_none() {
            return self.sender.config.rto_min * 2;
        }
        if self.short(now) { self.sender.timer.rtt.rto() * 8 } else { MSL * 2 }
    }

    /// Returns true if it has lasted less than an MSL, so that counts cannot have come round.
    fn short(&self, now: Time) -> bool {
        self.beginning.opened_at.is_some_and(|at| now.since(at) < MSL)
    }

    /// Returns true if a new connection between the same ports may take this one's place now, although it still waits: this end
    /// opens it. Only with T/TCP, and if this connection was short.
    pub fn gives_way(&self, now: Time) -> bool {
        match self.state {
            State::Closed => true,
            State::TimeWait => self.beginning.in_each_segment().is_some() && self.short(now),
            _ => false,
        }
    }

    /// Returns true if `packet` opens the next connection between the same ports, with a count above this one's. Then this one is
    /// over: its FIN had arrived, or the peer would not begin anew. There is an event if it had not been over before.
    /// The owner of the connections makes a new one, with this one's [`Connection::memory`], and hands it the packet.
    pub fn makes_way(&mut self, packet: &Packet) -> bool {
        let Transport::Tcp(tcp) = &packet.transport else { return false };
        let opens = tcp.flags.has(Flags::SYN) && !tcp.flags.has(Flags::ACK) && !tcp.flags.has(Flags::RST);
        let transactions = matches!(self.sender.config.open, Open::Transactions { .. });
        let (Some(Opening::Count(count)), true) = (tcp.opening, opens && transactions) else { return false };
        if !self.beginning.follows(count) {
            return false;
        }
        match self.state {
            State::Closed => {}
            State::TimeWait => self.forget_wait(),
            State::LastAck | State::Closing => self.closed(),
            _ => return false,
        }
        true
    }
}
