//! The options of commands that choose satellites and the rules of their links.
//!
//! Follows a scenario's `[constellation]`: options are put into one, so that defaults are the same.
//! Differs from a scenario: bare numbers are degrees and kilometres, and doubtful data are reported at once.
//! Leaves out packets; rates and queues of a scenario have no effect here.

use super::files::read;
use super::values::{antennas, degrees, kilometres};
use crate::engine;
use crate::failure::Failure;
use clap::Args;
use skyhop_chance::Seed;
use skyhop_network::{BuildError, Satellites, apart, place_of};
use skyhop_orbit::preset::Preset;
use skyhop_orbit::{Constellation, Course, Terminal, places};
use skyhop_routing::{PathMetric, RoutedTopology};
use skyhop_scenario::{self as scenario, Antennas, Files, Scenario};
use skyhop_text::spelling::nearest;
use skyhop_text::table::{self, TableError};
use skyhop_topology::{Defaults, Handover, LinkKind, Rules, Station, Topology};
use skyhop_units::{Angle, Length};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The choice of satellites, and their rules.
#[derive(Debug, Args)]
pub struct SatelliteOptions {
    /// Name of a published constellation; `skyhop constellation list` prints them.
    #[arg(long, value_name = "NAME")]
    pub constellation: Option<String>,
    /// File of two- or three-line elements.
    #[arg(long, value_name = "FILE", conflicts_with = "constellation")]
    pub tle: Option<PathBuf>,
    /// File of orbit mean-elements messages, JSON or CSV.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["constellation", "tle"])]
    pub omm: Option<PathBuf>,
    /// Scenario with satellites, links, terminals, failures and routing; other options change them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["constellation", "tle", "omm"])]
    pub scenario: Option<PathBuf>,
    /// Change one value of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "scenario",
        conflicts_with_all = ["constellation", "tle", "omm"])]
    pub sets: Vec<String>,
    /// UTC of t = 0 for a file; its newest epoch if left out.
    #[arg(long, value_name = "UTC")]
    pub epoch: Option<String>,
    /// Lowest elevation at which a satellite serves, degrees; the constellation's own if left out, 10 for a file of unknown satellites.
    #[arg(long, value_name = "DEG", value_parser = degrees)]
    pub mask: Option<f64>,
}

/// The rules of links.
#[derive(Debug, Args)]
pub struct IslOptions {
    /// Policy by which a terminal chooses its satellite; the constellation's own if left out. A terminal then holds one satellite
    /// unless --antennas sets more.
    #[arg(long, value_name = "POLICY",
        value_parser = clap::builder::PossibleValuesParser::new(scenario::Handover::ALL.iter().map(|policy| policy.name())))]
    pub handover: Option<String>,
    /// Latitude in degrees above which links between planes are off; the constellation's own if left out.
    #[arg(long, value_name = "DEG", value_parser = degrees)]
    pub isl_latitude_limit: Option<f64>,
    /// Links across the seam; as published if left out.
    #[arg(long, value_name = "ON|OFF", num_args = 0..=1, require_equals = true, default_missing_value = "on",
        value_parser = ["on", "off"])]
    pub cross_seam: Option<String>,
    /// Links between satellites: off for a bent pipe, on for satellites of a file that are not known to have any.
    #[arg(long, value_name = "ON|OFF", value_parser = ["on", "off"])]
    pub isls: Option<String>,
    /// Largest length of an ISL; longer ones are down.
    #[arg(long, value_name = "KM", value_parser = kilometres)]
    pub max_isl_range: Option<f64>,
    /// Number of satellites that a terminal may use at once, or all that are in view. If left out all, but one with --handover,
    /// and over Iridium, Teledesic and Spaceway NGSO.
    #[arg(long, value_name = "N|all", value_parser = antennas)]
    pub antennas: Option<u16>,
    /// Place of a gateway: a city, or lat,lon in degrees; may be repeated. Gateways use every satellite in view and are joined by
    /// fibre along great circles.
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub gateway: Vec<String>,
    /// File of gateways: lines of name,lat,lon with a heading.
    #[arg(long, value_name = "FILE")]
    pub gateways: Option<PathBuf>,
    /// Length of the fibre between gateways relative to the great circle.
    #[arg(long, value_name = "FACTOR")]
    pub fibre_detour: Option<f64>,
}

/// The chosen satellites, ready for questions.
pub struct LoadedSatellites {
    /// The satellites.
    pub constellation: Constellation,
    /// The rules of their links.
    pub rules: Rules,
    /// The defaults that were used.
    pub defaults: Defaults,
    /// Name of the preset, of the file, or of the scenario.
    pub name: String,
    /// The scenario of the question, with gateways and terminals.
    pub scenario: Scenario,
    /// True if the scenario came from a file.
    pub from_file: bool,
    /// Contents of the files that the scenario names.
    files: Files,
    antennas: Option<Antennas>,
}

impl LoadedSatellites {
    /// A network of these terminals, with the gateways and terminals of the scenario.
    pub fn network(&self, terminals: &[Terminal], metric: PathMetric) -> Result<RoutedTopology, Failure> {
        Ok(RoutedTopology::new(self.topology(terminals)?, metric))
    }

    /// A topology of these terminals.
    pub fn topology(&self, terminals: &[Terminal]) -> Result<Topology, Failure> {
        self.held(self.scenario.clone(), self.rules, terminals, self.antennas)
    }

    /// The topology in which these terminals hold every satellite in view.
    pub fn all_in_view(&self, terminals: &[Terminal]) -> Result<Topology, Failure> {
        let (mut scenario, mut rules) = (self.scenario.clone(), self.rules);
        if rules.handover.only_chooses() {
            rules.handover = Handover::HighestOnLoss;
            if let Some(model) = &mut scenario.constellation {
                model.handover = None;
            }
        }
        self.held(scenario, rules, terminals, Some(Antennas::All))
    }

    fn held(
        &self,
        mut scenario: Scenario,
        rules: Rules,
        terminals: &[Terminal],
        antennas: Option<Antennas>,
    ) -> Result<Topology, Failure> {
        for Terminal { name, latitude_rad, longitude_rad, height_m } in terminals {
            let (lat, lon) =
                (Angle::from_deg(latitude_rad.to_degrees()), Angle::from_deg(longitude_rad.to_degrees()));
            let height = Length::from_m(*height_m);
            let new = scenario::Terminal {
                lat: Some(lat),
                lon: Some(lon),
                height,
                ..scenario::Terminal::default()
            };
            let terminal = scenario.terminals.entry(name.clone()).or_insert(new);
            if antennas.is_some() && !terminal.gateway {
                terminal.antennas = antennas;
            }
        }
        let fleet = Satellites { constellation: self.constellation.clone(), rules, defaults: self.defaults };
        let seed = Seed(scenario.seed);
        fleet.topology(&scenario, &self.files, seed).map_err(|e| Failure::Scenario(told(&e)))
    }

    /// A place: a terminal of the scenario at its initial position, a city, or "lat,lon".
    pub fn place(&self, text: &str) -> Result<Terminal, String> {
        self.course(text).map(|(place, _)| place)
    }

    /// As [`Self::place`], with the course that a moving terminal follows.
    pub fn course(&self, text: &str) -> Result<(Terminal, Option<Course>), String> {
        match self.scenario.terminals.get_key_value(text) {
            Some((name, terminal)) => {
                place_of(name, terminal, self.constellation.earth(), &self.files).map_err(|e| e.to_string())
            }
            None => places::find(text).map(|place| (place, None)).map_err(|e| {
                let names: Vec<&str> = self.scenario.terminals.keys().map(String::as_str).collect();
                match (self.from_file, names.is_empty()) {
                    (true, false) => format!("{e} (terminals of the scenario: {})", names.join(", ")),
                    _ => e.to_string(),
                }
            }),
        }
    }

    /// The satellite with a name or plane.slot, as given by `option`.
    pub fn satellite(&self, option: &str, text: &str) -> Result<u32, Failure> {
        let (constellation, planes) = (&self.constellation, self.constellation.planes());
        let names: Vec<String> = (0..constellation.len() as u32).map(|s| constellation.name(s)).collect();
        if let Some(found) = names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
            return Ok(found as u32);
        }
        let wrong = |what: String| Err(Failure::Scenario(format!("{option}: {what}")));
        let numbers =
            text.split_once('.').and_then(|(p, s)| Some((p.parse::<u32>().ok()?, s.parse::<u32>().ok()?)));
        let Some((plane, slot)) = numbers else {
            let hint = nearest(text, names.iter().map(String::as_str));
            return wrong(match hint {
                Some(near) => format!("unknown satellite \"{text}\"; did you mean \"{near}\"?"),
                None => format!(
                    "unknown satellite \"{text}\"; expected a name like \"{}\" or plane.slot",
                    names.first().map_or("", String::as_str)
                ),
            });
        };
        let members = planes.members(plane);
        match members.get(slot as usize) {
            Some(&satellite) => Ok(satellite),
            None if members.is_empty() => {
                wrong(format!("no plane {plane}; expected 0 to {}", planes.len().saturating_sub(1)))
            }
            None => wrong(format!("no slot {slot} in plane {plane}; expected 0 to {}", members.len() - 1)),
        }
    }

    /// The metric of paths: the option's, else the scenario's.
    pub fn metric(&self, asked: Option<PathMetric>) -> PathMetric {
        let routing = &self.scenario.routing;
        let own = self.scenario.fleets().filter_map(|fleet| fleet.model.scheme);
        if let Some(scheme) = std::iter::once(routing.scheme).chain(own).find(|scheme| !scheme.knows_all()) {
            let scheme = scheme.name();
            eprintln!("warning: the scenario has scheme \"{scheme}\"; this command uses shortest paths");
        }
        asked.unwrap_or_else(|| skyhop_network::metric(routing))
    }

    /// Description of the satellites of a file: planes, and links with their lengths at t = 0; empty for others.
    pub fn about(&self, topology: &Topology) -> String {
        if self.constellation.catalogue().is_none() {
            return String::new();
        }
        let mut out = placed(&self.constellation);
        out += &links(&self.defaults, &self.rules, topology);
        out
    }
}

/// Description of a scenario's satellites in a line: number, mask, links at the start.
pub fn in_a_line(loaded: &scenario::Loaded) -> Option<String> {
    let model = loaded.scenario.constellation.as_ref()?;
    let fleet = Satellites::of(model, &loaded.files).ok()?;
    let mask_deg = crate::table::digits(fleet.rules.elevation_mask_rad.to_degrees());
    let of = fleet.defaults.system.filter(|_| model.preset.is_none());
    let of = of.map_or_else(String::new, |system| format!(" with the rules of {}", system.name));
    let count = fleet.constellation.len() as u64;
    let mut topology = fleet.topology(&loaded.scenario, &loaded.files, Seed(loaded.scenario.seed)).ok()?;
    topology.update(0.0);
    let isls = match lengths_km(&topology)[..] {
        [] => "no ISLs".to_owned(),
        ref km => format!(
            "{} ISLs at the start, median {:.0} km, longest {:.0} km",
            crate::table::count(km.len() as u64),
            km[km.len() / 2],
            km[km.len() - 1]
        ),
    };
    Some(format!("{} satellites{of}, mask {mask_deg} deg, {isls}", crate::table::count(count)))
}

/// Lengths of the ISLs that are up at t = 0, ascending.
fn lengths_km(topology: &Topology) -> Vec<f64> {
    let isls = topology.links().iter();
    let isls = isls
        .filter(|link| link.up && !matches!(link.kind, LinkKind::Gsl | LinkKind::Fibre | LinkKind::Ground));
    let mut km: Vec<f64> =
        isls.filter_map(|link| topology.distance_m(link.a, link.b, 0.0)).map(|m| m / 1e3).collect();
    km.sort_by(f64::total_cmp);
    km
}

/// Description of the links of a file's satellites: the assumed system, and their lengths at t = 0.
fn links(defaults: &Defaults, rules: &Rules, topology: &Topology) -> String {
    let km = lengths_km(topology);
    let none = (rules.intra_plane_neighbours, rules.inter_plane_neighbours) == (0, 0);
    let own = (defaults.rules.intra_plane_neighbours, defaults.rules.inter_plane_neighbours) == (0, 0);
    let whose = defaults.system.map(|system| system.name);
    match (none, whose) {
        (true, Some(system)) if own => {
            format!("no ISLs, since {system} has none; --isls on links neighbours\n")
        }
        (true, None) => "no ISLs, which elements do not describe; --isls on links neighbours\n".to_owned(),
        (true, _) => String::new(),
        (false, _) => {
            let whose = whose.filter(|_| !own).map_or_else(
                || ", which elements do not describe".to_owned(),
                |system| format!(", guessed from the planes, as {system} has them"),
            );
            let longest = km.last().copied().unwrap_or(0.0);
            let median = km.get(km.len() / 2).copied().unwrap_or(0.0);
            format!(
                "{} ISLs up at t = 0{whose}: median {median:.0} km, longest {longest:.0} km\n",
                crate::table::count(km.len() as u64)
            )
        }
    }
}

/// The message for a mistake, at the option that caused it.
fn told(error: &BuildError) -> String {
    let BuildError { key, message } = error;
    match key.as_str() {
        "constellation.preset" => format!("--constellation: {message}"),
        "constellation.epoch" => format!("--epoch: {message}"),
        "constellation.handover" => {
            format!("--handover: {}", message.replace("antennas = \"all\"", "--antennas all"))
        }
        _ => message.clone(),
    }
}

impl SatelliteOptions {
    /// The satellites of a scenario's file.
    pub fn of_scenario(file: &Path) -> Self {
        let scenario = Some(file.to_path_buf());
        Self {
            constellation: None,
            tle: None,
            omm: None,
            scenario,
            sets: Vec::new(),
            epoch: None,
            mask: None,
        }
    }

    /// Builds the constellation, and reports doubtful data on standard error.
    pub fn load(&self, isls: Option<&IslOptions>) -> Result<LoadedSatellites, Failure> {
        let (mut scenario, files, name, source) = self.said()?;
        let model = scenario.constellation.get_or_insert_with(scenario::Constellation::bare);
        if let Some(epoch) = &self.epoch {
            model.epoch = Some(epoch.clone());
        }
        if let Some(mask_deg) = self.mask {
            model.elevation_mask = Some(Angle::from_deg(mask_deg));
        }
        let gateways = match isls {
            Some(isls) => isls.put_into(model)?,
            None => Vec::new(),
        };
        let fleet = Satellites::of(model, &files).map_err(|e| match &source {
            Some(loaded) => engine::at_line(loaded, e),
            None => Failure::Scenario(told(&e)),
        })?;
        if self.epoch.is_some() && fleet.constellation.epoch().is_none() {
            return Err(Failure::Scenario(format!("--epoch: {name} is a pattern without a date")));
        }
        for gateway in gateways {
            // A gateway may be in the city that is the destination.
            let lat = Angle::from_deg(gateway.latitude_rad.to_degrees());
            let lon = Angle::from_deg(gateway.longitude_rad.to_degrees());
            let terminal = scenario::Terminal {
                lat: Some(lat),
                lon: Some(lon),
                gateway: true,
                ..scenario::Terminal::default()
            };
            scenario.terminals.entry(format!("{}-gateway", gateway.name)).or_insert(terminal);
        }
        warn_if_stale(&name, &fleet.constellation);
        let antennas = isls.and_then(|isls| isls.antennas).map(|count| match count {
            Station::ALL_IN_VIEW => Antennas::All,
            count => Antennas::Count(count),
        });
        let Satellites { constellation, rules, defaults } = fleet;
        Ok(LoadedSatellites {
            constellation,
            rules,
            defaults,
            name,
            scenario,
            from_file: source.is_some(),
            files,
            antennas,
        })
    }

    /// The options that choose satellites as a scenario, its files and its name, and the file that it is from.
    fn said(&self) -> Result<(Scenario, Files, String, Option<scenario::Loaded>), Failure> {
        if let Some(file) = &self.scenario {
            let loaded = engine::load(file, &self.sets)?;
            if loaded.scenario.constellation.is_none() {
                let several: Vec<&str> = loaded.scenario.fleets().map(|fleet| fleet.name).collect();
                let what = match several.is_empty() {
                    true => "no [constellation]".to_owned(),
                    false => format!("constellations {}, and this looks at one alone", several.join(" and ")),
                };
                return Err(Failure::Scenario(format!(
                    "{}: {what}; expected one in [constellation]",
                    file.display()
                )));
            }
            let (scenario, files) = (loaded.scenario.clone(), loaded.files.clone());
            return Ok((scenario, files, loaded.name.clone(), Some(loaded)));
        }
        let mut model = scenario::Constellation::bare();
        let mut files = Files::new();
        let name = match (&self.constellation, &self.tle, &self.omm) {
            (Some(name), ..) => {
                let preset = scenario::Preset::find(name);
                let preset = preset.map_err(|e| Failure::Scenario(format!("--constellation: {e}")))?;
                model.preset = Some(preset);
                preset.name().to_owned()
            }
            (None, Some(file), _) => put_elements(&mut model, &mut files, file, false)?,
            (None, None, Some(file)) => put_elements(&mut model, &mut files, file, true)?,
            (None, None, None) => {
                return Err(Failure::Scenario(
                    "no satellites; expected --constellation, --tle, --omm or --scenario (names: skyhop constellation list)".into(),
                ));
            }
        };
        Ok((Scenario::of_satellites(model), files, name, None))
    }
}

/// Makes a file of elements the model's satellites, and returns their name.
fn put_elements(
    model: &mut scenario::Constellation,
    files: &mut Files,
    file: &Path,
    messages: bool,
) -> Result<String, Failure> {
    let name = file.display().to_string();
    let bytes = read(file)?;
    if !messages && is_hypatias(&bytes) {
        return Err(Failure::Scenario(format!(
            "{name}: begins with numbers of planes and satellites, as Hypatia's tles.txt does; expected skyhop delay --hypatia with \
                its folder"
        )));
    }
    files.insert(name.clone(), bytes.into());
    *(if messages { &mut model.omm } else { &mut model.tle }) = Some(name.clone());
    Ok(name)
}

/// Returns true for Hypatia's elements, which have a line with the numbers of planes and of satellites per plane before the first name.
fn is_hypatias(bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok());
    let numbers: Option<Vec<u32>> = first
        .map_or(Some(Vec::new()), |line| line.split_whitespace().map(|word| word.parse().ok()).collect());
    numbers.is_some_and(|numbers| numbers.len() == 2)
}

impl IslOptions {
    /// Puts the options into a scenario's constellation, and returns the gateways.
    fn put_into(&self, model: &mut scenario::Constellation) -> Result<Vec<Terminal>, Failure> {
        if let Some(limit_deg) = self.isl_latitude_limit {
            model.isl_latitude_limit = Some(Angle::from_deg(limit_deg));
        }
        if let Some(name) = &self.handover {
            model.handover = scenario::Handover::named(name);
            model.handover_period = None;
        }
        if let Some(seam) = self.cross_seam.as_deref() {
            model.cross_seam_isls = Some(seam == "on");
        }
        if let Some(isls) = self.isls.as_deref() {
            model.isls = Some(isls == "on");
        }
        if let Some(range_m) = self.max_isl_range {
            model.max_isl_range = Some(Length::from_m(range_m));
        }
        if let Some(factor) = self.fibre_detour {
            model.fibre_detour = factor;
        }
        self.gateways()
    }
}

impl IslOptions {
    /// The gateways of the command line and of the file, without duplicates.
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

/// The satellites of a file of elements, with their rules and a warning of stale elements.
pub fn elements(file: &Path, messages: bool, epoch: Option<&str>) -> Result<Satellites, Failure> {
    let (mut model, mut files) = (scenario::Constellation::bare(), Files::new());
    let name = put_elements(&mut model, &mut files, file, messages)?;
    model.epoch = epoch.map(str::to_owned);
    let fleet = Satellites::of(&model, &files).map_err(|e| Failure::Scenario(told(&e)))?;
    warn_if_stale(&name, &fleet.constellation);
    Ok(fleet)
}

/// The places in a table of name,lat,lon; a heading and lines that begin with # are skipped.
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

/// The number of a file's satellites in planes, as text; empty for others.
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

/// Warns of a scenario's elements that are old today; the run's own warnings are not repeated.
pub fn warn_of_elements(loaded: &scenario::Loaded) {
    let Some(model) = &loaded.scenario.constellation else { return };
    let Some(file) = model.tle.as_ref().or(model.omm.as_ref()) else { return };
    if let Ok(fleet) = Satellites::of(model, &loaded.files) {
        warn_of_age(file, &fleet.constellation);
    }
}

/// Warns of stale elements, by their age at t = 0 and today: they lose accuracy in days.
pub fn warn_if_stale(name: &str, constellation: &Constellation) {
    if let Some(warning) = apart::stale(constellation) {
        eprintln!("warning: {name}: {warning}");
    }
    warn_of_age(name, constellation);
}

/// Warns of elements that are old today, for any t = 0.
#[expect(clippy::disallowed_methods, reason = "elements age by the calendar")]
fn warn_of_age(name: &str, constellation: &Constellation) {
    const DAY_S: f64 = 86_400.0;
    let age = |s: f64| match s / DAY_S {
        days if days < 365.25 => format!("{days:.0} days"),
        days => format!("{:.1} years", days / 365.25),
    };
    let sets = (0..constellation.len() as u32).filter_map(|satellite| constellation.elements(satellite));
    let newest = sets.map(|set| set.epoch).max();
    let (Some(newest), Ok(now)) = (newest, SystemTime::now().duration_since(UNIX_EPOCH)) else { return };
    let today_s = now.as_secs_f64() - newest.utc().and_utc().timestamp() as f64;
    if today_s > 30.0 * DAY_S {
        eprintln!("warning: {name}: the newest elements are {} old, of {newest}", age(today_s));
    }
}
