//! Link-state flooding: the satellites that learn of a change, the time that takes, and the number of messages.
//!
//! Follows HT 6.5.2: packets have a sequence number against duplicates, and a hop limit, the routing radius.
//! Differs: a copy with more hops left than the first is forwarded again, since over long and short links the first to arrive
//! need not have crossed the fewest hops. Left out: acknowledgements, losses, and ageing of records.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use skyhop_topology::{LinkChange, NodeId};

use crate::scheme::{LinkCause, RoutingScheme, Scope};
use crate::view::View;

/// The cost of announcements.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flood {
    /// Number of satellites that announced something.
    pub origins: u64,
    /// Transmissions over ISLs, duplicates included.
    pub messages: u64,
    /// Number of satellites that received an announcement, summed over announcements, without origins.
    pub told: u64,
    /// Time from the change until the last of them received it, s.
    pub converged_s: f64,
}

impl Flood {
    /// The cost of two floods begun at the same instant.
    pub fn and(self, other: Self) -> Self {
        Self {
            origins: self.origins + other.origins,
            messages: self.messages + other.messages,
            told: self.told + other.told,
            converged_s: self.converged_s.max(other.converged_s),
        }
    }
}

/// Floods one announcement from `origin` over the working ISLs; each hop takes propagation plus `per_hop_s`.
pub fn flood(view: &View<'_>, origin: NodeId, scope: &Scope, per_hop_s: f64) -> Flood {
    let mut flood = Flood { origins: 1, ..Flood::default() };
    // Hops left in the best copy so far; `None` before the first.
    let mut left: Vec<Option<u32>> = vec![None; view.satellites()];
    let mut sequence = 0;
    let mut under_way = BinaryHeap::new();
    let most = match scope {
        Scope::Everywhere => u32::MAX,
        Scope::Radius(radius) | Scope::Zone { radius, .. } => *radius,
    };
    under_way.push(Reverse((OrderedTime(0.0), sequence, origin, None, most)));
    while let Some(Reverse((OrderedTime(t_s), _, at, from, hops))) = under_way.pop() {
        let known = left[at.index()];
        if known.is_some_and(|known| known >= hops) {
            continue;
        }
        left[at.index()] = Some(hops);
        if known.is_none() && at != origin {
            flood.told += 1;
            flood.converged_s = flood.converged_s.max(t_s);
        }
        for edge in view.working_isls(at) {
            let in_zone = |node: NodeId| match scope {
                Scope::Zone { members, .. } => members.get(node.index()).copied().unwrap_or(false),
                Scope::Everywhere | Scope::Radius(_) => false,
            };
            let onwards = hops > 0 || (in_zone(at) && in_zone(edge.to));
            if !onwards || Some(edge.link) == from {
                continue;
            }
            flood.messages += 1;
            sequence += 1;
            let arrives = OrderedTime(t_s + view.delay_s(edge.length_m) + per_hop_s);
            // Without a hop limit no copy is better than the first.
            let left = if *scope == Scope::Everywhere { hops } else { hops.saturating_sub(1) };
            under_way.push(Reverse((arrives, sequence, edge.to, Some(edge.link), left)));
        }
    }
    flood
}

/// The cost to a scheme of the changes of one update: each satellite with a changed ISL announces once.
pub fn announce(
    scheme: &dyn RoutingScheme,
    view: &View<'_>,
    changes: &[LinkChange],
    cause: LinkCause,
    per_hop_s: f64,
) -> Flood {
    let ends = |change: &LinkChange| [change.was.a, change.was.b, change.is.a, change.is.b];
    let origins: BTreeSet<NodeId> = changes
        .iter()
        .filter(|change| change.was.up || change.is.up)
        .flat_map(ends)
        .filter(|&node| view.topology().is_satellite(node))
        .collect();
    origins
        .into_iter()
        .filter_map(|origin| Some((origin, scheme.announces(view, origin, cause)?)))
        .map(|(origin, scope)| flood(view, origin, &scope, per_hop_s))
        .fold(Flood::default(), Flood::and)
}

/// A time with a total order.
#[derive(Debug, Clone, Copy)]
struct OrderedTime(f64);

impl Ord for OrderedTime {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for OrderedTime {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OrderedTime {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == std::cmp::Ordering::Equal
    }
}

impl Eq for OrderedTime {}
