//! `skyhop passes`: rise, culmination and set of satellites over a place.
//!
//! Follows TH figure 3.1 for the delay at each instant: slant range over the speed of light, one way.
//! Differs from an almanac: daylight, weather and antennas are ignored.
//! Leaves out stationary satellites, which are reported as always in view.

use super::files::write_or_print;
use super::satellites::{LoadedSatellites, SatelliteOptions};
use super::values::{degrees, instant, seconds};
use crate::failure::Failure;
use crate::table::{TextTable, digits, time};
use clap::Args;
use skyhop_orbit::visibility::range_rate_m_s;
use skyhop_orbit::{Pass, passes};
use std::fmt::Write;
use std::path::PathBuf;

/// `skyhop passes`.
#[derive(Debug, Args)]
pub struct Passes {
    /// The satellites.
    #[command(flatten)]
    pub satellites: SatelliteOptions,
    /// Place of the observer: a city, or lat,lon in degrees.
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub at: String,
    /// Text that the names of satellites must contain.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Start of the search: seconds after t = 0, a time with a unit, or a UTC date and time for a file of elements.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "0")]
    pub start: String,
    /// Interval of the search.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "1 d", value_parser = seconds)]
    pub duration: f64,
    /// Lowest elevation at culmination, degrees.
    #[arg(long, value_name = "DEG", allow_negative_numbers = true, value_parser = degrees)]
    pub above: Option<f64>,
    /// Print CSV with all digits.
    #[arg(long)]
    pub csv: bool,
    /// File to write, in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Passes) -> Result<(), Failure> {
    let loaded = args.satellites.load(None)?;
    let (place, course) = loaded.course(&args.at).map_err(|e| Failure::Scenario(format!("--at: {e}")))?;
    if course.is_some() {
        return Err(Failure::Scenario(format!(
            "--at: \"{}\" moves, and passes are those over a place; expected a city, lat,lon or a terminal without a track",
            args.at
        )));
    }
    let from_s = instant("--start", &args.start, loaded.constellation.epoch())?;
    let to_s = from_s + args.duration;
    let LoadedSatellites { constellation, rules, name, .. } = loaded;
    let mask_rad = rules.elevation_mask_rad;
    let wanted = |satellite: &u32| {
        args.only.as_ref().is_none_or(|o| constellation.name(*satellite).contains(o.as_str()))
    };
    let mut found: Vec<Pass> = (0..constellation.len() as u32)
        .filter(wanted)
        .flat_map(|satellite| passes(&constellation, &place, satellite, mask_rad, (from_s, to_s)))
        .filter(|pass| args.above.is_none_or(|above| pass.highest.elevation_rad > above.to_radians()))
        .collect();
    found.sort_by(|a, b| a.culmination_s.total_cmp(&b.culmination_s).then(a.satellite.cmp(&b.satellite)));
    if found.is_empty() {
        return Err(Failure::Scenario(format!(
            "no satellite of {name} rises above {} deg at {} between {from_s} and {to_s} s",
            digits(args.above.unwrap_or(0.0).max(mask_rad.to_degrees())),
            place.name,
        )));
    }
    let c_m_s = constellation.earth().c_m_s;
    let site = place.position_ecef(constellation.earth());
    let rate = |pass: &Pass, t_s: f64| {
        constellation.motion(pass.satellite, t_s).map_or(f64::NAN, |motion| range_rate_m_s(site, &motion))
    };
    if args.csv {
        let mut out = String::from(
            "satellite,rise_s,culmination_s,set_s,max_elevation_deg,rise_azimuth_deg,set_azimuth_deg,\
             max_delay_ms,min_delay_ms,max_range_rate_m_s\n",
        );
        for pass in &found {
            let instant = |t_s: Option<f64>| t_s.map_or_else(String::new, |t_s| format!("{t_s:.4}"));
            let farthest_m = pass.first.slant_range_m.max(pass.last.slant_range_m);
            let begin_s = pass.rise_s.unwrap_or(from_s);
            let _ = writeln!(
                out,
                "{},{},{:.4},{},{:.6},{:.6},{:.6},{:.6},{:.6},{:.3}",
                constellation.name(pass.satellite),
                instant(pass.rise_s),
                pass.culmination_s,
                instant(pass.set_s),
                pass.highest.elevation_rad.to_degrees(),
                pass.first.azimuth_rad.to_degrees(),
                pass.last.azimuth_rad.to_degrees(),
                farthest_m / c_m_s * 1e3,
                pass.highest.slant_range_m / c_m_s * 1e3,
                rate(pass, begin_s).abs().max(rate(pass, pass.set_s.unwrap_or(to_s)).abs()),
            );
        }
        return write_or_print(args.out.as_deref(), &out);
    }
    let begin = constellation.epoch().map_or_else(String::new, |epoch| format!(", t = 0 at {epoch}"));
    let mut out = format!(
        "{name} from {} ({:.2}, {:.2}), mask {} deg{begin}\n{} passes from {} to {}\n\n",
        place.name,
        place.latitude_rad.to_degrees(),
        place.longitude_rad.to_degrees(),
        digits(mask_rad.to_degrees()),
        found.len(),
        time(from_s),
        time(to_s),
    );
    let mut table = TextTable::new([
        "satellite",
        "rise",
        "culmination",
        "set",
        "highest",
        "from",
        "to",
        "delay, one way",
    ]);
    for pass in &found {
        let instant = |t_s: Option<f64>| t_s.map_or_else(|| "-".to_owned(), |t_s| format!("{t_s:.3} s"));
        table.row([
            constellation.name(pass.satellite),
            instant(pass.rise_s),
            format!("{:.3} s", pass.culmination_s),
            instant(pass.set_s),
            format!("{:.1} deg", pass.highest.elevation_rad.to_degrees()),
            compass(pass.first.azimuth_rad),
            compass(pass.last.azimuth_rad),
            format!(
                "{:.2} to {:.2} ms",
                pass.highest.slant_range_m / c_m_s * 1e3,
                pass.first.slant_range_m.max(pass.last.slant_range_m) / c_m_s * 1e3
            ),
        ]);
    }
    out.push_str(&table.text());
    write_or_print(args.out.as_deref(), &out)
}

/// A compass direction in words.
pub fn compass(azimuth_rad: f64) -> String {
    const NAMES: [&str; 8] = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];
    let eighth = (azimuth_rad.to_degrees() / 45.0).round() as usize % 8;
    NAMES[eighth].to_owned()
}
