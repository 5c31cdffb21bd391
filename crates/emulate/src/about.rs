//! The parts of an emulation: its options, its state while it runs, and its outcome.
//!
//! Leaves out their use, which is in `session`, `attend` and `report`.

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
use skyhop_units::Rate;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of an emulation in addition to the scenario.
#[derive(Debug, Clone)]
pub struct EmulationOptions {
    /// Seed of all random streams; the scenario's if `None`.
    pub seed: Option<u64>,
    /// Host on which the command runs.
    pub at: Option<String>,
    /// True if frames may carry many packets.
    pub offload: bool,
    /// Limits of lateness for a valid run.
    pub limits: LatenessLimits,
    /// Largest number of bytes of packets in flight.
    pub memory: usize,
    /// Congestion control of the kernel's TCP in all hosts.
    pub tcp: Option<String>,
    /// Parameters of the kernel's network in all hosts, by their names below /proc/sys/net, such as ipv4/tcp_rmem.
    pub sysctls: Vec<(String, String)>,
    /// File for a capture of the hosts' packets.
    pub pcap: Option<PathBuf>,
    /// Command that runs on the server's host; skyhop's own servers if empty.
    pub server: Vec<OsString>,
    /// Folder served by skyhop's own server.
    pub folder: Option<PathBuf>,
    /// The command. Without one the run lasts as long as the scenario; or, if a host is a device, until it is stopped.
    pub command: Vec<OsString>,
    /// True if the command is a shell with job control, which needs the terminal.
    pub shell: bool,
    /// Hosts that are devices of this machine, each with its device; they take precedence over those of the scenario.
    pub devices: Vec<(String, String)>,
    /// Program that starts inside a host by calling [`crate::inside::main`], with leading arguments; this program's own file if
    /// empty.
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
    /// Other data of a summary.
    pub meta: Meta,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Reasons for which the run is not valid; empty if it is.
    pub objections: Vec<String>,
    /// Lateness of the run.
    pub lateness: RunLateness,
    /// Names and contents of files: the path of each flow of programs over time, there and back, as traces of a link.
    pub traces: Vec<(String, String)>,
}

/// A host with its namespace and its device.
pub(crate) struct Furnished {
    /// Its own namespace; that of this machine if the host is a device.
    pub namespace: Namespace,
    pub netlink: Netlink,
    /// The device that leads into the network.
    pub tun: String,
    pub attached: Option<Attached>,
    /// Rate of its interface; `None` if its device takes all packets at once.
    pub interface: Option<Rate>,
}

/// The loop, and the parts of an emulation that it does not own.
pub(crate) struct About<'a> {
    pub loaded: &'a Loaded,
    pub options: &'a EmulationOptions,
    /// The scenario, with a duration that lasts as long as the command.
    pub scenario: Scenario,
    pub plan: HostPlan,
    pub hosts: Vec<Furnished>,
    pub offloads: Offloads,
    pub capture: Option<EmulationCapture>,
    pub shared: Arc<LoopState>,
}

impl About<'_> {
    /// Returns true if the run ends with the scenario's duration, since nothing else ends it.
    pub fn ends_by_itself(&self) -> bool {
        self.options.command.is_empty() && self.hosts.iter().all(|host| host.attached.is_none())
    }
}
