//! The progress bar: virtual time, share done, time remaining.
//!
//! It is drawn on terminals only, on standard error, so that pipes and logs stay clean.
//! Differs from a spinner: virtual time is known, so the share done is too; a run may still end early.
//! Results never depend on it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use skyhop_units::Span;
use std::io::IsTerminal;

/// A bar for `runs` runs of equal length.
pub struct RunProgress {
    bar: ProgressBar,
    length: Span,
}

// Milliseconds of virtual time: precise enough for a bar, and a thousand runs of a year still fit.
fn ticks(span: Span) -> u64 {
    span.as_nanos() / 1_000_000
}

impl RunProgress {
    /// A bar, unless `quiet` or standard error is not a terminal.
    pub fn new(name: &str, length: Span, runs: u32, quiet: bool) -> Self {
        let total = ticks(length).saturating_mul(u64::from(runs));
        let bar = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10))
        };
        if let Ok(style) =
            ProgressStyle::with_template("{prefix}  {wide_bar} {percent:>3} %  {msg}  {eta} left")
        {
            bar.set_style(style);
        }
        let runs = if runs > 1 { format!(" x {runs}") } else { String::new() };
        bar.set_prefix(format!("{name}{runs}"));
        RunProgress { bar, length }
    }

    /// Records that one run has advanced from `before` to `now`.
    pub fn advance(&self, before: Span, now: Span) {
        self.bar.set_message(format!("{:.1} s of {:.1} s", now.as_secs_f64(), self.length.as_secs_f64()));
        self.bar.inc(ticks(now) - ticks(before).min(ticks(now)));
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
