//! The silence of the peer: how long it has sent nothing, and how long nothing has progressed.
//!
//! Follows docs/stp.md §5: a connection is given up after 120 s without progress, and LINGER lasts several of the peer's intervals.
//! Differs from TCP's timeout of the user: time in which the peer has nothing to answer does not count.
//! Leaves out the conditions under which this end waits for the peer (`connection`).

use super::config::Config;
use skyhop_units::{Span, Time};

/// Delay of a timer from which on the host has slept, or its clock has jumped, and the time for which the peer is then waited for.
const OVERSLEPT: Span = Span::from_secs(5);
const ONCE_MORE: Span = Span::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct PeerSilence {
    progress_at: Time,
    /// True if this end waited for the peer when its timers were last set.
    waited: bool,
    /// Time of the last packet from the peer.
    heard_at: Time,
    /// The silence before that packet.
    interval: Span,
}

impl PeerSilence {
    /// Records progress, from which on the silence counts.
    pub fn progress(&mut self, now: Time) {
        self.progress_at = now;
    }

    /// Records a packet from the peer.
    pub fn heard(&mut self, now: Time) {
        (self.heard_at, self.interval) = (now, now.since(self.heard_at));
    }

    /// Records that this end waits for the peer, or does not. Time in which the peer had nothing to answer does not count as its silence.
    pub fn wait(&mut self, now: Time, waits: bool) {
        let waited = std::mem::replace(&mut self.waited, waits);
        if waits && !waited {
            self.progress_at = now;
        }
    }

    /// Time at which a peer that is waited for is given up.
    pub fn ends_at(&self, config: &Config) -> Time {
        self.progress_at + config.silence
    }

    /// Returns true if the host slept past the end of the silence, in which nothing was asked: the peer is asked once more.
    pub fn overslept(&mut self, config: &Config, now: Time) -> bool {
        let slept = now.since(self.ends_at(config)) >= OVERSLEPT;
        if slept {
            self.progress_at = (now + ONCE_MORE).before(config.silence);
        }
        slept
    }

    /// Returns true if nothing was heard for three timeouts and for three times the interval before.
    pub fn is_quiet(&self, now: Time, timeout: Span) -> bool {
        now.since(self.heard_at).as_nanos() / 3 >= self.interval.max(timeout).as_nanos()
    }

    /// Time for which a closed connection answers. A peer that has backed off repeats its END late: several of its intervals are waited
    /// for.
    pub fn linger(&self, config: &Config) -> Span {
        let silences = Span::from_nanos(self.interval.as_nanos().saturating_mul(8));
        silences.min(config.silence).max(config.linger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    /// docs/stp.md §5: eight times the peer's last interval, 30 s at least and 120 s at most.
    #[test]
    fn linger_lasts_eight_intervals() {
        let (mut silence, config) = (PeerSilence::default(), Config::default());
        let mut now = 0;
        for (interval, linger) in [(1, 30), (5, 40), (60, 120), (2, 30)] {
            now += interval;
            silence.heard(at(now));
            assert_eq!(silence.linger(&config), Span::from_secs(linger));
        }
    }

    #[test]
    fn a_peer_is_quiet_after_three_intervals_and_three_timeouts() {
        let mut silence = PeerSilence::default();
        silence.heard(at(4));
        assert!(
            !silence.is_quiet(at(15), Span::from_secs(1)) && silence.is_quiet(at(16), Span::from_secs(1))
        );
        assert!(
            !silence.is_quiet(at(18), Span::from_secs(5)) && silence.is_quiet(at(19), Span::from_secs(5))
        );
    }

    #[test]
    fn a_host_that_slept_asks_once_more() {
        let (mut silence, config) = (PeerSilence::default(), Config::default());
        silence.wait(at(10), true);
        assert!(!silence.overslept(&config, at(134)), "4 s are a busy host's");
        assert!(silence.overslept(&config, at(500)));
        assert_eq!(silence.ends_at(&config), at(520));
        assert!(!silence.overslept(&config, at(520)));
    }

    #[test]
    fn a_peer_with_nothing_to_answer_is_not_silent() {
        let (mut silence, config) = (PeerSilence::default(), Config::default());
        silence.wait(at(10), true);
        silence.wait(at(20), true);
        assert_eq!(silence.ends_at(&config), at(130));
        silence.wait(at(30), false);
        silence.wait(at(100), true);
        assert_eq!(silence.ends_at(&config), at(220));
        silence.progress(at(150));
        assert_eq!(silence.ends_at(&config), at(270));
    }
}
