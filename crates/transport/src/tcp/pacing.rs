//! When packets leave: by a pace, after a host's own delay, after a silence.
//!
//! Follows TH 3.6.2 (pacing), RFC 5681 §4.1 (slow start after a silence), Visweswaraiah and Heidemann 1997 (or a paced window).
//! Differs: a silence is noticed when there is data again, and counts from the last segment sent.
//! Leaves out what may be sent at all, which is `sender`'s.

use super::config::{AfterIdle, Law};
use super::sender::Sender;
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};

impl Sender {
    /// Whether the pace lets a packet go now; if not, when.
    pub(super) fn pace_allows(&mut self, now: Time) -> bool {
        // Only a host with something to send needs the timer.
        if self.pace_from <= now || !self.would_send() {
            return true;
        }
        self.hold_at = Some(self.pace_from);
        false
    }

    pub(super) fn pace(&mut self, now: Time, bytes: u64) {
        let srtt = self.rtt.smoothed();
        let rate = match self.spread_until {
            // The window of before the silence, once, over a round trip.
            Some(_) => srtt.map(|srtt| self.congestion.cwnd() as f64 / srtt.as_secs_f64().max(1e-9)),
            None => self.congestion.pacing_rate(srtt),
        };
        let Some(rate) = rate else { return };
        // BBR's version 1 paces what it measures, which is payload, as Linux does.
        let headers = if self.config.variant.law() == Law::Bbr1 { 0 } else { 40 };
        let gap = Span::from_secs_f64((bytes + headers) as f64 / rate.max(1.0));
        self.pace_from = self.pace_from.max(now) + gap;
    }

    /// What a silence of more than a timeout does to the window (RFC 5681 §4.1), when there is data again.
    pub(super) fn note_idle(&mut self, now: Time) {
        if self.spread_until.is_some_and(|until| self.snd_una > until) {
            self.spread_until = None;
        }
        let silent = self.snd_una == self.snd_max && self.stats.bytes_sent > 0 && self.unsent() > 0;
        let (silence, rto) = (now.since(self.last_sent), self.rtt.rto());
        if silent && self.config.after_idle == AfterIdle::Decay {
            self.congestion.on_silence(now);
        }
        if !silent || silence <= rto {
            return;
        }
        self.last_sent = now;
        match self.config.after_idle {
            AfterIdle::Keep => {}
            AfterIdle::Restart => self.congestion.restart(self.config.initial_window),
            AfterIdle::Spread => self.spread_until = Some(self.snd_max),
            AfterIdle::Decay => {
                let timeouts = (silence.as_nanos() - 1) / rto.as_nanos().max(1);
                self.congestion.decay(timeouts, self.config.initial_window);
            }
        }
    }

    /// Whether the host's own random delay is still to pass before anything may go.
    pub(super) fn held_up(&mut self, now: Time) -> bool {
        if self.config.overhead == Span::ZERO || self.released || !self.would_send() {
            return false;
        }
        // As in ns-2, whose agents answer duplicates at once.
        if self.answers_duplicate() {
            return false;
        }
        if self.hold_at.is_none() {
            let share = self.chance.as_mut().map_or(0.0, Stream::uniform);
            self.hold_at = Some(now + Span::from_secs_f64(self.config.overhead.as_secs_f64() * share));
        }
        true
    }

    /// Whether the windows would let something go.
    pub(super) fn would_send(&self) -> bool {
        if self.how.pipe() {
            return self.pipe_would_send();
        }
        if self.counting.due.is_some() {
            return true;
        }
        let mut next = self.snd_nxt.max(self.snd_una);
        if next < self.snd_max {
            next = self.scoreboard.next_gap(next).min(self.snd_max);
        }
        let segment = self.cut_to_window(self.segment_at(next));
        let end = segment.seq + segment.len as u64;
        let allowed =
            self.congestion.cwnd() + self.counting.limited_transmit(&self.config, self.threshold, self.mss);
        next < self.end() && end <= self.snd_una.max(1) + allowed && end <= self.window_edge
    }

    /// The hold timer has run out.
    pub fn handle_hold(&mut self) {
        self.hold_at = None;
        self.released = true;
    }
}
