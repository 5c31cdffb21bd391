//! A receive window that tunes itself: twice the data that arrive in an RTT, and more while they grow.
//!
//! Follows dynamic right-sizing (Fisk and Feng 2001) as in Linux 6.18: `tcp_rcv_rtt_measure`, `tcp_rcv_space_adjust`,
//! `tcp_rcvbuf_grow`, `tcp_grow_window`, `__tcp_select_window`.
//! Differs: Linux's shares of memory (`tcp_rmem`, and the window in it) are windows here, and each frame takes the memory of a full
//! one.
//! Leaves out memory pressure and the collapsing of queues.

use super::config::Config;
use skyhop_units::{Span, Time};

/// Segments of a first window, the data expected in the first round trip (TCP_INIT_CWND).
const FIRST_SEGMENTS: u64 = 10;
/// Growth of the first window: it assumes frames of which half the memory is payload; the first frame shows that it is 162 of 256
/// (measured over veth with 6.18; 160 with network cards that give a frame half a page), so the buffer holds more.
const FIRST_GAIN: (u64, u64) = (162, 128);
/// Payload below which segments say nothing about the memory of large ones.
const SHORTEST: u64 = 128;

#[derive(Debug, Clone)]
pub(crate) struct Tuning {
    max: u64,
    /// Window for which the buffer has room (`window_clamp`), and the part that is announced (`rcv_ssthresh`).
    clamp: u64,
    announced: u64,
    mss: u64,
    /// Payload of the largest segment.
    largest: u64,
    /// Largest number of bytes read in a round trip; sequence number and time at which the present one began.
    space: u64,
    read_to: u64,
    began: Time,
    /// RTT as seen by this end, and the peer's latest echo of this end's clock.
    rtt: Option<Span>,
    echo: Option<u32>,
    /// End of a window's worth of data, which takes an RTT or more to arrive, and the start of this measurement.
    window_end: Option<(u64, Time)>,
    latest: Time,
}

impl Tuning {
    /// `None` if the window is fixed.
    pub fn new(config: &Config) -> Option<Box<Self>> {
        let (window, mss) = (config.window, config.mss.max(1) as u64);
        (config.window_max > window).then(|| {
            Box::new(Self {
                max: config.window_max,
                clamp: (window / FIRST_GAIN.1 * FIRST_GAIN.0).clamp(window, config.window_max),
                announced: window,
                mss,
                largest: 1,
                space: window.min(FIRST_SEGMENTS * mss).max(1),
                read_to: 1,
                began: Time::ZERO,
                rtt: None,
                echo: None,
                window_end: None,
                latest: Time::ZERO,
            })
        })
    }

    /// The window with `unread` bytes held in order and `out_of_order` beyond a gap.
    pub fn window(&self, unread: u64, out_of_order: u64) -> u64 {
        let free = self.clamp.saturating_sub(unread + out_of_order);
        // The space left in a full buffer is too small to announce.
        if free < self.clamp / 16 || free < self.largest.min(self.clamp) {
            0
        } else {
            free.min(self.announced)
        }
    }

    /// Returns true if less than half of the buffer is free.
    pub fn scarce(&self, held: u64) -> bool {
        held > self.clamp / 2
    }

    /// Returns true if the application has made so much room that the sender should be told: a window of at least twice `left`.
    pub fn reopened(&self, left: u64, window: u64) -> bool {
        2 * left <= self.clamp && window > 0 && window >= 2 * left
    }

    /// Handles the peer's echo of this end's clock in a segment of `len` bytes, after an RTT of `sample`.
    pub fn on_echo(&mut self, echo: u32, sample: Span, len: u64, unread: u64) {
        if self.echo.replace(echo) != Some(echo) && len >= self.largest && sample > Span::ZERO {
            self.sample(sample, unread == 0);
        }
    }

    /// Adds an RTT sample: a smaller one counts at once, a larger one by an eighth if it is reliable.
    fn sample(&mut self, rtt: Span, trusted: bool) {
        self.rtt = match self.rtt {
            Some(old) if rtt >= old => Some(if trusted { old - old / 8 + rtt / 8 } else { old }),
            _ => Some(rtt),
        };
    }

    /// Handles a segment of `len` bytes in order: all below `rcv_nxt` has arrived, of which `unread` bytes waited before; `window`
    /// is the announced window. Returns true if the window has grown.
    pub fn on_data(&mut self, now: Time, len: u64, rcv_nxt: u64, window: u64, held: u64) -> bool {
        self.latest = now;
        match self.window_end {
            Some((end, _)) if rcv_nxt < end => {}
            since => {
                if let Some((_, at)) = since {
                    self.sample(now.since(at).max(Span::from_micros(1)), false);
                }
                self.window_end = Some((rcv_nxt + window, now));
            }
        }
        self.largest = self.largest.max(len);
        self.announce_more(len, held)
    }

    /// Handles a segment of `len` bytes out of order; `beyond` is the distance from the gap to the end of the data held.
    pub fn on_gap(&mut self, now: Time, len: u64, beyond: u64, held: u64) {
        self.latest = now;
        self.announce_more(len, held);
        self.make_room(self.space, beyond);
    }

    /// Grows the announced window by two segments for each that arrives (check 2 of `tcp_grow_window`: whether such segments would
    /// fill the window before the memory).
    fn announce_more(&mut self, len: u64, held: u64) -> bool {
        let room = self.clamp.saturating_sub(held).saturating_sub(self.announced);
        if len < SHORTEST || room == 0 {
            return false;
        }
        let more = if len >= self.largest { 2 * self.mss } else { self.for_short(len) };
        self.announced += room.min(if more > 0 { more.max(2 * len) } else { 0 });
        more > 0
    }

    fn for_short(&self, len: u64) -> u64 {
        let (mut memory, mut window) = (self.largest / 2, self.max / 2);
        while self.announced <= window {
            if memory <= len {
                return 2 * self.largest;
            }
            (memory, window) = (memory / 2, window / 2);
        }
        0
    }

    /// Handles a read: the application has read all below `read_to`, and `unread` bytes are left.
    pub fn on_read(&mut self, read_to: u64, unread: u64, beyond: u64) {
        let Some(rtt) = self.rtt else { return };
        if self.latest.since(self.began) < rtt {
            return;
        }
        let read = (read_to - self.read_to.min(read_to)).saturating_sub(unread);
        if read > self.space {
            self.make_room(read, beyond);
        }
        (self.read_to, self.began) = (read_to, self.latest);
    }

    /// Makes room for the next round trip: twice the bytes of the last one, more by twice the growth since the one before, and the
    /// data behind a gap.
    fn make_room(&mut self, read: u64, beyond: u64) {
        let old = std::mem::replace(&mut self.space, read) as u128;
        let twice = 2 * read as u128;
        let growth = twice * (read as u128 - old) / old;
        let window = (twice + 2 * growth).min(self.max as u128) as u64;
        self.clamp = self.clamp.max((window + beyond).min(self.max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn tuning() -> Tuning {
        let config = Config { mss: 1448, window: 64_240, window_max: 21_233_664, ..Config::default() };
        *Tuning::new(&config).unwrap()
    }

    /// `n` segments arrive from `from` ms on, a millisecond apart, and are read at once.
    fn arrive(t: &mut Tuning, from: u64, n: u64, rcv_nxt: &mut u64) {
        for i in 0..n {
            let now = at(from + i);
            t.on_echo((from + i) as u32, Span::from_millis(600), MSS, 0);
            let window = t.window(0, 0);
            *rcv_nxt += MSS;
            t.on_data(now, MSS, *rcv_nxt, window, 0);
            t.on_read(*rcv_nxt, 0, 0);
        }
    }

    // Computed by hand from the kernel's source: 10, 20, 40, 80 segments in round trips of 600 ms. The first measurement begins
    // with the first segment. An RTT later 10 have been read, as expected. After another one 20: 2 * 20 + 2 * (2 * 20 * (20 - 10) /
    // 10) = 120 segments. Then 40: 80 + 2 * 80 * 20 / 20 = 240; then 80: 480.
    #[test]
    fn the_buffer_is_three_times_a_doubling_flow_ahead() {
        let (mut t, mut nxt) = (tuning(), 1);
        assert_eq!((t.window(0, 0), t.clamp, t.space), (64_240, 81_162, 14_480));
        arrive(&mut t, 1000, 10, &mut nxt);
        // Two more segments are announced for each, until the first buffer is used up.
        assert_eq!((t.window(0, 0), t.clamp), (81_162, 81_162));
        arrive(&mut t, 1600, 20, &mut nxt);
        assert_eq!((t.space, t.clamp), (14_480, 81_162));
        arrive(&mut t, 2200, 1, &mut nxt);
        assert_eq!((t.space, t.clamp), (20 * MSS, 120 * MSS));
        assert_eq!(t.window(0, 0), 81_162, "announced from the next segment on");
        arrive(&mut t, 2201, 39, &mut nxt);
        assert_eq!(t.window(0, 0), 81_162 + 2 * 32 * MSS - (81_162 + 64 * MSS - 120 * MSS));
        arrive(&mut t, 2800, 80, &mut nxt);
        assert_eq!((t.space, t.clamp), (40 * MSS, 240 * MSS));
        arrive(&mut t, 3400, 160, &mut nxt);
        assert_eq!((t.space, t.clamp), (80 * MSS, 480 * MSS));
        // A flow that no longer grows leaves it unchanged.
        for round in 0..10 {
            arrive(&mut t, 4000 + 600 * round, 160, &mut nxt);
        }
        assert_eq!((t.space, t.clamp), (160 * MSS, 960 * MSS));
    }

    #[test]
    fn the_window_ends_at_its_maximum() {
        let (mut t, mut nxt) = (tuning(), 1);
        let mut n = 10;
        for round in 0..16 {
            // Most arrive in the last millisecond, so that the round trip keeps its length.
            for i in 0..n {
                let now = at(1000 + 600 * round + (i > 0) as u64);
                t.on_echo((round * 2 + (i > 0) as u64) as u32, Span::from_millis(600), MSS, 0);
                nxt += MSS;
                t.on_data(now, MSS, nxt, t.window(0, 0), 0);
                t.on_read(nxt, 0, 0);
            }
            n = (2 * n).min(20_000);
        }
        assert_eq!((t.clamp, t.window(0, 0)), (21_233_664, 21_233_664));
        // Unread data and data behind a gap use up space; the last sixteenth is not announced.
        assert_eq!(t.window(10_000_000, 1_000_000), 10_233_664);
        assert_eq!(t.window(20_000_000, 0), 0);
        assert!(t.scarce(10_616_833) && !t.scarce(10_616_832));
        assert!(t.reopened(5_000_000, 10_000_000) && !t.reopened(5_000_000, 9_999_999));
        assert!(!t.reopened(10_616_833, 21_233_664));
    }

    // tcp_rcv_rtt_update: the smallest at once; larger ones by an eighth from timestamps, and only if no data wait to be read;
    // never by the time that a window's worth took.
    #[test]
    fn the_receivers_round_trip() {
        let mut t = tuning();
        let ms = Span::from_millis;
        t.on_echo(1, ms(800), MSS, 0);
        t.on_echo(2, ms(600), MSS, 0);
        assert_eq!(t.rtt, Some(ms(600)));
        t.on_echo(2, ms(1400), MSS, 0);
        assert_eq!(t.rtt, Some(ms(600)), "an echo seen before says nothing");
        t.on_echo(3, ms(1400), MSS, 1);
        assert_eq!(t.rtt, Some(ms(600)), "data waits to be read");
        t.on_echo(4, ms(1400), MSS, 0);
        assert_eq!(t.rtt, Some(ms(700)));
        t.largest = MSS;
        t.on_echo(5, ms(100), MSS - 1, 0);
        assert_eq!(t.rtt, Some(ms(700)), "a short segment may have waited for its sender");
        // Without timestamps: the first segment begins a window, which ends 64,240 bytes later.
        let mut t = tuning();
        t.on_data(at(1000), MSS, 1 + MSS, 64_240, 0);
        t.on_data(at(1500), MSS, 1 + 64_240, 64_240, 0);
        assert_eq!(t.rtt, None);
        t.on_data(at(1700), MSS, 1 + MSS + 64_240, 64_240, 0);
        assert_eq!(t.rtt, Some(ms(700)));
        t.on_data(at(2700), MSS, 1 + MSS + 2 * 64_240, 64_240, 0);
        assert_eq!(t.rtt, Some(ms(700)));
        t.on_data(at(3300), MSS, 1 + MSS + 3 * 64_240, 64_240, 0);
        assert_eq!(t.rtt, Some(ms(600)));
    }

    // tcp_rcvbuf_grow with an out-of-order queue: twice the space, and as far as the queue reaches.
    #[test]
    fn a_gap_makes_room_for_what_is_behind_it() {
        let (mut t, mut nxt) = (tuning(), 1);
        for (from, n) in [(1000, 10), (1600, 20), (2200, 20), (2800, 20)] {
            arrive(&mut t, from, n, &mut nxt);
        }
        assert_eq!((t.space, t.clamp), (20 * MSS, 120 * MSS));
        t.on_gap(at(3400), MSS, 70 * MSS, 69 * MSS);
        assert_eq!(t.clamp, 120 * MSS);
        t.on_gap(at(3401), MSS, 100 * MSS, 99 * MSS);
        assert_eq!(t.clamp, 140 * MSS);
    }

    // Check 2 of tcp_grow_window: segments that fill their memory badly open the window only while it is small.
    #[test]
    fn short_segments_open_a_small_window_only() {
        let mut t = tuning();
        t.largest = MSS;
        // 500 bytes fill a quarter of 1448 / 2 = 724 once it is halved, up to a quarter of the maximum.
        (t.clamp, t.announced) = (t.max, 100_000);
        assert!(t.announce_more(500, 0));
        assert_eq!(t.announced, 100_000 + 2 * MSS);
        t.announced = t.max / 4 + 1;
        assert!(!t.announce_more(500, 0));
        assert!(!t.announce_more(127, 0));
        assert!(t.announce_more(MSS, 0));
    }
}
