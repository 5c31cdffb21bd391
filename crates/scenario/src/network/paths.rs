//! Explicit paths: the elements that are links, their ends, and the direction in which each is crossed.
//!
//! Follows the file: `between` takes precedence, then the first path that crosses a link determines its ends.
//! Differs from guessing: a node inside a path must be named by some `between`, or a misspelt link would count as one.
//! Leaves out paths that cross a link twice.

use super::{Direction, Ends, NetworkBuilder, RoutePlan};
use crate::check::name;
use crate::error::{expected, quoted};
use crate::model::{Flow, Group};
use crate::path::KeyPath;
use skyhop_text::spelling::hint;
use std::collections::BTreeSet;

impl NetworkBuilder<'_> {
    /// Takes the ends that links state.
    pub(super) fn stated_ends(&mut self) {
        let at = KeyPath::default().key("links");
        for (i, (name, link)) in self.scenario.links.iter().enumerate() {
            let Some([a, b]) = &link.between else { continue };
            let path = || at.key(name).key("between");
            self.out.require(a != b, path, || format!("both ends are {}; expected two nodes", quoted(a)));
            let free = [a, b]
                .into_iter()
                .enumerate()
                .all(|(end, node)| self.host_is_free(node, || path().index(end)));
            if a != b && free {
                let (a, b) = (self.node(a), self.node(b));
                self.ends[i] = Some(Ends { a, b });
            }
        }
    }

    /// Checks that a node does not have the name of a link or a constellation. One with the name of a terminal is that terminal.
    fn host_is_free(&mut self, node: &str, path: impl FnOnce() -> KeyPath) -> bool {
        let what = match node {
            _ if self.numbers.contains_key(node) => "link",
            _ if self.scenario.constellations.contains_key(node) => "constellation",
            _ => return true,
        };
        self.out
            .push(path, || format!("node {} has the name of a {what}; expected another name", quoted(node)));
        false
    }

    /// Resolves each path in the order of the file.
    pub(super) fn paths(&mut self) {
        let scenario = self.scenario;
        let stated: BTreeSet<&str> =
            scenario.links.values().flat_map(|l| l.between.iter().flatten().map(String::as_str)).collect();
        let flows = KeyPath::default().key("flows");
        for (i, flow) in scenario.flows.iter().enumerate() {
            let Some(path) = &flow.path else { continue };
            let at = flows.index(i);
            for (key, given, end) in [("from", &flow.from, path.first()), ("to", &flow.to, path.last())] {
                if let (Some(given), Some(end)) = (given.as_ref().map(Group::name), end)
                    && given != end
                {
                    let message =
                        || format!("{} is not the path's end {}; leave it out", quoted(given), quoted(end));
                    self.out.push(|| at.key(key), message);
                }
            }
            let at = at.key("path");
            if self.is_pinned(path) {
                self.routes[i] = self.pinned(path, &stated, &at);
                continue;
            }
            let at = WrittenPath { at: &at, first: 0 };
            if let Some((hops, named)) = self.elements(path, &stated, at) {
                self.routes[i] = self.follow(&hops, named, at);
            }
        }
    }

    /// Separates links from nodes: the links crossed with their index in the path, and the named nodes between them, one more
    /// than links.
    pub(super) fn elements(
        &mut self,
        path: &[String],
        stated: &BTreeSet<&str>,
        at: WrittenPath<'_>,
    ) -> Option<Elements> {
        let before = self.out.list.len() + self.out.more;
        let [first, middle @ .., last] = path else {
            self.out.push(
                || at.whole(),
                || format!("path of {} names; expected a sender, links and a receiver", path.len()),
            );
            return None;
        };
        let end = path.len() - 1;
        if first == last {
            self.out.push(|| at.index(end), || format!("path ends at {}, where it begins", quoted(first)));
        }
        for (i, host) in [(0, first), (end, last)] {
            if self.host_is_free(host, || at.index(i)) {
                name::is_plain(host, || at.index(i), self.out);
            }
        }
        let from = self.node(first);
        let mut hops: Vec<(usize, usize)> = Vec::new();
        let mut named = vec![Some(from)];
        let mut crossed = BTreeSet::new();
        for (i, name) in middle.iter().enumerate() {
            let here = || at.index(i + 1);
            if let Some(&link) = self.numbers.get(name.as_str()) {
                self.out.require(crossed.insert(link), here, || {
                    format!("link {} is in the path twice; expected once", quoted(name))
                });
                hops.push((link, i + 1));
                named.push(None);
            } else if !stated.contains(name.as_str()) {
                let fleets = self.scenario.fleets().map(|fleet| fleet.name);
                let links: Vec<&str> = self.names.iter().copied().chain(fleets).collect();
                let links = links.iter().copied();
                let what = if self.scenario.has_satellites() { "link or constellation" } else { "link" };
                let nodes =
                    if stated.is_empty() { "" } else { ", or a node that a link's \"between\" names" };
                let near = hint(name, links.clone().chain(stated.iter().copied()));
                self.out.push(here, || {
                    format!("unknown {what} {}{}{nodes}{near}", quoted(name), expected("", links))
                });
            } else if named.last() != Some(&None) {
                self.out.push(here, || {
                    format!("node {} follows a node; expected a link between them", quoted(name))
                });
            } else {
                let node = self.node(name);
                named.pop();
                named.push(Some(node));
            }
        }
        if hops.is_empty() && self.out.list.len() + self.out.more == before {
            self.out.push(|| at.whole(), || "path without a link; expected links between its ends".into());
        }
        if self.out.list.len() + self.out.more > before {
            return None;
        }
        let to = self.node(last);
        match named.last_mut() {
            Some(end) if end.is_none() => *end = Some(to),
            _ => {
                self.out.push(
                    || at.index(end),
                    || format!("node {} follows a node; expected a link between them", quoted(last)),
                );
                return None;
            }
        }
        Some((hops, named))
    }

    /// Finds the nodes between the links, gives ends to links without any, and determines the directions.
    pub(super) fn follow(
        &mut self,
        hops: &[(usize, usize)],
        mut at_node: Vec<Option<usize>>,
        at: WrittenPath<'_>,
    ) -> Option<RoutePlan> {
        // Two links with known ends meet at the node that they share.
        for i in 1..hops.len() {
            if let (None, Some(l), Some(r)) = (at_node[i], self.ends[hops[i - 1].0], self.ends[hops[i].0]) {
                let shared = |n: usize| n == r.a || n == r.b;
                match (shared(l.a), shared(l.b)) {
                    (true, false) => at_node[i] = Some(l.a),
                    (false, true) => at_node[i] = Some(l.b),
                    (true, true) => {}
                    (false, false) => {
                        let (left, right) = (self.runs(hops[i - 1].0, l), self.runs(hops[i].0, r));
                        self.out.push(|| at.index(hops[i].1), || format!("{left} does not meet {right}"));
                        return None;
                    }
                }
            }
        }
        // A known node at one end of a link gives the node at the other: from the receiver, then from the sender.
        for i in (0..hops.len()).rev() {
            if let (None, Some(right), Some(ends)) = (at_node[i], at_node[i + 1], self.ends[hops[i].0]) {
                at_node[i] = ends.other(right);
            }
        }
        for i in 0..hops.len() {
            let (link, place) = hops[i];
            match self.ends[link] {
                Some(ends) => {
                    let left = at_node[i]?;
                    let right = ends.other(left);
                    if right.is_none() || at_node[i + 1].is_some_and(|n| Some(n) != right) {
                        self.does_not_run(link, ends, left, at_node[i + 1], at, place);
                        return None;
                    }
                    at_node[i + 1] = right;
                }
                None => {
                    let next = hops.get(i + 1);
                    if at_node[i + 1].is_none() && next.is_none_or(|(n, _)| self.ends[*n].is_none()) {
                        let next = next.map_or("", |(n, _)| self.names[*n]);
                        let name = format!("{}~{next}", self.names[link]);
                        at_node[i + 1] = Some(self.node(&name));
                    } else if let (None, Some((n, _))) = (at_node[i + 1], next) {
                        // The direction of the next link is unknown: it is crossed as by the first path.
                        at_node[i + 1] = self.ends[*n].map(|ends| ends.a);
                    }
                    let (Some(a), Some(b)) = (at_node[i], at_node[i + 1]) else { return None };
                    if a == b {
                        let node = quoted(&self.nodes[a]);
                        let name = quoted(self.names[link]);
                        self.out.push(
                            || at.index(place),
                            || format!("link {name} would begin and end at {node}"),
                        );
                        return None;
                    }
                    self.ends[link] = Some(Ends { a, b });
                }
            }
        }
        let (Some(&Some(from)), Some(&Some(to))) = (at_node.first(), at_node.last()) else { return None };
        let direction = |(i, &(link, _)): (usize, &(usize, usize))| {
            let forward = self.ends[link].is_some_and(|ends| Some(ends.a) == at_node[i]);
            (link, if forward { Direction::Forward } else { Direction::Reverse })
        };
        Some(RoutePlan::Links { from, to, hops: hops.iter().enumerate().map(direction).collect() })
    }

    fn runs(&self, link: usize, ends: Ends) -> String {
        let (a, b) = (quoted(&self.nodes[ends.a]), quoted(&self.nodes[ends.b]));
        format!("link {} between {a} and {b}", quoted(self.names[link]))
    }

    fn does_not_run(
        &mut self,
        link: usize,
        ends: Ends,
        left: usize,
        right: Option<usize>,
        at: WrittenPath<'_>,
        place: usize,
    ) {
        let stated = self.scenario.links[self.names[link]].between.is_some();
        let why = if stated { "states" } else { "got from an earlier path" };
        let on = |n: usize| n == ends.a || n == ends.b;
        let stranger = if on(left) { right.unwrap_or(left) } else { left };
        let message = || {
            let (name, stranger) = (quoted(self.names[link]), quoted(&self.nodes[stranger]));
            let (a, b) = (quoted(&self.nodes[ends.a]), quoted(&self.nodes[ends.b]));
            format!("path crosses link {name} at {stranger}, but the ends it {why} are {a} and {b}")
        };
        self.out.push(|| at.index(place), message);
    }

    /// Checks that each link has ends, from `between` or a path.
    pub(super) fn unused_links(&mut self, before: usize) {
        // A wrong or missing path leaves links without ends, and is itself reported.
        let lost = |f: &Flow| f.path.is_none() && (f.from.is_none() || f.to.is_none());
        if self.out.list.len() + self.out.more > before || self.scenario.flows.iter().any(lost) {
            return;
        }
        for (i, name) in self.names.iter().enumerate() {
            self.out.require(self.ends[i].is_some(), || KeyPath::default().key("links").key(name), || {
                "no path crosses this link, so its ends are unknown; state them with between = [\"a\", \"b\"]".into()
            });
        }
    }
}

/// A path in the file, or the part of one from element number `first`.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenPath<'a> {
    pub at: &'a KeyPath,
    pub first: usize,
}

impl WrittenPath<'_> {
    fn index(self, element: usize) -> KeyPath {
        self.at.index(self.first + element)
    }

    fn whole(self) -> KeyPath {
        self.at.clone()
    }
}

/// Links crossed, each with its index in the path, and the named nodes between them.
type Elements = (Vec<(usize, usize)>, Vec<Option<usize>>);

impl Ends {
    /// The end that is not `node`; `None` if neither end is `node`.
    pub const fn other(self, node: usize) -> Option<usize> {
        if node == self.a {
            Some(self.b)
        } else if node == self.b {
            Some(self.a)
        } else {
            None
        }
    }
}
