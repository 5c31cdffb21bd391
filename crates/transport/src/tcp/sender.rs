//! The sending half: what is sent next, what acknowledgments and timeouts mean for it.
//!
//! Follows RFC 9293 §3.8, RFC 6298 §5 (the timer), Karn's rule, RFC 3042 (limited transmit).
//! Differs: after a timeout sending starts again at `snd_una`, as in BSD and ns-2, but skips what is selectively acknowledged.
//! Leaves out Nagle's algorithm: a simulated application offers what it has at once.

use super::config::{Config, Variant};
use super::congestion::Congestion;
use super::rtt::{RttEstimator, RttSamples};
use super::scoreboard::Ranges;
use skyhop_units::{Span, Time};

/// Counters of the sending half.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SenderStats {
    /// Segments with payload, SYN or FIN, repeats included.
    pub segments_sent: u64,
    /// Of those, the repeats.
    pub segments_retransmitted: u64,
    /// Payload bytes, repeats included.
    pub bytes_sent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits: the window was cut once for each.
    pub fast_retransmits: u64,
    /// Round trips measured.
    pub rtt: RttSamples,
}

/// A segment to send: [seq, seq + len), and whether a FIN follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub seq: u64,
    pub len: u32,
    pub fin: bool,
}

/// Offsets count from the initial sequence number: the SYN is 0, data begins at 1.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(super) config: Config,
    /// Oldest byte not acknowledged.
    pub snd_una: u64,
    /// Next to send; behind `snd_max` after a timeout.
    pub snd_nxt: u64,
    /// One past the highest sent.
    pub snd_max: u64,
    /// One past the last byte the application has written.
    data_end: u64,
    /// Whether a FIN follows the data.
    fin: bool,
    /// One past the last byte the peer allows.
    pub(super) window_edge: u64,
    pub(super) peer_window: u64,
    /// The largest window the peer has ever offered.
    largest_window: u64,
    /// Payload of a full segment.
    pub(super) mss: u32,
    pub(super) congestion: Congestion,
    pub(super) scoreboard: Ranges,
    pub(super) recovery: super::recovery::Recovery,
    pub(super) rtt: RttEstimator,
    /// The segment being timed: its end, and when it left.
    timed: Option<(u64, Time)>,
    pub rto_at: Option<Time>,
    pub persist_at: Option<Time>,
    probe: bool,
    /// Probes since the window closed.
    probes: u32,
    pub(super) stats: SenderStats,
}

impl Sender {
    pub fn new(config: Config) -> Self {
        let mss = config.mss;
        Self {
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            data_end: 1,
            fin: false,
            window_edge: 1,
            peer_window: 0,
            largest_window: 0,
            mss,
            congestion: Congestion::new(&config, mss),
            scoreboard: Ranges::default(),
            recovery: Default::default(),
            rtt: RttEstimator::new(&config),
            timed: None,
            rto_at: None,
            persist_at: None,
            probe: false,
            probes: 0,
            stats: SenderStats::default(),
            config,
        }
    }

    /// Settles the payload of a full segment, once both ends have named theirs.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss.max(1);
        self.congestion = Congestion::new(&self.config, self.mss);
    }

    pub fn without_sack(&mut self) {
        if self.config.variant == Variant::SackNewReno {
            self.config.variant = Variant::NewReno;
        }
    }

    pub fn write(&mut self, bytes: u64) {
        // Behind a FIN there is nothing.
        if !self.fin {
            self.data_end = self.data_end.saturating_add(bytes);
        }
    }

    pub fn forget_unsent(&mut self) {
        if !self.fin {
            self.data_end = self.snd_max.max(1);
        }
    }

    pub fn finish(&mut self) {
        self.fin = true;
    }

    /// One past everything that will ever be sent, FIN included.
    fn end(&self) -> u64 {
        self.data_end + self.fin as u64
    }

    pub fn fin_queued(&self) -> bool {
        self.fin
    }

    /// Whether all that was written has been sent.
    pub fn nothing_more(&self) -> bool {
        self.snd_max >= self.data_end
    }

    pub fn all_acknowledged(&self) -> bool {
        self.snd_una >= self.data_end
    }

    pub fn fin_acknowledged(&self) -> bool {
        self.fin && self.snd_una > self.data_end
    }

    pub fn in_flight(&self) -> u64 {
        self.snd_max - self.snd_una
    }

    /// Payload bytes acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.snd_una.saturating_sub(1).min(self.data_end - 1)
    }

    /// What the windows allow at most, bytes.
    pub(super) fn window(&self) -> u64 {
        self.congestion.cwnd().min(self.peer_window)
    }

    pub fn stats(&self) -> SenderStats {
        SenderStats { rtt: self.rtt.samples, ..self.stats }
    }

    /// The peer's window, from a segment that acknowledged up to `ack`.
    pub fn set_window(&mut self, ack: u64, window: u64) {
        self.peer_window = window;
        self.largest_window = self.largest_window.max(window);
        self.window_edge = self.window_edge.max(ack + window);
        if self.window_edge > self.snd_nxt {
            (self.persist_at, self.probes) = (None, 0);
        }
    }

    /// The SYN has been sent or sent again.
    pub fn sent_syn(&mut self, now: Time) {
        self.stats.segments_sent += 1;
        if self.snd_max > 0 {
            self.stats.segments_retransmitted += 1;
            self.timed = None;
        } else {
            self.timed = Some((1, now));
        }
        (self.snd_nxt, self.snd_max) = (1, 1);
        self.rto_at = Some(now + self.rtt.rto());
    }

    /// The SYN is acknowledged.
    pub fn established(&mut self, now: Time, sample: Option<Span>) {
        self.measure(now, 1, sample);
        self.snd_una = 1;
        self.rto_at = None;
    }

    /// The next segment that recovery, the windows and the data allow.
    pub fn poll(&mut self, now: Time) -> Option<Outgoing> {
        if let Some(seq) = self.recovery.due.take()
            && seq < self.snd_max
        {
            let segment = self.cut_to_window(self.segment_at(seq.max(self.snd_una)));
            self.recovery.retransmitted_to = segment.seq + segment.len as u64 + segment.fin as u64;
            return Some(self.sent(now, segment));
        }
        if std::mem::take(&mut self.probe) && self.snd_nxt < self.end() {
            let mut segment = self.segment_at(self.snd_nxt);
            (segment.len, segment.fin) = (segment.len.min(1), segment.len == 0);
            // Not `sent`: a probe that the closed window turns away is no loss, so no timer runs for it.
            self.stats.segments_sent += 1;
            self.stats.bytes_sent += segment.len as u64;
            self.timed = None;
            self.snd_max = self.snd_max.max(segment.seq + 1);
            return Some(segment);
        }
        self.snd_nxt = self.snd_nxt.max(self.snd_una);
        if self.snd_nxt < self.snd_max {
            self.snd_nxt = self.scoreboard.next_gap(self.snd_nxt).min(self.snd_max);
        }
        if self.snd_nxt >= self.end() {
            return None;
        }
        let segment = self.cut_to_window(self.segment_at(self.snd_nxt));
        let segment_end = segment.seq + segment.len as u64;
        let allowed = self.congestion.cwnd() + self.recovery.limited_transmit(&self.config, self.mss);
        if segment_end > self.snd_una + allowed || self.recovery.burst_spent(&self.config) {
            return None;
        }
        if segment_end > self.window_edge {
            // §3.8.6.1: nothing is under way that would bring a new window, so ask for one.
            if self.rto_at.is_none() && self.persist_at.is_none() {
                self.persist_at = Some(now + self.rtt.rto());
            }
            return None;
        }
        self.recovery.released += 1;
        Some(self.sent(now, segment))
    }

    /// The segment that begins at `seq`: up to a full one, not past what is selectively acknowledged.
    fn segment_at(&self, seq: u64) -> Outgoing {
        let mut end = (seq + self.mss as u64).min(self.data_end);
        if !self.scoreboard.is_empty()
            && let Some(start) = self.scoreboard.next_start(seq)
        {
            end = end.min(start);
        }
        Outgoing { seq, len: (end.max(seq) - seq) as u32, fin: self.fin && end == self.data_end }
    }

    /// §3.8.6.2.1: less than a full segment is sent into a window too small for one if it is half of the largest seen.
    fn cut_to_window(&self, segment: Outgoing) -> Outgoing {
        let usable = self.window_edge.saturating_sub(segment.seq);
        if usable > 0 && usable < segment.len as u64 && usable >= self.largest_window / 2 {
            return Outgoing { len: usable as u32, fin: false, ..segment };
        }
        segment
    }

    fn sent(&mut self, now: Time, segment: Outgoing) -> Outgoing {
        let end = segment.seq + segment.len as u64 + segment.fin as u64;
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += segment.len as u64;
        if segment.seq < self.snd_max {
            self.stats.segments_retransmitted += 1;
            self.timed = None;
        } else if self.timed.is_none() && !self.config.timestamps {
            self.timed = Some((end, now));
        }
        if segment.seq <= self.snd_nxt {
            self.snd_nxt = self.snd_nxt.max(end);
        }
        self.snd_max = self.snd_max.max(end);
        if self.rto_at.is_none() {
            self.rto_at = Some(now + self.rtt.rto());
        }
        segment
    }

    /// Takes in one SACK block.
    pub fn selectively_acknowledged(&mut self, start: u64, end: u64) {
        if self.config.sack() && start < end && start >= self.snd_una && end <= self.snd_max {
            self.scoreboard.insert(start, end);
        }
    }

    /// A cumulative acknowledgment of new data.
    pub fn handle_ack(&mut self, now: Time, ack: u64, sample: Option<Span>) {
        let newly = ack - self.snd_una;
        self.recovery.released = 0;
        self.measure(now, ack, sample);
        self.snd_una = ack;
        self.snd_nxt = self.snd_nxt.max(ack);
        if !self.scoreboard.is_empty() {
            self.scoreboard.remove_below(ack);
        }
        let restart_timer = self.recover_ack(newly);
        // RFC 6298 (5.2), (5.3).
        if self.snd_una == self.snd_max {
            self.rto_at = None;
        } else if restart_timer {
            self.rto_at = Some(now + self.rtt.rto());
        }
    }

    /// A duplicate acknowledgment.
    pub fn handle_duplicate(&mut self, now: Time) {
        self.recovery.released = 0;
        if self.recover_duplicate() {
            self.stats.fast_retransmits += 1;
            self.timed = None;
            self.rto_at = Some(now + self.rtt.rto());
        }
    }

    /// The retransmission timer has run out.
    pub fn handle_timeout(&mut self, now: Time) {
        self.stats.timeouts += 1;
        self.rtt.back_off();
        self.timed = None;
        self.rto_at = Some(now + self.rtt.rto());
        if self.snd_una == 0 {
            // The SYN is sent again; a lost SYN says little about the path's capacity.
            self.snd_nxt = 0;
            return;
        }
        // What recovery has added to the window stands for packets that have left the network already.
        let inflated = self.recovery.active;
        let in_use = if inflated { self.window().min(self.congestion.ssthresh()) } else { self.window() };
        self.congestion.halve(in_use);
        self.congestion.set(self.mss as u64);
        self.recover_timeout();
        self.scoreboard.clear();
        self.snd_nxt = self.snd_una;
    }

    /// The persist timer has run out: a byte asks for the window.
    pub fn handle_persist(&mut self, now: Time) {
        self.probe = true;
        self.probes = (self.probes + 1).min(16);
        self.persist_at = Some(now + (self.rtt.rto() * (1 << self.probes)).min(self.config.rto_max));
    }

    fn measure(&mut self, now: Time, ack: u64, sample: Option<Span>) {
        let timed = match self.timed {
            Some((end, at)) if ack >= end => {
                self.timed = None;
                Some(now.since(at))
            }
            _ => None,
        };
        if let Some(rtt) = sample.or(timed) {
            self.rtt.sample(rtt);
        }
    }
}
