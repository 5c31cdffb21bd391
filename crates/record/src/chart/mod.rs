//! Small charts as SVG: lines, steps and points over a linear, logarithmic or time axis.
//!
//! Follows the field's figures: time or RTT on the x axis, the quantity with its unit on the y axis, a thin grid.
//! Differs from a plotting library: no scripts, no fonts of its own, readable on light, dark and grey paper.
//! Leaves out histograms, error bars and everything that `skyhop.plot` does better with matplotlib.

mod axis;
pub mod map;
#[cfg(feature = "png")]
pub mod png;
mod svg;
pub mod track;

pub use axis::{ChartAxis, Scale};
pub(crate) use svg::escape;

/// The style in which samples are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// Straight lines between samples.
    #[default]
    Line,
    /// Steps: each sample holds until the next.
    Step,
    /// A mark for each sample.
    Points,
}

/// Named samples of one quantity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChartSamples {
    pub name: String,
    pub mark: Mark,
    pub points: Vec<(f64, f64)>,
}

/// A chart. Build it with its methods, then call [`Chart::svg`].
///
/// ```
/// use skyhop_record::{Chart, ChartAxis, Mark};
/// let chart = Chart::new("Congestion window", ChartAxis::time(), ChartAxis::new("window", "B"))
///     .samples("download", Mark::Step, vec![(0.0, 2920.0), (0.6, 5840.0)])
///     .level("bandwidth-delay product", 112_500.0);
/// assert!(chart.svg().starts_with("<svg"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub(crate) title: String,
    pub(crate) x: ChartAxis,
    pub(crate) y: ChartAxis,
    pub(crate) samples: Vec<ChartSamples>,
    pub(crate) levels: Vec<(String, f64)>,
}

impl Chart {
    /// A chart without samples.
    pub fn new(title: impl Into<String>, x: ChartAxis, y: ChartAxis) -> Self {
        Chart { title: title.into(), x, y, samples: Vec::new(), levels: Vec::new() }
    }

    /// Adds samples (x, y) in the axes' units. Samples that are not finite, or not positive on a logarithmic axis, make a gap.
    pub fn samples(mut self, name: impl Into<String>, mark: Mark, points: Vec<(f64, f64)>) -> Self {
        self.samples.push(ChartSamples { name: name.into(), mark, points });
        self
    }

    /// Adds a dashed horizontal line with a label, such as a link's rate.
    pub fn level(mut self, name: impl Into<String>, y: f64) -> Self {
        self.levels.push((name.into(), y));
        self
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The complete picture, which can be embedded in a page or written to a file.
    pub fn svg(&self) -> String {
        svg::draw(self, svg::PLOT_HEIGHT).0
    }

    /// The picture with a plot `plot_height` pixels high, and the height of the whole.
    pub(crate) fn svg_of_height(&self, plot_height: f64) -> (String, f64) {
        svg::draw(self, plot_height)
    }
}
