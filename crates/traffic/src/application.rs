//! What every application has in common: what it asks for, and what it is told.
//!
//! Follows the sockets of RFC 9293 §3.9.1: open, send, close; and what a host tells its user.
//! Differs: both ends of a flow are one machine, so an answer needs no parsing; bytes are numbers.
//! Leaves out who carries actions out: a simulator, or a program with sockets.

use crate::{Bulk, Completions, Transfers, Web};
use skyhop_units::Time;

/// One of the two hosts of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The host that opens connections.
    Client = 0,
    /// The host that waits for them.
    Server = 1,
}

/// What an application wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Open connection number `connection`, which has not been used before.
    Open {
        /// Its number.
        connection: u32,
    },
    /// Send bytes behind all that was written before.
    Write {
        /// On which connection.
        connection: u32,
        /// From which end.
        end: End,
        /// How many.
        bytes: u64,
    },
    /// Close one direction behind all that was written.
    Shutdown {
        /// Which connection.
        connection: u32,
        /// Which end sends no more.
        end: End,
    },
    /// Forget what was written and not yet sent, and close this direction.
    StopWriting {
        /// Which connection.
        connection: u32,
        /// Which end sends no more.
        end: End,
    },
}

/// What an application is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The handshake is done, as seen by `end`.
    Opened {
        /// Which connection.
        connection: u32,
        /// Whose handshake.
        end: End,
    },
    /// Bytes have come into order at `end` since the last notice of this kind.
    Delivered {
        /// Which connection.
        connection: u32,
        /// Who received them.
        end: End,
        /// How many.
        bytes: u64,
    },
    /// All that `end` wrote is acknowledged.
    AllAcknowledged {
        /// Which connection.
        connection: u32,
        /// Whose bytes.
        end: End,
        /// How many that is since the connection was opened.
        bytes: u64,
    },
    /// The other end has sent all it will; `end` has it all.
    PeerFinished {
        /// Which connection.
        connection: u32,
        /// Who was told.
        end: End,
    },
    /// The peer of `end` broke the connection.
    Reset {
        /// Which connection.
        connection: u32,
        /// Who was told.
        end: End,
    },
}

/// An application over connections: handed `now` and what happened, asked what it wants.
#[derive(Debug)]
pub enum Application {
    /// One transfer.
    Bulk(Bulk),
    /// Pages of files.
    Web(Box<Web>),
    /// Transfers that arrive at random.
    Transfers(Box<Transfers>),
}

impl Application {
    /// The flow begins.
    pub fn start(&mut self, now: Time) {
        match self {
            Application::Bulk(bulk) => bulk.start(now),
            Application::Web(web) => web.start(now),
            Application::Transfers(transfers) => transfers.start(now),
        }
    }

    /// The application is to offer nothing more.
    pub fn stop(&mut self, now: Time) {
        match self {
            Application::Bulk(bulk) => bulk.stop(now),
            Application::Web(web) => web.stop(now),
            Application::Transfers(transfers) => transfers.stop(now),
        }
    }

    /// Something happened on a connection.
    pub fn handle(&mut self, now: Time, notice: Notice) {
        match self {
            Application::Bulk(bulk) => bulk.handle(now, notice),
            Application::Web(web) => web.handle(now, notice),
            Application::Transfers(transfers) => transfers.handle(now, notice),
        }
    }

    /// The time that [`Application::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Application::Bulk(_) => {}
            Application::Web(web) => web.handle_timeout(now),
            Application::Transfers(transfers) => transfers.handle_timeout(now),
        }
    }

    /// The next thing to be done.
    pub fn poll_action(&mut self) -> Option<Action> {
        match self {
            Application::Bulk(bulk) => bulk.poll_action(),
            Application::Web(web) => web.poll_action(),
            Application::Transfers(transfers) => transfers.poll_action(),
        }
    }

    /// Whether anything is to be done: an action, or a time to wait for.
    pub fn wants(&self) -> bool {
        match self {
            Application::Bulk(bulk) => bulk.wants(),
            Application::Web(web) => web.wants(),
            Application::Transfers(transfers) => transfers.wants(),
        }
    }

    /// When the application next has something to say by itself.
    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            Application::Bulk(_) => None,
            Application::Web(web) => web.poll_timeout(),
            Application::Transfers(transfers) => transfers.poll_timeout(),
        }
    }

    /// Whether it will open and write nothing more, so that the flow is over when its connections are.
    pub fn finished(&self) -> bool {
        match self {
            Application::Bulk(bulk) => bulk.finished(),
            Application::Web(web) => web.finished(),
            Application::Transfers(transfers) => transfers.finished(),
        }
    }

    /// What came to an end; `None` if the application is one thing as a whole.
    pub fn completions(&self) -> Option<&Completions> {
        match self {
            Application::Bulk(_) => None,
            Application::Web(web) => Some(web.completions()),
            Application::Transfers(transfers) => Some(transfers.completions()),
        }
    }

    /// Connections that it has opened.
    pub fn opened(&self) -> u32 {
        match self {
            Application::Bulk(bulk) => bulk.connections(),
            Application::Web(web) => web.opened(),
            Application::Transfers(transfers) => transfers.opened(),
        }
    }
}
