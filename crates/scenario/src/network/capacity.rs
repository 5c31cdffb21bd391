//! What each flow's path carries: its narrowest link, its round trip, and the bandwidth-delay product of the two.
//!
//! Follows the flow's way link by link; a splice divides it into legs, since each connection fills its own part.
//! Differs from a measurement: rates and delays are those that the links are said to have, without schedule, trace and queues.
//! Leaves out flows spread over several ways, whose rates add up in a manner that hangs on the spreading.

use super::{Crossing, Direction, Network, Route};
use crate::model::{Loss, Queue, Scenario, Transport};
use crate::path::KeyPath;
use crate::rates::Rates;
use skyhop_units::{Amount, Rate, Span};
use std::collections::{BTreeSet, VecDeque};

/// The part of a flow's path that one connection covers, seen in the direction in which the most data goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Leg<'a> {
    /// The narrowest link: its key, such as `links.satellite`, `links.satellite.reverse`, `constellation.gsl` or `terminals.lima.gsl.down`.
    pub bottleneck: String,
    /// Rate of the narrowest link.
    pub rate: Rate,
    /// The smallest rate on the way back, on which acknowledgments go.
    pub return_rate: Rate,
    /// Propagation there and back.
    pub rtt: Span,
    /// Queue of the narrowest link.
    pub queue: Queue,
    /// A link on the way loses packets.
    pub lossy: bool,
    /// Transport of the connection.
    pub transport: &'a Transport,
    /// The key of that transport, such as `flows.0.transport`.
    pub transport_key: String,
    /// Buffer of the splice at its end, which is then the receive window; bytes.
    pub receive_buffer: Option<u64>,
    /// Buffer of the splice at its beginning, which holds what it sends until it is acknowledged; bytes.
    pub send_buffer: Option<u64>,
}

impl Leg<'_> {
    /// Rate times round trip, bytes.
    pub fn product(&self) -> u64 {
        self.rate.bytes_in(self.rtt).get()
    }

    /// The most that the queue of the narrowest link holds, bytes; packets count as full ones.
    pub fn queue_bytes(&self) -> u64 {
        let (payload, headers) = self.transport.packet().unwrap_or((1000, 28));
        match self.queue.limit().at(self.rate) {
            Amount::Packets(n) => n.saturating_mul(payload + headers),
            Amount::Bytes(bytes) => bytes.get(),
        }
    }

    /// The most that may be outstanding, bytes: what the receiver's window and the sender's buffer let be sent. `None` for a
    /// transport that has no such limit in its keys.
    pub fn window(&self) -> Option<u64> {
        let Transport::Tcp(tcp) = self.transport else { return None };
        let mss = tcp.mss.get();
        let receive = self.receive_buffer.unwrap_or_else(|| tcp.window_max.in_bytes(mss));
        let own = tcp.send_buffer_max.or(tcp.send_buffer).map_or(u64::MAX, |send| send.in_bytes(mss));
        Some(receive.min(self.send_buffer.unwrap_or(own)))
    }
}

impl Network {
    /// The legs of the flow at `index`, from its sender on, given its crossings of splices. `rtt` is the round trip of a flow's leg
    /// through the constellation, both by index, where somebody knows; without it there is no such leg.
    pub fn legs<'a>(
        &self,
        scenario: &'a Scenario,
        index: usize,
        crossings: &[Crossing],
        rtt: &dyn Fn(usize, usize) -> Option<Span>,
    ) -> Vec<Leg<'a>> {
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
                    let own = splice.transport.is_some().then(|| format!("splices.{name}.transport"));
                    (splice.transports(&flow.transport)[1], own)
                }
                (None, Some(crossing)) => {
                    let (name, splice) = splices[crossing.splice];
                    let own =
                        splice.transport_back.is_some().then(|| format!("splices.{name}.transport_back"));
                    (splice.transports(&flow.transport)[0], own)
                }
                (None, None) => (&flow.transport, None),
            };
            let transport_key = transport_key.unwrap_or_else(|| format!("flows.{index}.transport"));
            // What a browser asks for comes back to it.
            let back = flow.traffic.asks();
            let (sender, receiver) = if back { (behind.copied(), before) } else { (before, behind.copied()) };
            let path = match &self.routes[index] {
                Route::Links { hops, .. } => {
                    let from = before.map_or(0, |crossing| crossing.hop);
                    let to = behind.map_or(hops.len(), |crossing| crossing.hop);
                    over_links(scenario, &hops[from..to], back)
                }
                Route::Space { from, to } => rtt(index, i).and_then(|rtt| {
                    let at = |crossing: &Crossing| splices[crossing.splice].1.at.as_str();
                    let ends = [before.as_ref().map_or(from.as_str(), at), behind.map_or(to.as_str(), at)];
                    self.through_both(scenario, ends, rtt, back)
                }),
                Route::Spread { .. } => None,
            };
            let Some(path) = path else { continue };
            legs.push(Leg {
                bottleneck: path.bottleneck,
                rate: path.rate,
                return_rate: path.return_rate,
                rtt: path.rtt,
                queue: path.queue,
                lossy: path.lossy,
                transport,
                transport_key,
                receive_buffer: receiver.map(|crossing| splices[crossing.splice].1.buffer.get()),
                send_buffer: sender.map(|crossing| splices[crossing.splice].1.buffer.get()),
            });
        }
        legs
    }
}

impl Network {
    /// Satellites, and links on both sides of them if they are one graph.
    fn through_both(&self, scenario: &Scenario, ends: [&str; 2], rtt: Span, back: bool) -> Option<Path> {
        if !self.meets_satellites {
            return through_space(scenario, ends, back, rtt);
        }
        let [from, to] = ends;
        if let Some((hops, _)) = self.ground_way(from, |node| node == to) {
            return over_links(scenario, &hops, back);
        }
        let terminal = |node: &str| scenario.terminals.contains_key(node);
        let (there, near) = self.ground_way(from, terminal)?;
        let (mut again, far) = self.ground_way(to, terminal)?;
        again.reverse();
        again.iter_mut().for_each(|(_, direction)| *direction = direction.opposite());
        let sky = through_space(scenario, [near, far], back, rtt);
        let parts = [over_links(scenario, &there, back), sky, over_links(scenario, &again, back)];
        let all = parts.into_iter().flatten().reduce(Path::and)?;
        Some(Path { rtt, ..all })
    }

    /// The fewest links from a node to one that `is_there`, and that one; no links if it is there already.
    fn ground_way<'a>(
        &'a self,
        from: &'a str,
        is_there: impl Fn(&str) -> bool,
    ) -> Option<(Vec<(usize, Direction)>, &'a str)> {
        let mut left = VecDeque::from([(self.nodes.iter().position(|node| node == from), Vec::new())]);
        let mut seen = BTreeSet::new();
        while let Some((node, hops)) = left.pop_front() {
            let name = node.map_or(from, |node| self.nodes[node].as_str());
            if is_there(name) {
                return Some((hops, name));
            }
            let Some(node) = node.filter(|node| seen.insert(*node)) else { continue };
            for (link, ends) in self.links.iter().enumerate() {
                let Some(next) = ends.other(node) else { continue };
                let direction = if ends.a == node { Direction::Forward } else { Direction::Reverse };
                let hops = hops.iter().copied().chain([(link, direction)]).collect();
                left.push_back((Some(next), hops));
            }
        }
        None
    }
}

struct Path {
    bottleneck: String,
    rate: Rate,
    return_rate: Rate,
    rtt: Span,
    queue: Queue,
    lossy: bool,
}

impl Path {
    /// One behind the other.
    fn and(self, next: Self) -> Self {
        let return_rate = self.return_rate.min(next.return_rate);
        let (rtt, lossy) = (self.rtt + next.rtt, self.lossy || next.lossy);
        let narrowest = if next.rate < self.rate { next } else { self };
        Self { return_rate, rtt, lossy, ..narrowest }
    }
}

/// Links in the order in which the flow crosses them; `back` if the data goes the other way.
fn over_links(scenario: &Scenario, hops: &[(usize, Direction)], back: bool) -> Option<Path> {
    let links: Vec<_> = scenario.links.iter().collect();
    let direction = |link: usize, direction: Direction| {
        let (name, link) = links[link];
        let other = link.reverse.as_ref().filter(|_| direction == Direction::Reverse);
        let own = other.is_some_and(|r| r.rate.is_some() || r.queue.is_some());
        let key = format!("links.{name}{}", if own { ".reverse" } else { "" });
        let rate = other.and_then(|r| r.rate).unwrap_or(link.rate);
        let delay = other.and_then(|r| r.delay).unwrap_or(link.delay);
        let lossy = *other.and_then(|r| r.loss.as_ref()).unwrap_or(&link.loss) != Loss::None;
        (key, rate, delay, other.and_then(|r| r.queue).unwrap_or(link.queue), lossy)
    };
    let mut path: Option<Path> = None;
    for &(link, way) in hops {
        let (there, again) = if back { (way.opposite(), way) } else { (way, way.opposite()) };
        let (bottleneck, rate, delay, queue, lossy) = direction(link, there);
        let (_, return_rate, return_delay, ..) = direction(link, again);
        let rtt = delay + return_delay;
        let next = Path { bottleneck, rate, return_rate, rtt, queue, lossy };
        path = Some(match path {
            None => next,
            Some(so_far) => so_far.and(next),
        });
    }
    path
}

/// Up from one end, down to the other, and between satellites; `back` if the data goes the other way.
fn through_space(scenario: &Scenario, ends: [&str; 2], back: bool, rtt: Span) -> Option<Path> {
    let model = scenario.constellation.as_ref()?;
    let at = KeyPath::default().key("constellation");
    let [from, to] = if back { [ends[1], ends[0]] } else { ends };
    let gsl = |name: &str, direction: Direction| {
        let terminal = scenario.terminals.get_key_value(name);
        let terminal = terminal.map(|(name, terminal)| (name.as_str(), terminal));
        let mut rates = Rates::of_gsl(model, &at, terminal, direction);
        // Alone a terminal has all that is shared.
        let shared = model.gsl.shared(direction).filter(|_| terminal.is_some_and(|(_, t)| !t.gateway));
        rates.rate = rates.rate.map(|rate| shared.map_or(rate, |shared| rate.min(shared)));
        rates
    };
    let isl = || Rates::of_kind(&model.isl, at.key("isl"));
    // Of equal rates the first is told.
    let there = [gsl(from, Direction::Forward), gsl(to, Direction::Reverse), isl()];
    let again = [gsl(to, Direction::Forward), gsl(from, Direction::Reverse), isl()];
    let return_rate = again.iter().filter_map(|rates| rates.rate).min()?;
    let lossy = there.iter().any(|rates| *rates.loss != Loss::None);
    let narrowest = there.into_iter().filter(|rates| rates.rate.is_some()).min_by_key(|rates| rates.rate)?;
    Some(Path {
        bottleneck: narrowest.at.to_string(),
        rate: narrowest.rate?,
        return_rate,
        rtt,
        queue: narrowest.queue,
        lossy,
    })
}
