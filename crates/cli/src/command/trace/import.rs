//! `skyhop trace import`: converts other programs' traces and logs into the table that a scenario's link reads.
//!
//! The form is named by the user, and never guessed. Differs from the readers in `skyhop_trace`: files and options are the user's.
//! Leaves out Parquet: programs that write it also write text tables.

use super::super::files::{read, write_or_print};
use super::{Optional, ends, refuse_others, span, tell, wrong};
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use skyhop_text::table::TableError;
use skyhop_trace::log::{Column, LogColumns};
use skyhop_trace::netsatbench::{self, LinkEnds};
use skyhop_trace::{Read, Trace, leocc, linkem, log, mahimahi, table, theaterq};
use skyhop_units::{Rate, Span};
use std::path::{Path, PathBuf};

/// `skyhop trace import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Form of the files.
    #[arg(value_enum)]
    pub form: ImportForm,
    /// The file; for leocc rates and then delays, or delays alone; for netsatbench all epochs.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Time between packets of linkem-delay and linkem-loss, which have none of their own.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = span)]
    pub interval: Option<Span>,
    /// Link of netsatbench, by its ends.
    #[arg(long, value_name = "A,B", value_parser = ends)]
    pub link: Option<LinkEnds>,
    /// Direction of autobahn; down if left out.
    #[arg(long, value_enum)]
    pub direction: Option<DirectionArg>,
    /// Column of a log with times: dates in UTC or with a zone, or numbers in seconds or as in time=ms.
    #[arg(long, value_name = "COLUMN", value_parser = times)]
    pub time: Option<Column>,
    /// Column with rates, in bit/s or as in down=Mbit/s.
    #[arg(long, value_name = "COLUMN", value_parser = rates)]
    pub rate: Option<Column>,
    /// Column with round-trip times, in seconds or as in rtt=ms; half of each is the delay.
    #[arg(long, value_name = "COLUMN", value_parser = times, conflicts_with = "delay")]
    pub rtt: Option<Column>,
    /// Column with one-way delays, in seconds or as in delay=ms.
    #[arg(long, value_name = "COLUMN", value_parser = times)]
    pub delay: Option<Column>,
    /// Column with loss ratios, 0 to 1 or as in lost=%.
    #[arg(long, value_name = "COLUMN", value_parser = shares)]
    pub loss: Option<Column>,
    /// Longest pause of a log that is kept; longer ones are left out.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = span)]
    pub close_pauses: Option<Span>,
    /// File to write, in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A form that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportForm {
    /// Mahimahi's mm-link: a line for each packet of 1500 bytes, in milliseconds.
    Mahimahi,
    /// LeoCC's replayer: bw_N.txt as Mahimahi's, delay_N.txt with a line for every 10 ms.
    Leocc,
    /// Link'Em's delays: whole milliseconds, packet by packet.
    LinkemDelay,
    /// Link'Em's losses: 0 (lost) and 1, packet by packet.
    LinkemLoss,
    /// TheaterQ: lines of KEEP,LATENCY,RATE,LOSS,LIMIT, or of its extended form.
    Theaterq,
    /// NetSatBench: files of epochs in JSON.
    Netsatbench,
    /// A table with columns named by --time, --rate, --rtt, --delay and --loss.
    Log,
    /// FjordLink: a table of a Starlink terminal's status, as CSV.
    Fjordlink,
    /// Starlink on the Autobahn: throughput.csv.
    Autobahn,
}

/// A direction, seen from the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DirectionArg {
    /// To the terminal.
    Down,
    /// From the terminal.
    Up,
}

/// Runs the command.
pub fn run(args: &Import) -> Result<(), Failure> {
    let form = args.form.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let (log, logs): (&[_], &[_]) = (&["log"], &["log", "fjordlink", "autobahn"]);
    let option = |name, given, forms| Optional { name, given, forms };
    refuse_others(
        &form,
        &[
            option("--interval", args.interval.is_some(), &["linkem-delay", "linkem-loss"]),
            option("--link", args.link.is_some(), &["netsatbench"]),
            option("--direction", args.direction.is_some(), &["autobahn"]),
            option("--time", args.time.is_some(), log),
            option("--rate", args.rate.is_some(), log),
            option("--rtt", args.rtt.is_some(), log),
            option("--delay", args.delay.is_some(), log),
            option("--loss", args.loss.is_some(), log),
            option("--close-pauses", args.close_pauses.is_some(), logs),
        ],
    )?;
    let Read { trace, notes } = match args.form {
        ImportForm::Netsatbench => epochs(args)?,
        ImportForm::Leocc => leo(&args.files)?,
        _ => single(args, &form)?,
    };
    tell(&notes);
    if let Some(length) = trace.length {
        tell(&[format!("lasts {length}; repeat = \"{length}\" with the link's trace repeats it from there")]);
    }
    write_or_print(args.out.as_deref(), &table::write(&trace))
}

fn in_file<T>(file: &Path, read: Result<T, TableError>) -> Result<T, Failure> {
    read.map_err(|e| wrong(format!("{}: {e}", file.display())))
}

/// Reads a form that is a single file.
fn single(args: &Import, form: &str) -> Result<Read, Failure> {
    let [file] = &args.files[..] else {
        return Err(wrong(format!("{} files; {form} is one", args.files.len())));
    };
    let interval = || {
        let none =
            || wrong(format!("--interval: missing; {form} does not say how far apart its packets are"));
        args.interval.ok_or_else(none)
    };
    let alone = |trace: Trace| Read { trace, notes: vec![] };
    let spread = |trace: Trace, interval: Span| Read {
        trace,
        notes: vec![format!(
            "a packet each {interval}: an entry holds for that long, whatever is sent in it"
        )],
    };
    let up = args.direction == Some(DirectionArg::Up);
    let measured = |columns: LogColumns| in_file(file, log::read(&read(file)?, &columns, args.close_pauses));
    match args.form {
        ImportForm::Mahimahi => Ok(alone(in_file(file, mahimahi::read(&read(file)?))?)),
        ImportForm::LinkemDelay => {
            let interval = interval()?;
            Ok(spread(in_file(file, linkem::read_delays(&read(file)?, interval))?, interval))
        }
        ImportForm::LinkemLoss => {
            let interval = interval()?;
            Ok(spread(in_file(file, linkem::read_losses(&read(file)?, interval))?, interval))
        }
        ImportForm::Theaterq => in_file(file, theaterq::read(&read(file)?)),
        ImportForm::Fjordlink => {
            let mut got = measured(LogColumns::fjordlink())?;
            let note = "no rate: the log has the traffic of that ship, not the capacity of the link";
            got.notes.push(note.into());
            Ok(got)
        }
        ImportForm::Autobahn => measured(LogColumns::autobahn(up)),
        ImportForm::Log => measured(columns(args)?),
        ImportForm::Leocc | ImportForm::Netsatbench => unreachable!("forms of several files"),
    }
}

fn columns(args: &Import) -> Result<LogColumns, Failure> {
    let Some(time) = args.time.clone() else {
        return Err(wrong("--time: missing; it names the column with times"));
    };
    let columns = LogColumns {
        time,
        rate: args.rate.clone(),
        rtt: args.rtt.clone(),
        delay: args.delay.clone(),
        loss: args.loss.clone(),
    };
    let some =
        [&columns.rate, &columns.rtt, &columns.delay, &columns.loss].iter().any(|column| column.is_some());
    if some { Ok(columns) } else { Err(wrong("expected a column: --rate, --rtt, --delay or --loss")) }
}

fn leo(files: &[PathBuf]) -> Result<Read, Failure> {
    let delays = |file: &PathBuf| in_file(file, leocc::read_delays(&read(file)?));
    match files {
        [alone] => Ok(Read {
            trace: delays(alone)?,
            notes: vec!["delays alone, a line each 10 ms; rates are the first of two files".into()],
        }),
        [rates, of_delay] => {
            let rates = in_file(rates, mahimahi::read(&read(rates)?))?;
            let (trace, note) = leocc::join(&rates, &delays(of_delay)?);
            Ok(Read { trace, notes: note.into_iter().collect() })
        }
        _ => Err(wrong(format!("{} files; leocc is rates and delays, or delays alone", files.len()))),
    }
}

fn epochs(args: &Import) -> Result<Read, Failure> {
    let names: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    let bytes = args.files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<netsatbench::EpochFile> =
        names.iter().map(String::as_str).zip(bytes.iter().map(Vec::as_slice)).collect();
    netsatbench::read(&files, args.link.as_ref()).map_err(wrong)
}

/// The name of a column, and its unit after the last equals sign.
fn column(text: &str, unit: impl Fn(&str) -> Result<f64, String>) -> Result<Column, String> {
    let (name, unit) = match text.rsplit_once('=') {
        Some((name, given)) => (name, unit(given.trim())?),
        None => (text, 1.0),
    };
    match name.trim() {
        "" => Err("expected a column's name".into()),
        name => Ok(Column { name: name.into(), unit }),
    }
}

fn times(text: &str) -> Result<Column, String> {
    column(text, |unit| format!("1 {unit}").parse::<Span>().map(Span::as_secs_f64).map_err(|e| e.to_string()))
}

fn rates(text: &str) -> Result<Column, String> {
    column(text, |unit| {
        format!("1 {unit}").parse::<Rate>().map(|rate| rate.as_bps() as f64).map_err(|e| e.to_string())
    })
}

fn shares(text: &str) -> Result<Column, String> {
    column(text, |unit| match unit {
        "%" => Ok(0.01),
        _ => Err(format!("unit \"{unit}\"; expected % or none")),
    })
}
