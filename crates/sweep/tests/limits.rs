//! The causes that limit flows, as columns of a sweep's table.
//!
//! Follows docs/results.md: the columns of `flows.parquet` with the name of the flow as prefix.
//! Differs from the command's tests: one plan in memory.
//! Leaves out the rules, which the simulator's tests cover.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use skyhop_sweep::Plan;

const SWEEP: &str = r#"
duration = "30 s"
[links.satellite]
rate = "10 Mbit/s"
delay = "100 ms"
queue = { kind = "drop-tail", limit = "100000 packets" }
[[flows]]
name = "download"
path = ["server", "satellite", "user"]
traffic = { kind = "bulk" }
[[flows]]
name = "ping"
path = ["server", "satellite", "user"]
traffic = { kind = "ping" }
[sweep]
metrics = ["download.limited_*", "download.bottleneck", "ping.limited_by"]
[sweep.grid]
"flows.download.transport.window" = ["20 kB", "100 MB"]
"#;

#[test]
fn causes_and_bottlenecks_are_columns() {
    let loaded = skyhop_scenario::parse(SWEEP.as_bytes(), "sweep.toml", &[]).unwrap();
    let plan = Plan::new(&loaded).unwrap();
    let table = plan.run(0..2, |_| true).unwrap();
    let text = |name: &str| {
        let column =
            table.column_by_name(name).unwrap_or_else(|| panic!("no {name} in {:?}", table.schema()));
        column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
    };
    let some = |names: [&str; 2]| names.map(|name| Some(name.to_owned()));
    assert_eq!(text("download.limited_by"), some(["receive_window", "congestion_window"]));
    assert_eq!(text("download.bottleneck"), some(["satellite"; 2]));
    assert_eq!(text("ping.limited_by"), [None, None]);
    let share =
        |name: &str| table.column_by_name(name).unwrap().as_primitive::<Float64Type>().values().to_vec();
    let shares = share("download.limited_receive_window");
    assert!(shares[0] > 0.95 && shares[1] == 0.0, "{shares:?}");
    let causes =
        table.schema().fields().iter().filter(|field| field.name().starts_with("download.limited_")).count();
    assert_eq!(causes, 9, "{:?}", table.schema());
}
