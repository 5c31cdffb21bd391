//! `skyhop map`: a constellation on a world map at an instant, as a picture or as text.
//!
//! Follows the snapshots of HT figures 1.2 and 6.1, with the same rules and updates as `skyhop delay`.
//! Differs from an animation: it shows one instant, with the links of the last update before it.
//! Leaves out paths, which `skyhop route --map` draws.

use super::delay::tell_unavailable;
use super::satellites::{IslOptions, LoadedSatellites, SatelliteOptions};
use super::values::{instant, picture};
use crate::failure::Failure;
use clap::Args;
use skyhop_orbit::Terminal;
use skyhop_record::{Map, png};
use skyhop_routing::PathMetric;
use skyhop_topology::{LinkKind, Topology};
use std::path::{Path, PathBuf};

/// Width of a map as text; with its frame it fits 100 columns.
pub const COLUMNS: usize = 96;

/// `skyhop map`.
#[derive(Debug, Args)]
pub struct MapArgs {
    /// The satellites.
    #[command(flatten)]
    pub satellites: SatelliteOptions,
    /// The links between them.
    #[command(flatten)]
    pub isls: IslOptions,
    /// Instant of the map: seconds after t = 0, a time with a unit, or a UTC date and time for a file of elements.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, default_value = "0")]
    pub time: String,
    /// A terminal: a city, or lat,lon in degrees; may be repeated.
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub terminal: Vec<String>,
    /// Draw the footprint of each satellite at the mask.
    #[arg(long)]
    pub footprints: bool,
    /// Satellites' names, where there is room; by default on for up to a hundred satellites.
    #[arg(long, value_name = "ON|OFF", value_parser = ["on", "off"])]
    pub names: Option<String>,
    /// Width of a PNG in pixels.
    #[arg(long, value_name = "PIXELS", default_value_t = 2000, value_parser = crate::command::values::whole::<u32>(100..=20_000))]
    pub width: u32,
    /// Picture to write, .svg or .png, in place of a map as text on standard output.
    #[arg(long, value_name = "FILE", value_parser = picture)]
    pub out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &MapArgs) -> Result<(), Failure> {
    let loaded = args.satellites.load(Some(&args.isls))?;
    let t_s = instant("--time", &args.time, loaded.constellation.epoch())?;
    let mut terminals: Vec<Terminal> = Vec::new();
    for text in &args.terminal {
        let place = loaded.place(text).map_err(|e| Failure::Scenario(format!("--terminal: {e}")))?;
        if !terminals.iter().any(|known| known.name == place.name) {
            terminals.push(place);
        }
    }
    let mut network = loaded.network(&terminals, PathMetric::Delay)?;
    network.advance(t_s);
    tell_unavailable(&loaded, t_s);
    let topology = network.topology();
    let mut map = Map::new(format!("{} at {}", loaded.name, when(&loaded, t_s)))
        .note(rules(&loaded, topology))
        .network(topology, t_s);
    if args.footprints {
        map = map.footprints(topology, t_s);
    }
    if let Some(names) = &args.names {
        map = map.names(names == "on");
    }
    match &args.out {
        Some(file) => write(file, &map, args.width),
        None => super::print(&format!("{} at {}\n{}", loaded.name, when(&loaded, t_s), map.text(COLUMNS))),
    }
}

/// An instant in words.
pub fn when(loaded: &LoadedSatellites, t_s: f64) -> String {
    let seconds = (t_s * 1e6).round() / 1e6;
    match loaded.constellation.epoch() {
        Some(epoch) => format!("{seconds} s after {epoch}"),
        None => format!("{seconds} s"),
    }
}

/// The rules of a network as a note for a picture.
pub fn rules(loaded: &LoadedSatellites, topology: &Topology) -> String {
    let down = |kind| topology.links().iter().filter(|link| link.kind == kind && !link.up).count();
    let isls = [LinkKind::IntraPlane, LinkKind::InterPlane, LinkKind::CrossSeam, LinkKind::InterShell];
    let off = isls.map(down).iter().sum::<usize>();
    let mut text = format!(
        "{} satellites, elevation mask {:.1}°",
        loaded.constellation.len(),
        loaded.rules.elevation_mask_rad.to_degrees()
    );
    if loaded.rules.inter_plane_neighbours > 0 && loaded.rules.isl_latitude_limit_rad.to_degrees() < 90.0 {
        text += &format!(
            ", ISLs between planes off above {:.0}°",
            loaded.rules.isl_latitude_limit_rad.to_degrees()
        );
    }
    if off > 0 {
        text += &format!(", {off} ISLs down (not drawn)");
    }
    text + "."
}

/// Writes a map in the format given by the file's extension.
pub fn write(file: &Path, map: &Map, width: u32) -> Result<(), Failure> {
    let svg = map.svg();
    let raster = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
    let bytes = match raster {
        true => png(&svg, width).map_err(|e| Failure::Run(format!("cannot draw {}: {e}", file.display())))?,
        false => svg.into_bytes(),
    };
    super::files::write(file, &bytes)
}
