//! `skyhop trace`: converts traces of links from and to other programs' forms and logs.
//!
//! Follows `skyhop_trace`, which defines each form. Assumptions and omissions are reported on standard error.
//! Differs from a pipe of scripts: a trace appears completely or not at all, and every mistake has its file and line.
//! Leaves out plots of traces; a run over one records its rates and delays.

mod export;
mod import;

use crate::failure::Failure;
use clap::Subcommand;
use skyhop_trace::netsatbench::LinkEnds;
use skyhop_units::Span;

/// `skyhop trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Convert another program's trace, or a log, into a trace for a scenario's link.
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(import::Import),
    /// Convert a trace into another program's form.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(export::TraceExport),
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  skyhop trace import leocc bw_1.txt delay_1.txt --out starlink.csv
  skyhop trace import linkem-delay delays.txt --interval \"10 ms\"
  skyhop trace import netsatbench epochs/*.json --link grd1,sat6
  skyhop trace import autobahn throughput.csv --direction up
  skyhop trace import log pings.csv --time unix=s --rtt rtt=ms --loss lost=%

The trace is a table with t_s and any of rate_bps, delay_s, loss; in a scenario
trace = \"starlink.csv\" of a link reads it. A trace of Mahimahi's is read there
as it is. What was assumed is said on standard error.
Exit code: 0 done, 1 the file cannot be written, 2 wrong usage or a bad file.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  skyhop trace export mahimahi fade.csv --out fade.mahi
  skyhop trace export theaterq fade.csv --rate \"10 Mbit/s\" --delay \"20 ms\"
  skyhop trace export leocc fade.csv --duration \"120 s\" --out 7
  skyhop trace export netsatbench fade.csv --link usr1,sat1 --out epochs

--rate and --delay are the link's own, where the trace has none. What the form
does not hold is said on standard error.
Exit code: 0 done, 1 the file cannot be written, 2 wrong usage or a bad file.";

/// Runs the command.
pub fn run(what: &TraceCommand) -> Result<(), Failure> {
    match what {
        TraceCommand::Import(import) => import::run(import),
        TraceCommand::Export(export) => export::run(export),
    }
}

fn wrong(what: impl std::fmt::Display) -> Failure {
    Failure::Scenario(what.to_string())
}

fn tell(notes: &[String]) {
    notes.iter().for_each(|note| eprintln!("note: {note}"));
}

/// An option that applies to some forms only, and true if it was given.
struct Optional {
    name: &'static str,
    given: bool,
    forms: &'static [&'static str],
}

/// Refuses options that do not apply to this form.
fn refuse_others(form: &str, options: &[Optional]) -> Result<(), Failure> {
    match options.iter().find(|option| option.given && !option.forms.contains(&form)) {
        Some(Optional { name, forms, .. }) => {
            Err(wrong(format!("{name}: {form} has no use for it; it goes with {}", forms.join(", "))))
        }
        None => Ok(()),
    }
}

/// Two nodes separated by a comma.
fn ends(text: &str) -> Result<LinkEnds, String> {
    match text.split_once(',').map(|(a, b)| (a.trim(), b.trim())) {
        Some((a, b)) if !a.is_empty() && !b.is_empty() && !b.contains(',') && a != b => {
            Ok(LinkEnds::new(a, b))
        }
        _ => Err("expected two nodes like grd1,sat6".into()),
    }
}

/// A time greater than zero.
fn span(text: &str) -> Result<Span, String> {
    match Span::from_secs_f64(super::values::seconds(text)?) {
        Span::ZERO => Err("0 s; expected more".into()),
        span => Ok(span),
    }
}
