//! The constellations of a scenario: a single one, or several by name.
//!
//! Follows the file: `[constellation]` is the short form of a single one without a name.
//! Leaves out orbits.

use crate::model::{Constellation, Scenario, Terminal};
use crate::path::KeyPath;

/// A constellation and its place in the scenario.
#[derive(Debug, Clone)]
pub struct PlacedFleet<'a> {
    /// Name of the constellation; "constellation" for that of `[constellation]`.
    pub name: &'a str,
    /// Key of its table.
    pub at: KeyPath,
    /// The table.
    pub model: &'a Constellation,
}

impl PlacedFleet<'_> {
    /// Returns true if a terminal sees it, which is the default.
    pub fn is_seen_by(&self, terminal: &Terminal) -> bool {
        terminal.sees.as_ref().is_none_or(|seen| seen.iter().any(|name| name == self.name))
    }
}

impl Scenario {
    /// The constellations in order of name.
    pub fn fleets(&self) -> impl Iterator<Item = PlacedFleet<'_>> {
        let one = self.constellation.iter().map(|model| PlacedFleet {
            name: "constellation",
            at: KeyPath::default().key("constellation"),
            model,
        });
        let all = KeyPath::default().key("constellations");
        let several = self.constellations.iter().map(move |(name, model)| PlacedFleet {
            name,
            at: all.key(name),
            model,
        });
        one.chain(several)
    }

    /// Returns true if there is a constellation.
    pub fn has_satellites(&self) -> bool {
        self.fleets().next().is_some()
    }
}
