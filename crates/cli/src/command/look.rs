//! `skyhop look`: the direction, distance and range rate of satellites over time, and the Doppler shift.
//!
//! Follows the geometry of `skyhop passes`, at constant steps in place of rises and sets.
//! Differs from a tracking program: azimuth and elevation are geometric, without refraction; Doppler is of first order.
//! Leaves out links and routes.

use super::files::write_or_print;
use super::satellites::SatelliteOptions;
use super::values::{hertz, instant, seconds};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::table::TextTable;
use clap::Args;
use skyhop_orbit::visibility::doppler_hz;
use skyhop_orbit::{Sighting, sightings, sightings_on_course};
use std::fmt::Write;
use std::path::PathBuf;

/// `skyhop look`.
#[derive(Debug, Args)]
pub struct Looking {
    /// The satellites.
    #[command(flatten)]
    pub satellites: SatelliteOptions,
    /// Place of the observer: a city, or lat,lon in degrees.
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub at: String,
    /// Name of a satellite, to print only that one; may be repeated. All above the mask if left out.
    #[arg(long, value_name = "NAME")]
    pub satellite: Vec<String>,
    /// Carrier frequency for the Doppler shift: Hz, or with a unit such as "11.7 GHz".
    #[arg(long, value_name = "FREQUENCY", value_parser = hertz)]
    pub frequency: Option<f64>,
    /// Start of the table: seconds after t = 0, a time with a unit, or a UTC date and time for a file of elements.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "0")]
    pub start: String,
    /// Interval covered by the table.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "10 min", value_parser = seconds)]
    pub duration: f64,
    /// Time between rows.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "30", value_parser = seconds)]
    pub step: f64,
    /// Print CSV with all digits.
    #[arg(long)]
    pub csv: bool,
    /// File to write, in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Looking) -> Result<(), Failure> {
    let loaded = args.satellites.load(None)?;
    let (place, course) = loaded.course(&args.at).map_err(|e| Failure::Scenario(format!("--at: {e}")))?;
    let constellation = &loaded.constellation;
    let start_s = instant("--start", &args.start, constellation.epoch())?;
    let steps = args.duration / args.step;
    if steps.is_nan() || steps * constellation.len() as f64 > 1e8 {
        return Err(Failure::Scenario(format!(
            "--step: {} s makes {steps:.0} looks at {} satellites; expected a step above zero and 100000000 looks at satellites at most",
            args.step,
            constellation.len()
        )));
    }
    let named = args.satellite.iter().map(|name| loaded.satellite("--satellite", name));
    let named = named.collect::<Result<Vec<u32>, _>>()?;
    let satellites: Vec<u32> =
        if named.is_empty() { (0..constellation.len() as u32).collect() } else { named };
    let mask_rad = loaded.rules.elevation_mask_rad;
    let mut seen: Vec<Sighting> = Vec::new();
    for k in 0..=(steps + 1e-9) as u64 {
        if interrupted() {
            return Err(Failure::Interrupted);
        }
        let t_s = start_s + k as f64 * args.step;
        let satellites = satellites.iter().copied();
        seen.extend(match &course {
            Some(course) => sightings_on_course(constellation, course, satellites, mask_rad, t_s),
            None => sightings(constellation, &place, satellites, mask_rad, t_s),
        });
    }
    let mask_deg = crate::table::digits(mask_rad.to_degrees());
    if seen.is_empty() {
        return Err(Failure::Scenario(format!(
            "none of {} satellites of {} is above {mask_deg} deg at {} from {start_s} s on, for {} s",
            satellites.len(),
            loaded.name,
            place.name,
            args.duration
        )));
    }
    let c_m_s = constellation.earth().c_m_s;
    let shift = |one: &Sighting| args.frequency.map(|f| doppler_hz(one.range_rate_m_s, f, c_m_s));
    if args.csv {
        let mut out =
            String::from("time_s,satellite,azimuth_deg,elevation_deg,slant_range_km,delay_ms,range_rate_m_s");
        out.push_str(if args.frequency.is_some() { ",doppler_hz\n" } else { "\n" });
        for one in &seen {
            let _ = write!(
                out,
                "{},{},{:.6},{:.6},{:.6},{:.6},{:.4}",
                (one.t_s * 1e9).round() / 1e9,
                constellation.name(one.satellite),
                one.look.azimuth_rad.to_degrees(),
                one.look.elevation_rad.to_degrees(),
                one.look.slant_range_m / 1e3,
                one.look.slant_range_m / c_m_s * 1e3,
                one.range_rate_m_s,
            );
            let _ = match shift(one) {
                Some(hz) => writeln!(out, ",{hz:.3}"),
                None => writeln!(out),
            };
        }
        return write_or_print(args.out.as_deref(), &out);
    }
    let begin = constellation.epoch().map_or_else(String::new, |epoch| format!(", t = 0 at {epoch}"));
    let mut out = format!("{} from {}, mask {mask_deg} deg{begin}\n\n", loaded.name, place.name);
    let doppler = if args.frequency.is_some() { "doppler" } else { "" };
    let mut table = TextTable::new([
        "time",
        "satellite",
        "azimuth",
        "elevation",
        "slant range",
        "one way",
        "range rate",
        doppler,
    ]);
    for one in &seen {
        table.row([
            format!("{} s", (one.t_s * 1e6).round() / 1e6),
            constellation.name(one.satellite),
            format!("{:.1} deg", one.look.azimuth_rad.to_degrees()),
            format!("{:.1} deg", one.look.elevation_rad.to_degrees()),
            format!("{:.1} km", one.look.slant_range_m / 1e3),
            format!("{:.3} ms", one.look.slant_range_m / c_m_s * 1e3),
            format!("{:+.1} m/s", one.range_rate_m_s),
            shift(one).map_or_else(String::new, kilohertz),
        ]);
    }
    out.push_str(&table.text());
    write_or_print(args.out.as_deref(), &out)
}

fn kilohertz(hz: f64) -> String {
    format!("{:+.3} kHz", hz / 1e3)
}
