//! Expands populations: the result is a scenario with single terminals, links and flows.
//!
//! Follows the file: terminals of populations first, then links with a star in their names, then flows between groups.
//! Differs from writing them all in the file: an error in a member is reported at the line of its population ([`Origins`]).
//! Leaves out checks, which [`crate::check`] makes afterwards, member by member.

mod flows;
mod links;
pub(crate) mod pattern;
mod places;
mod terminals;

use crate::error::Problem;
use crate::files::Files;
use crate::finding::{Finding, FindingList};
use crate::model::Scenario;
use crate::path::{KeyPath, KeyStep};
use pattern::{Pattern, natural};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of members of a population, and of flows, links and terminals of all populations together.
const MOST: usize = 100_000;

/// The places in the file of the items of an expanded scenario.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Origins {
    /// For each flow, its number in the file.
    flows: Vec<u32>,
    /// For each link that was expanded, the name in the file, with a star.
    links: BTreeMap<String, String>,
    /// For each terminal that is not in the file, its population.
    terminals: BTreeMap<String, String>,
    /// Splices that name populations of flows.
    splices: BTreeSet<String>,
}

impl Origins {
    /// The key in the file from which `path` was expanded; `None` if it is the same.
    pub fn written(&self, path: &KeyPath) -> Option<KeyPath> {
        let [first, second, rest @ ..] = &path.0[..] else { return None };
        let KeyStep::Key(kind) = first else { return None };
        let head = match (kind.as_str(), second) {
            ("flows", KeyStep::Index(i)) => {
                KeyPath::default().key("flows").index(*self.flows.get(*i)? as usize)
            }
            ("links", KeyStep::Key(name)) => KeyPath::default().key("links").key(self.links.get(name)?),
            ("terminals", KeyStep::Key(name)) => {
                KeyPath::default().key("populations").key(self.terminals.get(name)?)
            }
            ("splices", KeyStep::Key(name)) if self.splices.contains(name) => match rest {
                [KeyStep::Key(key), KeyStep::Index(_)] if key == "flows" => {
                    return Some(KeyPath(path.0[..3].to_vec()));
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(KeyPath(head.0.into_iter().chain(rest.iter().cloned()).collect()))
    }
}

/// A mistake in a population: at a key of the scenario, or in a line of a table.
#[derive(Debug)]
pub(crate) enum Wrong {
    Keys(Vec<Finding>, usize),
    Table(Problem),
}

/// The expanded scenario; `None` if there is nothing to expand. `files` has the tables of populations.
pub(crate) fn expand(written: &Scenario, files: &Files) -> Result<Option<(Scenario, Origins)>, Wrong> {
    let stars = |name: &String| name.contains('*');
    let links = written
        .links
        .iter()
        .any(|(name, link)| stars(name) || link.count.is_some() || link.between.iter().flatten().any(stars));
    let flows = written.flows.iter().any(|flow| flows::is_many(written, flow));
    if written.populations.is_empty() && !links && !flows {
        return Ok(None);
    }
    let mut expansion = Expansion {
        scenario: Scenario {
            links: BTreeMap::new(),
            terminals: written.terminals.clone(),
            populations: BTreeMap::new(),
            flows: Vec::new(),
            ..written.clone()
        },
        written,
        origins: Origins::default(),
        groups: BTreeMap::new(),
        out: FindingList::default(),
    };
    expansion.terminals(files).map_err(Wrong::Table)?;
    expansion.links_into();
    // The members of groups are known only after terminals and links.
    if expansion.out.list.is_empty() {
        expansion.flows_into();
    }
    match expansion.out {
        FindingList { list, .. } if list.is_empty() => Ok(Some((expansion.scenario, expansion.origins))),
        FindingList { list, more } => Err(Wrong::Keys(list, more)),
    }
}

struct Expansion<'a> {
    written: &'a Scenario,
    scenario: Scenario,
    origins: Origins,
    /// Terminals of each population.
    groups: BTreeMap<&'a str, Vec<String>>,
    out: FindingList,
}

impl Expansion<'_> {
    /// Names of all terminals, and of all nodes at the ends of links and paths.
    fn nodes(&self) -> BTreeSet<&str> {
        let ends = self.scenario.links.values().flat_map(|link| link.between.iter().flatten());
        let paths = self.written.flows.iter().filter_map(|flow| flow.path.as_ref());
        let paths = paths.flat_map(|path| path.first().into_iter().chain(path.last()));
        self.scenario.terminals.keys().chain(ends).chain(paths).map(String::as_str).collect()
    }
}

/// The nodes that match a pattern, in natural order.
fn fitting<'n>(pattern: &Pattern, nodes: &BTreeSet<&'n str>) -> Vec<&'n str> {
    let mut all: Vec<&str> = nodes.iter().copied().filter(|name| pattern.stem(name).is_some()).collect();
    all.sort_by(|a, b| natural(a, b));
    all
}
