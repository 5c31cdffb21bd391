//! The network of satellites and terminals, brought up to date now and then.
//!
//! Follows HT 6.2's synchronous handoffs: all links are looked at together, at instants that the caller picks.
//! Differs: ns-2's nodes each keep a timer; here time comes in through [`Topology::update`].
//! Left out: failures at random, which whoever schedules them draws.

use std::collections::BTreeSet;
use std::fmt;

use skyhop_orbit::{Constellation, Ecef, Terminal, TerminalError};

use crate::failures::{Failing, Outage};
use crate::gsl::{self, Sight, Site};
use crate::isl;
use crate::link::{Change, LinkId, LinkKind, LinkState, NodeId};
use crate::rules::{Handover, Rules, RulesError};

/// Satellites, terminals and the links between them. All links are down until the first [`Topology::update`].
#[derive(Debug, Clone)]
pub struct Topology {
    constellation: Constellation,
    terminals: Vec<Terminal>,
    sites: Vec<Site>,
    rules: Rules,
    links: Vec<LinkState>,
    /// Number of ISLs; the GSL of terminal k has this number plus k.
    isls: usize,
    /// Per terminal, whether the far end of its GSL is a satellite it holds.
    attached: Vec<bool>,
    changes: Vec<Change>,
    positions: Vec<Option<Ecef>>,
    /// `positions` of the satellites that may serve terminals.
    serving: Vec<Option<Ecef>>,
    unavailable: usize,
    outages: Vec<Outage>,
    updated_s: Option<f64>,
}

impl Topology {
    /// A network with all possible links numbered and down.
    ///
    /// # Errors
    ///
    /// A constellation without satellites, a rule out of range, a terminal that is nowhere, two terminals of one name.
    pub fn new(
        constellation: Constellation,
        terminals: Vec<Terminal>,
        rules: Rules,
    ) -> Result<Self, TopologyError> {
        if constellation.is_empty() {
            return Err(TopologyError::NoSatellites);
        }
        rules.check().map_err(TopologyError::Rules)?;
        let mut names = BTreeSet::new();
        for terminal in &terminals {
            terminal.check().map_err(TopologyError::Terminal)?;
            if !names.insert(terminal.name.as_str()) {
                return Err(TopologyError::DuplicateTerminal { name: terminal.name.clone() });
            }
        }
        let mut links = isl::possible(&constellation, &rules);
        let isls = links.len();
        let satellites = constellation.len() as u32;
        links.extend((0..terminals.len() as u32).map(|terminal| LinkState {
            a: NodeId(satellites + terminal),
            b: NodeId(0),
            up: false,
            kind: LinkKind::Gsl,
        }));
        Ok(Self {
            sites: terminals.iter().map(|terminal| site(&constellation, terminal)).collect(),
            attached: vec![rules.handover == Handover::FollowPlane; terminals.len()],
            constellation,
            terminals,
            rules,
            links,
            isls,
            changes: Vec::new(),
            positions: Vec::new(),
            serving: Vec::new(),
            unavailable: 0,
            outages: Vec::new(),
            updated_s: None,
        })
    }

    /// Looks at all links as they should be at `t_s`, and returns those that changed, by link number.
    ///
    /// Hand-offs depend on the state before: call it at the times of the rules' interval, in order.
    pub fn update(&mut self, t_s: f64) -> &[Change] {
        self.locate(t_s);
        self.changes.clear();
        for link in 0..self.links.len() {
            let was = self.links[link];
            let is = match link.checked_sub(self.isls) {
                None => isl::at(was, &self.constellation, &self.rules, &self.positions),
                Some(terminal) => self.gsl_at(terminal, t_s),
            };
            let failed = self.link_fails(LinkId(link as u32), t_s);
            self.set(link, LinkState { up: is.up && !failed, ..is });
        }
        self.updated_s = Some(t_s);
        &self.changes
    }

    /// Moves a terminal at `t_s` to where `to` says; it lets go of its satellite and takes the highest. The terminal
    /// keeps its node, its link and its name.
    pub fn move_terminal(
        &mut self,
        terminal: usize,
        to: &Terminal,
        t_s: f64,
    ) -> Result<&[Change], TopologyError> {
        to.check().map_err(TopologyError::Terminal)?;
        let count = self.terminals.len();
        let Some(place) = self.terminals.get_mut(terminal) else {
            return Err(TopologyError::UnknownTerminal { index: terminal, count });
        };
        *place = Terminal { name: std::mem::take(&mut place.name), ..to.clone() };
        self.sites[terminal] = site(&self.constellation, to);
        self.attached[terminal] = false;
        self.locate(t_s);
        self.changes.clear();
        let is = self.gsl_at(terminal, t_s);
        self.set(self.isls + terminal, is);
        Ok(&self.changes)
    }

    /// What fails when; in force from the next update on. A terminal whose satellite fails looks for another, one whose
    /// link fails holds on to it.
    pub fn schedule(&mut self, outages: Vec<Outage>) {
        self.outages = outages;
    }

    fn link_fails(&self, link: LinkId, t_s: f64) -> bool {
        self.outages.iter().any(|outage| outage.what == Failing::Link(link) && outage.is_at(t_s))
    }

    fn locate(&mut self, t_s: f64) {
        self.unavailable = self.constellation.positions_ecef(t_s, &mut self.positions);
        for outage in self.outages.iter().filter(|outage| outage.is_at(t_s)) {
            if let Failing::Satellite(satellite) = outage.what
                && let Some(position @ Some(_)) = self.positions.get_mut(satellite as usize)
            {
                *position = None;
                self.unavailable += 1;
            }
        }
        let planes = self.constellation.planes();
        let serves = |satellite| {
            self.rules.spares_serve || planes.is_empty() || planes.plane_slot(satellite).is_some()
        };
        self.serving.clear();
        self.serving.extend(
            (0u32..).zip(&self.positions).map(|(satellite, position)| position.filter(|_| serves(satellite))),
        );
    }

    fn gsl_at(&mut self, terminal: usize, t_s: f64) -> LinkState {
        let sight = Sight {
            site: self.sites[terminal],
            constellation: &self.constellation,
            rules: &self.rules,
            positions: &self.serving,
            t_s,
            last_s: self.updated_s,
        };
        let is = gsl::at(self.links[self.isls + terminal], self.attached[terminal], sight);
        self.attached[terminal] = is.up;
        is
    }

    fn set(&mut self, link: usize, is: LinkState) {
        let was = std::mem::replace(&mut self.links[link], is);
        if was != is {
            self.changes.push(Change { link: LinkId(link as u32), was, is });
        }
    }

    /// All possible links as of the last update, by number.
    pub fn links(&self) -> &[LinkState] {
        &self.links
    }

    /// One link as of the last update.
    pub fn link(&self, link: LinkId) -> Option<&LinkState> {
        self.links.get(link.index())
    }

    /// The ground-satellite link of a terminal.
    pub fn gsl(&self, terminal: usize) -> Option<LinkId> {
        (terminal < self.terminals.len()).then(|| LinkId((self.isls + terminal) as u32))
    }

    /// A lasting name: `isl:3.4-3.5` by planes and slots, `isl:0.4-seam` for one whose peer changes, `gsl:new-york`.
    pub fn name(&self, link: LinkId) -> String {
        let Some(state) = self.link(link) else { return format!("link-{}", link.0) };
        match state.kind {
            LinkKind::Gsl => format!("gsl:{}", self.node_name(state.a)),
            LinkKind::CrossSeam => format!("isl:{}-seam", self.place_name(state.a)),
            LinkKind::IntraPlane | LinkKind::InterPlane => {
                format!("isl:{}-{}", self.place_name(state.a), self.place_name(state.b))
            }
        }
    }

    fn place_name(&self, satellite: NodeId) -> String {
        let place = self.constellation.plane_slot(satellite.0);
        place.map_or_else(|| self.node_name(satellite), |(plane, slot)| format!("{plane}.{slot}"))
    }

    /// A satellite's or terminal's name.
    pub fn node_name(&self, node: NodeId) -> String {
        match self.terminal_index(node).and_then(|index| self.terminals.get(index)) {
            Some(terminal) => terminal.name.clone(),
            None => self.constellation.name(node.0),
        }
    }

    /// Number of satellites and terminals together.
    pub fn nodes(&self) -> usize {
        self.constellation.len() + self.terminals.len()
    }

    /// The node of the terminal with this index.
    pub fn terminal_node(&self, terminal: usize) -> Option<NodeId> {
        (terminal < self.terminals.len()).then(|| NodeId((self.constellation.len() + terminal) as u32))
    }

    /// The node of the terminal with this name.
    pub fn terminal_named(&self, name: &str) -> Option<NodeId> {
        self.terminal_node(self.terminals.iter().position(|terminal| terminal.name == name)?)
    }

    /// The terminal's index if the node is one.
    pub fn terminal_index(&self, node: NodeId) -> Option<usize> {
        node.index().checked_sub(self.constellation.len())
    }

    /// Whether the node is a satellite.
    pub fn is_satellite(&self, node: NodeId) -> bool {
        node.index() < self.constellation.len()
    }

    /// The satellites.
    pub fn constellation(&self) -> &Constellation {
        &self.constellation
    }

    /// The terminals, in node order.
    pub fn terminals(&self) -> &[Terminal] {
        &self.terminals
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// How many satellites had no position, or had failed, at the last update.
    pub fn unavailable(&self) -> usize {
        self.unavailable
    }

    /// Where a node is at `t_s`; `None` for an unavailable satellite or an unknown node.
    pub fn position_ecef(&self, node: NodeId, t_s: f64) -> Option<Ecef> {
        match self.terminal_index(node) {
            Some(terminal) => Some(self.sites.get(terminal)?.place),
            None => self.constellation.position_ecef(node.0, t_s),
        }
    }

    /// Where all nodes are at `t_s`, in node order; `out` is replaced.
    pub fn positions_ecef(&self, t_s: f64, out: &mut Vec<Option<Ecef>>) {
        self.constellation.positions_ecef(t_s, out);
        out.extend(self.sites.iter().map(|site| Some(site.place)));
    }

    /// Straight-line distance between two nodes at `t_s` in metres, whether or not a link joins them.
    pub fn distance_m(&self, a: NodeId, b: NodeId, t_s: f64) -> Option<f64> {
        Some(self.position_ecef(a, t_s)?.distance_m(self.position_ecef(b, t_s)?))
    }

    /// Propagation delay between two nodes at `t_s` in seconds, at the speed of light of the Earth model.
    pub fn one_way_delay_s(&self, a: NodeId, b: NodeId, t_s: f64) -> Option<f64> {
        Some(self.distance_m(a, b, t_s)? / self.constellation.earth().c_m_s)
    }
}

fn site(constellation: &Constellation, terminal: &Terminal) -> Site {
    Site { place: terminal.position_ecef(constellation.earth()), up: terminal.up() }
}

/// Why there is no such network.
#[derive(Debug, Clone, PartialEq)]
pub enum TopologyError {
    /// The constellation is empty.
    NoSatellites,
    /// A rule is out of range.
    Rules(RulesError),
    /// A terminal is nowhere.
    Terminal(TerminalError),
    /// Two terminals have one name.
    DuplicateTerminal {
        /// The name.
        name: String,
    },
    /// No terminal with this index.
    UnknownTerminal {
        /// The index.
        index: usize,
        /// How many there are.
        count: usize,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSatellites => write!(f, "constellation of 0 satellites; expected at least 1"),
            Self::Rules(error) => error.fmt(f),
            Self::Terminal(error) => error.fmt(f),
            Self::DuplicateTerminal { name } => {
                write!(f, "terminal \"{name}\" occurs twice; expected names that differ")
            }
            Self::UnknownTerminal { index, count } => {
                write!(f, "terminal number {index}; expected less than {count}")
            }
        }
    }
}

impl std::error::Error for TopologyError {}
