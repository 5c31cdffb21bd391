//! Charts and reports: well-formed, complete, and safe for any names in them.
//!
//! Their look is for human eyes; `SKYHOP_KEEP=DIR` keeps the pages that these tests draw.
//! Differs from a snapshot: a change of colour needs no change of a test.
//! Leaves out rendering.

use skyhop_record::*;

#[test]
fn a_report_needs_no_network_and_no_script() {
    let html = page();
    keep("report.html", &html);
    for foreign in ["<script", "http://", "https://", "src=", "@import", "url("] {
        let count = html.matches(foreign).count();
        let namespaces = html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count();
        assert_eq!(count, if foreign == "http://" { namespaces } else { 0 }, "{foreign}");
    }
    assert_balanced(&html[html.find("<main>").unwrap()..html.find("</body>").unwrap()]);
}

#[test]
fn names_cannot_break_the_page() {
    let evil = "</svg><script>alert(\"1\")</script> & 'x'\u{1}";
    let chart = Chart::new(evil, ChartAxis::new(evil, ""), ChartAxis::new("y", evil))
        .samples(evil, Mark::Line, vec![(0.0, 1.0)])
        .samples(evil, Mark::Points, vec![(0.0, 1.0)])
        .level(evil, 2.0);
    let table =
        ReportTable { caption: evil.into(), columns: vec![evil.into()], rows: vec![vec![evil.into()]] };
    let html = report_html(
        evil,
        [
            Section::Heading(evil.into()),
            Section::Chart(chart, evil.into()),
            Section::Table(table),
            Section::Code(evil.into()),
        ],
    );
    assert!(!html.contains("<script") && !html.contains('\u{1}'));
    assert_balanced(&html[html.find("<main>").unwrap()..html.find("</body>").unwrap()]);
}

#[test]
fn gaps_and_nonsense_are_not_drawn() {
    let points = vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0), (f64::INFINITY, 1.0), (3.0, -1.0)];
    for (axis, moves) in [(ChartAxis::new("y", "B"), 3), (ChartAxis::new("y", "B").log(), 2)] {
        let svg = Chart::new("t", ChartAxis::time(), axis).samples("a", Mark::Line, points.clone()).svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let path = svg.split("class=\"s0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), moves, "{path}");
    }
    let svg = Chart::new("t", ChartAxis::time(), ChartAxis::new("y", "B"))
        .samples("a", Mark::Line, Vec::new())
        .svg();
    assert!(svg.contains("no samples"));
}

/// Texts of a picture with their positions.
fn texts(svg: &str) -> Vec<(f64, f64, &str)> {
    let of = |text: &str, name: &str| -> Option<f64> {
        text.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?.parse().ok()
    };
    svg.split("<text ")
        .skip(1)
        .filter_map(|part| {
            let part = &part[..part.find("</text>")?];
            let (head, content) = part.split_once('>')?;
            let head = format!(" {head}");
            Some((of(&head, "x")?, of(&head, "y")?, content))
        })
        .collect()
}

/// Assumes letters 6 px wide at 12 px; a font that is drawn wider would not be noticed here.
#[test]
fn names_in_a_legend_lie_beside_each_other_and_below_and_never_over() {
    let names: Vec<String> = (0..11).map(|n| format!("series {n} {}", "x".repeat(n * 3 % 17))).collect();
    let chart = Chart::new("t", ChartAxis::time(), ChartAxis::new("y", "B"));
    let chart =
        names.iter().fold(chart, |chart, name| chart.samples(name, Mark::Line, vec![(0.0, 1.0), (1.0, 2.0)]));
    let svg = chart.svg();
    let all = texts(&svg);
    let of = |name: &String| *all.iter().find(|text| text.2 == name).expect("its name");
    let places: Vec<(f64, f64, f64)> =
        names.iter().map(|n| (of(n).0, of(n).1, 6.0 * n.len() as f64)).collect();
    let frame = svg.split("class=\"frame\" d=\"M").nth(1).unwrap();
    let top: f64 = frame.split([' ', 'V']).nth(1).unwrap().parse().unwrap();
    let rows: std::collections::BTreeSet<u64> = places.iter().map(|place| place.1 as u64).collect();
    assert!(rows.len() >= 3, "{rows:?}");
    for (n, (x, y, width)) in places.iter().enumerate() {
        assert!(*x >= 68.0 && x + width <= 760.0 && *y > 34.0 && *y < top, "{n}: {x} {y} of {top}");
        // Its line begins 32 px to the left and is 26 px long.
        assert!(svg.contains(&format!("d=\"M{:.1} {}h26\"", x - 32.0, y - 4.0)), "{n}");
        for (other, (left, line, wide)) in places.iter().enumerate().take(n) {
            let apart = (y - line).abs() >= 12.0 || *x - 32.0 >= left + wide || left - 32.0 >= x + width;
            assert!(apart, "{n} lies over {other}");
        }
    }
}

/// An entry of a legend is 26 px of line, the name at 6.6 px a letter, and space around it; a row is 672 px.
#[test]
fn a_row_of_a_legend_is_filled_to_its_width_and_no_further() {
    for (letters, same_row) in [([10, 20], true), ([43, 43], true), ([43, 44], false), ([120, 5], false)] {
        let [first, second] = [("a", letters[0]), ("b", letters[1])].map(|(name, len)| name.repeat(len));
        let points = vec![(0.0, 1.0), (1.0, 2.0)];
        let svg = Chart::new("t", ChartAxis::time(), ChartAxis::new("y", "B"))
            .samples(&first, Mark::Line, points.clone())
            .samples(&second, Mark::Line, points)
            .svg();
        let all = texts(&svg);
        let of = |name: &str| {
            all.iter().find(|text| text.2 == name).map(|text| (text.0, text.1)).expect("its name")
        };
        assert_eq!(of(&first), (100.0, 44.0), "the first begins at the frame, in the first row");
        let (x, y) = of(&second);
        let expected = if same_row { (152.0 + 6.6 * letters[0] as f64, 44.0) } else { (100.0, 64.0) };
        assert!((x - expected.0).abs() < 0.06 && y == expected.1, "{letters:?}: {x} {y}");
    }
}

#[test]
fn samples_lie_where_the_ticks_say() {
    let points = vec![(0.0, 0.0), (4.0, 200.0), (10.0, 400.0)];
    let svg = Chart::new("t", ChartAxis::new("x", ""), ChartAxis::new("y", ""))
        .samples("a", Mark::Line, points.clone())
        .svg();
    let path = svg.split("class=\"s0\" d=\"M").nth(1).unwrap().split('"').next().unwrap();
    let drawn: Vec<(f64, f64)> = path
        .split('L')
        .map(|p| p.split_once(' ').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap())
        .collect();
    let all = texts(&svg);
    let tick = |label: String, below: bool| {
        *all.iter().find(|(x, _, text)| *text == label && (*x > 62.0) == below).expect("a tick")
    };
    assert_eq!(drawn.len(), 3);
    for ((x, y), (at_x, at_y)) in points.iter().zip(drawn) {
        assert!((tick(x.to_string(), true).0 - at_x).abs() < 0.11, "{x} lies at {at_x}");
        assert!((tick(y.to_string(), false).1 - 4.0 - at_y).abs() < 0.11, "{y} lies at {at_y}");
    }
}

#[test]
fn a_million_samples_make_a_small_picture_with_its_peaks() {
    let mut points: Vec<(f64, f64)> = (0..1_000_000).map(|i| (i as f64 * 0.1, (i % 100) as f64)).collect();
    points[777_777].1 = 500.0;
    let svg =
        Chart::new("t", ChartAxis::time(), ChartAxis::new("y", "")).samples("a", Mark::Line, points).svg();
    assert!(svg.len() < 100_000, "{}", svg.len());
    let path = svg.split("class=\"s0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(path.contains(" 38.0"), "the peak touches the top of the frame");
}

fn page() -> String {
    let sawtooth = |period: f64, peak: f64| {
        (0..1200)
            .map(|i| i as f64 * 0.1)
            .map(move |t| (t, peak * (0.5 + 0.5 * (t % period) / period)))
            .collect::<Vec<_>>()
    };
    let window = Chart::new("Congestion window", ChartAxis::time(), ChartAxis::new("window", "B"))
        .samples("sack-newreno", Mark::Step, sawtooth(37.0, 231_000.0))
        .samples("reno", Mark::Line, sawtooth(21.0, 120_000.0))
        .level("bandwidth-delay product", 112_500.0);
    let rtts = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
    let curve = |loss: f64| rtts.iter().map(|r| (*r, 1.42e6 / (1.0 + loss * r))).collect::<Vec<_>>();
    let goodput = Chart::new(
        "Goodput of a 10 MB transfer",
        ChartAxis::new("RTT", "s"),
        ChartAxis::new("goodput", "bit/s").from(0.0),
    )
    .samples("Reno", Mark::Line, curve(4.0))
    .samples("NewReno", Mark::Line, curve(2.0))
    .samples("SACK-NewReno", Mark::Line, curve(0.1))
    .level("link rate", 1.5e6);
    let day = (0..1440).map(|m| {
        let step = [0.021, 0.034, 0.047, 0.061, 0.078][(m / 37 * 7 % 5) as usize];
        (m as f64 * 60.0, step + 0.004 * ((m % 37) as f64 / 37.0))
    });
    let delay = Chart::new(
        "One-way delay, New York to San Francisco",
        ChartAxis::time(),
        ChartAxis::new("delay", "s").from(0.0),
    )
    .samples("iridium", Mark::Points, day.clone().collect())
    .samples("teledesic", Mark::Points, day.map(|(t, d)| (t, 0.02 + d / 3.0)).collect());
    let errors = Chart::new(
        "Goodput and bit errors",
        ChartAxis::new("bit error rate", "").log(),
        ChartAxis::new("goodput", "bit/s").log(),
    )
    .samples("stp", Mark::Line, vec![(1e-7, 9.7e5), (1e-6, 9.6e5), (1e-5, 8.8e5), (1e-4, 3.9e5)])
    .samples("tcp", Mark::Line, vec![(1e-7, 9.4e5), (1e-6, 5.1e5), (1e-5, 9.0e4), (1e-4, 8.0e3)]);
    for (name, chart) in [("window", &window), ("goodput", &goodput), ("delay", &delay), ("errors", &errors)]
    {
        keep(&format!("{name}.svg"), &chart.svg());
    }
    HtmlReport::new("A geostationary download")
        .lead("10 MB over 1.5 Mbit/s and 600 ms, with four kinds of loss recovery.")
        .section(Section::Figures(vec![
            ("goodput".into(), "1.34 Mbit/s".into(), "89 % of the link".into()),
            ("completed".into(), "59.8 s".into(), "10 MB".into()),
            ("retransmitted".into(), "82 segments".into(), "1.2 % of 6,932".into()),
            ("RTT".into(), "600-873 ms".into(), "mean 721 ms".into()),
        ]))
        .section(Section::Heading("Window".into()))
        .section(Section::Text("The window halves once and then grows by a segment per round trip.".into()))
        .section(Section::Chart(window, "The window of two variants; dashed, what the path holds.".into()))
        .section(Section::Heading("Distance".into()))
        .section(Section::Chart(
            goodput,
            "Selective acknowledgments with NewReno's recovery hold the rate.".into(),
        ))
        .section(Section::Chart(errors, String::new()))
        .section(Section::Heading("Delay".into()))
        .section(Section::Chart(delay, "One ping per minute for a day.".into()))
        .section(Section::Table(ReportTable {
            caption: "Flows".into(),
            columns: ["flow", "goodput (Mbit/s)", "timeouts"].map(String::from).to_vec(),
            rows: vec![
                ["download", "1.34", "0"].map(String::from).to_vec(),
                ["upload", "-", "12"].map(String::from).to_vec(),
            ],
        }))
        .section(Section::Code("skyhop run geo.toml --seed 1".into()))
        .footer("scenario geo, sha256 ab12..., seed 1, skyhop 0.1.0")
        .html()
}

/// Every element is closed in order. The few void elements are not used inside `main`.
fn assert_balanced(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in text.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "near <{tag}>");
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

fn keep(name: &str, text: &str) {
    if let Ok(dir) = std::env::var("SKYHOP_KEEP") {
        std::fs::write(std::path::Path::new(&dir).join(name), text).unwrap();
    }
}
