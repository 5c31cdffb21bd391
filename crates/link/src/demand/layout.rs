//! The places of terminals in a frame: the slots and the carrier of each.
//!
//! Follows McNaughton's wrap-around rule (1959): terminals one after the other along the carriers, and on the next carrier from its
//! beginning; a terminal with at most as many slots as a carrier never sends on two carriers at once.
//! Leaves out guard times and hops between frequencies, which cost nothing here.

use super::FrameShape;

/// Consecutive slots on one carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Number of the terminal.
    pub terminal: u32,
    /// Carrier, from 0.
    pub carrier: u32,
    /// First slot, from 0.
    pub first: u32,
    /// Number of slots.
    pub slots: u32,
}

/// Windows of all terminals with slots, in order of time for each terminal. `assigned` has the number of slots of each terminal: at most
/// those of a carrier, and together at most those of all carriers.
pub fn layout(shape: &FrameShape, assigned: impl IntoIterator<Item = u32>) -> Vec<Window> {
    let mut windows = Vec::new();
    let (mut carrier, mut first) = (0, 0);
    for (terminal, slots) in (0..).zip(assigned) {
        let here = slots.min(shape.slots - first);
        let window = Window { terminal, carrier, first, slots: here };
        let rest = slots - here;
        first += here;
        if first == shape.slots {
            (carrier, first) = (carrier + 1, 0);
        }
        if rest > 0 {
            windows.push(Window { terminal, carrier, first, slots: rest });
            first += rest;
        }
        if here > 0 {
            windows.push(window);
        }
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_units::{Rate, Span};

    #[test]
    fn nobody_sends_on_two_carriers_at_a_time_and_no_slot_is_anothers() {
        let mut chance = skyhop_chance::Seed(1).stream("layout");
        for _ in 0..2000 {
            let mut below = |n: u64| (chance.bits() % n) as u32;
            let rate = Rate::from_bps(424_000 * u64::from(1 + below(20))).unwrap();
            let carriers = 1 + below(6);
            let shape = FrameShape::new(rate, carriers, Span::from_millis(40), 53);
            let Some(shape) = shape else { continue };
            let mut left = shape.all_slots();
            let assigned: Vec<u32> = (0..20)
                .map(|_| {
                    let slots = below(u64::from(shape.slots) + 1).min(left);
                    left -= slots;
                    slots
                })
                .collect();
            let windows = layout(&shape, assigned.iter().copied());
            let mut taken = vec![false; shape.all_slots() as usize];
            let mut busy = vec![false; 20 * shape.slots as usize];
            for window in &windows {
                for slot in window.first..window.first + window.slots {
                    assert!(slot < shape.slots && window.carrier < shape.carriers);
                    let place = window.carrier * shape.slots + slot;
                    assert!(!std::mem::replace(&mut taken[place as usize], true), "{windows:?}");
                    let own = window.terminal * shape.slots + slot;
                    assert!(!std::mem::replace(&mut busy[own as usize], true), "{windows:?}");
                }
            }
            for (terminal, slots) in (0..).zip(&assigned) {
                let own = windows.iter().filter(|w| w.terminal == terminal);
                assert!(own.clone().is_sorted_by_key(|w| w.first));
                assert_eq!(own.map(|w| w.slots).sum::<u32>(), *slots);
            }
        }
    }
}
