//! Positions of satellites and terminals, and distances between them.
//!
//! Follows the orbits of the constellation, and the courses of terminals that have one; other terminals do not move.
//! Differs: positions at the last update are kept, without satellites that had failed by then.
//! Left out: links, which are [`crate::Topology`]'s.

use std::sync::Arc;

use skyhop_orbit::{Constellation, Course, Ecef, Terminal};

use crate::fleet::Fleets;
use crate::gsl::Site;
use crate::link::NodeId;

/// Satellites and terminals, with their positions.
#[derive(Debug, Clone)]
pub struct Geometry {
    // Shared by the copies of a network at different instants.
    fleets: Arc<Fleets>,
    /// The satellites of all fleets.
    constellation: Arc<Constellation>,
    /// The terminals; one with a course has its position at the last update.
    terminals: Vec<Terminal>,
    sites: Vec<Site>,
    /// Course of each terminal; empty while none has a course.
    courses: Vec<Option<Arc<Course>>>,
    /// Position of each satellite at `located_s`; `None` if it is unavailable.
    positions: Vec<Option<Ecef>>,
    /// As `positions`, but only of satellites that may serve terminals.
    serving: Vec<Option<Ecef>>,
    unavailable: usize,
    /// For each satellite, true if it may serve terminals.
    serves: Vec<bool>,
    /// The instant of `positions`, s.
    located_s: Option<f64>,
}

impl Geometry {
    /// Satellites and terminals before the first update.
    pub(crate) fn new(fleets: Fleets, constellation: Constellation, terminals: Vec<Terminal>) -> Self {
        let satellites = (0..constellation.len() as u32).map(NodeId);
        Self {
            serves: satellites.map(|satellite| fleets.serves(satellite)).collect(),
            fleets: Arc::new(fleets),
            sites: terminals.iter().map(|terminal| site(&constellation, terminal)).collect(),
            constellation: Arc::new(constellation),
            terminals,
            courses: Vec::new(),
            positions: Vec::new(),
            serving: Vec::new(),
            unavailable: 0,
            located_s: None,
        }
    }

    /// Computes all positions at `t_s`; satellites in `failed` get none.
    pub(crate) fn locate(&mut self, t_s: f64, failed: impl Iterator<Item = u32>) {
        self.located_s = Some(t_s);
        (0..self.courses.len()).for_each(|terminal| self.take_along(terminal, t_s));
        self.unavailable = self.constellation.positions_ecef(t_s, &mut self.positions);
        for satellite in failed {
            if let Some(position @ Some(_)) = self.positions.get_mut(satellite as usize) {
                *position = None;
                self.unavailable += 1;
            }
        }
        self.serving.clear();
        let serving = self.positions.iter().zip(&self.serves);
        self.serving.extend(serving.map(|(position, serves)| position.filter(|_| *serves)));
    }

    /// The instant of the last update, s; `None` if failures have changed since.
    pub(crate) fn located_s(&self) -> Option<f64> {
        self.located_s
    }

    /// Makes the next update compute positions again.
    pub(crate) fn forget_look(&mut self) {
        self.located_s = None;
    }

    /// Makes a terminal follow a course. Returns `None` if there is no such terminal.
    pub(crate) fn follow(&mut self, terminal: usize, course: Course) -> Option<()> {
        self.terminals.get(terminal)?;
        self.courses.resize(self.terminals.len(), None);
        self.courses[terminal] = Some(Arc::new(course));
        self.take_along(terminal, self.located_s.unwrap_or(0.0));
        Some(())
    }

    /// The course that a terminal follows, if any.
    pub fn course(&self, terminal: usize) -> Option<&Course> {
        self.courses.get(terminal)?.as_deref()
    }

    /// A terminal with its position at `t_s`.
    pub fn terminal_at(&self, terminal: usize, t_s: f64) -> Option<Terminal> {
        let known = self.terminals.get(terminal)?;
        Some(match self.course(terminal) {
            Some(course) => course.terminal(known.name.clone(), t_s),
            None => known.clone(),
        })
    }

    /// Moves a terminal along its course to `t_s`.
    fn take_along(&mut self, terminal: usize, t_s: f64) {
        let Some(course) = self.courses[terminal].as_deref() else { return };
        let (up, height_m) = course.at(t_s);
        self.sites[terminal] = Site { place: self.constellation.earth().above(up, height_m), up };
        let name = std::mem::take(&mut self.terminals[terminal].name);
        self.terminals[terminal] = course.terminal(name, t_s);
    }

    /// Position of a terminal at `t_s`.
    #[inline]
    fn place(&self, terminal: usize, t_s: f64) -> Option<Ecef> {
        match self.course(terminal) {
            Some(course) => Some(course.position_ecef(self.constellation.earth(), t_s)),
            None => Some(self.sites.get(terminal)?.place),
        }
    }

    /// Moves a terminal, which keeps its name and leaves its course. Returns `None` if there is no such terminal.
    pub(crate) fn move_terminal(&mut self, terminal: usize, to: &Terminal) -> Option<()> {
        let place = self.terminals.get_mut(terminal)?;
        *place = Terminal { name: std::mem::take(&mut place.name), ..to.clone() };
        self.sites[terminal] = site(&self.constellation, to);
        if let Some(course) = self.courses.get_mut(terminal) {
            *course = None;
        }
        Some(())
    }

    /// Positions of the satellites at the last update.
    pub(crate) fn positions(&self) -> &[Option<Ecef>] {
        &self.positions
    }

    /// As [`Self::positions`], but only of satellites that may serve terminals.
    pub(crate) fn serving(&self) -> &[Option<Ecef>] {
        &self.serving
    }

    /// Position and zenith of a terminal at the last update.
    pub(crate) fn site(&self, terminal: usize) -> Site {
        self.sites[terminal]
    }

    /// Number of satellites that were unavailable or had failed at the last update.
    pub fn unavailable(&self) -> usize {
        self.unavailable
    }

    /// The constellations.
    pub fn fleets(&self) -> &Fleets {
        &self.fleets
    }

    /// The satellites of all constellations.
    pub fn constellation(&self) -> &Constellation {
        &self.constellation
    }

    /// The terminals, in node order.
    pub fn terminals(&self) -> &[Terminal] {
        &self.terminals
    }

    /// Index of the terminal that is `node`; `None` for other nodes.
    pub fn terminal_index(&self, node: NodeId) -> Option<usize> {
        node.index().checked_sub(self.constellation.len()).filter(|index| *index < self.terminals.len())
    }

    /// Node of the terminal with this index.
    pub fn terminal_node(&self, terminal: usize) -> Option<NodeId> {
        (terminal < self.terminals.len()).then(|| NodeId((self.constellation.len() + terminal) as u32))
    }

    /// Name of a satellite or a terminal.
    pub fn node_name(&self, node: NodeId) -> String {
        match self.terminal_index(node).and_then(|index| self.terminals.get(index)) {
            Some(terminal) => terminal.name.clone(),
            None => self.fleets.satellite_name(node),
        }
    }

    /// Plane and slot of a satellite, or its name if it has none.
    pub fn place_name(&self, satellite: NodeId) -> String {
        self.fleets.place_name(satellite)
    }

    /// Position of a node at `t_s`; `None` for an unavailable satellite or an unknown node.
    pub fn position_ecef(&self, node: NodeId, t_s: f64) -> Option<Ecef> {
        match self.terminal_index(node) {
            Some(terminal) => self.place(terminal, t_s),
            None => self.constellation.position_ecef(node.0, t_s),
        }
    }

    /// Replaces `out` by the positions of all nodes at `t_s`, in node order. With `kept`, positions of the last update may be used.
    pub(crate) fn positions_ecef(&self, t_s: f64, kept: bool, out: &mut Vec<Option<Ecef>>) {
        // SGP4 for thousands of satellites dominates the cost, and an update has just computed it.
        if kept && self.located_s == Some(t_s) {
            out.clone_from(&self.positions);
        } else {
            self.constellation.positions_ecef(t_s, out);
        }
        out.extend((0..self.sites.len()).map(|terminal| self.place(terminal, t_s)));
    }

    /// Straight-line distance between two nodes at `t_s` in metres; there need not be a link between them.
    pub fn distance_m(&self, a: NodeId, b: NodeId, t_s: f64) -> Option<f64> {
        Some(self.position_ecef(a, t_s)?.distance_m(self.position_ecef(b, t_s)?))
    }
}

fn site(constellation: &Constellation, terminal: &Terminal) -> Site {
    Site { place: terminal.position_ecef(constellation.earth()), up: terminal.up() }
}
