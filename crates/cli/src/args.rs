//! The command line: commands, options, and help with examples.
//!
//! Follows clap's derive; help texts are the doc comments.
//! Differs from a settings layer: every option changes one run, and a scenario's values change with `--set` only.
//! Leaves out configuration files and environment variables.

use crate::command::values::whole;
use crate::command::{
    compare, constellation, delay, emulate, look, map, passes, route, sweep, tables, trace, wireshark,
};
use crate::{gateway, stp};
use clap::{Args as ClapArgs, Parser, Subcommand};
use std::path::PathBuf;

/// A laboratory for Internet transport over satellites: one scenario file, simulated packet by packet.
#[derive(Debug, Parser)]
#[command(name = "skyhop", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a scenario and print the results.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Run real programs over the paths of a scenario.
    #[command(after_help = EMULATE_EXAMPLES)]
    Emulate(emulate::Emulate),
    /// Run the same transfers simulated, and emulated with the kernel's TCP and with STP, and compare them.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(compare::Compare),
    /// Run every combination of the values that a scenario's [sweep] varies, with one row of a table per run.
    #[command(after_help = SWEEP_EXAMPLES)]
    Sweep(sweep::SweepArgs),
    /// Check a scenario: print its mistakes, or a description of it.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// Print the JSON Schema of scenario files, for editors.
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Demonstrate skyhop: TCP over a GEO link, a day over Iridium, and a report with charts.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(Demo),
    /// Published constellations: names, parameters, exports.
    #[command(after_help = CONSTELLATION_EXAMPLES)]
    Constellation {
        /// Command to run.
        #[command(subcommand)]
        what: constellation::ConstellationCommand,
    },
    /// Print when satellites rise, culminate and set over a place.
    #[command(after_help = PASSES_EXAMPLES)]
    Passes(passes::Passes),
    /// Print the view of satellites from a place over time: azimuth, elevation, distance, range rate, Doppler shift.
    #[command(after_help = LOOK_EXAMPLES)]
    Look(look::Looking),
    /// Print the propagation delay between two places over time.
    #[command(after_help = DELAY_EXAMPLES)]
    Delay(delay::DelayArgs),
    /// Print the path between two places at an instant, its alternatives, and the reason for the choice.
    #[command(after_help = ROUTE_EXAMPLES)]
    Route(route::RouteArgs),
    /// Print the sizes of a satellite's forwarding tables through its orbit, their changes, and the savings of aggregation.
    #[command(after_help = TABLES_EXAMPLES)]
    Tables(tables::TablesArgs),
    /// Draw a constellation and its links on a world map.
    #[command(after_help = MAP_EXAMPLES)]
    Map(map::MapArgs),
    /// Convert traces of links from and to the forms of other programs and logs.
    #[command(after_help = TRACE_EXAMPLES)]
    Trace {
        /// Command to run.
        #[command(subcommand)]
        what: trace::TraceCommand,
    },
    /// Move files between real hosts over STP, encrypted.
    #[command(after_help = stp::EXAMPLES)]
    Stp {
        /// Command to run.
        #[command(subcommand)]
        what: stp::StpCommand,
    },
    /// Split TCP connections at a satellite link, on real hosts.
    #[command(after_help = gateway::EXAMPLES)]
    Gateway {
        /// Command to run.
        #[command(subcommand)]
        what: gateway::GatewayCommand,
    },
    /// Install a dissector of STP for Wireshark and tshark, and decrypt captures.
    #[command(after_help = WIRESHARK_EXAMPLES)]
    Wireshark {
        /// Command to run.
        #[command(subcommand)]
        what: wireshark::WiresharkCommand,
    },
}

/// `skyhop run`.
#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    /// The scenario; `-` is standard input.
    pub file: PathBuf,
    /// Write summary.json, flows.parquet, series.parquet and the scenario's captures into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the summary as JSON, with stable keys and SI units.
    #[arg(long)]
    pub json: bool,
    /// Seed of all random streams, in place of the scenario's.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Run with this many consecutive seeds, and print means with their 95 % confidence intervals.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1..=100_000))]
    pub seeds: Option<u32>,
    /// Change one value of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// List each flow of a population too, as `record.members` does.
    #[arg(long)]
    pub members: bool,
    /// Print neither progress nor warnings.
    #[arg(long, short)]
    pub quiet: bool,
}

/// `skyhop check`.
#[derive(Debug, ClapArgs)]
pub struct Check {
    /// The scenario; `-` is standard input.
    pub file: PathBuf,
    /// Change one value of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Print the scenario as TOML with the defaults of all keys that it left out, so that a later version runs it in the same way.
    #[arg(long)]
    pub resolved: bool,
}

/// `skyhop demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Folder for results and the report.
    #[arg(long, value_name = "DIR", default_value = "skyhop-demo")]
    pub out: PathBuf,
    /// Also simulate the satellites of this file of two- or three-line elements.
    #[arg(long, value_name = "FILE", conflicts_with = "omm")]
    pub tle: Option<PathBuf>,
    /// Also simulate the satellites of this file of orbit mean-elements messages (JSON).
    #[arg(long, value_name = "FILE")]
    pub omm: Option<PathBuf>,
    /// Print neither progress nor warnings.
    #[arg(long, short)]
    pub quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  skyhop demo                            results and a report in skyhop-demo/
  skyhop run scenarios/geo.toml          a download over a GEO link
  skyhop check scenarios/iridium.toml    what a scenario means, or what is wrong
  skyhop help run                        options and examples of a command";

const RUN_EXAMPLES: &str = "\
Examples:
  skyhop run geo.toml
  skyhop run geo.toml --out results --json
  skyhop run geo.toml --set links.satellite.rate=\"6 Mbit/s\" --seeds 10
  skyhop run geo.toml --set flows.download.transport.variant=reno
  skyhop run geo.toml --set links.satellite.loss.kind=packets \\
    --set links.satellite.loss.probability=0.01
  skyhop run geo.toml --out results --set record.pcap='*'    for Wireshark

A value of --set is TOML if it reads as TOML, else text. Flows go by name or
number. Exit code: 0 done, 1 failed while running (disk full), 2 wrong usage or
scenario, 130 interrupted.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  skyhop compare scenarios/geo.toml
  skyhop compare scenarios/geo.toml --transport cubic,stp --strict
  skyhop compare scenarios/geo.toml --buffers both --out rows.csv

Exit code: 0; 3 with --strict if a row differs or is not valid.";

const EMULATE_EXAMPLES: &str = "\
Examples:
  skyhop emulate geo.toml -- ping -c 3 server
  skyhop emulate geo.toml -- curl -o /dev/null http://server/bytes/10MB
  skyhop emulate geo.toml --tcp cubic --server 'iperf3 -s' -- iperf3 -c server
  skyhop emulate geo.toml --shell
  skyhop emulate --profile starlink -- curl -O http://server/bytes/10MB
  skyhop emulate --profile iridium --from Lima --to Oslo -- ping server
  skyhop emulate geo.toml --device user=eth1 --device server=eth2
  skyhop emulate gateway.toml -- curl -o /dev/null http://server/bytes/10MB    # through its splices, as real gateways
  skyhop emulate geo.toml --pcap packets.pcapng --out results -- ssh server
  skyhop emulate geo.toml --set links.satellite.delay=\"270 ms\" -- ping server

Hosts are network namespaces, which go when the command has ended. As root packets
leave at real-time priority. Exit code: the command's; 127 where there is no such
command, 1 where the emulation failed, 2 wrong usage or scenario, 3 with --strict
where the run is not valid.";

const SWEEP_EXAMPLES: &str = "\
Examples:
  skyhop sweep grid.toml                          again: go on where it stopped
  skyhop sweep grid.toml --out minute --set duration=\"60 s\"
  skyhop sweep grid.toml --out grid --shard 3/8   one element of a job array
  skyhop sweep status grid
  skyhop sweep merge grid                         finished runs: grid/runs.parquet
  skyhop sweep effects grid --response download.goodput_bps

The scenario says what is varied:
  [sweep]
  seeds = 3
  [sweep.grid]
  \"links.satellite.rate\" = [\"1 Mbit/s\", \"10 Mbit/s\"]
  \"flows.download.transport.variant\" = [\"reno\", \"sack\", \"bbr\"]

A run that fails is a row with its error. Exit code: 0 done, 1 the folder cannot
be written, 2 wrong usage or scenario, 130 interrupted.";

const CHECK_EXAMPLES: &str = "\
Examples:
  skyhop check geo.toml
  skyhop check geo.toml --set links.satellite.queue.limit=\"64 kB\"

Exit code: 0 right, 2 wrong; each mistake is a line file:line: key: message.";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  skyhop schema > scenario.schema.json
  echo '#:schema ./scenario.schema.json' | cat - geo.toml    first, for editors";

const DEMO_EXAMPLES: &str = "\
Examples:
  skyhop demo
  skyhop demo --out /tmp/demo
  skyhop demo --tle starlink.tle    and the satellites of a file";

const CONSTELLATION_EXAMPLES: &str = "\
Examples:
  skyhop constellation list
  skyhop constellation show teledesic
  skyhop constellation export iridium --czml --out iridium.czml    for Cesium
  skyhop constellation export kuiper-630 --tle > kuiper.tle";

const PASSES_EXAMPLES: &str = "\
Examples:
  skyhop passes --constellation iridium --at \"New York\" --duration \"2 h\"
  skyhop passes --tle starlink.tle --at 48.14,11.58 --only STARLINK-1008 --csv
  skyhop passes --constellation molniya --at moscow

Exit code: 0 done, 2 wrong usage, or no satellite ever rises.";

const LOOK_EXAMPLES: &str = "\
Examples:
  skyhop look --constellation iridium --at oslo --frequency \"1.6 GHz\"
  skyhop look --tle starlink.tle --at 48.14,11.58 --satellite STARLINK-1008 \\
    --start 2025-10-08T04:00:00Z --duration \"2 h\" --step 10 --csv
  skyhop look --constellation geo-3 --at london --duration 0

Exit code: 0 done, 2 wrong usage, or nothing above the mask.";

const DELAY_EXAMPLES: &str = "\
Examples:
  skyhop delay \"New York\" \"San Francisco\" --constellation teledesic
  skyhop delay quito london --constellation iridium --csv --out quito.csv
  skyhop delay quito tokyo --constellation teledesic --cross-seam=off \\
    --isl-latitude-limit 70 --metric hops
  skyhop delay london sydney --also paris tokyo --tle starlink.tle --step 15
  skyhop delay oslo rome --constellation oneweb --gateway london --trace \\
    --step 1 --duration \"10 min\" --frequency \"11.7 GHz\" --out oslo-rome.csv

Links and handovers are looked at from t = 0 on, every 10 s; a line of CSV
without a path has status noroute.
Exit code: 0 done, 2 wrong usage, or a place that never sees a satellite.";

const ROUTE_EXAMPLES: &str = "\
Examples:
  skyhop route quito london --constellation iridium --time 60
  skyhop route berlin -33.92,18.42 --constellation starlink --time \"2 h\"
  skyhop route oslo rome --tle starlink.tle --time 2025-10-07T18:00:00Z
  skyhop route quito tokyo --constellation teledesic --map quito-tokyo.png

Exit code: 0 done, 1 no route at that instant, 2 wrong usage.";

const TABLES_EXAMPLES: &str = "\
Examples:
  skyhop tables --constellation teledesic --satellite 3.4
  skyhop tables --constellation iridium --satellite 0.0 --no-aggregate
  skyhop tables --constellation iridium --satellite 2.5 --csv --out tables.csv

Cells and addresses are those of the Henderson thesis; a state lasts while the satellite crosses a cell.
Exit code: 0 done, 2 wrong usage, 130 interrupted.";

const MAP_EXAMPLES: &str = "\
Examples:
  skyhop map --constellation iridium                              in letters
  skyhop map --constellation iridium --time 60 --out iridium.svg
  skyhop map --constellation teledesic --terminal quito --out teledesic.png
  skyhop map --constellation starlink --isls off --gateway berlin --out bp.png
  skyhop map --constellation iridium --isls off --footprints --out feet.svg

Exit code: 0 done, 1 the file cannot be written, 2 wrong usage.";

const TRACE_EXAMPLES: &str = "\
Examples:
  skyhop trace import leocc bw_1.txt delay_1.txt --out starlink.csv
  skyhop trace export mahimahi fade.csv --out fade.mahi";

const WIRESHARK_EXAMPLES: &str = "\
Examples:
  skyhop wireshark install                                    the protocol is called skystp; stp is Spanning Tree
  tshark -r packets.pcapng -Y 'skystp.type.ustat == 1'
  tshark -r packets.pcapng -X lua_script:\"$(skyhop wireshark path)\"    where personal plugins are not read
  tshark -r packets.pcapng -d udp.port==9000,skystp           STP on a port where it is not recognised
  skyhop wireshark decrypt capture.pcap --keys keys.log --out plain.pcapng

Exit code: 0 done, 1 not installed, not writable, or tshark is missing, 2 wrong usage.";
