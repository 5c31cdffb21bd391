//! `skyhop emulate` with gateways on the path: programs at the ends of a [`SplitLab`], until the command has ended.
//!
//! Follows [`skyhop_emulate::session`]: the same options, servers, names and exit code.
//! Differs from it: each leg has results of its own, in a folder of its own; `summary.json` has those of all, and the gateways' status.
//! Leaves out devices of this machine.

use super::split_lab::{LabSettings, LegOutcome, SplitLab};
use super::split_path::SplitPath;
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use skyhop_emulate::attend::{ProgramHosts, attend};
use skyhop_emulate::clock::RunClock;
use skyhop_emulate::control::ControlSocket;
use skyhop_emulate::plan::devices;
use skyhop_emulate::session::{EmulationOptions, known};
use skyhop_emulate::{inside, signals};
use skyhop_record::{Folder, summary_text};
use skyhop_scenario::Loaded;
use skyhop_units::Time;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

/// The outcome of programs behind gateways.
pub struct SplitOutcome {
    /// `summary.json`.
    pub summary: Value,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Reasons for which the run is not valid; empty if it is.
    pub objections: Vec<String>,
    /// The legs, from the user's end.
    pub legs: Vec<LegOutcome>,
}

/// Emulates the path while the command runs; without one, for the scenario's duration. `begun` is told the names of hosts, from the
/// user to the server, when all is there. Results go into `out`.
///
/// # Errors
///
/// The system does not allow it, or a leg or a gateway has failed.
pub fn emulate(
    loaded: &Loaded,
    path: &SplitPath<'_>,
    options: &EmulationOptions,
    out: Option<&Path>,
    begun: impl FnOnce(&[String]),
) -> Result<SplitOutcome, Failure> {
    for command in [&options.command, &options.server] {
        command.first().map_or(Ok(()), |name| inside::find(name).map(drop))?;
    }
    options.tcp.as_deref().map_or(Ok(()), known)?;
    if let Some((key, ..)) = devices(&loaded.scenario, &options.devices).into_iter().next() {
        let message = "hosts beyond gateways are on this machine alone; expected \"skyhop gateway run\" on real hosts, and an \
                       emulation without splices for the links between them";
        return Err(match key.starts_with("--") {
            true => Failure::Scenario(format!("{key}: {message}")),
            false => Failure::Scenario(loaded.problem(&key, message).to_string()),
        });
    }
    let folder = out.map(Folder::create).transpose()?;
    let settings = LabSettings {
        seed: options.seed.unwrap_or(loaded.scenario.seed),
        law: options.tcp.as_deref(),
        sysctls: &options.sysctls,
        options: leg_options(options),
        pcap: options.pcap.as_deref(),
    };
    let mut lab = SplitLab::new(loaded, path, &settings)?;
    let mut control = lab.control();
    let _control = ControlSocket::with(move |asked| control.answer(asked));
    let names = lab.names();
    let told: Vec<String> = names.iter().map(|(name, _)| name.clone()).collect();
    begun(&told);
    let clock = RunClock::start();
    let (over, ended) = channel();
    let mut over = Some(over);
    let until = (options.command.is_empty()).then(|| Time::ZERO + loaded.scenario.duration);
    let [user, server] = &lab.ends();
    let hosts = ProgramHosts { user, server, server_behind: false, routes: false, names: hosts_file(&names) };
    let mut failed = None;
    let exit_code = attend(&hosts, options, &ended, || {
        // The path is gone with a leg or a gateway, and the command would wait for ever.
        failed = failed.take().or_else(|| lab.ended());
        if failed.is_some() || until.is_some_and(|until| clock.now() >= until) {
            over = None;
        }
        signals::so_far()
    });
    if let Some(said) = failed.or_else(|| lab.ended()) {
        return Err(Failure::Run(said));
    }
    let (exit_code, wall_s) = (exit_code?, clock.now().as_secs_f64());
    let status = lab.status();
    let legs = lab.end()?;
    let objections: Vec<String> = legs.iter().flat_map(LegOutcome::objections).collect();
    let gateways: Map<String, Value> = status.into_iter().collect();
    let emulation = json!({
        "valid": objections.is_empty(),
        "objections": objections,
        "user": told[0],
        "server": told[told.len() - 1],
        "command": options.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
        "exit_code": exit_code,
        "tcp_congestion_control": options.tcp,
    });
    let leg = |leg: &LegOutcome| json!({ "nodes": leg.nodes, "summary": leg.summary });
    let summary = json!({
        "scenario": loaded.name,
        "scenario_sha256": loaded.sha256,
        "wall_s": wall_s,
        "emulation": emulation,
        "legs": legs.iter().map(leg).collect::<Vec<_>>(),
        "gateways": gateways,
    });
    if let Some(mut folder) = folder {
        legs.iter().try_for_each(|leg| keep(leg, &mut folder))?;
        folder.write("summary.json", summary_text(&summary).as_bytes())?;
        folder.commit()?;
    }
    Ok(SplitOutcome { summary, exit_code, objections, legs })
}

/// Copies a leg's files, each with the leg's name before its own: leg-1-flows.parquet.
fn keep(leg: &LegOutcome, folder: &mut Folder) -> Result<(), Failure> {
    let failed = |path: &Path, e: std::io::Error| Failure::Run(format!("{}: {e}", path.display()));
    let entries = std::fs::read_dir(&leg.folder).map_err(|e| failed(&leg.folder, e))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    let leg = leg.folder.file_name().unwrap_or_default().to_string_lossy();
    for path in paths {
        let bytes = std::fs::read(&path).map_err(|e| failed(&path, e))?;
        folder.write(&format!("{leg}-{}", path.file_name().unwrap_or_default().to_string_lossy()), &bytes)?;
    }
    Ok(())
}

/// Options of a leg's `skyhop emulate`.
fn leg_options(options: &EmulationOptions) -> Vec<String> {
    let mut words = vec!["--late".to_owned(), options.limits.late.to_string()];
    words.extend(["--memory".to_owned(), format!("{} B", options.memory)]);
    words.extend((!options.offload).then(|| "--no-offload".to_owned()));
    words
}

/// `/etc/hosts` of the programs: names from the user to the server, which have these names besides if no other host has.
fn hosts_file(hosts: &[(String, Vec<IpAddr>)]) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    let last = hosts.len() - 1;
    for (place, (name, addresses)) in hosts.iter().enumerate() {
        let alias = match place {
            0 => "user",
            place if place == last => "server",
            _ => name,
        };
        let free = !hosts.iter().any(|(other, _)| other == alias);
        let names = if free { format!("{name} {alias}") } else { name.clone() };
        text.extend(addresses.iter().map(|address| format!("{address} {names}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_server_have_these_names_unless_others_have() {
        let hosts = |names: [&str; 3]| {
            let all = names
                .into_iter()
                .zip(1u8..)
                .map(|(name, n)| (name.to_owned(), vec![IpAddr::from([10, n, 0, 1])]));
            hosts_file(&all.collect::<Vec<_>>()).lines().skip(2).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            hosts(["ship", "hub", "shore"]),
            "10.1.0.1 ship user; 10.2.0.1 hub; 10.3.0.1 shore server"
        );
        assert_eq!(hosts(["user", "server", "cache"]), "10.1.0.1 user; 10.2.0.1 server; 10.3.0.1 cache");
    }
}
