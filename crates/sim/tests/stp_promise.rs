//! STP with a promised rate: a wrong promise is given up, a right one is kept whatever the path does.
//!
//! Follows docs/stp.md §8.2. The example `stp_tails` has all rows; these take seconds.
//! Differs: bounds on both sides, so that a sender that is too careful fails as well.
//! Leaves out several associations of one promise, which `live` bounds.

use skyhop_results::{FlowKind, TransferResult};
use skyhop_sim::Simulation;

/// A bulk flow of STP over one bottleneck with a queue of `products` bandwidth-delay products.
struct Promise {
    mbps: f64,
    rtt_ms: f64,
    products: f64,
    promised_mbps: f64,
    extra: String,
    reverse: &'static str,
}

impl Promise {
    fn new(mbps: f64, rtt_ms: f64, factor: f64) -> Self {
        let (products, promised_mbps) = (1.0, factor * mbps);
        Self { mbps, rtt_ms, products, promised_mbps, extra: String::new(), reverse: "" }
    }

    fn run(&self, seconds: f64, size: Option<u64>, seed: u64) -> TransferResult {
        let product = self.mbps * 1e3 / 8.0 * self.rtt_ms;
        // A link that is open for a tenth of the time sends at ten times the rate.
        let rate = if self.reverse.is_empty() { self.mbps } else { 10.0 * self.mbps };
        let size = size.map_or(String::new(), |size| format!(", size = \"{size} B\""));
        let text = format!(
            "duration = \"{seconds} s\"\n[links.bottleneck]\nrate = \"{rate} Mbit/s\"\ndelay = \"{} ms\"\n\
             queue = {{ kind = \"drop-tail\", limit = \"{} B\" }}\n{}\nreverse = {{ rate = \"{} Mbit/s\"{} }}\n\
             [[flows]]\nname = \"a\"\npath = [\"server\", \"bottleneck\", \"user\"]\n\
             transport = {{ kind = \"stp\", congestion = \"rate\", max_rate = \"{} Mbit/s\", initial_credit = 60000, \
             window = \"512 MB\" }}\ntraffic = {{ kind = \"bulk\"{size} }}\n",
            self.rtt_ms / 2.0,
            (self.products * product).max(15_000.0) as u64,
            self.extra,
            self.mbps,
            self.reverse,
            self.promised_mbps,
        );
        let loaded = skyhop_scenario::parse(text.as_bytes(), "promise.toml", &[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
        simulation.without_series();
        while !simulation.finished() && simulation.now() < simulation.end() && simulation.step() {}
        let result = simulation.finish();
        let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("not a transfer") };
        transfer.clone()
    }

    /// The part of packets that is sent again after three round trips, and the part of the smaller rate that arrives from then on.
    fn after_three(&self, seed: u64) -> (f64, f64) {
        let three = 3.0 * self.rtt_ms / 1e3;
        let whole = f64::max(40.0 * self.rtt_ms / 1e3, 10.0);
        let (early, all) = (self.run(three, None, seed), self.run(whole, None, seed));
        let sent = (all.segments_sent - early.segments_sent) as f64;
        let bytes = (all.bytes_delivered - early.bytes_delivered) as f64;
        let most = self.mbps.min(self.promised_mbps) * 1e6 / 8.0 * 1428.0 / 1468.0;
        (
            (all.segments_retransmitted - early.segments_retransmitted) as f64 / sent,
            bytes / (whole - three) / most,
        )
    }
}

/// docs/stp.md §8.2: at most 2 % beyond the channel's losses are sent again after three round trips, and 0.9 of the smaller rate
/// arrives. A promise that is never given up sends half of its packets again where it is twice the rate.
#[test]
fn a_wrong_promise_is_given_up() {
    for (factor, rows) in [(2.0, 0..12), (0.5, 0..4)] {
        for row in rows {
            let (mbps, rtt_ms) = [(10.0, 40.0), (10.0, 600.0), (100.0, 40.0), (100.0, 300.0)][row % 4];
            let (products, loss) = [(1.0, 0.0), (4.0, 0.0), (1.0, 0.01)][row / 4];
            let mut promise = Promise::new(mbps, rtt_ms, factor);
            promise.products = products;
            if loss > 0.0 {
                promise.extra = format!("loss = {{ kind = \"packets\", probability = {loss} }}");
            }
            let (again, arrives) = promise.after_three(9001);
            println!(
                "{mbps} Mbit/s, {rtt_ms} ms, {products} products, loss {loss}, {factor} times: {again:.4} {arrives:.3}"
            );
            assert!((0.9 * loss..=0.02 + 1.1 * loss).contains(&again), "{again:.4} sent again");
            assert!((0.9..=1.06).contains(&arrives), "{arrives:.3} of the smaller rate");
        }
    }
}

/// docs/stp.md §8.2: neither losses of the channel, jitter, frames nor a short outage make a right promise doubtful. The durations are
/// those of a sender that never doubts, and 4 % more is allowed for what a needless doubt costs.
#[test]
fn a_right_promise_is_kept_on_bad_days() {
    let uniform = |ms: f64, passes: bool| {
        format!("jitter = {{ kind = \"uniform\", most = \"{ms} ms\", reorders = {passes} }}")
    };
    let losses = |part: f64| format!("loss = {{ kind = \"packets\", probability = {part} }}");
    let frames = |ms: f64| {
        let shut = format!("schedule = [{{ from = \"0 s\", to = \"{} ms\", outage = \"wait\" }}]", 0.9 * ms);
        format!("{shut}\nrepeat = \"{ms} ms\"")
    };
    let outage =
        |s: f64| format!("schedule = [{{ from = \"2 s\", to = \"{} s\", outage = \"lose\" }}]", 2.0 + s);
    // Each day with the durations at 10 and 100 Mbit/s over 40 ms, and at 100 Mbit/s over 600 ms.
    let days = [
        (String::new(), false, [4.153, 4.152, 4.712]),
        (losses(0.01), false, [4.197, 4.232, 5.345]),
        (losses(0.1), false, [4.639, 4.651, 5.704]),
        (uniform(0.05, false), false, [4.153, 4.152, 4.712]),
        (uniform(5.0, false), false, [4.158, 4.158, 4.717]),
        (uniform(20.0, false), false, [4.184, 4.18, 4.73]),
        (uniform(20.0, true), false, [4.183, 4.2, 4.748]),
        (uniform(20.0, false) + "\n" + &losses(0.1), false, [4.668, 4.696, 5.795]),
        (frames(1.0), true, [4.154, 4.153, 4.713]),
        (frames(30.0), true, [4.177, 4.177, 4.737]),
        (outage(0.3), false, [4.455, 4.452, 5.012]),
        (outage(1.0), false, [5.155, 5.152, 5.712]),
    ];
    for (path, (mbps, rtt_ms)) in [(10.0, 40.0), (100.0, 40.0), (100.0, 600.0)].into_iter().enumerate() {
        for (day, (extra, framed, never)) in days.iter().enumerate() {
            let mut promise = Promise::new(mbps, rtt_ms, 1.0);
            promise.extra = extra.clone();
            promise.reverse = if *framed { ", schedule = []" } else { "" };
            let took = promise.run(60.0, Some((mbps * 1e6 / 8.0 * 4.0) as u64), 9001);
            let (took, never) = (took.completed_s.unwrap_or(f64::INFINITY), never[path]);
            println!("{mbps} Mbit/s, {rtt_ms} ms, day {day}: {took:.3} s, {never} s without doubts");
            assert!((0.97 * never..=1.04 * never).contains(&took), "day {day}: {took:.3} s, not {never}");
        }
    }
}
