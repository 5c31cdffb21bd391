//! Discovery of the largest packet that the path carries, by probes.
//!
//! Follows RFC 8899 (a probe carries no data, and its loss does not signal congestion; §4.3 on black holes) and docs/stp.md §6.4,
//! §15.5.
//! Differs: a probe is a POLL with padding, so its answer is a STAT that is needed in any case.
//! Leaves out fragmentation, which the host allows for data in packets that have become too large for the path.

use super::config::Config;
use super::congestion::Largest;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{HEADER_LEN, Stat};

/// Number of probes of a size (RFC 8899 §5.1.2).
const TRIES: u8 = 3;
/// The same of a size that had passed: a channel that loses a third of the packets and answers loses three
/// probes often.
const DOUBTS: u8 = 6;
/// Accuracy of the search, bytes.
const STEP: u32 = 20;
/// Number of successive reports that large packets are missing again and none has arrived, which mean that the MTU has decreased, if
/// some had arrived before; and the number if they are missing for the first time, as datagrams are sent once, which is a doubt.
const MISSES: (u8, u8) = (3, 6);
/// Packet size that nearly every path carries (RFC 8899 §5.1.2), and the smallest size tried below it.
const BASE: u32 = 1200;
const LEAST: u32 = 272;
/// Time after which larger sizes are probed again (RFC 8899 §5.1.1 has ten minutes; satellites change sooner).
const RAISE: Span = Span::from_secs(60);

#[derive(Debug)]
pub(super) struct Mtu {
    /// Largest packet size known to pass.
    pub size: u32,
    /// Largest payload that the peer accepts in one SD, bytes.
    peer_payload: usize,
    /// Smallest size known not to pass, or one more than the largest allowed.
    above: u32,
    /// Smallest size that is never allowed, and the time at which sizes that were ruled out are probed again.
    bound: u32,
    raise_at: Option<Time>,
    /// The outstanding probe: its size and its POLL's timestamp.
    probe: Option<(u32, u32)>,
    tries: u8,
    /// True if a size has been ruled out.
    ruled: bool,
    /// Number of successive reports that packets of so many bytes are missing, and none as large has arrived; two for each report that
    /// they are missing again.
    misses: u8,
    missed: usize,
    /// Largest number of bytes that has arrived in a packet.
    arrived: usize,
    /// True if a size that had passed is probed again, as datagrams of it are missing.
    doubts: bool,
    /// True if contents were refused that were too large.
    wants_larger: bool,
    /// True once a packet of `size` has passed that no link may have fragmented.
    confirmed: bool,
}

impl Mtu {
    pub fn new(config: &Config) -> Self {
        let size = config.base_size.min(config.packet_size);
        Self {
            size,
            peer_payload: usize::MAX,
            above: config.packet_size + 1,
            bound: config.packet_size + 1,
            raise_at: None,
            probe: None,
            tries: 0,
            ruled: false,
            misses: 0,
            missed: 0,
            arrived: 0,
            doubts: false,
            wants_larger: false,
            confirmed: config.base_size >= config.packet_size || size <= LEAST,
        }
    }

    /// Limits packets to the largest payload that the peer accepts.
    pub fn limit(&mut self, payload: u16) {
        self.peer_payload = usize::from(payload.max(1));
        self.bound = self.bound.min(u32::from(payload) + HEADER_LEN as u32 + 1).max(self.size + 1);
        self.above = self.above.min(self.bound);
    }

    /// Time at which sizes that were ruled out are probed again.
    pub fn raise_at(&self) -> Option<Time> {
        self.raise_at
    }

    /// The size to probe now, if any: the largest first, then the first size if it was only assumed to pass, then the middle of the
    /// remaining interval.
    pub fn wanted(&mut self, now: Time) -> Option<u32> {
        if self.raise_at.take_if(|at| *at <= now).is_some() {
            (self.above, self.ruled) = (self.bound, false);
        }
        let open = self.above - self.size;
        if self.probe.is_none() && !self.confirmed && (self.ruled || open <= 1) {
            return Some(self.size);
        }
        if self.probe.is_some() || open <= 1 {
            return None;
        }
        // Most paths carry the largest size.
        Some(if self.ruled { self.size + open / 2 } else { self.above - 1 })
    }

    /// Records that contents were refused that are too large: sizes are probed though no data are in flight.
    pub fn want_larger(&mut self) {
        self.wants_larger = true;
    }

    /// Returns true, once, if larger packets were wanted.
    pub fn take_wish(&mut self) -> bool {
        std::mem::take(&mut self.wants_larger)
    }

    /// Returns true if a probe is outstanding.
    pub fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// Records that a probe has been sent.
    pub fn sent(&mut self, size: u32, stamp: u32) {
        self.probe = Some((size, stamp));
    }

    /// Handles a STAT. Returns true if the size has changed.
    pub fn on_stat(&mut self, now: Time, stat: &Stat) -> bool {
        let Some((size, stamp)) = self.probe else { return false };
        let before = self.size;
        if stat.echo == stamp {
            (self.probe, self.tries, self.size, self.confirmed, self.doubts) = (None, 0, size, true, false);
        } else if (stat.echo.wrapping_sub(stamp) as i32) > 0 {
            // A later POLL was answered: this probe is lost, or late.
            (self.probe, self.tries) = (None, self.tries + 1);
            let doubts = self.doubts && size <= self.size;
            let most = if doubts { DOUBTS } else { TRIES };
            if self.tries >= most {
                (self.tries, self.ruled, self.above) = (0, true, size);
                if size <= self.size {
                    self.doubts = doubts && size > BASE;
                    (self.size, self.confirmed) = if self.doubts { (BASE, false) } else { (LEAST, true) };
                    self.raise_at = Some(now + RAISE);
                    self.arrived = self.arrived.min(self.max_payload());
                }
            }
        }
        if self.above - self.size <= STEP && self.ruled {
            self.above = self.size + 1;
        }
        self.size != before
    }

    /// Handles a list's report on large packets. Returns true if smaller ones are to be sent from now on.
    pub fn on_feedback(&mut self, now: Time, largest: &Largest) -> bool {
        self.arrived = self.arrived.max(largest.arrived);
        let again = largest.missed_again > largest.arrived;
        if again || largest.missed_once > largest.arrived {
            self.misses = self.misses.saturating_add(if again { MISSES.1 / MISSES.0 } else { 1 });
            self.missed = if again { largest.missed_again } else { largest.missed_once };
        } else if largest.arrived >= self.missed {
            self.misses = 0;
        }
        let failed = (self.missed + HEADER_LEN) as u32;
        // The first size is only assumed to pass: one list is enough if nothing as large has ever arrived.
        let known = self.missed <= self.arrived;
        let enough = self.misses >= MISSES.1 || (again && !known);
        if !enough || failed <= LEAST {
            return false;
        }
        if !again {
            // A channel that loses a third of the packets does so by chance, where each report tells of one. A probe tells.
            self.misses = 0;
            if failed <= self.size {
                (self.confirmed, self.doubts) = (false, true);
            }
            return false;
        }
        let size = match known {
            true if failed > BASE => BASE,
            true => (failed / 2).max(LEAST),
            false => LEAST,
        };
        let size = size.min(self.size);
        let above = if failed - size <= STEP { size + 1 } else { failed.max(size + 1) };
        let tried = self.size;
        (self.size, self.above, self.raise_at) = (size, above, Some(now + RAISE));
        self.confirmed |= size == LEAST;
        (self.probe, self.tries, self.ruled) = (None, 0, true);
        (self.misses, self.missed) = (0, 0);
        self.arrived = self.arrived.min(self.max_payload());
        size < tried
    }

    /// Largest packet with data, or without, that is never to be fragmented, bytes.
    pub fn whole(&self, data: bool) -> usize {
        match (self.confirmed, data) {
            (false, _) => LEAST as usize,
            (true, true) => self.size as usize,
            (true, false) => (self.arrived + HEADER_LEN).max(LEAST as usize),
        }
    }

    /// Bytes behind the header in a packet of the largest size known to pass.
    pub fn room(&self) -> usize {
        (self.size as usize).saturating_sub(HEADER_LEN)
    }

    /// Payload of a packet of the largest size known to pass, as far as the peer accepts it, bytes.
    pub fn max_payload(&self) -> usize {
        self.room().max(1).min(self.peer_payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(echo: u32) -> Stat {
        let (next, credit, gaps) = (1, 100, Vec::new());
        Stat { echo, next, credit, from: 1, upto: 1, gaps, report: None, compact: true }
    }

    fn found(mtu: &mut Mtu, now: Time, path: u32) -> u32 {
        for stamp in (1..).take(100) {
            let Some(size) = mtu.wanted(now) else { break };
            mtu.sent(size, 10 * stamp);
            // A probe that is too large is lost, and a later POLL is answered.
            mtu.on_stat(now, &stat(10 * stamp + u32::from(size > path)));
        }
        mtu.size
    }

    /// docs/stp.md §6.4: the search is accurate to 20 bytes, and never exceeds the peer's limit.
    #[test]
    fn the_search_finds_every_path() {
        for path in 1252..=1472 {
            let mut mtu = Mtu::new(&Config { base_size: 1252, packet_size: 1472, ..Config::default() });
            mtu.limit(1440 - HEADER_LEN as u16);
            let size = found(&mut mtu, Time::ZERO, path);
            assert!(size <= path.min(1440) && size + STEP >= path.min(1440), "{size} of {path}");
        }
    }

    /// A path that carries larger packets than the peer accepts, from the first on.
    #[test]
    fn the_peer_limits_the_payload() {
        let mut mtu = Mtu::new(&Config { base_size: 1252, packet_size: 1472, ..Config::default() });
        assert_eq!(mtu.max_payload(), 1240);
        mtu.limit(300);
        assert_eq!((found(&mut mtu, Time::ZERO, 1472), mtu.max_payload()), (1252, 300));
        mtu.limit(0);
        assert_eq!(mtu.max_payload(), 1);
    }

    /// docs/stp.md §6.4: of the first size one list is enough, and the search begins with the smallest.
    #[test]
    fn a_path_may_be_narrow_from_the_start() {
        let mut mtu = Mtu::new(&Config { base_size: 1252, packet_size: 1472, ..Config::default() });
        assert!(!mtu.on_feedback(Time::ZERO, &Largest::default()));
        assert!(mtu.on_feedback(Time::ZERO, &Largest { arrived: 300, missed_again: 1240, missed_once: 0 }));
        assert_eq!(mtu.size, LEAST);
        let size = found(&mut mtu, Time::ZERO, 1000);
        assert!((980..=1000).contains(&size), "{size}");
    }

    /// docs/stp.md §6.4: until a packet as large has passed whole, packets may be fragmented, and their arrival proves nothing.
    #[test]
    fn the_first_size_is_confirmed_by_a_probe() {
        for (path, most) in [(1472, 1472), (1300, 1300), (1252, 1252), (1251, 1251), (600, 600)] {
            let mut mtu = Mtu::new(&Config { base_size: 1252, packet_size: 1472, ..Config::default() });
            mtu.on_feedback(Time::ZERO, &Largest { arrived: 1240, ..Largest::default() });
            assert_eq!((mtu.size, mtu.whole(true), mtu.whole(false)), (1252, LEAST as usize, LEAST as usize));
            let size = found(&mut mtu, Time::ZERO, path);
            assert!((most - STEP..=most).contains(&size), "{size} of {path}");
            assert_eq!(mtu.whole(true), size as usize);
        }
        // Nothing is searched for where the size is known.
        let mut mtu = Mtu::new(&Config { packet_size: 1472, ..Config::default() });
        assert_eq!((mtu.wanted(Time::ZERO), mtu.whole(true)), (None, 1472));
    }

    /// docs/stp.md §6.4: after three lists that miss large packets again the size falls; after a minute larger ones are probed
    /// again.
    #[test]
    fn a_path_becomes_narrower_and_wide_again() {
        let mut mtu = Mtu::new(&Config { base_size: 1252, packet_size: 1472, ..Config::default() });
        assert_eq!(found(&mut mtu, Time::ZERO, 1472), 1472);
        let (missed, arrives) = (
            Largest { arrived: 300, missed_again: 1460, missed_once: 0 },
            Largest { arrived: 1460, ..Largest::default() },
        );
        let at = |s| Time::ZERO + Span::from_secs(s);
        // A large packet that arrives in between is evidence against a smaller MTU.
        for list in [arrives, missed, missed, arrives, missed, missed] {
            assert!(!mtu.on_feedback(at(1), &list));
        }
        assert!(mtu.on_feedback(at(1), &missed));
        assert_eq!(mtu.size, BASE);
        let size = found(&mut mtu, at(2), 1372);
        assert!((1352..=1372).contains(&size), "{size}");
        assert_eq!(found(&mut mtu, at(60), 1472), size, "what was ruled out is not tried");
        assert_eq!(found(&mut mtu, at(61), 1472), 1472);
    }
}
