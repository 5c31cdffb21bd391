//! Crowds: equal parts of 100 MB by 1 to 1,000 connections that start at once, or one after another; and newcomers beside one that sends.
//!
//! Follows docs/stp.md §8.3, rule 5. Leaves out the streams of one association.

use super::{BBR, CUBIC, Case, STP, transfer};

/// When connection `n` of a crowd starts: multiples of the golden ratio for seed 0, evenly spread, and others for each seed.
fn crowd_start(n: u32, within_s: f64, seed: u64) -> f64 {
    let n = f64::from(n);
    (n * 0.618_034 + seed as f64 * 0.414_214 * (n * n + 1.0)).fract() * within_s
}

/// Equal parts of 100 MB, by so many connections that start within `within_s`.
fn crowd(kind: &str, count: u32, within_s: f64, seed: u64) -> Case {
    let mut case = Case::new(250.0, 600.0);
    case.up_mbps = 3.0;
    if within_s == 0.0 {
        case.flows = format!(
            "[[flows]]\nname = \"a\"\npath = [\"server\", \"bottleneck\", \"user\"]\ntransport = {{ {kind} }}\n\
             traffic = {{ kind = \"bulk\", size = \"100 MB\", connections = {count} }}\n"
        );
        return case;
    }
    for n in 0..count {
        let start = crowd_start(n, within_s, seed);
        case = case.flow(&format!("f{n}"), kind, Some(100_000_000 / u64::from(count)), start);
    }
    case
}

/// The same 100 MB by 1 to 1,000 connections of STP, and of CUBIC if the word has it.
pub fn table(seeds: u64, word: &str) {
    println!(
        "crowds: 100 MB in equal parts over 250/3 Mbit/s, 600 ms; at once, and with starts within 0.1 to 3 s, {seeds} seeds (bars: 1.3 \
            times one's time, 3 % again): mean (worst)"
    );
    let mut alone = f64::INFINITY;
    for (name, kind) in [("stp", STP), ("cubic", CUBIC)] {
        for within_s in [0.0, 0.1, 0.3, 0.6, 1.2, 3.0] {
            for count in [1u32, 2, 5, 10, 20, 50, 100, 200, 1000] {
                let label = format!("{name} x {count} within {within_s} s");
                let skip = name == "cubic" && !word.contains("cubic");
                if !label.contains(word) || skip || (within_s > 0.0 && count == 1) {
                    continue;
                }
                let (mut times, mut parts, mut back) = (Worst::default(), Worst::default(), 0);
                let runs = if within_s == 0.0 { 1 } else { seeds };
                let mut good = 0;
                for seed in 0..runs {
                    let result = crowd(kind, count, within_s, seed).run(1);
                    let all = || (0..result.flows.len()).map(|n| transfer(&result, n));
                    let seconds = (0..).zip(all()).fold(0.0, |most: f64, (n, one)| {
                        most.max(crowd_start(n, within_s, seed) + one.completed_s.unwrap_or(f64::INFINITY))
                    });
                    if count == 1 {
                        alone = seconds;
                    }
                    let again: u64 = all().map(|one| one.segments_retransmitted).sum();
                    let part = again as f64 / all().map(|one| one.segments_sent).sum::<u64>() as f64;
                    good += u64::from(part <= 0.03 && seconds <= 1.3 * alone + within_s);
                    times.add(seconds);
                    parts.add(100.0 * part);
                    back = back.max(result.links[0].reverse.bytes);
                }
                println!(
                    "{label:26} {times} s, again {parts} %, back {back} B, {good} of {runs} hold{}",
                    if good < runs { "  <--" } else { "" }
                );
            }
        }
    }
}

/// 2.4 s worth of data for a connection that begins while another has sent for 20 s and more.
pub fn newcomers(phases: u64, word: &str) {
    println!(
        "newcomers: 2.4 s worth of data beside one that sends, {phases} phases of its start, queue of one product: seconds, mean (worst)"
    );
    let kinds = [("stp", STP), ("cubic", CUBIC), ("bbr", BBR)];
    for (mbps, rtt_ms) in
        [(20.0, 40.0), (20.0, 300.0), (20.0, 600.0), (50.0, 600.0), (250.0, 300.0), (250.0, 600.0)]
    {
        for (first, first_kind) in kinds {
            let label = format!("{mbps} Mbit/s {rtt_ms} ms beside {first}");
            if !label.contains(word) {
                continue;
            }
            let mut line = format!("{label:31}");
            for (name, kind) in kinds {
                let mut times = Worst::default();
                for phase in 0..phases {
                    let mut case = Case::new(mbps, rtt_ms).flow("first", first_kind, None, 0.0);
                    let start_s = 20.0 + (phase as f64 * 0.618_034).fract() * 3.0;
                    case = case.flow("newcomer", kind, Some((mbps * 3e5) as u64), start_s);
                    case.duration_s = start_s + 60.0;
                    times.add(transfer(&case.run(phase + 1), 1).completed_s.unwrap_or(f64::INFINITY));
                }
                line += &format!("  {name} {times}");
            }
            println!("{line}");
        }
    }
}

/// Short transfers that begin within a second, over a way back of a fiftieth of the rate: when the last is complete, and what came back.
pub fn thin(seeds: u64, word: &str) {
    println!(
        "thin: transfers of 90 kB with starts within 1 s, a fiftieth of the rate back, queue of one product, {seeds} seeds: mean (worst) \
            seconds of the last, kB back"
    );
    let kinds = [("stp", STP), ("cubic", CUBIC), ("bbr", BBR)];
    let (mut rows, mut slow) = (0, 0);
    for mbps in [3.0, 10.0, 30.0] {
        for rtt_ms in [100.0, 270.0, 600.0] {
            for count in [4u32, 8, 16, 32] {
                let label = format!("{mbps} Mbit/s {rtt_ms} ms x {count}");
                if !label.contains(word) {
                    continue;
                }
                let mut line = format!("{label:24}");
                let mut means = Vec::new();
                for (name, kind) in kinds {
                    let (mut times, mut back) = (Worst::default(), Worst::default());
                    for seed in 0..seeds {
                        let mut case = Case::new(mbps, rtt_ms);
                        case.up_mbps = mbps / 50.0;
                        for n in 0..count {
                            case = case.flow(&format!("f{n}"), kind, Some(90_000), crowd_start(n, 1.0, seed));
                        }
                        let result = case.run(seed + 1);
                        let ends = (0..count).map(|n| {
                            let seconds = transfer(&result, n as usize).completed_s.unwrap_or(f64::INFINITY);
                            crowd_start(n, 1.0, seed) + seconds
                        });
                        times.add(ends.fold(0.0, f64::max));
                        back.add(result.links[0].reverse.bytes as f64 / 1e3);
                    }
                    means.push(times.mean());
                    line += &format!("  {name} {times} {back}");
                }
                rows += 1;
                let is_slow = means[0] > 1.1 * means[1].min(means[2]) + rtt_ms / 1e3;
                slow += u32::from(is_slow);
                println!("{line}{}", if is_slow { "  <--" } else { "" });
            }
        }
    }
    println!("{slow} of {rows} slower than 1.1 times the better TCP and a round trip");
}

/// The mean and the worst of some numbers.
#[derive(Default)]
struct Worst {
    sum: f64,
    count: u32,
    worst: f64,
}

impl Worst {
    fn add(&mut self, number: f64) {
        (self.sum, self.count, self.worst) = (self.sum + number, self.count + 1, self.worst.max(number));
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }
}

impl std::fmt::Display for Worst {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2})", self.mean(), self.worst)
    }
}
