//! The path of a packet of zero size through the network.
//!
//! Follows HT 3.2.3: each node routes at its own forwarding instant, and a hop takes the distance at that instant.
//! Differs: links do not change after the last topology update while the packet is in flight.
//! Left out: queues, transmission and processing, which are the simulator's.

use skyhop_topology::{NodeId, Topology};

use crate::router::Router;

/// The path of a packet and its delay.
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    /// Time from the first node to the last in seconds.
    pub delay_s: f64,
    /// All nodes in order, including both ends.
    pub nodes: Vec<NodeId>,
}

/// The path of a packet of zero size sent at `sent_s`. `None` if it is stranded.
///
/// The router is refreshed at every forwarding instant.
///
/// ```
/// use skyhop_orbit::{Terminal, preset};
/// use skyhop_routing::{PathMetric, Router, one_way_delay_path};
/// use skyhop_topology::{Rules, Topology};
///
/// let terminals = vec![
///     Terminal::from_degrees("new-york", 40.71, -74.01)?,
///     Terminal::from_degrees("san-francisco", 37.77, -122.42)?,
/// ];
/// let mut topology = Topology::new(preset::iridium(), terminals, Rules::iridium())?;
/// topology.update(0.0);
/// let [from, to] = ["new-york", "san-francisco"].map(|name| topology.terminal_named(name).unwrap());
/// let mut router = Router::new(PathMetric::Delay);
/// let walk = one_way_delay_path(&mut router, &topology, from, to, 0.01).unwrap();
/// let names: Vec<String> = walk.nodes.iter().map(|&node| topology.node_name(node)).collect();
/// assert_eq!(names, ["new-york", "3.4", "2.4", "san-francisco"]);
/// assert_eq!(format!("{:.3} ms", walk.delay_s * 1e3), "23.268 ms");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn one_way_delay_path(
    router: &mut Router,
    topology: &Topology,
    from: NodeId,
    to: NodeId,
    sent_s: f64,
) -> Option<Walk> {
    let mut walk = Walk { delay_s: 0.0, nodes: vec![from] };
    let mut at = from;
    while at != to {
        // Nodes that route at different instants can pass a packet back and forth, but not for long.
        if walk.nodes.len() > 2 * topology.nodes() {
            return None;
        }
        let now_s = sent_s + walk.delay_s;
        router.refresh(topology, now_s);
        let hop = router.next_hop(at, to)?;
        walk.delay_s += topology.one_way_delay_s(at, hop.to, now_s)?;
        walk.nodes.push(hop.to);
        at = hop.to;
    }
    Some(walk)
}
