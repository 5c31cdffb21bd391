//! A transfer of so many bytes, or without end, over one connection or several side by side.
//!
//! Follows HT 4.2.3: the client sends, the server closes when it is told all; HT 4.1.6 for several (striping).
//! Differs: complete is what the sender knows to have arrived; each connection has an equal part, whichever is faster.
//! Leaves out disks.

use crate::{Action, End, Notice};
use skyhop_units::Time;
use std::collections::VecDeque;

/// A transfer from client to server.
#[derive(Debug, Clone)]
pub struct Bulk {
    size: Option<u64>,
    /// For each connection, whether all of its part is known to have arrived.
    arrived: Vec<bool>,
    completed: Option<Time>,
    stopped: bool,
    reset: bool,
    actions: VecDeque<Action>,
}

impl Bulk {
    /// What a transfer without end is taken to be: more than any run can send, and still far from overflow.
    pub const ENDLESS: u64 = 1 << 62;

    /// A transfer of `size` bytes over `connections`, one at least; `None` is without end.
    pub fn new(size: Option<u64>, connections: u32) -> Self {
        let arrived = vec![false; connections.max(1) as usize];
        Self { size, arrived, completed: None, stopped: false, reset: false, actions: VecDeque::new() }
    }

    /// When the sender knew that all had arrived.
    pub fn completed(&self) -> Option<Time> {
        self.completed
    }

    /// Whether a connection was broken.
    pub fn reset(&self) -> bool {
        self.reset
    }

    /// Connections side by side.
    pub fn connections(&self) -> u32 {
        self.arrived.len() as u32
    }

    /// Bytes of a connection; the first ones have one more where it does not come out even.
    fn part(&self, connection: u32) -> Option<u64> {
        let count = self.arrived.len() as u64;
        self.size.map(|size| size / count + u64::from(u64::from(connection) < size % count))
    }

    pub(crate) fn start(&mut self, _: Time) {
        let end = End::Client;
        for connection in 0..self.arrived.len() as u32 {
            self.actions.push_back(Action::Open { connection });
            let bytes = self.part(connection).unwrap_or(Self::ENDLESS);
            self.actions.push_back(Action::Write { connection, end, bytes });
            if self.size.is_some() {
                self.actions.push_back(Action::Shutdown { connection, end });
            }
        }
    }

    pub(crate) fn stop(&mut self, _: Time) {
        self.stopped = true;
        for connection in 0..self.arrived.len() as u32 {
            self.actions.push_back(Action::StopWriting { connection, end: End::Client });
        }
    }

    pub(crate) fn handle(&mut self, now: Time, notice: Notice) {
        match notice {
            // A transfer that was stopped has all acknowledged that it sent, and is not complete.
            Notice::AllAcknowledged { connection, end: End::Client, bytes }
                if self.part(connection) == Some(bytes) =>
            {
                if let Some(arrived) = self.arrived.get_mut(connection as usize) {
                    *arrived = true;
                }
                if self.arrived.iter().all(|arrived| *arrived) {
                    self.completed.get_or_insert(now);
                }
            }
            Notice::PeerFinished { connection, end: End::Server } => {
                self.actions.push_back(Action::Shutdown { connection, end: End::Server });
            }
            Notice::Reset { .. } => self.reset = true,
            _ => {}
        }
    }

    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    pub(crate) fn wants(&self) -> bool {
        !self.actions.is_empty()
    }

    pub(crate) fn finished(&self) -> bool {
        self.completed.is_some() || self.stopped || self.reset
    }
}
