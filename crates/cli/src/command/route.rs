//! `skyhop route`: the path at an instant in words, its alternatives, and the reason for the choice.
//!
//! Follows the same rules and updates as `skyhop delay`, from t = 0 up to the instant.
//! Differs from a list of k shortest paths: an alternative is the best path around one link of the path.
//! Leaves out motion; `skyhop constellation export --czml` writes an animation of the satellites.

use super::delay::{Least, never, nodes, pairs, tell_unavailable};
use super::doubts;
use super::map::{self, COLUMNS};
use super::passes::compass;
use super::satellites::{IslOptions, LoadedSatellites, SatelliteOptions};
use super::values::{instant, picture};
use crate::failure::Failure;
use clap::Args;
use skyhop_orbit::{Terminal, look};
use skyhop_record::Map;
use skyhop_routing::{PathMetric, RoutedTopology, Walk};
use skyhop_topology::{Failing, LinkKind, NodeId, Outage, Topology};
use std::fmt::Write;
use std::path::PathBuf;

/// `skyhop route`.
#[derive(Debug, Args)]
pub struct RouteArgs {
    /// Place of the sender: a city, or lat,lon in degrees.
    #[arg(allow_hyphen_values = true)]
    pub from: String,
    /// Place of the receiver.
    #[arg(allow_hyphen_values = true)]
    pub to: String,
    /// The satellites.
    #[command(flatten)]
    pub satellites: SatelliteOptions,
    /// The links between them.
    #[command(flatten)]
    pub isls: IslOptions,
    /// Metric that the path minimises; the one of the scenario's routing, else delay, if left out.
    #[arg(long, value_enum)]
    pub metric: Option<Least>,
    /// Instant of the path: seconds after t = 0, a time with a unit, or a UTC date and time for a file of elements.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "0")]
    pub time: String,
    /// Picture of the path to write too, .svg or .png.
    #[arg(long, value_name = "FILE", value_parser = picture)]
    pub map: Option<PathBuf>,
    /// Width of a PNG in pixels.
    #[arg(long, value_name = "PIXELS", default_value_t = 2000, value_parser = crate::command::values::whole::<u32>(100..=20_000))]
    pub width: u32,
    /// Draw the path as text too.
    #[arg(long, value_name = "ON|OFF", default_value = "on", value_parser = ["on", "off"])]
    pub draw: String,
}

/// Runs the command.
pub fn run(args: &RouteArgs) -> Result<(), Failure> {
    let loaded = args.satellites.load(Some(&args.isls))?;
    let t_s = instant("--time", &args.time, loaded.constellation.epoch())?;
    let (terminals, _) = pairs(&loaded, &[&args.from, &args.to])?;
    let metric = loaded.metric(args.metric.map(PathMetric::from));
    let mut network = loaded.network(&terminals, metric)?;
    network.advance(t_s);
    tell_unavailable(&loaded, t_s);
    let ends = nodes(&network, &terminals);
    let (from, to) = (ends[0], ends[1]);
    network.route(t_s);
    let Some(walk) = network.walk(from, to, t_s) else {
        return Err(no_route(&loaded, &network, [from, to], t_s));
    };
    let topology = network.topology();
    let title = format!(
        "{} to {} over {} at {t_s} s: {:.3} ms one way over {} satellites",
        topology.node_name(from),
        topology.node_name(to),
        loaded.name,
        walk.delay_s * 1e3,
        network.satellites(&walk),
    );
    let drawn = Map::new(&title).note(map::rules(&loaded, topology)).network(topology, t_s).path(
        topology,
        &walk.nodes,
        t_s,
    );
    if let Some(file) = &args.map {
        map::write(file, &drawn, args.width)?;
    }
    let mut out = format!("{title}\n\n");
    if args.draw == "on" {
        out += &drawn.text(COLUMNS);
        out.push('\n');
    }
    for hop in walk.nodes.windows(2) {
        out.push_str(&words(topology, hop[0], hop[1], t_s));
    }
    let others = alternatives(&network, &walk, t_s);
    out.push_str("\nAlternatives, each the best way around one link of the path:\n");
    for other in others.iter().take(4) {
        let _ = writeln!(
            out,
            "  {:+.3} ms, {} satellites: {}",
            (other.delay_s - walk.delay_s) * 1e3,
            network.satellites(other),
            network.path_text(other)
        );
    }
    if others.is_empty() {
        out.push_str("  none: every link of the path is the only way\n");
    }
    out.push_str(&why(&loaded, &mut network, metric, &walk, others.first(), t_s));
    out.push_str(&other_satellites(&loaded, &terminals, &network, metric, &walk, t_s)?);
    super::print(&out)
}

/// One hop in words.
fn words(topology: &Topology, from: NodeId, to: NodeId, t_s: f64) -> String {
    let (a, b) = (topology.node_name(from), topology.node_name(to));
    let km = topology.distance_m(from, to, t_s).unwrap_or(f64::NAN) / 1e3;
    let ms = topology.one_way_delay_s(from, to, t_s).unwrap_or(f64::NAN) * 1e3;
    let seen = |terminal: NodeId, satellite: NodeId| {
        let terminal = topology.terminals().get(topology.terminal_index(terminal)?)?;
        let seen = look(topology.constellation().earth(), terminal, topology.position_ecef(satellite, t_s)?);
        Some(format!(
            "{:.1} deg above its horizon in the {}",
            seen.elevation_rad.to_degrees(),
            compass(seen.azimuth_rad)
        ))
    };
    let how = match (topology.is_satellite(from), topology.is_satellite(to)) {
        (false, false) => format!("{a} passes to {b} through fibre"),
        (false, _) => format!("{a} goes up to {b}, {}", seen(from, to).unwrap_or_default()),
        (_, false) => format!("{a} comes down to {b}, {}", seen(to, from).unwrap_or_default()),
        _ => {
            let link = topology.links().iter().find(|l| l.other(from) == Some(to));
            let (slot_a, slot_b) =
                (topology.constellation().plane_slot(from.0), topology.constellation().plane_slot(to.0));
            let way = match (link.map(|link| link.kind), slot_a.zip(slot_b)) {
                (Some(LinkKind::IntraPlane), _) => "in its own plane",
                (Some(LinkKind::CrossSeam), _) => "across the seam",
                (Some(LinkKind::InterShell), _) => "in another shell",
                (_, Some(((a, _), (b, _)))) if b > a => "in a plane to the east",
                _ => "in a plane to the west",
            };
            format!("{a} passes to {b} {way}")
        }
    };
    let above = |node: NodeId| {
        topology.position_ecef(node, t_s).filter(|_| topology.is_satellite(node)).map(|place| {
            let (lat, lon) = (place.latitude_rad().to_degrees(), place.longitude_rad().to_degrees());
            format!("; {} is above {lat:.1},{lon:.1}", topology.node_name(node))
        })
    };
    format!("  {how}: {km:.0} km, {ms:.3} ms{}\n", above(to).unwrap_or_default())
}

/// The best paths around each link of the path, shortest first, without duplicates.
fn alternatives(network: &RoutedTopology, walk: &Walk, t_s: f64) -> Vec<Walk> {
    let mut others: Vec<Walk> = Vec::new();
    let (Some(&from), Some(&to)) = (walk.nodes.first(), walk.nodes.last()) else { return others };
    for hop in walk.nodes.windows(2) {
        let links = (0u32..).zip(network.topology().links());
        let Some((number, link)) = links.into_iter().find(|(_, l)| l.up && l.other(hop[0]) == Some(hop[1]))
        else {
            continue;
        };
        let what = match link.kind {
            // Around a terminal's only link the path uses another satellite.
            LinkKind::Gsl => {
                Failing::Satellite(if network.topology().is_satellite(hop[0]) { hop[0].0 } else { hop[1].0 })
            }
            _ => Failing::Link(skyhop_topology::LinkId(number)),
        };
        let mut topology = network.topology().clone();
        topology.schedule(vec![Outage::lasting(what)]);
        let mut around = network.with_topology(topology);
        around.update(t_s);
        around.route(t_s);
        others.extend(around.walk(from, to, t_s));
    }
    others.sort_by(|a, b| a.delay_s.total_cmp(&b.delay_s));
    others.dedup_by(|a, b| a.nodes == b.nodes);
    others.retain(|other| other.nodes != walk.nodes);
    others
}

fn why(
    loaded: &LoadedSatellites,
    network: &mut RoutedTopology,
    metric: PathMetric,
    walk: &Walk,
    next: Option<&Walk>,
    t_s: f64,
) -> String {
    let mut out = String::from("\nWhy this one:\n");
    let (from, to) = (walk.nodes[0], walk.nodes[walk.nodes.len() - 1]);
    let held = |end: NodeId| {
        network.topology().terminal_index(end).map_or(0, |end| network.topology().gsls(end).count())
    };
    let between = match held(from).max(held(to)) {
        1 => "between the two satellites that serve",
        _ => "over the satellites that the terminals hold",
    };
    let _ = match metric {
        PathMetric::Delay => writeln!(out, "  It has the least propagation delay of all paths {between}."),
        PathMetric::Hops => writeln!(
            out,
            "  It has the fewest links of all paths {between}; among those of as many, the first that is found."
        ),
    };
    if let Some(next) = next {
        let more_ms = (next.delay_s - walk.delay_s) * 1e3;
        // Around a terminal's only satellite the path uses one that the handover did not choose.
        let same = |end: usize| {
            (end == 0 && next.nodes.get(1) == walk.nodes.get(1))
                || (end == 1 && next.nodes.iter().nth_back(1) == walk.nodes.iter().nth_back(1))
        };
        let _ = match (more_ms < 0.0, same(0) && same(1)) {
            (false, _) => writeln!(out, "  The next best is {more_ms:.3} ms longer."),
            (true, false) => writeln!(
                out,
                "  A path over another satellite than the one that serves would be {:.3} ms shorter.",
                -more_ms
            ),
            (true, true) => writeln!(out, "  The next best takes {:.3} ms less, and more links.", -more_ms),
        };
    }
    let other = match metric {
        PathMetric::Delay => (PathMetric::Hops, "fewest links"),
        PathMetric::Hops => (PathMetric::Delay, "least delay"),
    };
    let mut twin = network.with_metric(network.topology().clone(), other.0);
    twin.route(t_s);
    if let Some(twin) = twin.walk(from, to, t_s) {
        let _ = writeln!(
            out,
            "  The path of {} has {} satellites and {:.3} ms: {}",
            other.1,
            network.satellites(&twin),
            twin.delay_s * 1e3,
            network.path_text(&twin)
        );
    }
    let topology = network.topology();
    let down = |kind| topology.links().iter().filter(|link| link.kind == kind && !link.up).count();
    let off = down(LinkKind::InterPlane);
    if off > 0 {
        let _ = writeln!(
            out,
            "  {off} links between planes are off at this instant (latitude limit {:.0} deg, or the Earth in the way).",
            loaded.rules.isl_latitude_limit_rad.to_degrees()
        );
    }
    let stars =
        topology.constellation().planes().shells().iter().any(|shell| !shell.wraps && shell.planes.len() > 2);
    if stars && loaded.rules.cross_seam.is_none() && loaded.rules.inter_plane_neighbours > 0 {
        let _ = writeln!(out, "  No link crosses the seam; --cross-seam shows what that would change.");
    }
    out
}

/// The path if the terminals held all satellites in view, where that is much shorter.
fn other_satellites(
    loaded: &LoadedSatellites,
    terminals: &[Terminal],
    network: &RoutedTopology,
    metric: PathMetric,
    walk: &Walk,
    t_s: f64,
) -> Result<String, Failure> {
    let topology = network.topology();
    let one = |end: usize| topology.gsls(end).count() == 1;
    let ends = [walk.nodes[0], walk.nodes[walk.nodes.len() - 1]];
    if metric == PathMetric::Hops || !ends.iter().any(|end| topology.terminal_index(*end).is_some_and(one)) {
        return Ok(String::new());
    }
    let names = ends.map(|end| topology.node_name(end));
    let all = loaded.all_in_view(terminals)?;
    let found = doubts::with_all_in_view(&all, [&names[0], &names[1]], t_s);
    Ok(match found.filter(|(least_ms, _)| *least_ms < walk.delay_s * 1e3 - 1e-3) {
        Some((least_ms, satellites)) => format!(
            "  Each terminal holds one satellite; with all in view it would be {least_ms:.3} ms over {satellites}: --antennas all.\n"
        ),
        None => String::new(),
    })
}

fn no_route(loaded: &LoadedSatellites, network: &RoutedTopology, ends: [NodeId; 2], t_s: f64) -> Failure {
    let topology = network.topology();
    let mut ends = ends.into_iter().filter_map(|end| topology.terminal_index(end));
    let unserved = ends.find(|&terminal| !network.serves(terminal));
    match unserved.map(|terminal| &topology.terminals()[terminal]) {
        Some(terminal) if t_s > 0.0 => Failure::Run(format!(
            "no route at {t_s} s: {} has no satellite above {:.1} deg",
            terminal.name,
            loaded.rules.elevation_mask_rad.to_degrees()
        )),
        Some(terminal) => never(loaded, terminal, 86_400.0),
        None => Failure::Run(format!(
            "no route at {t_s} s: both ends have satellites, but {}",
            skyhop_network::apart::why_apart(topology)
        )),
    }
}
