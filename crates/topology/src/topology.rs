//! The network of satellites and terminals, brought up to date now and then.
//!
//! Follows HT 6.2's synchronous handoffs: all links are looked at together, at instants that the caller picks.
//! Differs: ns-2's nodes each keep a timer; here time comes in through [`Topology::update`].
//! Left out: what a change does to packets, which is the simulator's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use skyhop_chance::Stream;
use skyhop_orbit::{Constellation, Course, Ecef, MixtureError, Terminal, TerminalError};

use crate::checks::Checks;
use crate::failures::{Failures, Outage};
use crate::fleet::{Fleet, Fleets};
use crate::geometry::Geometry;
use crate::ground::{Ground, GroundLink};
use crate::gsl::{self, HandoverPolicy, Sight};
use crate::isl::{self, LinkRule};
use crate::link::{Change, LinkId, LinkKind, LinkState, NodeId};
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
    links: Vec<LinkState>,
    /// Links as they were decided to be, which they are once acquired.
    wanted: Vec<LinkState>,
    /// When links that are being acquired will be up.
    due: BTreeMap<usize, f64>,
    checks: Option<Checks>,
    /// The longest time from one look of a terminal to the next.
    longest_look_s: f64,
    link_rule: Option<Arc<dyn LinkRule>>,
    policy: Option<Arc<dyn HandoverPolicy>>,
    /// The first GSL of each terminal to each constellation, and after the last the first link of fibre.
    gsls: Vec<usize>,
    /// Per GSL, whether its far end is a satellite that the terminal holds.
    attached: Vec<bool>,
    /// What a terminal with several antennas sees, kept for its memory.
    sky: gsl::Candidates,
    changes: Vec<Change>,
    failures: Failures,
    updated_s: Option<f64>,
    /// By terminal, when it last looked at its satellites.
    looked_s: Vec<Option<f64>>,
}

impl Topology {
    /// A network of terminals with one antenna each, with all possible links numbered and down.
    ///
    /// # Errors
    ///
    /// A constellation without satellites, a rule out of range, a terminal that is nowhere, two terminals of one name.
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

    /// A network of several constellations. `antennas` are those of each station, by constellation; it does not see those for which it
    /// has none.
    ///
    /// # Errors
    ///
    /// As for [`Topology::with_stations`]; no constellation, or such as cannot be mixed.
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
        let isls = links.len();
        let mut gsls = vec![isls];
        let mut attached = Vec::new();
        for (terminal, antennas) in (0u32..).zip(antennas) {
            let a = NodeId(satellites + terminal);
            for index in 0..fleets.len() {
                let satellites = fleets.satellites(index);
                // No more satellites can be held than there are.
                let count = antennas.get(index).map_or(0, |count| usize::from(*count).min(satellites.len()));
                let link = LinkState { a, b: NodeId(satellites.start), up: false, kind: LinkKind::Gsl };
                links.extend(std::iter::repeat_n(link, count));
                let follows = fleets.rules(index).handover == Handover::FollowPlane;
                attached.extend((0..count).map(|antenna| follows && antenna == 0));
                gsls.push(links.len());
            }
        }
        links.extend(pairs.into_iter().map(|pair| {
            let (a, b) = station::nodes(pair, satellites);
            LinkState { a, b, up: false, kind: LinkKind::Fibre }
        }));
        Ok(Self {
            gateways: stations.iter().map(|station| station.gateway).collect(),
            ground: Ground::default(),
            longest_look_s: fleets.update_interval_s(),
            geometry: Geometry::new(
                fleets,
                constellation,
                stations.iter().map(|station| station.terminal.clone()).collect(),
            ),
            attached,
            wanted: links.clone(),
            due: BTreeMap::new(),
            checks: None,
            link_rule: None,
            policy: None,
            links,
            gsls,
            sky: gsl::Candidates::default(),
            changes: Vec::new(),
            failures: Failures::default(),
            updated_s: None,
            looked_s: vec![None; stations.len()],
        })
    }

    /// The same with nodes and links on the ground beside it. Nodes are numbered behind the terminals; terminals that are ends
    /// of links pass packets on between these and their satellites.
    pub fn with_ground(mut self, nodes: Vec<String>, links: Vec<GroundLink>) -> Self {
        self.links.extend(links.iter().map(|link| {
            let [a, b] = link.ends;
            LinkState { a, b, up: false, kind: LinkKind::Ground }
        }));
        self.wanted = self.links.clone();
        self.ground = Ground::new(nodes, links);
        self
    }

    /// The first link on the ground.
    pub fn first_ground_link(&self) -> LinkId {
        LinkId((self.links.len() - self.ground.links().len()) as u32)
    }

    /// The link on the ground with this number, if it is one.
    fn ground_link(&self, link: LinkId) -> Option<&GroundLink> {
        self.ground.links().get(link.0.checked_sub(self.first_ground_link().0)? as usize)
    }

    /// Looks at all links as they should be at `t_s`, and returns those that changed, by link number, after those that had
    /// been acquired meanwhile.
    ///
    /// Hand-offs depend on the state before: call it at the times of the rules' interval, in order. With acquisition
    /// times, gaps or asynchronous checks, call [`Self::settle`] in between.
    pub fn update(&mut self, t_s: f64) -> &[Change] {
        self.locate(t_s);
        self.changes.clear();
        self.finish(t_s);
        for fleet in 0..self.fleets().len() {
            self.look_between_satellites(fleet, t_s);
        }
        for terminal in 0..self.terminals().len() {
            if self.updated_s.is_none() || self.checks.is_none() {
                self.choose(terminal, t_s);
            } else {
                self.let_go(terminal, t_s);
            }
        }
        for link in self.all_gsls().end..self.links.len() {
            let was = self.links[link];
            let up = [was.a, was.b].iter().all(|&end| !self.station_fails(end));
            self.decide_unless_failed(link, LinkState { up, ..was }, t_s);
        }
        self.updated_s = Some(t_s);
        &self.changes
    }

    /// Looks at the links between the satellites of a constellation.
    fn look_between_satellites(&mut self, fleet: usize, t_s: f64) {
        let rules = *self.fleets().rules(fleet);
        let links = self.fleets().isls(fleet);
        let within = self.wanted[links.clone()].partition_point(|link| link.kind != LinkKind::InterShell);
        let (within, between) = (links.start..links.start + within, links.start + within..links.end);
        for link in within {
            let is =
                isl::at(self.wanted[link], self.geometry.constellation(), &rules, self.geometry.positions());
            self.decide_isl(link, is, t_s);
        }
        let (constellation, positions) = (self.geometry.constellation(), self.geometry.positions());
        let clear = |a, b| isl::is_up(LinkKind::InterShell, a, b, constellation, &rules);
        let joined = shells::at(&self.wanted[between.clone()], constellation.planes(), positions, clear);
        for (link, is) in between.zip(joined) {
            self.decide_isl(link, is, t_s);
        }
    }

    /// A link between satellites is to be as `is`, if somebody's own rule does not say otherwise.
    fn decide_isl(&mut self, link: usize, mut is: LinkState, t_s: f64) {
        let positions = self.geometry.positions();
        if let Some(rule) = &self.link_rule
            && let Some(ends) = positions[is.a.index()].zip(positions[is.b.index()])
        {
            is.up = rule.is_up(is, ends, t_s);
        }
        self.decide_unless_failed(link, is, t_s);
    }

    /// The next instant at which something happens between updates: a link has been acquired, a terminal checks.
    pub fn next_event_s(&self) -> Option<f64> {
        let checks = self.checks.iter().flat_map(|checks| &checks.next_s);
        self.due.values().chain(checks).copied().min_by(f64::total_cmp)
    }

    /// Does what is due by `t_s` between updates, without a look at all links. Returns what changed.
    pub fn settle(&mut self, t_s: f64) -> &[Change] {
        self.changes.clear();
        self.finish(t_s);
        let Some(mut checks) = self.checks.take() else { return &self.changes };
        for terminal in checks.take_due(t_s) {
            if self.geometry.located_s() != Some(t_s) {
                self.locate(t_s);
            }
            self.choose(terminal, t_s);
        }
        self.checks = Some(checks);
        &self.changes
    }

    /// From now on each terminal looks at its satellite at its own times and only then: every `period_s`, give or take
    /// `dither_s`, from a random instant within the first period on (HT 6.2's asynchronous handover). Failures are noticed
    /// at updates all the same.
    ///
    /// # Errors
    ///
    /// A period outside a millisecond to a day, a dither of more than nine tenths of it.
    pub fn check_asynchronously(
        &mut self,
        period_s: f64,
        dither_s: f64,
        chance: Stream,
    ) -> Result<(), RulesError> {
        self.checks = Some(Checks::new(self.terminals().len(), period_s, dither_s, chance)?);
        self.longest_look_s = period_s + dither_s;
        Ok(())
    }

    /// A rule of your own for ISLs; see [`LinkRule`].
    pub fn set_link_rule(&mut self, rule: Arc<dyn LinkRule>) {
        self.link_rule = Some(rule);
    }

    /// A handover policy of your own; see [`HandoverPolicy`].
    pub fn set_handover_policy(&mut self, policy: Arc<dyn HandoverPolicy>) {
        self.policy = Some(policy);
    }

    /// Whether a link is down because it is being acquired.
    pub fn is_acquiring(&self, link: LinkId) -> bool {
        self.due.contains_key(&link.index()) && !self.links[link.index()].up
    }

    fn decide_unless_failed(&mut self, link: usize, is: LinkState, t_s: f64) {
        let failed = self.link_fails(link);
        let is = LinkState { up: is.up && !failed, ..is };
        // Most links at most updates.
        if is == self.links[link] && is == self.wanted[link] {
            return;
        }
        self.decide(link, is, t_s);
    }

    /// A link is to be as `is`: at once, or when it has been acquired.
    fn decide(&mut self, link: usize, is: LinkState, t_s: f64) {
        let wanted = std::mem::replace(&mut self.wanted[link], is);
        let was = self.links[link];
        if !is.up || is == was {
            self.due.remove(&link);
            return self.set(link, is);
        }
        if is == wanted && self.due.contains_key(&link) {
            return;
        }
        // Another satellite during a gap is another handover.
        let moves = self.due.contains_key(&link) && is.b != wanted.b;
        let handover = is.kind == LinkKind::Gsl && (was.up || moves);
        let rules = self.fleets().rules_of(is.b);
        let make_before_break = rules.make_before_break;
        let acquisition_s = match is.kind {
            LinkKind::Gsl => rules.gsl_acquisition_s,
            LinkKind::Fibre | LinkKind::Ground => 0.0,
            _ => rules.isl_acquisition_s,
        };
        let gap_s = if handover && !make_before_break { rules.handover_gap_s } else { 0.0 };
        // At the first look everything has been acquired already.
        if acquisition_s + gap_s == 0.0 || self.updated_s.is_none() {
            self.due.remove(&link);
            return self.set(link, is);
        }
        self.due.insert(link, t_s + acquisition_s + gap_s);
        if !(handover && was.up && make_before_break) {
            self.set(link, LinkState { up: false, ..is });
        }
    }

    /// Brings up what has been acquired by `t_s`.
    fn finish(&mut self, t_s: f64) {
        let mut due = std::mem::take(&mut self.due);
        due.retain(|&link, at_s| {
            let waits = *at_s > t_s;
            if !waits {
                self.set(link, self.wanted[link]);
            }
            waits
        });
        self.due = due;
    }

    /// Takes down what has failed of a terminal that does not look now.
    fn let_go(&mut self, terminal: usize, t_s: f64) {
        let station = self.station_fails(NodeId((self.constellation().len() + terminal) as u32));
        for link in self.gsls_of(terminal) {
            let fails = station || self.link_fails(link);
            let gone = |state: LinkState| {
                state.up && (fails || self.geometry.positions()[state.b.index()].is_none())
            };
            let (wanted, is) = (gone(self.wanted[link]), gone(self.links[link]));
            if wanted {
                self.decide(link, LinkState { up: false, ..self.wanted[link] }, t_s);
            } else if is {
                self.set(link, LinkState { up: false, ..self.wanted[link] });
            }
        }
    }

    /// Which satellites a terminal holds from `t_s` on.
    fn choose(&mut self, terminal: usize, t_s: f64) {
        let last_s = self.looked_s[terminal].replace(t_s);
        for fleet in 0..self.fleets().len() {
            self.choose_of(fleet, terminal, t_s, last_s);
        }
    }

    /// Which satellites of a constellation a terminal holds that looked at `last_s` before.
    fn choose_of(&mut self, fleet: usize, terminal: usize, t_s: f64, last_s: Option<f64>) {
        let links = self.gsls_to(terminal, fleet);
        let first = self.isls();
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
            next_look_s: self.longest_look_s,
            policy: self.policy.as_deref(),
        };
        let down = self.station_fails(NodeId((self.constellation().len() + terminal) as u32));
        if down {
            for link in links {
                self.attached[link - first] = false;
                self.decide(link, LinkState { up: false, ..self.wanted[link] }, t_s);
            }
            return;
        }
        // Only make-before-break keeps a satellite that is not wanted any more, and it may have set meanwhile.
        let lost: Vec<usize> = match rules.make_before_break {
            true => links
                .clone()
                .filter(|&link| self.links[link].up && !sight.serves(self.links[link].b.0))
                .collect(),
            false => Vec::new(),
        };
        if links.len() == 1 {
            let link = links.start;
            let is = gsl::at(self.wanted[link], self.attached[link - first], sight);
            self.attached[link - first] = is.up;
            self.decide_unless_failed(link, is, t_s);
        } else {
            let mut sky = std::mem::take(&mut self.sky);
            let attached = &mut self.attached[links.start - first..links.end - first];
            sky.choose(&self.wanted[links.clone()], attached, sight);
            for (link, is) in links.zip(sky.chosen()) {
                self.decide_unless_failed(link, is, t_s);
            }
            self.sky = sky;
        }
        for link in lost {
            if self.links[link] != self.wanted[link] {
                self.set(link, LinkState { up: false, ..self.wanted[link] });
            }
        }
    }

    /// From now on a terminal is where its course is at each instant. Which satellites it holds is decided by its place at each
    /// look; how long it will see one is told as if it stood there.
    ///
    /// # Errors
    ///
    /// No terminal with this index.
    pub fn follow(&mut self, terminal: usize, course: Course) -> Result<(), TopologyError> {
        let count = self.terminals().len();
        self.geometry
            .follow(terminal, course)
            .ok_or(TopologyError::UnknownTerminal { index: terminal, count })
    }

    /// The course that a terminal follows; `None` if it stands.
    pub fn course(&self, terminal: usize) -> Option<&Course> {
        self.geometry.course(terminal)
    }

    /// A terminal with its place at `t_s`.
    pub fn terminal_at(&self, terminal: usize, t_s: f64) -> Option<Terminal> {
        self.geometry.terminal_at(terminal, t_s)
    }

    /// Moves a terminal at `t_s` to where `to` says; it lets go of its satellite and takes the highest. The terminal
    /// keeps its node, its link and its name, and leaves the course that it followed.
    pub fn move_terminal(
        &mut self,
        terminal: usize,
        to: &Terminal,
        t_s: f64,
    ) -> Result<&[Change], TopologyError> {
        to.check().map_err(TopologyError::Terminal)?;
        let count = self.terminals().len();
        let unknown = TopologyError::UnknownTerminal { index: terminal, count };
        self.geometry.move_terminal(terminal, to).ok_or(unknown)?;
        let (first, links) = (self.isls(), self.gsls_of(terminal));
        self.attached[links.start - first..links.end - first].fill(false);
        self.locate(t_s);
        self.changes.clear();
        // A terminal that has moved is served at once, as if it had always been there.
        let updated_s = self.updated_s.take();
        self.looked_s[terminal] = None;
        self.choose(terminal, t_s);
        self.updated_s = updated_s;
        Ok(&self.changes)
    }

    /// What fails when; in force from the next update on. A terminal whose satellite fails looks for another, one whose
    /// link fails holds on to it.
    pub fn schedule(&mut self, outages: Vec<Outage>) {
        self.failures.schedule(outages);
        // Positions are without those that failed by the schedule before.
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

    fn isls(&self) -> usize {
        self.gsls[0]
    }

    /// The ground-satellite link of a terminal's first antenna.
    pub fn gsl(&self, terminal: usize) -> Option<LinkId> {
        (terminal < self.terminals().len()).then(|| LinkId(self.gsls_of(terminal).start as u32))
    }

    /// The numbers of a terminal's GSLs.
    fn gsls_of(&self, terminal: usize) -> Range<usize> {
        let fleets = self.fleets().len();
        self.gsls[terminal * fleets]..self.gsls[(terminal + 1) * fleets]
    }

    /// The same of those to one constellation.
    fn gsls_to(&self, terminal: usize, fleet: usize) -> Range<usize> {
        let place = terminal * self.fleets().len() + fleet;
        self.gsls[place]..self.gsls[place + 1]
    }

    /// The numbers of all GSLs.
    fn all_gsls(&self) -> Range<usize> {
        self.gsls[0]..self.gsls[self.terminals().len() * self.fleets().len()]
    }

    /// The constellation of a GSL, by its number.
    fn fleet_of_gsl(&self, link: usize) -> usize {
        // Constellations that a terminal does not see have no links there.
        let place = self.gsls.partition_point(|first| *first <= link).saturating_sub(1);
        place % self.fleets().len()
    }

    /// The ground-satellite links of a terminal, one for each antenna; none if there is no such terminal.
    pub fn gsls(&self, terminal: usize) -> impl Iterator<Item = LinkId> + use<> {
        let links = if terminal < self.terminals().len() { self.gsls_of(terminal) } else { 0..0 };
        links.map(|link| LinkId(link as u32))
    }

    /// By terminal, whether it is a gateway.
    pub fn gateways(&self) -> &[bool] {
        &self.gateways
    }

    /// Whether a node passes packets on: all do but terminals without a link on the ground that are no gateways.
    pub fn relays(&self, node: NodeId) -> bool {
        let gateway = |terminal: usize| self.gateways.get(terminal) == Some(&true);
        self.terminal_index(node).is_none_or(gateway) || self.ground.touches(node)
    }

    /// A lasting name: `isl:3.4-3.5` by planes and slots, `isl:0.4-seam` and `isl:0.4-shell` for those whose peer changes,
    /// `gsl:new-york`, or `gsl:new-york.1` for the second of several antennas, `fibre:new-york-london`. Of several constellations
    /// each has its own: `isl:leo:3.4-3.5`, `gsl:new-york.leo`, `gsl:new-york.leo.1`.
    pub fn name(&self, link: LinkId) -> String {
        let Some(state) = self.link(link) else { return format!("link-{}", link.0) };
        match state.kind {
            LinkKind::Gsl => {
                let terminal = self.terminal_index(state.a).unwrap_or(0);
                let fleet = self.fleet_of_gsl(link.index());
                let seen = self.fleets().name(fleet).map_or(String::new(), |fleet| format!(".{fleet}"));
                let (name, all) = (self.node_name(state.a), self.gsls_to(terminal, fleet));
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

    /// A satellite's or terminal's name.
    pub fn node_name(&self, node: NodeId) -> String {
        match self.ground.nodes().get(node.index().wrapping_sub(self.placed())) {
            Some(name) => name.clone(),
            None => self.geometry.node_name(node),
        }
    }

    /// The name of a satellite by its plane and slot, such as `3.4`, or its name if it has none; among several constellations `leo:3.4`.
    pub fn satellite_place(&self, satellite: NodeId) -> String {
        self.fleets().prefix(satellite) + &self.geometry.place_name(satellite)
    }

    /// Number of satellites, terminals and nodes on the ground together.
    pub fn nodes(&self) -> usize {
        self.placed() + self.ground.nodes().len()
    }

    /// Number of the nodes that have a place: satellites and terminals.
    fn placed(&self) -> usize {
        self.constellation().len() + self.terminals().len()
    }

    /// The terminal or the node on the ground with this name.
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        let ground = || {
            let index = self.ground.nodes().iter().position(|node| node == name)?;
            Some(NodeId((self.placed() + index) as u32))
        };
        self.terminal_named(name).or_else(ground)
    }

    /// The node of the terminal with this index.
    pub fn terminal_node(&self, terminal: usize) -> Option<NodeId> {
        self.geometry.terminal_node(terminal)
    }

    /// The node of the terminal with this name.
    pub fn terminal_named(&self, name: &str) -> Option<NodeId> {
        self.terminal_node(self.terminals().iter().position(|terminal| terminal.name == name)?)
    }

    /// The terminal's index if the node is one.
    pub fn terminal_index(&self, node: NodeId) -> Option<usize> {
        self.geometry.terminal_index(node)
    }

    /// Whether the node is a satellite.
    pub fn is_satellite(&self, node: NodeId) -> bool {
        node.index() < self.constellation().len()
    }

    /// The satellites of all constellations.
    pub fn constellation(&self) -> &Constellation {
        self.geometry.constellation()
    }

    /// The terminals, in node order; those that follow a course where they were at the last look.
    pub fn terminals(&self) -> &[Terminal] {
        self.geometry.terminals()
    }

    /// The constellations, each with its rules.
    pub fn fleets(&self) -> &Fleets {
        self.geometry.fleets()
    }

    /// The rules of the first constellation, which is the only one but in networks of several.
    pub fn rules(&self) -> &Rules {
        self.fleets().rules(0)
    }

    /// How many satellites had no position, or had failed, at the last update.
    pub fn unavailable(&self) -> usize {
        self.geometry.unavailable()
    }

    /// Where a node is at `t_s`; `None` for an unavailable satellite or an unknown node.
    pub fn position_ecef(&self, node: NodeId, t_s: f64) -> Option<Ecef> {
        self.geometry.position_ecef(node, t_s)
    }

    /// Where all nodes are at `t_s`, in node order; `out` is replaced.
    pub fn positions_ecef(&self, t_s: f64, out: &mut Vec<Option<Ecef>>) {
        self.geometry.positions_ecef(t_s, self.failures.is_empty(), out);
        out.resize(self.nodes(), None);
    }

    /// Straight-line distance between two nodes at `t_s` in metres, whether or not a link joins them.
    pub fn distance_m(&self, a: NodeId, b: NodeId, t_s: f64) -> Option<f64> {
        self.geometry.distance_m(a, b, t_s)
    }

    /// Propagation delay between two nodes at `t_s` in seconds: in a straight line at the speed of light of the Earth
    /// model, through fibre between two stations, or over the shortest link on the ground that joins them.
    pub fn one_way_delay_s(&self, a: NodeId, b: NodeId, t_s: f64) -> Option<f64> {
        if let Some(delay_s) = self.ground.delay_s(a, b) {
            return Some(delay_s);
        }
        let (from, to) = (self.position_ecef(a, t_s)?, self.position_ecef(b, t_s)?);
        let fibre = !self.is_satellite(a) && !self.is_satellite(b);
        let length_m = if fibre { self.fibre_m(from, to) } else { from.distance_m(to) };
        Some(length_m / self.constellation().earth().c_m_s)
    }

    /// Propagation delay in seconds from a node to the next over a link between them.
    pub fn link_delay_s(&self, link: LinkId, from: NodeId, to: NodeId, t_s: f64) -> Option<f64> {
        match self.ground_link(link) {
            Some(link) => Some(link.delay_s[usize::from(link.ends[0] != from)]),
            None => self.one_way_delay_s(from, to, t_s),
        }
    }

    /// How far light in vacuum would travel while a packet crosses a link whose ends are at `a` and `b`, in metres.
    pub fn light_m(&self, kind: LinkKind, a: Ecef, b: Ecef) -> f64 {
        match kind {
            LinkKind::Fibre => self.fibre_m(a, b),
            _ => a.distance_m(b),
        }
    }

    /// The same of a link by its number, from its first end to the second and back, with its ends where `positions` have them.
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

/// Why there is no such network.
#[derive(Debug, Clone, PartialEq)]
pub enum TopologyError {
    /// The constellation is empty.
    NoSatellites,
    /// A rule is out of range.
    Rules(RulesError),
    /// Constellations that cannot be in one network.
    Mixture(MixtureError),
    /// A terminal is nowhere.
    Terminal(TerminalError),
    /// Two terminals have one name.
    DuplicateTerminal {
        /// The name.
        name: String,
    },
    /// A station that can hold no satellite.
    NoAntenna {
        /// Its name.
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
