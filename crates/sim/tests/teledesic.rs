//! Teledesic has links across its seam unless the scenario turns them off, as in the thesis (section 6.3).

use crate::common;
use skyhop_results::FlowKind;

/// Mean one-way delay in ms from New York to San Francisco, a ping a minute for half a day.
fn mean_delay_ms(extra: &str) -> f64 {
    let text = format!(
        r#"
        duration = "12 h"
        [constellation]
        preset = "teledesic"
        update_interval = "60 s"
        {extra}
        isl = {{ rate = "1 Tbit/s" }}
        gsl = {{ rate = "1 Tbit/s" }}
        [terminals]
        new-york = {{ lat = "40.71 deg", lon = "-74.01 deg", antennas = 1 }}
        san-francisco = {{ lat = "37.77 deg", lon = "-122.42 deg", antennas = 1 }}
        [[flows]]
        from = "new-york"
        to = "san-francisco"
        traffic = {{ kind = "ping", interval = "60 s" }}
        "#
    );
    let result = common::run(&text, 1);
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
    assert!(ping.received >= 715, "{ping:?}");
    ping.delay_mean_s.unwrap() * 1e3
}

#[test]
fn the_seam_is_crossed_by_default_and_costs_when_it_is_not() {
    let (default, with, without) = (
        mean_delay_ms(""),
        mean_delay_ms("cross_seam_isls = true"),
        mean_delay_ms("cross_seam_isls = false"),
    );
    assert_eq!(default, with);
    // ns-2's satellite module: 32.6 ms over a day with links across the seam, 44.8 without.
    assert!((29.0..36.0).contains(&with), "{with} ms with");
    assert!((38.0..52.0).contains(&without), "{without} ms without");
}
