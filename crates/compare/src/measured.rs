//! A measurement of a flow, in either world.
//!
//! Follows the results of the simulator, whose names these are.
//! Leaves out everything that only one of the worlds knows.

/// The outcome of a flow, and what held its sender up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeasuredFlow {
    /// Time from a transfer's start until the sender knows that all has arrived, s; `None` if it does not, or of other traffic.
    pub completed_s: Option<f64>,
    /// Mean time of pages, exchanges and short transfers, s.
    pub completion_mean_s: Option<f64>,
    /// Pages, exchanges and short transfers that came to an end.
    pub completed: u64,
    /// Transfers that failed.
    pub failed: u64,
    /// Payload bits delivered per second, from the flow's start to its completion or the end.
    pub goodput_bps: f64,
    /// Packets that the links have lost or dropped.
    pub lost_packets: u64,
    /// Segments retransmitted.
    pub segments_retransmitted: u64,
    /// Shares of the causes that held the sender of a transfer up.
    pub held: Option<HeldShares>,
}

/// Shares of a sender's time, from its call to connect until all has been acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HeldShares {
    /// There was something to send or to be acknowledged.
    pub busy: f64,
    /// The receive window was full.
    pub receive_window: f64,
    /// The send buffer was full.
    pub send_buffer: f64,
}

/// The number that a flow is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedMetric {
    /// Time of a transfer that has a size.
    Completed,
    /// Mean time of pages, exchanges or short transfers.
    CompletionMean,
    /// Rate of what has no end, or came to none.
    Goodput,
}

impl JudgedMetric {
    /// Its key, as in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed_s",
            Self::CompletionMean => "completion_mean_s",
            Self::Goodput => "goodput_bps",
        }
    }

    /// The best that all of these measurements have.
    pub fn of<'a>(all: impl IntoIterator<Item = &'a MeasuredFlow> + Clone) -> Self {
        let every = |has: fn(&MeasuredFlow) -> bool| all.clone().into_iter().all(has);
        match (every(|m| m.completed_s.is_some()), every(|m| m.completion_mean_s.is_some())) {
            (true, _) => Self::Completed,
            (_, true) => Self::CompletionMean,
            _ => Self::Goodput,
        }
    }

    /// Its value; `None` if a measurement has none.
    pub fn value(self, of: &MeasuredFlow) -> Option<f64> {
        match self {
            Self::Completed => of.completed_s,
            Self::CompletionMean => of.completion_mean_s,
            Self::Goodput => Some(of.goodput_bps),
        }
    }
}
