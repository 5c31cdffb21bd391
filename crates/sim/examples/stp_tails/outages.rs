//! Outages at all phases of a transfer, of both ways and of one, in which packets are lost or wait.
//!
//! Follows docs/stp.md §8.3 rule 9: what was proven is not forgotten. Leaves out outages that come again and again (`bursts`,
//! `requests`).

use super::{Case, STP, tail, timed};

/// Seconds beyond the outage and the time of a transfer without one, from which on a row is marked.
const BAR_S: f64 = 8.0;
/// Part of the phases that fall into the first four round trips, where one way is away.
const EARLY: f64 = 2.0 / 3.0;

/// A transfer over a queue of so many products.
fn case(mbps: f64, rtt_ms: f64, bytes: u64, products: f64) -> Case {
    let case = Case { queue: tail(mbps, rtt_ms, products), ..Case::new(mbps, rtt_ms) };
    case.flow("a", STP, Some(bytes), 0.0)
}

/// A link's schedule with one outage.
fn schedule(at: f64, outage: f64, how: &str) -> String {
    format!("schedule = [{{ from = \"{at} s\", to = \"{} s\", outage = \"{how}\" }}]", at + outage)
}

/// Prints the worst of some times beyond outage and clean time, and where it was.
fn report(label: &str, clean: f64, over: impl Iterator<Item = (f64, f64)>) {
    let mut worst = (f64::NEG_INFINITY, 0.0);
    for (at, over) in over {
        if over > worst.0 {
            worst = (over, at);
        }
    }
    let bad = if worst.0 > BAR_S { "  <--" } else { "" };
    println!("{label} | clean {clean:>6.2} worst over {:>7.2} (at {:.2} s){bad}", worst.0, worst.1);
}

pub(super) fn table(seeds: u64, word: &str) {
    println!(
        "outages: seconds over outage + clean, worst over phases (bar 8); packets are lost, or wait; queues of one, a tenth of a product; \
         phases {seeds}"
    );
    for (mbps, rtt_ms, bytes) in [
        (100.0, 600.0, 50_000_000u64),
        (250.0, 600.0, 100_000_000),
        (10.0, 600.0, 5_000_000),
        (2.0, 600.0, 2_000_000),
        (3.0, 600.0, 2_000_000),
        (60.0, 600.0, 30_000_000),
        (100.0, 40.0, 50_000_000),
        (50.0, 10.0, 50_000_000),
    ] {
        let clean = [1.0, 0.1].map(|products| timed(&case(mbps, rtt_ms, bytes, products), 1).0);
        let lengths = [1.0, 5.0, 12.0, 45.0, 110.0].iter();
        let rows = lengths.flat_map(|outage| [(outage, "lose"), (outage, "wait")]);
        for (outage, how, products, clean) in
            rows.flat_map(|(outage, how)| [(outage, how, 1.0, clean[0]), (outage, how, 0.1, clean[1])])
        {
            let label = format!("{mbps:>4} {rtt_ms:>4} {products:.1} {outage:>4} {how}");
            if !label.contains(word) {
                continue;
            }
            let over = (0..seeds).map(|phase| {
                let at = clean * (phase as f64 + 0.5) / seeds as f64;
                let mut case = case(mbps, rtt_ms, bytes, products);
                case.extra = format!("{}\n", schedule(at, *outage, how));
                (at, timed(&case, 1).0 - outage - clean)
            });
            report(&label, clean, over);
        }
    }
}

pub(super) fn one_way(seeds: u64, word: &str) {
    println!(
        "one-way: the same over slow and usual paths; outages of the way there, of the way back, of both, also short ones; phases {seeds}, \
         most within the first four round trips"
    );
    for (mbps, rtt_ms, bytes) in [
        (0.064, 600.0, 100_000u64),
        (0.128, 300.0, 200_000),
        (0.25, 600.0, 500_000),
        (0.3, 1200.0, 600_000),
        (0.5, 600.0, 1_000_000),
        (1.0, 600.0, 2_000_000),
        (2.0, 100.0, 2_000_000),
        (2.0, 600.0, 2_000_000),
        (2.0, 1200.0, 2_000_000),
        (10.0, 600.0, 5_000_000),
        (20.0, 300.0, 10_000_000),
        (50.0, 40.0, 20_000_000),
    ] {
        for products in [1.0, 0.1] {
            let clean = timed(&case(mbps, rtt_ms, bytes, products), 1).0;
            let rows = ["there", "back", "both"].into_iter().flat_map(|way| {
                ["lose", "wait"].into_iter().flat_map(move |how| [0.2, 1.0, 5.0, 30.0].map(|s| (way, how, s)))
            });
            for (way, how, outage) in rows {
                let label = format!("{mbps:>5} {rtt_ms:>4} {products:.1} {outage:>4} {how} {way:<5}");
                if !label.contains(word) {
                    continue;
                }
                let early = (EARLY * seeds as f64).floor();
                let over = (0..seeds).map(|phase| {
                    let phase = phase as f64 + 0.5;
                    let at = if phase < early {
                        4.0 * rtt_ms / 1e3 * phase / early
                    } else {
                        clean * phase / seeds as f64
                    };
                    let mut case = case(mbps, rtt_ms, bytes, products);
                    let schedule = schedule(at, outage, how);
                    match way {
                        "there" => {
                            case.extra = format!("{schedule}\n");
                            case.reverse = String::from(", schedule = []");
                        }
                        "back" => case.reverse = format!(", {schedule}"),
                        _ => case.extra = format!("{schedule}\n"),
                    }
                    (at, timed(&case, 1).0 - outage - clean)
                });
                report(&label, clean, over);
            }
        }
    }
}
