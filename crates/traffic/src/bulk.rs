//! A transfer of so many bytes, or without end, over one connection.
//!
//! Follows HT 4.2.3: the client sends, the server closes when it is told all.
//! Differs: complete is what the sender knows to have arrived.
//! Leaves out disks.

use crate::{Action, End, Notice};
use skyhop_units::Time;
use std::collections::VecDeque;

/// A transfer from client to server.
#[derive(Debug, Clone)]
pub struct Bulk {
    size: Option<u64>,
    completed: Option<Time>,
    stopped: bool,
    reset: bool,
    actions: VecDeque<Action>,
}

/// The only connection of a transfer.
const CONNECTION: u32 = 0;

impl Bulk {
    /// What a transfer without end is taken to be: more than any run can send, and still far from overflow.
    pub const ENDLESS: u64 = 1 << 62;

    /// A transfer of `size` bytes; `None` is without end.
    pub fn new(size: Option<u64>) -> Self {
        Self { size, completed: None, stopped: false, reset: false, actions: VecDeque::new() }
    }

    /// When the sender knew that all had arrived.
    pub fn completed(&self) -> Option<Time> {
        self.completed
    }

    /// Whether the connection was broken.
    pub fn reset(&self) -> bool {
        self.reset
    }

    pub(crate) fn start(&mut self, _: Time) {
        let (connection, end) = (CONNECTION, End::Client);
        self.actions.push_back(Action::Open { connection });
        let bytes = self.size.unwrap_or(Self::ENDLESS);
        self.actions.push_back(Action::Write { connection, end, bytes });
        if self.size.is_some() {
            self.actions.push_back(Action::Shutdown { connection, end });
        }
    }

    pub(crate) fn stop(&mut self, _: Time) {
        self.stopped = true;
        self.actions.push_back(Action::StopWriting { connection: CONNECTION, end: End::Client });
    }

    pub(crate) fn handle(&mut self, now: Time, notice: Notice) {
        match notice {
            // A transfer that was stopped has all acknowledged that it sent, and is not complete.
            Notice::AllAcknowledged { end: End::Client, bytes, .. } if self.size == Some(bytes) => {
                self.completed.get_or_insert(now);
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
