//! The interface of a routing scheme: the decision at each satellite, and the cost of the knowledge that it needs.
//!
//! Follows HT 6.5.2's measurements: the delay of the path taken, and packets that meet a dead end.
//! Differs: state, messages and convergence are measured for every scheme in the same way, including your own.
//! Left out: queues, and packets in flight while the network changes, which are the simulator's.

use skyhop_orbit::Ecef;
use skyhop_topology::{LinkId, NodeId};

use crate::router::Hop;
use crate::view::View;

/// A routing scheme: given a view of the network and a packet, it names the next hop.
///
/// One implementation is the software of all satellites at once. The data that `at` may use are a matter of honour and
/// documentation: a distributed scheme reads [`View::position`] and [`View::published`] (computed from orbits), [`View::working`]
/// of `at` itself, and whatever satellites tell each other by [`RoutingScheme::announces`].
///
/// Greedy forwarding, with which HT 6.5.2 begins and which meets dead ends, is no more than this:
///
/// ```
/// use skyhop_orbit::{Terminal, preset};
/// use skyhop_routing::scheme::{LinkCause, TripEnd, PacketHeader, RoutingScheme, Scope, Stranded, send};
/// use skyhop_routing::{Failures, Hop, View};
/// use skyhop_topology::{NodeId, Rules, Topology};
///
/// struct Greedy;
///
/// impl RoutingScheme for Greedy {
///     fn name(&self) -> &str {
///         "greedy"
///     }
///     fn refresh(&mut self, _view: &View<'_>) {}
///     fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut PacketHeader) -> Result<Hop, Stranded> {
///         let away_m = |node| view.position(node).map_or(f64::INFINITY, |place| place.distance_m(packet.place));
///         let nearest = view.working_isls(at).min_by(|a, b| away_m(a.to).total_cmp(&away_m(b.to)));
///         let nearer = nearest.filter(|edge| away_m(edge.to) < away_m(at));
///         nearer.map(|edge| Hop { link: edge.link, to: edge.to }).ok_or(Stranded::DeadEnd)
///     }
///     fn state(&self, _view: &View<'_>, _satellite: NodeId) -> usize {
///         0
///     }
///     fn announces(&self, _view: &View<'_>, _origin: NodeId, _change: LinkCause) -> Option<Scope> {
///         None
///     }
/// }
///
/// let places = [("quito", -0.22, -78.51), ("london", 51.51, -0.13), ("tokyo", 35.69, 139.69)];
/// let terminals = places.map(|(name, lat, lon)| Terminal::from_degrees(name, lat, lon).unwrap()).to_vec();
/// let mut topology = Topology::new(preset::teledesic(), terminals, Rules::teledesic())?;
/// topology.update(0.0);
/// let (none, [quito, london, tokyo]) = (Failures::none(), [288, 289, 290].map(NodeId));
/// let view = View::new(&topology, &none, 0.0);
/// Greedy.refresh(&view);
/// assert_eq!(send(&mut Greedy, &view, quito, london).outcome, TripEnd::Delivered);
/// assert_eq!(send(&mut Greedy, &view, quito, tokyo).outcome, TripEnd::Stranded(Stranded::DeadEnd));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RoutingScheme {
    /// A short name for tables.
    fn name(&self) -> &str;

    /// Takes a change of the network: links, failures or distances. Called before the first packet too.
    fn refresh(&mut self, view: &View<'_>);

    /// The next hop of a packet at satellite `at`, which does not serve the destination itself. State that the packet must keep
    /// goes into [`PacketHeader::carried`].
    ///
    /// # Errors
    ///
    /// The packet is dropped here, for the reason given.
    fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut PacketHeader) -> Result<Hop, Stranded>;

    /// Number of entries that a satellite keeps beyond the published orbits and its own links.
    fn state(&self, view: &View<'_>, satellite: NodeId) -> usize;

    /// The distance to which satellite `origin` must announce a change of one of its links; `None` if no other needs it.
    fn announces(&self, view: &View<'_>, origin: NodeId, change: LinkCause) -> Option<Scope>;
}

/// The distance that an announcement travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All satellites.
    Everywhere,
    /// Satellites within this many hops.
    Radius(u32),
    /// Satellites within `radius` hops, and all of `members`.
    Zone {
        /// Number of hops.
        radius: u32,
        /// For each satellite, true if it is a member of the zone.
        members: Vec<bool>,
    },
}

/// The cause of a link's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkCause {
    /// Orbits and rules, from which it could be foreseen.
    Published,
    /// A failure or its repair.
    Failure,
}

/// The header of a packet.
#[derive(Debug, Clone, PartialEq)]
pub struct PacketHeader {
    /// The destination: a terminal, or a satellite.
    pub to: NodeId,
    /// The destination's geographic address: its position.
    pub place: Ecef,
    /// Plane of the satellite that served the destination when the sender learned the address; it may be out of date.
    pub plane: Option<u32>,
    /// Data that the scheme has written into the header on the way.
    pub carried: Vec<u32>,
}

/// The reason why a satellite drops a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranded {
    /// The scheme knows no next hop, although there may be a path.
    DeadEnd,
    /// There is no path.
    NoPath,
}

/// The end of a trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TripEnd {
    /// The packet reached the destination.
    Delivered,
    /// The packet was dropped at the last node of the trip.
    Stranded(Stranded),
    /// The packet was still in flight when its hop limit was reached.
    Looping,
}

/// The path of a packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Trip {
    /// Outcome of the trip.
    pub outcome: TripEnd,
    /// All nodes in order, including the first.
    pub nodes: Vec<NodeId>,
    /// The links between them.
    pub links: Vec<LinkId>,
    /// Propagation delay with all satellites at rest, s.
    pub delay_s: f64,
    /// Largest number of words that the packet carried.
    pub carried: usize,
}

impl Trip {
    /// Returns true if the packet arrived.
    pub fn delivered(&self) -> bool {
        self.outcome == TripEnd::Delivered
    }
}

/// Sends a packet from node to node by the scheme. Terminals know one satellite; satellites know their terminals.
pub fn send(scheme: &mut dyn RoutingScheme, view: &View<'_>, from: NodeId, to: NodeId) -> Trip {
    let Some(place) = view.position(to) else {
        let outcome = TripEnd::Stranded(Stranded::NoPath);
        return Trip { outcome, nodes: vec![from], links: Vec::new(), delay_s: 0.0, carried: 0 };
    };
    let plane =
        view.serving(to).and_then(|satellite| view.topology().constellation().plane_slot(satellite.0));
    let mut packet = PacketHeader { to, place, plane: plane.map(|(plane, _)| plane), carried: Vec::new() };
    send_packet(scheme, view, from, &mut packet)
}

/// As [`send`], for a packet whose address the sender learned in another way.
pub fn send_packet(
    scheme: &mut dyn RoutingScheme,
    view: &View<'_>,
    from: NodeId,
    packet: &mut PacketHeader,
) -> Trip {
    let to = packet.to;
    let mut trip =
        Trip { outcome: TripEnd::Looping, nodes: vec![from], links: Vec::new(), delay_s: 0.0, carried: 0 };
    let mut at = from;
    for _ in 0..HOP_LIMIT_PER_NODE * view.topology().nodes() {
        if at == to {
            return Trip { outcome: TripEnd::Delivered, ..trip };
        }
        let last = view.working(at).find(|edge| edge.to == to && view.serving(to) == Some(at));
        let first = || view.working(at).find(|_| !view.topology().is_satellite(at));
        let hop = match last.or_else(first) {
            Some(edge) => Ok(Hop { link: edge.link, to: edge.to }),
            None if view.topology().is_satellite(at) => scheme.next_hop(view, at, packet),
            None => Err(Stranded::NoPath),
        };
        trip.carried = trip.carried.max(packet.carried.len());
        let hop = match hop {
            Ok(hop) => hop,
            Err(why) => return Trip { outcome: TripEnd::Stranded(why), ..trip },
        };
        let edge = view.working(at).find(|edge| edge.link == hop.link && edge.to == hop.to);
        let edge = edge.expect("a scheme names links of the satellite that work");
        trip.delay_s += view.delay_s(edge.length_m);
        trip.nodes.push(hop.to);
        trip.links.push(hop.link);
        at = hop.to;
    }
    trip
}

/// Hop limit of a packet, per node of the network: beyond it the packet is in a loop.
const HOP_LIMIT_PER_NODE: usize = 8;
