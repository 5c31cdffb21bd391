//! Sending times of packets: by a pace, after a host's own delay, after an idle time.
//!
//! Follows TH 3.6.2 (pacing), RFC 5681 §4.1 (slow start after an idle time), Visweswaraiah and Heidemann 1997 (a paced window
//! instead).
//! Differs: an idle time is noticed when there are data again, and counts from the last segment sent.
//! Leaves out the limits of sending (`sender`).

use super::config::{AfterIdle, Law};
use super::sender::Sender;
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};

#[derive(Debug)]
pub(crate) struct Pacer {
    /// Time at which the pace or the host's own delay allows the next packet.
    pub hold_at: Option<Time>,
    pace_from: Time,
    /// True if the host's delay has passed, so that the segments which the windows allow may be sent.
    pub released: bool,
    /// Sending time of the last segment; and while a window is spread over an RTT, one past the highest byte sent before.
    pub last_sent: Time,
    spread_until: Option<u64>,
    pub chance: Option<Stream>,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            hold_at: None,
            pace_from: Time::ZERO,
            released: false,
            last_sent: Time::ZERO,
            spread_until: None,
            chance: None,
        }
    }
}

impl Pacer {
    /// Sets the timer for the packet after one of `bytes` at `rate` bytes per second.
    #[inline]
    fn pace(&mut self, now: Time, bytes: u64, rate: f64) {
        let gap = Span::from_secs_f64(bytes as f64 / rate.max(1.0));
        self.pace_from = self.pace_from.max(now) + gap;
    }

    /// Starts the host's own random delay of at most `overhead`, unless it has begun.
    fn begin_overhead(&mut self, now: Time, overhead: Span) {
        if self.hold_at.is_none() {
            let share = self.chance.as_mut().map_or(0.0, Stream::uniform);
            self.hold_at = Some(now + Span::from_secs_f64(overhead.as_secs_f64() * share));
        }
    }

    /// Handles the expiry of the hold timer.
    pub fn handle_hold(&mut self) {
        self.hold_at = None;
        self.released = true;
    }
}

impl Sender {
    /// Returns true if the pace allows a packet now; otherwise sets the timer.
    pub(super) fn pace_allows(&mut self, now: Time) -> bool {
        // Only a host with something to send needs the timer.
        if self.pacer.pace_from <= now || !self.would_send() {
            return true;
        }
        self.pacer.hold_at = Some(self.pacer.pace_from);
        false
    }

    pub(super) fn pace(&mut self, now: Time, bytes: u64) {
        let srtt = self.timer.rtt.smoothed();
        let rate = match self.pacer.spread_until {
            // The window from before the idle time, once, over an RTT.
            Some(_) => srtt.map(|srtt| self.congestion.cwnd() as f64 / srtt.as_secs_f64().max(1e-9)),
            None => self.congestion.pacing_rate(srtt),
        };
        let Some(rate) = rate else { return };
        // BBR version 1 paces the measured quantity, which is payload, as Linux does.
        let headers =
            if self.config.variant.law() == Law::Bbr1 { 0 } else { u64::from(self.config.headers()) };
        self.pacer.pace(now, bytes + headers, rate);
    }

    /// Returns true if the host may send now, after the window's change for an idle time that ends here.
    pub(super) fn ready(&mut self, now: Time) -> bool {
        if self.held_up(now) {
            return false;
        }
        if self.config.after_idle != AfterIdle::Keep {
            self.note_idle(now);
        }
        true
    }

    /// Changes the window after an idle time of more than a timeout (RFC 5681 §4.1), when there are data that the windows let out.
    /// The idle time goes on while they do not, so that calls in between change nothing.
    fn note_idle(&mut self, now: Time) {
        if self.pacer.spread_until.is_some_and(|until| self.flight.snd_una > until) {
            self.pacer.spread_until = None;
        }
        let silent = self.flight.snd_una == self.flight.snd_max
            && self.stats.bytes_sent > 0
            && self.buffer.unsent(self.flight.snd_max) > 0
            && self.would_send();
        let (silence, rto) = (now.since(self.pacer.last_sent), self.timer.rtt.rto());
        if silent && self.config.after_idle == AfterIdle::Decay {
            self.congestion.on_silence(now);
        }
        if !silent || silence <= rto {
            return;
        }
        self.pacer.last_sent = now;
        match self.config.after_idle {
            AfterIdle::Keep => {}
            AfterIdle::Restart => self.congestion.restart(self.config.initial_window),
            AfterIdle::Spread => self.pacer.spread_until = Some(self.flight.snd_max),
            AfterIdle::Decay => {
                let timeouts = (silence.as_nanos() - 1) / rto.as_nanos().max(1);
                self.congestion.decay(timeouts, self.config.initial_window);
            }
        }
    }

    /// Returns true if the host's own random delay must still pass before a packet is sent.
    fn held_up(&mut self, now: Time) -> bool {
        if self.config.overhead == Span::ZERO || self.pacer.released || !self.would_send() {
            return false;
        }
        // As in ns-2, whose agents answer duplicates at once.
        if self.answers_duplicate() {
            return false;
        }
        self.pacer.begin_overhead(now, self.config.overhead);
        true
    }

    /// Returns true if the windows would allow a packet.
    pub(super) fn would_send(&self) -> bool {
        if self.flight.how.pipe() {
            return self.pipe_would_send();
        }
        if self.counting.due.is_some() {
            return true;
        }
        let mut next = self.flight.snd_nxt.max(self.flight.snd_una);
        if next < self.flight.snd_max {
            next = self.flight.scoreboard.next_gap(next).min(self.flight.snd_max);
        }
        let segment = self.peer.cut(self.segment_at(next), self.flight.snd_max);
        let end = segment.seq + segment.len as u64;
        let allowed = self.congestion.cwnd()
            + self.counting.limited_transmit(&self.config, self.flight.threshold, self.flight.mss);
        next < self.buffer.end() && end <= self.flight.snd_una.max(1) + allowed && end <= self.peer.edge
    }
}
