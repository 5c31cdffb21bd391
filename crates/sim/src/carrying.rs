//! Datagrams of flows at the gateways of an association, which carries them as its own datagrams.
//!
//! Follows docs/gateway.md, "Datagrams, QUIC and DNS": the rules are the daemon's (`skyhop_splice::datagrams`), the queue is the
//! association's.
//! Differs: the gateway where a datagram arrives opens the stream, also if it is the hub, whose users have asked before; a flow keeps
//! its stream while it is idle; a link's copies of a datagram are not carried twice.
//! Leaves out refusals, and a gateway's limit of flows.

use crate::association::{AssociationState, Owned};
use crate::carried::{CarriedCounts, CarriedDatagram, CarriedFate, DatagramCarrier, DatagramSide};
use crate::datagrams::DatagramFlow;
use crate::flow::{App, FlowState};
use crate::ids::ConversationId;
use crate::simulation::Simulation;
use skyhop_network::{Frame, Network};
use skyhop_splice::datagrams::{DatagramWay, FIRST};
use skyhop_transport::stp::{Class, Frames, Packet, PayloadLength, TrunkEvent};

/// Length of the far gateway's answer.
const ANSWER: u64 = 1;

/// The counts of a flow's datagrams, and their passage through an association.
fn carrier_of(
    flows: &mut [FlowState],
    flow: u32,
    number: u32,
) -> Option<(&mut CarriedCounts, &mut DatagramCarrier)> {
    let App::Datagrams(sending) = &mut flows.get_mut(flow as usize)?.app else { return None };
    let DatagramFlow { counts, carriers, .. } = &mut **sending;
    Some((counts, carriers.iter_mut().find(|carrier| carrier.association == number)?))
}

fn count(flows: &mut [FlowState], datagram: CarriedDatagram, fate: CarriedFate) {
    if let App::Datagrams(sending) = &mut flows[datagram.flow as usize].app {
        sending.counts.add(fate);
    }
}

impl Simulation {
    /// Passes a datagram that has arrived at the gateway after a leg to the association.
    pub(crate) fn carry_datagram(&mut self, index: usize, leg: u8, frame: &Frame) {
        let now = self.schedule.now();
        let App::Datagrams(sending) = &mut self.flows[index].app else { return };
        let DatagramFlow { source, counts, carriers, .. } = &mut **sending;
        let Some(carrier) = carriers.iter_mut().find(|carrier| carrier.leg == leg + 1) else { return };
        if !carrier.twins.is_first(frame) {
            return;
        }
        counts.entered += 1;
        let (number, side) = (carrier.association, usize::from(carrier.side));
        let association = &mut self.associations[number as usize];
        association.begin(now, carrier.side, !self.network.is_out(association.route));
        if carrier.stream.is_none() {
            let class = Class { priority: FIRST.priority, ..Class::default() };
            carrier.stream = association.open_at_once((index as u32, ConversationId::NONE), side, class);
            if let (Some(id), Some(trunk)) = (carrier.stream, association.trunk(side)) {
                trunk.write(id, PayloadLength(carrier.preamble));
                carrier.written = carrier.preamble;
            }
        }
        let (flow, sent_at) = (index as u32, frame.sent_at);
        let datagram = CarriedDatagram { flow, sent_at, identification: frame.packet.ip.identification };
        let size = u64::from(source.size());
        match carrier.stream.and_then(|id| association.send_datagram(now, (side, id), size, datagram)) {
            Some((DatagramWay::Datagram, _)) => {}
            Some((DatagramWay::Stream, bytes)) => {
                carrier.written += bytes;
                carrier.large.push_back((carrier.written, datagram));
            }
            Some((DatagramWay::Refused, _)) | None => counts.late += 1,
        }
        self.mark_due(number);
    }

    /// Notes the datagrams that have left the queue of one side of an association, in a packet or without one.
    #[inline]
    pub(crate) fn note_datagrams(
        &mut self,
        number: u32,
        side: usize,
        packet: Option<&Packet<Frames<PayloadLength>>>,
    ) {
        let Self { associations, flows, .. } = self;
        let association = &mut associations[number as usize];
        if association.datagrams[side].waits() {
            association.datagrams_leave(side, packet, |datagram, fate| count(flows, datagram, fate));
        }
    }

    /// Reads the datagrams that have arrived at one side of an association.
    #[inline(never)]
    pub(crate) fn read_datagrams(&mut self, number: u32, side: usize) {
        loop {
            let Self { associations, flows, schedule, .. } = self;
            let association = &mut associations[number as usize];
            let tell = |datagram, fate| count(flows, datagram, fate);
            let Some((channel, datagram)) = association.read_datagram(side, tell) else { return };
            let Some((counts, carrier)) = carrier_of(flows, datagram.flow, number) else { continue };
            if carrier.accepted && carrier.stream == Some(channel) {
                self.deliver_carried(number, datagram);
            } else {
                // It is lost unless the preamble of its stream comes soon.
                counts.lost += 1;
                association.datagrams[1 - side].early.keep(schedule.now(), channel, datagram);
            }
        }
    }

    /// Sends a datagram from the far gateway on.
    fn deliver_carried(&mut self, number: u32, datagram: CarriedDatagram) {
        let Some((counts, carrier)) = carrier_of(&mut self.flows, datagram.flow, number) else { return };
        counts.delivered += 1;
        let (index, leg) = (datagram.flow as usize, carrier.leg + 1);
        let App::Datagrams(sending) = &self.flows[index].app else { return };
        let packet = sending.packet(datagram.identification);
        self.send(index, ConversationId::NONE, leg, false, datagram.sent_at, packet, None);
    }

    /// Passes an event of an association to the flow of datagrams to which the stream belongs. Returns false if it is another's.
    pub(crate) fn tell_carried(
        &mut self,
        number: u32,
        (side, owner): (usize, Owned),
        event: TrunkEvent,
    ) -> bool {
        let (flow, _) = owner;
        let Self { flows, associations, .. } = self;
        let Some((counts, carrier)) = carrier_of(flows, flow, number) else { return false };
        let association = &mut associations[number as usize];
        let Some(id) = carrier.stream else { return true };
        if event == TrunkEvent::PeerFinished(id)
            || matches!(event, TrunkEvent::Reset(reset, _) if reset == id)
        {
            counts.lost += carrier.end();
            return true;
        }
        let bytes = association.read(side, id);
        if side == usize::from(carrier.side) {
            return true;
        }
        carrier.read += bytes;
        let mut ready = Vec::new();
        if !carrier.accepted && carrier.read >= carrier.preamble {
            carrier.accepted = true;
            if let Some(trunk) = association.trunk(side) {
                trunk.write(id, PayloadLength(ANSWER));
            }
            ready = association.datagrams[1 - side].early.take(id);
            counts.lost -= ready.len() as u64;
        }
        while let Some(datagram) = carrier.whole() {
            ready.push(datagram);
        }
        ready.into_iter().for_each(|datagram| self.deliver_carried(number, datagram));
        self.mark_due(number);
        true
    }

    /// Ends the passage of a flow's datagrams with its association. Returns false if the flow has none.
    pub(crate) fn lose_carried(&mut self, number: u32, flow: u32) -> bool {
        let Some((counts, carrier)) = carrier_of(&mut self.flows, flow, number) else { return false };
        counts.lost += carrier.end();
        true
    }

    /// Forgets the datagrams of an association that has ended.
    pub(crate) fn lose_datagrams(&mut self, number: u32) {
        let Self { associations, flows, .. } = self;
        for side in &mut associations[number as usize].datagrams {
            side.end(|datagram, fate| count(flows, datagram, fate));
        }
    }

    /// Counts datagrams as lost whose association has nothing in the network any more.
    pub(crate) fn settle_datagrams(&mut self) {
        let Self { flows, associations, network, .. } = self;
        for flow in flows {
            if carries_none(flow, associations, network)
                && let App::Datagrams(sending) = &mut flow.app
            {
                sending.counts.lost += sending.counts.pending();
            }
        }
    }
}

/// Returns true if none of a flow's datagrams is in an association on its path.
pub(crate) fn carries_none(flow: &FlowState, associations: &[AssociationState], network: &Network) -> bool {
    let App::Datagrams(sending) = &flow.app else { return true };
    let idle = |carrier: &DatagramCarrier| {
        let association = &associations[carrier.association as usize];
        let waits = association.datagrams.iter().any(DatagramSide::waits) || !carrier.large.is_empty();
        !waits && network.account(association.account).in_flight() == 0
    };
    sending.counts.pending() == 0 || sending.carriers.iter().all(idle)
}
