//! STP without knowledge of the path: completion tails, load in both directions, jitter, bursts of losses, outages, rate steps, sharing,
//! one flow alone on one path, on many, and on those that change, requests, handovers, crowds, newcomers; and wrong promises.
//!
//! `cargo run --release --locked -p skyhop-sim --example stp_tails -- [TABLE] [SEEDS] [WORD]`: all tables, or one; with a word,
//! only the rows that contain it. Differs from a sweep: the worst of the seeds counts, and is named.
//! Leaves out the emulator, whose rows `bench/fidelity.py` has.

mod both_ways;
mod crowds;
mod outages;
mod paths;
mod requests;

use skyhop_results::{FlowKind, RunResult, TransferResult};
use skyhop_sim::Simulation;
use std::fmt::Write;

const STP: &str = "kind = \"stp\"";
const CUBIC: &str = "kind = \"tcp\", variant = \"cubic\", window = \"200 MB\", send_buffer_max = \"200 MB\"";
const RENO: &str = "kind = \"tcp\", variant = \"reno\", window = \"200 MB\", send_buffer_max = \"200 MB\"";
const BBR: &str = "kind = \"tcp\", variant = \"bbr\", window = \"200 MB\", send_buffer_max = \"200 MB\"";
const BBR1: &str = "kind = \"tcp\", variant = \"bbr1\", window = \"200 MB\", send_buffer_max = \"200 MB\"";

/// One bottleneck and its cross traffic.
struct Case {
    mbps: f64,
    up_mbps: f64,
    rtt_ms: f64,
    queue: String,
    /// Keys of the link, for both directions unless `reverse` overrides them.
    extra: String,
    reverse: String,
    /// Products of bandwidth and delay that the queue of the way back holds.
    back: f64,
    duration_s: f64,
    flows: String,
    sample_ms: Option<u64>,
}

impl Case {
    fn new(mbps: f64, rtt_ms: f64) -> Self {
        Self {
            mbps,
            up_mbps: mbps,
            rtt_ms,
            queue: tail(mbps, rtt_ms, 1.0),
            extra: String::new(),
            reverse: String::new(),
            back: 1.0,
            duration_s: 600.0,
            flows: String::new(),
            sample_ms: None,
        }
    }

    fn loss(mut self, loss: f64) -> Self {
        if loss > 0.0 {
            writeln!(self.extra, "loss = {{ kind = \"packets\", probability = {loss} }}").unwrap();
        }
        self
    }

    fn flow(mut self, name: &str, transport: &str, size: Option<u64>, start_s: f64) -> Self {
        let size = size.map_or(String::new(), |size| format!(", size = \"{size} B\""));
        write!(
            self.flows,
            "[[flows]]\nname = \"{name}\"\npath = [\"server\", \"bottleneck\", \"user\"]\nstart = \"{start_s} s\"\n\
             transport = {{ {transport} }}\ntraffic = {{ kind = \"bulk\"{size} }}\n"
        )
        .unwrap();
        self
    }

    fn text(&self) -> String {
        let record = self
            .sample_ms
            .map_or(String::new(), |ms| format!("record = {{ sample_interval = \"{ms} ms\" }}\n"));
        let back = tail(self.up_mbps, self.rtt_ms, self.back);
        format!(
            "duration = \"{} s\"\n{record}[links.bottleneck]\nrate = \"{} Mbit/s\"\ndelay = \"{} ms\"\nqueue = {}\n{}\
             reverse = {{ rate = \"{} Mbit/s\", queue = {back}{} }}\n{}",
            self.duration_s,
            self.mbps,
            self.rtt_ms / 2.0,
            self.queue,
            self.extra,
            self.up_mbps,
            self.reverse,
            self.flows
        )
    }

    fn run(&self, seed: u64) -> RunResult {
        let text = self.text();
        let loaded = skyhop_scenario::parse(text.as_bytes(), "tails.toml", &[])
            .unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
        if self.sample_ms.is_none() {
            simulation.without_series();
        }
        while !simulation.finished() && simulation.now() < simulation.end() && simulation.step() {}
        simulation.finish()
    }
}

fn tail(mbps: f64, rtt_ms: f64, products: f64) -> String {
    let bytes = (mbps * 1e3 / 8.0 * rtt_ms * products).max(15_000.0) as u64;
    format!("{{ kind = \"drop-tail\", limit = \"{bytes} B\" }}")
}

fn transfer(result: &RunResult, at: usize) -> &TransferResult {
    let FlowKind::Transfer(transfer) = &result.flows[at].kind else { panic!("not a transfer") };
    transfer
}

/// Seconds until all data have arrived, and packets sent over packets needed.
fn timed(case: &Case, seed: u64) -> (f64, f64) {
    let result = case.run(seed);
    let one = transfer(&result, 0);
    let sent = one.segments_sent as f64;
    (one.completed_s.unwrap_or(f64::INFINITY), sent / (sent - one.segments_retransmitted as f64))
}

/// The smaller of 100 MB and 30 s worth of data.
fn size(mbps: f64) -> u64 {
    (mbps * 1e6 / 8.0 * 30.0).min(100e6) as u64
}

struct Spread {
    median: f64,
    worst: f64,
    seed: u64,
    most_sent: f64,
}

fn spread(case: &Case, seeds: u64) -> Spread {
    let mut runs: Vec<(f64, u64, f64)> = (9001..9001 + seeds)
        .map(|seed| {
            let (seconds, sent) = timed(case, seed);
            (seconds, seed, sent)
        })
        .collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = runs[runs.len() - 1];
    let most_sent = runs.iter().map(|run| run.2).fold(0.0, f64::max);
    Spread { median: runs[runs.len() / 2].0, worst: last.0, seed: last.1, most_sent }
}

fn tails(seeds: u64, word: &str) {
    println!(
        "tails: seconds of the smaller of 100 MB and 30 s worth; {seeds} seeds from 9001 at 100 Mbit/s, a tenth of them elsewhere"
    );
    println!("Mbit/s   ms loss | promised median worst (seed) worst/median over-promise-RTTs most-sent");
    for mbps in [100.0, 10.0, 250.0] {
        for rtt_ms in [40.0, 300.0, 600.0] {
            for loss in [0.0, 0.01, 0.02, 0.05, 0.1] {
                let label = format!("{mbps:>4} {rtt_ms:>6} {loss:>5}");
                if !label.contains(word) {
                    continue;
                }
                let seeds = match loss {
                    0.0 => 1,
                    _ if mbps == 100.0 => seeds,
                    _ => seeds.div_ceil(10).max(seeds.min(5)),
                };
                let case = |transport: &str| {
                    Case::new(mbps, rtt_ms).loss(loss).flow("a", transport, Some(size(mbps)), 0.0)
                };
                let promised = format!(
                    "{STP}, congestion = \"rate\", max_rate = \"{mbps} Mbit/s\", initial_credit = 20000"
                );
                let promised = spread(&case(&promised), seeds.min(5)).median;
                let s = spread(&case(STP), seeds);
                let rtts = (s.median - 1.1 * promised) / (rtt_ms / 1e3);
                let bad = if s.worst > 1.5 * s.median || rtts > 2.0 { "  <--" } else { "" };
                println!(
                    "{label} | {promised:>7.2} {:>7.2} {:>7.2} ({}) {:>5.2} {rtts:>6.2} {:>5.3}{bad}",
                    s.median,
                    s.worst,
                    s.seed,
                    s.worst / s.median,
                    s.most_sent
                );
            }
        }
    }
}

fn jitter(seeds: u64, word: &str) {
    println!("jitter: median (worst) seconds, 600 ms, {seeds} seeds; cubic and bbr of one seed");
    for (mbps, bytes) in [(100.0, 50_000_000), (250.0, 100_000_000)] {
        let kinds = [0.0, 0.05, 0.2, 1.0, 5.0, 20.0].map(|ms| (format!("ordered {ms}"), ms, false));
        let passing = [0.2, 1.0, 5.0, 20.0].map(|ms| (format!("passing {ms}"), ms, true));
        for (name, ms, reorders) in kinds.into_iter().chain(passing) {
            let case = |transport: &str| {
                let mut case = Case::new(mbps, 600.0).flow("a", transport, Some(bytes), 0.0);
                if ms > 0.0 {
                    case.extra = format!(
                        "jitter = {{ kind = \"uniform\", most = \"{ms} ms\", reorders = {reorders} }}\n"
                    );
                }
                case
            };
            print_jitter(mbps, &name, &case, seeds, word);
        }
        for ms in [1.0, 5.0, 10.0, 30.0] {
            // The transmitter sends a tenth of the time, at ten times the rate.
            let case = |transport: &str| {
                let mut case = Case::new(10.0 * mbps, 600.0).flow("a", transport, Some(bytes), 0.0);
                case.up_mbps = mbps;
                case.queue = tail(mbps, 600.0, 1.0);
                case.extra = format!(
                    "schedule = [{{ from = \"0 s\", to = \"{} ms\", outage = \"wait\" }}]\nrepeat = \"{ms} ms\"\n",
                    0.9 * ms
                );
                case.reverse = ", schedule = []".into();
                case
            };
            print_jitter(mbps, &format!("frames of {ms}"), &case, seeds.min(2), word);
        }
    }
}

fn passing(seeds: u64, word: &str) {
    println!(
        "passing: packets pass each other; median (worst, seed) seconds of 10 s worth of data, {seeds} seeds; cubic and bbr of three"
    );
    print_jittered(seeds, true, word);
}

fn ordered(seeds: u64, word: &str) {
    println!(
        "ordered: packets keep their order; median (worst, seed) seconds of 10 s worth of data, {seeds} seeds; cubic and bbr of three"
    );
    print_jittered(seeds, false, word);
}

fn print_jittered(seeds: u64, reorders: bool, word: &str) {
    for mbps in [2.0, 10.0, 100.0, 250.0] {
        for rtt_ms in [40.0, 300.0, 600.0] {
            for loss in [0.0, 0.01] {
                for ms in [1.0, 5.0, 20.0] {
                    let jitter = format!(
                        "jitter = {{ kind = \"uniform\", most = \"{ms} ms\", reorders = {reorders} }}\n"
                    );
                    let label = format!("{mbps:>4} Mbit/s {rtt_ms:>4} ms {loss:>4} lost, jitter {ms:>2} ms");
                    print_beside(mbps, rtt_ms, loss, &jitter, &label, seeds, word);
                }
            }
        }
    }
}

fn bursts(seeds: u64, word: &str) {
    println!(
        "bursts: median (worst, seed) seconds of 10 s worth of data, {seeds} seeds; Gilbert and Elliott; cubic and bbr of three"
    );
    for (mbps, rtt_ms) in [(50.0, 50.0), (100.0, 40.0), (250.0, 40.0), (20.0, 100.0), (100.0, 600.0)] {
        for (good_s, bad_ms) in [(1.0, 10.0), (5.0, 50.0), (5.0, 500.0), (20.0, 2000.0)] {
            let loss = format!(
                "loss = {{ kind = \"gilbert-elliott\", good = \"{good_s} s\", bad = \"{bad_ms} ms\" }}\n"
            );
            let label = format!("{mbps:>4} Mbit/s {rtt_ms:>4} ms, {bad_ms:>4} ms in {good_s:>2} s");
            print_beside(mbps, rtt_ms, 0.0, &loss, &label, seeds, word);
        }
    }
}

/// Paths that become a little shorter and longer, both ways.
fn moves(seeds: u64, word: &str) {
    println!(
        "moves: 12 % and 5 % shorter, and 2 % longer; median (worst, seed) seconds of 10 s worth of data, {seeds} seeds; cubic and bbr \
            of three"
    );
    for (mbps, rtt_ms) in [(8.0, 100.0), (20.0, 60.0), (50.0, 300.0), (140.0, 600.0)] {
        for loss in [0.0, 0.01, 0.05] {
            let delay = |from: u32, to: u32, part: f64| {
                format!("{{ from = \"{from} s\", to = \"{to} s\", delay = \"{} ms\" }}", part * rtt_ms / 2.0)
            };
            let moves = [delay(1, 2, 0.88), delay(2, 6, 0.95), delay(6, 4000, 1.02)].join(", ");
            let label = format!("{mbps:>4} Mbit/s {rtt_ms:>4} ms {loss:>4} lost");
            print_beside(mbps, rtt_ms, loss, &format!("schedule = [{moves}]\n"), &label, seeds, word);
        }
    }
}

/// Prints the seconds of ten seconds' worth of data by STP, CUBIC and BBR over a path with these keys.
fn print_beside(mbps: f64, rtt_ms: f64, loss: f64, extra: &str, label: &str, seeds: u64, word: &str) {
    if !label.contains(word) {
        return;
    }
    let [stp, cubic, bbr] = [(STP, seeds), (CUBIC, 3), (BBR, 3)].map(|(transport, seeds)| {
        let bytes = (mbps * 1e6 / 8.0 * 10.0) as u64;
        let mut case = Case::new(mbps, rtt_ms).loss(loss).flow("a", transport, Some(bytes), 0.0);
        case.extra += extra;
        spread(&case, seeds)
    });
    let slow = if stp.median > cubic.median.min(bbr.median) { "  <--" } else { "" };
    println!(
        "{label} | {:>6.2} ({:>6.2}, {}) sent {:.3}; cubic {:.1} bbr {:.1}{slow}",
        stp.median, stp.worst, stp.seed, stp.most_sent, cubic.median, bbr.median
    );
}

fn print_jitter(mbps: f64, name: &str, case: &dyn Fn(&str) -> Case, seeds: u64, word: &str) {
    let label = format!("{mbps:>4} Mbit/s {name:<14}");
    if !label.contains(word) {
        return;
    }
    let s = spread(&case(STP), seeds);
    let [cubic, bbr] = [CUBIC, BBR].map(|transport| timed(&case(transport), 9001).0);
    let slow = if s.median > cubic.min(bbr) { "  <--" } else { "" };
    println!(
        "{label} | {:>6.2} ({:>6.2}, {}) sent {:.3}; cubic {cubic:.1} bbr {bbr:.1}{slow}",
        s.median, s.worst, s.seed, s.most_sent
    );
}

/// Round trips from `at` until the flow delivers nine tenths of the rate during one round trip.
fn full_after(result: &RunResult, at: f64, rtt_s: f64, mbps: f64) -> f64 {
    let series =
        result.series.iter().find(|s| s.entity == "flow/a" && s.metric == "bytes_delivered").unwrap();
    let samples: Vec<(f64, f64)> = series.samples.iter().map(|(t, v)| (t.as_secs_f64(), *v)).collect();
    let value = |t: f64| samples.iter().rfind(|s| s.0 <= t + 1e-9).map_or(0.0, |s| s.1);
    let span = rtt_s.max(0.2);
    let mut t = at;
    while t + span < result_end(&samples) {
        if (value(t + span) - value(t)) * 8.0 / span >= 0.9 * 0.96 * mbps * 1e6 {
            return (t - at) / rtt_s;
        }
        t += 0.01;
    }
    f64::INFINITY
}

fn result_end(samples: &[(f64, f64)]) -> f64 {
    samples.last().map_or(0.0, |s| s.0)
}

fn steps(phases: u64, word: &str) {
    println!("steps: round trips until nine tenths of the rate arrive again (bar 6)");
    for mbps in [20.0, 100.0] {
        for (from, to) in [(40.0, 600.0), (600.0, 40.0), (40.0, 100.0), (300.0, 600.0)] {
            let label = format!("{mbps:>4} rtt {from} to {to}");
            if !label.contains(word) {
                continue;
            }
            let after: Vec<f64> = (0..phases)
                .map(|n| {
                    let at = 8.0 + 0.17 * n as f64;
                    let mut case = Case::new(mbps, from).flow("a", STP, None, 0.0);
                    case.queue = tail(mbps, from.max(to), 1.0);
                    case.duration_s = 40.0;
                    case.sample_ms = Some(10);
                    case.extra = format!(
                        "schedule = [{{ from = \"{at} s\", to = \"100 s\", delay = \"{} ms\" }}]\n",
                        to / 2.0
                    );
                    full_after(&case.run(1), at, to / 1e3, mbps)
                })
                .collect();
            println!("{label}: {after:.1?}");
        }
        for rtt_ms in [40.0, 600.0] {
            let label = format!("{mbps:>4} {rtt_ms:>4} ms a tenth");
            if !label.contains(word) {
                continue;
            }
            let after: Vec<(f64, f64)> = (0..phases)
                .map(|n| {
                    let (down, up) = (8.0 + 0.17 * n as f64, 20.0 + 0.47 * n as f64);
                    let mut case = Case::new(mbps, rtt_ms).flow("a", STP, None, 0.0);
                    case.duration_s = 60.0;
                    case.sample_ms = Some(10);
                    case.extra = format!(
                        "schedule = [{{ from = \"{down} s\", to = \"{up} s\", rate = \"{} Mbit/s\" }}]\n",
                        mbps / 10.0
                    );
                    let result = case.run(1);
                    let rtt_s = rtt_ms / 1e3;
                    (
                        full_after(&result, down + 2.0 * rtt_s, rtt_s, mbps / 10.0),
                        full_after(&result, up, rtt_s, mbps),
                    )
                })
                .collect();
            println!("{label}: after fall and rise {after:.1?}");
        }
    }
}

/// Goodput of a flow over the last 60 % of a run, Mbit/s.
fn rate_of(result: &RunResult, at: usize, seconds: f64) -> f64 {
    rate_since(result, at, 0.4 * seconds, seconds)
}

/// Goodput from `since` until the end of the run, Mbit/s.
fn rate_since(result: &RunResult, at: usize, since: f64, end: f64) -> f64 {
    let entity = format!("flow/f{at}");
    let series = result.series.iter().find(|s| s.entity == entity && s.metric == "bytes_delivered").unwrap();
    let before = series.samples.iter().rfind(|(t, _)| t.as_secs_f64() <= since).map_or(0.0, |s| s.1);
    (transfer(result, at).bytes_delivered as f64 - before) * 8.0 / (end - since) / 1e6
}

/// Goodput of each flow over the last 60 %, Mbit/s, and the share of its packets that were retransmissions.
fn shares(mbps: f64, rtt_ms: f64, queue: &str, flows: &[(&str, f64)], seed: u64) -> (Vec<f64>, Vec<f64>) {
    let seconds = (120.0 * rtt_ms / 1e3).max(60.0);
    let mut case = Case::new(mbps, rtt_ms);
    case.queue = queue.into();
    case.duration_s = seconds;
    case.sample_ms = Some(500);
    for (n, (transport, start)) in flows.iter().enumerate() {
        // The later flows begin up to 25 round trips later still, with each seed beside another phase of the first flow's window.
        let phase = if n > 0 { (seed * 13 % 29) as f64 / 29.0 } else { 0.0 };
        let start = start + phase * 25.0 * rtt_ms / 1e3;
        case = case.flow(&format!("f{n}"), transport, None, start);
    }
    let result = case.run(seed);
    let rates = (0..flows.len()).map(|n| rate_of(&result, n, seconds));
    let again = (0..flows.len()).map(|n| {
        let one = transfer(&result, n);
        one.segments_retransmitted as f64 / one.segments_sent.max(1) as f64
    });
    (rates.collect(), again.collect())
}

fn mean(runs: &[Vec<f64>], at: usize) -> f64 {
    runs.iter().map(|run| run[at]).sum::<f64>() / runs.len() as f64
}

fn sharing(seeds: u64, word: &str) {
    shared(STP, "STP", seeds, word);
}

/// The same with CUBIC or BBR in the place of STP: what can be had of the rows.
fn cubic_instead(seeds: u64, word: &str) {
    shared(CUBIC, "CUBIC", seeds, word);
}

fn bbr_instead(seeds: u64, word: &str) {
    shared(BBR, "BBR", seeds, word);
}

fn shared(ours: &str, ours_name: &str, seeds: u64, word: &str) {
    let mbps = 50.0;
    println!(
        "sharing 50 Mbit/s, means of {seeds} seeds: neighbour and {ours_name} (again), beside two of its kind; each over its bar"
    );
    let queues = |rtt_ms: f64| {
        [
            ("0.1 BDP", tail(mbps, rtt_ms, 0.1)),
            ("1 BDP", tail(mbps, rtt_ms, 1.0)),
            ("4 BDP", tail(mbps, rtt_ms, 4.0)),
            ("codel", "{ kind = \"codel\", limit = \"10000 packets\" }".into()),
            ("fq-codel", "{ kind = \"fq-codel\", limit = \"10000 packets\", ecn = false }".into()),
            ("codel+ecn", "{ kind = \"codel\", limit = \"10000 packets\", ecn = true }".into()),
            ("fq-codel+ecn", "{ kind = \"fq-codel\", limit = \"10000 packets\", ecn = true }".into()),
        ]
    };
    for (name, kind) in [("cubic", CUBIC), ("bbr", BBR), ("reno", RENO), ("bbr1", BBR1)] {
        for rtt_ms in [50.0, 600.0] {
            for (queue_name, queue) in queues(rtt_ms) {
                for ours_first in [true, false] {
                    let order = format!("{ours_name} {}", if ours_first { "first" } else { "late" });
                    let label = format!("{name:<5} {rtt_ms:>3} ms {queue_name:<8} {order:<9}");
                    if !label.contains(word) {
                        continue;
                    }
                    // The second flow begins when the first has its share.
                    let late = 10.0 * rtt_ms / 1e3;
                    let (mut mixed, mut own, mut again) = (Vec::new(), Vec::new(), Vec::new());
                    for seed in 1..=seeds {
                        let flows = if ours_first {
                            [(ours, 0.0), (kind, late)]
                        } else {
                            [(kind, 0.0), (ours, late)]
                        };
                        let (rates, repeats) = shares(mbps, rtt_ms, &queue, &flows, seed);
                        mixed.push(rates);
                        again.push(repeats);
                        own.push(shares(mbps, rtt_ms, &queue, &[(kind, 0.0), (kind, late)], seed).0);
                    }
                    let (at, other) = if ours_first { (0, 1) } else { (1, 0) };
                    // The neighbour's goodput beside STP relative to its goodput beside its own kind, and the goodput of that
                    // second flow.
                    let (n, s) = (mean(&mixed, other), mean(&mixed, at));
                    let (n_own, s_own) = (mean(&own, other), mean(&own, at));
                    let bad = if n < 0.7 * n_own || s < 0.7 * s_own { "  <--" } else { "" };
                    println!(
                        "{label} | {n:>5.1} + {s:>5.1} = {:>5.1} ({:.2} %), own {n_own:>5.1} + {s_own:>5.1}: {:>5.2} {:>5.2}{bad}",
                        n + s,
                        100.0 * mean(&again, at),
                        n / n_own.max(0.01),
                        s / s_own.max(0.01)
                    );
                }
            }
        }
    }
    for rtt_ms in [50.0, 600.0] {
        for (queue_name, queue) in queues(rtt_ms) {
            for count in [1, 2, 4, 10] {
                let kind = ours_name.to_lowercase();
                let label = format!("{kind} x {count:<2} {rtt_ms:>3} ms {queue_name:<8}");
                if !label.contains(word) {
                    continue;
                }
                let flows: Vec<(&str, f64)> =
                    (0..count).map(|n| (ours, f64::from(n) * 3.0 * rtt_ms / 1e3)).collect();
                let (mut jains, mut sums, mut worst) = (Vec::new(), Vec::new(), 0.0f64);
                for seed in 1..=seeds {
                    let (rates, again) = shares(mbps, rtt_ms, &queue, &flows, seed);
                    let sum: f64 = rates.iter().sum();
                    jains.push(sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>()));
                    sums.push(sum);
                    worst = again.iter().copied().fold(worst, f64::max);
                }
                let least = jains.iter().copied().fold(1.0, f64::min);
                let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
                let (sum, jain, worst) = (average(&sums), average(&jains), 100.0 * worst);
                let bad = if jain < 0.95 { "  <--" } else { "" };
                println!(
                    "{label} | sum {sum:.1} Jain {jain:.3} (least {least:.3}), again at most {worst:.2} %{bad}"
                );
            }
        }
    }
}

/// A second flow beside CUBIC through one product at 600 ms, by the time at which it begins: what it has depends on the phase of the
/// first one's window. Rates of the time from 22.8 to 66 s after its start.
fn late(seeds: u64, word: &str) {
    println!(
        "late, 50 Mbit/s, 600 ms, 1 BDP: CUBIC and what begins later, means (least) of {seeds} seeds, Mbit/s"
    );
    for start in [6, 8, 10, 12, 14, 16, 18, 20, 25, 30, 40] {
        let label = format!("after {start:>2} s");
        if !label.contains(word) {
            continue;
        }
        let mut columns = Vec::new();
        for (name, kind) in [("stp", STP), ("cubic", CUBIC)] {
            let mut pairs = Vec::new();
            for seed in 1..=seeds {
                let begins = f64::from(start) + (seed * 13 % 29) as f64 * 0.003;
                let mut case =
                    Case::new(50.0, 600.0).flow("f0", CUBIC, None, 0.0).flow("f1", kind, None, begins);
                case.duration_s = f64::from(start) + 66.0;
                case.sample_ms = Some(500);
                let result = case.run(seed);
                let rates =
                    (0..2).map(|at| rate_since(&result, at, f64::from(start) + 22.8, case.duration_s));
                pairs.push(rates.collect::<Vec<f64>>());
            }
            let least = pairs.iter().map(|pair| pair[1]).fold(f64::INFINITY, f64::min);
            columns.push(format!(
                "{:>5.1} + {name} {:>5.1} ({least:>4.1})",
                mean(&pairs, 0),
                mean(&pairs, 1)
            ));
        }
        println!("{label} | {}", columns.join("  "));
    }
}

/// Goodput of one flow over the last 60 %, through short and long queues, by the channel's losses.
fn alone(seeds: u64, word: &str) {
    println!(
        "alone: Mbit/s over the last 60 % of a minute or 120 round trips, mean of {seeds} seeds (least)"
    );
    for (mbps, rtt_ms) in [(50.0, 50.0), (50.0, 600.0), (100.0, 300.0), (10.0, 600.0)] {
        let codel = "{ kind = \"codel\", limit = \"10000 packets\" }".to_owned();
        let queues =
            [0.1, 1.0, 4.0].map(|products| (format!("{products} BDP"), tail(mbps, rtt_ms, products)));
        for (queue_name, queue) in queues.into_iter().chain([("codel".into(), codel)]) {
            let mut row = format!("{mbps:>4} {rtt_ms:>3} ms {queue_name:<7} |");
            if !row.contains(word) {
                continue;
            }
            for loss in [0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2] {
                let mut case = Case::new(mbps, rtt_ms).loss(loss).flow("f0", STP, None, 0.0);
                case.queue = queue.clone();
                (case.duration_s, case.sample_ms) = ((120.0 * rtt_ms / 1e3).max(60.0), Some(500));
                let rates: Vec<f64> =
                    (1..=seeds).map(|seed| rate_of(&case.run(seed), 0, case.duration_s)).collect();
                let mean = rates.iter().sum::<f64>() / rates.len() as f64;
                let least = rates.iter().copied().fold(mbps, f64::min);
                write!(row, " {loss}: {mean:.1} ({least:.1})").unwrap();
            }
            println!("{row}");
        }
    }
}

/// Packets sent, and those sent again, until the run ends after `duration_s`.
fn sent_until(case: &mut Case, duration_s: f64, seed: u64) -> (f64, f64, f64) {
    case.duration_s = duration_s;
    let result = case.run(seed);
    let one = transfer(&result, 0);
    (one.segments_sent as f64, one.segments_retransmitted as f64, one.bytes_delivered as f64)
}

fn promised(seeds: u64, word: &str) {
    println!(
        "promised: a promise of twice and half the rate, worst of {seeds} seeds from 9001: part sent again after 3 round trips \
         (bar 0.02 over the loss), part of the smaller rate that arrives from then on (bar 0.9)"
    );
    let (mut rows, mut missed) = (0, 0);
    for mbps in [10.0, 100.0, 250.0] {
        for rtt_ms in [40.0, 300.0, 600.0] {
            for loss in [0.0, 0.01] {
                for products in [0.1, 1.0, 4.0] {
                    for (factor, name) in [(2.0, "twice"), (0.5, "half")] {
                        let label = format!("{mbps:>4} {rtt_ms:>4} {loss:>5} {products:>4} BDP {name:<5}");
                        if !label.contains(word) {
                            continue;
                        }
                        let transport = format!(
                            "{STP}, congestion = \"rate\", max_rate = \"{} Mbit/s\", initial_credit = 60000, \
                             window = \"512 MB\"",
                            factor * mbps
                        );
                        let three = 3.0 * rtt_ms / 1e3;
                        let whole = f64::max(40.0 * rtt_ms / 1e3, 10.0);
                        let (mut again, mut part) = (0.0f64, f64::INFINITY);
                        for seed in 9001..9001 + seeds {
                            let mut case =
                                Case::new(mbps, rtt_ms).loss(loss).flow("a", &transport, None, 0.0);
                            case.queue = tail(mbps, rtt_ms, products);
                            let (sent_3, again_3, bytes_3) = sent_until(&mut case, three, seed);
                            let (sent, repeats, bytes) = sent_until(&mut case, whole, seed);
                            again = again.max((repeats - again_3) / (sent - sent_3));
                            // Of 1468 bytes of the network layer 1428 are data.
                            let most = mbps.min(factor * mbps) * 1e6 / 8.0 * 1428.0 / 1468.0 * (1.0 - loss);
                            part = part.min((bytes - bytes_3) / (whole - three) / most);
                        }
                        let bad = again > 0.02 + 1.1 * loss || part < 0.9;
                        (rows, missed) = (rows + 1, missed + u32::from(bad));
                        let mark = if bad { "  <--" } else { "" };
                        println!("{label} | again {again:.4}, arrives {part:.3}{mark}");
                    }
                }
            }
        }
    }
    println!("{missed} of {rows} missed");
}

/// A table's name, its usual number of seeds, and the function that prints it.
type Table = (&'static str, u64, fn(u64, &str));

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let table = args.first().map_or("all", String::as_str);
    let seeds = args.get(1).and_then(|n| n.parse().ok());
    let word = args.get(2).map_or("", String::as_str);
    let tables: [Table; 26] = [
        ("tails", 20, tails),
        ("both", 1, both_ways::table),
        ("jitter", 5, jitter),
        ("passing", 10, passing),
        ("ordered", 5, ordered),
        ("bursts", 20, bursts),
        ("moves", 20, moves),
        ("outages", 8, outages::table),
        ("one-way", 8, outages::one_way),
        ("steps", 16, steps),
        ("sharing", 1, sharing),
        ("late", 1, late),
        ("cubic-instead", 1, cubic_instead),
        ("bbr-instead", 1, bbr_instead),
        ("alone", 4, alone),
        ("paths", 1, paths::table),
        ("narrow", 1, paths::narrow),
        ("shallow", 1, paths::shallow),
        ("swings", 1, paths::swings),
        ("longer", 1, paths::longer),
        ("requests", 2, requests::table),
        ("handovers", 1, requests::handovers),
        ("crowds", 8, crowds::table),
        ("newcomers", 16, crowds::newcomers),
        ("thin", 8, crowds::thin),
        ("promised", 1, promised),
    ];
    for (name, usual, run) in tables {
        if table == "all" || table == name {
            run(seeds.unwrap_or(usual), word);
        }
    }
}
