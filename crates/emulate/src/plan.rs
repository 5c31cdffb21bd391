//! Which flows are left to programs, and the hosts at their ends.
//!
//! Follows the scenario's `real`; where no flow says so, its first one is. A host is an end of such a flow, with the address that it has in
//! the simulator.
//! Differs from the simulator: two hosts have one way between them, as packets of programs do not say which flow they are of.
//! Leaves out how hosts are made.

use crate::error::Error;
use skyhop_scenario::{Flow, Scenario, Traffic};
use skyhop_sim::Simulation;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name in the scenario.
    pub name: String,
    /// Its address. A host that is a device of this machine has the device's own instead.
    pub v4: Ipv4Addr,
    /// The device of this machine that it is.
    pub device: Option<String>,
}

impl Host {
    /// Its address of IPv6: the other one in 2001:db8::/96.
    pub fn v6(&self) -> Ipv6Addr {
        let [a, b, c, d] = self.v4.octets();
        let pair = |high, low| u16::from(high) << 8 | u16::from(low);
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, pair(a, b), pair(c, d))
    }
}

/// A flow that is left to programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealFlow {
    /// Its index in the scenario.
    pub flow: usize,
    /// Hosts at its `from` and its `to`.
    pub ends: [usize; 2],
}

/// Hosts, and who they are to the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Hosts in the order in which flows name them.
    pub hosts: Vec<Host>,
    /// Flows that are left to programs.
    pub flows: Vec<RealFlow>,
    /// Where the command runs: `user` to all others.
    pub user: usize,
    /// Where the server runs.
    pub server: usize,
    /// The host where the command runs if that is another one than the user, which is a device then; `None` where all hosts are devices.
    pub at: Option<usize>,
    /// No flow of the scenario says `real`: the first was taken.
    pub by_default: bool,
}

/// Which host is which device of this machine, each with the option or the key that says so.
pub type Devices = [(String, String, String)];

/// Devices of the scenario's nodes; those that the command line names come before them.
pub fn devices(scenario: &Scenario, told: &[(String, String)]) -> Vec<(String, String, String)> {
    let mut all: Vec<_> =
        told.iter().map(|(host, device)| ("--device".to_owned(), host.clone(), device.clone())).collect();
    for (name, node) in &scenario.nodes {
        if let Some(device) = node.device.as_ref().filter(|_| !told.iter().any(|(host, _)| host == name)) {
            all.push((format!("nodes.{name}.device"), name.clone(), device.clone()));
        }
    }
    all
}

/// Indices of the flows that are left to programs.
pub fn real_flows(scenario: &Scenario) -> Vec<usize> {
    let said: Vec<usize> =
        scenario.flows.iter().enumerate().filter(|(_, f)| f.real).map(|(i, _)| i).collect();
    if said.is_empty() && !scenario.flows.is_empty() { vec![0] } else { said }
}

/// Names of the ends of a flow.
fn ends(flow: &Flow) -> [&str; 2] {
    match &flow.path {
        Some(path) => [path.first(), path.last()].map(|end| end.map_or("", String::as_str)),
        None => [&flow.from, &flow.to].map(|end| end.as_ref().map_or("", |group| group.name())),
    }
}

impl Plan {
    /// The hosts of a simulation that was made for the scenario with [`real_flows`]. `at` says where the command runs.
    ///
    /// # Errors
    ///
    /// No flow; two flows between the same hosts; a host that there is not; a device that is two hosts.
    pub fn of(
        scenario: &Scenario,
        simulation: &Simulation,
        at: Option<&str>,
        devices: &Devices,
    ) -> Result<Self, Error> {
        let mut plan = Self {
            hosts: Vec::new(),
            flows: Vec::new(),
            user: 0,
            server: 0,
            at: None,
            by_default: !scenario.flows.iter().any(|f| f.real),
        };
        for flow in real_flows(scenario) {
            let addresses = simulation.addresses(flow).unwrap_or([Ipv4Addr::UNSPECIFIED; 2]);
            let names = ends(&scenario.flows[flow]);
            let [from, to] = [0, 1].map(|end| plan.host(names[end], addresses[end]));
            if let Some(other) =
                plan.flows.iter().find(|other| other.ends == [from, to] || other.ends == [to, from])
            {
                let (before, [a, b]) = (scenario.flow_name(other.flow), names);
                return Err(Error::Scenario(
                    format!("flows.{flow}.real"),
                    format!(
                        "programs of {a} and {b} go the way of flow {before} already; say `real` of one of them"
                    ),
                ));
            }
            plan.flows.push(RealFlow { flow, ends: [from, to] });
        }
        let Some(RealFlow { flow, ends }) = plan.flows.first().cloned() else {
            return Err(Error::Scenario(
                "flows".into(),
                "there is no flow, so there are no hosts for programs".into(),
            ));
        };
        let named = |name: &str| ends.into_iter().find(|host| plan.hosts[*host].name == name);
        // Who asks is the user; of a transfer, who gets it.
        let asks = scenario.flows[flow].traffic.asks()
            || matches!(scenario.flows[flow].traffic, Traffic::Ping { .. });
        let by_traffic = ends[usize::from(!asks)];
        let other = |host: usize| if host == ends[0] { ends[1] } else { ends[0] };
        plan.user = named("user").or_else(|| named("server").map(other)).unwrap_or(by_traffic);
        plan.attach(devices)?;
        if let Some(name) = at {
            plan.user = plan.named("--at", name)?;
            if let Some(device) = &plan.hosts[plan.user].device {
                let why = format!(
                    "{name} is the device {device}, so that no command can run there but on machines behind it"
                );
                return Err(Error::Scenario("--at".into(), why));
            }
        }
        let peer = plan.flows.iter().find_map(|flow| match flow.ends {
            [from, to] if from == plan.user => Some(to),
            [from, to] if to == plan.user => Some(from),
            _ => None,
        });
        plan.server = peer.unwrap_or(plan.user);
        let here = |host: &usize| plan.hosts[*host].device.is_none();
        plan.at = [plan.user, plan.server].into_iter().chain(0..plan.hosts.len()).find(here);
        Ok(plan)
    }

    /// A host by its name, which `key` has.
    fn named(&self, key: &str, name: &str) -> Result<usize, Error> {
        self.hosts.iter().position(|host| host.name == name).ok_or_else(|| {
            let names: Vec<_> = self.hosts.iter().map(|host| host.name.as_str()).collect();
            Error::Scenario(key.into(), format!("no host \"{name}\"; there are {}", names.join(", ")))
        })
    }

    /// Says which hosts are devices.
    fn attach(&mut self, devices: &Devices) -> Result<(), Error> {
        for (key, name, device) in devices {
            let host = self.named(key, name)?;
            let wrong = |why: String| Err(Error::Scenario(key.clone(), why));
            if let Some(before) = &self.hosts[host].device {
                return wrong(format!("{name} is the device {before} already"));
            }
            if let Some(other) = self.hosts.iter().find(|other| other.device.as_ref() == Some(device)) {
                return wrong(format!("{device} is the device of {} already", other.name));
            }
            self.hosts[host].device = Some(device.clone());
        }
        Ok(())
    }

    fn host(&mut self, name: &str, v4: Ipv4Addr) -> usize {
        self.hosts.iter().position(|host| host.name == name).unwrap_or_else(|| {
            self.hosts.push(Host { name: name.to_owned(), v4, device: None });
            self.hosts.len() - 1
        })
    }

    /// The table of names for programs of a host: `/etc/hosts`.
    pub fn names(&self) -> String {
        let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
        // Machines behind a device have names of their own, which nobody here knows.
        for (index, host) in self.hosts.iter().enumerate().filter(|(_, host)| host.device.is_none()) {
            let mut names = vec![host.name.as_str()];
            // A name that a host has in the scenario is that host's.
            let free = |name: &str| !self.hosts.iter().any(|other| other.name == name);
            names.extend((index == self.user && free("user")).then_some("user"));
            names.extend((index == self.server && free("server")).then_some("server"));
            let names = names.join(" ");
            text += &format!("{} {names}\n{} {names}\n", host.v4, host.v6());
        }
        text
    }
}
