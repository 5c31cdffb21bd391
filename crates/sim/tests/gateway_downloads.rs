//! A user's download through a hub and a terminal, alone and beside connections that are kept open without use.
//!
//! Follows docs/gateway.md: 64 MB at each gateway, STP between them. The times of a path without gateways are worked out by hand.
//! Leaves out losses, and rivals on the satellite link.

use crate::common::{between_gateways, lan, run};
use skyhop_results::FlowKind;

/// A download of these bytes from 20 s on, over 10 Mbit/s and 580 ms. `stp` has further keys of the gateways' transport.
fn download(size: &str, stp: &str) -> String {
    let gateway = |name: &str| {
        format!(
            "[splices.{name}]\nat = \"{name}\"\nassociation = \"sky\"\n\
             transport = {{ kind = \"stp\", over = \"sealed-udp\", silence = \"60 s\"{stp} }}\n"
        )
    };
    let flow = format!(
        "[[flows]]\nname = \"download\"\nfrom = \"user\"\nto = \"server\"\nstart = \"20 s\"\n\
         traffic = {{ kind = \"request-response\", reply = {{ kind = \"fixed\", value = \"{size}\" }}, count = 1 }}\n"
    );
    [between_gateways(80, "", "", ""), gateway("hub"), gateway("terminal"), lan("user"), flow].concat()
}

/// Connections of a user's that each fetch 100 kB in the first seconds, and stay open.
fn kept_open(count: usize, user: &str) -> String {
    let one = |n: usize| {
        format!(
            "[[flows]]\nname = \"kept{n}\"\nfrom = \"{user}\"\nto = \"server\"\nstart = \"{} ms\"\n\
             traffic = {{ kind = \"request-response\", reply = {{ kind = \"fixed\", value = \"100 kB\" }}, \
             think = {{ kind = \"fixed\", value = \"100 s\" }}, count = 2, persistent = true }}\n",
            200 * n
        )
    };
    (0..count).map(one).collect()
}

/// Time of the download, seconds.
fn took_s(text: &str) -> f64 {
    let result = run(text, 7);
    let flow = result.flows.iter().find(|flow| flow.name == "download").unwrap();
    let FlowKind::Completions(completions) = &flow.kind else { panic!("{:?}", flow.kind) };
    completions.completion_max_s.unwrap_or(f64::INFINITY)
}

#[test]
fn connections_without_use_take_no_memory_from_a_download() {
    // 250 Mbit/s: 19 MB in a round trip.
    let fast = |text: String| text.replace("10 Mbit/s", "250 Mbit/s").replace("100 Mbit/s", "1 Gbit/s");
    let alone = took_s(&fast(download("40 MB", "")));
    for (count, user) in [(5, "user"), (30, "user"), (30, "other")] {
        let kept = kept_open(count, user);
        let others = if user == "other" { lan("other") } else { String::new() };
        let beside = took_s(&fast([download("40 MB", ""), others, kept].concat()));
        println!("{beside:.2} s beside {count} of {user}, {alone:.2} s alone");
        // The rate is known from the others.
        assert!((2.4..alone + 0.6).contains(&beside), "{beside} s beside {count} of {user}, {alone} s alone");
    }
}

#[test]
fn a_download_at_a_promised_rate_takes_the_paths_time() {
    // 5 MB in packets of 1396 of 1472 bytes at 9.9 Mbit/s take 4.26 s; the request, and the round trip of the first window, 1.2 s.
    let promised = took_s(&download("5 MB", ", congestion = \"rate\", max_rate = \"9.9 Mbit/s\""));
    println!("{promised:.2} s at a promised rate");
    assert!((5.2..5.7).contains(&promised), "{promised} s");
}

#[test]
fn a_highest_rate_does_not_delay_the_start() {
    let free = took_s(&download("5 MB", ""));
    for mbps in [10, 20, 40] {
        let bounded = took_s(&download("5 MB", &format!(", max_rate = \"{mbps} Mbit/s\"")));
        println!("{bounded:.2} s with {mbps} Mbit/s at most, {free:.2} s without a limit");
        assert!((0.9 * free..free + 0.6).contains(&bounded), "{mbps} Mbit/s: {bounded} and {free} s");
    }
}
