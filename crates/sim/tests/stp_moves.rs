//! A satellite that moves: the path becomes a little shorter and longer, both ways, while the channel loses packets.
//!
//! Follows docs/stp.md §8.3 rules 1 and 2; bounds on both sides, as nothing is faster than the path.
//! Leaves out steps that are looked at (`stp_bad_seeds`) and paths that lose nothing (`stp_alone`).

use crate::common::run;
use skyhop_results::FlowKind;

/// Seconds of ten seconds' worth of data, mean of seeds 1 to 5, while the way there and the way back are 12 % and 5 % shorter, and 2 %
/// longer.
fn took(mbps: f64, rtt_ms: f64, lost: f64) -> f64 {
    let one_way = rtt_ms / 2.0;
    let queue = (0.1 * mbps * 1e3 / 8.0 * rtt_ms).max(15_000.0) as u64;
    let moves: Vec<String> = [(1, 2, 0.88), (2, 6, 0.95), (6, 300, 1.02)]
        .map(|(from, to, part)| {
            format!("{{ from = \"{from} s\", to = \"{to} s\", delay = \"{} ms\" }}", part * one_way)
        })
        .to_vec();
    let text = format!(
        "duration = \"200 s\"\n[links.a]\nrate = \"{mbps} Mbit/s\"\ndelay = \"{one_way} ms\"\n\
         queue = {{ kind = \"drop-tail\", limit = \"{queue} B\" }}\n\
         loss = {{ kind = \"packets\", probability = {lost} }}\nschedule = [{}]\n\
         reverse = {{ rate = \"{} Mbit/s\" }}\n\
         [[flows]]\nname = \"a\"\npath = [\"server\", \"a\", \"user\"]\n\
         transport = {{ kind = \"stp\" }}\ntraffic = {{ kind = \"bulk\", size = \"{} B\" }}\n",
        moves.join(", "),
        mbps / 5.0,
        (mbps * 1e6 / 8.0 * 10.0) as u64,
    );
    let times = (1..=5).map(|seed| {
        let result = run(&text, seed);
        let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("a transfer") };
        transfer.completed_s.expect("it completes")
    });
    times.sum::<f64>() / 5.0
}

/// A flow that had never met a shorter queue took each loss for that of a queue, so that a longer path was never found, and one that was
/// found lacked what the way back had become longer by: 22 and 32 s where 5 % are lost.
#[test]
fn a_path_that_moves_and_loses_is_filled() {
    for (mbps, rtt_ms) in [(8.0, 100.0), (20.0, 60.0)] {
        for lost in [0.01, 0.05] {
            let seconds = took(mbps, rtt_ms, lost);
            assert!((10.2..14.0).contains(&seconds), "{mbps} Mbit/s, {rtt_ms} ms, {lost}: {seconds:.1} s");
        }
    }
}
