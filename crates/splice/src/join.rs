//! Passes data, ends and failures between the two sides of a split connection, whatever the sides are.
//!
//! Follows HT 4.3.1 (the FIN end to end) and RFC 9293 §3.6 (half-close).
//! Differs from [`Splice`](crate::Splice), which owns two simulated ends: the sides, a kernel's socket or a stream of an
//! association, are borrowed for each call, and payload passes through. A kernel acknowledges a FIN by itself, so here the end that
//! completes a close waits until the data from its receiver have been acknowledged.
//! Leaves out addresses, opening and budgets, which belong to the owner.

use skyhop_wire::stp::Contents;
use std::collections::VecDeque;

/// Input from a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The next bytes in order were appended.
    Data,
    /// No data for now.
    Nothing,
    /// All data have been passed, and the peer has ended its direction.
    End,
    /// The side was reset, or cannot be reached.
    Broken,
}

/// A connection with one of the two ends.
pub trait SplitSide<P> {
    /// Appends at most `most` bytes that came from the end, in pieces as they came.
    fn read(&mut self, most: u64, pieces: &mut VecDeque<P>) -> Input;
    /// Number of bytes worth writing now; 0 means none until the next call of `pump`.
    fn room(&mut self) -> u64;
    /// Sends data to the end, and leaves those for which there is no room, to be written again later.
    fn write(&mut self, pieces: &mut VecDeque<P>);
    /// Ends this direction after the data written.
    fn shutdown(&mut self);
    /// Returns true if the end has acknowledged all data written.
    fn all_acknowledged(&mut self) -> bool;
}

/// One direction.
#[derive(Debug)]
struct Direction<P> {
    /// Bytes for which the receiver had no room.
    waiting: VecDeque<P>,
    carried: u64,
    /// True if the sender has ended it.
    ended: bool,
    /// True if the end was passed to the receiver.
    passed: bool,
}

impl<P> Direction<P> {
    const fn new() -> Self {
        Direction { waiting: VecDeque::new(), carried: 0, ended: false, passed: false }
    }
}

/// The state of a join after it was pumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing can be done until there is news from a side.
    Waits,
    /// An end waits for an acknowledgment, which a kernel's socket does not report.
    WaitsForAcknowledgment,
    /// There is more to do at once; the limit of a turn was reached, which is less than the caller's.
    More,
    /// Both directions have ended, and the ends were passed on: a clean close.
    Closed,
    /// The side with this number (0 client, 1 server) has failed: the other must be reset.
    Broken(usize),
}

/// Bytes of each direction carried in a turn, before other connections have theirs.
const TURN: u64 = 256 << 10;

fn bytes_of<P: Contents>(pieces: &VecDeque<P>) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

/// Two sides that are one connection to their ends.
#[derive(Debug)]
pub struct Join<P> {
    /// From the client to the server, and back.
    directions: [Direction<P>; 2],
}

impl<P: Contents> Default for Join<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Contents> Join<P> {
    /// A join that has carried nothing.
    pub const fn new() -> Self {
        Join { directions: [Direction::new(), Direction::new()] }
    }

    /// Bytes carried from the client to the server, and back.
    pub fn carried(&self) -> [u64; 2] {
        [self.directions[0].carried, self.directions[1].carried]
    }

    /// Data that the client sent before the join existed, to be carried first.
    pub fn preload(&mut self, data: P) {
        self.directions[0].waiting.push_back(data);
    }

    /// Carries data and ends as far as possible, with at most these bytes from the client to the server, and back.
    pub fn pump(
        &mut self,
        client: &mut impl SplitSide<P>,
        server: &mut impl SplitSide<P>,
        most: [u64; 2],
    ) -> Progress {
        let more = [self.carry(0, client, server, most[0]), self.carry(1, server, client, most[1])];
        for direction in &mut self.directions {
            // An idle connection keeps no memory for pieces.
            direction.waiting.shrink_to_fit();
        }
        match more {
            [None, _] => return Progress::Broken(0),
            [_, None] => return Progress::Broken(1),
            _ => {}
        }
        let waits = [self.pass_end(0, client, server), self.pass_end(1, server, client)];
        if self.directions.iter().all(|direction| direction.passed) {
            Progress::Closed
        } else if more.contains(&Some(true)) {
            Progress::More
        } else if waits.contains(&true) {
            Progress::WaitsForAcknowledgment
        } else {
            Progress::Waits
        }
    }

    /// Carries one direction. `None` if the sender has failed; otherwise true if there is more.
    fn carry(
        &mut self,
        direction: usize,
        from: &mut impl SplitSide<P>,
        to: &mut impl SplitSide<P>,
        most: u64,
    ) -> Option<bool> {
        let direction = &mut self.directions[direction];
        let mut left = TURN.min(most);
        loop {
            if !direction.waiting.is_empty() {
                let len = bytes_of(&direction.waiting);
                to.write(&mut direction.waiting);
                direction.carried += len - bytes_of(&direction.waiting);
                if !direction.waiting.is_empty() {
                    return Some(false);
                }
            }
            let room = to.room().min(left);
            if direction.ended || room == 0 {
                return Some(left == 0 && most > TURN);
            }
            match from.read(room, &mut direction.waiting) {
                Input::Data => left = left.saturating_sub(bytes_of(&direction.waiting)),
                Input::Nothing => return Some(false),
                Input::End => direction.ended = true,
                Input::Broken => return None,
            }
        }
    }

    /// Passes an end to the receiver. Returns true if that waits for an acknowledgment by the sender.
    fn pass_end(
        &mut self,
        direction: usize,
        from: &mut impl SplitSide<P>,
        to: &mut impl SplitSide<P>,
    ) -> bool {
        let back = &self.directions[1 - direction];
        let completes = back.ended;
        let back_is_empty = back.waiting.is_empty();
        let direction = &mut self.directions[direction];
        if direction.passed || !direction.ended || !direction.waiting.is_empty() {
            return false;
        }
        // The receiver has ended its own direction, so this end would complete a clean close.
        if completes && !(back_is_empty && from.all_acknowledged()) {
            return back_is_empty;
        }
        direction.passed = true;
        to.shutdown();
        false
    }
}
