//! Timers of a connection: the timeouts of answers, from the round-trip time.
//!
//! Follows RFC 6298 for the timeout, and docs/stp.md §5 and §6.3 for its growth.
//! Differs: POLLs to a silent peer are soon no more apart, whatever an answer may take.
//! Leaves out the timers of BGN and END, which belong to their exchanges (`opening`, `closing`).

use super::config::Config;
use super::pace::SendPace;
use super::poll_timer::PollTimer;
use super::silence::PeerSilence;
use crate::tcp::Smoothed;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::Features;

/// Longest interval between packets to a silent peer; the plain format doubles its interval up to `rto_max`.
const RETRY_MOST: Span = Span::from_secs(3);
/// A silence is this many times as long as the interval between POLLs in it.
const SILENCE_PART: u64 = 4;

#[derive(Debug, Default)]
pub(super) struct Timers {
    smoothed: Smoothed,
    pub pace: SendPace,
    pub poll: PollTimer,
    pub silence: PeerSilence,
}

impl Timers {
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.srtt()
    }

    pub fn sample(&mut self, config: &Config, rtt: Span) {
        self.smoothed.add(rtt.max(config.granularity));
    }

    /// Timeout of an answer; it grows with each missing answer.
    fn patience(&self, config: &Config, backoff: u32) -> Span {
        // A queue may grow by more than the variation of a steady round-trip time.
        let rto = self.smoothed.patience(config.rto_min).unwrap_or(config.rto_initial);
        Span::from_nanos(rto.as_nanos().saturating_mul(1 << backoff.min(16))).min(config.rto_max)
    }

    /// Timeout before a BGN or END is repeated: shorter than an answer's timeout if that has become long.
    pub fn rto(&self, config: &Config, backoff: u32) -> Span {
        let patience = self.patience(config, backoff);
        // A few bytes every few seconds are no burden, and soon detect the end of an outage.
        if config.features == Features::PLAIN { patience } else { patience.min(self.retry_most(config)) }
    }

    fn retry_most(&self, config: &Config) -> Span {
        RETRY_MOST.max(self.patience(config, 0))
    }

    /// Timeout of the next POLL's answer.
    pub fn poll_patience(&self, config: &Config) -> Span {
        self.patience(config, self.poll.backoff())
    }

    /// Time after which the next POLL is repeated: a part of the silence, so that its end is detected within that part of its length.
    pub fn poll_rto(&self, config: &Config, now: Time) -> Span {
        if config.features == Features::PLAIN {
            return self.patience(config, self.poll.backoff());
        }
        let silence = self.poll.silent_since().map_or(Span::ZERO, |since| now.since(since));
        let part = Span::from_nanos(silence.as_nanos() / SILENCE_PART);
        part.max(self.patience(config, 0)).min(self.retry_most(config))
    }

    /// Returns true if nothing was heard for three timeouts and for three times the interval before. The peer may have no sample of
    /// the round-trip time.
    pub fn is_quiet(&self, config: &Config, now: Time) -> bool {
        self.silence.is_quiet(now, self.patience(config, 0).max(config.rto_initial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/stp.md §6.3: the interval doubles up to 3 s, or the first timeout if that is longer; in the plain format up to 60 s.
    #[test]
    fn a_silent_peer_is_asked_at_growing_intervals() {
        let seconds = |config: &Config, rtt: Option<u64>| {
            let mut timers = Timers::default();
            if let Some(rtt) = rtt {
                timers.sample(config, Span::from_secs(rtt));
            }
            [0, 1, 2, 3, 9].map(|backoff| timers.rto(config, backoff).as_nanos() / 1_000_000_000)
        };
        assert_eq!(seconds(&Config::default(), None), [1, 2, 3, 3, 3]);
        assert_eq!(seconds(&Config::default(), Some(2)), [6, 6, 6, 6, 6]);
        assert_eq!(seconds(&Config::plain(), None), [1, 2, 4, 8, 60]);
    }

    /// docs/stp.md §6.3: a quarter of the silence, at least the timeout and at most 3 s; in the plain format the interval doubles.
    #[test]
    fn a_silence_is_noticed_to_end_within_a_quarter_of_it() {
        let ms = |config: &Config, silence: u64| {
            let (mut timers, now) = (Timers::default(), Time::from_nanos(100_000_000_000));
            (0..20).for_each(|_| timers.sample(config, Span::from_millis(400)));
            let begun = Time::from_nanos((100_000 - silence) * 1_000_000);
            timers.poll.on_silence(begun, false);
            timers.poll.on_silence(now, false);
            timers.poll_rto(config, now).as_nanos() / 1_000_000
        };
        let config = Config::default();
        assert_eq!(
            [500, 2400, 4000, 11_000, 60_000].map(|silence| ms(&config, silence)),
            [600, 600, 1000, 2750, 3000]
        );
        assert_eq!([500, 4000].map(|silence| ms(&Config::plain(), silence)), [2400, 2400]);
    }

    /// The answer to a POLL may take longer than the interval after which it is repeated.
    #[test]
    fn an_answer_is_waited_for_longer_than_polls_are_apart() {
        let (mut timers, config) = (Timers::default(), Config::default());
        for _ in 0..3 {
            timers.poll.on_silence(Time::ZERO, false);
        }
        let both =
            [timers.poll_patience(&config), timers.poll_rto(&config, Time::from_nanos(60_000_000_000))];
        assert_eq!(both, [Span::from_secs(8), Span::from_secs(3)]);
    }
}
