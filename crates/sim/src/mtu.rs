//! Packets that are larger than the next link's MTU: dropped, and the sender is told.
//!
//! Follows RFC 1191 §4: the router's message names the next link's MTU and quotes the packet; RFC 1122 §3.2.2: no message about one.
//! Differs: every packet says "do not fragment"; the way back is the flow's own, in the other direction.
//! Leaves out fragments, and limits on how many messages a router sends.

use crate::build::address;
use crate::flow::Way;
use crate::simulation::{Frame, Simulation};
use crate::wire::Wire;
use skyhop_scenario::{Traffic, Transport as Chosen};
use skyhop_topology::NodeId;
use skyhop_wire::{Ecn, Ipv4, Packet, TooLarge, Transport};

/// The most bytes of TCP's options.
const OPTIONS: u32 = 40;

impl Simulation {
    /// A packet is larger than wire `next` carries.
    pub(crate) fn too_large(&mut self, id: u32, next: u32) {
        let wire = &mut self.wires[next as usize];
        wire.too_large += 1;
        let (mtu, from, black_hole) = (wire.mtu, wire.from, wire.black_hole);
        let Frame { flow: index, conversation, hop, leg, backward, packet, .. } = self.frames.remove(id);
        let flow = &mut self.flows[index as usize];
        flow.dropped += 1;
        if black_hole || matches!(packet.transport, Transport::TooLarge(_)) {
            return;
        }
        flow.sent += 1;
        // As many links lie before the router as the packet has crossed.
        let hop = match &flow.legs[leg as usize] {
            Way::Wires([there, _]) => there.len() as u16 - hop,
            Way::Mesh(_) | Way::Space(_) => 0,
        };
        let message = message(from, mtu, &packet);
        let frame = Frame {
            flow: index,
            conversation,
            hop,
            leg,
            backward: !backward,
            sent_at: self.now,
            packet: message,
        };
        let id = self.frames.insert(frame);
        // The number may have been that of an STP packet which was lost.
        self.carried.take(id);
        self.forward(id, from);
    }

    /// What a user should know of packets that were too large.
    pub(crate) fn warn_of_mtus(&mut self) {
        for (index, name) in self.link_names.iter().enumerate() {
            let dropped: u64 = self.wires[2 * index..2 * index + 2].iter().map(|wire| wire.too_large).sum();
            if dropped > 0 {
                self.warnings.push(format!("link {name}: {dropped} packets were larger than its mtu"));
            }
        }
    }
}

/// What the router before a link of `mtu` says of `packet`.
fn message(router: NodeId, mtu: u32, packet: &Packet) -> Packet {
    let ip = Ipv4 {
        source: address(router.0),
        destination: packet.ip.source,
        identification: packet.ip.identification,
        ttl: 64,
        ecn: Ecn::NotCapable,
    };
    let next_hop_mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
    Packet { ip, transport: Transport::TooLarge(TooLarge::quoting(packet, next_hop_mtu)), payload_len: 0 }
}

/// MTU of the first link of a way, as its end knows it.
pub(crate) fn own_mtu(way: &Way, backward: bool, wires: &[Wire]) -> Option<u32> {
    let Way::Wires(both) = way else { return None };
    let first = both[backward as usize].first()?;
    Some(wires[*first as usize].mtu).filter(|mtu| *mtu < u32::MAX)
}

/// Whether packets of a flow may be larger than a link on its way carries.
pub(crate) fn narrow(legs: &[Way], wires: &[Wire], traffic: &Traffic, transport: &Chosen) -> bool {
    let largest = match (traffic, transport) {
        (Traffic::Ping { size, .. } | Traffic::Cbr { size, .. } | Traffic::OnOff { size, .. }, _) => {
            size.get() as u32 + 28
        }
        // A splice's other side may have other segments, or another protocol.
        (_, Chosen::Tcp(tcp)) if legs.len() == 1 => tcp.mss.get() as u32 + 40 + OPTIONS,
        (_, Chosen::Stp(stp)) if legs.len() == 1 => {
            (stp.packet_size().get() + stp.headers_beneath()).try_into().unwrap_or(u32::MAX)
        }
        _ => u32::MAX,
    };
    let stream = !matches!(traffic, Traffic::Ping { .. }) && !traffic.in_datagrams();
    let knows = stream && legs.len() == 1 && matches!(transport, Chosen::Tcp(_));
    let least = |wires: &mut dyn Iterator<Item = &Wire>| wires.map(|wire| wire.mtu).min().unwrap_or(u32::MAX);
    legs.iter().any(|way| match way {
        Way::Wires(both) => [false, true].into_iter().any(|backward| {
            let way_mtu = least(&mut both[backward as usize].iter().map(|wire| &wires[*wire as usize]));
            // The ends of TCP connections send nothing that their own link does not carry.
            let most =
                own_mtu(way, backward, wires).filter(|_| knows).map_or(largest, |own| own.min(largest));
            way_mtu < most
        }),
        Way::Mesh(_) => least(&mut wires.iter()) < largest,
        Way::Space(_) => false,
    })
}
