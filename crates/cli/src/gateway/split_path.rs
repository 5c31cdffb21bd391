//! The path of a scenario's real flows between gateways: its legs, and the splices where daemons take the place of simulated ones.
//!
//! Follows docs/splice.md for what a splice is, and docs/gateway.md for which of them `skyhop gateway run` can be.
//! Differs from the simulator: all connections are opened from one end of one path, at which the terminal is.
//! Leaves out spoofing and caches, which no gateway does, flows of different paths, and paths through satellites, which have no legs
//! before a run.

use crate::failure::Failure;
use skyhop_emulate::plan::{real_flows, user_end};
use skyhop_scenario::network::{Crossing, Direction, NetworkPlan, RoutePlan, resolve};
use skyhop_scenario::{Loaded, Real, Scenario, Splice, SpliceKind, SpliceUdp, SpliceUser, Stp, Transport};
use skyhop_units::Time;

/// A leg of the path, in the direction of the flows.
pub struct LabLeg {
    hops: Vec<(usize, Direction)>,
    /// Its first and its last node.
    pub ends: [String; 2],
    /// The flows come from the end that does not open connections.
    flipped: bool,
}

impl LabLeg {
    /// Its nodes in the order of the hosts: that towards the opener of connections first.
    pub fn in_row(&self) -> [&str; 2] {
        let [from, to] = [&self.ends[0], &self.ends[1]].map(String::as_str);
        if self.flipped { [to, from] } else { [from, to] }
    }
}

/// A splice of the path, which a daemon carries out.
#[derive(Clone, Copy)]
pub struct PathSplice<'a> {
    pub splice: &'a Splice,
    /// The transport between it and the other gateway, if that is STP.
    pub between: Option<&'a Stp>,
}

/// The path of the real flows, with its splices.
pub struct SplitPath<'a> {
    /// The flows, all from the same node over the same links.
    pub flows: Vec<usize>,
    /// Its legs, from the end that opens connections.
    pub legs: Vec<LabLeg>,
    /// Its splices, likewise.
    pub splices: Vec<PathSplice<'a>>,
    /// The gateways carry datagrams.
    pub carries: bool,
}

/// The programs at the ends of a split path.
#[derive(Clone, Copy)]
pub enum SplitEnds<'a> {
    /// Transfers between sockets, which are opened as in the simulator: from the first node of the flows.
    Transfers,
    /// Programs of a user, which open connections from the user's end. That is given, or the flow's.
    Programs(Option<&'a str>),
}

/// The path of a scenario's real flows, if splices divide it.
///
/// # Errors
///
/// Splices that no gateway is like, flows with different paths, or simulated flows that gateways would have to split.
pub fn split_path<'a>(loaded: &'a Loaded, ends: SplitEnds<'_>) -> Result<Option<SplitPath<'a>>, Failure> {
    let scenario = &loaded.scenario;
    let wrong = |key: String, message: &str| Failure::Scenario(loaded.problem(&key, message).to_string());
    if scenario.splices.is_empty() {
        return Ok(None);
    }
    let network = resolve(scenario).map_err(|_| wrong("flows".into(), "paths that are not to be found"))?;
    let crossings = network.crossings(scenario);
    let flows = real_flows(scenario);
    if flows.iter().all(|flow| crossings[*flow].is_empty()) {
        return Ok(None);
    }
    let Some(&flow) = flows.first() else { return Ok(None) };
    let RoutePlan::Links { from, hops, .. } = &network.routes[flow] else {
        let message = "a path without a list of links has no legs between gateways; expected a path of links";
        return Err(wrong(format!("flows.{flow}"), message));
    };
    same_path(scenario, &network, &crossings, &flows).map_err(|(key, message)| wrong(key, &message))?;
    let opener = match ends {
        SplitEnds::Transfers => 0,
        SplitEnds::Programs(at) => {
            if let Some(second) = flows.get(1) {
                let message = format!(
                    "programs use flow {} already; expected `real` for one of the flows only",
                    scenario.flow_name(flow)
                );
                return Err(wrong(format!("flows.{second}.real"), &message));
            }
            opener(scenario, flow, at)?
        }
    };
    let mut legs = Vec::new();
    let (mut begin, mut node) = (0, *from);
    let ends: Vec<usize> = crossings[flow].iter().map(|crossing| crossing.hop).chain([hops.len()]).collect();
    for end in ends {
        let first = network.nodes[node].clone();
        for (link, direction) in &hops[begin..end] {
            let link = network.links[*link];
            debug_assert!(node == if *direction == Direction::Forward { link.a } else { link.b });
            node = if *direction == Direction::Forward { link.b } else { link.a };
        }
        let ends = [first, network.nodes[node].clone()].map(|name| plain(&name));
        legs.push(LabLeg { hops: hops[begin..end].to_vec(), ends, flipped: opener == 1 });
        begin = end;
    }
    simulated_beside(scenario, &network, &crossings, (&flows, &legs))
        .map_err(|(key, message)| wrong(key, &message))?;
    let transport = &scenario.flows[flow].transport;
    let stp = |transport: &'a Transport| match transport {
        Transport::Stp(stp) => Some(&**stp),
        _ => None,
    };
    let far_end = network.ends(&network.routes[flow])[1 - opener];
    let far_splice = if opener == 0 { crossings[flow].len() - 1 } else { 0 };
    let mut splices = Vec::new();
    for (place, crossing) in crossings[flow].iter().enumerate() {
        let Some((name, splice)) = scenario.splices.iter().nth(crossing.splice) else { continue };
        if splice.kind != SpliceKind::Split {
            let message = "no gateway does this; expected kind \"split\", or another scenario";
            return Err(wrong(format!("splices.{name}.kind"), message));
        }
        let limited = || splice.user(far_end).is_some_and(|user| user.up.or(user.down).is_some());
        if crossing.inner.is_some() && place == far_splice && limited() {
            let message = format!(
                "{far_end} does not open the real connections, and a daemon limits users who do; expected users at the other gateway \
                 of the path, or no real flow to {far_end}"
            );
            return Err(wrong(format!("splices.{name}.users"), &message));
        }
        // The side of the other gateway: onwards from the first, back from the second.
        let between = splice.transports(transport, crossing.inner)[usize::from(place == 0)];
        splices.push(PathSplice { splice, between: stp(between) });
    }
    let between = |transport: &Transport| matches!(transport, Transport::Stp(_));
    let fits = |ends: &Transport| {
        let sides = |place: usize| splices[place].splice.transports(ends, crossings[flow][place].inner);
        match splices.len() {
            1 => !sides(0).into_iter().any(between),
            2 => {
                let ([back, on], [from, onwards]) = (sides(0), sides(1));
                between(on) && between(from) && !between(back) && !between(onwards)
            }
            _ => false,
        }
    };
    if !flows.iter().all(|flow| fits(&scenario.flows[*flow].transport)) {
        let message =
            "gateways are two with stp between them, or one with tcp on both sides; expected such splices";
        return Err(wrong("splices".into(), message));
    }
    if opener == 1 {
        legs.reverse();
        splices.reverse();
    }
    let carries = splices.iter().any(|one| one.splice.udp == Some(SpliceUdp::Carry));
    Ok(Some(SplitPath { flows, legs, splices, carries }))
}

/// The end from which programs open connections.
fn opener(scenario: &Scenario, flow: usize, at: Option<&str>) -> Result<usize, Failure> {
    let flow = &scenario.flows[flow];
    let Some(name) = at else { return Ok(user_end(flow)) };
    flow.ends().into_iter().position(|end| end == name).ok_or_else(|| {
        Failure::Scenario(format!("--at: no host \"{name}\"; there are {}", flow.ends().join(", ")))
    })
}

/// Fails if the real flows do not share one path, or if one of them has a program at one end only.
fn same_path(
    scenario: &Scenario,
    network: &NetworkPlan,
    crossings: &[Vec<Crossing>],
    flows: &[usize],
) -> Result<(), (String, String)> {
    if let Some(half) = scenario.flows.iter().position(|flow| flow.real.simulated_to().is_some()) {
        let message =
            "leaves one end that is simulated, and gateways have programs at both; expected true or false";
        return Err((format!("flows.{half}.real"), message.into()));
    }
    let Some((&flow, others)) = flows.split_first() else { return Ok(()) };
    let RoutePlan::Links { from, hops, .. } = &network.routes[flow] else { return Ok(()) };
    for other in others {
        let same = matches!(
            &network.routes[*other],
            RoutePlan::Links { from: start, hops: links, .. } if (start, links) == (from, hops)
        );
        if !same || crossings[*other] != crossings[flow] {
            let first = scenario.flow_name(flow);
            let message = format!(
                "over other links or splices than the real flow \"{first}\"; expected the same from the same node, or real = true for \
                 flows of one path alone"
            );
            return Err((format!("flows.{other}"), message));
        }
        if scenario.flows[*other].priority != scenario.flows[flow].priority {
            let message = "real packets of one path have one priority; expected that of the other real flows";
            return Err((format!("flows.{other}.priority"), message.into()));
        }
    }
    Ok(())
}

/// Fails if a simulated flow would have to pass through daemons, or reacts to the links of several legs, which do not know each other.
fn simulated_beside(
    scenario: &Scenario,
    network: &NetworkPlan,
    crossings: &[Vec<Crossing>],
    (real, legs): (&[usize], &[LabLeg]),
) -> Result<(), (String, String)> {
    for (index, flow) in scenario.flows.iter().enumerate().filter(|(index, _)| !real.contains(index)) {
        if flow.traffic.in_datagrams() && !crossings[index].is_empty() {
            let message = "datagrams that gateways carry are not simulated beside real ones; expected real = true to compare them \
                           too, or udp = \"pass\"";
            return Err((format!("flows.{index}.traffic.kind"), message.into()));
        }
        if !crossings[index].is_empty() {
            let message = "connections that gateways split are not simulated beside real ones; expected real = true, or splices \
                           whose `flows` leave it out";
            return Err((format!("flows.{index}"), message.into()));
        }
        let RoutePlan::Links { hops, .. } = &network.routes[index] else { continue };
        let touched = legs.iter().filter(|leg| hops.iter().any(|(link, _)| leg.has(*link))).count();
        if touched > 1 && flow.traffic.has_connections() {
            let message = "legs between gateways are emulated each for itself, and a simulated connection has one; expected real = \
                           true, or a path within one leg";
            return Err((format!("flows.{index}"), message.into()));
        }
    }
    Ok(())
}

/// The name of a node that links have, or of one between two links that has none.
fn plain(name: &str) -> String {
    name.replace('~', "-")
}

impl LabLeg {
    /// True if a link is one of it.
    fn has(&self, link: usize) -> bool {
        self.hops.iter().any(|(own, _)| *own == link)
    }

    /// The scenario of the leg: its links, a flow of programs over them for all real flows, and the flows that cross nothing else.
    pub fn scenario(&self, scenario: &Scenario, real: &[usize]) -> Scenario {
        let names: Vec<String> =
            self.hops.iter().filter_map(|(link, _)| scenario.links.keys().nth(*link).cloned()).collect();
        let network = resolve(scenario).ok();
        let crossings = network.as_ref().map(|network| network.crossings(scenario)).unwrap_or_default();
        let own = |index: usize| match network.as_ref().map(|network| &network.routes[index]) {
            Some(RoutePlan::Links { hops, .. }) => {
                crossings[index].is_empty() && hops.iter().any(|(link, _)| self.has(*link))
            }
            _ => false,
        };
        // Links that only those flows use come with them.
        let mut kept: Vec<usize> = self.hops.iter().map(|(link, _)| *link).collect();
        let mut part = scenario.clone();
        part.splices.clear();
        part.sweep = None;
        part.name = None;
        part.record = Default::default();
        let mut flows = Vec::new();
        for (index, other) in scenario.flows.iter().enumerate() {
            if !real.contains(&index) && own(index) {
                if let Some(RoutePlan::Links { hops, .. }) =
                    network.as_ref().map(|network| &network.routes[index])
                {
                    kept.extend(hops.iter().map(|(link, _)| *link));
                }
                let mut other = other.clone();
                other.real = Real::No;
                flows.push(other);
            }
        }
        let mut programs = scenario.flows[real[0]].clone();
        programs.real = Real::Both;
        if programs.path.is_some() {
            let [first, last] = self.ends.clone();
            programs.path = Some([vec![first], names.clone(), vec![last]].concat());
        } else {
            let [first, last] = [&self.ends[0], &self.ends[1]];
            (programs.from, programs.to) = (Some(first.as_str().into()), Some(last.as_str().into()));
        }
        (programs.start, programs.stop) = (Time::ZERO, None);
        flows.push(programs);
        part.flows = flows;
        let mut number = 0;
        part.links.retain(|_, _| {
            number += 1;
            kept.contains(&(number - 1))
        });
        part
    }
}

impl<'a> SplitPath<'a> {
    /// The user who opens the connections, if the gateway near to it knows of one.
    pub fn user(&self) -> Option<&'a SpliceUser> {
        self.splices[0].splice.user(self.legs[0].in_row()[0])
    }
}
