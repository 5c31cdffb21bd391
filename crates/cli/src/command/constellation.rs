//! `skyhop constellation`, and how the other commands are told which satellites to fly.
//!
//! Follows the presets of the library, and `Planes::infer` for satellites of a file.
//! Differs from a catalogue: what a file does not say, links and masks, is the library's guess.
//! Leaves out exports, which have a file of their own.

use super::export;
use crate::failure::Failure;
use crate::table::{Table, digits, time};
use clap::{Args, Subcommand};
use skyhop_sim::orbit::preset::{PRESETS, Preset};
use skyhop_sim::orbit::{Constellation, Epoch, Terminal, coverage, omm, places, tle};
use skyhop_sim::routing::{Metric, Network};
use skyhop_sim::topology::{CrossSeam, Fibre, Handover, LinkKind, Rules, Station, Topology};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// `skyhop constellation`.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Name all published constellations.
    List,
    /// Say what a constellation is, where its parameters are from, and what is seen of it by latitude; of a file of elements,
    /// which shells, planes and ISLs are recognised in it.
    Show {
        /// Its name, or a file of elements: two lines, or orbit mean-elements messages if it ends in .json or .csv.
        name: String,
    },
    /// Write a constellation for other programs.
    Export(export::Export),
}

/// Which satellites to fly, and by which rules.
#[derive(Debug, Args)]
pub struct Satellites {
    /// A published constellation; `skyhop constellation list` names them.
    #[arg(long, value_name = "NAME")]
    pub constellation: Option<String>,
    /// The satellites of a file of two- or three-line elements.
    #[arg(long, value_name = "FILE", conflicts_with = "constellation")]
    pub tle: Option<PathBuf>,
    /// The satellites of a file of orbit mean-elements messages, JSON or CSV.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["constellation", "tle"])]
    pub omm: Option<PathBuf>,
    /// UTC of t = 0 for a file; its newest epoch if left out.
    #[arg(long, value_name = "UTC")]
    pub epoch: Option<String>,
    /// Lowest elevation of service in degrees; the constellation's own if left out, 25 for a file.
    #[arg(long, value_name = "DEG", value_parser = degrees)]
    pub mask: Option<f64>,
}

/// Rules for links.
#[derive(Debug, Args)]
pub struct Isls {
    /// How a terminal chooses its satellite; the constellation's own way if left out.
    #[arg(long, value_name = "POLICY",
        value_parser = clap::builder::PossibleValuesParser::new(Handover::NAMES.map(|(name, _)| name)))]
    pub handover: Option<String>,
    /// Links between planes are off above this latitude in degrees; the constellation's own if left out.
    #[arg(long, value_name = "DEG", value_parser = degrees)]
    pub isl_latitude_limit: Option<f64>,
    /// Links across the seam; as published if left out.
    #[arg(long, value_name = "ON|OFF", num_args = 0..=1, require_equals = true, default_missing_value = "on",
        value_parser = ["on", "off"])]
    pub cross_seam: Option<String>,
    /// Links between satellites; off for a bent pipe.
    #[arg(long, value_name = "ON|OFF", value_parser = ["on", "off"])]
    pub isls: Option<String>,
    /// ISLs longer than this are down.
    #[arg(long, value_name = "KM", value_parser = kilometres)]
    pub max_isl_range: Option<f64>,
    /// How many satellites a terminal may use at once: a number, or all that are in view. One, if left out, where a
    /// single shell has ISLs; all, where shells are not joined to one another or there are gateways.
    #[arg(long, value_name = "N|all", value_parser = antennas)]
    pub antennas: Option<u16>,
    /// A gateway: a city, or lat,lon in degrees; may be given often. Gateways use every satellite in view and are joined
    /// by fibre along great circles.
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub gateway: Vec<String>,
    /// Gateways of a file: lines of name,lat,lon with a heading.
    #[arg(long, value_name = "FILE")]
    pub gateways: Option<PathBuf>,
    /// Length of the fibre between gateways over that of the great circle.
    #[arg(long, value_name = "FACTOR")]
    pub fibre_detour: Option<f64>,
}

/// Satellites ready to be asked, and what they are called.
pub struct Loaded {
    /// The satellites.
    pub constellation: Constellation,
    /// Their links.
    pub rules: Rules,
    /// Name of the preset or the file.
    pub name: String,
    /// How many satellites a terminal may use at once.
    pub antennas: u16,
    /// Gateways besides the terminals.
    pub gateways: Vec<Terminal>,
}

impl Loaded {
    /// A network of these terminals, then the gateways.
    pub fn network(&self, terminals: Vec<Terminal>, metric: Metric) -> Result<Network, Failure> {
        let wrong = |e: &dyn std::fmt::Display| Failure::Scenario(e.to_string());
        let terminal = |terminal| Station { terminal, antennas: self.antennas, gateway: false };
        let gateway = |terminal: &Terminal| {
            Station::gateway(
                // A gateway may stand in the city that a packet is for.
                Terminal { name: format!("{}-gateway", terminal.name), ..terminal.clone() },
                Station::ALL_IN_VIEW,
            )
        };
        let mut stations: Vec<Station> = terminals.into_iter().map(terminal).collect();
        stations.extend(self.gateways.iter().map(gateway));
        let topology =
            Topology::with_stations(self.constellation.clone(), stations, &Fibre::Mesh, self.rules);
        Ok(Network::new(topology.map_err(|e| wrong(&e))?, metric))
    }
}

impl Satellites {
    /// Builds the constellation and tells on standard error what is doubtful about it.
    pub fn load(&self, isls: Option<&Isls>) -> Result<Loaded, Failure> {
        let wrong = |name: &str, e: &dyn std::fmt::Display| Failure::Scenario(format!("{name}: {e}"));
        let (constellation, mut rules, seam, name) = match (&self.constellation, &self.tle, &self.omm) {
            (Some(name), ..) => {
                let preset = Preset::find(name).map_err(|e| wrong("--constellation", &e))?;
                let seam = CrossSeam::for_preset(preset);
                (preset.constellation(), Rules::for_preset(preset), seam, preset.name.to_owned())
            }
            (None, Some(file), _) | (None, None, Some(file)) => {
                let name = file.display().to_string();
                let constellation = elements(file, self.tle.is_none(), self.epoch.as_deref())?;
                let rules = Rules::for_constellation(&constellation);
                let seam = CrossSeam { longitude_threshold_rad: 10f64.to_radians(), first_slot: None };
                (constellation, Rules { elevation_mask_rad: 25f64.to_radians(), ..rules }, seam, name)
            }
            (None, None, None) => {
                return Err(Failure::Scenario(
                    "no satellites; expected --constellation, --tle or --omm (names: skyhop constellation list)".into(),
                ));
            }
        };
        if self.epoch.is_some() && constellation.epoch().is_none() {
            return Err(Failure::Scenario(format!("--epoch: {name} is a pattern without a date")));
        }
        if let Some(mask_deg) = self.mask {
            rules.elevation_mask_rad = mask_deg.to_radians();
        }
        if let Some(isls) = isls {
            if let Some(limit_deg) = isls.isl_latitude_limit {
                rules.isl_latitude_limit_rad = limit_deg.to_radians();
            }
            if let Some(policy) = isls.handover.as_deref().and_then(Handover::named) {
                rules.handover = policy;
            }
            match isls.cross_seam.as_deref() {
                Some("on") => rules.cross_seam = rules.cross_seam.or(Some(seam)),
                Some(_) => rules.cross_seam = None,
                None => {}
            }
        }
        let (mut antennas, mut gateways) = (None, Vec::new());
        if let Some(isls) = isls {
            if isls.isls.as_deref() == Some("off") {
                (rules.intra_plane_neighbours, rules.inter_plane_neighbours, rules.cross_seam) = (0, 0, None);
            }
            if let Some(range_m) = isls.max_isl_range {
                rules.max_isl_range_m = range_m;
            }
            if let Some(factor) = isls.fibre_detour {
                rules.fibre_detour = factor;
            }
            gateways = isls.gateways()?;
            antennas = isls.antennas;
        }
        rules.check().map_err(|e| Failure::Scenario(e.to_string()))?;
        let isolated = constellation.planes().shells().len() != 1
            || (rules.intra_plane_neighbours, rules.inter_plane_neighbours) == (0, 0);
        let antennas =
            antennas.unwrap_or(if isolated || !gateways.is_empty() { Station::ALL_IN_VIEW } else { 1 });
        Ok(Loaded { constellation, rules, name, antennas, gateways })
    }
}

impl Isls {
    /// The gateways of the command line and of the file, each place once.
    fn gateways(&self) -> Result<Vec<Terminal>, Failure> {
        let mut found: Vec<Terminal> = Vec::new();
        let named = self
            .gateway
            .iter()
            .map(|text| places::find(text).map_err(|e| Failure::Scenario(format!("--gateway: {e}"))));
        let listed = match &self.gateways {
            Some(file) => places_of(file)?,
            None => Vec::new(),
        };
        for gateway in named.chain(listed.into_iter().map(Ok)) {
            let gateway = gateway?;
            if !found.iter().any(|known| known.name == gateway.name) {
                found.push(gateway);
            }
        }
        Ok(found)
    }
}

/// The satellites of a file of elements, with a word about those that are stale.
pub fn elements(file: &Path, messages: bool, epoch: Option<&str>) -> Result<Constellation, Failure> {
    let epoch = epoch.map(str::parse::<Epoch>).transpose();
    let epoch = epoch.map_err(|e| Failure::Scenario(format!("--epoch: {e}")))?;
    let name = file.display().to_string();
    let bytes = read(file)?;
    let sets = if messages { omm::parse(&bytes) } else { tle::parse(&bytes) };
    let newest = sets.as_ref().ok().and_then(|sets| sets.iter().map(|set| set.epoch).max());
    let built = sets.and_then(|sets| Constellation::from_elements(sets, epoch));
    let constellation = built.map_err(|e| Failure::Scenario(format!("{name}: {e}")))?;
    warn_if_stale(&name, &constellation, newest);
    Ok(constellation)
}

/// The places of a file with lines of name,lat,lon; a heading and lines that begin with # are passed over.
pub fn places_of(file: &Path) -> Result<Vec<Terminal>, Failure> {
    let name = file.display().to_string();
    let text = String::from_utf8(read(file)?)
        .map_err(|_| Failure::Scenario(format!("{name}: not UTF-8; expected lines of name,lat,lon")))?;
    let mut places = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        if text.trim().is_empty() || text.starts_with('#') || (line == 1 && cells.get(1) == Some(&"lat")) {
            continue;
        }
        let wrong = |what: &dyn std::fmt::Display| Failure::Scenario(format!("{name}:{line}: {what}"));
        let [place, lat, lon] = cells[..] else {
            return Err(wrong(&format!("{} cells; expected name,lat,lon", cells.len())));
        };
        let number = |key: &str, text: &str| {
            text.parse::<f64>().map_err(|_| wrong(&format!("{key} {text:?}; expected degrees like -33.92")))
        };
        let terminal = Terminal::from_degrees(place, number("lat", lat)?, number("lon", lon)?);
        places.push(terminal.map_err(|e| wrong(&e))?);
    }
    Ok(places)
}

/// Runs the command.
pub fn run(what: &What) -> Result<(), Failure> {
    match what {
        What::List => list(),
        What::Show { name } if Path::new(name).is_file() => show_file(Path::new(name)),
        What::Show { name } => show(find(name)?),
        What::Export(args) => export::run(args),
    }
}

/// A preset by its name.
pub fn find(name: &str) -> Result<&'static Preset, Failure> {
    Preset::find(name).map_err(|e| Failure::Scenario(e.to_string()))
}

fn list() -> Result<(), Failure> {
    let mut table = Table::new(["name", "satellites", "period", "mask", "what"]);
    for preset in PRESETS {
        let period_s = preset.constellation().period_s(0).unwrap_or_default();
        let mask = format!("{} deg", preset.elevation_mask_deg);
        let (name, about) = (preset.name.to_owned(), preset.about.to_owned());
        table.row([
            name,
            preset.satellites().to_string(),
            format!("{} min", digits(period_s / 60.0)),
            mask,
            about,
        ]);
    }
    super::print(&table.text())
}

fn show(preset: &Preset) -> Result<(), Failure> {
    let constellation = preset.constellation();
    let rules = Rules::for_preset(preset);
    let mut out = format!("{}: {}\n  source: {}\n", preset.name, preset.about, preset.source);
    let planes = constellation.planes();
    for shell in planes.shells() {
        let first = planes.members(shell.planes.start)[0];
        let height_km =
            constellation.position_ecef(first, 0.0).map_or(f64::NAN, |p| p.0.norm() - preset.earth.radius_m)
                / 1e3;
        let _ = writeln!(
            out,
            "  planes {} to {}: {} satellites each, {:.0} km above the equatorial radius at t = 0, period {}, {}",
            shell.planes.start,
            shell.planes.end - 1,
            planes.members(shell.planes.start).len(),
            height_km,
            time(constellation.period_s(first).unwrap_or_default()),
            if shell.wraps { "all the way round" } else { "with a seam" },
        );
    }
    let isls = preset.isls;
    let _ = writeln!(
        out,
        "  {} satellites, mask {} deg, ISLs: {} in the plane, {} between planes, {} across the seam; latitude limit {:.0} deg\n",
        constellation.len(),
        preset.elevation_mask_deg,
        2 * isls.intra_plane,
        2 * isls.inter_plane,
        if isls.cross_seam { "some" } else { "none" },
        rules.isl_latitude_limit_rad.to_degrees(),
    );
    let times_s: Vec<f64> = (0..16).map(|k| f64::from(k) * period_s(&constellation) / 16.0).collect();
    super::print(&(out + &by_latitude(&constellation, rules.elevation_mask_rad, &times_s)))
}

fn period_s(constellation: &Constellation) -> f64 {
    constellation.period_s(0).unwrap_or(6000.0)
}

/// What is in view from the ground.
fn by_latitude(constellation: &Constellation, mask_rad: f64, times_s: &[f64]) -> String {
    let latitudes_rad: Vec<f64> = (0..=9).map(|ten| (f64::from(ten) * 10.0).min(89.9).to_radians()).collect();
    let mut table = Table::new(["latitude", "in view, least", "mean", "most", "covered"]);
    for row in coverage::in_view(constellation, &latitudes_rad, 72, times_s, mask_rad) {
        table.row([
            format!("{:.0} deg", row.latitude_rad.to_degrees()),
            row.least.to_string(),
            format!("{:.2}", row.mean),
            row.most.to_string(),
            crate::table::share(row.covered),
        ]);
    }
    table.text()
}

/// What is recognised in a file of elements.
fn show_file(file: &Path) -> Result<(), Failure> {
    let messages = file.extension().is_some_and(|ending| ending == "json" || ending == "csv");
    let constellation = elements(file, messages, None)?;
    let epoch = constellation.epoch().map_or_else(String::new, |epoch| format!(", t = 0 at {epoch}"));
    let mut out = format!("{}: {} satellites{epoch}\n\n", file.display(), constellation.len());
    let planes = constellation.planes();
    let mut table =
        Table::new(["planes", "satellites", "in a plane", "inclination", "period", "height", "pattern"]);
    for shell in planes.shells() {
        let sizes: Vec<usize> = shell.planes.clone().map(|plane| planes.members(plane).len()).collect();
        let first = planes.members(shell.planes.start)[0];
        let set = constellation.catalogue().and_then(|catalogue| catalogue.elements(first as usize));
        let period_s = constellation.period_s(first).unwrap_or(f64::NAN);
        let earth = constellation.earth();
        let axis_m = (earth.mu_m3_s2 * (period_s / std::f64::consts::TAU).powi(2)).cbrt();
        table.row([
            sizes.len().to_string(),
            sizes.iter().sum::<usize>().to_string(),
            format!("{} to {}", sizes.iter().min().unwrap_or(&0), sizes.iter().max().unwrap_or(&0)),
            set.map_or_else(String::new, |set| format!("{:.1} deg", set.inclination_rad().to_degrees())),
            format!("{:.2} min", period_s / 60.0),
            format!("{:.0} km", (axis_m - earth.radius_m) / 1e3),
            if shell.wraps { "all the way round" } else { "with a seam" }.to_owned(),
        ]);
    }
    if !planes.is_empty() {
        out += &table.text();
    }
    out += &placed(&constellation);
    out.push('\n');
    let mut topology =
        Topology::new(constellation.clone(), Vec::new(), Rules::for_constellation(&constellation))
            .map_err(|e| Failure::Scenario(e.to_string()))?;
    topology.update(0.0);
    for (kind, name) in [(LinkKind::IntraPlane, "in planes"), (LinkKind::InterPlane, "between planes")] {
        let links: Vec<_> = topology.links().iter().filter(|link| link.kind == kind).collect();
        let up = links.iter().filter(|link| link.up);
        let mut km: Vec<f64> =
            up.filter_map(|link| topology.distance_m(link.a, link.b, 0.0)).map(|m| m / 1e3).collect();
        if links.is_empty() {
            continue;
        }
        km.sort_by(f64::total_cmp);
        let at = |share: f64| {
            km.get(((km.len() as f64 - 1.0).max(0.0) * share) as usize).copied().unwrap_or(f64::NAN)
        };
        let _ = writeln!(
            out,
            "ISLs {name}: {} possible, {} up at t = 0: median {:.0} km, p99 {:.0} km, longest {:.0} km",
            links.len(),
            km.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
    let mask_rad = 25f64.to_radians();
    out += "\nIn view above 25 deg at t = 0, all satellites counted:\n\n";
    super::print(&(out + &by_latitude(&constellation, mask_rad, &[0.0])))
}

/// How many satellites of a file are in planes; empty for others.
pub fn placed(constellation: &Constellation) -> String {
    let planes = constellation.planes();
    let all = constellation.len();
    let placed = (0..all as u32).filter(|s| planes.plane_slot(*s).is_some()).count();
    match (constellation.catalogue(), planes.shells().len()) {
        (None, _) => String::new(),
        (_, 0) => format!("no planes recognised: {all} satellites fly on their own, without ISLs\n"),
        (_, shells) => format!(
            "{placed} satellites in {} planes of {shells} {}; {} outside planes have no ISLs and serve no terminal\n",
            planes.len(),
            if shells == 1 { "shell" } else { "shells" },
            all - placed
        ),
    }
}

/// Writes a file, or prints.
pub fn write_or_print(out: Option<&Path>, text: &str) -> Result<(), Failure> {
    match out {
        None => super::print(text),
        Some(file) => {
            fs::write(file, text).map_err(|e| Failure::Run(format!("cannot write {}: {e}", file.display())))
        }
    }
}

/// The bytes of a file of bearable size.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let name = file.display();
    let refuse = |what: String| Failure::Scenario(format!("{name}: {what}"));
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => return Err(refuse("is a directory, not a file".into())),
        Ok(found) if found.len() > skyhop_sim::orbit::elements::MAX_FILE_BYTES as u64 => {
            return Err(refuse(format!(
                "file of {} bytes; expected {} at most",
                found.len(),
                skyhop_sim::orbit::elements::MAX_FILE_BYTES
            )));
        }
        _ => {}
    }
    fs::read(file).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => refuse("no such file".into()),
        _ => refuse(e.to_string()),
    })
}

/// Elements go stale in days: warns of their age at t = 0, and of their age today.
fn warn_if_stale(name: &str, constellation: &Constellation, newest: Option<Epoch>) {
    const DAY_S: f64 = 86_400.0;
    let age = |s: f64| match s / DAY_S {
        days if days < 365.25 => format!("{days:.0} days"),
        days => format!("{:.1} years", days / 365.25),
    };
    let at_start_s = constellation.catalogue().map_or(0.0, skyhop_sim::orbit::Catalogue::greatest_age_s);
    if at_start_s > 30.0 * DAY_S {
        eprintln!(
            "warning: {name}: elements up to {} from t = 0; positions are off by kilometres after days",
            age(at_start_s)
        );
    }
    let (Some(newest), Ok(now)) = (newest, SystemTime::now().duration_since(UNIX_EPOCH)) else { return };
    let today_s = now.as_secs_f64() - newest.utc().and_utc().timestamp() as f64;
    if today_s > 30.0 * DAY_S {
        eprintln!("warning: {name}: the newest elements are {} old, of {newest}", age(today_s));
    }
}

/// A time in seconds: a number, or a number with a unit.
pub fn seconds(text: &str) -> Result<f64, String> {
    let bare = text.trim().parse::<f64>().ok();
    let seconds = match bare {
        Some(number) => number,
        None => text.parse::<skyhop_units::Span>().map_err(|e| e.to_string())?.as_secs_f64(),
    };
    if (0.0..=1e9).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(format!("{seconds} s; expected 0 to 1e9 s"))
    }
}

/// An angle in degrees, with or without its unit.
pub fn degrees(text: &str) -> Result<f64, String> {
    let bare = text.trim().trim_end_matches("deg").trim_end();
    match bare.parse::<f64>() {
        Ok(angle) if (-90.0..=90.0).contains(&angle) => Ok(angle),
        Ok(angle) => Err(format!("{angle} deg; expected -90 to 90 deg")),
        Err(_) => Err("expected degrees like 8.2".into()),
    }
}

/// A distance in kilometres, as metres.
fn kilometres(text: &str) -> Result<f64, String> {
    let bare = text.trim().trim_end_matches("km").trim_end();
    match bare.parse::<f64>() {
        Ok(km) if (1.0..=1e6).contains(&km) => Ok(km * 1e3),
        Ok(km) => Err(format!("{km} km; expected 1 to 1000000 km")),
        Err(_) => Err("expected kilometres like 5016".into()),
    }
}

/// A number of antennas, or as many as there are satellites in view.
fn antennas(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        _ if text == "all" => Ok(Station::ALL_IN_VIEW),
        Ok(count) if (1..=Station::ALL_IN_VIEW).contains(&count) => Ok(count),
        _ => Err(format!("expected 1 to {}, or all", Station::ALL_IN_VIEW)),
    }
}
