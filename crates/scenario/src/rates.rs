//! The rate, queue, losses and schedule of each direction of a constellation's links, from all tables that apply to it.
//!
//! The innermost table applies: a direction's own before the one around it; a link's own before its terminal's and its kind's.
//! Differs from the model, whose tables are incomplete. Leaves out which links exist.

use crate::fleets::PlacedFleet;
use crate::model::{
    Constellation, Gsl, Interval, Loss, OnDemand, OneWay, Override, OwnGsl, Queue, Radio, Scenario, Terminal,
};
use crate::network::Direction;
use crate::path::KeyPath;
use skyhop_units::{Rate, Span};

/// One direction of a link by the scenario.
#[derive(Debug, Clone)]
pub struct Rates<'a> {
    /// Key of the innermost table with its rate or its queue, such as `terminals.lima.gsl.down`.
    pub at: KeyPath,
    /// Rate; `None` if no table has one, which a check refuses.
    pub rate: Option<Rate>,
    /// Queue in front of the transmitter.
    pub queue: Queue,
    /// Loss model.
    pub loss: &'a Loss,
    /// Changes by the clock.
    pub clock: Option<LinkClock<'a>>,
    /// Uplink in whose slots it sends.
    pub uplink: Option<&'a OnDemand>,
}

/// The changes by the clock of one direction of a link: a schedule, or a trace.
#[derive(Debug, Clone)]
pub struct LinkClock<'a> {
    /// Key of the table.
    pub at: KeyPath,
    /// Intervals; empty if there is a trace.
    pub schedule: &'a [Interval],
    /// Name of the trace file.
    pub trace: Option<&'a str>,
    /// Time after which it repeats.
    pub repeat: Option<Span>,
}

/// The keys that a table has for a link or a direction.
pub(crate) struct GivenKeys<'a> {
    pub rate: Option<Rate>,
    pub queue: Option<Queue>,
    pub loss: Option<&'a Loss>,
    pub schedule: Option<&'a [Interval]>,
    pub trace: Option<&'a str>,
    pub repeat: Option<Span>,
}

macro_rules! said {
    ($table:expr) => {
        GivenKeys {
            rate: $table.rate,
            queue: $table.queue,
            loss: $table.loss.as_ref(),
            schedule: $table.schedule.as_deref(),
            trace: $table.trace.as_deref(),
            repeat: $table.repeat,
        }
    };
}

impl GivenKeys<'_> {
    /// Returns true if it changes nothing.
    pub fn is_silent(&self) -> bool {
        let Self { rate, queue, loss, schedule, trace, repeat: _ } = self;
        rate.is_none() && queue.is_none() && loss.is_none() && schedule.is_none() && trace.is_none()
    }
}

impl OneWay {
    pub(crate) fn said(&self) -> GivenKeys<'_> {
        said!(self)
    }
}

impl OwnGsl {
    pub(crate) fn said(&self) -> GivenKeys<'_> {
        said!(self)
    }

    /// The table of a direction; forward is up.
    pub(crate) fn one_way(&self, direction: Direction) -> (&'static str, Option<&OneWay>) {
        one_way(direction, &self.up, &self.down)
    }
}

impl Override {
    pub(crate) fn said(&self) -> GivenKeys<'_> {
        said!(self)
    }
}

impl Gsl {
    pub(crate) fn said(&self) -> GivenKeys<'_> {
        GivenKeys {
            rate: self.rate,
            queue: Some(self.queue),
            loss: Some(&self.loss),
            schedule: self.schedule.as_deref(),
            trace: self.trace.as_deref(),
            repeat: self.repeat,
        }
    }

    /// The table of a direction; forward is up.
    pub(crate) fn one_way(&self, direction: Direction) -> (&'static str, Option<&OneWay>) {
        one_way(direction, &self.up, &self.down)
    }

    /// Returns true if terminals of a satellite or beam share something.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some() || self.uplink.is_some()
    }

    /// Capacity shared by the terminals of a satellite or beam in a direction, if that is limited; forward is up.
    pub fn shared(&self, direction: Direction) -> Option<Rate> {
        let shared = self.shared?;
        match direction {
            Direction::Forward => shared.up,
            Direction::Reverse => shared.down,
        }
    }
}

fn one_way<'a>(
    direction: Direction,
    up: &'a Option<OneWay>,
    down: &'a Option<OneWay>,
) -> (&'static str, Option<&'a OneWay>) {
    match direction {
        Direction::Forward => ("up", up.as_ref()),
        Direction::Reverse => ("down", down.as_ref()),
    }
}

impl<'a> Rates<'a> {
    /// Either direction of an ISL or of fibre, whose table has the key `at`.
    pub fn of_kind(radio: &'a Radio, at: KeyPath) -> Self {
        Self { at, rate: Some(radio.rate), queue: radio.queue, loss: &radio.loss, clock: None, uplink: None }
    }

    /// A direction between a terminal, by name, and its satellite; forward is up. `constellation` is the key of the
    /// constellation.
    pub fn of_gsl(
        model: &'a Constellation,
        constellation: &KeyPath,
        terminal: Option<(&str, &'a Terminal)>,
        direction: Direction,
    ) -> Self {
        let gsl = &model.gsl;
        let at = constellation.key("gsl");
        let uplink = |own: &'a Option<OnDemand>| own.as_ref().filter(|_| direction == Direction::Forward);
        let mut rates = Self {
            at: at.clone(),
            rate: gsl.rate,
            queue: gsl.queue,
            loss: &gsl.loss,
            clock: None,
            uplink: uplink(&gsl.uplink),
        };
        rates.take(gsl.said(), &at);
        rates.take_direction(gsl.one_way(direction), &at);
        if let Some((name, Terminal { gsl: Some(own), .. })) = terminal {
            let at = KeyPath::default().key("terminals").key(name).key("gsl");
            rates.take(own.said(), &at);
            rates.take_direction(own.one_way(direction), &at);
            rates.uplink = uplink(&own.uplink).or(rates.uplink);
        }
        rates.uplink = rates.uplink.filter(|_| terminal.is_none_or(|(_, terminal)| !terminal.gateway));
        rates
    }

    /// The same with the link's override `own` at the key `at`.
    pub fn with(mut self, own: &'a Override, at: &KeyPath, direction: Direction) -> Self {
        self.take(own.said(), at);
        if direction == Direction::Reverse {
            self.take_direction(("reverse", own.reverse.as_ref()), at);
        }
        self
    }

    fn take_direction(&mut self, (key, table): (&str, Option<&'a OneWay>), around: &KeyPath) {
        if let Some(table) = table {
            self.take(table.said(), &around.key(key));
        }
    }

    fn take(&mut self, said: GivenKeys<'a>, at: &KeyPath) {
        if said.rate.is_some() || said.queue.is_some() {
            self.at = at.clone();
        }
        self.rate = said.rate.or(self.rate);
        self.queue = said.queue.unwrap_or(self.queue);
        self.loss = said.loss.unwrap_or(self.loss);
        if said.schedule.is_some() || said.trace.is_some() {
            let schedule = said.schedule.unwrap_or_default();
            self.clock = Some(LinkClock { at: at.clone(), schedule, trace: said.trace, repeat: said.repeat });
        }
    }
}

/// Calls `each` for every table about the links of a constellation by direction, terminal or name, with its key.
pub(crate) fn for_each_table<'a>(scenario: &'a Scenario, mut each: impl FnMut(KeyPath, GivenKeys<'a>)) {
    let mut both = |at: &KeyPath, said: GivenKeys<'a>, ways: &[(&str, Option<&'a OneWay>)]| {
        each(at.clone(), said);
        for (key, way) in ways {
            if let Some(way) = way {
                each(at.key(key), way.said());
            }
        }
    };
    let ways = [Direction::Forward, Direction::Reverse];
    for PlacedFleet { at, model, .. } in scenario.fleets() {
        both(&at.key("gsl"), model.gsl.said(), &ways.map(|way| model.gsl.one_way(way)));
        for (i, own) in model.overrides.iter().enumerate() {
            both(&at.key("overrides").index(i), own.said(), &[("reverse", own.reverse.as_ref())]);
        }
    }
    for (name, own) in scenario.terminals.iter().filter_map(|(name, t)| Some((name, t.gsl.as_ref()?))) {
        let at = KeyPath::default().key("terminals").key(name).key("gsl");
        both(&at, own.said(), &ways.map(|way| own.one_way(way)));
    }
}
