//! Expands populations of flows into single ones, each with its ends, name and start.
//!
//! Members of groups are used in turn or drawn, with a random stream for each flow, so that additional flows do not change the others.
//! Differs from one application with many users: each flow has its own hosts, ports and random streams.
//! Leaves out paths, which are resolved as for any flow.

use super::pattern::Pattern;
use super::{Expansion, MOST, Origins, fitting};
use crate::error::{expected, quoted};
use crate::model::{Flow, Group, Members, Pair, Scenario};
use crate::path::KeyPath;
use skyhop_chance::Seed;
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Default of `start_spread`.
const SPREAD: Span = Span::from_secs(1);

/// Returns true if the file defines many flows here, or how they are spread.
pub(super) fn is_many(written: &Scenario, flow: &Flow) -> bool {
    flow.count.is_some()
        || flow.pair.is_some()
        || flow.start_spread.is_some()
        || [&flow.from, &flow.to].into_iter().flatten().any(|end| is_group(written, end))
}

fn is_group(written: &Scenario, end: &Group) -> bool {
    match &end.0[..] {
        [one] => one.contains('*') || written.populations.contains_key(one),
        _ => true,
    }
}

impl Expansion<'_> {
    /// Adds all flows in the order of the file.
    pub(super) fn flows_into(&mut self) {
        let written = self.written;
        let nodes: BTreeSet<String> = match written.flows.iter().any(|flow| is_many(written, flow)) {
            true => self.nodes().into_iter().map(str::to_owned).collect(),
            false => BTreeSet::new(),
        };
        let nodes: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
        let flows = KeyPath::default().key("flows");
        for (i, flow) in written.flows.iter().enumerate() {
            let at = flows.index(i);
            let name = written.flow_name(i);
            let groups = [("from", &flow.from), ("to", &flow.to)]
                .map(|(key, end)| self.group(end.as_ref()?, &nodes, &at.key(key)));
            let many = flow.count.is_some()
                || [&flow.from, &flow.to].into_iter().flatten().any(|end| is_group(written, end));
            if !many {
                for (key, given) in
                    [("pair", flow.pair.is_some()), ("start_spread", flow.start_spread.is_some())]
                {
                    let message = || "no effect on one flow; expected count, or groups as its ends".into();
                    self.out.require(!given, || at.key(key), message);
                }
                self.origins.flows.push(i as u32);
                self.scenario.flows.push(Flow { name: Some(name), ..flow.clone() });
                continue;
            }
            let in_path = flow.path.is_some() && groups.iter().flatten().any(|group| group.len() > 1);
            self.out.require(
                !in_path,
                || at.key("path"),
                || {
                    "path with groups of nodes; expected from and to without path, or a single name in each"
                        .into()
                },
            );
            let largest = groups.iter().flatten().map(Vec::len).max().unwrap_or(1);
            let count = flow.count.map_or(largest, |count| count as usize);
            let all = self.scenario.flows.len() + count;
            if all > MOST {
                let message = || format!("{all} flows or more; expected at most {MOST} in all");
                self.out.push(|| at.key("count"), message);
                return;
            }
            if self.out.list.is_empty() {
                self.flows_of(i, &name, count, &groups, &at);
            }
        }
        self.names_are_free();
        self.splices();
    }

    /// The members of a group; `None` if it noted a finding.
    fn group(&mut self, end: &Group, nodes: &BTreeSet<&str>, at: &KeyPath) -> Option<Vec<String>> {
        let mut members: Vec<String> = Vec::new();
        for (i, name) in end.0.iter().enumerate() {
            let at = || if end.0.len() > 1 { at.index(i) } else { at.clone() };
            if let Some(population) = self.groups.get(name.as_str()) {
                members.extend(population.iter().cloned());
            } else if !name.contains('*') {
                members.push(name.clone());
            } else if let Some(pattern) = Pattern::of(name) {
                let found = fitting(&pattern, nodes);
                self.out.require(!found.is_empty(), at, || {
                    let all = match nodes.is_empty() {
                        true => "; expected terminals, or links whose between has such names".into(),
                        false => expected(name, nodes.iter().copied()),
                    };
                    format!("no terminal or node matches {}{all}", quoted(name))
                });
                members.extend(found.into_iter().map(str::to_owned));
            } else {
                self.out
                    .push(at, || format!("{} asterisks in a name; expected one", name.matches('*').count()));
            }
        }
        self.out.require(!end.0.is_empty(), || at.clone(), || "no names; expected at least one".into());
        (!members.is_empty()).then_some(members)
    }

    /// Adds the flows of a population.
    fn flows_of(
        &mut self,
        index: usize,
        name: &str,
        count: usize,
        groups: &[Option<Vec<String>>; 2],
        at: &KeyPath,
    ) {
        let flow = &self.written.flows[index];
        let end = Time::ZERO + self.written.duration;
        let left = flow.stop.map_or(end, |stop| stop.min(end)).since(flow.start.min(end));
        let spread = flow.start_spread.unwrap_or(SPREAD.min(left));
        self.out.require(
            spread <= left,
            || at.key("start_spread"),
            || {
                format!(
                    "{spread}; expected at most {left}, the time from start until stop or the end of the run"
                )
            },
        );
        let seed = Seed(self.written.seed);
        let first = self.scenario.flows.len();
        for k in 0..count {
            let own = format!("{name}.{}", k + 1);
            let [from, to] = match flow.pair.unwrap_or_default() {
                Pair::InTurn => in_turn(groups, k),
                Pair::Random => drawn(groups, seed, &own),
            };
            let start = match spread {
                Span::ZERO => flow.start,
                _ => {
                    let share = seed.stream(&format!("flow/{own}/start")).uniform();
                    flow.start + Span::from_nanos((share * spread.as_nanos() as f64) as u64)
                }
            };
            self.origins.flows.push(index as u32);
            self.scenario.flows.push(Flow {
                name: Some(own),
                from: from.map(Group::from),
                to: to.map(Group::from),
                count: None,
                pair: None,
                start_spread: None,
                start,
                ..flow.clone()
            });
        }
        self.scenario.members.push(Members { name: name.to_owned(), flows: first..first + count });
    }

    /// Checks that no member has the name of another flow.
    fn names_are_free(&mut self) {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        let Origins { flows: origins, .. } = &self.origins;
        for (flow, origin) in self.scenario.flows.iter().zip(origins) {
            let Some(name) = flow.name.as_deref() else { continue };
            if let Some(before) = seen.insert(name, *origin) {
                let at = || KeyPath::default().key("flows").index(*origin as usize).key("name");
                self.out.push(at, || format!("name {} is taken by flows.{before}", quoted(name)));
                return;
            }
        }
        let kinds = self.scenario.members.iter().map(|members| members.name.as_str());
        let taken = kinds.filter_map(|name| Some((name, *seen.get(name)?))).next();
        if let Some((name, before)) = taken {
            let at = || KeyPath::default().key("flows").index(before as usize).key("name");
            self.out.push(at, || format!("name {} is taken by flows of a count", quoted(name)));
        }
    }

    /// Replaces the name of a population in a splice by the names of its flows.
    fn splices(&mut self) {
        let Self { scenario, origins, .. } = self;
        for (name, splice) in &mut scenario.splices {
            let Some(names) = &mut splice.flows else { continue };
            let before = names.len();
            let each = |name: String| match scenario.members.iter().find(|members| members.name == name) {
                None => vec![name],
                Some(members) => {
                    let flows = &scenario.flows[members.flows.clone()];
                    flows.iter().filter_map(|flow| flow.name.clone()).collect()
                }
            };
            *names = std::mem::take(names).into_iter().flat_map(each).collect();
            if names.len() > before {
                origins.splices.insert(name.clone());
            }
        }
    }
}

type FlowEnds<'a> = [Option<&'a str>; 2];

/// Ends of flow `k`, from 0: the members of each group in turn; if both are the same node, the next of `to`.
fn in_turn<'a>([from, to]: &'a [Option<Vec<String>>; 2], k: usize) -> FlowEnds<'a> {
    let at = |group: &'a Option<Vec<String>>, k: usize| {
        let group = group.as_ref()?;
        group.get(k % group.len()).map(String::as_str)
    };
    let sender = at(from, k);
    let receiver = at(to, k);
    [sender, if sender.is_some() && receiver == sender { at(to, k + 1) } else { receiver }]
}

/// Both ends drawn at random; the receiver is drawn again while it is the sender.
fn drawn<'a>([from, to]: &'a [Option<Vec<String>>; 2], seed: Seed, name: &str) -> FlowEnds<'a> {
    /// Draws after which a distinct pair is given up; chance never needs as many.
    const MOST_DRAWS: usize = 1000;
    let mut stream = seed.stream(&format!("flow/{name}/pair"));
    let mut draw = |group: &'a Option<Vec<String>>| {
        let group = group.as_ref()?;
        group.get((stream.uniform() * group.len() as f64) as usize).map(String::as_str)
    };
    let sender = draw(from);
    let mut receiver = draw(to);
    for _ in 0..MOST_DRAWS {
        if sender.is_none() || receiver != sender {
            break;
        }
        receiver = draw(to);
    }
    [sender, receiver]
}
