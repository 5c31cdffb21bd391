//! The associations of a run, and those among them that have something to do at this instant.
//!
//! Follows docs/stp.md §15 through the machine of each association (`association`).
//! Differs from a host's table, which finds associations by address: the scenario numbers them in order of name.
//! Leaves out the flows that the associations carry, which `streams`, `gateways` and `carrying` connect with them.

use crate::association::AssociationState;
use crate::carried::DatagramSide;
use crate::flow::{App, FlowState};
use crate::schedule::Schedule;
use crate::user_turns::Turned;
use skyhop_network::{Account, Delivery, Inside, Network};
use skyhop_results::AssociationResult;
use skyhop_units::Time;

/// Associations by number.
#[derive(Default)]
pub(crate) struct RunAssociations {
    all: Vec<AssociationState>,
    /// Associations that have something to do at this instant.
    due: Vec<u32>,
}

impl RunAssociations {
    /// Associations in order of name.
    pub fn new(all: Vec<AssociationState>) -> Self {
        Self { all, due: Vec::new() }
    }

    /// All associations.
    pub fn all(&self) -> &[AssociationState] {
        &self.all
    }

    /// An association.
    pub fn get(&self, number: u32) -> &AssociationState {
        &self.all[number as usize]
    }

    /// An association, mutably.
    pub fn at(&mut self, number: u32) -> &mut AssociationState {
        &mut self.all[number as usize]
    }

    /// Notes that an association has something to do.
    pub fn mark_due(&mut self, number: u32) {
        if !std::mem::replace(&mut self.at(number).due, true) {
            self.due.push(number);
        }
    }

    /// Returns true if an association has something to do.
    #[inline]
    pub fn any_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The next association that has something to do; [`Self::rest`] ends its turn.
    pub fn next_due(&mut self) -> Option<u32> {
        self.due.pop()
    }

    /// Ends the turn of an association that has nothing left to do at this instant, and sets its timers.
    pub fn rest(&mut self, number: u32, schedule: &mut Schedule) {
        let association = self.at(number);
        association.due = false;
        for (slot, at) in association.slots.into_iter().zip(association.timeouts()) {
            if let Some(at) = at {
                schedule.wake(slot, at.max(schedule.now()));
            }
        }
    }

    /// Handles a packet of an association at the end of its route. Returns true if the association took it.
    pub fn handle_arrival(
        &mut self,
        now: Time,
        number: u32,
        network: &mut Network,
        delivery: Delivery,
    ) -> bool {
        let (frame, inside) = network.take(delivery);
        let association = self.at(number);
        // STP ignores routers' messages, since it probes the path. A packet of an earlier association has no owner.
        let Some(Inside::Association(packet)) = inside else { return false };
        if frame.tag != association.generation {
            return false;
        }
        let field = frame.packet.ip.ecn;
        association.handle_packet(now, usize::from(!frame.backward), (&packet, field));
        true
    }

    /// Handles the expiry of the timer of one side of an association.
    pub fn handle_timeout(&mut self, now: Time, (number, side): (u32, u8), network: &Network) {
        let association = self.at(number);
        if std::mem::take(&mut association.opens_early) {
            association.begin(now, side, network);
        }
        association.handle_timeout(now, usize::from(side));
    }

    /// The next connection whose turn has come at one side of an association.
    pub fn take_turn(&mut self, now: Time, (number, side): (u32, u8)) -> Option<Turned> {
        self.at(number).turns[usize::from(side)].take_due(now)
    }

    /// Informs an association that there is a path, or that there is none.
    pub fn set_path_up(&mut self, now: Time, number: u32, up: bool) {
        self.at(number).set_path_up(now, up);
    }

    /// Returns true if none of a flow's datagrams is in an association on its path.
    #[inline]
    pub fn carry_none(&self, flow: &FlowState, network: &Network) -> bool {
        let App::Datagrams(sending) = &flow.app else { return true };
        sending.counts.pending() == 0
            || sending.carriers.iter().all(|carrier| {
                let association = self.get(carrier.association);
                let waits =
                    association.datagrams.iter().any(DatagramSide::waits) || !carrier.large.is_empty();
                !waits && network.account(association.account).in_flight() == 0
            })
    }

    /// Counters of all associations; `account` has the network's counters of an association's packets.
    pub fn results(&self, account: impl Fn(u32) -> Account) -> Vec<AssociationResult> {
        self.all.iter().map(|one| one.result(&account(one.account))).collect()
    }
}
