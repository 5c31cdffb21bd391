//! One flow of STP, alone on a path that loses nothing: whatever the rate, the round trip and the queue, it is to fill the path.
//!
//! Follows docs/stp.md §8.3 rules 5 and 6; bounds on both sides, as nothing is faster than the path.
//! Leaves out losses and jitter (`stp_bad_seeds`) and others (`stp_beside`).

use crate::common::run;
use skyhop_results::FlowKind;

/// Round trips that a transfer of `seconds` of the path's rate takes beyond that time. The queue is CoDel's, or holds `products` of
/// bandwidth and delay.
fn beyond(mbps: f64, rtt_ms: f64, products: Option<f64>, seconds: f64) -> f64 {
    let product = mbps * 1e3 / 8.0 * rtt_ms;
    let queue =
        products.map_or(String::from("{ kind = \"codel\", limit = \"10000 packets\" }"), |products| {
            format!("{{ kind = \"drop-tail\", limit = \"{} B\" }}", (products * product).max(15_000.0) as u64)
        });
    let text = format!(
        "duration = \"{} s\"\n[links.a]\nrate = \"{mbps} Mbit/s\"\ndelay = \"{} ms\"\nqueue = {queue}\n[[flows]]\nname = \"a\"\n\
         path = [\"server\", \"a\", \"user\"]\ntransport = {{ kind = \"stp\" }}\n\
         traffic = {{ kind = \"bulk\", size = \"{} B\" }}\n",
        10.0 * seconds,
        rtt_ms / 2.0,
        (mbps * 1e6 / 8.0 * seconds) as u64,
    );
    let result = run(&text, 1);
    let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("a transfer") };
    (transfer.completed_s.expect("it completes") - seconds) / (rtt_ms / 1e3)
}

/// A climb whose first step was judged before its queue could be seen went on to the second, overshot the path by half, and began again
/// at a third of it, for ever: 17.3 s for 10 at 40 Mbit/s and 18 ms. One that doubles passes by the rate that was confirmed a moment ago:
/// 17.1 s through CoDel at 8.7 Mbit/s and 16 ms.
#[test]
fn a_flow_alone_fills_any_path() {
    for mbps in [5.0, 8.7, 15.2, 26.4, 40.0, 60.8, 139.9] {
        for rtt_ms in [4.0, 8.0, 16.0, 18.0, 22.0, 40.0] {
            for products in [None, Some(1.0), Some(3.0)] {
                let late_s = beyond(mbps, rtt_ms, products, 10.0) * rtt_ms / 1e3;
                assert!(
                    (0.02..1.5).contains(&late_s),
                    "{mbps} Mbit/s, {rtt_ms} ms, {products:?}: {late_s:.2} s"
                );
            }
        }
    }
}

/// The first packets wait for each other, which is no longer path: where few packets fill it, the rate of the second train was taken away
/// for it, so that up to 16 round trips were lost. TCP's slow start takes 2.4 to 3.4.
#[test]
fn a_short_transfer_over_a_path_of_few_packets_takes_no_longer_than_slow_start() {
    for (mbps, rtt_ms) in
        [(9.31, 10.0), (5.96, 20.0), (4.77, 33.0), (3.05, 50.0), (1.25, 80.0), (1.56, 150.0)]
    {
        let late = beyond(mbps, rtt_ms, Some(2.6), 10.0 * rtt_ms / 1e3);
        assert!((1.5..4.0).contains(&late), "{mbps} Mbit/s, {rtt_ms} ms: {late:.1} round trips");
    }
}
