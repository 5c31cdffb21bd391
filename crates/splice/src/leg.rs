//! A side's connection, whatever it speaks.
//!
//! Follows the verbs that a splice needs of a transport, and no more.
//! Differs from a trait: the choice is an enum, so that a packet costs no dynamic dispatch.
//! Leaves out what a protocol has beside these verbs.

use crate::config::Protocol;
use skyhop_chance::Stream;
use skyhop_transport::tcp::{Connection, Event, State};
use skyhop_units::Time;
use skyhop_wire::Packet;
use std::net::SocketAddrV4;

/// A connection of a splice.
#[derive(Debug)]
pub(crate) enum Leg {
    Tcp(Box<Connection>),
}

impl Leg {
    /// An end that opens, or one that waits for the peer's SYN.
    pub fn new(
        protocol: &Protocol,
        opens: bool,
        [local, remote]: [SocketAddrV4; 2],
        initial: u32,
        buffer: u64,
        chance: Option<Stream>,
    ) -> Self {
        let Protocol::Tcp(config) = protocol;
        let mut config = config.clone();
        config.window = buffer;
        let end = match opens {
            true => Connection::connect(config, local, remote, initial),
            false => Connection::listen(config, local, remote, initial),
        };
        Leg::Tcp(Box::new(match chance {
            Some(chance) => end.with_chance(chance),
            None => end,
        }))
    }

    fn tcp(&self) -> &Connection {
        let Leg::Tcp(connection) = self;
        connection
    }

    fn tcp_mut(&mut self) -> &mut Connection {
        let Leg::Tcp(connection) = self;
        connection
    }

    pub fn connection(&self) -> &Connection {
        self.tcp()
    }

    pub fn handle_packet(&mut self, now: Time, packet: &Packet) {
        self.tcp_mut().handle_packet(now, packet);
    }

    pub fn handle_timeout(&mut self, now: Time) {
        self.tcp_mut().handle_timeout(now);
    }

    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.tcp_mut().poll_transmit(now)
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        self.tcp().poll_timeout()
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.tcp_mut().poll_event()
    }

    pub fn write(&mut self, bytes: u64) {
        self.tcp_mut().write(bytes);
    }

    pub fn read_up_to(&mut self, bytes: u64) -> u64 {
        self.tcp_mut().read_up_to(bytes)
    }

    pub fn shutdown(&mut self) {
        self.tcp_mut().shutdown();
    }

    pub fn reset(&mut self) {
        self.tcp_mut().reset();
    }

    pub fn hold_fin(&mut self, hold: bool) {
        self.tcp_mut().hold_fin(hold);
    }

    pub fn release_fin(&mut self, now: Time) {
        self.tcp_mut().release_fin(now);
    }

    /// Whether the peer's FIN is in order and waits.
    pub fn fin_waits(&self) -> bool {
        self.tcp().fin_waits()
    }

    /// Whether the peer has all that was written, and the FIN.
    pub fn fin_acknowledged(&self) -> bool {
        self.tcp().fin_acknowledged()
    }

    /// Bytes acknowledged by the peer.
    pub fn acknowledged(&self) -> u64 {
        self.tcp().acknowledged()
    }

    /// Bytes that arrived and were not read.
    pub fn held(&self) -> u64 {
        self.tcp().held()
    }

    /// Whether the peer owes an answer.
    pub fn waits_for_peer(&self) -> bool {
        !self.over() && self.tcp().in_flight() > 0
    }

    /// Whether nothing more will come of it.
    pub fn over(&self) -> bool {
        matches!(self.tcp().state(), State::Closed | State::TimeWait)
    }
}
