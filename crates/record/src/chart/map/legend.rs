//! The legend below a map.
//!
//! It explains the items on the map and no others, and each entry has their number.
//! Differs from a box inside the frame, which would hide satellites.
//! Leaves out columns; entries flow into rows.

use super::label::width;
use super::symbols::{self, KINDS, Pen};
use super::{FlightDirection, Map};
use crate::chart::escape;
use std::fmt::Write;

/// Distance between rows, px.
pub const ROW: f64 = 19.0;

enum LegendSample {
    Line(Pen),
    Satellite(FlightDirection),
    Site(bool),
}

/// The kinds of items on the map, with their numbers.
pub struct Legend {
    entries: Vec<(LegendSample, String, f64, usize)>,
}

impl Legend {
    /// The legend of a map, in rows that begin at `left` and are `wide`, with letters of `size`, all in pixels.
    pub fn of(map: &Map, left: f64, wide: f64, size: f64) -> Self {
        let mut samples: Vec<(LegendSample, String)> = Vec::new();
        for (flight, name) in [
            (FlightDirection::Ascending, "ascending satellite"),
            (FlightDirection::Descending, "descending satellite"),
            (FlightDirection::Still, "satellite above one place"),
        ] {
            let count = map.satellites.iter().filter(|satellite| satellite.flight == flight).count();
            if count > 0 {
                samples.push((LegendSample::Satellite(flight), format!("{name} ({count})")));
            }
        }
        for (gateway, name) in [(false, "terminal"), (true, "gateway")] {
            if map.sites.iter().any(|site| site.gateway == gateway) {
                samples.push((LegendSample::Site(gateway), name.to_owned()));
            }
        }
        if map.path.len() > 1 {
            samples.push((LegendSample::Line(symbols::PATH), symbols::PATH.name.to_owned()));
        }
        if !map.tracks.is_empty() {
            samples.push((LegendSample::Line(symbols::TRACK), symbols::TRACK.name.to_owned()));
        }
        for kind in KINDS {
            let count = map.lines.iter().filter(|line| line.kind == kind).count();
            if count > 0 {
                let pen = symbols::pen(kind);
                let name = format!("{} ({count} up)", pen.name);
                samples.push((LegendSample::Line(pen), name));
            }
        }
        if !map.seams.is_empty() {
            samples.push((LegendSample::Line(symbols::SEAM), symbols::SEAM.name.to_owned()));
        }
        if !map.footprints.is_empty() {
            let name = format!("{} ({:.1}° mask)", symbols::FOOTPRINT.name, map.mask_deg);
            samples.push((LegendSample::Line(symbols::FOOTPRINT), name));
        }
        let (mut x, mut row) = (left, 0);
        let mut entries = Vec::new();
        for (sample, name) in samples {
            let sample_width = if matches!(sample, LegendSample::Line(_)) { 32.0 } else { 16.0 };
            let total = sample_width + width(&name, size) + 14.0;
            if x > left && x + total > left + wide {
                (x, row) = (left, row + 1);
            }
            entries.push((sample, name, x, row));
            x += total;
        }
        Legend { entries }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.entries.last().map_or(0, |entry| entry.3 + 1)
    }

    /// Draws the legend; `top` is the baseline of its first row.
    pub fn draw(&self, out: &mut String, top: f64) {
        for (sample, name, x, row) in &self.entries {
            let y = top + ROW * *row as f64;
            let (middle, text) = (y - 3.8, escape(name));
            let after = match sample {
                LegendSample::Line(pen) => {
                    let dash = if pen.dash.is_empty() { "none" } else { pen.dash };
                    let _ = write!(
                        out,
                        "<path d=\"M{x:.1} {middle:.1}h26\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.1}\" \
                            stroke-dasharray=\"{dash}\"/>",
                        pen.colour,
                        pen.width.max(1.0)
                    );
                    32.0
                }
                LegendSample::Satellite(flight) => {
                    symbols::satellite(out, (x + 5.0, middle), 4.2, *flight, false);
                    16.0
                }
                LegendSample::Site(gateway) => {
                    symbols::site(out, (x + 5.0, middle), 4.0, *gateway);
                    16.0
                }
            };
            let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{y:.1}\" fill=\"#1f2328\">{text}</text>", x + after);
        }
    }
}
