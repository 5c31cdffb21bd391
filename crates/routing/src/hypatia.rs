//! Hypatia's files: satellites, ISLs, ground stations, and forwarding state step by step.
//!
//! Follows satgenpy's folder of a satellite network: tles.txt, isls.txt, ground_stations.txt, description.txt,
//! gsl_interfaces_info.txt and dynamic_state_*/fstate_*.txt, one GSL interface for each node.
//! Differs: functions take and return text; the caller reads and writes files. Left out: bandwidths that differ between links.

use std::f64::consts::TAU;
use std::fmt::{self, Write};

use skyhop_orbit::{Constellation, EarthModel, Ecef, Epoch, Terminal, Vec3};

use crate::forwarding::{Forwarding, StationHop};

/// A satellite network in the form of Hypatia's folder.
#[derive(Debug, Clone)]
pub struct Hypatia {
    /// The satellites, with t = 0 at the epoch of the first.
    pub constellation: Constellation,
    /// ISLs by the numbers of their satellites, in the order of the file, which also numbers interfaces.
    pub isls: Vec<(u32, u32)>,
    /// Ground stations in the order of their numbers.
    pub stations: Vec<Terminal>,
    /// Largest distance at which a satellite serves a station, metres.
    pub max_gsl_length_m: f64,
    /// Largest length of an ISL, metres.
    pub max_isl_length_m: f64,
}

impl Hypatia {
    /// Reads the texts of tles.txt, isls.txt, ground_stations.txt (or the shorter ground_stations.basic.txt) and
    /// description.txt.
    ///
    /// # Errors
    ///
    /// The first invalid line, with its file, its number and what is expected.
    pub fn read(tles: &str, isls: &str, stations: &str, description: &str) -> Result<Self, HypatiaError> {
        let constellation = satellites(tles)?;
        let count = constellation.len() as u32;
        let mut found = Self {
            isls: lines("isls.txt", isls).map(|line| isl(&line, count)).collect::<Result<_, _>>()?,
            stations: Vec::new(),
            max_gsl_length_m: f64::INFINITY,
            max_isl_length_m: f64::INFINITY,
            constellation,
        };
        for line in lines("ground_stations.txt", stations) {
            let station = station(&line, found.stations.len())?;
            found.stations.push(station);
        }
        for line in lines("description.txt", description) {
            let Some((key, value)) = line.text.split_once('=') else { return Err(line.wrong("key=value")) };
            let value = || match value.trim().parse::<f64>() {
                Ok(metres) if metres >= 0.0 => Ok(metres),
                _ => Err(line.wrong("a number of metres")),
            };
            match key.trim() {
                "max_gsl_length_m" => found.max_gsl_length_m = value()?,
                "max_isl_length_m" => found.max_isl_length_m = value()?,
                _ => {}
            }
        }
        if found.max_gsl_length_m == f64::INFINITY {
            let line = NetworkLine { file: "description.txt", number: 1, text: description.trim() };
            return Err(line.wrong("a line max_gsl_length_m=..."));
        }
        Ok(found)
    }

    /// Next hops from every satellite and station, to be stepped through time. Its lengths must be multiplied by [`SCALE`];
    /// stations are at their positions in PyEphem's geometry, relative to the satellites.
    pub fn forwarding(&self) -> Forwarding {
        let epoch = self.constellation.epoch();
        let sites = self.stations.iter().map(|station| pyephem_site(station, epoch)).collect();
        Forwarding::new(self.constellation.clone(), self.isls.clone(), sites, self.max_gsl_length_m / SCALE)
    }

    /// The text of isls.txt.
    pub fn isls_text(&self) -> String {
        self.isls.iter().map(|(a, b)| format!("{a} {b}\n")).collect()
    }

    /// The text of ground_stations.txt: number, name, latitude, longitude, height, x, y, z.
    pub fn stations_text(&self) -> String {
        let mut out = String::new();
        for (number, station) in self.stations.iter().enumerate() {
            let at = station.position_ecef(&EarthModel::WGS72);
            let _ = writeln!(
                out,
                "{number},{},{:.6},{:.6},{:.6},{:.6},{:.6},{:.6}",
                station.name.replace(',', " "),
                station.latitude_rad.to_degrees(),
                station.longitude_rad.to_degrees(),
                station.height_m,
                at.0.x,
                at.0.y,
                at.0.z
            );
        }
        out
    }

    /// The text of description.txt.
    pub fn description_text(&self) -> String {
        format!("max_gsl_length_m={}\nmax_isl_length_m={}\n", self.max_gsl_length_m, self.max_isl_length_m)
    }

    /// The text of gsl_interfaces_info.txt: node, interfaces, bandwidth; one of each.
    pub fn gsl_interfaces_text(&self) -> String {
        (0..self.nodes()).map(|node| format!("{node},1,1.000000\n")).collect()
    }

    /// The text of gsl_if_bandwidth_*.txt: node, interface, bandwidth.
    pub fn gsl_bandwidth_text(&self) -> String {
        let interfaces = self.interfaces();
        let of = |node: usize| interfaces.get(node).map_or(0, Vec::len);
        (0..self.nodes()).map(|node| format!("{node},{},1.000000\n", of(node))).collect()
    }

    /// Number of satellites and stations.
    pub fn nodes(&self) -> usize {
        self.constellation.len() + self.stations.len()
    }

    /// For each satellite, its neighbours in the order of its ISL interfaces; the GSL interface follows them.
    fn interfaces(&self) -> Vec<Vec<u32>> {
        let mut interfaces = vec![Vec::new(); self.constellation.len()];
        for &(a, b) in &self.isls {
            interfaces[a as usize].push(b);
            interfaces[b as usize].push(a);
        }
        interfaces
    }
}

/// Ratio of PyEphem's Earth radius to that of WGS 72, by which it scales SGP4's positions in Earth radii.
pub const SCALE: f64 = 6378.16 / 6378.135;

/// The position of a station relative to the satellites in PyEphem, which Hypatia uses, converted to our scale and our sidereal
/// time.
///
/// PyEphem's Earth is 6378.16 km with flattening 1 / 298.25, its latitude is raised by a factor of 1 / (1 - f^2) on the
/// tangent, and its sidereal time is Newcomb's, some 60 ms behind that of IAU 1982. Without this, the shortest paths are
/// off by up to 82 m.
fn pyephem_site(station: &Terminal, epoch: Option<Epoch>) -> Ecef {
    let flattening = 1.0 / 298.25;
    let lat = (station.latitude_rad.tan() / (1.0 - flattening * flattening)).atan();
    let lon = station.longitude_rad + epoch.map_or(0.0, newcomb_ahead_rad);
    let normal_m = 6378.16e3 / (1.0 - (2.0 - flattening) * flattening * lat.sin().powi(2)).sqrt();
    let across_m = (normal_m + station.height_m) * lat.cos();
    let up_m = (normal_m * (1.0 - flattening).powi(2) + station.height_m) * lat.sin();
    Ecef(Vec3::new(across_m * lon.cos(), across_m * lon.sin(), up_m) * (1.0 / SCALE))
}

/// Angle by which Newcomb's Greenwich is ahead of IAU 1982's at the beginning of the day, rad.
fn newcomb_ahead_rad(epoch: Epoch) -> f64 {
    let day = epoch.utc().date();
    let Some(midnight) = day.and_hms_opt(0, 0, 0).and_then(|utc| Epoch::new(utc).ok()) else { return 0.0 };
    // Newcomb counts from noon of 31 December 1899, 36,524.5 days before 2000.
    let Ok(begin) = "2000-01-01T00:00:00".parse::<Epoch>() else { return 0.0 };
    let centuries = (midnight.seconds_since(begin) / 86_400.0 + 36_524.5) / 36_525.0;
    let hours = 6.6460656 + (2400.051262 + 0.00002581 * centuries) * centuries;
    let ahead = TAU * (hours / 24.0).fract() - midnight.greenwich_rad();
    // Without whole turns.
    ahead - TAU * (ahead / TAU).round()
}

/// Forwarding state step by step, each written as the changes since the step before.
pub struct ForwardingState<'a> {
    network: &'a Hypatia,
    forwarding: Forwarding,
    interfaces: Vec<Vec<u32>>,
    /// Entries of the last step: satellites first, then stations, by destination.
    last: Vec<Option<StateEntry>>,
}

/// Next hop, the outgoing interface, and the incoming interface there; -1 each if there is no path.
type StateEntry = (i64, i64, i64);

impl<'a> ForwardingState<'a> {
    /// A state before its first step.
    pub fn new(network: &'a Hypatia) -> Self {
        let last = vec![None; network.nodes() * network.stations.len()];
        Self { network, forwarding: network.forwarding(), interfaces: network.interfaces(), last }
    }

    /// The text of fstate_*.txt at `t_s`: node, destination, next hop, interface here, interface there. The first text has every
    /// entry, each later one the changed entries.
    pub fn step(&mut self, t_s: f64) -> String {
        self.forwarding.step(t_s);
        let satellites = self.network.constellation.len();
        let stations = self.network.stations.len();
        let mut out = String::new();
        for node in 0..self.network.nodes() {
            for to in 0..stations {
                let destination = satellites + to;
                if node == destination {
                    continue;
                }
                let entry = match node.checked_sub(satellites) {
                    None => self.of_satellite(node as u32, to),
                    Some(from) => self.of_station(from, to),
                };
                let last = &mut self.last[node * stations + to];
                if *last != Some(entry) {
                    *last = Some(entry);
                    let (next, here, there) = entry;
                    let _ = writeln!(out, "{node},{destination},{next},{here},{there}");
                }
            }
        }
        out
    }

    fn of_satellite(&self, satellite: u32, to: usize) -> StateEntry {
        let ports = &self.interfaces[satellite as usize];
        let port = |of: &[u32], other: u32| of.iter().position(|&one| one == other).map_or(-1, |k| k as i64);
        match self.forwarding.next(satellite, to) {
            Some(StationHop::Satellite(next)) => {
                (i64::from(next), port(ports, next), port(&self.interfaces[next as usize], satellite))
            }
            Some(StationHop::Station) => {
                ((self.network.constellation.len() + to) as i64, ports.len() as i64, 0)
            }
            None => (-1, -1, -1),
        }
    }

    fn of_station(&self, from: usize, to: usize) -> StateEntry {
        match self.forwarding.first(from, to) {
            Some((satellite, _)) => {
                (i64::from(satellite), 0, self.interfaces[satellite as usize].len() as i64)
            }
            None => (-1, -1, -1),
        }
    }
}

/// Next hops read from the texts of fstate_*.txt, in order.
#[derive(Debug, Clone, Default)]
pub struct ReadState {
    entries: std::collections::BTreeMap<(u32, u32), i64>,
}

impl ReadState {
    /// Applies the text of the next step. Fails at a line that is not of five numbers.
    pub fn apply(&mut self, text: &str) -> Result<(), HypatiaError> {
        for line in lines("fstate", text) {
            let cells: Vec<i64> = line.text.split(',').map_while(|cell| cell.trim().parse().ok()).collect();
            let [node, destination, next, _, _] = cells[..] else {
                return Err(line.wrong("node,destination,next hop,interface,interface"));
            };
            let (Ok(node), Ok(destination)) = (u32::try_from(node), u32::try_from(destination)) else {
                return Err(line.wrong("node numbers from 0 on"));
            };
            self.entries.insert((node, destination), next);
        }
        Ok(())
    }

    /// Next hop of a node towards a station, by node numbers; `None` if there is no path.
    pub fn next(&self, node: u32, destination: u32) -> Option<u32> {
        u32::try_from(*self.entries.get(&(node, destination))?).ok()
    }
}

fn satellites(tles: &str) -> Result<Constellation, HypatiaError> {
    let (size, body) = tles.split_once('\n').unwrap_or((tles, ""));
    let line = NetworkLine { file: "tles.txt", number: 1, text: size };
    let sizes: Vec<usize> = size.split_whitespace().map_while(|cell| cell.parse().ok()).collect();
    let [orbits, per_orbit] = sizes[..] else {
        return Err(line.wrong("two numbers, of orbits and of satellites in each"));
    };
    // t = 0 is the epoch of the first elements; without one, that of the newest.
    let epoch = epoch(body);
    let constellation = Constellation::from_tle(body.as_bytes(), epoch)
        .map_err(|error| HypatiaError { file: "tles.txt", problem: error.to_string() })?;
    match constellation.len() == orbits.saturating_mul(per_orbit) {
        true => Ok(constellation),
        false => {
            Err(line.wrong(&format!("a product of {}, as many satellites as follow", constellation.len())))
        }
    }
}

/// Year and day of the first line 1, the instant at which Hypatia starts.
fn epoch(body: &str) -> Option<Epoch> {
    let line = body.lines().find(|line| line.starts_with("1 "))?;
    let (year, day): (i32, f64) =
        (line.get(18..20)?.trim().parse().ok()?, line.get(20..32)?.trim().parse().ok()?);
    let year = if year < 57 { 2000 + year } else { 1900 + year };
    let begin: Epoch = format!("{year}-01-01").parse().ok()?;
    // An impossible day of the year is reported by the parser of elements.
    if !(0.0..=367.0).contains(&day) {
        return None;
    }
    Epoch::new(begin.utc() + std::time::Duration::from_secs_f64((day - 1.0).max(0.0) * 86_400.0)).ok()
}

fn isl(line: &NetworkLine<'_>, satellites: u32) -> Result<(u32, u32), HypatiaError> {
    let ends: Vec<u32> = line.text.split_whitespace().map_while(|cell| cell.parse().ok()).collect();
    match ends[..] {
        [a, b] if a != b && a.max(b) < satellites => Ok((a, b)),
        _ => Err(line.wrong(&format!("two numbers of satellites below {satellites} that differ"))),
    }
}

fn station(line: &NetworkLine<'_>, number: usize) -> Result<Terminal, HypatiaError> {
    let cells: Vec<&str> = line.text.split(',').map(str::trim).collect();
    let (Some(gid), Some(name)) = (cells.first(), cells.get(1)) else {
        return Err(line.wrong("number,name,latitude,longitude,height"));
    };
    if gid.parse() != Ok(number) {
        return Err(line.wrong(&format!("station number {number} next")));
    }
    let degrees: Vec<f64> = cells[2..].iter().map_while(|cell| cell.parse().ok()).collect();
    let [latitude, longitude, height_m, ..] = degrees[..] else {
        return Err(line.wrong("number,name,latitude,longitude,height"));
    };
    let terminal = Terminal::from_degrees(*name, latitude, longitude).and_then(|terminal| {
        let terminal = Terminal { height_m, ..terminal };
        terminal.check().map(|()| terminal)
    });
    terminal
        .map_err(|error| HypatiaError { file: line.file, problem: format!("line {}: {error}", line.number) })
}

struct NetworkLine<'a> {
    file: &'static str,
    number: usize,
    text: &'a str,
}

impl NetworkLine<'_> {
    fn wrong(&self, expected: &str) -> HypatiaError {
        let Self { file, number, text } = self;
        HypatiaError { file, problem: format!("line {number}: {text:?}; expected {expected}") }
    }
}

fn lines<'a>(file: &'static str, text: &'a str) -> impl Iterator<Item = NetworkLine<'a>> {
    let lines = (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty());
    lines.map(move |(number, text)| NetworkLine { file, number, text })
}

/// The error for a file of Hypatia's that cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct HypatiaError {
    /// Name of the file.
    pub file: &'static str,
    problem: String,
}

impl fmt::Display for HypatiaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names come from the file, and may contain anything.
        let problem: String = self.problem.chars().map(|c| if c.is_control() { '.' } else { c }).collect();
        write!(f, "{}: {problem}", self.file)
    }
}

impl std::error::Error for HypatiaError {}
