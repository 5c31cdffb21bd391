//! Connections without an association whose peers' addresses are not proven yet.
//!
//! Follows TCP's queue of SYNs: bounded, and the oldest is replaced by the newest.
//! Differs: one that is proven, or over, leaves at once, so that only the others count.

use crate::connections::Name;
use crate::seen::Begun;
use std::collections::{BTreeMap, VecDeque};

/// The connections, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Unproven {
    begun: BTreeMap<Name, Begun>,
    /// In order of beginning, with some that have left; never more than twice as many as there are, and a few.
    order: VecDeque<Name>,
}

impl Unproven {
    pub fn len(&self) -> usize {
        self.begun.len()
    }

    pub fn push(&mut self, name: Name, begun: Begun) {
        self.begun.insert(name, begun);
        self.order.push_back(name);
        if self.order.len() > 2 * self.begun.len() + 16 {
            self.order.retain(|name| self.begun.contains_key(name));
        }
    }

    /// A connection's address is proven, or it is over.
    pub fn remove(&mut self, name: Name) {
        self.begun.remove(&name);
    }

    /// Takes the oldest.
    pub fn pop(&mut self) -> Option<(Name, Begun)> {
        loop {
            let name = self.order.pop_front()?;
            if let Some(begun) = self.begun.remove(&name) {
                return Some((name, begun));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(slot: usize) -> Name {
        Name { slot, generation: 1 }
    }

    #[test]
    fn those_that_are_proven_do_not_count() {
        let begun = ([192, 0, 2, 1].into(), 1, 2, 3);
        let mut unproven = Unproven::default();
        // The first is never proven, all others are at once.
        for slot in 0..10_000 {
            unproven.push(name(slot), begun);
            if slot > 0 {
                unproven.remove(name(slot));
            }
            assert!(unproven.len() <= 2 && unproven.order.len() <= 20);
        }
        unproven.push(name(10_000), begun);
        assert_eq!(unproven.pop(), Some((name(0), begun)));
        assert_eq!(unproven.pop(), Some((name(10_000), begun)));
        assert_eq!(unproven.pop(), None);
    }
}
