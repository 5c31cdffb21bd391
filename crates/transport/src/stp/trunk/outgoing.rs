//! The sending side of an association: the source of its path, which chooses the contents of the next packet.
//!
//! Follows docs/stp.md §15.4 to §15.7: credit, the contents of a retransmission, turns.
//! Differs from a connection's source: data in flight are kept by the path, in packets.
//! Leaves out arriving packets (`incoming`) and the application (`Trunk`).

use super::super::source::Source;
use super::budgets::Budgets;
use super::datagrams::{Departures, QUEUE_MOST};
use super::packing::Packing;
use super::rounds::{Left, Member, StreamRounds};
use super::sending::{Ending, StreamSending};
use super::urgent::{Urgent, UrgentFrames};
use skyhop_units::Time;
use skyhop_wire::stp::{
    Class, Frame, Frames, Payload, VERSION_STREAMS, datagram_header, number_len, stream_header,
};
use std::collections::{BTreeMap, VecDeque};

/// Places of streams that were reset, beyond twice those of others, from which on they leave the round before their turn.
const SPARE: usize = 64;
/// Bytes that may come beside the only frame of a packet: a POLL and a BGN.
const BESIDE: usize = 20;

/// Progress of a stream's sending half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendingProgress {
    /// All data written have arrived.
    Arrived(u64),
    /// All data written have arrived, and the end.
    Complete(u64),
    /// The peer accepts more streams, after this end has failed to open one.
    MayOpen,
    /// The unsent data have fallen to the amount that the writer gave.
    Writable(u64),
}

/// Bytes sent in streams, and the peer's credit.
#[derive(Debug, Default)]
struct Credit {
    all: u64,
    /// New bytes of all streams that have been sent.
    sent: u64,
    /// For each stream, and what the present ones have been given of it.
    each: u64,
    given: u64,
    streams: u64,
    /// True if opening a stream failed for want of credit.
    wanted: bool,
}

#[derive(Debug)]
pub struct Outgoing<P> {
    streams: BTreeMap<u64, StreamSending<P>>,
    rounds: StreamRounds,
    first: UrgentFrames<P>,
    /// Unsent bytes that the peer accepts, summed over streams.
    ready: u64,
    credit: Credit,
    pub(super) datagrams: Departures<P>,
    progress: VecDeque<SendingProgress>,
    packet: usize,
    /// Largest payload of a packet with nothing beside its data.
    payload: usize,
    /// Data bytes sent again under another number.
    pub(super) split: u64,
    closed: bool,
}

impl<P: Payload> Outgoing<P> {
    /// The sending side of an end with these budgets. Those of the peer are the least until it announces more, but for the bytes that it is
    /// assumed to accept in all and in each stream.
    pub(super) fn new(budgets: &Budgets, [all, each]: [u64; 2], packet: usize) -> Self {
        let least = Budgets::LEAST;
        Self {
            streams: BTreeMap::new(),
            rounds: StreamRounds::default(),
            first: UrgentFrames::default(),
            ready: 0,
            credit: Credit { all, each, streams: least.streams, ..Credit::default() },
            datagrams: Departures::new(
                budgets.datagram_window.min(QUEUE_MOST),
                budgets.datagram_delay,
                least.datagram_window,
            ),
            progress: VecDeque::new(),
            packet,
            payload: packet,
            split: 0,
            closed: false,
        }
    }

    /// Begins to choose the contents of a packet of at most `payload` bytes: late datagrams are dropped.
    pub(super) fn begin(&mut self, now: Time, payload: usize) {
        self.payload = payload;
        self.datagrams.expire(now);
        self.datagrams_wait();
    }

    /// Number of streams that this end may open in all.
    pub(super) fn may_open(&self) -> u64 {
        self.credit.streams
    }

    /// Records that this end failed to open a stream.
    pub(super) fn want_streams(&mut self) {
        self.credit.wanted = true;
    }

    /// Starts a stream; `opens` if this end opens it.
    pub(super) fn open(&mut self, id: u64, class: Class, opens: bool) {
        self.streams.insert(id, StreamSending::new(class, opens, self.credit.each));
        self.settle(id);
    }

    pub(super) fn stream(&self, id: u64) -> Option<&StreamSending<P>> {
        self.streams.get(&id)
    }

    /// Number of frames that wait and reset a stream.
    pub(super) fn resets(&self) -> usize {
        self.first.resets()
    }

    /// Bytes of all streams that have not been sent.
    pub(super) fn unsent(&self) -> u64 {
        self.streams.values().map(StreamSending::unsent).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.first.bytes() == 0
    }

    pub(super) fn write(&mut self, id: u64, data: P) {
        let packet = self.packet;
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.write(data, packet);
            self.settle(id);
        }
    }

    /// Requests a notice when at most `most` bytes of a stream are unsent.
    pub(super) fn want_room(&mut self, id: u64, most: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.wanted = Some(most);
            if stream.has_room() {
                self.progress.push_back(SendingProgress::Writable(id));
            }
        }
    }

    /// Closes a stream for writing.
    pub(super) fn end(&mut self, id: u64) {
        if let Some(stream) = self.streams.get_mut(&id)
            && stream.ending == Ending::Open
        {
            stream.ending = Ending::Due;
            self.settle(id);
        }
    }

    /// Drops the unsent data of a stream, and ends the stream.
    pub(super) fn stop(&mut self, id: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.forget_unsent();
        }
        self.end(id);
        // It may have been closed before.
        self.settle(id);
    }

    /// Removes a stream that was reset. Returns the number of bytes sent.
    pub(super) fn forget(&mut self, id: u64) -> Option<u64> {
        let stream = self.streams.remove(&id)?;
        self.ready -= stream.counted;
        if stream.queued {
            self.first.leave(|id| self.streams.contains_key(&id));
        }
        self.tidy();
        Some(stream.next)
    }

    /// Removes the places of streams that have gone from the round, once there are many: otherwise they are found empty at their turn, as
    /// a search for each of many streams would take long.
    fn tidy(&mut self) {
        let streams = &self.streams;
        if self.rounds.len() > 2 * streams.len() + SPARE {
            self.rounds.retain(|member| match member {
                Member::Stream(id) => streams.contains_key(id),
                Member::Datagrams => true,
            });
        }
    }

    /// Closes the association for sending: nothing may be sent after its END. Datagrams that wait for credit are dropped.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.datagrams.clear();
    }

    /// Returns true if nothing more may be sent.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Queues a frame before all data.
    pub(super) fn tell(&mut self, frame: Frame<P>) {
        if self.closed {
            return;
        }
        self.first.push(Urgent::Frame(frame));
    }

    /// Changes the class of a stream's sending half. `change` counts the peer's requests.
    pub(super) fn classify(&mut self, id: u64, class: Class, change: Option<u64>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Some(change) = change {
            if change <= stream.change {
                return;
            }
            stream.change = change;
        }
        self.rounds.change(Member::Stream(id), &mut stream.turn, class);
        if let Some(opening) = &mut stream.opening {
            *opening = class;
        }
    }

    pub(super) fn classify_datagrams(&mut self, class: Class) {
        self.rounds.change(Member::Datagrams, &mut self.datagrams.turn, class);
    }

    pub(super) fn datagrams_wait(&mut self) {
        if self.datagrams.first().is_some() {
            self.rounds.enter(Member::Datagrams, &mut self.datagrams.turn);
        }
    }

    /// Handles credit announced by the peer.
    pub(super) fn credit(&mut self, frame: &Frame<P>) {
        match *frame {
            Frame::Credit { id, limit } => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.limit = stream.limit.max(limit);
                    self.settle(id);
                }
            }
            Frame::CreditEach { limit } => self.credit.each = self.credit.each.max(limit),
            Frame::CreditAll { limit } => self.credit.all = self.credit.all.max(limit),
            Frame::CreditStreams { limit } => {
                let more = limit > self.credit.streams;
                self.credit.streams = self.credit.streams.max(limit);
                if more && std::mem::take(&mut self.credit.wanted) {
                    self.progress.push_back(SendingProgress::MayOpen);
                }
            }
            Frame::CreditDatagrams { limit } => {
                self.datagrams.accept(limit);
                self.datagrams_wait();
            }
            _ => {}
        }
    }

    /// Gives each stream the credit that all have, once for all frames of a packet.
    pub(super) fn give_each(&mut self) {
        if self.credit.each <= self.credit.given {
            return;
        }
        self.credit.given = self.credit.each;
        let ids: Vec<u64> = self.streams.keys().copied().collect();
        for id in ids {
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.limit = stream.limit.max(self.credit.each);
            }
            self.settle(id);
        }
    }

    pub(super) fn progress(&mut self) -> Option<SendingProgress> {
        self.progress.pop_front()
    }

    /// Recounts the bytes that a stream could send, and enters it in the round or removes it.
    fn settle(&mut self, id: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let ready = stream.ready();
        self.ready = self.ready - stream.counted + ready;
        stream.counted = ready;
        if ready > 0 {
            self.rounds.enter(Member::Stream(id), &mut stream.turn);
        }
        if !stream.queued && (stream.has_again() || stream.is_bare()) {
            stream.queued = true;
            self.first.push(Urgent::Stream(id));
        }
    }

    fn room(&self) -> u64 {
        self.credit.all.saturating_sub(self.credit.sent)
    }

    /// Fills a packet with the frames that go first. Returns false when it is full.
    fn put_first(&mut self, packing: &mut Packing<P>) -> bool {
        while let Some(first) = self.first.pop(|id| self.streams.contains_key(&id)) {
            let rest = match first {
                Urgent::Frame(frame) if packing.fits(&frame) => {
                    packing.push(frame);
                    continue;
                }
                Urgent::Stream(id) if self.put_stream(id, packing) => continue,
                rest => rest,
            };
            self.first.put_back(rest);
            return false;
        }
        true
    }

    /// Puts a stream's urgent frames into the packet. Returns false if some are left.
    fn put_stream(&mut self, id: u64, packing: &mut Packing<P>) -> bool {
        let Some(stream) = self.streams.get_mut(&id) else { return true };
        while let Some((offset, len)) = stream.again() {
            let header = stream_header(id, stream.opening.is_some(), offset);
            if !packing.worth(header, len) {
                return false;
            }
            let Some((offset, data)) = stream.take_again(packing.room() - header) else { break };
            let (opening, data) = (stream.opening, Some(data));
            stream.announced = true;
            packing.push(Frame::Stream { id, opening, offset, end: false, data });
        }
        if stream.ends_empty() {
            if !packing.push_end(id) {
                return false;
            }
            stream.ending = Ending::Sent;
        } else if stream.is_bare() {
            let end = stream.ending == Ending::Due;
            let frame = Frame::Stream { id, opening: stream.opening, offset: stream.next, end, data: None };
            if !packing.fits(&frame) {
                return false;
            }
            if end {
                stream.ending = Ending::Sent;
            }
            stream.announced = true;
            packing.push(frame);
        }
        stream.queued = false;
        true
    }

    /// Puts new data of the stream whose turn it is into the packet.
    fn serve_stream(&mut self, id: u64, packing: &mut Packing<P>) -> Left {
        let all = self.credit.all.saturating_sub(self.credit.sent);
        let Some(stream) = self.streams.get_mut(&id) else { return Left::Empty };
        let ready = stream.ready().min(all);
        if ready == 0 {
            return Left::Empty;
        }
        let header = stream_header(id, stream.opening.is_some(), stream.next);
        if !packing.worth(header, ready as usize) {
            return Left::Full;
        }
        let room = (packing.room() - header) as u64;
        let most = ready.min(room).min(stream.turn.begin());
        let opening = stream.opening;
        let Some((offset, data, end)) = stream.take(most as usize) else { return Left::Empty };
        let bytes = data.len() as u64;
        stream.turn.deficit -= bytes;
        stream.announced = true;
        self.credit.sent += bytes;
        let spent = stream.turn.deficit == 0;
        packing.push(Frame::Stream { id, opening, offset, end, data: Some(data) });
        if stream.has_room() {
            self.progress.push_back(SendingProgress::Writable(id));
        }
        let ready = stream.ready();
        self.ready = self.ready - stream.counted + ready;
        stream.counted = ready;
        match (ready, spent) {
            (0, _) => Left::Empty,
            (_, true) => Left::Over,
            _ => Left::Full,
        }
    }

    fn serve_datagrams(&mut self, packing: &mut Packing<P>) -> Left {
        loop {
            let Some((channel, len)) = self.datagrams.first() else { return Left::Empty };
            let header = datagram_header(channel, self.datagrams.next);
            if header + len > packing.room() {
                // An answer beside the data may leave no room for it, and the next packet has none but a POLL and a BGN.
                if !packing.is_empty() || header + len + BESIDE <= self.payload {
                    return Left::Full;
                }
                self.datagrams.refuse_first();
                continue;
            }
            if self.datagrams.turn.begin() < len as u64 {
                return Left::Over;
            }
            self.datagrams.turn.deficit -= len as u64;
            if let Some((channel, offset, data)) = self.datagrams.take() {
                packing.push(Frame::Datagram { channel, offset, data });
            }
        }
    }

    /// Serves the members in turn until the packet is full.
    fn serve(&mut self, packing: &mut Packing<P>) {
        while let Some((priority, member)) = self.rounds.next() {
            let left = match member {
                // Streams wait for the association's credit, and keep their places in the round.
                Member::Stream(_) if self.room() == 0 => break,
                Member::Stream(id) => self.serve_stream(id, packing),
                Member::Datagrams => self.serve_datagrams(packing),
            };
            let turn = match member {
                Member::Stream(id) => self.streams.get_mut(&id).map(|stream| &mut stream.turn),
                Member::Datagrams => Some(&mut self.datagrams.turn),
            };
            self.rounds.left(priority, left, turn);
            if left == Left::Full {
                return;
            }
        }
        // Datagrams have a separate credit, and compete with no stream now.
        while self.serve_datagrams(packing) == Left::Over {
            self.datagrams.turn.end(Left::Over);
        }
    }

    /// A frame of a packet that is retransmitted, in its present form; `None` if it is left out.
    fn again_frame(&mut self, frame: Frame<P>, before: &mut Option<u64>) -> Option<Frame<P>> {
        match &frame {
            Frame::Stream { id, .. } => {
                let now = self.streams.get(id)?.opening;
                let mut frame = frame;
                // The class may have changed, and a request that came before the opening was ignored.
                if let (Frame::Stream { opening: Some(class), .. }, Some(now)) = (&mut frame, now) {
                    *class = now;
                }
                Some(frame)
            }
            Frame::Class { id, .. } => self.streams.contains_key(id).then_some(frame),
            Frame::Ends { ids } => {
                let ids: Vec<u64> = ids.iter().copied().filter(|id| self.streams.contains_key(id)).collect();
                (!ids.is_empty()).then_some(Frame::Ends { ids })
            }
            Frame::Datagram { offset, data, .. } => {
                *before = (*before).max(Some(offset + data.len() as u64));
                None
            }
            Frame::DatagramsBefore { offset } => {
                *before = (*before).max(Some(*offset));
                None
            }
            _ => Some(frame),
        }
    }

    /// Records the arrival of a stream's bytes, with its opening or end if they were in the frame.
    fn stream_arrived(&mut self, id: u64, bytes: u64, opening: bool, end: bool) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.acked += bytes;
        if opening {
            stream.opening = None;
        }
        if end {
            stream.ending = Ending::Arrived;
        }
        if stream.all_arrived() {
            self.progress.push_back(SendingProgress::Arrived(id));
        }
        if stream.complete() {
            self.forget(id);
            self.progress.push_back(SendingProgress::Complete(id));
        }
    }

    /// Queues a stream's end that was left out of a packet.
    fn end_again(&mut self, id: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.ending = Ending::Due;
            self.settle(id);
        }
    }

    /// Puts as much of a frame into a packet as fits, and queues the remainder for another.
    fn put_split(&mut self, frame: Frame<P>, packing: &mut Packing<P>) {
        if packing.fits(&frame) {
            return packing.push(frame);
        }
        let (id, opening, offset, end, data) = match frame {
            Frame::Stream { id, opening, offset, end, data } => (id, opening, offset, end, data),
            Frame::Ends { ids } => return ids.into_iter().for_each(|id| self.end_again(id)),
            frame => return self.tell(frame),
        };
        let header = stream_header(id, opening.is_some(), offset);
        let (mut rest, mut from) = (data, offset);
        if let Some(data) = &mut rest
            && packing.worth(header, data.len())
        {
            let head = data.split_to(packing.room() - header);
            from += head.len() as u64;
            packing.push(Frame::Stream { id, opening, offset, end: false, data: Some(head) });
        }
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            self.split += rest.len() as u64;
            stream.put_back(from, rest);
        }
        if end {
            stream.ending = Ending::Due;
        }
        stream.announced &= opening.is_none();
        self.settle(id);
    }
}

impl<P: Payload> Source<Frames<P>> for Outgoing<P> {
    const VERSION: u8 = VERSION_STREAMS;
    const ORDERED: bool = false;
    const SPLITS: bool = true;
    const LEAST_PAYLOAD: u16 = 256;

    fn waiting(&self) -> u64 {
        self.first.bytes() + self.ready.min(self.room()) + self.datagrams.ready()
    }

    fn take(&mut self, room: usize) -> Option<Frames<P>> {
        if self.waiting() == 0 {
            return None;
        }
        let mut packing = Packing::new(room);
        if self.put_first(&mut packing) {
            self.serve(&mut packing);
        }
        if self.waiting() == 0 {
            // An association that rests keeps no memory for it; places of streams that have gone are all that is left there.
            self.first.clear();
        }
        Some(packing.done())
    }

    fn again(&mut self, contents: Frames<P>, room: usize) -> Frames<P> {
        let mut before = None;
        let frames: Vec<Frame<P>> =
            contents.0.into_iter().filter_map(|frame| self.again_frame(frame, &mut before)).collect();
        let mut packing = Packing::new(room);
        if let Some(offset) = before {
            packing.push(Frame::DatagramsBefore { offset });
        }
        for frame in frames {
            self.put_split(frame, &mut packing);
        }
        packing.done()
    }

    fn repeats(&self, contents: &Frames<P>) -> bool {
        !contents.0.iter().any(|frame| matches!(frame, Frame::Datagram { .. }))
    }

    fn arrived(&mut self, contents: Frames<P>) {
        for frame in contents.0 {
            match frame {
                Frame::Stream { id, opening, end, data, .. } => {
                    self.stream_arrived(id, data.map_or(0, |data| data.len() as u64), opening.is_some(), end);
                }
                Frame::Ends { ids } => ids.into_iter().for_each(|id| self.stream_arrived(id, 0, false, true)),
                _ => {}
            }
        }
    }

    fn clear(&mut self) {
        self.streams.clear();
        self.rounds.clear();
        self.ready = 0;
        self.first.clear();
        self.datagrams.clear();
    }

    fn pieces(&self) -> usize {
        let streams: usize = self.streams.values().map(StreamSending::pieces).sum();
        streams + self.first.len() + self.datagrams.len()
    }
}

/// Size of the largest datagram that is certain to fit a packet with `room` bytes.
pub(super) fn largest_datagram(room: usize, channel: u64) -> usize {
    room.saturating_sub(1 + number_len(channel) + 8 + BESIDE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn places_of_streams_that_have_gone_do_not_pile_up() {
        let mut outgoing: Outgoing<Bytes> = Outgoing::new(&Budgets::default(), [1 << 16, 1 << 14], 1400);
        for id in 0..10_000 {
            outgoing.open(id, Class::default(), true);
            outgoing.write(id, Bytes::from_static(b"data"));
            assert!(id < 20 || outgoing.forget(id - 20).is_some());
        }
        assert!(outgoing.rounds.len() <= 40 + SPARE && outgoing.first.len() <= 40);
        assert_eq!((outgoing.first.len(), outgoing.waiting(), outgoing.is_empty()), (20, 20 + 80, false));
        // All that is left fits a packet, and nothing of what has gone is in it.
        let frames = outgoing.take(1400).expect("it waits").0;
        let ids: Vec<u64> = frames
            .iter()
            .map(|frame| match frame {
                Frame::Stream { id, .. } => *id,
                _ => panic!("{frame:?}"),
            })
            .collect();
        assert!(ids.iter().all(|id| *id >= 9_980) && frames.len() >= 20);
        assert_eq!((outgoing.waiting(), outgoing.take(1400)), (0, None));
        (9_980..10_000).for_each(|id| assert!(outgoing.forget(id).is_some()));
        assert!(outgoing.is_empty());
    }
}
