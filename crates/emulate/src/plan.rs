//! Selection of the flows of programs, and of the hosts at their ends.
//!
//! Follows the scenario's `real`; if no flow sets it, the first flow is real. A host is an end of such a flow, with its address in
//! the simulator.
//! Differs from the simulator: two hosts have one path between them, since packets of programs do not name their flow.
//! Leaves out the creation of hosts.

use crate::error::Error;
use skyhop_scenario::{Flow, Real, Scenario, Traffic};
use skyhop_sim::Simulation;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmulatedHost {
    /// Its name in the scenario.
    pub name: String,
    /// Its IPv4 address. A host that is a device of this machine has the device's own instead.
    pub v4: Ipv4Addr,
    /// The device of this machine that serves as the host.
    pub device: Option<String>,
}

impl EmulatedHost {
    /// Its IPv6 address: the IPv4 address in 2001:db8::/96.
    pub fn v6(&self) -> Ipv6Addr {
        let [a, b, c, d] = self.v4.octets();
        let pair = |high, low| u16::from(high) << 8 | u16::from(low);
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, pair(a, b), pair(c, d))
    }
}

/// A flow with programs at both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealFlow {
    /// Its index in the scenario.
    pub flow: usize,
    /// Hosts at its `from` and its `to`.
    pub ends: [usize; 2],
}

/// A flow with a program at one end; the other end is simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HalfFlow {
    /// Its index in the scenario.
    pub flow: usize,
    /// True if its `to` is the simulated end.
    pub to: bool,
    /// The host of the program.
    pub host: usize,
    /// The simulated end, which is no other host's.
    pub simulated: EmulatedHost,
}

/// The hosts and their roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlan {
    /// Hosts in the order in which flows name them.
    pub hosts: Vec<EmulatedHost>,
    /// Flows with programs at both ends.
    pub flows: Vec<RealFlow>,
    /// Flows with a program at one end.
    pub halves: Vec<HalfFlow>,
    /// The host of the command, called `user` by all others.
    pub user: usize,
    /// The host of the server.
    pub server: usize,
    /// The host of the command if it is not the user, which is then a device; `None` if all hosts are devices.
    pub at: Option<usize>,
    /// True if no flow of the scenario sets `real`, so that the first was taken.
    pub by_default: bool,
}

/// Devices of this machine by host, each with the option or key that names it.
pub type Devices = [(String, String, String)];

/// Devices of the scenario's nodes; those on the command line come first.
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

/// Indices of the flows with programs at both ends; the first flow if none sets `real`.
pub fn real_flows(scenario: &Scenario) -> Vec<usize> {
    let flows = scenario.flows.iter().enumerate();
    match scenario.flows.iter().all(|flow| flow.real.none()) {
        true => flows.map(|(i, _)| i).take(1).collect(),
        false => flows.filter(|(_, flow)| flow.real == Real::Both).map(|(i, _)| i).collect(),
    }
}

/// Indices of the flows with a program at some end.
pub fn flows_of_programs(scenario: &Scenario) -> Vec<usize> {
    let both = real_flows(scenario);
    let has = |i: usize, flow: &Flow| both.contains(&i) || flow.real.simulated_to().is_some();
    scenario.flows.iter().enumerate().filter(|(i, flow)| has(*i, flow)).map(|(i, _)| i).collect()
}

/// The end of a flow at which the user is: 0 its `from`, 1 its `to`. It is the one called user, or else the one across from a server,
/// or else the one that makes requests; for a transfer, the receiving end.
pub fn user_end(flow: &Flow) -> usize {
    let named = |name: &str| flow.ends().into_iter().position(|end| end == name);
    let asks = flow.traffic.asks() || matches!(flow.traffic, Traffic::Ping { .. });
    named("user").or_else(|| named("server").map(|server| 1 - server)).unwrap_or(usize::from(!asks))
}

impl HostPlan {
    /// The hosts of a simulation built for the scenario with [`real_flows`]. `at` is the host of the command.
    ///
    /// # Errors
    ///
    /// No flow; two flows between the same hosts; an unknown host; a device for two hosts.
    pub fn of(
        scenario: &Scenario,
        simulation: &Simulation,
        at: Option<&str>,
        devices: &Devices,
    ) -> Result<Self, Error> {
        let mut plan = Self {
            hosts: Vec::new(),
            flows: Vec::new(),
            halves: Vec::new(),
            user: 0,
            server: 0,
            at: None,
            by_default: scenario.flows.iter().all(|flow| flow.real.none()),
        };
        let mut pairs: Vec<(usize, [&str; 2])> = Vec::new();
        for flow in flows_of_programs(scenario) {
            let addresses = simulation.addresses(flow).unwrap_or([Ipv4Addr::UNSPECIFIED; 2]);
            let names = scenario.flows[flow].ends();
            let [a, b] = names;
            if let Some((other, _)) = pairs.iter().find(|(_, pair)| *pair == [a, b] || *pair == [b, a]) {
                let before = scenario.flow_name(*other);
                return Err(Error::Scenario(
                    format!("flows.{flow}.real"),
                    format!(
                        "programs of {a} and {b} use flow {before} already; expected `real` for one of the flows only"
                    ),
                ));
            }
            pairs.push((flow, names));
            match scenario.flows[flow].real.simulated_to() {
                None => {
                    let ends = [0, 1].map(|end| plan.host(names[end], addresses[end]));
                    plan.flows.push(RealFlow { flow, ends });
                }
                Some(to) => {
                    let (own, other) = (usize::from(!to), usize::from(to));
                    let host = plan.host(names[own], addresses[own]);
                    let simulated =
                        EmulatedHost { name: names[other].to_owned(), v4: addresses[other], device: None };
                    plan.halves.push(HalfFlow { flow, to, host, simulated });
                }
            }
        }
        plan.choose_user(scenario)?;
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
        // With a simulated peer, the programs that serve it run on the user's own host.
        plan.server = peer.unwrap_or(plan.user);
        let here = |host: &usize| plan.hosts[*host].device.is_none();
        plan.at = [plan.user, plan.server].into_iter().chain(0..plan.hosts.len()).find(here);
        Ok(plan)
    }

    /// Selects the user, by the first flow with a program.
    fn choose_user(&mut self, scenario: &Scenario) -> Result<(), Error> {
        let half = self.halves.first().filter(|half| self.flows.first().is_none_or(|f| half.flow < f.flow));
        if let Some(half) = half {
            self.user = half.host;
            return Ok(());
        }
        let Some(RealFlow { flow, ends }) = self.flows.first().cloned() else {
            return Err(Error::Scenario(
                "flows".into(),
                "there is no flow, so there are no hosts for programs".into(),
            ));
        };
        self.user = ends[user_end(&scenario.flows[flow])];
        Ok(())
    }

    /// Flows with a program at some end, in the scenario's order, each with the hosts at its `from` and its `to`.
    pub fn ways(&self) -> Vec<(usize, [Option<usize>; 2])> {
        let both = self.flows.iter().map(|real| (real.flow, real.ends.map(Some)));
        let half = |half: &HalfFlow| match half.to {
            true => (half.flow, [Some(half.host), None]),
            false => (half.flow, [None, Some(half.host)]),
        };
        let mut all: Vec<_> = both.chain(self.halves.iter().map(half)).collect();
        all.sort_unstable();
        all
    }

    /// The address of the simulated end of a flow.
    pub fn simulated(&self, flow: usize) -> Option<&EmulatedHost> {
        self.halves.iter().find(|half| half.flow == flow).map(|half| &half.simulated)
    }

    /// A host by name, which `key` contains.
    fn named(&self, key: &str, name: &str) -> Result<usize, Error> {
        self.hosts.iter().position(|host| host.name == name).ok_or_else(|| {
            let names: Vec<_> = self.hosts.iter().map(|host| host.name.as_str()).collect();
            Error::Scenario(key.into(), format!("no host \"{name}\"; there are {}", names.join(", ")))
        })
    }

    /// Assigns devices to hosts.
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
            self.hosts.push(EmulatedHost { name: name.to_owned(), v4, device: None });
            self.hosts.len() - 1
        })
    }

    /// The table of names for the programs of a host: `/etc/hosts`.
    pub fn names(&self) -> String {
        let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
        // Machines behind a device have names of their own, which are unknown here.
        let here = self.hosts.iter().enumerate().filter(|(_, host)| host.device.is_none());
        let mut all: Vec<(&EmulatedHost, bool, bool)> =
            here.map(|(index, host)| (host, index == self.user, index == self.server)).collect();
        let alone = self.server == self.user;
        for half in &self.halves {
            // A host with a program in another flow has its name from there.
            if !all.iter().any(|(host, ..)| host.name == half.simulated.name) {
                all.push((&half.simulated, false, half.host == self.user));
            }
        }
        // A name of the scenario belongs to its host.
        let free = |name: &str| !all.iter().any(|(host, ..)| host.name == name);
        let (user, server) = (free("user"), free("server"));
        for (host, is_user, is_server) in &all {
            let mut names = vec![host.name.as_str()];
            names.extend((*is_user && user).then_some("user"));
            names.extend((*is_server && server && !(alone && *is_user)).then_some("server"));
            let names = names.join(" ");
            text += &format!("{} {names}\n{} {names}\n", host.v4, host.v6());
        }
        text
    }
}
