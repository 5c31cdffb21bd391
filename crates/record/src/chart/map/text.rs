//! A map as text: coastlines in braille, satellites as ^ and v, a path as its nodes and a dotted line.
//!
//! Follows the equirectangular projection of the pictures: a cell is two dots wide and four high, each 360 degrees / (2 columns).
//! Differs from the pictures: of the links only the path's are drawn, as there is no room.
//! Leaves out colour, so that it is the same in a pipe and on a terminal.

use super::geometry::{MapPoint, arc};
use super::{FlightDirection, Map, land};
use std::fmt::Write;

/// Letters of the nodes of a path in order; later ones have none.
const STOPS: &str = "123456789abcdefghijklmnopqrstuvwxyz";

struct Canvas {
    columns: usize,
    rows: usize,
    dots: Vec<u8>,
    letters: Vec<Option<char>>,
}

impl Canvas {
    fn new(columns: usize) -> Self {
        let (columns, rows) = (columns.max(20), columns.max(20) / 4);
        Canvas { columns, rows, dots: vec![0; columns * rows], letters: vec![None; columns * rows] }
    }

    /// Column and row of a point, in dots.
    fn dot(&self, point: MapPoint) -> (usize, usize) {
        let (across, down) = ((2 * self.columns) as f64, (4 * self.rows) as f64);
        let x = (point.lon_deg + 180.0) / 360.0 * across;
        let y = (90.0 - point.lat_deg) / 180.0 * down;
        ((x.max(0.0) as usize).min(2 * self.columns - 1), (y.max(0.0) as usize).min(4 * self.rows - 1))
    }

    fn cell(&self, point: MapPoint) -> usize {
        let (x, y) = self.dot(point);
        y / 4 * self.columns + x / 2
    }

    fn set(&mut self, point: MapPoint) {
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let (x, y) = self.dot(point);
        self.dots[y / 4 * self.columns + x / 2] |= BITS[x % 2][y % 4];
    }

    /// Removes the coast to the left and right of a path, which would be hard to see in it.
    fn clear_beside(&mut self) {
        for cell in 0..self.letters.len() {
            let path = |letter: &Option<char>| {
                letter.is_some_and(|c| c == '•' || STOPS.contains(c) || matches!(c, 'A' | 'B'))
            };
            let column = cell % self.columns;
            let left = column > 0 && path(&self.letters[cell - 1]);
            let right = column + 1 < self.columns && path(&self.letters[cell + 1]);
            if left || right {
                self.dots[cell] = 0;
            }
        }
    }

    fn letter(&mut self, point: MapPoint, letter: char) {
        let cell = self.cell(point);
        self.letters[cell] = Some(letter);
    }
}

pub(super) fn draw(map: &Map, columns: usize) -> String {
    let mut canvas = Canvas::new(columns);
    for [a, b] in land::coast() {
        let steps = ((a.lon_deg - b.lon_deg).abs().max((a.lat_deg - b.lat_deg).abs()) * 2.0).ceil().max(1.0);
        for step in 0..=steps as u32 {
            let share = f64::from(step) / steps;
            canvas.set(MapPoint {
                lat_deg: a.lat_deg + share * (b.lat_deg - a.lat_deg),
                lon_deg: a.lon_deg + share * (b.lon_deg - a.lon_deg),
            });
        }
    }
    for satellite in map.satellites.iter().filter(|_| map.path.is_empty()) {
        let letter = match satellite.flight {
            FlightDirection::Ascending => '^',
            FlightDirection::Descending => 'v',
            FlightDirection::Still => 'o',
        };
        canvas.letter(satellite.at, letter);
    }
    for hop in map.path.windows(2) {
        for piece in arc(hop[0].at, hop[1].at) {
            for step in piece.windows(2) {
                for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
                    let between = |a: f64, b: f64| a + share * (b - a);
                    canvas.letter(
                        MapPoint {
                            lat_deg: between(step[0].lat_deg, step[1].lat_deg),
                            lon_deg: between(step[0].lon_deg, step[1].lon_deg),
                        },
                        '•',
                    );
                }
            }
        }
    }
    let mut key = Vec::new();
    for site in map.sites.iter().filter(|_| map.path.is_empty()) {
        canvas.letter(site.at, if site.gateway { '#' } else { '@' });
        key.push(format!("{} {}", if site.gateway { '#' } else { '@' }, site.name));
    }
    let last = map.path.len().saturating_sub(1);
    let mut letters = STOPS.chars();
    let mut named = Vec::new();
    for (i, stop) in map.path.iter().enumerate() {
        let letter = match i {
            0 => Some('A'),
            i if i == last => Some('B'),
            _ => letters.next(),
        };
        let Some(letter) = letter else { continue };
        named.push((stop.at, letter));
        key.push(format!("{letter} {}", stop.name));
    }
    // The ends are drawn last, so that they are visible.
    named.sort_by_key(|(_, letter)| letter.is_uppercase());
    named.into_iter().for_each(|(at, letter)| canvas.letter(at, letter));
    if !map.path.is_empty() {
        canvas.clear_beside();
    }
    framed(&canvas, &key)
}

fn framed(canvas: &Canvas, key: &[String]) -> String {
    let mut heading = vec![' '; canvas.columns + 2];
    for (lon, text) in [(-180, "180W"), (-90, "90W"), (0, "0"), (90, "90E"), (180, "180E")] {
        let at = 1 + (lon + 180) as usize * canvas.columns / 360;
        let at = at.saturating_sub(text.len() / 2).min(canvas.columns + 2 - text.len());
        heading.splice(at..at + text.len(), text.chars());
    }
    let mut out = heading.into_iter().collect::<String>().trim_end().to_owned();
    let _ = write!(out, "\n┌{}┐\n", "─".repeat(canvas.columns));
    for row in 0..canvas.rows {
        out.push('│');
        for cell in row * canvas.columns..(row + 1) * canvas.columns {
            let braille = match canvas.dots[cell] {
                0 => ' ',
                dots => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
            };
            out.push(canvas.letters[cell].unwrap_or(braille));
        }
        out.push_str("│\n");
    }
    let _ = writeln!(out, "└{}┘", "─".repeat(canvas.columns));
    let mut line = String::new();
    for entry in key {
        if !line.is_empty() && line.chars().count() + 2 + entry.chars().count() > canvas.columns {
            let _ = writeln!(out, " {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push_str(", ");
        }
        line.push_str(entry);
    }
    if !line.is_empty() {
        let _ = writeln!(out, " {line}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_orbit::{Terminal, preset};
    use skyhop_topology::{NodeId, Rules, Topology};

    fn iridium() -> Topology {
        let place = |name, lat, lon| Terminal::from_degrees(name, lat, lon).unwrap();
        let ends = vec![place("quito", -0.22, -78.51), place("suva", -18.1, 178.4)];
        let mut topology = Topology::new(preset::iridium(), ends, Rules::iridium()).unwrap();
        topology.update(0.0);
        topology
    }

    #[test]
    fn the_map_has_its_size_and_satellites_in_their_cells() {
        let text = Map::new("").network(&iridium(), 0.0).text(96);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 1 + 24 + 1 + 1);
        assert!(lines[1..27].iter().all(|line| line.chars().count() == 98), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 98));
        let letters =
            |letter| text.lines().skip(2).take(24).flat_map(str::chars).filter(|c| *c == letter).count();
        // 66 satellites; some share a cell near the poles, and two the cells of the terminals.
        assert!((28..=33).contains(&letters('^')) && (28..=33).contains(&letters('v')), "{text}");
        // Quito: column 27 of 96 from 180 W, row 12 of 24 from the north pole.
        assert_eq!(lines[2 + 12].chars().nth(1 + 27), Some('@'), "{text}");
        assert!(lines[27].ends_with("@ quito, @ suva"));
    }

    #[test]
    fn a_path_has_its_stops_and_leaves_over_the_date_line() {
        let topology = iridium();
        let ends = [NodeId(66), NodeId(67)];
        let text = Map::new("").network(&topology, 0.0).path(&topology, &ends, 0.0).text(96);
        let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
        let world = &lines[2..26];
        let find = |letter| world.iter().position(|line| line.contains(&letter));
        assert_eq!((find('A'), find('B')), (Some(12), Some(14)), "{text}");
        // Westwards over the Pacific: in the first column and the last, and nowhere over Africa.
        let dots = |column: usize| world.iter().filter(|line| line[1 + column] == '•').count();
        assert_eq!(dots(0), 1, "{text}");
        assert!((30..70).all(|column| dots(column) == 0), "{text}");
        assert!(text.ends_with(" A quito, B suva\n"));
    }
}
