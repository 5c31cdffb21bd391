//! docs/results.md lists all metrics, each with its unit, under the heading of its kind.
//!
//! Differs from generated tables: the document is written for people, with several metrics to a row where that is shorter.
//! Leaves out the descriptions.

use skyhop_results::{
    CompletionsResult, DatagramResult, DirectionResult, FlowResult, Metric, OneEndResult, PingResult,
    TransferResult,
};

const HEADINGS: [&str; 7] = [
    "A transfer:",
    "A ping:",
    "Pages, exchanges and short transfers (web, request-response, poisson):",
    "Datagrams (cbr, on-off):",
    "A program at one end, the other simulated ([emulator.md](emulator.md#a-program-at-one-end)):",
    "All flows:",
    "A direction of a link:",
];

#[test]
fn results_are_described_under_their_own_names() {
    let text = include_str!("../../../docs/results.md");
    let lists = [
        names(TransferResult::METRICS),
        names(PingResult::METRICS),
        names(CompletionsResult::METRICS),
        names(DatagramResult::METRICS),
        names(OneEndResult::METRICS),
        names(FlowResult::METRICS),
        names(DirectionResult::METRICS),
    ];
    for (heading, mut expected) in HEADINGS.into_iter().zip(lists) {
        let (_, table) = text.split_once(&format!("\n{heading}\n\n")).unwrap_or_else(|| panic!("{heading}"));
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let mut found: Vec<String> = rows.flat_map(described).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{heading}");
    }
}

fn names<T>(metrics: &[Metric<T>]) -> Vec<String> {
    for metric in metrics {
        assert!(metric.about.ends_with('.') && metric.about.len() > 10, "{}: {}", metric.name, metric.about);
    }
    metrics.iter().map(|metric| metric.name.to_owned()).collect()
}

/// The names in a row's first cell; `_mean_s` after `rtt_min_s` is `rtt_mean_s`. A unit in the second cell must be that of the name.
fn described(row: &str) -> Vec<String> {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let mut names: Vec<String> = Vec::new();
    for name in cells[1].split(", ").map(|name| name.trim_matches('`')) {
        let whole = match name.strip_prefix('_') {
            Some(end) => {
                let before: Vec<&str> = names[0].split('_').collect();
                let kept = before.len() - end.split('_').count();
                format!("{}_{end}", before[..kept].join("_"))
            }
            None => name.to_owned(),
        };
        names.push(whole);
    }
    if cells.len() > 4 && cells[2] == "s" {
        assert!(names.iter().all(|name| name.ends_with("_s")), "{row}");
    }
    names
}
