//! Positions of a population's terminals: rows of a table, or random points around them.
//!
//! Follows geometry on a sphere: points are uniform over the area of a cap around a place.
//! Differs from drawing on a map, which concentrates points near the poles.
//! Leaves out land and sea.

use crate::check::name::is_plain;
use crate::finding::FindingList;
use crate::path::KeyPath;
use skyhop_chance::Stream;
use skyhop_orbit::terminal::{LONGITUDES_DEG, MAX_HEIGHT_M, MIN_HEIGHT_M};
use skyhop_text::spelling::hint;
use skyhop_text::table::{TableError, TableRow, number, rows, shown};
use skyhop_units::{Angle, Length};
use std::collections::BTreeSet;

/// Radius of the sphere for distances from a place, m.
const RADIUS_M: f64 = 6_371_000.0;

/// A place of a table, or the centre of a region.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TerminalPlace {
    pub name: String,
    pub lat_deg: f64,
    pub lon_deg: f64,
    pub height: Option<Length>,
    pub weight: f64,
}

const COLUMNS: [&str; 5] = ["name", "lat_deg", "lon_deg", "height_m", "weight"];

/// The places of a table; terminals are named after `population` and the row.
pub(super) fn table(bytes: &[u8], population: &str) -> Result<Vec<TerminalPlace>, TableError> {
    let mut all = rows(bytes)?;
    let head = all
        .next()
        .transpose()?
        .ok_or_else(|| TableError::whole("is empty; expected a row of names first"))?;
    let columns: Vec<&str> = head.cells().collect();
    for (i, column) in columns.iter().enumerate() {
        if !COLUMNS.contains(column) {
            let near = hint(column, COLUMNS);
            let what = format!("unknown column \"{}\"; expected {}{near}", shown(column), COLUMNS.join(", "));
            return Err(head.wrong(what));
        }
        if columns[..i].contains(column) {
            return Err(head.wrong(format!("column \"{column}\" is there twice")));
        }
    }
    let find = |name: &str| columns.iter().position(|column| *column == name);
    let needed = |name: &str| {
        find(name)
            .ok_or_else(|| head.wrong(format!("no column \"{name}\"; expected name, lat_deg and lon_deg")))
    };
    let [name, lat, lon] = [needed("name")?, needed("lat_deg")?, needed("lon_deg")?];
    let (height, weight) = (find("height_m"), find("weight"));
    let mut places = Vec::new();
    let mut seen = BTreeSet::new();
    for row in all {
        let row = row?;
        let cells: Vec<&str> = row.cells().collect();
        if cells.len() != columns.len() {
            return Err(row.wrong(format!("{} cells; expected {}", cells.len(), columns.len())));
        }
        let place = TerminalPlace {
            name: named(&row, cells[name], population)?,
            lat_deg: within(&row, "lat_deg", cells[lat], (-90.0, 90.0))?,
            lon_deg: within(&row, "lon_deg", cells[lon], LONGITUDES_DEG)?,
            height: match height.map(|column| cells[column]).filter(|cell| !cell.is_empty()) {
                None => None,
                Some(cell) => {
                    Some(Length::from_m(within(&row, "height_m", cell, (MIN_HEIGHT_M, MAX_HEIGHT_M))?))
                }
            },
            weight: weight.map_or(Ok(1.0), |column| within(&row, "weight", cells[column], (0.0, 1e15)))?,
        };
        if !seen.insert(place.name.clone()) {
            return Err(row.wrong(format!("name \"{}\" is there twice", place.name)));
        }
        places.push(place);
        if places.len() > super::MOST {
            return Err(row.wrong(format!("more than {} places", super::MOST)));
        }
    }
    match places.is_empty() {
        true => Err(TableError::whole("has no places; expected a row for each below the row of names")),
        false => Ok(places),
    }
}

/// The name of a row, with hyphens in place of blanks.
fn named(row: &TableRow, cell: &str, population: &str) -> Result<String, TableError> {
    let name = cell.split_whitespace().collect::<Vec<_>>().join("-");
    let mut out = FindingList::default();
    // The whole name of the terminal must be valid.
    is_plain(&format!("{population}-{name}"), KeyPath::default, &mut out);
    match out.list.pop() {
        _ if name.is_empty() => Err(row.wrong("name is empty")),
        Some(finding) => Err(row.wrong(finding.message)),
        None => Ok(name),
    }
}

fn within(row: &TableRow, what: &str, cell: &str, (least, most): (f64, f64)) -> Result<f64, TableError> {
    let value = number(cell).map_err(|message| row.wrong(format!("{what}: {message}")))?;
    match (least..=most).contains(&value) {
        true => Ok(value),
        false => Err(row.wrong(format!("{what} of {value} is outside {least} to {most}"))),
    }
}

/// A place drawn by weight; `sums` are the cumulative weights of `places`.
pub(super) fn draw<'p>(places: &'p [TerminalPlace], sums: &[f64], stream: &mut Stream) -> &'p TerminalPlace {
    let at = stream.uniform() * sums.last().copied().unwrap_or(0.0);
    &places[sums.partition_point(|sum| *sum <= at).min(places.len() - 1)]
}

/// Latitude and longitude of a random point within `radius` of a place, uniform over the area.
pub(super) fn scatter(place: &TerminalPlace, radius: Length, stream: &mut Stream) -> (Angle, Angle) {
    if radius == Length::default() {
        return (Angle::from_deg(place.lat_deg), Angle::from_deg(place.lon_deg));
    }
    let (lat, lon) = (place.lat_deg.to_radians(), place.lon_deg.to_radians());
    // The area of a cap is proportional to one minus the cosine of its angle.
    let edge = (radius.as_m() / RADIUS_M).min(std::f64::consts::PI);
    let away = (1.0 - stream.uniform() * (1.0 - edge.cos())).acos();
    let bearing = stream.uniform() * std::f64::consts::TAU;
    let sin = (lat.sin() * away.cos() + lat.cos() * away.sin() * bearing.cos()).clamp(-1.0, 1.0);
    let east = (bearing.sin() * away.sin() * lat.cos()).atan2(away.cos() - lat.sin() * sin);
    let turned = (lon + east).to_degrees();
    let wrapped = if turned > 180.0 {
        turned - 360.0
    } else if turned < -180.0 {
        turned + 360.0
    } else {
        turned
    };
    (Angle::from_deg(sin.asin().to_degrees()), Angle::from_deg(wrapped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_chance::Seed;

    fn place(lat_deg: f64, lon_deg: f64) -> TerminalPlace {
        TerminalPlace { name: "x".into(), lat_deg, lon_deg, height: None, weight: 1.0 }
    }

    #[test]
    fn points_are_even_over_the_area_and_none_is_beyond_the_radius() {
        for (lat, lon) in [(0.0, 0.0), (48.0, 179.9), (-89.5, 10.0), (90.0, 0.0)] {
            let middle = place(lat, lon);
            let (mut stream, n) = (Seed(1).stream("test"), 20_000);
            let mut inner = 0;
            for _ in 0..n {
                let (a, b) = scatter(&middle, Length::from_km(300.0), &mut stream);
                let (a, b, c, d) = (a.as_rad(), b.as_rad(), lat.to_radians(), lon.to_radians());
                let cos = a.sin() * c.sin() + a.cos() * c.cos() * (b - d).cos();
                let away_km = cos.min(1.0).acos() * RADIUS_M / 1e3;
                assert!(away_km < 300.0 + 1e-6 && (-180.0..=360.0).contains(&b.to_degrees()), "{away_km}");
                inner += usize::from(away_km < 150.0);
            }
            // A quarter of the area is within half the radius.
            assert!((0.24..0.26).contains(&(inner as f64 / n as f64)), "{inner} at {lat}");
        }
    }

    #[test]
    fn places_are_drawn_by_weight_and_never_without_one() {
        let weights = [0.0, 3.0, 0.0, 1.0];
        let places: Vec<TerminalPlace> =
            weights.iter().map(|w| TerminalPlace { weight: *w, ..place(*w, 0.0) }).collect();
        let sums = [0.0, 3.0, 3.0, 4.0];
        let mut stream = Seed(1).stream("test");
        let drawn: Vec<f64> = (0..10_000).map(|_| draw(&places, &sums, &mut stream).weight).collect();
        let heavy = drawn.iter().filter(|w| **w == 3.0).count();
        assert!(drawn.iter().all(|w| *w > 0.0) && (7300..7700).contains(&heavy), "{heavy}");
    }
}
