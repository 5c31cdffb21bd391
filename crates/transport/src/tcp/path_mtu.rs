//! Path MTU discovery: by routers' messages, or by probes.
//!
//! Follows RFC 1191 §6 and RFC 8201 §4 (routers' messages), RFC 4821 §7 and RFC 8899 §5 (probes and black holes), RFC 5927 §4.1
//! (validation of messages). Differs: sizes are tried from a table of common ones; ssthresh is restored once a black hole is
//! certain. Leaves out fragmentation, and the ageing of routers' messages (RFC 1191 §6.3).

use super::config::{Config, PathMtu};
use super::connection::Connection;
use super::flight::NextSegment;
use super::recovery::pipe::RecoveryPhase;
use super::sender::Sender;
use super::state::State;
use skyhop_units::{Span, Time};
use skyhop_wire::{TooLarge, Version, expand};

/// Size at which the search begins, bytes, unless every link carries more (RFC 8899 §5.1.2, BASE_PLPMTU).
const BASE: u32 = 1200;
/// RFC 8899 §5.1.2, MAX_PROBES: losses of one size after which it counts as too large.
const MOST_TRIES: u32 = 3;
/// Successive timeouts without an acknowledgment that indicate a black hole (RFC 4821 §7.7).
const BLACK_HOLE: u32 = 2;
/// RFC 8899 §5.1.1, PMTU_RAISE_TIMER.
const RAISE_AFTER: Span = Span::from_secs(600);
/// MTUs tried in a black hole: 1280, the base, the size that every host accepts (RFC 1122), RFC 1191's lowest plateau, the minimum.
const STEPS: [u32; 5] = [1280, BASE, 576, 296, 68];
/// Plateaus of RFC 1191 §7.1.
const PLATEAUS: [u32; 11] = [65_535, 32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];
/// Common sizes: the plateaus, and those of tunnels and present-day large frames.
const SIZES: [u32; 22] = [
    68, 296, 508, 576, 1006, 1200, 1280, 1400, 1420, 1440, 1460, 1472, 1480, 1492, 1500, 2002, 4352, 8166,
    9000, 17_914, 32_000, 65_535,
];

/// An end's knowledge of its path's MTU. Sizes are of whole packets, bytes.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    /// Largest packet sent, except for probes; `u32::MAX` while nothing is known.
    pub limit: u32,
    /// Size that every link carries.
    least: u32,
    /// Largest packet that both ends accept.
    most: u32,
    /// IP and TCP headers with the options of each segment.
    headers: u32,
    /// True if a full segment of this size has been acknowledged.
    confirmed: bool,
    /// True if there is a size to be probed.
    pub seeking: bool,
    /// Smallest size that is known not to pass.
    high: u32,
    /// True if no size has been probed yet: the largest comes first.
    fresh: bool,
    /// Losses of the size that is being probed.
    tries: u32,
    /// The outstanding probe: beginning, end and size.
    pub probe: Option<(u64, u64, u32)>,
    /// Range of a lost probe, to be sent again: beginning and end. Unused if segments are tracked individually.
    pub repeat: Option<(u64, u64)>,
    /// Time at which larger sizes are probed again.
    raise_at: Option<Time>,
    /// Timeouts since the last acknowledgment, and ssthresh before the first of them.
    timeouts: u32,
    before: u64,
    /// Slow-start threshold to be restored once it is certain that a black hole caused the losses.
    ssthresh: Option<u64>,
}

/// The search's use of the next new data.
pub(super) enum ProbeTurn {
    /// The data are sent as a probe.
    Probe(NextSegment),
    /// The data wait until the window has room for a probe.
    Wait,
    /// The data are sent as usual.
    Pass,
}

impl Path {
    pub fn new(config: &Config) -> Self {
        Self {
            limit: config.link_mtu.unwrap_or(u32::MAX),
            least: config.ip.least_mtu(),
            most: config.mss + config.headers(),
            headers: config.headers(),
            confirmed: false,
            seeking: false,
            high: u32::MAX,
            fresh: true,
            tries: 0,
            probe: None,
            repeat: None,
            raise_at: None,
            timeouts: 0,
            before: u64::MAX,
            ssthresh: None,
        }
    }

    /// Largest packet sent, except for probes.
    pub fn size(&self) -> u32 {
        self.limit.min(self.most)
    }

    fn mss(&self) -> u32 {
        self.size().saturating_sub(self.headers).max(1)
    }

    /// The next size to probe, between the largest that passes and the smallest that does not.
    fn candidate(&self) -> Option<u32> {
        let (low, high) = (self.size(), self.high.min(self.most + 1));
        if low >= self.most {
            return None;
        }
        if self.fresh && self.most < high {
            return Some(self.most);
        }
        let between = SIZES.iter().copied().filter(|s| *s > low && *s < high && *s != self.most);
        let between: Vec<u32> = between.chain((self.most < high).then_some(self.most)).collect();
        between.get(between.len() / 2).copied()
    }

    /// Largest plateau below `len`, for routers that do not report an MTU (RFC 1191 §7.1).
    fn plateau(len: u32) -> u32 {
        PLATEAUS.iter().copied().find(|size| *size < len).unwrap_or(68)
    }
}

impl Connection {
    /// Sets the MTU of this end's own link, bytes.
    pub fn over_link(mut self, mtu: Option<u32>) -> Self {
        self.sender.config.link_mtu = mtu;
        self.sender.path = Path::new(&self.sender.config);
        self
    }

    /// Handles a router's message that a packet was too large.
    pub(super) fn handle_too_large(&mut self, now: Time, message: &TooLarge) {
        let Some(seq) = self.sockets.quoted_by(message) else { return };
        if matches!(self.state(), State::Closed | State::Listen | State::TimeWait) {
            return;
        }
        // RFC 5927 §4.1: only an outstanding packet can have been too large.
        let outstanding = self.sender.flight.snd_una..self.sender.flight.snd_max;
        let Some(seq) = expand(self.iss, seq, self.sender.flight.snd_una).filter(|s| outstanding.contains(s))
        else {
            return;
        };
        self.sender.handle_too_large(now, seq, message.next_hop_mtu.into(), message.total_len.into());
    }
}

impl Sender {
    /// Sets the size of a full segment, once both ends have announced theirs: `most` bytes without the IP and TCP headers, of which
    /// `options` are taken from each segment (RFC 6691).
    pub(super) fn settle_size(&mut self, most: u32, options: u32) {
        let path = &mut self.path;
        let own = self.config.link_mtu.unwrap_or(u32::MAX);
        let headers = self.config.headers();
        (path.most, path.headers) = ((most + headers).min(own), headers + options);
        if self.config.path_mtu == PathMtu::Probe {
            // A remembered MTU was found by a search.
            let known = path.confirmed;
            path.seeking = !known && path.most > path.least;
            if !known {
                path.limit = path.limit.min(BASE.max(path.least));
                path.fresh = path.most > path.limit;
            }
        }
        let mss = path.mss();
        self.set_mss(mss);
    }

    /// Starts with the size found by another connection.
    pub(super) fn begin_with_size(&mut self, size: u32) {
        self.path.limit = self.path.limit.min(size.max(self.path.least));
        self.path.confirmed = true;
    }

    /// MTU from which another connection may start.
    pub(super) fn size_found(&self) -> Option<u32> {
        let path = &self.path;
        match self.config.path_mtu {
            PathMtu::None => None,
            PathMtu::Icmp => Some(path.limit).filter(|limit| *limit < path.most),
            PathMtu::Probe => Some(path.size()).filter(|_| path.confirmed && !path.seeking),
        }
    }

    fn handle_too_large(&mut self, now: Time, seq: u64, next_hop_mtu: u32, total_len: u32) {
        // RFC 8201 §4: no IPv6 router reports less than every link carries. IPv4 routers are believed down to the minimum.
        let nonsense = self.config.ip == Version::V6 && next_hop_mtu < self.path.least;
        if self.config.path_mtu == PathMtu::None || nonsense {
            return;
        }
        let mtu = if next_hop_mtu == 0 { Path::plateau(total_len) } else { next_hop_mtu };
        // RFC 8899 §4.6.2: a size that is not below the packet's is ignored.
        if mtu >= total_len {
            return;
        }
        let mtu = mtu.max(self.path.least);
        if self.path.probe.is_some_and(|(start, _, _)| start == seq) && mtu >= self.path.size() {
            // Only the probe was too large; the next one has the router's size.
            (self.path.high, self.path.fresh) = (mtu + 1, true);
            self.path.most = self.path.most.min(mtu);
            self.probe_failed(now, true);
            return;
        }
        if mtu >= self.path.limit {
            return;
        }
        let before = self.flight.mss;
        self.path.limit = mtu;
        self.path.high = self.path.high.min(mtu + 1);
        if self.config.path_mtu == PathMtu::Probe {
            self.path.confirmed = false;
        }
        self.apply_size();
        if self.flight.snd_una == 0 {
            // Data sent with the SYN wait for the SYN's own timer.
            self.flight.segments.cut(self.flight.mss.into(), self.buffer.fin_at(), true);
        } else if self.flight.mss < before && self.flight.snd_max > self.flight.snd_una {
            self.send_smaller(now);
        }
    }

    /// Applies a new size: windows stay the same in bytes (RFC 4821 §6.1).
    fn apply_size(&mut self) {
        self.flight.mss = self.path.mss();
        self.congestion.set_mss(self.flight.mss);
    }

    /// Sends outstanding data that are too large again at once, in smaller segments. The window is not reduced, since nothing was
    /// lost to congestion (RFC 1191 §6.5).
    fn send_smaller(&mut self, now: Time) {
        self.path.probe = None;
        self.path.repeat = None;
        if self.flight.how.pipe() {
            self.flight.segments.cut(self.flight.mss.into(), self.buffer.fin_at(), true);
            self.repair_without_signal();
        } else {
            self.flight.segments.cut(self.flight.mss.into(), self.buffer.fin_at(), true);
            self.recover_timeout();
        }
        self.timer.timed = None;
        self.timer.restart(now);
    }

    /// Repairs segments marked as lost, as after a timeout but without a congestion signal.
    fn repair_without_signal(&mut self) {
        let mss = u64::from(self.flight.mss);
        self.pipe.without_signal((self.flight.segments.pipe / mss) as i64, self.flight.snd_max);
    }

    /// Handles an acknowledgment that moves snd_una by `newly` to `ack`.
    pub(super) fn note_size(&mut self, now: Time, ack: u64, newly: u64) {
        let path = &mut self.path;
        path.timeouts = 0;
        if newly >= self.flight.mss.into() && !path.confirmed {
            path.confirmed = true;
            if let Some(ssthresh) = path.ssthresh.take() {
                self.congestion.set_ssthresh(ssthresh);
            }
        }
        let path = &mut self.path;
        if path.repeat.is_some_and(|(_, end)| ack >= end) {
            path.repeat = None;
        }
        if let Some((_, end, size)) = path.probe
            && ack >= end
        {
            path.probe = None;
            (path.limit, path.tries, path.fresh) = (size, 0, false);
            self.apply_size();
        }
        if self.path.raise_at.is_some_and(|at| at <= now) {
            let path = &mut self.path;
            (path.raise_at, path.seeking, path.fresh, path.high) = (None, true, true, u32::MAX);
        }
    }

    /// Decides on the search's use of the next new data, from `snd_max` on. `room` is the space left in the congestion window.
    pub(super) fn probe_turn(&mut self, now: Time, room: u64) -> ProbeTurn {
        let repairing = self.counting.active || self.pipe.phase != RecoveryPhase::Open;
        let path = &mut self.path;
        if path.probe.is_some() || path.repeat.is_some() || !path.confirmed || repairing {
            return ProbeTurn::Pass;
        }
        let Some(size) = path.candidate() else {
            path.seeking = false;
            if path.size() < path.most || path.high <= path.most {
                path.raise_at = Some(now + RAISE_AFTER);
            }
            return ProbeTurn::Pass;
        };
        let len = u64::from(size.saturating_sub(path.headers));
        // RFC 4821 §7.4: enough data after it that its loss would be noticed without the timer.
        let needed = len + u64::from(self.flight.threshold + 1) * u64::from(self.flight.mss);
        if self.buffer.unsent(self.flight.snd_max) < needed || self.window() < needed {
            return ProbeTurn::Pass;
        }
        if room < len || self.peer.edge < self.flight.snd_max + len {
            return if self.flight.len() > 0 { ProbeTurn::Wait } else { ProbeTurn::Pass };
        }
        self.path.probe = Some((self.flight.snd_max, self.flight.snd_max + len, size));
        ProbeTurn::Probe(NextSegment { seq: self.flight.snd_max, len: len as u32, fin: false })
    }

    /// Returns true if only a probe is lost: then it was too large, and its loss is no congestion signal (RFC 4821 §7.6.1).
    pub(super) fn only_probe_lost(&mut self, now: Time) -> bool {
        let Some((start, _, _)) = self.path.probe else { return false };
        let index = self.flight.segments.starting_at(start);
        let probe = index.and_then(|i| self.flight.segments.get(i)).filter(|s| s.lost && !s.in_pipe);
        let alone = probe.is_some_and(|s| s.len() == self.flight.segments.lost_waiting);
        if alone {
            self.probe_failed(now, false);
        }
        alone
    }

    /// Handles a duplicate. Returns true if it is the third that asks for a probe: then that was too large, and the duplicates are
    /// no signal.
    pub(super) fn duplicates_ask_for_probe(&mut self, now: Time) -> bool {
        // Vegas does not wait for the third.
        let enough = self.counting.duplicates == self.flight.threshold || self.vegas_expired(now);
        let asks = enough && self.path.probe.is_some_and(|(start, _, _)| start == self.flight.snd_una);
        if asks {
            self.probe_failed(now, false);
        }
        asks
    }

    /// Handles the failure of a probe, reported by a router (`told`) or inferred from its loss.
    fn probe_failed(&mut self, now: Time, told: bool) {
        let Some((start, end, size)) = self.path.probe.take() else { return };
        self.count_failure(size, told);
        if self.flight.how.pipe() {
            self.flight.segments.cut(self.flight.mss.into(), self.buffer.fin_at(), true);
            self.repair_without_signal();
        } else {
            self.flight.segments.cut(self.flight.mss.into(), self.buffer.fin_at(), false);
            self.path.repeat = Some((start, end));
            self.counting.probe_repaired = true;
        }
        // Karn's rule for the probe itself; the sample of a later segment includes the repair, which lengthens the timeout.
        self.timer.timed = self.timer.timed.and_then(|timed| timed.unless_sent_again(start, end));
        self.timer.restart(now);
    }

    fn count_failure(&mut self, size: u32, told: bool) {
        let path = &mut self.path;
        if told {
            path.tries = 0;
            return;
        }
        path.tries += 1;
        if path.tries >= MOST_TRIES {
            (path.high, path.tries, path.fresh) = (size, 0, false);
        }
    }

    /// Abandons a probe while losses are repaired or after a retransmission, since its fate then shows nothing (RFC 4821 §7.6.3).
    pub(super) fn abandon_probe(&mut self) {
        if self.path.probe.take().is_some() && self.flight.how.pipe() {
            self.flight.segments.cut(self.flight.mss.into(), self.buffer.fin_at(), false);
        }
    }

    /// The next segment of a lost probe's data.
    pub(super) fn poll_probe_repeat(&mut self) -> Option<NextSegment> {
        let (start, end) = self.path.repeat?;
        let start = start.max(self.flight.snd_una);
        let len = end.saturating_sub(start).min(self.flight.mss.into()) as u32;
        self.path.repeat = Some((start + u64::from(len), end)).filter(|(next, _)| *next < end);
        if len == 0 || self.flight.snd_una >= end {
            return None;
        }
        Some(NextSegment { seq: start, len, fin: false })
    }

    /// Handles a retransmission timeout.
    pub(super) fn suspect_size(&mut self) {
        let tail = self.path.probe.take();
        self.path.repeat = None;
        if let Some((start, _, size)) = tail {
            if start == self.flight.snd_una {
                self.count_failure(size, false);
            }
            self.flight.segments.cut(self.flight.mss.into(), self.buffer.fin_at(), true);
            return;
        }
        let ssthresh = self.congestion.ssthresh();
        let outstanding = self.flight.len().min(u32::MAX.into()) as u32;
        let path = &mut self.path;
        path.timeouts += 1;
        if path.timeouts == 1 {
            path.before = ssthresh;
        }
        let largest = path.size().min(outstanding.saturating_add(path.headers));
        let steps = if path.least > BASE { &STEPS[..1] } else { &STEPS[1..] };
        let below = steps.iter().copied().find(|step| *step < largest);
        if let Some(step) = below.filter(|_| path.timeouts >= BLACK_HOLE) {
            // The search restarts here.
            (path.limit, path.confirmed, path.seeking) = (step, false, true);
            path.ssthresh = Some(path.before);
            (path.high, path.fresh, path.tries) = (u32::MAX, false, 0);
            self.apply_size();
            self.flight.segments.cut(self.flight.mss.into(), self.buffer.fin_at(), true);
        }
    }
}
