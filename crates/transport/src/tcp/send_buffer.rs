//! The send buffer: holds a limited number of unacknowledged bytes; further data wait in the application.
//!
//! Follows Linux 6.18: `tcp_sndbuf_expand`, two windows (three for BBR), when the application has filled the buffer and the window
//! is not full; with `linux_windows` also `sk_stream_is_writeable`, by which an application that has filled the buffer continues
//! when a third is free. Differs: payload is counted, not memory; without `linux_windows` the application writes as soon as there
//! is room for a segment. Leaves out memory pressure.

use super::config::{Config, Law};

/// Congestion window that the initial buffer is for, segments (TCP_INIT_CWND).
const FIRST_SEGMENTS: u64 = 10;

#[derive(Debug, Clone)]
pub(crate) struct SendBuffer {
    /// One past the last byte written that had room.
    pub data_end: u64,
    /// True if a FIN follows the data.
    pub fin: bool,
    /// The buffer for a window of ten segments, and the largest buffer.
    first: u64,
    max: u64,
    /// Largest number of bytes written and not acknowledged.
    limit: u64,
    /// Bytes offered by the application that have no room yet, and true if it has closed after them.
    pub withheld: u64,
    closed: bool,
    /// True if an application that has filled the buffer waits until a third is free.
    thirds: bool,
}

impl SendBuffer {
    pub fn new(config: &Config) -> Self {
        let first = match config.variant.law() {
            Law::Bbr | Law::Bbr1 => config.send_buffer.saturating_add(config.send_buffer / 2),
            _ => config.send_buffer,
        };
        let max = config.send_buffer_max.max(config.send_buffer);
        let (first, limit) = (first.min(max), first.min(max));
        Self {
            data_end: 1,
            fin: false,
            first,
            max,
            limit,
            withheld: 0,
            closed: false,
            thirds: config.linux_windows,
        }
    }

    fn is_off(&self) -> bool {
        self.limit == u64::MAX
    }

    /// Writes `bytes` more, while all below `una` is acknowledged.
    pub fn write(&mut self, bytes: u64, una: u64, mss: u32) {
        // Nothing follows a FIN.
        if self.fin_queued() {
            return;
        }
        if self.is_off() {
            self.data_end = self.data_end.saturating_add(bytes);
        } else {
            let waits = self.waits(una);
            self.withheld = self.withheld.saturating_add(bytes);
            if !waits {
                self.refill(una, mss);
            }
        }
    }

    /// Returns true if an application that has filled the buffer still waits.
    fn waits(&self, una: u64) -> bool {
        let held = self.data_end.saturating_sub(una.max(1));
        self.thirds && self.withheld > 0 && held > self.limit / 3 * 2
    }

    /// Withdraws all data from `snd_max` on.
    pub fn forget_unsent(&mut self, snd_max: u64) {
        if !self.fin_queued() {
            self.data_end = snd_max.max(1);
            self.withheld = 0;
        }
    }

    /// Closes the buffer for writing.
    pub fn close(&mut self) {
        (self.closed, self.fin) = (true, self.withheld == 0);
    }

    /// One past all data that will ever be sent, FIN included.
    #[inline]
    pub fn end(&self) -> u64 {
        self.data_end + self.fin as u64
    }

    pub fn fin_queued(&self) -> bool {
        self.fin || self.closed
    }

    /// Sequence numbers written and not sent.
    #[inline]
    pub fn unsent(&self, snd_max: u64) -> u64 {
        self.end().saturating_sub(snd_max)
    }

    /// Returns true if all written data have been sent.
    pub fn all_sent(&self, snd_max: u64) -> bool {
        snd_max >= self.data_end && self.withheld == 0
    }

    #[inline]
    pub fn all_acknowledged(&self, una: u64) -> bool {
        una >= self.data_end && self.withheld == 0
    }

    #[inline]
    pub fn fin_acknowledged(&self, una: u64) -> bool {
        self.fin && una > self.data_end
    }

    /// Accepts the withheld data for which there is room, and the FIN after the last.
    fn refill(&mut self, una: u64, mss: u32) {
        self.data_end = self.data_end.saturating_add(self.admit(una.max(1), self.data_end, mss as u64));
        self.fin |= self.closed && self.withheld == 0;
    }

    /// Handles room made by an acknowledgment. The buffer grows if the window of `cwnd` bytes is not `full`.
    #[inline(never)]
    pub fn make_room(&mut self, una: u64, mss: u32, cwnd: u64, full: bool) {
        if !full {
            self.expand(cwnd, mss as u64);
        }
        if !self.waits(una) {
            self.refill(una, mss);
        }
    }

    /// Grows for a window of `cwnd` bytes.
    fn expand(&mut self, cwnd: u64, mss: u64) {
        if self.limit < self.max {
            let windows = self.first as u128 * cwnd as u128 / (FIRST_SEGMENTS * mss) as u128;
            self.limit = self.limit.max(windows.min(self.max as u128) as u64);
        }
    }

    /// Number of withheld bytes to accept, if all up to `end` is written and all below `una` acknowledged: whole segments, except
    /// the last, and at least one.
    fn admit(&mut self, una: u64, end: u64, mss: u64) -> u64 {
        let room = una.saturating_add(self.limit).saturating_sub(end);
        let whole = if end <= una { room.max(mss) } else { room } / mss * mss;
        let admitted = if self.withheld <= room { self.withheld } else { whole.min(self.withheld) };
        self.withheld -= admitted;
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Variant;
    use super::*;

    fn buffer(variant: Variant) -> SendBuffer {
        SendBuffer::new(&Config {
            variant,
            send_buffer: 45_000,
            send_buffer_max: 4_000_000,
            ..Config::default()
        })
    }

    // tcp_sndbuf_expand: sndmem = 2 * max(10, cwnd) segments' memory, 3 for BBR, up to wmem[2].
    #[test]
    fn the_buffer_is_in_proportion_to_the_window() {
        let mut b = buffer(Variant::Cubic);
        for (cwnd, limit) in [
            (5_000, 45_000),
            (10_000, 45_000),
            (20_000, 90_000),
            (15_000, 90_000),
            (800_000, 3_600_000),
            (900_000, 4_000_000),
        ] {
            b.expand(cwnd, 1000);
            assert_eq!(b.limit, limit, "{cwnd}");
        }
        let mut b = buffer(Variant::Bbr);
        assert_eq!(b.limit, 67_500);
        b.expand(20_000, 1000);
        assert_eq!(b.limit, 135_000);
        assert!(SendBuffer::new(&Config::default()).is_off());
        // A constant one.
        let mut b = SendBuffer::new(&Config { send_buffer: 45_000, send_buffer_max: 0, ..Config::default() });
        b.expand(1 << 30, 1000);
        assert_eq!(b.limit, 45_000);
    }

    // sk_stream_is_writeable: the free part is at least half of the used part.
    #[test]
    fn linux_wakes_the_application_when_a_third_is_free() {
        for (linux_windows, ends) in [(false, [91_001, 100_001, 120_001]), (true, [90_001, 90_001, 120_001])]
        {
            let config =
                Config { linux_windows, send_buffer: 90_000, send_buffer_max: 90_000, ..Config::default() };
            let mut b = SendBuffer::new(&config);
            b.write(1_000_000, 1, 1000);
            assert_eq!(b.data_end, 90_001);
            let seen = [1_001, 10_001, 30_001].map(|una| {
                b.make_room(una, 1000, 1_000_000, true);
                b.data_end
            });
            assert_eq!(seen, ends, "{linux_windows}");
        }
    }

    #[test]
    fn whole_segments_come_in_until_the_last() {
        let mut b = buffer(Variant::Cubic);
        b.withheld = 100_500;
        assert_eq!(b.admit(1, 1, 2000), 44_000);
        assert_eq!(b.admit(1, 44_001, 2000), 0);
        assert_eq!(b.admit(4_001, 44_001, 2000), 4_000);
        assert_eq!(b.admit(48_001, 48_001, 2000), 44_000);
        assert_eq!((b.admit(90_001, 92_001, 2000), b.withheld), (8_500, 0));
        // A segment larger than the buffer is accepted alone.
        b.withheld = 200_000;
        assert_eq!((b.admit(1, 1, 64_000), b.admit(1, 64_001, 64_000)), (64_000, 0));
    }
}
