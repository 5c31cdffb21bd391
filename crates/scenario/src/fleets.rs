//! The constellations of a scenario: the only one, or several by name.
//!
//! Follows the file: `[constellation]` is the short form of one that needs no name.
//! Leaves out orbits.

use crate::model::{Constellation, Scenario, Terminal};
use crate::path::KeyPath;

/// A constellation, where the scenario says it.
#[derive(Debug, Clone)]
pub struct Fleet<'a> {
    /// Its name; that of `[constellation]` is "constellation".
    pub name: &'a str,
    /// The key of its table.
    pub at: KeyPath,
    /// Its table.
    pub model: &'a Constellation,
}

impl Fleet<'_> {
    /// True for a terminal that sees it: all do that do not say which they see.
    pub fn is_seen_by(&self, terminal: &Terminal) -> bool {
        terminal.sees.as_ref().is_none_or(|seen| seen.iter().any(|name| name == self.name))
    }
}

impl Scenario {
    /// The constellations in the order of their names.
    pub fn fleets(&self) -> impl Iterator<Item = Fleet<'_>> {
        let one = self.constellation.iter().map(|model| Fleet {
            name: "constellation",
            at: KeyPath::default().key("constellation"),
            model,
        });
        let all = KeyPath::default().key("constellations");
        let several =
            self.constellations.iter().map(move |(name, model)| Fleet { name, at: all.key(name), model });
        one.chain(several)
    }

    /// True if there is a constellation.
    pub fn has_satellites(&self) -> bool {
        self.fleets().next().is_some()
    }
}
