//! The receiving side of an association: the receiving halves of its streams, their shared memory, and datagrams.
//!
//! Follows docs/stp.md §15.3, §15.4 and §15.7.
//! Differs from the sending side: a packet that exceeds a budget is refused as a whole, before the path counts it as arrived.
//! Leaves out answers, which `Trunk` passes to `outgoing`.

use super::budgets::{Budgets, LEAST_WINDOW, STREAM_COST};
use super::datagrams::Arrivals;
use super::idle::IdleClock;
use super::owners::{NOBODY, SharedMemory, StreamMemory};
use super::ranges::NumberRanges;
use super::reassembly::Reassembly;
use skyhop_units::Time;
use skyhop_wire::stp::{Contents, Frame, Frames, Payload};
use std::collections::BTreeMap;

/// Bytes of the window that each piece behind gaps takes at least.
const LEAST_PIECE: u64 = 128;

/// Effect of a piece of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// The piece brings nothing new, or belongs to an unknown stream.
    Nothing,
    /// Number of bytes that have come into order.
    InOrder(u64),
    /// The piece contradicts earlier ones: the end has moved, or data lie beyond it.
    Contradiction,
}

/// A budget, announced in steps of half its size.
#[derive(Debug)]
struct Allowed {
    budget: u64,
    /// Credit that is used up permanently.
    used: u64,
    /// Credit that has been announced to the peer.
    limit: u64,
}

impl Allowed {
    fn new(budget: u64) -> Self {
        Self { budget, used: 0, limit: budget }
    }

    /// New credit, if it is worth announcing: half of the credit that the peer could then use, of which it has used all up to
    /// `seen`. With half of the budget as the step, a peer could be without credit while others hold the other half.
    fn more(&mut self, seen: u64) -> Option<u64> {
        let limit = self.used + self.budget;
        let usable = limit.saturating_sub(seen).min(self.budget);
        (limit > self.limit && limit >= self.limit.saturating_add(usable.div_ceil(2))).then(|| {
            self.limit = limit;
            limit
        })
    }
}

#[derive(Debug)]
pub(super) struct Incoming<P> {
    /// 1 if the peer is the listener: the lowest bit of its streams' numbers.
    peer: u64,
    streams: BTreeMap<u64, Reassembly<P>>,
    /// Streams opened by the peer, by their count.
    opened: NumberRanges,
    /// Streams that this end has reset and the peer has not: one past the highest byte that arrived.
    broken: BTreeMap<u64, u64>,
    stream_window: u64,
    first_window: u64,
    owners: SharedMemory,
    clock: IdleClock,
    all: Allowed,
    /// Sum of the streams' highest bytes.
    seen: u64,
    allowed_streams: Allowed,
    most_pieces: usize,
    /// Number of pieces behind gaps.
    pieces: usize,
    pub datagrams: Arrivals<P>,
}

impl<P: Payload> Incoming<P> {
    pub fn new(budgets: &Budgets, window: u64, peer: u64) -> Self {
        Self {
            peer,
            streams: BTreeMap::new(),
            opened: NumberRanges::default(),
            broken: BTreeMap::new(),
            stream_window: budgets.stream_window,
            first_window: budgets.first_window,
            owners: SharedMemory::default(),
            clock: IdleClock::default(),
            all: Allowed::new(window),
            seen: 0,
            allowed_streams: Allowed::new(budgets.streams),
            most_pieces: (window / LEAST_PIECE).max(64) as usize,
            pieces: 0,
            datagrams: Arrivals::new(budgets.datagram_window),
        }
    }

    /// Frames that announce budgets at the beginning, where they are more than a peer assumes.
    pub fn budgets(&self, budgets: &Budgets) -> Vec<Frame<P>> {
        let least = Budgets::LEAST;
        let all = [
            (budgets.first_window, least.first_window, Frame::CreditEach { limit: budgets.first_window }),
            (self.all.budget, LEAST_WINDOW, Frame::CreditAll { limit: self.all.budget }),
            (budgets.streams, least.streams, Frame::CreditStreams { limit: budgets.streams }),
            (
                budgets.datagram_window,
                least.datagram_window,
                Frame::CreditDatagrams { limit: budgets.datagram_window },
            ),
        ];
        all.into_iter().filter(|(has, assumed, _)| has > assumed).map(|(.., frame)| frame).collect()
    }

    /// Starts receiving on a stream that this end has opened.
    pub fn open(&mut self, id: u64) {
        self.streams.insert(id, Reassembly::new(self.first_window, self.clock.now()));
    }

    pub fn stream(&self, id: u64) -> Option<&Reassembly<P>> {
        self.streams.get(&id)
    }

    /// Bytes that streams hold, unread and behind gaps.
    pub fn held(&self) -> u64 {
        self.seen - self.all.used
    }

    pub fn is_more_than(&self, bytes: u64, eighths: u64) -> bool {
        bytes > self.all.budget / 8 * eighths
    }

    /// Bytes that streams and datagrams hold, with a cost for each of them.
    pub fn held_with_cost(&self) -> u64 {
        let streams = STREAM_COST * self.streams.len() as u64;
        self.held() + streams + self.datagrams.held_with_cost()
    }

    /// Sets the time. What an idle stream has not used of its credit counts no more, until data arrive.
    pub fn advance(&mut self, now: Time) {
        if !self.clock.advance(now) {
            return;
        }
        for stream in self.streams.values_mut() {
            if !stream.idle && self.clock.is_idle(stream.arrived) {
                let before = memory_of(self.first_window, stream);
                stream.idle = true;
                self.owners.change(stream.owner, before, memory_of(self.first_window, stream));
            }
        }
    }

    /// The count of a stream that the peer may open and has not opened yet.
    fn opens(&self, id: u64) -> Option<u64> {
        let count = id / 2;
        (id % 2 == self.peer && !self.opened.has(count)).then_some(count)
    }

    /// Returns true if a packet is within the budgets. One that is not must be dropped as a whole, as if it had been lost.
    pub fn takes(&self, frames: &Frames<P>) -> bool {
        if self.pieces >= self.most_pieces && !self.advances(frames) {
            return false;
        }
        let mut more: Vec<(u64, u64)> = Vec::new();
        let mut seen = self.seen;
        frames.0.iter().enumerate().all(|(nth, frame)| {
            let (id, upto) = match frame {
                Frame::Stream { id, offset, data, .. } => {
                    (*id, offset + data.as_ref().map_or(0, Contents::len) as u64)
                }
                Frame::Reset { id, end, .. } => (*id, *end),
                _ => return true,
            };
            let known = self.streams.get(&id);
            let opening = match frame {
                Frame::Stream { opening, .. } => opening.is_some(),
                _ => true,
            };
            let high = match (known, self.broken.get(&id), self.opens(id)) {
                (Some(stream), ..) => stream.high,
                (None, Some(high), _) => *high,
                (None, None, Some(count)) if opening && count >= self.allowed_streams.limit => return false,
                (None, None, Some(_)) if opening || opens_before(&frames.0[..nth], id) => 0,
                _ => return true,
            };
            let already = more.iter().rev().find(|(other, _)| *other == id).map_or(high, |(_, upto)| *upto);
            if upto > already {
                seen += upto - already;
                if nth + 1 < frames.0.len() {
                    more.push((id, upto));
                }
            }
            let limit = match known {
                // With a guaranteed rate more may have been sent than this end has allowed, which is not waited for.
                _ if matches!(frame, Frame::Reset { .. }) => u64::MAX,
                Some(stream) => stream.limit,
                None if self.broken.contains_key(&id) => u64::MAX,
                None => self.first_window,
            };
            upto <= limit && seen <= self.all.limit
        })
    }

    /// Returns true if a packet adds no piece behind a gap, as the first of those that are missing does not: what fills the gaps must be
    /// accepted. One that does, but brings a stream forward, is accepted up to twice the limit of pieces.
    fn advances(&self, frames: &Frames<P>) -> bool {
        let (mut adds, mut forward) = (false, false);
        let mut more: Vec<(u64, u64)> = Vec::new();
        for frame in &frames.0 {
            let Frame::Stream { id, offset, data: Some(data), .. } = frame else { continue };
            let known = || self.streams.get(id).map_or(0, |stream| stream.next);
            let next = more.iter().rev().find(|(other, _)| other == id).map_or_else(known, |(_, upto)| *upto);
            let upto = offset + data.len() as u64;
            if *offset > next {
                adds = true;
            } else if upto > next {
                forward = true;
                more.push((*id, upto));
            }
        }
        !adds || (forward && self.pieces < 2 * self.most_pieces)
    }

    /// Returns true if frames may cause a reset of a stream in answer.
    pub fn causes_resets(&self, frames: &Frames<P>) -> bool {
        frames.0.iter().any(|frame| match frame {
            Frame::Stream { id, opening, .. } => opening.is_some() || self.streams.contains_key(id),
            Frame::Reset { id, .. } => self.streams.contains_key(id) || self.opens(*id).is_some(),
            _ => false,
        })
    }

    /// Opens a stream at the peer's request. Returns false if it has been opened before, or is not the peer's.
    pub fn accept(&mut self, id: u64) -> bool {
        let Some(count) = self.opens(id) else { return false };
        self.opened.add(count);
        self.streams.insert(id, Reassembly::new(self.first_window, self.clock.now()));
        true
    }

    /// Handles a piece of a stream.
    pub fn piece(&mut self, id: u64, offset: u64, data: Option<P>, end: bool) -> Came {
        let len = data.as_ref().map_or(0, |data| data.len() as u64);
        let Some(stream) = self.streams.get_mut(&id) else {
            if end {
                self.resolve(id, offset + len);
            }
            return Came::Nothing;
        };
        if stream.contradicts(offset, len, end) {
            return Came::Contradiction;
        }
        let (high, pieces) = (stream.high, stream.pieces());
        let before = memory_of(self.first_window, stream);
        (stream.arrived, stream.idle) = (self.clock.now(), false);
        let bytes = stream.insert(offset, data, end);
        self.owners.change(stream.owner, before, memory_of(self.first_window, stream));
        self.seen += stream.high - high;
        self.pieces = self.pieces + stream.pieces() - pieces;
        if bytes > 0 { Came::InOrder(bytes) } else { Came::Nothing }
    }

    /// Handles a reset of a stream by the peer at `end`. Returns true if it had not ended here yet and must be answered.
    pub fn reset(&mut self, id: u64, end: u64) -> bool {
        if self.resolve(id, end) {
            return false;
        }
        if let Some(count) = self.opens(id) {
            // The frame that opens it is lost, or late.
            self.opened.add(count);
            (self.seen, self.all.used) = (self.seen + end, self.all.used + end);
            self.release(id);
            return true;
        }
        let Some(stream) = self.drop_stream(id) else { return false };
        let rest = end.max(stream.high);
        (self.seen, self.all.used) =
            (self.seen + rest - stream.high, self.all.used + rest - stream.consumed());
        true
    }

    /// Resets a stream at this end: its later data are dropped.
    pub fn break_off(&mut self, id: u64) {
        let Some(stream) = self.drop_stream(id) else { return };
        self.all.used += stream.high - stream.consumed();
        if stream.end.is_none() {
            self.broken.insert(id, stream.high);
        } else if let Some(end) = stream.end {
            (self.seen, self.all.used) = (self.seen + end - stream.high, self.all.used + end - stream.high);
        }
    }

    /// Returns true if this end has reset a stream, and the peer has not ended it yet.
    pub fn is_broken(&self, id: u64) -> bool {
        self.broken.contains_key(&id)
    }

    /// Accounts for a reset stream, once its last byte is known: another may be opened in its place.
    fn resolve(&mut self, id: u64, end: u64) -> bool {
        let Some(high) = self.broken.remove(&id) else { return false };
        let rest = end.saturating_sub(high);
        (self.seen, self.all.used) = (self.seen + rest, self.all.used + rest);
        self.release(id);
        true
    }

    fn drop_stream(&mut self, id: u64) -> Option<Reassembly<P>> {
        let stream = self.streams.remove(&id)?;
        self.pieces -= stream.pieces();
        self.owners.change(stream.owner, self.memory_of(&stream), StreamMemory::default());
        Some(stream)
    }

    /// Lets the opener open another stream, after both halves of this one have ended.
    pub fn release(&mut self, id: u64) {
        if id % 2 == self.peer {
            self.allowed_streams.used += 1;
        }
    }

    /// Returns true if all data of a stream have just come into order.
    pub fn finishes(&mut self, id: u64) -> bool {
        self.streams.get_mut(&id).is_some_and(Reassembly::finishes)
    }

    /// Removes a stream that the application has read to its end.
    pub fn forget_if_over(&mut self, id: u64) {
        if self.streams.get(&id).is_some_and(Reassembly::over) {
            self.drop_stream(id);
        }
    }

    /// Reads data in order: at most `most` bytes, and at most a piece.
    pub fn read(&mut self, id: u64, most: usize) -> Option<P> {
        let first = self.first_window;
        let stream = self.streams.get_mut(&id)?;
        let before = memory_of(first, stream);
        let data = stream.read(most)?;
        self.owners.change(stream.owner, before, memory_of(first, stream));
        self.all.used += data.len() as u64;
        Some(data)
    }

    fn memory_of(&self, stream: &Reassembly<P>) -> StreamMemory {
        memory_of(self.first_window, stream)
    }

    /// Makes a stream one of an owner's, and reserves an initial window for it.
    pub fn assign(&mut self, id: u64, owner: u32) {
        self.recount(id, |stream| (stream.owner, stream.reserved) = (owner, owner != NOBODY));
    }

    /// Ends the reservation for a stream: what it holds counts from now on.
    pub fn unreserve(&mut self, id: u64) {
        self.recount(id, |stream| stream.reserved = false);
    }

    fn recount(&mut self, id: u64, change: impl FnOnce(&mut Reassembly<P>)) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        self.owners.change(stream.owner, memory_of(self.first_window, stream), StreamMemory::default());
        change(stream);
        self.owners.change(stream.owner, StreamMemory::default(), memory_of(self.first_window, stream));
    }

    /// Returns true if there is memory for another stream of an owner.
    pub fn admits(&self, owner: u32) -> bool {
        self.owners.admits(owner, self.first_window, self.all.budget)
    }

    /// Bytes that the streams of an owner hold.
    pub fn held_by(&self, owner: u32) -> u64 {
        self.owners.of(owner).held
    }

    /// Sets the largest window of a stream. What has been announced stays, until that much was read.
    pub fn limit_window(&mut self, id: u64, most: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.most = most;
        }
    }

    /// Window of a stream, given the data read so far, and the part of it that is worth a frame.
    fn window(&self, stream: &Reassembly<P>) -> (u64, u64) {
        if self.first_window == self.stream_window {
            let window = self.stream_window.min(stream.most);
            return (window, window.div_ceil(2));
        }
        if stream.consumed() < self.first_window / 2 {
            return (0, 0);
        }
        let mine = self.memory_of(stream).promised;
        let window = self.owners.window(stream.owner, mine, self.all.budget / 8 * 7);
        let window = window.clamp(self.first_window, self.stream_window).min(stream.most);
        (window, window.div_ceil(4))
    }

    /// Credit that is worth announcing after data of a stream were read or dropped.
    pub fn credit(&mut self, id: u64) -> Vec<Frame<P>> {
        let mut frames = Vec::new();
        if let Some(stream) = self.streams.get(&id).filter(|stream| stream.end.is_none()) {
            let (window, worth) = self.window(stream);
            let limit = stream.consumed() + window;
            if window > 0 && limit >= stream.limit.saturating_add(worth) {
                self.recount(id, |stream| stream.limit = limit);
                frames.push(Frame::Credit { id, limit });
            }
        }
        frames.extend(self.shared_credit());
        frames
    }

    /// Credit of all streams together that is worth announcing after one has used some or returned some.
    pub fn shared_credit(&mut self) -> impl Iterator<Item = Frame<P>> + use<P> {
        let all = self.all.more(self.seen).map(|limit| Frame::CreditAll { limit });
        let streams = self.allowed_streams.more(self.opened.end());
        all.into_iter().chain(streams.map(|limit| Frame::CreditStreams { limit }))
    }
}

/// Returns true if a frame of the same packet opens the stream before: the data that follow it count too.
fn opens_before<P>(frames: &[Frame<P>], stream: u64) -> bool {
    frames.iter().any(|frame| matches!(frame, Frame::Stream { id, opening: Some(_), .. } if *id == stream))
}

/// Memory of a stream, with initial windows of `first`.
fn memory_of<P: Payload>(first: u64, stream: &Reassembly<P>) -> StreamMemory {
    let (consumed, reserved) = (stream.consumed(), if stream.reserved { first } else { 0 });
    let upto = if stream.idle { stream.high } else { stream.limit };
    StreamMemory {
        promised: if stream.limit > first { upto - consumed } else { 0 },
        held: (stream.high - consumed).max(reserved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_units::Span;
    use skyhop_wire::stp::PayloadLength;

    /// The memory of all streams of an owner, or of all, counted anew.
    fn counted(incoming: &Incoming<PayloadLength>, owner: Option<u32>) -> StreamMemory {
        let streams =
            incoming.streams.values().filter(|stream| owner.is_none_or(|owner| stream.owner == owner));
        streams.map(|stream| incoming.memory_of(stream)).fold(StreamMemory::default(), |sum, one| {
            StreamMemory { promised: sum.promised + one.promised, held: sum.held + one.held }
        })
    }

    #[test]
    fn the_memory_of_owners_is_that_of_their_streams() {
        for seed in 1..=50_u64 {
            let budgets = Budgets { stream_window: 750_000, first_window: 16_384, ..Budgets::default() };
            let mut incoming: Incoming<PayloadLength> = Incoming::new(&budgets, 1_000_000, 0);
            let (mut state, mut promised) = (seed, 0);
            let mut draw = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            for _ in 0..4000 {
                let id = 2 * draw(12);
                let owner = draw(4) as u32;
                match draw(21) {
                    20 => {
                        let now = incoming.clock.now() + Span::from_millis(draw(900));
                        incoming.advance(now);
                    }
                    0 => _ = incoming.accept(id + 24 * draw(20)),
                    1 => incoming.assign(id, owner),
                    2 => incoming.unreserve(id),
                    3 if draw(60) == 0 => incoming.break_off(id),
                    4 if draw(60) == 0 => {
                        let end = incoming.stream(id).map_or(0, |stream| stream.high);
                        _ = incoming.reset(id, end + draw(100));
                    }
                    5..=9 => {
                        if incoming.read(id, 1 + draw(60_000) as usize).is_some() {
                            incoming.credit(id);
                            incoming.forget_if_over(id);
                        }
                    }
                    10 => incoming.limit_window(id, 65_536 << draw(6)),
                    _ => {
                        let Some(stream) = incoming.stream(id) else { continue };
                        let offset = stream.next + (draw(8) / 6) * draw(3000);
                        let data = PayloadLength((1 + draw(3000)).min(stream.limit.saturating_sub(offset)));
                        let end = draw(2000) == 0 && offset + data.0 >= stream.high;
                        incoming.piece(id, offset, (data.0 > 0).then_some(data), end);
                    }
                }
                for owner in 0..4 {
                    assert_eq!(incoming.owners.of(owner), counted(&incoming, Some(owner)), "seed {seed}");
                }
                assert_eq!(incoming.owners.all, counted(&incoming, None), "seed {seed}");
                promised = promised.max(incoming.owners.all.promised);
                let unreserved = incoming.streams.values().map(|stream| stream.high - stream.consumed());
                assert_eq!(unreserved.sum::<u64>(), incoming.held(), "seed {seed}");
            }
            assert!(promised > 200_000, "seed {seed}: {promised} bytes were promised at most");
        }
    }
}
