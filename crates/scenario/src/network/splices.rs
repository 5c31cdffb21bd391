//! The splices that flows cross.
//!
//! Follows each flow's path from its sender on; a splice at a node inside it divides it.
//! Differs for the constellation, where paths change: a flow named by a splice goes to the splice's terminal first, then on.
//! Datagrams are carried by two gateways of one association, or pass.
//! Leaves out pings, which no gateway splits.

use super::{Direction, NetworkPlan, PathStep, RoutePlan};
use crate::model::{Scenario, Splice, SpliceKind};
use std::collections::{BTreeMap, VecDeque};

/// A splice on a flow's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// Index of the splice in the order of [`Scenario::splices`].
    pub splice: usize,
    /// Number of links, or of steps of a pinned path, before the splice; 0 if routing finds the path through satellites.
    pub hop: usize,
    /// The side of the splice's association, if the path leads to its other splice: 0 back to the sender, 1 onwards.
    pub inner: Option<usize>,
}

/// Nodes by name, and the neighbours of each.
struct Neighbourhoods<'a> {
    numbers: BTreeMap<&'a str, usize>,
    next: Vec<Vec<usize>>,
}

impl<'a> Neighbourhoods<'a> {
    fn of(network: &'a NetworkPlan) -> Self {
        let mut next = vec![Vec::new(); network.nodes.len()];
        for ends in &network.links {
            next[ends.a].push(ends.b);
            next[ends.b].push(ends.a);
        }
        Self { numbers: network.nodes.iter().map(String::as_str).zip(0..).collect(), next }
    }
}

impl NetworkPlan {
    /// The splices that each flow crosses, in order from its sender.
    pub fn crossings(&self, scenario: &Scenario) -> Vec<Vec<Crossing>> {
        let mut crossings = self.crossed(scenario);
        let named: Vec<_> = scenario.splices.values().map(|splice| splice.association.as_deref()).collect();
        for (flow, crossed) in crossings.iter_mut().enumerate() {
            for near in 1..crossed.len() {
                let [one, other] = [near - 1, near].map(|place| named[crossed[place].splice]);
                if one.is_some() && one == other {
                    (crossed[near - 1].inner, crossed[near].inner) = (Some(1), Some(0));
                }
            }
            if scenario.flows[flow].traffic.in_datagrams() {
                crossed.retain(|crossing| crossing.inner.is_some());
            }
        }
        crossings
    }

    fn crossed(&self, scenario: &Scenario) -> Vec<Vec<Crossing>> {
        if scenario.splices.is_empty() {
            return vec![Vec::new(); self.routes.len()];
        }
        let at: BTreeMap<&str, usize> =
            scenario.splices.values().enumerate().map(|(i, splice)| (splice.at.as_str(), i)).collect();
        let chosen: Vec<Option<Vec<&str>>> = scenario
            .splices
            .values()
            .map(|splice| {
                let mut names: Vec<&str> = splice.flows.as_ref()?.iter().map(String::as_str).collect();
                names.sort_unstable();
                Some(names)
            })
            .collect();
        let carries = scenario.carries_datagrams();
        let around = Neighbourhoods::of(self);
        let flows = scenario.flows.iter().zip(&self.routes).enumerate();
        flows
            .map(|(i, (flow, route))| {
                let datagrams = flow.traffic.in_datagrams();
                if !flow.traffic.has_connections() && !datagrams {
                    return Vec::new();
                }
                let name = scenario.flow_name(i);
                let named = |names: &Vec<&str>| names.binary_search(&name.as_str()).is_ok();
                let kinds: Vec<SpliceKind> = scenario.splices.values().map(|splice| splice.kind).collect();
                let takes = |splice: usize| !datagrams || carries[splice];
                let fits = |splice: usize| {
                    takes(splice) && (kinds[splice] != SpliceKind::Cache || flow.traffic.asks())
                };
                match route {
                    RoutePlan::Links { from, hops, .. } => {
                        let mut node = *from;
                        let inside = hops.iter().take(hops.len().saturating_sub(1)).enumerate();
                        inside
                            .filter_map(|(hop, &(link, direction))| {
                                let ends = self.links[link];
                                node = if direction == Direction::Forward { ends.b } else { ends.a };
                                let &splice = at.get(self.nodes[node].as_str())?;
                                let wanted = chosen[splice].as_ref().is_none_or(named) && fits(splice);
                                wanted.then_some(Crossing { splice, hop: hop + 1, inner: None })
                            })
                            .collect()
                    }
                    RoutePlan::Spread { from, to, hops } => {
                        let common = self.common(*from, hops).into_iter().enumerate().skip(1);
                        let inside = common.filter_map(|(hop, node)| Some((hop, node.filter(|n| n != to)?)));
                        inside
                            .filter_map(|(hop, node)| {
                                let &splice = at.get(self.nodes[node].as_str())?;
                                let wanted = chosen[splice].as_ref().is_none_or(named) && takes(splice);
                                wanted.then_some(Crossing { splice, hop, inner: None })
                            })
                            .collect()
                    }
                    RoutePlan::Pinned { steps, .. } => {
                        let inside = steps[..steps.len() - 1].iter().enumerate();
                        inside
                            .filter_map(|(step, PathStep { to, .. })| {
                                let &splice = at.get(to.as_str())?;
                                let wanted = chosen[splice].as_ref().is_none_or(named) && fits(splice);
                                wanted.then_some(Crossing { splice, hop: step + 1, inner: None })
                            })
                            .collect()
                    }
                    RoutePlan::Space { from, to } => {
                        let through = |(i, splice): &(usize, &Splice)| {
                            let inside = splice.at != *from && splice.at != *to;
                            let there = scenario.terminals.contains_key(&splice.at)
                                || around.numbers.contains_key(splice.at.as_str());
                            chosen[*i].as_ref().is_some_and(named) && fits(*i) && inside && there
                        };
                        let mut all: Vec<_> = scenario.splices.values().enumerate().filter(through).collect();
                        if self.meets_satellites {
                            // Splices on the sender's side of the satellites come first, then those on the receiver's.
                            let [near, far] = [from, to].map(|end| self.links_from(end, &around));
                            all.sort_by_key(|(_, splice)| {
                                match (near.get(&*splice.at), far.get(&*splice.at)) {
                                    (Some(links), None) => (0, *links),
                                    (Some(near), Some(far)) if near <= far => (0, *near),
                                    (_, Some(links)) => (2, usize::MAX - links),
                                    (None, None) => (1, 0),
                                }
                            });
                        }
                        all.into_iter().map(|(splice, _)| Crossing { splice, hop: 0, inner: None }).collect()
                    }
                }
            })
            .collect()
    }

    /// The nodes that links lead to from `end`, and the number of links.
    fn links_from(&self, end: &str, around: &Neighbourhoods) -> BTreeMap<&str, usize> {
        let mut links = BTreeMap::new();
        let mut left: VecDeque<(usize, usize)> =
            around.numbers.get(end).map(|node| (*node, 0)).into_iter().collect();
        while let Some((node, count)) = left.pop_front() {
            if links.contains_key(self.nodes[node].as_str()) {
                continue;
            }
            links.insert(self.nodes[node].as_str(), count);
            left.extend(around.next[node].iter().map(|next| (*next, count + 1)));
        }
        links
    }

    /// The node that all of several paths have after each number of links, if there is one. The links are in the order in which
    /// they are crossed.
    fn common(&self, from: usize, hops: &[(usize, Direction)]) -> Vec<Option<usize>> {
        let mut common = vec![Some(from)];
        let (mut here, mut next) = (vec![from], Vec::new());
        for &(link, direction) in hops {
            let ends = self.links[link];
            let (enter, leave) = match direction {
                Direction::Forward => (ends.a, ends.b),
                Direction::Reverse => (ends.b, ends.a),
            };
            if !here.contains(&enter) {
                here = std::mem::take(&mut next);
                common.push(if let [one] = here[..] { Some(one) } else { None });
            }
            if !next.contains(&leave) {
                next.push(leave);
            }
        }
        common
    }
}
