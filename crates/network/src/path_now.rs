//! A path at an instant, described as one link, for the trace of a run.
//!
//! Differs from the path: the smallest rate and the sum of propagation delays stand for all links. Leaves out queues and random losses.

use crate::links::Links;
use crate::network::Network;
use crate::route::Way;
use skyhop_link::Outage;
use skyhop_units::{Rate, Span, Time};

/// A direction of a path at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathNow {
    /// Packets get through.
    There {
        /// The smallest rate on the path.
        rate: Rate,
        /// One-way delay of propagation.
        delay: Span,
    },
    /// Packets wait for a link.
    Waits,
    /// Packets are lost: there is no path, or a link is out.
    Out,
}

impl Network {
    /// The present state of a direction of a route; `None` if links are chosen for each packet.
    pub fn path_now(&mut self, route: u32, backward: bool, now: Time) -> Option<PathNow> {
        let way = &self.packets.routes[route as usize].way;
        let wires = match (way, &mut self.links.space) {
            (Way::Wires(both), _) => both[usize::from(backward)].clone(),
            (Way::Mesh(_), _) | (_, None) => return None,
            (_, Some(space)) => match space.wires_now(way, backward) {
                None => return Some(PathNow::Out),
                Some(wires) => wires.into(),
            },
        };
        Some(as_one(&mut self.links, wires.iter().copied(), now))
    }
}

/// Wires one after another.
fn as_one(links: &mut Links, wires: impl Iterator<Item = u32>, now: Time) -> PathNow {
    let (mut least, mut delay) = (None::<Rate>, Span::ZERO);
    let mut waits = false;
    for index in wires {
        let (wire, medium) = links.wire(index);
        match wire.link.outage(now) {
            Some(Outage::Lose) => return PathNow::Out,
            Some(Outage::Wait) => waits = true,
            None => waits |= !wire.link.is_up(),
        }
        let rate = wire.link.rate_at(now);
        least = Some(least.map_or(rate, |least| least.min(rate)));
        delay += wire.link.delay_at(now, &medium);
    }
    match least {
        Some(rate) if !waits => PathNow::There { rate, delay },
        Some(_) => PathNow::Waits,
        None => PathNow::Out,
    }
}
