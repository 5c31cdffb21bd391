//! Streams that nothing arrives in: what they are allowed beyond their data takes no memory from others.
//!
//! Credit cannot be taken back, so a connection that is kept open without use would hold, for ever, a part of the memory that it was
//! promised while it had data. Sums of what such connections may send are therefore larger than the memory (as with HTTP/2's and QUIC's
//! windows of streams); what arrives is still bounded by the credit of all streams together.
//! Leaves out the owner's reaction if many of them begin to send at once and are not read.

use skyhop_units::{Span, Time};

/// Time without data after which a stream is idle: three round trips of a geostationary path.
const IDLE_AFTER: Span = Span::from_secs(2);

/// The time, and when streams were last looked through.
#[derive(Debug, Default)]
pub(super) struct IdleClock {
    now: Time,
    looked: Time,
}

impl IdleClock {
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sets the time. Returns true if streams are to be looked through again.
    pub fn advance(&mut self, now: Time) -> bool {
        self.now = now;
        let due = now >= self.looked + IDLE_AFTER / 4;
        if due {
            self.looked = now;
        }
        due
    }

    /// True of a stream whose last data arrived at this time.
    pub fn is_idle(&self, arrived: Time) -> bool {
        self.now >= arrived + IDLE_AFTER
    }
}
