//! Vegas' loss recovery: a duplicate triggers a check of the oldest segment's age, in addition to the count.
//!
//! Follows Brakmo and Peterson (JSAC 1995, 3.1) in the form of ns-2's agent.
//! Differs: a segment's age and the number of its transmissions come from `Segments`; the count is that of `counting`.
//! Leaves out limited transmit, which ns-2's Vegas lacks too.

use super::super::config::LossRecovery;
use super::super::congestion::CongestionControl;
use super::super::flight::Flight;
use super::counting::Counting;
use skyhop_units::Time;

/// Latest sending time of the oldest segment, and the number of times it was sent.
fn oldest(flight: &Flight) -> Option<(Time, u16)> {
    flight.segments.front().map(|s| (s.sent_at, s.sent))
}

/// Returns true if the oldest segment is older than the fine-grained timeout; other variants have no such timeout.
pub(crate) fn expired(now: Time, flight: &Flight, congestion: &mut CongestionControl) -> bool {
    if flight.how != LossRecovery::Vegas {
        return false;
    }
    let Some((sent_at, _)) = oldest(flight) else { return false };
    let age = now.since(sent_at).as_secs_f64();
    congestion.vegas().is_some_and(|(vegas, _)| age >= vegas.timeout_s)
}

/// Handles a duplicate. Returns true if the oldest segment is taken for lost, so that the timer backs off; `begin` repairs it.
pub(crate) fn signals_loss(
    now: Time,
    counting: &Counting,
    flight: &Flight,
    congestion: &mut CongestionControl,
) -> bool {
    let threshold = flight.threshold;
    let expired = expired(now, flight, congestion);
    if !expired && counting.duplicates != threshold {
        if counting.duplicates > threshold {
            congestion.inflate(flight.mss as u64);
        }
        return false;
    }
    if counting.timed_out && flight.snd_una <= counting.recover {
        return false;
    }
    oldest(flight).is_some()
}

/// Starts the repair of the oldest segment, with a smaller window; `window` is the allowance of the windows in bytes. Returns false
/// if the window is not Vegas'.
pub(crate) fn begin(
    now: Time,
    window: u64,
    counting: &mut Counting,
    flight: &Flight,
    congestion: &mut CongestionControl,
) -> bool {
    let (mss, threshold) = (flight.mss as f64, flight.threshold);
    let Some((sent_at, sent)) = oldest(flight) else { return false };
    counting.timed_out = false;
    counting.recover = flight.snd_max;
    counting.worried = 2.min((flight.snd_nxt - flight.snd_una).div_ceil(flight.mss as u64) as u32 + 1);
    let window = (window as f64 / mss).floor();
    let duplicates = counting.duplicates as f64;
    let Some((vegas, w)) = congestion.vegas() else { return false };
    vegas.timeout_s *= if sent > 1 { 2.0 } else { 1.125 };
    // A window that has been reduced since the segment was sent is not reduced again.
    if vegas.changed_at.is_none_or(|at| at < sent_at) {
        vegas.after = match window {
            ..=3.0 => 2.0,
            _ if sent > 1 => (window / 2.0).floor(),
            _ => window - (window / 4.0).floor(),
        };
        w.cwnd = (vegas.after + duplicates) * mss;
        vegas.changed_at = Some(now);
    }
    counting.due = Some(flight.snd_una);
    if sent == 1 {
        counting.duplicates = threshold;
    }
    true
}

/// Handles a new acknowledgment after so many `duplicates`, before the window grows: takes back by how much they had opened it.
pub(crate) fn deflate(duplicates: u32, flight: &Flight, congestion: &mut CongestionControl) {
    let mss = flight.mss as f64;
    if let Some((vegas, window)) = congestion.vegas()
        && duplicates > flight.threshold
        && vegas.after > 0.0
        && window.cwnd > vegas.after * mss
    {
        window.cwnd = vegas.after * mss;
        window.ssthresh = 2 * mss as u64;
    }
}

/// Checks the age of the oldest segment at the first acknowledgments after a repair: a segment that is too old is due.
pub(crate) fn check(now: Time, counting: &mut Counting, flight: &Flight, congestion: &mut CongestionControl) {
    if counting.worried == 0 {
        return;
    }
    counting.worried -= 1;
    if expired(now, flight, congestion) {
        counting.duplicates = flight.threshold;
        counting.due = Some(flight.snd_una);
    } else {
        counting.worried = 0;
    }
}

/// ns-2's Vegas sends nothing new between the first duplicate and the threshold, while the timer runs: otherwise nothing would end
/// the wait.
pub(crate) fn waits(counting: &Counting, flight: &Flight, timer_runs: bool) -> bool {
    flight.how == LossRecovery::Vegas && (1..flight.threshold).contains(&counting.duplicates) && timer_runs
}
