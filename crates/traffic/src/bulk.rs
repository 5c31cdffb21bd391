//! A transfer of a given size, or without end, over one connection or several in parallel.
//!
//! Follows HT 4.2.3: the client sends, the server closes when it has everything; HT 4.1.6 for parallel connections (striping).
//! Differs: the transfer is complete when the sender knows that all has arrived; each connection has an equal part, whatever its speed.
//! Leaves out disks.

use crate::{Action, AppNotice, End};
use skyhop_units::Time;
use std::collections::VecDeque;

/// A transfer from client to server.
#[derive(Debug, Clone)]
pub struct Bulk {
    size: Option<u64>,
    /// For each connection, true if its whole part is known to have arrived.
    arrived: Vec<bool>,
    completed: Option<Time>,
    stopped: bool,
    reset: bool,
    actions: VecDeque<Action>,
}

impl Bulk {
    /// Size of a transfer without end, bytes: more than any run can send, and yet far from overflow.
    pub const ENDLESS: u64 = 1 << 62;

    /// A transfer of `size` bytes over `connections`, at least one; `None` is without end.
    pub fn new(size: Option<u64>, connections: u32) -> Self {
        let arrived = vec![false; connections.max(1) as usize];
        Self { size, arrived, completed: None, stopped: false, reset: false, actions: VecDeque::new() }
    }

    /// Time at which the sender knew that all had arrived.
    pub fn completed(&self) -> Option<Time> {
        self.completed
    }

    /// Returns true if a connection was reset.
    pub fn reset(&self) -> bool {
        self.reset
    }

    /// Number of parallel connections.
    pub fn connections(&self) -> u32 {
        self.arrived.len() as u32
    }

    /// Size of a connection's part, bytes; the first ones have one byte more if the size is not divisible.
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

    pub(crate) fn handle(&mut self, now: Time, notice: AppNotice) {
        match notice {
            // All that a stopped transfer sent is acknowledged, but it is not complete.
            AppNotice::AllAcknowledged { connection, end: End::Client, bytes }
                if self.part(connection) == Some(bytes) =>
            {
                if let Some(arrived) = self.arrived.get_mut(connection as usize) {
                    *arrived = true;
                }
                if self.arrived.iter().all(|arrived| *arrived) {
                    self.completed.get_or_insert(now);
                }
            }
            AppNotice::PeerFinished { connection, end: End::Server } => {
                self.actions.push_back(Action::Shutdown { connection, end: End::Server });
            }
            AppNotice::Reset { .. } => self.reset = true,
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
