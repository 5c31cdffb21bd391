//! The growth of Tahoe, Reno and its kin, and SACK: slow start, one segment per RTT, and the alternatives of HT.
//!
//! Follows RFC 5681 §3.1; RFC 3465 (byte counting); HT 4.1.4 and 4.1.5 (constant rate, increase by K).
//! Differs: the constant rate uses the timer's smoothed RTT with its granularity, as ns-2 does.
//! Leaves out spreading an increase over an RTT, which HT mentions without results.

use super::super::config::{Config, Increase};
use super::{Acked, Window};

#[derive(Debug, Clone)]
pub(crate) struct Reno {
    increase: Increase,
    /// RFC 3465's L, if bytes are counted.
    byte_counting: Option<u32>,
    /// Bytes counted towards the next segment.
    counted: f64,
    /// True if L is 1 because slow start repairs a timeout (RFC 3465 §2.3).
    after_timeout: bool,
}

impl Reno {
    pub fn new(config: &Config) -> Self {
        Self {
            increase: config.increase,
            byte_counting: config.byte_counting,
            counted: 0.0,
            after_timeout: false,
        }
    }

    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        let mss = window.mss;
        if window.slow_start() {
            window.cwnd += match self.byte_counting {
                Some(most) => {
                    let most = if self.after_timeout { 1 } else { most };
                    (acked.cumulative as f64).min(most as f64 * mss)
                }
                None => mss,
            };
            return;
        }
        self.after_timeout = false;
        let segments = match self.increase {
            Increase::One => 1.0,
            Increase::By(k) => k,
            Increase::ConstantRate(c) => {
                let rtt = acked.srtt.map_or(0.0, |s| s.as_secs_f64());
                c * rtt * rtt
            }
        };
        if self.byte_counting.is_some() {
            // RFC 3465 §2.1: a segment for each window acknowledged.
            self.counted += acked.cumulative as f64 * segments;
            if self.counted >= window.cwnd {
                self.counted -= window.cwnd;
                window.cwnd += mss;
                self.counted = self.counted.min(window.cwnd);
            }
            return;
        }
        if let Increase::ConstantRate(_) = self.increase {
            // Collected up to a whole segment: at most one per acknowledgment, without rounding off the excess at small windows.
            self.counted += segments;
            if self.counted > window.cwnd / mss {
                self.counted = 0.0;
                window.cwnd += mss;
            }
            return;
        }
        window.cwnd += (segments * mss * mss / window.cwnd).min(mss);
    }

    pub fn on_loss(&mut self) {
        self.counted = 0.0;
    }

    pub fn on_timeout(&mut self) {
        self.after_timeout = true;
    }
}
