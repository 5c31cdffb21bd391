//! An emulation, from a loaded scenario to its outcome.
//!
//! Follows the order: hosts, the loop, servers, the command; after the command's end, the reverse. Nothing outlives this process.
//! Differs from a simulation: the run lasts as long as its command, and its summary says whether it is valid.
//! Leaves out the command line and progress reports.

use crate::about::{About, Furnished};
pub use crate::about::{EmulationOptions, EmulationOutcome};
use crate::attend::{ProgramHosts, attend};
use crate::beside::{Beside, SimulatedEnd};
use crate::capture::EmulationCapture;
use crate::clock::RunClock;
use crate::control::ControlSocket;
use crate::device::{self, Attached, QUEUE};
use crate::driver::{EmulationLoop, FlowEnd, LoopState, ProgramFlow};
use crate::error::{Error, Tried};
use crate::inside;
use crate::interface::interface_rate;
use crate::namespace::{Namespace, parameter, require_parameter, set_parameter, spread_receiving};
use crate::netlink::Netlink;
use crate::plan::{EmulatedHost, HostPlan, devices, flows_of_programs};
use crate::port::Port;
use crate::report;
use crate::signals::Signals;
use crate::simulated;
use crate::stamps::Stamps;
use crate::tun::{Offloads, Tun};
use crate::verdict::Missed;
use skyhop_scenario::{Files, Loaded, Scenario};
use skyhop_sim::Simulation;
use skyhop_units::{Rate, Span, Time};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, mpsc};
use std::thread;

/// Name of a host's device.
pub const DEVICE: &str = "sky0";
/// MTU of a device if its link has none.
const MTU: u32 = 1500;
/// Number of hosts from which their kernels' work is spread over all processors: the loop's thread has no time for that of so many
/// connections. Among fewer this would only make each packet 5 to 10 us late.
const MANY_HOSTS: usize = 32;
/// Longest run that ends with its command, or with the user of its routes.
const LONGEST: Span = Span::from_secs(7 * 86_400);

/// Emulates a scenario while a command runs. `watch` is called a few times a second and returns the signals received.
///
/// # Errors
///
/// The scenario lacks something, or the system does not allow it. A program's own failure is in its exit code.
pub fn emulate(
    loaded: &Loaded,
    options: &EmulationOptions,
    mut watch: impl FnMut(&HostPlan, &LoopState) -> Signals,
) -> Result<EmulationOutcome, Error> {
    let ready = Ready::new(loaded, options)?;
    // Changed links are links of the scenario as it runs.
    let fastest = ready.about.hosts.iter().filter_map(|host| host.interface).min();
    let _control =
        ControlSocket::listen(loaded.clone(), ready.about.plan.clone(), ready.about.shared.clone(), fastest);
    let begun = ready.begin()?;
    let Emulation { about, running } = &begun;
    let plan = &about.plan;
    let hosts = ProgramHosts {
        user: &about.hosts[plan.at.unwrap_or(plan.user)].namespace,
        server: &about.hosts[plan.server].namespace,
        server_behind: plan.hosts[plan.server].device.is_some(),
        routes: about.hosts.iter().any(|host| host.attached.is_some()),
        names: plan.names(),
    };
    let exit_code = attend(&hosts, options, &running.ended, || watch(plan, &about.shared));
    begun.end(exit_code)
}

/// An emulation with its hosts, before the start of its clock.
pub struct Ready<'a> {
    about: About<'a>,
    driver: EmulationLoop,
}

/// A running emulation.
pub struct Emulation<'a> {
    about: About<'a>,
    running: RunningLoop,
}

impl<'a> Ready<'a> {
    /// Creates the hosts of a scenario.
    ///
    /// # Errors
    ///
    /// The scenario lacks something, or the system does not allow it.
    pub fn new(loaded: &'a Loaded, options: &'a EmulationOptions) -> Result<Self, Error> {
        for command in [&options.command, &options.server] {
            command.first().map_or(Ok(()), |name| inside::find(name).map(drop))?;
        }
        options.tcp.as_deref().map_or(Ok(()), known)?;
        let mut scenario = loaded.scenario.clone();
        let devices = devices(&scenario, &options.devices);
        if !options.command.is_empty() || !devices.is_empty() {
            // Samples are as frequent as in a run of the scenario's own length, and at least once a second.
            let default = (scenario.duration / 2000).min(Span::from_secs(1));
            scenario.record.sample_interval.get_or_insert(default);
            scenario.duration = LONGEST;
        }
        let seed = options.seed.unwrap_or(scenario.seed);
        let built = Simulation::with_programs(&scenario, &loaded.files, seed, &flows_of_programs(&scenario));
        let mut simulation = built.map_err(|e| Error::Scenario(e.key, e.message))?;
        let plan = HostPlan::of(&scenario, &simulation, options.at.as_deref(), &devices)?;
        possible(&plan, options)?;
        let (hosts, ports) = furnish(&plan, &simulation, options, &devices)?;
        let offloads = ports.iter().map(|port| port.tun.offloads()).min_by_key(|o| *o as u8);
        let names: Vec<String> = plan.hosts.iter().map(|host| host.name.clone()).collect();
        let capture =
            options.pcap.as_deref().map(|path| EmulationCapture::create(path, &names)).transpose()?;
        let between = plan.ways().into_iter().map(|(flow, ends)| ProgramFlow {
            flow: flow as u32,
            ports: ends.map(|end| end.map(|host| host as u32)),
            ends: ends.map(|end| match end.map(|host| (&hosts[host].attached, &plan.hosts[host])) {
                Some((Some(attached), _)) => FlowEnd::Device(attached.behind.clone()),
                Some((None, host)) => FlowEnd::Host(host.v4),
                None => FlowEnd::Host(plan.simulated(flow).map_or(Ipv4Addr::UNSPECIFIED, |host| host.v4)),
            }),
        });
        let beside = beside(&plan, &scenario, &loaded.files, seed, &mut simulation)?;
        let tap = capture.as_ref().and_then(EmulationCapture::tap);
        let mut driver =
            EmulationLoop::new(simulation, ports, between.collect(), (options.memory, &options.limits), tap)
                .tried(|| "cannot wait for devices".to_owned())?;
        driver.beside = beside;
        let (offloads, shared) = (offloads.unwrap_or(Offloads::None), Arc::new(LoopState::default()));
        let about = About { loaded, options, scenario, plan, hosts, offloads, capture, shared };
        Ok(Self { about, driver })
    }

    /// Hosts and flows.
    pub fn plan(&self) -> &HostPlan {
        &self.about.plan
    }

    /// The namespace of a host, by its index in the plan.
    pub fn host(&self, index: usize) -> &Namespace {
        &self.about.hosts[index].namespace
    }

    /// Starts the clock. Without a command and a device the run ends with the scenario's duration.
    ///
    /// # Errors
    ///
    /// The system cannot start a thread.
    pub fn begin(self) -> Result<Emulation<'a>, Error> {
        let Self { about, driver } = self;
        let until = about.ends_by_itself().then(|| Time::ZERO + about.scenario.duration);
        let running = RunningLoop::start(driver, about.shared.clone(), until)?;
        Ok(Emulation { about, running })
    }
}

impl Emulation<'_> {
    /// The clock of the run.
    pub fn clock(&self) -> RunClock {
        self.running.clock
    }

    /// Ends the run and returns its outcome. An error in `exit_code` is returned as it is.
    ///
    /// # Errors
    ///
    /// A device could no longer be read, or its counters cannot be read.
    pub fn end(self, exit_code: Result<u8, Error>) -> Result<EmulationOutcome, Error> {
        let Self { mut about, running } = self;
        about.shared.stop();
        let ended = running.join();
        let exit_code = exit_code?;
        if let Some(why) = ended.error {
            return Err(Error::System("cannot read a device".into(), why));
        }
        let mut missed = Missed::default();
        for host in &mut about.hosts {
            missed.before_read += host.netlink.counts(&host.tun)?.tx_dropped;
            if host.interface.is_some() {
                let device = host.netlink.index(&host.tun)?;
                missed.before_read += host.netlink.dropped_before(device);
            }
        }
        Ok(report::outcome(about, (ended.driver, ended.cpu_s, ended.real_time), missed, exit_code))
    }
}

/// The simulated ends of flows with programs.
fn beside(
    plan: &HostPlan,
    scenario: &Scenario,
    files: &Files,
    seed: u64,
    simulation: &mut Simulation,
) -> Result<Beside, Error> {
    let mut ends = Vec::new();
    for half in &plan.halves {
        let mtu = simulation.own_mtu(half.flow, half.to).unwrap_or(MTU);
        let host = simulated::host(half, &plan.hosts[half.host], (scenario, files, seed), mtu);
        let host = host.map_err(|e| Error::Scenario(e.key, e.message))?;
        ends.push(SimulatedEnd { flow: half.flow as u32, to: half.to, host });
    }
    ends.sort_by_key(|end| end.flow);
    Ok(Beside::new(ends, simulation))
}

/// Fails if the kernel has no congestion control of this name.
///
/// # Errors
///
/// The name, and those that the kernel has.
pub fn known(name: &str) -> Result<(), Error> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = std::fs::read_to_string(path).tried(|| format!("cannot read {path}"))?;
    match text.split_whitespace().any(|one| one == name) {
        true => Ok(()),
        false => Err(Error::Scenario(
            "--tcp".into(),
            format!(
                "this kernel has no \"{name}\"; it has {}",
                text.split_whitespace().collect::<Vec<_>>().join(", ")
            ),
        )),
    }
}

/// Fails if a program is to run in a host that is a device.
fn possible(plan: &HostPlan, options: &EmulationOptions) -> Result<(), Error> {
    let wrong = |option: &str, why: String| Err(Error::Scenario(option.into(), why));
    if !options.command.is_empty() && plan.at.is_none() {
        let why = "every host is a device of this machine, so that there is none for a command; run it on a machine behind one of them";
        return wrong("--", why.into());
    }
    let server = &plan.hosts[plan.server];
    match &server.device {
        Some(device) if !options.server.is_empty() => wrong(
            "--server",
            format!("{} is the device {device}; a server runs on a machine behind it", server.name),
        ),
        _ => Ok(()),
    }
}

/// Creates the hosts and their ports.
fn furnish(
    plan: &HostPlan,
    simulation: &Simulation,
    options: &EmulationOptions,
    devices: &crate::plan::Devices,
) -> Result<(Vec<Furnished>, Vec<Port>), Error> {
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    device::sweep(&mut Netlink::open()?);
    for (index, host) in plan.hosts.iter().enumerate() {
        let of_flow = |(flow, ends): (usize, [Option<usize>; 2])| {
            let backward = ends[1] == Some(index);
            (backward || ends[0] == Some(index)).then(|| simulation.own_mtu(flow, backward)).flatten()
        };
        let mtu = plan.ways().into_iter().filter_map(of_flow).min().unwrap_or(MTU);
        let rate_of = |(flow, ends): (usize, [Option<usize>; 2])| {
            let here = [0, 1].map(|end| ends[end] == Some(index));
            here.contains(&true).then(|| simulation.own_rate(flow, here[1]))
        };
        // One flow whose rate is not known leaves the interface without one.
        let own: Option<Vec<Rate>> = plan.ways().into_iter().filter_map(rate_of).collect();
        let interface = interface_rate(own.and_then(|own| own.into_iter().max()));
        let key = devices.iter().find(|(_, name, _)| *name == host.name).map(|(key, ..)| key.as_str());
        let (furnished, tun, stamps) = match (&host.device, key) {
            (Some(device), Some(key)) => {
                let (attached, mut tun) = Attached::new(key, &host.name, device, mtu, options.offload)?;
                check_offloads(&mut tun)?;
                let (namespace, name) = (Namespace::own()?, attached.tun.clone());
                let mut netlink = Netlink::open()?;
                let stamps = Stamps::open(netlink.index(&name)?).ok();
                (
                    Furnished { namespace, netlink, tun: name, attached: Some(attached), interface: None },
                    tun,
                    stamps,
                )
            }
            _ => {
                let (namespace, (tun, mut netlink, stamps)) =
                    Namespace::with(|| own_device(host, mtu, plan.hosts.len() >= MANY_HOSTS, options))?;
                let device = netlink.index(DEVICE)?;
                let interface = interface.filter(|rate| netlink.pace_device(device, *rate));
                (
                    Furnished { namespace, netlink, tun: DEVICE.to_owned(), attached: None, interface },
                    tun,
                    stamps,
                )
            }
        };
        hosts.push(furnished);
        ports.push(Port::new(tun, stamps));
    }
    Ok((hosts, ports))
}

/// Creates a host's device, in the host's namespace; it is one of `many` hosts if that is true.
fn own_device(
    host: &EmulatedHost,
    mtu: u32,
    many: bool,
    options: &EmulationOptions,
) -> Result<(Tun, Netlink, Option<Stamps>), Error> {
    let mut netlink = Netlink::open()?;
    let loopback = netlink.index("lo")?;
    netlink.set_up(loopback, None, None)?;
    if many {
        spread_receiving();
    }
    let mut tun = Tun::new(DEVICE, options.offload)?;
    // Only the addresses that were asked for, and no search for routers.
    for (name, value) in [("addr_gen_mode", "1"), ("accept_ra", "0")] {
        // A failure is harmless: a few packets go to addresses that no host has.
        let _ = set_parameter(&format!("ipv6/conf/{DEVICE}/{name}"), value);
    }
    for (name, value) in &options.sysctls {
        require_parameter(name, value)?;
    }
    let device = netlink.index(DEVICE)?;
    netlink.set_up(device, Some(mtu), Some(QUEUE))?;
    // Below the minimum MTU of IPv6 a device has no IPv6.
    let addresses = [(IpAddr::V4(host.v4), 32), (IpAddr::V6(host.v6()), 128)];
    let versions = if mtu < 1280 { 1 } else { 2 };
    for (address, prefix) in addresses.into_iter().take(versions) {
        match netlink.add_address(device, address, prefix) {
            // A kernel without IPv6, or a host that is to have none.
            Err(_) if address.is_ipv6() && !has_ipv6() => continue,
            done => done?,
        }
        netlink.add_default_route(device, address, None, options.tcp.as_deref())?;
    }
    check_offloads(&mut tun)?;
    // Without stamps, packets enter when they are read.
    let stamps = Stamps::open(device).ok();
    Ok((tun, netlink, stamps))
}

/// True if the host's device may have addresses of IPv6.
fn has_ipv6() -> bool {
    parameter(&format!("ipv6/conf/{DEVICE}/disable_ipv6")).as_deref() == Some("0")
}

/// Reads and writes each packet separately if the kernel refuses the offloads that it has offered.
fn check_offloads(tun: &mut Tun) -> Result<(), Error> {
    if tun.offloads() != Offloads::None && !takes_frames_of_many(tun) {
        tun.set_offloads(Offloads::None).tried(|| "cannot set the device's offloads".to_owned())?;
    }
    Ok(())
}

/// Returns true if the kernel accepts a frame of two segments: some versions refuse them although they offer them. No device has
/// its addresses, so that it goes nowhere.
fn takes_frames_of_many(tun: &Tun) -> bool {
    let mut frame = [0u8; 40 + 200];
    (frame[0], frame[8], frame[9]) = (0x45, 64, 6);
    frame[2..4].copy_from_slice(&240u16.to_be_bytes());
    frame[12..20].copy_from_slice(&[127, 255, 255, 253, 127, 255, 255, 254]);
    let sum = !crate::offload::fold(crate::offload::sum(&frame[..20]));
    frame[10..12].copy_from_slice(&sum.to_be_bytes());
    (frame[32], frame[33]) = (5 << 4, 0x10);
    let offload = crate::offload::Offload {
        needs_checksum: true,
        kind: 1,
        header_len: 40,
        segment_size: 100,
        checksum_start: 20,
        checksum_offset: 16,
    };
    tun.write(offload, &frame, &[]).is_ok()
}

/// The loop on its thread.
struct RunningLoop {
    clock: RunClock,
    thread: thread::JoinHandle<Ended>,
    ended: mpsc::Receiver<()>,
}

struct Ended {
    driver: EmulationLoop,
    cpu_s: f64,
    real_time: bool,
    error: Option<io::Error>,
}

impl RunningLoop {
    /// Starts the loop, at real-time priority if that is allowed, and waits until it runs.
    fn start(mut driver: EmulationLoop, shared: Arc<LoopState>, until: Option<Time>) -> Result<Self, Error> {
        let (tell_ended, ended) = sync_channel(1);
        let (tell_begun, begun) = sync_channel(1);
        let run = move || {
            let real_time = take_priority();
            driver.begin();
            let _ = tell_begun.send(driver.clock());
            let error = driver.run(&shared, until).err();
            let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            let _ = tell_ended.send(());
            let cpu_s = cpu.tv_sec as f64 + cpu.tv_nsec as f64 * 1e-9;
            Ended { driver, cpu_s, real_time, error }
        };
        let thread = thread::Builder::new().name("network".into()).spawn(run);
        let thread = thread.tried(|| "cannot start the thread of the network".to_owned())?;
        let clock = begun.recv().unwrap_or_else(|_| RunClock::start());
        Ok(Self { clock, thread, ended })
    }

    fn join(self) -> Ended {
        match self.thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Gives this thread real-time priority; returns false if that is not allowed. The system kills the process if the thread runs for
/// three seconds without a rest, since it would block everything that could stop it.
fn take_priority() -> bool {
    const PRIORITY: i32 = 50;
    const RESET_ON_FORK: i32 = 0x4000_0000;
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both structures live through the calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_RTTIME, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min(3_000_000);
            libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit);
        }
        // Without the priority, timer slack delays a sleeper by up to 50 us.
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
        libc::sched_setscheduler(0, libc::SCHED_FIFO | RESET_ON_FORK, &raw const parameters) == 0
    }
}
