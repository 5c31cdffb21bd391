//! The skyhop command.
//!
//! A map of the code: [`args`] is the command line, [`command`] has one file for each command, [`engine`] runs scenarios,
//! [`progress`] is the bar, [`stp`] transfers files between real hosts, [`gateway`] splits
//! their connections, [`statistics`] and [`table`] format numbers.
//! Differs from the library: it handles the terminal, the files and the exit codes (0, 1 during execution, 2 before).
//! Leaves out knowledge of networks, which is in the library.

mod args;
mod command;
mod engine;
mod failure;
mod gateway;
mod progress;
mod statistics;
mod stopwatch;
mod stp;
mod table;

use args::{Args, Command};
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A program inside a host is started through this process.
    if std::env::args_os().nth(1).is_some_and(|first| first == skyhop_emulate::inside::ARGUMENT) {
        return ExitCode::from(skyhop_emulate::inside::main(std::env::args_os().skip(2)));
    }
    let args = Args::parse();
    // A command that polls for Ctrl-C ends in order; another is ended by the system.
    match args.command {
        // This comes before a second thread, such as the one that listens.
        Command::Emulate(_) | Command::Compare(_) => {}
        Command::Run(_) | Command::Sweep(_) | Command::Demo(_) | Command::Delay(_) => engine::listen(),
        Command::Tables(_) | Command::Look(_) | Command::Stp { .. } => engine::listen(),
        _ => {}
    }
    let done = match &args.command {
        Command::Run(run) => command::run::run(run),
        Command::Emulate(emulate) => match command::emulate::run(emulate) {
            Ok(code) => return ExitCode::from(code),
            Err(failure) => Err(failure),
        },
        Command::Compare(compare) => match command::compare::run(compare) {
            Ok(code) => return ExitCode::from(code),
            Err(failure) => Err(failure),
        },
        Command::Sweep(sweep) => command::sweep::run(sweep),
        Command::Check(check) => command::check::check(check),
        Command::Schema => command::print(&skyhop_scenario::schema()),
        Command::Demo(demo) => command::demo::demo(demo),
        Command::Constellation { what } => command::constellation::run(what),
        Command::Passes(passes) => command::passes::run(passes),
        Command::Look(look) => command::look::run(look),
        Command::Delay(delay) => match &delay.hypatia {
            Some(folder) => command::hypatia::delay(delay, folder),
            None => command::delay::run(delay),
        },
        Command::Route(route) => command::route::run(route),
        Command::Tables(tables) => command::tables::run(tables),
        Command::Map(map) => command::map::run(map),
        Command::Trace { what } => command::trace::run(what),
        Command::Stp { what } => stp::run(what),
        Command::Gateway { what } => gateway::run(what),
        Command::Wireshark { what } => command::wireshark::run(what),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Without a terminal for the message, the exit code must suffice.
            let _ = failure.tell(&mut std::io::stderr().lock());
            let _ = std::io::stderr().flush();
            ExitCode::from(failure.exit_code())
        }
    }
}
