//! MTUs of links, as the flows of a scenario ask for them when they are built.
//!
//! Follows the links as they are made; none changes its MTU afterwards.
//! Differs from asking the links: ten thousand flows over a hundred thousand links look once.
//! Leaves out ways, which `mtu.rs` knows.

use crate::wire::Wire;
use std::collections::{BTreeMap, BTreeSet};

/// The MTUs of links that stay, as flows ask for them.
pub(crate) struct Mtus {
    /// The smallest.
    pub least: u32,
    /// The wire that leaves a node, where there is one.
    pub alone: BTreeMap<u32, u32>,
}

impl Mtus {
    /// Of wires of which the first `fixed` stay; without limits there is nothing to know.
    pub fn of(wires: &[Wire], fixed: usize) -> Self {
        let least = wires.iter().map(|wire| wire.mtu).min().unwrap_or(u32::MAX);
        let mut alone = BTreeMap::new();
        let mut several = BTreeSet::new();
        for (index, wire) in wires.iter().take(fixed).enumerate().filter(|_| least < u32::MAX) {
            if alone.insert(wire.from.0, index as u32).is_some() {
                several.insert(wire.from.0);
            }
        }
        alone.retain(|node, _| !several.contains(node));
        Self { least, alone }
    }
}
