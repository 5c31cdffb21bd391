//! The limit of a sender that may not send anything more at an instant.
//!
//! Follows the order in which RFC 9293 §3.8 and RFC 5681 limit sending; docs/results.md has the priorities and their reasons.
//! Differs from Linux's chronograph: a pace that spreads a window counts as that window, and recovery is a separate cause.
//! Leaves out durations, which `Limits` counts, and the state of the path.

use super::sender::Sender;
use crate::limits::{Cause, HoldState};

/// Probing gain of BBR (draft-ietf-ccwg-bbr-06 §5.6.1): an estimated rate that fills the peer's window to 1/1.25 of its size cannot
/// find a higher one.
const PROBING_GAIN: f64 = 1.25;

/// The present limit, apart from the handshake, at a time when `poll` returns nothing.
#[inline]
pub(super) fn held_by(sender: &Sender) -> HoldState {
    let repairing = sender.clock.repair_unfinished();
    // Set whenever the pace or the host's delay has held something back.
    if repairing || sender.pacer.hold_at.is_some() {
        return held_in_between(sender, repairing);
    }
    held_by_windows(sender)
}

#[inline]
fn held_by_windows(sender: &Sender) -> HoldState {
    let (clock, buffer) = (&sender.clock, &sender.buffer);
    if clock.snd_max() >= buffer.end() {
        return match clock.snd_una() >= buffer.end() {
            _ if buffer.withheld > 0 => HoldState::Held(Cause::SendBuffer),
            true if buffer.fin_queued() => HoldState::Over,
            true => HoldState::Idle,
            false => HoldState::Held(Cause::Application),
        };
    }
    // If both windows are used up, the cause is the peer's: the congestion window stops growing there.
    let next = (clock.smss() as u64).min(buffer.unsent(clock.snd_max()));
    HoldState::Held(match clock.snd_max() + next > clock.right_edge() {
        true => Cause::ReceiveWindow,
        false => Cause::CongestionWindow,
    })
}

#[inline(never)]
fn held_in_between(sender: &Sender, repairing: bool) -> HoldState {
    let clock = &sender.clock;
    if clock.snd_una() >= sender.buffer.end() && sender.buffer.withheld == 0 {
        return held_by_windows(sender);
    }
    // A model of the path that losses do not reduce is paced during repairs, too.
    let by_model = clock.congestion().owns_recovery() && !clock.repairs_timeout();
    if repairing && !by_model {
        return HoldState::Held(Cause::Recovery);
    }
    if sender.pacer.hold_at.is_none() || !sender.would_send() {
        return if repairing { HoldState::Held(Cause::Recovery) } else { held_by_windows(sender) };
    }
    HoldState::Held(held_by_pace(sender))
}

/// The limit behind a pace that holds back a packet which the windows allow.
fn held_by_pace(sender: &Sender) -> Cause {
    let clock = &sender.clock;
    let srtt = clock.srtt();
    let rate = clock.congestion().pacing_rate(srtt).filter(|_| clock.config().pacing_possible());
    let (Some(srtt), Some(rate)) = (srtt, rate) else {
        // The host's own delay.
        return Cause::Pacing;
    };
    if clock.congestion().owns_recovery() {
        let in_a_round_trip = rate * srtt.as_secs_f64();
        return match (clock.snd_wnd() as f64) < PROBING_GAIN * in_a_round_trip {
            true => Cause::ReceiveWindow,
            false => Cause::Pacing,
        };
    }
    // The window that the pace spreads over the RTT.
    match clock.snd_wnd() <= clock.cwnd() {
        true => Cause::ReceiveWindow,
        false => Cause::CongestionWindow,
    }
}
