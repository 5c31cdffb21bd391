//! A flow of STP while another flow fills the way back, on which its answers wait: there and back, early and late, with losses.
//!
//! Follows docs/stp.md §8.3: a wait on the way back is no queue of this flow's making. Leaves out flows beside it on the way there.

use super::{BBR, CUBIC, Case, STP, rate_of, transfer};

/// Part of what there is alone from which on a row is marked.
const KEPT: f64 = 0.9;

/// The same flow the other way.
fn turned(flow: &str) -> String {
    let way = ["[\"server\", \"bottleneck\", \"user\"]", "[\"user\", \"bottleneck\", \"server\"]"];
    flow.replace(way[0], way[1])
}

/// Mbit/s of each flow over the last 60 % of a minute: of one there, and, if `back` names a transport, one back that begins at `start_s`.
fn rates(mut case: Case, back: &str, start_s: f64) -> Vec<f64> {
    case = case.flow("f0", STP, None, 0.0);
    if !back.is_empty() {
        let there = std::mem::take(&mut case.flows);
        case = case.flow("f1", back, None, start_s);
        case.flows = there + &turned(&case.flows);
    }
    (case.duration_s, case.sample_ms) = (60.0, Some(500));
    let result = case.run(1);
    (0..result.flows.len()).map(|n| rate_of(&result, n, 60.0)).collect()
}

pub fn table(_: u64, word: &str) {
    println!(
        "both: Mbit/s there and back over the last 36 s of 60, and what there is alone; the way back, whose queue holds so many \
            products, is filled from the beginning, or from 5 s on; packets there are lost"
    );
    let (mut rows, mut low) = (0, 0);
    for (mbps, up_mbps) in [(250.0, 3.0), (100.0, 10.0), (50.0, 50.0), (10.0, 1.0)] {
        for (rtt_ms, loss) in [40.0, 80.0, 600.0].into_iter().flat_map(|rtt| [(rtt, 0.0), (rtt, 0.005)]) {
            let case = |products: f64| {
                let mut case = Case { up_mbps, back: products, ..Case::new(mbps, rtt_ms) };
                if loss > 0.0 {
                    case.extra = format!("loss = {{ kind = \"packets\", probability = {loss} }}\n");
                    case.reverse = ", loss = { kind = \"none\" }".to_owned();
                }
                case
            };
            for (name, back) in [("stp", STP), ("cubic", CUBIC), ("bbr", BBR)] {
                let label = format!("{mbps:>4}/{up_mbps} {rtt_ms:>3} ms, {loss:<5} lost, {name:<5}");
                if !label.contains(word) {
                    continue;
                }
                let alone = rates(case(1.0), "", 0.0)[0];
                for products in [1.0, 4.0] {
                    let [early, late] = [0.0, 5.0].map(|start_s| rates(case(products), back, start_s));
                    let bad = early[0].min(late[0]) < KEPT * alone;
                    (rows, low) = (rows + 1, low + u32::from(bad));
                    let mark = if bad { "  <--" } else { "" };
                    println!(
                        "{label} {products} products | alone {alone:>5.1}; {early:>5.1?} {late:>5.1?}{mark}"
                    );
                }
            }
        }
    }
    println!("{low} of {rows} have less than {KEPT} of what there is alone");
    uploads();
}

/// An upload beside a download of BBR, whose acknowledgments fill the way that both take.
fn uploads() {
    println!(
        "uploads of STP, CUBIC, BBR beside a download of BBR over 100/2.5 Mbit/s, 0.5 % lost: seconds of 20 s worth"
    );
    for (rtt_ms, products) in [(300.0, 0.25), (300.0, 1.0), (300.0, 4.0), (600.0, 1.0)] {
        let took = [STP, CUBIC, BBR].map(|kind| {
            let mut case =
                Case { up_mbps: 2.5, back: products, duration_s: 900.0, ..Case::new(100.0, rtt_ms) };
            case.extra = "loss = { kind = \"packets\", probability = 0.005 }\n".to_owned();
            case.reverse = ", loss = { kind = \"none\" }".to_owned();
            // The first flow's way is the link's.
            case = case.flow("down", BBR, None, 0.0);
            let down = std::mem::take(&mut case.flows);
            case = case.flow("up", kind, Some(6_250_000), 0.0);
            case.flows = down + &turned(&case.flows);
            transfer(&case.run(1), 1).completed_s.unwrap_or(f64::INFINITY)
        });
        println!("{rtt_ms} ms, {products:<4} products | {took:>6.1?}");
    }
}
