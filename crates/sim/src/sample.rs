//! Samples over time: windows, queues, path delays.
//!
//! Follows the scenario's `record.sample_interval`; paths through a constellation are sampled at each update of the satellites.
//! Differs from a trace: values at instants, not every change.
//! Leaves out single packets, which a capture has.

use skyhop_results::Series;
use skyhop_units::Time;

/// The index of a series that is not recorded: its samples are discarded.
pub(crate) const NOWHERE: usize = usize::MAX;

#[derive(Debug, Default)]
pub(crate) struct Samples {
    series: Vec<Series>,
}

impl Samples {
    /// Opens an empty series and returns its index.
    pub fn open(&mut self, entity: String, metric: &'static str) -> usize {
        self.series.push(Series { entity, metric, samples: Vec::new() });
        self.series.len() - 1
    }

    pub fn add(&mut self, index: usize, at: Time, value: f64) {
        if let Some(series) = self.series.get_mut(index) {
            series.samples.push((at, value));
        }
    }

    /// All series that have a sample, each in order of time.
    pub fn take(&mut self) -> Vec<Series> {
        let mut series = std::mem::take(&mut self.series);
        series.retain(|s| !s.samples.is_empty());
        // A ping is entered at its arrival with the time of its sending, so that one may overtake another.
        series.iter_mut().for_each(|s| s.samples.sort_by_key(|sample| sample.0));
        series
    }
}
