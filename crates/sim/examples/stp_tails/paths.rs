//! One flow alone on many paths without losses, beside what CUBIC and BBR take there: rates by round trips by queues, long and short;
//! rates that swing, paths that become longer, narrow links, and links with room for a few packets.
//!
//! Follows docs/stp.md §8.3, rules 4 to 8. Leaves out jitter and most losses, which other tables have.

use super::{BBR, CUBIC, Case, STP, tail, timed};

const RTTS_MS: [f64; 16] =
    [4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 24.0, 33.0, 50.0, 80.0, 150.0, 300.0, 600.0];
const QUEUES: [&str; 5] = ["0.25 BDP", "1 BDP", "3 BDP", "codel", "red"];
/// Times the better TCP's time, and round trips in addition, from which a row counts as slow.
const SLOW: (f64, f64) = (1.1, 1.0);
/// Packets sent again, as a part of the packets needed, that are too many more than a TCP's.
const AGAIN: f64 = 0.1;

fn queue(name: &str, mbps: f64, rtt_ms: f64) -> String {
    match name {
        "codel" => "{ kind = \"codel\", limit = \"10000 packets\" }".to_owned(),
        "red" => {
            let limit = (0.9 * mbps * 1e3 / 8.0 * rtt_ms).max(15_000.0) as u64;
            format!(
                "{{ kind = \"red\", limit = \"{limit} B\", min = \"{} B\", max = \"{} B\" }}",
                limit / 6,
                limit / 2
            )
        }
        products => {
            tail(mbps, rtt_ms, products.trim_end_matches(" BDP").parse().expect("a number of products"))
        }
    }
}

/// Rows in which STP is slow, those in which it sends more than a TCP, and all.
#[derive(Default)]
struct MissedRows {
    slow: u32,
    more: u32,
    all: u32,
}

impl MissedRows {
    /// Compares seconds, and packets sent over packets needed, of STP, CUBIC and BBR over a path of `mbps` and `rtt_ms`, and prints a row
    /// that misses a bar. `in_addition_s` may be added to the better TCP's time.
    fn compare(&mut self, label: &str, path: &str, runs: [(f64, f64); 3], in_addition_s: f64) {
        let [stp, cubic, bbr] = runs;
        let slow = stp.0 > SLOW.0 * cubic.0.min(bbr.0) + in_addition_s;
        let more = stp.1 > cubic.1.min(bbr.1) + AGAIN;
        self.slow += u32::from(slow);
        self.more += u32::from(more);
        self.all += 1;
        if slow || more {
            let numbers = runs.map(|(time, sent)| format!("{time:>7.2} {sent:>5.3}")).join("  ");
            println!(" {label} | {path} | {numbers}");
        }
    }

    fn print(&self, label: &str) {
        println!(" {label} | {} slow, {} send more, of {}", self.slow, self.more, self.all);
    }
}

/// The rows that [`MissedRows::compare`] prints, if a time `in_addition` is allowed.
fn only_rows(in_addition: &str) -> String {
    format!(
        "only rows where STP takes more than {} times the better's time and {} round trip{in_addition}, or sends {AGAIN} more than the one \
            that sends less",
        SLOW.0, SLOW.1
    )
}

/// Compares STP, CUBIC and BBR. `extra` has keys of the link, and of its way back.
fn compare(
    rows: &mut MissedRows,
    label: &str,
    name: &str,
    (mbps, rtt_ms): (f64, f64),
    worth_s: f64,
    extra: [&str; 2],
) {
    let runs = [STP, CUBIC, BBR].map(|kind| {
        let size = (mbps * 1e6 / 8.0 * worth_s) as u64;
        let mut case = Case::new(mbps, rtt_ms).flow("a", kind, Some(size), 0.0);
        case.queue = queue(name, mbps, rtt_ms);
        [case.extra, case.reverse] = extra.map(str::to_owned);
        case.duration_s = 40.0 * worth_s + 60.0;
        timed(&case, 1)
    });
    rows.compare(label, &format!("{mbps:>5} Mbit/s {rtt_ms:>3} ms"), runs, SLOW.1 * rtt_ms / 1e3);
}

/// Ten seconds' worth of data, and ten round trips' worth.
pub fn table(_: u64, word: &str) {
    println!(
        "paths: seconds of STP, CUBIC, BBR alone for 10 s and 10 round trips worth of data, and packets sent over packets needed; {}",
        only_rows("")
    );
    for name in QUEUES {
        for long in [true, false] {
            let label = format!("{name:<8} {}", if long { "10 s" } else { "10 round trips" });
            if !label.contains(word) {
                continue;
            }
            let mut rows = MissedRows::default();
            for rate in 0..13 {
                let mbps = (10.0 * 1.6f64.powi(rate)).round() / 10.0;
                for rtt_ms in RTTS_MS {
                    let least_s = if long { 10.0 } else { rtt_ms / 100.0 };
                    compare(&mut rows, &label, name, (mbps, rtt_ms), least_s, ["", ""]);
                }
            }
            rows.print(&label);
        }
    }
}

/// Twenty seconds' worth of data of the higher of two rates that follow each other.
pub fn swings(_: u64, word: &str) {
    println!(
        "swings: seconds of STP, CUBIC, BBR alone for 20 s worth of data, and packets sent over packets needed, while the rate falls to a \
            part of itself and rises, each for so long; {}",
        only_rows("")
    );
    for name in &QUEUES[..4] {
        for part in [0.8, 0.5, 0.15] {
            for half_s in [0.15, 0.5, 2.0, 7.0] {
                let label = format!("{name:<8} {part:<4} {half_s:<4} s");
                if !label.contains(word) {
                    continue;
                }
                let mut rows = MissedRows::default();
                for mbps in [3.0, 15.0, 50.0, 150.0] {
                    for rtt_ms in [20.0, 50.0, 150.0, 600.0] {
                        let extra = format!(
                            "schedule = [{{ from = \"{half_s} s\", to = \"{0} s\", rate = \"{1} Mbit/s\" }}]\nrepeat = \"{0} s\"\n",
                            2.0 * half_s,
                            part * mbps
                        );
                        let extra = [extra.as_str(), ", schedule = []"];
                        compare(&mut rows, &label, name, (mbps, rtt_ms), 20.0, extra);
                    }
                }
                rows.print(&label);
            }
        }
    }
}

/// Twenty seconds' worth of data over a path whose round trip grows once, or forty over one that grows for 20 s and shrinks again.
pub fn longer(_: u64, word: &str) {
    println!(
        "longer: seconds of STP, CUBIC, BBR alone, and packets sent over packets needed, while the round trip grows by a part of itself, \
            after 5 s (and 60 ms without a link), or little by little within 20 s and back; {}",
        only_rows("")
    );
    let from_s =
        |from: f64, to: f64, what: String| format!("{{ from = \"{from} s\", to = \"{to} s\", {what} }}");
    for kind in ["once", "lose", "wait", "every 0.1", "every 1", "every 5"] {
        for part in [0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0] {
            let label = format!("{kind:<9} {part:<4}");
            if !label.contains(word) {
                continue;
            }
            let mut rows = MissedRows::default();
            for mbps in [3.0, 20.0, 150.0] {
                for rtt_ms in [20.0, 50.0, 150.0, 600.0] {
                    let delay = |more: f64| format!("delay = \"{} ms\"", rtt_ms * (0.5 + more));
                    let (worth_s, intervals) = if let Some(every) = kind.strip_prefix("every ") {
                        let every: f64 = every.parse().expect("seconds");
                        let steps = (20.0 / every).round() as u32;
                        let step = |n: u32| {
                            let from = f64::from(n) * every;
                            from_s(
                                from,
                                from + every,
                                delay(part * f64::from(n.min(2 * steps - n)) / f64::from(steps)),
                            )
                        };
                        (40.0, (1..2 * steps).map(step).collect())
                    } else {
                        let mut intervals = vec![from_s(5.0, 4000.0, delay(part))];
                        if kind != "once" {
                            intervals.insert(0, from_s(4.94, 5.0, format!("outage = \"{kind}\"")));
                        }
                        (20.0, intervals)
                    };
                    let extra = format!("schedule = [{}]\n", intervals.join(", "));
                    let extra = [extra.as_str(), ", schedule = []"];
                    compare(&mut rows, &label, "1 BDP", (mbps, rtt_ms), worth_s, extra);
                }
            }
            rows.print(&label);
        }
    }
}

/// Data over links on which a packet takes longer than a small packet's round trip, or nearly: of telephones, of the return channel of
/// terminals, of sensors.
pub fn narrow(_: u64, word: &str) {
    println!(
        "narrow: seconds of STP, CUBIC, BBR alone, and packets sent over packets needed; {}",
        only_rows(" and two packets' time")
    );
    for packets in [3, 10, 50] {
        for loss in [0.0, 0.03] {
            for worth in ["20 kB", "80 kB", "10 min"] {
                let label = format!("{packets:>2} packets, loss {loss:<4} {worth:<6}");
                if !label.contains(word) {
                    continue;
                }
                let mut rows = MissedRows::default();
                for kbps in [2.4, 9.6, 32.0, 64.0, 128.0, 256.0, 512.0] {
                    for rtt_ms in [2.0, 10.0, 40.0, 150.0, 300.0, 600.0, 1200.0] {
                        let kb =
                            worth.strip_suffix(" kB").map_or(kbps * 75.0, |kb| kb.parse().expect("a number"));
                        let runs = [STP, CUBIC, BBR].map(|kind| {
                            let size = Some((kb * 1e3) as u64);
                            let mut case =
                                Case::new(kbps / 1e3, rtt_ms).loss(loss).flow("a", kind, size, 0.0);
                            case.queue = format!("{{ kind = \"drop-tail\", limit = \"{packets} packets\" }}");
                            case.duration_s = 30.0 * kb * 8.0 / kbps + 120.0;
                            timed(&case, 1)
                        });
                        let in_addition_s = SLOW.1 * rtt_ms / 1e3 + 2.0 * 12.0 / kbps;
                        rows.compare(
                            &label,
                            &format!("{kbps:>5} kbit/s {rtt_ms:>4} ms"),
                            runs,
                            in_addition_s,
                        );
                    }
                }
                rows.print(&label);
            }
        }
    }
}

/// Thirty seconds' worth of data over links with room for a few packets.
pub fn shallow(_: u64, word: &str) {
    println!(
        "shallow: seconds of STP, CUBIC, BBR alone for 30 s worth of data, and packets sent over packets needed"
    );
    let (mut all, mut again) = (0.0, 0.0);
    for mbps in [2.0, 10.0, 50.0, 200.0] {
        for rtt_ms in [20.0, 100.0, 600.0] {
            for packets in [2, 5, 20] {
                for loss in [0.0, 0.02] {
                    let label =
                        format!("{mbps:>3} Mbit/s {rtt_ms:>3} ms, {packets:>2} packets, {loss:<4} lost");
                    if !label.contains(word) {
                        continue;
                    }
                    let runs = [STP, CUBIC, BBR].map(|kind| {
                        let size = Some((mbps * 1e6 / 8.0 * 30.0) as u64);
                        let mut case = Case::new(mbps, rtt_ms).loss(loss).flow("a", kind, size, 0.0);
                        case.queue = format!("{{ kind = \"drop-tail\", limit = \"{packets} packets\" }}");
                        case.reverse = ", loss = { kind = \"none\" }".to_owned();
                        case.duration_s = 900.0;
                        timed(&case, 1)
                    });
                    (all, again) = (all + 1.0, again + runs[0].1);
                    let numbers = runs.map(|(time, sent)| format!("{time:>7.2} {sent:>5.3}")).join("  ");
                    println!(" {label} | {numbers}");
                }
            }
        }
    }
    println!(" STP sends {:.3} for each packet in the mean", again / all);
}
