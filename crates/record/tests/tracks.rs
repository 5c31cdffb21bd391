//! The picture of a moving terminal, from series alone.
//!
//! Tests what a reader measures on it: the course of the track, its times, and the common axis of the charts.
//! Differs from a run's picture in its made-up series.
//! Leaves out the look.

use skyhop_record::chart::track::tracks;
use skyhop_results::{RunResult, Series};
use skyhop_units::{Span, Time};

fn at(minute: u64) -> Time {
    Time::ZERO + Span::from_secs(60 * minute)
}

fn series(entity: &str, metric: &'static str, value: impl Fn(u64) -> Option<f64>) -> Series {
    let samples = (0..=120).filter_map(|minute| Some((at(minute), value(minute)?))).collect();
    Series { entity: entity.into(), metric, samples }
}

/// Two hours east along 10 S across the date line, with another satellite each quarter of an hour and none in the last one.
fn voyage() -> RunResult {
    let ship = "terminal/ship";
    let east = |minute: u64| 170.0 + minute as f64 / 6.0;
    let wrap = |lon: f64| if lon > 180.0 { lon - 360.0 } else { lon };
    let held = |minute: u64| (minute < 105).then_some(minute / 15);
    RunResult {
        scenario: "a <voyage>".into(),
        simulated_s: 7200.0,
        series: vec![
            series(ship, "latitude_deg", |_| Some(-10.0)),
            series(ship, "longitude_deg", |minute| Some(wrap(east(minute)))),
            series(ship, "handovers", |minute| Some((minute / 15) as f64)),
            series(ship, "satellite", |minute| held(minute).map(|number| number as f64)),
            series(ship, "satellite_latitude_deg", |minute| held(minute).map(|_| -12.0)),
            series(ship, "satellite_longitude_deg", |minute| held(minute).map(|_| wrap(east(minute) + 2.0))),
            series("flow/a", "path_delay_s", |_| Some(0.05)),
            series("flow/b", "path_delay_s", |_| Some(0.05)),
            series("flow/a", "bytes_delivered", |minute| Some(minute as f64 * 7.5e6)),
        ],
        ..RunResult::default()
    }
}

/// The segments of the widest path of this colour.
fn path(svg: &str, stroke: &str) -> Vec<Vec<(f64, f64)>> {
    let line = svg.lines().find(|line| line.contains(&format!("stroke=\"{stroke}\" stroke-width=\"2.4\"")));
    let d = line
        .and_then(|line| line.rsplit(" d=\"").next())
        .expect("a track")
        .split('"')
        .next()
        .expect("a path");
    let point = |text: &str| {
        let (x, y) = text.split_once(' ').expect("two numbers");
        (x.parse().expect("x"), y.parse().expect("y"))
    };
    d.split('M').skip(1).map(|piece| piece.split('L').map(point).collect()).collect()
}

#[test]
fn a_track_over_the_date_line_is_one_line_from_left_to_right() {
    let pictures = tracks(&voyage());
    let [(name, svg)] = &pictures[..] else { panic!("{} pictures", pictures.len()) };
    assert_eq!(name, "ship");
    assert!(svg.contains("a &lt;voyage&gt;: ship"));
    let pieces = path(svg, "#b3160c");
    let [track] = &pieces[..] else { panic!("{} pieces", pieces.len()) };
    assert_eq!(track.len(), 121);
    // 20 degrees over most of the width, in even steps, at one height.
    let width = track[120].0 - track[0].0;
    assert!(width > 500.0 && width < 672.0, "{width}");
    assert!(track.windows(2).all(|w| (w[1].0 - w[0].0 - width / 120.0).abs() < 0.2 && w[0].1 == w[1].1));
    for degrees in ["175°E", "180°", "175°W", "10°S"] {
        assert!(svg.contains(&format!(">{degrees}<")), "{degrees}");
    }
    // Seven satellites were held; two flows with one path are one line.
    assert_eq!(svg.matches("l3 5h-6Z").count(), 7);
    assert!(!svg.contains("path of b"));
}

#[test]
fn times_on_the_track_are_those_of_the_charts() {
    let (_, svg) = tracks(&voyage()).remove(0);
    let charts: Vec<&str> = svg.split("class=\"skyhop-chart\"").skip(1).collect();
    assert_eq!(charts.len(), 3);
    // Where each chart has its ticks of time.
    let ticks = |chart: &str| -> Vec<String> {
        let middle = chart.split("text-anchor=\"middle\">").skip(1);
        let of = |before: &str| before.rsplit("<text x=\"").next().map(str::to_owned);
        let before = chart.split("text-anchor=\"middle\">").map(of);
        middle
            .zip(before.flatten())
            .filter(|(text, _)| text.starts_with(|c: char| c.is_ascii_digit()))
            .map(|(_, x)| x.split('"').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert!(ticks(charts[0]).len() > 4, "{:?}", ticks(charts[0]));
    assert!(charts.iter().all(|chart| ticks(chart) == ticks(charts[0])));
    // 7.5 MB a minute are 1 Mbit/s.
    assert!(charts[1].contains("goodput (Mbit/s)") || charts[1].contains("goodput (kbit/s)"));
    assert!(svg.contains(">2000 s<") || svg.contains(">1 h<"), "no time beside the track");
}

#[test]
fn who_does_not_move_has_no_picture_and_who_never_held_a_satellite_has_one() {
    assert!(tracks(&RunResult::default()).is_empty());
    let mut alone = voyage();
    alone.series.truncate(2);
    let (_, svg) = tracks(&alone).remove(0);
    assert_eq!(svg.matches("no samples").count(), 3);
}
