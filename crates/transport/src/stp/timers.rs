//! Times: pacing, POLLs, timeouts.
//!
//! Follows HT §5.1.1 (BGN, END, POLL and KEEP ALIVE timers), §5.1.2 (delayed send), §5.3 (POLLs by bursts, then by time);
//! docs/stp.md §6.3, §8. Differs: an unanswered POLL is repeated at growing intervals, as TCP's timeout backs off.
//! Leaves out the contents of packets (`transmit`).

use super::config::Config;
use super::connection::Connection;
use super::events::Event;
use super::source::Source;
use crate::tcp::Smoothed;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Contents, Features, Reason};

/// Smallest interval between POLLs for any round-trip time and configuration; without it, a path without delay would see endless
/// POLLs.
const POLL_INTERVAL_LEAST: Span = Span::from_millis(1);
/// Longest interval between POLLs to a silent peer; the plain format doubles its interval up to `rto_max`.
const RETRY_MOST: Span = Span::from_secs(3);
/// Round trips after which data in flight are asked about again, before that is a timeout.
const PROBE: u64 = 2;
/// POLLs that follow a timeout's together, and the part of a round trip until then.
const PROBES: (u32, u64) = (2, 4);
/// Timeouts in sequence that others follow: a longer silence is no matter of chance.
const PROBED: u32 = 3;
/// Part of a round trip without data that is a pause.
const PAUSE: u64 = 16;
/// Wait for a turn of the host that the pace makes up for.
const TURN_MOST: Span = Span::from_millis(100);
/// Factor of the POLLs' frequency when all data have been sent, since each loss that is found late delays the end of the transfer.
const EAGER_AT_END: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Timers {
    smoothed: Smoothed,
    poll_at: Option<Time>,
    /// The last POLL that did not only follow another.
    last_poll: Option<Time>,
    poll_backoff: u32,
    /// POLLs that still follow the last timeout's.
    probes: u32,
    pub want_poll: bool,
    /// Time at which the pace allows the next packet.
    next_send: Time,
    /// True if only the pace held packets back at the last poll.
    paces: bool,
    /// True if the window held packets back at the last poll.
    waits_for_room: bool,
    /// Time that the pace has offered and that was not used, for lack of data or because the host was late.
    pub unused: Span,
    /// True while the host lets others send their data.
    pub held_back: bool,
    /// True if only that held packets back at the last poll.
    waits_for_turn: bool,
    /// Interval between packets when a window is spread.
    interval: Span,
    progress_at: Time,
    /// True if this end waited for the peer when its timers were last set.
    waited: bool,
    /// Time of the last packet from the peer, and the silence before it.
    heard: (Time, Span),
}

impl Timers {
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.srtt()
    }
    /// Returns true if the latest POLL that counted was not answered.
    pub fn unanswered(&self) -> bool {
        self.poll_backoff > 0
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
    /// Timeout before a silent peer is polled again: shorter than an answer's timeout if that has become long.
    pub fn rto(&self, config: &Config, backoff: u32) -> Span {
        let patience = self.patience(config, backoff);
        // A few bytes every few seconds are no burden, and soon detect the end of an outage.
        let most = RETRY_MOST.max(self.patience(config, 0));
        if config.features == Features::PLAIN { patience } else { patience.min(most) }
    }
    pub fn answered(&mut self) {
        (self.poll_backoff, self.probes) = (0, 0);
    }
    pub fn progress(&mut self, now: Time) {
        self.progress_at = now;
    }
    pub fn heard(&mut self, now: Time) {
        self.heard = (now, now.since(self.heard.0));
    }
    /// Returns true if nothing was heard for three timeouts and for three times the interval before. The peer may have no sample of
    /// the round-trip time.
    pub fn quiet(&self, config: &Config, now: Time) -> bool {
        let (at, interval) = self.heard;
        let timeout = self.patience(config, 0).max(config.rto_initial);
        now.since(at).as_nanos() / 3 >= interval.max(timeout).as_nanos()
    }
    /// Records a POLL. Returns true if it only follows a timeout's.
    pub fn poll_sent(&mut self, now: Time) -> bool {
        let follows = (1..=PROBES.0).contains(&self.probes);
        self.probes = self.probes.saturating_sub(1);
        self.want_poll = false;
        if !follows {
            self.last_poll = Some(now);
        }
        follows
    }
}

impl<P: Contents, S: Source<P>> Connection<P, S> {
    /// Returns true if the window is so small that the last packet of each burst carries the POLL.
    pub(super) fn small_window(&self) -> bool {
        let packets = self.controller.window() / self.sender.max_payload.max(1) as u64;
        packets <= u64::from(self.config.poll_threshold)
    }

    /// Returns true if the window has room for another packet of data.
    pub(super) fn fits(&self) -> bool {
        let in_flight = self.sender.in_flight;
        // A POLL that all else depends on is sent in any case: data in flight may lie beyond the peer's window and never be
        // answered.
        in_flight == 0
            || self.sender.oldest_waits()
            || in_flight + self.sender.next_size() <= self.controller.window()
    }

    /// Returns true if only the pace keeps data from being sent.
    pub(super) fn would_send(&self) -> bool {
        (self.sender.has_new() || self.sender.has_retransmissions())
            && self.fits()
            && self.allowed(0)
            && self.opening.may_send()
    }

    /// Time at which the pace allows the next packet, rounded up to the tick of the timer.
    fn release(&self) -> Time {
        let at = self.timers.next_send.as_nanos();
        Time::from_nanos(Span::from_nanos(at).round_up(self.config.granularity).as_nanos())
    }

    pub(super) fn pace_allows(&self, now: Time) -> bool {
        !self.timers.held_back && self.release() <= now
    }

    /// Holds data back, or no longer: the host shares a rate among its connections. Answers and POLLs leave all the same.
    pub fn hold_back(&mut self, held: bool) {
        self.timers.held_back = held;
    }

    /// Returns true if data only wait for [`Connection::hold_back`] since the last poll; no timer is set for them.
    pub fn waits_for_turn(&self) -> bool {
        self.timers.waits_for_turn
    }

    /// Records that a packet of data of `bytes`, STP's header included, has been sent.
    pub(super) fn paced(&mut self, now: Time, bytes: usize) {
        let gap = match self.controller.rate() {
            Some(rate) => {
                Span::from_secs_f64((bytes as f64 + f64::from(self.config.overhead)) / rate.max(1.0))
            }
            None => self.timers.interval,
        };
        self.timers.unused += self.unused(now);
        let earliest = self.earliest(now);
        self.timers.next_send = self.timers.next_send.max(earliest) + gap;
    }

    /// The earliest time from which the pace still counts now.
    fn earliest(&self, now: Time) -> Time {
        // A late timer is made up for within the limits of the path's length; time in which nothing could be sent is not.
        let eighth = self.timers.srtt().map_or(Span::ZERO, |srtt| Span::from_nanos(srtt.as_nanos() / 8));
        let lateness = match (self.timers.waits_for_turn, self.timers.paces) {
            // Its own rate goes on while others are served.
            (true, _) => TURN_MOST,
            (false, true) => self.config.catch_up.min(eighth),
            (false, false) => Span::ZERO,
        };
        let most = self.config.granularity.max(lateness);
        Time::from_nanos(now.as_nanos().saturating_sub(most.as_nanos()))
    }

    /// Time that the pace has offered since the last packet and that is lost now, though the window had room.
    pub(super) fn unused(&self, now: Time) -> Span {
        if self.timers.waits_for_room {
            return Span::ZERO;
        }
        self.earliest(now).since(self.timers.next_send)
    }

    /// Tells the controller, before a rate is known, that data were missing for longer than the packets of a window are apart.
    pub(super) fn resume_data(&mut self, now: Time) {
        let Some(srtt) = self.timers.srtt() else { return };
        if self.controller.measures_trains() && self.unused(now).as_nanos() > srtt.as_nanos() / PAUSE {
            self.controller.resume_data(self.sender.next);
        }
    }

    /// Records that nothing more leaves now. A late timer is only made up for if the pace alone held packets back.
    pub(super) fn rest(&mut self, now: Time) {
        let sends = self.would_send();
        let waits = self.sender.has_new() || self.sender.has_retransmissions();
        self.timers.waits_for_room = waits && !self.fits();
        self.timers.paces = sends && !self.timers.held_back;
        self.timers.waits_for_turn = self.timers.held_back
            && self.release() <= now
            && (sends || self.sender.copy_at().is_some_and(|at| at <= now && self.fits() && self.allowed(0)));
        self.arm(now);
    }

    /// Spreads the packets that the last answer allows over the round-trip time (HT §5.1.2).
    pub(super) fn spread(&mut self, now: Time) {
        let Some(srtt) = self.timers.srtt() else { return };
        let room = self.controller.window().saturating_sub(self.sender.in_flight)
            / self.sender.max_payload.max(1) as u64;
        let (enabled, part) = match self.controller.measures_trains() {
            // Before the path is known, waiting twice for each doubling in slow start would cost more than a burst does, and data that
            // come after a pause are not to wait for the next answer.
            true => (room, 0.25),
            false => (room.min(self.sender.waiting()), self.config.spread),
        };
        let enabled = enabled.max(1);
        let mut interval = srtt.as_secs_f64() * part / enabled as f64;
        let bits = f64::from(self.config.packet_size + self.config.overhead) * 8.0;
        if let Some(most) = self.config.max_rate {
            interval = interval.max(bits / most.as_bps() as f64);
        }
        if let Some(least) = self.config.min_rate {
            interval = interval.min(bits / least.as_bps() as f64);
        }
        self.timers.interval = Span::from_secs_f64(interval);
        self.timers.next_send = self.timers.next_send.min(now + self.timers.interval);
    }

    /// Returns true if all data have been sent, so that POLLs only ask for their arrival.
    pub(super) fn last_word(&self) -> bool {
        self.config.features != Features::PLAIN && self.closing.all_sent(self.sender.unsent())
    }

    /// Returns true if the next new packet of data, sent now, would be the last for the time being.
    pub(super) fn would_be_last(&self, room: usize) -> bool {
        let sender = &self.sender;
        sender.unsent() <= room as u64
            || sender.next + 1 >= sender.limit
            || (self.small_window() && sender.in_flight + 2 * room as u64 > self.controller.window())
    }

    /// Returns true if the next new packet of data should carry a POLL.
    pub(super) fn poll_rides(&self, room: usize) -> bool {
        // The first packet measures the round-trip time; others divide a train into parts.
        let next = self.sender.next;
        let asks = self.config.features != Features::PLAIN
            && (next == self.opening.first || self.controller.asks(next, self.opening.first));
        self.timers.want_poll || asks || self.would_be_last(room)
    }

    /// Returns true if a POLL must be sent alone.
    pub(super) fn poll_alone(&self, now: Time) -> bool {
        if !self.timers.want_poll {
            return false;
        }
        let soon = self.timers.srtt().map_or(Span::ZERO, |srtt| Span::from_nanos(srtt.as_nanos() / 16));
        // A new packet that leaves soon carries it.
        let rides_soon = self.sender.has_new()
            && !self.sender.has_retransmissions()
            && self.fits()
            && self.allowed(0)
            && !self.timers.held_back
            && self.release() <= now + soon;
        !rides_soon
    }

    /// Sets the timers that follow from outstanding packets.
    pub(super) fn arm(&mut self, now: Time) {
        let waits_for_peer = self.waits_for_peer();
        let waited = std::mem::replace(&mut self.timers.waited, waits_for_peer);
        if waits_for_peer && !waited {
            // Time in which the peer had nothing to answer does not count as its silence.
            self.timers.progress(now);
        }
        let waits = self.sender.outstanding() || self.waits_for_credit() || self.waits_for_proof();
        let interval = if waits {
            // An address that may not be the peer's is polled at growing intervals.
            let answer = match self.waits_for_proof() {
                true => self.timers.patience(&self.config, self.timers.poll_backoff),
                false => self.timers.rto(&self.config, self.timers.poll_backoff),
            };
            match self.timers.srtt() {
                Some(srtt)
                    if self.sender.moves() && !self.small_window() && self.timers.poll_backoff == 0 =>
                {
                    let eager =
                        self.controller.eagerness().max(if self.last_word() { EAGER_AT_END } else { 1 });
                    let often = self.config.polls_per_rtt.max(1) * eager;
                    let part = Span::from_nanos(srtt.as_nanos() / u64::from(often));
                    // On a reverse path slower than the answers, each POLL would add to their queue; the POLLs of two round-trip
                    // times are enough.
                    if self.config.features == Features::PLAIN
                        && self.sender.polls.awaited() > 2 * often as usize
                    {
                        answer
                    } else {
                        part.max(self.config.poll_interval_min).max(POLL_INTERVAL_LEAST)
                    }
                }
                // A promised rate sends much before the first answer; the loss of a USTAT in this time must be noticed.
                None if self.controller.rate().is_some() && self.config.features != Features::PLAIN => {
                    answer.min(self.config.rto_min)
                }
                // A probe, as in RFC 8985 §7: the loss of one POLL or answer should not cost a timeout.
                Some(srtt) if self.config.features != Features::PLAIN && self.timers.poll_backoff == 0 => {
                    let probe = Span::from_nanos(srtt.as_nanos().saturating_mul(PROBE));
                    // The first follows soon, so that a lone packet over a short path does not wait long. A peer that answers and
                    // accepts nothing is not asked as often.
                    let first = self.sender.polls.awaited() == 1 && !self.waits_for_credit();
                    let least = if first { self.config.poll_interval_min } else { self.config.rto_min };
                    answer.min(probe.max(least).max(POLL_INTERVAL_LEAST))
                }
                // Nor a second timeout (RFC 9002 §6.2.4).
                srtt if self.timers.probes > 0 => {
                    let part =
                        Span::from_nanos(srtt.unwrap_or(self.config.rto_initial).as_nanos() / PROBES.1);
                    answer.min(part.max(self.config.poll_interval_min).max(POLL_INTERVAL_LEAST))
                }
                _ => answer,
            }
        } else if let Some(every) = self.config.keep_alive.filter(|_| self.established() && !self.over()) {
            every
        } else {
            self.timers.poll_at = None;
            self.timers.want_poll = false;
            return;
        };
        if !self.timers.want_poll {
            // Nothing has been polled yet: from the first time that data wait.
            let since = match (self.timers.last_poll, self.timers.poll_at) {
                (Some(at), _) => at,
                (None, Some(_)) => return,
                (None, None) => now,
            };
            self.timers.poll_at = Some((since + interval).max(now));
        }
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.closing.is_closed() {
            return;
        }
        if self.timers.poll_at.take_if(|at| *at <= now).is_some() {
            self.timers.want_poll = true;
            let patience = self.timers.patience(&self.config, self.timers.poll_backoff);
            if self.sender.polls.unanswered_since().is_some_and(|since| now.since(since) >= patience) {
                self.timers.poll_backoff += 1;
                // While no rate is known a few lost answers are all there are.
                let all_lost = self.controller.measures_trains() && self.timers.poll_backoff <= PROBED;
                if all_lost && !self.waits_for_proof() && self.config.features != Features::PLAIN {
                    self.timers.probes = 1 + PROBES.0;
                }
                self.sender.stats.timeouts += 1;
                self.limits.timed_out(now, patience);
                self.controller.on_silence(self.sender.next);
                self.sender.polls.give_up(now, patience);
            }
        }
        self.opening.handle_timeout(now);
        self.closing.handle_timeout(now);
        if self.waits_for_peer() && now.since(self.timers.progress_at) >= self.config.silence {
            self.closing.reset(Reason::Silent, true);
            self.events.push(Event::Reset(Reason::Silent));
        }
    }

    /// Returns true if data wait that the peer does not accept.
    fn waits_for_credit(&self) -> bool {
        self.sender.unsent() > 0 && self.sender.next >= self.sender.limit
    }

    /// Returns true if only a packet from the peer can let this end continue.
    pub(super) fn waits_for_peer(&self) -> bool {
        // An idle peer, or one that accepts nothing, is polled to find out whether it is alive.
        let asks = self.config.keep_alive.is_some() || self.waits_for_credit() || self.waits_for_proof();
        let asked = asks && self.sender.polls.last_unanswered() && !self.over();
        !self.closing.is_closed()
            && (self.opening.waits() || self.closing.ends.waits() || asked || self.sender.outstanding())
    }

    /// Enters the state in which all is answered and copies of the peer's END are still answered.
    pub(super) fn linger(&mut self, now: Time) {
        if self.closing.lingers() {
            // A peer that has backed off repeats its END late: several of its intervals are waited for.
            let silences = Span::from_nanos(self.timers.heard.1.as_nanos().saturating_mul(8));
            let wait = silences.min(self.config.silence).max(self.config.linger);
            self.closing.linger(now + wait);
        }
    }

    /// Time at which [`Connection::handle_timeout`] and [`Connection::poll_transmit`] are due next.
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.closing.is_closed() {
            return self.closing.reset_is_due().then_some(Time::ZERO);
        }
        let timers = &self.timers;
        let silence = self.waits_for_peer().then(|| timers.progress_at + self.config.silence);
        let paced = !timers.waits_for_turn;
        let send = (paced && self.would_send()).then(|| self.release());
        let copies = |_: &Time| paced && self.fits() && self.allowed(0);
        let copy = self.sender.copy_at().filter(copies).map(|at| at.max(self.release()));
        let receiver = self.receiver.as_ref().and_then(|receiver| receiver.poll_timeout());
        let begin = self.opening.poll_timeout();
        let [end, linger] = self.closing.timeouts();
        let raise = self.mtu.raise_at().filter(|_| self.established() && self.sender.outstanding());
        [begin, end, timers.poll_at, send, copy, receiver, silence, linger, raise].into_iter().flatten().min()
    }
}
