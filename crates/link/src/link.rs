//! A link: its queue, its transmitter, and the packets in flight, in the order in which a packet meets them.
//!
//! Follows the store-and-forward link of ns-2's manual: serialisation 8 * size / rate, then propagation.
//! Differs: the transmitter's state is computed when it is read, so a busy link needs one timer and not one per packet.
//! Leaves out the state of its parts, each of which has a file.

use crate::buffer::LinkBuffer;
use crate::bursts::{Departed, Load, SlotBursts, SlotShape};
use crate::errors::LinkErrors;
use crate::extras::{Extras, Leaving, LinkOutcome};
use crate::faults::{Corruption, Duplication};
use crate::flying::{Arrival, FlyingPackets};
use crate::lateness::{Jitter, Reordering};
use crate::loss::Loss;
use crate::medium::Medium;
use crate::queue::{Discipline, Label, Next, Waiting};
use crate::reports::{LinkReports, Sent};
use crate::timeline::{Outage, Timeline};
use crate::transmitter::LinkTransmitter;
use skyhop_chance::Stream;
use skyhop_units::{Bytes, Rate, Span, Time};

/// The packet that the link did not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<T>(pub T);

/// Counters of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Packets transmitted, including those lost to errors.
    pub packets: u64,
    /// Bytes transmitted, with the cells of packets that a switch has cut.
    pub bytes: u64,
    /// Packets that the queue refused or discarded, that found the link down, or that waited when it went down.
    pub packets_dropped: u64,
    /// Packets lost to errors.
    pub packets_lost: u64,
    /// Packets with a flipped bit; also in `packets_lost`.
    pub packets_corrupted: u64,
    /// Copies that duplication made; not in `packets`.
    pub packets_duplicated: u64,
    /// Acknowledgments replaced by a later one; also in `packets_dropped`.
    pub packets_filtered: u64,
    /// Packets that the queue marked.
    pub packets_marked: u64,
    /// Time that the transmitter was busy, including the remaining time of the packet on it.
    pub busy: Span,
    /// Largest number of packets that waited at once, without the one on the transmitter.
    pub queue_max_packets: u64,
}

/// One direction of a link. `T` is the packet or an index of it.
pub struct Link<T> {
    rate: Rate,
    buffer: LinkBuffer<T>,
    errors: LinkErrors,
    transmitter: LinkTransmitter,
    /// On a link that takes turns on a shared transmitter: the time before its own transmitter is free at which it may ask for one.
    turns: Option<Span>,
    /// On a link that sends in slots: those that it has been granted.
    bursts: Option<Box<SlotBursts<T>>>,
    reports: LinkReports<T>,
    peer: u32,
    flying: FlyingPackets<T>,
    extras: Option<Box<Extras>>,
    stats: Stats,
}

impl<T: Copy> Link<T> {
    /// A link that is up. `chance` is required if `loss` is not [`Loss::None`].
    pub fn new(rate: Rate, queue: impl Into<Discipline>, loss: Loss, chance: Option<Stream>) -> Self {
        Self {
            rate,
            buffer: LinkBuffer::new(queue.into(), rate),
            errors: LinkErrors::new(loss, chance),
            transmitter: LinkTransmitter::new(),
            turns: None,
            bursts: None,
            reports: LinkReports::new(),
            peer: 0,
            flying: FlyingPackets::new(),
            extras: None,
            stats: Stats::default(),
        }
    }

    /// Lets a later acknowledgment replace a waiting one of its connection (RFC 3449 §5.2.1).
    pub fn with_ack_filter(mut self) -> Self {
        self.buffer.filter_acks();
        self
    }

    /// The rate at `at`.
    pub fn rate_at(&self, at: Time) -> Rate {
        self.extras.as_ref().and_then(|extras| extras.timeline().rate(at)).unwrap_or(self.rate)
    }

    /// The one-way delay of propagation of a packet that leaves at `at`.
    pub fn delay_at(&self, at: Time, medium: &impl Medium) -> Span {
        let own = self.extras.as_ref().and_then(|extras| extras.timeline().delay(at));
        own.unwrap_or_else(|| medium.one_way_delay(at))
    }

    /// The outage by the clock at `at`.
    pub fn outage(&self, at: Time) -> Option<Outage> {
        self.extras.as_ref().and_then(|extras| extras.timeline().outage(at))
    }

    /// The largest rate that the link ever has.
    pub fn fastest(&self) -> Rate {
        let step = self.extras.as_ref().and_then(|extras| extras.timeline().fastest());
        step.map_or(self.rate, |step| step.max(self.rate))
    }

    /// Changes rate, delay, loss and outages by the clock. Random losses in it use the link's stream.
    pub fn with_timeline(mut self, timeline: Timeline) -> Self {
        *self.extras.get_or_insert_default().timeline_mut() = timeline;
        self
    }

    /// Adds a random delay to each packet.
    pub fn with_jitter(mut self, jitter: Jitter, chance: Stream) -> Self {
        self.reports.wake_to_send(jitter.reorders);
        self.extras.get_or_insert_default().set_jitter(jitter, chance);
        self
    }

    /// Holds some packets back while others pass.
    pub fn with_reordering(mut self, reordering: Reordering, chance: Stream) -> Self {
        self.extras.get_or_insert_default().set_reordering(reordering, chance);
        self.reports.wake_to_send(true);
        self
    }

    /// Lets some packets arrive twice.
    pub fn with_duplication(mut self, duplication: Duplication, chance: Stream) -> Self {
        self.extras.get_or_insert_default().set_duplication(duplication, chance);
        self
    }

    /// Lets some packets arrive corrupted.
    pub fn with_corruption(mut self, corruption: Corruption, chance: Stream) -> Self {
        self.extras.get_or_insert_default().set_corruption(corruption, chance);
        self
    }

    /// Makes the link send one packet at each [`Link::take_turn`] and nothing otherwise, at no more than `most`, the rate of the
    /// shared transmitter. So that its own transmitter is not idle until a turn comes, the link takes turns ahead of time, by the
    /// transmission time of `quantum` bytes.
    pub fn take_turns(&mut self, most: Rate, quantum: u32) {
        self.rate = self.rate.min(most);
        if let Some(extras) = &mut self.extras {
            extras.timeline_mut().limit(most);
        }
        self.turns = Some(self.rate.serialisation(Bytes::new(u64::from(quantum))));
        self.transmitter.command();
        self.reports.watch();
    }

    /// The time since or from which a packet waits for a turn; `None` if no packet does.
    pub fn wants_turn(&self) -> Option<Time> {
        let ahead = self.turns.filter(|_| self.transmitter.is_up() && !self.transmitter.is_paused())?;
        Some(Time::ZERO + self.buffer.next_at(self.transmitter.free_at())?.since(Time::ZERO + ahead))
    }

    /// Sends the next packet at `now`, or when the one before has left; `now` is not before [`Link::wants_turn`]. Returns its
    /// size, bytes; `None` if the queue discarded all that waited.
    pub fn take_turn(&mut self, now: Time, medium: &impl Medium) -> Option<u32> {
        if let Some(size) = self.buffer.take_remains(now) {
            self.spend(self.transmitter.free_from(now), size);
            return Some(size);
        }
        let next = self.buffer.pop(now)?;
        let size = next.size;
        self.send(self.transmitter.free_from(now), next, medium);
        Some(size)
    }

    /// Changes the rate, and the losses if `loss` is given; `chance` is required if the link had no losses before. Transmissions
    /// that have begun are not affected; waiting packets leave at the new rate. Rates and losses of a timeline take precedence
    /// while they hold.
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
            self.errors.change(loss, chance);
        }
    }

    /// Sets the far end of later transmissions; packets in flight keep theirs.
    pub fn set_peer(&mut self, now: Time, peer: u32, medium: &impl Medium) {
        self.advance(now, medium);
        if let Some(bursts) = self.bursts.as_mut().filter(|_| self.peer != peer) {
            // The slots were the old one's, and so is what has been sent of a packet.
            bursts.revoke();
            bursts.spoil();
        }
        self.peer = peer;
    }

    /// The far end of transmissions that begin now.
    pub fn peer(&self) -> u32 {
        self.peer
    }

    /// Returns true if the link accepts packets.
    pub fn is_up(&self) -> bool {
        self.transmitter.is_up()
    }

    /// Returns true if the timeline has an outage at `at`.
    pub fn is_out(&self, at: Time) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.timeline().out(at))
    }

    /// The first time after `at` at which [`Link::is_out`] changes; `None` if it never does.
    pub fn next_outage(&self, at: Time) -> Option<Time> {
        self.extras.as_ref()?.timeline().next_outage(at)
    }

    /// Lets the link accept packets again.
    pub fn set_up(&mut self) {
        self.transmitter.set_up();
    }

    /// Takes the link down. Waiting packets are passed to `dropped`; transmissions that have begun still arrive.
    pub fn set_down(&mut self, now: Time, medium: &impl Medium, mut dropped: impl FnMut(T)) {
        self.advance(now, medium);
        self.pass(now);
        self.transmitter.set_down();
        let stats = &mut self.stats;
        if let Some(bursts) = &mut self.bursts
            && let Some(Load::Packet(next)) = bursts.cut().map(|sending| sending.load)
        {
            stats.packets_dropped += 1;
            dropped(next.packet);
        }
        self.buffer.retain(
            || true,
            |packet| {
                stats.packets_dropped += 1;
                dropped(packet);
            },
        );
    }

    /// Pauses the transmitter. Packets are accepted and wait; transmissions that have begun still arrive.
    pub fn hold(&mut self, now: Time, medium: &impl Medium) {
        self.advance(now, medium);
        self.transmitter.pause();
    }

    /// Resumes a transmitter paused by [`Link::hold`].
    pub fn release(&mut self, now: Time, medium: &impl Medium) {
        if self.transmitter.resume() {
            if self.bursts.is_none() {
                self.transmitter.idle_until(self.transmitter.free_from(now));
            }
            self.advance(now, medium);
        }
    }

    /// Loses each packet in the link for which `lost` returns true: waiting ones are passed to `dropped`, those in flight arrive as
    /// lost. Returns the number of packets lost.
    pub fn disturb(
        &mut self,
        now: Time,
        medium: &impl Medium,
        mut lost: impl FnMut() -> bool,
        mut dropped: impl FnMut(T),
    ) -> u64 {
        self.advance(now, medium);
        self.pass(now);
        let mut count = self.flying.disturb(now, &mut lost);
        self.stats.packets_lost += count;
        if let Some(bursts) = self.bursts.as_mut().filter(|bursts| bursts.sending().is_some())
            && lost()
        {
            bursts.spoil();
            count += 1;
        }
        let stats = &mut self.stats;
        self.buffer.retain(lost, |packet| {
            count += 1;
            stats.packets_dropped += 1;
            dropped(packet);
        });
        count
    }

    /// Starts a list of transmissions for [`Link::poll_sent`], with a timeout at each.
    pub fn capture(&mut self) {
        self.reports.capture();
    }

    /// Makes [`Link::reports`] true after each call.
    pub fn watch(&mut self) {
        self.reports.watch();
    }

    /// Returns true if the queue reads labels; if not, any label will do.
    pub fn reads_labels(&self) -> bool {
        self.buffer.reads_labels()
    }

    /// Offers a packet of `size` bytes, which is sent or queued. Fails, and returns the packet, if the link is down or its queue
    /// refuses it.
    pub fn handle_packet(
        &mut self,
        now: Time,
        packet: T,
        size: u32,
        label: Label,
        medium: &impl Medium,
    ) -> Result<(), Dropped<T>> {
        self.advance(now, medium);
        let on_it = self.transmitter.sending(now);
        let busy = on_it.is_some() || self.transmitter.is_held();
        let commanded = self.transmitter.is_commanded();
        if commanded {
            self.pass(now);
        }
        let sending = match on_it {
            Some(size) => size,
            None if commanded => self.sent_in_bursts(),
            None => 0,
        };
        if !self.transmitter.is_up() {
            self.stats.packets_dropped += 1;
            return Err(Dropped(packet));
        }
        // The common case: a drop-tail queue in which nothing waits.
        if let Some(queue) = self.buffer.drop_tail() {
            if !busy {
                self.send(now, Next { packet, size, marked: false }, medium);
            } else if queue.admits(size, Some(sending)) || (commanded && sending == 0 && queue.len() == 0) {
                queue.push(packet, size);
                self.stats.queue_max_packets = self.stats.queue_max_packets.max(queue.len() as u64);
                if commanded {
                    self.count_demand(size);
                }
            } else {
                self.stats.packets_dropped += 1;
                return Err(Dropped(packet));
            }
            return Ok(());
        }
        let mut waiting = Waiting { packet, size, label, marked: false, since: now };
        if self.buffer.filter(&mut waiting) {
            self.stats.packets_filtered += 1;
            return Ok(());
        }
        // A link that takes turns, with an idle transmitter, needs one as soon as it has a packet.
        let idle = !busy || (commanded && sending == 0 && self.buffer.len() == 0);
        if !self.buffer.offer(waiting, (!idle).then_some(sending)) {
            self.stats.packets_dropped += 1;
            if self.buffer.cuts() {
                self.begin_cells_of_dropped(now, busy, medium);
            }
            return Err(Dropped(packet));
        }
        if busy {
            self.stats.queue_max_packets = self.stats.queue_max_packets.max(self.buffer.len() as u64);
            if commanded {
                self.count_demand(size);
            }
        } else {
            self.transmitter.idle_until(now);
            self.advance(now, medium);
        }
        Ok(())
    }

    /// Some cells of a packet that a switch has cut may leave at once.
    #[cold]
    fn begin_cells_of_dropped(&mut self, now: Time, busy: bool, medium: &impl Medium) {
        if busy {
            self.stats.queue_max_packets = self.stats.queue_max_packets.max(self.buffer.len() as u64);
        } else {
            self.transmitter.idle_until(now);
            self.advance(now, medium);
        }
    }

    /// Returns true if the link must be polled before its next timeout: for discarded packets, transmissions of a captured link,
    /// or a packet that may wait for its turn.
    #[inline]
    pub fn reports(&self) -> bool {
        self.reports.is_watched() || self.buffer.has_discarded()
    }

    /// The next packet that the queue accepted and later discarded.
    #[inline]
    pub fn poll_discarded(&mut self) -> Option<T> {
        let packet = self.buffer.poll_discarded()?;
        self.stats.packets_dropped += 1;
        Some(packet)
    }

    /// The next packet that has reached the far end by `now`.
    pub fn poll_arrival(&mut self, now: Time, medium: &impl Medium) -> Option<Arrival<T>> {
        self.advance(now, medium);
        self.flying.poll(now)
    }

    /// Adds `copy` of a packet that arrived at `at` with [`Arrival::duplicated`]; it arrives at once or later.
    #[inline(never)]
    pub fn duplicate(&mut self, at: Time, original: &Arrival<T>, copy: T) {
        let Some(delay) = self.extras.as_ref().and_then(|extras| extras.copy_delay()) else { return };
        let Arrival { peer, marked, .. } = *original;
        self.stats.packets_duplicated += 1;
        let copy = Arrival { packet: copy, peer, lost: false, marked, duplicated: false, corrupted: None };
        self.flying.insert(at + delay, copy);
    }

    /// The next transmission that began by `now`; `None` if the link is not captured.
    pub fn poll_sent(&mut self, now: Time, medium: &impl Medium) -> Option<Sent<T>> {
        self.advance(now, medium);
        self.reports.poll(now)
    }

    /// Time of the link's next event: the first arrival, or the next transmission if the link is captured.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        // A busy transmitter's packet is already flying and arrives no earlier than the transmitter is free,
        // so nothing can be sent or arrive before the head of `flying`.
        // This does not hold if packets may overtake each other.
        let arrival = self.flying.next_at();
        if let Some(bursts) = self.bursts.as_ref().filter(|_| self.reports.wakes_to_send()) {
            // In a slot in which there is nothing to send nothing happens.
            let sends = self.buffer.len() > 0 || bursts.sending().is_some();
            let slot = bursts.next_slot().filter(|_| sends && !self.transmitter.is_paused());
            return slot.into_iter().chain(arrival).min();
        }
        if self.reports.wakes_to_send() {
            // A turn may be taken before the transmission begins.
            let begins = self.reports.next_at();
            let begins = match self.transmitter.is_held() {
                true => begins,
                false => self.buffer.next_at(self.transmitter.free_at()).or(begins),
            };
            return begins.into_iter().chain(arrival).min();
        }
        // Cells of a cut packet may be on the transmitter, before a waiting packet and after all packets in flight.
        match arrival {
            None if self.buffer.cuts() && !self.transmitter.is_held() => {
                self.buffer.next_at(self.transmitter.free_at())
            }
            _ => arrival,
        }
    }

    /// Number of packets that wait, without the one on the transmitter.
    pub fn waiting(&mut self, now: Time, medium: &impl Medium) -> usize {
        self.advance(now, medium);
        self.buffer.len()
    }

    /// Number of packets in the link: waiting, on the transmitter, in flight, or discarded and not yet polled.
    pub fn held(&self) -> usize {
        let of_bursts = self.bursts.as_ref().and_then(|bursts| bursts.sending());
        let sending = usize::from(of_bursts.is_some_and(|sending| matches!(sending.load, Load::Packet(_))));
        self.buffer.len() + sending + self.flying.len() + self.buffer.discarded()
    }

    /// The counters. Busy time extends to the end of the packet on the transmitter at the last call.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Time at which the transmitter has sent all that it has begun.
    pub fn free_at(&self) -> Time {
        self.transmitter.free_at()
    }

    /// Brings the transmitter up to `now`. Events are taken in order of time, so the outcome is the same as with a timer for each
    /// packet.
    #[inline]
    pub fn advance(&mut self, now: Time, medium: &impl Medium) {
        if self.transmitter.free_at() > now {
            return;
        }
        if self.transmitter.is_held() {
            return self.burst(now, medium);
        }
        // The common case: a drop-tail queue.
        while let Some(queue) = self.buffer.drop_tail() {
            let Some((packet, size)) = queue.pop() else { return };
            self.send(self.transmitter.free_at(), Next { packet, size, marked: false }, medium);
            if self.transmitter.free_at() > now {
                return;
            }
        }
        self.advance_other(now, medium);
    }

    #[inline(never)]
    fn advance_other(&mut self, now: Time, medium: &impl Medium) {
        while self.transmitter.free_at() <= now {
            let free_at = self.transmitter.free_at();
            if let Some(size) = self.buffer.take_remains(free_at) {
                self.spend(free_at, size);
                continue;
            }
            let Some(next) = self.buffer.pop(free_at) else {
                match self.buffer.next_cell() {
                    Some(at) if at <= now => self.transmitter.idle_until(at),
                    _ => return,
                }
                continue;
            };
            self.send(free_at, next, medium);
        }
    }

    /// Keeps the transmitter busy with cells of packets that were dropped: `size` bytes from `at` on.
    fn spend(&mut self, at: Time, size: u32) {
        let leaves = match &mut self.extras {
            Some(extras) => extras.timeline().leaves(at, size, self.rate).0,
            None => at + self.rate.serialisation(Bytes::new(u64::from(size))),
        };
        self.transmitter.occupy(leaves, size);
        self.stats.bytes += u64::from(size);
        self.stats.busy += leaves.since(at);
    }

    #[inline]
    fn send(&mut self, at: Time, next: Next<T>, medium: &impl Medium) {
        if self.extras.is_some() {
            return self.send_with_extras(at, next, medium);
        }
        let leaves = at + self.rate.serialisation(Bytes::new(next.size as u64));
        self.leave_plainly(at, leaves, false, next, medium);
    }

    /// The rest of [`Link::send`], once it is known when the last bit leaves.
    #[inline(always)]
    fn leave_plainly(&mut self, at: Time, leaves: Time, spoilt: bool, next: Next<T>, medium: &impl Medium) {
        let Next { packet, size, marked } = next;
        let Self { buffer, errors, peer, .. } = self;
        let lost = errors.spoil(leaves, || buffer.exposed(size)) || spoilt;
        let arrival = Arrival { packet, peer: *peer, lost, marked, duplicated: false, corrupted: None };
        // A receiver that comes nearer must not let a packet overtake the one before it.
        self.flying.push(leaves + medium.one_way_delay(leaves), arrival);
        self.count(at, leaves, packet, size, lost, marked);
    }

    /// [`Link::send`] where rate, loss and delay depend on the time, or packets have additional delay.
    #[inline(never)]
    fn send_with_extras(&mut self, at: Time, next: Next<T>, medium: &impl Medium) {
        let Some(extras) = &mut self.extras else { return };
        let (leaves, out) = extras.timeline().leaves(at, next.size, self.rate);
        self.leave_with_extras(at, leaves, out, next, medium);
    }

    #[inline]
    fn leave_with_extras(&mut self, at: Time, leaves: Time, out: bool, next: Next<T>, medium: &impl Medium) {
        let Next { packet, size, marked } = next;
        let Some(extras) = &mut self.extras else { return };
        let leaving = Leaving { at: leaves, size, exposed: self.buffer.exposed(size), out };
        let LinkOutcome { arrives, lost, duplicated, corrupted } =
            extras.leave(leaving, &mut self.errors, medium);
        self.stats.packets_corrupted += u64::from(corrupted.is_some());
        self.flying.insert(arrives, Arrival { packet, peer: self.peer, lost, marked, duplicated, corrupted });
        self.count(at, leaves, packet, size, lost, marked);
    }

    #[inline(always)]
    fn count(&mut self, at: Time, leaves: Time, packet: T, size: u32, lost: bool, marked: bool) {
        self.reports.sent(Sent { packet, at, marked });
        self.transmitter.occupy(leaves, size);
        self.stats.packets += 1;
        self.stats.bytes += size as u64;
        self.stats.packets_lost += lost as u64;
        self.stats.packets_marked += marked as u64;
        self.stats.busy += leaves.since(at);
    }

    /// Makes the link send only in slots of this shape, which [`Link::grant`] grants.
    pub fn send_in_slots(&mut self, shape: SlotShape) {
        self.bursts = Some(Box::new(SlotBursts::new(shape)));
        self.transmitter.command();
        self.reports.wake_to_send(true);
    }

    /// Grants consecutive `slots` from `begins` on; grants are in order of time.
    pub fn grant(&mut self, now: Time, begins: Time, slots: u32, medium: &impl Medium) {
        self.advance(now, medium);
        if let Some(bursts) = self.bursts.as_mut().filter(|_| slots > 0) {
            bursts.grant(begins, slots);
        }
    }

    /// For a link that sends in slots: waiting bytes, including the remainder of the packet being sent, and bytes accepted so far.
    pub fn demand(&mut self, now: Time, medium: &impl Medium) -> (u64, u64) {
        self.advance(now, medium);
        let Some(bursts) = &self.bursts else { return (0, 0) };
        (self.buffer.bytes() + bursts.left(), bursts.came)
    }

    /// For a link that sends in slots: mean time from a packet's acceptance until its last byte leaves, up to `now`, s, and the number of
    /// accepted packets; `None` without any.
    pub fn access_delay(&mut self, now: Time, medium: &impl Medium) -> Option<(f64, u64)> {
        self.advance(now, medium);
        self.pass(now);
        self.bursts.as_ref()?.access_delay()
    }

    /// Slots in which the link has sent something.
    pub fn used_slots(&self) -> u64 {
        self.bursts.as_ref().map_or(0, |bursts| bursts.used)
    }

    /// Size of the packet that is being sent in slots, 0 for none.
    #[cold]
    fn sent_in_bursts(&self) -> u32 {
        self.bursts.as_ref().and_then(|bursts| bursts.sending()).map_or(0, |sending| sending.size)
    }

    #[cold]
    fn count_demand(&mut self, size: u32) {
        if let Some(bursts) = &mut self.bursts {
            bursts.accept(size);
        }
    }

    /// Counts the time that packets have been in a link that sends in slots, up to `now`.
    #[cold]
    fn pass(&mut self, now: Time) {
        let inside = self.buffer.len();
        if let Some(bursts) = &mut self.bursts {
            bursts.pass(now, inside + usize::from(bursts.sending().is_some()));
        }
    }

    /// Sends in the slots that have begun by `now`; does nothing on a link without slots.
    #[inline(never)]
    fn burst(&mut self, now: Time, medium: &impl Medium) {
        let Some(mut bursts) = self.bursts.take_if(|bursts| bursts.next_slot().is_some_and(|at| at <= now))
        else {
            return;
        };
        let mut departed = Vec::new();
        while let Some(at) = bursts.next_slot().filter(|at| *at <= now) {
            let waits = self.extras.as_ref().is_some_and(|extras| extras.timeline().waits(at));
            if self.transmitter.is_paused() || waits {
                bursts.skip(at);
                continue;
            }
            if self.buffer.len() == 0 && bursts.sending().is_none() {
                bursts.skip(now);
                continue;
            }
            let inside = self.buffer.len() + usize::from(bursts.sending().is_some());
            bursts.pass(at, inside);
            let next = || {
                if let Some(size) = self.buffer.take_remains(at) {
                    return Some((Load::Remains, size));
                }
                let next = self.buffer.pop(at)?;
                let size = next.size;
                Some((Load::Packet(next), size))
            };
            let used = bursts.send(at, next, |left| departed.push(left));
            // Packets leave at the end of the slot.
            bursts.stay(used, departed.len());
            self.stats.busy += used;
            for Departed { sending, leaves } in departed.drain(..) {
                match sending.load {
                    Load::Packet(next) => self.leave(sending.began, leaves, sending.spoilt, next, medium),
                    Load::Remains => self.stats.bytes += u64::from(sending.size),
                }
            }
        }
        self.bursts = Some(bursts);
    }

    /// Completes a packet whose first byte was sent at `at`, on a link that sends in slots.
    fn leave(&mut self, at: Time, leaves: Time, spoilt: bool, next: Next<T>, medium: &impl Medium) {
        // The transmitter is free between slots, and its time is counted by slots.
        let (transmitter, busy) = (self.transmitter, self.stats.busy);
        match &self.extras {
            Some(extras) => {
                let out = extras.timeline().loses_at(leaves);
                self.leave_with_extras(at, leaves, out || spoilt, next, medium);
            }
            None => self.leave_plainly(at, leaves, spoilt, next, medium),
        }
        (self.transmitter, self.stats.busy) = (transmitter, busy);
    }
}
