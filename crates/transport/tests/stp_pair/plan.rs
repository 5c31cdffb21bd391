//! Plan of a case: the writes and the closing of each end, and the channel's effect on each packet.
//!
//! A plan is parsed from bytes, so that proptest, a counter of cases and a fuzzer generate the same cases.
//! Differs from a strategy of proptest: any bytes are a plan, and zeros are the simplest one, so that bytes shrink well.
//! Leaves out the machines, which `net` drives.

use skyhop_transport::stp::{Config, Congestion, Features};
use skyhop_units::{Rate, Span};

/// The channel's effect on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// It is lost.
    pub lost: bool,
    /// It arrives a second time, one delay later.
    pub twice: bool,
    /// Additional delay.
    pub late_ms: u64,
    /// Number of the inverted bit, modulo the packet's length.
    pub flip: Option<u32>,
}

/// Short, as lists have many of them.
impl std::fmt::Debug for Fate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.lost, self.flip) {
            (true, _) => f.write_str("lost"),
            (_, Some(_)) => f.write_str("spoilt"),
            _ => write!(f, "{}{}", self.late_ms, if self.twice { "x2" } else { "" }),
        }
    }
}

/// Time at which an end finishes its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// With its last write.
    AtOnce,
    /// When all it wrote is acknowledged.
    Acknowledged,
    /// When the peer has finished.
    AfterPeer,
}

/// Actions of one end.
#[derive(Debug, Clone)]
pub struct Side {
    /// Its first number.
    pub initial: u32,
    /// Sizes of its writes, in bytes.
    pub writes: Vec<usize>,
    /// True if it writes before it is connected (the opener only).
    pub early: bool,
    /// Interval between writes.
    pub pause_ms: u64,
    /// When it finishes.
    pub finish: Finish,
    /// Interval between reads; at every event if zero.
    pub read_every_ms: u64,
}

/// A case.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The opener and the listener.
    pub sides: [Side; 2],
    /// One-way delay.
    pub delay_ms: u64,
    /// For each sender, the effects on its packets: in order once, then permuted.
    pub fates: [Vec<Fate>; 2],
    /// True if the channel has the same effects after the list; otherwise it has none.
    pub goes_on: bool,
    /// All packets from this one on are lost (counted over both directions).
    pub dies: Option<u64>,
    /// Timers are also called before their time.
    pub too_early: bool,
    /// Configuration of both ends.
    pub config: Config,
}

/// Takes bytes one by one; zeros when there are no more.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn wide(&mut self) -> u32 {
        (self.byte() as u32) << 16 | (self.byte() as u32) << 8 | self.byte() as u32
    }

    fn below(&mut self, n: u8) -> u8 {
        self.byte() % n
    }
}

impl Plan {
    /// The plan encoded by `bytes`. Zeros: a few packets in each direction over a path without effects.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::of_size(bytes, 150)
    }

    /// The same with at most `packets` packets of data in each direction.
    pub fn of_size(bytes: &[u8], packets: usize) -> Self {
        let mut source = Source(bytes);
        let config = config(&mut source);
        let most = packets * config.max_payload() as usize;
        let sides = [side(&mut source, most), side(&mut source, most)];
        let delay_ms = [10, 1, 50, 300, 0, 600, 3, 100][source.below(8) as usize];
        let flags = source.byte();
        let too_early = flags & 1 != 0;
        let dies = (flags & 0x0e == 0x0e).then(|| source.byte() as u64);
        let goes_on = flags & 0x10 != 0;
        let split = source.byte() as usize;
        let rest = source.0;
        let (left, right) = rest.split_at(rest.len() * split / 256);
        let fates = [left, right].map(fates);
        Self { sides, delay_ms, fates, goes_on, dies, too_early, config }
    }

    /// Returns true if the channel loses only a few packets, so that the case must succeed.
    pub fn must_succeed(&self) -> bool {
        let kind = |fates: &Vec<Fate>| fates.iter().filter(|f| f.lost || f.flip.is_some()).count() <= 3;
        self.dies.is_none() && !self.goes_on && self.fates.iter().all(kind)
    }

    /// One way, as a span.
    pub fn delay(&self) -> Span {
        Span::from_millis(self.delay_ms)
    }

    /// The channel's effect on the `n`th packet of `from`.
    pub fn fate(&self, from: usize, n: u64) -> Fate {
        let fates = &self.fates[from];
        // After the list in an order that no timer can synchronise with.
        let mut mixed = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let scrambled = mixed ^ mixed >> 31;
        match usize::try_from(n) {
            Ok(n) if n < fates.len() => fates[n],
            _ if self.goes_on => fates[(scrambled % fates.len() as u64) as usize],
            _ => Fate::default(),
        }
    }
}

fn side(source: &mut Source, most: usize) -> Side {
    let initial = match source.below(4) {
        0 => 0,
        1 => 0x00ff_ffff - source.below(32) as u32,
        2 => source.wide(),
        _ => 0x0080_0000 - source.below(32) as u32,
    };
    let count = source.below(16) as usize;
    let size = |source: &mut Source| match source.byte() {
        n @ 0..=99 => n as usize,
        n @ 100..=199 => (n as usize - 99) * 16,
        n @ 200..=249 => (n as usize - 199) * 200,
        n => (n as usize - 249) * 10_000,
    };
    let mut room = most;
    let mut writes: Vec<usize> = (0..count).map(|_| size(source)).collect();
    for size in &mut writes {
        *size = (*size).min(room);
        room -= *size;
    }
    let habits = source.byte();
    let finish = [Finish::AtOnce, Finish::Acknowledged, Finish::AfterPeer][habits as usize % 3];
    Side {
        initial,
        writes,
        early: habits & 0x08 != 0,
        pause_ms: [0, 0, 1, 700][(habits >> 4 & 3) as usize],
        finish,
        read_every_ms: [0, 0, 5, 900][(habits >> 6 & 3) as usize],
    }
}

/// Zero: the default configuration. Otherwise every parameter varies, with small packets and windows, so that few data suffice.
fn config(source: &mut Source) -> Config {
    let kind = source.byte();
    let mut config = if kind & 1 == 0 { Config::default() } else { Config::plain() };
    config.congestion = [Congestion::Delay, Congestion::Window, Congestion::Rate][(kind >> 1) as usize % 3];
    config.max_rate = (config.congestion == Congestion::Rate || kind & 0x40 != 0).then(|| Rate::mbit(8));
    let sizes = source.byte();
    config.packet_size = [1440, 100, 13, 60, 980, 300, 40, 9000][(sizes & 7) as usize];
    config.window = [64 << 20, 2_000, 1, 20_000, 300, 100_000, 5_000, 600][(sizes >> 3 & 7) as usize];
    config.initial_window = u64::from(config.max_payload()) * [10, 1, 3, 64][(sizes >> 6) as usize];
    let more = source.byte();
    config.initial_credit = [64, 1, 4, 1000][(more & 3) as usize];
    config.features = match more >> 2 & 3 {
        0 => config.features,
        1 => Features::PLAIN,
        2 => Features::COMPACT,
        _ => Features::REPORT,
    };
    config.ustat_threshold = [3, 1, 2, 10][(more >> 4 & 3) as usize];
    config.tail_copies ^= u32::from(more >> 6 & 1);
    config.begin_copies = if more & 0x80 == 0 { config.begin_copies } else { 1 };
    let times = source.byte();
    config.ustat_delay = [config.ustat_delay, Span::ZERO, Span::from_millis(200), Span::from_micros(100)]
        [(times & 3) as usize];
    config.reordering_delay =
        [config.reordering_delay, Span::ZERO, Span::from_millis(30), Span::from_micros(7)]
            [(times >> 2 & 3) as usize];
    config.poll_threshold = [10, 0, 3, 1000][(times >> 4 & 3) as usize];
    config.keep_alive = (times & 0x40 != 0).then(|| Span::from_millis(500));
    config.granularity = if times & 0x80 == 0 { Span::ZERO } else { Span::from_millis(10) };
    config
}

/// A byte is a packet's fate; of each ten packets at least one arrives unaltered.
fn fates(bytes: &[u8]) -> Vec<Fate> {
    let mut fates: Vec<Fate> = bytes.iter().map(|b| fate(*b)).collect();
    if fates.is_empty() {
        fates.push(Fate::default());
    }
    let len = fates.len();
    for (n, tenth) in fates.chunks_mut(10).enumerate() {
        if tenth.iter().all(|f| f.lost || f.flip.is_some()) {
            let one = (n * 7 + len) % tenth.len();
            tenth[one] = Fate::default();
        }
    }
    fates
}

fn fate(b: u8) -> Fate {
    match b {
        0..=119 => Fate::default(),
        120..=159 => Fate { lost: true, ..Fate::default() },
        160..=179 => Fate { twice: true, ..Fate::default() },
        180..=219 => Fate { late_ms: (b - 179) as u64 * 3, ..Fate::default() },
        220..=229 => Fate { late_ms: (b - 219) as u64 * 97, twice: b & 1 == 0, ..Fate::default() },
        _ => Fate { flip: Some((b - 230) as u32 * 37 + 5), ..Fate::default() },
    }
}
