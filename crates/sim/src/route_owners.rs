//! The owners of the network's routes: a leg of a flow, or an association.
//!
//! Follows the order in which a run adds routes to its network.
//! Differs from the network, which counts packets by account and knows no flows.
//! Leaves out the routes themselves, which the network finds.

use skyhop_network::Network;
use skyhop_scenario::network::SkyWay;

/// Paths through satellites by index of flow and leg.
pub type LegWays = std::collections::BTreeMap<(usize, usize), SkyWay>;

/// The owner of a route.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RouteOwner {
    /// A flow, and the leg of its path.
    Flow(u32, u8),
    /// An association, by number.
    Association(u32),
}

/// The owners by number of the route.
#[derive(Debug, Default)]
pub(crate) struct RouteOwners {
    owners: Vec<RouteOwner>,
}

impl RouteOwners {
    /// Adds the owner of the next route.
    pub fn add(&mut self, owner: RouteOwner) {
        self.owners.push(owner);
    }

    /// Number of routes.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// The owner of a route.
    #[inline]
    pub fn owner(&self, route: u32) -> RouteOwner {
        self.owners[route as usize]
    }

    /// The present paths of the first hundred legs of flows through satellites.
    pub fn leg_ways(&self, network: &mut Network) -> LegWays {
        const MOST: usize = 100;
        let through = self.owners.iter().enumerate().filter_map(|(route, owner)| match *owner {
            RouteOwner::Flow(flow, leg) => {
                Some(((flow as usize, leg as usize), network.sky_way(route as u32)?))
            }
            RouteOwner::Association(_) => None,
        });
        through.take(MOST).collect()
    }
}
