//! Uplinks on demand in whole networks: access delays against arithmetic, capacity, a geostationary transfer, handovers.
//!
//! Follows KG 3: terminals of 16 to 2,048 kbit/s, a control station behind a satellite, switches on satellites.
//! Differs from the `link` crate's tests, which drive the machines alone.
//! Leaves out other random access: requests find room of their own.

use skyhop_results::{FlowKind, RunResult, UplinkResult};
use skyhop_sim::Simulation;

fn run(text: &str, seed: u64) -> RunResult {
    let loaded = skyhop_scenario::parse(text.as_bytes(), "t.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation =
        Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap_or_else(|e| panic!("{e}"));
    let mut steps = 0;
    while simulation.step() {
        steps += 1;
        if steps % 16 == 0 {
            simulation.check_conservation().unwrap();
        }
    }
    simulation.finish()
}

fn uplink(result: &RunResult) -> &UplinkResult {
    &result.uplinks[0]
}

/// A terminal that pings a gateway behind a bent pipe at intervals that no frame divides.
fn light(uplink: &str, part: &str, delay_ms: u32) -> RunResult {
    let text = format!(
        r#"
        duration = "40000 s"
        [uplinks.return]
        rate = "2048 kbit/s"
        {uplink}
        [links.up]
        between = ["terminal", "gateway"]
        rate = "2048 kbit/s"
        delay = "{delay_ms} ms"
        framing = "aal5"
        uplink = {{ name = "return", {part} }}
        [[flows]]
        from = "terminal"
        to = "gateway"
        start = "1 s"
        traffic = {{ kind = "ping", interval = "7.118377901 s", size = "100 B" }}
        "#
    );
    run(&text, 1)
}

#[test]
fn the_mean_access_delay_of_a_light_load_is_that_of_arithmetic() {
    // Ping of 100 B: 128 B with headers, 3 cells.
    let cells = 3.0;
    // frame ms, settings, the period in frames, and the terminal's part
    for (frame_ms, settings, every, part, delay_ms) in [
        (26.5, "", 38.0, r#"volume_based = "384 kB""#, 250),
        (26.5, r#"request_period = "265 ms""#, 10.0, r#"volume_based = "10 kB""#, 125),
        (100.0, r#"like = "sns3""#, 1.0, r#"volume_based = "384 kB""#, 250),
        (40.0, r#"frame = "40 ms", request_period = "40 ms""#, 1.0, r#"volume_based = "1 kB""#, 20),
        // On the way to a controller behind the gateway there are 30 ms more.
        (
            26.5,
            r#"request_period = "53 ms", controller_delay = "30 ms""#,
            2.0,
            r#"volume_based = "384 kB""#,
            250,
        ),
        // A rate that empties the queue in the time to an answer, given in the first frame that heeds it.
        (100.0, r#"like = "sns3""#, 1.0, r#"rate_based = "2048 kbit/s""#, 250),
        (26.5, r#"request_period = "26.5 ms", like = "sns3""#, 1.0, r#"rate_based = "1024 kbit/s""#, 250),
    ] {
        let settings = settings.replace(", ", "\n");
        let result = light(
            &format!(
                "{settings}{}",
                if frame_ms == 26.5 && settings.contains("sns3") { "\nframe = \"26.5 ms\"" } else { "" }
            ),
            part,
            delay_ms,
        );
        let controller_ms = if settings.contains("controller") { 30.0 } else { 0.0 };
        let way = ((f64::from(delay_ms) + controller_ms) / frame_ms).ceil();
        let slots = (2.048e6 * frame_ms / 1e3 / 424.0).floor();
        let analytic = (every * frame_ms / 2.0 + 2.0 * way * frame_ms + cells * frame_ms / slots) / 1e3;
        let found = uplink(&result);
        let ours = found.access_delay_mean_s.unwrap();
        let off = ours / analytic - 1.0;
        println!(
            "frame {frame_ms} ms, {settings:?}, {part}, {delay_ms} ms: {ours:.5} s, analytic {analytic:.5} s, {off:+.4}"
        );
        assert!(off.abs() < 0.03, "{off}");
        // The pings' own delay is that and the link's.
        let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
        let one_way = ping.delay_mean_s.unwrap() - f64::from(delay_ms) / 1e3;
        assert!((one_way / analytic - 1.0).abs() < 0.03, "{one_way}");
        assert!(ping.sent >= 5619 && ping.received + 1 >= ping.sent, "{} of {}", ping.received, ping.sent);
    }
}

#[test]
fn the_mean_access_delay_under_constant_assignment_is_that_of_arithmetic() {
    for (kbps, slots) in [(144.0, 9.0), (512.0, 32.0), (2048.0, 128.0)] {
        let result = light("", &format!(r#"constant = "{kbps} kbit/s""#), 250);
        let (frame, slot) = (26.5e-3, 26.5e-3 / 128.0);
        // Three cells in a row from the next slot on. Of n slots at the beginning of a frame, who comes before the last two has three
        // left; the others wait for the next frame's, with one or two cells sent before.
        let wait = |from: f64, to: f64, ends: f64| ((to - from) / frame) * (ends - (from + to) / 2.0);
        let mut analytic = 0.0;
        for n in 0..slots as u32 {
            // Comes in the slot's time before slot n begins; the last of its three cells ends at:
            let n = f64::from(n);
            let from = if n == 0.0 { slots * slot - slot - frame } else { (n - 1.0) * slot };
            let last = n + 2.0;
            let ends = if last < slots { (last + 1.0) * slot } else { frame + (last - slots + 1.0) * slot };
            analytic += wait(from, n * slot, ends);
        }
        let ours = uplink(&result).access_delay_mean_s.unwrap();
        let off = ours / analytic - 1.0;
        println!("{kbps} kbit/s: {ours:.6} s, analytic {analytic:.6} s, {off:+.4}");
        assert!(off.abs() < 0.03, "{off}");
        assert!((uplink(&result).constant_share - slots / 128.0).abs() < 1e-3);
    }
}

/// Terminals of `kbps`, one each, that send datagrams at a share of the capacity of four carriers.
fn crowd(part: &str, settings: &str, load: f64, seed: u64) -> (RunResult, f64) {
    let mut text = format!(
        r#"
        duration = "200 s"
        [uplinks.return]
        rate = "8192 kbit/s"
        carriers = 4
        {settings}
        [links.ground]
        between = ["satellite", "server"]
        rate = "100 Mbit/s"
        delay = "125 ms"
        "#
    );
    let rates = [16, 144, 384, 2048, 2048, 2048, 2048, 2048];
    let all: u32 = rates.iter().sum();
    let mut offered = 0.0;
    for (i, kbps) in rates.into_iter().enumerate() {
        // 512 B with headers are 11 cells.
        let share = load * 8192.0 / f64::from(all) * f64::from(kbps);
        let share = share.min(0.95 * f64::from(kbps));
        offered += share;
        let part = part
            .replace("RATE", &format!("{kbps} kbit/s"))
            .replace("SHARE", &format!("{:.0} bit/s", (1e3 * share / 0.95).floor()));
        let wire = share * 512.0 / (11.0 * 53.0);
        text += &format!(
            r#"
            [links.up-{i}]
            between = ["terminal-{i}", "satellite"]
            rate = "{kbps} kbit/s"
            delay = "125 ms"
            framing = "aal5"
            queue = {{ kind = "drop-tail", limit = "2000 packets" }}
            uplink = {{ name = "return", {part} }}
            [[flows]]
            from = "terminal-{i}"
            to = "server"
            traffic = {{ kind = "cbr", rate = "{wire:.0} bit/s", size = "484 B" }}
            "#,
            wire = 1e3 * wire * 484.0 / 512.0
        );
    }
    (run(&text, seed), offered * 1e3)
}

#[test]
fn a_load_up_to_the_capacity_is_carried() {
    for (part, settings) in [
        (r#"volume_based = "384 kB""#, ""),
        (r#"volume_based = "384 kB""#, r#"like = "sns3""#),
        (r#"rate_based = "RATE""#, r#"like = "sns3""#),
        (r#"rate_based = "RATE""#, r#"request_period = "265 ms""#),
        (r#"constant = "SHARE""#, ""),
    ] {
        for load in [0.3, 0.7, 0.95] {
            let (result, offered_bps) = crowd(part, settings, load, 1);
            let cells: u64 =
                result.links.iter().filter(|l| l.name.starts_with("up")).map(|l| l.forward.bytes).sum();
            let carried = cells as f64 * 8.0 / 200.0 / offered_bps;
            let dropped: u64 = result.links.iter().map(|l| l.forward.packets_dropped).sum();
            let found = uplink(&result);
            println!(
                "{part}, {settings}, load {load}: {carried:.4} of what was offered, {:.4} of the slots used, delay {:.3} s",
                found.used_share,
                found.access_delay_mean_s.unwrap()
            );
            // What came in the last seconds is still to come.
            assert!((0.97..=1.005).contains(&carried), "{carried}");
            assert_eq!(dropped, 0);
        }
    }
}

/// Mean time in which four terminals each send `kb` kB over a carrier of 2,048 kbit/s that they share, to a gateway behind a
/// geostationary satellite, and the rate at which each sent in it, bit/s.
fn transfers(part: &str, settings: &str, kb: u32) -> (f64, f64) {
    let text = format!(
        r#"
        duration = "600 s"
        [uplinks.return]
        rate = "2048 kbit/s"
        {settings}
        [links."up-*"]
        count = 4
        between = ["terminal-*", "gateway"]
        rate = "2048 kbit/s"
        delay = "250 ms"
        framing = "aal5"
        queue = {{ kind = "drop-tail", limit = "200 packets" }}
        uplink = {{ name = "return", {part} }}
        [[flows]]
        from = "terminal-*"
        to = "gateway"
        traffic = {{ kind = "bulk", size = "{kb} kB" }}
        "#
    );
    let result = run(&text, 1);
    let time = |flow: &skyhop_results::FlowResult| match &flow.kind {
        FlowKind::Transfer(transfer) => transfer.completed_s.unwrap(),
        _ => panic!("not a transfer"),
    };
    let mean_s = result.flows.iter().map(time).sum::<f64>() / 4.0;
    let bits: u64 = result.links.iter().map(|link| 8 * link.forward.bytes).sum();
    (mean_s, bits as f64 / 4.0 / mean_s)
}

// By rate each has a quarter of the carrier while all four send, as with a constant assignment of a quarter.
#[test]
fn a_transfer_by_rate_is_slower_than_one_over_a_constant_assignment_of_the_same_mean() {
    let constant = r#"constant = "512 kbit/s""#;
    for (settings, at_least) in [(r#"like = "sns3""#, 1.5), (r#"request_period = "265 ms""#, 1.5), ("", 1.8)]
    {
        let mut before = f64::INFINITY;
        for kb in [100, 1000, 5000] {
            let ((by_rate_s, by_rate_bps), (constant_s, constant_bps)) =
                (transfers(r#"rate_based = "2048 kbit/s""#, settings, kb), transfers(constant, settings, kb));
            let times = by_rate_s / constant_s;
            println!(
                "{settings}, {kb} kB: {by_rate_s:.2} s at {:.0} kbit/s by rate, {constant_s:.2} s at {:.0} constant, {times:.3} times",
                by_rate_bps / 1e3,
                constant_bps / 1e3
            );
            assert!(times > 1.01 && times < before, "{times}");
            assert!(kb > 100 || (at_least..3.0).contains(&times), "{times}");
            // The longer, the more both are at their quarter, and the less the beginning counts.
            assert!(kb < 5000 || (by_rate_bps > 0.94 * 512e3 && constant_bps < 512e3), "{by_rate_bps}");
            before = times;
        }
    }
}

/// Terminals of KG table 1's constellations on an uplink of each satellite, whose switches have a buffer of cells.
fn sky(preset: &str, kbps: u32, extra: &str) -> String {
    format!(
        r#"
        duration = "900 s"
        [uplinks.return]
        rate = "8192 kbit/s"
        carriers = 4
        request_period = "53 ms"
        [constellation]
        preset = "{preset}"
        handover = "highest"
        {extra}
        isl = {{ rate = "100 Mbit/s", queue = {{ kind = "ubr", limit = "20000 cells" }} }}
        [constellation.gsl]
        up = {{ rate = "{kbps} kbit/s" }}
        down = {{ rate = "10 Mbit/s", queue = {{ kind = "ubr", limit = "2000 cells", policy = "selective-drop" }} }}
        uplink = {{ name = "return", volume_based = "384 kB" }}
        [terminals]
        berlin = {{ lat = "52.5 deg", lon = "13.4 deg" }}
        bonn = {{ lat = "50.7 deg", lon = "7.1 deg" }}
        vienna = {{ lat = "48.2 deg", lon = "16.4 deg", gateway = true, gsl = {{ rate = "100 Mbit/s" }} }}
        [[flows]]
        from = "berlin"
        to = "vienna"
        traffic = {{ kind = "bulk", size = "40 kB" }}
        [[flows]]
        from = "bonn"
        to = "vienna"
        traffic = {{ kind = "ping", interval = "1.017 s", size = "8 B" }}
        [[flows]]
        from = "vienna"
        to = "bonn"
        traffic = {{ kind = "bulk", size = "200 kB" }}
        "#
    )
}

#[test]
fn terminals_of_published_constellations_share_the_uplinks_of_their_satellites() {
    for (preset, extra) in [("teledesic-288", ""), ("celestri", ""), ("skybridge", "isls = false")] {
        for kbps in [16, 144, 384, 2048] {
            let result = run(&sky(preset, kbps, extra), 1);
            let handovers: u64 = result.handovers.iter().map(|h| h.handovers).sum();
            let found = uplink(&result);
            let FlowKind::Ping(ping) = &result.flows[1].kind else { panic!("not a ping") };
            let FlowKind::Transfer(bulk) = &result.flows[0].kind else { panic!("not a transfer") };
            println!(
                "{preset}, {kbps} kbit/s: {handovers} handovers, access delay {:.3} s, ping lost {} of {}, 40 kB in {:?} s",
                found.access_delay_mean_s.unwrap(),
                ping.sent - ping.received,
                ping.sent,
                bulk.completed_s
            );
            assert!(handovers >= 2, "{handovers}");
            assert!(bulk.completed_s.is_some_and(|s| s > 40_000.0 * 8.0 / (1e3 * f64::from(kbps))));
            assert!(
                ((ping.sent - ping.received) as f64) < 0.05 * ping.sent as f64,
                "{} of {}",
                ping.sent - ping.received,
                ping.sent
            );
            // A frame each way at least, and of half a period what a packet behind others is spared.
            assert!(found.access_delay_mean_s.unwrap() > 0.053, "{:?}", found.access_delay_mean_s);
        }
    }
}
