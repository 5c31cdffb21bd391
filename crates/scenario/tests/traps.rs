//! Warnings of scenarios that answer another question than the one asked, and silence for all others.
//!
//! Follows docs/traps.md. A case is a whole scenario by a newcomer; its neighbour on the right side of the limit must have no warning.
//! Leaves out traps that need satellites, which `crates/cli/tests/traps.rs` tests.

use skyhop_scenario::parse;

/// A download of `traffic` over one link, with more keys of the link, the flow and the scenario.
fn download(link: &str, flow: &str, top: &str) -> String {
    format!(
        "duration = \"120 s\"\n{top}\n[links.satellite]\n{link}\n[[flows]]\nname = \"download\"\n\
         path = [\"server\", \"satellite\", \"user\"]\n{flow}\n"
    )
}

fn warnings(text: &str) -> Vec<String> {
    let loaded = parse(text.as_bytes(), "new.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    loaded.warnings.iter().map(ToString::to_string).collect()
}

const GEO: &str = "rate = \"50 Mbit/s\"\ndelay = \"280 ms\"";
const BULK: &str = "traffic = { kind = \"bulk\" }";

/// Asserts one warning at `key` that contains all of `words`.
fn one(text: &str, key: &str, words: &[&str]) {
    let found = warnings(text);
    assert_eq!(found.len(), 1, "{found:#?}\n{text}");
    assert!(found[0].contains(&format!(": {key}: ")), "{}", found[0]);
    for word in words {
        assert!(found[0].contains(word), "{word:?} is not in {}", found[0]);
    }
}

fn silent(text: &str) {
    assert_eq!(warnings(text), Vec::<String>::new(), "{text}");
}

#[test]
fn headers_of_ipv6_that_a_link_does_not_compress_are_told() {
    let compressing = "rate = \"64 kbit/s\"\ndelay = \"10 ms\"\nqueue = { kind = \"drop-tail\", \
        limit = \"20 packets\" }\nheader_compression = true";
    let slow = |ip: &str, flow: &str| download(compressing, flow, &format!("ip = \"{ip}\""));
    one(&slow("v6", BULK), "links.satellite.header_compression", &["\"download\"", "RFC 1144", "whole"]);
    silent(&slow("v4", BULK));
    silent(&slow("v6", "traffic = { kind = \"ping\" }"));
    silent(&slow("v6", &format!("ip = \"v4\"\n{BULK}")));
}

#[test]
fn a_window_below_rate_times_rtt_is_told_with_what_to_write() {
    let old = download(GEO, BULK, "host = \"1999\"");
    // 256 kB in 560 ms are 3.657 Mbit/s.
    one(&old, "flows.0.transport", &["256 kB", "3.5 MB", "3.657 Mbit/s", "write window = \"5.1 MB\""]);
    silent(&download(
        GEO,
        &format!("transport = {{ kind = \"tcp\", window = \"5.1 MB\" }}\n{BULK}"),
        "host = \"1999\"",
    ));
    // The product is 3.5 MB: a window of just less is told, one of it is not.
    let window = |bytes: u64| {
        download(GEO, &format!("transport = {{ kind = \"tcp\", window = \"{bytes} B\" }}\n{BULK}"), "")
    };
    one(&window(3_499_999), "flows.0.transport", &["write window ="]);
    silent(&window(3_500_000));
}

/// Beside others a flow that its send buffer limits has another share than one that its congestion window limits.
#[test]
fn a_window_that_the_send_buffer_keeps_from_use_is_told() {
    let given = |keys: &str, traffic: &str| {
        download(GEO, &format!("transport = {{ kind = \"tcp\", {keys} }}\n{traffic}"), "")
    };
    // The product is 3.5 MB and the queue 1.56 MB: 4.15 MB cannot fill it.
    let words = ["200 MB", "4.15 MB", "host \"linux\"", "650 kB", "send_buffer_max = \"200 MB\""];
    one(&given("window = \"200 MB\"", BULK), "flows.0.transport", &words);
    one(&given("window_max = \"4151 kB\"", BULK), "flows.0.transport", &["4.151 MB"]);
    silent(&given("window_max = \"4149 kB\"", BULK));
    silent(&given("window = \"200 MB\", send_buffer_max = \"200 MB\"", BULK));
    silent(&given("window = \"200 MB\", send_buffer = \"4 MB\"", BULK));
    silent(&given("window = \"200 MB\"", "traffic = { kind = \"bulk\", size = \"4.1 MB\" }"));
    // Below the product, one warning is enough.
    let fast = "rate = \"250 Mbit/s\"\ndelay = \"300 ms\"";
    let wide = format!("transport = {{ kind = \"tcp\", window = \"200 MB\" }}\n{BULK}");
    one(
        &download(fast, &wide, ""),
        "flows.0.transport",
        &["may have 4.15 MB", "send_buffer_max = \"27 MB\""],
    );
    let short = format!("{GEO}\nqueue = {{ kind = \"drop-tail\", limit = \"600 kB\" }}");
    silent(&download(&short, &wide, ""));
}

#[test]
fn the_send_buffer_of_a_host_as_shipped_is_told_where_it_is_too_small() {
    let fast = "rate = \"250 Mbit/s\"\ndelay = \"300 ms\"";
    one(
        &download(fast, BULK, ""),
        "flows.0.transport",
        &["4.15 MB", "18.75 MB", "send_buffer_max = \"27 MB\""],
    );
    let cured = "transport = { kind = \"tcp\", window_max = \"27 MB\", send_buffer_max = \"27 MB\" }\n";
    silent(&download(fast, &format!("{cured}{BULK}"), ""));
}

#[test]
fn a_sender_that_losses_do_not_slow_down_needs_two_products() {
    let lossy = format!("{GEO}\nloss = {{ kind = \"packets\", probability = 0.001 }}");
    let variant = |name: &str| format!("transport = {{ kind = \"tcp\", variant = \"{name}\" }}\n{BULK}");
    // 4.15 MB are more than the product of 3.5 MB and less than twice as much.
    one(
        &download(&lossy, &variant("bbr"), ""),
        "flows.0.transport",
        &["29.643 Mbit/s", "send_buffer_max = \"8.6 MB\""],
    );
    silent(&download(&lossy, &variant("cubic"), ""));
    silent(&download(GEO, &variant("bbr"), ""));
}

#[test]
fn many_flows_fill_a_link_together_and_a_short_one_never_does() {
    let flow = |name: &str| {
        format!("[[flows]]\nname = \"{name}\"\npath = [\"server\", \"satellite\", \"user\"]\n{BULK}\n")
    };
    let text = |n: usize| {
        let flows: String = (0..n).map(|i| flow(&format!("f{i}"))).collect();
        format!("host = \"1999\"\nduration = \"60 s\"\n[links.satellite]\n{GEO}\n{flows}")
    };
    // 14 times 256 kB are 3.584 MB, more than 3.5 MB; 13 are not.
    silent(&text(14));
    assert_eq!(warnings(&text(13)).len(), 13);
    // Connections side by side count as well.
    silent(&download(GEO, "traffic = { kind = \"bulk\", connections = 14 }", "host = \"1999\""));
    silent(&download(GEO, "traffic = { kind = \"bulk\", size = \"256 kB\" }", "host = \"1999\""));
    assert_eq!(
        warnings(&download(GEO, "traffic = { kind = \"bulk\", size = \"300 kB\" }", "host = \"1999\"")).len(),
        1
    );
}

#[test]
fn a_queue_of_a_few_per_cent_of_the_product_is_told() {
    let queue = |limit: &str| format!("{GEO}\nqueue = {{ kind = \"drop-tail\", limit = \"{limit}\" }}");
    // 100 packets of 1500 B are 4.3 % of 3.5 MB.
    one(
        &download(&queue("100 packets"), BULK, ""),
        "links.satellite.queue.limit",
        &["4.3 %", "limit = \"3.5 MB\""],
    );
    silent(&download(&queue("150 packets"), BULK, ""));
    silent(&download(
        &queue("10 ms"),
        "transport = { kind = \"tcp\", variant = \"bbr\" }\ntraffic = { kind = \"bulk\" }",
        "",
    ));
    silent(&download(GEO, BULK, ""));
}

#[test]
fn an_interval_of_half_the_rtt_is_told() {
    let fq = |interval: &str| format!("{GEO}\nqueue = {{ kind = \"fq-codel\", interval = \"{interval}\" }}");
    one(
        &download(&fq("100 ms"), BULK, ""),
        "links.satellite.queue.interval",
        &["560 ms", "target = \"28 ms\""],
    );
    silent(&download(&fq("280 ms"), BULK, ""));
    one(&download(&fq("279 ms"), BULK, ""), "links.satellite.queue.interval", &["279 ms"]);
}

#[test]
fn a_return_too_thin_for_acknowledgments_is_told() {
    let thin = |rate: &str| format!("{GEO}\nreverse = {{ rate = \"{rate}\" }}");
    // 50 Mbit/s are 4,167 packets of 1500 B a second, and half as many acknowledgments of 52 B: 867 kbit/s.
    one(
        &download(&thin("600 kbit/s"), BULK, ""),
        "flows.0.transport",
        &["867 kbit/s", "600 kbit/s", "ack_every = 3"],
    );
    silent(&download(&thin("800 kbit/s"), BULK, ""));
}

#[test]
fn a_variant_that_names_a_recovery_is_told_where_the_host_has_its_own() {
    let variant = |name: &str, more: &str| {
        download(GEO, &format!("transport = {{ kind = \"tcp\", variant = \"{name}\"{more} }}\n{BULK}"), "")
    };
    for name in ["newreno", "newreno-slow-but-steady", "sack-reno", "sack-newreno", "sack", "sack1", "fack"] {
        one(&variant(name, ""), "flows.0.transport.variant", &[name, "host = \"1999\""]);
    }
    for name in ["reno", "cubic", "hybla", "bbr", "bbr1", "linux-bbr", "vegas", "tahoe"] {
        silent(&variant(name, ""));
    }
    silent(&variant("sack", ", recovery = \"rfc6675\""));
    let sweep = "[sweep.grid]\n\"flows.download.transport.variant\" = [\"reno\", \"sack\"]\n";
    let swept = format!("{}{sweep}", download(GEO, BULK, ""));
    one(&swept, "sweep.grid.\"flows.download.transport.variant\"", &["\"sack\""]);
    let old = "traffic = { kind = \"bulk\", connections = 20 }";
    silent(&format!("{}{sweep}", download(GEO, old, "host = \"1999\"")));
}

#[test]
fn a_transfer_that_cannot_complete_is_told() {
    // 50 Mbit/s for 120 s are 750 MB.
    let size = |size: &str| download(GEO, &format!("traffic = {{ kind = \"bulk\", size = \"{size}\" }}"), "");
    one(&size("751 MB"), "flows.0.traffic.size", &["120.2 s", "120.0 s"]);
    silent(&size("749 MB"));
}

#[test]
fn a_timeout_below_the_rtt_is_told() {
    let two_hops = |ms: u32| download(&format!("rate = \"2 Mbit/s\"\ndelay = \"{ms} ms\""), BULK, "");
    one(&two_hops(550), "flows.0.transport", &["1.1 s", "rto_initial"]);
    silent(&two_hops(500));
}

#[test]
fn a_splice_that_holds_less_than_the_product_is_told() {
    let text = |buffer: &str| {
        format!(
            "duration = \"60 s\"\n[links.terrestrial]\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nbetween = [\"server\", \"gateway\"]\n\
             [links.satellite]\nbetween = [\"gateway\", \"user\"]\n{GEO}\n[splices.gateway]\nat = \"gateway\"\nbuffer = \"{buffer}\"\n\
             [[flows]]\nname = \"download\"\nfrom = \"server\"\nto = \"user\"\n{BULK}\n"
        )
    };
    // The satellite's 50 Mbit/s are all that comes: 3.5 MB of a round trip of 560 ms, and 125 kB of one of 20 ms.
    one(
        &text("1 MB"),
        "flows.0.transport",
        &["on links.satellite", "3.5 MB", "buffer = \"5.1 MB\" in the splice"],
    );
    one(&text("3.4 MB"), "flows.0.transport", &["on links.satellite"]);
    silent(&text("3.5 MB"));
    assert_eq!(warnings(&text("100 kB")).len(), 2);
}

#[test]
fn a_promised_rate_that_the_link_does_not_have_is_told() {
    let promised = |rate: &str| {
        let stp = format!("transport = {{ kind = \"stp\", congestion = \"rate\", max_rate = \"{rate}\" }}");
        download(GEO, &format!("{stp}\n{BULK}"), "")
    };
    one(
        &promised("100 Mbit/s"),
        "flows.0.transport.max_rate",
        &["is above the rate of links.satellite, 50 Mbit/s"],
    );
    silent(&promised("50 Mbit/s"));
}

#[test]
fn a_rate_by_delay_over_slots_by_rate_is_told() {
    let text = |uplink: &str, transport: &str| {
        format!(
            "duration = \"60 s\"\nuplinks.shared = {{ rate = \"2.048 Mbit/s\" }}\n[links.up]\nbetween = [\"terminal\", \"gateway\"]\n\
             rate = \"2.048 Mbit/s\"\ndelay = \"250 ms\"\nuplink = {{ name = \"shared\"{uplink} }}\n\
             [[flows]]\nname = \"upload\"\nfrom = \"terminal\"\nto = \"gateway\"\n{BULK}\ntransport = {{ kind = \"stp\"{transport} }}\n"
        )
    };
    let both = ", constant = \"128 kbit/s\", rate_based = \"1 Mbit/s\"";
    one(&text(both, ""), "flows.0.transport", &["slots", "of at most 1.128 Mbit/s"]);
    // Without any category a terminal has both.
    one(&text("", ""), "flows.0.transport", &["slots", "of at most 1.124 Mbit/s"]);
    silent(&text(both, ", congestion = \"rate\", max_rate = \"1 Mbit/s\""));
    silent(&text(", constant = \"1 Mbit/s\"", ""));
    silent(&text(", rate_based = \"1 Mbit/s\"", ""));
    // The way down has no slots.
    silent(
        &text(both, "")
            .replace("from = \"terminal\"\nto = \"gateway\"", "from = \"gateway\"\nto = \"terminal\""),
    );
}

#[test]
fn twenty_sensible_scenarios_are_silent() {
    let mut cases = Vec::new();
    for (rate, delay) in [
        ("1.5 Mbit/s", "300 ms"),
        ("20 Mbit/s", "20 ms"),
        ("50 Mbit/s", "280 ms"),
        ("10 Mbit/s", "270 ms"),
        ("100 Mbit/s", "60 ms"),
    ] {
        for variant in ["cubic", "reno", "bbr", "hybla"] {
            let link = format!("rate = \"{rate}\"\ndelay = \"{delay}\"");
            let flow = format!(
                "transport = {{ kind = \"tcp\", variant = \"{variant}\" }}\ntraffic = {{ kind = \"bulk\", size = \"10 MB\" }}"
            );
            cases.push(download(&link, &flow, ""));
        }
    }
    let geo = "rate = \"20 Mbit/s\"\ndelay = \"280 ms\"\nreverse = { rate = \"2 Mbit/s\" }";
    cases.push(download(
        geo,
        "traffic = { kind = \"request-response\", reply = { kind = \"fixed\", value = \"50 kB\" } }",
        "",
    ));
    cases.push(download(
        geo,
        "transport = { kind = \"stp\" }\ntraffic = { kind = \"bulk\", size = \"100 MB\" }",
        "",
    ));
    cases.push(download(geo, "traffic = { kind = \"ping\" }", ""));
    cases.push(download(geo, "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }", ""));
    assert!(cases.len() > 20);
    cases.iter().for_each(|text| silent(text));
}

/// Two terminals in Peru with these keys, a distant gateway, and cbr from each to it.
fn neighbours(shared: &str, lima: &str, flow: &str) -> String {
    let flow = |from: &str| format!("[[flows]]\nfrom = \"{from}\"\nto = \"gate\"\n{flow}\n");
    format!(
        "duration = \"60 s\"\n[constellation]\npreset = \"iridium\"\ngsl = {{ rate = \"20 Mbit/s\", shared = {{ \
            {shared} }} }}\n[terminals]\n\
         lima = {{ lat = \"-12.05 deg\", lon = \"-77.04 deg\" {lima} }}\ncallao = {{ lat = \"-12.06 deg\", lon = \"-77.15 deg\" }}\n\
         gate = {{ lat = \"40 deg\", lon = \"-74 deg\", gateway = true }}\n{}{}",
        flow("lima"),
        flow("callao")
    )
}

#[test]
fn constant_rates_of_neighbours_above_what_their_satellite_has_are_told() {
    // 5 Mbit/s in datagrams of 1000 bytes are 5.14 with headers.
    let cbr = "traffic = { kind = \"cbr\", rate = \"5 Mbit/s\" }";
    let key = "constellation.gsl.shared.up";
    let words = ["2 neighbouring terminals, such as \"callao\"", "10.3 Mbit/s", "10.27 Mbit/s for all"];
    one(&neighbours("up = \"10.27 Mbit/s\"", "", cbr), key, &words);
    silent(&neighbours("up = \"10.29 Mbit/s\"", "", cbr));
    // The other direction is shared, and nothing is sent in it.
    silent(&neighbours("down = \"1 Mbit/s\"", "", cbr));
    // No more than a terminal's own rate goes up.
    let slow = ", gsl = { rate = \"1 Mbit/s\" }";
    silent(&neighbours("up = \"6.2 Mbit/s\"", slow, cbr));
    one(&neighbours("up = \"6.1 Mbit/s\"", slow, cbr), key, &["6.1 Mbit/s at once"]);
    // A beam of its own, a place far away, a time of its own, traffic that yields.
    silent(&neighbours("up = \"9 Mbit/s\"", ", beam = \"coast\"", cbr));
    silent(&neighbours("up = \"9 Mbit/s\"", "", cbr).replace("-77.15", "77.15"));
    let apart = neighbours("up = \"9 Mbit/s\"", "", &format!("start = \"30 s\"\n{cbr}"));
    one(&apart, key, &["10.3 Mbit/s"]);
    silent(&apart.replacen("start = \"30 s\"", "stop = \"30 s\"", 1));
    silent(&neighbours("up = \"1 Mbit/s\"", "", BULK));
    // Hosts behind terminals offer what these send.
    let behind =
        neighbours("up = \"9 Mbit/s\"", "", cbr).replace("from = \"lima\"", "from = \"home\"").replace(
            "[terminals]",
            "[links.lan]\nbetween = [\"home\", \"lima\"]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[terminals]",
        );
    one(&behind, key, &["10.3 Mbit/s"]);
}
