//! The application's data: a limited number of bytes not acknowledged is held, the rest waits with the application.
//!
//! Follows Linux 6.18: `tcp_sndbuf_expand`, two windows (three for BBR), when the application has filled the buffer and the window
//! is not full; with `linux_windows` also `sk_stream_is_writeable`, by which an application that has filled it writes again when a
//! third is free. Differs: payload and not memory is counted; without `linux_windows` the application writes as soon as there is
//! room for a segment. Leaves out memory pressure.

use super::config::{Config, Law};

/// The congestion window that the first buffer is for, segments (TCP_INIT_CWND).
const FIRST_SEGMENTS: u64 = 10;

#[derive(Debug, Clone)]
pub(crate) struct SendBuffer {
    /// One past the last byte the application has written, as far as there is room.
    pub data_end: u64,
    /// True if a FIN follows the data.
    pub fin: bool,
    /// The buffer for a window of ten segments, and the largest.
    first: u64,
    max: u64,
    /// Bytes that may be written and not acknowledged.
    limit: u64,
    /// Bytes that the application has offered and that had no room yet, and whether it has closed behind them.
    pub withheld: u64,
    closed: bool,
    /// True if the application, once it has filled the buffer, waits until a third is free.
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

    /// The application offers `bytes` more, while all below `una` is acknowledged.
    pub fn write(&mut self, bytes: u64, una: u64, mss: u32) {
        // Behind a FIN there is nothing.
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

    /// Returns true if an application that has filled the buffer still sleeps.
    fn waits(&self, una: u64) -> bool {
        let held = self.data_end.saturating_sub(una.max(1));
        self.thirds && self.withheld > 0 && held > self.limit / 3 * 2
    }

    /// Everything from `snd_max` on is taken back.
    pub fn forget_unsent(&mut self, snd_max: u64) {
        if !self.fin_queued() {
            self.data_end = snd_max.max(1);
            self.withheld = 0;
        }
    }

    /// The application writes no more.
    pub fn close(&mut self) {
        (self.closed, self.fin) = (true, self.withheld == 0);
    }

    /// One past everything that will ever be sent, FIN included.
    #[inline]
    pub fn end(&self) -> u64 {
        self.data_end + self.fin as u64
    }

    /// Sequence number of the FIN, if there is one.
    pub fn fin_at(&self) -> Option<u64> {
        self.fin.then_some(self.data_end)
    }

    pub fn fin_queued(&self) -> bool {
        self.fin || self.closed
    }

    /// Sequence numbers written and not yet sent.
    #[inline]
    pub fn unsent(&self, snd_max: u64) -> u64 {
        self.end().saturating_sub(snd_max)
    }

    /// Returns true if all that was written has been sent.
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

    /// The application writes what there is room for, and its FIN if that is all.
    fn refill(&mut self, una: u64, mss: u32) {
        self.data_end = self.data_end.saturating_add(self.admit(una.max(1), self.data_end, mss as u64));
        self.fin |= self.closed && self.withheld == 0;
    }

    /// An acknowledgment has made room. A window of `cwnd` bytes that is not `full` lets the buffer grow.
    #[inline(never)]
    pub fn make_room(&mut self, una: u64, mss: u32, cwnd: u64, full: bool) {
        if !full {
            self.expand(cwnd, mss as u64);
        }
        if !self.waits(una) {
            self.refill(una, mss);
        }
    }

    /// Grows with a window of `cwnd` bytes.
    fn expand(&mut self, cwnd: u64, mss: u64) {
        if self.limit < self.max {
            let windows = self.first as u128 * cwnd as u128 / (FIRST_SEGMENTS * mss) as u128;
            self.limit = self.limit.max(windows.min(self.max as u128) as u64);
        }
    }

    /// Bytes admitted from those that wait, if all up to `end` is there and all below `una` is acknowledged: whole segments, except for
    /// the last, and one at least.
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
        // A fixed one.
        let mut b = SendBuffer::new(&Config { send_buffer: 45_000, send_buffer_max: 0, ..Config::default() });
        b.expand(1 << 30, 1000);
        assert_eq!(b.limit, 45_000);
    }

    // sk_stream_is_writeable: what is free is at least half of what is held.
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
        // A segment larger than the buffer goes alone.
        b.withheld = 200_000;
        assert_eq!((b.admit(1, 1, 64_000), b.admit(1, 64_001, 64_000)), (64_000, 0));
    }
}
