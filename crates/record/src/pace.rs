//! The part of a run between two calls that ask whether to continue.
//!
//! An event is a packet on a link (a tenth of a microsecond) or the motion of ten thousand satellites (a tenth of a second), so
//! the number of events that take a blink of an eye is found by doubling and halving.
//! Differs from a timer: the clock is read once per part, not once per event, and the simulation never depends on it.
//! Leaves out the clock itself, which the caller reads.

use skyhop_units::{Span, Time};
use std::time::Duration;

/// Intended duration of a part: progress bars move smoothly, Ctrl-C is obeyed at once, and the calls cost little.
const AIM: Duration = Duration::from_millis(50);

/// Largest number of events in a part, some ten milliseconds of packets, whatever the clock says.
const MOST_EVENTS: u32 = 1 << 16;

/// Limits of the next part, which ends at the first that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartLimits {
    /// Number of events.
    pub events: u32,
    /// Virtual time. After a download the remaining events are further apart and cost more.
    pub span: Span,
}

impl PartLimits {
    /// A first part of one event, since the cost is unknown.
    pub fn new() -> Self {
        PartLimits { events: 1, span: Span::from_nanos(1) }
    }

    /// Runs a part. `step` handles an event and returns its time. Returns `None` if no event is left.
    pub fn share(&mut self, from: Time, mut step: impl FnMut() -> Option<Time>) -> Option<Share> {
        let mut now = from;
        for events in 1..=self.events {
            now = step()?;
            if now.since(from) >= self.span {
                return Some(Share { events, span: now.since(from) });
            }
        }
        Some(Share { events: self.events, span: now.since(from) })
    }

    /// Adapts the limits to the time that a part took. The next part is at most twice as large.
    pub fn learn(&mut self, done: Share, took: Duration) {
        *self = if took < AIM / 2 {
            PartLimits {
                events: done.events.saturating_mul(2).min(MOST_EVENTS),
                span: Span::from_nanos(done.span.as_nanos().saturating_mul(2).max(1)),
            }
        } else if took > AIM {
            PartLimits { events: (done.events / 2).max(1), span: (done.span / 2).max(Span::from_nanos(1)) }
        } else {
            PartLimits { events: done.events, span: done.span.max(Span::from_nanos(1)) }
        };
    }
}

/// The extent of a part that was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Number of events.
    pub events: u32,
    /// Virtual time.
    pub span: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: (Span, Duration) = (Span::from_micros(100), Duration::from_nanos(150));
    const SATELLITES: (Span, Duration) = (Span::from_secs(1), Duration::from_millis(40));

    #[test]
    fn packets_are_asked_about_every_ten_milliseconds_or_so() {
        let shares = paced(std::iter::repeat_n(PACKET, 10_000_000));
        let longest = shares.iter().max().unwrap();
        assert!((5..50).contains(&longest.as_millis()), "{longest:?}");
        assert!((150..200).contains(&shares.len()), "{} questions", shares.len());
    }

    #[test]
    fn satellites_are_asked_about_after_an_event_or_two() {
        let shares = paced(std::iter::repeat_n(SATELLITES, 1000));
        let longest = shares.iter().max().unwrap();
        assert!((40..=80).contains(&longest.as_millis()), "{longest:?}");
    }

    #[test]
    fn when_a_download_ends_and_satellites_fly_on_no_share_is_long() {
        let download = (0..30).flat_map(|_| std::iter::repeat_n(PACKET, 10_000).chain([SATELLITES]));
        let after = std::iter::repeat_n(SATELLITES, 1000);
        let again = std::iter::repeat_n(PACKET, 1_000_000);
        let shares = paced(download.clone().chain(after).chain(again).chain(download));
        let longest = shares.iter().max().unwrap();
        assert!((40..=200).contains(&longest.as_millis()), "{longest:?}");
    }

    #[test]
    fn events_at_one_instant_are_counted() {
        let shares = paced(std::iter::repeat_n((Span::ZERO, Duration::from_micros(1)), 1_000_000));
        assert!((15..60).contains(&shares.len()), "{} questions", shares.len());
    }

    /// Durations of the parts of a run whose events come `.0` after each other and cost `.1`.
    fn paced(mut run: impl Iterator<Item = (Span, Duration)>) -> Vec<Duration> {
        let (mut pace, mut now, mut shares) = (PartLimits::new(), Time::ZERO, Vec::new());
        loop {
            let mut took = Duration::ZERO;
            let done = pace.share(now, || {
                let (span, cost) = run.next()?;
                now += span;
                took += cost;
                Some(now)
            });
            let Some(done) = done else { return shares };
            pace.learn(done, took);
            shares.push(took);
        }
    }
}
