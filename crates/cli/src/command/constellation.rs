//! `skyhop constellation`, and how the other commands are told which satellites to fly.
//!
//! Follows the presets of the library; CZML as Cesium reads it, OEM as CCSDS 502.0-B, TLE with checksums.
//! Differs from a catalogue: invented constellations have no date, so exports of them begin in 2000.
//! Leaves out frames other than the Earth-fixed one in exports of positions.

use crate::failure::Failure;
use crate::table::{Table, digits, time};
use clap::{Args, Subcommand};
use skyhop_sim::orbit::preset::{PRESETS, Preset};
use skyhop_sim::orbit::{Constellation, Epoch, Terminal, omm, places, tle};
use skyhop_sim::routing::{Metric, Network};
use skyhop_sim::topology::{CrossSeam, Fibre, Handover, Rules, Station, Topology};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// `skyhop constellation`.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Name all published constellations.
    List,
    /// Say what a constellation is, where its parameters are from, and what is seen of it by latitude.
    Show {
        /// Its name.
        name: String,
    },
    /// Write a constellation for other programs.
    Export(Export),
}

/// `skyhop constellation export`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("format").required(true))]
pub struct Export {
    /// Its name, or a file of elements (for CZML and OEM).
    pub name: String,
    /// As CZML, for Cesium.
    #[arg(long, group = "format")]
    pub czml: bool,
    /// As an orbit ephemeris message, Earth-fixed.
    #[arg(long, group = "format")]
    pub oem: bool,
    /// As two-line elements.
    #[arg(long, group = "format")]
    pub tle: bool,
    /// As a folder of Hypatia's: satellites, ISLs, ground stations, and forwarding state for the duration.
    #[arg(long, group = "format", value_name = "DIR")]
    pub hypatia: Option<PathBuf>,
    /// Ground stations for Hypatia: lines of name,lat,lon with a heading; a hundred cities if left out.
    #[arg(long, value_name = "FILE", requires = "hypatia")]
    pub stations: Option<PathBuf>,
    /// How long a time to cover with positions: seconds, or with a unit.
    #[arg(long, value_name = "TIME", default_value = "2 h", value_parser = seconds)]
    pub duration: f64,
    /// Time between positions.
    #[arg(long, value_name = "TIME", default_value = "60", value_parser = seconds)]
    pub step: f64,
    /// Write here instead of to standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
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
        let epoch = self.epoch.as_deref().map(str::parse::<Epoch>).transpose();
        let epoch = epoch.map_err(|e| wrong("--epoch", &e))?;
        let (constellation, mut rules, seam, name) = match (&self.constellation, &self.tle, &self.omm) {
            (Some(name), ..) => {
                let preset = Preset::find(name).map_err(|e| wrong("--constellation", &e))?;
                let seam = CrossSeam::for_preset(preset);
                (preset.constellation(), Rules::for_preset(preset), seam, preset.name.to_owned())
            }
            (None, Some(file), _) | (None, None, Some(file)) => {
                let name = file.display().to_string();
                let bytes = read(file)?;
                let sets = if self.tle.is_some() { tle::parse(&bytes) } else { omm::parse(&bytes) };
                let newest = sets.as_ref().ok().and_then(|sets| sets.iter().map(|set| set.epoch).max());
                let built = sets.and_then(|sets| Constellation::from_elements(sets, epoch));
                let constellation = built.map_err(|e| wrong(&name, &e))?;
                warn_if_stale(&name, &constellation, newest);
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

/// The places of a file with lines of name,lat,lon; a heading and lines that begin with # are passed over.
fn places_of(file: &Path) -> Result<Vec<Terminal>, Failure> {
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
        What::Show { name } => show(find(name)?),
        What::Export(args) => export(args),
    }
}

fn find(name: &str) -> Result<&'static Preset, Failure> {
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
    let latitudes_rad: Vec<f64> = (0..=9).map(|ten| (f64::from(ten) * 10.0).min(89.9).to_radians()).collect();
    let period_s = constellation.period_s(0).unwrap_or(6000.0);
    let times_s: Vec<f64> = (0..16).map(|k| f64::from(k) * period_s / 16.0).collect();
    let mut table = Table::new(["latitude", "in view, least", "mean", "most", "covered"]);
    for row in skyhop_sim::orbit::coverage::in_view(
        &constellation,
        &latitudes_rad,
        72,
        &times_s,
        rules.elevation_mask_rad,
    ) {
        table.row([
            format!("{:.0} deg", row.latitude_rad.to_degrees()),
            row.least.to_string(),
            format!("{:.2}", row.mean),
            row.most.to_string(),
            crate::table::share(row.covered),
        ]);
    }
    super::print(&(out + &table.text()))
}

fn export(args: &Export) -> Result<(), Failure> {
    let file = Path::new(&args.name);
    if file.is_file() {
        return export_file(args, file);
    }
    let preset = find(&args.name)?;
    let constellation = preset.constellation();
    if let Some(folder) = &args.hypatia {
        let stations = args.stations.as_deref().map(places_of).transpose()?;
        let target = super::hypatia::Target { folder, stations, times_s: (args.duration, args.step) };
        let rules = Rules::for_preset(preset);
        return super::hypatia::export(
            preset.name,
            &constellation,
            rules,
            &two_lines(&constellation),
            &target,
        );
    }
    let count = args.duration / args.step * constellation.len() as f64;
    if !args.tle && (count.is_nan() || count > 2e7) {
        return Err(Failure::Scenario(format!(
            "--step: {count:.0} positions in all; expected a step above zero and 20000000 positions at most"
        )));
    }
    let text = match (args.czml, args.oem) {
        (true, _) => czml(preset.name, &constellation, args),
        (_, true) => oem(&constellation, args),
        _ => two_lines(&constellation),
    };
    write_or_print(args.out.as_deref(), &text)
}

/// Positions of catalogued satellites.
fn export_file(args: &Export, file: &Path) -> Result<(), Failure> {
    if args.tle || args.hypatia.is_some() {
        let message = format!("{}: elements are exported as --czml or --oem", file.display());
        return Err(Failure::Scenario(message));
    }
    let wrong = |e: &dyn std::fmt::Display| Failure::Scenario(format!("{}: {e}", file.display()));
    let bytes = read(file)?;
    let messages = file.extension().is_some_and(|ending| ending == "json" || ending == "csv");
    let sets = if messages { omm::parse(&bytes) } else { tle::parse(&bytes) };
    let constellation =
        sets.and_then(|sets| Constellation::from_elements(sets, None)).map_err(|e| wrong(&e))?;
    let count = args.duration / args.step * constellation.len() as f64;
    if count.is_nan() || count > 2e7 {
        return Err(Failure::Scenario(format!(
            "--step: {count:.0} positions in all; expected a step above zero and 20000000 positions at most"
        )));
    }
    let text = if args.czml { czml(&args.name, &constellation, args) } else { oem(&constellation, args) };
    write_or_print(args.out.as_deref(), &text)
}

fn instants(args: &Export) -> impl Iterator<Item = f64> + use<> {
    let (steps, step_s) = ((args.duration / args.step + 1e-9) as u64, args.step);
    (0..=steps).map(move |k| k as f64 * step_s)
}

/// A date; a pattern without one begins in 2000.
fn stamp(constellation: &Constellation, t_s: f64) -> String {
    let start = constellation.epoch().or_else(|| "2000-01-01T00:00:00".parse().ok());
    start.map_or_else(String::new, |epoch| {
        let instant = epoch.utc() + std::time::Duration::from_secs_f64(t_s);
        instant.format("%Y-%m-%dT%H:%M:%S%.3f").to_string()
    })
}

fn czml(name: &str, constellation: &Constellation, args: &Export) -> String {
    let (begin, end) = (stamp(constellation, 0.0), stamp(constellation, args.duration));
    let mut packets = vec![serde_json::json!({
        "id": "document", "name": name, "version": "1.0",
        "clock": { "interval": format!("{begin}Z/{end}Z"), "currentTime": format!("{begin}Z"), "multiplier": 60 },
    })];
    for satellite in 0..constellation.len() as u32 {
        let mut samples = Vec::new();
        for t_s in instants(args) {
            if let Some(place) = constellation.position_ecef(satellite, t_s) {
                samples.extend([t_s, place.0.x.round(), place.0.y.round(), place.0.z.round()]);
            }
        }
        packets.push(serde_json::json!({
            "id": constellation.name(satellite),
            "availability": format!("{begin}Z/{end}Z"),
            "point": { "pixelSize": 5 },
            "position": {
                "epoch": format!("{begin}Z"), "referenceFrame": "FIXED", "interpolationAlgorithm": "LAGRANGE",
                "interpolationDegree": 5, "cartesian": samples,
            },
        }));
    }
    serde_json::Value::Array(packets).to_string() + "\n"
}

fn oem(constellation: &Constellation, args: &Export) -> String {
    let mut out =
        format!("CCSDS_OEM_VERS = 2.0\nCREATION_DATE = {}\nORIGINATOR = SKYHOP\n", stamp(constellation, 0.0));
    for satellite in 0..constellation.len() as u32 {
        let name = constellation.name(satellite);
        let _ = write!(
            out,
            "\nMETA_START\nOBJECT_NAME = {name}\nOBJECT_ID = {name}\nCENTER_NAME = EARTH\nREF_FRAME = ITRF2000\n\
             TIME_SYSTEM = UTC\nSTART_TIME = {}\nSTOP_TIME = {}\nMETA_STOP\n",
            stamp(constellation, 0.0),
            stamp(constellation, args.duration)
        );
        for t_s in instants(args) {
            let Some(motion) = constellation.motion(satellite, t_s) else { continue };
            let (r, v) = (motion.position.0 * 1e-3, motion.velocity_m_s * 1e-3);
            let _ = writeln!(
                out,
                "{} {:.6} {:.6} {:.6} {:.9} {:.9} {:.9}",
                stamp(constellation, t_s),
                r.x,
                r.y,
                r.z,
                v.x,
                v.y,
                v.z
            );
        }
    }
    out
}

/// Elements at 2000-01-01 from position and velocity, with the node turned from Greenwich to the equinox.
fn two_lines(constellation: &Constellation) -> String {
    let turn = std::f64::consts::TAU;
    let epoch: Option<Epoch> = "2000-01-01T00:00:00".parse().ok();
    let greenwich_rad = epoch.map_or(0.0, Epoch::greenwich_rad);
    let (mu, rotation_rad_s) = (constellation.earth().mu_m3_s2, constellation.earth().rotation_rad_s());
    let mut out = String::new();
    for satellite in 0..constellation.len() as u32 {
        let Some(motion) = constellation.motion(satellite, 0.0) else { continue };
        let (r, ground) = (motion.position.0, motion.velocity_m_s);
        let v = skyhop_sim::orbit::Vec3::new(
            ground.x - rotation_rad_s * r.y,
            ground.y + rotation_rad_s * r.x,
            ground.z,
        );
        let h = r.cross(v);
        let inclination = h.x.hypot(h.y).atan2(h.z);
        let flat = h.x.hypot(h.y) < 1e-9 * h.norm();
        let raan = if flat { 0.0 } else { h.x.atan2(-h.y) };
        let node = skyhop_sim::orbit::Vec3::new(raan.cos(), raan.sin(), 0.0);
        let ahead = h.cross(node) * (1.0 / h.norm());
        let eccentric = v.cross(h) * (1.0 / mu) - r * (1.0 / r.norm());
        let e = eccentric.norm();
        let perigee = if e < 1e-7 { 0.0 } else { eccentric.dot(ahead).atan2(eccentric.dot(node)) };
        let true_anomaly = r.dot(ahead).atan2(r.dot(node)) - perigee;
        let half = ((1.0 - e).sqrt() * (0.5 * true_anomaly).sin())
            .atan2((1.0 + e).sqrt() * (0.5 * true_anomaly).cos());
        let mean = 2.0 * half - e * (2.0 * half).sin();
        let degrees = |angle: f64| {
            let text = format!("{:.4}", angle.rem_euclid(turn).to_degrees());
            if text == "360.0000" { "0.0000".to_owned() } else { text }
        };
        let number = satellite + 1;
        let rev_day = 86_400.0 / constellation.period_s(satellite).unwrap_or(86_400.0);
        let designator = if number < 100_000 { format!("{number:05}") } else { continue };
        let line1 = format!("1 {designator}U 00000A   00001.00000000  .00000000  00000-0  00000+0 0    0");
        let line2 = format!(
            "2 {designator} {:>8} {:>8} {:07} {:>8} {:>8} {rev_day:11.8}    0",
            degrees(inclination),
            degrees(raan + greenwich_rad),
            ((e * 1e7).round() as u32).min(9_999_999),
            degrees(perigee),
            degrees(mean)
        );
        let _ = writeln!(
            out,
            "{}\n{line1}{}\n{line2}{}",
            constellation.name(satellite),
            checksum(&line1),
            checksum(&line2)
        );
    }
    out
}

fn checksum(line: &str) -> u32 {
    line.chars().map(|c| if c == '-' { 1 } else { c.to_digit(10).unwrap_or(0) }).sum::<u32>() % 10
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
