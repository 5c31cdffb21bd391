//! STP without knowledge of the path: seeds of losses that once caused long transfers.
//!
//! Follows docs/stp.md §8.3; the seeds are the worst of sweeps, 9021 among them, for which an earlier rate law needed up to 183 s.
//! Differs from `stp_tails`, the example: a bound for each seed, and few of them.
//! Leaves out outages and other flows.

use skyhop_results::FlowKind;
use skyhop_sim::Simulation;

/// Mbit/s, round trip in ms, loss in both directions, seed, largest number of seconds.
const SEEDS: [(f64, f64, f64, u64, f64); 28] = [
    (100.0, 600.0, 0.01, 9021, 8.5),
    (250.0, 600.0, 0.01, 9021, 8.7),
    (100.0, 600.0, 0.02, 9021, 8.6),
    (100.0, 600.0, 0.05, 9021, 9.2),
    (10.0, 600.0, 0.01, 9021, 8.6),
    (100.0, 300.0, 0.01, 9021, 7.0),
    (100.0, 600.0, 0.05, 9006, 9.2),
    (100.0, 600.0, 0.1, 9006, 10.1),
    (100.0, 600.0, 0.1, 9002, 9.7),
    (100.0, 300.0, 0.1, 9004, 10.6),
    (100.0, 300.0, 0.1, 9003, 8.0),
    (100.0, 40.0, 0.1, 9001, 6.7),
    (10.0, 600.0, 0.1, 9004, 15.0),
    (10.0, 600.0, 0.05, 9006, 10.6),
    (10.0, 40.0, 0.05, 9003, 6.1),
    (250.0, 600.0, 0.05, 9006, 9.9),
    (250.0, 600.0, 0.1, 9004, 12.2),
    (250.0, 300.0, 0.1, 9005, 7.9),
    (250.0, 600.0, 0.02, 9003, 9.5),
    (250.0, 40.0, 0.05, 9006, 6.2),
    (10.0, 40.0, 0.1, 9081, 6.4),
    (100.0, 300.0, 0.1, 9437, 8.9),
    (100.0, 600.0, 0.1, 9588, 10.8),
    (100.0, 600.0, 0.1, 9367, 11.5),
    (100.0, 600.0, 0.1, 9383, 9.5),
    (100.0, 600.0, 0.1, 9156, 13.5),
    (100.0, 600.0, 0.1, 9735, 9.8),
    // Two answers to the opening are lost; the first data are asked for as soon as one has come, and not after a timeout.
    (100.0, 40.0, 0.1, 9322, 8.5),
];

/// Seconds that a transfer of `worth_s` seconds' worth of data takes, and the part of the packets that were sent again.
fn transfer(mbps: f64, rtt_ms: f64, worth_s: f64, extra: &str, seed: u64) -> (f64, f64) {
    transfer_through((mbps * 1e3 / 8.0 * rtt_ms) as u64, mbps, rtt_ms, worth_s, extra, seed)
}

/// The same through a queue of so many bytes.
fn transfer_through(queue: u64, mbps: f64, rtt_ms: f64, worth_s: f64, extra: &str, seed: u64) -> (f64, f64) {
    let size = (mbps * 1e6 / 8.0 * worth_s) as u64;
    let text = format!(
        "duration = \"300 s\"\n[links.bottleneck]\nrate = \"{mbps} Mbit/s\"\ndelay = \"{} ms\"\n\
         queue = {{ kind = \"drop-tail\", limit = \"{queue} B\" }}\n\
         {extra}\n\
         [[flows]]\nname = \"a\"\npath = [\"server\", \"bottleneck\", \"user\"]\n\
         transport = {{ kind = \"stp\" }}\ntraffic = {{ kind = \"bulk\", size = \"{size} B\" }}\n",
        rtt_ms / 2.0,
    );
    let loaded = skyhop_scenario::parse(text.as_bytes(), "bad_seeds.toml", &[]).unwrap();
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
    simulation.without_series();
    while !simulation.finished() && simulation.now() < simulation.end() && simulation.step() {}
    let result = simulation.finish();
    let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("not a transfer") };
    let again = transfer.segments_retransmitted as f64 / transfer.segments_sent as f64;
    (transfer.completed_s.unwrap_or(f64::INFINITY), again)
}

/// Mean and largest number of seconds for ten seconds' worth of data, of so many seeds.
fn mean_and_worst(mbps: f64, rtt_ms: f64, extra: &str, seeds: u64) -> (f64, f64) {
    let took: Vec<f64> = (1..=seeds).map(|seed| transfer(mbps, rtt_ms, 10.0, extra, seed).0).collect();
    let (mean, worst) = (took.iter().sum::<f64>() / seeds as f64, took.iter().copied().fold(0.0, f64::max));
    println!("{mbps} Mbit/s, {rtt_ms} ms, {extra}: mean {mean:.2} s, worst {worst:.2} s");
    (mean, worst)
}

/// Four seconds' worth of data: the bounds are 1.3 times the durations when they were written down.
#[test]
fn named_seeds_are_no_worse_than_others() {
    for (mbps, rtt_ms, loss, seed, most) in SEEDS {
        let extra = format!("loss = {{ kind = \"packets\", probability = {loss} }}");
        let (took, _) = transfer(mbps, rtt_ms, 4.0, &extra, seed);
        println!("({mbps:?}, {rtt_ms:?}, {loss:?}, {seed}, {most:?}), // {took:.2}");
        assert!(took <= most, "{mbps} Mbit/s, {rtt_ms} ms, loss {loss}, seed {seed}: {took} s");
    }
}

/// Mbit/s, round trip and jitter in ms, loss, largest number of seconds, and of packets sent again as a part of all.
const PASSING: [(f64, f64, f64, f64, f64, f64); 7] = [
    (100.0, 600.0, 5.0, 0.0, 9.5, 0.01),
    (250.0, 600.0, 5.0, 0.0, 10.4, 0.01),
    (100.0, 600.0, 20.0, 0.0, 10.9, 0.12),
    (250.0, 600.0, 20.0, 0.01, 15.0, 0.1),
    (250.0, 300.0, 20.0, 0.0, 8.5, 0.1),
    (100.0, 40.0, 5.0, 0.01, 5.2, 0.05),
    (100.0, 40.0, 20.0, 0.0, 6.4, 0.08),
];

/// docs/stp.md §6.2: packets that jitter lets pass each other are neither losses nor sent again.
#[test]
fn packets_that_pass_each_other_are_not_losses() {
    for (mbps, rtt_ms, jitter_ms, loss, most, most_again) in PASSING {
        let extra = format!(
            "jitter = {{ kind = \"uniform\", most = \"{jitter_ms} ms\", reorders = true }}\n\
             loss = {{ kind = \"packets\", probability = {loss} }}"
        );
        let mut sum = 0.0;
        for seed in 9001..9011 {
            let (took, again) = transfer(mbps, rtt_ms, 4.0, &extra, seed);
            println!(
                "{mbps} Mbit/s, {rtt_ms} ms, jitter {jitter_ms} ms, loss {loss}, {seed}: {took:.2} s, {again:.3} again"
            );
            assert!(took <= most, "{mbps} Mbit/s, {rtt_ms} ms, jitter {jitter_ms} ms, seed {seed}: {took} s");
            assert!(
                again <= most_again,
                "{mbps} Mbit/s, {rtt_ms} ms, jitter {jitter_ms} ms, seed {seed}: {again}"
            );
            sum += again;
        }
        // One climb that overshoots loses up to a queue; in the mean little more is sent again than the channel loses.
        let mean = sum / 10.0;
        assert!(
            (0.9 * loss..0.025).contains(&mean),
            "{mbps} Mbit/s, {rtt_ms} ms, jitter {jitter_ms} ms: {mean} in the mean"
        );
    }
}

/// Mbit/s, round trip and jitter in ms, loss, largest mean and largest number of seconds for ten seconds' worth of data.
const ORDERED: [(f64, f64, f64, f64, f64, f64); 6] = [
    (100.0, 40.0, 5.0, 0.01, 12.5, 20.0),
    (250.0, 40.0, 20.0, 0.01, 17.0, 36.0),
    (100.0, 300.0, 20.0, 0.0, 15.5, 27.0),
    (250.0, 300.0, 20.0, 0.01, 18.0, 40.0),
    (250.0, 600.0, 20.0, 0.0, 17.0, 21.0),
    (2.0, 40.0, 5.0, 0.0, 11.3, 11.8),
];

/// docs/stp.md §8.3, *J*: jitter that keeps the order is not a queue, nor is what the channel loses beside it due to one. Before they took
/// 39, 537, 26, 141 and 39 s; the last row never was slow.
#[test]
fn jitter_that_keeps_the_order_is_no_queue() {
    for (mbps, rtt_ms, jitter_ms, loss, mean_most, most) in ORDERED {
        let extra = format!(
            "jitter = {{ kind = \"uniform\", most = \"{jitter_ms} ms\", reorders = false }}\n\
             loss = {{ kind = \"packets\", probability = {loss} }}"
        );
        let (mean, worst) = mean_and_worst(mbps, rtt_ms, &extra, 8);
        assert!(mean <= mean_most && worst <= most, "{mbps} Mbit/s, {rtt_ms} ms, jitter {jitter_ms} ms");
    }
}

/// Mbit/s, round trip in ms, mean good and bad time in ms, largest mean and largest number of seconds for ten seconds' worth of data.
const BURSTS: [(f64, f64, f64, f64, f64, f64); 4] = [
    (100.0, 40.0, 1000.0, 10.0, 11.3, 13.5),
    (100.0, 40.0, 5000.0, 50.0, 11.2, 13.5),
    (250.0, 40.0, 5000.0, 500.0, 15.0, 20.0),
    (100.0, 600.0, 5000.0, 500.0, 17.5, 25.0),
];

/// docs/stp.md §8.3, rule 8, and §6.3: the bursts that a channel loses (Gilbert and Elliott) are not other flows, and silences end soon.
#[test]
fn bursts_of_losses_are_not_other_flows() {
    for (mbps, rtt_ms, good_ms, bad_ms, mean_most, most) in BURSTS {
        let extra = format!(
            "loss = {{ kind = \"gilbert-elliott\", good = \"{good_ms} ms\", bad = \"{bad_ms} ms\" }}"
        );
        let (mean, worst) = mean_and_worst(mbps, rtt_ms, &extra, 20);
        assert!(mean <= mean_most && worst <= most, "{mbps} Mbit/s, {rtt_ms} ms, {good_ms} ms, {bad_ms} ms");
    }
}

/// Mbit/s, round trip in ms, products in the queue, loss, largest mean and number of seconds for twenty seconds' worth of data.
const SLOW: [(f64, f64, f64, f64, f64, f64); 4] = [
    (1.0, 600.0, 1.0, 0.2, 36.0, 60.0),
    (0.5, 600.0, 1.0, 0.15, 33.0, 60.0),
    (0.5, 600.0, 1.0, 0.2, 40.0, 120.0),
    (0.5, 900.0, 0.3, 0.2, 42.0, 90.0),
];

/// docs/stp.md §8.3, rules 6 and 9: where few packets are in a round trip, the losses of eight ended each climb, and lost POLLs seemed
/// silences, after each of which the rate was on trial anew: means were 48.1, 40.0, 68.8 and 91.7 s, the worst 404, 196, 268 and 381.
#[test]
fn a_slow_path_that_loses_much_is_not_left_at_a_low_rate() {
    for (mbps, rtt_ms, products, loss, mean_most, most) in SLOW {
        let extra = format!("loss = {{ kind = \"packets\", probability = {loss} }}");
        let queue = (products * mbps * 1e3 / 8.0 * rtt_ms) as u64;
        let took: Vec<f64> =
            (9001..=9040).map(|seed| transfer_through(queue, mbps, rtt_ms, 20.0, &extra, seed).0).collect();
        let (mean, worst) = (took.iter().sum::<f64>() / 40.0, took.iter().copied().fold(0.0, f64::max));
        println!("{mbps} Mbit/s, {rtt_ms} ms, {loss}: mean {mean:.1} s, worst {worst:.1} s");
        assert!((20.0 / (1.0 - loss)..mean_most).contains(&mean) && worst <= most, "{mbps} Mbit/s, {loss}");
    }
}

/// Mbit/s, round trip in ms, largest number of seconds, and of packets sent again as a part of all.
const LOST_STARTS: [(f64, f64, f64, f64); 6] = [
    (0.88, 160.0, 5.3, 0.7),
    (2.0, 160.0, 5.3, 0.5),
    (10.0, 160.0, 5.7, 0.3),
    (0.88, 600.0, 8.0, 0.65),
    (2.0, 600.0, 8.2, 0.5),
    (10.0, 600.0, 10.2, 0.3),
];

/// docs/stp.md §8.3, rule 5: of trains that a path lost whole, through a queue of ten packets, nothing is known but that it carries less.
/// An outage of a second loses the first packets of 2.5 seconds' worth of data. Before, they were sent again at the trains' pace: 19
/// of 20 packets were sent again, and the rows of 2 Mbit/s took 10.8 and 30.6 s.
#[test]
fn a_lost_start_does_not_fill_a_narrow_path() {
    for (mbps, rtt_ms, most, most_again) in LOST_STARTS {
        let extra = format!(
            "schedule = [{{ from = \"0 s\", to = \"1 s\", outage = \"lose\" }}]\n\
             reverse = {{ rate = \"{mbps} Mbit/s\", schedule = [] }}"
        );
        let (took, again) = transfer_through(15_000, mbps, rtt_ms, 2.5, &extra, 1);
        println!("{mbps} Mbit/s, {rtt_ms} ms: {took:.2} s, {again:.2} again");
        assert!(
            (3.5..=most).contains(&took) && again <= most_again,
            "{mbps} Mbit/s, {rtt_ms} ms: {took} s, {again}"
        );
    }
}

/// Mbit/s, round trip and mean of the jitter in ms, bytes of the queue, most seconds (mean), most sent again (worst).
const EXPONENTIAL: [(f64, f64, f64, u64, f64, f64); 4] = [
    (20.0, 30.0, 2.0, 150_000, 11.0, 0.04),
    (20.0, 30.0, 4.0, 150_000, 11.6, 0.04),
    (20.0, 20.0, 8.0, 100_000, 13.5, 0.04),
    (50.0, 60.0, 8.0, 750_000, 15.5, 0.07),
];

/// docs/stp.md §8.3, rule 1: packets that wait for one that jitter has delayed come together, within a few µs. Their rate was taken for the
/// flow's share of a queue, up to 400 Gbit/s: of 40 seeds of the second row, 24 s worth of data, 16 sent all packets again at least once,
/// and one a hundred times.
#[test]
fn packets_that_wait_for_each_other_make_no_flood() {
    for (mbps, rtt_ms, jitter_ms, queue, most, most_again) in EXPONENTIAL {
        let extra = format!("jitter = {{ kind = \"exponential\", mean = \"{jitter_ms} ms\" }}");
        let runs: Vec<_> =
            (1..=20).map(|seed| transfer_through(queue, mbps, rtt_ms, 10.0, &extra, seed)).collect();
        let mean = runs.iter().map(|(took, _)| took).sum::<f64>() / 20.0;
        let again = runs.iter().map(|(_, again)| *again).fold(0.0, f64::max);
        println!("{mbps} Mbit/s, {rtt_ms} ms, {jitter_ms} ms: mean {mean:.2} s, at most {again:.3} again");
        assert!((10.2..most).contains(&mean) && again <= most_again, "{mbps} Mbit/s, {jitter_ms} ms");
    }
}

/// docs/stp.md §6.3: what waits for the end of an outage takes as long as it, which is no round trip. While it was a sample, POLLs were as
/// far apart, and the rate was a window for each: the first row took 16 s beyond outage and clean time, and others up to 197.
#[test]
fn packets_that_wait_out_an_outage_do_not_slow_the_rest() {
    for (mbps, rtt_ms, outage_s) in
        [(50.0, 10.0, 30.0), (3.0, 600.0, 45.0), (60.0, 600.0, 110.0), (100.0, 40.0, 110.0)]
    {
        let transfer = |extra: &str| transfer(mbps, rtt_ms, 5.0, extra, 1).0;
        let clean = transfer("");
        let worst = (0..8)
            .map(|phase| {
                let at = clean * (f64::from(phase) + 0.3) / 8.0;
                let until = at + outage_s;
                let waits =
                    format!("schedule = [{{ from = \"{at} s\", to = \"{until} s\", outage = \"wait\" }}]");
                transfer(&waits) - outage_s - clean
            })
            .fold(f64::NEG_INFINITY, f64::max);
        println!(
            "{mbps} Mbit/s, {rtt_ms} ms, {outage_s} s: {worst:.2} s more than {clean:.2} and the outage"
        );
        assert!((0.0..7.0).contains(&worst), "{mbps} Mbit/s, {rtt_ms} ms, {outage_s} s: {worst}");
    }
}
