//! `skyhop gateway`: TCP connections split at the satellite link, on real hosts.
//!
//! Follows docs/gateway.md; `skyhop_gateway` is the daemon.
//! Differs from the simulated splice: configuration files, keys, a firewall's table, and status for an operator.
//! Leaves out systemd's unit, which is in `packaging/`.

mod capture;
mod diagnose;
mod files;
mod lab;
mod lab_hosts;
mod lab_transfers;
mod leg_control;
pub mod programs;
mod run;
mod split_lab;
pub mod split_path;
mod status;
pub mod through;

pub use run::{LogForm, daemon};

use crate::failure::Failure;
use clap::Subcommand;
use std::path::PathBuf;

/// Commands of `skyhop gateway`.
#[derive(Debug, Subcommand)]
pub enum GatewayCommand {
    /// Write the file and the key of a new hub.
    #[command(after_help = NEW_EXAMPLES)]
    New(files::New),
    /// Add a terminal to a hub: its key, its own file, and its entry in the hub's.
    #[command(after_help = ADD_EXAMPLES)]
    Add(files::Add),
    /// Run a gateway until it is stopped.
    #[command(after_help = RUN_EXAMPLES)]
    Run(run::GatewayRun),
    /// Check a gateway's file: print its mistakes, or a summary of it.
    Check {
        /// The gateway's file.
        file: PathBuf,
    },
    /// Print the firewall's table that a gateway would put in place; nothing is changed.
    Rules {
        /// The gateway's file.
        file: PathBuf,
    },
    /// Print the state of a running gateway: associations, connections, and the limit of each.
    #[command(after_help = STATUS_EXAMPLES)]
    Status(status::StatusArgs),
    /// Find faults in this host, the path or the file, and print the changes to make.
    #[command(after_help = DIAGNOSE_EXAMPLES)]
    Diagnose(diagnose::Diagnose),
    /// Try a gateway on this machine: the same transfers without and with one over an emulated satellite path, in a picture.
    #[command(after_help = LAB_EXAMPLES)]
    Lab(lab::Lab),
}

/// Runs the command.
pub fn run(what: &GatewayCommand) -> Result<(), Failure> {
    match what {
        GatewayCommand::New(new) => files::new(new),
        GatewayCommand::Add(add) => files::add(add),
        GatewayCommand::Run(args) => run::run(args),
        GatewayCommand::Check { file } => run::check(file),
        GatewayCommand::Rules { file } => run::rules(file),
        GatewayCommand::Status(args) => status::run(args),
        GatewayCommand::Diagnose(args) => diagnose::run(args),
        GatewayCommand::Lab(args) => lab::run(args),
    }
}

/// Examples of `skyhop gateway`.
pub const EXAMPLES: &str = "\
Examples:
  skyhop gateway new hub.toml                               on the Internet's side
  skyhop gateway add home --hub hub.toml --at 203.0.113.1   a terminal: bring home.toml and home.key there
  skyhop gateway run hub.toml                               on the hub
  skyhop gateway run home.toml                              on the terminal, as root if it intercepts
  skyhop gateway status home.toml --watch

A terminal takes its users' TCP connections and carries them, sealed, in one STP association to the hub, which connects to the servers.";

const NEW_EXAMPLES: &str = "\
Examples:
  skyhop gateway new hub.toml                     hub.toml, hub.key and hub.key.pub

Exit code: 0 done, 1 a file cannot be written, 2 wrong usage or the file exists.";

const ADD_EXAMPLES: &str = "\
Examples:
  skyhop gateway add home --hub hub.toml --at hub.example.org
  skyhop gateway add ship --hub hub.toml --at 203.0.113.1:9000 \\
    --interface eth1 --prefix 10.7.0.0/16

A running hub reads the new terminal on SIGHUP. To revoke a terminal, delete its lines in the hub's file and send SIGHUP.
Exit code: 0 done, 1 a file cannot be written, 2 wrong usage or the terminal exists.";

const RUN_EXAMPLES: &str = "\
Examples:
  skyhop gateway run home.toml
  skyhop gateway run home.toml --capture home.pcapng
  systemctl reload skyhop-gateway                 SIGHUP: the file is read again; a mistake changes nothing

SIGTERM ends a gateway: new connections pass, those that are open have 10 s. The log goes to standard error.
Exit code: 0 ended as told, 1 it could not go on, 2 wrong file, a missing right or program.";

const STATUS_EXAMPLES: &str = "\
Examples:
  skyhop gateway status home.toml
  skyhop gateway status home.toml --watch
  skyhop gateway status home.toml --json | jq .peers

Exit code: 0 done, 1 no gateway answers, 2 wrong usage, or the file has no `metrics`.";

const DIAGNOSE_EXAMPLES: &str = "\
Examples:
  skyhop gateway diagnose home.toml

Exit code: 0 nothing is wrong, 1 something is, 2 wrong usage or file.";

const LAB_EXAMPLES: &str = "\
Examples:
  skyhop gateway lab
  skyhop gateway lab --rate '50 Mbit/s' --loss 0.01 --size '50 MB'
  skyhop gateway lab --congestion reno --alone
  skyhop gateway lab --keep                       with a shell in each host

Needs ip and nft, and root or a system that lets users make namespaces. A user, a terminal, a satellite path, a hub and a server
are network namespaces, which go with the command.
Exit code: 0 done, 1 something that it needs does not work, 2 wrong usage.";
