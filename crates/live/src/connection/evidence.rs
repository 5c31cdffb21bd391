//! Unproven evidence against one connection: refusals that anyone could have sent, and error reports of the network.
//!
//! Follows RFC 5927, by which ICMP alone ends no connection.
//! Differs: a report ends one that makes no progress for a while after it.
//! Leaves out the assignment of a report to its connections (`refusals`).

use super::failure::Failed;
use skyhop_units::{Span, Time};
use std::io;

/// Time without progress after a hint for which a connection continues.
const HINT_PATIENCE: Span = Span::from_secs(3);
/// Number of refusals that count.
const REFUSALS: u64 = 3;

/// A connection's progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headway {
    /// Bytes that the peer has acknowledged.
    pub acknowledged: u64,
    /// Bytes that it has not.
    pub outstanding: u64,
    /// Packets received.
    pub received: u64,
}

/// A hint of failure, and the connection's progress at that time.
#[derive(Debug)]
pub(crate) struct Hint {
    since: Time,
    before: Headway,
    failed: Failed,
}

impl Hint {
    /// The failure, if the connection has made no progress since. Packets that are too big are refuted by acknowledged data only,
    /// because small packets pass.
    pub fn confirmed(self, now: Headway) -> Option<Failed> {
        let stuck = if self.failed.kind() == io::ErrorKind::InvalidInput {
            now.acknowledged == self.before.acknowledged && now.outstanding > 0
        } else {
            now.received == self.before.received
        };
        stuck.then_some(self.failed)
    }
}

/// The evidence so far.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    refusals: u64,
    hint: Option<Hint>,
}

impl Evidence {
    /// Counts a refusal that a connection which has sent so many packets has received. Returns true once there are enough.
    pub fn count_refusal(&mut self, packets_sent: u64) -> bool {
        // Copies of one answer to one packet are no more certain than it is.
        self.refusals = (self.refusals + 1).min(packets_sent);
        self.refusals >= REFUSALS
    }

    /// Records an error report that packets do not arrive; a report before it has precedence.
    pub fn hint(&mut self, now: Time, before: Headway, failed: Failed) {
        self.hint.get_or_insert(Hint { since: now, before, failed });
    }

    /// Time at which the hint is to be judged.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.hint.as_ref().map(|hint| hint.since + HINT_PATIENCE)
    }

    /// The hint whose time has come.
    pub fn take_due(&mut self, now: Time) -> Option<Hint> {
        self.hint.take_if(|hint| now.since(hint.since) >= HINT_PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Headway = Headway { acknowledged: 10, outstanding: 5, received: 2 };

    fn hinted(kind: io::ErrorKind) -> Evidence {
        let mut evidence = Evidence::default();
        evidence.hint(Time::ZERO, BEFORE, Failed::new(kind, "the first"));
        evidence.hint(Time::ZERO + Span::from_secs(2), BEFORE, Failed::new(kind, "the second"));
        evidence
    }

    fn confirmed(kind: io::ErrorKind, now: Headway) -> bool {
        let hint = hinted(kind).take_due(Time::ZERO + HINT_PATIENCE).expect("it is due");
        hint.confirmed(now).is_some()
    }

    #[test]
    fn three_refusals_count_if_they_answer_three_packets() {
        let mut evidence = Evidence::default();
        assert!((0..100).all(|_| !evidence.count_refusal(2)));
        assert!(evidence.count_refusal(3));
        let mut evidence = Evidence::default();
        assert_eq!([(); 3].map(|()| evidence.count_refusal(9)), [false, false, true]);
    }

    #[test]
    fn the_first_hint_is_judged_once_after_its_time() {
        let mut evidence = hinted(io::ErrorKind::ConnectionRefused);
        let due = Time::ZERO + HINT_PATIENCE;
        assert_eq!(evidence.poll_timeout(), Some(due));
        assert!(evidence.take_due(Time::from_nanos(due.as_nanos() - 1)).is_none());
        let failed = evidence.take_due(due).and_then(|hint| hint.confirmed(BEFORE));
        assert_eq!(failed.map(|failed| failed.error().to_string()), Some("the first".into()));
        assert!(evidence.take_due(due).is_none() && evidence.poll_timeout().is_none());
    }

    #[test]
    fn a_packet_refutes_silence_and_only_acknowledged_data_refute_a_size() {
        let (silent, too_big) = (io::ErrorKind::ConnectionRefused, io::ErrorKind::InvalidInput);
        assert!(confirmed(silent, BEFORE) && confirmed(too_big, BEFORE));
        let heard = Headway { received: 3, ..BEFORE };
        assert!(!confirmed(silent, heard) && confirmed(too_big, heard));
        let acknowledged = Headway { acknowledged: 11, outstanding: 4, received: 3 };
        assert!(!confirmed(silent, acknowledged) && !confirmed(too_big, acknowledged));
        assert!(!confirmed(too_big, Headway { outstanding: 0, ..BEFORE }), "nothing waits");
    }
}
