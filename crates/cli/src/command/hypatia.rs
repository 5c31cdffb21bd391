//! Hypatia's folders: delays over the network in one, and the export of a constellation as one.
//!
//! Follows satgenpy's files, which `skyhop_routing::hypatia` reads and writes; its command lines are not imitated.
//! Differs: a folder appears completely or not at all. Stations use every satellite in range, ISLs are always up.
//! Leaves out bandwidths; each interface has 1 for all.

use super::delay::DelayArgs;
use super::files::{read, write_or_print};
use super::reason;
use super::values::instant;
use crate::engine::{interrupted, listen};
use crate::failure::Failure;
use crate::table::{TextTable, count};
use skyhop_orbit::{Constellation, Terminal, places};
use skyhop_routing::hypatia::{ForwardingState, Hypatia, SCALE};
use skyhop_topology::{LinkKind, Rules, Topology};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn wrong(what: impl std::fmt::Display) -> Failure {
    Failure::Scenario(what.to_string())
}

/// Reads the folder of a satellite network.
pub fn load(folder: &Path) -> Result<Hypatia, Failure> {
    let text = |name: &str| {
        let file = folder.join(name);
        String::from_utf8(read(&file)?).map_err(|_| wrong(format!("{}: not UTF-8", file.display())))
    };
    let stations = match folder.join("ground_stations.txt").exists() {
        true => text("ground_stations.txt")?,
        false => text("ground_stations.basic.txt")?,
    };
    Hypatia::read(&text("tles.txt")?, &text("isls.txt")?, &stations, &text("description.txt")?)
        .map_err(|e| wrong(format!("{}: {e}", folder.display())))
}

/// `skyhop delay --hypatia DIR`: delays between ground stations of the folder, by name or number.
pub fn delay(args: &DelayArgs, folder: &Path) -> Result<(), Failure> {
    let network = load(folder)?;
    let named: Vec<&String> = [&args.from, &args.to].into_iter().chain(&args.also).collect();
    let stations = named.iter().map(|text| station(&network, text)).collect::<Result<Vec<usize>, _>>()?;
    let start_s = instant("--start", &args.start, network.constellation.epoch())?;
    let duration_s = args.duration.unwrap_or(86_400.0);
    let packets = duration_s / args.step;
    if packets.is_nan() || packets > 1e6 {
        return Err(wrong(format!(
            "--step: {} s makes {packets:.0} steps; expected a step above zero and 1000000 steps at most",
            args.step
        )));
    }
    let c_m_s = network.constellation.earth().c_m_s;
    let mut forwarding = network.forwarding();
    let pairs: Vec<(usize, usize)> = stations.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let name = |station: usize| network.stations[station].name.clone();
    let mut out = String::new();
    if args.csv {
        out.push_str(if pairs.len() > 1 { "from,to," } else { "" });
        out.push_str("time_s,delay_ms,satellites,path,status\n");
    }
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); pairs.len()];
    let steps = ((packets - 1e-9).ceil().max(1.0)) as u64;
    for k in 0..steps {
        if interrupted() {
            return Err(Failure::Interrupted);
        }
        let t_s = start_s + k as f64 * args.step;
        forwarding.step(t_s);
        for (&(from, to), found) in pairs.iter().zip(&mut found) {
            let path = forwarding.path(from, to);
            if args.csv {
                if pairs.len() > 1 {
                    let _ = write!(out, "{},{},", name(from), name(to));
                }
                let _ = match &path {
                    Some((satellites, length_m)) => {
                        let names: Vec<String> = satellites.iter().map(u32::to_string).collect();
                        let delay_ms = length_m * SCALE / c_m_s * 1e3;
                        writeln!(out, "{t_s},{delay_ms:.6},{},{},ok", satellites.len(), names.join("-"))
                    }
                    None => writeln!(out, "{t_s},nan,0,,noroute"),
                };
            }
            found.extend(path.map(|(_, length_m)| length_m * SCALE / c_m_s * 1e3));
        }
    }
    if !args.csv {
        let _ = writeln!(
            out,
            "{}: {} satellites, {} ISLs, {} ground stations; a packet every {} s for {} s\n",
            folder.display(),
            network.constellation.len(),
            network.isls.len(),
            network.stations.len(),
            args.step,
            duration_s
        );
        let mut table = TextTable::new(["from", "to", "ok", "no route", "min", "median", "max"]);
        for (&(from, to), found) in pairs.iter().zip(&mut found) {
            found.sort_by(f64::total_cmp);
            let ms = |index: usize| found.get(index).map_or_else(|| "-".into(), |ms| format!("{ms:.2} ms"));
            let (ok, lost) = (found.len() as u64, steps - found.len() as u64);
            let last = found.len().saturating_sub(1);
            table.row([name(from), name(to), count(ok), count(lost), ms(0), ms(last / 2), ms(last)]);
        }
        out.push_str(&table.text());
    }
    write_or_print(args.out.as_deref(), &out)
}

/// A ground station by number or name; case does not matter.
fn station(network: &Hypatia, text: &str) -> Result<usize, Failure> {
    let same = |station: &Terminal| station.name.eq_ignore_ascii_case(text);
    let number = text.parse::<usize>().ok().filter(|number| *number < network.stations.len());
    number.or_else(|| network.stations.iter().position(same)).ok_or_else(|| {
        let lower: Vec<String> = network.stations.iter().map(|station| station.name.to_lowercase()).collect();
        let nearest = skyhop_text::spelling::nearest(&text.to_lowercase(), lower.iter().map(String::as_str))
            .and_then(|name| lower.iter().position(|known| known == name));
        let nearest = nearest.map(|index| network.stations[index].name.as_str());
        let nearest = nearest.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default();
        wrong(format!(
            "no ground station {text:?}; expected a name or a number below {}{nearest}",
            network.stations.len()
        ))
    })
}

/// The destination of an export.
pub struct Target<'a> {
    /// The folder, which must not exist.
    pub folder: &'a Path,
    /// Ground stations from a file, in place of the hundred cities.
    pub stations: Option<Vec<Terminal>>,
    /// Interval covered by forwarding state, and its step, s.
    pub times_s: (f64, f64),
}

/// Writes a constellation as a folder, with ISLs by `rules` and forwarding state.
pub fn export(
    name: &str,
    constellation: &Constellation,
    rules: Rules,
    tle: &str,
    target: &Target<'_>,
) -> Result<(), Failure> {
    let Target { folder, times_s: (duration_s, step_s), .. } = *target;
    let steps = duration_s / step_s;
    if steps.is_nan() || steps > 1e5 {
        return Err(wrong(format!(
            "--step: {steps:.0} steps; expected a step above zero and 100000 steps at most"
        )));
    }
    if folder.exists() {
        return Err(wrong(format!(
            "--hypatia: {} exists; expected a folder that is yet to be",
            folder.display()
        )));
    }
    let shells = constellation.planes().shells();
    let size = shells
        .first()
        .map(|shell| (shell.planes.len(), constellation.planes().members(shell.planes.start).len()));
    let Some((planes, per_plane)) = size.filter(|(p, n)| shells.len() == 1 && p * n == constellation.len())
    else {
        return Err(wrong(format!(
            "--hypatia: {name} is not one shell of equal planes, which is all that the format has"
        )));
    };
    let mut tles = format!("{planes} {per_plane}\n");
    let mut lines = tle.lines();
    let mut number = 0;
    // Names consist of the shell's and a number, which satgenpy looks for.
    while let (Some(_), Some(one), Some(two)) = (lines.next(), lines.next(), lines.next()) {
        let _ = writeln!(tles, "{name} {number}\n{one}\n{two}");
        number += 1;
    }
    let topology = Topology::new(constellation.clone(), Vec::new(), rules).map_err(wrong)?;
    let isls = topology.links().iter().filter(|link| link.kind != LinkKind::Gsl);
    let isls: String = isls.map(|link| format!("{} {}\n", link.a.0, link.b.0)).collect();
    let radius_m = constellation.earth().radius_m;
    let orbit_m = constellation.position_ecef(0, 0.0).map_or(radius_m, |at| at.0.norm());
    // The slant range at the mask, and the length of an ISL that touches the atmosphere.
    let (sin, cos) = rules.elevation_mask_rad.sin_cos();
    let gsl_m = (orbit_m.powi(2) - (radius_m * cos).powi(2)).sqrt() - radius_m * sin;
    let isl_m = 2.0 * (orbit_m.powi(2) - (radius_m + rules.grazing_altitude_m).powi(2)).max(0.0).sqrt();
    let cities = || {
        let cities = places::CITIES.iter().take(100);
        cities.filter_map(|(name, lat, lon)| Terminal::from_degrees(*name, *lat, *lon).ok()).collect()
    };
    let mut network =
        Hypatia::read(&tles, &isls, "", &format!("max_gsl_length_m={gsl_m}\nmax_isl_length_m={isl_m}\n"))
            .map_err(wrong)?;
    network.stations = target.stations.clone().unwrap_or_else(cities);
    listen();
    let beside = PathBuf::from(format!("{}.part", folder.display()));
    let written = write_all(&beside, &network, &tles, duration_s, step_s);
    let done = written.and_then(|()| fs::rename(&beside, folder));
    done.map_err(|e| {
        let _ = fs::remove_dir_all(&beside);
        if interrupted() {
            return Failure::Interrupted;
        }
        Failure::Run(format!("cannot write {}: {}", folder.display(), reason(&e)))
    })
}

fn write_all(
    folder: &Path,
    network: &Hypatia,
    tles: &str,
    duration_s: f64,
    step_s: f64,
) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("tles.txt"), tles)?;
    fs::write(folder.join("isls.txt"), network.isls_text())?;
    fs::write(folder.join("ground_stations.txt"), network.stations_text())?;
    fs::write(folder.join("description.txt"), network.description_text())?;
    fs::write(folder.join("gsl_interfaces_info.txt"), network.gsl_interfaces_text())?;
    let state = folder.join(format!("dynamic_state_{}ms_for_{}s", (step_s * 1e3).round(), duration_s));
    fs::create_dir_all(&state)?;
    let mut forwarding = ForwardingState::new(network);
    let steps = ((duration_s / step_s - 1e-9).ceil().max(1.0)) as u64;
    for k in 0..steps {
        if interrupted() {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let t_s = k as f64 * step_s;
        let ns = (t_s * 1e9).round();
        fs::write(state.join(format!("fstate_{ns}.txt")), forwarding.step(t_s))?;
        let bandwidth = if k == 0 { network.gsl_bandwidth_text() } else { String::new() };
        fs::write(state.join(format!("gsl_if_bandwidth_{ns}.txt")), bandwidth)?;
    }
    Ok(())
}
