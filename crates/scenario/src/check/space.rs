//! Checks of constellations and terminals: exactly one source of satellites, valid orbits and places.
//!
//! Follows the ranges of quantities on a sphere.
//! Differs: at most 100,000 satellites, because every update computes all of them.
//! Leaves out the file of elements, which is read where orbits are computed.

use super::angle::between;
use super::{links, name, track};
use crate::error::{expected, quoted};
use crate::finding::FindingList;
use crate::fleets::PlacedFleet;
use crate::model::{Constellation, Ellipse, Handover, Scenario, Shell, Terminal};
use crate::network::Direction;
use crate::path::KeyPath;
use crate::rates::{Rates, for_each_table};
use skyhop_orbit::terminal::LONGITUDES_DEG;
use skyhop_units::Span;
use toml::value::{Datetime, Offset};

const MOST_SATELLITES: u64 = 100_000;
const MOST_NEIGHBOURS: u32 = 16;

pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
    for PlacedFleet { at, model, .. } in scenario.fleets() {
        satellites(model, &at, out);
        rules(model, &at, out);
        fibre(scenario, model, &at, out);
    }
    side_by_side(scenario, out);
    let terminals = KeyPath::default().key("terminals");
    if !scenario.has_satellites() && !scenario.terminals.is_empty() {
        out.push(|| terminals.clone(), || "terminals without a constellation; add [constellation]".into());
    }
    for (name, terminal) in &scenario.terminals {
        let at = terminals.key(name);
        name::is_plain(name, || at.clone(), out);
        track::place(scenario, name, terminal, &at, out);
        sees(scenario, terminal, &at, out);
        beam(scenario, terminal, &at, out);
    }
    for_each_table(scenario, |at, said| {
        said.queue.iter().for_each(|queue| links::queue(*queue, &at, out));
        said.loss.iter().for_each(|loss| links::loss(loss, &at, out));
        links::clock(&at, said.repeat, (said.schedule.unwrap_or_default(), said.trace), out);
    });
}

/// Checks several constellations: their names must be unique, and some keys are only for a single one.
fn side_by_side(scenario: &Scenario, out: &mut FindingList) {
    let all = KeyPath::default().key("constellations");
    if scenario.constellation.is_some() && !scenario.constellations.is_empty() {
        let message =
            "both [constellation] and [constellations]; expected one of them, [constellation] for one alone";
        out.push(|| all.clone(), || message.into());
    }
    let most = 16;
    let count = scenario.constellations.len();
    out.require(count <= most, || all.clone(), || format!("{count} constellations; expected at most {most}"));
    for (name, model) in &scenario.constellations {
        let at = all.key(name);
        name::is_plain(name, || at.clone(), out);
        let taken = [
            ("terminal", scenario.terminals.contains_key(name)),
            ("link", scenario.links.contains_key(name)),
        ];
        for (what, _) in taken.into_iter().filter(|(_, taken)| *taken) {
            out.push(
                || at.clone(),
                || format!("constellation {} has the name of a {what}; expected another name", quoted(name)),
            );
        }
        let fibre = model.fibre != Constellation::bare().fibre;
        for (key, given) in [
            ("fibre", fibre),
            ("fibre_between", model.fibre_between.is_some()),
            ("handover_check", model.handover_check.is_some()),
        ] {
            if given && count > 1 {
                let instead = if key == "handover_check" {
                    "expected it with one [constellation] only"
                } else {
                    "expected links between gateways"
                };
                out.push(|| at.key(key), || format!("{key} with several constellations; {instead}"));
            }
        }
    }
}

/// Checks that a terminal's `sees` names existing constellations, at least one.
fn sees(scenario: &Scenario, terminal: &Terminal, at: &KeyPath, out: &mut FindingList) {
    let Some(seen) = &terminal.sees else { return };
    let at = at.key("sees");
    if scenario.constellations.is_empty() {
        let message = "sees is for several [constellations]; leave it out";
        return out.push(|| at.clone(), || message.into());
    }
    let names = || scenario.constellations.keys().map(String::as_str);
    out.require(
        !seen.is_empty(),
        || at.clone(),
        || format!("sees no constellation{}", expected("", names())),
    );
    for (i, name) in seen.iter().enumerate() {
        out.require(
            scenario.constellations.contains_key(name),
            || at.index(i),
            || format!("unknown constellation {}{}", quoted(name), expected(name, names())),
        );
        let before = seen[..i].contains(name);
        out.require(!before, || at.index(i), || format!("{} is named twice; expected once", quoted(name)));
    }
}

fn satellites(c: &Constellation, at: &KeyPath, out: &mut FindingList) {
    let sources = [
        ("preset", c.preset.is_some()),
        ("shell", c.shell.is_some()),
        ("shells", c.shells.is_some()),
        ("ellipses", c.ellipses.is_some()),
        ("geostationary", c.geostationary.is_some()),
        ("tle", c.tle.is_some()),
        ("omm", c.omm.is_some()),
    ];
    let given: Vec<&str> = sources.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    let all = sources.map(|(name, _)| name).join(", ");
    match given.len() {
        0 => out.push(|| at.clone(), || format!("no satellites; expected one of {all}")),
        1 => {}
        _ => out.push(
            || at.key(given[1]),
            || format!("both {}; expected only one of {all}", given.join(" and ")),
        ),
    }
    if let Some(shell) = &c.shell {
        check_shell(shell, &at.key("shell"), out);
    }
    for (list, count) in
        [("shells", c.shells.as_ref().map(Vec::len)), ("ellipses", c.ellipses.as_ref().map(Vec::len))]
    {
        let fine = count.is_none_or(|count| (1..=MOST_SATELLITES as usize).contains(&count));
        let found = count.unwrap_or(0);
        out.require(fine, || at.key(list), || format!("{found} {list}; expected 1 to {MOST_SATELLITES}"));
    }
    for (i, shell) in c.shells.iter().flatten().enumerate() {
        check_shell(shell, &at.key("shells").index(i), out);
    }
    for (i, ellipse) in c.ellipses.iter().flatten().enumerate() {
        check_ellipse(ellipse, &at.key("ellipses").index(i), out);
    }
    if let Some(longitudes) = &c.geostationary {
        let at = at.key("geostationary");
        let count = longitudes.len() as u64;
        out.require(
            (1..=MOST_SATELLITES).contains(&count),
            || at.clone(),
            || format!("{count} satellites; expected 1 to {MOST_SATELLITES}"),
        );
        for (i, lon) in longitudes.iter().enumerate() {
            between(*lon, LONGITUDES_DEG.0, LONGITUDES_DEG.1, "longitude", || at.index(i), out);
        }
    }
    for (key, name) in [("tle", &c.tle), ("omm", &c.omm)] {
        out.require(
            name.as_deref() != Some(""),
            || at.key(key),
            || "file name is empty; expected a path, such as \"satellites.tle\"".into(),
        );
    }
    if let Some(epoch) = &c.epoch {
        out.require(
            is_utc(epoch),
            || at.key("epoch"),
            || {
                format!(
                    "{} is not an instant in UTC; expected one such as \"2025-10-07T12:00:00Z\"",
                    quoted(epoch)
                )
            },
        );
    }
}

/// Checks the rules that decide which links exist.
fn rules(c: &Constellation, at: &KeyPath, out: &mut FindingList) {
    for (key, angle, most, what) in [
        ("elevation_mask", c.elevation_mask, 90.0, "elevation"),
        ("isl_latitude_limit", c.isl_latitude_limit, 90.0, "latitude"),
        ("cross_seam_longitude_threshold", c.cross_seam_longitude_threshold, 180.0, "threshold"),
    ] {
        if let Some(angle) = angle {
            between(angle, 0.0, most, what, || at.key(key), out);
        }
    }
    for (key, range) in [("max_isl_range", c.max_isl_range), ("max_gsl_range", c.max_gsl_range)] {
        let fine = range.is_none_or(|range| range.as_km() >= 1.0);
        let found = range.unwrap_or_default();
        out.require(fine, || at.key(key), || format!("range of {found} is less than 1 km"));
    }
    for (key, count) in [
        ("intra_plane_neighbours", c.intra_plane_neighbours),
        ("inter_plane_neighbours", c.inter_plane_neighbours),
    ] {
        let fine = count.is_none_or(|count| count <= MOST_NEIGHBOURS);
        let found = count.unwrap_or(0);
        out.require(
            fine,
            || at.key(key),
            || format!("{found} neighbours; expected at most {MOST_NEIGHBOURS}"),
        );
    }
    let shells = c.shells.as_ref().map_or(0, Vec::len);
    out.require(
        !c.inter_shell_isls || shells > 1,
        || at.key("inter_shell_isls"),
        || format!("links between shells, of which there are {shells}; expected two or more in \"shells\""),
    );
    if let Some(altitude) = c.grazing_altitude {
        out.require(
            (-100.0..=100e3).contains(&altitude.as_km()),
            || at.key("grazing_altitude"),
            || format!("altitude of {altitude} is outside -100 km to 100000 km"),
        );
    }
    handover(c, at, out);
    out.require(
        c.handover_period.is_none_or(|period| period > Span::ZERO),
        || at.key("handover_period"),
        || "period of 0 s; expected more than 0 s".into(),
    );
    out.require(
        c.update_interval >= Span::from_millis(1),
        || at.key("update_interval"),
        || format!("interval of {} is too short; expected at least 1 ms", c.update_interval),
    );
    for (key, radio) in [("isl", &c.isl), ("fibre", &c.fibre)] {
        links::queue(radio.queue, &at.key(key), out);
        links::loss(&radio.loss, &at.key(key), out);
    }
    gsl(c, at, out);
    overrides(c, at, out);
}

/// Checks that a beam has a shared capacity.
fn beam(scenario: &Scenario, terminal: &Terminal, at: &KeyPath, out: &mut FindingList) {
    let Some(beam) = &terminal.beam else { return };
    name::is_plain(beam, || at.key("beam"), out);
    let shares = scenario.fleets().any(|fleet| fleet.is_seen_by(terminal) && fleet.model.gsl.is_shared());
    out.require(
        shares,
        || at.key("beam"),
        || {
            let expected = "expected shared = { down = \"1 Gbit/s\" } in constellation.gsl";
            format!("beam {} has no capacity to share; {expected}", quoted(beam))
        },
    );
    out.require(
        !terminal.gateway,
        || at.key("beam"),
        || "beam of a gateway; expected beam for terminals that are not gateways".into(),
    );
}

/// Checks that each direction has a rate.
fn gsl(c: &Constellation, at: &KeyPath, out: &mut FindingList) {
    const MISSING: &str = "missing key \"rate\"; expected a rate with its unit, such as \"1.5 Mbit/s\"";
    let gsl = at.key("gsl");
    out.require(
        c.gsl.shared.is_none_or(|shared| shared.up.is_some() || shared.down.is_some()),
        || gsl.key("shared"),
        || "nothing is shared; expected up, down or both, such as down = \"1 Gbit/s\"".into(),
    );
    let without = |direction: &Direction| Rates::of_gsl(c, at, None, *direction).rate.is_none();
    let missing: Vec<Direction> =
        [Direction::Forward, Direction::Reverse].into_iter().filter(without).collect();
    let Some(&first) = missing.first() else { return };
    match c.gsl.one_way(first) {
        (key, Some(_)) => {
            out.push(|| gsl.key(key), || format!("{MISSING}, here or for both directions in {gsl}"));
        }
        (_, None) if missing.len() > 1 => out.push(|| gsl.clone(), || MISSING.into()),
        (key, None) => out.push(
            || gsl.clone(),
            || format!("{MISSING}, for both directions, or as {key} = {{ rate = \"1.5 Mbit/s\" }}"),
        ),
    }
}

/// Checks that each override names another link and changes something. The links' existence is checked where the network is built.
fn overrides(c: &Constellation, at: &KeyPath, out: &mut FindingList) {
    for (i, own) in c.overrides.iter().enumerate() {
        let at = at.key("overrides").index(i);
        let before = c.overrides[..i].iter().position(|other| other.link == own.link);
        if let Some(before) = before {
            out.push(
                || at.key("link"),
                || {
                    format!(
                        "{} is the link of override {before} too; expected one for each",
                        quoted(&own.link)
                    )
                },
            );
        }
        let silent = own.said().is_silent() && own.reverse.as_ref().is_none_or(|r| r.said().is_silent());
        out.require(
            !silent,
            || at.clone(),
            || "changes nothing; expected rate, queue, loss, schedule, trace or reverse".into(),
        );
    }
}

fn handover(c: &Constellation, at: &KeyPath, out: &mut FindingList) {
    let cells = c.handover == Some(Handover::EarthFixedCells);
    out.require(
        cells || c.handover == Some(Handover::Synchronous) || c.handover_period.is_none(),
        || at.key("handover_period"),
        || {
            "handover_period is for the handovers \"synchronous\" and \"earth-fixed-cells\"; leave it out"
                .into()
        },
    );
    out.require(
        cells || c.handover_cell.is_none(),
        || at.key("handover_cell"),
        || "handover_cell is for the handover \"earth-fixed-cells\"; leave it out".into(),
    );
    if let Some(cell) = c.handover_cell {
        between(cell, 0.01, 90.0, "cell", || at.key("handover_cell"), out);
    }
    if let Some(check) = c.handover_check {
        let fine = check >= Span::from_millis(1);
        out.require(
            fine,
            || at.key("handover_check"),
            || format!("interval of {check} is too short; expected at least 1 ms"),
        );
    }
    let most = c.handover_check.unwrap_or_default();
    let dither = c.handover_check_dither;
    out.require(
        dither == Span::ZERO || dither.as_secs_f64() <= 0.9 * most.as_secs_f64(),
        || at.key("handover_check_dither"),
        || format!("dither of {dither}; expected at most nine tenths of handover_check, which is {most}"),
    );
    for (key, span) in [
        ("handover_gap", c.handover_gap),
        ("gsl_acquisition", c.gsl_acquisition),
        ("isl_acquisition", c.isl_acquisition),
    ] {
        let fine = span <= Span::from_secs(3600);
        out.require(fine, || at.key(key), || format!("{span}; expected at most 3600 s"));
    }
    let loss = c.handover_loss;
    out.require(
        (0.0..=1.0).contains(&loss),
        || at.key("handover_loss"),
        || format!("probability {loss} is outside 0 to 1"),
    );
}

fn fibre(scenario: &Scenario, c: &Constellation, at: &KeyPath, out: &mut FindingList) {
    for (key, factor) in [("fibre_index", c.fibre_index), ("fibre_detour", c.fibre_detour)] {
        let fine = (1.0..=10.0).contains(&factor);
        out.require(fine, || at.key(key), || format!("{factor} is outside 1 to 10"));
    }
    for (i, ends) in c.fibre_between.iter().flatten().enumerate() {
        let at = at.key("fibre_between").index(i);
        for (end, name) in ends.iter().enumerate() {
            let names = || scenario.terminals.keys().map(String::as_str);
            out.require(
                scenario.terminals.contains_key(name),
                || at.index(end),
                || format!("unknown terminal {}{}", quoted(name), expected(name, names())),
            );
        }
        let same = ends[0] == ends[1];
        out.require(!same, || at.index(1), || format!("fibre from {} to itself", quoted(&ends[0])));
    }
}

fn check_ellipse(ellipse: &Ellipse, at: &KeyPath, out: &mut FindingList) {
    let (axis, eccentricity) = (ellipse.semi_major_axis, ellipse.eccentricity);
    let fine = (0.0..1.0).contains(&eccentricity);
    out.require(
        fine,
        || at.key("eccentricity"),
        || format!("eccentricity of {eccentricity} is outside 0 to less than 1"),
    );
    let perigee_km = axis.as_km() * (1.0 - eccentricity);
    out.require(
        !fine || (6478.0..=2e6).contains(&perigee_km),
        || at.key("semi_major_axis"),
        || {
            format!(
                "perigee at {perigee_km:.0} km from the Earth's centre is outside 6478 km (100 km high) to 2000000 km"
            )
        },
    );
    between(ellipse.inclination, 0.0, 180.0, "inclination", || at.key("inclination"), out);
}

fn check_shell(shell: &Shell, at: &KeyPath, out: &mut FindingList) {
    let parts = [
        ("planes", shell.planes.is_some()),
        ("satellites_per_plane", shell.satellites_per_plane.is_some()),
        ("inclination", shell.inclination.is_some()),
    ];
    for (key, given) in parts {
        match (&shell.walker, given) {
            (Some(_), true) => {
                out.push(|| at.key(key), || format!("both walker and {key}; expected one of them"))
            }
            (None, false) => {
                out.push(|| at.clone(), || format!("missing key \"{key}\"; expected it or \"walker\""))
            }
            _ => {}
        }
    }
    out.require(
        shell.walker.is_none() || shell.stagger.is_none(),
        || at.key("stagger"),
        || "both walker and stagger; expected one of them, as walker includes the phasing".into(),
    );
    let (planes, each) = (shell.planes.unwrap_or(1), shell.satellites_per_plane.unwrap_or(1));
    for (key, count) in [("planes", planes), ("satellites_per_plane", each)] {
        out.require(count > 0, || at.key(key), || format!("{key} is 0; expected at least 1"));
    }
    let count = u64::from(planes) * u64::from(each);
    out.require(
        count <= MOST_SATELLITES,
        || at.key("planes"),
        || format!("{planes} planes of {each} are {count} satellites; expected at most {MOST_SATELLITES}"),
    );
    let altitude = shell.altitude;
    out.require(
        (100.0..=1e6).contains(&altitude.as_km()),
        || at.key("altitude"),
        || format!("altitude of {altitude} is outside 100 km to 1000000 km"),
    );
    if let Some(inclination) = shell.inclination {
        between(inclination, 0.0, 180.0, "inclination", || at.key("inclination"), out);
    }
    if let Some(spacing) = shell.raan_spacing {
        between(spacing, 0.0, 360.0, "spacing", || at.key("raan_spacing"), out);
    }
    let stagger = shell.stagger.unwrap_or(0.5);
    out.require(
        (0.0..=1.0).contains(&stagger),
        || at.key("stagger"),
        || format!("stagger of {stagger} is outside 0 to 1"),
    );
}

/// Returns true for a text by RFC 3339 with a time of day and "Z".
fn is_utc(text: &str) -> bool {
    text.parse::<Datetime>()
        .is_ok_and(|t| t.date.is_some() && t.time.is_some() && t.offset == Some(Offset::Z))
}
