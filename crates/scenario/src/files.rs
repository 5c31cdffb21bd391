//! The files that a scenario names: their keys, and their largest size.
//!
//! Names are relative to the scenario's folder.
//! Differs from reading a file where it is used: all files are read before a run begins, and only commands touch disks.
//! Leaves out the meaning of the bytes.

use crate::fleets::PlacedFleet;
use crate::model::{Scenario, Track};
use crate::path::KeyPath;
use crate::rates::for_each_table;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The contents of the files that a scenario names, by name.
pub type Files = BTreeMap<String, Arc<[u8]>>;

/// Largest size of a named file, bytes.
pub const LARGEST_FILE: u64 = 256_000_000;

/// A file that a scenario names.
pub(crate) struct Named<'a> {
    /// Key that names the file.
    pub key: KeyPath,
    /// Name of the file, relative to the scenario's folder.
    pub name: &'a str,
}

/// The tables of a scenario's populations, which define terminals.
pub(crate) fn tables_of_populations(scenario: &Scenario) -> Vec<Named<'_>> {
    let at = KeyPath::default().key("populations");
    scenario
        .populations
        .iter()
        .filter_map(|(name, population)| {
            population.file.as_deref().map(|file| Named { key: at.key(name).key("file"), name: file })
        })
        .collect()
}

/// All other files that `scenario` names.
pub(crate) fn named(scenario: &Scenario) -> Vec<Named<'_>> {
    let mut all = Vec::new();
    for PlacedFleet { at, model, .. } in scenario.fleets() {
        let files = [("tle", &model.tle), ("omm", &model.omm)];
        all.extend(
            files
                .into_iter()
                .filter_map(|(key, name)| Some(Named { key: at.key(key), name: name.as_deref()? })),
        );
    }
    for_each_table(scenario, |at, said| {
        all.extend(said.trace.map(|name| Named { key: at.key("trace"), name }));
    });
    let terminals = KeyPath::default().key("terminals");
    for (name, terminal) in &scenario.terminals {
        if let Some(Track::File { file }) = &terminal.track {
            all.push(Named { key: terminals.key(name).key("track").key("file"), name: file });
        }
    }
    let links = KeyPath::default().key("links");
    for (name, link) in &scenario.links {
        let at = links.key(name);
        all.extend(link.trace.as_deref().map(|name| Named { key: at.key("trace"), name }));
        let late = link.jitter.as_ref().and_then(|jitter| jitter.file());
        all.extend(late.map(|name| Named { key: at.key("jitter").key("file"), name }));
        let late = link.reverse.as_ref().and_then(|reverse| reverse.jitter.as_ref()?.file());
        all.extend(late.map(|name| Named { key: at.key("reverse").key("jitter").key("file"), name }));
        let reverse = link.reverse.as_ref().and_then(|reverse| reverse.trace.as_deref());
        all.extend(reverse.map(|name| Named { key: at.key("reverse").key("trace"), name }));
    }
    let flows = KeyPath::default().key("flows");
    for (i, flow) in scenario.flows.iter().enumerate() {
        let at = flows.index(i).key("traffic");
        let files = flow.traffic.files().into_iter();
        all.extend(files.map(|(key, name)| Named { key: at.key(key).key("file"), name }));
    }
    all
}
