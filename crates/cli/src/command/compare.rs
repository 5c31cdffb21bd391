//! `skyhop compare`: the same transfers simulated, and emulated with the kernel's TCP and with STP.
//!
//! Follows [`skyhop_compare`], which gives the verdicts.
//! Differs from `emulate`: there is no command; the flows' transfers are made over sockets.
//! Leaves out the reasons for differences.

use crate::engine;
use crate::failure::Failure;
use crate::gateway::split_path::{SplitEnds, SplitPath, split_path};
use crate::gateway::through;
use crate::table::{self, TextTable};
use clap::Args as ClapArgs;
use serde_json::{Value, json};
use skyhop_compare::contender::{Buffers, Contender};
use skyhop_compare::datagrams::NUMBER;
use skyhop_compare::measured::{HeldShares, JudgedMetric, MeasuredDatagrams, MeasuredFlow};
use skyhop_compare::verdict::{DRAWS, Judged, TOLERANCE, TOLERANCE_ARRIVED, TOLERANCE_HELD, TOLERANCE_STP};
use skyhop_compare::{emulated, simulated};
use skyhop_emulate::namespace;
use skyhop_emulate::plan::real_flows;
use skyhop_scenario::{Loaded, Traffic};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

/// `skyhop compare`.
#[derive(Debug, ClapArgs)]
pub struct Compare {
    /// Scenarios. Their flows with `real = true`, or else the first of each, are compared; all others are simulated beside them.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Transports: reno, cubic and bbr of the kernel, and stp.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = contender, default_value = "reno,cubic,bbr,stp")]
    pub transport: Vec<Contender>,
    /// Limits of buffers: the defaults of the kernel and the simulated host, or the same 64 MiB on both sides, or both in turn.
    #[arg(long, value_name = "HOW", default_value = "shipped", value_parser = ["shipped", "equal", "both"])]
    pub buffers: String,
    /// Number of emulated runs of a path with losses; a path without losses has one.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = super::values::whole::<u64>(1..=1000))]
    pub runs: u64,
    /// First seed, in place of the scenario's.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Change one value of the scenarios; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Write all rows into this file as CSV.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print all rows as JSON.
    #[arg(long)]
    pub json: bool,
    /// Exit with 3 if a row differs or is not valid.
    #[arg(long)]
    pub strict: bool,
    /// Print no progress.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Exit code of `--strict` for rows that differ or are not valid.
const DIFFERS: u8 = 3;
/// Number of attempts at a valid run.
const TRIES: u32 = 3;

fn contender(name: &str) -> Result<Contender, String> {
    Contender::named(name).ok_or_else(|| {
        let names: Vec<_> = Contender::ALL.iter().map(|one| one.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// A flow with a transport.
struct ComparedFlow {
    scenario: String,
    flow: String,
    contender: Contender,
    /// The flow goes in datagrams, and so do all others that are compared.
    datagrams: bool,
    alone: bool,
    buffers: Buffers,
    /// Number of runs, simulated and emulated.
    runs: [usize; 2],
    judged: Option<Judged>,
    /// Mean number of retransmitted segments, simulated and emulated.
    again: [f64; 2],
    /// Reason why the emulated runs are not valid, or why there are none.
    objection: Option<String>,
    /// Load average of the last minute before it began.
    load: f64,
}

impl ComparedFlow {
    fn verdict(&self) -> &'static str {
        match (&self.objection, &self.judged) {
            (Some(_), _) | (None, None) => "not valid",
            (None, Some(judged)) if judged.holds() => "holds",
            _ => "differs",
        }
    }

    /// Name of the flow's transport. Datagrams have the same one beside all.
    fn transport(&self) -> &'static str {
        if self.datagrams { "udp" } else { self.contender.name() }
    }

    /// The transport of the connections that are compared beside datagrams.
    fn beside(&self) -> Option<&'static str> {
        (self.datagrams && !self.alone).then(|| self.contender.name())
    }

    fn held_verdict(&self) -> &'static str {
        match self.judged.as_ref().map(|judged| (judged.held.is_some(), judged.held_holds())) {
            Some((true, true)) => "holds",
            Some((true, false)) => "differs",
            _ => "-",
        }
    }

    fn stands(&self) -> bool {
        self.verdict() == "holds" && self.held_verdict() != "differs"
    }

    fn json(&self) -> Value {
        let judged = self.judged.as_ref();
        let held = judged.and_then(|judged| judged.held);
        let datagrams = judged.and_then(|judged| judged.datagrams);
        let of = |side: usize, part: fn(&MeasuredDatagrams) -> f64| datagrams.map(|both| part(&both[side]));
        let share = |side: usize, part: fn(&HeldShares) -> f64| held.map(|held| part(&held[side]));
        json!({
            "scenario": self.scenario,
            "flow": self.flow,
            "transport": self.transport(),
            "beside": self.beside(),
            "buffers": self.buffers.name(),
            "metric": judged.map(|j| j.metric.name()),
            "simulated": judged.map(|j| j.simulated),
            "emulated": judged.map(|j| j.emulated),
            "least": judged.map(|j| j.bounds[0]),
            "most": judged.map(|j| j.bounds[1]),
            "by_chance": judged.map(|j| j.by_chance),
            "verdict": self.verdict(),
            "simulated_busy": share(0, |h| h.busy),
            "emulated_busy": share(1, |h| h.busy),
            "simulated_receive_window": share(0, |h| h.receive_window),
            "emulated_receive_window": share(1, |h| h.receive_window),
            "simulated_send_buffer": share(0, |h| h.send_buffer),
            "emulated_send_buffer": share(1, |h| h.send_buffer),
            "held_verdict": self.held_verdict(),
            "simulated_segments_retransmitted": self.again[0],
            "emulated_segments_retransmitted": self.again[1],
            "simulated_datagrams_sent": of(0, |d| d.sent),
            "emulated_datagrams_sent": of(1, |d| d.sent),
            "simulated_datagrams_received": of(0, |d| d.received),
            "emulated_datagrams_received": of(1, |d| d.received),
            "simulated_delay_p99_s": of(0, |d| d.delay_p99_s),
            "emulated_delay_p99_s": of(1, |d| d.delay_p99_s),
            "simulated_runs": self.runs[0],
            "emulated_runs": self.runs[1],
            "load": self.load,
            "objection": self.objection,
        })
    }
}

/// Compares, and returns the exit code.
pub fn run(args: &Compare) -> Result<u8, Failure> {
    let loaded: Vec<Loaded> =
        args.files.iter().map(|file| engine::load(file, &args.sets)).collect::<Result<_, _>>()?;
    for loaded in &loaded {
        comparable(loaded)?;
    }
    // This comes before other threads, which would keep their old privileges.
    namespace::become_able(None)?;
    engine::listen();
    let buffers: &[Buffers] = match args.buffers.as_str() {
        "equal" => &[Buffers::Equal],
        "both" => &[Buffers::Equal, Buffers::Shipped],
        _ => &[Buffers::Shipped],
    };
    let mut rows = Vec::new();
    for loaded in &loaded {
        let path = split_path(loaded, SplitEnds::Transfers)?;
        let alone = datagrams_alone(loaded);
        for contender in if alone { &Contender::ALL[..1] } else { &args.transport[..] } {
            // The ends of a split connection speak TCP, and STP is between the gateways.
            if path.is_some() && *contender == Contender::Stp {
                continue;
            }
            // STP's buffers do not depend on the kernel's.
            let ways = if alone || *contender == Contender::Stp { &buffers[..1] } else { buffers };
            for buffers in ways {
                let of = One { args, loaded, with: (*contender, *buffers), path: path.as_ref() };
                let found = of.rows()?;
                if !args.quiet {
                    found.iter().for_each(|row| tell(&line(row)));
                }
                rows.extend(found);
            }
        }
    }
    if let Some(out) = &args.out {
        std::fs::write(out, csv(&rows)).map_err(|e| Failure::Run(format!("{}: {e}", out.display())))?;
    }
    if args.json {
        let all: Vec<_> = rows.iter().map(ComparedFlow::json).collect();
        super::print(&format!("{:#}\n", Value::from(all)))?;
    } else {
        super::print(&shown(&rows))?;
    }
    Ok(if args.strict && !rows.iter().all(ComparedFlow::stands) { DIFFERS } else { 0 })
}

/// Returns true if all compared flows go in datagrams, so that the choice of a transport changes nothing.
fn datagrams_alone(loaded: &Loaded) -> bool {
    let flows = real_flows(&loaded.scenario);
    flows.iter().all(|flow| loaded.scenario.flows[*flow].traffic.in_datagrams())
}

/// Fails if no flow of a scenario can be compared.
fn comparable(loaded: &Loaded) -> Result<(), Failure> {
    if let Some(half) = loaded.scenario.flows.iter().position(|flow| flow.real.simulated_to().is_some()) {
        let message = "leaves one end that is simulated, and transports are compared at both; expected true";
        let problem = loaded.problem(&format!("flows.{half}.real"), message);
        return Err(Failure::Scenario(problem.to_string()));
    }
    for flow in real_flows(&loaded.scenario) {
        let traffic = &loaded.scenario.flows[flow].traffic;
        let wrong = |key: &str, message: &str| {
            Failure::Scenario(loaded.problem(&format!("flows.{flow}.{key}"), message).to_string())
        };
        match traffic {
            Traffic::Ping { .. } => {
                let message = "goes without connections, which no transport changes; expected bulk, web, request-response, \
                               poisson, cbr or on-off";
                return Err(wrong("traffic", message));
            }
            Traffic::Cbr { size, .. } | Traffic::OnOff { size, .. } if size.get() < NUMBER => {
                let message =
                    format!("{size}; expected at least {NUMBER} B, since compared datagrams are numbered");
                return Err(wrong("traffic.size", &message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A scenario with one transport.
struct One<'a> {
    args: &'a Compare,
    loaded: &'a Loaded,
    with: (Contender, Buffers),
    /// The compared flow's path, if splices divide it: where they are, gateways run.
    path: Option<&'a SplitPath<'a>>,
}

impl One<'_> {
    /// Measures simulated and emulated runs. Returns a row for each flow.
    fn rows(&self) -> Result<Vec<ComparedFlow>, Failure> {
        let load = load();
        let first = self.args.seed.unwrap_or(self.loaded.scenario.seed);
        let seeds =
            |from: u64, count: u64| (from..from + count).map(|n| first.wrapping_add(n)).collect::<Vec<_>>();
        let mut simulated = self.simulated(&seeds(0, self.args.runs))?;
        let lossy = simulated.iter().flatten().any(|one| one.packets_lost > 0);
        if lossy && !datagrams_alone(self.loaded) {
            let more = (DRAWS as u64).saturating_sub(self.args.runs);
            simulated.extend(self.simulated(&seeds(self.args.runs, more))?);
        }
        let mut objection = None;
        let mut emulated: Vec<Vec<MeasuredFlow>> = Vec::new();
        if self.with.0.available() {
            for seed in seeds(0, if lossy { self.args.runs } else { 1 }) {
                let run = self.emulated(seed)?;
                objection = objection.or(run.objections.into_iter().next());
                emulated.push(run.flows);
            }
        } else {
            objection = Some(format!("this kernel has no {}", self.with.0.name()));
        }
        let of = |all: &[Vec<MeasuredFlow>], flow: usize| all.iter().map(|run| run[flow]).collect::<Vec<_>>();
        let row = |(place, flow): (usize, usize)| {
            let (simulated, emulated) = (of(&simulated, place), of(&emulated, place));
            let again = |all: &[MeasuredFlow]| {
                all.iter().map(|one| one.segments_retransmitted as f64).sum::<f64>() / all.len().max(1) as f64
            };
            ComparedFlow {
                scenario: self.loaded.name.clone(),
                flow: self.loaded.scenario.flow_name(flow),
                contender: self.with.0,
                datagrams: self.loaded.scenario.flows[flow].traffic.in_datagrams(),
                alone: datagrams_alone(self.loaded),
                buffers: self.with.1,
                runs: [simulated.len(), emulated.len()],
                judged: Judged::of(self.with.0, &simulated, &emulated),
                again: [again(&simulated[..emulated.len().clamp(1, simulated.len())]), again(&emulated)],
                objection: objection.clone(),
                load,
            }
        };
        Ok(real_flows(&self.loaded.scenario).into_iter().enumerate().map(row).collect())
    }

    fn simulated(&self, seeds: &[u64]) -> Result<Vec<Vec<MeasuredFlow>>, Failure> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        simulated::measure(self.loaded, self.with, seeds, threads)
            .map_err(|(key, why)| Failure::Scenario(self.loaded.problem(&key, &why).to_string()))
    }

    /// An emulated run, repeated if a busy machine has spoilt it.
    fn emulated(&self, seed: u64) -> Result<emulated::EmulatedRun, Failure> {
        let mut run = emulated::EmulatedRun::default();
        for _ in 0..TRIES {
            run = match self.path {
                Some(path) => through::measure(self.loaded, path, self.with, seed)?,
                None => emulated::measure(self.loaded, self.with, seed, &|| !engine::interrupted())?,
            };
            if engine::interrupted() {
                return Err(Failure::Interrupted);
            }
            if run.objections.is_empty() {
                break;
            }
        }
        Ok(run)
    }
}

/// Load average of the last minute: the number of processes that want to run.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

fn tell(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Text of a row while others are still being measured.
fn line(row: &ComparedFlow) -> String {
    let apart =
        row.judged.as_ref().map_or("-".into(), |judged| percent(judged.emulated / judged.simulated - 1.0));
    let ComparedFlow { scenario, flow, buffers, .. } = row;
    format!("{scenario} {flow} {} ({}): {apart}, {}\n", transport(row), buffers.name(), row.verdict())
}

/// A row's transport, and that of the connections beside datagrams.
fn transport(row: &ComparedFlow) -> String {
    row.beside().map_or(row.transport().into(), |beside| format!("{}, {beside}", row.transport()))
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

fn value(metric: JudgedMetric, value: f64) -> String {
    match metric {
        JudgedMetric::Goodput => table::rate(value),
        JudgedMetric::Completed | JudgedMetric::CompletionMean | JudgedMetric::DelayMedian => {
            table::time(value)
        }
    }
}

/// The table for people, and the rule behind its verdicts.
fn shown(rows: &[ComparedFlow]) -> String {
    let mut table = TextTable::new([
        "scenario",
        "flow",
        "transport",
        "buffers",
        "simulated",
        "emulated",
        "apart",
        "may be",
        "",
        "busy",
        "receive window",
        "send buffer",
        "",
    ]);
    for row in rows {
        let judged = row.judged.as_ref();
        let text = |of: fn(&Judged) -> f64| judged.map_or("-".into(), |j| value(j.metric, of(j)));
        let bounds = judged.map_or("-".into(), |j| {
            format!("{} to {}", value(j.metric, j.bounds[0]), value(j.metric, j.bounds[1]))
        });
        let held = |part: fn(&HeldShares) -> f64| {
            let both = judged.and_then(|j| j.held);
            both.map_or("-".into(), |[a, b]| format!("{:.0} / {:.0} %", 100.0 * part(&a), 100.0 * part(&b)))
        };
        table.row([
            row.scenario.clone(),
            row.flow.clone(),
            transport(row),
            row.buffers.name().into(),
            text(|j| j.simulated),
            text(|j| j.emulated),
            judged.map_or("-".into(), |j| percent(j.emulated / j.simulated - 1.0)),
            bounds,
            row.verdict().into(),
            held(|h| h.busy),
            held(|h| h.receive_window),
            held(|h| h.send_buffer),
            row.held_verdict().into(),
        ]);
    }
    let mut text = table.text();
    let _ = write!(
        text,
        "\nbusy, receive window, send buffer: shares of the sender's time, simulated / emulated; they may be {:.0} points apart,\n\
         but for BBR's receive window: a pace that it has set has its name here, and is busy to the kernel.\n\
         Without losses the emulated time may be {:.0} % off, STP's {:.0} %; with losses the mean of the emulated runs lies among the\n\
         central 95 % of {DRAWS} means of as many simulated runs, or differs. Of datagrams the time is the median delay; it and\n\
         the 99th percentile may be {:.0} % off, and the share that arrives {:.0} points.\n",
        100.0 * TOLERANCE_HELD,
        100.0 * TOLERANCE,
        100.0 * TOLERANCE_STP,
        100.0 * TOLERANCE,
        100.0 * TOLERANCE_ARRIVED,
    );
    text.push_str(&datagrams(rows));
    for row in rows.iter().filter(|row| row.objection.is_some()) {
        let why = row.objection.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{} {} {}: {why}", row.scenario, row.flow, transport(row));
    }
    text
}

/// The table of flows of datagrams; empty without any.
fn datagrams(rows: &[ComparedFlow]) -> String {
    let mut table =
        TextTable::new(["datagrams", "transport", "side", "sent", "arrived", "lost", "p50", "p99"]);
    let mut any = false;
    for row in rows {
        let Some([simulated, emulated]) = row.judged.as_ref().and_then(|judged| judged.datagrams) else {
            continue;
        };
        any = true;
        let mut add = |side: &str, [sent, arrived, lost, p50, p99]: [String; 5]| {
            table.row([row.flow.clone(), transport(row), side.into(), sent, arrived, lost, p50, p99]);
        };
        for (side, of) in [("simulated", simulated), ("emulated", emulated)] {
            let [sent, arrived, lost] = [of.sent, of.received, of.lost()].map(|count| format!("{count:.0}"));
            add(side, [sent, arrived, lost, table::time(of.delay_p50_s), table::time(of.delay_p99_s)]);
        }
        let apart = |part: fn(&MeasuredDatagrams) -> f64| part(&emulated) - part(&simulated);
        let [sent, arrived, lost] =
            [apart(|d| d.sent), apart(|d| d.received), apart(MeasuredDatagrams::lost)]
                .map(|n| format!("{n:+.0}"));
        let [p50, p99] =
            [apart(|d| d.delay_p50_s), apart(|d| d.delay_p99_s)].map(|s| format!("{:+.1} ms", 1e3 * s));
        add("apart", [sent, arrived, lost, p50, p99]);
    }
    match any {
        true => format!("\n{}", table.text()),
        false => String::new(),
    }
}

/// All rows as CSV with a header line.
fn csv(rows: &[ComparedFlow]) -> String {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let Value::Object(cells) = row.json() else { continue };
        if index == 0 {
            let names: Vec<&str> = cells.keys().map(String::as_str).collect();
            let _ = writeln!(text, "{}", names.join(","));
        }
        let cell = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) if text.contains([',', '"']) => format!("\"{}\"", text.replace('"', "\"\"")),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let _ = writeln!(text, "{}", cells.values().map(cell).collect::<Vec<_>>().join(","));
    }
    text
}
