//! Positions of a scenario's terminals: a place, or a course along a track.
//!
//! Follows the `orbit` crate's courses; lengths are those on the constellation's Earth.
//! A file has a row of column names first: t_s, lat_deg, lon_deg and, if there are heights, height_m. Each row is a point.
//! Leaves out mistakes that checking finds.

use crate::error::BuildError;
use crate::files::bytes_of;
use skyhop_orbit::{Course, EarthModel, Terminal, Waypoint};
use skyhop_scenario::{self as scenario, Files, Track};
use skyhop_text::table::{TableError, TableRow, number, rows, shown};

const COLUMNS: [&str; 4] = ["t_s", "lat_deg", "lon_deg", "height_m"];

/// A terminal at its initial position, and its course if it moves.
///
/// # Errors
///
/// A track that cannot be read or followed.
pub fn place_of(
    name: &str,
    model: &scenario::Terminal,
    earth: &EarthModel,
    files: &Files,
) -> Result<(Terminal, Option<Course>), BuildError> {
    let Some(track) = &model.track else {
        let terminal = Terminal {
            name: name.to_owned(),
            latitude_rad: model.lat.unwrap_or_default().as_rad(),
            longitude_rad: model.lon.unwrap_or_default().as_rad(),
            height_m: model.height.as_m(),
        };
        return Ok((terminal, None));
    };
    let course = course(track, &format!("terminals.{name}.track"), earth, files)?;
    let first = course.waypoints()[0];
    // A track of one point gives exactly the same position as a place.
    Ok((first.terminal(name), (!course.stands()).then_some(course)))
}

fn course(track: &Track, key: &str, earth: &EarthModel, files: &Files) -> Result<Course, BuildError> {
    match track {
        Track::GreatCircle { from, to, speed, height, start } => {
            let from = Waypoint {
                t_s: start.as_secs_f64(),
                latitude_rad: from.lat.as_rad(),
                longitude_rad: from.lon.as_rad(),
                height_m: height.as_m(),
            };
            let to = (to.lat.as_rad(), to.lon.as_rad());
            Course::great_circle(earth, from, to, speed.as_m_s()).map_err(|e| BuildError::new(key, e))
        }
        Track::Points { points } => {
            let waypoint = |point: &scenario::TrackPoint| Waypoint {
                t_s: point.at.as_secs_f64(),
                latitude_rad: point.lat.as_rad(),
                longitude_rad: point.lon.as_rad(),
                height_m: point.height.as_m(),
            };
            Course::new(points.iter().map(waypoint).collect()).map_err(|e| BuildError::new(key, e))
        }
        Track::File { file } => {
            let key = format!("{key}.file");
            read(bytes_of(files, file, &key)?).map_err(|e| BuildError::in_file(&key, file, e))
        }
    }
}

/// Reads the points of a track. The error has the line.
fn read(bytes: &[u8]) -> Result<Course, TableError> {
    let mut rows = rows(bytes)?;
    let Some(head) = rows.next().transpose()? else {
        return Err(TableError::whole("is empty; expected a line of column names"));
    };
    let columns = columns(&head)?;
    let (mut waypoints, mut kept): (Vec<Waypoint>, Vec<TableRow>) = (Vec::new(), Vec::new());
    for row in rows {
        let row = row?;
        waypoints.push(waypoint(&columns, &row).map_err(|message| row.wrong(message))?);
        kept.push(row);
    }
    Course::new(waypoints).map_err(|error| match error.index().and_then(|index| kept.get(index)) {
        Some(row) => row.wrong(error.to_string()),
        None => TableError::whole("has no rows"),
    })
}

/// Index of each of [`COLUMNS`] in a row.
fn columns(head: &TableRow) -> Result<[Option<usize>; 4], TableError> {
    let names: Vec<&str> = head.cells().collect();
    let all = COLUMNS.join(", ");
    for (i, name) in names.iter().enumerate() {
        if !COLUMNS.contains(name) {
            let near = skyhop_text::spelling::hint(name, COLUMNS);
            return Err(head.wrong(format!("unknown column \"{}\"; expected {all}{near}", shown(name))));
        }
        if names[..i].contains(name) {
            return Err(head.wrong(format!("column {name} is there twice")));
        }
    }
    let columns = COLUMNS.map(|column| names.iter().position(|name| *name == column));
    match COLUMNS.iter().zip(&columns).find(|(name, at)| at.is_none() && **name != "height_m") {
        Some((missing, _)) => Err(head.wrong(format!("no column {missing}; expected {all}"))),
        None => Ok(columns),
    }
}

fn waypoint(columns: &[Option<usize>; 4], row: &TableRow) -> Result<Waypoint, String> {
    let cells: Vec<&str> = row.cells().collect();
    let expected = columns.iter().flatten().count();
    if cells.len() != expected {
        return Err(format!("{} values for {expected} columns", cells.len()));
    }
    let value = |column: usize, least: f64, most: f64| {
        let Some(at) = columns[column] else { return Ok(0.0) };
        let value = number(cells[at]).map_err(|e| format!("{}: {e}", COLUMNS[column]))?;
        let fits = (least..=most).contains(&value);
        fits.then_some(value)
            .ok_or_else(|| format!("{}: {} is outside {least} to {most}", COLUMNS[column], shown(cells[at])))
    };
    use skyhop_orbit::terminal::{LONGITUDES_DEG, MAX_HEIGHT_M, MIN_HEIGHT_M};
    Ok(Waypoint {
        t_s: value(0, 0.0, 1e9)?,
        latitude_rad: value(1, -90.0, 90.0)?.to_radians(),
        longitude_rad: value(2, LONGITUDES_DEG.0, LONGITUDES_DEG.1)?.to_radians(),
        height_m: value(3, MIN_HEIGHT_M, MAX_HEIGHT_M)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_point() {
        for text in [
            "t_s,lat_deg,lon_deg,height_m\n0,51.47,-0.45,0\n1500,52,-5,11000\n",
            "t_s;lon_deg;lat_deg;height_m\r\n0;-0.45;51.47;0\r\n\r\n1500;-5;52;11000\r\n",
        ] {
            let course = read(text.as_bytes()).unwrap();
            let [a, b] = course.waypoints() else { panic!("two points") };
            assert_eq!(
                (a.t_s, a.latitude_rad, a.longitude_rad),
                (0.0, 51.47f64.to_radians(), -0.45f64.to_radians())
            );
            assert_eq!((b.t_s, b.height_m), (1500.0, 11_000.0));
        }
        let surface = read(b"t_s,lat_deg,lon_deg\n0,0,0\n").unwrap();
        assert_eq!((surface.waypoints()[0].height_m, surface.stands()), (0.0, true));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, expected) in [
            ("", "is empty"),
            ("t_s,lat_deg,lon_deg\n", "has no rows"),
            ("t_s,lat_deg\n0,1\n", "line 1: no column lon_deg; expected t_s, lat_deg, lon_deg, height_m"),
            (
                "t_s,lat_deg,lon_deg,height_km\n",
                "line 1: unknown column \"height_km\"; expected t_s, lat_deg, lon_deg, height_m; did you mean \"height_m\"?",
            ),
            ("t_s,t_s,lat_deg,lon_deg\n", "line 1: column t_s is there twice"),
            ("t_s,lat_deg,lon_deg\n0,1\n", "line 2: 2 values for 3 columns"),
            ("t_s,lat_deg,lon_deg\n0,91,1\n", "line 2: lat_deg: 91 is outside -90 to 90"),
            ("t_s,lat_deg,lon_deg\n0,x,1\n", "line 2: lat_deg: \"x\" is not a number"),
            ("t_s,lat_deg,lon_deg\n0,1,1\n\n0,1,2\n", "line 4: time of 0 s is not after 0 s"),
            (
                "t_s,lat_deg,lon_deg\n0,0,0\n60,0,10\n",
                "line 3: 18.5 km/s from the preceding point; expected at most 5 km/s",
            ),
            ("t_s,lat_deg,lon_deg\n0,0,0\n90000,0,180\n", "line 3: opposite the preceding point"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
