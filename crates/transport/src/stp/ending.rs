//! The ENDs of both directions of a connection, and the answers to them.
//!
//! Follows docs/stp.md §5: an END is repeated by its timer until an ENDAK comes, and each direction ends separately.
//! Differs: an END carries the ENDAK for the peer's one, if that is in order. So the answer to it proves that the peer knows the end
//! of both directions, as the last acknowledgment of TCP does (RFC 9293 §3.6).

/// The state of the ends of both directions.
#[derive(Debug, Default)]
pub(super) struct EndExchange {
    /// Number of ENDs sent.
    pub sent: u32,
    /// True if one of them did not carry the answer to the peer's.
    bare: bool,
    /// True if the peer has acknowledged everything and the END.
    pub acked: bool,
    /// True if the peer's END was complete while this direction's waited for its answer.
    pub crossed: bool,
    /// True if the peer is known to have the answer to its own END.
    pub peer_knows: bool,
    /// True if an ENDAK is to be sent.
    pub answer_due: bool,
    /// True if the peer's END has been answered at least once.
    answered: bool,
    /// True if the peer's END waits for [`super::Connection::release_end`].
    pub held: bool,
    /// True if everything up to the peer's END is in order, and that END is not held back.
    pub peer_finished: bool,
}

impl EndExchange {
    /// Returns true if this direction's END waits for its ENDAK.
    pub fn waits(&self) -> bool {
        self.sent > 0 && !self.acked
    }

    /// Returns true if both directions are closed and answered.
    pub fn both(&self) -> bool {
        self.acked && self.answered
    }

    /// Records an END of this direction. Returns true if it is to carry an ENDAK.
    pub fn send(&mut self) -> bool {
        self.sent += 1;
        self.bare |= !self.peer_finished;
        self.answered |= self.peer_finished;
        self.peer_finished
    }

    /// Answers the peer's END once more if everything up to it is in order: an ENDAK may have been lost.
    pub fn ask(&mut self, complete: bool) {
        self.answer_due |= complete && !self.held;
    }

    /// Returns true if the peer's END is in order and is held back.
    pub fn holds_back(&self, complete: bool) -> bool {
        self.held && !self.peer_finished && complete
    }

    /// Handles the peer's END if everything up to it is in order (`complete`). Returns true the first time, unless it is held back.
    pub fn finish_peer(&mut self, complete: bool) -> bool {
        let finishes = complete && !self.held && !self.peer_finished;
        if finishes {
            (self.peer_finished, self.answer_due) = (true, true);
            self.crossed = self.waits();
        }
        finishes
    }

    /// Takes the ENDAK that is due, if one is.
    pub fn take_answer(&mut self) -> bool {
        let due = std::mem::take(&mut self.answer_due);
        self.answered |= due;
        due
    }

    /// Records the peer's ENDAK. Returns true if it is the first one.
    pub fn on_answer(&mut self) -> bool {
        let first = self.waits();
        self.acked |= first;
        self.peer_knows |= first && !self.bare;
        first
    }
}
