//! The largest packet that the path carries, found by asking.
//!
//! Follows RFC 8899 (a probe is a packet of its own, its loss is no sign of congestion; §4.3 on black holes) and docs/stp.md §6.4, §15.5.
//! Differs: a probe is a POLL with padding, so its answer is a STAT that would have been asked for anyway.
//! Leaves out a path that becomes narrower beneath a connection of its own, whose data keep their packets: the network has to fragment then.

use super::config::Config;
use super::sender::Largest;
use skyhop_wire::stp::{HEADER_LEN, Stat};

/// Times that a size is tried (RFC 8899 §5.1.2).
const TRIES: u8 = 3;
/// The search ends when it is known to so many bytes.
const STEP: u32 = 20;
/// Reports in a row that large packets are missing again, with none that one has arrived: the path has become narrower.
const MISSES: u8 = 2;
/// What nearly every path carries (RFC 8899 §5.1.2), and the least that is tried below it.
const BASE: u32 = 1200;
const LEAST: u32 = 272;

#[derive(Debug)]
pub(super) struct Mtu {
    /// The largest packet known to arrive.
    pub size: u32,
    /// The least that is known not to, or one more than may be tried.
    above: u32,
    /// The one on its way: its size and its POLL's timestamp.
    probe: Option<(u32, u32)>,
    tries: u8,
    /// A size has been ruled out.
    ruled: bool,
    /// Reports in a row that so many bytes of data are missing again, and none as large has arrived.
    misses: u8,
    missed: usize,
}

impl Mtu {
    pub fn new(config: &Config) -> Self {
        let size = config.base_size.min(config.packet_size);
        Self {
            size,
            above: config.packet_size + 1,
            probe: None,
            tries: 0,
            ruled: false,
            misses: 0,
            missed: 0,
        }
    }

    /// The peer takes no packet larger than this.
    pub fn limit(&mut self, packet: u32) {
        self.above = self.above.min(packet + 1).max(self.size + 1);
    }

    /// The size to be tried next, if one is to be tried now: the largest first, then the middle of what is left.
    pub fn wanted(&self) -> Option<u32> {
        let open = self.above - self.size;
        if self.probe.is_some() || open <= 1 {
            return None;
        }
        // Most paths carry the most.
        Some(if self.ruled { self.size + open / 2 } else { self.above - 1 })
    }

    /// A probe of the wanted size has left.
    pub fn sent(&mut self, size: u32, stamp: u32) {
        self.probe = Some((size, stamp));
    }

    /// A STAT; true if a larger size is known now.
    pub fn on_stat(&mut self, stat: &Stat) -> bool {
        let Some((size, stamp)) = self.probe else { return false };
        if stat.echo == stamp {
            (self.probe, self.tries, self.size) = (None, 0, size);
        } else if (stat.echo.wrapping_sub(stamp) as i32) > 0 {
            // A later POLL was answered: this one is lost, or late.
            (self.probe, self.tries) = (None, self.tries + 1);
            if self.tries == TRIES {
                (self.tries, self.ruled, self.above) = (0, true, size);
            }
        }
        if self.above < self.size {
            panic!("{self:?} {size} {stamp} {stat:?}")
        }
        if self.above - self.size <= STEP && self.ruled {
            self.above = self.size + 1;
        }
        stat.echo == stamp
    }

    /// What a list says of large packets; true if smaller ones are to be sent from now on.
    pub fn on_feedback(&mut self, largest: &Largest) -> bool {
        if largest.missed_again > largest.arrived {
            self.misses = self.misses.saturating_add(1);
            self.missed = largest.missed_again;
        } else if largest.arrived >= self.missed {
            self.misses = 0;
        }
        let failed = (self.missed + HEADER_LEN) as u32;
        if self.misses < MISSES || failed <= LEAST {
            return false;
        }
        let size = if failed > BASE { BASE } else { (failed / 2).max(LEAST) }.min(self.size);
        let above = if failed - size <= STEP { size + 1 } else { failed.max(size + 1) };
        let tried = self.size;
        *self = Self { size, above, probe: None, tries: 0, ruled: true, misses: 0, missed: 0 };
        size < tried
    }

    /// Data in a packet of the size known to arrive.
    pub fn max_payload(&self) -> usize {
        (self.size as usize).saturating_sub(HEADER_LEN).max(1)
    }
}
