//! The controller of an uplink: it receives requests, and plans one frame after the other.
//!
//! Follows EN 301 545-2 for the order of categories: constant, by rate, by volume, free. If rates exceed the capacity, all are scaled
//! down, and slots left by fractions go to the terminals with the largest deficit, as in OpenSAND's `DamaCtrlRcsLegacy`.
//! Differs: volumes share the remaining slots evenly (max-min), where OpenSAND serves the largest first.
//! Leaves out priorities and minimum rates of terminals.

use super::assignment::{Assigned, Request};
use super::{Categories, Fraction, FrameShape};

#[derive(Debug, Clone)]
struct Terminal {
    categories: Categories,
    /// Requested rate, bit/s, and the number of frames for which it remains valid.
    rate: (u64, u32),
    /// Requested slots that are not yet assigned.
    backlog: u64,
    /// Parts of slots, of the terminal's own rate and of each rate that it is assigned.
    own: Fraction,
    constant: Fraction,
    rate_based: Fraction,
    free: Fraction,
    /// Deficit, in slots, from frames in which rates exceeded the capacity.
    missed: f64,
}

/// The controller of an uplink.
#[derive(Debug, Clone)]
pub struct Controller {
    shape: FrameShape,
    persistence: u32,
    terminals: Vec<Option<Terminal>>,
    /// Terminal that is served first if slots cannot be divided evenly.
    turn: usize,
}

impl Controller {
    /// A controller for which a requested rate is valid for `persistence` frames.
    pub fn new(shape: FrameShape, persistence: u32) -> Self {
        Self { shape, persistence, terminals: Vec::new(), turn: 0 }
    }

    /// The frame that it plans.
    pub fn shape(&self) -> &FrameShape {
        &self.shape
    }

    /// Admits a terminal, and returns its number.
    pub fn join(&mut self, categories: Categories) -> u32 {
        let terminal = Terminal {
            categories,
            rate: (0, 0),
            backlog: 0,
            own: Fraction::default(),
            constant: Fraction::default(),
            rate_based: Fraction::default(),
            free: Fraction::default(),
            missed: 0.0,
        };
        let place = self.terminals.iter().position(Option::is_none).unwrap_or(self.terminals.len());
        match self.terminals.get_mut(place) {
            Some(free) => *free = Some(terminal),
            None => self.terminals.push(Some(terminal)),
        }
        place as u32
    }

    /// Dismisses a terminal; its number goes to another.
    pub fn leave(&mut self, terminal: u32) {
        self.terminals[terminal as usize] = None;
    }

    /// Returns true if it has no terminals.
    pub fn is_idle(&self) -> bool {
        self.terminals.iter().all(Option::is_none)
    }

    /// Handles a request; one of a dismissed terminal is ignored.
    pub fn handle_request(&mut self, terminal: u32, request: Request) {
        let Some(Some(terminal)) = self.terminals.get_mut(terminal as usize) else { return };
        let slots = |bytes: u64| self.shape.slots_of(bytes);
        match request {
            Request::Rate(bps) => {
                let most = terminal.categories.rate_based.map_or(0, |rate| rate.as_bps());
                terminal.rate = (bps.min(most), self.persistence);
            }
            Request::Volume(volume) => {
                let most = terminal.categories.volume_based.map_or(0, |bytes| slots(bytes.get()));
                terminal.backlog = (terminal.backlog + volume).min(most);
            }
        }
    }

    /// The slots of each terminal, by number, in the next frame to be planned.
    pub fn plan(&mut self) -> Vec<Assigned> {
        let mut plan = vec![Assigned::default(); self.terminals.len()];
        // Slots that each terminal may still have.
        let mut room = vec![0; self.terminals.len()];
        for (terminal, room) in self.terminals.iter_mut().zip(&mut room) {
            let Some(terminal) = terminal else { continue };
            *room = terminal.own.next(terminal.categories.most.as_bps(), &self.shape).min(self.shape.slots);
        }
        let mut left = self.shape.all_slots();
        self.turn = if self.turn + 1 < plan.len() { self.turn + 1 } else { 0 };
        self.constant(&mut plan, &mut room, &mut left);
        self.by_rate(&mut plan, &mut room, &mut left);
        self.by_volume(&mut plan, &mut room, &mut left);
        self.free(&mut plan, &mut room, &mut left);
        plan
    }

    /// Numbers of the terminals, from the one whose turn it is.
    fn in_turn(&self) -> impl Iterator<Item = usize> + use<> {
        let (count, turn) = (self.terminals.len(), self.turn);
        (turn..count).chain(0..turn)
    }

    fn constant(&mut self, plan: &mut [Assigned], room: &mut [u32], left: &mut u32) {
        for number in self.in_turn() {
            let Some(terminal) = &mut self.terminals[number] else { continue };
            let Some(rate) = terminal.categories.constant else { continue };
            let slots = terminal.constant.next(rate.as_bps(), &self.shape).min(room[number]).min(*left);
            plan[number].constant = slots;
            room[number] -= slots;
            *left -= slots;
        }
    }

    fn by_rate(&mut self, plan: &mut [Assigned], room: &mut [u32], left: &mut u32) {
        let mut wanted = vec![0; plan.len()];
        for (number, terminal) in self.terminals.iter_mut().enumerate() {
            let Some(terminal) = terminal.as_mut().filter(|terminal| terminal.rate.1 > 0) else { continue };
            terminal.rate.1 -= 1;
            wanted[number] = terminal.rate_based.next(terminal.rate.0, &self.shape).min(room[number]);
        }
        let total: u64 = wanted.iter().map(|slots| u64::from(*slots)).sum();
        let most = u64::from(*left);
        let mut give = |number: usize, slots: u32| {
            plan[number].rate_based += slots;
            room[number] -= slots;
            *left -= slots;
        };
        if total <= most {
            wanted.iter().enumerate().for_each(|(number, slots)| give(number, *slots));
            return;
        }
        let mut order: Vec<usize> = Vec::new();
        let mut rest = most;
        for (number, slots) in wanted.iter().enumerate().filter(|(_, slots)| **slots > 0) {
            let share = u64::from(*slots) * most;
            give(number, (share / total) as u32);
            rest -= share / total;
            if let Some(terminal) = &mut self.terminals[number] {
                terminal.missed += (share % total) as f64 / total as f64;
            }
            order.push(number);
        }
        let missed = |number: usize| self.terminals[number].as_ref().map_or(0.0, |t| t.missed);
        order.sort_by(|a, b| missed(*b).total_cmp(&missed(*a)));
        for number in order.into_iter().take(rest as usize) {
            give(number, 1);
            if let Some(terminal) = &mut self.terminals[number] {
                terminal.missed -= 1.0;
            }
        }
    }

    fn by_volume(&mut self, plan: &mut [Assigned], room: &mut [u32], left: &mut u32) {
        let backlog = |terminal: &Option<Terminal>| terminal.as_ref().map_or(0, |t| t.backlog);
        let wants = |number: usize, room: &[u32]| {
            u32::try_from(backlog(&self.terminals[number])).unwrap_or(u32::MAX).min(room[number])
        };
        // The smallest first, so that each gets an even share of the slots left by those before it.
        let mut order: Vec<usize> = self.in_turn().filter(|number| wants(*number, room) > 0).collect();
        order.sort_by_key(|number| wants(*number, room));
        let count = order.len();
        for (served, number) in order.into_iter().enumerate() {
            let even = left.div_ceil((count - served) as u32);
            let slots = wants(number, room).min(even);
            plan[number].volume_based = slots;
            room[number] -= slots;
            *left -= slots;
        }
        for (terminal, assigned) in self.terminals.iter_mut().zip(plan) {
            let Some(terminal) = terminal else { continue };
            terminal.backlog -= u64::from(assigned.volume_based);
        }
    }

    fn free(&mut self, plan: &mut [Assigned], room: &mut [u32], left: &mut u32) {
        let mut order: Vec<(u32, usize)> = Vec::new();
        for number in self.in_turn() {
            let Some(terminal) = &mut self.terminals[number] else { continue };
            let Some(rate) = terminal.categories.free else { continue };
            order.push((terminal.free.next(rate.as_bps(), &self.shape).min(room[number]), number));
        }
        // As with volumes, the smallest first.
        order.sort_by_key(|(slots, _)| *slots);
        let count = order.len();
        for (served, (most, number)) in order.into_iter().enumerate() {
            let slots = most.min(left.div_ceil((count - served) as u32));
            plan[number].free = slots;
            room[number] -= slots;
            *left -= slots;
        }
    }
}
