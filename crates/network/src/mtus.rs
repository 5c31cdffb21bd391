//! MTUs of links, for flows that are being built.
//!
//! Taken when links are made; no link changes its MTU afterwards.
//! Differs from asking the links: ten thousand flows over a hundred thousand links need only one pass.
//! Leaves out paths, which are in `mtu.rs`.

use crate::wire::Wire;
use std::collections::{BTreeMap, BTreeSet};

/// The MTUs of links with fixed ends.
pub(crate) struct Mtus {
    /// The smallest MTU, bytes.
    pub least: u32,
    /// For each node with a single wire, that wire.
    pub alone: BTreeMap<u32, u32>,
}

impl Mtus {
    /// The MTUs of `wires`, of which the first `fixed` have fixed ends; empty if no wire has a limit.
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
