//! Measures a contender in the emulator: the scenario's flows over the kernel's TCP, or over STP on real sockets.
//!
//! Follows a simulated run: the same seed, so the same losses by packet number and the same sizes; the other flows are simulated.
//! Leaves out the validity of a run on a busy machine, which its objections state.

use crate::carrier::{FlowHosts, Times};
use crate::contender::{Buffers, Contender, stp_of};
use crate::measured::MeasuredFlow;
use crate::real_traffic::RealTraffic;
use crate::simulated::lost;
use skyhop_emulate::Error;
use skyhop_emulate::session::{EmulationOptions, Ready};
use skyhop_scenario::{Ip, Loaded};
use skyhop_sim::stp_config;
use skyhop_units::Time;
use std::net::IpAddr;
use std::thread;

/// An emulated run.
#[derive(Debug, Clone, Default)]
pub struct EmulatedRun {
    /// Measurements of the compared flows.
    pub flows: Vec<MeasuredFlow>,
    /// Reasons for which the run is not valid; empty if it is.
    pub objections: Vec<String>,
}

/// Emulates the compared flows of a scenario. `go_on` is called ten times a second, and returns false to end the run.
///
/// # Errors
///
/// The scenario lacks something, or the system does not allow it.
pub fn measure(
    loaded: &Loaded,
    (contender, buffers): (Contender, Buffers),
    seed: u64,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<EmulatedRun, Error> {
    let options = EmulationOptions {
        seed: Some(seed),
        tcp: contender.kernels().map(str::to_owned),
        sysctls: buffers.sysctls(),
        ..EmulationOptions::default()
    };
    let ready = Ready::new(loaded, &options)?;
    let plan = ready.plan().clone();
    let end = Time::ZERO + loaded.scenario.duration;
    let mut tasks: Vec<(RealTraffic, Times)> = Vec::new();
    for real in &plan.flows {
        let flow = &loaded.scenario.flows[real.flow];
        let address = |host: usize| match flow.ip {
            Ip::V4 => IpAddr::V4(plan.hosts[host].v4),
            Ip::V6 => IpAddr::V6(plan.hosts[host].v6()),
        };
        let place = FlowHosts {
            flow: real.flow,
            contender,
            stp: stp_config(&stp_of(flow), flow.ip),
            hosts: real.ends.map(|host| ready.host(host).clone()),
            addresses: real.ends.map(address),
        };
        let times = Times { start: flow.start, stop: flow.stop.unwrap_or(Time::MAX), end };
        tasks.push((RealTraffic::open(loaded, seed, place)?, times));
    }
    let begun = ready.begin()?;
    let clock = begun.clock();
    let mut flows: Vec<MeasuredFlow> = thread::scope(|scope| {
        let tasks = tasks.into_iter();
        let all: Vec<_> =
            tasks.map(|(task, times)| scope.spawn(move || task.carry_out(clock, times, go_on))).collect();
        all.into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let outcome = begun.end(Ok(0))?;
    let packets_lost = lost(&outcome.result);
    flows.iter_mut().for_each(|flow| flow.packets_lost = packets_lost);
    Ok(EmulatedRun { flows, objections: outcome.objections })
}
