//! The congestion window: one interface, and the laws behind it.
//!
//! Follows RFC 5681 §3.1 for the common part: slow start below ssthresh, reductions to whole segments.
//! Differs: the window is a fraction of bytes, so that large windows do not lose their increments to rounding.
//! Leaves out loss detection and repair, which are in `recovery`; their effects on the window are here.

mod ack_train;
mod bbr;
mod bbr1;
mod cubic;
mod cubic_linux;
mod hybla;
mod hystart;
mod reno;
mod resume;
mod vegas;

use super::config::{Config, Hystart, Law, LossRecovery};
use super::segments::RateSample;
use ack_train::AckTrain;
use bbr::Bbr;
use bbr1::Bbr1;
use cubic::Cubic;
use cubic_linux::LinuxCubic;
use hybla::Hybla;
use hystart::HyStart;
use reno::Reno;
use resume::CarefulResume;
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};
pub(crate) use vegas::Vegas;

/// Contents of an acknowledgment, as needed by a controller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acked {
    pub now: Time,
    /// Bytes acknowledged cumulatively; with `linux_windows`, without those that a SACK block has reported before.
    pub cumulative: u64,
    /// Bytes delivered, selectively or cumulatively.
    pub delivered: u64,
    /// Bytes newly found lost, and bytes lost so far.
    pub lost: u64,
    pub lost_in_all: u64,
    /// RTT sample of this acknowledgment.
    pub rtt: Option<Span>,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Bytes in flight, before and after.
    pub prior_in_flight: u64,
    pub in_flight: u64,
    /// snd_una after it, and snd_nxt.
    pub una: u64,
    pub next: u64,
    /// True if the window limits the sender.
    pub limited: bool,
    /// True if losses are being repaired.
    pub in_recovery: bool,
    pub rate: Option<RateSample>,
}

/// The window and ssthresh, bytes.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    pub cwnd: f64,
    pub ssthresh: u64,
    pub mss: f64,
}

impl Window {
    pub fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh as f64
    }

    /// Reduces the window to whole segments: half a segment can never be used, and would offset every later window.
    fn cut_to(&mut self, bytes: f64) {
        let mss = self.mss as u64;
        self.ssthresh = (bytes as u64 / mss * mss).max(2 * mss);
    }
}

// Each connection holds one and never moves it; the largest is boxed.
#[derive(Debug)]
enum ControlLaw {
    Reno(Reno),
    Vegas(Vegas),
    Cubic(Cubic),
    LinuxCubic(LinuxCubic),
    Hybla(Hybla),
    Bbr(Box<Bbr>),
    Bbr1(Box<Bbr1>),
}

/// State changed by a congestion signal, kept for an undo.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    cwnd: f64,
    ssthresh: u64,
    hystart: Option<HyStart>,
}

#[derive(Debug)]
pub(crate) struct CongestionControl {
    window: Window,
    control: ControlLaw,
    hystart: Option<HyStart>,
    train: Option<Box<AckTrain>>,
    resume: Option<CarefulResume>,
    paced: bool,
    /// True if half a window keeps its fraction of a segment; and the window after the latest signal.
    precise: bool,
    reduced: u64,
}

impl CongestionControl {
    pub fn new(config: &Config, mss: u32, chance: Option<Stream>) -> Self {
        let window = Window {
            // A window without room for a segment would never send, and so never grow.
            cwnd: config.initial_window.max(mss as u64) as f64,
            ssthresh: config.initial_ssthresh.unwrap_or(u64::MAX),
            mss: mss as f64,
        };
        let control = match config.variant.law() {
            Law::Reno => ControlLaw::Reno(Reno::new(config)),
            Law::Vegas => ControlLaw::Vegas(Vegas::default()),
            Law::Cubic if config.linux_windows => ControlLaw::LinuxCubic(LinuxCubic::default()),
            Law::Cubic => ControlLaw::Cubic(Cubic::default()),
            Law::Hybla => ControlLaw::Hybla(Hybla::default()),
            Law::Bbr => ControlLaw::Bbr(Box::new(Bbr::new(&window, chance))),
            Law::Bbr1 => ControlLaw::Bbr1(Box::new(Bbr1::new(&window, chance))),
        };
        let plain = !matches!(control, ControlLaw::Vegas(_) | ControlLaw::Bbr(_) | ControlLaw::Bbr1(_));
        Self {
            window,
            control,
            hystart: (config.hystart == Hystart::Rfc9406 && plain).then(|| HyStart::new(config.pacing)),
            train: (config.hystart == Hystart::Linux && plain)
                .then(|| Box::new(AckTrain::new(config.pacing))),
            resume: config.resume.filter(|_| plain).map(|saved| CarefulResume::new(saved, config)),
            paced: config.pacing,
            precise: config.precise_halving || config.recovery() == LossRecovery::Sack1,
            reduced: 0,
        }
    }

    /// The window in whole bytes.
    pub fn cwnd(&self) -> u64 {
        self.window.cwnd as u64
    }

    pub fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }

    pub fn slow_start(&self) -> bool {
        self.window.slow_start()
    }

    /// The window after the latest signal: ssthresh, or exactly half with `precise_halving`.
    pub fn reduced(&self) -> u64 {
        if self.precise { self.reduced } else { self.window.ssthresh }
    }

    /// Returns true if the law sets the window during recovery, too.
    pub fn owns_recovery(&self) -> bool {
        matches!(self.control, ControlLaw::Bbr(_) | ControlLaw::Bbr1(_))
    }

    /// Returns true if rate samples taken now say nothing about the path.
    pub fn probing_rtt(&self) -> bool {
        match &self.control {
            ControlLaw::Bbr(bbr) => bbr.probing_rtt(),
            ControlLaw::Bbr1(bbr) => bbr.probing_rtt(),
            _ => false,
        }
    }

    /// Changes the segment size; the window stays the same in bytes, but at least a segment.
    pub fn set_mss(&mut self, mss: u32) {
        let mss = mss as f64;
        (self.window.mss, self.window.cwnd) = (mss, self.window.cwnd.max(mss));
        match &mut self.control {
            ControlLaw::Bbr(bbr) => bbr.set_mss(mss),
            ControlLaw::Bbr1(bbr) => bbr.set_mss(mss),
            _ => {}
        }
    }

    pub fn set_ssthresh(&mut self, ssthresh: u64) {
        self.window.ssthresh = ssthresh;
    }

    /// Restarts a window after an idle time: `initial`, if the window was larger (RFC 5681 §4.1).
    pub fn restart(&mut self, initial: u64) {
        if !self.owns_recovery() {
            self.window.cwnd = self.window.cwnd.min((initial as f64).max(self.window.mss));
        }
    }

    /// Excludes idle time for laws that grow with time (CA_EVENT_TX_START).
    pub fn on_silence(&mut self, now: Time) {
        match &mut self.control {
            ControlLaw::Cubic(cubic) => cubic.on_unused(now),
            ControlLaw::LinuxCubic(cubic) => cubic.on_silence(now),
            _ => {}
        }
    }

    /// Halves the window for each timeout of an idle time, down to `initial`; ssthresh keeps three quarters of it (Linux's
    /// `tcp_cwnd_restart`).
    pub fn decay(&mut self, timeouts: u64, initial: u64) {
        if self.owns_recovery() {
            return;
        }
        let window = &mut self.window;
        window.ssthresh = window.ssthresh.max((window.cwnd * 0.75) as u64);
        let least = (initial as f64).max(window.mss).min(window.cwnd);
        for _ in 0..timeouts.min(64) {
            window.cwnd = (window.cwnd / 2.0).max(least);
        }
    }

    /// Handles the restart after an idle time.
    pub fn on_idle_restart(&mut self, now: Time) {
        match &mut self.control {
            ControlLaw::Bbr(bbr) => bbr.on_idle_restart(&mut self.window, now),
            ControlLaw::Bbr1(bbr) => bbr.on_idle_restart(&mut self.window, now),
            _ => {}
        }
    }

    pub fn vegas(&mut self) -> Option<(&mut Vegas, &mut Window)> {
        match &mut self.control {
            ControlLaw::Vegas(vegas) => Some((vegas, &mut self.window)),
            _ => None,
        }
    }

    /// Handles the end of the handshake, with its `rtt` if that is known.
    pub fn on_established(&mut self, now: Time, rtt: Option<Span>, next: u64) {
        match &mut self.control {
            ControlLaw::Vegas(vegas) => vegas.begin(&mut self.window, now, next),
            ControlLaw::Hybla(hybla) => hybla.on_rtt(&mut self.window, rtt),
            ControlLaw::Bbr(bbr) => bbr.on_established(&self.window, now, rtt),
            ControlLaw::Bbr1(bbr) => bbr.on_established(&self.window, now, rtt),
            _ => {}
        }
    }

    /// Handles an acknowledgment of new data; in recovery only for laws that set the window there.
    pub fn on_ack(&mut self, acked: &Acked) {
        let window = &mut self.window;
        if let Some(resume) = &mut self.resume
            && resume.on_ack(window, acked)
        {
            return;
        }
        if let Some(train) = &mut self.train {
            train.on_ack(window, acked);
        }
        let mut grow = acked.cumulative as f64;
        if window.slow_start()
            && let Some(hystart) = &mut self.hystart
        {
            match hystart.on_ack(window, acked) {
                Some(bytes) => {
                    window.cwnd += bytes;
                    return;
                }
                None => grow = acked.cumulative as f64,
            }
        }
        match &mut self.control {
            ControlLaw::Reno(reno) => reno.on_ack(window, acked),
            ControlLaw::Vegas(vegas) => vegas.on_ack(window, acked),
            ControlLaw::Cubic(cubic) => cubic.on_ack(window, acked, grow),
            ControlLaw::LinuxCubic(cubic) => cubic.on_ack(window, acked),
            ControlLaw::Hybla(hybla) => hybla.on_ack(window, acked),
            ControlLaw::Bbr(bbr) => bbr.on_ack(window, acked),
            ControlLaw::Bbr1(bbr) => bbr.on_ack(window, acked),
        }
        // No receive window exceeds this, and the sum of increments would lose its precision.
        window.cwnd = window.cwnd.min((1u64 << 40) as f64);
    }

    /// Handles an acknowledgment while the window does not limit the sender: nothing grows.
    pub fn on_unused(&mut self, acked: &Acked) {
        if let Some(train) = &mut self.train {
            train.on_ack(&mut self.window, acked);
        }
        match &mut self.control {
            // BBR measures in any case.
            ControlLaw::Vegas(vegas) => vegas.on_ack(&mut self.window, acked),
            ControlLaw::Cubic(cubic) => cubic.on_unused(acked.now),
            _ => {}
        }
    }

    /// Handles a congestion signal, losses or a mark: `in_use` is the allowance of the windows, `in_flight` the data in the path.
    /// Sets ssthresh; recovery sets the window until it ends.
    pub fn on_loss(&mut self, now: Time, in_use: u64, in_flight: u64) {
        let window = &mut self.window;
        if let Some(hystart) = &mut self.hystart {
            hystart.end();
        }
        if let Some(resume) = &mut self.resume
            && resume.on_loss(window, in_flight)
        {
            self.reduced = window.ssthresh;
            return;
        }
        match &mut self.control {
            ControlLaw::Cubic(cubic) => cubic.on_loss(window, now, in_use),
            ControlLaw::LinuxCubic(cubic) => cubic.on_loss(window),
            ControlLaw::Bbr(bbr) => bbr.on_loss(window),
            ControlLaw::Bbr1(bbr) => bbr.on_loss(window),
            ControlLaw::Reno(reno) => {
                reno.on_loss();
                window.cut_to(in_use as f64 / 2.0);
            }
            _ => window.cut_to(in_use as f64 / 2.0),
        }
        let law_is_reno = matches!(self.control, ControlLaw::Reno(_));
        self.reduced = if law_is_reno { (in_use / 2).max(window.mss as u64) } else { window.ssthresh };
    }

    /// State for an undo. A window that was used for long may outlive its ssthresh, of which three quarters are kept (Linux's
    /// `tcp_current_ssthresh`).
    pub fn before(&self) -> Before {
        let Window { cwnd, ssthresh, .. } = self.window;
        Before { cwnd, ssthresh: ssthresh.max((cwnd * 0.75) as u64), hystart: self.hystart.clone() }
    }

    /// Undoes the latest signal, which was spurious.
    pub fn undo(&mut self, before: Before) {
        let window = &mut self.window;
        window.cwnd = window.cwnd.max(before.cwnd);
        window.ssthresh = window.ssthresh.max(before.ssthresh);
        self.hystart = before.hystart;
        match &mut self.control {
            ControlLaw::Bbr(bbr) => bbr.on_recovery_exit(window),
            ControlLaw::Bbr1(bbr) => {
                bbr.on_recovery_exit(window);
                bbr.on_undo();
            }
            _ => {}
        }
    }

    /// Handles a retransmission timeout.
    pub fn on_timeout(&mut self, now: Time, in_use: u64) {
        self.on_loss(now, in_use, in_use);
        self.begin_again(now);
    }

    /// Starts slow start with one segment; ssthresh stays.
    pub fn begin_again(&mut self, now: Time) {
        if let Some(train) = &mut self.train {
            train.reset();
        }
        let window = &mut self.window;
        window.cwnd = window.mss;
        match &mut self.control {
            ControlLaw::Reno(reno) => reno.on_timeout(),
            ControlLaw::Vegas(vegas) => vegas.on_timeout(window, now),
            ControlLaw::Cubic(cubic) => cubic.on_timeout(),
            ControlLaw::LinuxCubic(cubic) => cubic.on_timeout(),
            ControlLaw::Bbr1(bbr) => bbr.on_timeout(now),
            ControlLaw::Hybla(_) | ControlLaw::Bbr(_) => {}
        }
    }

    /// Handles the end of recovery: all data outstanding at the signal have been repaired.
    pub fn on_recovery_exit(&mut self, now: Time) {
        match &mut self.control {
            ControlLaw::Cubic(cubic) => cubic.on_recovery_exit(&self.window, now),
            ControlLaw::Bbr(bbr) => bbr.on_recovery_exit(&mut self.window),
            ControlLaw::Bbr1(bbr) => bbr.on_recovery_exit(&mut self.window),
            _ => {}
        }
    }

    /// Pacing rate, bytes per second; `None` if packets are not paced.
    pub fn pacing_rate(&self, srtt: Option<Span>) -> Option<f64> {
        match &self.control {
            ControlLaw::Bbr(bbr) => return Some(bbr.pacing_rate()),
            ControlLaw::Bbr1(bbr) => return Some(bbr.pacing_rate()),
            _ => {}
        }
        let resumed = self.resume.as_ref().is_some_and(CarefulResume::paced);
        // Hybla's growth would be bursts otherwise; its first segments must leave together.
        let hybla = matches!(self.control, ControlLaw::Hybla(_)) && self.window.ssthresh < u64::MAX;
        if !self.paced && !resumed && !hybla {
            return None;
        }
        let srtt = srtt?.as_secs_f64();
        if hybla {
            let gain = if self.window.slow_start() { 1.0 } else { 1.2 };
            return (srtt > 0.0).then(|| gain * self.window.cwnd / srtt);
        }
        // A window in less than a round-trip time, so that pacing itself does not hold up the window's growth.
        let gain = if self.window.slow_start() { 2.0 } else { 1.2 };
        (srtt > 0.0).then(|| if resumed { self.window.cwnd / srtt } else { gain * self.window.cwnd / srtt })
    }

    pub fn set(&mut self, cwnd: u64) {
        self.window.cwnd = cwnd as f64;
    }

    pub fn inflate(&mut self, bytes: u64) {
        self.window.cwnd += bytes as f64;
    }

    /// RFC 6582 step 3: removes the inflation for data that have left the network.
    pub fn deflate(&mut self, bytes: u64) {
        self.window.cwnd = (self.window.cwnd - bytes as f64).max(0.0);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn window(cwnd: u64) -> Window {
        Window { cwnd: cwnd as f64, ssthresh: u64::MAX, mss: 1000.0 }
    }

    /// An acknowledgment of `bytes` bytes after `rtt_ms`.
    pub fn acked(bytes: u64, rtt_ms: u64) -> Acked {
        Acked {
            now: Time::ZERO,
            cumulative: bytes,
            delivered: bytes,
            lost: 0,
            lost_in_all: 0,
            rtt: Some(Span::from_millis(rtt_ms)),
            srtt: Some(Span::from_millis(rtt_ms)),
            prior_in_flight: bytes,
            in_flight: 0,
            una: 0,
            next: 0,
            limited: true,
            in_recovery: false,
            rate: None,
        }
    }

    // RFC 9438 §4.2, and CA_EVENT_TX_START: CUBIC's clock stops while nothing is in flight. Nine idle seconds after one of growth
    // would add C 10^3 = 400 segments, at half a window per round-trip time.
    #[test]
    fn cubic_does_not_grow_on_a_silence() {
        use super::super::config::Variant;
        let grown = |silent: bool| {
            let config =
                Config { variant: Variant::Cubic, initial_ssthresh: Some(100_000), ..Config::default() };
            let mut c = CongestionControl::new(&Config { initial_window: 100_000, ..config }, 1000, None);
            let ack = |c: &mut CongestionControl, ms: u64| {
                let now = Time::ZERO + Span::from_millis(ms);
                c.on_ack(&Acked { now, ..acked(1000, 100) });
            };
            (0..=10).for_each(|n| ack(&mut c, 100 * n));
            if silent {
                c.on_silence(Time::ZERO + Span::from_secs(10));
            }
            let before = c.cwnd();
            (0..100).for_each(|_| ack(&mut c, 10_000));
            c.cwnd() - before
        };
        assert!((1..2_000).contains(&grown(true)), "{}", grown(true));
        assert!((30_000..60_000).contains(&grown(false)), "{}", grown(false));
    }
}
