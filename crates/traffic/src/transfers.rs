//! Short transfers with random arrivals, each on a connection of its own.
//!
//! Follows the background load of HT 4.1: new transfers of fixed size as a Poisson process.
//! Differs: sizes may have a distribution; a transfer ends when its last byte reaches the receiver.
//! Leaves out arrivals that depend on each other.

use crate::web::span;
use crate::{Action, AppNotice, Completion, Completions, Distribution, End};
use skyhop_chance::Stream;
use skyhop_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// Transfers from client to server with random arrivals.
#[derive(Debug)]
pub struct Transfers {
    size: Distribution,
    between: Distribution,
    limit: Option<u64>,
    arrivals: Stream,
    sizes: Stream,
    next: Option<Time>,
    open: BTreeMap<u32, Under>,
    completions: Completions,
    opened: u32,
    actions: VecDeque<Action>,
}

/// A transfer in progress.
#[derive(Debug)]
struct Under {
    started: Time,
    size: u64,
    left: u64,
}

/// Largest number of simultaneous transfers, limited by ports; later arrivals are refused.
const MOST_OPEN: usize = 40_000;

impl Transfers {
    /// Transfers of `size` bytes with a mean rate of `per_s` per second, at most `limit` of them.
    pub fn new(
        size: Distribution,
        per_s: f64,
        limit: Option<u64>,
        mut stream: impl FnMut(&str) -> Stream,
    ) -> Self {
        Self {
            size,
            between: Distribution::Exponential { mean: 1.0 / per_s },
            limit,
            arrivals: stream("arrivals"),
            sizes: stream("sizes"),
            next: None,
            open: BTreeMap::new(),
            completions: Completions::default(),
            opened: 0,
            actions: VecDeque::new(),
        }
    }

    /// The completed transfers.
    pub fn completions(&self) -> &Completions {
        &self.completions
    }

    /// Number of connections opened.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    pub(crate) fn start(&mut self, now: Time) {
        self.next = Some(now + span(self.between.draw(&mut self.arrivals)));
    }

    pub(crate) fn stop(&mut self, _: Time) {
        self.next = None;
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        while let Some(at) = self.next.filter(|at| *at <= now) {
            let size = self.size.draw_whole(&mut self.sizes);
            self.completions.started += 1;
            if self.open.len() < MOST_OPEN {
                let connection = self.opened;
                self.opened += 1;
                self.open.insert(connection, Under { started: at, size, left: size });
                self.actions.push_back(Action::Open { connection });
                self.actions.push_back(Action::Write { connection, end: End::Client, bytes: size });
                self.actions.push_back(Action::Shutdown { connection, end: End::Client });
            } else {
                self.completions.failed += 1;
            }
            let more = self.limit.is_none_or(|limit| self.completions.started < limit);
            let wait = span(self.between.draw(&mut self.arrivals));
            self.next = more.then(|| at + wait);
        }
    }

    pub(crate) fn handle(&mut self, now: Time, notice: AppNotice) {
        match notice {
            AppNotice::Delivered { connection, end: End::Server, bytes } => {
                let Some(under) = self.open.get_mut(&connection) else { return };
                under.left = under.left.saturating_sub(bytes);
                if under.left == 0 {
                    let Under { started, size, .. } = *under;
                    self.open.remove(&connection);
                    let took = now.since(started);
                    self.completions.all.push(Completion { started, took, bytes: size, files: 1 });
                }
            }
            AppNotice::PeerFinished { connection, end: End::Server } => {
                self.actions.push_back(Action::Shutdown { connection, end: End::Server });
            }
            AppNotice::Reset { connection, .. } if self.open.remove(&connection).is_some() => {
                self.completions.failed += 1;
            }
            _ => {}
        }
    }

    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    pub(crate) fn wants(&self) -> bool {
        !self.actions.is_empty()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.next
    }

    pub(crate) fn finished(&self) -> bool {
        self.next.is_none() && self.open.is_empty()
    }
}
