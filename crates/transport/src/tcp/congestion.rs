//! The congestion window: slow start and congestion avoidance.
//!
//! Follows RFC 5681 §3.1: one segment for each acknowledgment in slow start, mss^2 / cwnd in congestion avoidance.
//! Differs: the window is a fraction of bytes, so that large windows do not lose their increments to rounding.
//! Leaves out byte counting (RFC 3465), and every other way of growing.

use super::config::Config;

#[derive(Debug, Clone)]
pub(crate) struct Congestion {
    cwnd: f64,
    ssthresh: u64,
    mss: u32,
}

impl Congestion {
    pub fn new(config: &Config, mss: u32) -> Self {
        Self {
            // A window without room for a segment would never send, and so never grow.
            cwnd: config.initial_window.max(mss as u64) as f64,
            ssthresh: config.initial_ssthresh.unwrap_or(u64::MAX),
            mss,
        }
    }

    /// The window in whole bytes.
    pub fn cwnd(&self) -> u64 {
        self.cwnd as u64
    }

    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// An acknowledgment of new data outside recovery.
    pub fn on_ack(&mut self) {
        let mss = self.mss as f64;
        self.cwnd += if self.cwnd < self.ssthresh as f64 { mss } else { mss * mss / self.cwnd };
        // Beyond this no receiver's window reaches, and the sum of increments would lose its precision.
        self.cwnd = self.cwnd.min((1u64 << 40) as f64);
    }

    /// A loss signalled by duplicates: half of `in_use`, which is what the windows allowed.
    pub fn halve(&mut self, in_use: u64) {
        // Whole segments: half a segment can never be used, and would shift every later window by as much.
        let mss = self.mss as u64;
        self.ssthresh = (in_use / 2 / mss * mss).max(2 * mss);
    }

    pub fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd as f64;
    }

    pub fn inflate(&mut self, bytes: u64) {
        self.cwnd += bytes as f64;
    }

    /// RFC 6582 step 3: takes back the inflation for data that has left the network.
    pub fn deflate(&mut self, bytes: u64) {
        self.cwnd = (self.cwnd - bytes as f64).max(0.0);
    }
}
