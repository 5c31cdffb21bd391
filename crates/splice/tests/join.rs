//! A join between two ends of which every step is drawn by chance, and the promises that it makes to them.
//!
//! Follows RFC 9293 §3.6: each direction ends by itself. Differs from a run over sockets: thousands of orders of events.
//! Leaves out what the sides are.

use bytes::Bytes;
use proptest::prelude::*;
use skyhop_splice::join::{Input, Join, Progress, SplitSide};
use std::collections::VecDeque;

/// An end and the connection with it.
#[derive(Default)]
struct End {
    /// Data that the end has sent and the join has not read, and whether an end or a reset is behind them.
    sent: Vec<u8>,
    ended: bool,
    /// The join has read the end.
    seen: bool,
    broken: bool,
    /// Data that were written to it.
    got: Vec<u8>,
    /// Of those, bytes that it has acknowledged.
    acknowledged: usize,
    room: usize,
    shut: bool,
}

impl SplitSide<Bytes> for End {
    /// In pieces of at most 100 bytes, of which one call reads several.
    fn read(&mut self, most: u64, pieces: &mut VecDeque<Bytes>) -> Input {
        if self.broken {
            return Input::Broken;
        }
        if self.sent.is_empty() {
            self.seen = self.ended;
            return if self.ended { Input::End } else { Input::Nothing };
        }
        let rest = self.sent.split_off(self.sent.len().min(most as usize));
        let read = std::mem::replace(&mut self.sent, rest);
        pieces.extend(read.chunks(100).map(Bytes::copy_from_slice));
        Input::Data
    }
    fn room(&mut self) -> u64 {
        self.room as u64
    }
    fn write(&mut self, pieces: &mut VecDeque<Bytes>) {
        assert!(!self.shut, "data behind an end");
        while let Some(mut data) = pieces.pop_front() {
            let taken = data.split_to(data.len().min(self.room));
            self.room -= taken.len();
            self.got.extend_from_slice(&taken);
            if !data.is_empty() {
                return pieces.push_front(data);
            }
        }
    }
    fn shutdown(&mut self) {
        assert!(!self.shut, "two ends");
        self.shut = true;
    }
    fn all_acknowledged(&mut self) -> bool {
        self.acknowledged == self.got.len()
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send(usize, u8),
    End(usize),
    Room(usize, u8),
    Acknowledge(usize),
    Shrink(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..2_usize, any::<u8>()).prop_map(|(side, n)| Step::Send(side, n)),
        (0..2_usize).prop_map(Step::End),
        (0..2_usize, any::<u8>()).prop_map(|(side, n)| Step::Room(side, n)),
        (0..2_usize).prop_map(Step::Acknowledge),
        (0..2_usize).prop_map(Step::Shrink),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_end_gets_all_in_order_and_an_end_only_behind_it(steps in prop::collection::vec(step(), 0..60)) {
        let mut join = Join::<Bytes>::new();
        let mut ends = [End::default(), End::default()];
        let mut all = [Vec::new(), Vec::new()];
        let mut closed = false;
        let mut done = Vec::from([Step::End(0), Step::End(1), Step::Room(0, 0), Step::Room(1, 0)]);
        done.splice(0..0, steps);
        for step in done.iter().chain([&Step::Acknowledge(0), &Step::Acknowledge(1)]) {
            match *step {
                Step::Send(side, n) if !ends[side].ended => {
                    let data: Vec<u8> = (0..n).collect();
                    ends[side].sent.extend_from_slice(&data);
                    all[side].extend_from_slice(&data);
                }
                Step::Send(..) => {}
                Step::End(side) => ends[side].ended = true,
                // Zero stands for more than there is.
                Step::Room(side, n) => ends[side].room += if n == 0 { 1 << 20 } else { usize::from(n) },
                Step::Acknowledge(side) => ends[side].acknowledged = ends[side].got.len(),
                // A window that shrinks takes back what was promised.
                Step::Shrink(side) => ends[side].room = 0,
            }
            if matches!(step, Step::Acknowledge(_)) && ends.iter().all(|end| end.ended) {
                ends.iter_mut().for_each(|end| end.room += 1 << 20);
            }
            let before = [ends[0].shut, ends[1].shut];
            let [client, server] = &mut ends;
            let progress = join.pump(client, server, [u64::MAX; 2]);
            closed |= progress == Progress::Closed;
            for side in 0..2 {
                prop_assert_eq!(&ends[1 - side].got[..], &all[side][..ends[1 - side].got.len()]);
                if ends[1 - side].shut {
                    prop_assert!(ends[side].ended && ends[1 - side].got.len() == all[side].len(), "a truncated end");
                    // A side that has ended and learns of the other's end may take all of its own to have arrived.
                    if !before[1 - side] && ends[1 - side].seen {
                        prop_assert!(ends[side].acknowledged == all[1 - side].len(), "a close that was not earned");
                    }
                }
            }
            prop_assert_eq!(join.carried(), [ends[1].got.len() as u64, ends[0].got.len() as u64]);
        }
        for _ in 0..4 {
            ends.iter_mut().for_each(|end| end.room += 1 << 20);
            let [client, server] = &mut ends;
            closed |= join.pump(client, server, [u64::MAX; 2]) == Progress::Closed;
            ends.iter_mut().for_each(|end| end.acknowledged = end.got.len());
        }
        prop_assert!(closed, "it never closes");
    }

    #[test]
    fn a_failure_is_told_at_once_and_nothing_ends(sent in 0..2000_usize, side in 0..2_usize, room in 0..3000_usize) {
        let mut join = Join::<Bytes>::new();
        let mut ends = [End { room, ..End::default() }, End { room, ..End::default() }];
        ends[side].sent = vec![1; sent];
        let [client, server] = &mut ends;
        join.pump(client, server, [u64::MAX; 2]);
        ends[side].broken = true;
        ends.iter_mut().for_each(|end| end.room += 4096);
        let [client, server] = &mut ends;
        prop_assert_eq!(join.pump(client, server, [u64::MAX; 2]), Progress::Broken(side));
        prop_assert!(!ends[0].shut && !ends[1].shut);
    }
}

#[test]
fn a_half_close_passes_while_the_answer_is_still_to_come() {
    let mut join = Join::<Bytes>::new();
    let mut client = End { sent: b"GET".to_vec(), ended: true, room: 99, ..End::default() };
    let mut server = End { room: 99, ..End::default() };
    assert_eq!(join.pump(&mut client, &mut server, [u64::MAX; 2]), Progress::Waits);
    assert!(server.shut && server.got == b"GET" && !client.shut);
    server.sent = b"answer".to_vec();
    server.ended = true;
    assert_eq!(join.pump(&mut client, &mut server, [u64::MAX; 2]), Progress::WaitsForAcknowledgment);
    assert!(client.got == b"answer" && !client.shut, "the request has not been acknowledged");
    server.acknowledged = 3;
    assert_eq!(join.pump(&mut client, &mut server, [u64::MAX; 2]), Progress::Closed);
    assert!(client.shut);
}

#[test]
fn a_turn_ends() {
    let mut join = Join::<Bytes>::new();
    let mut client = End { sent: vec![7; 1 << 20], ..End::default() };
    let mut server = End { room: 1 << 24, ..End::default() };
    let mut turns = 0;
    while join.pump(&mut client, &mut server, [u64::MAX; 2]) == Progress::More {
        turns += 1;
    }
    assert_eq!((turns, server.got.len()), (4, 1 << 20));
}

#[test]
fn a_limit_of_a_direction_is_kept_and_calls_for_no_further_turn() {
    let mut join = Join::<Bytes>::new();
    let mut client = End { sent: vec![7; 1000], room: 2000, ended: true, ..End::default() };
    let mut server = End { sent: vec![8; 1000], room: 2000, ..End::default() };
    assert_eq!(join.pump(&mut client, &mut server, [300, 0]), Progress::Waits);
    assert_eq!((server.got.len(), client.got.len(), server.shut), (300, 0, false));
    assert_eq!(join.pump(&mut client, &mut server, [700, u64::MAX]), Progress::Waits);
    assert_eq!((server.got.len(), client.got.len(), server.shut), (1000, 1000, false));
    assert_eq!(join.pump(&mut client, &mut server, [1, 1]), Progress::Waits);
    assert!(server.shut);
}
