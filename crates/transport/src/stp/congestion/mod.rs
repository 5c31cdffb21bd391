//! STP's congestion control: a window, a fixed rate, or a rate that follows delay, behind one interface.
//!
//! Follows HT §5.1.2 (window, rates imposed by the network) and docs/stp.md §8.
//! Differs: an enum, so that nothing is dispatched at run time per packet.
//! Leaves out the credit, which is the receiver's.

mod answer;
mod by_queue;
mod compete;
mod counted;
mod delay;
mod feedback;
mod floor;
mod jitter;
mod lookout;
mod losses;
mod marks;
mod measured_path;
mod own_losses;
mod samples;
mod start;
mod still;
mod way_back;
mod window;

use super::config::{Config, Congestion};
pub(super) use answer::PollAnswer;
use delay::Delay;
pub(super) use feedback::{Feedback, Largest};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::Features;
use window::WindowControl;

/// The state after an answer, as a controller needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerSignals {
    pub now: Time,
    pub feedback: Feedback,
    pub srtt: Option<Span>,
    /// VT(A), the oldest unacknowledged number.
    pub acked: u64,
    /// VT(S), the next new number.
    pub next: u64,
    /// Network-layer bytes of the SDs sent, repeats included.
    pub bytes: f64,
    /// Bytes of data in flight.
    pub in_flight: u64,
    /// Packets that wait, and those among them that are to be sent again.
    pub waiting: u64,
    pub repeats: u64,
    /// True if data wait for the controller, false if the application has no more.
    pub busy: bool,
    /// True if data only wait for a turn of the host, which serves others.
    pub held_back: bool,
}

#[derive(Debug)]
pub(super) enum CongestionController {
    Window(WindowControl),
    Rate(f64),
    Delay(Box<Delay>),
}

impl CongestionController {
    pub fn new(config: &Config) -> Self {
        let provisioned = config.max_rate.map(|rate| rate.as_bps() as f64 / 8.0);
        match (config.congestion, provisioned) {
            (Congestion::Window, _) => Self::Window(WindowControl::new(config)),
            // Without reports nothing tells that a promise is wrong.
            (Congestion::Rate, Some(rate)) if !config.features.has(Features::REPORT) => Self::Rate(rate),
            (Congestion::Rate, Some(_)) => Self::Delay(Box::new(Delay::new(config).begin_promised())),
            // With a rate of zero nothing is promised, so the path's rate must be measured.
            (Congestion::Rate | Congestion::Delay, _) => Self::Delay(Box::new(Delay::new(config))),
        }
    }

    /// Bytes that may be in flight.
    pub fn window(&self) -> u64 {
        match self {
            Self::Window(window) => window.cwnd(),
            Self::Rate(_) => u64::MAX,
            Self::Delay(delay) => delay.window(),
        }
    }

    /// The pace, in network-layer bytes per second; `None` if the window is spread over the round trip.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Window(_) => None,
            Self::Rate(rate) => Some(*rate),
            Self::Delay(delay) => delay.rate(),
        }
    }

    /// The interval between a packet of `bytes` on the network and the one of number `next`; `None` if the window is spread over the round
    /// trip.
    pub fn gap(&self, next: u64, bytes: f64) -> Option<Span> {
        match self {
            Self::Delay(delay) if delay.leaves_together(next) => {
                Some(Span::from_secs_f64(bytes / delay.highest()))
            }
            _ => self.rate().map(|rate| Span::from_secs_f64(bytes / rate.max(1.0))),
        }
    }

    /// Returns true if packets leave at a promised rate.
    pub fn is_promised(&self) -> bool {
        match self {
            Self::Window(_) => false,
            Self::Rate(_) => true,
            Self::Delay(delay) => delay.keeps_promise(),
        }
    }

    /// Returns true if a mark (CE) lowers the rate, so that packets may be sent as ECN-capable.
    pub fn obeys_marks(&self) -> bool {
        matches!(self, Self::Delay(delay) if delay.obeys_marks())
    }

    /// Factor by which POLLs are more frequent than usual.
    pub fn eagerness(&self) -> u32 {
        match self {
            Self::Delay(delay) if delay.learning() => 3,
            _ => 1,
        }
    }

    /// The last answer's wait on the way back, where that is measured.
    pub fn waited(&self) -> Span {
        match self {
            Self::Delay(delay) => Span::from_secs_f64(delay.waited()),
            _ => Span::ZERO,
        }
    }

    /// Returns true while POLLs look for others who begin.
    pub fn looks(&self) -> bool {
        matches!(self, Self::Delay(delay) if delay.looks())
    }

    /// The interval of these POLLs, if it is time for them, while `bytes` wait; `since` is the departure of the oldest without an answer.
    pub fn look_interval(&self, now: Time, since: Time, bytes: u64) -> Option<Span> {
        match self {
            Self::Delay(delay) => delay.look_interval(now, since, bytes),
            _ => None,
        }
    }

    /// Returns true if the first packets are sent as a train to measure the path.
    pub fn measures_trains(&self) -> bool {
        matches!(self, Self::Delay(delay) if delay.rate().is_none())
    }

    /// Returns true if a POLL belongs on the new packet of this number; `first` is the connection's first.
    pub fn asks(&self, number: u64, first: u64) -> bool {
        matches!(self, Self::Delay(delay) if delay.asks(number, first))
    }

    /// Notes that the packet of this number is the first after a pause of the data, before a rate is known.
    pub fn resume_data(&mut self, next: u64) {
        if let Self::Delay(delay) = self {
            delay.resume_data(next);
        }
    }

    /// The first number that was sent at the rate on trial.
    pub fn on_trial_from(&self) -> u64 {
        match self {
            Self::Delay(delay) => delay.on_trial_from(),
            _ => 0,
        }
    }

    /// Longest time by which one packet passes another, as far as is known.
    pub fn reordering_window(&self) -> Span {
        match self {
            Self::Delay(delay) => delay.reordering_window(),
            _ => Span::ZERO,
        }
    }

    /// Handles an answer. Returns true if the window or the rate was cut.
    pub fn on_feedback(&mut self, signals: &AnswerSignals) -> bool {
        match self {
            Self::Window(window) => window.on_feedback(signals),
            Self::Rate(_) => false,
            Self::Delay(delay) => delay.on_feedback(signals),
        }
    }

    /// Handles POLLs that went unanswered.
    pub fn on_silence(&mut self, next: u64) {
        match self {
            Self::Window(window) => window.on_silence(next),
            Self::Rate(_) => {}
            Self::Delay(delay) => delay.on_silence(),
        }
    }

    /// The rate reached, for a later connection, in network-layer bytes per second.
    pub fn reached(&self, srtt: Option<Span>) -> Option<f64> {
        match self {
            Self::Window(window) => Some(window.cwnd() as f64 / srtt?.as_secs_f64().max(1e-9)),
            Self::Rate(_) => None,
            Self::Delay(delay) => delay.reached(),
        }
    }
}
