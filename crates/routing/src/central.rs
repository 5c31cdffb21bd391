//! Centralised routing: one controller knows the network and computes each satellite's table of cells.
//!
//! Follows HT 6.6.2: minimum-delay paths while the topology is constant, temporal and geographic consistency of the tables.
//! Differs: among next hops of equal delay the previous table's is kept; the thesis does not specify.
//! Left out: uploads as packets, failures between uploads, and cells whose terminals use several satellites.

use std::collections::BinaryHeap;

use skyhop_orbit::{Constellation, Ecef, Vec3};
use skyhop_topology::{LinkId, NodeId, Rules, Topology, TopologyError};

use crate::cells::{Address, CellGrid, CellId, POINTS};
use crate::graph::Edge;
use crate::reached::Reached;
use crate::view::View;

/// Delays closer than this are equal, so that rounding decides nothing, s.
const TIE_S: f64 = 1e-9;

/// The next hop of a satellite for a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellHop {
    /// This ISL.
    Link(LinkId),
    /// The downlink: the satellite covers the cell itself.
    Down,
    /// No satellite covers the cell, or there is no path.
    Nowhere,
}

/// A satellite's table: the next hop for each cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardingTable {
    satellite: NodeId,
    next: Vec<CellHop>,
}

impl ForwardingTable {
    /// The satellite that the table is for.
    pub fn satellite(&self) -> NodeId {
        self.satellite
    }

    /// The next hop for a cell.
    pub fn next(&self, cell: CellId) -> CellHop {
        self.next[cell.index()]
    }

    /// The next hops of all cells.
    pub fn cells(&self) -> &[CellHop] {
        &self.next
    }

    /// The distinct next hops, in order; [`Self::by_address`] uses their indices.
    pub fn hops(&self) -> Vec<CellHop> {
        let mut hops = self.next.clone();
        hops.sort_unstable();
        hops.dedup();
        hops
    }

    /// The cells whose next hop differs from `before`, and the new next hop: the entries of a delta update.
    pub fn delta(&self, before: &Self) -> Vec<(CellId, CellHop)> {
        let now = (0u32..).map(CellId).zip(self.next.iter().copied());
        now.zip(&before.next).filter(|((_, now), before)| now != *before).map(|(change, _)| change).collect()
    }

    /// Applies a delta to the table, or overrides to a default.
    pub fn apply(&mut self, delta: &[(CellId, CellHop)]) {
        delta.iter().for_each(|&(cell, next)| self.next[cell.index()] = next);
    }

    /// Share of cells with the same next hop in both tables: HT's temporal consistency against the previous table, geographic
    /// consistency against [`Controller::geographic_table`].
    pub fn consistency(&self, other: &Self) -> f64 {
        1.0 - self.delta(other).len() as f64 / self.next.len() as f64
    }

    /// Indices into [`Self::hops`] by address, for aggregation. All addresses of a cell have its next hop; with `spare_free` only
    /// the one that its terminals use, and the others have none.
    pub fn by_address(&self, grid: &CellGrid, spare_free: bool) -> Vec<Option<u8>> {
        let hops = self.hops();
        let number = |next: CellHop| hops.binary_search(&next).expect("all hops are listed") as u8;
        let of = |address: Address| {
            let cell = grid.cell_of(address);
            (!spare_free || grid.address(cell) == address).then(|| number(self.next(cell)))
        };
        (0..POINTS as u16).map(|address| of(Address(address))).collect()
    }
}

/// The controller that computes the tables of all satellites, one state of the topology at a time.
#[derive(Debug, Clone)]
pub struct Controller {
    grid: CellGrid,
    topology: Topology,
    /// Position and zenith of each cell's centre.
    centres: Vec<(Ecef, Vec3)>,
    positions: Vec<Option<Ecef>>,
    /// The satellite that covers each cell.
    covering: Vec<Option<NodeId>>,
    links: Vec<Vec<Neighbour>>,
}

#[derive(Debug, Clone, Copy)]
struct Neighbour {
    link: LinkId,
    node: NodeId,
    delay_s: f64,
}

impl Controller {
    /// A controller before its first state.
    ///
    /// # Errors
    ///
    /// As for [`Topology::new`].
    pub fn new(constellation: Constellation, rules: Rules) -> Result<Self, TopologyError> {
        let grid = CellGrid::new();
        let earth = *constellation.earth();
        let centre = |cell| {
            let (latitude_rad, longitude_rad) = grid.centre(cell);
            let (sin_lat, cos_lat) = latitude_rad.sin_cos();
            let (sin_lon, cos_lon) = longitude_rad.sin_cos();
            let up = Vec3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat);
            (earth.surface(latitude_rad, longitude_rad, 0.0), up)
        };
        let centres: Vec<_> = (0..grid.len() as u32).map(|cell| centre(CellId(cell))).collect();
        Ok(Self {
            covering: vec![None; grid.len()],
            links: vec![Vec::new(); constellation.len()],
            positions: vec![None; constellation.len()],
            topology: Topology::new(constellation, Vec::new(), rules)?,
            grid,
            centres,
        })
    }

    /// Enters the state that begins at `t_s`. States must go forward in time, because cross-seam links move step by step.
    pub fn enter(&mut self, t_s: f64) {
        self.topology.update(t_s);
        self.topology.positions_ecef(t_s, &mut self.positions);
        let c_m_s = self.topology.constellation().earth().c_m_s;
        self.links.iter_mut().for_each(Vec::clear);
        for (number, link) in (0u32..).zip(self.topology.links()).filter(|(_, link)| link.up) {
            let ends = self.positions[link.a.index()].zip(self.positions[link.b.index()]);
            let Some(delay_s) = ends.map(|(a, b)| a.distance_m(b) / c_m_s) else { continue };
            for (from, node) in [(link.a, link.b), (link.b, link.a)] {
                self.links[from.index()].push(Neighbour { link: LinkId(number), node, delay_s });
            }
        }
        self.cover();
    }

    /// Enters the state of `view`, which must have the same constellation: its working links, and cells covered by the satellite
    /// that serves their first terminal, or the highest if they have no terminal.
    pub fn enter_view(&mut self, view: &View<'_>) {
        for satellite in (0..self.links.len() as u32).map(NodeId) {
            self.positions[satellite.index()] = view.position(satellite);
            let neighbour = |edge: &Edge| Neighbour {
                link: edge.link,
                node: edge.to,
                delay_s: view.delay_s(edge.length_m),
            };
            let links = &mut self.links[satellite.index()];
            links.clear();
            links.extend(view.working_isls(satellite).map(neighbour));
        }
        self.cover();
        for terminal in (0..view.topology().terminals().len()).rev() {
            let Some(node) = view.topology().terminal_node(terminal) else { continue };
            if let Some((place, satellite)) = view.position(node).zip(view.serving(node)) {
                let cell = self.cell_of(place);
                self.covering[cell.index()] = Some(satellite);
            }
        }
    }

    fn cover(&mut self) {
        let mask_sine = self.topology.rules().elevation_mask_rad.sin();
        for (covering, &(place, up)) in self.covering.iter_mut().zip(&self.centres) {
            let mut best = mask_sine;
            *covering = None;
            for (satellite, position) in (0u32..).zip(&self.positions) {
                let Some(position) = *position else { continue };
                let to = position.0 - place.0;
                let rise_m = to.dot(up);
                if rise_m <= 0.0 && best >= 0.0 {
                    continue;
                }
                let sine = rise_m / to.norm();
                if sine > best {
                    (best, *covering) = (sine, Some(NodeId(satellite)));
                }
            }
        }
    }

    /// The satellite's table in this state, by least delay to the satellite of highest elevation at the cell's centre. Among next
    /// hops of equal delay, that of `before` is kept if it is one of them; else the link of the lowest number is taken.
    pub fn table(&self, satellite: NodeId, before: Option<&ForwardingTable>) -> ForwardingTable {
        let neighbours = &self.links[satellite.index()];
        let delays: Vec<Vec<f64>> =
            neighbours.iter().map(|neighbour| self.delays_from(neighbour.node)).collect();
        self.table_by(satellite, &delays.iter().map(Vec::as_slice).collect::<Vec<_>>(), before)
    }

    /// The tables of all satellites with a position in this state, as [`Self::table`] has each; `before` has those of the previous
    /// state, by satellite, and gets these. Returns the number of tables that are not as before, and of their entries that differ;
    /// a satellite without a previous table counts for neither.
    pub fn replace_tables(&self, before: &mut [Option<ForwardingTable>]) -> (u64, u64) {
        let delays: Vec<Vec<f64>> =
            (0..self.links.len() as u32).map(|n| self.delays_from(NodeId(n))).collect();
        let (mut tables, mut entries) = (0, 0);
        for (number, kept) in (0u32..).zip(before) {
            let satellite = NodeId(number);
            if self.positions[satellite.index()].is_none() {
                *kept = None;
                continue;
            }
            let of_links = self.links[satellite.index()].iter();
            let delays: Vec<&[f64]> = of_links.map(|link| delays[link.node.index()].as_slice()).collect();
            let table = self.table_by(satellite, &delays, kept.as_ref());
            let changed = kept.as_ref().map_or(0, |kept| table.delta(kept).len() as u64);
            (tables, entries) = (tables + u64::from(changed > 0), entries + changed);
            *kept = Some(table);
        }
        (tables, entries)
    }

    /// The table of a satellite; `delays` has the least delays from each of its neighbours.
    fn table_by(
        &self,
        satellite: NodeId,
        delays: &[&[f64]],
        before: Option<&ForwardingTable>,
    ) -> ForwardingTable {
        let neighbours = &self.links[satellite.index()];
        let next = (0u32..).map(CellId).zip(&self.covering).map(|(cell, &covering)| {
            let Some(target) = covering else { return CellHop::Nowhere };
            if target == satellite {
                return CellHop::Down;
            }
            let through = |way: usize| neighbours[way].delay_s + delays[way][target.index()];
            let least = (0..neighbours.len()).map(through).fold(f64::INFINITY, f64::min);
            let good =
                (0..neighbours.len()).filter(|&way| least.is_finite() && through(way) <= least + TIE_S);
            let good = good.map(|way| CellHop::Link(neighbours[way].link));
            let kept = before.map(|before| before.next(cell));
            good.clone().find(|&next| Some(next) == kept).or_else(|| good.min()).unwrap_or(CellHop::Nowhere)
        });
        ForwardingTable { satellite, next: next.collect() }
    }

    /// The satellite's table under geographic forwarding: the neighbour nearest to the cell (HT 6.5).
    pub fn geographic_table(&self, satellite: NodeId) -> ForwardingTable {
        let neighbours = &self.links[satellite.index()];
        let next = self.covering.iter().zip(&self.centres).map(|(&covering, &(place, _))| {
            let away_m = |neighbour: &Neighbour| {
                self.positions[neighbour.node.index()].map_or(f64::INFINITY, |there| there.distance_m(place))
            };
            match covering {
                None => CellHop::Nowhere,
                Some(target) if target == satellite => CellHop::Down,
                Some(_) => neighbours
                    .iter()
                    .min_by(|a, b| away_m(a).total_cmp(&away_m(b)))
                    .map_or(CellHop::Nowhere, |neighbour| CellHop::Link(neighbour.link)),
            }
        });
        ForwardingTable { satellite, next: next.collect() }
    }

    /// The cell of a position.
    pub fn cell_of(&self, place: Ecef) -> CellId {
        self.grid.cell_at(place.latitude_rad(), place.longitude_rad())
    }

    /// The grid of cells.
    pub fn grid(&self) -> &CellGrid {
        &self.grid
    }

    /// The network in this state.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The satellite that covers a cell in this state.
    pub fn covering(&self, cell: CellId) -> Option<NodeId> {
        self.covering[cell.index()]
    }

    /// Least delay from a satellite to each other one, s.
    fn delays_from(&self, satellite: NodeId) -> Vec<f64> {
        let mut delays_s = vec![f64::INFINITY; self.links.len()];
        delays_s[satellite.index()] = 0.0;
        let mut queue = BinaryHeap::from([Reached { cost: 0.0, node: satellite }]);
        while let Some(Reached { cost: delay_s, node }) = queue.pop() {
            if delay_s > delays_s[node.index()] {
                continue;
            }
            for neighbour in &self.links[node.index()] {
                let through_s = delay_s + neighbour.delay_s;
                if through_s < delays_s[neighbour.node.index()] {
                    delays_s[neighbour.node.index()] = through_s;
                    queue.push(Reached { cost: through_s, node: neighbour.node });
                }
            }
        }
        delays_s
    }
}
