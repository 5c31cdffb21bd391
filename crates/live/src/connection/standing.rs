//! The standing of a connection with the application, and its next turn with the host's thread.
//!
//! Follows TCP's queue of connections to be accepted.
//! Differs: a connection that the application has released continues until the peer has all data.

use skyhop_units::Time;

/// Stages of a connection on its way to the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acceptance {
    /// Not shown to the application yet.
    Unlisted,
    /// In the queue of those to be accepted.
    Listed,
    /// With the application, which reads its data.
    Taken,
}

/// The standing with the application.
#[derive(Debug)]
pub(crate) struct Standing {
    by_peer: bool,
    acceptance: Acceptance,
    released: bool,
}

impl Standing {
    /// The standing of a connection that the application opens.
    pub fn opened_here() -> Self {
        Standing { by_peer: false, acceptance: Acceptance::Taken, released: false }
    }

    /// The standing of a connection that the peer has opened.
    pub fn opened_by_peer() -> Self {
        Standing { by_peer: true, acceptance: Acceptance::Unlisted, released: false }
    }

    /// Puts the connection among those to be accepted. Returns false if it was among them before.
    pub fn list(&mut self) -> bool {
        let first = self.acceptance == Acceptance::Unlisted;
        if first {
            self.acceptance = Acceptance::Listed;
        }
        first
    }

    /// The application has accepted the connection.
    pub fn take(&mut self) {
        self.acceptance = Acceptance::Taken;
    }

    /// The application has let go of the connection, or will never have it.
    pub fn release(&mut self) {
        self.released = true;
    }

    /// Returns true if the peer has opened the connection.
    pub fn is_by_peer(&self) -> bool {
        self.by_peer
    }

    /// Returns true if the application has, or had, the connection.
    pub fn is_taken(&self) -> bool {
        self.acceptance == Acceptance::Taken
    }

    /// Returns true if the application wants no more of the connection.
    pub fn is_released(&self) -> bool {
        self.released
    }
}

/// The next turn of a connection, as far as the application knows of it.
#[derive(Debug, Default)]
pub(crate) struct NextTurn {
    /// True if the application has asked for it.
    asked: bool,
    /// Time of it without that.
    timer: Option<Time>,
}

impl NextTurn {
    /// Asks for a turn at once. Returns false if it was asked for before.
    pub fn ask(&mut self) -> bool {
        !std::mem::replace(&mut self.asked, true)
    }

    /// The turn begins.
    pub fn begin(&mut self) {
        self.asked = false;
    }

    /// Sets the time of the next one.
    pub fn schedule(&mut self, at: Option<Time>) {
        self.timer = at;
    }

    /// Returns true if the machine has something to do before the scheduled time.
    pub fn is_too_late(&self, due: Option<Time>) -> bool {
        due.is_some_and(|at| self.timer.is_none_or(|set| at < set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_of_a_peer_is_listed_once() {
        let mut standing = Standing::opened_by_peer();
        assert!(standing.is_by_peer() && !standing.is_taken());
        assert!(standing.list() && !standing.list() && !standing.is_taken());
        standing.take();
        assert!(standing.is_taken() && !standing.list() && standing.is_taken());
        standing.release();
        assert!(standing.is_taken() && standing.is_released());
    }

    #[test]
    fn a_turn_is_asked_for_once_until_it_begins() {
        let mut turn = NextTurn::default();
        assert!(turn.ask() && !turn.ask());
        turn.begin();
        assert!(turn.ask());
    }

    #[test]
    fn only_an_earlier_time_makes_the_schedule_too_late() {
        let at = |ns| Some(Time::from_nanos(ns));
        let mut turn = NextTurn::default();
        assert!(turn.is_too_late(at(5)) && !turn.is_too_late(None));
        turn.schedule(at(5));
        assert_eq!([at(4), at(5), None].map(|due| turn.is_too_late(due)), [true, false, false]);
    }
}
