//! The input ports of an ATM switch: packets of which the cells come one after the other, so that cells of several packets mix.
//!
//! Follows ITU-T I.363.5 (the last cell ends a packet) for what is lost with a cell.
//! Differs: a port has the whole packet before it passes the first cell on, as a router has, and each channel has a port of its own.

use skyhop_units::{Span, Time};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Outcome of the cells of a packet so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellFate {
    /// None has come.
    Unknown,
    /// All have gone on.
    Whole,
    /// One has found the buffer full.
    Cut,
    /// The policy takes none of them.
    Refused,
}

/// A packet of which cells are still to come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coming<T> {
    pub packet: (T, bool),
    pub channel: u32,
    /// Time at which the next cell comes.
    pub next: Time,
    /// Cells that are still to come; 0 while the last one leaves the port.
    pub left: u64,
    /// Cells that have gone on.
    pub taken: u64,
    pub fate: CellFate,
    /// True if the cells before it, of the same channel, lack their end.
    pub spoilt: bool,
    /// Order of arrival, among cells that come at the same time.
    serial: u64,
}

/// Packets of which cells are still to come, and the time between two cells of one of them.
pub(crate) struct SwitchPorts<T> {
    pub cell_time: Span,
    coming: BinaryHeap<Coming<T>>,
    serial: u64,
    /// Packets that may still go on whole.
    packets: usize,
}

impl<T: Copy> SwitchPorts<T> {
    pub fn new(cell_time: Span) -> Self {
        Self { cell_time, coming: BinaryHeap::new(), serial: 0, packets: 0 }
    }

    /// Number of packets that may still go on whole.
    pub fn len(&self) -> usize {
        self.packets
    }

    /// Adds a packet of which the first cell comes at `first`.
    pub fn add(&mut self, first: Time, packet: (T, bool), channel: u32, cells: u64) {
        self.serial += 1;
        self.packets += 1;
        self.coming.push(Coming {
            packet,
            channel,
            next: first,
            left: cells,
            taken: 0,
            fate: CellFate::Unknown,
            spoilt: false,
            serial: self.serial,
        });
    }

    /// Time at which the next cell comes.
    pub fn next(&self) -> Option<Time> {
        self.coming.peek().map(|coming| coming.next)
    }

    /// Earliest time at which all cells of a packet have come.
    pub fn next_end(&self) -> Option<Time> {
        let come = self.coming.iter().filter(|coming| coming.left > 0);
        come.map(|coming| coming.next + self.cell_time * (coming.left - 1)).min()
    }

    /// Takes out the packet of which a cell comes next, if that is by `now`.
    pub fn take(&mut self, now: Time) -> Option<Coming<T>> {
        if self.next()? > now {
            return None;
        }
        self.coming.pop()
    }

    /// Puts back a packet one of whose cells has come.
    pub fn put(&mut self, mut coming: Coming<T>) {
        coming.left -= 1;
        coming.next += self.cell_time;
        self.coming.push(coming);
    }

    /// Counts a packet as gone, or lost.
    pub fn decided(&mut self) {
        self.packets -= 1;
    }

    /// Loses packets that might still go on whole, where `lost` returns true, with the rest of their cells. Returns the others of
    /// which cells have gone on.
    pub fn retain(&mut self, lost: &mut dyn FnMut() -> bool, dropped: &mut dyn FnMut(T)) -> Vec<Coming<T>> {
        let mut coming = std::mem::take(&mut self.coming).into_vec();
        coming.sort_unstable_by_key(|coming| coming.serial);
        let may_go =
            |one: &Coming<T>| one.left > 0 && matches!(one.fate, CellFate::Unknown | CellFate::Whole);
        for one in &mut coming {
            if may_go(one) && lost() {
                self.packets -= 1;
                dropped(one.packet.0);
                (one.fate, one.taken) = (CellFate::Refused, 0);
            }
        }
        let stay = coming.iter().copied().filter(|one| may_go(one) && one.taken > 0).collect();
        self.coming = coming.into();
        stay
    }
}

impl<T> Ord for Coming<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        // A heap has its greatest first.
        (other.next, other.serial).cmp(&(self.next, self.serial))
    }
}

impl<T> PartialOrd for Coming<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Coming<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Coming<T> {}
