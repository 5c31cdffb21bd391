//! The pace of packets with data: when the next one may leave, and the time that is not used.
//!
//! Follows HT §5.1.2 (delayed send, a window spread over the round trip) and docs/stp.md §6.1 and §8.1.
//! Differs from a fixed interval: a timer of the host that is late is made up for, within limits.
//! Leaves out the rate, which is congestion control's, and the data that wait (`sender`).

use super::config::Config;
use skyhop_units::{Span, Time};

/// Wait for a turn of the host that the pace makes up for.
const TURN_MOST: Span = Span::from_millis(100);

/// The reason for which data waited when nothing more left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum WithheldBy {
    /// There were none, or the peer or the proof of an address was missing.
    #[default]
    Others,
    Pace,
    Window,
    /// The host lets others send their data.
    Host,
}

/// Data that wait when nothing more leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitingData {
    /// True if the window has no room for them.
    pub lacks_room: bool,
    /// True if the pace alone decides on the next packet.
    pub sends: bool,
    /// True if it decides on the copy of a retransmission.
    pub copies: bool,
}

/// The path, as far as it is known when a packet leaves.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KnownPath {
    pub srtt: Option<Span>,
    /// True until a rate is known: there is none that a late host could leave unused.
    pub starts: bool,
}

#[derive(Debug, Default)]
pub(super) struct SendPace {
    /// Time at which the pace allows the next packet.
    next_send: Time,
    /// The state since the last poll that found nothing to send.
    withheld: WithheldBy,
    /// Time that the pace has offered and that was not used, for lack of data or because the host was late.
    unused: Span,
    /// True while the host lets others send their data.
    held_back: bool,
    /// Interval between packets when a window is spread.
    interval: Span,
}

impl SendPace {
    /// Time at which the pace allows the next packet, rounded up to the tick of the timer.
    pub fn release(&self, config: &Config) -> Time {
        let at = self.next_send.as_nanos();
        Time::from_nanos(Span::from_nanos(at).round_up(config.granularity).as_nanos())
    }

    /// Returns true if a packet may leave by the time `now`.
    pub fn allows(&self, config: &Config, now: Time) -> bool {
        !self.held_back && self.release(config) <= now
    }

    /// Holds data back, or no longer.
    pub fn hold_back(&mut self, held: bool) {
        self.held_back = held;
    }

    /// Returns true if data only wait for [`SendPace::hold_back`] since the last poll.
    pub fn waits_for_turn(&self) -> bool {
        self.withheld == WithheldBy::Host
    }

    /// Records that nothing more leaves now. A late timer is only made up for if the pace alone held packets back.
    pub fn rest(&mut self, config: &Config, now: Time, waiting: WaitingData) {
        let WaitingData { lacks_room, sends, copies } = waiting;
        self.withheld = if lacks_room {
            WithheldBy::Window
        } else if sends && !self.held_back {
            WithheldBy::Pace
        } else if self.held_back && self.release(config) <= now && (sends || copies) {
            WithheldBy::Host
        } else {
            WithheldBy::Others
        };
    }

    /// Records that a packet has been sent, which the next follows after `gap`, or after the interval of a spread window.
    pub fn sent(&mut self, config: &Config, now: Time, path: KnownPath, gap: Option<Span>) {
        self.unused += self.lost(config, now, path);
        let earliest = self.earliest(config, now, path);
        self.next_send = self.next_send.max(earliest) + gap.unwrap_or(self.interval);
    }

    /// Records that the last packet was a copy, which no sample counts: what the pace gave it was not there for data.
    pub fn copied(&mut self, gap: Option<Span>) {
        self.unused += gap.unwrap_or(self.interval);
    }

    /// The earliest time from which the pace still counts now.
    fn earliest(&self, config: &Config, now: Time, path: KnownPath) -> Time {
        // A late timer is made up for within the limits of the path's length; time in which nothing could be sent is not.
        let eighth = path.srtt.map_or(Span::ZERO, |srtt| Span::from_nanos(srtt.as_nanos() / 8));
        let lateness = match self.withheld {
            // Its own rate goes on while others are served.
            WithheldBy::Host => TURN_MOST,
            WithheldBy::Pace => config.catch_up.min(eighth),
            WithheldBy::Window | WithheldBy::Others => Span::ZERO,
        };
        now.before(config.granularity.max(lateness))
    }

    /// Time that the pace has offered since the last packet and that is lost now, though the window had room.
    fn lost(&self, config: &Config, now: Time, path: KnownPath) -> Span {
        match self.withheld {
            // Data that wait for a turn are not missing: what others leave of the host is all that this flow could send.
            WithheldBy::Window | WithheldBy::Host => Span::ZERO,
            WithheldBy::Pace if path.starts => Span::ZERO,
            _ => self.earliest(config, now, path).since(self.next_send),
        }
    }

    /// Time since the pace allowed a packet, if there were no data for it.
    pub fn paused(&self, config: &Config, now: Time) -> Span {
        match self.withheld {
            WithheldBy::Others => now.before(config.granularity).since(self.next_send),
            _ => Span::ZERO,
        }
    }

    /// Time that the pace has offered and that was not used, until now.
    pub fn unused(&self, config: &Config, now: Time, path: KnownPath) -> Span {
        self.unused + self.lost(config, now, path)
    }

    /// Lets the next packet leave no later than an interval of the present rate from now.
    pub fn hasten(&mut self, now: Time, gap: Span) {
        self.next_send = self.next_send.min(now + gap);
    }

    /// Spreads so many packets over a part of the round-trip time (HT §5.1.2), within the rates that the network allows.
    pub fn spread(&mut self, config: &Config, now: Time, packets: u64, over_s: f64) {
        let mut interval = over_s / packets.max(1) as f64;
        let bits = f64::from(config.packet_size + config.overhead) * 8.0;
        if let Some(most) = config.max_rate {
            interval = interval.max(bits / most.as_bps() as f64);
        }
        if let Some(least) = config.min_rate {
            interval = interval.min(bits / least.as_bps() as f64);
        }
        self.interval = Span::from_secs_f64(interval);
        self.next_send = self.next_send.min(now + self.interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_units::Rate;

    const NONE: WaitingData = WaitingData { lacks_room: false, sends: false, copies: false };
    const GAP: Option<Span> = Some(Span::from_millis(10));

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A pace whose first packet left at 100 ms, and that rested with these data.
    fn rested(waiting: WaitingData, held: bool) -> SendPace {
        let mut pace = SendPace::default();
        pace.sent(&Config::default(), at(100), KnownPath::default(), GAP);
        pace.hold_back(held);
        pace.rest(&Config::default(), at(110), waiting);
        pace
    }

    /// docs/stp.md §6.1: the pace of a rate that has risen begins at once, and no answer shortens it.
    #[test]
    fn an_answer_lets_no_packet_leave_early() {
        let mut pace = rested(WaitingData { sends: true, ..NONE }, false);
        (101..110).for_each(|ms| pace.hasten(at(ms), Span::from_millis(10)));
        assert_eq!(pace.release(&Config::default()), at(110));
        pace.hasten(at(102), Span::from_millis(3));
        assert_eq!(pace.release(&Config::default()), at(105));
    }

    /// docs/stp.md §6.1: a late timer is made up for by 20 ms, or an eighth of the round trip, if only the pace held data back.
    #[test]
    fn only_a_late_timer_is_made_up_for() {
        let config = Config::default();
        let path = KnownPath { srtt: Some(Span::from_millis(80)), starts: false };
        let mut pace = rested(WaitingData { sends: true, ..NONE }, false);
        assert_eq!(pace.release(&config), at(110));
        assert_eq!(pace.lost(&config, at(150), path), Span::from_millis(30), "40 ms late, less an eighth");
        pace.sent(&config, at(150), path, GAP);
        assert_eq!(pace.release(&config), at(150));
        let mut idle = rested(NONE, false);
        assert_eq!(idle.lost(&config, at(150), path), Span::from_millis(40));
        idle.sent(&config, at(150), path, GAP);
        assert_eq!(idle.release(&config), at(160));
        assert_eq!(
            idle.unused(&config, at(160), path),
            Span::from_millis(140),
            "100 ms before the first packet, and 40"
        );
    }

    /// docs/stp.md §8.3, rule 1: time in which the window was full is not lost for lack of data.
    #[test]
    fn a_full_window_loses_no_time() {
        let pace = rested(WaitingData { lacks_room: true, ..NONE }, false);
        assert_eq!(pace.lost(&Config::default(), at(150), KnownPath::default()), Span::ZERO);
    }

    /// docs/stp.md §8.3, rule 1: copies take time of the pace, and no sample counts them.
    #[test]
    fn the_time_of_copies_is_not_used() {
        let mut pace = rested(WaitingData { sends: true, ..NONE }, false);
        pace.sent(&Config::default(), at(110), KnownPath::default(), GAP);
        let before = pace.unused(&Config::default(), at(110), KnownPath::default());
        pace.copied(GAP);
        assert_eq!(
            pace.unused(&Config::default(), at(110), KnownPath::default()),
            before + Span::from_millis(10)
        );
    }

    /// docs/stp.md §8.3, rule 1: while a host serves others, and before a rate is known, there is no lack of data.
    #[test]
    fn only_a_lack_of_data_is_a_pause() {
        let config = Config::default();
        let data = WaitingData { sends: true, ..NONE };
        for (waiting, held, pause, lost) in
            [(NONE, false, 390, 390), (data, true, 0, 0), (data, false, 0, 390)]
        {
            let pace = rested(waiting, held);
            let known = KnownPath::default();
            let starts = KnownPath { starts: true, ..known };
            assert_eq!(pace.paused(&config, at(500)), Span::from_millis(pause), "{waiting:?}");
            assert_eq!(pace.lost(&config, at(500), known), Span::from_millis(lost), "{waiting:?}");
            assert_eq!(pace.lost(&config, at(500), starts), Span::from_millis(pause), "{waiting:?}");
        }
    }

    #[test]
    fn a_turn_of_the_host_is_waited_for_without_loss() {
        let config = Config::default();
        for waiting in [WaitingData { sends: true, ..NONE }, WaitingData { copies: true, ..NONE }] {
            let mut pace = rested(waiting, true);
            assert!(pace.waits_for_turn() && !pace.allows(&config, at(200)));
            assert_eq!(pace.lost(&config, at(200), KnownPath::default()), Span::ZERO);
            pace.hold_back(false);
            assert!(pace.allows(&config, at(110)) && !pace.allows(&config, at(109)));
        }
        assert!(!rested(NONE, true).waits_for_turn() && !rested(NONE, false).waits_for_turn());
    }

    /// HT §5.1.2: the network's rates bound the interval; docs/stp.md §8.1.
    #[test]
    fn a_window_is_spread_within_the_rates() {
        let ten_packets = |config: &Config| {
            let mut pace = SendPace::default();
            pace.spread(config, at(0), 10, 0.1);
            pace.sent(config, at(0), KnownPath::default(), None);
            pace.release(config).since(at(0))
        };
        assert_eq!(ten_packets(&Config::default()), Span::from_millis(10));
        // 1468 bytes at 587.2 kbit/s take 20 ms.
        let rate = Rate::from_bps(587_200);
        assert_eq!(ten_packets(&Config { max_rate: rate, ..Config::default() }), Span::from_millis(20));
        let rate = Rate::from_bps(2_348_800);
        assert_eq!(ten_packets(&Config { min_rate: rate, ..Config::default() }), Span::from_millis(5));
    }
}
