//! The requests of a terminal: a rate, or a volume, by what waits and what has come.
//!
//! Follows OpenSAND's `DamaAgentRcsLegacy` and SNS3's `SatRequestManager` for the rate, with K = 1.
//! Differs from both: the constant assignment is taken off the rate, and a volume is what waits beyond what has been requested and not
//! been given yet, so that nothing is asked for twice.
//! Leaves out the steps in which a message can say a rate (2 and 32 kbit/s), and requests by class of traffic.

use super::assignment::{Assigned, Request};
use super::{Categories, FrameShape, Law};
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// The requesting end of a terminal.
#[derive(Debug, Clone)]
pub struct Requester {
    law: Law,
    shape: FrameShape,
    categories: Categories,
    /// Time between requests.
    period: Span,
    /// Time from a request to the first frame that heeds it.
    response: Span,
    /// Bytes that had come by the last request.
    came: u64,
    /// Requested rates, bit/s, of the last `response`.
    pending: VecDeque<(Time, u64)>,
    /// True if the controller holds a rate that is not 0.
    holds: bool,
    /// Slots that were requested and have not been given.
    outstanding: u64,
}

impl Requester {
    /// A terminal that requests each `period`, and is answered after `response`.
    pub fn new(law: Law, shape: FrameShape, categories: Categories, period: Span, response: Span) -> Self {
        Self {
            law,
            shape,
            categories,
            period,
            response,
            came: 0,
            pending: VecDeque::new(),
            holds: false,
            outstanding: 0,
        }
    }

    /// Forgets what was requested, of a controller that is not in charge any more; `response` is the next one's.
    pub fn restart(&mut self, response: Span) {
        self.pending.clear();
        (self.response, self.holds, self.outstanding) = (response, false, 0);
    }

    /// The request at `now`, of a queue with `waiting` bytes in which `came` bytes have come so far; `None` for nothing to say.
    pub fn request(&mut self, now: Time, waiting: u64, came: u64) -> Option<Request> {
        let arrived = came - std::mem::replace(&mut self.came, came);
        if self.categories.rate_based.is_some() {
            return self.rate(now, waiting, arrived);
        }
        let most = self.shape.slots_of(self.categories.volume_based?.get());
        let wanted = self.shape.slots_of(waiting).saturating_sub(self.outstanding);
        let wanted = wanted.min(most.saturating_sub(self.outstanding));
        self.outstanding += wanted;
        (wanted > 0).then_some(Request::Volume(wanted))
    }

    fn rate(&mut self, now: Time, waiting: u64, arrived: u64) -> Option<Request> {
        let most = self.categories.rate_based?.as_bps();
        while self.pending.front().is_some_and(|(at, _)| *at + self.response <= now) {
            self.pending.pop_front();
        }
        let asked: f64 = self.pending.iter().map(|(_, bps)| *bps as f64).sum();
        let (period, response) = (self.period.as_secs_f64(), self.response.as_secs_f64());
        let (arrived, waiting) = (8.0 * arrived as f64, 8.0 * waiting as f64);
        let backlog = match self.law {
            Law::OpenSand => (waiting - asked * period) / response,
            Law::Sns3 => (waiting - arrived - asked * period) / period,
        };
        let constant = self.categories.constant.map_or(0.0, |rate| rate.as_bps() as f64);
        let bps = (arrived / period + backlog.max(0.0) - constant).clamp(0.0, most as f64).ceil() as u64;
        self.pending.push_back((now, bps));
        let tells = bps > 0 || self.holds;
        self.holds = bps > 0;
        tells.then_some(Request::Rate(bps))
    }

    /// Takes the slots of a frame that begins.
    pub fn take(&mut self, assigned: &Assigned) {
        self.outstanding = self.outstanding.saturating_sub(u64::from(assigned.volume_based));
    }
}
