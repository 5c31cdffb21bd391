//! `skyhop run`: one scenario with one or several seeds.
//!
//! Follows the scenario; options add files, JSON and seeds.
//! Differs from a script around one run: seeds run in parallel, and results are in order of the seeds.
//! Leaves out sweeps over parameters.

use super::satellites::warn_of_elements;
use crate::args::RunArgs;
use crate::engine::{self, Done};
use crate::failure::Failure;
use crate::progress::RunProgress;
use crate::statistics;
use crate::stopwatch::Stopwatch;
use rayon::prelude::*;
use skyhop_record::{Folder, Meta, summary_json, summary_text};
use skyhop_results::RunResult;
use skyhop_scenario::Loaded;

/// Runs a scenario.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let members = args.members.then(|| "record.members=true".to_owned());
    let sets: Vec<String> = args.sets.iter().cloned().chain(members).collect();
    let loaded = engine::load(&args.file, &sets)?;
    if args.out.is_none() && !loaded.scenario.record.pcap.is_empty() && !args.quiet {
        eprintln!("warning: record.pcap is set, but without --out there is nowhere to write packets");
    }
    if !args.quiet {
        warn_of_elements(&loaded);
    }
    let first = args.seed.unwrap_or(loaded.scenario.seed);
    match args.seeds {
        None => one(args, &loaded, first),
        Some(count) => many(args, &loaded, first, count),
    }
}

fn one(args: &RunArgs, loaded: &Loaded, seed: u64) -> Result<(), Failure> {
    let progress = RunProgress::new(&loaded.name, loaded.scenario.duration, 1, args.quiet);
    let done = engine::run(loaded, seed, args.out.as_deref(), &progress)?;
    drop(progress);
    if args.json {
        return super::print(&summary_text(&summary_json(&done.result, &done.meta)));
    }
    tell_warnings(std::slice::from_ref(&done.result), args.quiet);
    super::print(&super::show::run(&done))?;
    written(args)
}

fn many(args: &RunArgs, loaded: &Loaded, first: u64, count: u32) -> Result<(), Failure> {
    let last = first.checked_add(u64::from(count) - 1);
    let last = last.ok_or_else(|| {
        Failure::Scenario(format!(
            "--seeds: {count} seeds from {first} go beyond {}, the largest seed",
            u64::MAX
        ))
    })?;
    engine::build(loaded, first)?;
    // The folder is checked before time is spent, and removed if a run fails.
    let mut folder = args.out.as_deref().map(Folder::create).transpose()?;
    let begin = Stopwatch::start();
    let progress = RunProgress::new(&loaded.name, loaded.scenario.duration, count, args.quiet);
    let runs: Result<Vec<Done>, Failure> = (first..=last)
        .into_par_iter()
        .map(|seed| {
            let mut done = engine::run(loaded, seed, None, &progress)?;
            // Series are for single runs; those of a thousand would fill the memory.
            done.result.series = Vec::new();
            Ok(done)
        })
        .collect();
    drop(progress);
    let runs = runs?;
    let each: Vec<_> = runs.iter().map(|done| summary_json(&done.result, &done.meta)).collect();
    let meta = runs.first().map(|done| done.meta.clone()).unwrap_or_default();
    let runs: Vec<RunResult> = runs.into_iter().map(|done| done.result).collect();
    let meta = Meta { wall_s: begin.elapsed().as_secs_f64(), ..meta };
    let summary = statistics::summary(&runs, &meta);
    if let Some(mut folder) = folder.take() {
        folder.write("runs.json", summary_text(&each.into()).as_bytes())?;
        folder.write("summary.json", summary_text(&summary).as_bytes())?;
        folder.commit()?;
    }
    if args.json {
        return super::print(&summary_text(&summary));
    }
    tell_warnings(&runs, args.quiet);
    if !args.quiet
        && runs.len() > 1
        && runs.iter().all(|r| (&r.flows, &r.links) == (&runs[0].flows, &runs[0].links))
    {
        eprintln!("warning: all runs are the same; nothing in this scenario is random");
    }
    super::print(&super::show::seeds(&runs, begin.elapsed()))?;
    written(args)
}

fn tell_warnings(runs: &[RunResult], quiet: bool) {
    if quiet {
        return;
    }
    let mut warnings: Vec<&String> = runs.iter().flat_map(|r| &r.warnings).collect();
    warnings.sort();
    warnings.dedup();
    warnings.iter().for_each(|w| eprintln!("warning: {w}"));
}

fn written(args: &RunArgs) -> Result<(), Failure> {
    match &args.out {
        Some(dir) => super::print(&format!("\nresults in {}\n", dir.display())),
        None => Ok(()),
    }
}

/// Runs one scenario of the demonstration.
pub fn shown(loaded: &Loaded, quiet: bool) -> Result<Done, Failure> {
    let progress = RunProgress::new(&loaded.name, loaded.scenario.duration, 1, quiet);
    engine::run(loaded, loaded.scenario.seed, None, &progress)
}
