//! `skyhop constellation`: which there are, what each is, and what is recognised in a file of elements.
//!
//! Follows the presets of the library, and `Planes::infer` for satellites of a file.
//! Differs from a catalogue: what is seen by latitude is worked out and not looked up.
//! Leaves out exports, which have a file of their own.

use super::export;
use super::satellites::{elements, find, placed};
use crate::failure::Failure;
use crate::table::{Table, digits, time};
use clap::Subcommand;
use skyhop_sim::orbit::preset::{PRESETS, Preset};
use skyhop_sim::orbit::{Constellation, coverage};
use skyhop_sim::topology::{LinkKind, Rules, Topology};
use std::fmt::Write;
use std::path::Path;

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

/// Runs the command.
pub fn run(what: &What) -> Result<(), Failure> {
    match what {
        What::List => list(),
        What::Show { name } if Path::new(name).is_file() => show_file(Path::new(name)),
        What::Show { name } => show(find(name)?),
        What::Export(args) => export::run(args),
    }
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
