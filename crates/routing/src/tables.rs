//! A satellite's forwarding tables through its orbit: their size, their changes, and their aggregation.
//!
//! Follows HT figures 6.24 and 6.26: a state lasts while the nadir point crosses a cell; 64 states from equator to pole.
//! Differs: other aggregations beside the thesis's; the satellite itself counts as a next hop (down).
//! Left out: bytes per entry, and aggregation that keeps changes between states small.

use std::f64::consts::TAU;
use std::fmt;

use skyhop_orbit::Constellation;
use skyhop_topology::{NodeId, Rules, TopologyError};

use crate::aggregation::{Addresses, aggregate_covering, aggregate_greedy};
use crate::cells::{BAND_BITS, COLUMN_BITS, COLUMNS};
use crate::central::{CellHop, Controller, ForwardingTable};
use crate::minimise::{Lookup, MAX_HOPS, minimise};

/// The satellite and the states for which tables are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TableOptions {
    /// Number of the satellite.
    pub satellite: NodeId,
    /// Number of states.
    pub states: u32,
    /// Length of a state in seconds; `None` is the time in which the satellite crosses a cell.
    pub state_length_s: Option<f64>,
    /// True to aggregate the tables, which takes most of the time.
    pub aggregate: bool,
    /// Number of improvement steps per entry, as in [`minimise`].
    pub effort: usize,
}

impl TableOptions {
    /// The 64 states of the thesis, aggregated.
    pub fn new(satellite: NodeId) -> Self {
        Self { satellite, states: 64, state_length_s: None, aggregate: true, effort: 4 }
    }
}

/// The table of one state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TableReport {
    /// Number of the state, from 0.
    pub state: u32,
    /// Start of the state, s.
    pub t_s: f64,
    /// Geocentric latitude of the satellite at that instant; `None` if it has no position.
    pub latitude_rad: Option<f64>,
    /// Number of entries without aggregation: one per cell.
    pub entries: usize,
    /// Number of next hops in use, including down and nowhere.
    pub next_hops: usize,
    /// Number of cells that the satellite covers itself.
    pub down: usize,
    /// Number of cells without a path.
    pub nowhere: usize,
    /// Number of entries that differ from the previous state; `None` in the first.
    pub delta: Option<usize>,
    /// Number of entries that would override geographic forwarding as the default.
    pub overrides: usize,
    /// Entries after aggregation, if requested and there are at most [`MAX_HOPS`] next hops.
    pub aggregated: Option<Aggregated>,
}

impl TableReport {
    /// Share of entries that are the same as in the previous state.
    pub fn temporal_consistency(&self) -> Option<f64> {
        self.delta.map(|delta| 1.0 - delta as f64 / self.entries as f64)
    }

    /// Share of entries that are the same as under geographic forwarding.
    pub fn geographic_consistency(&self) -> f64 {
        1.0 - self.overrides as f64 / self.entries as f64
    }
}

/// Number of entries of one table after several kinds of aggregation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregated {
    /// The thesis's greedy algorithm, by blocks of contiguous cells.
    pub greedy: usize,
    /// Blocks of contiguous cells that may overlap: the covering problem of the thesis.
    pub covering: usize,
    /// Minimised, for lookup in any order; each of the 32,768 addresses forwards as its cell.
    pub minimised: usize,
    /// As `minimised`, with any next hop for the spare addresses of cells with several.
    pub spare_free: usize,
    /// Minimised, for first-match lookup; each of the 32,768 addresses forwards as its cell.
    pub first_match: usize,
}

/// The tables of a satellite for successive states from t = 0.
///
/// ```
/// use skyhop_orbit::preset;
/// use skyhop_routing::tables::{TableOptions, orbit_tables};
/// use skyhop_topology::{NodeId, Rules};
///
/// let options = TableOptions { states: 2, aggregate: false, ..TableOptions::new(NodeId(0)) };
/// let reports = orbit_tables(preset::teledesic(), Rules::teledesic(), options)?;
/// assert_eq!((reports[1].entries, reports[1].down), (21_354, 114));
/// assert_eq!(format!("{:.1} s", reports[1].t_s), "26.5 s");
/// # Ok::<(), skyhop_routing::tables::TablesError>(())
/// ```
pub fn orbit_tables(
    constellation: Constellation,
    rules: Rules,
    options: TableOptions,
) -> Result<Vec<TableReport>, TablesError> {
    orbit_tables_while(constellation, rules, options, |_| true)
}

/// As [`orbit_tables`], until `more` returns false: it is called with each report as soon as that is ready, about every second.
pub fn orbit_tables_while(
    constellation: Constellation,
    rules: Rules,
    options: TableOptions,
    mut more: impl FnMut(&TableReport) -> bool,
) -> Result<Vec<TableReport>, TablesError> {
    let (satellite, count) = (options.satellite.0, constellation.len());
    let Some(crossing_s) = crossing_s(&constellation, options.satellite) else {
        return Err(TablesError::Satellite { satellite, count });
    };
    let length_s = options.state_length_s.unwrap_or(crossing_s);
    if !(length_s > 0.0 && length_s.is_finite()) {
        return Err(TablesError::StateLength { length_s });
    }
    let mut controller = Controller::new(constellation, rules).map_err(TablesError::Topology)?;
    let mut before: Option<ForwardingTable> = None;
    let mut reports = Vec::new();
    for state in 0..options.states {
        let t_s = f64::from(state) * length_s;
        controller.enter(t_s);
        let table = controller.table(options.satellite, before.as_ref());
        let count = |next| table.cells().iter().filter(|&&of_cell| of_cell == next).count();
        reports.push(TableReport {
            state,
            t_s,
            latitude_rad: controller
                .topology()
                .position_ecef(options.satellite, t_s)
                .map(|position| position.latitude_rad()),
            entries: table.cells().len(),
            next_hops: table.hops().len(),
            down: count(CellHop::Down),
            nowhere: count(CellHop::Nowhere),
            delta: before.as_ref().map(|before| table.delta(before).len()),
            overrides: table.delta(&controller.geographic_table(options.satellite)).len(),
            aggregated: (options.aggregate && table.hops().len() <= MAX_HOPS)
                .then(|| aggregated(&controller, &table, options.effort)),
        });
        before = Some(table);
        if !reports.last().is_none_or(&mut more) {
            break;
        }
    }
    Ok(reports)
}

/// Time in which a satellite's nadir point crosses a cell: its period divided by the cells around the equator. `None` for a
/// satellite without a position at t = 0.
pub fn crossing_s(constellation: &Constellation, satellite: NodeId) -> Option<f64> {
    let position = constellation.position_ecef(satellite.0, 0.0)?;
    Some(TAU / constellation.earth().mean_motion_rad_s(position.0.norm()) / f64::from(COLUMNS))
}

fn aggregated(controller: &Controller, table: &ForwardingTable, effort: usize) -> Aggregated {
    let next = table.by_address(controller.grid(), false);
    let open = table.by_address(controller.grid(), true);
    let addresses = Addresses { row_bits: BAND_BITS, column_bits: COLUMN_BITS, next: &next };
    // The aggregations are independent, and the last two take most of the time.
    std::thread::scope(|scope| {
        let spare_free = scope.spawn(|| minimise(&open, Lookup::AnyOrder, effort).len());
        let first_match = scope.spawn(|| minimise(&next, Lookup::FirstMatch, effort).len());
        let greedy = aggregate_greedy(addresses).len();
        let covering = aggregate_covering(addresses, effort).len();
        let minimised = minimise(&next, Lookup::AnyOrder, effort).len();
        let [spare_free, first_match] = [spare_free, first_match]
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Aggregated { greedy, covering, minimised, spare_free, first_match }
    })
}

/// The error for tables that cannot be computed.
#[derive(Debug, Clone, PartialEq)]
pub enum TablesError {
    /// There is no such satellite, or it has no position at t = 0.
    Satellite {
        /// Number of the satellite.
        satellite: u32,
        /// Number of satellites.
        count: usize,
    },
    /// A length of states that does not advance time.
    StateLength {
        /// Length of a state, s.
        length_s: f64,
    },
    /// The network cannot be built.
    Topology(TopologyError),
}

impl fmt::Display for TablesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Satellite { satellite, count } => {
                write!(f, "satellite number {satellite}; expected one of {count} that has a position at 0 s")
            }
            Self::StateLength { length_s } => {
                write!(f, "state length of {length_s} s; expected more than 0 s")
            }
            Self::Topology(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TablesError {}
