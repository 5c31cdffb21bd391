//! Values of options: times, angles, lengths, numbers of antennas, names of pictures.
//!
//! Follows the scenario's units, and accepts bare numbers in the unit named in the help.
//! Differs from a scenario, where every number with a dimension has a unit.
//! Leaves out values that depend on others, except an instant and its epoch.

use crate::failure::Failure;
use skyhop_orbit::Epoch;
use skyhop_topology::Station;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The times at which packets are sent, s.
#[derive(Debug, Clone, Copy)]
pub struct TimesArgs {
    /// Time of the first packet.
    pub start_s: f64,
    /// Duration from the first packet.
    pub duration_s: f64,
    /// Time between packets.
    pub step_s: f64,
}

impl TimesArgs {
    /// End of the interval.
    pub fn end_s(self) -> f64 {
        self.start_s + self.duration_s
    }
}

/// A whole number within `range`.
pub fn whole<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.trim().parse::<u64>().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
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
pub fn kilometres(text: &str) -> Result<f64, String> {
    let bare = text.trim().trim_end_matches("km").trim_end();
    match bare.parse::<f64>() {
        Ok(km) if (1.0..=1e6).contains(&km) => Ok(km * 1e3),
        Ok(km) => Err(format!("{km} km; expected 1 to 1000000 km")),
        Err(_) => Err("expected kilometres like 5016".into()),
    }
}

/// A frequency in Hz, with or without its unit.
pub fn hertz(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 4] = [("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)];
    let text = text.trim();
    let (bare, factor) = UNITS
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?.trim_end(), *factor)))
        .unwrap_or((text, 1.0));
    match bare.parse::<f64>().map(|number| number * factor) {
        Ok(hz) if (1.0..=1e15).contains(&hz) => Ok(hz),
        Ok(hz) => Err(format!("{hz} Hz; expected 1 Hz to 1e15 Hz")),
        Err(_) => Err("expected a frequency like \"11.7 GHz\", in Hz, kHz, MHz or GHz".into()),
    }
}

/// A number of antennas, or as many as there are satellites in view.
pub fn antennas(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        _ if text == "all" => Ok(Station::ALL_IN_VIEW),
        Ok(count) if (1..=Station::ALL_IN_VIEW).contains(&count) => Ok(count),
        _ => Err(format!("expected 1 to {}, or all", Station::ALL_IN_VIEW)),
    }
}

/// The time given by the option `name`: seconds, a time with a unit, or an instant in UTC if t = 0 has a date.
pub fn instant(name: &str, text: &str, epoch: Option<Epoch>) -> Result<f64, Failure> {
    let wrong = |e: String| Failure::Scenario(format!("{name}: {e}"));
    if !text.contains('-') {
        return seconds(text).map_err(wrong);
    }
    let utc: Epoch = text.parse().map_err(|e: skyhop_orbit::EpochError| wrong(e.to_string()))?;
    let begin = epoch.ok_or_else(|| wrong("a pattern has no date; expected seconds".into()))?;
    match utc.seconds_since(begin) {
        t_s if (0.0..=1e9).contains(&t_s) => Ok(t_s),
        t_s => Err(wrong(format!("{t_s} s from t = 0 at {begin}; expected 0 to 1e9 s"))),
    }
}

/// The name of a picture file.
pub fn picture(text: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(text);
    match file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("svg" | "png") => Ok(file),
        _ => Err("expected a name that ends in .svg or .png".into()),
    }
}
