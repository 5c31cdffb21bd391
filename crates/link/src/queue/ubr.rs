//! The buffer of an ATM switch: a FIFO of cells, shared by virtual channels, with the drop policies of UBR and UBR+.
//!
//! Follows Kota et al. 1999 §4 (EPD, selective drop), Romanow and Floyd 1995 (EPD, partial packet discard), Heinanen and Kilkki 1998
//! (fair buffer allocation, in the form of Goyal et al. 1998).
//! Differs: the cells of a packet come and go as one train. They meet the buffer together, when the last of them arrives, and leave
//! without those of others in between, so that one event serves a packet; what drains while a train arrives is not seen.
//! Leaves out service by channel and guaranteed rates.

use super::flow_index::FlowIndex;
use super::{Next, Waiting};
use skyhop_units::{Amount, Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Bytes of an ATM cell.
pub const CELL: u32 = 53;

/// The rule by which a switch drops cells. R and Z are `threshold` and `scale`, K is the buffer, X its cells, X_i those of the packet's
/// channel, N_a the channels with cells in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UbrPolicy {
    /// Each cell that finds the buffer full is dropped. A packet whose last cell is dropped spoils the next of its channel, of which
    /// it seems a part.
    TailDrop,
    /// After the first dropped cell of a packet all others are dropped, except the last, which marks the packet's end.
    PartialPacketDiscard,
    /// The whole packet is dropped if X > R K when its first cell arrives; else partial packet discard.
    EarlyPacketDiscard,
    /// The whole packet is dropped if X > R K and X_i > Z X / N_a; else partial packet discard.
    SelectiveDrop,
    /// The whole packet is dropped if X > R K and X_i N_a / X > Z (K - R K) / (X - R K); else partial packet discard.
    FairBufferAllocation,
}

/// Parameters of the buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UbrConfig {
    /// Capacity, in bytes of cells, including the cells of the packet on the transmitter.
    pub limit: Bytes,
    /// The drop policy.
    pub policy: UbrPolicy,
    /// R, a share of the capacity.
    pub threshold: f64,
    /// Z, which scales a channel's fair share.
    pub scale: f64,
}

#[derive(Debug)]
struct Channel {
    id: u32,
    /// Its cells that wait.
    cells: u64,
    /// True if the last packet has lost its last cell, and others of its cells went on.
    endless: bool,
}

/// A train of cells; without a packet if that has lost cells.
struct Train<T> {
    packet: Option<(T, bool)>,
    cells: u64,
    channel: u32,
}

/// The train on the transmitter.
#[derive(Clone, Copy)]
struct Sending {
    channel: u32,
    until: Time,
}

pub(crate) struct Ubr<T> {
    config: UbrConfig,
    capacity: u64,
    cell_time: Span,
    trains: VecDeque<Train<T>>,
    packets: usize,
    /// Cells that wait.
    cells: u64,
    /// Channels with cells that wait.
    active: u64,
    channels: Vec<Channel>,
    free: Vec<u32>,
    index: FlowIndex,
    sending: Option<Sending>,
}

impl<T: Copy> Ubr<T> {
    pub fn new(config: UbrConfig, rate: Rate) -> Self {
        Ubr {
            capacity: config.limit.get() / u64::from(CELL),
            cell_time: rate.serialisation(Bytes::new(u64::from(CELL))),
            config,
            trains: VecDeque::new(),
            packets: 0,
            cells: 0,
            active: 0,
            channels: Vec::new(),
            free: Vec::new(),
            index: FlowIndex::default(),
            sending: None,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.cells * u64::from(CELL)
    }

    /// Packets that wait, without those of which only some cells do.
    pub fn len(&self) -> usize {
        self.packets
    }

    /// Adds the cells of a packet that the policy lets in; false if it does not let all in.
    pub fn offer(&mut self, packet: Waiting<T>) -> bool {
        let now = packet.since;
        let cells = u64::from(packet.size.div_ceil(CELL));
        let at = self.channel(packet.label.flow);
        let left = self.left_of_sending(now);
        let occupied = self.cells + left.map_or(0, |(_, left)| left);
        let room = self.capacity.saturating_sub(occupied);
        if self.refuses(at, occupied, left) {
            self.forget_if_idle(at);
            return false;
        }
        let (channel, policy) = (&mut self.channels[at as usize], self.config.policy);
        if cells <= room {
            let spoilt = std::mem::take(&mut channel.endless);
            self.push(at, cells, (!spoilt).then_some((packet.packet, packet.marked)));
            return !spoilt;
        }
        // The first cells fill the buffer; under all policies but plain UBR the last one takes the place of the last of them.
        if room > 0 {
            channel.endless = policy == UbrPolicy::TailDrop;
            self.push(at, room, None);
        }
        self.forget_if_idle(at);
        false
    }

    /// Returns true if the policy drops a packet before its first cell.
    fn refuses(&self, at: u32, occupied: u64, left: Option<(u32, u64)>) -> bool {
        let (x, k) = (occupied as f64, self.capacity as f64);
        let r = self.config.threshold * k;
        if x <= r {
            return false;
        }
        let (mut own, mut active) = (self.channels[at as usize].cells, self.active);
        if let Some((channel, left)) = left {
            own += if channel == at { left } else { 0 };
            active += u64::from(self.channels[channel as usize].cells == 0);
        }
        let (own, active, z) = (own as f64, active as f64, self.config.scale);
        match self.config.policy {
            UbrPolicy::TailDrop | UbrPolicy::PartialPacketDiscard => false,
            UbrPolicy::EarlyPacketDiscard => true,
            UbrPolicy::SelectiveDrop => own * active > z * x,
            UbrPolicy::FairBufferAllocation => own * active * (x - r) > z * (k - r) * x,
        }
    }

    /// The channel on the transmitter and its cells there that have not left by `now`.
    fn left_of_sending(&self, now: Time) -> Option<(u32, u64)> {
        let Sending { channel, until } = self.sending?;
        let left = until.since(now).as_nanos().div_ceil(self.cell_time.as_nanos().max(1));
        (left > 0).then_some((channel, left))
    }

    fn push(&mut self, at: u32, cells: u64, packet: Option<(T, bool)>) {
        let channel = &mut self.channels[at as usize];
        self.active += u64::from(channel.cells == 0);
        channel.cells += cells;
        self.cells += cells;
        self.packets += usize::from(packet.is_some());
        self.trains.push_back(Train { packet, cells, channel: at });
    }

    /// Bytes of the cells ahead of the next packet that belong to none, if there are any; they are sent from `now` on.
    pub fn take_remains(&mut self, now: Time) -> Option<u32> {
        if self.trains.front()?.packet.is_some() {
            return None;
        }
        let train = self.trains.pop_front()?;
        Some(self.sent(now, &train))
    }

    /// The next packet, with the bytes of its cells. [`Ubr::take_remains`] comes first.
    pub fn pop(&mut self, now: Time) -> Option<Next<T>> {
        let (packet, marked) = self.trains.front()?.packet?;
        let train = self.trains.pop_front()?;
        self.packets -= 1;
        Some(Next { packet, size: self.sent(now, &train), marked })
    }

    fn sent(&mut self, now: Time, train: &Train<T>) -> u32 {
        let until = now + self.cell_time * train.cells;
        let before = self.sending.replace(Sending { channel: train.channel, until });
        self.gone(train);
        if let Some(Sending { channel, .. }) = before {
            self.forget_if_idle(channel);
        }
        u32::try_from(train.cells * u64::from(CELL)).unwrap_or(u32::MAX)
    }

    fn gone(&mut self, train: &Train<T>) {
        self.cells -= train.cells;
        let channel = &mut self.channels[train.channel as usize];
        channel.cells -= train.cells;
        self.active -= u64::from(channel.cells == 0);
    }

    /// The entry of a packet's channel, a new one if it has none.
    fn channel(&mut self, id: u32) -> u32 {
        let channels = &self.channels;
        if let Some(at) = self.index.find(id, |at| channels[at as usize].id) {
            return at;
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.channels.push(Channel { id, cells: 0, endless: false });
            self.channels.len() as u32 - 1
        });
        self.channels[at as usize].id = id;
        let channels = &self.channels;
        self.index.insert(at, |at| channels[at as usize].id);
        at
    }

    /// Removes a channel of which no cell is in the switch, so that its entry serves another.
    fn forget_if_idle(&mut self, at: u32) {
        let channel = &self.channels[at as usize];
        let busy = self.sending.is_some_and(|sending| sending.channel == at);
        if channel.cells > 0 || channel.endless || busy {
            return;
        }
        let channels = &self.channels;
        self.index.remove(at, |at| channels[at as usize].id);
        self.free.push(at);
    }

    /// Removes packets for which `lost` returns true, and all cells that belong to none.
    pub fn retain(&mut self, lost: &mut dyn FnMut() -> bool, dropped: &mut dyn FnMut(T)) {
        for _ in 0..self.trains.len() {
            let Some(train) = self.trains.pop_front() else { break };
            let Some((packet, _)) = train.packet.filter(|_| !lost()) else {
                self.gone(&train);
                if let Some((packet, _)) = train.packet {
                    self.packets -= 1;
                    dropped(packet);
                }
                self.forget_if_idle(train.channel);
                continue;
            };
            let _ = packet;
            self.trains.push_back(train);
        }
    }
}

/// The limit of a buffer, in bytes of cells.
pub fn cells_of(limit: Amount) -> Bytes {
    Bytes::new(limit.in_bytes(u64::from(CELL)))
}
