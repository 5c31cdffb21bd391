//! The requests of a terminal, for a rate or a volume, computed from its queue and its arrivals.
//!
//! Follows OpenSAND's `DamaAgentRcsLegacy` and SNS3's `SatRequestManager` for the rate, with K = 1.
//! Differs from both: the constant assignment is subtracted from the rate, and a volume request excludes bytes that were requested but not
//! assigned yet, so that no byte is requested twice.
//! Leaves out the resolution of rates in messages (2 and 32 kbit/s), and requests by class of traffic.

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
    /// Time from a request to the first frame planned with it.
    response: Span,
    /// Bytes that had arrived by the last request.
    came: u64,
    /// Requested rates, bit/s, of the last `response`.
    pending: VecDeque<(Time, u64)>,
    /// True if the controller holds a rate that is not 0.
    holds: bool,
    /// Slots that were requested and not assigned yet.
    outstanding: u64,
}

impl Requester {
    /// A terminal that sends a request every `period`, and has its slots after `response`.
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

    /// Discards the requests to a former controller; `response` is that of the new one.
    pub fn restart(&mut self, response: Span) {
        self.pending.clear();
        (self.response, self.holds, self.outstanding) = (response, false, 0);
    }

    /// The request at `now`, for a queue with `waiting` bytes in which `came` bytes have arrived so far; `None` if there is none.
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

    /// Records the slots of a frame that begins.
    pub fn take(&mut self, assigned: &Assigned) {
        self.outstanding = self.outstanding.saturating_sub(u64::from(assigned.volume_based));
    }
}
