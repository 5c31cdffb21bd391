//! Draws a chart as SVG text.
//!
//! Colours are attributes for light paper, which every renderer reads; a style block changes them on dark screens.
//! Differs from most: series also differ in dash, mark and lightness, so they survive a grey printer.
//! Leaves out measuring text; widths are estimated generously, as no font is known here.

use super::axis::AxisLayout;
use super::{Chart, ChartSamples, Mark};
use std::fmt::Write;

pub(super) const WIDTH: f64 = 760.0;
/// Default height of the plot, px.
pub(super) const PLOT_HEIGHT: f64 = 270.0;
pub(super) const LEFT: f64 = 68.0;
pub(super) const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 52.0;
/// Average advance of a 12 px sans-serif letter, px.
const LETTER: f64 = 6.6;

/// Colours that also differ in lightness (after Okabe and Ito), for light and dark paper.
const PENS: [SeriesPen; 6] = [
    SeriesPen { light: "#0b5fa5", dark: "#6cb6ff", dash: "" },
    SeriesPen { light: "#d95f02", dark: "#ffa657", dash: "7 3" },
    SeriesPen { light: "#1b7f5c", dark: "#56d4a5", dash: "2 3" },
    SeriesPen { light: "#9a3d8f", dark: "#e69bdc", dash: "10 3 2 3" },
    SeriesPen { light: "#3a3a3a", dark: "#d0d0d0", dash: "4 2" },
    SeriesPen { light: "#b08900", dark: "#f2cc60", dash: "1 3" },
];

struct SeriesPen {
    light: &'static str,
    dark: &'static str,
    dash: &'static str,
}

struct ChartFrame {
    top: f64,
    height: f64,
    x: AxisLayout,
    y: AxisLayout,
}

impl ChartFrame {
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let width = WIDTH - LEFT - RIGHT;
        (LEFT + self.x.place(x) * width, self.top + (1.0 - self.y.place(y)) * self.height)
    }
}

/// The picture with a plot `plot_height` pixels high, and the height of the whole.
pub(super) fn draw(chart: &Chart, plot_height: f64) -> (String, f64) {
    let points = || chart.samples.iter().flat_map(|s| s.points.iter());
    let x = chart.x.layout(points().map(|p| p.0), 8);
    let y = chart.y.layout(
        points().map(|p| p.1).chain(chart.levels.iter().map(|l| l.1)),
        if plot_height < 200.0 { 3 } else { 5 },
    );
    let (legend, rows) = legend(chart);
    let top = 38.0 + 20.0 * rows as f64;
    let frame = ChartFrame { top, height: plot_height, x, y };
    let height = top + plot_height + BOTTOM;
    let mut out = String::with_capacity(16_384);
    let title = escape(&chart.title);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"skyhop-chart\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"system-ui, 'Helvetica Neue', Helvetica, Arial, sans-serif\" font-size=\"12\">\
         {STYLE_OPEN}{}{STYLE_CLOSE}\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\
         <text class=\"ink\" x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"600\" fill=\"#1f2328\">{title}</text>",
        pens_in_the_dark(),
    );
    out.push_str(&legend);
    axes(&mut out, &frame);
    levels(&mut out, chart, &frame);
    let mut drawn = false;
    for (i, samples) in chart.samples.iter().enumerate() {
        let pieces = visible(chart, samples);
        drawn |= !pieces.is_empty();
        match samples.mark {
            Mark::Points => marks(&mut out, i, &pieces, &frame),
            Mark::Line => line(&mut out, i, &pieces, &frame, false),
            Mark::Step => line(&mut out, i, &pieces, &frame, true),
        }
    }
    level_labels(&mut out, chart, &frame);
    if !drawn {
        let _ = writeln!(
            out,
            "<text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#59636e\">no samples</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            top + plot_height / 2.0
        );
    }
    out.push_str("</svg>\n");
    (out, height)
}

/// Attributes hold for light paper and for print; these rules take precedence on a dark screen only.
const STYLE_OPEN: &str = "<style>@media screen and (prefers-color-scheme: dark){\
    .skyhop-chart .paper{fill:#16191d}.skyhop-chart .ink{fill:#e6e9ec}.skyhop-chart .soft{fill:#a0a8b0}\
    .skyhop-chart .rim{stroke:#16191d}.skyhop-chart .grid{stroke:#30363d}.skyhop-chart .frame{stroke:#6e7781}.skyhop-chart \
    .level{stroke:#a0a8b0}";
const STYLE_CLOSE: &str = "}</style>";

fn pens_in_the_dark() -> String {
    PENS.iter().enumerate().fold(String::new(), |mut css, (i, pen)| {
        let _ = write!(css, ".skyhop-chart .s{i}{{stroke:{}}}", pen.dark);
        css
    })
}

fn axes(out: &mut String, frame: &ChartFrame) {
    let (right, bottom) = (WIDTH - RIGHT, frame.top + frame.height);
    let mut grid = String::new();
    let mut labels = String::new();
    for (value, text) in &frame.y.ticks {
        let y = frame.at((frame.x.low, *value)).1;
        let _ = write!(grid, "M{LEFT} {y:.1}H{right}");
        let _ = write!(
            labels,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            LEFT - 8.0,
            y + 4.0
        );
    }
    for (value, text) in &frame.x.ticks {
        let x = frame.at((*value, frame.y.low)).0;
        let _ = write!(grid, "M{x:.1} {}V{bottom}", frame.top);
        let _ =
            write!(labels, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", bottom + 18.0);
    }
    let middle = frame.top + frame.height / 2.0;
    let _ = writeln!(
        out,
        "<path class=\"grid\" d=\"{grid}\" fill=\"none\" stroke=\"#e1e4e8\"/>\
         <path class=\"frame\" d=\"M{LEFT} {}V{bottom}H{right}\" fill=\"none\" stroke=\"#59636e\"/>\n\
         <g class=\"soft\" fill=\"#59636e\" font-size=\"11.5\">{labels}</g>\n\
         <text class=\"ink\" x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#1f2328\">{}</text>\
         <text class=\"ink\" transform=\"translate(16 {middle}) rotate(-90)\" text-anchor=\"middle\" fill=\"#1f2328\">{}</text>",
        frame.top,
        (LEFT + right) / 2.0,
        bottom + 40.0,
        escape(&frame.x.label),
        escape(&frame.y.label),
    );
}

fn levels(out: &mut String, chart: &Chart, frame: &ChartFrame) {
    for (_, value) in chart.levels.iter().filter(|l| chart.y.shows(l.1)) {
        let y = frame.at((frame.x.low, *value)).1;
        let _ = writeln!(
            out,
            "<path class=\"level\" d=\"M{LEFT} {y:.1}H{}\" fill=\"none\" stroke=\"#59636e\" stroke-width=\"1.2\" \
             stroke-dasharray=\"3 3\"/>",
            WIDTH - RIGHT
        );
    }
}

/// Draws the labels of levels above the samples, with an outline that keeps them readable there.
fn level_labels(out: &mut String, chart: &Chart, frame: &ChartFrame) {
    for (name, value) in chart.levels.iter().filter(|l| chart.y.shows(l.1)) {
        let y = frame.at((frame.x.low, *value)).1;
        let _ = writeln!(
            out,
            "<text class=\"soft rim\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"11.5\" fill=\"#59636e\" \
             stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
            WIDTH - RIGHT - 4.0,
            if y < frame.top + 16.0 { y + 15.0 } else { y - 6.0 },
            escape(name)
        );
    }
}

/// Runs of samples that can be shown, split at gaps.
fn visible<'a>(chart: &Chart, samples: &'a ChartSamples) -> Vec<&'a [(f64, f64)]> {
    samples
        .points
        .split(|p| !chart.x.shows(p.0) || !chart.y.shows(p.1))
        .filter(|run| !run.is_empty())
        .collect()
}

fn line(out: &mut String, series: usize, pieces: &[&[(f64, f64)]], frame: &ChartFrame, step: bool) {
    let mut path = String::new();
    for piece in pieces {
        let mut previous = None;
        for (x, y) in thin(piece.iter().map(|p| frame.at(*p))) {
            match previous {
                None => drop(write!(path, "M{x:.1} {y:.1}")),
                Some(_) if step => drop(write!(path, "H{x:.1}V{y:.1}")),
                Some(_) => drop(write!(path, "L{x:.1} {y:.1}")),
            }
            previous = Some((x, y));
        }
    }
    let pen = series % PENS.len();
    let _ = writeln!(
        out,
        "<path class=\"s{pen}\" d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.7\" \
         stroke-linejoin=\"round\"{}/>",
        PENS[pen].light,
        dash(pen)
    );
}

/// Keeps the first, lowest, highest and last sample of each column of pixels: the picture is the same, and that of a day's run
/// does not become a hundred megabytes of text.
fn thin(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut column: Vec<(f64, f64)> = Vec::new();
    let flush = |column: &mut Vec<(f64, f64)>, kept: &mut Vec<(f64, f64)>| {
        if column.len() <= 4 {
            kept.append(column);
            return;
        }
        let by_y = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
        let last = column.len() - 1;
        let mut picks = [0, (0..=last).min_by(by_y).unwrap_or(0), (0..=last).max_by(by_y).unwrap_or(0), last];
        picks.sort_unstable();
        for (i, pick) in picks.iter().enumerate() {
            if i == 0 || picks[i - 1] != *pick {
                kept.push(column[*pick]);
            }
        }
        column.clear();
    };
    for point in points {
        if column.first().is_some_and(|first| first.0.floor() != point.0.floor()) {
            flush(&mut column, &mut kept);
        }
        column.push(point);
    }
    flush(&mut column, &mut kept);
    kept
}

/// Draws marks that differ in shape: dot, square, plus, cross, ring, bar.
fn marks(out: &mut String, series: usize, pieces: &[&[(f64, f64)]], frame: &ChartFrame) {
    let pen = series % PENS.len();
    let mut path = String::new();
    let mut last = None;
    for (x, y) in pieces.iter().copied().flatten().map(|p| frame.at(*p)) {
        // Marks at the same half pixel are drawn once.
        let cell = ((x * 2.0).round() as i64, (y * 2.0).round() as i64);
        if last.replace(cell) != Some(cell) {
            mark(&mut path, pen, x, y);
        }
    }
    let _ = writeln!(
        out,
        "<path class=\"s{pen}\" d=\"{path}\" stroke=\"{}\" {}/>",
        PENS[pen].light,
        mark_style(pen)
    );
}

fn mark(path: &mut String, pen: usize, x: f64, y: f64) {
    let _ = match pen {
        0 | 1 => write!(path, "M{x:.1} {y:.1}h0"),
        2 => write!(path, "M{:.1} {y:.1}h5m-2.5 -2.5v5", x - 2.5),
        3 => write!(path, "M{:.1} {:.1}l4 4m-4 0l4 -4", x - 2.0, y - 2.0),
        4 => write!(path, "M{:.1} {y:.1}a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0", x - 2.2),
        _ => write!(path, "M{x:.1} {:.1}v6", y - 3.0),
    };
}

fn mark_style(pen: usize) -> &'static str {
    match pen {
        0 => "fill=\"none\" stroke-width=\"3.6\" stroke-linecap=\"round\"",
        1 => "fill=\"none\" stroke-width=\"3.6\" stroke-linecap=\"square\"",
        _ => "fill=\"none\" stroke-width=\"1.2\"",
    }
}

fn dash(pen: usize) -> String {
    match PENS[pen].dash {
        "" => String::new(),
        dash => format!(" stroke-dasharray=\"{dash}\""),
    }
}

/// The legend and its number of rows; empty for a single series, which the title names.
fn legend(chart: &Chart) -> (String, usize) {
    let mut out = String::new();
    if chart.samples.len() < 2 {
        return (out, 0);
    }
    let (mut x, mut row) = (LEFT, 0);
    for (i, samples) in chart.samples.iter().enumerate() {
        let width = 34.0 + samples.name.chars().count() as f64 * LETTER + 18.0;
        if x > LEFT && x + width > WIDTH - RIGHT {
            (x, row) = (LEFT, row + 1);
        }
        let y = 44.0 + 20.0 * row as f64;
        let pen = i % PENS.len();
        let stroke = PENS[pen].light;
        if samples.mark == Mark::Points {
            let mut path = String::new();
            for (dx, dy) in [(4.0, -2.0), (13.0, -6.0), (22.0, -4.0)] {
                mark(&mut path, pen, x + dx, y + dy);
            }
            let _ =
                write!(out, "<path class=\"s{pen}\" d=\"{path}\" stroke=\"{stroke}\" {}/>", mark_style(pen));
        } else {
            let _ = write!(
                out,
                "<path class=\"s{pen}\" d=\"M{x:.1} {}h26\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"2\"{}/>",
                y - 4.0,
                dash(pen)
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"ink\" x=\"{:.1}\" y=\"{y}\" fill=\"#1f2328\">{}</text>",
            x + 32.0,
            escape(&samples.name)
        );
        x += width;
    }
    (out, row + 1)
}

/// Escapes text for SVG and HTML, including attributes. Characters that XML forbids become the replacement character.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}
