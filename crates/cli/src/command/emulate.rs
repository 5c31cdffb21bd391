//! `skyhop emulate`: runs real programs over the paths of a scenario.
//!
//! Follows [`skyhop_emulate::session`]; the exit code is that of the program.
//! Differs from `run`: results go to standard error, as standard output belongs to the program.
//! Leaves out the programs themselves.

use crate::engine;
use crate::failure::Failure;
use crate::gateway::programs;
use crate::gateway::split_path::{SplitEnds, SplitPath, split_path};
use clap::{Args as ClapArgs, Subcommand};
use skyhop_emulate::driver::LoopState;
use skyhop_emulate::plan::{self, HostPlan};
use skyhop_emulate::profile::{PROFILES, Profile, ProfileEnds};
use skyhop_emulate::session::{EmulationOptions, EmulationOutcome, emulate};
use skyhop_emulate::verdict::LatenessLimits;
use skyhop_emulate::{Error, control, inside, namespace, signals};
use skyhop_orbit::places;
use skyhop_record::{Folder, Meta, summary_json, summary_text, write_run};
use skyhop_scenario::{Loaded, parse_set};
use skyhop_units::{Bytes, Span};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// `skyhop emulate`.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Emulate {
    /// Commands for an emulation that is running.
    #[command(subcommand)]
    pub what: Option<RunningCommand>,
    /// The scenario; `-` is standard input. Its flows with `real = true`, or else its first one, are left to real programs, one
    /// with `real = "from"` or `"to"` only at that end; all others are simulated in the same queues.
    #[arg(required_unless_present = "profile")]
    pub file: Option<PathBuf>,
    /// A common path, in place of a file: geo, leo, meo, iridium, starlink, dial-return.
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub profile: Option<String>,
    /// Place of the user in a profile with moving satellites: a city, or lat,lon in degrees.
    #[arg(long, value_name = "PLACE", requires = "profile", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Place of the other end.
    #[arg(long, value_name = "PLACE", requires = "profile", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Print the profile's scenario, to be saved and changed, and exit.
    #[arg(long, requires = "profile")]
    pub print: bool,
    /// The program, which runs at the user's end. There the other end has the name `server`, unless a host is called so. Without
    /// a program, the run lasts for the scenario's duration.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Run a shell at the user's end.
    #[arg(long, conflicts_with = "command")]
    pub shell: bool,
    /// Host where the program runs; by default the end called "user", else the end that sends requests, or that receives the transfer.
    #[arg(long, value_name = "HOST")]
    pub at: Option<String>,
    /// A host that is a device of this machine, so that machines behind it are in the network. May be repeated for several hosts.
    #[arg(long = "device", value_name = "HOST=DEVICE", value_parser = device)]
    pub devices: Vec<(String, String)>,
    /// Program for the other end, run by `sh -c`, in place of skyhop's own servers: echo (port 7), discard (9), and files over HTTP (80).
    #[arg(long, value_name = "COMMAND")]
    pub server: Option<OsString>,
    /// Folder of the files that skyhop's own server offers. http://server/bytes/10MB always exists.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Write summary.json, the tables and the scenario's captures into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the summary as JSON to standard error.
    #[arg(long)]
    pub json: bool,
    /// Capture the packets of all hosts, with their whole payload, in this file for Wireshark.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Congestion control of the kernel in all hosts: cubic, reno, bbr.
    #[arg(long, value_name = "NAME")]
    pub tcp: Option<String>,
    /// A kernel parameter of the network in all hosts: net.ipv4.tcp_rmem="4096 131072 67108864"; may be repeated.
    #[arg(long = "sysctl", value_name = "NAME=VALUE", value_parser = sysctl)]
    pub sysctls: Vec<(String, String)>,
    /// Read and write each packet alone and with its checksum, as captures inside a host then show it.
    #[arg(long)]
    pub no_offload: bool,
    /// Largest lateness of 99 of 100 packets in a valid run.
    #[arg(long, value_name = "TIME", default_value = "150 us")]
    pub late: Span,
    /// Largest memory for packets in flight; beyond it they are dropped, and the run is not valid.
    #[arg(long, value_name = "SIZE", default_value = "1 GB")]
    pub memory: Bytes,
    /// Seed of all random streams, in place of the scenario's.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::values::whole::<u64>(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Change one value of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Exit with 3 if the run is not valid.
    #[arg(long)]
    pub strict: bool,
    /// Print only the program's output.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Commands for an emulation that is running.
#[derive(Debug, Subcommand)]
pub enum RunningCommand {
    /// Change rate, delay or losses of its links; waiting packets leave under the new values.
    Set {
        /// A key and its value, as for `--set`: links.satellite.delay="300 ms".
        #[arg(required = true, value_name = "PATH=VALUE")]
        sets: Vec<String>,
        /// Process id of the emulation, if several are running.
        #[arg(long)]
        pid: Option<u32>,
    },
    /// Show rates, delays, queues and lateness every second, until it ends.
    Watch {
        /// Process id of the emulation, if several are running.
        #[arg(long)]
        pid: Option<u32>,
        /// Print each sample as a line of JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Exit code of `--strict` for a run that is not valid.
const NOT_VALID: u8 = 3;

/// Emulates, and returns the exit code of the program.
pub fn run(args: &Emulate) -> Result<u8, Failure> {
    if let Some(what) = &args.what {
        return match what {
            RunningCommand::Set { sets, pid } => {
                control::set(control::find(*pid)?, sets).map_err(Failure::from).map(|()| 0)
            }
            RunningCommand::Watch { pid, json } => super::watch::watch(*pid, *json).map(|()| 0),
        };
    }
    let loaded = match (&args.profile, &args.file) {
        (Some(name), _) => {
            let text = profile(name, args)?;
            if args.print {
                return super::print(&text).map(|()| 0);
            }
            let sets = args.sets.iter().map(|set| parse_set(set)).collect::<Result<Vec<_>, _>>()?;
            skyhop_scenario::parse(text.as_bytes(), name, &sets)?
        }
        (None, file) => engine::load(file.as_deref().unwrap_or(Path::new("-")), &args.sets)?,
    };
    let mut command = args.command.clone();
    if args.shell {
        command = vec![inside::shell()];
    }
    // This comes before other threads, which would keep their old privileges.
    let devices = plan::devices(&loaded.scenario, &args.devices);
    namespace::become_able(devices.first().map(|(_, _, device)| device.as_str()))?;
    signals::listen();
    let path = split_path(&loaded, SplitEnds::Programs(args.at.as_deref()))?;
    let folder = match path {
        None => args.out.as_deref().map(Folder::create).transpose()?,
        Some(_) => None,
    };
    let server = args.server.iter().flat_map(|line| ["sh".into(), "-c".into(), line.clone()]).collect();
    let options = EmulationOptions {
        seed: args.seed,
        at: args.at.clone(),
        offload: !args.no_offload,
        limits: LatenessLimits { late: args.late, ..LatenessLimits::default() },
        memory: args.memory.get() as usize,
        tcp: args.tcp.clone(),
        sysctls: args.sysctls.clone(),
        pcap: args.pcap.clone(),
        server,
        folder: Some(args.folder.clone()),
        command,
        shell: args.shell,
        devices: args.devices.clone(),
        inside: Vec::new(),
    };
    if let Some(path) = path {
        return through_gateways(args, &loaded, &path, &options);
    }
    let (mut told, mut hosts) = (args.quiet, None);
    let done = emulate(&loaded, &options, |plan: &HostPlan, _: &LoopState| {
        let hosts = hosts.get_or_insert_with(|| command_hosts(plan));
        if !std::mem::replace(&mut told, true) && plan.by_default {
            let flow = &plan.flows[0];
            let name = loaded.scenario.flow_name(flow.flow);
            tell(&format!(
                "skyhop: flow {name} is left to programs; say `real = true` of those that are to be; the command runs at {}\n",
                hosts.0
            ));
        }
        signals::so_far()
    });
    let EmulationOutcome { result, meta, exit_code, objections, traces, .. } = match done {
        Ok(outcome) => outcome,
        Err(Error::Scenario(key, why)) if !key.starts_with("--") => {
            return Err(Failure::Scenario(loaded.problem(&key, why).to_string()));
        }
        Err(why) => return Err(why.into()),
    };
    if let Some(mut folder) = folder {
        write_run(&mut folder, &result, &meta).map_err(|e| Failure::Run(e.to_string()))?;
        for (name, text) in &traces {
            folder.write(name, text.as_bytes())?;
        }
        folder.commit()?;
    }
    if args.json {
        tell(&summary_text(&summary_json(&result, &meta)));
    } else if !args.quiet {
        result.warnings.iter().for_each(|warning| tell(&format!("warning: {warning}\n")));
        tell(&super::show::emulation(&result, &meta));
    }
    if let Some((here, Some(there))) = hosts.filter(|_| !args.quiet && unused(&meta)) {
        tell(&format!(
            "skyhop: no packet of a program entered the network; the command ran at {here}, {there} is across it (--at {there})\n"
        ));
    }
    for why in objections.iter().filter(|_| !args.quiet) {
        tell(&format!("skyhop: the run is not valid: {why}\n"));
    }
    Ok(if args.strict && !objections.is_empty() && exit_code == 0 { NOT_VALID } else { exit_code })
}

/// Emulates a path that gateways split, and returns the exit code of the program.
fn through_gateways(
    args: &Emulate,
    loaded: &Loaded,
    path: &SplitPath<'_>,
    options: &EmulationOptions,
) -> Result<u8, Failure> {
    let begun = |hosts: &[String]| {
        if let (false, [user, gateways @ .., server]) = (args.quiet, hosts) {
            let gateways = gateways.join(" and ");
            tell(&format!(
                "skyhop: real gateways at {gateways}; the command runs at {user}, the server at {server}\n"
            ));
        }
    };
    let done = programs::emulate(loaded, path, options, args.out.as_deref(), begun)?;
    if args.json {
        tell(&summary_text(&done.summary));
    } else if !args.quiet {
        for leg in &done.legs {
            tell(&format!("\n{} to {}:\n{}\n", leg.nodes[0], leg.nodes[1], leg.said));
        }
    }
    for why in done.objections.iter().filter(|_| !args.quiet) {
        tell(&format!("skyhop: the run is not valid: {why}\n"));
    }
    Ok(if args.strict && !done.objections.is_empty() && done.exit_code == 0 {
        NOT_VALID
    } else {
        done.exit_code
    })
}

/// Names of the command's host, and of the one at the other end of the network if that is no device.
fn command_hosts(plan: &HostPlan) -> (String, Option<String>) {
    let name = |host: usize| plan.hosts[host].name.clone();
    let here = plan.at.unwrap_or(plan.user);
    let there = plan.flows.iter().flat_map(|flow| flow.ends).find(|host| *host != here);
    (name(here), there.filter(|host| plan.hosts[*host].device.is_none()).map(name))
}

/// Returns true if no program has sent a packet through the network.
fn unused(meta: &Meta) -> bool {
    let mut hosts = meta.emulation["hosts"].as_object().into_iter().flat_map(|hosts| hosts.values());
    hosts.all(|host| host["read_packets"] == 0)
}

/// Writes to standard error; a closed pipe is ignored.
fn tell(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// The scenario of a profile.
fn profile(name: &str, args: &Emulate) -> Result<String, Failure> {
    let wrong = |message: String| Failure::Scenario(message);
    let profile = Profile::named(name).ok_or_else(|| {
        let known: Vec<_> = PROFILES.iter().map(|one| format!("\n  {:12} {}", one.name, one.about)).collect();
        wrong(format!("--profile: there is no \"{name}\"; there are{}", known.concat()))
    })?;
    let Some(cities) = profile.cities else {
        return match args.from.is_some() || args.to.is_some() {
            true => Err(wrong(format!(
                "--from, --to: nothing of profile {name} moves, so that places have no effect"
            ))),
            false => Ok(profile.scenario(None)),
        };
    };
    let place = |option: &str, told: &Option<String>, default: &str| {
        let text = told.as_deref().unwrap_or(default);
        let found = places::find(text).map_err(|e| wrong(format!("{option}: {e}")))?;
        let degrees = |rad: f64| (rad.to_degrees() * 1e6).round() / 1e6;
        // As it was given: "New York" and not new-york. It is in a comment, on one line.
        let name = text.trim().replace(char::is_control, " ");
        Ok::<_, Failure>((name, degrees(found.latitude_rad), degrees(found.longitude_rad)))
    };
    let ends = ProfileEnds {
        user: place("--from", &args.from, cities[0])?,
        server: place("--to", &args.to, cities[1])?,
    };
    Ok(profile.scenario(Some(&ends)))
}

/// A host and its device.
fn device(text: &str) -> Result<(String, String), String> {
    match text.split_once('=').map(|(host, device)| (host.trim(), device.trim())) {
        Some((host, device)) if !host.is_empty() && !device.is_empty() => {
            Ok((host.to_owned(), device.to_owned()))
        }
        _ => Err("expected a host and a device, such as user=eth1".to_owned()),
    }
}

/// The path of a parameter below /proc/sys/net, and its value.
fn sysctl(text: &str) -> Result<(String, String), String> {
    let expected = || "expected a name and a value, such as net.ipv4.tcp_window_scaling=0".to_owned();
    let (name, value) = text.split_once('=').ok_or_else(expected)?;
    match namespace::parameter_path(name.trim()) {
        Ok(path) => Ok((path, value.trim().to_owned())),
        Err(why) => Err(format!("{why}; {}", expected())),
    }
}
