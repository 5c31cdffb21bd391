//! A routing scheme: what a satellite does with a packet, and what it costs to know that.
//!
//! Follows HT 6.5.2's measurements: delay of the path taken, and packets that meet a dead end.
//! Differs: state, messages and convergence are asked of every scheme in the same way, also of yours.
//! Left out: queues and packets under way while the network changes; those belong to the simulator.

use skyhop_orbit::Ecef;
use skyhop_topology::{LinkId, NodeId};

use crate::router::Hop;
use crate::view::View;

/// A way to route: given a view of the network and a packet, name the next hop.
///
/// One implementation is the software of all satellites at once. What `at` may look at is a matter of honour, and of
/// documentation: a distributed scheme reads [`View::position`] and [`View::published`] (computed from orbits),
/// [`View::working`] of `at` itself, and what it announces to others through [`Scheme::announces`].
///
/// Greedy forwarding, which HT 6.5.2 begins with and which meets dead ends, is this much:
///
/// ```
/// use skyhop_orbit::{Terminal, preset};
/// use skyhop_routing::scheme::{Cause, Outcome, Packet, Scheme, Scope, Stranded, send};
/// use skyhop_routing::{Failures, Hop, View};
/// use skyhop_topology::{NodeId, Rules, Topology};
///
/// struct Greedy;
///
/// impl Scheme for Greedy {
///     fn name(&self) -> &str {
///         "greedy"
///     }
///     fn refresh(&mut self, _view: &View<'_>) {}
///     fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut Packet) -> Result<Hop, Stranded> {
///         let away_m = |node| view.position(node).map_or(f64::INFINITY, |place| place.distance_m(packet.place));
///         let nearest = view.working_isls(at).min_by(|a, b| away_m(a.to).total_cmp(&away_m(b.to)));
///         let nearer = nearest.filter(|edge| away_m(edge.to) < away_m(at));
///         nearer.map(|edge| Hop { link: edge.link, to: edge.to }).ok_or(Stranded::DeadEnd)
///     }
///     fn state(&self, _view: &View<'_>, _satellite: NodeId) -> usize {
///         0
///     }
///     fn announces(&self, _view: &View<'_>, _origin: NodeId, _change: Cause) -> Option<Scope> {
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
/// assert_eq!(send(&mut Greedy, &view, quito, london).outcome, Outcome::Delivered);
/// assert_eq!(send(&mut Greedy, &view, quito, tokyo).outcome, Outcome::Stranded(Stranded::DeadEnd));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Scheme {
    /// A short name for tables.
    fn name(&self) -> &str;

    /// The network changed: links, failures or distances. Called before the first packet too.
    fn refresh(&mut self, view: &View<'_>);

    /// The next hop of a packet at satellite `at`, which does not serve the destination itself.
    /// Whatever the packet has to remember goes into [`Packet::carried`].
    ///
    /// # Errors
    ///
    /// The packet is dropped here.
    fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut Packet) -> Result<Hop, Stranded>;

    /// Entries that a satellite keeps beyond the published orbits and its own links.
    fn state(&self, view: &View<'_>, satellite: NodeId) -> usize;

    /// How far the satellite `origin` has to tell that one of its links changed; `None` if nobody needs to know.
    fn announces(&self, view: &View<'_>, origin: NodeId, change: Cause) -> Option<Scope>;
}

/// How far an announcement goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// To every satellite.
    Everywhere,
    /// To satellites within this many hops.
    Radius(u32),
    /// To satellites within this many hops, and on to all that are marked (by number).
    Zone {
        /// Hops.
        radius: u32,
        /// Who else belongs to it.
        members: Vec<bool>,
    },
}

/// Why a link changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Orbits and rules say so; whoever has those could have foreseen it.
    Published,
    /// It failed, or was repaired.
    Failure,
}

/// What the header of a packet says.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// The destination: a terminal, or a satellite.
    pub to: NodeId,
    /// Its geographic address: where it is.
    pub place: Ecef,
    /// The plane of the satellite that served it when the sender learned the address. Never to be relied on.
    pub plane: Option<u32>,
    /// What the scheme wrote into the header on the way.
    pub carried: Vec<u32>,
}

/// Why a satellite gives a packet up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranded {
    /// The scheme knows no way on, which does not mean that there is none.
    DeadEnd,
    /// There is no path.
    NoPath,
}

/// How a trip ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// At the destination.
    Delivered,
    /// At the last node of the trip.
    Stranded(Stranded),
    /// Never, as far as it was followed.
    Looping,
}

/// Where a packet went.
#[derive(Debug, Clone, PartialEq)]
pub struct Trip {
    /// How it ended.
    pub outcome: Outcome,
    /// All nodes in order, the first included.
    pub nodes: Vec<NodeId>,
    /// The links between them.
    pub links: Vec<LinkId>,
    /// Propagation delay in seconds with all satellites standing still.
    pub delay_s: f64,
    /// Most words the packet carried.
    pub carried: usize,
}

impl Trip {
    /// Whether it arrived.
    pub fn delivered(&self) -> bool {
        self.outcome == Outcome::Delivered
    }
}

/// Sends a packet from node to node as the scheme says. Terminals know one satellite; satellites know their terminals.
pub fn send(scheme: &mut dyn Scheme, view: &View<'_>, from: NodeId, to: NodeId) -> Trip {
    let Some(place) = view.position(to) else {
        let outcome = Outcome::Stranded(Stranded::NoPath);
        return Trip { outcome, nodes: vec![from], links: Vec::new(), delay_s: 0.0, carried: 0 };
    };
    let plane =
        view.serving(to).and_then(|satellite| view.topology().constellation().plane_slot(satellite.0));
    let mut packet = Packet { to, place, plane: plane.map(|(plane, _)| plane), carried: Vec::new() };
    send_packet(scheme, view, from, &mut packet)
}

/// Sends a packet whose address the sender learned in some other way; see [`send`].
pub fn send_packet(scheme: &mut dyn Scheme, view: &View<'_>, from: NodeId, packet: &mut Packet) -> Trip {
    let to = packet.to;
    let mut trip =
        Trip { outcome: Outcome::Looping, nodes: vec![from], links: Vec::new(), delay_s: 0.0, carried: 0 };
    let mut at = from;
    for _ in 0..HOP_LIMIT_PER_NODE * view.topology().nodes() {
        if at == to {
            return Trip { outcome: Outcome::Delivered, ..trip };
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
            Err(why) => return Trip { outcome: Outcome::Stranded(why), ..trip },
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

/// A packet that has made this many hops per node of the network goes round in circles.
const HOP_LIMIT_PER_NODE: usize = 8;
