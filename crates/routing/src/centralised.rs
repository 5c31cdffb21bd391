//! Centralised routing as a scheme: satellites forward by the destination's cell, using uploaded tables.
//!
//! Follows HT 6.6.2 with the tables of [`crate::central`]; a state lasts from one view to the next.
//! Differs: a cell is covered by the satellite that serves its terminals, since not every handover policy takes the highest. Left
//! out: uploads as packets, and cells whose terminals use several satellites, where only the first satellite's are reached.

use skyhop_topology::NodeId;

use crate::central::{CellHop, Controller, ForwardingTable};
use crate::router::Hop;
use crate::scheme::{LinkCause, PacketHeader, RoutingScheme, Scope, Stranded};
use crate::view::View;

/// Tables for all satellites from one controller.
#[derive(Debug, Clone, Default)]
pub struct Centralised {
    controller: Option<Controller>,
    /// True if the controller has entered the state of the last view.
    entered: bool,
    /// For each satellite, true if its table is of this state; a table is computed when a packet first needs it.
    current: Vec<bool>,
    tables: Vec<Option<ForwardingTable>>,
    /// Uploads so far; `None` if they are not counted.
    uploads: Option<TableUploads>,
}

/// Uploads of changes to the tables: delta encoding, in HT's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableUploads {
    /// Number of uploads: satellites whose table changed, summed over the states.
    pub messages: u64,
    /// Number of entries in them.
    pub entries: u64,
}

impl Centralised {
    /// A scheme before its first view.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same scheme with the tables of all satellites in every state, and uploads counted. Satellites have their first tables
    /// from the start.
    pub fn counting(self) -> Self {
        Self { uploads: Some(TableUploads::default()), ..self }
    }

    /// The uploads so far; `None` if they are not counted.
    pub fn uploads(&self) -> Option<TableUploads> {
        self.uploads
    }
}

impl RoutingScheme for Centralised {
    fn name(&self) -> &str {
        "central"
    }

    fn refresh(&mut self, view: &View<'_>) {
        if self.controller.is_none() {
            let (constellation, rules) = (view.topology().constellation(), *view.rules());
            self.controller = Controller::new(constellation.clone(), rules).ok();
        }
        self.tables.resize_with(view.satellites(), Default::default);
        self.current.resize(view.satellites(), false);
        self.entered = false;
        let (Some(uploads), Some(controller)) = (&mut self.uploads, &mut self.controller) else {
            self.current.fill(false);
            return;
        };
        controller.enter_view(view);
        self.entered = true;
        let (messages, entries) = controller.replace_tables(&mut self.tables);
        *uploads = TableUploads { messages: uploads.messages + messages, entries: uploads.entries + entries };
        self.current.fill(true);
    }

    fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut PacketHeader) -> Result<Hop, Stranded> {
        let controller = self.controller.as_mut().ok_or(Stranded::NoPath)?;
        if !self.entered {
            controller.enter_view(view);
            self.entered = true;
        }
        let table = self.tables.get_mut(at.index()).ok_or(Stranded::NoPath)?;
        let current = &mut self.current[at.index()];
        if !*current {
            *table = Some(controller.table(at, table.as_ref()));
            *current = true;
        }
        let next = table.as_ref().map(|table| table.next(controller.cell_of(packet.place)));
        let Some(CellHop::Link(link)) = next else {
            // The table has sent the packet to a satellite that does not serve its destination.
            return Err(if next == Some(CellHop::Down) { Stranded::DeadEnd } else { Stranded::NoPath });
        };
        let to = view.topology().link(link).and_then(|state| state.other(at)).ok_or(Stranded::NoPath)?;
        Ok(Hop { link, to })
    }

    /// One entry for each cell.
    fn state(&self, _view: &View<'_>, _satellite: NodeId) -> usize {
        self.controller.as_ref().map_or(0, |controller| controller.grid().len())
    }

    /// Satellites announce nothing; the controller observes changes.
    fn announces(&self, _view: &View<'_>, _origin: NodeId, _change: LinkCause) -> Option<Scope> {
        None
    }
}
