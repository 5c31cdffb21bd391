//! BBR over a whole path, compared with draft-ietf-ccwg-bbr-06: STARTUP, DRAIN, the cycle of ProbeBW, ProbeRTT.
//!
//! 100 Mbit/s, RTT 40 ms (333 packets of 1500 bytes), a queue of one bandwidth-delay product, samples each 2 ms. Sections stand at
//! the tests. Differs: the draft has no curve of numbers, so that bounds follow from its gains, waits and rounds.
//! Leaves out other flows; losses and a geostationary path are in `modern.rs`.

use crate::common;
use skyhop_results::{FlowKind, TransferResult};

const RTT_S: f64 = 0.04;
const RATE_BPS: f64 = 100e6;
const BDP: f64 = RATE_BPS * RTT_S / 8.0;

/// Samples every 2 ms, in bytes; the queue in packets.
struct Run {
    t_s: Vec<f64>,
    in_flight: Vec<f64>,
    cwnd: Vec<f64>,
    delivered: Vec<f64>,
    queue: Vec<f64>,
    transfer: TransferResult,
}

fn run(duration_s: u32, more: &str) -> Run {
    let text = format!(
        r#"
        host = "1999"
        duration = "{duration_s} s"
        record = {{ sample_interval = "2 ms" }}
        [links.path]
        rate = "100 Mbit/s"
        delay = "20 ms"
        queue = {{ kind = "drop-tail", limit = "334 packets" }}
        {more}
        reverse = {{ schedule = [] }}
        [[flows]]
        name = "f"
        path = ["s", "path", "k"]
        traffic = {{ kind = "bulk" }}
        transport = {{ kind = "tcp", variant = "bbr", window = "8 MB", initial_window = "10 segments" }}
        "#
    );
    let result = common::run(&text, 1);
    let series = |entity: &str, metric: &str| -> Vec<(f64, f64)> {
        let s = result.series.iter().find(|s| s.entity == entity && s.metric == metric).unwrap();
        s.samples.iter().map(|(at, v)| (at.as_secs_f64(), *v)).collect()
    };
    let values = |all: Vec<(f64, f64)>| all.into_iter().map(|s| s.1).collect::<Vec<_>>();
    let flight = series("flow/f", "in_flight_bytes");
    let FlowKind::Transfer(transfer) = result.flows[0].kind.clone() else { panic!() };
    let n = flight.len();
    let queue = values(series("link/path/forward", "queue_packets"));
    Run {
        t_s: flight.iter().map(|s| s.0).collect(),
        in_flight: values(flight),
        cwnd: values(series("flow/f", "cwnd_bytes")),
        delivered: values(series("flow/f", "bytes_delivered")),
        queue: queue[queue.len() - n..].to_vec(),
        transfer,
    }
}

impl Run {
    /// Intervals after `from_s` in which `holds` is true for the sample's number: first and last time.
    fn stretches(&self, from_s: f64, holds: impl Fn(usize) -> bool) -> Vec<(f64, f64)> {
        let mut all: Vec<(f64, f64)> = Vec::new();
        let mut open = false;
        for i in 0..self.t_s.len() {
            if self.t_s[i] < from_s || !holds(i) {
                open = false;
                continue;
            }
            if !open {
                all.push((self.t_s[i], self.t_s[i]));
            }
            open = true;
            all.last_mut().unwrap().1 = self.t_s[i];
        }
        all
    }

    fn between<'a>(&'a self, values: &'a [f64], from_s: f64, to_s: f64) -> impl Iterator<Item = f64> + 'a {
        self.t_s.iter().zip(values).filter(move |(t, _)| (from_s..=to_s).contains(*t)).map(|(_, v)| *v)
    }

    fn most(&self, values: &[f64], from_s: f64, to_s: f64) -> f64 {
        self.between(values, from_s, to_s).fold(f64::MIN, f64::max)
    }

    fn least(&self, values: &[f64], from_s: f64, to_s: f64) -> f64 {
        self.between(values, from_s, to_s).fold(f64::MAX, f64::min)
    }

    fn mean(&self, values: &[f64], from_s: f64, to_s: f64) -> f64 {
        let (n, sum) = self.between(values, from_s, to_s).fold((0.0, 0.0), |(n, sum), v| (n + 1.0, sum + v));
        sum / n
    }

    /// In-order payload as a share of the link's capacity.
    fn share(&self, from_s: f64, to_s: f64) -> f64 {
        let gone = self.most(&self.delivered, from_s, to_s) - self.least(&self.delivered, from_s, to_s);
        gone * 8.0 / (to_s - from_s) / (RATE_BPS * 1460.0 / 1500.0)
    }
}

const QUEUE: f64 = 333.0;

// §5.3.1: STARTUP doubles the rate each round trip (gain 2.77), with a window of twice the estimated BDP, until three rounds have not
// raised the bandwidth by a quarter. §5.3.2: DRAIN sends at half the rate until no more than the BDP is in flight.
#[test]
fn draft_5_3_1_startup_doubles_and_5_3_2_drain_empties_the_queue() {
    let r = run(3, "");
    // Two doublings in two round trips; delayed acknowledgments cost a little of them.
    let growth = r.mean(&r.in_flight, 0.235, 0.245) / r.mean(&r.in_flight, 0.155, 0.165);
    println!("in flight grows {growth:.2} times in two round trips");
    assert!((3.0..=4.3).contains(&growth), "{growth} times in two round trips");
    let full_s = r.stretches(0.1, |i| r.in_flight[i] >= BDP)[0].0;
    // Ten segments have become 333: five doublings and the handshake.
    assert!((5.0..=9.0).contains(&(full_s / RTT_S)), "a BDP in flight after {full_s} s");
    let cwnd = r.most(&r.cwnd, 0.0, 3.0) / BDP;
    println!("full after {full_s:.3} s, window at most {cwnd:.2} BDP");
    assert!((1.9..=2.05).contains(&cwnd), "{cwnd} BDP");
    // The queue is full a round trip later, and is left to drain after three rounds of then 80 ms.
    let drain_s = r.stretches(full_s, |i| r.queue[i] > 0.98 * QUEUE)[..].last().unwrap().1;
    let rounds = (drain_s - full_s) / (2.0 * RTT_S);
    let empty_s = r.stretches(drain_s, |i| r.queue[i] < 0.02 * QUEUE)[0].0;
    println!("DRAIN from {drain_s:.3} s, {rounds:.1} rounds later, to {empty_s:.3} s");
    assert!((2.0..=4.0).contains(&rounds), "{rounds} rounds with a full pipe");
    // One BDP at half the rate: two round trips; half of that if nothing was sent.
    assert!((1.2..=2.6).contains(&((empty_s - drain_s) / RTT_S)), "DRAIN from {drain_s} to {empty_s} s");
    let after = r.most(&r.in_flight, empty_s + 0.04, 2.0) / BDP;
    assert!((0.9..=1.02).contains(&after), "{after} BDP in flight after it");
}

// §5.3.3: two to three seconds after it began to drain (§5.3.3.6; a BDP of 333 packets has Reno's wait longer than that), or after
// ProbeRTT, the cycle fills the pipe and probes: pacing at 1.25 for the three rounds that show that there is no more, then DOWN
// at 0.9 until the BDP is in flight, then CRUISE. §5.3.4: each five seconds half a BDP for 200 ms and a round.
#[test]
fn draft_5_3_3_the_cycle_of_probe_bw_and_5_3_4_probe_rtt() {
    let r = run(60, "");
    let probes = r.stretches(1.0, |i| r.in_flight[i] > 1.05 * BDP);
    let rests = r.stretches(1.0, |i| r.cwnd[i] < 0.6 * BDP);
    println!("{} probes for bandwidth, {} for the round trip", probes.len(), rests.len());
    let mut cut = 0;
    for &(from_s, to_s) in &probes {
        let most = r.most(&r.in_flight, from_s, to_s) / BDP;
        let up_s = r.stretches(from_s, |i| r.in_flight[i] >= 0.99 * most * BDP)[0].0;
        println!("UP at {from_s:.2} s to {most:.2} BDP at {up_s:.2} s, DOWN until {to_s:.2} s");
        let before = probes.iter().chain(&rests).map(|p| p.1).filter(|t| *t < from_s).fold(0.6, f64::max);
        let waited = from_s - before;
        assert!((1.6..=3.3).contains(&waited), "{waited} s from {before} s");
        if rests.iter().any(|rest| (from_s..to_s + RTT_S).contains(&rest.0)) {
            println!("    which ProbeRTT cuts off");
            cut += 1;
            continue;
        }
        // A quarter of a BDP more each round, for three and a part; never the 2.25 of the window's gain.
        assert!((1.45..=1.85).contains(&most), "{most} BDP at {from_s} s");
        assert!((2.5..=6.0).contains(&((up_s - from_s) / RTT_S)), "{from_s} to {up_s} s");
        // 0.75 BDP at a tenth of the rate is 7.5 round trips, with the pacing margin of 0.01 less.
        assert!((3.5..=8.5).contains(&((to_s - up_s) / RTT_S)), "{up_s} to {to_s} s");
    }
    assert!(cut <= 4, "{cut}");
    assert!((9..=14).contains(&probes.len()), "{} probes in 59 s", probes.len());
    for pair in rests.windows(2) {
        let apart = pair[1].0 - pair[0].1;
        assert!((5.0..=5.1).contains(&apart), "ProbeRTT {apart} s after the last");
    }
    assert_eq!(rests.len(), 11);
    for &(from_s, to_s) in &rests {
        // 200 ms after half a BDP is in flight, which takes half a round trip at once and a whole one by its acknowledgments.
        assert!((0.2..=0.2 + 2.5 * RTT_S).contains(&(to_s - from_s)), "{from_s} to {to_s} s");
        let least = r.least(&r.in_flight, from_s, to_s) / BDP;
        assert!((0.44..=0.5).contains(&least), "{least} BDP");
        assert_eq!(r.most(&r.queue, from_s + RTT_S, to_s), 0.0);
        // And the bandwidth is back a round trip and a half after.
        if to_s + 0.3 < 60.0 {
            let back = r.mean(&r.in_flight, to_s + 1.5 * RTT_S, to_s + 0.3) / BDP;
            assert!((0.92..=1.0).contains(&back), "{back} BDP in flight after ProbeRTT at {from_s} s");
            let share = r.share(to_s + 2.0 * RTT_S, to_s + 1.0);
            assert!((0.95..=1.0).contains(&share), "{share} of the rate after ProbeRTT at {from_s} s");
        }
    }
    // 0.99 by the pacing margin, 0.975 by ProbeRTT (half the rate for 260 ms of 5.25 s).
    let share = r.share(1.0, 60.0);
    let queue = r.mean(&r.queue, 1.0, 60.0) / QUEUE;
    println!(
        "{share:.3} of the rate, {queue:.3} of the queue, {} repeats",
        r.transfer.segments_retransmitted
    );
    assert!((0.93..=0.975).contains(&share), "{share} of the rate");
    assert!((0.01..=0.1).contains(&queue), "{queue} of the queue on average");
    // Packets that STARTUP overflows, of 470,000.
    assert!(r.transfer.segments_retransmitted <= 100, "{} repeats", r.transfer.segments_retransmitted);
    assert_eq!(r.transfer.timeouts, 0);
}

// §5.3.3.2 and §5.5.10: when the link has less, the filter of two cycles forgets what it had; §5.3.3.9: when it has more again, a
// probe finds it within the wait of 2 to 3 s, and grows by more each round.
#[test]
fn draft_5_3_3_the_rate_follows_the_link_down_and_up() {
    let r = run(45, "schedule = [ { from = \"20 s\", to = \"35 s\", rate = \"40 Mbit/s\" } ]");
    let steps = [(15.0, 20.0), (20.5, 32.0), (32.0, 35.0), (35.0, 36.0), (38.5, 40.0), (40.0, 45.0)];
    let shares = steps.map(|(from_s, to_s)| r.share(from_s, to_s));
    let queues = steps.map(|(from_s, to_s)| r.mean(&r.queue, from_s, to_s) / QUEUE);
    println!("{shares:.3?} of the rate, {queues:.3?} of the queue");
    assert!((0.92..=0.98).contains(&shares[0]), "{shares:?}");
    // 0.4 of the rate; while two cycles and the round trip's filter of 10 s pass, with a queue.
    assert!((0.34..=0.4).contains(&shares[1]), "{shares:?}");
    assert!((0.36..=0.4).contains(&shares[2]), "{shares:?}");
    assert!(queues[2] < 0.15, "{queues:?}: a queue of a seventh is 0.36 of the BDP then");
    assert!((0.3..=0.45).contains(&shares[3]), "{shares:?}: what is not probed for is not found");
    assert!((0.93..=0.99).contains(&shares[4]), "{shares:?}");
    assert!((0.92..=0.98).contains(&shares[5]), "{shares:?}");
}
