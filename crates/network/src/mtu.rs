//! Packets larger than the next link's MTU: they are dropped, and an ICMP error is sent to the sender.
//!
//! Follows RFC 1191 §4 and RFC 4443 §3.2: the router's error has the next link's MTU and quotes the packet; RFC 1122 §3.2.2: no
//! error about an error.
//! Differs: every packet has "don't fragment"; the error returns along the flow's route, in the other direction.
//! Leaves out fragments, and rate limits on errors.

use crate::address::address;
use crate::links::Links;
use crate::pinned::StepOver;
use crate::route::Way;
use crate::space::Space;
use crate::wire::Wire;
use skyhop_topology::NodeId;
use skyhop_units::Rate;
use skyhop_wire::{Ecn, Ip, Packet, TooLarge, Transport};

/// Warnings about packets that were too large.
pub(crate) fn warnings(links: &Links) -> impl Iterator<Item = String> {
    links.names.iter().zip(links.wires.chunks(2)).filter_map(|(name, both)| {
        let dropped: u64 = both.iter().map(|wire| wire.too_large).sum();
        (dropped > 0).then(|| format!("link {name}: {dropped} packets were larger than its mtu"))
    })
}

/// The error of the router before a link of `mtu` about `packet`.
pub(crate) fn message(router: NodeId, mtu: u32, packet: &Packet) -> Packet {
    let ip = Ip {
        version: packet.ip.version,
        source: address(router.0),
        destination: packet.ip.source,
        identification: packet.ip.identification,
        ttl: 64,
        ecn: Ecn::NotCapable,
    };
    let next_hop_mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
    Packet { ip, transport: Transport::TooLarge(TooLarge::quoting(packet, next_hop_mtu)), payload_len: 0 }
}

/// MTU of the first link of a path, known to the end there; `None` at an end that may use several links.
pub(crate) fn own_mtu(way: &Way, backward: bool, links: &Links) -> Option<u32> {
    Some(links.wires[first_wire(way, backward, links)?].mtu).filter(|mtu| *mtu < u32::MAX)
}

/// The largest rate at which an end's packets ever leave it; `None` if that is not known before they do.
pub(crate) fn own_rate(way: &Way, backward: bool, links: &Links) -> Option<Rate> {
    if let Some(wire) = first_wire(way, backward, links) {
        return Some(links.wires[wire].link.fastest());
    }
    let (Way::Space(ends), Some(space)) = (way, &links.space) else { return None };
    let terminal = space.topology().terminal_index(ends[backward as usize])?;
    // Both directions of each: the faster of them.
    let wires = space.topology().gsls(terminal).flat_map(|link| {
        let first = space.wire_numbers().of(link);
        [first, first + 1]
    });
    wires.map(|wire| links.wires[wire].link.fastest()).max()
}

/// The wire that an end's packets enter first; `None` at an end that may use several links.
fn first_wire(way: &Way, backward: bool, links: &Links) -> Option<usize> {
    Some(match way {
        Way::Wires(both) => *both[backward as usize].first()? as usize,
        Way::Mesh(_) => return None,
        Way::Pinned(pinned) => match pinned.steps[backward as usize].first()?.over {
            StepOver::Wire(wire) => wire as usize,
            StepOver::Space(_) => return None,
        },
        Way::Space(ends) => {
            let end = ends[backward as usize];
            if links.space.as_ref().is_none_or(|space| space.topology().terminal_index(end).is_some()) {
                return None;
            }
            *links.mtus.alone.get(&end.0)? as usize
        }
    })
}

/// Returns true if packets of at most `largest` bytes may exceed the MTU of a link on the path.
pub(crate) fn is_narrow(way: &Way, links: &Links, largest: u32, knows_own: bool) -> bool {
    let least = |wires: &mut dyn Iterator<Item = &Wire>| wires.map(|wire| wire.mtu).min().unwrap_or(u32::MAX);
    let own = |backward: bool| own_mtu(way, backward, links).filter(|_| knows_own);
    match way {
        Way::Wires(both) => [false, true].into_iter().any(|backward| {
            let way_mtu = least(&mut both[backward as usize].iter().map(|wire| &links.wires[*wire as usize]));
            way_mtu < own(backward).map_or(largest, |own| own.min(largest))
        }),
        Way::Mesh(_) => links.mtus.least < largest,
        Way::Space(_) | Way::Pinned(_) if links.space.as_ref().is_some_and(Space::has_ground) => {
            let least = links.mtus.least;
            [false, true]
                .into_iter()
                .any(|backward| least < own(backward).map_or(largest, |own| own.min(largest)))
        }
        Way::Space(_) | Way::Pinned(_) => false,
    }
}
