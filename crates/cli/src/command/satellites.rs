//! How commands are told which satellites to fly, and by which rules for links.
//!
//! Follows the presets of the library, and `Planes::infer` for satellites of a file.
//! Differs from a catalogue: what a file does not say, links and masks, is the library's guess.
//! Leaves out scenarios, which say the same with keys.

use super::files::read;
use super::values::{antennas, degrees, kilometres};
use crate::failure::Failure;
use clap::Args;
use skyhop_sim::orbit::preset::Preset;
use skyhop_sim::orbit::{Constellation, Epoch, Terminal, omm, places, tle};
use skyhop_sim::routing::{Metric, Network};
use skyhop_sim::topology::{CrossSeam, Fibre, Handover, Rules, Station, Topology};
use skyhop_text::table::{self, TableError};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

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

/// The places of a table of name,lat,lon; a heading and lines that begin with # are passed over.
pub fn places_of(file: &Path) -> Result<Vec<Terminal>, Failure> {
    let name = file.display().to_string();
    let wrong = |e: TableError| {
        let place = e.line.map_or(name.clone(), |line| format!("{name}:{line}"));
        Failure::Scenario(format!("{place}: {}", e.message))
    };
    let bytes = read(file)?;
    let mut places = Vec::new();
    for (number, row) in table::rows(&bytes).map_err(wrong)?.enumerate() {
        let row = row.map_err(wrong)?;
        let cells: Vec<&str> = row.cells().collect();
        let heading = |cell: &&str| matches!(cell.to_lowercase().as_str(), "lat" | "latitude");
        if number == 0 && cells.get(1).is_some_and(heading) {
            continue;
        }
        let [place, lat, lon] = cells[..] else {
            return Err(wrong(row.wrong(format!("{} cells; expected name,lat,lon", cells.len()))));
        };
        let degrees = |key: &str, text: &str| {
            let told = |e| wrong(row.wrong(format!("{key}: {e}; expected degrees like -33.92")));
            table::number(text).map_err(told)
        };
        let terminal = Terminal::from_degrees(place, degrees("lat", lat)?, degrees("lon", lon)?);
        places.push(terminal.map_err(|e| wrong(row.wrong(e.to_string())))?);
    }
    Ok(places)
}

/// A preset by its name.
pub fn find(name: &str) -> Result<&'static Preset, Failure> {
    Preset::find(name).map_err(|e| Failure::Scenario(e.to_string()))
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
