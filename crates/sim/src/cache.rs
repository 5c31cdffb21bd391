//! A splice that is a cache: the requests that it answers, and the part of the server that it takes over.
//!
//! Follows HT 4.3.1: a miss is fetched over a separate connection, which splits the path.
//! Differs: a hit is drawn with one probability for all requests, and the application's server model produces the reply.
//! Leaves out the contents, lifetime and validity of entries.

use skyhop_chance::Stream;
use skyhop_splice::{Side, Splice};
use skyhop_traffic::{Action, End};
use skyhop_units::Time;
use std::collections::VecDeque;

/// A cache's state for one connection.
pub(crate) struct Cache {
    hit_ratio: f64,
    chance: Stream,
    /// Lengths of requests that the client has written and that are undecided.
    requests: VecDeque<u64>,
    /// Outcome drawn for the first of them.
    drawn: Option<bool>,
    /// For each request that is decided and not answered, true if the answer comes from the cache.
    here: VecDeque<bool>,
    /// Bytes of replies that the server has been asked to send.
    expected: u64,
}

/// A cache's decision on a request.
pub(crate) enum Decision {
    /// A hit: the cache answers, and has removed this many bytes of the request.
    Hit(u64),
    /// The action continues to the application's own end.
    Miss,
}

/// Effect of a cache on an application's action.
pub(crate) struct Diverted {
    /// True if the splice has something to do.
    pub touched: bool,
    /// True if the whole action was diverted, so that nothing is left for the application's own end.
    pub done: bool,
}

impl Cache {
    pub fn new(hit_ratio: f64, chance: Stream) -> Self {
        Self { hit_ratio, chance, requests: VecDeque::new(), drawn: None, here: VecDeque::new(), expected: 0 }
    }

    /// Decides on the next request, once it is complete.
    pub fn decide(&mut self, now: Time, splice: &mut Splice) -> Option<Decision> {
        let length = *self.requests.front()?;
        if splice.waiting() < length {
            return None;
        }
        let hit = *self.drawn.get_or_insert_with(|| self.chance.happens(self.hit_ratio));
        // Replies keep the order of their requests: replies due from others come first.
        let owed = self.here.contains(&false);
        if hit && (owed || splice.stats().moved[Side::Server as usize] < self.expected) {
            return None;
        }
        self.requests.pop_front();
        self.drawn = None;
        self.here.push_back(hit);
        Some(match hit {
            true => Decision::Hit(splice.consume(now, length)),
            false => {
                splice.forward(now, length);
                Decision::Miss
            }
        })
    }

    /// Passes an application's action through the cache before it reaches an end.
    pub fn divert(&mut self, now: Time, action: &Action, splice: &mut Splice) -> Diverted {
        let mut diverted = Diverted { touched: false, done: false };
        match *action {
            Action::Write { end: End::Client, bytes, .. } => self.requests.push_back(bytes),
            Action::Write { end: End::Server, bytes, .. } if self.here.pop_front() == Some(true) => {
                splice.answer(now, bytes);
                diverted = Diverted { touched: true, done: true };
            }
            Action::Write { end: End::Server, bytes, .. } => self.expected += bytes,
            Action::Shutdown { end: End::Server, .. } | Action::StopWriting { end: End::Server, .. } => {
                splice.finish_answers(now);
                diverted.touched = true;
            }
            _ => {}
        }
        diverted
    }
}
