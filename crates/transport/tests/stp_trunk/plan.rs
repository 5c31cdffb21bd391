//! A random case: actions of both applications, and the channel's effects on packets.
//!
//! Follows docs/stp.md §15.8 for the budgets, which are small so that they matter.
//! Differs from a fuzzer's input: a case is a number, from which everything is drawn.
//! Leaves out the expected outcome.

use skyhop_chance::{Seed, Stream};
use skyhop_transport::stp::{Budgets, Class, Config};
use skyhop_units::Span;

/// Random draws.
pub struct Chance(Stream);

impl Chance {
    pub fn new(seed: u64, name: &str) -> Self {
        Self(Seed(seed).stream(name))
    }
    pub fn some(&mut self, most: u64) -> u64 {
        self.0.bits() % most.max(1)
    }
    /// True with a probability of `often` in a thousand.
    pub fn per_mille(&mut self, often: u64) -> bool {
        self.some(1000) < often
    }
}

/// A failure of the association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disaster {
    None,
    /// After this many packets nothing arrives any more.
    Dies(u64),
    /// After this many packets the listener is a new one without state.
    Restart(u64),
}

#[derive(Debug, Clone, Copy)]
pub struct StreamPlan {
    pub opener: usize,
    pub at_ms: u64,
    pub class: Class,
    /// Bytes written by the opener and by the other end.
    pub sizes: [u64; 2],
    /// Bytes of one write.
    pub write: u64,
    /// The end that aborts it, and the time after the opening.
    pub reset: Option<(usize, u64)>,
    pub reclass: Option<Class>,
}

#[derive(Debug, Clone, Copy)]
pub struct DatagramPlan {
    pub from: usize,
    pub at_ms: u64,
    pub len: u64,
    pub lives_ms: u64,
}

/// One case.
#[derive(Debug, Clone)]
pub struct Plan {
    pub case: u64,
    pub configs: [Config; 2],
    pub budgets: [Budgets; 2],
    pub firsts: [u32; 2],
    pub delay: Span,
    /// Probabilities, in a thousand, and the delay of late packets.
    pub lost: u64,
    pub twice: u64,
    pub altered: u64,
    pub late: (u64, u64),
    /// From this packet of each end on, the path MTU is this.
    pub narrows: Option<(u64, usize)>,
    /// An outage: first packet, milliseconds, and the delay after it.
    pub moves: Option<(u64, u64, u64)>,
    pub disaster: Disaster,
    pub streams: Vec<StreamPlan>,
    pub datagrams: Vec<DatagramPlan>,
    /// Bytes that an application reads at once, and the interval between reads.
    pub reads: [(usize, u64); 2],
}

impl Plan {
    pub fn new(case: u64) -> Self {
        let mut chance = Chance::new(case, "plan");
        let c = &mut chance;
        let quiet = c.per_mille(200);
        let bad = |often: u64, c: &mut Chance| if quiet { 0 } else { c.some(often) };
        let (lost, twice, altered) = (bad(200, c), bad(60, c), bad(30, c));
        let late = (bad(150, c), c.some(300));
        let sizes: Vec<u32> = vec![272, 300, 500, 1000, 1440];
        let packet = sizes[c.some(5) as usize];
        let window = [1, 80_000, 200_000, 64 << 20][c.some(4) as usize];
        let budgets = std::array::from_fn(|_| Budgets {
            stream_window: [window, 1 + window / 2, 48 << 20][c.some(3) as usize].min(window),
            first_window: [u64::MAX, 1, 40_000][c.some(3) as usize],
            streams: [1, 16, 18, 4096][c.some(4) as usize],
            datagram_window: [300, 2_000, 256 << 10][c.some(3) as usize],
            datagram_delay: None,
            send_buffer: [500, 10_000, u64::MAX][c.some(3) as usize],
        });
        let configs = std::array::from_fn(|_| Config {
            packet_size: packet,
            window: [window, 64 << 20][c.some(2) as usize],
            // Five POLLs in two minutes may all be lost; a hundred are not.
            rto_max: Span::from_secs(4),
            tail_copies: c.some(3) as u32,
            ..Config::default()
        });
        let most = [5, 5, 5, 5, 5, 5, 5, 30][c.some(8) as usize];
        let count = 1 + c.some(most);
        let streams = (0..count).map(|_| Self::stream(c)).collect();
        let datagrams = (0..c.some(12))
            .map(|_| DatagramPlan {
                from: c.some(2) as usize,
                at_ms: c.some(1500),
                len: 8 + c.some(u64::from(packet) - 100),
                lives_ms: c.some(800),
            })
            .collect();
        let moves = (!quiet && c.per_mille(150)).then(|| (c.some(60), c.some(8000), 5 + c.some(400)));
        let narrows = (!quiet && packet > 300 && c.per_mille(250)).then(|| (c.some(40), 290));
        let disaster = match c.some(20) {
            0 if !quiet => Disaster::Dies(c.some(60)),
            1 if !quiet => Disaster::Restart(c.some(60)),
            _ => Disaster::None,
        };
        Self {
            case,
            configs,
            budgets,
            firsts: std::array::from_fn(|_| [c.some(1 << 24) as u32, 0xff_fff0][c.some(2) as usize]),
            delay: Span::from_millis(1 + c.some(150)),
            lost,
            twice,
            altered,
            late,
            narrows,
            moves,
            disaster,
            streams,
            datagrams,
            reads: std::array::from_fn(|_| [(usize::MAX, 0), (700, 0), (900, 20)][c.some(3) as usize]),
        }
    }

    fn stream(c: &mut Chance) -> StreamPlan {
        let class = |c: &mut Chance| Class { priority: c.some(8) as u8, weight: 1 + c.some(255) as u8 };
        let most = [0, 50, 600, 3_000, 20_000, 60_000];
        let sizes = std::array::from_fn(|_| {
            let most = most[(c.some(4) + c.some(12) / 10) as usize];
            c.some(most + 1)
        });
        StreamPlan {
            opener: c.some(2) as usize,
            at_ms: c.some(900),
            class: class(c),
            sizes,
            write: [100, 2_000, 1 << 20][c.some(3) as usize],
            reset: c.per_mille(120).then(|| (c.some(2) as usize, c.some(1200))),
            reclass: c.per_mille(150).then(|| class(c)),
        }
    }

    /// Returns true if only the application can end a stream.
    pub fn must_succeed(&self) -> bool {
        self.disaster == Disaster::None
    }
}
