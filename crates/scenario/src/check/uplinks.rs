//! Checks of uplinks: frames with room for slots, terminals no faster than a carrier, assignments that fit.
//!
//! Follows the machine's limits; a carrier has no more than a million slots in a frame.
//! Differs: constant assignments of satellites' terminals are not added up, since terminals change satellites.
//! Leaves out whether the load fits.

use super::name;
use crate::error::{expected, quoted};
use crate::finding::FindingList;
use crate::fleets::PlacedFleet;
use crate::model::{OnDemand, Queue, Scenario, Uplink};
use crate::network::Direction;
use crate::path::KeyPath;
use crate::rates::Rates;
use skyhop_units::{Rate, Span};
use std::collections::{BTreeMap, BTreeSet};

const MOST_SLOTS: u64 = 1_000_000;
const LONGEST: Span = Span::from_secs(60);

pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
    let top = KeyPath::default().key("uplinks");
    for (name, uplink) in &scenario.uplinks {
        let at = top.key(name);
        name::is_plain(name, || at.clone(), out);
        check_frame(uplink, &at, out);
    }
    let mut used = BTreeSet::new();
    let mut constants: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
    for (name, link) in &scenario.links {
        let Some(on_demand) = &link.uplink else { continue };
        let at = KeyPath::default().key("links").key(name);
        used.insert(on_demand.name.as_str());
        let terminal = Terminal { on_demand, rate: link.rate, queue: link.queue, at: at.key("uplink") };
        terminal.check(scenario, out);
        clock(!link.schedule.is_empty() || link.trace.is_some(), &at, out);
        if let Some(uplink) = scenario.uplinks.get(&on_demand.name) {
            let constant = on_demand.with_defaults(uplink).constant.map_or(0, Rate::as_bps);
            let sum = constants.entry(&on_demand.name).or_default();
            (sum.0, sum.1) = (sum.0.saturating_add(constant), sum.1 + 1);
        }
    }
    for fleet in scenario.fleets() {
        of_satellites(scenario, &fleet, &mut used, out);
    }
    for (name, (bps, count)) in constants {
        let uplink = &scenario.uplinks[name];
        let sum = Rate::from_bps(bps).unwrap_or(uplink.rate);
        out.require(
            bps <= uplink.rate.as_bps(),
            || top.key(name).key("rate"),
            || {
                format!(
                    "rate of {} is less than the constant assignments of its {count} links, {sum}",
                    uplink.rate
                )
            },
        );
    }
    for name in scenario.uplinks.keys().filter(|name| !used.contains(name.as_str())) {
        let message = || {
            "no link uses it; expected uplink = { name = … } in a link or in gsl".replace('…', &quoted(name))
        };
        out.push(|| top.key(name), message);
    }
}

fn check_frame(uplink: &Uplink, at: &KeyPath, out: &mut FindingList) {
    let frame = uplink.frame();
    for (key, span) in [
        ("frame", Some(frame)),
        ("request_period", uplink.request_period),
        ("controller_delay", Some(uplink.controller_delay)),
    ] {
        let Some(span) = span else { continue };
        out.require(
            span <= LONGEST,
            || at.key(key),
            || format!("{key} of {span}; expected at most {LONGEST}"),
        );
    }
    out.require(
        frame > Span::ZERO,
        || at.key("frame"),
        || "frame of 0 s; expected more than 0 s, such as \"26.5 ms\"".into(),
    );
    out.require(
        (1..=1000).contains(&uplink.carriers),
        || at.key("carriers"),
        || format!("{} carriers; expected 1 to 1000", uplink.carriers),
    );
    out.require(
        (1..=65_535).contains(&uplink.slot.get()),
        || at.key("slot"),
        || format!("slot of {}; expected 1 B to 65535 B, such as 53 B", uplink.slot),
    );
    if frame == Span::ZERO || uplink.carriers == 0 || uplink.slot.get() == 0 {
        return;
    }
    let slots = uplink.slots();
    out.require(
        slots > 0,
        || at.key("rate"),
        || {
            let carriers = uplink.carriers;
            let each = if carriers > 1 { format!(" in {carriers} carriers") } else { String::new() };
            format!(
                "rate of {}{each} has no room for a slot of {} in a frame of {frame}",
                uplink.rate, uplink.slot
            )
        },
    );
    out.require(
        slots <= MOST_SLOTS,
        || at.key("slot"),
        || format!("{slots} slots of {} on a carrier in {frame}; expected at most {MOST_SLOTS}", uplink.slot),
    );
    if let Some(period) = uplink.request_period {
        out.require(
            period >= frame,
            || at.key("request_period"),
            || format!("request_period of {period} is shorter than a frame, which is {frame}"),
        );
    }
    if let Some(persistence) = uplink.persistence {
        out.require(
            u64::from(persistence) >= uplink.request_frames(),
            || at.key("persistence"),
            || {
                let every = uplink.request_frames();
                format!("persistence of {persistence} frames is over before the next request, after {every}")
            },
        );
    }
}

/// A terminal of an uplink.
struct Terminal<'a> {
    on_demand: &'a OnDemand,
    rate: Rate,
    queue: Queue,
    at: KeyPath,
}

impl Terminal<'_> {
    fn check(&self, scenario: &Scenario, out: &mut FindingList) {
        let Self { on_demand, rate, at, .. } = self;
        let Some(uplink) = scenario.uplinks.get(&on_demand.name) else {
            let names = scenario.uplinks.keys().map(String::as_str);
            let message =
                || format!("unknown uplink {}{}", quoted(&on_demand.name), expected(&on_demand.name, names));
            return out.push(|| at.key("name"), message);
        };
        let carrier = Rate::from_bps(uplink.carrier_bps()).unwrap_or(uplink.rate);
        out.require(
            *rate <= carrier,
            || at.clone(),
            || {
                let name = quoted(&on_demand.name);
                format!("rate of {rate} is more than a carrier of uplink {name} has, which is {carrier}")
            },
        );
        for (key, given) in
            [("constant", on_demand.constant), ("rate_based", on_demand.rate_based), ("free", on_demand.free)]
        {
            let Some(given) = given else { continue };
            out.require(
                given <= *rate,
                || at.key(key),
                || format!("{key} of {given} is more than the rate of the terminal, which is {rate}"),
            );
        }
        if let Some(volume) = on_demand.volume_based {
            out.require(
                volume >= uplink.slot,
                || at.key("volume_based"),
                || format!("volume_based of {volume} is less than a slot, which is {}", uplink.slot),
            );
            out.require(
                on_demand.rate_based.is_none(),
                || at.key("volume_based"),
                || "both rate_based and volume_based for one queue; expected one of them".into(),
            );
        }
        out.require(
            !matches!(self.queue, Queue::Ubr { .. }),
            || at.clone(),
            || "a queue of kind ubr sends cells one after the other, and this link sends in slots; expected another kind".into(),
        );
    }
}

/// Checks that rates do not change by the clock on a link that sends in slots.
fn clock(given: bool, at: &KeyPath, out: &mut FindingList) {
    let message = "a schedule or trace on a link that sends in slots; expected it on another link, or outages as failures";
    out.require(!given, || at.key("uplink"), || message.into());
}

/// Checks the terminals of a constellation that share an uplink.
fn of_satellites<'a>(
    scenario: &'a Scenario,
    fleet: &PlacedFleet<'a>,
    used: &mut BTreeSet<&'a str>,
    out: &mut FindingList,
) {
    let gsl = &fleet.model.gsl;
    let own = |name: &str| {
        let terminal = scenario.terminals.get_key_value(name);
        Rates::of_gsl(fleet.model, &fleet.at, terminal.map(|(n, t)| (n.as_str(), t)), Direction::Forward)
    };
    let mut shares = false;
    for (name, terminal) in scenario.terminals.iter().filter(|(_, terminal)| fleet.is_seen_by(terminal)) {
        let rates = own(name);
        let of_terminal = terminal.gsl.as_ref().is_some_and(|gsl| gsl.uplink.is_some());
        out.require(
            !(terminal.gateway && of_terminal),
            || KeyPath::default().key("terminals").key(name).key("gsl").key("uplink"),
            || "a gateway shares no uplink; leave it out".into(),
        );
        let Some((on_demand, rate)) = rates.uplink.zip(rates.rate).filter(|_| !terminal.gateway) else {
            continue;
        };
        used.insert(on_demand.name.as_str());
        let at = match of_terminal {
            true => KeyPath::default().key("terminals").key(name).key("gsl"),
            false => fleet.at.key("gsl"),
        };
        // One finding for all terminals that the constellation's table is for.
        if of_terminal || !std::mem::replace(&mut shares, true) {
            Terminal { on_demand, rate, queue: rates.queue, at: at.key("uplink") }.check(scenario, out);
            clock(rates.clock.is_some(), &at, out);
        }
    }
    if let Some(on_demand) = &gsl.uplink {
        used.insert(on_demand.name.as_str());
        let at = fleet.at.key("gsl").key("uplink");
        if !shares {
            Terminal { on_demand, rate: gsl.rate.unwrap_or(Rate::mbit(0)), queue: gsl.queue, at: at.clone() }
                .check(scenario, out);
        }
        out.require(
            gsl.shared.is_none_or(|shared| shared.up.is_none()),
            || at,
            || "both uplink and shared.up; expected one of them".into(),
        );
    }
}
