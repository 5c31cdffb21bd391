//! Draws a map as SVG text.
//!
//! Follows the charts' attributes, so that every renderer and the PNG look alike.
//! Differs from a globe: an equirectangular map shows all satellites at once, and stretches the poles to the width of the equator.
//! Leaves out scripts and fonts of its own.

use super::geometry::{MapPoint, arc};
use super::label::{Area, OVER_MARK, Placed, Placement, width};
use super::legend::{Legend, ROW};
use super::symbols::{self, KINDS, Pen};
use super::{Map, land};
use crate::chart::escape;
use skyhop_topology::LinkKind;
use std::fmt::Write;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 40.0;
const PLOT_WIDTH: f64 = 936.0;
const PLOT_HEIGHT: f64 = PLOT_WIDTH / 2.0;
const TITLE: f64 = 15.0;
const SMALL: f64 = 11.0;
/// Largest number of satellites whose names are shown by default.
const NAMED: usize = 100;

fn place(point: MapPoint) -> (f64, f64) {
    (LEFT + (point.lon_deg + 180.0) / 360.0 * PLOT_WIDTH, TOP + (90.0 - point.lat_deg) / 180.0 * PLOT_HEIGHT)
}

pub(super) fn svg(map: &Map) -> String {
    let legend = Legend::of(map, LEFT, PLOT_WIDTH, SMALL);
    let notes = map.notes.len() + 1;
    let below = TOP + PLOT_HEIGHT + 34.0;
    let height = below + ROW * legend.rows() as f64 + 15.0 * notes as f64 + 6.0;
    let title = escape(&map.title);
    // A title that is too long for its line is drawn smaller.
    let size = (TITLE * PLOT_WIDTH / width(&map.title, TITLE)).min(TITLE);
    let mut out = String::with_capacity(262_144);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"skyhop-map\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"system-ui, 'Helvetica Neue', Helvetica, Arial, sans-serif\" font-size=\"{SMALL}\">\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\
         <clipPath id=\"world\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{PLOT_WIDTH}\" height=\"{PLOT_HEIGHT}\"/></clipPath>\
         <text x=\"{LEFT}\" y=\"26\" font-size=\"{size:.1}\" font-weight=\"600\" fill=\"#1f2328\">{title}</text>"
    );
    world(&mut out);
    out.push_str("<g clip-path=\"url(#world)\">\n");
    network(&mut out, map);
    out.push_str("</g>\n");
    marks(&mut out, map);
    legend.draw(&mut out, below);
    let mut y = below + ROW * legend.rows() as f64 + 2.0;
    let projection = "Equirectangular projection; links and path follow the great circles below them. Land: Natural Earth.";
    for note in map.notes.iter().map(String::as_str).chain([projection]) {
        let _ = writeln!(
            out,
            "<text x=\"{LEFT}\" y=\"{y:.1}\" font-size=\"10.5\" fill=\"#59636e\">{}</text>",
            escape(note)
        );
        y += 15.0;
    }
    out.push_str("</svg>\n");
    out
}

/// Draws land, graticule, frame and degrees.
fn world(out: &mut String) {
    let mut path = String::new();
    for ring in land::rings() {
        polyline(&mut path, &ring);
        path.push('Z');
    }
    let mut coast = String::new();
    let mut pen = None;
    for [a, b] in land::coast() {
        let (from, to) = (place(a), place(b));
        if pen != Some(from) {
            let _ = write!(coast, "M{:.1} {:.1}", from.0, from.1);
        }
        let _ = write!(coast, "L{:.1} {:.1}", to.0, to.1);
        pen = Some(to);
    }
    let (right, bottom) = (LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT);
    let mut grid = String::new();
    let mut degrees = String::new();
    for lon in (-180i32..=180).step_by(30) {
        let x = place(MapPoint { lat_deg: 0.0, lon_deg: f64::from(lon) }).0;
        let _ = write!(grid, "M{x:.1} {TOP}V{bottom}");
        let letter = match lon {
            -179..=-1 => "W",
            1..=179 => "E",
            _ => "",
        };
        let _ = write!(
            degrees,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}°{letter}</text>",
            bottom + 14.0,
            lon.abs()
        );
    }
    for lat in (-90i32..=90).step_by(30) {
        let y = place(MapPoint { lat_deg: f64::from(lat), lon_deg: 0.0 }).1;
        let _ = write!(grid, "M{LEFT} {y:.1}H{right}");
        let letter = match lat {
            ..0 => "S",
            0 => "",
            _ => "N",
        };
        let _ = write!(
            degrees,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}°{letter}</text>",
            LEFT - 6.0,
            y + 3.5,
            lat.abs()
        );
    }
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"#ecebe4\" fill-rule=\"evenodd\"/>\
         <path d=\"{grid}\" fill=\"none\" stroke=\"#d9dde1\" stroke-width=\"0.6\"/>\
         <path d=\"{coast}\" fill=\"none\" stroke=\"#9c9a8e\" stroke-width=\"0.6\" stroke-linejoin=\"round\"/>\
         <rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{PLOT_WIDTH}\" height=\"{PLOT_HEIGHT}\" fill=\"none\" stroke=\"#59636e\"/>\n\
         <g fill=\"#59636e\" font-size=\"10.5\">{degrees}</g>"
    );
}

fn polyline(path: &mut String, points: &[MapPoint]) {
    for (i, point) in points.iter().enumerate() {
        let (x, y) = place(*point);
        let _ = write!(path, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
    }
}

fn stroke(
    out: &mut String,
    pieces: impl Iterator<Item = Vec<MapPoint>>,
    pen: &Pen,
    scale: f64,
    opacity: f64,
) {
    let mut path = String::new();
    pieces.for_each(|piece| polyline(&mut path, &piece));
    if path.is_empty() {
        return;
    }
    let dash =
        if pen.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", pen.dash) };
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.2}\" stroke-opacity=\"{opacity:.2}\" \
         stroke-linejoin=\"round\"{dash}/>",
        pen.colour,
        pen.width * scale
    );
}

/// Scale of marks and lines, smaller for many satellites.
fn scale(map: &Map) -> f64 {
    (200.0 / map.satellites.len().max(1) as f64).sqrt().clamp(0.45, 1.0)
}

fn network(out: &mut String, map: &Map) {
    // With a path, everything else is drawn fainter.
    let scale = scale(map);
    let opacity = if map.path.is_empty() { 0.85 * scale } else { 0.4 * scale };
    stroke(out, map.footprints.iter().flatten().cloned(), &symbols::FOOTPRINT, scale, 0.8);
    stroke(out, map.seams.iter().flatten().cloned(), &symbols::SEAM, 1.0, 0.8);
    for kind in KINDS {
        let lines = map.lines.iter().filter(|line| line.kind == kind);
        let pieces = lines.flat_map(|line| arc(line.ends[0], line.ends[1]));
        // Terminals are few, and their links short.
        let (scale, opacity) = if kind == LinkKind::Gsl { (1.0, 1.0) } else { (scale, opacity) };
        stroke(out, pieces, &symbols::pen(kind), scale, opacity);
    }
    let legs = map.tracks.iter().flat_map(|track| track.windows(2)).flat_map(|leg| arc(leg[0], leg[1]));
    stroke(out, legs, &symbols::TRACK, 1.0, 0.9);
    let casing = Pen { colour: "#ffffff", width: symbols::PATH.width + 2.0, ..symbols::PATH };
    for pen in [casing, symbols::PATH] {
        stroke(out, map.path.windows(2).flat_map(|hop| arc(hop[0].at, hop[1].at)), &pen, 1.0, 1.0);
    }
}

fn marks(out: &mut String, map: &Map) {
    let reach = 4.2 * scale(map);
    let of_path = reach.max(3.4) + 0.8;
    let mut placement = Placement::new(Area {
        left: LEFT + 1.0,
        top: TOP + 1.0,
        right: LEFT + PLOT_WIDTH - 1.0,
        bottom: TOP + PLOT_HEIGHT - 1.0,
    });
    let named = map.names.unwrap_or(map.satellites.len() <= NAMED);
    // With a path, or without names, satellites are drawn fainter.
    let cost = if named { OVER_MARK } else { 2.0 };
    let _ = write!(out, "<g opacity=\"{}\">", if map.path.is_empty() || named { 1.0 } else { 0.6 });
    for satellite in map.satellites.iter().filter(|satellite| !satellite.on_path) {
        symbols::satellite(out, place(satellite.at), reach, satellite.flight, false);
        placement.mark(Area::around(place(satellite.at), reach), cost);
    }
    out.push_str("</g>\n");
    for satellite in map.satellites.iter().filter(|satellite| satellite.on_path) {
        symbols::satellite(out, place(satellite.at), of_path, satellite.flight, true);
        placement.mark(Area::around(place(satellite.at), of_path), OVER_MARK);
    }
    for site in &map.sites {
        symbols::site(out, place(site.at), 4.0, site.gateway);
        placement.mark(Area::around(place(site.at), 4.6), OVER_MARK);
    }
    for hop in map.path.windows(2) {
        let points = arc(hop[0].at, hop[1].at).into_iter().flatten();
        points.for_each(|point| placement.line(place(point), 15.0));
    }
    for line in &map.lines {
        let points = arc(line.ends[0], line.ends[1]).into_iter().flatten();
        points.for_each(|point| placement.line(place(point), 1.0));
    }
    out.push('\n');
    for site in &map.sites {
        label(out, placement.label(&site.name, place(site.at), 4.6, 12.0, true), "#000000", 600);
    }
    let stops = map.path.iter().filter(|stop| stop.satellite);
    for stop in stops {
        label(
            out,
            placement.label(&stop.name, place(stop.at), of_path, SMALL, true),
            symbols::PATH.colour,
            400,
        );
    }
    if named {
        for satellite in map.satellites.iter().filter(|satellite| !satellite.on_path) {
            label(
                out,
                placement.label(&satellite.name, place(satellite.at), reach, 8.5, false),
                "#1c3a58",
                400,
            );
        }
    }
}

fn label(out: &mut String, placed: Option<Placed>, colour: &str, weight: u32) {
    let Some(Placed { text, x, y, size }) = placed else { return };
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{colour}\" stroke=\"#ffffff\" \
         stroke-width=\"2.4\" stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
        escape(&text)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_orbit::{Terminal, preset};
    use skyhop_topology::{NodeId, Rules, Topology};

    fn teledesic() -> Topology {
        let place = |name, lat, lon| Terminal::from_degrees(name, lat, lon).unwrap();
        let ends = vec![place("a <b>", 60.0, 170.0), place("c", 60.0, -170.0)];
        let mut topology = Topology::new(preset::teledesic(), ends, Rules::teledesic()).unwrap();
        topology.update(0.0);
        topology
    }

    #[test]
    fn links_that_are_down_are_not_drawn_and_no_line_crosses_the_map() {
        let topology = teledesic();
        let svg = Map::new("t").network(&topology, 0.0).footprints(&topology, 0.0).svg();
        let up = |kind| topology.links().iter().filter(|l| l.up && l.kind == kind).count();
        let between = up(LinkKind::InterPlane);
        assert!(between < topology.links().iter().filter(|l| l.kind == LinkKind::InterPlane).count());
        assert!(svg.contains(&format!("ISL between planes ({between} up)")));
        assert!(svg.contains("ascending satellite (144)") && svg.contains(">seam<"));
        let mut steps = 0;
        for path in svg.lines().filter(|line| line.contains("stroke-opacity")) {
            let d = path.split("d=\"").nth(1).and_then(|d| d.split('"').next()).unwrap();
            for piece in d.split('M').skip(1) {
                let x: Vec<f64> =
                    piece.split('L').map(|p| p.split(' ').next().unwrap().parse().unwrap()).collect();
                assert!(x.windows(2).all(|x| (x[1] - x[0]).abs() < 0.1 * PLOT_WIDTH), "{piece}");
                steps += x.len();
            }
        }
        assert!(steps > 5000, "{steps}");
    }

    /// The value of an attribute in each element of a kind.
    fn attribute(svg: &str, element: &str, name: &str) -> Vec<f64> {
        let of = |part: &str| -> Option<f64> {
            let head = &part[..part.find('>')?];
            head.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?.parse().ok()
        };
        svg.split(&format!("<{element}")).skip(1).filter_map(of).collect()
    }

    #[test]
    fn terminals_lie_where_the_graticule_says_and_names_stay_on_the_map() {
        let degrees =
            [(60.0, 120.0, "60°N", "120°E"), (-30.0, -90.0, "30°S", "90°W"), (0.0, 0.0, "0°", "0°")];
        let ends = degrees.map(|(lat, lon, _, name)| Terminal::from_degrees(name, lat, lon).unwrap());
        let mut topology = Topology::new(preset::iridium(), ends.to_vec(), Rules::iridium()).unwrap();
        topology.update(0.0);
        let svg = Map::new("t").network(&topology, 0.0).names(true).svg();
        let (cx, cy) = (attribute(&svg, "circle", "cx"), attribute(&svg, "circle", "cy"));
        let of = |label: &str, middle: bool| {
            let text = svg.split("<text ").find(|text| {
                text.contains(&format!(">{label}</text>")) && text.contains("\"middle\"") == middle
            });
            let text = format!("<text {}", text.expect("a label"));
            (attribute(&text, "text", "x")[0], attribute(&text, "text", "y")[0])
        };
        for (.., lat, lon) in degrees {
            // Degrees stand beside the frame, 3.5 px below their line's height.
            let (x, y) = (of(lon, true).0, of(lat, false).1 - 3.5);
            let near = |(at_x, at_y): (&f64, &f64)| (at_x - x).abs() < 0.11 && (at_y - y).abs() < 0.11;
            assert!(cx.iter().zip(&cy).any(near), "{lat} {lon}: {x} {y}");
        }
        let mut names = 0;
        for text in svg.split("<text ").filter(|text| text.contains("paint-order")) {
            let name = text.split('>').nth(1).unwrap().split('<').next().unwrap();
            let text = format!("<text {text}");
            let [x, y, size] = ["x", "y", "font-size"].map(|name| attribute(&text, "text", name)[0]);
            let right = x + width(name, size);
            assert!(x >= LEFT && right <= LEFT + PLOT_WIDTH, "{name} from {x} to {right}");
            assert!(y - size / 2.0 >= TOP && y <= TOP + PLOT_HEIGHT, "{name} at {y}");
            names += 1;
        }
        assert!(names > 50, "{names}");
    }

    #[test]
    fn a_path_is_named_and_text_is_safe() {
        let topology = teledesic();
        let ends = [NodeId(288), NodeId(289)];
        let map = Map::new("1 < 2").note("a & b").network(&topology, 0.0).path(&topology, &ends, 0.0);
        let svg = map.names(true).svg();
        for text in [">1 &lt; 2<", ">a &amp; b<", ">a &lt;b&gt;<", ">path<", ">0.1<"] {
            assert!(svg.contains(text), "no {text}");
        }
        // Over the date line in two pieces, which end at both sides.
        let path = svg
            .lines()
            .rfind(|line| line.contains(symbols::PATH.colour) && line.contains("stroke-opacity"))
            .unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(
            path.contains(&format!("L{:.1} ", LEFT + PLOT_WIDTH)) && path.contains(&format!("M{LEFT:.1} ")),
            "{path}"
        );
    }
}
