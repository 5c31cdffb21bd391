//! A splice that is a cache: which requests it answers, and who then plays the server.
//!
//! Follows HT 4.3.1: what a cache does not hold is fetched over a connection of its own, which splits the path.
//! Differs: whether a request is held is drawn with one probability; the application's server answers in the cache's place.
//! Leaves out what is stored, for how long, and whether it is still good.

use skyhop_chance::Stream;
use skyhop_splice::{Side, Splice};
use skyhop_traffic::{Action, End};
use skyhop_units::Time;
use std::collections::VecDeque;

/// A cache's state for one connection.
pub(crate) struct Cache {
    hit_ratio: f64,
    chance: Stream,
    /// Lengths of the requests that the client has written and nobody has decided on.
    requests: VecDeque<u64>,
    /// Outcome drawn for the first of them.
    drawn: Option<bool>,
    /// For each request that is decided and not answered, true if the answer comes from the cache.
    here: VecDeque<bool>,
    /// Bytes of replies that the server has been given to send.
    expected: u64,
}

/// A cache's decision on a request.
pub(crate) enum Decision {
    /// A hit: the cache answers, and this many bytes of the request were taken out.
    Hit(u64),
    /// The action goes on to the application's own end.
    Miss,
}

/// Effect of a cache on an application's action.
pub(crate) struct Diverted {
    /// The splice has something to do.
    pub touched: bool,
    /// The whole action was diverted; nothing is left for the application's own end.
    pub done: bool,
}

impl Cache {
    pub fn new(hit_ratio: f64, chance: Stream) -> Self {
        Self { hit_ratio, chance, requests: VecDeque::new(), drawn: None, here: VecDeque::new(), expected: 0 }
    }

    /// Decides on the next request, if it is all there.
    pub fn decide(&mut self, now: Time, splice: &mut Splice) -> Option<Decision> {
        let length = *self.requests.front()?;
        if splice.waiting() < length {
            return None;
        }
        let hit = *self.drawn.get_or_insert_with(|| self.chance.happens(self.hit_ratio));
        // Replies keep the order of their requests: what others owe comes first.
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

    /// Shows an application's action to the cache before it reaches an end.
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
