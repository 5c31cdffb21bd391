//! A measurement of a flow, simulated or emulated.
//!
//! Follows the names of the simulator's results.
//! Leaves out quantities that only one side measures.

/// The results of a flow, with the limits of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeasuredFlow {
    /// Time from a transfer's start until the sender knows that all data have arrived, s; `None` if it does not, or for other
    /// traffic.
    pub completed_s: Option<f64>,
    /// Mean time of pages, exchanges and short transfers, s.
    pub completion_mean_s: Option<f64>,
    /// Number of completed pages, exchanges and short transfers.
    pub completed: u64,
    /// Number of failed transfers.
    pub failed: u64,
    /// Payload bits delivered per second, from the flow's start to its completion or the end.
    pub goodput_bps: f64,
    /// Packets lost or dropped by links.
    pub packets_lost: u64,
    /// Segments retransmitted.
    pub segments_retransmitted: u64,
    /// Shares of the causes that limited the sender of a transfer.
    pub held: Option<HeldShares>,
    /// A flow of datagrams.
    pub datagrams: Option<MeasuredDatagrams>,
}

/// Datagrams of a flow, and one-way delays of those that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeasuredDatagrams {
    /// Datagrams sent.
    pub sent: f64,
    /// Datagrams that arrived by the end of the run.
    pub received: f64,
    /// Median delay, s.
    pub delay_p50_s: f64,
    /// Delay that 99 in 100 do not exceed, s.
    pub delay_p99_s: f64,
}

impl MeasuredDatagrams {
    /// Datagrams with these delays, s, in any order; `None` if none arrived.
    pub fn of(sent: u64, received: u64, mut delays_s: Vec<f64>) -> Option<Self> {
        delays_s.sort_by(f64::total_cmp);
        let quantile = |share: f64| delays_s[((delays_s.len() - 1) as f64 * share).round() as usize];
        (!delays_s.is_empty()).then(|| Self {
            sent: sent as f64,
            received: received as f64,
            delay_p50_s: quantile(0.5),
            delay_p99_s: quantile(0.99),
        })
    }

    /// Datagrams that had not arrived by the end of the run.
    pub fn lost(&self) -> f64 {
        self.sent - self.received
    }

    /// Share of the datagrams that arrived.
    pub fn share(&self) -> f64 {
        self.received / self.sent.max(1.0)
    }
}

/// Shares of a sender's time, from its call to connect until all data have been acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HeldShares {
    /// Data were to be sent or acknowledged.
    pub busy: f64,
    /// The receive window was full.
    pub receive_window: f64,
    /// The send buffer was full.
    pub send_buffer: f64,
}

/// The metric by which a flow is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedMetric {
    /// Completion time of a transfer with a size.
    Completed,
    /// Mean time of pages, exchanges or short transfers.
    CompletionMean,
    /// Median one-way delay of datagrams.
    DelayMedian,
    /// Goodput of traffic without an end, or that did not complete.
    Goodput,
}

impl JudgedMetric {
    /// Its key, as in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed_s",
            Self::CompletionMean => "completion_mean_s",
            Self::DelayMedian => "delay_p50_s",
            Self::Goodput => "goodput_bps",
        }
    }

    /// The first metric that all of these measurements have.
    pub fn of<'a>(all: impl IntoIterator<Item = &'a MeasuredFlow> + Clone) -> Self {
        let metrics = [Self::Completed, Self::CompletionMean, Self::DelayMedian];
        let of_all = |metric: &Self| all.clone().into_iter().all(|one| metric.value(one).is_some());
        metrics.into_iter().find(of_all).unwrap_or(Self::Goodput)
    }

    /// Its value; `None` if a measurement has none.
    pub fn value(self, of: &MeasuredFlow) -> Option<f64> {
        match self {
            Self::Completed => of.completed_s,
            Self::CompletionMean => of.completion_mean_s,
            Self::DelayMedian => of.datagrams.map(|datagrams| datagrams.delay_p50_s),
            Self::Goodput => Some(of.goodput_bps),
        }
    }
}
