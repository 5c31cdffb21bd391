//! STP through queues that mark: nothing is dropped after the start, and the link is as full as without marks.
//!
//! Follows docs/stp.md §6.5 and §8.3 rule 11; the example `stp_tails` has all rows of sharing.
//! Differs: bounds on both sides, so that a sender that gives way to every mark for long fails as well.
//! Leaves out paths that erase marks (`stp_marks` of `transport`).

use crate::common;
use skyhop_results::{FlowKind, RunResult, TransferResult};

const STP: &str = "{ kind = \"stp\" }";
const WITHOUT: &str = "{ kind = \"stp\", ecn = false }";

/// Flows from the server to the user over 50 Mbit/s, each beginning three round trips after the one before.
fn share(rtt_ms: f64, queue: &str, transports: &[&str], seconds: f64, seed: u64) -> RunResult {
    let mut text = format!(
        "duration = \"{seconds} s\"\n[links.bottleneck]\nrate = \"50 Mbit/s\"\ndelay = \"{} ms\"\nqueue = {queue}\n",
        rtt_ms / 2.0
    );
    for (n, transport) in transports.iter().enumerate() {
        text += &format!(
            "[[flows]]\nname = \"f{n}\"\npath = [\"server\", \"bottleneck\", \"user\"]\nstart = \"{} ms\"\n\
             transport = {transport}\ntraffic = {{ kind = \"bulk\" }}\n",
            3.0 * rtt_ms * n as f64 + (seed * 7 % 11) as f64,
        );
    }
    common::run(&text, seed)
}

fn transfers(result: &RunResult) -> Vec<&TransferResult> {
    let transfers = result.flows.iter().map(|flow| match &flow.kind {
        FlowKind::Transfer(transfer) => transfer,
        _ => panic!("not a transfer"),
    });
    transfers.collect()
}

fn queue(kind: &str, ecn: bool) -> String {
    format!("{{ kind = \"{kind}\", limit = \"10000 packets\", ecn = {ecn} }}")
}

/// Sum of what arrived, Mbit/s over the whole run; the largest part that was sent again; and Jain's index.
fn outcome(result: &RunResult, seconds: f64) -> (f64, f64, f64) {
    let all = transfers(result);
    let rates: Vec<f64> = all.iter().map(|one| one.bytes_delivered as f64 * 8e-6 / seconds).collect();
    let again = all.iter().map(|one| one.segments_retransmitted as f64 / one.segments_sent as f64);
    let sum: f64 = rates.iter().sum();
    let jain = sum * sum / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>());
    (sum, again.fold(0.0, f64::max), jain)
}

/// At most 1 % is sent again, the start included, and the link is at least 0.85 times as full as if the queue dropped: after three marks
/// a flow does as CUBIC does, and after losses only if others take a part of the queue.
#[test]
fn a_queue_that_marks_drops_nothing() {
    for rtt_ms in [50.0, 600.0] {
        for kind in ["codel", "fq-codel"] {
            for count in [1, 4] {
                let seconds = 60.0;
                let run =
                    |ecn| outcome(&share(rtt_ms, &queue(kind, ecn), &vec![STP; count], seconds, 1), seconds);
                let ((sum, again, jain), (without, lost, _)) = (run(true), run(false));
                println!(
                    "{kind} {rtt_ms} ms, {count}: {sum:.1} Mbit/s, {:.2} % again, Jain {jain:.3}; dropping {without:.1}, {:.2} %",
                    100.0 * again,
                    100.0 * lost
                );
                assert!(again <= 0.01 && lost > 0.0001, "{again} {lost}");
                assert!(sum > 0.85 * without && sum < 48.7, "{sum} {without}");
            }
        }
    }
}

/// Beside CUBIC, which the same queue drops, neither has less than half of what two of CUBIC have.
#[test]
fn a_neighbour_whose_packets_are_dropped_keeps_its_share() {
    for seed in [1, 2] {
        let result =
            share(50.0, &queue("codel", true), &["{ kind = \"tcp\", variant = \"cubic\" }", STP], 60.0, seed);
        let (sum, again, jain) = outcome(&result, 60.0);
        println!("{sum:.1} Mbit/s, Jain {jain:.3}, at most {:.2} % again", 100.0 * again);
        assert!(jain > 0.9 && sum > 45.0, "{jain} {sum}");
    }
}

/// A queue that does not mark sees no difference: the same packets at the same times.
#[test]
fn without_marks_nothing_changes() {
    for queue in [queue("codel", false), "{ kind = \"drop-tail\", limit = \"375 kB\" }".into()] {
        let counts = [STP, WITHOUT].map(|transport| {
            let result = share(50.0, &queue, &[transport, transport], 20.0, 3);
            let counts =
                |one: &&TransferResult| (one.bytes_delivered, one.segments_sent, one.segments_retransmitted);
            transfers(&result).iter().map(counts).collect::<Vec<_>>()
        });
        assert_eq!(counts[0], counts[1]);
    }
}
