//! From a scenario to a network that can be stepped.
//!
//! Follows the scenario's own resolution of paths; hosts get addresses in 10.0.0.0/8, senders the ports from 49152.
//! Differs from a running network: everything that will ever exist is made here.
//! Leaves out reading files.

use crate::app::{application, datagrams};
use crate::config;
use crate::conversation::{Conversations, Sockets};
use crate::datagrams::Sending;
use crate::echo::{Delays, Pinging};
use crate::error::BuildError;
use crate::flow::{App, Flow, Stream, Way};
use crate::mesh::Mesh;
use crate::mtu::{narrow, own_mtu};
use crate::radio::Radio;
use crate::space::Space;
use crate::splice::Splicing;
use crate::tables::Sharing;
use crate::wire::Wire;
use skyhop_chance::Seed;
use skyhop_scenario::network::{Crossing, Direction, Network, Route, resolve};
use skyhop_scenario::{self as scenario, Files, Scenario};
use skyhop_topology::{LinkKind, NodeId};
use skyhop_traffic::Ping;
use skyhop_units::Span;
use std::net::{Ipv4Addr, SocketAddrV4};

/// A network ready to run.
pub(crate) struct Built {
    pub wires: Vec<Wire>,
    /// Names of links; link k has wires 2k and 2k + 1.
    pub link_names: Vec<String>,
    pub flows: Vec<Flow>,
    pub mesh: Option<Box<Mesh>>,
    pub space: Option<Space>,
    /// Names of captured link directions.
    pub captured: Vec<String>,
}

pub(crate) fn build(scenario: &Scenario, files: &Files, seed: Seed) -> Result<Built, BuildError> {
    let network = resolve(scenario).map_err(|findings| {
        let first = findings.into_iter().next();
        first.map_or_else(
            || BuildError::new("flows", "no way"),
            |f| BuildError::new(&f.path.to_string(), f.message),
        )
    })?;
    let mut wires = Vec::new();
    let mut link_names = Vec::new();
    for ((name, link), ends) in scenario.links.iter().zip(&network.links) {
        let (a, b) = (NodeId(ends.a as u32), NodeId(ends.b as u32));
        let [there, back] = Radio::both_ways(name, link, files)?;
        let back_delay = link.reverse.as_ref().and_then(|reverse| reverse.delay).unwrap_or(link.delay);
        wires.push(there.wire(name, "forward", Some(link.delay), a, b, seed));
        wires.push(back.wire(name, "reverse", Some(back_delay), b, a, seed));
        link_names.push(name.clone());
    }
    let space = match &scenario.constellation {
        None => None,
        Some(model) => {
            let space = Space::build(model, scenario, files, wires.len(), seed)?;
            for (index, state) in space.topology.links().iter().enumerate() {
                let name = space.topology.name(skyhop_topology::LinkId(index as u32));
                let radio = match state.kind {
                    LinkKind::Gsl => &model.gsl,
                    LinkKind::Fibre => &model.fibre,
                    LinkKind::IntraPlane | LinkKind::InterPlane | LinkKind::CrossSeam => &model.isl,
                };
                // Fibre stays where it is.
                let fibre = state.kind == LinkKind::Fibre;
                let delay = fibre.then(|| space.topology.one_way_delay_s(state.a, state.b, 0.0)).flatten();
                let delay = delay.map(Span::from_secs_f64);
                for (direction, from, to) in [("forward", state.a, state.b), ("reverse", state.b, state.a)] {
                    let mut wire = Radio::plain(radio).wire(&name, direction, delay, from, to, seed);
                    // All links are down until the topology is looked at for the first time.
                    wire.link.set_down(skyhop_units::Time::ZERO, &skyhop_link::Fixed(Span::ZERO), |_| {});
                    wires.push(wire);
                }
                link_names.push(name);
            }
            Some(space)
        }
    };
    let crossings = network.crossings(scenario);
    let flows = scenario
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| {
            build_flow(
                Given { scenario, files, seed },
                &network,
                (space.as_ref(), &wires),
                index,
                flow,
                &crossings[index],
            )
        })
        .collect::<Result<_, _>>()?;
    let mut captured = Vec::new();
    let wanted = |name: &str| scenario.record.pcap.iter().any(|p| p == "*" || p == name);
    for (index, name) in link_names.iter().enumerate().filter(|(_, name)| wanted(name)) {
        for (wire, direction) in [(2 * index, "forward"), (2 * index + 1, "reverse")] {
            wires[wire].capture = Some(captured.len() as u32);
            wires[wire].link.capture();
            captured.push(format!("{name}/{direction}"));
        }
    }
    if let Some(missing) = scenario.record.pcap.iter().find(|p| *p != "*" && !link_names.contains(p)) {
        return Err(BuildError::new("record.pcap", format!("no link \"{missing}\" in this network")));
    }
    let spread = network.routes.iter().any(|route| matches!(route, Route::Spread { .. }));
    let sharing = Sharing::new(scenario.routing.spread, seed);
    let mesh = spread.then(|| Box::new(Mesh::new(&network, sharing)));
    Ok(Built { wires, link_names, flows, mesh, space, captured })
}

/// What everything is built from.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub scenario: &'a Scenario,
    pub files: &'a Files,
    pub seed: Seed,
}

fn build_flow(
    given: Given<'_>,
    network: &Network,
    (space, wires): (Option<&Space>, &[Wire]),
    index: usize,
    flow: &scenario::Flow,
    crossings: &[Crossing],
) -> Result<Flow, BuildError> {
    let Given { scenario, seed, .. } = given;
    let name = scenario.flow_name(index);
    let key = format!("flows.{index}");
    let splices: Vec<_> = scenario.splices.iter().collect();
    let (legs, nodes): (Vec<Way>, _) = match &network.routes[index] {
        Route::Links { from, to, hops } => {
            let wire = |&(link, direction): &(usize, Direction)| {
                2 * link as u32 + (direction == Direction::Reverse) as u32
            };
            let there: Vec<u32> = hops.iter().map(wire).collect();
            let ends = || crossings.iter().map(|c| c.hop);
            let legs = std::iter::once(0).chain(ends()).zip(ends().chain([there.len()]));
            let leg = |(begin, end): (usize, usize)| {
                let there: Box<[u32]> = there[begin..end].into();
                let back = there.iter().rev().map(|w| w ^ 1).collect();
                Way::Wires([there, back])
            };
            (legs.map(leg).collect(), [*from as u32, *to as u32])
        }
        Route::Spread { from, to, .. } => {
            let node = |index: usize| NodeId(index as u32);
            let named = |name: &str| network.nodes.iter().position(|node| node == name).map(node);
            let between = crossings.iter().filter_map(|c| named(&splices[c.splice].1.at));
            let stops: Vec<NodeId> = std::iter::once(node(*from)).chain(between).chain([node(*to)]).collect();
            let legs = stops.windows(2).map(|leg| Way::Mesh([leg[0], leg[1]])).collect();
            (legs, [*from as u32, *to as u32])
        }
        Route::Space { from, to } => {
            let space = space.ok_or_else(|| BuildError::new(&key, "there is no constellation"))?;
            let node = |end: &str| {
                let node = space.topology.terminal_named(end);
                node.ok_or_else(|| BuildError::new(&key, format!("no terminal \"{end}\"")))
            };
            let ends = [node(from)?, node(to)?];
            let mut stops = vec![ends[0]];
            for crossing in crossings {
                stops.push(node(&splices[crossing.splice].1.at)?);
            }
            stops.push(ends[1]);
            let base = network.nodes.len() as u32;
            let legs = stops.windows(2).map(|leg| Way::Space([leg[0], leg[1]])).collect();
            (legs, [base + ends[0].0, base + ends[1].0])
        }
    };
    // Ports tell flows between the same hosts apart; 9 is discard, which no dissector takes for something else.
    let sender = SocketAddrV4::new(address(nodes[0]), 49_152 + (index % 16_384) as u16);
    let receiver = SocketAddrV4::new(address(nodes[1]), 9 + (index / 16_384) as u16);
    let ends = [sender, receiver];
    let narrow = narrow(&legs, wires, &flow.traffic, &flow.transport);
    let own = |leg: usize, backward: bool| own_mtu(&legs[leg], backward, wires);
    let app = match &flow.traffic {
        scenario::Traffic::Ping { interval, size } => App::Ping(Box::new(Pinging {
            ping: Ping { interval: *interval, size: size.get() as u32 },
            addresses: ends,
            identifier: index as u16,
            next: 0,
            forward: Delays::default(),
            round_trip: Delays::default(),
            series: 0,
        })),
        traffic if traffic.in_datagrams() => {
            App::Datagrams(Box::new(Sending::new(datagrams(given, traffic, &name, &key)?, ends)))
        }
        traffic => {
            let transport = &flow.transport;
            let protocols = config::protocols(transport, crossings.iter().map(|c| splices[c.splice].1));
            let sockets = Sockets {
                protocols: if narrow {
                    protocols.map(crate::endpoint::Protocol::over_narrow)
                } else {
                    protocols
                },
                mtus: [own(0, false), own(legs.len() - 1, true)],
                narrow,
                addresses: ends,
                seed,
                initial_sequence: ["client", "server"]
                    .map(|end| seed.stream(&format!("flow/{name}/{end}/initial-sequence"))),
                flow: index as u32,
                splicing: crossings
                    .iter()
                    .enumerate()
                    .map(|(leg, c)| {
                        let (splice_name, splice) = splices[c.splice];
                        let mtus = [own(leg, true), own(leg + 1, false)];
                        Splicing::new(c.splice, splice_name, splice, &name, flow, seed).with_mtus(mtus)
                    })
                    .collect(),
                name: name.clone(),
            };
            let (application, senders) = application(given, traffic, transport, &name, &key)?;
            let conversations = Conversations::new(sockets, senders);
            App::Stream(Box::new(Stream { application, conversations }))
        }
    };
    let (start, stop) = (flow.start, flow.stop);
    let legs = legs.into_boxed_slice();
    let (started, stopped, priority) = (false, false, flow.priority);
    Ok(Flow {
        name,
        legs,
        start,
        stop,
        started,
        stopped,
        narrow,
        priority,
        app,
        sent: 0,
        bytes: [0; 2],
        delivered: 0,
        dropped: 0,
        lost: 0,
    })
}

pub(crate) fn address(node: u32) -> Ipv4Addr {
    // 10.0.0.1 is node 0; no address ends in 0 below 10.0.1.0, which is enough to read a capture by.
    Ipv4Addr::from(0x0a00_0001 + (node & 0x00ff_ffff))
}
