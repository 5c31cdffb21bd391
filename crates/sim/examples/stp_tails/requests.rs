//! Requests and replies, on one connection or on new ones, beside what CUBIC and BBR take: rates by round trips by sizes, over links that
//! lose, jitter and fail; and with bulk data over paths that hand over.
//!
//! Follows docs/stp.md §5, §6.3 and §8.3. Leaves out other bulk data, which the other tables have.

use super::{BBR, CUBIC, Case, STP, tail, timed};
use skyhop_results::FlowKind;

const LINKS: [(&str, &str); 7] = [
    ("clean", ""),
    ("0.5 % lost", "loss = { kind = \"packets\", probability = 0.005 }"),
    ("2 % lost", "loss = { kind = \"packets\", probability = 0.02 }"),
    ("10 % lost", "loss = { kind = \"packets\", probability = 0.1 }"),
    (
        "outages lose",
        "schedule = [{ from = \"14.5 s\", to = \"15.5 s\", outage = \"lose\" }]\nrepeat = \"15.5 s\"",
    ),
    (
        "outages wait",
        "schedule = [{ from = \"14.5 s\", to = \"15.5 s\", outage = \"wait\" }]\nrepeat = \"15.5 s\"",
    ),
    ("jitter 5 ms", "jitter = { kind = \"exponential\", mean = \"5 ms\" }"),
];
const COUNT: u64 = 200;
/// Times the better TCP's mean time from which a row counts as slow.
const SLOW: f64 = 1.1;

/// Flows of requests up to 1 s apart, with replies of so many kB.
fn exchanges(transport: &str, reply_kb: u64, persistent: bool) -> String {
    format!(
        "[[flows]]\nname = \"a\"\npath = [\"user\", \"bottleneck\", \"server\"]\ntransport = {{ {transport} }}\n\
         traffic = {{ kind = \"request-response\", reply = {{ kind = \"fixed\", value = \"{reply_kb} kB\" }}, \
         think = {{ kind = \"uniform\", least = \"0 s\", most = \"1 s\" }}, persistent = {persistent}, \
         count = {COUNT} }}\n"
    )
}

/// Mean and longest time of an exchange, seconds; infinite if not all were completed.
fn took(case: &Case, seeds: u64) -> (f64, f64) {
    let mut all = (0.0, 0.0f64);
    for seed in 1..=seeds {
        let result = case.run(seed);
        let FlowKind::Completions(one) = &result.flows[0].kind else { panic!("requests") };
        if one.completed < COUNT {
            return (f64::INFINITY, f64::INFINITY);
        }
        let longest = one.completion_max_s.expect("all were completed");
        all = (all.0 + one.completion_mean_s.expect("all were completed"), all.1.max(longest));
    }
    (all.0 / seeds as f64, all.1)
}

pub fn table(seeds: u64, word: &str) {
    println!(
        "requests: seconds of STP, CUBIC, BBR for a request of 100 B and its reply, mean (longest) of {COUNT} for each of {seeds} seeds, \
            up to 1 s apart; only rows in which STP's mean is more than {SLOW} times the better's; outages of 1 s each 15.5 s"
    );
    for (name, link) in LINKS {
        for (kind, persistent) in [("one connection", true), ("new connections", false)] {
            let label = format!("{name:<12} {kind:<15}");
            if !label.contains(word) {
                continue;
            }
            let (mut slow, mut all, mut worst) = (0, 0, 0);
            for (mbps, rtt_ms, kb) in [2.0, 50.0, 250.0]
                .iter()
                .flat_map(|mbps| [40.0, 300.0, 600.0].map(|rtt_ms| (*mbps, rtt_ms)))
                .flat_map(|(mbps, rtt_ms)| [2, 20, 300].map(|kb| (mbps, rtt_ms, kb)))
            {
                let [stp, cubic, bbr] = [STP, CUBIC, BBR].map(|transport| {
                    let mut case = Case::new(mbps, rtt_ms);
                    case.extra = format!("{link}\n");
                    case.duration_s = 20_000.0;
                    case.flows = exchanges(transport, kb, persistent);
                    took(&case, seeds)
                });
                all += 1;
                worst += u32::from(stp.1 > cubic.1.min(bbr.1));
                if stp.0 > SLOW * cubic.0.min(bbr.0) {
                    slow += 1;
                    let [stp, cubic, bbr] =
                        [stp, cubic, bbr].map(|(mean, longest)| format!("{mean:.2} ({longest:.2})"));
                    println!(" {label} | {mbps:>3} Mbit/s {rtt_ms:>3} ms {kb:>3} kB | {stp} {cubic} {bbr}");
                }
            }
            println!(" {label} | {slow} of {all} slow; the longest time is STP's in {worst}");
        }
    }
}

/// Bulk data and replies over a path that hands over each 15 s, to a round trip two fifths longer and back.
pub fn handovers(seeds: u64, word: &str) {
    println!(
        "handovers: seconds of STP, CUBIC, BBR, means of {seeds} seeds, for 30 s worth of data and for a request and its reply of 200 kB, \
            over a path that hands over each 15 s; only rows in which STP takes more than {SLOW} times the better's time"
    );
    let rates = [5.0, 50.0, 200.0];
    for (mbps, rtt_ms) in rates.iter().flat_map(|mbps| [30.0, 60.0, 150.0].map(|rtt_ms| (*mbps, rtt_ms))) {
        let (mut slow, mut all) = (0, 0);
        for (loss, lost_s) in
            [0.0, 0.002, 0.01].iter().flat_map(|loss| [0.05, 0.2, 0.6].map(|lost_s| (*loss, lost_s)))
        {
            for name in ["bulk", "replies"] {
                let label =
                    format!("{mbps:>3} Mbit/s {rtt_ms:>3} ms, {loss:>5} and {lost_s:>4} s lost, {name:<7}");
                if !label.contains(word) {
                    continue;
                }
                let (first, second) = (15.0 - lost_s, 30.0 - lost_s);
                let longer = 0.7 * rtt_ms;
                let schedule = format!(
                    "schedule = [{{ from = \"{first} s\", to = \"15 s\", outage = \"lose\" }}, \
                     {{ from = \"15 s\", to = \"{second} s\", delay = \"{longer} ms\" }}, \
                     {{ from = \"{second} s\", to = \"30 s\", outage = \"lose\", delay = \"{longer} ms\" }}]\nrepeat = \"30 s\"\n"
                );
                let [stp, cubic, bbr] = [STP, CUBIC, BBR].map(|transport| {
                    let mut case = Case::new(mbps, rtt_ms).loss(loss);
                    case.queue = tail(mbps, f64::max(rtt_ms, 30.0), 1.0);
                    case.extra += &schedule;
                    case.duration_s = 2000.0;
                    if name == "replies" {
                        case.flows = exchanges(transport, 200, true);
                        return took(&case, seeds).0;
                    }
                    let case = case.flow("a", transport, Some((mbps * 1e6 / 8.0 * 30.0) as u64), 0.0);
                    (1..=seeds).map(|seed| timed(&case, seed).0).sum::<f64>() / seeds as f64
                });
                all += 1;
                if stp > SLOW * cubic.min(bbr) {
                    slow += 1;
                    println!(" {label} | {stp:>6.2} {cubic:>6.2} {bbr:>6.2}");
                }
            }
        }
        if all > 0 {
            println!(" {mbps:>3} Mbit/s {rtt_ms:>3} ms | {slow} of {all} slow");
        }
    }
}
