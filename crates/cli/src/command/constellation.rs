//! `skyhop constellation`: lists and describes constellations, published ones and those in a file of elements.
//!
//! Follows the presets of the library, and `Planes::infer` for satellites of a file.
//! Differs from a catalogue: the view by latitude is computed and not looked up.
//! Leaves out exports, which are in `export.rs`.

use super::export;
use super::satellites::{LoadedSatellites, SatelliteOptions, elements, find, placed};
use crate::failure::Failure;
use crate::table::{TextTable, digits, time};
use clap::Subcommand;
use skyhop_orbit::preset::{PRESETS, Preset};
use skyhop_orbit::{Constellation, coverage};
use skyhop_topology::{Defaults, LinkKind, Rules, Station, Topology};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// `skyhop constellation`.
#[derive(Debug, Subcommand)]
pub enum ConstellationCommand {
    /// List all published constellations.
    List,
    /// Describe a constellation: its parameters and their source, and the number of satellites in view by latitude; for a file of
    /// elements, the shells, planes and ISLs recognised in it; for a scenario, its terminals and failures too.
    Show {
        /// Name of the constellation, or a file: a scenario if it ends in .toml, orbit mean-elements messages if it ends in .json
        /// or .csv, else two-line elements.
        #[arg(required_unless_present = "scenario")]
        name: Option<String>,
        /// The constellation of a scenario.
        #[arg(long, value_name = "FILE", conflicts_with = "name")]
        scenario: Option<PathBuf>,
    },
    /// Write a constellation for other programs.
    Export(export::ConstellationExport),
}

/// Runs the command.
pub fn run(what: &ConstellationCommand) -> Result<(), Failure> {
    match what {
        ConstellationCommand::List => list(),
        ConstellationCommand::Show { name, scenario } => {
            let name = name.as_deref().unwrap_or_default();
            match scenario.as_deref().unwrap_or(Path::new(name)) {
                file if scenario.is_some() || file.extension().is_some_and(|e| e == "toml") => {
                    show_scenario(file)
                }
                file if file.is_file() => show_file(file),
                _ => show(find(name)?),
            }
        }
        ConstellationCommand::Export(args) => export::run(args),
    }
}

fn list() -> Result<(), Failure> {
    let mut table = TextTable::new(["name", "satellites", "period", "mask", "what"]);
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

fn show(preset: &'static Preset) -> Result<(), Failure> {
    let constellation = preset.constellation();
    let defaults = Defaults::of(Some(preset), &constellation);
    let other = preset.alias.map_or_else(String::new, |alias| format!(" (also \"{alias}\")"));
    let mut out = format!("{}{other}: {}\n  source: {}\n", preset.name, preset.about, preset.source);
    out += &shells(&constellation);
    out += &ruled(&constellation, &defaults.rules);
    let _ = writeln!(out, "  a terminal holds {}\n", held(defaults.antennas));
    super::print(
        &(out
            + &by_latitude(
                &constellation,
                defaults.rules.elevation_mask_rad,
                &through_orbit(&constellation),
            )),
    )
}

/// Prints the constellation of a scenario with its terminals and failures.
fn show_scenario(file: &Path) -> Result<(), Failure> {
    let LoadedSatellites { constellation, rules, defaults, name, scenario, .. } =
        SatelliteOptions::of_scenario(file).load(None)?;
    let mut out = format!("{name}: {} satellites\n", constellation.len());
    out += &shells(&constellation);
    out += &ruled(&constellation, &rules);
    let fleet = skyhop_network::Satellites { constellation, rules, defaults };
    for (name, terminal) in &scenario.terminals {
        let antennas = scenario.constellation.as_ref().map_or(1, |model| fleet.antennas(model, terminal));
        let what = if terminal.gateway { "gateway" } else { "terminal" };
        let (lat, lon) = (terminal.lat.unwrap_or_default(), terminal.lon.unwrap_or_default());
        let place = match &terminal.track {
            Some(_) => "on a track".to_owned(),
            None => format!("at {lat}, {lon}"),
        };
        let _ = writeln!(out, "  {what} {name} {place} holds {}", held(antennas));
    }
    for failure in &scenario.failures {
        let what = failure.satellite.as_ref().or(failure.link.as_ref()).or(failure.station.as_ref());
        let until = failure.until.map_or_else(String::new, |until| format!(" to {until}"));
        let _ = writeln!(out, "  {} fails from {}{until}", what.map_or("", String::as_str), failure.from);
    }
    if scenario.random_failures.is_some() {
        out += "  and random failures\n";
    }
    out.push('\n');
    let constellation = &fleet.constellation;
    super::print(
        &(out + &by_latitude(constellation, rules.elevation_mask_rad, &through_orbit(constellation))),
    )
}

fn shells(constellation: &Constellation) -> String {
    let (mut out, planes) = (String::new(), constellation.planes());
    for shell in planes.shells() {
        let first = planes.members(shell.planes.start)[0];
        let earth_m = constellation.earth().radius_m;
        let height_km =
            constellation.position_ecef(first, 0.0).map_or(f64::NAN, |p| p.0.norm() - earth_m) / 1e3;
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
    out
}

fn ruled(constellation: &Constellation, rules: &Rules) -> String {
    format!(
        "  {} satellites, mask {} deg, ISLs: {} in the plane, {} between planes, {} across the seam; latitude limit {:.0} deg\n",
        constellation.len(),
        (rules.elevation_mask_rad.to_degrees() * 1e9).round() / 1e9,
        2 * rules.intra_plane_neighbours,
        2 * rules.inter_plane_neighbours,
        if rules.cross_seam.is_some() { "some" } else { "none" },
        rules.isl_latitude_limit_rad.to_degrees(),
    )
}

fn held(antennas: u16) -> String {
    match antennas {
        Station::ALL_IN_VIEW => "all satellites in view".into(),
        1 => "one satellite".into(),
        count => format!("{count} satellites"),
    }
}

fn through_orbit(constellation: &Constellation) -> Vec<f64> {
    (0..16).map(|k| f64::from(k) * period_s(constellation) / 16.0).collect()
}

fn period_s(constellation: &Constellation) -> f64 {
    constellation.period_s(0).unwrap_or(6000.0)
}

/// Table of the number of satellites in view by latitude.
fn by_latitude(constellation: &Constellation, mask_rad: f64, times_s: &[f64]) -> String {
    let latitudes_rad: Vec<f64> = (0..=9).map(|ten| (f64::from(ten) * 10.0).min(89.9).to_radians()).collect();
    let mut table = TextTable::new(["latitude", "in view, least", "mean", "most", "covered"]);
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

/// Prints the satellites, planes and presets recognised in a file of elements.
fn show_file(file: &Path) -> Result<(), Failure> {
    let messages = file.extension().is_some_and(|ending| ending == "json" || ending == "csv");
    let fleet = elements(file, messages, None)?;
    let (constellation, defaults) = (fleet.constellation, fleet.defaults);
    let epoch = constellation.epoch().map_or_else(String::new, |epoch| format!(", t = 0 at {epoch}"));
    let mut out = format!("{}: {} satellites{epoch}\n\n", file.display(), constellation.len());
    let planes = constellation.planes();
    let mut table =
        TextTable::new(["planes", "satellites", "in a plane", "inclination", "period", "height", "pattern"]);
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
    out += &match (defaults.system, defaults.rules.intra_plane_neighbours) {
        (Some(system), 0) => format!("rules of {}, which has no ISLs; with --isls on:\n", system.name),
        (Some(system), _) => format!("rules of {}\n", system.name),
        (None, _) => "of no published system: no ISLs; with --isls on:\n".to_owned(),
    };
    let mut topology = Topology::new(constellation.clone(), Vec::new(), defaults.rules.with_isls())
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
    let mask_rad = defaults.rules.elevation_mask_rad;
    let _ = write!(
        out,
        "\nIn view above {} deg at t = 0, all satellites counted:\n\n",
        digits(mask_rad.to_degrees())
    );
    super::print(&(out + &by_latitude(&constellation, mask_rad, &[0.0])))
}
