//! An axis: its range, its ticks, and the prefix that keeps their labels short.
//!
//! Ticks are 1, 2 or 5 times a power of ten (Heckbert's nice numbers); times also use 60 and 24.
//! Differs: one prefix for the whole axis, in its label ("window (kB)"), not one per tick.
//! Leaves out calendars; time is counted from the start of the run.

/// The mapping of values to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic.
    Log,
}

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartAxis {
    label: String,
    unit: String,
    scale: Scale,
    time: bool,
    from: Option<f64>,
    to: Option<f64>,
}

impl ChartAxis {
    /// A quantity in an SI unit without prefix ("s", "B", "bit/s", "m"; "" for a number).
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        ChartAxis {
            label: label.into(),
            unit: unit.into(),
            scale: Scale::Linear,
            time: false,
            from: None,
            to: None,
        }
    }

    /// Time since the start of the run, s.
    pub fn time() -> Self {
        ChartAxis { time: true, ..ChartAxis::new("time", "s") }
    }

    /// Makes the axis logarithmic.
    pub fn log(mut self) -> Self {
        self.scale = Scale::Log;
        self
    }

    /// Makes the axis begin at `value` or below, whatever the samples.
    pub fn from(mut self, value: f64) -> Self {
        self.from = Some(value);
        self
    }

    /// Makes the axis end at `value` or above, whatever the samples.
    pub fn to(mut self, value: f64) -> Self {
        self.to = Some(value);
        self
    }

    pub(super) fn is_log(&self) -> bool {
        self.scale == Scale::Log
    }

    /// Returns true if the axis can show a value.
    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (value > 0.0 || !self.is_log())
    }

    /// Range, ticks and label for `values`, with about `wanted` ticks.
    pub(super) fn layout(&self, values: impl Iterator<Item = f64>, wanted: usize) -> AxisLayout {
        let (mut low, mut high) = values
            .filter(|v| self.shows(*v))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        for bound in [self.from, self.to].into_iter().flatten().filter(|v| self.shows(*v)) {
            low = low.min(bound);
            high = high.max(bound);
        }
        if low > high {
            (low, high) = if self.is_log() { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if self.is_log() { self.layout_log(low, high) } else { self.layout_linear(low, high, wanted) }
    }

    fn layout_linear(&self, mut low: f64, mut high: f64, wanted: usize) -> AxisLayout {
        if low >= 0.0 && low < 0.6 * high {
            low = 0.0;
        }
        if high - low <= f64::EPSILON * high.abs() {
            let margin = if high == 0.0 { 1.0 } else { high.abs() * 0.1 };
            (low, high) = (low - if low == 0.0 { 0.0 } else { margin }, high + margin);
        }
        let (unit, factor) = self.unit_for(low.abs().max(high.abs()));
        let step = nice_step((high - low) / factor / wanted as f64, unit) * factor;
        let first = (low / step + 1e-9).floor();
        let mut last = (high / step - 1e-9).ceil().max(first + 1.0);
        // A time axis ends at the end of the run; another axis ends at a round number above the largest value.
        let mut end = if self.time { high } else { last * step };
        if self.time {
            last = (high / step + 1e-9).floor();
            // The last sample of a day may come a minute before its end; the axis still ends at 24 h.
            if (last + 1.0) * step - high <= 0.005 * (high - first * step) {
                last += 1.0;
                end = last * step;
            }
        }
        let decimals = decimals(step / factor);
        let ticks = (first as i64..=last as i64)
            .map(|i| {
                let value = i as f64 * step;
                (value, format!("{:.decimals$}", value / factor + 0.0))
            })
            .collect();
        AxisLayout { low: first * step, high: end, log: false, ticks, label: self.label(unit) }
    }

    fn layout_log(&self, low: f64, high: f64) -> AxisLayout {
        let (mut first, mut last) = (floor_log10(low), ceil_log10(high));
        if first == last {
            (first, last) = (first - 1, last + 1);
        }
        let (unit, factor) = self.unit_for(10f64.powi(first).max(10f64.powi(last - 5)));
        // One tick per decade when there are many, else 1, 2, 5.
        let digits: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let every = ((last - first) / 8).max(1) as usize;
        let mut ticks: Vec<(f64, String)> = Vec::new();
        for decade in (first..=last).step_by(every) {
            for digit in digits {
                let value = digit * 10f64.powi(decade);
                if value <= 10f64.powi(last) * 1.001 {
                    ticks.push((value, plain(value / factor)));
                }
            }
        }
        AxisLayout {
            low: 10f64.powi(first),
            high: 10f64.powi(last),
            log: true,
            ticks,
            label: self.label(unit),
        }
    }

    /// The unit in which the largest value has one to four digits before the decimal point.
    fn unit_for(&self, largest: f64) -> (&'static str, f64) {
        let units: &[(&str, f64)] = match (self.unit.as_str(), self.time) {
            (_, true) => &[("h", 3600.0 * 3.0), ("s", 0.5), ("ms", 5e-4), ("us", 0.0)],
            ("s", _) => &[("s", 1.0), ("ms", 1e-3), ("us", 0.0)],
            ("B", _) => &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 0.0)],
            ("bit/s", _) => &[("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 0.0)],
            ("m", _) => &[("km", 1e3), ("m", 0.0)],
            _ => &[("", 0.0)],
        };
        let unit = units.iter().find(|(_, from)| largest >= *from).map_or("", |(unit, _)| *unit);
        let factor = match unit {
            "h" => 3600.0,
            "ms" => 1e-3,
            "us" => 1e-6,
            "GB" | "Gbit/s" => 1e9,
            "MB" | "Mbit/s" => 1e6,
            "kB" | "kbit/s" | "km" => 1e3,
            _ => 1.0,
        };
        (unit, factor)
    }

    fn label(&self, unit: &str) -> String {
        let unit = if unit.is_empty() { self.unit.as_str() } else { unit };
        if unit.is_empty() { self.label.clone() } else { format!("{} ({unit})", self.label) }
    }
}

/// The layout of an axis: range in base units, ticks and label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AxisLayout {
    pub low: f64,
    pub high: f64,
    pub log: bool,
    pub ticks: Vec<(f64, String)>,
    pub label: String,
}

impl AxisLayout {
    /// Position of a value between the ends of the axis, 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        if self.log {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }
}

fn nice_step(rough: f64, unit: &str) -> f64 {
    if unit == "h" && rough > 0.5 {
        return [1.0, 2.0, 3.0, 4.0, 6.0, 12.0]
            .into_iter()
            .find(|s| *s >= rough)
            .unwrap_or((rough / 24.0).ceil() * 24.0);
    }
    let power = 10f64.powi(floor_log10(rough.max(f64::MIN_POSITIVE)));
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|s| *s >= rough * 0.999)
        .unwrap_or(10.0 * power)
}

fn decimals(step: f64) -> usize {
    (0..9).find(|d| (step * 10f64.powi(*d) - (step * 10f64.powi(*d)).round()).abs() < 1e-6).unwrap_or(9)
        as usize
}

/// A tick of a logarithmic axis: few digits, and a power of ten where those would be long.
fn plain(value: f64) -> String {
    if (1e-3..1e5).contains(&value) {
        let digits = if value >= 1.0 { 0 } else { -floor_log10(value) };
        format!("{value:.*}", digits as usize)
    } else {
        format!("{value:.0e}")
    }
}

fn floor_log10(value: f64) -> i32 {
    (value.log10() + 1e-9).floor() as i32
}

fn ceil_log10(value: f64) -> i32 {
    (value.log10() - 1e-9).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &ChartAxis, values: &[f64]) -> (String, Vec<String>) {
        let layout = axis.layout(values.iter().copied(), 5);
        (layout.label, layout.ticks.into_iter().map(|(_, text)| text).collect())
    }

    #[test]
    fn a_window_is_labelled_in_kilobytes() {
        let (label, ticks) = labels(&ChartAxis::new("window", "B"), &[2_920.0, 240_000.0]);
        assert_eq!(label, "window (kB)");
        assert_eq!(ticks, ["0", "50", "100", "150", "200", "250"]);
    }

    #[test]
    fn a_day_is_labelled_in_hours() {
        let (label, ticks) = labels(&ChartAxis::time(), &[0.0, 86_400.0]);
        assert_eq!(label, "time (h)");
        assert_eq!(ticks, ["0", "6", "12", "18", "24"]);
        // A ping a minute ends at 23:59; a run of 23 hours is not a day.
        assert_eq!(labels(&ChartAxis::time(), &[0.0, 86_340.0]).1, ticks);
        assert_eq!(ChartAxis::time().layout([0.0, 86_340.0].into_iter(), 5).high, 86_400.0);
        assert_eq!(labels(&ChartAxis::time(), &[0.0, 82_800.0]).1, ticks[..4]);
    }

    #[test]
    fn delays_that_vary_little_do_not_start_at_zero() {
        let layout = ChartAxis::new("delay", "s").layout([0.270, 0.282].into_iter(), 5);
        assert_eq!(layout.label, "delay (ms)");
        assert!(layout.low > 0.25 && layout.low <= 0.270, "{}", layout.low);
        assert!(layout.high >= 0.282 && layout.high < 0.3, "{}", layout.high);
    }

    #[test]
    fn a_constant_or_nothing_at_all_still_has_a_range() {
        for values in [&[][..], &[0.0], &[5.0, 5.0], &[-3.0], &[1e-12], &[f64::NAN, f64::INFINITY]] {
            for axis in [ChartAxis::new("x", ""), ChartAxis::new("x", "B").log(), ChartAxis::time()] {
                let layout = axis.layout(values.iter().copied(), 5);
                assert!(layout.low < layout.high, "{values:?} {layout:?}");
                assert!(!layout.ticks.is_empty() && layout.ticks.len() < 40, "{values:?} {layout:?}");
            }
        }
    }

    #[test]
    fn a_logarithmic_axis_has_whole_decades() {
        let (label, ticks) = labels(&ChartAxis::new("delay", "s").log(), &[0.02, 3.0]);
        assert_eq!(label, "delay (ms)");
        assert_eq!(ticks, ["10", "20", "50", "100", "200", "500", "1000", "2000", "5000", "10000"]);
        let layout = ChartAxis::new("loss", "").log().layout([1e-7, 0.0, 1e-2].into_iter(), 5);
        assert_eq!((layout.low, layout.ticks.len()), (1e-7, 6));
    }
}
