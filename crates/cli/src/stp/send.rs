//! `skyhop stp send`: sends files or standard input to a serving host.
//!
//! Follows the end-to-end argument: a transfer is complete when the receiver's application has written and hashed it.
//! Differs from a copy: the receiver decides whether it accepts the file's name.
//! Leaves out folders; tar makes a stream of them. Several files are in `several`.

use super::options::{Common, address};
use super::report::Bar;
use super::several::{self, Manner};
use super::upload::{FileSource, UploadTarget, endpoint_for, send_file};
use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// `skyhop stp send`.
#[derive(Debug, Args)]
pub struct Send {
    /// Files to send; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Serving host, with its port unless it is 57824.
    pub to: String,
    /// Name at the receiver, of a single file; by default the file's own.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Number of files sent at the same time, each over a connection of its own.
    #[arg(long, value_name = "FILES", default_value_t = 16, value_parser = crate::command::values::whole::<u32>(1..=32))]
    pub at_once: u32,
    /// Send the missing part of a transfer that broke off; all of it, if the receiver keeps nothing.
    #[arg(long)]
    pub resume: bool,
    /// Print the results as JSON.
    #[arg(long)]
    pub json: bool,
    /// Common options.
    #[command(flatten)]
    pub common: Common,
}

/// Runs the command.
pub fn run(args: &Send) -> Result<(), Failure> {
    let manner = Manner {
        at_once: args.at_once as usize,
        resume: args.resume,
        json: args.json,
        quiet: args.common.quiet,
    };
    let mut sources = several::sources(&args.files, args.name.as_deref(), args.resume)?;
    let address = address(&args.to)?;
    let endpoint = endpoint_for(address, args.common.options(false)?)?;
    let receiver = UploadTarget { shown: &args.to, address, endpoint: &endpoint };
    let sent = match &mut sources[..] {
        [source] => one(args, &receiver, source),
        sources => several::run(&manner, &receiver, sources),
    };
    // Also the word that the connection is broken off is to arrive.
    endpoint.close(Duration::from_secs(2));
    sent
}

fn one(args: &Send, receiver: &UploadTarget<'_>, source: &mut FileSource) -> Result<(), Failure> {
    let mut bar = Bar::new(&source.name, source.size, args.common.quiet);
    let sent = send_file(receiver, source, args.resume, &mut bar);
    bar.clear();
    let sent = sent.map_err(|unsent| unsent.failure)?;
    crate::command::print(&if args.json { format!("{:#}\n", sent.numbers()) } else { sent.lines() })?;
    sent.check(receiver.address)
}
