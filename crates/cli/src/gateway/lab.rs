//! `skyhop gateway lab`: the same transfers without and with a gateway, over an emulated satellite path on this machine.
//!
//! Follows the thesis's topology (HT figure 4.22): user, terminal, satellite, hub, server; each is a network namespace, the path is
//! `skyhop emulate`, and the gateways are those of `skyhop gateway run`, with files as `new` and `add` write them.
//! Differs from bench/gateway.py: one command, two transfers, a picture.
//! Leaves out competing flows and failures.

use super::lab_hosts::{HostRow, LabHosts};
use super::lab_transfers::{Download, LabServer, download, page};
use crate::engine;
use crate::failure::Failure;
use clap::Args;
use skyhop_emulate::namespace::become_able;
use skyhop_emulate::signals;
use skyhop_record::{Chart, ChartAxis, Mark};
use skyhop_units::{Bytes, Rate, Span};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `skyhop gateway lab`.
#[derive(Debug, Args)]
pub struct Lab {
    /// Rate of the satellite path towards the user.
    #[arg(long, value_name = "RATE", default_value = "10 Mbit/s")]
    pub rate: Rate,
    /// Rate of the way back.
    #[arg(long, value_name = "RATE", default_value = "1 Mbit/s")]
    pub back: Rate,
    /// Round trip of the path without queues.
    #[arg(long, value_name = "TIME", default_value = "600 ms")]
    pub rtt: Span,
    /// Part of the packets that the path loses each way.
    #[arg(long, value_name = "PART", default_value_t = 0.0, value_parser = part)]
    pub loss: f64,
    /// Size of the download.
    #[arg(long, value_name = "SIZE", default_value = "10 MB")]
    pub size: Bytes,
    /// The kernel's congestion control at the server, if not the default.
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// A hub alone: nothing is changed at the user's side.
    #[arg(long)]
    pub alone: bool,
    /// Write the picture here.
    #[arg(long, value_name = "FILE", default_value = "gateway-lab.svg")]
    pub out: PathBuf,
    /// Stay there until interrupted, and say how its hosts are entered.
    #[arg(long)]
    pub keep: bool,
}

fn part(text: &str) -> Result<f64, String> {
    let part: Option<f64> = text.parse().ok().filter(|part| (0.0..=0.5).contains(part));
    part.ok_or_else(|| {
        "a part from 0 to 0.5 is expected, such as 0.01 for one packet in a hundred".to_owned()
    })
}

/// The hosts, by number.
const HOSTS: [&str; 5] = ["user", "terminal", "satellite", "hub", "server"];
const TERMINAL: usize = 1;
const SATELLITE: usize = 2;
const HUB: usize = 3;

/// Objects of a page, and their size.
const OBJECTS: usize = 10;
const OBJECT: u64 = 10_000;

/// Transfers without or with a gateway.
struct LabMeasurement {
    download: Download,
    page_s: f64,
    /// Bytes over the satellite link down and back while the download went on.
    carried: [u64; 2],
}

/// Runs the command.
pub fn run(args: &Lab) -> Result<(), Failure> {
    // This comes before other threads, which would keep their old privileges.
    become_able(None)?;
    engine::listen();
    let mut lab = LabHosts::new(&HostRow(&HOSTS))?;
    emulate(&mut lab, args)?;
    let _server = LabServer::start(&lab, args.congestion.as_deref())?;
    let before = measure(&lab, args.size.get())?;
    match args.alone {
        true => hub_alone(&mut lab)?,
        false => pair(&mut lab)?,
    }
    // So that the rate which the first transfer learns is known to the one that is measured, as on a link in use.
    let first = measure(&lab, args.size.get())?;
    let after = if args.alone { first } else { measure(&lab, args.size.get())? };
    if let Some(said) = lab.ended() {
        return Err(Failure::Run(said));
    }
    draw(args, &before, &after)?;
    crate::command::print(&table(args, &before, &after))?;
    if args.keep {
        keep(&mut lab)?;
    }
    Ok(())
}

/// Starts the emulated path, and waits until it is there.
fn emulate(lab: &mut LabHosts, args: &Lab) -> Result<(), Failure> {
    let loss = match args.loss {
        0.0 => String::new(),
        part => format!("loss = {{ kind = \"packets\", probability = {part} }}\n"),
    };
    let delay = Span::from_nanos(args.rtt.as_nanos() / 2);
    let scenario = format!(
        "duration = \"1 d\"\n[links.path]\nrate = \"{}\"\ndelay = \"{delay}\"\n{loss}[links.path.reverse]\nrate = \"{}\"\n\
         [[flows]]\npath = [\"server\", \"path\", \"user\"]\ntraffic = {{ kind = \"bulk\" }}\nreal = true\n",
        args.rate, args.back
    );
    lab.write("path.toml", &scenario)?;
    lab.skyhop(SATELLITE, &["check", "path.toml"])?;
    let words = ["emulate", "path.toml", "--device", "user=left", "--device", "server=right"];
    lab.start(SATELLITE, "emulate", &words)?;
    wait(lab, "the emulated path", |lab| Ok(lab.ip(SATELLITE, &["-br", "link"])?.contains("sky-")))
}

/// A hub and a terminal.
fn pair(lab: &mut LabHosts) -> Result<(), Failure> {
    lab.skyhop(HUB, &["gateway", "new", "hub.toml"])?;
    let at = HostRow::address(HUB, 0);
    let words = ["gateway", "add", "home", "--hub", "hub.toml", "--at", &at, "--interface", "left"];
    lab.skyhop(HUB, &[&words[..], &["--prefix", "10.1.0.0/16"]].concat())?;
    lab.start(HUB, "hub", &["gateway", "run", "hub.toml"])?;
    lab.start(TERMINAL, "terminal", &["gateway", "run", "home.toml"])?;
    wait(lab, "an association", |lab| {
        let said = lab.skyhop(TERMINAL, &["gateway", "status", "home.toml", "--json"]);
        Ok(said.is_ok_and(|said| said.contains("\"up\": true")))
    })
}

/// A hub alone.
fn hub_alone(lab: &mut LabHosts) -> Result<(), Failure> {
    let text = "role = \"alone\"\nmetrics = \"127.0.0.1:9464\"\n\n[intercept]\ninterfaces = [\"left\"]\n";
    lab.write("hub.toml", text)?;
    lab.start(HUB, "hub", &["gateway", "run", "hub.toml"])?;
    wait(lab, "the hub", |lab| Ok(lab.skyhop(HUB, &["gateway", "status", "hub.toml", "--json"]).is_ok()))
}

#[expect(clippy::disallowed_methods, reason = "programs take their time to start")]
pub fn wait(
    lab: &mut LabHosts,
    what: &str,
    true_of: impl Fn(&LabHosts) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    for _ in 0..200 {
        if let Some(said) = lab.ended() {
            return Err(Failure::Run(said));
        }
        if engine::interrupted() || !signals::so_far().none() {
            return Err(Failure::Interrupted);
        }
        if true_of(lab)? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(Failure::Run(format!("{what} is not there after 20 s")))
}

fn measure(lab: &LabHosts, size: u64) -> Result<LabMeasurement, Failure> {
    let go_on = || !engine::interrupted();
    let page_s = page(lab, OBJECTS, OBJECT)?;
    let before = lab.carried(TERMINAL, "right")?;
    let download = download(lab, size, &go_on)?;
    let after = lab.carried(TERMINAL, "right")?;
    Ok(LabMeasurement { download, page_s, carried: [after[0] - before[0], after[1] - before[1]] })
}

fn table(args: &Lab, before: &LabMeasurement, after: &LabMeasurement) -> String {
    let with = if args.alone { "a hub alone" } else { "hub and terminal" };
    let size = args.size.get() as f64;
    let mut out = format!("{:<34}{:>16}{:>18}\n", "", "no gateway", with);
    let mut row = |what: &str, value: &dyn Fn(&LabMeasurement) -> String| {
        let _ = writeln!(out, "{what:<34}{:>16}{:>18}", value(before), value(after));
    };
    row(&format!("download of {}", args.size), &|m| format!("{:.2} s", m.download.seconds));
    row("  of its data, of the link's rate", &|m| {
        format!("{:.0} %", 100.0 * size * 8.0 / m.download.seconds / args.rate.as_bps() as f64)
    });
    row("  bytes back, of those down", &|m| {
        format!("{:.2} %", 100.0 * m.carried[1] as f64 / m.carried[0].max(1) as f64)
    });
    row(&format!("{OBJECTS} objects of {} kB", OBJECT / 1000), &|m| format!("{:.2} s", m.page_s));
    let _ = writeln!(out, "{}: what had come by when", args.out.display());
    out
}

fn draw(args: &Lab, before: &LabMeasurement, after: &LabMeasurement) -> Result<(), Failure> {
    let with = if args.alone { "hub alone" } else { "hub and terminal" };
    let title = format!("{} over {}, {} round trip", args.size, args.rate, args.rtt);
    let chart =
        Chart::new(title, ChartAxis::new("time", "s").from(0.0), ChartAxis::new("received", "MB").from(0.0))
            .samples("no gateway", Mark::Line, before.download.samples.clone())
            .samples(with, Mark::Line, after.download.samples.clone());
    write(&args.out, &chart.svg())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| Failure::Run(format!("{}: {e}", path.display())))
}

/// Stays until interrupted.
#[expect(clippy::disallowed_methods, reason = "somebody looks around meanwhile")]
fn keep(lab: &mut LabHosts) -> Result<(), Failure> {
    let mut out = String::from("the laboratory stays until Ctrl-C; its hosts are entered by\n");
    for (host, name) in HOSTS.into_iter().enumerate() {
        let _ = writeln!(out, "  nsenter --net={} bash    # {name}", lab.path_of(host));
    }
    let _ = writeln!(out, "files and logs: {}", lab.folder.display());
    crate::command::print(&out)?;
    while !engine::interrupted() {
        if let Some(said) = lab.ended() {
            return Err(Failure::Run(said));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
