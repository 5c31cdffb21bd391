//! `skyhop delay`: propagation delay between places over time, as a series or as statistics.
//!
//! Follows HT 6.2: links and handovers at fixed intervals from t = 0, paths and delays at the instant of sending.
//! Differs from a walk that routes at every node: the path is chosen once, which changes a delay by microseconds at most.
//! With --trace the series is a trace for a link. Leaves out queues and transmission; constellations without ISLs are crossed
//! over satellites in view of both ends.

use super::doubts;
use super::files::write_or_print;
use super::satellites::{IslOptions, LoadedSatellites, SatelliteOptions};
use super::values::{TimesArgs, hertz, instant, seconds};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::progress::RunProgress;
use crate::table::TextTable;
use clap::{Args, ValueEnum};
use skyhop_orbit::Terminal;
use skyhop_orbit::visibility::elevation_rad;
use skyhop_routing::{PathMetric, RoutedTopology, Walk};
use skyhop_topology::NodeId;
use skyhop_units::Span;
use std::fmt::Write;
use std::path::PathBuf;

/// `skyhop delay`.
#[derive(Debug, Args)]
pub struct DelayArgs {
    /// Place of the sender: a city, or lat,lon in degrees.
    #[arg(allow_hyphen_values = true)]
    pub from: String,
    /// Place of the receiver.
    #[arg(allow_hyphen_values = true)]
    pub to: String,
    /// A further pair of places; may be repeated. CSV then begins with columns from and to.
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], allow_hyphen_values = true)]
    pub also: Vec<String>,
    /// The satellites.
    #[command(flatten)]
    pub satellites: SatelliteOptions,
    /// Folder of Hypatia with satellites, ISLs and ground stations; places are its stations, by name or number.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["constellation", "tle", "omm", "scenario", "epoch", "mask"])]
    pub hypatia: Option<PathBuf>,
    /// The links between them.
    #[command(flatten)]
    pub isls: IslOptions,
    /// Metric that the path minimises; the one of the scenario's routing, else delay, if left out.
    #[arg(long, value_enum)]
    pub metric: Option<Least>,
    /// Time of the first packet: seconds after t = 0, a time with a unit, or a UTC date and time for a file of elements.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "0")]
    pub start: String,
    /// Interval in which packets are sent; the scenario's duration, else a day, if left out.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = seconds)]
    pub duration: Option<f64>,
    /// Time between packets.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "60", value_parser = seconds)]
    pub step: f64,
    /// Interval between updates of links and handovers.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = seconds)]
    pub update_interval: Option<f64>,
    /// Print a line for each packet: time_s,delay_ms,satellites,path,status.
    #[arg(long)]
    pub csv: bool,
    /// Print a trace for a scenario's link: t_s,delay_s,loss, counted from --start; without a path everything is lost.
    #[arg(long, conflicts_with_all = ["csv", "also", "hypatia"])]
    pub trace: bool,
    /// With --trace, the carrier frequency for the Doppler shift of the whole path: Hz, or with a unit such as "11.7 GHz".
    #[arg(long, value_name = "FREQUENCY", value_parser = hertz, requires = "trace")]
    pub frequency: Option<f64>,
    /// File to write, in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Least {
    /// Propagation delay.
    Delay,
    /// Number of links.
    Hops,
}

impl From<Least> for PathMetric {
    fn from(least: Least) -> Self {
        match least {
            Least::Delay => PathMetric::Delay,
            Least::Hops => PathMetric::Hops,
        }
    }
}

/// The terminals and pairs in a list of places, each place once.
pub fn pairs(
    loaded: &LoadedSatellites,
    places: &[&String],
) -> Result<(Vec<Terminal>, Vec<[usize; 2]>), Failure> {
    let mut terminals: Vec<Terminal> = Vec::new();
    let mut pairs = Vec::new();
    for pair in places.chunks_exact(2) {
        let mut ends = [0; 2];
        for (end, text) in ends.iter_mut().zip(pair) {
            let place = loaded.place(text).map_err(Failure::Scenario)?;
            *end = terminals.iter().position(|known| known.name == place.name).unwrap_or_else(|| {
                terminals.push(place);
                terminals.len() - 1
            });
        }
        if ends[0] == ends[1] {
            return Err(Failure::Scenario(format!("{} to {}: one place; expected two", pair[0], pair[1])));
        }
        pairs.push(ends);
    }
    Ok((terminals, pairs))
}

/// Nodes of terminals in a network.
pub fn nodes(network: &RoutedTopology, terminals: &[Terminal]) -> Vec<NodeId> {
    terminals.iter().filter_map(|terminal| network.topology().terminal_named(&terminal.name)).collect()
}

/// Runs the command.
pub fn run(args: &DelayArgs) -> Result<(), Failure> {
    let mut loaded = args.satellites.load(Some(&args.isls))?;
    if let Some(interval_s) = args.update_interval {
        loaded.rules.update_interval_s = interval_s;
    }
    let named: Vec<&String> = [&args.from, &args.to].into_iter().chain(&args.also).collect();
    let (terminals, pairs) = pairs(&loaded, &named)?;
    let whole = if loaded.from_file { loaded.scenario.duration.as_secs_f64() } else { 86_400.0 };
    let times = TimesArgs {
        start_s: instant("--start", &args.start, loaded.constellation.epoch())?,
        duration_s: args.duration.unwrap_or(whole),
        step_s: args.step,
    };
    let packets = times.duration_s / times.step_s;
    if packets.is_nan() || packets * pairs.len() as f64 > 1e7 {
        return Err(Failure::Scenario(format!(
            "--step: {} s makes {packets:.0} packets; expected a step above zero and 10000000 packets at most",
            args.step
        )));
    }
    let mut network = loaded.network(&terminals, loaded.metric(args.metric.map(PathMetric::from)))?;
    let about = loaded.about(network.topology());
    let ends = nodes(&network, &terminals);
    let pairs: Vec<[NodeId; 2]> = pairs.iter().map(|pair| pair.map(|end| ends[end])).collect();
    let index = |node: NodeId| network.topology().terminal_index(node).unwrap_or(0);
    let stations: Vec<usize> = ends.iter().map(|&end| index(end)).collect();
    let mut tallies = vec![DelayTally::default(); pairs.len()];
    let mut out = String::new();
    if args.csv {
        out.push_str(if pairs.len() > 1 { "from,to," } else { "" });
        out.push_str("time_s,delay_ms,satellites,path,status\n");
    }
    if args.trace {
        out.push_str(if args.frequency.is_some() {
            "t_s,delay_s,loss,doppler_hz\n"
        } else {
            "t_s,delay_s,loss\n"
        });
    }
    let mut served: Vec<bool> =
        (0..network.topology().terminals().len()).map(|terminal| network.serves(terminal)).collect();
    // Packets are sent at start, start + step, etc., before the end of the duration.
    let count = ((packets - 1e-9).ceil().max(1.0)) as u64;
    let sent = |k: u64| Span::from_nanos((k as f64 * args.step * 1e9) as u64);
    let progress = RunProgress::new(&format!("{} to {}", args.from, args.to), sent(count), 1, false);
    for k in 0..count {
        if interrupted() {
            return Err(Failure::Interrupted);
        }
        progress.advance(sent(k), sent(k + 1));
        let t_s = times.start_s + k as f64 * args.step;
        for (ever, now) in served.iter_mut().zip(network.advance(t_s)) {
            *ever |= now;
        }
        network.route(t_s);
        for (&[from, to], tally) in pairs.iter().zip(&mut tallies) {
            let walk = network.walk(from, to, t_s);
            if args.trace {
                trace_row(&mut out, &network, walk.as_ref(), [t_s, times.start_s], args.frequency);
            }
            if args.csv {
                if pairs.len() > 1 {
                    let _ = write!(out, "{},", quoted(&network.topology().node_name(from)));
                    let _ = write!(out, "{},", quoted(&network.topology().node_name(to)));
                }
                let time = (t_s * 1e9).round() / 1e9;
                let _ = match &walk {
                    Some(walk) => writeln!(
                        out,
                        "{time},{:.6},{},{},ok",
                        walk.delay_s * 1e3,
                        network.satellites(walk),
                        network.path_text(walk)
                    ),
                    None => writeln!(out, "{time},nan,0,,noroute"),
                };
            }
            tally.add(&network, [from, to], walk);
        }
    }
    drop(progress);
    if let Some(&end) = stations.iter().find(|&&station| !served[station]) {
        return Err(never(&loaded, &network.topology().terminals()[end], times.end_s()));
    }
    tell_unavailable(&loaded, times.end_s());
    for (&pair, tally) in pairs.iter().zip(&tallies) {
        doubts::tell_apart(network.topology(), pair, tally.apart, count);
    }
    doubts::tell_detours(&loaded, &terminals, network.topology(), &pairs, times, |pair, t_s| {
        tallies[pair].delay_ms_at(((t_s - times.start_s) / times.step_s).round() as usize)
    })?;
    if args.csv || args.trace {
        return write_or_print(args.out.as_deref(), &out);
    }
    let heading = heading(&loaded, times) + &about;
    write_or_print(args.out.as_deref(), &(heading + &statistics(&network, &pairs, &mut tallies)))
}

/// A row of a link's trace. The Doppler shift is that of a carrier that every satellite relays unchanged.
fn trace_row(
    out: &mut String,
    network: &RoutedTopology,
    walk: Option<&Walk>,
    [t_s, start_s]: [f64; 2],
    frequency_hz: Option<f64>,
) {
    const APART_S: f64 = 0.05;
    let time = ((t_s - start_s) * 1e9).round() / 1e9;
    let comma = if frequency_hz.is_some() { "," } else { "" };
    let Some(walk) = walk else {
        let _ = writeln!(out, "{time},,1{comma}");
        return;
    };
    let (before_s, after_s) = ((t_s - APART_S).max(0.0), t_s + APART_S);
    let along = |t_s| network.delay_along(&walk.nodes, t_s);
    let doppler = frequency_hz.zip(along(before_s)).zip(along(after_s)).map(|((hz, before), after)| {
        let shift_hz = hz * (before - after) / (after_s - before_s);
        format!("{shift_hz:.3}")
    });
    let _ = writeln!(out, "{time},{:.9},0{comma}{}", walk.delay_s, doppler.unwrap_or_default());
}

fn quoted(text: &str) -> String {
    if text.contains(',') { format!("\"{text}\"") } else { text.to_owned() }
}

/// The error for a place without satellites, because of the mask or the orbits.
pub fn never(loaded: &LoadedSatellites, terminal: &Terminal, until_s: f64) -> Failure {
    let earth = loaded.constellation.earth();
    let (site, up) = (terminal.position_ecef(earth), terminal.up());
    let mut positions = Vec::new();
    let mut highest = f64::NEG_INFINITY;
    for sample in 0..=200 {
        loaded.constellation.positions_ecef(until_s * f64::from(sample) / 200.0, &mut positions);
        let elevations = positions.iter().flatten().map(|place| elevation_rad(site, up, *place));
        highest = elevations.fold(highest, f64::max);
    }
    let mask_rad = loaded.rules.elevation_mask_rad;
    let mut message = format!(
        "no satellite of {} is ever above {:.1} deg at {} up to {until_s} s; the highest of 200 looks was at {:.1} deg",
        loaded.name,
        mask_rad.to_degrees(),
        terminal.name,
        highest.to_degrees(),
    );
    if highest > mask_rad {
        message = format!(
            "no satellite of {} ever serves {} up to {until_s} s: none above {:.1} deg is one that --handover allows",
            loaded.name,
            terminal.name,
            mask_rad.to_degrees(),
        );
    }
    Failure::Scenario(message)
}

/// Reports catalogued satellites that have decayed.
pub fn tell_unavailable(loaded: &LoadedSatellites, t_s: f64) {
    const MOST: usize = 3;
    let Some(catalogue) = loaded.constellation.catalogue() else { return };
    let troubles = (0..catalogue.len()).filter_map(|s| Some((s as u32, catalogue.trouble(s, t_s)?)));
    let troubles: Vec<(u32, String)> = troubles.collect();
    for (satellite, trouble) in troubles.iter().take(MOST) {
        eprintln!("warning: {} has no position at {t_s} s: {trouble}", loaded.constellation.name(*satellite));
    }
    if troubles.len() > MOST {
        eprintln!("warning: and {} more satellites without a position", troubles.len() - MOST);
    }
}

#[derive(Debug, Clone, Default)]
struct DelayTally {
    /// Delay of each packet; NaN without a path.
    delays_ms: Vec<f64>,
    /// Packets without a path although both ends held a satellite.
    apart: u64,
    satellites: Option<(usize, usize)>,
    last: Vec<NodeId>,
    changes: usize,
}

impl DelayTally {
    fn add(&mut self, network: &RoutedTopology, ends: [NodeId; 2], walk: Option<Walk>) {
        let Some(walk) = walk else {
            let serves = |end| network.topology().terminal_index(end).is_some_and(|end| network.serves(end));
            self.apart += u64::from(ends.into_iter().all(serves));
            self.delays_ms.push(f64::NAN);
            self.last.clear();
            return;
        };
        let hops = network.satellites(&walk);
        let (least, most) = self.satellites.unwrap_or((hops, hops));
        self.satellites = Some((least.min(hops), most.max(hops)));
        self.delays_ms.push(walk.delay_s * 1e3);
        self.changes += usize::from(!self.last.is_empty() && self.last != walk.nodes);
        self.last = walk.nodes;
    }

    fn delay_ms_at(&self, packet: usize) -> Option<f64> {
        self.delays_ms.get(packet).copied().filter(|delay_ms| delay_ms.is_finite())
    }
}

fn heading(loaded: &LoadedSatellites, times: TimesArgs) -> String {
    format!(
        "{}: {} satellites, mask {:.1} deg{}; a packet every {} s for {} s\n",
        loaded.name,
        loaded.constellation.len(),
        loaded.rules.elevation_mask_rad.to_degrees(),
        loaded.constellation.epoch().map_or_else(String::new, |epoch| format!(", t = 0 at {epoch}")),
        times.step_s,
        times.duration_s,
    )
}

fn statistics(network: &RoutedTopology, pairs: &[[NodeId; 2]], tallies: &mut [DelayTally]) -> String {
    let topology = network.topology();
    let earth = topology.constellation().earth();
    let mut table = TextTable::new([
        "from",
        "to",
        "ok",
        "no route",
        "min",
        "median",
        "mean",
        "p99",
        "max",
        "satellites",
        "path changes",
        "ground floor",
    ]);
    for (ends, tally) in pairs.iter().zip(tallies) {
        let [from, to] =
            ends.map(|end| &topology.terminals()[topology.terminal_index(end).unwrap_or_default()]);
        let packets = tally.delays_ms.len();
        let delays = &mut tally.delays_ms;
        delays.retain(|delay_ms| delay_ms.is_finite());
        delays.sort_by(f64::total_cmp);
        let rank =
            |share: f64| delays.get(((delays.len() as f64 - 1.0).max(0.0) * share).round() as usize).copied();
        let ms = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.2} ms"));
        let mean = (!delays.is_empty()).then(|| delays.iter().sum::<f64>() / delays.len() as f64);
        let (a, b) = (from.position_ecef(earth).0, to.position_ecef(earth).0);
        let along_m = earth.radius_m * a.cross(b).norm().atan2(a.dot(b));
        table.row([
            from.name.clone(),
            to.name.clone(),
            delays.len().to_string(),
            (packets - delays.len()).to_string(),
            ms(rank(0.0)),
            ms(rank(0.5)),
            ms(mean),
            ms(rank(0.99)),
            ms(rank(1.0)),
            tally.satellites.map_or_else(|| "-".into(), |(least, most)| format!("{least} to {most}")),
            tally.changes.to_string(),
            ms(Some(along_m / earth.c_m_s * 1e3)),
        ]);
    }
    format!("\n{}", table.text())
}
