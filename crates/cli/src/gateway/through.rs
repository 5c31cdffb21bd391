//! A scenario's flows through real gateways: each leg of their path is emulated, the ends are the kernel's TCP, and where its splices are
//! there are the daemons of `skyhop gateway run`.
//!
//! Follows [`skyhop_compare::emulated`], whose verdicts it is held against; docs/splice.md for what a splice is.
//! Differs from an emulation: a path with splices is several emulations in a row, one for each leg, with the other flows that cross
//! that leg alone simulated beside.
//! Leaves out spoofing and caches, which no gateway does, flows of different paths, and paths through satellites, which have no legs
//! before a run.

use super::lab::wait;
use super::lab_hosts::{DEVICES, HostRow, LabHosts};
use crate::engine;
use crate::failure::Failure;
use skyhop_compare::carrier::{FlowHosts, Times};
use skyhop_compare::contender::{Buffers, Contender, stp_of};
use skyhop_compare::emulated::EmulatedRun;
use skyhop_compare::measured::MeasuredFlow;
use skyhop_compare::real_traffic::RealTraffic;
use skyhop_emulate::clock::RunClock;
use skyhop_emulate::namespace::set_parameter;
use skyhop_emulate::plan::real_flows;
use skyhop_scenario::network::{Direction, RoutePlan, resolve};
use skyhop_scenario::{Loaded, Real, Scenario, Splice, SpliceKind, SpliceUdp, SpliceUser, Stp, Transport};
use skyhop_sim::stp_config;
use skyhop_units::Time;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::thread;

/// A leg of a flow's path: its links, and the names of its first and last node.
struct LabLeg {
    hops: Vec<(usize, Direction)>,
    ends: [String; 2],
}

/// The path of the compared flows, with its splices.
pub struct SplitPath<'a> {
    /// The compared flows, all from the same node over the same links.
    flows: Vec<usize>,
    legs: Vec<LabLeg>,
    /// Its splices, and the side of each that leads to the other gateway: 0 back, 1 onwards.
    splices: Vec<(&'a Splice, Option<usize>)>,
    /// The gateways carry datagrams.
    carries: bool,
}

/// The path of a scenario's compared flows, if splices divide it.
///
/// # Errors
///
/// Splices that no gateway is like, or flows with different paths.
pub fn split_path(loaded: &Loaded) -> Result<Option<SplitPath<'_>>, Failure> {
    let scenario = &loaded.scenario;
    let wrong = |key: String, message: &str| Failure::Scenario(loaded.problem(&key, message).to_string());
    if scenario.splices.is_empty() {
        return Ok(None);
    }
    let network = resolve(scenario).map_err(|_| wrong("flows".into(), "paths that are not to be found"))?;
    let crossings = network.crossings(scenario);
    let flows = real_flows(scenario);
    if flows.iter().all(|flow| crossings[*flow].is_empty()) {
        return Ok(None);
    }
    let Some(&flow) = flows.first() else { return Ok(None) };
    let carried =
        |other: &usize| scenario.flows[*other].traffic.in_datagrams() && !crossings[*other].is_empty();
    if let Some(other) = (0..scenario.flows.len()).filter(|other| !flows.contains(other)).find(carried) {
        let message = "datagrams that gateways carry are not simulated beside real ones; expected real = true to compare them \
                       too, or udp = \"pass\"";
        return Err(wrong(format!("flows.{other}.traffic.kind"), message));
    }
    let RoutePlan::Links { from, hops, .. } = &network.routes[flow] else {
        let message = "a path without a list of links is compared without splices; expected a path of links";
        return Err(wrong(format!("flows.{flow}"), message));
    };
    for other in &flows[1..] {
        let same = matches!(
            &network.routes[*other],
            RoutePlan::Links { from: start, hops: links, .. } if (start, links) == (from, hops)
        );
        if !same || crossings[*other] != crossings[flow] {
            let first = scenario.flow_name(flow);
            let message = format!(
                "compared through other links or splices than flow \"{first}\"; expected the same from the same node, or real = \
                 true for flows of one path alone"
            );
            return Err(wrong(format!("flows.{other}"), &message));
        }
        if scenario.flows[*other].priority != scenario.flows[flow].priority {
            let message =
                "real packets of one path have one priority; expected that of the other compared flows";
            return Err(wrong(format!("flows.{other}.priority"), message));
        }
    }
    let mut splices = Vec::new();
    let (mut legs, mut begin, mut node) = (Vec::new(), 0, *from);
    let ends: Vec<usize> = crossings[flow].iter().map(|crossing| crossing.hop).chain([hops.len()]).collect();
    for end in ends {
        let first = network.nodes[node].clone();
        for (link, direction) in &hops[begin..end] {
            let link = network.links[*link];
            debug_assert!(node == if *direction == Direction::Forward { link.a } else { link.b });
            node = if *direction == Direction::Forward { link.b } else { link.a };
        }
        let ends = [first, network.nodes[node].clone()].map(|name| plain(&name));
        legs.push(LabLeg { hops: hops[begin..end].to_vec(), ends });
        begin = end;
    }
    for crossing in &crossings[flow] {
        let Some((name, splice)) = scenario.splices.iter().nth(crossing.splice) else { continue };
        if splice.kind != SpliceKind::Split {
            let message = "no gateway does this; expected kind \"split\", or another scenario to compare";
            return Err(wrong(format!("splices.{name}.kind"), message));
        }
        let user = network.ends(&network.routes[flow])[1];
        if crossing.inner == Some(0) && splice.user(user).is_some_and(|user| user.up.or(user.down).is_some())
        {
            let message = format!(
                "{user} does not open the compared connections, and a daemon limits users who do; expected users at the \
                 first gateway of the path, or no compared flow to {user}"
            );
            return Err(wrong(format!("splices.{name}.users"), &message));
        }
        splices.push((splice, crossing.inner));
    }
    let between = |transport: &Transport| matches!(transport, Transport::Stp(_));
    let fits = |ends: &Transport| match &splices[..] {
        [(alone, inner)] => alone.transports(ends, *inner).into_iter().all(|transport| !between(transport)),
        [(near, first), (far, second)] => {
            let ([back, on], [from, onwards]) =
                (near.transports(ends, *first), far.transports(ends, *second));
            between(on) && between(from) && !between(back) && !between(onwards)
        }
        _ => false,
    };
    if !flows.iter().all(|flow| fits(&scenario.flows[*flow].transport)) {
        let message =
            "gateways are two with stp between them, or one with tcp on both sides; expected such splices";
        return Err(wrong("splices".into(), message));
    }
    let carries = splices.iter().any(|(splice, _)| splice.udp == Some(SpliceUdp::Carry));
    Ok(Some(SplitPath { flows, legs, splices, carries }))
}

/// The name of a node that links have, or of one between two links that has none.
fn plain(name: &str) -> String {
    name.replace('~', "-")
}

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
    let names: Vec<String> = (0..=2 * path.legs.len())
        .map(|host| match (host % 2, host / 2) {
            (1, leg) => format!("leg {}", leg + 1),
            (_, 0) => path.legs[0].ends[0].clone(),
            (_, node) => path.legs[node - 1].ends[1].clone(),
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let last = names.len() - 1;
    let mut lab = LabHosts::new(&HostRow(&names))?;
    let law = contender.kernels().unwrap_or("cubic");
    for host in (0..=last).step_by(2) {
        let set = || buffers.sysctls().iter().try_for_each(|(name, value)| set_parameter(name, value));
        lab.within(host, set)??;
        lab.prefer(host, law)?;
    }
    // The flows beside begin with their legs, so the first leg begins the run.
    let clock = RunClock::start();
    for (number, leg) in path.legs.iter().enumerate() {
        emulate(&mut lab, loaded, &path.flows, (number, leg), seed)?;
    }
    gateways(&mut lab, path)?;
    let address = |host, side| HostRow::address(host, side).parse::<IpAddr>().expect("an address");
    let mut tasks = Vec::new();
    for &index in &path.flows {
        let flow = &loaded.scenario.flows[index];
        let place = FlowHosts {
            flow: index,
            contender,
            stp: stp_config(&stp_of(flow), flow.ip),
            hosts: [lab.host(0), lab.host(last)],
            addresses: [address(0, 1), address(last, 0)],
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
    let objections = late.then(|| ready.to_owned()).into_iter().chain(lab.ended()).collect();
    Ok(EmulatedRun { flows, objections })
}

/// Starts the emulation of a leg.
fn emulate(
    lab: &mut LabHosts,
    loaded: &Loaded,
    flows: &[usize],
    (number, leg): (usize, &LabLeg),
    seed: u64,
) -> Result<(), Failure> {
    let (host, file) = (2 * number + 1, format!("leg-{}.toml", number + 1));
    let text = toml::to_string(&leg_scenario(&loaded.scenario, flows, leg));
    lab.write(&file, &text.map_err(|e| Failure::Run(format!("{file}: {e}")))?)?;
    lab.skyhop(host, &["check", &file])?;
    let [from, to] = &leg.ends;
    let devices = [format!("{from}={}", DEVICES[0]), format!("{to}={}", DEVICES[1])];
    let seed = seed.to_string();
    let words = ["emulate", &file, "--seed", &seed, "--device", &devices[0], "--device", &devices[1]];
    lab.start(host, &file, &words)?;
    wait(lab, "an emulated leg", |lab| Ok(lab.ip(host, &["-br", "link"])?.contains("sky-")))
}

/// The scenario of a leg: its links, a flow of programs over them for all compared flows, and the flows that cross nothing else.
fn leg_scenario(scenario: &Scenario, compared: &[usize], leg: &LabLeg) -> Scenario {
    let names: Vec<String> =
        leg.hops.iter().filter_map(|(link, _)| scenario.links.keys().nth(*link).cloned()).collect();
    let network = resolve(scenario).ok();
    let crossings = network.as_ref().map(|network| network.crossings(scenario)).unwrap_or_default();
    let on_leg = |link: &usize| leg.hops.iter().any(|(own, _)| own == link);
    let own = |index: usize| match network.as_ref().map(|network| &network.routes[index]) {
        Some(RoutePlan::Links { hops, .. }) => {
            crossings[index].is_empty() && hops.iter().any(|(link, _)| on_leg(link))
        }
        _ => false,
    };
    // Links that only those flows use come with them.
    let mut kept: Vec<usize> = leg.hops.iter().map(|(link, _)| *link).collect();
    let mut part = scenario.clone();
    part.splices.clear();
    part.sweep = None;
    part.name = None;
    part.record = Default::default();
    let mut flows = Vec::new();
    for (index, other) in scenario.flows.iter().enumerate() {
        if !compared.contains(&index) && own(index) {
            if let Some(RoutePlan::Links { hops, .. }) =
                network.as_ref().map(|network| &network.routes[index])
            {
                kept.extend(hops.iter().map(|(link, _)| *link));
            }
            let mut other = other.clone();
            other.real = Real::No;
            flows.push(other);
        }
    }
    let mut real = scenario.flows[compared[0]].clone();
    real.real = Real::Both;
    if real.path.is_some() {
        let [first, last] = leg.ends.clone();
        real.path = Some([vec![first], names.clone(), vec![last]].concat());
    } else {
        (real.from, real.to) = (Some(leg.ends[0].as_str().into()), Some(leg.ends[1].as_str().into()));
    }
    (real.start, real.stop) = (Time::ZERO, None);
    flows.push(real);
    part.flows = flows;
    let mut number = 0;
    part.links.retain(|_, _| {
        number += 1;
        kept.contains(&(number - 1))
    });
    part
}

/// The far end tells connections apart by the clients' ports, as the simulator's far end does.
const SOURCE: &str = "source = \"client\"\n";

/// Starts the gateways, and waits until they are there.
fn gateways(lab: &mut LabHosts, path: &SplitPath<'_>) -> Result<(), Failure> {
    let [near, far] = [2, 4];
    let intercept = format!("\n[intercept]\ninterfaces = [\"{}\"]\n", DEVICES[0]);
    if path.splices.len() == 1 {
        let memory = 4 * path.splices[0].0.buffer.get().max(1 << 18);
        let text = format!(
            "role = \"alone\"\nmemory = \"{memory} B\"\nmetrics = \"127.0.0.1:9464\"\n{SOURCE}{intercept}"
        );
        lab.write("alone.toml", &text)?;
        lab.start(near, "alone", &["gateway", "run", "alone.toml"])?;
        return wait(lab, "the gateway", |lab| {
            Ok(lab.skyhop(near, &["gateway", "status", "alone.toml", "--json"]).is_ok())
        });
    }
    lab.skyhop(far, &["gateway", "new", "hub.toml"])?;
    let at = HostRow::address(far, 0);
    let words = ["gateway", "add", "home", "--hub", "hub.toml", "--at", &at, "--interface", DEVICES[0]];
    let users = ["--prefix", "10.1.0.0/24"];
    lab.skyhop(far, &[&words[..], &users].concat())?;
    for (file, splice, onwards) in
        [("home.toml", path.splices[0], true), ("hub.toml", path.splices[1], false)]
    {
        let (splice, _) = splice;
        let transport = match (onwards, &splice.association) {
            (true, _) | (_, Some(_)) => &splice.transport,
            (false, None) => &splice.transport_back,
        };
        let mut lines = format!("memory = \"{} B\"\n", splice.buffer.get().max(1 << 20));
        if !onwards {
            lines.push_str(SOURCE);
        }
        if let Some(Transport::Stp(stp)) = transport {
            rate(stp, &mut lines);
        }
        let written = std::fs::read_to_string(lab.folder.join(file))
            .map_err(|e| Failure::Run(format!("{file}: {e}")))?;
        let kept: Vec<&str> = written.lines().filter(|line| !line.starts_with("memory =")).collect();
        let (head, tables) =
            kept.split_at(kept.iter().position(|line| line.starts_with('[')).unwrap_or(kept.len()));
        let mut tables = tables.join("\n");
        if onwards && path.carries {
            tables = tables.replacen("[intercept]", "[intercept]\nudp = \"carry\"", 1);
        }
        if let Some(user) = splice.user(&path.legs[0].ends[0]).filter(|_| onwards) {
            limit(user, &mut tables);
        }
        lab.write(file, &format!("{}\n{lines}{tables}\n", head.join("\n")))?;
    }
    lab.start(far, "hub", &["gateway", "run", "hub.toml"])?;
    lab.start(near, "terminal", &["gateway", "run", "home.toml"])?;
    wait(lab, "an association", |lab| {
        let said = lab.skyhop(near, &["gateway", "status", "home.toml", "--json"]);
        Ok(said.is_ok_and(|said| said.contains("\"up\": true")))
    })
}

/// The rates of the compared connections' user, as a terminal's file has them.
fn limit(user: &SpliceUser, tables: &mut String) {
    let _ = write!(tables, "\n[[users]]\naddresses = [\"{}/32\"]\n", HostRow::address(0, 1));
    for (key, rate) in [("up", user.up), ("down", user.down)] {
        if let Some(rate) = rate {
            let _ = writeln!(tables, "{key} = \"{rate}\"");
        }
    }
}

/// The rate at which STP sends, as a gateway's file has it.
fn rate(stp: &Stp, lines: &mut String) {
    if let Some(rate) = stp.max_rate {
        let _ = writeln!(lines, "rate = \"{rate}\"");
        if serde_json::to_value(stp.congestion()).is_ok_and(|law| law == "rate") {
            lines.push_str("promised = true\n");
        }
    }
}
