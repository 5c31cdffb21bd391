//! `skyhop constellation export`: satellites for other programs.
//!
//! Follows CZML as Cesium reads it, OEM as CCSDS 502.0-B, TLE with checksums, and Hypatia's folders.
//! Differs from a catalogue: synthetic constellations have no date, so their exports begin in 2000.
//! Leaves out frames other than the Earth-fixed one (TDR, without polar motion) in exports of positions.

use super::files::write_or_print;
use super::satellites::{elements, find, places_of};
use super::values::seconds;
use crate::failure::Failure;
use clap::Args;
use skyhop_orbit::{Constellation, Epoch, tle};
use skyhop_topology::Rules;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// `skyhop constellation export`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("format").required(true))]
pub struct ConstellationExport {
    /// Name of a constellation, or a file of elements: two-line elements, or orbit mean-elements messages if it ends in .json or .csv.
    pub name: String,
    /// Write CZML, for Cesium.
    #[arg(long, group = "format")]
    pub czml: bool,
    /// Write an orbit ephemeris message, Earth-fixed.
    #[arg(long, group = "format")]
    pub oem: bool,
    /// Write two-line elements.
    #[arg(long, group = "format")]
    pub tle: bool,
    /// Write a folder of Hypatia: satellites, ISLs, ground stations, and forwarding state for the duration.
    #[arg(long, group = "format", value_name = "DIR")]
    pub hypatia: Option<PathBuf>,
    /// File of ground stations for Hypatia: lines of name,lat,lon with a heading; a hundred cities if left out.
    #[arg(long, value_name = "FILE", requires = "hypatia")]
    pub stations: Option<PathBuf>,
    /// UTC of t = 0 for a file; its newest epoch if left out.
    #[arg(long, value_name = "UTC")]
    pub epoch: Option<String>,
    /// Interval covered by positions: seconds, or with a unit.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "2 h", value_parser = seconds)]
    pub duration: f64,
    /// Time between positions.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "60", value_parser = seconds)]
    pub step: f64,
    /// File to write, in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &ConstellationExport) -> Result<(), Failure> {
    let file = Path::new(&args.name);
    let (constellation, rules, name) = if file.is_file() {
        let messages = file.extension().is_some_and(|ending| ending == "json" || ending == "csv");
        let fleet = elements(file, messages, args.epoch.as_deref())?;
        // Hypatia's networks consist of ISLs, so its export implies them.
        let (constellation, rules) = (fleet.constellation, fleet.rules.with_isls());
        let stem = file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        (constellation, rules, stem)
    } else {
        let preset = find(&args.name)?;
        if args.epoch.is_some() {
            let message = format!("--epoch: {} is a pattern without a date", preset.name);
            return Err(Failure::Scenario(message));
        }
        (preset.constellation(), Rules::for_preset(preset), preset.name.to_owned())
    };
    if let Some(folder) = &args.hypatia {
        one_epoch(&args.name, &constellation)?;
        let stations = args.stations.as_deref().map(places_of).transpose()?;
        let target = super::hypatia::Target { folder, stations, times_s: (args.duration, args.step) };
        let lines = lines(&args.name, &constellation)?;
        return super::hypatia::export(&name, &constellation, rules, &lines, &target);
    }
    let count = args.duration / args.step * constellation.len() as f64;
    if !args.tle && (count.is_nan() || count > 2e7) {
        return Err(Failure::Scenario(format!(
            "--step: {count:.0} positions in all; expected a step above zero and 20000000 positions at most"
        )));
    }
    let text = match (args.czml, args.oem) {
        (true, _) => czml(&name, &constellation, args),
        (_, true) => oem(&constellation, args),
        _ => lines(&args.name, &constellation)?,
    };
    write_or_print(args.out.as_deref(), &text)
}

/// Name and two lines of each satellite, catalogued or synthetic.
fn lines(name: &str, constellation: &Constellation) -> Result<String, Failure> {
    let Some(catalogue) = constellation.catalogue() else { return Ok(two_lines(constellation)) };
    let sets = (0..catalogue.len()).filter_map(|satellite| catalogue.elements(satellite));
    let line = |set| {
        tle::write(set).ok_or_else(|| {
            let set: &skyhop_orbit::ElementSet = set;
            Failure::Scenario(format!(
                "{name}: {}: \"{}\" of number {} does not fit into two lines; expected a number below 340000",
                set.place, set.name, set.norad_id
            ))
        })
    };
    sets.map(line).collect()
}

/// Fails for satellites with different epochs, which Hypatia refuses.
fn one_epoch(name: &str, constellation: &Constellation) -> Result<(), Failure> {
    let Some(catalogue) = constellation.catalogue() else { return Ok(()) };
    let epochs =
        (0..catalogue.len()).filter_map(|satellite| catalogue.elements(satellite)).map(|set| set.epoch);
    match epochs.clone().min().zip(epochs.max()) {
        Some((first, last)) if first != last => Err(Failure::Scenario(format!(
            "--hypatia: {name} has epochs from {first} to {last}; Hypatia takes satellites of one epoch only"
        ))),
        _ => Ok(()),
    }
}

fn instants(args: &ConstellationExport) -> impl Iterator<Item = f64> + use<> {
    let (steps, step_s) = ((args.duration / args.step + 1e-9) as u64, args.step);
    (0..=steps).map(move |k| k as f64 * step_s)
}

/// A date; for a pattern without one it begins in 2000.
fn stamp(constellation: &Constellation, t_s: f64) -> String {
    let start = constellation.epoch().or_else(|| "2000-01-01T00:00:00".parse().ok());
    start.map_or_else(String::new, |epoch| {
        let instant = epoch.utc() + std::time::Duration::from_secs_f64(t_s);
        instant.format("%Y-%m-%dT%H:%M:%S%.6f").to_string()
    })
}

fn czml(name: &str, constellation: &Constellation, args: &ConstellationExport) -> String {
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

fn oem(constellation: &Constellation, args: &ConstellationExport) -> String {
    // Positions are turned from the true equator by Greenwich's angle alone: true of date, rotating; without polar motion, which
    // is some ten metres from ITRF.
    let mut out =
        format!("CCSDS_OEM_VERS = 2.0\nCREATION_DATE = {}\nORIGINATOR = SKYHOP\n", stamp(constellation, 0.0));
    for satellite in 0..constellation.len() as u32 {
        let name = constellation.name(satellite);
        // CCSDS 502.0-B recommends the international designator; a satellite that was never launched has none.
        let id = constellation.elements(satellite).and_then(|set| set.designator());
        let id = id.unwrap_or_else(|| name.clone());
        let _ = write!(
            out,
            "\nMETA_START\nOBJECT_NAME = {name}\nOBJECT_ID = {id}\nCENTER_NAME = EARTH\nREF_FRAME = TDR\n\
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
        let v = skyhop_orbit::Vec3::new(
            ground.x - rotation_rad_s * r.y,
            ground.y + rotation_rad_s * r.x,
            ground.z,
        );
        let h = r.cross(v);
        let inclination = h.x.hypot(h.y).atan2(h.z);
        let flat = h.x.hypot(h.y) < 1e-9 * h.norm();
        let raan = if flat { 0.0 } else { h.x.atan2(-h.y) };
        let node = skyhop_orbit::Vec3::new(raan.cos(), raan.sin(), 0.0);
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
