//! `skyhop sweep`: every combination of the values that a scenario's `[sweep]` varies, on all cores, resumed where it stopped.
//!
//! Follows the `sweep` crate; this file has the progress bar, the questions and the exit codes.
//! Differs from `skyhop run --seeds`: one row of a table per run, in a folder that survives a kill.
//! Leaves out other machines; with `--shard` any batch system can distribute a sweep.

use super::print;
use crate::engine;
use crate::failure::Failure;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use skyhop_scenario::Loaded;
use skyhop_sweep::{
    Halt, Plan, Shard, Store, StoreError, columns_of, factorial, merge_folder, read_table, status, sweep,
};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Number of runs above which the user must confirm.
const MANY: u64 = 1_000_000;

/// `skyhop sweep`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SweepArgs {
    #[command(subcommand)]
    what: Option<SweepCommand>,
    /// The scenario, with a [sweep] table.
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// Folder of the sweep; named after the scenario if left out. The same command again continues where it stopped.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run only the I-th of N shards, as one element of a job array.
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// Number of threads; that of the processors if left out.
    #[arg(long, value_name = "N", value_parser = crate::command::values::whole::<u32>(1..=1024))]
    threads: Option<u32>,
    /// Change one value of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Allow more than a million runs.
    #[arg(long)]
    yes: bool,
    /// Print neither progress nor warnings.
    #[arg(long, short)]
    quiet: bool,
}

/// Other commands for a sweep's folder.
#[derive(Debug, Subcommand)]
enum SweepCommand {
    /// Print the progress of a sweep.
    Status {
        /// Folder of the sweep.
        dir: PathBuf,
    },
    /// Merge the finished parts into runs.parquet.
    Merge {
        /// Folder of the sweep.
        dir: PathBuf,
    },
    /// Print effects of the varied parameters on a response, with intervals, and their shares of the variation.
    #[command(after_help = EFFECTS_EXAMPLES)]
    Effects(EffectsArgs),
}

/// `skyhop sweep effects`.
#[derive(Debug, Args)]
struct EffectsArgs {
    /// Folder of the sweep, or a table of runs (.parquet).
    dir: PathBuf,
    /// Column of the response, such as download.goodput_bps.
    #[arg(long, value_name = "COLUMN")]
    response: String,
    /// Columns of the factors, separated by commas; everything that was varied if left out.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    factors: Vec<String>,
    /// Confidence of the intervals, more than 0 and less than 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    confidence: f64,
    /// Print Markdown.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON with all digits.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &SweepArgs) -> Result<(), Failure> {
    match (&args.what, &args.file) {
        (Some(SweepCommand::Status { dir }), _) => tell(dir),
        (Some(SweepCommand::Merge { dir }), _) => {
            let done = status(dir).map_err(failed)?;
            let (finished, all) = done.parts;
            if finished == 0 {
                return Err(Failure::Run(format!("{}: none of {all} parts is finished yet", dir.display())));
            }
            let (path, rows) = merge_folder(dir).map_err(failed)?;
            let missing = if finished < all {
                format!("; {} of {all} parts are missing", all - finished)
            } else {
                String::new()
            };
            print(&format!("{} in {}{missing}\n", counted(rows, "run"), path.display()))
        }
        (Some(SweepCommand::Effects(args)), _) => effects(args),
        (None, Some(file)) => all(args, file),
        (None, None) => Err(Failure::Scenario("no scenario given; see skyhop help sweep".into())),
    }
}

fn effects(args: &EffectsArgs) -> Result<(), Failure> {
    let path = if args.dir.is_file() { args.dir.clone() } else { args.dir.join("runs.parquet") };
    if !path.exists() {
        // A folder without a sweep is refused here; with one, its parts have not been merged.
        status(&args.dir).map_err(failed)?;
        let dir = args.dir.display();
        let why = format!("{dir}: no runs.parquet; skyhop sweep merge {dir} makes it of the finished parts");
        return Err(Failure::Scenario(why));
    }
    let (_, batches) = read_table(&path).map_err(failed)?;
    let found = factorial(&columns_of(&batches), &args.response, &args.factors, args.confidence);
    let found = found.map_err(|e| Failure::Scenario(format!("{}: {e}", path.display())))?;
    if args.json {
        let text = serde_json::to_string_pretty(&found).map_err(|e| Failure::Run(e.to_string()))?;
        return print(&format!("{text}\n"));
    }
    print(&if args.markdown { found.markdown() } else { found.text() })
}

fn tell(dir: &Path) -> Result<(), Failure> {
    let s = status(dir).map_err(failed)?;
    let (finished, all) = s.parts;
    let share = if all > 0 { 100.0 * finished as f64 / all as f64 } else { 100.0 };
    let busy = if s.busy { ", running" } else { "" };
    // The number of runs of a stopping rule is known only afterwards.
    let of = if s.open_ended { String::new() } else { format!(" of {}", s.runs) };
    let damaged = match s.damaged {
        0 => String::new(),
        damaged => format!("; {} damaged, which the same sweep again does anew", counted(damaged, "part")),
    };
    print(&format!(
        "{}: {}{of} runs done ({share:.1} % of the parts){busy}, {} failed{damaged}\n",
        s.scenario, s.rows, s.failed
    ))
}

/// Warnings of the scenario and its points, each once with the number of points that have it.
fn warnings(loaded: &Loaded, plan: &Plan) -> Vec<String> {
    // Reading a point takes a fraction of a millisecond; of a larger sweep only the first points are read.
    const MOST_POINTS: u64 = 1000;
    const MOST: usize = 10;
    let points = plan.points().unwrap_or(MOST_POINTS).clamp(1, MOST_POINTS);
    let mut found: Vec<(String, u64)> = Vec::new();
    for point in 0..points {
        // A point that cannot be run is reported in its row of the table.
        let Ok(point) = loaded.with(&plan.point(point).sets) else { continue };
        for warning in point.warnings {
            let text = warning.to_string();
            match found.iter_mut().find(|(known, _)| *known == text) {
                Some((_, times)) => *times += 1,
                None => found.push((text, 1)),
            }
        }
    }
    let of = |times| if times == points { String::new() } else { format!(" ({times} of {points} points)") };
    let more = found.len().saturating_sub(MOST);
    let mut out: Vec<String> =
        found.into_iter().take(MOST).map(|(text, times)| format!("{text}{}", of(times))).collect();
    if more > 0 {
        out.push(format!("and {more} more at other points"));
    }
    out
}

fn all(args: &SweepArgs, file: &Path) -> Result<(), Failure> {
    let loaded = engine::load(file, &args.sets)?;
    let plan = Plan::new(&loaded)?;
    if !args.quiet {
        warnings(&loaded, &plan).iter().for_each(|warning| eprintln!("warning: {warning}"));
    }
    let wrong = |message: String| Failure::Scenario(format!("{}: sweep: {message}", file.display()));
    let runs = plan.runs().ok_or_else(|| wrong("more combinations than can be counted".into()))?;
    if runs > MANY && !args.yes {
        return Err(wrong(format!("{runs} runs; --yes does more than a million")));
    }
    // A scenario that cannot be built is refused before the folder is created.
    let first = loaded.with(&plan.point(0).sets)?;
    engine::build(&first, first.scenario.seed)?;
    let dir = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-sweep", loaded.name)));
    let store = Store::open(&dir, &plan, args.shard).map_err(failed)?;
    if !args.quiet {
        let damaged = store.damaged().iter();
        damaged.for_each(|path| {
            eprintln!("warning: {}: damaged since it was written; done again", path.display())
        });
    }
    let (units, done) = store.progress();
    let points = plan.points().unwrap_or(1).max(1);
    // If seeds are added, a point has at least this many runs.
    let (each, what) = if plan.is_open_ended() { (runs / points, "points") } else { (1, "runs") };
    let bar = bar(&loaded.name, units * each, done * each, args.quiet);
    if done > 0 && !args.quiet {
        eprintln!("{done} of {units} {what} were done before");
    }
    let threads = args.threads.map_or_else(cores, |n| n as usize);
    let halted = sweep(&plan, &store, threads, &|done| {
        if done > 0 {
            bar.inc(done);
        }
        !engine::interrupted()
    });
    bar.finish_and_clear();
    match halted {
        Ok(()) => {}
        Err(Halt::Stopped) => {
            return Err(Failure::Stopped(format!(
                "interrupted; finished runs are in {}, and the same command continues",
                dir.display()
            )));
        }
        Err(Halt::Store(e)) => return Err(failed(e)),
    }
    if !store.complete() {
        return print(&format!("shard {}/{} is done\n", args.shard.index, args.shard.count));
    }
    let (path, rows) = store.merge().map_err(failed)?;
    drop(store);
    let failures = status(&dir).map_err(failed)?.failed;
    let failures =
        if failures > 0 { format!(", {failures} of them failed: see column error") } else { String::new() };
    let (runs, points) = (counted(rows, "run"), counted(points, "point"));
    print(&format!("{runs} of {points} in {}{failures}\n", path.display()))
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn bar(name: &str, runs: u64, done: u64, quiet: bool) -> ProgressBar {
    let bar = if quiet || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        ProgressBar::with_draw_target(Some(runs), ProgressDrawTarget::stderr_with_hz(10))
    };
    if let Ok(style) = ProgressStyle::with_template("{prefix}  {wide_bar} {pos} of {len} runs  {eta} left") {
        bar.set_style(style);
    }
    bar.set_prefix(name.to_owned());
    bar.set_position(done);
    bar.reset_eta();
    bar
}

/// The contents of the folder are the user's to change; I/O errors are not.
fn failed(e: StoreError) -> Failure {
    match e {
        StoreError::Io { .. } | StoreError::Damaged { .. } => Failure::Run(e.to_string()),
        _ => Failure::Scenario(e.to_string()),
    }
}

/// Examples of `skyhop sweep effects`.
const EFFECTS_EXAMPLES: &str = "\
Examples:
  skyhop sweep effects grid --response download.goodput_bps
  skyhop sweep effects grid --response download.goodput_bps --confidence 0.95
  skyhop sweep effects grid --response download.goodput_bps --json
  skyhop sweep effects grid --response download.goodput_bps --markdown \\
    --factors links.satellite.rate_bps,flows.download.transport.variant

The table must have every combination of the factors' levels, each with as many
runs. With several seeds the error is the spread of a cell's runs; with one it is
what main effects and first-order interactions leave. A star marks an interval
that does not hold 0. Exit code: 0 done, 1 the table cannot be read, 2 wrong
usage, or a table that cannot be analysed.";
