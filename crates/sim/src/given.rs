//! The scenario that a run is built from.

use skyhop_chance::Seed;
use skyhop_scenario::{Files, Scenario};
use skyhop_traffic::FilePieces;
use std::collections::BTreeMap;

/// A checked scenario, the files that it names, and the seed of the run.
#[derive(Clone, Copy)]
pub(crate) struct RunInput<'a> {
    pub scenario: &'a Scenario,
    pub files: &'a Files,
    pub seed: Seed,
    /// Files that several flows fetch, by name.
    pub fetched: &'a BTreeMap<String, FilePieces>,
}
