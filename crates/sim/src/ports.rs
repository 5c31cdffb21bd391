//! Ports by which an emulator sends packets of programs at one end of a flow and receives them at the other.
//!
//! Follows the network's contract; the other flows of a run are simulated, in the same queues.
//! Leaves out clocks and devices: the driver passes the time.

use crate::flow::App;
use crate::programs::Arrived;
use crate::simulation::Simulation;
use skyhop_chance::Seed;
use skyhop_link::FlippedBit;
use skyhop_network::{Frame, NetworkEpoch, Outlook, PathNow};
use skyhop_scenario::Link;
use skyhop_units::{Rate, Time};
use skyhop_wire::Packet;
use std::net::Ipv4Addr;

impl Simulation {
    /// Sends a program's packet from an end of its flow: `from`, or `to` if `backward`. `tag` identifies it until it arrives or is
    /// returned by [`Simulation::poll_ended`]. `stream` distinguishes the programs' connections, for queues that serve flows
    /// separately.
    ///
    /// Before, [`Simulation::run_until`] must have advanced the time to `now`.
    pub fn send_for(
        &mut self,
        now: Time,
        (flow, backward): (u32, bool),
        [stream, tag]: [u32; 2],
        packet: Packet,
    ) {
        let of = &mut self.flows[flow as usize];
        let App::Programs(programs) = &mut of.app else { return };
        programs.sent(backward);
        self.schedule.set_now(now);
        let frame = Frame::new(of.routes.start, backward, [stream, tag], now, packet);
        if let Some(delivery) = self.schedule.send(&mut self.network, frame, None) {
            self.deliver(delivery);
        }
    }

    /// The next packet for a program.
    pub fn poll_arrival(&mut self) -> Option<Arrived> {
        self.arrivals.poll()
    }

    /// Holds packets for the `to` of a flow of programs, or for its `from`: that end is simulated by the driver, which acts at the
    /// instants at which [`Simulation::run_until_held`] stops.
    pub fn hold(&mut self, flow: usize, to: bool) {
        if let Some(App::Programs(programs)) = self.flows.get_mut(flow).map(|flow| &mut flow.app) {
            programs.held = Some(!to);
        }
    }

    /// The next packet for an end whose packets are held, with its flipped bits.
    pub fn poll_held(&mut self) -> Option<(Arrived, Vec<FlippedBit>)> {
        self.arrivals.poll_held()
    }

    /// The tag of the next program's packet that was dropped or lost.
    pub fn poll_ended(&mut self) -> Option<u32> {
        self.network.poll_ended()
    }

    /// The tag of the next program's packet that a link has duplicated: both copies arrive, or are returned by
    /// [`Simulation::poll_ended`].
    pub fn poll_copied(&mut self) -> Option<u32> {
        self.network.poll_copied()
    }

    /// The flipped bits of the next packet from [`Simulation::poll_arrival`] that is corrupted.
    pub fn poll_flipped(&mut self) -> Option<Vec<FlippedBit>> {
        self.arrivals.poll_flipped()
    }

    /// Time of the next event; `None` if there is none.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        self.schedule.next_at()
    }

    /// Addresses of the ends of a flow of programs.
    pub fn addresses(&self, flow: usize) -> Option<[Ipv4Addr; 2]> {
        match &self.flows.get(flow)?.app {
            App::Programs(programs) => Some(programs.ends),
            _ => None,
        }
    }

    /// MTU of the first link of a flow, as known to its `from`, or to its `to` if `backward`.
    pub fn own_mtu(&self, flow: usize, backward: bool) -> Option<u32> {
        let route = self.flows.get(flow)?.routes.start;
        self.network.own_mtu_of(route, backward)
    }

    /// The largest rate at which packets of a flow ever leave its `from`, or its `to`; `None` if that is not known before they do.
    pub fn own_rate(&self, flow: usize, backward: bool) -> Option<Rate> {
        let route = self.flows.get(flow)?.routes.start;
        self.network.own_rate_of(route, backward)
    }

    /// The path of a flow of programs, as in [`skyhop_network::Network::path`]: its one-way delay, s, and the number of its
    /// satellites. `None` without satellites.
    pub fn path(&mut self, flow: usize) -> Option<(f64, usize)> {
        let route = self.flows.get(flow)?.routes.start;
        self.network.path(route)
    }

    /// A direction of a flow's path now, as one link; `None` if its links are chosen anew for each packet.
    pub fn path_now(&mut self, flow: usize, backward: bool) -> Option<PathNow> {
        let route = self.flows.get(flow)?.routes.start;
        self.network.path_now(route, backward, self.schedule.now())
    }

    /// A copy of the satellites that runs ahead in another thread; from then on epochs must come by [`Simulation::look_ahead`].
    /// `None` without satellites.
    pub fn outlook(&mut self) -> Option<Outlook> {
        self.network.outlook(self.schedule.now())
    }

    /// Takes a future epoch; they must come in order.
    pub fn look_ahead(&mut self, epoch: NetworkEpoch) {
        self.network.look_ahead(epoch);
    }

    /// Number of epochs that were late.
    pub fn late_looks(&self) -> u64 {
        self.network.late_looks()
    }

    /// Changes rate, delay and losses of link `index` of the scenario from now on.
    pub fn change_link(&mut self, index: usize, links: [&Link; 2]) {
        let seed = Seed(self.label.seed);
        self.schedule.change_link(&mut self.network, index, links, seed);
    }

    /// Packets of a flow of programs in each direction: the numbers sent and arrived, and the sum of their one-way delays, s.
    pub fn programs(&self, flow: usize) -> Option<[(u64, u64, f64); 2]> {
        match &self.flows.get(flow)?.app {
            App::Programs(programs) => Some(programs.totals()),
            _ => None,
        }
    }

    /// Links of the scenario by name, each with the packets waiting, dropped and lost, forward and reverse.
    pub fn links_now(&mut self) -> Vec<(String, [[u64; 3]; 2])> {
        let now = self.schedule.now();
        let mut found = Vec::new();
        for link in 0..self.network.fixed_wires() / 2 {
            let both = [0, 1].map(|back| {
                let wire = 2 * link + back;
                let waiting = self.network.waiting(wire, now) as u64;
                let result = self.network.direction_result(wire, now);
                [waiting, result.packets_dropped, result.packets_lost]
            });
            found.push((self.network.link_name(2 * link).to_owned(), both));
        }
        found
    }

    /// Ends the run now.
    pub fn end_now(&mut self) {
        self.schedule.end_now();
    }
}
