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
/// Factor over the smoothed round trip from which an answer that had been given up has waited for the end of an outage.
const OUTAGE: u64 = 8;
/// A silence is this many times as long as the interval between POLLs in it.
const SILENCE_PART: u64 = 4;

#[derive(Debug, Default)]
pub(super) struct Timers {
    smoothed: Smoothed,
    /// End of the last outage: answers to what left before have waited for it.
    resumed_at: Time,
    pub pace: SendPace,
    pub poll: PollTimer,
    pub silence: PeerSilence,
}

impl Timers {
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.srtt()
    }

    /// Adds the round trip of a POLL, which had been given up if it is `late`. If that is much longer than those before, it waited for the
    /// end of an outage, as did all that left before now: nothing is known of the round trip then.
    pub fn sample(&mut self, config: &Config, now: Time, rtt: Span, late: bool) {
        if config.features != Features::PLAIN {
            let outlasts = match self.srtt() {
                Some(srtt) => rtt.as_nanos() > srtt.as_nanos().saturating_mul(OUTAGE),
                // The path may be as long: then the next answer tells.
                None => rtt > RETRY_MOST && self.resumed_at == Time::ZERO,
            };
            if late && rtt > config.rto_initial && outlasts {
                (self.smoothed, self.resumed_at) = (Smoothed::default(), now);
            }
            if now.as_nanos().saturating_sub(rtt.as_nanos()) < self.resumed_at.as_nanos() {
                return;
            }
        }
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
                timers.sample(config, Time::ZERO + Span::from_secs(rtt), Span::from_secs(rtt), false);
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
            (0..20).for_each(|_| timers.sample(config, now, Span::from_millis(400), false));
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

    /// docs/stp.md §6.3: answers that waited for the end of an outage say nothing of the round trip.
    #[test]
    fn round_trips_of_an_outage_are_no_samples() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let srtt_ms = |config: &Config, answers: &[(u64, u64, bool)]| {
            let mut timers = Timers::default();
            (0..20).for_each(|_| timers.sample(config, at(1000), Span::from_millis(40), false));
            for &(now, rtt, late) in answers {
                timers.sample(config, at(now), Span::from_millis(rtt), late);
            }
            timers.srtt().map(|srtt| srtt.as_nanos() / 1_000_000)
        };
        let (config, plain) = (Config::default(), Config::plain());
        // The last POLL before the end had not been given up, but has waited, too.
        let burst = [(40_000, 39_000, true), (40_001, 27_000, true), (40_002, 900, false)];
        assert_eq!(srtt_ms(&config, &burst), None);
        let after = [&burst[..], &[(40_060, 50, false)]].concat();
        assert_eq!(srtt_ms(&config, &after), Some(50));
        assert!(srtt_ms(&plain, &after).is_some_and(|ms| ms > 5000));
        // Answers to what left since tell of a path that has become as long.
        let longer = [&burst[..], &[(45_100, 5000, true), (45_200, 5000, false)]].concat();
        assert_eq!(srtt_ms(&config, &longer), Some(5000));
        // Nor was an outage of the first packets the path, unless the next answers take as long.
        let mut timers = Timers::default();
        for (now, rtt, srtt) in [(9000, 8900, None), (9001, 5000, None), (17_000, 7900, Some(7900))] {
            timers.sample(&config, at(now), Span::from_millis(rtt), true);
            assert_eq!(timers.srtt(), srtt.map(Span::from_millis));
        }
        // A step that is no outage counts.
        assert!(srtt_ms(&config, &[(2000, 600, true)]).is_some_and(|ms| ms > 100));
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
