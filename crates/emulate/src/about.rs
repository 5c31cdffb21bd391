//! The parts of an emulation: what is asked of it, what it has while it runs, and what it leaves.
//!
//! Leaves out what is done with them, which `session`, `attend` and `report` have.

use crate::capture::EmulationCapture;
use crate::device::Attached;
use crate::driver::LoopState;
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::plan::HostPlan;
use crate::tun::Offloads;
use crate::verdict::{LatenessLimits, RunLateness};
use skyhop_record::Meta;
use skyhop_results::RunResult;
use skyhop_scenario::{Loaded, Scenario};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Choices beside the scenario.
#[derive(Debug, Clone)]
pub struct EmulationOptions {
    /// Seed of all chance; the scenario's if `None`.
    pub seed: Option<u64>,
    /// The host where the command runs.
    pub at: Option<String>,
    /// Frames may stand for many packets.
    pub offload: bool,
    /// Limits beyond which the run is not valid.
    pub limits: LatenessLimits,
    /// Bytes of packets under way at most.
    pub memory: usize,
    /// The kernel's congestion control in all hosts.
    pub tcp: Option<String>,
    /// Parameters of the kernel's network in all hosts, by their names below /proc/sys/net: ipv4/tcp_rmem.
    pub sysctls: Vec<(String, String)>,
    /// A file for a capture of the hosts' packets.
    pub pcap: Option<PathBuf>,
    /// The command that runs at the server; servers of skyhop's own if empty.
    pub server: Vec<OsString>,
    /// The folder that skyhop's own server shows.
    pub folder: Option<PathBuf>,
    /// The command; without one the run lasts as long as the scenario says, or where a host is a device until it is stopped.
    pub command: Vec<OsString>,
    /// The command is a shell with jobs of its own, which are to have the terminal.
    pub shell: bool,
    /// Hosts that are devices of this machine, each with the device; they come before those of the scenario.
    pub devices: Vec<(String, String)>,
    /// A program that begins inside a host by calling [`crate::inside::main`], with words before its arguments; this program's own
    /// file if empty.
    pub inside: Vec<OsString>,
}

impl Default for EmulationOptions {
    fn default() -> Self {
        Self {
            seed: None,
            at: None,
            offload: true,
            limits: LatenessLimits::default(),
            memory: 1 << 30,
            tcp: None,
            sysctls: Vec::new(),
            pcap: None,
            server: Vec::new(),
            folder: None,
            command: Vec::new(),
            shell: false,
            devices: Vec::new(),
            inside: Vec::new(),
        }
    }
}

/// The outcome of an emulation.
pub struct EmulationOutcome {
    /// Results of simulated flows and of links.
    pub result: RunResult,
    /// Everything else of a summary.
    pub meta: Meta,
    /// The command's exit code.
    pub exit_code: u8,
    /// Why the run is not valid; empty if it is.
    pub objections: Vec<String>,
    /// Lateness of the run.
    pub lateness: RunLateness,
}

/// A host of the kernel's.
pub(crate) struct Furnished {
    /// Its own; that of this machine where it is a device.
    pub namespace: Namespace,
    pub netlink: Netlink,
    /// The device that leads into the network.
    pub tun: String,
    pub attached: Option<Attached>,
}

/// The loop and all that it does not own.
pub(crate) struct About<'a> {
    pub loaded: &'a Loaded,
    pub options: &'a EmulationOptions,
    /// The scenario, which lasts as long as the command does.
    pub scenario: Scenario,
    pub plan: HostPlan,
    pub hosts: Vec<Furnished>,
    pub offloads: Offloads,
    pub capture: Option<EmulationCapture>,
    pub shared: Arc<LoopState>,
}

impl About<'_> {
    /// True of a run that lasts as long as the scenario says: nothing else says when it is over.
    pub fn ends_by_itself(&self) -> bool {
        self.options.command.is_empty() && self.hosts.iter().all(|host| host.attached.is_none())
    }
}
