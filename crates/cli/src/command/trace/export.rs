//! `skyhop trace export`: converts a trace into another program's form.
//!
//! A trace is a table, or one of Mahimahi's. Differs from the table: the form has every value, and an end.
//! Leaves out values that the form cannot hold, with a warning.

use super::super::files::{read, write_or_print};
use super::super::reason;
use super::{Optional, ends, refuse_others, span, tell, wrong};
use crate::command::values::whole;
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use skyhop_orbit::Epoch;
use skyhop_trace::netsatbench::{self, LinkEnds};
use skyhop_trace::{Own, Pieces, WrittenTrace, leocc, linkem, mahimahi, pieces, theaterq};
use skyhop_units::{Rate, Span};
use std::fs;
use std::path::{Path, PathBuf};

/// `skyhop trace export`.
#[derive(Debug, Args)]
pub struct TraceExport {
    /// Form to write.
    #[arg(value_enum)]
    pub form: ExportForm,
    /// The trace.
    pub file: PathBuf,
    /// Duration of the trace; if left out, the last row lasts as long as the one before.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = span)]
    pub duration: Option<Span>,
    /// Rate of the link where the trace has none.
    #[arg(long, value_name = "RATE", value_parser = |text: &str| text.parse::<Rate>().map_err(|e| e.to_string()))]
    pub rate: Option<Rate>,
    /// Delay of the link where the trace has none; 0 if left out.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = delay)]
    pub delay: Option<Span>,
    /// Time between packets of linkem-delay and linkem-loss.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = span)]
    pub interval: Option<Span>,
    /// Limit of theaterq in packets; 1000 if left out.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::from(u32::MAX)))]
    pub limit: Option<u32>,
    /// Link of netsatbench, by its ends.
    #[arg(long, value_name = "A,B", value_parser = ends)]
    pub link: Option<LinkEnds>,
    /// UTC of the first epoch of netsatbench; 2000-01-01T00:00:00Z if left out.
    #[arg(long, value_name = "UTC")]
    pub start: Option<Epoch>,
    /// File to write, in place of standard output; a new folder for leocc and netsatbench.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A form that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportForm {
    /// Mahimahi's mm-link: rates.
    Mahimahi,
    /// LeoCC's replayer: rates, and delays every 10 ms; a folder.
    Leocc,
    /// Link'Em's delays, packet by packet.
    LinkemDelay,
    /// Link'Em's losses, packet by packet.
    LinkemLoss,
    /// TheaterQ, the simple form: rates, delays and losses.
    Theaterq,
    /// NetSatBench: rates, delays and losses in whole seconds; a folder.
    Netsatbench,
}

fn delay(text: &str) -> Result<Span, String> {
    super::super::values::seconds(text).map(Span::from_secs_f64)
}

/// Runs the command.
pub fn run(args: &TraceExport) -> Result<(), Failure> {
    let form = args.form.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let option = |name, given, forms| Optional { name, given, forms };
    refuse_others(
        &form,
        &[
            option("--interval", args.interval.is_some(), &["linkem-delay", "linkem-loss"]),
            option("--limit", args.limit.is_some(), &["theaterq"]),
            option("--link", args.link.is_some(), &["netsatbench"]),
            option("--start", args.start.is_some(), &["netsatbench"]),
            option("--delay", args.delay.is_some(), &["leocc", "linkem-delay", "theaterq", "netsatbench"]),
            option("--rate", args.rate.is_some(), &["mahimahi", "leocc", "theaterq", "netsatbench"]),
        ],
    )?;
    let name = args.file.display();
    let in_file = |e: String| wrong(format!("{name}: {e}"));
    let trace = skyhop_trace::read(&read(&args.file)?).map_err(|e| in_file(e.to_string()))?;
    let own =
        Own { rate_bps: args.rate.map(Rate::as_bps), delay: args.delay.unwrap_or(Span::ZERO), loss: 0.0 };
    let mut pieces = pieces(&trace, own, args.duration).map_err(in_file)?;
    let empty = trace.samples.iter().any(|sample| sample.delay.is_none());
    if empty && args.delay.is_none() && !matches!(args.form, ExportForm::Mahimahi | ExportForm::LinkemLoss) {
        pieces.notes.push("times without a delay in the trace have 0; --delay sets the link's own".into());
    }
    let interval = || {
        let none = || wrong(format!("--interval: missing; {form} has packets, and not times"));
        args.interval.ok_or_else(none)
    };
    let written = match args.form {
        ExportForm::Mahimahi => mahimahi::write(&pieces),
        ExportForm::LinkemDelay => linkem::write_delays(&pieces, interval()?),
        ExportForm::LinkemLoss => linkem::write_losses(&pieces, interval()?),
        ExportForm::Theaterq => theaterq::write(&pieces, args.limit.unwrap_or(1000)),
        ExportForm::Leocc | ExportForm::Netsatbench => {
            let folder = new_folder(args.out.as_deref(), &form)?;
            let (files, notes) = files(args, &pieces, folder).map_err(in_file)?;
            write_folder(folder, &files)?;
            tell(&pieces.notes);
            tell(&notes);
            return Ok(());
        }
    };
    let WrittenTrace { text, notes } = written.map_err(in_file)?;
    write_or_print(args.out.as_deref(), &text)?;
    tell(&pieces.notes);
    tell(&notes);
    Ok(())
}

/// Names and contents of files, and notes on values that the format cannot express.
type FolderContents = (Vec<(String, String)>, Vec<String>);

/// The files of a form that is a folder.
fn files(args: &TraceExport, pieces: &Pieces, folder: &Path) -> Result<FolderContents, String> {
    if args.form == ExportForm::Leocc {
        let number = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let [rates, delays] = leocc::write(pieces)?;
        let files =
            vec![(format!("bw_{number}.txt"), rates.text), (format!("delay_{number}.txt"), delays.text)];
        return Ok((files, [rates.notes, delays.notes].concat()));
    }
    let link = args.link.clone().unwrap_or_else(|| LinkEnds::new("a", "b"));
    let start =
        args.start.map_or_else(|| "2000-01-01T00:00:00Z".parse::<Epoch>(), Ok).map_err(|e| e.to_string())?;
    if start.to_string().contains('.') {
        return Err(format!("--start: {start}; expected a whole second"));
    }
    let netsatbench::Epochs { files, notes } = netsatbench::write(pieces, &link, start)?;
    Ok((files, notes))
}

fn new_folder<'a>(out: Option<&'a Path>, form: &str) -> Result<&'a Path, Failure> {
    let folder = out.ok_or_else(|| wrong(format!("--out: missing; {form} is a folder of files")))?;
    if folder.exists() {
        return Err(wrong(format!(
            "--out: {} exists; expected a folder that is yet to be",
            folder.display()
        )));
    }
    Ok(folder)
}

/// Writes a folder completely or not at all.
fn write_folder(folder: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    let beside = PathBuf::from(format!("{}.part", folder.display()));
    let written = fs::create_dir_all(&beside)
        .and_then(|()| files.iter().try_for_each(|(name, text)| fs::write(beside.join(name), text)))
        .and_then(|()| fs::rename(&beside, folder));
    written.map_err(|e| {
        let _ = fs::remove_dir_all(&beside);
        Failure::Run(format!("cannot write {}: {}", folder.display(), reason(&e)))
    })
}
