//! Checks of constellations and terminals: one source of satellites, orbits and places that exist.
//!
//! Follows the ranges of the quantities on a sphere.
//! Differs: at most 100,000 satellites, because every update looks at each of them.
//! Leaves out the elements' file, which is read where orbits are computed.

use super::{Findings, links, name_is_plain};
use crate::error::quoted;
use crate::model::{Constellation, Scenario, Shell, Terminal};
use crate::path::KeyPath;
use skyhop_units::{Angle, Span};
use toml::value::{Datetime, Offset};

const MOST_SATELLITES: u64 = 100_000;
const LONGITUDES: (f64, f64) = (-180.0, 360.0);

pub(super) fn check(scenario: &Scenario, out: &mut Findings) {
    if let Some(constellation) = &scenario.constellation {
        satellites(constellation, &KeyPath::default().key("constellation"), out);
    }
    let terminals = KeyPath::default().key("terminals");
    if scenario.constellation.is_none() && !scenario.terminals.is_empty() {
        out.push(|| terminals.clone(), || "terminals without a constellation; add [constellation]".into());
    }
    for (name, terminal) in &scenario.terminals {
        let at = terminals.key(name);
        name_is_plain(name, || at.clone(), out);
        place(terminal, &at, out);
    }
}

fn place(terminal: &Terminal, at: &KeyPath, out: &mut Findings) {
    between(terminal.lat, -90.0, 90.0, "latitude", || at.key("lat"), out);
    between(terminal.lon, LONGITUDES.0, LONGITUDES.1, "longitude", || at.key("lon"), out);
    let height = terminal.height;
    out.require(
        (-1.0..=100.0).contains(&height.as_km()),
        || at.key("height"),
        || format!("height of {height} is outside -1 km to 100 km"),
    );
}

fn between(
    angle: Angle,
    least: f64,
    most: f64,
    what: &str,
    path: impl FnOnce() -> KeyPath,
    out: &mut Findings,
) {
    let fine = (least..=most).contains(&angle.as_deg());
    out.require(fine, path, || format!("{what} of {angle} is outside {least} to {most} deg"));
}

fn satellites(c: &Constellation, at: &KeyPath, out: &mut Findings) {
    let sources = [
        ("preset", c.preset.is_some()),
        ("shell", c.shell.is_some()),
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
    if let Some(longitudes) = &c.geostationary {
        let at = at.key("geostationary");
        let count = longitudes.len() as u64;
        out.require(
            (1..=MOST_SATELLITES).contains(&count),
            || at.clone(),
            || format!("{count} satellites; expected 1 to {MOST_SATELLITES}"),
        );
        for (i, lon) in longitudes.iter().enumerate() {
            between(*lon, LONGITUDES.0, LONGITUDES.1, "longitude", || at.index(i), out);
        }
    }
    for (key, name) in [("tle", &c.tle), ("omm", &c.omm)] {
        out.require(name.as_deref() != Some(""), || at.key(key), || "file name is empty".into());
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
    if let Some(mask) = c.elevation_mask {
        between(mask, 0.0, 90.0, "elevation", || at.key("elevation_mask"), out);
    }
    between(c.isl_latitude_limit, 0.0, 90.0, "latitude", || at.key("isl_latitude_limit"), out);
    out.require(
        c.update_interval > Span::ZERO,
        || at.key("update_interval"),
        || "interval of 0 s never ends; expected more than 0 s".into(),
    );
    for (key, radio) in [("isl", c.isl), ("gsl", c.gsl)] {
        links::queue(radio.queue, &at.key(key), out);
        links::loss(radio.loss, &at.key(key), out);
    }
}

fn check_shell(shell: &Shell, at: &KeyPath, out: &mut Findings) {
    for (key, count) in [("planes", shell.planes), ("satellites_per_plane", shell.satellites_per_plane)] {
        out.require(count > 0, || at.key(key), || format!("{key} is 0; expected at least 1"));
    }
    let count = u64::from(shell.planes) * u64::from(shell.satellites_per_plane);
    out.require(
        count <= MOST_SATELLITES,
        || at.key("planes"),
        || {
            let (planes, each) = (shell.planes, shell.satellites_per_plane);
            format!("{planes} planes of {each} are {count} satellites; expected at most {MOST_SATELLITES}")
        },
    );
    let altitude = shell.altitude;
    out.require(
        (100.0..=1e6).contains(&altitude.as_km()),
        || at.key("altitude"),
        || format!("altitude of {altitude} is outside 100 km to 1000000 km"),
    );
    between(shell.inclination, 0.0, 180.0, "inclination", || at.key("inclination"), out);
    if let Some(spacing) = shell.raan_spacing {
        between(spacing, 0.0, 360.0, "spacing", || at.key("raan_spacing"), out);
    }
    let stagger = shell.stagger;
    out.require(
        (0.0..=1.0).contains(&stagger),
        || at.key("stagger"),
        || format!("stagger of {stagger} is outside 0 to 1"),
    );
}

/// RFC 3339 with a time of day and "Z".
fn is_utc(text: &str) -> bool {
    text.parse::<Datetime>()
        .is_ok_and(|t| t.date.is_some() && t.time.is_some() && t.offset == Some(Offset::Z))
}
