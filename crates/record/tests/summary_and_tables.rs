//! The summary's keys and the tables' columns, on which users' scripts depend.
//!
//! The expected text is written out, so that a changed key is seen in review.
//! Differs from a snapshot: it is short enough to be read.
//! Leaves out other readers of the parquet files; the Python tests read them.

use crate::common::{SmallDisk, run};
use skyhop_record::*;

#[test]
fn splices_stand_behind_the_links_by_name() {
    let mut result = run();
    let splice = skyhop_results::SpliceResult {
        name: "gateway".into(),
        connections: 3,
        connections_broken: 1,
        hits: 30,
        misses: 12,
        forward_bytes: 1_000_000,
        return_bytes: 2_000,
        held_max_bytes: 70_000,
        connection_held_max_bytes: 50_000,
    };
    result.splices.push(splice);
    let text = summary_text(&summary_json(&result, &meta()));
    let expected = r#"  "splices": {
    "gateway": {
      "connections": 3,
      "connections_broken": 1,
      "hits": 30,
      "misses": 12,
      "forward_bytes": 1000000,
      "return_bytes": 2000,
      "held_max_bytes": 70000,
      "connection_held_max_bytes": 50000
    }
  },
  "warnings""#;
    assert!(text.contains(expected), "{text}");
}

fn meta() -> Meta {
    Meta {
        scenario_sha256: "ab12".into(),
        wall_s: 0.25,
        sets: Vec::new(),
        resolved: serde_json::Value::Null,
        ..Meta::default()
    }
}

#[test]
fn the_summary_has_its_keys_in_their_order_and_null_for_what_was_not_measured() {
    let expected = r#"{
  "scenario": "geo",
  "scenario_sha256": "ab12",
  "seed": 7,
  "version": "VERSION",
  "simulated_s": 120.0,
  "wall_s": 0.25,
  "events": 1234,
  "packet_hops": 900,
  "flows": {
    "download": {
      "goodput_bps": 1234567.5,
      "completed_s": null,
      "bytes_delivered": 18518512,
      "sequence_max_bytes": 18520000,
      "segments_sent": 12700,
      "segments_retransmitted": 16,
      "timeouts": 1,
      "rtt_min_s": 0.6,
      "rtt_mean_s": 0.7,
      "rtt_max_s": 0.9,
      "limited_by": "congestion_window",
      "limited_share": {
        "handshake": 0.005,
        "application": 0.0033333333333333335,
        "receive_window": 0.0,
        "send_buffer": 0.0,
        "congestion_window": 0.75,
        "pacing": 0.0,
        "recovery": 0.24166666666666667,
        "no_link": 0.0
      },
      "bottleneck": "satellite",
      "forward_bytes": 19100000,
      "return_bytes": 254000,
      "packets_sent": 19050,
      "packets_delivered": 19000,
      "packets_dropped": 16,
      "packets_lost": 4,
      "packets_in_flight": 30
    },
    "echo": {
      "sent": 3,
      "received": 0,
      "delay_min_s": null,
      "delay_mean_s": null,
      "delay_max_s": null,
      "answers_received": 0,
      "rtt_min_s": null,
      "rtt_mean_s": null,
      "rtt_max_s": null,
      "forward_bytes": 252,
      "return_bytes": 0,
      "packets_sent": 3,
      "packets_delivered": 0,
      "packets_dropped": 0,
      "packets_lost": 3,
      "packets_in_flight": 0
    }
  },
  "links": {
    "satellite": {
      "forward": {
        "packets": 12700,
        "bytes": 19050000,
        "packets_dropped": 0,
        "packets_lost": 0,
        "packets_filtered": 0,
        "packets_too_large": 0,
        "packets_marked": 0,
        "utilisation": 0.99,
        "queue_max_packets": 0
      },
      "reverse": {
        "packets": 0,
        "bytes": 0,
        "packets_dropped": 0,
        "packets_lost": 0,
        "packets_filtered": 0,
        "packets_too_large": 0,
        "packets_marked": 0,
        "utilisation": 0.0,
        "queue_max_packets": 0
      }
    }
  },
  "warnings": [
    "flow \"echo\" received nothing"
  ]
}
"#
    .replace("VERSION", env!("CARGO_PKG_VERSION"));
    assert_eq!(summary_text(&summary_json(&run(), &meta())), expected);
}

#[test]
fn overrides_are_told_only_when_there_are_any() {
    let sets = vec!["links.satellite.rate=1 Mbit/s".to_owned()];
    let summary = summary_json(&run(), &Meta { sets: sets.clone(), ..meta() });
    assert_eq!(summary["set"][0], sets[0]);
    assert_eq!(summary.as_object().unwrap().keys().next_back().unwrap(), "set");
    assert!(summary_json(&run(), &meta()).get("set").is_none());
}

#[test]
fn a_number_that_is_none_becomes_null_rather_than_a_broken_file() {
    let mut result = run();
    result.simulated_s = f64::NAN;
    let text = summary_text(&summary_json(&result, &meta()));
    assert!(text.contains("\"simulated_s\": null"), "{text}");
}

#[test]
fn flows_have_a_row_each_and_the_summarys_keys_as_columns() {
    let tables = Tables::new(&run());
    let names: Vec<String> = tables.flows.schema().fields().iter().map(|f| f.name().clone()).collect();
    let summary = summary_json(&run(), &meta());
    for flow in ["download", "echo"] {
        for key in summary["flows"][flow].as_object().unwrap().keys() {
            // Each part of a table is a column.
            let parts = summary["flows"][flow][key].as_object().into_iter().flatten();
            let mut columns: Vec<_> = parts.map(|(part, _)| format!("limited_{part}")).collect();
            if columns.is_empty() {
                columns.push(key.clone());
            }
            assert!(columns.iter().all(|column| names.contains(column)), "{key} is no column");
        }
    }
    let text = |name: &str| {
        let column = tables.flows.column_by_name(name).unwrap();
        let column = column.as_any().downcast_ref::<arrow_array::StringArray>().unwrap().clone();
        column.iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(text("limited_by"), [Some("congestion_window".to_owned()), None]);
    assert_eq!(text("bottleneck"), [Some("satellite".to_owned()), None]);
    assert_eq!(names[..3], ["name", "kind", "seed"]);
    assert_eq!(tables.flows.num_rows(), 2);
    let timeouts = tables.flows.column_by_name("timeouts").unwrap();
    assert!(timeouts.is_valid(0) && timeouts.is_null(1));
}

#[test]
fn series_are_long_and_cut_into_batches() {
    let mut result = run();
    let rows = |tables: &Tables| tables.series.iter().map(|b| b.num_rows()).sum::<usize>();
    assert_eq!(rows(&Tables::new(&result)), 1201);
    let sample = result.series[0].samples[0];
    result.series[0].samples = vec![sample; 300_000];
    let tables = Tables::new(&result);
    assert_eq!((rows(&tables), tables.series.len()), (300_001, 3));
    result.series.clear();
    let tables = Tables::new(&result);
    assert_eq!((rows(&tables), tables.series_schema.fields().len()), (0, 4));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let bytes = || {
        let tables = Tables::new(&run());
        let flows = write_flows_parquet(Vec::new(), &tables).unwrap();
        (flows, write_series_parquet(Vec::new(), &tables).unwrap())
    };
    assert_eq!(bytes(), bytes());
}

#[test]
fn an_empty_run_gives_tables_that_can_be_read() {
    let tables = Tables::new(&Default::default());
    let flows = write_flows_parquet(Vec::new(), &tables).unwrap();
    assert_eq!((&flows[..4], &flows[flows.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    assert!(write_series_parquet(Vec::new(), &tables).is_ok());
}

#[test]
fn a_disk_that_fills_up_anywhere_is_an_error_with_its_cause() {
    let tables = Tables::new(&run());
    let len = write_series_parquet(Vec::new(), &tables).unwrap().len();
    for room in (0..len).step_by(97).chain([len - 1]) {
        let error = write_series_parquet(SmallDisk { room }, &tables).expect_err("no room");
        assert!(error.to_string().to_lowercase().contains("no space left"), "{room}: {error}");
    }
    assert!(write_series_parquet(SmallDisk { room: len }, &tables).is_ok());
}
