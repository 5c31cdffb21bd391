//! Attempts of this host to open associations: their first packets, and when they are sent again.
//!
//! Follows TCP's SYN for the repetition, with intervals that double twice.
//! Differs: unauthenticated evidence against an attempt counts once for each first packet that was sent.
//! Leaves out the association that an answer opens (`associations`).

use crate::cookie::COOKIE_LEN;
use crate::handshake::{Initiator, RefusalReason, Secrets, parse_cookie, parse_refusal};
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Reason for which an association was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssociationFailure {
    /// Refused by the peer, for this reason.
    Refused(RefusalReason),
    /// The peer's host reports that nothing listens at the address.
    Unreachable,
    /// The peer answers in another protocol.
    NotStp,
    /// There was no answer.
    NoAnswer,
}

impl fmt::Display for AssociationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssociationFailure::Refused(reason) => write!(f, "refused: {reason}"),
            AssociationFailure::Unreachable => f.write_str("nothing listens at that address and port"),
            AssociationFailure::NotStp => {
                f.write_str("the service at that address and port does not use this protocol")
            }
            AssociationFailure::NoAnswer => f.write_str(
                "no answer: no such host, a firewall in between, or no \"skyhop stp serve\" at that port",
            ),
        }
    }
}

impl AssociationFailure {
    /// The kind of error that the application sees.
    pub(crate) fn kind(self) -> io::ErrorKind {
        match self {
            AssociationFailure::Refused(_) => io::ErrorKind::PermissionDenied,
            AssociationFailure::Unreachable => io::ErrorKind::ConnectionRefused,
            AssociationFailure::NotStp => io::ErrorKind::InvalidData,
            AssociationFailure::NoAnswer => io::ErrorKind::TimedOut,
        }
    }
}

/// Number of hints by which an attempt fails.
const HINTS: u32 = 3;
/// Number of first packets without an answer after which the application is told.
const ASKED_BEFORE_NOTICE: u32 = 3;
/// Interval after a hint at which the first packet is sent again.
const HINT_INTERVAL: Span = Span::from_millis(200);

/// An attempt.
struct Attempt {
    initiator: Initiator,
    to: SocketAddr,
    /// First packets sent since the beginning, or since the peer asked for a cookie.
    tries: u32,
    /// First packets sent in all.
    sent: u32,
    /// The latest hint from an unauthenticated packet.
    hint: Option<AssociationFailure>,
    /// The number of hints, at most one for each first packet that was sent. A single one proves nothing, so the attempt continues for a
    /// while.
    hints: u32,
    /// True if the peer asked for a cookie.
    asked: bool,
    send_at: Time,
    /// True if the application knows that there is no answer yet.
    told: bool,
    /// Time at which the attempt fails.
    until: Time,
}

impl Attempt {
    /// Records a hint. Returns true if there are now enough of them to give up.
    fn note(&mut self, why: AssociationFailure) -> bool {
        // Copies of one answer to one packet are no more certain than it is.
        self.hints = (self.hints + 1).min(self.sent);
        self.hint = Some(why);
        self.hints >= HINTS
    }

    /// Takes a cookie for the next first packet.
    fn take_cookie(&mut self, cookie: [u8; COOKIE_LEN]) {
        self.initiator.take_cookie(cookie);
        if !std::mem::replace(&mut self.asked, true) {
            // The host is there and answered properly; only once, since a cookie is not authenticated.
            self.tries = 0;
        }
    }

    /// Returns true once, if so many first packets have had no answer that the application is told.
    fn is_worth_a_notice(&mut self) -> bool {
        self.sent > ASKED_BEFORE_NOTICE && self.hint.is_none() && !std::mem::replace(&mut self.told, true)
    }
}

/// The act of an attempt that is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AttemptStep {
    /// Its first packet is sent.
    Send {
        /// Address of the peer.
        to: SocketAddr,
        /// The first packet.
        packet: Vec<u8>,
        /// True if the application is to be told that there is no answer yet.
        unanswered: bool,
    },
    /// It has failed, and is over.
    Fail(u32, AssociationFailure),
}

/// The attempts of a host, by the number reserved for the association.
pub(crate) struct Attempts {
    by_id: BTreeMap<u32, Attempt>,
    /// Times at which attempts are due.
    due: BTreeSet<(Time, u32)>,
    by_target: BTreeMap<SocketAddr, BTreeSet<u32>>,
    /// The ephemeral keys of their first packets.
    ephemeral: BTreeSet<[u8; 32]>,
    /// Interval after which the first packet is sent again.
    interval: Span,
    /// Time after which an attempt fails.
    patience: Span,
}

impl Attempts {
    /// No attempts; the first packet of each is sent again after `interval` at first, and for as long as `patience`.
    pub fn new(interval: Span, patience: Span) -> Self {
        Attempts {
            by_id: BTreeMap::new(),
            due: BTreeSet::new(),
            by_target: BTreeMap::new(),
            ephemeral: BTreeSet::new(),
            interval,
            patience,
        }
    }

    /// Begins an attempt, which is due at once.
    pub fn begin(&mut self, now: Time, id: u32, initiator: Initiator, to: SocketAddr) {
        self.ephemeral.insert(initiator.ephemeral());
        self.by_target.entry(to).or_default().insert(id);
        self.due.insert((now, id));
        let attempt = Attempt {
            initiator,
            to,
            tries: 0,
            sent: 0,
            hint: None,
            hints: 0,
            asked: false,
            told: false,
            send_at: now,
            until: now + self.patience,
        };
        self.by_id.insert(id, attempt);
    }

    /// Ends an attempt.
    pub fn end(&mut self, id: u32) {
        let Some(attempt) = self.by_id.remove(&id) else { return };
        self.due.remove(&(attempt.send_at, id));
        self.ephemeral.remove(&attempt.initiator.ephemeral());
        if let Some(ids) = self.by_target.get_mut(&attempt.to) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_target.remove(&attempt.to);
            }
        }
    }

    pub fn contains(&self, id: u32) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Returns true for an attempt at this address.
    pub fn is_at(&self, id: u32, to: SocketAddr) -> bool {
        self.by_id.get(&id).is_some_and(|attempt| attempt.to == to)
    }

    /// The attempts at an address.
    pub fn at(&self, to: SocketAddr) -> impl Iterator<Item = u32> + use<'_> {
        self.by_target.get(&to).into_iter().flatten().copied()
    }

    /// Returns true for an ephemeral key of this host's own first packets.
    pub fn own(&self, ephemeral: &[u8; 32]) -> bool {
        self.ephemeral.contains(ephemeral)
    }

    /// The attempt whose first packet to this address begins like `quote`.
    pub fn that_sent(&self, to: SocketAddr, quote: &[u8]) -> Option<u32> {
        self.at(to).find(|id| self.by_id.get(id).is_some_and(|attempt| attempt.initiator.begins(quote)))
    }

    /// Finishes an attempt by the second message of Noise: returns the peer's index and the secrets. `None` if the message was not made
    /// with the keys; the attempt then continues.
    pub fn finish(&mut self, id: u32, noise: &[u8]) -> Option<(u32, Secrets)> {
        let finished = self.by_id.get_mut(&id)?.initiator.finish(noise)?;
        self.end(id);
        Some(finished)
    }

    /// Handles a demand of a cookie: the next first packet of an attempt has it, and is due at once. Returns false if it is no answer to an
    /// attempt at this address.
    pub fn handle_cookie(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> bool {
        let demand = parse_cookie(datagram).filter(|(id, echo, _)| self.echoes(*id, from, echo));
        let Some((id, _, cookie)) = demand else { return false };
        self.take_cookie(now, id, cookie);
        true
    }

    fn take_cookie(&mut self, now: Time, id: u32, cookie: [u8; COOKIE_LEN]) {
        let Some(attempt) = self.by_id.get_mut(&id) else { return };
        attempt.take_cookie(cookie);
        self.schedule(id, now);
    }

    /// The attempt at this address that a packet refuses, and the reason.
    pub fn refused(&self, from: SocketAddr, datagram: &[u8]) -> Option<(u32, RefusalReason)> {
        let (id, echo, reason) = parse_refusal(datagram)?;
        self.echoes(id, from, echo).then_some((id, reason))
    }

    /// Returns true for an attempt at this address with an ephemeral key that begins with `echo`.
    fn echoes(&self, id: u32, to: SocketAddr, echo: &[u8]) -> bool {
        self.by_id.get(&id).is_some_and(|attempt| attempt.to == to && attempt.initiator.echoes(echo))
    }

    /// Handles unproven evidence against an attempt. A packet altered on the way is refused too, so the first packet is sent again before
    /// the evidence counts. Returns true if there was enough of it, and the attempt is over.
    pub fn hint(&mut self, now: Time, id: u32, why: AssociationFailure) -> bool {
        let Some(attempt) = self.by_id.get_mut(&id) else { return false };
        if attempt.note(why) {
            self.end(id);
            return true;
        }
        if attempt.send_at > now + HINT_INTERVAL {
            self.schedule(id, now + HINT_INTERVAL);
        }
        false
    }

    /// Sends the next first packet of an attempt at `at`.
    fn schedule(&mut self, id: u32, at: Time) {
        let Some(attempt) = self.by_id.get_mut(&id) else { return };
        self.due.remove(&(attempt.send_at, id));
        attempt.send_at = at;
        self.due.insert((at, id));
    }

    /// The act of the next attempt that is due, until there is none.
    pub fn handle_timeout(&mut self, now: Time) -> Option<AttemptStep> {
        let (_, id) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        let attempt = self.by_id.get_mut(&id)?;
        if now >= attempt.until {
            let why = attempt.hint.unwrap_or(AssociationFailure::NoAnswer);
            self.end(id);
            return Some(AttemptStep::Fail(id, why));
        }
        let wait = self.interval * (1 << attempt.tries.min(2));
        attempt.tries += 1;
        attempt.sent += 1;
        let at = (now + wait).min(attempt.until);
        let (to, packet) = (attempt.to, attempt.initiator.packet());
        let unanswered = attempt.is_worth_a_notice();
        self.schedule(id, at);
        Some(AttemptStep::Send { to, packet, unanswered })
    }

    /// Time at which one is due next.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::{Entropy, SystemEntropy};
    use crate::keys::Keys;
    use crate::seal::Cipher;
    use std::sync::Arc;

    const START: Time = Time::from_nanos(1_000_000_000);

    fn peer() -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], 1))
    }

    /// An attempt with the number 7, whose first packet is sent after 1, 2, 4, 4 ... seconds, for a minute.
    fn one() -> Attempts {
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let initiator =
            Initiator::new(&Keys::generate_shared(), Cipher::default(), 7, &entropy).expect("keys");
        let mut attempts = Attempts::new(Span::from_secs(1), Span::from_secs(60));
        attempts.begin(START, 7, initiator, peer());
        attempts
    }

    /// Serves the next timer: returns its time in seconds, and the act.
    fn next(attempts: &mut Attempts) -> (u64, AttemptStep) {
        let at = attempts.poll_timeout().expect("an attempt");
        assert_eq!(attempts.handle_timeout(at.before(Span::from_nanos(1))), None);
        let step = attempts.handle_timeout(at).expect("it is due");
        (at.since(START).as_nanos() / 1_000_000_000, step)
    }

    #[test]
    fn a_first_packet_is_repeated_with_a_notice_and_the_attempt_fails_at_last() {
        let mut attempts = one();
        let mut times = Vec::new();
        let failed = loop {
            match next(&mut attempts) {
                (at, AttemptStep::Send { to, unanswered, .. }) => {
                    assert_eq!(to, peer());
                    times.push((at, unanswered));
                }
                (at, AttemptStep::Fail(id, why)) => break (at, id, why),
            }
        };
        assert_eq!(times[..5], [(0, false), (1, false), (3, false), (7, true), (11, false)]);
        assert_eq!((times.len(), times.last()), (17, Some(&(59, false))));
        assert_eq!(times.iter().filter(|(_, unanswered)| *unanswered).count(), 1);
        assert_eq!(failed, (60, 7, AssociationFailure::NoAnswer));
        assert!(!attempts.contains(7) && attempts.at(peer()).next().is_none());
        assert_eq!(attempts.poll_timeout(), None);
    }

    /// Evidence counts once for each packet that was sent, makes the next one leave sooner, and three pieces of it end the attempt.
    #[test]
    fn an_attempt_ends_by_as_many_hints_as_packets() {
        let (mut attempts, why) = (one(), AssociationFailure::Unreachable);
        let mut now = START;
        for _ in 0..2 {
            assert!(matches!(attempts.handle_timeout(now), Some(AttemptStep::Send { .. })));
            assert!((0..9).all(|_| !attempts.hint(now, 7, why)));
            assert_eq!(attempts.poll_timeout(), Some(now + HINT_INTERVAL));
            now += HINT_INTERVAL;
        }
        assert!(matches!(attempts.handle_timeout(now), Some(AttemptStep::Send { .. })));
        assert!(attempts.hint(now, 7, why) && !attempts.contains(7) && !attempts.hint(now, 7, why));
    }

    #[test]
    fn a_cookie_begins_the_intervals_again_only_once() {
        let mut attempts = one();
        let times: Vec<u64> = (0..8)
            .map(|round| {
                let (at, step) = next(&mut attempts);
                assert!(matches!(step, AttemptStep::Send { .. }));
                if round == 2 || round == 5 {
                    attempts.take_cookie(START + Span::from_secs(at), 7, [1; COOKIE_LEN]);
                }
                at
            })
            .collect();
        assert_eq!(times, [0, 1, 3, 3, 4, 6, 6, 10]);
    }

    #[test]
    fn an_attempt_is_known_by_its_address_and_its_ephemeral_key() {
        let mut attempts = one();
        let (_, AttemptStep::Send { packet, .. }) = next(&mut attempts) else { panic!("it is sent") };
        let other = SocketAddr::from(([192, 0, 2, 1], 2));
        let echo = &packet[8..16];
        assert!(attempts.is_at(7, peer()) && !attempts.is_at(7, other) && !attempts.is_at(8, peer()));
        assert!(attempts.echoes(7, peer(), echo) && !attempts.echoes(7, other, echo));
        assert_eq!(
            (attempts.that_sent(peer(), &packet), attempts.that_sent(other, &packet)),
            (Some(7), None)
        );
        assert_eq!(attempts.that_sent(peer(), &packet[..15]), None, "without the key");
        assert!(attempts.own(&packet[8..40].try_into().expect("of this length")));
        assert!(attempts.finish(7, &[0; 51]).is_none() && attempts.contains(7), "made without the keys");
    }
}
