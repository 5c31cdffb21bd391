//! The network of satellites and terminals, updated at instants that the caller chooses.
//!
//! Follows HT 6.2's synchronous handoffs: all links are updated together.
//! Differs: ns-2's nodes each keep a timer; here the time is an argument of [`Topology::update`].
//! Left out: the effect of a change on packets, which is the simulator's.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use skyhop_chance::Stream;
use skyhop_orbit::{Constellation, Course, Ecef, MixtureError, Terminal, TerminalError};

use crate::acquisition::LinkStates;
use crate::antennas::AntennaLinks;
use crate::checks::Checks;
use crate::failures::{Outage, ScheduledFailures};
use crate::fleet::{Fleet, Fleets};
use crate::geometry::Geometry;
use crate::ground::{Ground, GroundLink};
use crate::gsl::{self, HandoverPolicy, Sight};
use crate::isl::{self, LinkRule};
use crate::link::{LinkChange, LinkId, LinkKind, LinkState, NodeId};
use crate::rules::{Handover, Rules, RulesError};
use crate::shells;
use crate::station::{self, Fibre, Station};

/// Satellites, terminals and the links between them. All links are down until the first [`Topology::update`].
#[derive(Debug, Clone)]
pub struct Topology {
    geometry: Geometry,
    gateways: Vec<bool>,
    ground: Ground,
    /// ISLs, then GSLs by terminal and antenna, then fibre, then links on the ground.
    links: LinkStates,
    checks: Checks,
    link_rule: Option<Arc<dyn LinkRule>>,
    policy: Option<Arc<dyn HandoverPolicy>>,
    antennas: AntennaLinks,
    /// Candidates of a terminal with several antennas; kept so that the memory is reused.
    sky: gsl::Candidates,
    failures: ScheduledFailures,
    /// True once the links have been updated.
    updated: bool,
}

impl Topology {
    /// A network of terminals with one antenna each. All possible links are numbered, and down.
    ///
    /// # Errors
    ///
    /// No satellites, a rule out of range, an invalid terminal, two terminals of the same name.
    pub fn new(
        constellation: Constellation,
        terminals: Vec<Terminal>,
        rules: Rules,
    ) -> Result<Self, TopologyError> {
        let stations = terminals.into_iter().map(Station::terminal).collect();
        Self::with_stations(constellation, stations, &Fibre::None, rules)
    }

    /// A network with terminals of several antennas, gateways, and fibre between stations.
    ///
    /// # Errors
    ///
    /// As for [`Topology::new`]; a station without an antenna, fibre to a station that does not exist.
    pub fn with_stations(
        constellation: Constellation,
        stations: Vec<Station>,
        fibre: &Fibre,
        rules: Rules,
    ) -> Result<Self, TopologyError> {
        let antennas: Vec<Vec<u16>> = stations.iter().map(|station| vec![station.antennas]).collect();
        let fleet = Fleet { name: String::new(), constellation, rules };
        Self::with_fleets(vec![fleet], stations, &antennas, fibre)
    }

    /// A network of several constellations. `antennas` has the number of antennas of each station for each constellation; without
    /// one the station does not use the constellation.
    ///
    /// # Errors
    ///
    /// As for [`Topology::with_stations`]; no constellation, or constellations that cannot be mixed.
    pub fn with_fleets(
        fleets: Vec<Fleet>,
        stations: Vec<Station>,
        antennas: &[Vec<u16>],
        fibre: &Fibre,
    ) -> Result<Self, TopologyError> {
        if fleets.iter().any(|fleet| fleet.constellation.is_empty()) {
            return Err(TopologyError::NoSatellites);
        }
        fleets.iter().try_for_each(|fleet| fleet.rules.check()).map_err(TopologyError::Rules)?;
        let (fleets, mut links) = Fleets::new(fleets).ok_or(TopologyError::NoSatellites)?;
        let constellation = fleets.mixed().map_err(TopologyError::Mixture)?;
        let mut names = BTreeSet::new();
        for (station, antennas) in stations.iter().zip(antennas) {
            let name = station.terminal.name.as_str();
            station.terminal.check().map_err(TopologyError::Terminal)?;
            if !names.insert(name) {
                return Err(TopologyError::DuplicateTerminal { name: name.to_owned() });
            }
            if antennas.iter().all(|count| *count == 0) {
                return Err(TopologyError::NoAntenna { name: name.to_owned() });
            }
        }
        let pairs = fibre.pairs(&stations);
        if let Some(&(_, index)) = pairs.iter().find(|(_, b)| *b >= stations.len()) {
            return Err(TopologyError::UnknownTerminal { index, count: stations.len() });
        }
        let satellites = constellation.len() as u32;
        let mut antenna_links = AntennaLinks::new(links.len(), fleets.len());
        for (terminal, antennas) in (0u32..).zip(antennas) {
            let a = NodeId(satellites + terminal);
            for index in 0..fleets.len() {
                let satellites = fleets.satellites(index);
                // A terminal cannot hold more satellites than there are.
                let count = antennas.get(index).map_or(0, |count| usize::from(*count).min(satellites.len()));
                let link = LinkState { a, b: NodeId(satellites.start), up: false, kind: LinkKind::Gsl };
                links.extend(std::iter::repeat_n(link, count));
                let follows = fleets.rules(index).handover == Handover::FollowPlane;
                antenna_links.push(count, follows);
            }
        }
        links.extend(pairs.into_iter().map(|pair| {
            let (a, b) = station::nodes(pair, satellites);
            LinkState { a, b, up: false, kind: LinkKind::Fibre }
        }));
        Ok(Self {
            gateways: stations.iter().map(|station| station.gateway).collect(),
            ground: Ground::default(),
            checks: Checks::at_updates(stations.len(), fleets.update_interval_s()),
            geometry: Geometry::new(
                fleets,
                constellation,
                stations.iter().map(|station| station.terminal.clone()).collect(),
            ),
            links: LinkStates::new(links),
            link_rule: None,
            policy: None,
            antennas: antenna_links,
            sky: gsl::Candidates::default(),
            failures: ScheduledFailures::default(),
            updated: false,
        })
    }

    /// Adds ground nodes and ground links. The nodes' numbers follow the terminals'; a terminal at the end of a ground link
    /// forwards packets between the link and its satellites.
    pub fn with_ground(mut self, nodes: Vec<String>, links: Vec<GroundLink>) -> Self {
        self.links.extend(links.iter().map(|link| {
            let [a, b] = link.ends;
            LinkState { a, b, up: false, kind: LinkKind::Ground }
        }));
        self.ground = Ground::new(nodes, links);
        self
    }

    /// The first ground link.
    pub fn first_ground_link(&self) -> LinkId {
        LinkId((self.links().len() - self.ground.links().len()) as u32)
    }

    /// The ground link with this number; `None` for other links.
    fn ground_link(&self, link: LinkId) -> Option<&GroundLink> {
        self.ground.links().get(link.0.checked_sub(self.first_ground_link().0)? as usize)
    }

    /// Updates all links to `t_s`. Returns the changes: first of links whose acquisition ended, then of the others by link
    /// number.
    ///
    /// Hand-offs depend on the state before, so call it in order, at multiples of the rules' interval. With acquisition times,
    /// gaps or asynchronous checks, call [`Self::settle`] in between.
    pub fn update(&mut self, t_s: f64) -> &[LinkChange] {
        self.locate(t_s);
        self.links.begin();
        self.links.finish(t_s);
        for fleet in 0..self.fleets().len() {
            self.look_between_satellites(fleet, t_s);
        }
        for terminal in 0..self.terminals().len() {
            if self.updated && self.checks.have_clocks() {
                self.let_go(terminal, t_s);
            } else {
                self.choose(terminal, t_s);
            }
        }
        for link in self.antennas.all().end..self.links().len() {
            let was = self.links()[link];
            let up = [was.a, was.b].iter().all(|&end| !self.station_fails(end));
            self.decide_unless_failed(link, LinkState { up, ..was }, t_s);
        }
        self.updated = true;
        self.links.changes()
    }

    /// Updates the ISLs of a constellation.
    fn look_between_satellites(&mut self, fleet: usize, t_s: f64) {
        let rules = *self.fleets().rules(fleet);
        let links = self.fleets().isls(fleet);
        let within =
            self.links.decided_of(links.clone()).partition_point(|link| link.kind != LinkKind::InterShell);
        let (within, between) = (links.start..links.start + within, links.start + within..links.end);
        for link in within {
            let (constellation, positions) = (self.geometry.constellation(), self.geometry.positions());
            let is = isl::at(self.links.decided(link), constellation, &rules, positions);
            self.decide_isl(link, is, t_s);
        }
        let (constellation, positions) = (self.geometry.constellation(), self.geometry.positions());
        let clear = |a, b| isl::is_up(LinkKind::InterShell, a, b, constellation, &rules);
        let joined =
            shells::at(self.links.decided_of(between.clone()), constellation.planes(), positions, clear);
        for (link, is) in between.zip(joined) {
            self.decide_isl(link, is, t_s);
        }
    }

    /// Sets the decided state of an ISL to `is`, unless the caller's rule overrides it.
    fn decide_isl(&mut self, link: usize, mut is: LinkState, t_s: f64) {
        let positions = self.geometry.positions();
        if let Some(rule) = &self.link_rule
            && let Some(ends) = positions[is.a.index()].zip(positions[is.b.index()])
        {
            is.up = rule.is_up(is, ends, t_s);
        }
        self.decide_unless_failed(link, is, t_s);
    }

    /// Time of the next event between updates: the end of an acquisition, or a terminal's check, s.
    pub fn next_event_s(&self) -> Option<f64> {
        self.links.due_s().chain(self.checks.next_s()).min_by(f64::total_cmp)
    }

    /// Handles the events that are due by `t_s` between updates, without checking all links. Returns the changes.
    pub fn settle(&mut self, t_s: f64) -> &[LinkChange] {
        self.links.begin();
        self.links.finish(t_s);
        for terminal in self.checks.take_due(t_s) {
            if self.geometry.located_s() != Some(t_s) {
                self.locate(t_s);
            }
            self.choose(terminal, t_s);
        }
        self.links.changes()
    }

    /// Makes each terminal check its satellites at its own times only: every `period_s`, give or take `dither_s`, from a random
    /// instant within the first period on (HT 6.2's asynchronous handover). Failures are still noticed at updates.
    ///
    /// # Errors
    ///
    /// A period outside a millisecond to a day; a dither of more than nine tenths of the period.
    pub fn check_asynchronously(
        &mut self,
        period_s: f64,
        dither_s: f64,
        chance: Stream,
    ) -> Result<(), RulesError> {
        self.checks.set_clocks(period_s, dither_s, chance)
    }

    /// Sets the caller's rule for ISLs; see [`LinkRule`].
    pub fn set_link_rule(&mut self, rule: Arc<dyn LinkRule>) {
        self.link_rule = Some(rule);
    }

    /// Sets the caller's handover policy; see [`HandoverPolicy`].
    pub fn set_handover_policy(&mut self, policy: Arc<dyn HandoverPolicy>) {
        self.policy = Some(policy);
    }

    /// Returns true if a link is down because it is being acquired.
    pub fn is_acquiring(&self, link: LinkId) -> bool {
        self.links.is_acquiring(link.index())
    }

    fn decide_unless_failed(&mut self, link: usize, is: LinkState, t_s: f64) {
        let is = LinkState { up: is.up && !self.link_fails(link), ..is };
        // The common case: no change.
        if !self.links.is_settled(link, is) {
            self.decide(link, is, t_s);
        }
    }

    /// Sets the decided state of a link to `is`.
    fn decide(&mut self, link: usize, is: LinkState, t_s: f64) {
        // At the first update every link counts as acquired.
        let rules = self.updated.then(|| self.geometry.fleets().rules_of(is.b));
        self.links.decide(link, is, t_s, rules);
    }

    /// Takes down the failed links of a terminal that has no check now.
    fn let_go(&mut self, terminal: usize, t_s: f64) {
        let station = self.station_fails(NodeId((self.constellation().len() + terminal) as u32));
        for link in self.antennas.of(terminal) {
            let fails = station || self.link_fails(link);
            let gone = |state: LinkState| {
                state.up && (fails || self.geometry.positions()[state.b.index()].is_none())
            };
            let decided = self.links.decided(link);
            if gone(decided) {
                self.decide(link, LinkState { up: false, ..decided }, t_s);
            } else if gone(self.links()[link]) {
                self.links.release_old(link);
            }
        }
    }

    /// Chooses the satellites that a terminal holds from `t_s` on.
    fn choose(&mut self, terminal: usize, t_s: f64) {
        let last_s = self.checks.look(terminal, t_s);
        for fleet in 0..self.fleets().len() {
            self.choose_of(fleet, terminal, t_s, last_s);
        }
    }

    /// Chooses the satellites of one constellation that a terminal holds; its previous check was at `last_s`.
    fn choose_of(&mut self, fleet: usize, terminal: usize, t_s: f64, last_s: Option<f64>) {
        let links = self.antennas.to(terminal, fleet);
        let rules = *self.fleets().rules(fleet);
        let satellites = self.fleets().satellites(fleet);
        let sight = Sight {
            site: self.geometry.site(terminal),
            constellation: self.geometry.constellation(),
            rules: &rules,
            positions: self.geometry.serving(),
            satellites: &satellites,
            t_s,
            last_s,
            next_look_s: self.checks.longest_s(),
            policy: self.policy.as_deref(),
        };
        let down = self.station_fails(NodeId((self.constellation().len() + terminal) as u32));
        if down {
            self.antennas.attached(links.clone()).fill(false);
            for link in links {
                self.decide(link, LinkState { up: false, ..self.links.decided(link) }, t_s);
            }
            return;
        }
        // Only make-before-break keeps a satellite that is no longer wanted, and it may have set meanwhile.
        let lost: Vec<usize> = match rules.make_before_break {
            true => links
                .clone()
                .filter(|&link| self.links()[link].up && !sight.serves(self.links()[link].b.0))
                .collect(),
            false => Vec::new(),
        };
        let attached = self.antennas.attached(links.clone());
        if let [attached] = attached {
            let link = links.start;
            let is = gsl::at(self.links.decided(link), *attached, sight);
            *attached = is.up;
            self.decide_unless_failed(link, is, t_s);
        } else {
            let mut sky = std::mem::take(&mut self.sky);
            sky.choose(self.links.decided_of(links.clone()), attached, sight);
            for (link, is) in links.zip(sky.chosen()) {
                self.decide_unless_failed(link, is, t_s);
            }
            self.sky = sky;
        }
        for link in lost {
            self.links.release_old(link);
        }
    }

    /// Makes a terminal follow a course. The satellites that it holds are chosen from its position at each check; remaining
    /// visibility is computed as if it stood there.
    ///
    /// # Errors
    ///
    /// There is no terminal with this index.
    pub fn follow(&mut self, terminal: usize, course: Course) -> Result<(), TopologyError> {
        let count = self.terminals().len();
        self.geometry
            .follow(terminal, course)
            .ok_or(TopologyError::UnknownTerminal { index: terminal, count })
    }

    /// The course that a terminal follows; `None` if it does not move.
    pub fn course(&self, terminal: usize) -> Option<&Course> {
        self.geometry.course(terminal)
    }

    /// A terminal with its position at `t_s`.
    pub fn terminal_at(&self, terminal: usize, t_s: f64) -> Option<Terminal> {
        self.geometry.terminal_at(terminal, t_s)
    }

    /// Moves a terminal at `t_s` to the position of `to`. It releases its satellite and takes the highest; it keeps its node,
    /// link and name, and leaves the course that it followed.
    pub fn move_terminal(
        &mut self,
        terminal: usize,
        to: &Terminal,
        t_s: f64,
    ) -> Result<&[LinkChange], TopologyError> {
        to.check().map_err(TopologyError::Terminal)?;
        let count = self.terminals().len();
        let unknown = TopologyError::UnknownTerminal { index: terminal, count };
        self.geometry.move_terminal(terminal, to).ok_or(unknown)?;
        self.antennas.attached(self.antennas.of(terminal)).fill(false);
        self.locate(t_s);
        self.links.begin();
        // A moved terminal is served at once, with no time for acquisition.
        let updated = std::mem::replace(&mut self.updated, false);
        self.checks.forget(terminal);
        self.choose(terminal, t_s);
        self.updated = updated;
        Ok(self.links.changes())
    }

    /// Sets the failures, which take effect at the next update. A terminal whose satellite fails looks for another; one whose
    /// link fails holds on to it.
    pub fn schedule(&mut self, outages: Vec<Outage>) {
        self.failures.schedule(outages);
        // Stored positions lack the satellites that failed by the old schedule.
        self.geometry.forget_look();
    }

    fn link_fails(&self, link: usize) -> bool {
        self.failures.link_fails(LinkId(link as u32))
    }

    fn station_fails(&self, node: NodeId) -> bool {
        let station = self.geometry.terminal_index(node).map(|station| station as u32);
        station.is_some_and(|station| self.failures.station_fails(station))
    }

    fn locate(&mut self, t_s: f64) {
        self.geometry.locate(t_s, self.failures.at(t_s));
    }

    /// The state of all possible links at the last update, by number.
    pub fn links(&self) -> &[LinkState] {
        self.links.effective()
    }

    /// The state of one link at the last update.
    pub fn link(&self, link: LinkId) -> Option<&LinkState> {
        self.links().get(link.index())
    }

    /// The ground-satellite link of a terminal's first antenna.
    pub fn gsl(&self, terminal: usize) -> Option<LinkId> {
        (terminal < self.terminals().len()).then(|| LinkId(self.antennas.of(terminal).start as u32))
    }

    /// The ground-satellite links of a terminal, one for each antenna; none if there is no such terminal.
    pub fn gsls(&self, terminal: usize) -> impl Iterator<Item = LinkId> + use<> {
        let links = if terminal < self.terminals().len() { self.antennas.of(terminal) } else { 0..0 };
        links.map(|link| LinkId(link as u32))
    }

    /// For each terminal, true if it is a gateway.
    pub fn gateways(&self) -> &[bool] {
        &self.gateways
    }

    /// Returns true if a node forwards packets: all do except terminals that are no gateways and have no ground link.
    pub fn relays(&self, node: NodeId) -> bool {
        let gateway = |terminal: usize| self.gateways.get(terminal) == Some(&true);
        self.terminal_index(node).is_none_or(gateway) || self.ground.touches(node)
    }

    /// A permanent name: `isl:3.4-3.5` by planes and slots, `isl:0.4-seam` and `isl:0.4-shell` for links whose peer changes,
    /// `gsl:new-york`, or `gsl:new-york.1` for the second of several antennas, `fibre:new-york-london`. With several
    /// constellations: `isl:leo:3.4-3.5`, `gsl:new-york.leo`, `gsl:new-york.leo.1`.
    pub fn name(&self, link: LinkId) -> String {
        let Some(state) = self.link(link) else { return format!("link-{}", link.0) };
        match state.kind {
            LinkKind::Gsl => {
                let terminal = self.terminal_index(state.a).unwrap_or(0);
                let fleet = self.antennas.fleet(link.index());
                let seen = self.fleets().name(fleet).map_or(String::new(), |fleet| format!(".{fleet}"));
                let (name, all) = (self.node_name(state.a), self.antennas.to(terminal, fleet));
                match all.len() {
                    1 => format!("gsl:{name}{seen}"),
                    _ => format!("gsl:{name}{seen}.{}", link.index() - all.start),
                }
            }
            LinkKind::Ground => self.ground_link(link).map_or(String::new(), |link| link.name.clone()),
            LinkKind::Fibre => format!("fibre:{}-{}", self.node_name(state.a), self.node_name(state.b)),
            kind => {
                let (fleet, place) = (self.fleets().prefix(state.a), self.geometry.place_name(state.a));
                match kind {
                    LinkKind::CrossSeam => format!("isl:{fleet}{place}-seam"),
                    LinkKind::InterShell => format!("isl:{fleet}{place}-shell"),
                    _ => format!("isl:{fleet}{place}-{}", self.geometry.place_name(state.b)),
                }
            }
        }
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeId) -> String {
        match self.ground.nodes().get(node.index().wrapping_sub(self.placed())) {
            Some(name) => name.clone(),
            None => self.geometry.node_name(node),
        }
    }

    /// Name of a satellite by plane and slot, such as `3.4`, or its own name if it has none; among several constellations `leo:3.4`.
    pub fn satellite_place(&self, satellite: NodeId) -> String {
        self.fleets().prefix(satellite) + &self.geometry.place_name(satellite)
    }

    /// Number of nodes: satellites, terminals and ground nodes.
    pub fn nodes(&self) -> usize {
        self.placed() + self.ground.nodes().len()
    }

    /// Number of nodes with a position: satellites and terminals.
    fn placed(&self) -> usize {
        self.constellation().len() + self.terminals().len()
    }

    /// The terminal or ground node with this name.
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        let ground = || {
            let index = self.ground.nodes().iter().position(|node| node == name)?;
            Some(NodeId((self.placed() + index) as u32))
        };
        self.terminal_named(name).or_else(ground)
    }

    /// Node of the terminal with this index.
    pub fn terminal_node(&self, terminal: usize) -> Option<NodeId> {
        self.geometry.terminal_node(terminal)
    }

    /// Node of the terminal with this name.
    pub fn terminal_named(&self, name: &str) -> Option<NodeId> {
        self.terminal_node(self.terminals().iter().position(|terminal| terminal.name == name)?)
    }

    /// Index of the terminal that is `node`; `None` for other nodes.
    pub fn terminal_index(&self, node: NodeId) -> Option<usize> {
        self.geometry.terminal_index(node)
    }

    /// Returns true if the node is a satellite.
    pub fn is_satellite(&self, node: NodeId) -> bool {
        node.index() < self.constellation().len()
    }

    /// The satellites of all constellations.
    pub fn constellation(&self) -> &Constellation {
        self.geometry.constellation()
    }

    /// The terminals, in node order; one with a course has its position at the last update.
    pub fn terminals(&self) -> &[Terminal] {
        self.geometry.terminals()
    }

    /// The constellations, each with its rules.
    pub fn fleets(&self) -> &Fleets {
        self.geometry.fleets()
    }

    /// The rules of the first constellation; in most networks it is the only one.
    pub fn rules(&self) -> &Rules {
        self.fleets().rules(0)
    }

    /// Number of satellites that were unavailable or had failed at the last update.
    pub fn unavailable(&self) -> usize {
        self.geometry.unavailable()
    }

    /// Position of a node at `t_s`; `None` for an unavailable satellite or an unknown node.
    pub fn position_ecef(&self, node: NodeId, t_s: f64) -> Option<Ecef> {
        self.geometry.position_ecef(node, t_s)
    }

    /// Replaces `out` by the positions of all nodes at `t_s`, in node order.
    pub fn positions_ecef(&self, t_s: f64, out: &mut Vec<Option<Ecef>>) {
        self.geometry.positions_ecef(t_s, self.failures.is_empty(), out);
        out.resize(self.nodes(), None);
    }

    /// Straight-line distance between two nodes at `t_s` in metres; there need not be a link between them.
    pub fn distance_m(&self, a: NodeId, b: NodeId, t_s: f64) -> Option<f64> {
        self.geometry.distance_m(a, b, t_s)
    }

    /// Propagation delay between two nodes at `t_s` in seconds: over the shortest ground link that joins them, through fibre
    /// between two stations, or else in a straight line at the Earth model's speed of light.
    pub fn one_way_delay_s(&self, a: NodeId, b: NodeId, t_s: f64) -> Option<f64> {
        if let Some(delay_s) = self.ground.delay_s(a, b) {
            return Some(delay_s);
        }
        let (from, to) = (self.position_ecef(a, t_s)?, self.position_ecef(b, t_s)?);
        let fibre = !self.is_satellite(a) && !self.is_satellite(b);
        let length_m = if fibre { self.fibre_m(from, to) } else { from.distance_m(to) };
        Some(length_m / self.constellation().earth().c_m_s)
    }

    /// Propagation delay of a link from one end to the other at `t_s`, s.
    pub fn link_delay_s(&self, link: LinkId, from: NodeId, to: NodeId, t_s: f64) -> Option<f64> {
        match self.ground_link(link) {
            Some(link) => Some(link.delay_s[usize::from(link.ends[0] != from)]),
            None => self.one_way_delay_s(from, to, t_s),
        }
    }

    /// Distance that light in vacuum travels during the propagation delay of a link with ends at `a` and `b`, metres.
    pub fn light_m(&self, kind: LinkKind, a: Ecef, b: Ecef) -> f64 {
        match kind {
            LinkKind::Fibre => self.fibre_m(a, b),
            _ => a.distance_m(b),
        }
    }

    /// As [`Self::light_m`] for a given link, from its first end to the second and back, with the ends at `positions`.
    pub fn light_of_link_m(
        &self,
        link: LinkId,
        state: &LinkState,
        positions: &[Option<Ecef>],
    ) -> Option<[f64; 2]> {
        if state.kind == LinkKind::Ground {
            let c_m_s = self.constellation().earth().c_m_s;
            return Some(self.ground_link(link)?.delay_s.map(|delay_s| delay_s * c_m_s));
        }
        Some([self.light_m(state.kind, positions[state.a.index()]?, positions[state.b.index()]?); 2])
    }

    fn fibre_m(&self, a: Ecef, b: Ecef) -> f64 {
        let (from, to) = (a.0, b.0);
        let radius_m = 0.5 * (from.norm() + to.norm());
        radius_m
            * from.cross(to).norm().atan2(from.dot(to))
            * self.rules().fibre_index
            * self.rules().fibre_detour
    }
}

/// The error for a network that cannot be built.
#[derive(Debug, Clone, PartialEq)]
pub enum TopologyError {
    /// A constellation has no satellites.
    NoSatellites,
    /// A rule is out of range.
    Rules(RulesError),
    /// Constellations that cannot be mixed in one network.
    Mixture(MixtureError),
    /// A terminal with an invalid position.
    Terminal(TerminalError),
    /// Two terminals with the same name.
    DuplicateTerminal {
        /// The common name.
        name: String,
    },
    /// A station without an antenna.
    NoAntenna {
        /// Name of the station.
        name: String,
    },
    /// An index that no terminal has.
    UnknownTerminal {
        /// The index.
        index: usize,
        /// Number of terminals.
        count: usize,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSatellites => write!(f, "constellation of 0 satellites; expected at least 1"),
            Self::Rules(error) => error.fmt(f),
            Self::Mixture(error) => error.fmt(f),
            Self::Terminal(error) => error.fmt(f),
            Self::DuplicateTerminal { name } => {
                write!(f, "terminal \"{name}\" occurs twice; expected names that differ")
            }
            Self::NoAntenna { name } => write!(f, "station \"{name}\" with 0 antennas; expected at least 1"),
            Self::UnknownTerminal { index, count } => {
                write!(f, "terminal number {index}; expected less than {count}")
            }
        }
    }
}

impl std::error::Error for TopologyError {}
