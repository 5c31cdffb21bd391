//! What one direction of a link does to packets: queue, serialise, propagate, lose.
//!
//! Follows the store-and-forward link of ns-2's manual: serialisation 8 * size / rate, then propagation.
//! Differs: what the transmitter did is worked out when somebody looks, so a busy link needs one timer and not one per packet.
//! Leaves out framing, coding and medium access.
//!
//! A link is a machine without a clock: it is handed `now` and a packet, and drained of arrivals.
//!
//! ```
//! use skyhop_link::{Fixed, Label, Limit, Link, Loss};
//! use skyhop_units::{Rate, Span, Time};
//! let mut link: Link<&str> = Link::new(Rate::mbit(1), Limit::packets(50), Loss::None, None);
//! let medium = Fixed(Span::from_millis(270));
//! link.handle_packet(Time::ZERO, "hello", 1250, Label::default(), &medium).unwrap();
//! let at = link.poll_timeout().unwrap();
//! assert_eq!(at, Time::ZERO + Span::from_millis(280));
//! assert_eq!(link.poll_arrival(at, &medium).unwrap().packet, "hello");
//! ```

mod distribution;
mod faults;
mod lateness;
mod loss;
mod queue;
mod timeline;

pub use distribution::Shape;
pub use faults::{Corruption, Duplication, FlippedBit};
use lateness::Delays;
pub use lateness::{Jitter, Reordering};
pub use loss::{Change, Loss};
pub use queue::*;

pub use timeline::{Outage, Step, Timeline};

use skyhop_chance::Stream;
use skyhop_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// How long a packet travels that leaves the transmitter at a given instant.
pub trait Medium {
    /// One-way propagation delay of a packet whose last bit leaves at `at`.
    fn one_way_delay(&self, at: Time) -> Span;
}

/// A delay that never changes.
#[derive(Debug, Clone, Copy)]
pub struct Fixed(pub Span);

impl Medium for Fixed {
    fn one_way_delay(&self, _: Time) -> Span {
        self.0
    }
}

/// A packet that has reached the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival<T> {
    /// The packet, as it was handed in.
    pub packet: T,
    /// Where the link led when the packet was sent: the value of [`Link::set_peer`] at that time.
    pub peer: u32,
    /// Whether errors have spoilt it; it used the link all the same.
    pub lost: bool,
    /// Whether the queue has marked it (RFC 3168).
    pub marked: bool,
    /// Whether it has a copy, which whoever holds packets is to make and to hand to [`Link::duplicate`].
    pub duplicated: bool,
    /// The bit that has become another, if errors have done no more to it; it counts as lost for whoever has no bytes.
    pub corrupted: Option<FlippedBit>,
}

/// A transmission that has begun, for a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent<T> {
    /// The packet.
    pub packet: T,
    /// When its first bit left.
    pub at: Time,
    /// Whether the queue has marked it.
    pub marked: bool,
}

/// The packet was not taken; the caller has it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<T>(pub T);

/// Counters of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Packets put on the wire, spoilt ones included.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that the queue did not take or threw out, or that found the link down or waited when it went down.
    pub dropped_packets: u64,
    /// Packets spoilt by errors.
    pub lost_packets: u64,
    /// Packets of which a bit was corrupted; `lost_packets` has them too.
    pub corrupted_packets: u64,
    /// Duplication that were made of packets, which are not among `packets`.
    pub duplicated_packets: u64,
    /// Acknowledgments whose place a later one took; `dropped_packets` has them too.
    pub filtered_packets: u64,
    /// Packets that the queue marked.
    pub marked_packets: u64,
    /// Time the transmitter was busy, including what is left of the packet on it.
    pub busy: Span,
    /// The most packets that waited at once, the one on the transmitter not counted.
    pub queue_max_packets: u64,
}

struct Flying<T> {
    arrival: Time,
    packet: T,
    peer: u32,
    lost: bool,
    marked: bool,
    duplicated: bool,
    corrupted: Option<FlippedBit>,
}

/// What few links have, kept apart so that the others do not look at it.
#[derive(Default)]
struct Extras {
    timeline: Timeline,
    jitter: Option<Delays>,
    reordering: Option<(Reordering, Stream)>,
    duplication: Option<(Duplication, Stream)>,
    corruption: Option<(Corruption, Stream)>,
    /// Arrival of the last packet that keeps its order.
    in_order: Time,
}

/// One direction of a link. `T` stands for the packet: an index, or the packet itself.
pub struct Link<T> {
    rate: Rate,
    queue: Queue<T>,
    discarded: Discarded<T>,
    ack_filter: bool,
    /// Whether somebody has to look when a transmission begins: a capture, or packets that may pass each other.
    wakes_to_send: bool,
    loss: Loss,
    chance: Option<Stream>,
    up: bool,
    /// Whether the transmitter begins nothing by itself: it is paused, or is given turns.
    held: bool,
    /// Whether it waits, as for a satellite that is being acquired.
    paused: bool,
    /// If it shares a transmitter with other links, and sends when it is given a turn: how long before its own is free it takes one.
    turns: Option<Span>,
    /// Whether somebody looks after each call: a capture, or whoever gives turns.
    watched: bool,
    peer: u32,
    /// When the transmitter is free.
    free_at: Time,
    /// Size of the packet on the transmitter until `free_at`.
    sending: u32,
    flying: VecDeque<Flying<T>>,
    capture: Option<VecDeque<Sent<T>>>,
    extras: Option<Box<Extras>>,
    stats: Stats,
}

impl<T: Copy> Link<T> {
    /// A link that is up. `chance` is needed where `loss` loses anything.
    pub fn new(rate: Rate, queue: impl Into<Discipline>, loss: Loss, chance: Option<Stream>) -> Self {
        Self {
            rate,
            queue: Queue::new(queue.into(), rate),
            discarded: Discarded::new(),
            ack_filter: false,
            wakes_to_send: false,
            loss,
            chance,
            up: true,
            held: false,
            paused: false,
            turns: None,
            watched: false,
            peer: 0,
            free_at: Time::ZERO,
            sending: 0,
            flying: VecDeque::new(),
            capture: None,
            extras: None,
            stats: Stats::default(),
        }
    }

    /// Lets a later acknowledgment take the place of an older one that waits (RFC 3449 §5.2.1).
    pub fn with_ack_filter(mut self) -> Self {
        self.ack_filter = true;
        self.queue.keep_labels();
        self
    }

    /// Changes rate, delay, loss and outages by the clock. Losses of chance in it need the link's stream.
    pub fn with_timeline(mut self, timeline: Timeline) -> Self {
        self.extras.get_or_insert_default().timeline = timeline;
        self
    }

    /// Adds a random delay to each packet.
    pub fn with_jitter(mut self, jitter: Jitter, chance: Stream) -> Self {
        self.wakes_to_send |= jitter.reorders;
        self.extras.get_or_insert_default().jitter = Some(Delays::new(jitter, chance));
        self
    }

    /// Holds some packets back while others pass.
    pub fn with_reordering(mut self, reordering: Reordering, chance: Stream) -> Self {
        self.extras.get_or_insert_default().reordering = Some((reordering, chance));
        self.wakes_to_send = true;
        self
    }

    /// Lets some packets arrive twice.
    pub fn with_duplication(mut self, duplication: Duplication, chance: Stream) -> Self {
        self.extras.get_or_insert_default().duplication = Some((duplication, chance));
        self
    }

    /// Lets some packets arrive corrupted.
    pub fn with_corruption(mut self, corruption: Corruption, chance: Stream) -> Self {
        self.extras.get_or_insert_default().corruption = Some((corruption, chance));
        self
    }

    /// Lets it send nothing by itself from now on but a packet at a time by [`Link::take_turn`], and never faster than `most`: the
    /// rate of what it shares with others. So that its own transmitter need not stand still until a turn comes, it takes turns as
    /// much earlier as that needs for `quantum` bytes.
    pub fn take_turns(&mut self, most: Rate, quantum: u32) {
        self.rate = self.rate.min(most);
        if let Some(extras) = &mut self.extras {
            extras.timeline.limit(most);
        }
        self.turns = Some(self.rate.serialisation(Bytes::new(u64::from(quantum))));
        (self.held, self.watched) = (true, true);
    }

    /// Since when, or from when on, a packet waits for its turn; `None` if none does.
    pub fn wants_turn(&self) -> Option<Time> {
        let ahead = self.turns.filter(|_| self.up && !self.paused && self.queue.len() > 0)?;
        Some(Time::ZERO + self.free_at.since(Time::ZERO + ahead))
    }

    /// Sends the next packet, at `now` or when the one before it has left; `now` is not before [`Link::wants_turn`]. Returns its size; `None` if the queue has
    /// thrown out all that waited.
    pub fn take_turn(&mut self, now: Time, medium: &impl Medium) -> Option<u32> {
        let next = self.queue.pop(now, &mut self.discarded)?;
        let size = next.size;
        self.send(self.free_at.max(now), next, medium);
        Some(size)
    }

    /// Gives the link another rate from now on, and other losses if they are told, for which it needs `chance` if it had none. What has begun
    /// to leave arrives as it would have; what waits leaves at the new rate. A timeline's own rate and losses go on to hold while they do.
    pub fn change(
        &mut self,
        now: Time,
        rate: Rate,
        loss: Option<(Loss, Option<Stream>)>,
        medium: &impl Medium,
    ) {
        self.advance(now, medium);
        self.rate = rate;
        if let Some((loss, chance)) = loss {
            self.loss = loss;
            self.chance = self.chance.take().or(chance);
        }
    }

    /// Where transmissions lead from now on; what is already on its way keeps its destination.
    pub fn set_peer(&mut self, now: Time, peer: u32, medium: &impl Medium) {
        self.advance(now, medium);
        self.peer = peer;
    }

    /// Where transmissions lead now.
    pub fn peer(&self) -> u32 {
        self.peer
    }

    /// Whether packets are taken.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Whether it is out by the clock at `at`.
    pub fn is_out(&self, at: Time) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.timeline.out(at))
    }

    /// When that next changes after `at`; `None` if it never does.
    pub fn next_outage(&self, at: Time) -> Option<Time> {
        self.extras.as_ref()?.timeline.next_outage(at)
    }

    /// Takes packets again.
    pub fn set_up(&mut self) {
        self.up = true;
    }

    /// Stops taking packets. What waits is dropped and handed to `dropped`; what has begun to leave still arrives.
    pub fn set_down(&mut self, now: Time, medium: &impl Medium, mut dropped: impl FnMut(T)) {
        self.advance(now, medium);
        self.up = false;
        (self.paused, self.held) = (false, self.turns.is_some());
        let stats = &mut self.stats;
        self.queue.retain(
            || true,
            |packet| {
                stats.dropped_packets += 1;
                dropped(packet);
            },
        );
    }

    /// Stops the transmitter; packets are taken and wait. What has begun to leave still arrives.
    pub fn hold(&mut self, now: Time, medium: &impl Medium) {
        self.advance(now, medium);
        (self.paused, self.held) = (true, true);
    }

    /// Lets a transmitter go on that was held.
    pub fn release(&mut self, now: Time, medium: &impl Medium) {
        if std::mem::replace(&mut self.paused, false) {
            self.held = self.turns.is_some();
            self.free_at = self.free_at.max(now);
            self.advance(now, medium);
        }
    }

    /// Loses what waits and what is on its way, each packet if `lost` says so. Of what waits, those lost are handed to
    /// `dropped`; of the others the arrival is spoilt. Returns how many it was.
    pub fn disturb(
        &mut self,
        now: Time,
        medium: &impl Medium,
        mut lost: impl FnMut() -> bool,
        mut dropped: impl FnMut(T),
    ) -> u64 {
        self.advance(now, medium);
        let mut count = 0;
        for flying in self.flying.iter_mut().filter(|flying| flying.arrival > now && !flying.lost) {
            flying.lost = lost();
            flying.duplicated &= !flying.lost;
            count += flying.lost as u64;
        }
        self.stats.lost_packets += count;
        let stats = &mut self.stats;
        self.queue.retain(lost, |packet| {
            count += 1;
            stats.dropped_packets += 1;
            dropped(packet);
        });
        count
    }

    /// Keeps a list of transmissions for [`Link::poll_sent`], and asks to be woken at each of them.
    pub fn capture(&mut self) {
        self.capture = Some(VecDeque::new());
        (self.wakes_to_send, self.watched) = (true, true);
    }

    /// Whether the queue reads labels; if not, any will do.
    pub fn reads_labels(&self) -> bool {
        self.queue.reads_labels()
    }

    /// Offers a packet of `size` bytes. It is sent, queued, or handed back because the queue does not take it.
    pub fn handle_packet(
        &mut self,
        now: Time,
        packet: T,
        size: u32,
        label: Label,
        medium: &impl Medium,
    ) -> Result<(), Dropped<T>> {
        self.advance(now, medium);
        let sending = if now < self.free_at { self.sending } else { 0 };
        let busy = now < self.free_at || self.held;
        if !self.up {
            self.stats.dropped_packets += 1;
            return Err(Dropped(packet));
        }
        // Most links have this queue, and most of the time nothing waits in it.
        if let Queue::DropTail(queue) = &mut self.queue {
            if !busy {
                self.send(now, Next { packet, size, marked: false }, medium);
            } else if queue.admits(size, Some(sending))
                || (self.turns.is_some() && queue.len() == 0 && self.free_at <= now)
            {
                queue.push(packet, size);
                self.stats.queue_max_packets = self.stats.queue_max_packets.max(queue.len() as u64);
            } else {
                self.stats.dropped_packets += 1;
                return Err(Dropped(packet));
            }
            return Ok(());
        }
        let mut waiting = Waiting { packet, size, label, marked: false, since: now };
        if self.ack_filter && self.queue.filter(&mut waiting, &mut self.discarded) {
            self.stats.filtered_packets += 1;
            return Ok(());
        }
        // Nothing is on the transmitter of a link that is given a turn as soon as it has something to send.
        let idle = !busy || (self.turns.is_some() && self.queue.len() == 0 && self.free_at <= now);
        if !self.queue.offer(waiting, (!idle).then_some(sending), &mut self.discarded) {
            self.stats.dropped_packets += 1;
            return Err(Dropped(packet));
        }
        if busy {
            self.stats.queue_max_packets = self.stats.queue_max_packets.max(self.queue.len() as u64);
        } else {
            self.free_at = now;
            self.advance(now, medium);
        }
        Ok(())
    }

    /// Whether there is something to say before the link's next timeout: packets thrown out, transmissions of a captured link, or
    /// that a packet may wait for its turn.
    #[inline]
    pub fn reports(&self) -> bool {
        self.watched || !self.discarded.is_empty()
    }

    /// The next packet that the queue has thrown out by `now` of those it had taken.
    #[inline]
    pub fn poll_discarded(&mut self) -> Option<T> {
        let packet = self.discarded.pop_front()?;
        self.stats.dropped_packets += 1;
        Some(packet)
    }

    /// The next packet that has reached the far end by `now`.
    pub fn poll_arrival(&mut self, now: Time, medium: &impl Medium) -> Option<Arrival<T>> {
        self.advance(now, medium);
        if self.flying.front()?.arrival > now {
            return None;
        }
        let Flying { packet, peer, lost, marked, duplicated, corrupted, .. } = self.flying.pop_front()?;
        Some(Arrival { packet, peer, lost, marked, duplicated, corrupted })
    }

    /// The copy of a packet that has arrived at `at` with [`Arrival::duplicated`], as `copy`: it arrives too, then or later.
    #[inline(never)]
    pub fn duplicate(&mut self, at: Time, original: &Arrival<T>, copy: T) {
        let Some((Duplication { delay, .. }, _)) =
            self.extras.as_ref().and_then(|extras| extras.duplication.as_ref())
        else {
            return;
        };
        let Arrival { peer, marked, .. } = *original;
        let arrival = at + *delay;
        self.stats.duplicated_packets += 1;
        self.insert(Flying {
            arrival,
            packet: copy,
            peer,
            lost: false,
            marked,
            duplicated: false,
            corrupted: None,
        });
    }

    /// Puts what keeps no order behind all that arrives no later.
    fn insert(&mut self, flying: Flying<T>) {
        let place = self.flying.iter().rposition(|f| f.arrival <= flying.arrival).map_or(0, |i| i + 1);
        self.flying.insert(place, flying);
    }

    /// The next transmission that has begun by `now`, if the link is captured.
    pub fn poll_sent(&mut self, now: Time, medium: &impl Medium) -> Option<Sent<T>> {
        self.advance(now, medium);
        self.capture.as_mut()?.pop_front_if(|sent| sent.at <= now)
    }

    /// When the link next has something to say: the first arrival, or the next transmission if it is captured.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        // A busy transmitter's packet is already flying and arrives no earlier than the transmitter is free,
        // so nothing can be sent or arrive before the head of `flying`.
        // Unless packets may pass each other.
        let arrival = self.flying.front().map(|f| f.arrival);
        if self.wakes_to_send {
            // A turn may have been taken ahead of the transmission.
            let begins = self.capture.as_ref().and_then(|sent| Some(sent.front()?.at));
            let begins = if self.queue.len() > 0 && !self.held { Some(self.free_at) } else { begins };
            return begins.into_iter().chain(arrival).min();
        }
        arrival
    }

    /// Packets that wait, the one on the transmitter not counted.
    pub fn waiting(&mut self, now: Time, medium: &impl Medium) -> usize {
        self.advance(now, medium);
        self.queue.len()
    }

    /// Packets in the link: waiting, on the transmitter, on their way, and thrown out but not yet asked for.
    pub fn held(&self) -> usize {
        self.queue.len() + self.flying.len() + self.discarded.len()
    }

    /// Counters. Busy time reaches to the end of the packet on the transmitter at the last call.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// When the transmitter has sent all that it has begun.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Does what the transmitter has done since the last call. The order of events is the order of time, so the
    /// outcome is the same as if each packet had had a timer.
    #[inline]
    pub fn advance(&mut self, now: Time, medium: &impl Medium) {
        if self.free_at > now || self.held {
            return;
        }
        // Most links have this queue.
        while let Queue::DropTail(queue) = &mut self.queue {
            let Some((packet, size)) = queue.pop() else { return };
            self.send(self.free_at, Next { packet, size, marked: false }, medium);
            if self.free_at > now {
                return;
            }
        }
        self.advance_other(now, medium);
    }

    #[inline(never)]
    fn advance_other(&mut self, now: Time, medium: &impl Medium) {
        while self.free_at <= now {
            let Some(next) = self.queue.pop(self.free_at, &mut self.discarded) else { return };
            self.send(self.free_at, next, medium);
        }
    }

    #[inline]
    fn send(&mut self, at: Time, next: Next<T>, medium: &impl Medium) {
        let Next { packet, size, marked } = next;
        if self.extras.is_some() {
            return self.send_with_extras(at, next, medium);
        }
        let leaves = at + self.rate.serialisation(Bytes::new(size as u64));
        let lost = match &mut self.chance {
            Some(chance) => self.loss.spoils(leaves, size, chance),
            None => false,
        };
        // An end that comes nearer must not let a packet overtake the one before it.
        let after = self.flying.back().map_or(Time::ZERO, |f| f.arrival);
        let arrival = (leaves + medium.one_way_delay(leaves)).max(after);
        let peer = self.peer;
        self.flying.push_back(Flying {
            arrival,
            packet,
            peer,
            lost,
            marked,
            duplicated: false,
            corrupted: None,
        });
        self.count(at, leaves, packet, size, lost, marked);
    }

    /// As [`Link::send`], where rate, loss and delay depend on the time, or packets are late.
    #[inline(never)]
    fn send_with_extras(&mut self, at: Time, next: Next<T>, medium: &impl Medium) {
        let Next { packet, size, marked } = next;
        let Some(extras) = &mut self.extras else { return };
        let (leaves, out) = extras.timeline.leaves(at, size, self.rate);
        let loss = extras.timeline.loss(leaves).unwrap_or(&mut self.loss);
        let spoilt = self.chance.as_mut().is_some_and(|chance| loss.spoils(leaves, size, chance));
        let corrupted = match &mut extras.corruption {
            Some((corruption, chance)) => corruption.draw(size, chance).filter(|_| !(out || spoilt)),
            None => None,
        };
        let lost = out || spoilt || corrupted.is_some();
        let duplicated = match &mut extras.duplication {
            Some((duplication, chance)) => chance.happens(duplication.probability) && !lost,
            None => false,
        };
        let delay = extras.timeline.delay(leaves).unwrap_or_else(|| medium.one_way_delay(leaves));
        let mut arrival = leaves + delay;
        if let Some(delays) = &mut extras.jitter {
            arrival += delays.draw();
        }
        let passes = extras.jitter.as_ref().is_some_and(Delays::reorders);
        if !passes {
            arrival = arrival.max(extras.in_order);
        }
        let held_back = match &mut extras.reordering {
            Some((reordering, chance)) if reordering.probability > 0.0 => {
                chance.happens(reordering.probability).then_some(reordering.delay)
            }
            _ => None,
        };
        match held_back {
            Some(delay) => arrival += delay,
            None => extras.in_order = arrival,
        }
        self.stats.corrupted_packets += u64::from(corrupted.is_some());
        self.insert(Flying { arrival, packet, peer: self.peer, lost, marked, duplicated, corrupted });
        self.count(at, leaves, packet, size, lost, marked);
    }

    #[inline(always)]
    fn count(&mut self, at: Time, leaves: Time, packet: T, size: u32, lost: bool, marked: bool) {
        if let Some(capture) = &mut self.capture {
            capture.push_back(Sent { packet, at, marked });
        }
        self.free_at = leaves;
        self.sending = size;
        self.stats.packets += 1;
        self.stats.bytes += size as u64;
        self.stats.lost_packets += lost as u64;
        self.stats.marked_packets += marked as u64;
        self.stats.busy += leaves.since(at);
    }
}
