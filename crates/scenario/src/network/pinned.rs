//! Paths through satellites that a flow pins: its links and constellations, in order.
//!
//! Follows the elements of a path: links and nodes as over links; between two terminals, the name of a constellation or a satellite.
//! Two adjacent terminals are joined by satellites that routing chooses.
//! Differs from a path over links: between two terminals links come and go, and routing within a constellation finds them.
//! Leaves out whether a satellite exists, which is known where the constellation is built.

use super::paths::WrittenPath;
use super::{Direction, NetworkBuilder, RoutePlan};
use crate::error::{expected, quoted};
use crate::path::KeyPath;
use std::collections::BTreeSet;

/// A step of a pinned path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStep {
    /// The part of the network that it crosses.
    pub over: Over,
    /// Name of the node at its end: of a link's end, a terminal, or a satellite.
    pub to: String,
    /// Index in the flow's path.
    pub place: usize,
}

/// The part of the network that a step crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// A link, by index.
    Link(usize, Direction),
    /// The satellites of a constellation, by its index in [`crate::Scenario::fleets`].
    Fleet(usize),
    /// The shortest path, over any links.
    Any,
}

/// The kind of a path's element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Link,
    Terminal,
    /// A node at the end of links.
    Node,
    Fleet(usize),
    /// A satellite of a constellation.
    Satellite(usize),
}

impl NetworkBuilder<'_> {
    /// Returns true for a path through satellites: it names a constellation or a satellite, or two adjacent terminals.
    pub(super) fn is_pinned(&self, path: &[String]) -> bool {
        let kinds: Vec<Element> = path.iter().map(|name| self.element(name)).collect();
        kinds.iter().any(|kind| matches!(kind, Element::Fleet(_) | Element::Satellite(_)))
            || kinds.windows(2).any(|pair| pair == [Element::Terminal; 2])
    }

    fn element(&self, name: &str) -> Element {
        let fleet = |wanted: &str| self.scenario.fleets().position(|fleet| fleet.name == wanted);
        let satellite = || name.split_once(':').and_then(|(named, _)| fleet(named));
        if self.numbers.contains_key(name) {
            Element::Link
        } else if self.scenario.terminals.contains_key(name) {
            Element::Terminal
        } else if let Some(index) = fleet(name) {
            Element::Fleet(index)
        } else if let Some(index) = satellite() {
            Element::Satellite(index)
        } else {
            Element::Node
        }
    }

    /// Resolves a path through satellites; `stated` are the nodes that links name. `None` if it noted a finding.
    pub(super) fn pinned(
        &mut self,
        path: &[String],
        stated: &BTreeSet<&str>,
        at: &KeyPath,
    ) -> Option<RoutePlan> {
        if !self.is_simple(path, at) {
            return None;
        }
        let kinds: Vec<Element> = path.iter().map(|name| self.element(name)).collect();
        let in_space = |kind: Element| matches!(kind, Element::Fleet(_) | Element::Satellite(_));
        let ends_in_space = |i: usize| in_space(kinds[i]).then_some(i);
        if let Some(end) = ends_in_space(0).or_else(|| ends_in_space(path.len() - 1)) {
            let message =
                || format!("path ends in space, at {}; expected a terminal or a node", quoted(&path[end]));
            self.out.push(|| at.index(end), message);
            return None;
        }
        let mut steps = Vec::new();
        let mut begin = 0;
        while begin + 1 < path.len() {
            let space = in_space(kinds[begin + 1])
                || in_space(kinds[begin])
                || kinds[begin..begin + 2] == [Element::Terminal; 2];
            begin = if space {
                self.through_space(path, &kinds, begin, &mut steps, at)?
            } else {
                let end = self.end_on_ground(path, &kinds, begin, at)?;
                self.over_ground(&path[begin..=end], begin, stated, &mut steps, at)?;
                end
            };
        }
        Some(RoutePlan::Pinned { from: path[0].clone(), steps })
    }

    /// Index of the end of the links that begin at `begin`: the next terminal, or the end of the path.
    fn end_on_ground(
        &mut self,
        path: &[String],
        kinds: &[Element],
        begin: usize,
        at: &KeyPath,
    ) -> Option<usize> {
        let border =
            |i: &usize| matches!(kinds[*i], Element::Terminal | Element::Fleet(_) | Element::Satellite(_));
        let end = (begin + 1..path.len()).find(border).unwrap_or(path.len() - 1);
        let [before, there] = [&path[end - 1], &path[end]].map(|name| quoted(name));
        let message = match kinds[end] {
            Element::Fleet(_) | Element::Satellite(_) => {
                format!("{there} follows {before}; expected a terminal between them")
            }
            _ if end == begin + 1 => {
                format!("no link of the path leads from {before} to {there}; expected one between them")
            }
            _ => return Some(end),
        };
        self.out.push(|| at.index(end), || message);
        None
    }

    /// Checks that no node or link occurs twice. A constellation may, in a path that goes up more than once.
    fn is_simple(&mut self, path: &[String], at: &KeyPath) -> bool {
        let mut seen = BTreeSet::new();
        for (i, name) in path.iter().enumerate() {
            if !matches!(self.element(name), Element::Fleet(_)) && !seen.insert(name) {
                self.out.push(
                    || at.index(i),
                    || format!("path visits {} twice; expected a path without a loop", quoted(name)),
                );
                return false;
            }
        }
        true
    }

    /// Adds one step between two places of which one is in space, or both are terminals. Returns the index of its end.
    fn through_space(
        &mut self,
        path: &[String],
        kinds: &[Element],
        begin: usize,
        steps: &mut Vec<PathStep>,
        at: &KeyPath,
    ) -> Option<usize> {
        let (end, over) = match (kinds[begin], kinds[begin + 1]) {
            (_, Element::Fleet(fleet)) => (begin + 2, Over::Fleet(fleet)),
            (_, Element::Satellite(fleet)) | (Element::Satellite(fleet), _) => {
                (begin + 1, Over::Fleet(fleet))
            }
            _ => (begin + 1, Over::Any),
        };
        for place in [begin, end] {
            let fine = match kinds[place] {
                Element::Terminal => self.sees(&path[place], over, || at.index(place)),
                Element::Satellite(fleet) => over == Over::Fleet(fleet) || self.apart(path, place, at),
                Element::Link | Element::Node | Element::Fleet(_) => {
                    let terminals = self.scenario.terminals.keys().map(String::as_str);
                    let expected = expected(&path[place], terminals);
                    let message = || {
                        format!(
                            "{} is no terminal, and satellites come before it or behind it{expected}",
                            quoted(&path[place])
                        )
                    };
                    self.out.push(|| at.index(place), message);
                    false
                }
            };
            if !fine {
                return None;
            }
        }
        steps.push(PathStep { over, to: path[end].clone(), place: end });
        Some(end)
    }

    fn apart(&mut self, path: &[String], place: usize, at: &KeyPath) -> bool {
        let message =
            || format!("no link joins {} to a satellite of another constellation", quoted(&path[place]));
        self.out.push(|| at.index(place), message);
        false
    }

    /// Returns true if a terminal sees the constellation of a step; notes a finding if not.
    fn sees(&mut self, terminal: &str, over: Over, path: impl FnOnce() -> KeyPath) -> bool {
        let Over::Fleet(fleet) = over else { return true };
        let Some(fleet) = self.scenario.fleets().nth(fleet) else { return true };
        let fine = fleet.is_seen_by(&self.scenario.terminals[terminal]);
        let message = || format!("terminal {} does not see {}", quoted(terminal), quoted(fleet.name));
        self.out.require(fine, path, message);
        fine
    }

    /// Adds the links between two nodes of the path, of which the first has index `first`.
    fn over_ground(
        &mut self,
        path: &[String],
        first: usize,
        stated: &BTreeSet<&str>,
        steps: &mut Vec<PathStep>,
        at: &KeyPath,
    ) -> Option<()> {
        let written = WrittenPath { at, first };
        let (hops, named) = self.elements(path, stated, written)?;
        let RoutePlan::Links { from, hops, .. } = self.follow(&hops, named, written)? else { return None };
        let mut node = from;
        let place = first + path.len() - 1;
        for (link, direction) in hops {
            node = self.ends[link]?.other(node)?;
            steps.push(PathStep { over: Over::Link(link, direction), to: self.nodes[node].clone(), place });
        }
        Some(())
    }
}

impl RoutePlan {
    /// Names of a flow's sender and receiver on a path through satellites; `None` for other paths.
    pub fn ends_in_space(&self) -> Option<[&str; 2]> {
        match self {
            Self::Space { from, to } => Some([from, to]),
            Self::Pinned { from, steps } => Some([from, steps.last().map_or(from, |step| &step.to)]),
            Self::Links { .. } | Self::Spread { .. } => None,
        }
    }
}
