//! `skyhop tables`: a satellite's forwarding tables through its orbit.
//!
//! Follows HT figures 6.24 and 6.26: one state for each cell that the satellite crosses, 64 from the equator to the pole.
//! Differs: beside the thesis's greedy aggregation there are a covering and the minimiser's, which forward exactly as well.
//! Leaves out the tables themselves, which are in the library.

use super::files::write_or_print;
use super::satellites::{IslOptions, LoadedSatellites, SatelliteOptions};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::progress::RunProgress;
use crate::table::{TextTable, count, share};
use clap::Args;
use skyhop_orbit::Constellation;
use skyhop_routing::tables::{TableOptions, TableReport, crossing_s, orbit_tables_while};
use skyhop_topology::NodeId;
use skyhop_units::Span;
use std::fmt::Write;
use std::path::PathBuf;

/// `skyhop tables`.
#[derive(Debug, Args)]
pub struct TablesArgs {
    /// The satellites.
    #[command(flatten)]
    pub satellites: SatelliteOptions,
    /// The links between them.
    #[command(flatten)]
    pub isls: IslOptions,
    /// Satellite of the tables: its name, or its plane.slot.
    #[arg(long, value_name = "NAME")]
    pub satellite: String,
    /// Number of states.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = crate::command::values::whole::<u32>(1..=100_000))]
    pub states: u32,
    /// Number of improvement steps of the minimiser per entry.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = crate::command::values::whole::<u32>(0..=1000))]
    pub effort: u32,
    /// Skip aggregation, which takes most of the time.
    #[arg(long)]
    pub no_aggregate: bool,
    /// Print CSV with all digits.
    #[arg(long)]
    pub csv: bool,
    /// File to write, in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &TablesArgs) -> Result<(), Failure> {
    let loaded = args.satellites.load(Some(&args.isls))?;
    let satellite = find(&loaded, &args.satellite)?;
    let name = loaded.constellation.name(satellite.0);
    let options = TableOptions {
        states: args.states,
        aggregate: !args.no_aggregate,
        effort: args.effort as usize,
        ..TableOptions::new(satellite)
    };
    let state_s = crossing_s(&loaded.constellation, satellite).unwrap_or(1.0);
    let at = |states: u32| Span::from_nanos((f64::from(states) * state_s * 1e9) as u64);
    let progress = RunProgress::new(&format!("tables of {name}"), at(args.states), 1, false);
    let more = |report: &TableReport| {
        progress.advance(at(report.state), at(report.state + 1));
        !interrupted()
    };
    let reports = orbit_tables_while(loaded.constellation.clone(), loaded.rules, options, more)
        .map_err(|e| Failure::Scenario(format!("{}: {e}", loaded.name)))?;
    drop(progress);
    if interrupted() {
        return Err(Failure::Interrupted);
    }
    if args.csv {
        return write_or_print(args.out.as_deref(), &csv(&reports));
    }
    let heading = format!(
        "{name} of {}: {} states of {state_s:.2} s; ISLs between planes off above {:.0} deg\n\n",
        loaded.name,
        reports.len(),
        loaded.rules.isl_latitude_limit_rad.to_degrees(),
    );
    write_or_print(args.out.as_deref(), &(heading + &text(&reports) + &summary(&reports)))
}

/// The satellite called `text`.
fn find(loaded: &LoadedSatellites, text: &str) -> Result<NodeId, Failure> {
    let constellation: &Constellation = &loaded.constellation;
    let planes = constellation.planes();
    if planes.is_empty() {
        return Err(Failure::Scenario(format!(
            "{} has no orbital planes; expected a constellation with ISLs",
            loaded.name
        )));
    }
    if loaded.rules.intra_plane_neighbours == 0 {
        return Err(Failure::Scenario(format!(
            "{} has no ISLs; expected a constellation whose satellites forward to one another",
            loaded.name
        )));
    }
    loaded.satellite("--satellite", text).map(NodeId)
}

fn csv(reports: &[TableReport]) -> String {
    let mut out = String::from(
        "state,t_s,latitude_rad,entries,next_hops,down,nowhere,delta,temporal_consistency,overrides,\
         geographic_consistency,greedy,covering,minimised,spare_free,first_match\n",
    );
    for report in reports {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let whole = |value: Option<usize>| value.map_or_else(String::new, |value| value.to_string());
        let of = report.aggregated;
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            report.state,
            report.t_s,
            number(report.latitude_rad),
            report.entries,
            report.next_hops,
            report.down,
            report.nowhere,
            whole(report.delta),
            number(report.temporal_consistency()),
            report.overrides,
            report.geographic_consistency(),
            whole(of.map(|a| a.greedy)),
            whole(of.map(|a| a.covering)),
            whole(of.map(|a| a.minimised)),
            whole(of.map(|a| a.spare_free)),
            whole(of.map(|a| a.first_match)),
        );
    }
    out
}

fn text(reports: &[TableReport]) -> String {
    let aggregated = reports.iter().any(|report| report.aggregated.is_some());
    let mut table = TextTable::new([
        "state",
        "time",
        "latitude",
        "entries",
        "next hops",
        "changed",
        "as before",
        "overrides",
        "as geographic",
        if aggregated { "greedy" } else { "" },
        if aggregated { "covering" } else { "" },
        if aggregated { "minimised" } else { "" },
    ]);
    for report in reports {
        let dash = || "-".to_owned();
        let of_all = |entries: usize| {
            format!("{} ({})", count(entries as u64), share(entries as f64 / report.entries as f64))
        };
        let reduced = |entries: Option<usize>| match (aggregated, entries) {
            (false, _) => String::new(),
            (true, entries) => entries.map_or_else(dash, of_all),
        };
        table.row([
            report.state.to_string(),
            format!("{:.1} s", report.t_s),
            report.latitude_rad.map_or_else(dash, |latitude| format!("{:.2} deg", latitude.to_degrees())),
            count(report.entries as u64),
            report.next_hops.to_string(),
            report.delta.map_or_else(dash, |delta| count(delta as u64)),
            report.temporal_consistency().map_or_else(dash, share),
            count(report.overrides as u64),
            share(report.geographic_consistency()),
            reduced(report.aggregated.map(|a| a.greedy)),
            reduced(report.aggregated.map(|a| a.covering)),
            reduced(report.aggregated.map(|a| a.minimised)),
        ]);
    }
    table.text()
}

/// Means, minima and maxima over the states.
fn summary(reports: &[TableReport]) -> String {
    let mut out = String::from("\nOver all states, mean (least to most):\n");
    let mut line = |name: &str, values: Vec<f64>, shares: bool| {
        if values.is_empty() {
            return;
        }
        let show = |value: f64| if shares { share(value) } else { count(value.round() as u64) };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let _ = writeln!(out, "  {name:<36}{} ({} to {})", show(mean), show(least), show(most));
    };
    let of =
        |value: &dyn Fn(&TableReport) -> Option<f64>| reports.iter().filter_map(value).collect::<Vec<_>>();
    line("entries changed", of(&|r| r.delta.map(|d| d as f64)), false);
    line("entries as in the state before", of(&TableReport::temporal_consistency), true);
    line("entries as geographic forwarding", of(&|r| Some(r.geographic_consistency())), true);
    let reduced = |entries: fn(&skyhop_routing::tables::Aggregated) -> usize| {
        of(&|r| Some(entries(r.aggregated.as_ref()?) as f64 / r.entries as f64))
    };
    line("greedy aggregation, of all entries", reduced(|a| a.greedy), true);
    line("covering by contiguous blocks", reduced(|a| a.covering), true);
    line("minimised, any order", reduced(|a| a.minimised), true);
    line("minimised, spare addresses open", reduced(|a| a.spare_free), true);
    line("minimised, first match", reduced(|a| a.first_match), true);
    out
}
