//! Associations of STP that start together: each takes its share at once, so that few packets are lost.
//!
//! Follows docs/stp.md §8.3 rule 5; the example `stp_tails` has more numbers of associations, and starts that are spread.
//! Differs: bounds on both sides, so that a crowd that is too careful fails as well.
//! Leaves out the streams of one association (`association`).

use skyhop_results::FlowKind;
use skyhop_sim::Simulation;

/// Seconds until 100 MB in equal parts have arrived over 250/3 Mbit/s with 600 ms, and the part of packets that was sent again.
fn crowd(count: u32, seed: u64) -> (f64, f64) {
    let text = format!(
        "duration = \"60 s\"\n[links.bottleneck]\nrate = \"250 Mbit/s\"\ndelay = \"300 ms\"\n\
         queue = {{ kind = \"drop-tail\", limit = \"18750 kB\" }}\nreverse = {{ rate = \"3 Mbit/s\" }}\n\
         [[flows]]\nname = \"a\"\npath = [\"server\", \"bottleneck\", \"user\"]\ntransport = {{ kind = \"stp\" }}\n\
         traffic = {{ kind = \"bulk\", size = \"100 MB\", connections = {count} }}\n"
    );
    let loaded = skyhop_scenario::parse(text.as_bytes(), "crowd.toml", &[])
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
    simulation.without_series();
    while !simulation.finished() && simulation.now() < simulation.end() && simulation.step() {}
    let result = simulation.finish();
    let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("not a transfer") };
    let again = transfer.segments_retransmitted as f64 / transfer.segments_sent as f64;
    (transfer.completed_s.unwrap_or(f64::INFINITY), again)
}

/// docs/stp.md §8.3: up to a hundred associations that start together need at most 1.3 times one's time, and send at most 3 % again;
/// nor are they faster than the link, which needs 3.3 s.
#[test]
fn a_crowd_shares_the_link_from_the_start() {
    let alone = crowd(1, 1).0;
    assert!((4.5..5.5).contains(&alone), "{alone}");
    for count in [2, 5, 10, 20, 50, 100] {
        let (seconds, again) = crowd(count, 1);
        println!("{count}: {seconds:.2} s, {:.2} % again", 100.0 * again);
        assert!((4.2..1.3 * alone).contains(&seconds), "{count}: {seconds} s, alone {alone} s");
        assert!(again <= 0.03, "{count}: {again}");
    }
}
