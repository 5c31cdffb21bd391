//! The capacity of each flow's path: its narrowest link, its round-trip time, and their bandwidth-delay product.
//!
//! Follows the flow's path link by link; a splice divides it into legs, since each connection fills its own part.
//! Differs from a measurement: rates and delays are nominal, without schedules, traces and queues.
//! Leaves out flows spread over several paths, whose total rate depends on the spreading.

use super::{Crossing, Direction, NetworkPlan, RoutePlan};
use crate::fleets::PlacedFleet;
use crate::model::{Ip, Loss, Queue, Scenario, Transport};
use crate::rates::Rates;
use skyhop_units::{Amount, Rate, Span};

/// The part of a flow's path that one connection covers, in the direction of most data.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowLeg<'a> {
    /// Key of the narrowest link, such as `links.satellite`, `links.satellite.reverse`, `constellation.gsl` or `terminals.lima.gsl.down`.
    pub bottleneck: String,
    /// Rate of the narrowest link.
    pub rate: Rate,
    /// Smallest rate in the other direction, which acknowledgments take.
    pub return_rate: Rate,
    /// Propagation delay, round trip.
    pub rtt: Span,
    /// Queue of the narrowest link.
    pub queue: Queue,
    /// True if a link of the path loses packets.
    pub lossy: bool,
    /// True if a link of the path has few slots until it asks for a rate: a constant assignment, and one by rate.
    pub asks_for_rate: bool,
    /// Transport of the connection.
    pub transport: &'a Transport,
    /// IP version of the connection.
    pub ip: Ip,
    /// Key of that transport, such as `flows.0.transport`.
    pub transport_key: String,
    /// Buffer of the splice at its end, which is the receive window there, bytes.
    pub receive_buffer: Option<u64>,
    /// Buffer of the splice at its beginning, which holds unacknowledged data, bytes.
    pub send_buffer: Option<u64>,
}

impl FlowLeg<'_> {
    /// Bandwidth-delay product, bytes.
    pub fn product(&self) -> u64 {
        self.rate.bytes_in(self.rtt).get()
    }

    /// Capacity of the narrowest link's queue, bytes; packets count as full ones.
    pub fn queue_bytes(&self) -> u64 {
        let (payload, headers) = self.transport.packet(self.ip).unwrap_or((1000, self.ip.header_len() + 8));
        match self.queue.limit().at(self.rate) {
            Amount::Packets(n) => n.saturating_mul(payload + headers),
            Amount::Bytes(bytes) => bytes.get(),
        }
    }

    /// Largest amount of outstanding data by the receiver's window and the sender's buffer, bytes. `None` for a transport without
    /// such limits in its keys.
    pub fn window(&self) -> Option<u64> {
        let Transport::Tcp(tcp) = self.transport else { return None };
        let mss = tcp.mss.get();
        let receive = self.receive_buffer.unwrap_or_else(|| tcp.window_max.in_bytes(mss));
        let own = tcp.send_buffer_max.or(tcp.send_buffer).map_or(u64::MAX, |send| send.in_bytes(mss));
        Some(receive.min(self.send_buffer.unwrap_or(own)))
    }
}

impl NetworkPlan {
    /// The legs of the flow at `index` from its sender on, given its crossings of splices. `way` returns the path of a flow's leg
    /// through satellites, both by index, if it is known; otherwise the leg is omitted.
    pub fn legs<'a>(
        &self,
        scenario: &'a Scenario,
        index: usize,
        crossings: &[Crossing],
        way: &dyn Fn(usize, usize) -> Option<SkyWay>,
    ) -> Vec<FlowLeg<'a>> {
        let flow = &scenario.flows[index];
        if !flow.traffic.has_connections() {
            return Vec::new();
        }
        let splices: Vec<_> = scenario.splices.iter().collect();
        let ends = crossings.len();
        let mut legs = Vec::new();
        for i in 0..=ends {
            let (before, behind) = (i.checked_sub(1).map(|i| crossings[i]), crossings.get(i));
            let (transport, transport_key) = match (before, behind) {
                (Some(crossing), _) => {
                    let (name, splice) = splices[crossing.splice];
                    let own = splice.key_of(1, crossing.inner).map(|key| format!("splices.{name}.{key}"));
                    (splice.transports(&flow.transport, crossing.inner)[1], own)
                }
                (None, Some(crossing)) => {
                    let (name, splice) = splices[crossing.splice];
                    let own = splice.key_of(0, crossing.inner).map(|key| format!("splices.{name}.{key}"));
                    (splice.transports(&flow.transport, crossing.inner)[0], own)
                }
                (None, None) => (&flow.transport, None),
            };
            let transport_key = transport_key.unwrap_or_else(|| format!("flows.{index}.transport"));
            // Data of a browser's flow go to the sender.
            let back = flow.traffic.asks();
            let (sender, receiver) = if back { (behind.copied(), before) } else { (before, behind.copied()) };
            let path = match &self.routes[index] {
                RoutePlan::Links { hops, .. } => {
                    let from = before.map_or(0, |crossing| crossing.hop);
                    let to = behind.map_or(hops.len(), |crossing| crossing.hop);
                    over_links(self, scenario, &hops[from..to], back)
                }
                RoutePlan::Space { .. } | RoutePlan::Pinned { .. } => {
                    way(index, i).and_then(|way| over(self, scenario, &way, back))
                }
                RoutePlan::Spread { .. } => None,
            };
            let Some(path) = path else { continue };
            // The sockets of a gateway with an association have the buffers of their host.
            let buffer = |crossing: Crossing| {
                let splice = splices[crossing.splice].1;
                splice.association.is_none().then(|| splice.buffer.get())
            };
            legs.push(FlowLeg {
                bottleneck: path.bottleneck,
                rate: path.rate,
                return_rate: path.return_rate,
                rtt: path.rtt,
                queue: path.queue,
                lossy: path.lossy,
                asks_for_rate: path.asks_for_rate,
                transport,
                ip: flow.ip,
                transport_key,
                receive_buffer: receiver.and_then(buffer),
                send_buffer: sender.and_then(buffer),
            });
        }
        legs
    }
}

/// The path of a leg through satellites at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkyWay {
    /// Propagation delay, round trip.
    pub rtt: Span,
    /// Its parts, in order.
    pub passes: Vec<SatelliteSegment>,
}

/// A part of a path through satellites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SatelliteSegment {
    /// A link, by index.
    Link(usize, Direction),
    /// Fibre between gateways.
    Fibre,
    /// From a terminal up to satellites of one constellation, and down to another terminal.
    Fleet {
        /// Index of the constellation in [`Scenario::fleets`].
        fleet: usize,
        /// The terminals at both ends.
        ends: [String; 2],
        /// True if it uses links between satellites.
        isls: bool,
    },
}

struct CapacityPath {
    bottleneck: String,
    rate: Rate,
    return_rate: Rate,
    rtt: Span,
    queue: Queue,
    lossy: bool,
    asks_for_rate: bool,
}

impl CapacityPath {
    /// The two in sequence.
    fn and(self, next: Self) -> Self {
        let return_rate = self.return_rate.min(next.return_rate);
        let (rtt, lossy) = (self.rtt + next.rtt, self.lossy || next.lossy);
        let asks_for_rate = self.asks_for_rate || next.asks_for_rate;
        let narrowest = if next.rate < self.rate { next } else { self };
        Self { return_rate, rtt, lossy, asks_for_rate, ..narrowest }
    }
}

/// The links in sequence as the flow crosses them; `back` if the data go in the other direction.
fn over_links(
    network: &NetworkPlan,
    scenario: &Scenario,
    hops: &[(usize, Direction)],
    back: bool,
) -> Option<CapacityPath> {
    let direction = |link: usize, direction: Direction| {
        let name = &network.link_names[link];
        let link = &scenario.links[name];
        let other = link.reverse.as_ref().filter(|_| direction == Direction::Reverse);
        let own = other.is_some_and(|r| r.rate.is_some() || r.queue.is_some());
        let key = format!("links.{name}{}", if own { ".reverse" } else { "" });
        let rate = other.and_then(|r| r.rate).unwrap_or(link.rate);
        let rate = match direction {
            Direction::Forward => scenario.on_demand_rate(link.uplink.as_ref(), rate),
            Direction::Reverse => rate,
        };
        let delay = other.and_then(|r| r.delay).unwrap_or(link.delay);
        let lossy = *other.and_then(|r| r.loss.as_ref()).unwrap_or(&link.loss) != Loss::None;
        (key, rate, delay, other.and_then(|r| r.queue).unwrap_or(link.queue), lossy)
    };
    let mut path: Option<CapacityPath> = None;
    for &(link, way) in hops {
        let (there, again) = if back { (way.opposite(), way) } else { (way, way.opposite()) };
        let (bottleneck, rate, delay, queue, lossy) = direction(link, there);
        let uplink = scenario.links[&network.link_names[link]].uplink.as_ref();
        let asks_for_rate = there == Direction::Forward && scenario.asks_for_rate(uplink);
        let (_, return_rate, return_delay, ..) = direction(link, again);
        let rtt = delay + return_delay;
        let next = CapacityPath { bottleneck, rate, return_rate, rtt, queue, lossy, asks_for_rate };
        path = Some(match path {
            None => next,
            Some(so_far) => so_far.and(next),
        });
    }
    path
}

/// All parts of a path in sequence; `back` if the data go in the other direction.
fn over(network: &NetworkPlan, scenario: &Scenario, way: &SkyWay, back: bool) -> Option<CapacityPath> {
    let passes = way.passes.iter().map(|pass| match pass {
        SatelliteSegment::Link(link, direction) => {
            over_links(network, scenario, &[(*link, *direction)], back)
        }
        SatelliteSegment::Fibre => over_fibre(scenario),
        SatelliteSegment::Fleet { fleet, ends: [from, to], isls } => {
            through_space(scenario, *fleet, if back { [to, from] } else { [from, to] }, *isls)
        }
    });
    let all = passes.flatten().reduce(CapacityPath::and)?;
    Some(CapacityPath { rtt: way.rtt, ..all })
}

/// Fibre, which only a single constellation has.
fn over_fibre(scenario: &Scenario) -> Option<CapacityPath> {
    let fleet = scenario.fleets().next()?;
    let rates = Rates::of_kind(&fleet.model.fibre, fleet.at.key("fibre"));
    let rate = rates.rate?;
    Some(CapacityPath {
        bottleneck: rates.at.to_string(),
        rate,
        return_rate: rate,
        rtt: Span::ZERO,
        queue: rates.queue,
        lossy: *rates.loss != Loss::None,
        asks_for_rate: false,
    })
}

/// Up from one end, down to the other, and between satellites.
fn through_space(
    scenario: &Scenario,
    fleet: usize,
    [from, to]: [&String; 2],
    isls: bool,
) -> Option<CapacityPath> {
    let PlacedFleet { at, model, .. } = scenario.fleets().nth(fleet)?;
    let gsl = |name: &str, direction: Direction| {
        let terminal = scenario.terminals.get_key_value(name);
        let terminal = terminal.map(|(name, terminal)| (name.as_str(), terminal));
        let mut rates = Rates::of_gsl(model, &at, terminal, direction);
        // A single terminal has all of the shared capacity.
        let shared = model.gsl.shared(direction).filter(|_| terminal.is_some_and(|(_, t)| !t.gateway));
        rates.rate = rates.rate.map(|rate| shared.map_or(rate, |shared| rate.min(shared)));
        rates.rate = rates.rate.map(|rate| scenario.on_demand_rate(rates.uplink, rate));
        rates
    };
    let isl = isls.then(|| Rates::of_kind(&model.isl, at.key("isl")));
    // Among equal rates the first is reported.
    let there = [gsl(from, Direction::Forward), gsl(to, Direction::Reverse)];
    let again = [gsl(to, Direction::Forward), gsl(from, Direction::Reverse)];
    let return_rate = again.iter().chain(&isl).filter_map(|rates| rates.rate).min()?;
    let lossy = there.iter().chain(&isl).any(|rates| *rates.loss != Loss::None);
    let asks_for_rate = scenario.asks_for_rate(there[0].uplink);
    let narrowest =
        there.into_iter().chain(isl).filter(|rates| rates.rate.is_some()).min_by_key(|rates| rates.rate)?;
    Some(CapacityPath {
        bottleneck: narrowest.at.to_string(),
        rate: narrowest.rate?,
        return_rate,
        rtt: Span::ZERO,
        queue: narrowest.queue,
        lossy,
        asks_for_rate,
    })
}
