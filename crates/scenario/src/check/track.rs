//! Checks of terminals' positions: a valid place, or a track that can be followed.
//!
//! Follows the ranges of quantities on a sphere, and [`skyhop_orbit::Course`] for valid tracks.
//! Differs: a moving gateway has no fibre.
//! Leaves out a track's file, which is read where the network is built.

use super::angle::between;
use crate::finding::FindingList;
use crate::model::{Constellation, Coordinates, Scenario, Terminal, Track, TrackPoint};
use crate::path::KeyPath;
use skyhop_orbit::course::MOST_SPEED_M_S;
use skyhop_orbit::terminal::{LONGITUDES_DEG, MAX_HEIGHT_M, MIN_HEIGHT_M};
use skyhop_orbit::{Course, CourseError, EarthModel, Waypoint};
use skyhop_units::{Angle, Length};

/// Checks that a terminal has either a valid place or a valid track.
pub(super) fn place(
    scenario: &Scenario,
    name: &str,
    terminal: &Terminal,
    at: &KeyPath,
    out: &mut FindingList,
) {
    let Some(track) = &terminal.track else { return stands(terminal, at, out) };
    for (key, given) in [("lat", terminal.lat.is_some()), ("lon", terminal.lon.is_some())] {
        out.require(
            !given,
            || at.key(key),
            || format!("both {key} and track; expected {key} or a track, whose points have it"),
        );
    }
    let found = terminal.height;
    out.require(
        found == Length::default(),
        || at.key("height"),
        || format!("height of {found} with a track; expected it in the track"),
    );
    let key = at.key("track");
    match track {
        Track::GreatCircle { .. } => great_circle(track, &key, out),
        Track::Points { points } => through(points, &key.key("points"), out),
        Track::File { file } => {
            out.require(
                !file.is_empty(),
                || key.key("file"),
                || "file name is empty; expected a path, such as \"flight.csv\"".into(),
            );
        }
    }
    if let Some(constellation) = scenario.constellation.as_ref().filter(|_| terminal.gateway) {
        fibre(scenario, constellation, name, at, out);
    }
}

fn stands(terminal: &Terminal, at: &KeyPath, out: &mut FindingList) {
    let (lat, lon) = (terminal.lat, terminal.lon);
    let missing = match (lat, lon) {
        (None, None) => Some(
            "missing keys \"lat\" and \"lon\"; expected angles with their units, such as \"53 deg\", or a track",
        ),
        (None, _) => Some("missing key \"lat\"; expected an angle with its unit, such as \"53 deg\""),
        (_, None) => Some("missing key \"lon\"; expected an angle with its unit, such as \"53 deg\""),
        _ => None,
    };
    missing.into_iter().for_each(|message| out.push(|| at.clone(), || message.into()));
    coordinates(lat.unwrap_or_default(), lon.unwrap_or_default(), at, out);
    height(terminal.height, at, out);
}

fn coordinates(lat: Angle, lon: Angle, at: &KeyPath, out: &mut FindingList) {
    between(lat, -90.0, 90.0, "latitude", || at.key("lat"), out);
    between(lon, LONGITUDES_DEG.0, LONGITUDES_DEG.1, "longitude", || at.key("lon"), out);
}

fn height(height: Length, at: &KeyPath, out: &mut FindingList) {
    out.require(
        (MIN_HEIGHT_M..=MAX_HEIGHT_M).contains(&height.as_m()),
        || at.key("height"),
        || format!("height of {height} is outside {} km to {} km", MIN_HEIGHT_M / 1e3, MAX_HEIGHT_M / 1e3),
    );
}

fn great_circle(track: &Track, at: &KeyPath, out: &mut FindingList) {
    let Track::GreatCircle { from, to, speed, height: above, start } = track else { return };
    for (key, Coordinates { lat, lon }) in [("from", from), ("to", to)] {
        coordinates(*lat, *lon, &at.key(key), out);
    }
    height(*above, at, out);
    let waypoint = Waypoint {
        t_s: start.as_secs_f64(),
        latitude_rad: from.lat.as_rad(),
        longitude_rad: from.lon.as_rad(),
        height_m: above.as_m(),
    };
    // The validity of a course does not depend on the size of the Earth.
    let to = (to.lat.as_rad(), to.lon.as_rad());
    match Course::great_circle(&EarthModel::WGS84, waypoint, to, speed.as_m_s()) {
        Err(CourseError::Speed { .. }) => out.push(
            || at.key("speed"),
            || format!("speed of {speed}; expected more than 0 and at most {} km/s", MOST_SPEED_M_S / 1e3),
        ),
        Err(error @ CourseError::Opposite { .. }) => out.push(
            || at.key("to"),
            || format!("{error}, as kind \"points\" has it").replace("the preceding point", "from"),
        ),
        _ => {}
    }
}

fn through(points: &[TrackPoint], at: &KeyPath, out: &mut FindingList) {
    for (i, point) in points.iter().enumerate() {
        coordinates(point.lat, point.lon, &at.index(i), out);
        height(point.height, &at.index(i), out);
    }
    let waypoint = |point: &TrackPoint| Waypoint {
        t_s: point.at.as_secs_f64(),
        latitude_rad: point.lat.as_rad(),
        longitude_rad: point.lon.as_rad(),
        height_m: point.height.as_m(),
    };
    match Course::new(points.iter().map(waypoint).collect()) {
        // An invalid place has been reported already.
        Ok(_) | Err(CourseError::Place { .. }) => {}
        Err(error) => {
            let at = || match (&error, error.index()) {
                (CourseError::Time { .. }, Some(index)) => at.index(index).key("at"),
                (_, Some(index)) => at.index(index),
                _ => at.clone(),
            };
            out.push(at, || error.to_string());
        }
    }
}

/// Checks that no fibre leads to a moving terminal.
fn fibre(
    scenario: &Scenario,
    constellation: &Constellation,
    name: &str,
    at: &KeyPath,
    out: &mut FindingList,
) {
    let joined = match &constellation.fibre_between {
        Some(pairs) => pairs.iter().flatten().any(|end| end == name),
        None => scenario.terminals.values().filter(|terminal| terminal.gateway).count() > 1,
    };
    out.require(
        !joined,
        || at.key("track"),
        || "fibre connects this gateway with others, but it moves; expected fibre_between in [constellation] with fixed gateways".into(),
    );
}
