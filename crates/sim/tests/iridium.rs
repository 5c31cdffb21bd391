//! New York to San Francisco over Iridium, packet by packet, compared with ns-2's satellite module (thesis figure 6.10).
//!
//! A ping a minute for a day, with link rates so high that serialisation does not count. ns-2 sends at 0.01 s past each minute.

use crate::{common, testing};
use skyhop_results::{FlowKind, RunResult};

fn scenario(extra: &str) -> String {
    format!(
        r#"
        duration = "24 h"
        [constellation]
        preset = "iridium"
        {extra}
        isl = {{ rate = "1 Tbit/s" }}
        gsl = {{ rate = "1 Tbit/s" }}
        [terminals]
        new-york = {{ lat = "40.71 deg", lon = "-74.01 deg", antennas = 1 }}
        san-francisco = {{ lat = "37.77 deg", lon = "-122.42 deg", antennas = 1 }}
        [[flows]]
        name = "ping"
        from = "new-york"
        to = "san-francisco"
        start = "10 ms"
        traffic = {{ kind = "ping", interval = "60 s", size = "0 B" }}
        "#
    )
}

fn run(extra: &str) -> RunResult {
    let text = scenario(extra);
    common::run_by_steps(&text, 1)
}

fn delays_ms(result: &RunResult) -> Vec<(f64, f64)> {
    let series = result.series.iter().find(|s| s.metric == "delay_s").unwrap();
    series.samples.iter().map(|(at, s)| (at.as_secs_f64(), s * 1e3)).collect()
}

/// Times (s) at which the delay jumps by more than 25 ms: the seam passes one of the cities.
fn seam_jumps(delays: &[(f64, f64)]) -> Vec<f64> {
    delays.windows(2).filter(|w| (w[1].1 - w[0].1).abs() > 25.0).map(|w| w[1].0).collect()
}

fn reference(file: &str) -> Option<Vec<(f64, f64)>> {
    let text = testing::shared_text(&format!("reference/constellation/{file}"))?;
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    Some(rows.filter(|f| f[4] == "ok").map(|f| (f[0].parse().unwrap(), f[1].parse().unwrap())).collect())
}

#[test]
fn delay_over_a_day_is_that_of_ns2() {
    let files = [
        ("", "series_iridium_lat60_delay_newyork_sanfrancisco.csv"),
        ("isl_latitude_limit = \"70 deg\"", "series_iridium_lat70_delay_newyork_sanfrancisco.csv"),
    ];
    for (extra, file) in files {
        let Some(reference) = reference(file) else { return };
        let ours = delays_ms(&run(extra));
        assert_eq!(ours.len(), reference.len());
        let mean = |d: &[(f64, f64)]| d.iter().map(|x| x.1).sum::<f64>() / d.len() as f64;
        let same = ours
            .iter()
            .zip(&reference)
            .filter(|(a, b)| (a.0 - b.0).abs() < 1e-6 && (a.1 - b.1).abs() < 0.01)
            .count();
        println!(
            "{file}: mean {:.3} ms, ns-2 {:.3} ms; {same} of {} rows within 0.01 ms",
            mean(&ours),
            mean(&reference),
            ours.len()
        );
        assert!((mean(&ours) - mean(&reference)).abs() < 0.05);
        assert!(same as f64 >= 0.99 * ours.len() as f64, "only {same} rows agree");
        let (jumps, expected) = (seam_jumps(&ours), seam_jumps(&reference));
        assert_eq!(jumps.len(), expected.len(), "{jumps:?} against {expected:?}");
        for (ours, theirs) in jumps.iter().zip(&expected) {
            assert!((ours - theirs).abs() <= 300.0, "a jump at {ours} s, ns-2's at {theirs} s");
        }
    }
}

#[test]
fn the_seam_costs_what_the_thesis_says() {
    let result = run("");
    let delays = delays_ms(&result);
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
    assert_eq!((ping.sent, ping.received), (1440, 1440));
    // Two satellites: about 20 ms and more. Over the poles: steps of about 60 and up to 90 ms.
    let min = ping.delay_min_s.unwrap() * 1e3;
    assert!((19.0..23.0).contains(&min), "smallest delay {min} ms");
    let largest_step = delays.windows(2).map(|w| (w[1].1 - w[0].1).abs()).fold(0.0, f64::max);
    assert!((55.0..95.0).contains(&largest_step), "largest step {largest_step} ms");
}

#[test]
fn the_path_over_time_is_that_of_the_packets() {
    let result = run("");
    let samples = |metric| {
        let series = result.series.iter().find(|series| series.metric == metric).expect("it is sampled");
        series.samples.iter().map(|(at, value)| (at.as_secs_f64(), *value)).collect::<Vec<_>>()
    };
    let [pings, delays, satellites] = ["delay_s", "path_delay_s", "path_satellites"].map(samples);
    assert_eq!((pings.len(), delays.len()), (1440, satellites.len()));
    assert!(delays.len() >= 1440, "{} looks", delays.len());
    let mut most = 0.0f64;
    for (at, ping) in pings {
        // The delay at departure: ten milliseconds before, or at a change since then.
        let now = delays.partition_point(|(t, _)| *t <= at) - 1;
        let ((_, delay), (_, count)) = (delays[now], satellites[now]);
        assert!(
            (ping - delay).abs() < 30e-6 * (1.0 + at - delays[now].0),
            "{ping} s over {delay} s at {at} s"
        );
        // 780 km up and 780 to 2465 km down to 8.2 degrees; between neighbours 1200 to 4600 km.
        let km = delay * 299_792.458;
        assert!(
            (1560.0 + 1200.0 * (count - 1.0)..4930.0 + 4600.0 * (count - 1.0)).contains(&km),
            "{km} km over {count}"
        );
        most = most.max(count);
    }
    assert!((4.0..=12.0).contains(&most), "{most} satellites over the poles");
}
