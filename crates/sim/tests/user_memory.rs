//! Memory of a gateway with an association, divided among users.
//!
//! Follows docs/gateway.md, "Memory", whose daemon has the same rule (`stp::Trunk::assign`).
//! Differs from the daemon's tests: users read slowly, behind a slow link, and not never.
//! At the hub, too, memory is that of the users behind the terminal.
//! Leaves out new connections that wait for memory, which are not simulated.

use crate::common::{between_gateways, lan, run};
use skyhop_results::RunResult;

const BULK: &str = "traffic = { kind = \"bulk\" }";

/// 10 Mbit/s over 580 ms. Behind the terminal `ann` has 200 kbit/s and this number of downloads; 60 s later `bob` has one at 100 Mbit/s.
fn path(memory: &str, downloads: usize) -> String {
    let gateway = |name: &str| {
        format!(
            "[splices.{name}]\nat = \"{name}\"\nassociation = \"sky\"\nbuffer = \"{memory}\"\n\
             transport = {{ kind = \"stp\", over = \"sealed-udp\", silence = \"60 s\" }}\n"
        )
    };
    let record = "record = { sample_interval = \"1 s\" }";
    let slow = lan("ann").replace("100 Mbit/s", "200 kbit/s");
    let flow = |name: &str, user: &str, start: u32| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"{user}\"\nstart = \"{start} s\"\n{BULK}\n"
        )
    };
    let mut text = [between_gateways(120, record, "", ""), gateway("hub"), gateway("terminal")].concat();
    text += &(slow + &lan("bob") + &flow("other", "bob", 60));
    text.extend((0..downloads).map(|n| flow(&format!("slow{n}"), "ann", 0)));
    text
}

/// As [`path`], with 10 Mbit/s in both directions and uploads: `ann`'s to as many servers behind 50 kbit/s each, and `bob`'s to a fast one.
fn upward(memory: &str, servers: usize) -> String {
    let mut text = path(memory, 0).split("[[flows]]").next().unwrap().replace("1 Mbit/s", "10 Mbit/s");
    // More servers than users, so that the scenario says which gateway is the terminal.
    text = text
        .replace("at = \"terminal\"", "at = \"terminal\"\nudp = \"pass\"")
        .replace("200 kbit/s", "100 Mbit/s");
    let flow = |name: &str, user: &str, server: &str, start: u32| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"{user}\"\nto = \"{server}\"\nstart = \"{start} s\"\n{BULK}\n"
        )
    };
    for n in 0..servers {
        text += &format!(
            "[links.slow{n}]\nbetween = [\"hub\", \"server{n}\"]\nrate = \"50 kbit/s\"\ndelay = \"10 ms\"\n"
        );
        text += &flow(&format!("slow{n}"), "ann", &format!("server{n}"), 0);
    }
    text + &flow("other", "bob", "server", 60)
}

#[test]
fn a_users_uploads_to_many_slow_servers_are_one_users_at_the_hub() {
    let result = run(&upward("4 MB", 12), 7);
    let (other, slow) =
        (mbps(&result, "other"), (0..12).map(|n| mbps(&result, &format!("slow{n}"))).sum::<f64>());
    println!("{slow:.3} Mbit/s of 0.6 to slow servers, and {other:.2} of another user");
    assert!((6.0..9.5).contains(&other), "{other} Mbit/s");
    assert!((0.4..0.6).contains(&slow), "{slow} Mbit/s");
}

/// Rate of a flow between 70 and 120 s, Mbit/s.
fn mbps(result: &RunResult, flow: &str) -> f64 {
    let entity = format!("flow/{flow}");
    let series =
        result.series.iter().find(|series| series.entity == entity && series.metric == "bytes_delivered");
    let samples = &series.unwrap().samples;
    let at = |s: f64| samples.iter().rev().find(|(time, _)| time.as_secs_f64() <= s).unwrap().1;
    (at(119.5) - at(70.5)) * 8.0 / 49.0 / 1e6
}

#[test]
fn a_user_behind_a_slow_link_leaves_memory_to_another() {
    for (memory, downloads, least, most) in
        [("4 MB", 1, 7.0, 9.5), ("4 MB", 20, 4.5, 7.5), ("64 MB", 20, 8.5, 9.5)]
    {
        let result = run(&path(memory, downloads), 7);
        let other = mbps(&result, "other");
        let slow: f64 = (0..downloads).map(|n| mbps(&result, &format!("slow{n}"))).sum();
        println!(
            "{memory}, {downloads} slow downloads: {slow:.3} Mbit/s of 0.2, and {other:.2} of another user"
        );
        assert!((least..most).contains(&other), "{memory}, {downloads}: {other} Mbit/s");
        assert!((0.15..0.2).contains(&slow), "{memory}, {downloads}: {slow} Mbit/s");
    }
}
