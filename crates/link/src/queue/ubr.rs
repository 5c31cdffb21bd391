//! The buffer of an ATM switch: a FIFO of cells, shared by virtual channels, with the drop policies of UBR and UBR+.
//!
//! Follows Kota et al. 1999 §4 (EPD, selective drop), Romanow and Floyd 1995 (EPD, partial packet discard), Heinanen and Kilkki 1998
//! (fair buffer allocation, in the form of Goyal et al. 1998), and Goyal et al. 1997 (ATM Forum 97-0424) for a guaranteed rate.
//! Differs: without a rate of the ports (`ports.rs`) all cells of a packet enter the buffer together, when the last of them arrives, and
//! departures during their arrival do not count.
//! First come, first served, they leave as one train, so that a packet takes one event; with a queue for each channel, cells leave singly.
//! Leaves out rates of single channels.

use super::flow_index::FlowIndex;
use super::ports::{CellFate, Coming, SwitchPorts};
use super::{Discarded, Next, Waiting};
use skyhop_units::{Amount, Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Bytes of an ATM cell.
pub const CELL: u32 = 53;

/// The rule by which a switch drops cells. R and Z are `threshold` and `scale`, K is the buffer, X its cells, X_i those of the packet's
/// channel, N_a the channels with cells in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UbrPolicy {
    /// Each cell that finds the buffer full is dropped. A packet without its last cell is merged with the next one of its channel, so that
    /// both are lost.
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

/// The order in which cells leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellOrder {
    /// First come, first served, the cells of a packet as one train.
    Trains,
    /// First come, first served, cell by cell.
    Cells,
    /// A queue for each channel, and a cell of each in turn.
    Channels,
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
    /// The order in which cells leave.
    pub service: CellOrder,
    /// Rate at which the cells of a packet arrive, one after the other; without it they arrive together.
    pub port_rate: Option<Rate>,
    /// Minimum rate of UBR beside packets of band 0, which otherwise go first and have a buffer of the same capacity; without this rate
    /// bands make no difference.
    pub guaranteed: Option<Rate>,
}

#[derive(Debug)]
struct Channel {
    id: u32,
    /// Number of its waiting cells.
    cells: u64,
    /// True if the last packet has lost its last cell, but not all of its cells.
    endless: bool,
    /// Its packets that are at its port.
    coming: u32,
    /// Time at which its port has passed on all cells that it has.
    port_free_at: Time,
}

/// Cells that leave consecutively, with the packet that ends with them if it is complete.
struct Train<T> {
    packet: Option<(T, bool)>,
    cells: u64,
    channel: u32,
    /// Number of cells of the packet, some of which may have left earlier.
    whole: u64,
}

/// Trains in the order in which they leave.
enum TrainLine<T> {
    Fifo(VecDeque<Train<T>>),
    /// By number of the channel, and the channels with trains in the order of their turns.
    Channels(Vec<VecDeque<Train<T>>>, VecDeque<u32>),
}

impl<T> TrainLine<T> {
    fn push(&mut self, train: Train<T>) {
        match self {
            TrainLine::Fifo(trains) => trains.push_back(train),
            TrainLine::Channels(queues, round) => {
                let at = train.channel as usize;
                if queues.len() <= at {
                    queues.resize_with(at + 1, VecDeque::new);
                }
                if queues[at].is_empty() {
                    round.push_back(train.channel);
                }
                queues[at].push_back(train);
            }
        }
    }

    fn front(&self) -> Option<&Train<T>> {
        match self {
            TrainLine::Fifo(trains) => trains.front(),
            TrainLine::Channels(queues, round) => queues[*round.front()? as usize].front(),
        }
    }

    fn pop(&mut self) -> Option<Train<T>> {
        match self {
            TrainLine::Fifo(trains) => trains.pop_front(),
            TrainLine::Channels(queues, round) => {
                let channel = round.pop_front()?;
                let train = queues[channel as usize].pop_front();
                if !queues[channel as usize].is_empty() {
                    round.push_back(channel);
                }
                train
            }
        }
    }

    /// All trains, channel by channel.
    fn take(&mut self) -> Vec<Train<T>> {
        match self {
            TrainLine::Fifo(trains) => trains.drain(..).collect(),
            TrainLine::Channels(queues, round) => {
                round.drain(..).flat_map(|channel| std::mem::take(&mut queues[channel as usize])).collect()
            }
        }
    }
}

/// Packets of band 0, which go before UBR's except for its guaranteed rate.
struct UrgentTrains<T> {
    trains: VecDeque<Train<T>>,
    cells: u64,
    /// Transmission time of a cell at UBR's guaranteed rate.
    cell_time: Span,
    /// Time from which UBR goes first.
    due: Time,
    /// Transmission time of the longest packet of band 0, for which UBR may have waited.
    longest: Span,
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
    line: TrainLine<T>,
    urgent: Option<UrgentTrains<T>>,
    ports: Option<SwitchPorts<T>>,
    packets: usize,
    /// Number of waiting cells.
    cells: u64,
    /// Number of channels with waiting cells.
    active: u64,
    channels: Vec<Channel>,
    free: Vec<u32>,
    index: FlowIndex,
    sending: Option<Sending>,
    /// Number of cells of the packet that left last.
    whole: u64,
}

impl<T: Copy> Ubr<T> {
    pub fn new(config: UbrConfig, rate: Rate) -> Self {
        Ubr {
            capacity: config.limit.get() / u64::from(CELL),
            cell_time: rate.serialisation(Bytes::new(u64::from(CELL))),
            line: match config.service {
                CellOrder::Channels => TrainLine::Channels(Vec::new(), VecDeque::new()),
                CellOrder::Trains | CellOrder::Cells => TrainLine::Fifo(VecDeque::new()),
            },
            urgent: config.guaranteed.map(|guaranteed| UrgentTrains {
                trains: VecDeque::new(),
                cells: 0,
                cell_time: guaranteed.min(rate).serialisation(Bytes::new(u64::from(CELL))),
                due: Time::ZERO,
                longest: Span::ZERO,
            }),
            ports: config
                .port_rate
                .map(|rate| SwitchPorts::new(rate.serialisation(Bytes::new(u64::from(CELL))))),
            config,
            packets: 0,
            cells: 0,
            active: 0,
            channels: Vec::new(),
            free: Vec::new(),
            index: FlowIndex::default(),
            sending: None,
            whole: 0,
        }
    }

    pub fn bytes(&self) -> u64 {
        (self.cells + self.urgent.as_ref().map_or(0, |urgent| urgent.cells)) * u64::from(CELL)
    }

    /// Number of waiting packets, without incomplete ones.
    pub fn len(&self) -> usize {
        self.packets + self.ports.as_ref().map_or(0, SwitchPorts::len)
    }

    /// Time from which the next packet may leave, if the transmitter is free at `free`; `None` if there is none.
    pub fn next_at(&self, free: Time) -> Option<Time> {
        let all_come = self.ports.as_ref().and_then(SwitchPorts::next_end);
        if self.packets > 0 { Some(free) } else { all_come.map(|at| at.max(free)) }
    }

    /// Time at which a cell comes to an input port.
    pub fn next_cell(&self) -> Option<Time> {
        self.ports.as_ref().and_then(SwitchPorts::next)
    }

    /// Adds the cells of a packet that the policy accepts. Returns false if it does not accept all.
    pub fn offer(&mut self, packet: Waiting<T>) -> bool {
        let now = packet.since;
        let cells = u64::from(packet.size.div_ceil(CELL));
        if let Some(urgent) = self.urgent.as_mut().filter(|_| packet.label.band == 0) {
            let fits = urgent.offer((packet.packet, packet.marked), cells, self.capacity);
            self.packets += usize::from(fits);
            return fits;
        }
        let at = self.channel(packet.label.flow);
        if let Some(ports) = &mut self.ports {
            let channel = &mut self.channels[at as usize];
            let first = channel.port_free_at.max(now);
            channel.port_free_at = first + ports.cell_time * cells;
            channel.coming += 1;
            ports.add(first, (packet.packet, packet.marked), at, cells);
            return true;
        }
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

    /// Takes the cells that come to the ports by `now`. Packets that lose one go to `out`.
    pub fn absorb(&mut self, now: Time, out: &mut Discarded<T>) {
        while let Some(mut coming) = self.ports.as_mut().and_then(|ports| ports.take(now)) {
            if coming.left == 0 {
                self.channels[coming.channel as usize].coming -= 1;
                self.forget_if_idle(coming.channel);
                continue;
            }
            let undecided = matches!(coming.fate, CellFate::Unknown | CellFate::Whole);
            let gone_on = self.take_cell(&mut coming);
            let last = coming.left == 1;
            let lost = undecided && matches!(coming.fate, CellFate::Cut | CellFate::Refused);
            if lost || (undecided && last && !gone_on) {
                out.push_back(coming.packet.0);
            }
            if let Some(ports) = &mut self.ports {
                if lost || (undecided && last) {
                    ports.decided();
                }
                ports.put(coming);
            }
        }
    }

    /// Takes the next cell of a packet, or drops it. Returns true if the packet goes on with it, whole.
    fn take_cell(&mut self, coming: &mut Coming<T>) -> bool {
        let left = self.left_of_sending(coming.next);
        let occupied = self.cells + left.map_or(0, |(_, left)| left);
        if coming.fate == CellFate::Unknown {
            coming.fate = match self.refuses(coming.channel, occupied, left) {
                true => CellFate::Refused,
                false => CellFate::Whole,
            };
        }
        let (room, last) = (occupied < self.capacity, coming.left == 1);
        if coming.fate == CellFate::Whole && !room {
            coming.fate = CellFate::Cut;
        }
        let plain = self.config.policy == UbrPolicy::TailDrop;
        let goes = match coming.fate {
            CellFate::Whole => true,
            // Its end marks where the next packet begins.
            CellFate::Cut => room && (plain || (last && coming.taken > 0)),
            CellFate::Unknown | CellFate::Refused => false,
        };
        let channel = &mut self.channels[coming.channel as usize];
        if !goes {
            channel.endless |= last && coming.taken > 0;
            return false;
        }
        if coming.taken == 0 {
            coming.spoilt = channel.endless;
        }
        coming.taken += 1;
        let whole = last && coming.fate == CellFate::Whole && !coming.spoilt;
        if last {
            channel.endless = false;
        }
        self.push_cells(coming.channel, 1, whole.then_some(coming.packet), coming.taken);
        whole
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
        self.push_cells(at, cells, packet, cells);
    }

    /// Adds cells that end with `packet`, of which there are `whole` in all.
    fn push_cells(&mut self, at: u32, cells: u64, packet: Option<(T, bool)>, whole: u64) {
        let channel = &mut self.channels[at as usize];
        self.active += u64::from(channel.cells == 0);
        channel.cells += cells;
        self.cells += cells;
        self.packets += usize::from(packet.is_some());
        let one = |packet, cells| Train { packet, cells, channel: at, whole: 0 };
        let last = match self.config.service {
            CellOrder::Trains => one(packet, cells),
            CellOrder::Cells | CellOrder::Channels => {
                (1..cells).for_each(|_| self.line.push(one(None, 1)));
                one(packet, 1)
            }
        };
        self.line.push(Train { whole, ..last });
    }

    /// Returns true if a packet of band 0 goes next.
    fn is_urgent(&self, now: Time) -> bool {
        let ubr_waits = self.line.front().is_some();
        let of = |urgent: &UrgentTrains<T>| !urgent.trains.is_empty() && (!ubr_waits || urgent.due > now);
        self.urgent.as_ref().is_some_and(of)
    }

    /// Bytes of the cells before the next packet that belong to no complete one, if there are any; they are sent from `now` on.
    pub fn take_remains(&mut self, now: Time) -> Option<u32> {
        let ahead = match &self.urgent {
            Some(urgent) if self.is_urgent(now) => urgent.trains.front(),
            _ => self.line.front(),
        };
        if ahead?.packet.is_some() {
            return None;
        }
        self.take(now).map(|(_, size)| size)
    }

    /// The next packet, with the bytes of its remaining cells. [`Ubr::take_remains`] must be called first.
    pub fn pop(&mut self, now: Time) -> Option<Next<T>> {
        let (train, size) = self.take(now)?;
        let (packet, marked) = train.packet?;
        self.packets -= 1;
        self.whole = train.whole;
        Some(Next { packet, size, marked })
    }

    /// Bytes of all cells of the packet that left last.
    pub fn whole(&self) -> u32 {
        bytes(self.whole)
    }

    /// The next train, and its bytes, which are sent from `now` on.
    fn take(&mut self, now: Time) -> Option<(Train<T>, u32)> {
        if self.is_urgent(now)
            && let Some(urgent) = &mut self.urgent
        {
            let train = urgent.trains.pop_front()?;
            urgent.cells -= train.cells;
            urgent.longest = urgent.longest.max(self.cell_time * train.cells);
            let size = bytes(train.cells);
            return Some((train, size));
        }
        let train = self.line.pop()?;
        if let Some(urgent) = &mut self.urgent {
            // A wait for a packet of band 0 is compensated; cells sent early do not change the claim.
            let span = urgent.cell_time * train.cells;
            let earliest = Time::ZERO + now.since(Time::ZERO + span + urgent.longest);
            urgent.due = urgent.due.clamp(earliest, now.max(earliest)) + span;
        }
        let until = now + self.cell_time * train.cells;
        let before = self.sending.replace(Sending { channel: train.channel, until });
        self.gone(&train);
        if let Some(Sending { channel, .. }) = before {
            self.forget_if_idle(channel);
        }
        let size = bytes(train.cells);
        Some((train, size))
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
            self.channels.push(Channel { id, cells: 0, endless: false, coming: 0, port_free_at: Time::ZERO });
            self.channels.len() as u32 - 1
        });
        self.channels[at as usize].id = id;
        let channels = &self.channels;
        self.index.insert(at, |at| channels[at as usize].id);
        at
    }

    /// Removes a channel without cells in the switch, so that another can use its entry.
    fn forget_if_idle(&mut self, at: u32) {
        let channel = &self.channels[at as usize];
        let busy = self.sending.is_some_and(|sending| sending.channel == at);
        if channel.cells > 0 || channel.endless || channel.coming > 0 || busy {
            return;
        }
        let channels = &self.channels;
        self.index.remove(at, |at| channels[at as usize].id);
        self.free.push(at);
    }

    /// Removes packets for which `lost` returns true, with all of their cells, and cells without a complete packet.
    pub fn retain(&mut self, lost: &mut dyn FnMut() -> bool, dropped: &mut dyn FnMut(T)) {
        let trains = self.line.take();
        let mut stays = vec![false; trains.len()];
        // Trains of each channel that end no packet: a cell may be the beginning of one, a train is what is left of one.
        let mut begun = vec![Vec::new(); self.channels.len()];
        for (n, train) in trains.iter().enumerate() {
            let parts: &mut Vec<usize> = &mut begun[train.channel as usize];
            let Some((packet, _)) = train.packet else {
                parts.push(n);
                continue;
            };
            let own = parts.len().min((train.whole - train.cells) as usize);
            let own = parts.split_off(parts.len() - own);
            parts.clear();
            if lost() {
                self.packets -= 1;
                dropped(packet);
            } else {
                own.into_iter().chain([n]).for_each(|n| stays[n] = true);
            }
        }
        if let Some(ports) = &mut self.ports {
            for coming in ports.retain(lost, dropped) {
                let parts = &mut begun[coming.channel as usize];
                let own = parts.len().min(coming.taken as usize);
                parts.split_off(parts.len() - own).into_iter().for_each(|n| stays[n] = true);
            }
        }
        for (train, stays) in trains.into_iter().zip(stays) {
            if stays {
                self.line.push(train);
            } else {
                self.gone(&train);
                self.forget_if_idle(train.channel);
            }
        }
        let Some(urgent) = &mut self.urgent else { return };
        for train in std::mem::take(&mut urgent.trains) {
            match train.packet.filter(|_| !lost()) {
                Some(_) => urgent.trains.push_back(train),
                None => {
                    urgent.cells -= train.cells;
                    if let Some((packet, _)) = train.packet {
                        self.packets -= 1;
                        dropped(packet);
                    }
                }
            }
        }
    }
}

impl<T> UrgentTrains<T> {
    /// Adds a packet of `cells`, or those of them that fit, as partial packet discard does. Returns false if not all fit.
    fn offer(&mut self, packet: (T, bool), cells: u64, capacity: u64) -> bool {
        let room = capacity.saturating_sub(self.cells).min(cells);
        let fits = room == cells;
        if room > 0 {
            self.cells += room;
            let packet = fits.then_some(packet);
            self.trains.push_back(Train { packet, cells: room, channel: 0, whole: room });
        }
        fits
    }
}

fn bytes(cells: u64) -> u32 {
    u32::try_from(cells * u64::from(CELL)).unwrap_or(u32::MAX)
}

/// The limit of a buffer, in bytes of cells.
pub fn cells_of(limit: Amount) -> Bytes {
    Bytes::new(limit.in_bytes(u64::from(CELL)))
}
