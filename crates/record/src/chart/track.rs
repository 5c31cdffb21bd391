//! The picture of a moving terminal: a map with its track and satellites, and below it charts of its flows over one time axis.
//!
//! Follows the series `terminal/<name>` of a run, and those of its flows' paths, transfers and pings.
//! Differs from the world map: it shows the region of the track and the satellites, with degrees of longitude at their true width
//! in its middle.
//! Leaves out tracks around a pole, where such a map ends.

use super::axis::AxisLayout;
use super::map::{MapPoint, land};
use super::svg::{LEFT, RIGHT, WIDTH};
use super::{Chart, ChartAxis, Mark, escape};
use skyhop_results::{RunResult, Series};
use std::fmt::Write;

/// Height of a chart's plot below the map, px.
const PLOT_HEIGHT: f64 = 120.0;
/// Largest number of flows in a chart.
const MOST_FLOWS: usize = 3;
/// Smallest and largest height of the map, and the space above it, px.
const MAP_HEIGHTS: (f64, f64) = (220.0, 420.0);
const MAP_TOP: f64 = 40.0;
/// Smallest extent of a map, degrees.
const LEAST_DEG: f64 = 2.0;
const TRACK: &str = "#b3160c";
const SATELLITES: &str = "#3f6f9f";

/// Name and SVG of each moving terminal of a run.
pub fn tracks(result: &RunResult) -> Vec<(String, String)> {
    let name = |series: &Series| {
        let name = series.entity.strip_prefix("terminal/")?;
        (series.metric == "latitude_deg").then(|| name.to_owned())
    };
    result.series.iter().filter_map(name).map(|name| (name.clone(), draw(result, &name))).collect()
}

/// Position of a terminal at a sample, and of the point below its satellite.
#[derive(Debug, Clone, Copy)]
struct TrackSample {
    t_s: f64,
    at: MapPoint,
    satellite: Option<(f64, MapPoint)>,
}

fn series<'a>(result: &'a RunResult, entity: &str, metric: &str) -> Vec<(f64, f64)> {
    let of = |series: &'a Series| series.samples.iter().map(|(at, value)| (at.as_secs_f64(), *value));
    let found = result.series.iter().find(|series| series.entity == entity && series.metric == metric);
    found.into_iter().flat_map(of).collect()
}

fn stops(result: &RunResult, name: &str) -> Vec<TrackSample> {
    let entity = format!("terminal/{name}");
    let of = |metric: &str| series(result, &entity, metric);
    let (lats, lons) = (of("latitude_deg"), of("longitude_deg"));
    let held = of("satellite");
    let below = of("satellite_latitude_deg").into_iter().zip(of("satellite_longitude_deg"));
    let mut below = held.into_iter().zip(below).peekable();
    let stop = |((t_s, lat_deg), (_, lon_deg))| {
        let satellite = below
            .next_if(|((at_s, _), _)| *at_s == t_s)
            .map(|((_, number), (lat, lon))| (number, MapPoint { lat_deg: lat.1, lon_deg: lon.1 }));
        TrackSample { t_s, at: MapPoint { lat_deg, lon_deg }, satellite }
    };
    lats.into_iter().zip(lons).map(stop).collect()
}

fn draw(result: &RunResult, name: &str) -> String {
    let stops = stops(result, name);
    let time = || ChartAxis::time().from(0.0).to(result.simulated_s);
    let chart = |title: &str, y: ChartAxis| Chart::new(title, time(), y);
    let entity = format!("terminal/{name}");
    let mut charts = vec![
        delays(result, chart("One-way delay", ChartAxis::new("delay", "s"))),
        goodput(result, chart("Goodput", ChartAxis::new("goodput", "bit/s").from(0.0))),
        chart("Handovers", ChartAxis::new("count", "").from(0.0)).samples(
            "handovers",
            Mark::Step,
            series(result, &entity, "handovers"),
        ),
    ];
    let addresses = series(result, &entity, "address_changes");
    if !addresses.is_empty() {
        let last = charts.pop().map(|chart| chart.samples("address changes", Mark::Step, addresses));
        charts.extend(last);
    }
    let ticks = time().layout([result.simulated_s].into_iter(), 8);
    let view = MapRegion::around(&stops);
    let mut body = String::new();
    map(&mut body, &view, &stops, &ticks);
    let mut y = MAP_TOP + view.height + 30.0;
    for chart in &charts {
        let (svg, height) = chart.svg_of_height(PLOT_HEIGHT);
        let _ = writeln!(body, "<g transform=\"translate(0 {y:.1})\">{svg}</g>");
        y += height;
    }
    let title = escape(&format!("{}: {name} and the satellites that it held", result.scenario));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y:.1}\" width=\"{WIDTH}\" height=\"{y:.1}\" \
         role=\"img\" aria-label=\"{title}\" \
         font-family=\"system-ui, 'Helvetica Neue', Helvetica, Arial, sans-serif\" font-size=\"11\">\
         <rect width=\"{WIDTH}\" height=\"{y:.1}\" fill=\"#ffffff\"/>\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"14\" font-weight=\"600\" fill=\"#1f2328\">{title}</text>\n{body}</svg>\n"
    )
}

/// Adds the propagation delays of flows' paths.
fn delays(result: &RunResult, mut chart: Chart) -> Chart {
    let mut paths: Vec<&Series> = Vec::new();
    for path in result.series.iter().filter(|series| series.metric == "path_delay_s") {
        // Flows between the same ends have the same path.
        if paths.len() < MOST_FLOWS && paths.iter().all(|known| known.samples != path.samples) {
            paths.push(path);
        }
    }
    for path in paths {
        let flow = path.entity.trim_start_matches("flow/");
        chart =
            chart.samples(format!("path of {flow}"), Mark::Line, series(result, &path.entity, path.metric));
    }
    chart
}

/// Adds transfers by the data received between samples, and pages and exchanges one by one.
fn goodput(result: &RunResult, mut chart: Chart) -> Chart {
    let mut left = MOST_FLOWS;
    for one in &result.series {
        let flow = one.entity.trim_start_matches("flow/");
        let points = series(result, &one.entity, one.metric);
        let (mark, points) = match one.metric {
            "bytes_delivered" => {
                let rate = |pair: &[(f64, f64)]| {
                    (pair[0].0, 8.0 * (pair[1].1 - pair[0].1).max(0.0) / (pair[1].0 - pair[0].0))
                };
                (Mark::Step, points.windows(2).filter(|pair| pair[1].0 > pair[0].0).map(rate).collect())
            }
            "completion_s" => {
                let bytes = series(result, &one.entity, "completion_bytes");
                let rate = |(took, bytes): (&(f64, f64), (f64, f64))| (took.0, 8.0 * bytes.1 / took.1);
                (Mark::Points, points.iter().zip(bytes).filter(|(took, _)| took.1 > 0.0).map(rate).collect())
            }
            _ => continue,
        };
        let points: Vec<(f64, f64)> = points;
        if left > 0 {
            left -= 1;
            chart = chart.samples(flow, mark, points);
        }
    }
    chart
}

/// The region of the world that is shown. Longitudes continue beyond 180 degrees where a track crosses the date line.
struct MapRegion {
    west: f64,
    north: f64,
    /// Pixels per degree of longitude and of latitude.
    scale: (f64, f64),
    height: f64,
}

impl MapRegion {
    fn around(stops: &[TrackSample]) -> Self {
        let points =
            unwrapped(stops).into_iter().flat_map(|stop| [Some(stop.at), stop.satellite.map(|s| s.1)]);
        let (mut west, mut east, mut south, mut north) = (f64::MAX, f64::MIN, f64::MAX, f64::MIN);
        for MapPoint { lat_deg, lon_deg } in points.flatten() {
            (west, east) = (west.min(lon_deg), east.max(lon_deg));
            (south, north) = (south.min(lat_deg), north.max(lat_deg));
        }
        if west > east {
            (west, east, south, north) = (-180.0, 180.0, -90.0, 90.0);
        }
        let grow = |low: f64, high: f64| {
            let margin = (0.06 * (high - low)).max(0.5 * (LEAST_DEG - (high - low))).max(0.5);
            (low - margin, high + margin)
        };
        (west, east) = grow(west, east);
        (south, north) = grow(south, north);
        let width = WIDTH - LEFT - RIGHT;
        let narrow = (0.5 * (south + north)).to_radians().cos().max(0.2);
        let (least, most) = MAP_HEIGHTS;
        // A track that is too high is shown with a wider region.
        let x = (width / (east - west)).min(most / (north - south) * narrow);
        let shown = width / x;
        let west = 0.5 * (west + east) - 0.5 * shown;
        let y = x / narrow;
        let height = ((north - south) * y).clamp(least, most);
        let north = 0.5 * (south + north) + 0.5 * height / y;
        Self { west, north, scale: (x, y), height }
    }

    fn place(&self, point: MapPoint) -> (f64, f64) {
        (
            LEFT + (point.lon_deg - self.west) * self.scale.0,
            MAP_TOP + (self.north - point.lat_deg) * self.scale.1,
        )
    }

    fn east(&self) -> f64 {
        self.west + (WIDTH - LEFT - RIGHT) / self.scale.0
    }

    fn south(&self) -> f64 {
        self.north - self.height / self.scale.1
    }
}

/// Stops with longitudes that differ by at most half a turn from the one before.
fn unwrapped(stops: &[TrackSample]) -> Vec<TrackSample> {
    let mut last = None;
    let near = |lon_deg: f64, last: f64| lon_deg - 360.0 * ((lon_deg - last) / 360.0).round();
    let mut turn = |stop: &TrackSample| {
        let lon_deg = near(stop.at.lon_deg, last.unwrap_or(stop.at.lon_deg));
        last = Some(lon_deg);
        let satellite = stop
            .satellite
            .map(|(number, below)| (number, MapPoint { lon_deg: near(below.lon_deg, lon_deg), ..below }));
        TrackSample { at: MapPoint { lon_deg, ..stop.at }, satellite, ..*stop }
    };
    stops.iter().map(&mut turn).collect()
}

fn map(out: &mut String, view: &MapRegion, stops: &[TrackSample], ticks: &AxisLayout) {
    let (right, bottom) = (WIDTH - RIGHT, MAP_TOP + view.height);
    let width = right - LEFT;
    let frame = format!("x=\"{LEFT}\" y=\"{MAP_TOP}\" width=\"{width}\" height=\"{:.1}\"", view.height);
    let _ = writeln!(out, "<clipPath id=\"part\"><rect {frame}/></clipPath><g clip-path=\"url(#part)\">");
    world(out, view);
    let stops = unwrapped(stops);
    satellites(out, view, &stops);
    let mut path = String::new();
    line(&mut path, view, stops.iter().map(|stop| stop.at));
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"#ffffff\" stroke-width=\"4.4\"/>\
         <path d=\"{path}\" fill=\"none\" stroke=\"{TRACK}\" stroke-width=\"2.4\" stroke-linejoin=\"round\"/>"
    );
    instants(out, view, &stops, ticks);
    let _ = writeln!(out, "</g><rect {frame} fill=\"none\" stroke=\"#59636e\"/>");
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{:.1}\" font-size=\"10.5\" fill=\"#59636e\">The track with its times, and the points below each \
         satellite while it was held. Land: Natural Earth.</text>",
        bottom + 22.0
    );
}

fn line(path: &mut String, view: &MapRegion, points: impl Iterator<Item = MapPoint>) {
    for (i, point) in points.enumerate() {
        let (x, y) = view.place(point);
        let _ = write!(path, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
    }
}

/// Draws the land, repeated as often as the map goes around, and degrees.
fn world(out: &mut String, view: &MapRegion) {
    let mut path = String::new();
    for turn in [-360.0, 0.0, 360.0] {
        for ring in land::rings() {
            let at = |point: &MapPoint| MapPoint { lon_deg: point.lon_deg + turn, ..*point };
            if ring.iter().map(at).any(|p| p.lon_deg >= view.west - 30.0 && p.lon_deg <= view.east() + 30.0) {
                line(&mut path, view, ring.iter().map(at));
                path.push('Z');
            }
        }
    }
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"#ecebe4\" fill-rule=\"evenodd\" stroke=\"#9c9a8e\" stroke-width=\"0.6\"/>"
    );
    let span = (view.east() - view.west).max(2.0 * (view.north - view.south()));
    let step = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0].into_iter().find(|step| span / step <= 9.0).unwrap_or(30.0);
    let (mut grid, mut degrees) = (String::new(), String::new());
    let multiples = |low: f64, high: f64| (low / step).ceil() as i64..=(high / step).floor() as i64;
    let letter = |degrees: f64, letters: [&str; 2]| match degrees {
        d if d == 0.0 || d.abs() == 180.0 => format!("{}°", d.abs()),
        d if d < 0.0 => format!("{}°{}", -d, letters[0]),
        d => format!("{d}°{}", letters[1]),
    };
    for lon in multiples(view.west, view.east()).map(|n| n as f64 * step) {
        let x = view.place(MapPoint { lat_deg: 0.0, lon_deg: lon }).0;
        let _ = write!(grid, "M{x:.1} {MAP_TOP}v{:.1}", view.height);
        let name = letter(lon - 360.0 * (lon / 360.0).round(), ["W", "E"]);
        let y = MAP_TOP + view.height - 4.0;
        let _ = write!(degrees, "<text x=\"{:.1}\" y=\"{y:.1}\">{name}</text>", x + 3.0);
    }
    for lat in multiples(view.south().max(-90.0), view.north.min(90.0)).map(|n| n as f64 * step) {
        let y = view.place(MapPoint { lat_deg: lat, lon_deg: 0.0 }).1;
        let _ = write!(grid, "M{LEFT} {y:.1}H{}", WIDTH - RIGHT);
        let name = letter(lat, ["S", "N"]);
        let _ = write!(degrees, "<text x=\"{:.1}\" y=\"{:.1}\">{name}</text>", LEFT + 4.0, y - 3.0);
    }
    let _ = writeln!(
        out,
        "<path d=\"{grid}\" fill=\"none\" stroke=\"#d9dde1\" stroke-width=\"0.6\"/>\
         <g fill=\"#59636e\" font-size=\"10\">{degrees}</g>"
    );
}

/// Draws the ground track of each satellite while it was held, and the terminal's link to it at the handover.
fn satellites(out: &mut String, view: &MapRegion, stops: &[TrackSample]) {
    let number = |stop: &TrackSample| stop.satellite.map(|(number, _)| number);
    let (mut ways, mut links, mut marks) = (String::new(), String::new(), String::new());
    for held in stops.chunk_by(|a, b| number(a) == number(b)) {
        let Some((_, first)) = held[0].satellite else { continue };
        line(&mut ways, view, held.iter().filter_map(|stop| stop.satellite).map(|(_, below)| below));
        line(&mut links, view, [held[0].at, first].into_iter());
        let (x, y) = view.place(first);
        let _ = write!(marks, "M{x:.1} {:.1}l3 5h-6Z", y - 3.0);
    }
    let _ = writeln!(
        out,
        "<path d=\"{links}\" fill=\"none\" stroke=\"#14694c\" stroke-width=\"0.6\" stroke-opacity=\"0.55\"/>\
         <path d=\"{ways}\" fill=\"none\" stroke=\"{SATELLITES}\" stroke-width=\"1\" stroke-opacity=\"0.7\"/>\
         <path d=\"{marks}\" fill=\"{SATELLITES}\"/>"
    );
}

/// Draws the terminal's position at the ticks of the time axis.
fn instants(out: &mut String, view: &MapRegion, stops: &[TrackSample], ticks: &AxisLayout) {
    let unit = ticks.label.rsplit('(').next().map_or("", |unit| unit.trim_end_matches(')'));
    let mut last: Option<(f64, f64)> = None;
    for (t_s, text) in &ticks.ticks {
        let Some(stop) = stops.iter().find(|stop| stop.t_s >= *t_s) else { continue };
        let (x, y) = view.place(stop.at);
        // A terminal at rest is labelled once.
        if last.is_some_and(|(a, b)| (x - a).hypot(y - b) < 24.0) {
            continue;
        }
        last = Some((x, y));
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\" fill=\"#ffffff\" stroke=\"{TRACK}\" stroke-width=\"1.6\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-weight=\"600\" fill=\"#000000\" stroke=\"#ffffff\" \
             stroke-width=\"2.4\" paint-order=\"stroke\">{text} {unit}</text>",
            y - 8.0
        );
    }
}
