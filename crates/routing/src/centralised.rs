//! Centralised routing as a scheme: satellites forward by the cell of the destination, from tables that were sent up.
//!
//! Follows HT 6.6.2 with the tables of [`crate::central`]; a state lasts from one view to the next.
//! Differs: a cell's covering satellite is the one that serves its terminals, since not every handover policy takes the
//! highest. Left out: the upload, and cells whose terminals use several satellites: all but the first are not reached.

use skyhop_topology::NodeId;

use crate::central::{Controller, ForwardingTable, Next};
use crate::router::Hop;
use crate::scheme::{Cause, Packet, Scheme, Scope, Stranded};
use crate::view::View;

/// Tables from one place for all satellites.
#[derive(Debug, Clone, Default)]
pub struct Centralised {
    controller: Option<Controller>,
    /// Whether the controller has entered the state of the last view.
    entered: bool,
    /// Tables by satellite, worked out when a packet first needs them, and whether they are of this state.
    tables: Vec<(bool, Option<ForwardingTable>)>,
}

impl Centralised {
    /// A centre that has not looked at the network yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Scheme for Centralised {
    fn name(&self) -> &str {
        "central"
    }

    fn refresh(&mut self, view: &View<'_>) {
        if self.controller.is_none() {
            let (constellation, rules) = (view.topology().constellation(), *view.rules());
            self.controller = Controller::new(constellation.clone(), rules).ok();
        }
        self.entered = false;
        self.tables.resize_with(view.satellites(), Default::default);
        self.tables.iter_mut().for_each(|(current, _)| *current = false);
    }

    fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut Packet) -> Result<Hop, Stranded> {
        let controller = self.controller.as_mut().ok_or(Stranded::NoPath)?;
        if !self.entered {
            controller.enter_view(view);
            self.entered = true;
        }
        let (current, table) = self.tables.get_mut(at.index()).ok_or(Stranded::NoPath)?;
        if !*current {
            *table = Some(controller.table(at, table.as_ref()));
            *current = true;
        }
        let next = table.as_ref().map(|table| table.next(controller.cell_of(packet.place)));
        let Some(Next::Link(link)) = next else {
            // A packet that came down where nobody waits for it was sent by the table to the wrong satellite.
            return Err(if next == Some(Next::Down) { Stranded::DeadEnd } else { Stranded::NoPath });
        };
        let to = view.topology().link(link).and_then(|state| state.other(at)).ok_or(Stranded::NoPath)?;
        Ok(Hop { link, to })
    }

    /// One entry per cell.
    fn state(&self, _view: &View<'_>, _satellite: NodeId) -> usize {
        self.controller.as_ref().map_or(0, |controller| controller.grid().len())
    }

    /// Nobody tells other satellites; the centre finds out.
    fn announces(&self, _view: &View<'_>, _origin: NodeId, _change: Cause) -> Option<Scope> {
        None
    }
}
