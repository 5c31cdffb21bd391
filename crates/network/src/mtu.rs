//! Packets larger than the next link's MTU: they are dropped, and an ICMP error is sent to the sender, or they cross in fragments.
//!
//! Follows RFC 1191 §4 and RFC 4443 §3.2: the router's error has the next link's MTU and quotes the packet; RFC 1122 §3.2.2: no
//! error about an error; RFC 791 §3.2 and RFC 8200 §4.5 for the sizes of fragments.
//! Differs: the error returns along the flow's route, in the other direction; the fragments of a packet are one train on the narrow
//! link, which is lost or arrives whole, and behind it the packet is whole again.
//! Leaves out rate limits on errors.

use crate::address::address;
use crate::links::Links;
use crate::pinned::StepOver;
use crate::route::Way;
use crate::space::Space;
use crate::wire::Wire;
use skyhop_topology::NodeId;
use skyhop_units::Rate;
use skyhop_wire::{Ip, Packet, TooLarge, Transport, Version};

/// Bytes on a link of `mtu` of a packet that crosses it in fragments, each with a header of its own, behind which all but the last
/// carry a multiple of eight bytes.
#[inline(never)]
pub(crate) fn in_fragments(packet: &Packet, mtu: u32) -> u32 {
    let (header, each) = match packet.ip.version {
        Version::V4 => (20, 20),
        Version::V6 => (40, 48),
    };
    let data = packet.wire_len() - header;
    data + data.div_ceil((mtu.saturating_sub(each) & !7).max(8)) * each
}

/// Warnings about packets that were too large, and about those in fragments.
pub(crate) fn warnings(links: &Links) -> impl Iterator<Item = String> {
    links.names.iter().zip(links.wires.chunks(2)).flat_map(|(name, both)| {
        let count = |of: fn(&Wire) -> u64| both.iter().map(of).sum::<u64>();
        let (dropped, cut) = (count(|wire| wire.too_large), count(|wire| wire.fragmented));
        let told = (dropped > 0).then(|| format!("link {name}: {dropped} packets were larger than its mtu"));
        told.into_iter()
            .chain((cut > 0).then(|| format!("link {name}: {cut} packets crossed it in fragments")))
    })
}

/// The error of the router before a link of `mtu` about `packet`.
pub(crate) fn message(router: NodeId, mtu: u32, packet: &Packet) -> Packet {
    let ip = Ip {
        identification: packet.ip.identification,
        ..Ip::new(packet.ip.version, address(router.0), packet.ip.source)
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

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_wire::Udp;

    #[test]
    fn each_fragment_has_a_header_and_a_multiple_of_eight_bytes() {
        let size = |version, payload_len, mtu| {
            let ends = [1, 2].map(address);
            let ip = Ip { identification: 1, may_fragment: true, ..Ip::new(version, ends[0], ends[1]) };
            let transport = Transport::Udp(Udp { source_port: 7, destination_port: 7 });
            in_fragments(&Packet { ip, transport, payload_len }, mtu)
        };
        // RFC 791 §3.2: 552 bytes of data cross 576, so that 1208 take three fragments, and 1104 two.
        assert_eq!(size(Version::V4, 1200, 576), 1208 + 3 * 20);
        assert_eq!(size(Version::V4, 1096, 576), 1104 + 2 * 20);
        // RFC 8200 §4.5: a header of 40 bytes and one of 8 for the fragment.
        assert_eq!(size(Version::V6, 1400, 1280), 1408 + 2 * 48);
    }
}
