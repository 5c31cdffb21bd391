//! Sending times of packets: by a pace, after a host's own delay, after an idle time.
//!
//! Follows TH 3.6.2 (pacing), RFC 5681 §4.1 (slow start after an idle time), Visweswaraiah and Heidemann 1997 (a paced window
//! instead).
//! Differs: an idle time is noticed when there are data again, and counts from the last segment sent.
//! Leaves out the limits of sending (`sender`).

use super::config::{AfterIdle, Config};
use super::congestion::CongestionControl;
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
    /// Returns true if the pace does not allow a packet yet.
    #[inline]
    pub fn waits(&self, now: Time) -> bool {
        self.pace_from > now
    }

    /// Sets the timer for the time at which the pace allows a packet.
    pub fn hold(&mut self) {
        self.hold_at = Some(self.pace_from);
    }

    /// Records that `bytes` were sent: the next packet waits by the pace of the window, or of what is spread over an RTT.
    #[inline]
    pub fn pace(&mut self, now: Time, bytes: u64, srtt: Option<Span>, congestion: &CongestionControl) {
        let rate = match self.spread_until {
            // The window from before the idle time, once, over an RTT.
            Some(_) => srtt.map(|srtt| congestion.cwnd() as f64 / srtt.as_secs_f64().max(1e-9)),
            None => congestion.pacing_rate(srtt),
        };
        let Some(rate) = rate else { return };
        let gap = Span::from_secs_f64(bytes as f64 / rate.max(1.0));
        self.pace_from = self.pace_from.max(now) + gap;
    }

    /// Starts the host's own random delay of at most `overhead`, unless it has begun.
    pub fn begin_overhead(&mut self, now: Time, overhead: Span) {
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

    /// Ends the spreading of a window once data sent after it are acknowledged, up to `una`.
    pub fn acknowledged(&mut self, una: u64) {
        if self.spread_until.is_some_and(|until| una > until) {
            self.spread_until = None;
        }
    }

    /// Changes the window when there are data again after a silence, if that was longer than the timeout `rto` (RFC 5681 §4.1).
    pub fn end_silence(
        &mut self,
        now: Time,
        rto: Span,
        snd_max: u64,
        config: &Config,
        congestion: &mut CongestionControl,
    ) {
        let silence = now.since(self.last_sent);
        if config.after_idle == AfterIdle::Decay {
            congestion.on_silence(now);
        }
        if silence <= rto {
            return;
        }
        self.last_sent = now;
        match config.after_idle {
            AfterIdle::Keep => {}
            AfterIdle::Restart => congestion.restart(config.initial_window),
            AfterIdle::Spread => self.spread_until = Some(snd_max),
            AfterIdle::Decay => {
                let timeouts = (silence.as_nanos() - 1) / rto.as_nanos().max(1);
                congestion.decay(timeouts, config.initial_window);
            }
        }
    }
}
