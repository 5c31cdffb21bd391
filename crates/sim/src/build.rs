//! Builds a run from a scenario.
//!
//! Follows the scenario's own resolution of paths; hosts get addresses in 10.0.0.0/8, senders the ports from 49152.
//! Differs from a running network: all flows that will ever exist are made here.
//! Leaves out links, which the network builds.

use crate::app::{application, datagrams};
use crate::association::{AssociationState, Making};
use crate::associations::RunAssociations;
use crate::carried::DatagramCarrier;
use crate::config;
use crate::conversation::{Conversations, Sockets};
use crate::datagrams::DatagramFlow;
use crate::echo::{Pinging, SpanStats};
use crate::endpoint::EndProtocol;
use crate::flow::{App, AppStream, FlowState};
use crate::gateway_joint::{CONNECTIONS, GatewayPlace};
use crate::given::RunInput;
use crate::hosts::Hosts;
use crate::observe::Observer;
use crate::programs::Programs;
use crate::route_owners::{RouteOwner, RouteOwners};
use crate::sample::NOWHERE;
use crate::schedule::Schedule;
use crate::slots::{HostSlots, Owner};
use crate::splice::{SpliceCounts, Splicing};
use crate::stream::StreamOf;
use skyhop_chance::Seed;
use skyhop_network::{
    Agenda, BuildError, Network, Pinned, PinnedStep, Rank, Route, Slot, StepOver, Way, address,
};
use skyhop_results::PopulationResult;
use skyhop_scenario::network::{
    Crossing, Direction, NetworkPlan, Over as Leading, PathStep, RoutePlan, resolve,
};
use skyhop_scenario::{self as scenario, Files, Scenario, Traffic, Transport};
use skyhop_splice::gateway_end::EndRole;
use skyhop_splice::preamble::Carries;
use skyhop_topology::NodeId;
use skyhop_traffic::Ping;
use skyhop_transport::stp::{Budgets, Class};
use skyhop_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddrV4;

/// The machines of a run at its beginning.
pub(crate) struct RunParts {
    pub label: RunLabel,
    pub schedule: Schedule,
    pub network: Network,
    pub routes: RouteOwners,
    pub hosts: Hosts,
    pub associations: RunAssociations,
    pub observer: Observer,
}

/// The facts of a scenario that its result repeats.
pub(crate) struct RunLabel {
    pub name: String,
    pub seed: u64,
    /// Flows that the scenario defines together.
    pub populations: Vec<PopulationResult>,
    /// True if each of these flows is reported individually.
    pub each_member: bool,
}

/// Builds the machines of a run; `programs` are the flows that are left to programs, by index.
pub(crate) fn build(
    scenario: &Scenario,
    files: &Files,
    seed: u64,
    programs: &[usize],
) -> Result<RunParts, BuildError> {
    let plan = resolve(scenario).map_err(|findings| {
        let first = findings.into_iter().next();
        first.map_or_else(
            || BuildError::new("flows", "no way"),
            |f| BuildError::new(&f.path.to_string(), f.message),
        )
    })?;
    let fetched = crate::app::fetched(scenario);
    let given = RunInput { scenario, files, seed: Seed(seed), fetched: &fetched };
    let mut agenda = Agenda::default();
    let mut network = Network::new(scenario, &plan, files, given.seed, &mut agenda)?;
    let crossings = plan.crossings(scenario);
    let nodes = network.nodes_by_name();
    let associations = associations(scenario, &plan, &crossings);
    let mut flows = Vec::new();
    let mut routes = RouteOwners::default();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let crossings = &crossings[index];
        let programs = programs.contains(&index);
        let named = associations.iter().position(|(name, _)| association_of(flow) == Some(name));
        let stream = named.map(|number| StreamOf {
            association: number as u32,
            client: u8::from(side_of(&plan, associations[number].1.flow, index)),
            class: class_of(flow),
        });
        let associations = &associations;
        let built = FlowBuilder {
            given,
            plan: &plan,
            nodes: &nodes,
            index,
            flow,
            crossings,
            programs,
            stream,
            associations,
        };
        let built = built.build(&mut network)?;
        (0..built.legs()).for_each(|leg| routes.add(RouteOwner::Flow(index as u32, leg as u8)));
        flows.push(built);
    }
    let applications = (0..flows.len()).map(|flow| Rank::application(flow as u32));
    let mut host_slots = HostSlots::new(&mut agenda, applications);
    for (index, flow) in flows.iter().enumerate() {
        agenda.wake(host_slots.application(index), flow.start);
    }
    let mut built: Vec<AssociationState> = Vec::new();
    for (name, first) in &associations {
        let slots = [0, 1].map(|side| {
            let owner = Owner::Association(built.len() as u32, side);
            host_slots.add(&mut agenda, Rank::host(first.flow as u32, 0, 1 + side), owner)
        });
        let (index, flow, crossings) = (first.flow, &scenario.flows[first.flow], &crossings[first.flow]);
        let of = FlowBuilder {
            given,
            plan: &plan,
            nodes: &nodes,
            index,
            flow,
            crossings,
            programs: false,
            stream: None,
            associations: &associations,
        };
        let association = of.association(&mut network, (name, first), slots)?;
        if association.opens_early {
            // Gateways open it as soon as they start.
            agenda.wake(slots[0], Time::ZERO);
        }
        debug_assert_eq!(association.route as usize, routes.len());
        routes.add(RouteOwner::Association(built.len() as u32));
        built.push(association);
    }
    if !programs.is_empty() {
        // Their receivers verify checksums.
        network.keep_corrupted();
    }
    network.start(&mut agenda);
    let places: Vec<SpliceCounts> = scenario.splices.keys().map(|name| SpliceCounts::new(name)).collect();
    let observer = Observer::new(scenario, &mut flows, &network, (&places, &built));
    if observer.has_clock() {
        agenda.wake(host_slots.samples(), Time::ZERO);
    }
    let label = RunLabel {
        name: scenario.name.clone().unwrap_or_default(),
        seed,
        populations: populations(scenario),
        each_member: scenario.record.members,
    };
    let schedule = Schedule::new(agenda, host_slots, Time::ZERO + scenario.duration);
    let (hosts, associations) = (Hosts::new(flows, places), RunAssociations::new(built));
    Ok(RunParts { label, schedule, network, routes, hosts, associations, observer })
}

/// Groups of flows that the scenario defines together.
fn populations(scenario: &Scenario) -> Vec<PopulationResult> {
    let one = |m: &scenario::Members| PopulationResult { name: m.name.clone(), flows: m.flows.clone() };
    scenario.members.iter().map(one).collect()
}

/// The first flow of an association.
#[derive(Debug, Clone, Copy)]
struct FirstFlow<'a> {
    flow: usize,
    /// The two gateways that the association joins, in the order of the flow's path, and its leg between them; none if its ends are
    /// those of flows.
    gateways: Option<([&'a scenario::Splice; 2], usize)>,
    /// The one of the two that is the terminal, with the users on its side.
    terminal: usize,
}

/// Associations by name, each with the first flow that it carries.
fn associations<'a>(
    scenario: &'a Scenario,
    plan: &'a NetworkPlan,
    crossings: &[Vec<Crossing>],
) -> Vec<(&'a str, FirstFlow<'a>)> {
    let mut hosts: BTreeMap<&str, [BTreeSet<&str>; 2]> = BTreeMap::new();
    let splices: Vec<&scenario::Splice> = scenario.splices.values().collect();
    let mut found: BTreeMap<&str, FirstFlow<'_>> = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        if let Some(name) = association_of(flow) {
            found.entry(name).or_insert(FirstFlow { flow: index, gateways: None, terminal: 0 });
        }
        for (leg, pair) in crossings[index].windows(2).enumerate() {
            let [near, far] = [pair[0], pair[1]].map(|crossing| splices[crossing.splice]);
            if let (Some(name), Some(1)) = (&near.association, pair[0].inner) {
                let gateways = Some(([near, far], leg + 1));
                let first = found.entry(name).or_insert(FirstFlow { flow: index, gateways, terminal: 0 });
                let begins = first.gateways.map_or(0, |([first, _], _)| usize::from(first.at != near.at));
                let ends = plan.ends(&plan.routes[index]);
                let sides = hosts.entry(name).or_default();
                sides[begins].insert(ends[0]);
                sides[1 - begins].insert(ends[1]);
            }
        }
    }
    for (name, first) in &mut found {
        if let (Some((gateways, _)), Some(hosts)) = (first.gateways, hosts.get(name)) {
            first.terminal = terminal(gateways, hosts);
        }
    }
    found.into_iter().collect()
}

/// The terminal among two gateways: the one with keys of a terminal's file, or else the one with more hosts on its side, since users are
/// many and servers few.
fn terminal(gateways: [&scenario::Splice; 2], hosts: &[BTreeSet<&str>; 2]) -> usize {
    let [near, far] = gateways.map(|splice| splice.udp.is_some() || !splice.users.is_empty());
    match near == far {
        true => usize::from(hosts[1].len() > hosts[0].len()),
        false => usize::from(far),
    }
}

/// The association whose streams carry a flow's connections.
fn association_of(flow: &scenario::Flow) -> Option<&str> {
    match &flow.transport {
        Transport::Stp(stp) if flow.traffic.has_connections() => stp.association.as_deref(),
        _ => None,
    }
}

fn class_of(flow: &scenario::Flow) -> Class {
    match &flow.transport {
        Transport::Stp(stp) => stp.class(),
        _ => Class::default(),
    }
}

/// Side of its association at which a flow begins: true if it is not the side where the first flow begins.
fn side_of(plan: &NetworkPlan, first: usize, flow: usize) -> bool {
    let [first, flow] = [first, flow].map(|flow| plan.ends(&plan.routes[flow])[0]);
    first != flow
}

/// Builds a flow, and its routes in the network.
struct FlowBuilder<'a> {
    given: RunInput<'a>,
    plan: &'a NetworkPlan,
    /// Nodes from which satellites can be reached, by name.
    nodes: &'a BTreeMap<String, NodeId>,
    index: usize,
    flow: &'a scenario::Flow,
    crossings: &'a [Crossing],
    /// True if its packets come from programs.
    programs: bool,
    /// Present if its connections are streams.
    stream: Option<StreamOf>,
    associations: &'a [(&'a str, FirstFlow<'a>)],
}

impl<'a> FlowBuilder<'a> {
    fn build(&self, network: &mut Network) -> Result<FlowState, BuildError> {
        let Self { given, index, flow, .. } = *self;
        let name = given.scenario.flow_name(index);
        let key = format!("flows.{index}");
        let (ways, nodes) = self.ways(network, &key)?;
        // Ports distinguish flows between the same hosts. Port 9 is discard, which no dissector takes for another protocol.
        let sender = SocketAddrV4::new(address(nodes[0]), 49_152 + (index % 16_384) as u16);
        let receiver = SocketAddrV4::new(address(nodes[1]), 9 + (index / 16_384) as u16);
        let ends = [sender, receiver];
        let (largest, knows_own) = if self.programs { (u32::MAX, false) } else { largest(flow, ways.len()) };
        let narrow = ways.iter().any(|way| network.is_narrow(way, largest, knows_own));
        let app = match &flow.traffic {
            _ if self.programs && ways.len() > 1 => {
                let message = "its path is split on the way; the command \"skyhop emulate\" has gateways there, and a program at both ends";
                return Err(BuildError::new(&format!("{key}.path"), message));
            }
            _ if self.programs && self.stream.is_some() => {
                let message = "programs are not led over an association; expected a flow of its own for them";
                return Err(BuildError::new(&format!("{key}.transport.association"), message));
            }
            _ if self.programs => App::Programs(Box::new(Programs::between(nodes.map(address)))),
            Traffic::Ping { interval, size } => App::Ping(Box::new(Pinging {
                ping: Ping { interval: *interval, size: size.get() as u32 },
                ip: config::version(flow.ip),
                addresses: ends,
                identifier: index as u16,
                next: 0,
                twins: Default::default(),
                forward: SpanStats::default(),
                round_trip: SpanStats::default(),
                series: NOWHERE,
            })),
            traffic if traffic.in_datagrams() => {
                let source = datagrams(given, traffic, &name, &key)?;
                let mut sending = DatagramFlow::new(source, config::version(flow.ip), ends);
                sending.carriers = self.carriers(ends);
                App::Datagrams(Box::new(sending))
            }
            _ => {
                let own = |leg: usize, backward: bool| network.own_mtu(&ways[leg], backward);
                let mtus: Vec<_> =
                    (0..ways.len()).map(|leg| [false, true].map(|back| own(leg, back))).collect();
                let sockets = self.sockets(&name, ends, &mtus, narrow);
                let (application, senders) = application(given, flow, &name, &key)?;
                let conversations = Conversations::new(sockets, senders);
                App::Stream(Box::new(AppStream { application, conversations }))
            }
        };
        let through_space = matches!(ways[..], [Way::Space(_) | Way::Pinned(_)]);
        let account = network.open_account();
        let last = ways.len() - 1;
        let watched = matches!(app, App::Stream(_));
        let route = |(leg, way)| {
            // A splice's packets differ from those of the flow's ends.
            let counted = [leg == 0, leg == last];
            let told = self.programs;
            network.add_route(Route { way, account, priority: flow.priority, narrow, told, counted }, watched)
        };
        let routes: Vec<u32> = ways.into_iter().enumerate().map(route).collect();
        for route in flow.resequencing.iter().flat_map(|wait| routes.iter().map(move |route| (*route, *wait)))
        {
            network.keep_order(route.0, route.1);
        }
        let (start, stop) = (flow.start, flow.stop);
        let routes = routes[0]..routes[last] + 1;
        Ok(FlowState {
            name,
            routes,
            account,
            through_space,
            association: self.stream.and_then(|_| association_of(flow)).map(str::to_owned),
            start,
            stop,
            started: false,
            stopped: false,
            sampled: true,
            app,
        })
    }

    /// Builds the association of which the flow is the first: path, addresses and configuration.
    fn association(
        &self,
        network: &mut Network,
        (name, first): (&str, &FirstFlow<'_>),
        slots: [Slot; 2],
    ) -> Result<AssociationState, BuildError> {
        let Self { given, index, flow, .. } = *self;
        let key = format!("flows.{index}");
        let (mut ways, mut nodes) = self.ways(network, &key)?;
        let leg = first.gateways.map_or(0, |(_, leg)| leg);
        let transports = match first.gateways {
            Some((gateways, _)) => {
                gateways.map(|splice| splice.transport.as_ref().unwrap_or(&flow.transport))
            }
            None => [&flow.transport; 2],
        };
        let largest = match transports[0] {
            Transport::Stp(stp) => stp.packet_size().get() + stp.headers_beneath(flow.ip),
            _ => u64::MAX,
        };
        let narrow = network.is_narrow(&ways[leg], largest.try_into().unwrap_or(u32::MAX), false);
        let mut ends = Vec::new();
        for (side, transport) in transports.into_iter().enumerate() {
            let protocol = config::protocol(transport, flow.ip);
            let protocol = if narrow { protocol.over_narrow() } else { protocol };
            let EndProtocol::Stp(mut config, carrier) = protocol else {
                return Err(BuildError::new(&format!("{key}.transport"), "only STP has associations"));
            };
            let budgets = match first.gateways {
                Some((gateways, _)) => {
                    config.window = gateways[side].buffer.get();
                    skyhop_splice::gateway::budgets(config.window, CONNECTIONS)
                }
                // One stream gets three quarters of the window (docs/stp.md §15.8).
                None => Budgets { stream_window: config.window / 4 * 3, ..Budgets::default() },
            };
            ends.push(((*config, budgets), carrier));
        }
        let (carrier, configs) = (ends[0].1, [ends[0].0.clone(), ends[1].0.clone()]);
        if let Some((gateways, _)) = first.gateways {
            for (node, splice) in nodes.iter_mut().zip(gateways) {
                *node = self.numbered(&splice.at).ok_or_else(|| {
                    BuildError::new(&format!("{key}.path"), format!("no node \"{}\"", splice.at))
                })?;
            }
        }
        let account = network.open_account();
        let (way, priority) = (ways.remove(leg), flow.priority);
        let route = Route { way, account, priority, narrow, told: false, counted: [true; 2] };
        let route = network.add_route(route, true);
        let port = 49_152 + (index % 16_384) as u16;
        let making = Making {
            configs,
            carrier,
            addresses: nodes.map(|node| SocketAddrV4::new(address(node), port)),
            initial_sequence: ["from", "to"]
                .map(|end| given.seed.stream(&format!("association/{name}/{end}/initial-sequence"))),
        };
        let mut association = AssociationState::new(name.to_owned(), (route, account), slots, making);
        association.opens_early = first.gateways.is_some();
        Ok(association)
    }

    /// The number of a node in addresses.
    fn numbered(&self, name: &str) -> Option<u32> {
        if let Some(node) = self.plan.nodes.iter().position(|node| node == name) {
            return Some(node as u32);
        }
        let base = if self.plan.meets_satellites { 0 } else { self.plan.nodes.len() as u32 };
        self.nodes.get(name).map(|node| base + node.0)
    }

    /// The passages of its datagrams through associations.
    fn carriers(&self, ends: [SocketAddrV4; 2]) -> Vec<DatagramCarrier> {
        let splices: Vec<_> = self.given.scenario.splices.values().collect();
        let near = self.crossings.iter().enumerate().filter(|(_, crossing)| crossing.inner == Some(1));
        near.filter_map(|(leg, crossing)| {
            let place = self.gateway(crossing, splices[crossing.splice])?;
            let preamble = place.preamble(Carries::Datagrams, ends);
            Some(DatagramCarrier::new(leg as u8 + 1, (place.association, place.side), preamble))
        })
        .collect()
    }

    /// The flow's connections at a gateway; none for a splice without an association.
    fn gateway(&self, crossing: &Crossing, splice: &scenario::Splice) -> Option<GatewayPlace> {
        let (name, inner) = (splice.association.as_deref()?, crossing.inner?);
        let number = self.associations.iter().position(|(other, _)| *other == name)?;
        let of = self.associations[number].1;
        let ([first, _], _) = of.gateways?;
        let side = usize::from(first.at != splice.at);
        let begins = if inner == 1 { side } else { 1 - side };
        let user = self.plan.ends(&self.plan.routes[self.index])[usize::from(inner != 1)];
        Some(GatewayPlace {
            association: number as u32,
            side: side as u8,
            role: if inner == 1 { EndRole::Opener } else { EndRole::Acceptor },
            ipv6: flow_is_ipv6(self.flow),
            rates: splice.user(user).map_or([None; 2], |user| [user.up, user.down]),
            users_end: usize::from(begins != of.terminal),
        })
    }

    /// The paths of a flow, leg by leg, and the nodes at its ends as numbered in addresses.
    fn ways(&self, network: &Network, key: &str) -> Result<(Vec<Way>, [u32; 2]), BuildError> {
        let splices: Vec<_> = self.given.scenario.splices.values().collect();
        Ok(match &self.plan.routes[self.index] {
            RoutePlan::Links { from, to, hops } => {
                let wire = |&(link, direction): &(usize, Direction)| {
                    2 * link as u32 + (direction == Direction::Reverse) as u32
                };
                let there: Vec<u32> = hops.iter().map(wire).collect();
                let ends = || self.crossings.iter().map(|c| c.hop);
                let legs = std::iter::once(0).chain(ends()).zip(ends().chain([there.len()]));
                let leg = |(begin, end): (usize, usize)| {
                    let there: Box<[u32]> = there[begin..end].into();
                    let back = there.iter().rev().map(|w| w ^ 1).collect();
                    Way::Wires([there, back])
                };
                (legs.map(leg).collect(), [*from as u32, *to as u32])
            }
            RoutePlan::Spread { from, to, .. } => {
                let node = |index: usize| NodeId(index as u32);
                let named = |name: &str| self.plan.nodes.iter().position(|node| node == name).map(node);
                let between = self.crossings.iter().filter_map(|c| named(&splices[c.splice].at));
                let stops: Vec<NodeId> =
                    std::iter::once(node(*from)).chain(between).chain([node(*to)]).collect();
                let legs = stops.windows(2).map(|leg| Way::Mesh([leg[0], leg[1]])).collect();
                (legs, [*from as u32, *to as u32])
            }
            RoutePlan::Pinned { from, steps } => self.pinned(network, from, steps, key)?,
            RoutePlan::Space { from, to } => {
                let node = |end: &str| {
                    let node = self.nodes.get(end).copied();
                    node.ok_or_else(|| BuildError::new(key, format!("no terminal \"{end}\"")))
                };
                let ends = [node(from)?, node(to)?];
                let mut stops = vec![ends[0]];
                for crossing in self.crossings {
                    stops.push(node(&splices[crossing.splice].at)?);
                }
                stops.push(ends[1]);
                // Links and satellites in one graph share their numbering.
                let base = if self.plan.meets_satellites { 0 } else { self.plan.nodes.len() as u32 };
                let legs = stops.windows(2).map(|leg| Way::Space([leg[0], leg[1]])).collect();
                (legs, [base + ends[0].0, base + ends[1].0])
            }
        })
    }

    /// The paths of a pinned flow, leg by leg, and the nodes at its ends.
    fn pinned(
        &self,
        network: &Network,
        from: &str,
        steps: &[PathStep],
        key: &str,
    ) -> Result<(Vec<Way>, [u32; 2]), BuildError> {
        let node = |name: &str, place: usize| {
            // The name of no node on the ground was taken for a satellite's.
            let found = self.nodes.get(name).map_or_else(|| network.satellite(name), |node| Ok(*node));
            found.map_err(|message| BuildError::new(&format!("{key}.path.{place}"), message))
        };
        let step = |step: &PathStep| {
            let over = match step.over {
                Leading::Link(link, direction) => {
                    StepOver::Wire(2 * link as u32 + u32::from(direction == Direction::Reverse))
                }
                Leading::Fleet(fleet) => StepOver::Space(Some(fleet as u32)),
                Leading::Any => StepOver::Space(None),
            };
            Ok(PinnedStep { over, to: node(&step.to, step.place)? })
        };
        let begin = node(from, 0)?;
        let steps: Vec<PinnedStep> = steps.iter().map(step).collect::<Result<_, BuildError>>()?;
        let end = steps.last().map_or(begin, |step| step.to);
        let cuts = || self.crossings.iter().map(|crossing| crossing.hop);
        let legs = std::iter::once(0).chain(cuts()).zip(cuts().chain([steps.len()]));
        let leg = |(first, last): (usize, usize)| {
            let from = first.checked_sub(1).map_or(begin, |before| steps[before].to);
            Way::Pinned(Box::new(Pinned::new(from, steps[first..last].to_vec())))
        };
        let base = if self.plan.meets_satellites { 0 } else { self.plan.nodes.len() as u32 };
        Ok((legs.map(leg).collect(), [base + begin.0, base + end.0]))
    }

    /// Parameters of its connections; `mtus` are those of the first links in each direction, by leg.
    fn sockets(
        &self,
        name: &str,
        addresses: [SocketAddrV4; 2],
        mtus: &[[Option<u32>; 2]],
        narrow: bool,
    ) -> Sockets {
        let RunInput { scenario, seed, .. } = self.given;
        let splices: Vec<_> = scenario.splices.iter().collect();
        let protocols =
            config::protocols(self.flow, self.crossings.iter().map(|c| (splices[c.splice].1, c.inner)));
        let splicing = self.crossings.iter().enumerate().map(|(leg, crossing)| {
            let (splice_name, splice) = splices[crossing.splice];
            let mtus = [mtus[leg][1], mtus[leg + 1][0]];
            let flow = (self.flow, crossing.inner);
            let mut splicing =
                Splicing::new(crossing.splice, splice_name, splice, name, flow, seed).with_mtus(mtus);
            splicing.gateway = self.gateway(crossing, splice);
            splicing
        });
        Sockets {
            protocols: if narrow { protocols.map(EndProtocol::over_narrow) } else { protocols },
            mtus: [mtus[0][0], mtus[mtus.len() - 1][1]],
            narrow,
            addresses,
            seed,
            initial_sequence: ["client", "server"]
                .map(|end| seed.stream(&format!("flow/{name}/{end}/initial-sequence"))),
            flow: self.index as u32,
            splicing: splicing.collect(),
            stream: self.stream,
            name: name.to_owned(),
        }
    }
}

fn flow_is_ipv6(flow: &scenario::Flow) -> bool {
    config::version(flow.ip) == skyhop_wire::Version::V6
}

/// Largest size of a flow's packets over `legs` legs, bytes; and true if its ends send none larger than their own links carry.
fn largest(flow: &scenario::Flow, legs: usize) -> (u32, bool) {
    /// Largest size of TCP's options, bytes.
    const OPTIONS: u32 = 40;
    let (traffic, transport) = (&flow.traffic, &flow.transport);
    let largest = match (traffic, transport) {
        (Traffic::Ping { size, .. } | Traffic::Cbr { size, .. } | Traffic::OnOff { size, .. }, _) => {
            (size.get() + flow.ip.header_len() + 8) as u32
        }
        // The other side of a splice may have another segment size, or another protocol.
        (_, Transport::Tcp(tcp)) if legs == 1 => (tcp.mss.get() + flow.ip.header_len() + 20) as u32 + OPTIONS,
        (_, Transport::Stp(stp)) if legs == 1 => {
            (stp.packet_size().get() + stp.headers_beneath(flow.ip)).try_into().unwrap_or(u32::MAX)
        }
        _ => u32::MAX,
    };
    let stream = !matches!(traffic, Traffic::Ping { .. }) && !traffic.in_datagrams();
    (largest, stream && legs == 1 && matches!(transport, Transport::Tcp(_)))
}
