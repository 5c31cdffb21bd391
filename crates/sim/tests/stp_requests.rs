//! Requests and replies over STP, on connections that last and on new ones: what few data take, and what losses and outages add.
//!
//! Follows docs/stp.md §5, §6.3 and §8.3. Differs from `applications`, which counts round trips without losses.
//! Leaves out bulk data (`stp_alone`, `stp_bad_seeds`) and requests beside it (`stp_crowd`).

use crate::common::run;
use skyhop_results::{CompletionsResult, FlowKind};

/// Requests of 100 B, and their path without a queue in front of it.
struct ReplyCase {
    mbps: f64,
    rtt_ms: f64,
    reply: u64,
    /// True if one connection serves all.
    persistent: bool,
    /// Longest pause before the next request, seconds, and keys of the link.
    think_s: f64,
    link: &'static str,
    count: u64,
}

impl ReplyCase {
    fn run(&self, seed: u64) -> CompletionsResult {
        let Self { mbps, rtt_ms, reply, persistent, think_s, link, count } = self;
        let text = format!(
            "duration = \"20000 s\"\n[links.a]\nrate = \"{mbps} Mbit/s\"\ndelay = \"{} ms\"\n{link}\n\
             [[flows]]\nname = \"a\"\npath = [\"user\", \"a\", \"server\"]\ntransport = {{ kind = \"stp\" }}\n\
             traffic = {{ kind = \"request-response\", reply = {{ kind = \"fixed\", value = \"{reply} B\" }}, \
             think = {{ kind = \"uniform\", least = \"0 s\", most = \"{think_s} s\" }}, persistent = {persistent}, count = {count} }}\n",
            rtt_ms / 2.0,
        );
        let result = run(&text, seed);
        let FlowKind::Completions(all) = &result.flows[0].kind else { panic!("requests") };
        assert_eq!((all.completed, all.failed), (*count, 0));
        all.clone()
    }
}

const LOSES: &str = "loss = { kind = \"packets\", probability = 0.01 }";

fn mean(all: &CompletionsResult) -> f64 {
    all.completion_mean_s.expect("some were completed")
}

fn longest(all: &CompletionsResult) -> f64 {
    all.completion_max_s.expect("some were completed")
}

/// docs/stp.md §8.3 rule 5: replies of fewer packets than the first window's leave together, also after a silence, which had closed the
/// window for ever. They were spread over up to an eighth of a round trip: 0.68 s.
#[test]
fn a_small_reply_leaves_at_once() {
    for (reply, link) in [(2000, ""), (8000, ""), (12_000, ""), (2000, LOSES)] {
        let requests =
            ReplyCase { mbps: 250.0, rtt_ms: 600.0, reply, persistent: true, think_s: 4.0, link, count: 200 };
        let all = requests.run(1);
        let median = all.completion_median_s.expect("some were completed");
        assert!((0.6..0.605).contains(&median), "{reply} B: {median:.3} s");
        assert!(!link.is_empty() || longest(&all) < 0.605, "{reply} B: {:.3} s", longest(&all));
    }
}

/// Number of seeds of eight on which one of 200 exchanges takes longer than `most_s`, as a packet and its repeat were lost. With 1 % lost
/// that is one in 25, and on all seeds something is lost.
fn seeds_beyond(reply: u64, persistent: bool, most_s: f64) -> usize {
    let beyond = |seed: &u64| {
        let (mbps, rtt_ms, think_s, link, count) = (250.0, 600.0, 4.0, LOSES, 200);
        let all = ReplyCase { mbps, rtt_ms, reply, persistent, think_s, link, count }.run(*seed);
        assert!(longest(&all) > 1.1 && (0.6..0.75).contains(&mean(&all)), "{reply} B: {:.3} s", mean(&all));
        longest(&all) > most_s
    };
    (1..=8).filter(beyond).count()
}

/// docs/stp.md §6.3: a copy of the last packet goes before the POLL after a timeout of 0.8 s, so that the repair does not wait for the
/// answer to it: 2.0 s. TCP takes 1.4 to 2.0 s.
#[test]
fn a_lost_request_or_reply_costs_a_timeout() {
    for reply in [1000, 2000, 8000] {
        let beyond = seeds_beyond(reply, true, 1.6);
        assert!(beyond <= 2, "{reply} B: {beyond} seeds");
    }
}

/// docs/stp.md §5: what opens a connection is repeated with the data (2.2 s without), and one lost answer drops no reply of many packets
/// (3.5 s).
#[test]
fn a_lost_opening_costs_a_timeout() {
    for reply in [1000, 2000, 12_000] {
        let beyond = seeds_beyond(reply, false, 1.9);
        assert!(beyond <= 2, "{reply} B: {beyond} seeds");
    }
}

/// docs/stp.md §8.3 rules 1 and 6: neither losses of a few packets nor trials that lacked data lower the rate little by little. On one seed
/// in four replies of 20 kB came to take twice the time (1.0 s for 0.5), for ever.
#[test]
fn replies_that_lose_packets_keep_their_rate() {
    for (rtt_ms, link, mean_s) in [
        (300.0, "loss = { kind = \"packets\", probability = 0.05 }", 0.62),
        (600.0, "loss = { kind = \"packets\", probability = 0.1 }", 1.40),
    ] {
        for seed in 1..=8 {
            let requests = ReplyCase {
                mbps: 10.0,
                rtt_ms,
                reply: 20_000,
                persistent: true,
                think_s: 4.0,
                link,
                count: 400,
            };
            let all = requests.run(seed);
            let (mean, least) = (mean(&all), rtt_ms / 1e3);
            assert!((least..mean_s).contains(&mean), "{rtt_ms} ms, seed {seed}: {mean:.2} s");
        }
    }
}

/// docs/stp.md §8.3 rule 9: each silence took a half of a rate that replies had never filled, and what had waited for the end of an outage
/// was a queue: 1.2, 1.5 and 1.6 s.
#[test]
fn outages_take_no_rate_from_replies() {
    let lost = "schedule = [{ from = \"14.5 s\", to = \"15.5 s\", outage = \"lose\" }]\nrepeat = \"15.5 s\"";
    let waiting =
        "schedule = [{ from = \"14.5 s\", to = \"15.5 s\", outage = \"wait\" }]\nrepeat = \"15.5 s\"";
    for (mbps, reply, link, mean_s) in
        [(50.0, 30_000, waiting, 0.70), (50.0, 600_000, waiting, 0.90), (2.0, 30_000, lost, 0.90)]
    {
        for seed in 1..=4 {
            let requests =
                ReplyCase { mbps, rtt_ms: 600.0, reply, persistent: true, think_s: 0.1, link, count: 200 };
            let mean = mean(&requests.run(seed));
            assert!((0.6..mean_s).contains(&mean), "{mbps} Mbit/s, {reply} B, seed {seed}: {mean:.2} s");
        }
    }
}
