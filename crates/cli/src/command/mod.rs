//! The commands, one file for each, and their common printing.
//!
//! Follows the rule that results go to standard output and everything else to standard error.
//! Differs from `println!`: a closed pipe ends the command silently, a full disk with an error.
//! Leaves out colours.

pub mod check;
pub mod compare;
pub mod constellation;
pub mod delay;
pub mod demo;
mod doubts;
pub mod emulate;
mod export;
mod files;
pub mod hypatia;
pub mod look;
pub mod map;
pub mod passes;
mod populations;
pub mod route;
pub mod run;
mod satellites;
mod show;
pub mod sweep;
pub mod tables;
pub mod trace;
pub mod values;
pub mod watch;
pub mod wireshark;

use crate::failure::Failure;
use skyhop_scenario::Loaded;
use std::io::Write;

/// Prints to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::Run(format!("cannot print the results: {}", reason(&e))),
    })
}

/// The system's message without Rust's "(os error 28)" and its capital.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Prints the warnings from loading.
fn warn(loaded: &Loaded, quiet: bool) {
    if !quiet {
        loaded.warnings.iter().for_each(|w| eprintln!("warning: {w}"));
    }
}
