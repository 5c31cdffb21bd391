//! Path MTU discovery: by routers' messages, or by probes.
//!
//! Follows RFC 1191 §6 and RFC 8201 §4 (routers' messages), RFC 4821 §7 and RFC 8899 §5 (probes and black holes), RFC 5927 §4.1
//! (validation of messages). Differs: sizes are tried from a table of common ones; ssthresh is restored once a black hole is
//! certain. Leaves out fragmentation, and the ageing of routers' messages (RFC 1191 §6.3).

use super::config::{Config, PathMtu};
use super::congestion::CongestionControl;
use super::flight::{Flight, NextSegment};
use skyhop_units::{Span, Time};
use skyhop_wire::Version;

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
    how: PathMtu,
    ip: Version,
    /// MTU of this end's own link.
    own: u32,
    /// Largest packet sent, except for probes; `u32::MAX` while nothing is known.
    limit: u32,
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
    repeat: Option<(u64, u64)>,
    /// Time at which larger sizes are probed again.
    raise_at: Option<Time>,
    /// Timeouts since the last acknowledgment, and ssthresh before the first of them.
    timeouts: u32,
    before: u64,
    /// Slow-start threshold to be restored once it is certain that a black hole caused the losses.
    ssthresh: Option<u64>,
}

/// The space in which a probe must fit, bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeRoom {
    /// Space left in the congestion window.
    pub left: u64,
    /// The windows' allowance.
    pub window: u64,
    /// One past the last byte that the peer allows.
    pub edge: u64,
    /// Data written and not sent.
    pub unsent: u64,
}

/// The consequence of a router's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathReport {
    /// None: the message is no news, or not credible.
    Ignored,
    /// The outstanding probe was too large.
    ProbeTooLarge,
    /// Every segment has to be smaller.
    Smaller,
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
            how: config.path_mtu,
            ip: config.ip,
            own: config.link_mtu.unwrap_or(u32::MAX),
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

    /// Largest packet before both ends have announced theirs; `u32::MAX` while nothing is known.
    pub fn size_of_syn(&self) -> u32 {
        self.limit
    }

    /// Returns true if packets of some size are known not to pass, or may not.
    #[inline]
    pub fn limited(&self) -> bool {
        self.limit < u32::MAX
    }

    /// Returns true if the path is searched by probes.
    pub fn probes(&self) -> bool {
        self.how == PathMtu::Probe
    }

    /// Settles the largest packet once both ends have announced theirs: `most` bytes without the IP and TCP headers, of which
    /// `options` are taken from each segment (RFC 6691). Returns the payload of a full segment.
    pub fn settle(&mut self, most: u32, options: u32, headers: u32) -> u32 {
        (self.most, self.headers) = ((most + headers).min(self.own), headers + options);
        if self.probes() {
            // A remembered MTU was found by a search.
            let known = self.confirmed;
            self.seeking = !known && self.most > self.least;
            if !known {
                self.limit = self.limit.min(BASE.max(self.least));
                self.fresh = self.most > self.limit;
            }
        }
        self.mss()
    }

    /// Starts with the size found by another connection.
    pub fn begin_with(&mut self, size: u32) {
        self.limit = self.limit.min(size.max(self.least));
        self.confirmed = true;
    }

    /// MTU from which another connection may start.
    pub fn found(&self) -> Option<u32> {
        match self.how {
            PathMtu::None => None,
            PathMtu::Icmp => Some(self.limit).filter(|limit| *limit < self.most),
            PathMtu::Probe => Some(self.size()).filter(|_| self.confirmed && !self.seeking),
        }
    }

    /// Handles a router's message that the outstanding packet of `total_len` bytes with sequence number `seq` was too large.
    pub fn report(&mut self, seq: u64, next_hop_mtu: u32, total_len: u32) -> PathReport {
        // RFC 8201 §4: no IPv6 router reports less than every link carries. IPv4 routers are believed down to the minimum.
        let nonsense = self.ip == Version::V6 && next_hop_mtu < self.least;
        if self.how == PathMtu::None || nonsense {
            return PathReport::Ignored;
        }
        let mtu = if next_hop_mtu == 0 { Path::plateau(total_len) } else { next_hop_mtu };
        // RFC 8899 §4.6.2: a size that is not below the packet's is ignored.
        if mtu >= total_len {
            return PathReport::Ignored;
        }
        let mtu = mtu.max(self.least);
        if self.probe_begins_at(seq) && mtu >= self.size() {
            // Only the probe was too large; the next one has the router's size.
            (self.high, self.fresh) = (mtu + 1, true);
            self.most = self.most.min(mtu);
            return PathReport::ProbeTooLarge;
        }
        if mtu >= self.limit {
            return PathReport::Ignored;
        }
        self.limit = mtu;
        self.high = self.high.min(mtu + 1);
        if self.probes() {
            self.confirmed = false;
        }
        PathReport::Smaller
    }

    /// Applies a new size: windows stay the same in bytes (RFC 4821 §6.1).
    pub fn apply(&self, flight: &mut Flight, congestion: &mut CongestionControl) {
        flight.mss = self.mss();
        congestion.set_mss(flight.mss);
    }

    /// Forgets the probe: all outstanding data are sent again in smaller segments.
    pub fn begin_smaller(&mut self) {
        (self.probe, self.repeat) = (None, None);
    }

    /// Handles an acknowledgment that has moved snd_una by `newly`.
    pub fn acknowledged(
        &mut self,
        now: Time,
        newly: u64,
        flight: &mut Flight,
        congestion: &mut CongestionControl,
    ) {
        let ack = flight.snd_una;
        self.timeouts = 0;
        if newly >= flight.mss.into() && !self.confirmed {
            self.confirmed = true;
            if let Some(ssthresh) = self.ssthresh.take() {
                congestion.set_ssthresh(ssthresh);
            }
        }
        if self.repeat.is_some_and(|(_, end)| ack >= end) {
            self.repeat = None;
        }
        if let Some((_, end, size)) = self.probe
            && ack >= end
        {
            self.probe = None;
            (self.limit, self.tries, self.fresh) = (size, 0, false);
            self.apply(flight, congestion);
        }
        if self.raise_at.is_some_and(|at| at <= now) {
            (self.raise_at, self.seeking, self.fresh, self.high) = (None, true, true, u32::MAX);
        }
    }

    /// Decides on the search's use of the next new data, from `snd_max` on; no losses are being repaired.
    pub fn probe_turn(&mut self, now: Time, room: ProbeRoom, flight: &Flight) -> ProbeTurn {
        if self.probe.is_some() || self.repeat.is_some() || !self.confirmed {
            return ProbeTurn::Pass;
        }
        let Some(size) = self.candidate() else {
            self.seeking = false;
            if self.size() < self.most || self.high <= self.most {
                self.raise_at = Some(now + RAISE_AFTER);
            }
            return ProbeTurn::Pass;
        };
        let len = u64::from(size.saturating_sub(self.headers));
        // RFC 4821 §7.4: enough data after it that its loss would be noticed without the timer.
        let needed = len + u64::from(flight.threshold + 1) * u64::from(flight.mss);
        if room.unsent < needed || room.window < needed {
            return ProbeTurn::Pass;
        }
        if room.left < len || room.edge < flight.snd_max + len {
            return if flight.len() > 0 { ProbeTurn::Wait } else { ProbeTurn::Pass };
        }
        self.probe = Some((flight.snd_max, flight.snd_max + len, size));
        ProbeTurn::Probe(NextSegment { seq: flight.snd_max, len: len as u32, fin: false })
    }

    /// Returns true if the outstanding probe begins at `seq`.
    pub fn probe_begins_at(&self, seq: u64) -> bool {
        self.probe.is_some_and(|(start, _, _)| start == seq)
    }

    /// Returns true if of the segments tracked individually only the probe is lost.
    pub fn only_probe_lost(&self, flight: &Flight) -> bool {
        let Some((start, _, _)) = self.probe else { return false };
        let index = flight.segments.starting_at(start);
        let probe = index.and_then(|i| flight.segments.get(i)).filter(|s| s.lost && !s.in_pipe);
        probe.is_some_and(|s| s.len() == flight.segments.lost_waiting)
    }

    /// Handles the failure of a probe, reported by a router (`told`) or inferred from its loss: its data are cut to size, and unless
    /// a pipe limits sending they are sent again from here. Returns their range.
    pub fn fail(&mut self, told: bool, flight: &mut Flight) -> Option<(u64, u64)> {
        let (start, end, size) = self.probe.take()?;
        self.count_failure(size, told);
        let by_pipe = flight.how.pipe();
        flight.cut(by_pipe);
        if !by_pipe {
            self.repeat = Some((start, end));
        }
        Some((start, end))
    }

    fn count_failure(&mut self, size: u32, told: bool) {
        if told {
            self.tries = 0;
            return;
        }
        self.tries += 1;
        if self.tries >= MOST_TRIES {
            (self.high, self.tries, self.fresh) = (size, 0, false);
        }
    }

    /// Abandons a probe while losses are repaired or after a retransmission, since its fate then shows nothing (RFC 4821 §7.6.3).
    pub fn abandon(&mut self, flight: &mut Flight) {
        if self.probe.take().is_some() && flight.how.pipe() {
            flight.cut(false);
        }
    }

    /// Records that [start, end) is sent again.
    #[inline]
    pub fn sent_again(&mut self, start: u64, end: u64, flight: &mut Flight) {
        if self.probe.is_some_and(|(from, to, _)| start < to && end > from) {
            self.abandon(flight);
        }
    }

    /// The next segment of a lost probe's data.
    pub fn poll_repeat(&mut self, flight: &Flight) -> Option<NextSegment> {
        let (start, end) = self.repeat?;
        let start = start.max(flight.snd_una);
        let len = end.saturating_sub(start).min(flight.mss.into()) as u32;
        self.repeat = Some((start + u64::from(len), end)).filter(|(next, _)| *next < end);
        if len == 0 || flight.snd_una >= end {
            return None;
        }
        Some(NextSegment { seq: start, len, fin: false })
    }

    /// Handles a retransmission timeout.
    pub fn timed_out(&mut self, flight: &mut Flight, congestion: &mut CongestionControl) {
        let tail = self.probe.take();
        self.repeat = None;
        if let Some((start, _, size)) = tail {
            if start == flight.snd_una {
                self.count_failure(size, false);
            }
            flight.cut(true);
            return;
        }
        let ssthresh = congestion.ssthresh();
        let outstanding = flight.len().min(u32::MAX.into()) as u32;
        self.timeouts += 1;
        if self.timeouts == 1 {
            self.before = ssthresh;
        }
        let largest = self.size().min(outstanding.saturating_add(self.headers));
        let steps = if self.least > BASE { &STEPS[..1] } else { &STEPS[1..] };
        let below = steps.iter().copied().find(|step| *step < largest);
        if let Some(step) = below.filter(|_| self.timeouts >= BLACK_HOLE) {
            // The search restarts here.
            (self.limit, self.confirmed, self.seeking) = (step, false, true);
            self.ssthresh = Some(self.before);
            (self.high, self.fresh, self.tries) = (u32::MAX, false, 0);
            self.apply(flight, congestion);
            flight.cut(true);
        }
    }
}
