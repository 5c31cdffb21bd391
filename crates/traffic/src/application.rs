//! All applications over connections behind one interface.
//!
//! Follows no publication: an enum, so that a host hands notices on without dynamic dispatch.
//! Leaves out pings and datagrams, which have no connections.

use crate::{Action, AppNotice, Batches, Bulk, Completions, Fetch, Transfers, Web};
use skyhop_units::Time;

/// An application over connections: it takes `now` and notices, and returns actions.
#[derive(Debug)]
pub enum Application {
    /// One transfer.
    Bulk(Bulk),
    /// Web pages of several files.
    Web(Box<Web>),
    /// Transfers that arrive at random.
    Transfers(Box<Transfers>),
    /// Batches of requests by the clock.
    Batches(Box<Batches>),
    /// Pieces of a file that several flows fetch.
    Fetch(Box<Fetch>),
}

impl Application {
    /// Starts the flow.
    pub fn start(&mut self, now: Time) {
        match self {
            Application::Bulk(bulk) => bulk.start(now),
            Application::Web(web) => web.start(now),
            Application::Transfers(transfers) => transfers.start(now),
            Application::Batches(batches) => batches.start(now),
            Application::Fetch(fetch) => fetch.start(now),
        }
    }

    /// Ends the offered traffic.
    pub fn stop(&mut self, now: Time) {
        match self {
            Application::Bulk(bulk) => bulk.stop(now),
            Application::Web(web) => web.stop(now),
            Application::Transfers(transfers) => transfers.stop(now),
            Application::Batches(batches) => batches.stop(now),
            Application::Fetch(fetch) => fetch.stop(now),
        }
    }

    /// Takes a notice about a connection.
    pub fn handle(&mut self, now: Time, notice: AppNotice) {
        match self {
            Application::Bulk(bulk) => bulk.handle(now, notice),
            Application::Web(web) => web.handle(now, notice),
            Application::Transfers(transfers) => transfers.handle(now, notice),
            Application::Batches(batches) => batches.handle(now, notice),
            Application::Fetch(fetch) => fetch.handle(now, notice),
        }
    }

    /// Handles the timeout of [`Application::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Application::Bulk(_) => {}
            Application::Web(web) => web.handle_timeout(now),
            Application::Transfers(transfers) => transfers.handle_timeout(now),
            Application::Batches(batches) => batches.handle_timeout(now),
            Application::Fetch(_) => {}
        }
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<Action> {
        match self {
            Application::Bulk(bulk) => bulk.poll_action(),
            Application::Web(web) => web.poll_action(),
            Application::Transfers(transfers) => transfers.poll_action(),
            Application::Batches(batches) => batches.poll_action(),
            Application::Fetch(fetch) => fetch.poll_action(),
        }
    }

    /// Returns true if there is an action or a timeout.
    pub fn wants(&self) -> bool {
        match self {
            Application::Bulk(bulk) => bulk.wants(),
            Application::Web(web) => web.wants(),
            Application::Transfers(transfers) => transfers.wants(),
            Application::Batches(batches) => batches.wants(),
            Application::Fetch(fetch) => fetch.wants(),
        }
    }

    /// Time of the application's next own event.
    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            Application::Bulk(_) => None,
            Application::Web(web) => web.poll_timeout(),
            Application::Transfers(transfers) => transfers.poll_timeout(),
            Application::Batches(batches) => batches.poll_timeout(),
            Application::Fetch(_) => None,
        }
    }

    /// Returns true if it will open and write nothing more, so that the flow ends with its connections.
    pub fn finished(&self) -> bool {
        match self {
            Application::Bulk(bulk) => bulk.finished(),
            Application::Web(web) => web.finished(),
            Application::Transfers(transfers) => transfers.finished(),
            Application::Batches(batches) => batches.finished(),
            Application::Fetch(fetch) => fetch.finished(),
        }
    }

    /// Completed pages or transfers; `None` if the application is a single transfer.
    pub fn completions(&self) -> Option<&Completions> {
        match self {
            Application::Bulk(_) => None,
            Application::Web(web) => Some(web.completions()),
            Application::Transfers(transfers) => Some(transfers.completions()),
            Application::Batches(batches) => Some(batches.completions()),
            Application::Fetch(fetch) => Some(fetch.completions()),
        }
    }

    /// Number of connections opened.
    pub fn opened(&self) -> u32 {
        match self {
            Application::Bulk(bulk) => bulk.connections(),
            Application::Web(web) => web.opened(),
            Application::Transfers(transfers) => transfers.opened(),
            Application::Batches(batches) => batches.opened(),
            Application::Fetch(fetch) => fetch.opened(),
        }
    }
}
