//! The connection of a splice with one side, over any protocol.
//!
//! It has the operations of a transport that a splice needs.
//! Differs from a trait: the choice is an enum, so that a packet costs no dynamic dispatch.
//! Leaves out the other operations of a protocol.

use skyhop_transport::stp::{self, PayloadLength};
use skyhop_transport::tcp::{Connection, Event, State};
use skyhop_units::Time;

/// The connection of a splice with one side.
#[derive(Debug)]
pub(crate) enum Leg {
    Tcp(Box<Connection>),
    Stp(Box<stp::Connection<PayloadLength>>),
}

impl Leg {
    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Leg::Tcp(tcp) => tcp.handle_timeout(now),
            Leg::Stp(stp) => stp.handle_timeout(now),
        }
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            Leg::Tcp(tcp) => tcp.poll_timeout(),
            Leg::Stp(stp) => stp.poll_timeout(),
        }
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        match self {
            Leg::Tcp(tcp) => tcp.poll_event(),
            Leg::Stp(stp) => Some(match stp.poll_event()? {
                stp::Event::Connected => Event::Connected,
                stp::Event::Received(bytes) => Event::Received(bytes),
                stp::Event::AllAcknowledged => Event::AllAcknowledged,
                stp::Event::PeerFinished => Event::PeerFinished,
                stp::Event::Closed => Event::Closed,
                stp::Event::Reset(_) => Event::Reset,
            }),
        }
    }

    pub fn write(&mut self, bytes: u64) {
        match self {
            Leg::Tcp(tcp) => tcp.write(bytes),
            Leg::Stp(stp) => stp.write(PayloadLength(bytes)),
        }
    }

    /// Reads at most `bytes` of the data that have arrived in order. Returns their number.
    pub fn read_up_to(&mut self, bytes: u64) -> u64 {
        match self {
            Leg::Tcp(tcp) => tcp.read_up_to(bytes),
            Leg::Stp(stp) => {
                let mut left = bytes;
                while left > 0
                    && let Some(PayloadLength(taken)) = stp.read(left as usize)
                {
                    left -= taken;
                }
                bytes - left
            }
        }
    }

    pub fn shutdown(&mut self) {
        match self {
            Leg::Tcp(tcp) => tcp.shutdown(),
            Leg::Stp(stp) => stp.shutdown(),
        }
    }

    pub fn reset(&mut self) {
        match self {
            Leg::Tcp(tcp) => tcp.reset(),
            Leg::Stp(stp) => stp.reset(),
        }
    }

    pub fn hold_fin(&mut self, hold: bool) {
        match self {
            Leg::Tcp(tcp) => tcp.hold_fin(hold),
            Leg::Stp(stp) => stp.hold_end(hold),
        }
    }

    pub fn release_fin(&mut self, now: Time) {
        match self {
            Leg::Tcp(tcp) => tcp.release_fin(now),
            Leg::Stp(stp) => stp.release_end(),
        }
    }

    /// Returns true if the peer's FIN or END has arrived in order and is held back.
    pub fn fin_waits(&self) -> bool {
        match self {
            Leg::Tcp(tcp) => tcp.fin_waits(),
            Leg::Stp(stp) => stp.end_waits(),
        }
    }

    /// Returns true if the peer has acknowledged all data, and the FIN or END.
    pub fn fin_acknowledged(&self) -> bool {
        match self {
            Leg::Tcp(tcp) => tcp.fin_acknowledged(),
            Leg::Stp(stp) => stp.end_acknowledged(),
        }
    }

    /// Number of bytes acknowledged by the peer.
    pub fn acknowledged(&self) -> u64 {
        match self {
            Leg::Tcp(tcp) => tcp.acknowledged(),
            Leg::Stp(stp) => stp.acknowledged(),
        }
    }

    /// Number of bytes that have arrived and have not been read.
    pub fn held(&self) -> u64 {
        match self {
            Leg::Tcp(tcp) => tcp.held(),
            Leg::Stp(stp) => stp.held_bytes(),
        }
    }

    /// Returns true if the peer owes an answer.
    pub fn waits_for_peer(&self) -> bool {
        let waits = match self {
            Leg::Tcp(tcp) => tcp.in_flight() > 0,
            Leg::Stp(stp) => stp.in_flight() > 0,
        };
        waits && !self.over()
    }

    /// Returns true if the connection has ended.
    pub fn over(&self) -> bool {
        match self {
            Leg::Tcp(tcp) => matches!(tcp.state(), State::Closed | State::TimeWait),
            Leg::Stp(stp) => stp.over(),
        }
    }
}
