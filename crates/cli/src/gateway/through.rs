//! A comparison's flows through real gateways: the ends are the kernel's TCP, and between them is [`SplitLab`].
//!
//! Follows [`skyhop_compare::emulated`], whose verdicts it is held against.
//! Differs from it: the run is valid if each leg's is. Leaves out what limited a sender, which here is its own leg.

use super::split_lab::{LabSettings, SplitLab};
use super::split_path::SplitPath;
use crate::engine;
use crate::failure::Failure;
use skyhop_compare::carrier::{FlowHosts, Times};
use skyhop_compare::contender::{Buffers, Contender, stp_of};
use skyhop_compare::emulated::EmulatedRun;
use skyhop_compare::measured::MeasuredFlow;
use skyhop_compare::real_traffic::RealTraffic;
use skyhop_emulate::clock::RunClock;
use skyhop_scenario::{Ip, Loaded};
use skyhop_sim::stp_config;
use skyhop_units::Time;
use std::net::IpAddr;
use std::thread;

/// Emulates the flows with gateways at their splices.
///
/// # Errors
///
/// Something that the scenario does not say or the system does not allow.
pub fn measure(
    loaded: &Loaded,
    path: &SplitPath<'_>,
    (contender, buffers): (Contender, Buffers),
    seed: u64,
) -> Result<EmulatedRun, Failure> {
    // The flows beside begin with their legs, so that the clock begins before them.
    let clock = RunClock::start();
    let settings = LabSettings {
        seed,
        law: Some(contender.kernels().unwrap_or("cubic")),
        sysctls: &buffers.sysctls(),
        options: Vec::new(),
        pcap: None,
    };
    let mut lab = SplitLab::new(loaded, path, &settings)?;
    let names = lab.names();
    let ends = [&names[0].1, &names[names.len() - 1].1];
    let mut tasks = Vec::new();
    for &index in &path.flows {
        let flow = &loaded.scenario.flows[index];
        let v6 = flow.ip == Ip::V6;
        let address = |of: &Vec<IpAddr>| of.iter().copied().find(|address| address.is_ipv6() == v6);
        let [Some(from), Some(to)] = ends.map(address) else {
            return Err(Failure::Run(format!(
                "flow {}: this kernel has no IPv6",
                loaded.scenario.flow_name(index)
            )));
        };
        let place = FlowHosts {
            flow: index,
            contender,
            stp: stp_config(&stp_of(flow), flow.ip),
            hosts: lab.ends(),
            addresses: [from, to],
        };
        let open = RealTraffic::open(loaded, seed, place)?;
        let end = Time::ZERO + loaded.scenario.duration;
        let times = Times { start: flow.start, stop: flow.stop.unwrap_or(Time::MAX), end };
        tasks.push((open, times));
    }
    let (clock, late) = match loaded.scenario.flows.len() == path.flows.len() {
        true => (RunClock::start(), false),
        false => (clock, tasks.iter().any(|(_, times)| clock.now() > times.start)),
    };
    let flows = thread::scope(|scope| {
        let tasks = tasks.into_iter().map(|(open, times)| {
            scope.spawn(move || open.carry_out(clock, times, &|| !engine::interrupted()))
        });
        let all: Vec<_> = tasks.collect();
        all.into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            // The senders are limited by their own leg: by the window of a kernel's socket at the gateway, which is not compared.
            .map(|measured| MeasuredFlow { held: None, ..measured })
            .collect()
    });
    let ready = "the gateways were ready after the flow was to start: a later `start` gives them time";
    let mut objections: Vec<String> = late.then(|| ready.to_owned()).into_iter().chain(lab.ended()).collect();
    if objections.is_empty() {
        objections.extend(lab.end()?.iter().flat_map(|leg| leg.objections()));
    }
    Ok(EmulatedRun { flows, objections })
}
