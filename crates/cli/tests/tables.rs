//! `skyhop tables` as seen by a user: the table, CSV, errors.
//!
//! Follows HT figures 6.24 and 6.26 for the range of each number.
//! Differs from the library's tests: each starts a process, and its CSV is compared with the library's numbers.
//! Leaves out long series, which the library's tests run.

mod common;

use common::{code, skyhop, stderr, stdout};
use skyhop_orbit::preset;
use skyhop_routing::tables::{TableOptions, orbit_tables};
use skyhop_topology::{NodeId, Rules};

#[test]
fn csv_has_the_librarys_numbers() {
    let args =
        ["tables", "--constellation", "teledesic", "--satellite", "3.4", "--states", "3", "--effort", "0"];
    let out = skyhop(&[&args[..], &["--csv"]].concat());
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let text = stdout(&out);
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next().unwrap().split(',').collect();
    let options = TableOptions { states: 3, effort: 0, ..TableOptions::new(NodeId(3 * 24 + 4)) };
    let reports = orbit_tables(preset::teledesic(), Rules::teledesic(), options).unwrap();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), reports.len());
    for (row, report) in rows.iter().zip(&reports) {
        let cell = |name: &str| row[heading.iter().position(|h| *h == name).expect(name)];
        let whole = |name: &str| cell(name).parse::<usize>().ok();
        let real = |name: &str| cell(name).parse::<f64>().ok();
        let aggregated = report.aggregated.unwrap();
        assert_eq!(row.len(), heading.len());
        assert_eq!(real("t_s"), Some(report.t_s));
        assert_eq!(real("latitude_rad"), report.latitude_rad);
        assert_eq!(whole("entries"), Some(report.entries));
        assert_eq!(whole("delta"), report.delta);
        assert_eq!(real("temporal_consistency"), report.temporal_consistency());
        assert_eq!(whole("overrides"), Some(report.overrides));
        assert_eq!(real("geographic_consistency"), Some(report.geographic_consistency()));
        assert_eq!(whole("greedy"), Some(aggregated.greedy));
        assert_eq!(whole("covering"), Some(aggregated.covering));
        assert_eq!(whole("minimised"), Some(aggregated.minimised));
        assert_eq!(whole("spare_free"), Some(aggregated.spare_free));
        assert_eq!(whole("first_match"), Some(aggregated.first_match));
        // HT figure 6.26: roughly a tenth of all, or fewer.
        assert!((0.02..0.12).contains(&(aggregated.greedy as f64 / report.entries as f64)));
    }
}

#[test]
fn the_table_says_what_changes() {
    let args =
        ["tables", "--constellation", "iridium", "--satellite", "2.5", "--states", "4", "--no-aggregate"];
    let out = skyhop(&args);
    let text = stdout(&out);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    // A period of 100.5 minutes over 256 cells around the equator.
    assert!(text.starts_with("2.5 of iridium: 4 states of 23.5"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("21,354")).count(), 4, "{text}");
    assert!(text.contains("entries as in the state before") && !text.contains("greedy"), "{text}");
}

#[test]
fn mistakes_are_2_with_a_hint() {
    for (args, message) in [
        (&["teledesic", "3.24"][..], "--satellite: no slot 24 in plane 3; expected 0 to 23"),
        (&["teledesic", "12.0"], "--satellite: no plane 12; expected 0 to 11"),
        (&["teledesic", "3.4x"], "--satellite: unknown satellite \"3.4x\"; did you mean \"3.4\"?"),
        (
            &["iridium", "gamma-ray"],
            "--satellite: unknown satellite \"gamma-ray\"; expected a name like \"0.0\"",
        ),
        (&["geo-3", "geo-0"], "geo-3 has no orbital planes; expected a constellation with ISLs"),
        (&["teledesi", "0.0"], "--constellation: "),
    ] {
        let out = skyhop(&["tables", "--constellation", args[0], "--satellite", args[1]]);
        assert_eq!((code(&out), stdout(&out).as_str()), (2, ""), "{args:?}: {}", stderr(&out));
        assert!(
            stderr(&out).starts_with(&format!("error: {message}")),
            "{}\nexpected {message}",
            stderr(&out)
        );
    }
    let help = stdout(&skyhop(&["tables", "--help"]));
    assert!(help.contains("Examples:\n  skyhop tables"), "{help}");
}
