//! Questions about satellites without a run: delays, passes, forwarding tables, surveys of routing schemes, snapshots.
//!
//! Follows the commands of the same names; satellites and rules are given as in a scenario's `[constellation]`.
//! Differs: they are passed in a scenario, so that keys, units and errors are the same.
//! Leaves out all logic, which is in the library, and the convenient interface, which is in `python/skyhop`.

use crate::{ScenarioError, table::Table};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use skyhop_orbit::visibility::doppler_hz;
use skyhop_orbit::{
    Constellation, Course, Sighting, Terminal, passes as passes_of, places, sightings, sightings_on_course,
};
use skyhop_routing::scheme::{LinkCause, Scope};
use skyhop_routing::survey::Survey;
use skyhop_routing::tables::{TableOptions, orbit_tables};
use skyhop_routing::{
    Geographic, Hop, Hybrid, PacketHeader, PathMetric, RoutedTopology, RoutingScheme, Shortest, Stranded,
    View,
};
use skyhop_scenario::Scheme as Named;
use skyhop_topology::{LinkKind, NodeId, Topology};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

fn wrong(error: impl Display) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// Prefix of the names of terminals that exist only to make the scenario valid.
const UNUSED: &str = "unused-";

/// The network of a scenario's `[constellation]` and `[terminals]`; files are relative to `folder`.
fn topology(text: &str, folder: PathBuf) -> PyResult<Topology> {
    asked(text, folder).map(|(topology, _)| topology)
}

/// As [`topology`], with the metric of the scenario's routing.
fn asked(text: &str, folder: PathBuf) -> PyResult<(Topology, PathMetric)> {
    let mut loaded = skyhop_scenario::parse(text.as_bytes(), "constellation", &[]).map_err(wrong)?;
    loaded.read_files(&folder).map_err(wrong)?;
    // A scenario needs at least two terminals; a question may have fewer.
    loaded.scenario.terminals.retain(|name, _| !name.starts_with(UNUSED));
    let metric = skyhop_network::metric(&loaded.scenario.routing);
    Ok((skyhop_network::topology_of(&loaded.scenario, &loaded.files).map_err(wrong)?, metric))
}

/// A terminal, and its course if it moves.
fn terminal<'a>(topology: &'a Topology, name: &str) -> PyResult<(&'a Terminal, Option<&'a Course>)> {
    let found = topology.terminals().iter().position(|terminal| terminal.name == name);
    let index = found.ok_or_else(|| PyValueError::new_err(format!("no terminal {name:?}")))?;
    Ok((&topology.terminals()[index], topology.course(index)))
}

/// A city, or "lat,lon": its name, latitude and longitude in degrees.
#[pyfunction]
pub fn place(text: &str) -> PyResult<(String, f64, f64)> {
    let found = places::find(text).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok((found.name, found.latitude_rad.to_degrees(), found.longitude_rad.to_degrees()))
}

/// One-way delays between terminals, by name: time_s, from, to, delay_ms, satellites, path, status.
#[pyfunction]
pub fn delay(
    py: Python<'_>,
    text: &str,
    folder: PathBuf,
    pairs: Vec<(String, String)>,
    hops: Option<bool>,
    times_s: (f64, f64, f64),
) -> PyResult<Table> {
    let (topology, metric) = asked(text, folder)?;
    let node = |name: &String| {
        topology.terminal_named(name).ok_or_else(|| PyValueError::new_err(format!("no terminal {name:?}")))
    };
    let nodes = pairs.iter().map(|(a, b)| Ok([node(a)?, node(b)?])).collect::<PyResult<Vec<_>>>()?;
    let (mut time_s, mut delay_ms, mut satellites) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ends, mut path, mut status) = ([Vec::new(), Vec::new()], Vec::new(), Vec::new());
    let interrupt = py.detach(|| {
        let metric = hops.map_or(metric, |hops| if hops { PathMetric::Hops } else { PathMetric::Delay });
        let mut network = RoutedTopology::new(topology, metric);
        let mut interrupt = None;
        network.series(&nodes, times_s, |network, t_s, pair, walk| {
            time_s.push(t_s);
            ends[0].push(pairs[pair].0.clone());
            ends[1].push(pairs[pair].1.clone());
            delay_ms.push(walk.as_ref().map_or(f64::NAN, |walk| walk.delay_s * 1e3));
            satellites.push(walk.as_ref().map_or(0, |walk| network.satellites(walk) as i64));
            path.push(walk.as_ref().map(|walk| network.path_text(walk)).unwrap_or_default());
            status.push(if walk.is_some() { "ok" } else { "noroute" });
            if time_s.len() % 1000 == 0 {
                interrupt = Python::attach(|py| py.check_signals()).err();
            }
            interrupt.is_none()
        });
        interrupt
    });
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let [from, to] = ends.map(strings);
    table(vec![
        ("time_s", reals(time_s)),
        ("from", from),
        ("to", to),
        ("delay_ms", reals(delay_ms)),
        ("satellites", Arc::new(Int64Array::from(satellites))),
        ("path", strings(path)),
        ("status", strings(status)),
    ])
}

/// Passes over the scenario's terminal `at` between two instants.
#[pyfunction]
pub fn passes(py: Python<'_>, text: &str, folder: PathBuf, at: &str, times_s: (f64, f64)) -> PyResult<Table> {
    let topology = topology(text, folder)?;
    let (terminal, course) = terminal(&topology, at)?;
    if course.is_some() {
        let message =
            format!("{at:?} moves, and passes are those over a place; expected one without a track");
        return Err(PyValueError::new_err(message));
    }
    let (constellation, mask_rad) = (topology.constellation(), topology.rules().elevation_mask_rad);
    let mut found = py.detach(|| {
        let of = |satellite| passes_of(constellation, terminal, satellite, mask_rad, times_s);
        (0..constellation.len() as u32).flat_map(of).collect::<Vec<_>>()
    });
    found.sort_by(|a, b| a.culmination_s.total_cmp(&b.culmination_s).then(a.satellite.cmp(&b.satellite)));
    let c_m_s = constellation.earth().c_m_s;
    let optional = |instant: Option<f64>| instant.unwrap_or(f64::NAN);
    table(vec![
        ("satellite", strings(found.iter().map(|pass| constellation.name(pass.satellite)).collect())),
        ("rise_s", reals(found.iter().map(|pass| optional(pass.rise_s)).collect())),
        ("culmination_s", reals(found.iter().map(|pass| pass.culmination_s).collect())),
        ("set_s", reals(found.iter().map(|pass| optional(pass.set_s)).collect())),
        (
            "max_elevation_deg",
            reals(found.iter().map(|pass| pass.highest.elevation_rad.to_degrees()).collect()),
        ),
        ("min_delay_ms", reals(found.iter().map(|pass| pass.highest.slant_range_m / c_m_s * 1e3).collect())),
        (
            "max_delay_ms",
            reals(
                found
                    .iter()
                    .map(|pass| pass.first.slant_range_m.max(pass.last.slant_range_m) / c_m_s * 1e3)
                    .collect(),
            ),
        ),
    ])
}

/// The view of satellites from the scenario's terminal `at` at constant steps: start, duration and step in seconds.
#[pyfunction]
pub fn look(
    py: Python<'_>,
    text: &str,
    folder: PathBuf,
    at: &str,
    satellites: Vec<String>,
    frequency_hz: Option<f64>,
    times_s: (f64, f64, f64),
) -> PyResult<Table> {
    let (start_s, duration_s, step_s) = times_s;
    let topology = topology(text, folder)?;
    let (terminal, course) = terminal(&topology, at)?;
    let (constellation, mask_rad) = (topology.constellation(), topology.rules().elevation_mask_rad);
    let numbers = satellites.iter().map(|name| satellite_number(constellation, name));
    let mut numbers = numbers.collect::<PyResult<Vec<u32>>>()?;
    if numbers.is_empty() {
        numbers = (0..constellation.len() as u32).collect();
    }
    let found: Vec<Sighting> = py.detach(|| {
        let instants = (0..=(duration_s / step_s + 1e-9) as u64).map(|k| start_s + k as f64 * step_s);
        let at = |t_s| match course {
            Some(course) => {
                sightings_on_course(constellation, course, numbers.iter().copied(), mask_rad, t_s)
            }
            None => sightings(constellation, terminal, numbers.iter().copied(), mask_rad, t_s),
        };
        instants.flat_map(at).collect()
    });
    let c_m_s = constellation.earth().c_m_s;
    let column = |of: &dyn Fn(&Sighting) -> f64| reals(found.iter().map(of).collect());
    let mut columns = vec![
        ("time_s", column(&|one| one.t_s)),
        ("satellite", strings(found.iter().map(|one| constellation.name(one.satellite)).collect())),
        ("azimuth_deg", column(&|one| one.look.azimuth_rad.to_degrees())),
        ("elevation_deg", column(&|one| one.look.elevation_rad.to_degrees())),
        ("slant_range_km", column(&|one| one.look.slant_range_m / 1e3)),
        ("delay_ms", column(&|one| one.look.slant_range_m / c_m_s * 1e3)),
        ("range_rate_m_s", column(&|one| one.range_rate_m_s)),
    ];
    if let Some(hz) = frequency_hz {
        columns.push(("doppler_hz", column(&|one| doppler_hz(one.range_rate_m_s, hz, c_m_s))));
    }
    table(columns)
}

/// A satellite's forwarding tables, state by state.
#[pyfunction]
pub fn tables(
    py: Python<'_>,
    text: &str,
    folder: PathBuf,
    satellite: &str,
    states: u32,
    aggregate: bool,
) -> PyResult<Table> {
    let topology = topology(text, folder)?;
    let number = satellite_number(topology.constellation(), satellite)?;
    let (constellation, rules) = (topology.constellation().clone(), *topology.rules());
    let options = TableOptions { states, aggregate, ..TableOptions::new(NodeId(number)) };
    let reports = py.detach(|| orbit_tables(constellation, rules, options)).map_err(wrong)?;
    let whole = |of: &dyn Fn(&skyhop_routing::tables::TableReport) -> Option<usize>| -> ArrayRef {
        Arc::new(Int64Array::from_iter(reports.iter().map(|report| of(report).map(|count| count as i64))))
    };
    let latitude =
        |report: &skyhop_routing::tables::TableReport| report.latitude_rad.map_or(f64::NAN, f64::to_degrees);
    table(vec![
        ("state", whole(&|r| Some(r.state as usize))),
        ("t_s", reals(reports.iter().map(|report| report.t_s).collect())),
        ("latitude_deg", reals(reports.iter().map(latitude).collect())),
        ("entries", whole(&|r| Some(r.entries))),
        ("next_hops", whole(&|r| Some(r.next_hops))),
        ("down", whole(&|r| Some(r.down))),
        ("nowhere", whole(&|r| Some(r.nowhere))),
        ("delta", whole(&|r| r.delta)),
        ("overrides", whole(&|r| Some(r.overrides))),
        ("greedy", whole(&|r| r.aggregated.map(|a| a.greedy))),
        ("covering", whole(&|r| r.aggregated.map(|a| a.covering))),
        ("minimised", whole(&|r| r.aggregated.map(|a| a.minimised))),
        ("spare_free", whole(&|r| r.aggregated.map(|a| a.spare_free))),
        ("first_match", whole(&|r| r.aggregated.map(|a| a.first_match))),
    ])
}

/// A scheme's paths between random pairs at many times, with those of least delay and of fewest hops.
#[pyfunction]
pub fn survey(
    py: Python<'_>,
    text: &str,
    folder: PathBuf,
    scheme: Bound<'_, PyAny>,
    samples: u32,
    failed: f64,
    seed: u64,
) -> PyResult<Table> {
    let topology = topology(text, folder)?;
    if scheme.is_callable() {
        let mut ours = Bring::new(scheme.unbind());
        let found = sample(py, &topology, &mut ours, (samples, failed, seed));
        return ours.error.map_or(found, Err);
    }
    let name: String = scheme.extract()?;
    // Central tables are computed for a scenario's terminals, and multipath has no single path to compare with the shortest.
    let known = [Named::Geographic, Named::Hybrid, Named::Shortest];
    let mut scheme: Box<dyn RoutingScheme + Send> = match known.into_iter().find(|known| known.name() == name)
    {
        Some(Named::Geographic) => Box::new(Geographic::new(1)),
        Some(Named::Hybrid) => Box::new(Hybrid::default()),
        Some(_) => Box::new(Shortest::new(PathMetric::Delay)),
        None => {
            let names = known.map(Named::name).join(", ");
            return Err(PyValueError::new_err(format!("scheme {name:?}; expected {names} or a function")));
        }
    };
    sample(py, &topology, scheme.as_mut(), (samples, failed, seed))
}

/// Runs a survey of one scheme.
fn sample(
    py: Python<'_>,
    topology: &Topology,
    scheme: &mut (dyn RoutingScheme + Send),
    (samples, failed, seed): (u32, f64, u64),
) -> PyResult<Table> {
    let (mut t_s, mut separation_km, mut least_ms) = (Vec::new(), Vec::new(), Vec::new());
    let (mut fewest_ms, mut delay_ms, mut hops, mut outcome) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut chance = skyhop_chance::Seed(seed).stream("survey");
    let survey = Survey { samples, failed_share: failed, ..Survey::default() };
    let (constellation, rules) = (topology.constellation().clone(), *topology.rules());
    py.detach(|| {
        let mut fewest = Shortest::new(PathMetric::Hops);
        let schemes: &mut [&mut dyn RoutingScheme] = &mut [&mut fewest, scheme];
        survey.run(
            constellation,
            rules,
            schemes,
            || chance.uniform(),
            |sample| {
                let ms = |trip: &skyhop_routing::Trip| {
                    if trip.delivered() { trip.delay_s * 1e3 } else { f64::NAN }
                };
                t_s.push(sample.view.t_s());
                separation_km.push(sample.separation_m / 1e3);
                least_ms.push(sample.least_delay_s.map_or(f64::NAN, |delay_s| delay_s * 1e3));
                fewest_ms.push(ms(&sample.trips[0]));
                delay_ms.push(ms(&sample.trips[1]));
                hops.push(sample.trips[1].nodes.len() as i64 - 1);
                outcome.push(format!("{:?}", sample.trips[1].outcome).to_lowercase());
            },
        )
    })
    .map_err(wrong)?;
    table(vec![
        ("t_s", reals(t_s)),
        ("separation_km", reals(separation_km)),
        ("least_delay_ms", reals(least_ms)),
        ("fewest_hops_delay_ms", reals(fewest_ms)),
        ("delay_ms", reals(delay_ms)),
        ("hops", Arc::new(Int64Array::from(hops))),
        ("outcome", strings(outcome)),
    ])
}

/// A routing scheme written as a Python function, which is called when the network has changed, never for a packet.
struct Bring {
    function: Py<PyAny>,
    /// Next hop of every node to every terminal, by node; -1 for none.
    next: Vec<i64>,
    terminals: usize,
    error: Option<PyErr>,
}

impl Bring {
    fn new(function: Py<PyAny>) -> Self {
        Self { function, next: Vec::new(), terminals: 0, error: None }
    }

    fn ask(&self, view: &View<'_>) -> PyResult<Vec<i64>> {
        let nodes = view.topology().nodes();
        let (mut a, mut b, mut delay_ms) = (Vec::new(), Vec::new(), Vec::new());
        for node in (0..nodes as u32).map(NodeId) {
            for edge in view.working(node).filter(|edge| edge.to > node) {
                a.extend(i64::from(node.0).to_le_bytes());
                b.extend(i64::from(edge.to.0).to_le_bytes());
                delay_ms.extend((view.delay_s(edge.length_m) * 1e3).to_le_bytes());
            }
        }
        Python::attach(|py| {
            let columns = [a, b, delay_ms].map(|column| PyBytes::new(py, &column));
            let [a, b, delay_ms] = columns;
            let answer = self.function.call1(py, (view.t_s(), nodes, view.satellites(), a, b, delay_ms))?;
            let bytes: Vec<u8> = answer.extract(py)?;
            let (words, rest) = bytes.as_chunks::<8>();
            match rest.is_empty() && words.len() == nodes * (nodes - view.satellites()) {
                true => Ok(words.iter().map(|word| i64::from_le_bytes(*word)).collect()),
                false => Err(PyValueError::new_err("a routing function returned a table of another shape")),
            }
        })
    }
}

impl RoutingScheme for Bring {
    fn name(&self) -> &str {
        "python"
    }

    fn refresh(&mut self, view: &View<'_>) {
        self.terminals = view.topology().nodes() - view.satellites();
        if self.error.is_none() {
            match self.ask(view) {
                Ok(next) => self.next = next,
                Err(error) => (self.next, self.error) = (Vec::new(), Some(error)),
            }
        }
    }

    fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut PacketHeader) -> Result<Hop, Stranded> {
        let terminal = packet.to.index() - view.satellites();
        let next = self.next.get(at.index() * self.terminals + terminal).copied().unwrap_or(-1);
        let edge = view.working(at).find(|edge| i64::from(edge.to.0) == next);
        edge.map(|edge| Hop { link: edge.link, to: edge.to }).ok_or(Stranded::DeadEnd)
    }

    fn state(&self, _view: &View<'_>, satellite: NodeId) -> usize {
        let row = satellite.index() * self.terminals..(satellite.index() + 1) * self.terminals;
        self.next.get(row).map_or(0, |row| row.iter().filter(|next| **next >= 0).count())
    }

    fn announces(&self, _view: &View<'_>, _origin: NodeId, _change: LinkCause) -> Option<Scope> {
        // It is given the whole network, so all changes must be announced to all.
        Some(Scope::Everywhere)
    }
}

/// Nodes and links at an instant, as two tables.
#[pyfunction]
pub fn snapshot(py: Python<'_>, text: &str, folder: PathBuf, t_s: f64) -> PyResult<(Table, Table)> {
    let topology = topology(text, folder)?;
    let topology = py.detach(|| {
        // Handovers depend on the past, so links are updated from the start.
        let mut network = RoutedTopology::new(topology, PathMetric::Delay);
        network.advance(t_s);
        network.topology().clone()
    });
    let constellation = topology.constellation();
    let nodes: Vec<NodeId> = (0..topology.nodes() as u32).map(NodeId).collect();
    let places: Vec<_> = nodes.iter().map(|&node| topology.position_ecef(node, t_s)).collect();
    let place = |of: &dyn Fn(skyhop_orbit::Ecef) -> f64| -> ArrayRef {
        reals(places.iter().map(|place| place.map_or(f64::NAN, of)).collect())
    };
    let radius_m = constellation.earth().radius_m;
    let slot = |of: &dyn Fn((u32, u32)) -> u32| -> ArrayRef {
        let of_node = |node: &NodeId| constellation.plane_slot(node.0).map(|place| i64::from(of(place)));
        Arc::new(Int64Array::from_iter(nodes.iter().map(of_node)))
    };
    let northbound = |node: &NodeId| constellation.motion(node.0, t_s).map(|m| m.velocity_m_s.z > 0.0);
    let satellites = table(vec![
        ("name", strings(nodes.iter().map(|&node| topology.node_name(node)).collect())),
        (
            "kind",
            strings(
                nodes
                    .iter()
                    .map(|&node| match (topology.is_satellite(node), topology.relays(node)) {
                        (true, _) => "satellite",
                        (false, true) => "gateway",
                        (false, false) => "terminal",
                    })
                    .collect(),
            ),
        ),
        ("latitude_deg", place(&|at| at.latitude_rad().to_degrees())),
        ("longitude_deg", place(&|at| at.longitude_rad().to_degrees())),
        ("altitude_km", place(&|at| (at.0.norm() - radius_m) / 1e3)),
        ("plane", slot(&|(plane, _)| plane)),
        ("slot", slot(&|(_, slot)| slot)),
        (
            "northbound",
            reals(nodes.iter().map(|node| northbound(node).map_or(f64::NAN, f64::from)).collect()),
        ),
    ])?;
    let links = topology.links();
    let kind = |kind| match kind {
        LinkKind::IntraPlane => "intra-plane",
        LinkKind::InterPlane => "inter-plane",
        LinkKind::CrossSeam => "cross-seam",
        LinkKind::InterShell => "inter-shell",
        LinkKind::Gsl => "gsl",
        LinkKind::Fibre => "fibre",
        LinkKind::Ground => "ground",
    };
    let delay = |a, b| topology.one_way_delay_s(a, b, t_s).map_or(f64::NAN, |delay_s| delay_s * 1e3);
    let links = table(vec![
        ("a", Arc::new(Int64Array::from_iter_values(links.iter().map(|link| i64::from(link.a.0))))),
        ("b", Arc::new(Int64Array::from_iter_values(links.iter().map(|link| i64::from(link.b.0))))),
        ("kind", strings(links.iter().map(|link| kind(link.kind)).collect())),
        ("up", reals(links.iter().map(|link| f64::from(u8::from(link.up))).collect())),
        ("delay_ms", reals(links.iter().map(|link| delay(link.a, link.b)).collect())),
    ])?;
    Ok((satellites, links))
}

/// A satellite by "plane.slot" or by name.
fn satellite_number(constellation: &Constellation, text: &str) -> PyResult<u32> {
    let place = |satellite: &u32| {
        let place = constellation.plane_slot(*satellite);
        place.is_some_and(|(plane, slot)| format!("{plane}.{slot}") == text)
            || constellation.name(*satellite) == text
    };
    let count = constellation.len() as u32;
    (0..count).find(place).ok_or_else(|| {
        let last = constellation.name(count - 1);
        PyValueError::new_err(format!("no satellite {text:?}; expected one like 0.0, up to {last}"))
    })
}

fn reals(values: Vec<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

fn strings<T: AsRef<str>>(values: Vec<T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn table(columns: Vec<(&str, ArrayRef)>) -> PyResult<Table> {
    let field = |(name, array): &(&str, ArrayRef)| {
        Field::new(*name, array.data_type().clone(), *array.data_type() != DataType::Utf8)
    };
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch =
        RecordBatch::try_new(schema.clone(), arrays).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(Table::new(schema, vec![batch]))
}
