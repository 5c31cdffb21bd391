//! The timer of POLLs: several in a round trip while answers come, and fewer in a silence.
//!
//! Follows HT §5.3 (POLLs by bursts, then by time) and docs/stp.md §6.3.
//! Differs: an unanswered POLL is repeated at growing intervals, as TCP's timeout backs off, and first as a probe (RFC 8985 §7).
//! Leaves out the data that carry a POLL (`transmit`), and the POLLs that may be answered (`polls`).

use super::config::Config;
use super::polls::OutstandingPolls;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::Features;

/// Smallest interval between POLLs for any round-trip time and configuration; without it, a path without delay would see endless
/// POLLs.
const POLL_INTERVAL_LEAST: Span = Span::from_millis(1);
/// Round trips after which data in flight are asked about again, before that is a timeout.
const PROBE: u64 = 2;
/// POLLs that follow a timeout's together, and the part of a round trip until then.
const PROBES: (u32, u64) = (2, 4);
/// Part of a round trip, beyond one, after which an answer is missing.
const MISSING: u64 = 2;
/// Timeouts in sequence that others follow: a longer silence is no matter of chance.
const PROBED: u32 = 3;
/// Part of the time that answers wait on the way back after which another is asked for: more would only make them wait.
const WAITED: (u64, u64) = (2, 3);

/// The state of a sending half that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct PollSignals<'a> {
    /// Timeout of the next POLL's answer.
    pub timeout: Span,
    pub srtt: Option<Span>,
    /// True if the peer accepts outstanding packets, and the window is larger than a burst.
    pub flows: bool,
    /// True if data wait that the peer does not accept.
    pub lacks_credit: bool,
    /// True if packets leave at a rate.
    pub has_rate: bool,
    /// Interval of the packets of data that wait; zero if there are none, or no rate.
    pub gap: Span,
    /// The last answer's wait on the way back.
    pub waited: Span,
    /// Factor by which POLLs are more frequent than usual.
    pub eagerness: u32,
    pub polls: &'a OutstandingPolls,
}

#[derive(Debug, Default)]
pub(super) struct PollTimer {
    at: Option<Time>,
    /// The last POLL that did not only follow another.
    last: Option<Time>,
    /// Number of timeouts since the last answer, and the time from which on POLLs are unanswered.
    backoff: u32,
    silent_since: Time,
    /// POLLs that still follow the last timeout's.
    probes: u32,
    /// True if a POLL is to be sent, with data or alone.
    pub wanted: bool,
}

impl PollTimer {
    /// Time of the next POLL.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.at
    }

    /// Number of timeouts since the last answer.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Time from which on POLLs are unanswered, in a silence.
    pub fn silent_since(&self) -> Option<Time> {
        (self.backoff > 0).then_some(self.silent_since)
    }

    /// Handles an answer.
    pub fn answered(&mut self) {
        (self.backoff, self.probes) = (0, 0);
    }

    /// Handles a report that answers no POLL: in a silence it tells that packets pass again, so that a POLL is worthwhile.
    pub fn heard(&mut self) {
        if self.backoff > 0 {
            self.answered();
            self.wanted = true;
        }
    }

    /// Returns true if the next POLL only follows a timeout's.
    fn follows(&self) -> bool {
        (1..=PROBES.0).contains(&self.probes)
    }

    /// Returns true if an answer is missing, so that the last packet may have been lost with its POLL: for one of the first few timeouts,
    /// or, if only one POLL is unanswered, for longer than a round trip takes. A peer that is silent for longer is only asked.
    pub fn lacks_answer(&self, now: Time, srtt: Option<Span>, polls: &OutstandingPolls) -> bool {
        if self.backoff > 0 {
            return self.backoff <= PROBED && !self.follows();
        }
        let late = srtt.map(|srtt| Span::from_nanos(srtt.as_nanos() + srtt.as_nanos() / MISSING));
        let since = polls.unanswered_since().filter(|_| polls.awaited() == 1);
        late.zip(since).is_some_and(|(late, since)| now.since(since) >= late)
    }

    /// Returns true if no POLL has left for two round trips.
    pub fn rests(&self, now: Time, srtt: Option<Span>) -> bool {
        let since = self.last.map_or(Span::ZERO, |last| now.since(last));
        srtt.is_some_and(|srtt| since.as_nanos() >= 2 * srtt.as_nanos())
    }

    /// Records a POLL. Returns true if it only follows a timeout's.
    pub fn sent(&mut self, now: Time) -> bool {
        let follows = self.follows();
        self.probes = self.probes.saturating_sub(1);
        self.wanted = false;
        if !follows {
            self.last = Some(now);
        }
        follows
    }

    /// Returns true if a POLL has become due, which is then wanted.
    pub fn expires(&mut self, now: Time) -> bool {
        let due = self.at.take_if(|at| *at <= now).is_some();
        self.wanted |= due;
        due
    }

    /// Handles the timeout of an answer to a POLL that was sent at `since`. If it may be one of a few that were all lost (`probes`), other
    /// POLLs follow soon.
    pub fn on_silence(&mut self, since: Time, probes: bool) {
        if self.backoff == 0 {
            self.silent_since = since;
        }
        self.backoff += 1;
        if probes && self.backoff <= PROBED {
            self.probes = 1 + PROBES.0;
        }
    }

    /// The interval between POLLs.
    pub fn interval(&self, config: &Config, signals: &PollSignals) -> Span {
        let extended = config.features != Features::PLAIN;
        let timeout = signals.timeout;
        match signals.srtt {
            Some(srtt) if signals.flows && self.backoff == 0 => {
                let often = config.polls_per_rtt.max(1) * signals.eagerness;
                let part = Span::from_nanos(srtt.as_nanos() / u64::from(often));
                // On a reverse path slower than the answers, each POLL would add to their queue; the POLLs of two round-trip times are
                // enough.
                if !extended && signals.polls.awaited() > 2 * often as usize {
                    timeout
                } else {
                    // One answer may be late because a host was.
                    let waited = Span::from_nanos(signals.waited.as_nanos() * WAITED.0 / WAITED.1).min(srtt);
                    // A POLL between two packets would learn nothing of the rate.
                    let least = config.poll_interval_min.max(POLL_INTERVAL_LEAST);
                    part.max(least).max(waited).max(signals.gap)
                }
            }
            // A promised rate sends much before the first answer; the loss of a USTAT in this time must be noticed.
            None if signals.has_rate && extended => timeout.min(config.rto_min),
            // A probe, as in RFC 8985 §7: the loss of one POLL or answer should not cost a timeout.
            Some(srtt) if extended && self.backoff == 0 => {
                let probe = Span::from_nanos(srtt.as_nanos().saturating_mul(PROBE));
                // The first follows soon, so that a lone packet over a short path does not wait long. A peer that answers and accepts
                // nothing is not asked as often.
                let first = signals.polls.awaited() == 1 && !signals.lacks_credit;
                let least = if first { config.poll_interval_min } else { config.rto_min };
                timeout.min(probe.max(least).max(POLL_INTERVAL_LEAST))
            }
            // Nor a second timeout (RFC 9002 §6.2.4).
            srtt if self.probes > 0 => {
                let part = Span::from_nanos(srtt.unwrap_or(config.rto_initial).as_nanos() / PROBES.1);
                timeout.min(part.max(config.poll_interval_min).max(POLL_INTERVAL_LEAST))
            }
            _ => timeout,
        }
    }

    /// Sets the time of the next POLL, unless one is wanted already.
    pub fn arm(&mut self, now: Time, interval: Span) {
        if self.wanted {
            return;
        }
        // Nothing has been polled yet: from the first time that data wait.
        let since = match (self.last, self.at) {
            (Some(at), _) => at,
            (None, Some(_)) => return,
            (None, None) => now,
        };
        self.at = Some((since + interval).max(now));
    }

    /// Stops: there is nothing to ask for.
    pub fn stop(&mut self) {
        (self.at, self.wanted) = (None, false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::polls::SentBefore;
    use super::*;

    const TIMEOUT: Span = Span::from_secs(1);

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    fn at(after: u64) -> Time {
        Time::ZERO + ms(after)
    }

    fn outstanding(number: u64) -> OutstandingPolls {
        let mut polls = OutstandingPolls::default();
        for sent in 0..number {
            let before = SentBefore { sent, next: sent, bytes: 0.0, unused: Span::ZERO };
            polls.send(at(sent), before);
        }
        polls
    }

    fn signals(polls: &OutstandingPolls, srtt: Option<u64>, flows: bool) -> PollSignals<'_> {
        let (timeout, srtt) = (TIMEOUT, srtt.map(ms));
        PollSignals {
            timeout,
            srtt,
            flows,
            lacks_credit: false,
            has_rate: false,
            gap: Span::ZERO,
            waited: Span::ZERO,
            eagerness: 1,
            polls,
        }
    }

    /// docs/stp.md §6.3: the last packet is doubted after 1.5 round trips if one POLL is unanswered, and for three timeouts.
    #[test]
    fn a_missing_answer_casts_doubt_on_the_last_packet() {
        let (none, one, two) = (outstanding(0), outstanding(1), outstanding(2));
        let mut timer = PollTimer::default();
        let lacks = |timer: &PollTimer, after, polls| timer.lacks_answer(at(after), Some(ms(600)), polls);
        assert!(!lacks(&timer, 899, &one) && lacks(&timer, 900, &one) && !lacks(&timer, 900, &two));
        assert!(!timer.lacks_answer(at(900), None, &one) && !lacks(&timer, 900, &none));
        let doubts = [(); 5].map(|()| {
            timer.on_silence(at(0), false);
            lacks(&timer, 900, &two)
        });
        assert_eq!(doubts, [true, true, true, false, false]);
        // POLLs that follow that of a timeout bring no other copies.
        let mut timer = PollTimer::default();
        timer.on_silence(at(0), true);
        let copies = [(); 3].map(|()| {
            let lacks = lacks(&timer, 900, &two);
            timer.sent(at(900));
            lacks
        });
        assert_eq!(copies, [true, false, false]);
    }

    /// docs/stp.md §6.3: every third of the round trip, and at least 10 ms apart; in the plain format not while many are unanswered.
    #[test]
    fn polls_are_parts_of_a_round_trip_apart() {
        let (timer, config, plain) = (PollTimer::default(), Config::default(), Config::plain());
        let (few, many) = (outstanding(6), outstanding(7));
        assert_eq!(timer.interval(&config, &signals(&many, Some(600), true)), ms(200));
        assert_eq!(timer.interval(&config, &signals(&many, Some(9), true)), ms(10));
        let eager = PollSignals { eagerness: 3, ..signals(&many, Some(900), true) };
        assert_eq!(timer.interval(&config, &eager), ms(100));
        // Answers that wait on the way back are not to wait for more of them.
        assert_eq!(timer.interval(&config, &PollSignals { waited: ms(60), ..eager }), ms(100));
        assert_eq!(timer.interval(&config, &PollSignals { waited: ms(600), ..eager }), ms(400));
        assert_eq!(timer.interval(&config, &PollSignals { waited: ms(9000), ..eager }), ms(900));
        assert_eq!(timer.interval(&plain, &signals(&few, Some(600), true)), ms(200));
        assert_eq!(timer.interval(&plain, &signals(&many, Some(600), true)), TIMEOUT);
    }

    /// docs/stp.md §6.3: two round trips with a small window, 10 ms at least for the first POLL and 200 ms for others.
    #[test]
    fn an_unanswered_poll_is_repeated_before_its_timeout() {
        let (timer, config, one, two) =
            (PollTimer::default(), Config::default(), outstanding(1), outstanding(2));
        assert_eq!(timer.interval(&config, &signals(&one, Some(40), false)), ms(80));
        assert_eq!(timer.interval(&config, &signals(&one, Some(1), false)), ms(10));
        assert_eq!(timer.interval(&config, &signals(&two, Some(40), false)), ms(200));
        assert_eq!(timer.interval(&config, &signals(&two, Some(600), false)), TIMEOUT);
        let lacking = PollSignals { lacks_credit: true, ..signals(&one, Some(40), false) };
        assert_eq!(timer.interval(&config, &lacking), ms(200));
        assert_eq!(timer.interval(&Config::plain(), &signals(&one, Some(40), false)), TIMEOUT);
        assert_eq!(timer.interval(&config, &signals(&one, None, false)), TIMEOUT);
        let promised = PollSignals { has_rate: true, ..signals(&one, None, false) };
        assert_eq!(timer.interval(&config, &promised), ms(200));
    }

    /// docs/stp.md §6.3: two more POLLs follow that of each of the first three timeouts, a quarter of a round trip later.
    #[test]
    fn two_polls_follow_each_of_three_timeouts() {
        let (mut timer, config, polls) = (PollTimer::default(), Config::default(), outstanding(1));
        timer.sent(at(0));
        for silence in 1..=4 {
            timer.arm(at(0), TIMEOUT);
            assert!(!timer.expires(at(999)) && timer.expires(at(1000)) && timer.wanted);
            timer.on_silence(at(0), true);
            assert_eq!((timer.backoff(), timer.sent(at(0))), (silence, false));
            let (follows, interval) = if silence < 4 { (true, ms(150)) } else { (false, TIMEOUT) };
            assert_eq!(timer.interval(&config, &signals(&polls, Some(600), false)), interval);
            assert_eq!([timer.sent(at(1)), timer.sent(at(1)), timer.sent(at(0))], [follows, follows, false]);
        }
        timer.answered();
        assert_eq!(timer.backoff(), 0);
    }

    /// docs/stp.md §6.3: a USTAT in a silence asks for a POLL, and at no other time.
    #[test]
    fn a_report_in_a_silence_ends_it() {
        let mut timer = PollTimer::default();
        timer.heard();
        assert!(!timer.wanted);
        timer.on_silence(at(10), false);
        timer.on_silence(at(90), false);
        assert_eq!((timer.backoff(), timer.silent_since()), (2, Some(at(10))));
        timer.heard();
        assert_eq!((timer.backoff(), timer.silent_since(), timer.wanted), (0, None, true));
    }

    #[test]
    fn the_first_poll_is_due_an_interval_after_data_wait() {
        let mut timer = PollTimer::default();
        timer.arm(at(5), ms(10));
        timer.arm(at(9), ms(10));
        assert_eq!(timer.poll_timeout(), Some(at(15)), "the first time counts");
        timer.sent(at(12));
        timer.arm(at(12), ms(20));
        assert_eq!(timer.poll_timeout(), Some(at(32)));
        assert!(timer.expires(at(32)));
        timer.arm(at(32), ms(20));
        assert_eq!(timer.poll_timeout(), None, "one is wanted");
        timer.stop();
        assert!(!timer.wanted);
    }
}
