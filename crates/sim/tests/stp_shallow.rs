//! One flow of STP alone on links that show no queue: with room for a few packets, or so slow that a packet takes longer than a round trip.
//!
//! Follows docs/stp.md §8.3 rules 4 and 5; bounds on both sides, of the time and of what is sent again.
//! Leaves out others on such links (`stp_tails sharing`).

use crate::common::run;
use skyhop_results::FlowKind;

/// Seconds of a transfer, and packets sent for each that is needed.
fn carried(kbps: f64, rtt_ms: f64, packets: u32, loss: f64, kb: f64) -> (f64, f64) {
    let text = format!(
        "duration = \"{} s\"\n[links.a]\nrate = \"{kbps} kbit/s\"\ndelay = \"{} ms\"\n\
         loss = {{ kind = \"packets\", probability = {loss} }}\n\
         queue = {{ kind = \"drop-tail\", limit = \"{packets} packets\" }}\n\
         reverse = {{ queue = {{ kind = \"drop-tail\", limit = \"1000 packets\" }} }}\n\
         [[flows]]\nname = \"a\"\npath = [\"server\", \"a\", \"user\"]\n\
         transport = {{ kind = \"stp\" }}\ntraffic = {{ kind = \"bulk\", size = \"{kb} kB\" }}\n",
        80.0 * kb / kbps + 60.0,
        rtt_ms / 2.0,
    );
    let result = run(&text, 1);
    let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("a transfer") };
    let sent = transfer.segments_sent as f64;
    let took_s = transfer.completed_s.expect("it completes");
    println!("{kbps} kbit/s, {rtt_ms} ms, {packets} packets, {loss} lost: {took_s:.2} s, {sent} sent");
    (took_s, sent / (sent - transfer.segments_retransmitted as f64))
}

/// What a link without a queue lost of more than it carries was taken for the channel's, and the rate stayed there: 1.66 to 1.84 times
/// the packets were sent for 30 s.
#[test]
fn a_rate_whose_losses_are_its_own_falls() {
    for (mbps, rtt_ms, packets) in [(10.0, 20.0, 2), (50.0, 20.0, 2), (50.0, 20.0, 5), (200.0, 20.0, 5)] {
        let (took_s, sent) = carried(1e3 * mbps, rtt_ms, packets, 0.0, 1e6 / 8.0 * mbps * 30.0 / 1e3);
        assert!((30.0..36.0).contains(&took_s), "{mbps} Mbit/s, {packets} packets: {took_s} s");
        assert!((1.0..1.15).contains(&sent), "{mbps} Mbit/s, {packets} packets: {sent} times");
    }
}

/// A channel that loses a tenth goes on losing it at a lower rate.
#[test]
fn a_rate_whose_losses_are_the_channels_stays() {
    for (mbps, rtt_ms, loss) in [(10.0, 20.0, 0.1), (50.0, 100.0, 0.1), (50.0, 20.0, 0.1)] {
        let packets = (mbps * rtt_ms) as u32;
        let (took_s, sent) = carried(1e3 * mbps, rtt_ms, packets, loss, 1e6 / 8.0 * mbps * 30.0 / 1e3);
        let least_s = 30.0 / (1.0 - loss);
        assert!((least_s..1.15 * least_s).contains(&took_s), "{mbps} Mbit/s, {loss} lost: {took_s} s");
        assert!((1.0 / (1.0 - loss) - 0.02..1.03 / (1.0 - loss)).contains(&sent), "{mbps} Mbit/s: {sent}");
    }
}

/// kbit/s, round trip in ms, packets that wait, kB, and the largest number of seconds and of packets sent for each.
const NARROW: [(f64, f64, u32, f64, f64, f64); 6] = [
    (64.0, 10.0, 3, 20.0, 2.9, 2.2),
    (128.0, 10.0, 3, 20.0, 1.5, 2.3),
    (128.0, 300.0, 3, 80.0, 6.8, 1.8),
    (9.6, 150.0, 10, 20.0, 18.5, 1.35),
    (256.0, 10.0, 10, 20.0, 0.8, 1.35),
    (64.0, 10.0, 50, 80.0, 11.5, 1.05),
];

/// POLLs that look for others who begin filled such queues, and what was lost of the first packets was repeated at the pace of a train:
/// 5.1 to 9.5 times the packets were sent.
#[test]
fn a_start_over_a_narrow_link_sends_little_again() {
    for (kbps, rtt_ms, packets, kb, most_s, most_sent) in NARROW {
        let (took_s, sent) = carried(kbps, rtt_ms, packets, 0.0, kb);
        let case = format!("{kbps} kbit/s, {rtt_ms} ms, {packets} packets, {kb} kB");
        assert!((8.0 * kb / kbps..most_s).contains(&took_s), "{case}: {took_s} s");
        assert!((1.0..most_sent).contains(&sent), "{case}: {sent} times");
    }
}
