//! The report of a transfer: a bar while it runs, numbers at the end.
//!
//! Follows `progress` for the bar, docs/results.md for the keys of `--json`.
//! Differs: time is real time, and network bytes include the headers of IP and UDP.
//! Leaves out time series, for which there are captures.

use crate::stopwatch::Stopwatch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use skyhop_live::StreamStats;
use std::io::IsTerminal;
use std::time::Duration;

/// A progress bar over the bytes of a transfer.
pub struct Bar {
    bar: ProgressBar,
    held: u64,
    begin: Stopwatch,
    shown: Stopwatch,
}

impl Bar {
    /// A bar, unless `quiet` or standard error is not a terminal.
    pub fn new(name: &str, size: Option<u64>, quiet: bool) -> Self {
        let bar = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::with_draw_target(size, ProgressDrawTarget::stderr_with_hz(5))
        };
        let template = match size {
            Some(_) => "{prefix}  {wide_bar} {percent:>3} %  {msg}  {eta} left",
            None => "{prefix}  {bytes}  {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(name.to_owned());
        Bar { bar, held: 0, begin: Stopwatch::start(), shown: Stopwatch::start() }
    }

    /// Starts a resumed transfer; `held` bytes are kept by the receiver.
    pub fn resume(&mut self, held: u64) {
        self.bar.reset_eta();
        (self.held, self.begin) = (held, Stopwatch::start());
    }

    /// Shows that `bytes` bytes have been transferred.
    pub fn show(&mut self, bytes: u64, stats: impl FnOnce() -> StreamStats) {
        if self.bar.is_hidden() || self.shown.elapsed() < Duration::from_millis(200) {
            return;
        }
        self.shown = Stopwatch::start();
        let stats = stats();
        let rate =
            bytes.saturating_sub(self.held) as f64 * 8.0 / self.begin.elapsed().as_secs_f64().max(1e-3);
        let rtt = stats.srtt.map_or(String::new(), |rtt| format!("  rtt {:.0} ms", rtt.as_secs_f64() * 1e3));
        let returned = stats.traffic.bytes_received;
        self.bar.set_message(format!("{}{rtt}  {returned} B back", bit_rate(rate)));
        self.bar.set_position(bytes);
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A rate in readable form.
pub fn bit_rate(bps: f64) -> String {
    match bps {
        bps if bps >= 1e9 => format!("{:.2} Gbit/s", bps / 1e9),
        bps if bps >= 1e6 => format!("{:.1} Mbit/s", bps / 1e6),
        bps => format!("{:.1} kbit/s", bps / 1e3),
    }
}

/// The numbers of a transfer of `bytes` bytes, of which the receiver held some before; keys have their units.
pub fn numbers(bytes: u64, held: u64, elapsed: Duration, stats: &StreamStats) -> Value {
    let seconds = elapsed.as_secs_f64();
    json!({
        "bytes": bytes,
        "bytes_held_before": held,
        "duration_s": seconds,
        "goodput_bps": (bytes - held) as f64 * 8.0 / seconds.max(1e-9),
        "rtt_s": stats.srtt.map(|rtt| rtt.as_secs_f64()),
        "rtt_min_s": stats.stp.rtt.min.map(|rtt| rtt.as_secs_f64()),
        "packets_sent": stats.traffic.packets_sent,
        "bytes_sent": stats.traffic.bytes_sent,
        "packets_received": stats.traffic.packets_received,
        "bytes_received": stats.traffic.bytes_received,
        "data_packets": stats.stp.packets_sent,
        "data_packets_retransmitted": stats.stp.packets_retransmitted,
        "polls": stats.stp.polls_sent,
    })
}

/// One line about a transfer that this host has sent (`sent`) or received; the rate is that of the data not kept before.
pub fn line(sent: bool, name: &str, bytes: u64, held: u64, elapsed: Duration, stats: &StreamStats) -> String {
    let rate = bit_rate((bytes - held) as f64 * 8.0 / elapsed.as_secs_f64().max(1e-9));
    let rtt = stats.srtt.map_or(String::new(), |rtt| format!(", rtt {:.1} ms", rtt.as_secs_f64() * 1e3));
    let seconds = elapsed.as_secs_f64();
    let bytes = match held {
        0 => format!("{bytes} bytes"),
        held => format!("{bytes} bytes, {held} of them before,"),
    };
    if !sent {
        let back = stats.traffic.bytes_sent;
        return format!("received {name}: {bytes} in {seconds:.2} s, {rate}; {back} bytes went back");
    }
    let again = 100.0 * stats.stp.packets_retransmitted as f64 / stats.stp.packets_sent.max(1) as f64;
    let back = stats.traffic.bytes_received;
    format!(
        "sent {name}: {bytes} in {seconds:.2} s, {rate}{rtt}; {again:.2} % of packets again, {back} bytes came back"
    )
}
