//! ECN of STP: which packets are ECN-capable, what marks do, and paths or peers whose counts cannot be right.
//!
//! Follows docs/stp.md §6.5 and §8.3 rule 11, and RFC 9000 §13.4.2.
//! Differs: the path marks and erases by rules of its own, without a queue, so that each case is alone.
//! Leaves out the AQMs of the simulator (`stp_ecn` of `sim`).

use proptest::prelude::*;
use skyhop_transport::stp::{Config, Congestion, Connection, Ends, Features, Packet, PayloadLength};
use skyhop_units::{Span, Time};
use skyhop_wire::Ecn;
use skyhop_wire::stp::MarkCounts;
use std::collections::BTreeMap;

const ONE_WAY: Span = Span::from_millis(50);
/// 20 Mbit/s.
const BYTES_PER_S: f64 = 2.5e6;

/// A path that does `field` to the ECN field of each packet towards the listener, and `counts` to what the listener reports.
struct Path<F, C> {
    now: Time,
    ends: [Connection<PayloadLength>; 2],
    wire: BTreeMap<(Time, u64), (usize, Packet<PayloadLength>, Ecn)>,
    free_at: Time,
    order: u64,
    field: F,
    counts: C,
    /// SDs, and those that left with ECT(0).
    sent: (u64, u64),
    /// The longest report, bytes.
    longest: usize,
}

fn with(features: Features) -> Config {
    Config { features, ..Config::default() }
}

fn ecn() -> Config {
    with(Features::COMPACT.with(Features::REPORT).with(Features::ECN))
}

impl<F: FnMut(u64, Ecn) -> Ecn, C: FnMut(MarkCounts) -> MarkCounts> Path<F, C> {
    fn new([here, there]: [Config; 2], field: F, counts: C) -> Self {
        let ends = Ends { local_port: 4000, remote_port: 5000, instance: 7, count: 1 };
        let listener = Ends { local_port: 5000, ..Ends::default() };
        Path {
            now: Time::ZERO,
            ends: [Connection::connect(here, ends, 5), Connection::listen(there, listener, 77)],
            wire: BTreeMap::new(),
            free_at: Time::ZERO,
            order: 0,
            field,
            counts,
            sent: (0, 0),
            longest: 0,
        }
    }

    fn drain(&mut self) {
        for side in 0..2 {
            while let Some(mut packet) = self.ends[side].poll_transmit(self.now) {
                let mut field = self.ends[side].network_fields(&packet).ecn;
                let asks = packet.data.is_some() || packet.poll.is_some();
                let capable = asks && self.ends[side].is_ecn_capable();
                assert_eq!(
                    field == Ecn::Capable0,
                    capable,
                    "SDs and POLLs are, and nothing else: {packet:?}"
                );
                let mut at = self.now;
                if side == 0 {
                    let data = u64::from(packet.data.is_some());
                    self.sent.0 += data;
                    self.sent.1 += u64::from(field == Ecn::Capable0 && packet.data.is_some());
                    field = (self.field)(self.sent.0, field);
                    let takes = Span::from_secs_f64((packet.wire_len() + 28) as f64 / BYTES_PER_S);
                    self.free_at = self.free_at.max(self.now) + takes;
                    at = self.free_at;
                } else if let Some(stat) = packet.control.as_mut().and_then(|control| control.stat.as_mut())
                    && let Some(report) = &mut stat.report
                {
                    self.longest = self.longest.max(report.wire_len());
                    let told = (self.counts)(report.marks.unwrap_or_default());
                    report.marks = (told != MarkCounts::default()).then_some(told);
                }
                self.order += 1;
                self.wire.insert((at + ONE_WAY, self.order), (1 - side, packet, field));
            }
            while self.ends[side].poll_event().is_some() {}
            while self.ends[side].read(usize::MAX).is_some() {}
        }
    }

    /// Sends so many bytes; seconds until all have been acknowledged.
    fn transfer(&mut self, bytes: u64) -> f64 {
        self.ends[0].write(PayloadLength(bytes));
        self.ends.iter_mut().for_each(Connection::shutdown);
        self.drain();
        while !self.ends[0].end_acknowledged() {
            let arrival = self.wire.first_key_value().map(|(key, _)| key.0);
            let timers = self.ends.iter().filter_map(Connection::poll_timeout).min();
            let next = timers.into_iter().chain(arrival).min().expect("something is to happen");
            assert!(next < Time::ZERO + Span::from_secs(600), "{:?}", self.ends[0].stats());
            self.now = self.now.max(next);
            while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to, packet, field) = entry.remove();
                self.ends[to].handle_arrival(self.now, &packet, field);
            }
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
            self.drain();
        }
        assert_eq!(self.ends[1].delivered(), bytes);
        self.now.as_secs_f64()
    }
}

const SIZE: u64 = 10_000_000;

fn honest(counts: MarkCounts) -> MarkCounts {
    counts
}

/// Without marks nothing differs from a connection without ECN: not a byte of a report, not a nanosecond.
#[test]
fn a_path_without_marks_costs_nothing() {
    let mut plain = Path::new([Config::default(), Config::default()], |_, field| field, honest);
    let mut capable = Path::new([ecn(), ecn()], |_, field| field, honest);
    assert_eq!(plain.transfer(SIZE), capable.transfer(SIZE));
    assert_eq!((plain.sent.1, capable.sent.0 - capable.sent.1), (0, 0));
    assert_eq!((plain.longest, capable.longest), (12, 12));
}

/// ECN is of no use to one end alone, nor to a control that does not obey it.
#[test]
fn both_ends_and_congestion_control_have_to_agree() {
    let window = Config { congestion: Congestion::Window, ..ecn() };
    for (configs, most) in [
        ([ecn(), Config::default()], 64),
        ([Config::default(), ecn()], 0),
        ([window, ecn()], 0),
        ([with(Features::ECN), with(Features::ECN)], 64),
    ] {
        let mut path = Path::new(configs, |_, field| field, honest);
        path.transfer(SIZE);
        assert!(path.sent.1 <= most, "{:?}", path.sent);
    }
}

/// Marks lower the rate, but never as losses: nothing is sent again, and a mark each second costs little.
#[test]
fn marks_lower_the_rate() {
    let clean = Path::new([ecn(), ecn()], |_, field| field, honest).transfer(SIZE);
    let mut seconds = Vec::new();
    for every in [5000, 200, 20] {
        let mark = |n: u64, field| if n.is_multiple_of(every) { Ecn::Marked } else { field };
        let mut path = Path::new([ecn(), ecn()], mark, honest);
        seconds.push(path.transfer(SIZE));
        assert_eq!(path.ends[0].stats().packets_retransmitted, 0);
        assert!(path.ends[0].is_ecn_capable(), "one in {every}");
        assert_eq!(path.longest, 20);
    }
    println!("{clean:.2} s without marks; one in 5000, 200, 20: {seconds:.2?}");
    assert!(
        seconds[0] < 1.3 * clean && seconds[0] < seconds[1] && seconds[1] < seconds[2],
        "{clean} {seconds:?}"
    );
    assert!(seconds[2] > 2.0 * clean, "a mark for each twenty packets is congestion");
}

/// RFC 9000 §13.4.2: a path that erases the field, from the start or later, is not one for ECN, and its marks no longer count.
#[test]
fn a_path_that_erases_the_field_is_left_alone() {
    let clean = Path::new([ecn(), ecn()], |_, field| field, honest).transfer(SIZE);
    for (from, to) in [(0, Ecn::NotCapable), (3000, Ecn::NotCapable), (0, Ecn::Capable1)] {
        let erase = |n: u64, field| match n {
            n if n < from => field,
            n if n % 50 == 0 && to == Ecn::NotCapable => Ecn::Marked,
            _ => to,
        };
        let mut path = Path::new([ecn(), ecn()], erase, honest);
        let seconds = path.transfer(SIZE);
        assert!(!path.ends[0].is_ecn_capable());
        assert!(path.sent.1 < from + 1500, "{:?}", path.sent);
        assert!(seconds < 1.25 * clean, "{from}: {seconds} s, {clean} s without");
    }
}

/// A path that marks everything, with an empty queue, costs a few round trips and no more.
#[test]
fn a_path_that_marks_everything_is_found_out() {
    let clean = Path::new([ecn(), ecn()], |_, field| field, honest).transfer(SIZE);
    let mut path = Path::new([ecn(), ecn()], |_, _| Ecn::Marked, honest);
    let seconds = path.transfer(SIZE);
    println!("{seconds:.2} s, {clean:.2} s without marks");
    assert!(!path.ends[0].is_ecn_capable());
    assert!(path.sent.1 < path.sent.0 / 2, "{:?}", path.sent);
    assert!((1.05 * clean..clean + 3.0).contains(&seconds), "{seconds} s, {clean} s without");
}

/// More marks than packets, and fewer than before.
#[test]
fn counts_that_cannot_be_right_end_it() {
    for told in [
        MarkCounts { marked: 1 << 20, erased: 0 },
        MarkCounts { marked: u32::MAX, erased: 0 },
        MarkCounts { marked: 0, erased: 1 },
    ] {
        let mut path = Path::new([ecn(), ecn()], |_, field| field, move |_| told);
        path.transfer(SIZE);
        assert!(!path.ends[0].is_ecn_capable(), "{told:?}");
    }
    let mut answers = 0;
    let back = |_| {
        answers += 1;
        MarkCounts { marked: 20 - 5 * u32::from(answers > 10), erased: 0 }
    };
    let mut path = Path::new([ecn(), ecn()], |_, field| field, back);
    path.transfer(SIZE);
    assert!(!path.ends[0].is_ecn_capable());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any path and any liar: all data arrive, and a peer that is believed has reported no more marks than there were SDs.
    #[test]
    fn any_counts_are_survived(
        fields in proptest::collection::vec(0u8..4, 1..20),
        lies in proptest::collection::vec((any::<u8>(), any::<u32>(), 0u32..3), 1..20),
    ) {
        let of = |n: u8| [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::Marked][usize::from(n)];
        let (mut turn, mut most) = (0, 0);
        let lie = |honest: MarkCounts| {
            turn += 1;
            let (kind, number, erased) = lies[turn % lies.len()];
            let told = match kind % 8 {
                0 => MarkCounts { marked: number, erased },
                1 => MarkCounts { marked: honest.marked.wrapping_add(number % 50), ..honest },
                2 => MarkCounts { marked: honest.marked.wrapping_sub(number % 50), ..honest },
                _ => honest,
            };
            most = most.max(told.marked);
            told
        };
        let field = |n: u64, field| if n.is_multiple_of(3) { of(fields[n as usize % fields.len()]) } else { field };
        let mut path = Path::new([ecn(), ecn()], field, lie);
        path.transfer(300_000);
        let (capable, sent) = (path.ends[0].is_ecn_capable(), path.sent.0);
        prop_assert!(!capable || u64::from(most) <= sent + 50, "{most} of {sent}");
    }
}
