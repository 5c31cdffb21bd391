//! Addresses that contain the cell of a terminal, and change as it moves.
//!
//! Follows HT 6.4.1: the geographic part of an address follows the position and the other part is fixed, so that connections
//! survive. Senders then learn the new address from a database, or the satellites of the old cell forward (Perkins, Mobile IP).
//! Differs: only moving terminals have cells for addresses; others are addressed by their exact position.
//! Leaves out updates as packets: they use no capacity and are never lost, but their bytes are counted.

use skyhop_orbit::{Ecef, Vec3};
use skyhop_results::AddressResult;
use skyhop_routing::cells::{CellGrid, CellId};
use skyhop_routing::geographic::may_serve;
use skyhop_routing::scheme::PacketHeader;
use skyhop_routing::{Snapshot, View};
use skyhop_scenario::{self as scenario, Mobility};
use skyhop_topology::{NodeId, Topology};
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// Bytes of an update and its answer: Mobile IP's Registration Request and Reply (RFC 5944, 24 and 20 bytes), each with an
/// authentication extension of 22 bytes, over UDP and IPv4.
const UPDATE_BYTES: u64 = 2 * (20 + 8 + 22) + 24 + 20;

/// A moving terminal.
struct Mover {
    cell: CellId,
    /// Position in its address: the centre of its cell.
    place: Ecef,
    /// Positions that senders know, and the time from which they do; the one that is used now comes first.
    known: VecDeque<(Time, Ecef)>,
    result: AddressResult,
}

/// The addresses of the moving terminals.
pub(crate) struct MovingAddresses {
    grid: CellGrid,
    mobility: Mobility,
    delay: Span,
    /// Address of each terminal; `None` if it does not move.
    movers: Vec<Option<Mover>>,
}

impl MovingAddresses {
    /// The addresses of a network's terminals; `None` if no terminal moves.
    pub fn of(topology: &Topology, model: &scenario::Routing) -> Option<Box<Self>> {
        let count = topology.terminals().len();
        if !(0..count).any(|terminal| topology.course(terminal).is_some()) {
            return None;
        }
        let grid = CellGrid::new();
        let mover = |terminal: usize| {
            topology.course(terminal)?;
            let at = topology.position_ecef(topology.terminal_node(terminal)?, 0.0)?;
            let (cell, place) = cell_of(&grid, at);
            let name = topology.terminals()[terminal].name.clone();
            let result = AddressResult { terminal: name, ..AddressResult::default() };
            Some(Mover { cell, place, known: VecDeque::from([(Time::ZERO, place)]), result })
        };
        let movers = (0..count).map(mover).collect();
        let (mobility, delay) = (model.mobility.unwrap_or_default(), model.address_delay.unwrap_or_default());
        Some(Box::new(Self { grid, mobility, delay, movers }))
    }

    /// Gives a new address to each terminal that has changed its cell.
    pub fn look(&mut self, topology: &Topology, now: Time) {
        for (terminal, mover) in self.movers.iter_mut().enumerate() {
            let (Some(mover), Some(node)) = (mover, topology.terminal_node(terminal)) else { continue };
            let Some(at) = topology.position_ecef(node, now.as_secs_f64()) else { continue };
            let (cell, place) = cell_of(&self.grid, at);
            if cell != mover.cell {
                (mover.cell, mover.place) = (cell, place);
                mover.known.push_back((now + self.delay, place));
                mover.result.address_changes += 1;
                mover.result.update_bytes += UPDATE_BYTES;
            }
        }
    }

    /// Position of a terminal in its address as senders know it; `None` if it does not move.
    pub fn written(&mut self, terminal: usize, now: Time) -> Option<Ecef> {
        let mover = self.movers.get_mut(terminal)?.as_mut()?;
        while mover.known.get(1).is_some_and(|(from, _)| *from <= now) {
            mover.known.pop_front();
        }
        let place = mover.known.front().map_or(mover.place, |(_, place)| *place);
        mover.result.packets_old_address += u64::from(place != mover.place);
        Some(place)
    }

    /// Handles a packet that has reached satellite `node`. If its address is old and names this cell, it is readdressed to the
    /// present cell, provided that this satellite sees the terminal or that satellites know. Returns true if it was.
    pub fn arrive(
        &mut self,
        topology: &Topology,
        network: &Snapshot,
        node: NodeId,
        header: &mut PacketHeader,
        now: Time,
    ) -> bool {
        let terminal = topology.terminal_index(header.to);
        let mover = terminal.and_then(|terminal| self.movers.get_mut(terminal)?.as_mut());
        let Some(mover) = mover.filter(|mover| mover.place != header.place) else { return true };
        let view: View<'_> = network.view();
        if may_serve(&view, node, header.place).is_none() {
            return true;
        }
        let place = topology.position_ecef(header.to, now.as_secs_f64());
        if place.is_none_or(|place| may_serve(&view, node, place).is_none()) {
            if self.mobility == Mobility::Database {
                mover.result.packets_lost += 1;
                return false;
            }
            mover.result.packets_readdressed += 1;
        }
        header.place = mover.place;
        header.plane = None;
        header.carried.clear();
        true
    }

    /// Number of changes of a terminal's address.
    pub fn changes(&self, terminal: usize) -> u64 {
        self.movers.get(terminal).and_then(Option::as_ref).map_or(0, |mover| mover.result.address_changes)
    }

    pub fn results(&self) -> Vec<AddressResult> {
        self.movers.iter().flatten().map(|mover| mover.result.clone()).collect()
    }
}

/// The cell of a position, and the centre of the cell at the same height.
fn cell_of(grid: &CellGrid, at: Ecef) -> (CellId, Ecef) {
    let cell = grid.cell_at(at.latitude_rad(), at.longitude_rad());
    let (lat, lon) = grid.centre(cell);
    let middle = Vec3::new(lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin());
    (cell, Ecef(middle * at.0.norm()))
}
