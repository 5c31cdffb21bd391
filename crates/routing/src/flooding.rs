//! Link-state flooding: who is told of a change, when, and by how many messages.
//!
//! Follows HT 6.5.2: packets carry a number, against duplicates, and a hop limit, the routing radius.
//! Differs: a copy that has more hops left than the first is sent on again, since the first to arrive over long and
//! short links is not always the one of fewest hops. Left out: acknowledgements, losses, and ageing of records.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use skyhop_topology::{Change, NodeId};

use crate::scheme::{Cause, Scheme, Scope};
use crate::view::View;

/// What announcements cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flood {
    /// Satellites that had something to announce.
    pub origins: u64,
    /// Transmissions over ISLs, duplicates included.
    pub messages: u64,
    /// Satellites told, summed over announcements, origins not included.
    pub told: u64,
    /// When the last of them heard, seconds after the change.
    pub converged_s: f64,
}

impl Flood {
    /// Both together, begun at the same instant.
    pub fn and(self, other: Self) -> Self {
        Self {
            origins: self.origins + other.origins,
            messages: self.messages + other.messages,
            told: self.told + other.told,
            converged_s: self.converged_s.max(other.converged_s),
        }
    }
}

/// Floods one announcement from `origin` over the ISLs that work; each hop takes propagation and `per_hop_s`.
pub fn flood(view: &View<'_>, origin: NodeId, scope: &Scope, per_hop_s: f64) -> Flood {
    let mut flood = Flood { origins: 1, ..Flood::default() };
    // Hops that the best copy so far had left; `None` before the first.
    let mut left: Vec<Option<u32>> = vec![None; view.satellites()];
    let mut sequence = 0;
    let mut under_way = BinaryHeap::new();
    let most = match scope {
        Scope::Everywhere => u32::MAX,
        Scope::Radius(radius) | Scope::Zone { radius, .. } => *radius,
    };
    under_way.push(Reverse((Arrival(0.0), sequence, origin, None, most)));
    while let Some(Reverse((Arrival(t_s), _, at, from, hops))) = under_way.pop() {
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
            let arrives = Arrival(t_s + view.delay_s(edge.length_m) + per_hop_s);
            // Without a limit no copy is better than the first.
            let left = if *scope == Scope::Everywhere { hops } else { hops.saturating_sub(1) };
            under_way.push(Reverse((arrives, sequence, edge.to, Some(edge.link), left)));
        }
    }
    flood
}

/// What the changes of one update cost a scheme: each satellite with a changed ISL announces once.
pub fn announce(
    scheme: &dyn Scheme,
    view: &View<'_>,
    changes: &[Change],
    cause: Cause,
    per_hop_s: f64,
) -> Flood {
    let ends = |change: &Change| [change.was.a, change.was.b, change.is.a, change.is.b];
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

/// A time, totally ordered.
#[derive(Debug, Clone, Copy)]
struct Arrival(f64);

impl Ord for Arrival {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == std::cmp::Ordering::Equal
    }
}

impl Eq for Arrival {}
