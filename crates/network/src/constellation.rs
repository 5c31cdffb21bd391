//! Builds orbits, link rules and stations from a scenario's constellation.
//!
//! Follows [`Defaults`] for keys that a scenario leaves out; commands and Python use it too.
//! Differs: names of satellites and links that fail are resolved here, where those exist.
//! Leaves out time.

use crate::error::BuildError;
use crate::files::bytes_of;
use crate::ground::GroundGraph;
use crate::place::place_of;
use skyhop_chance::Seed;
use skyhop_orbit::{
    Constellation, Drift, EarthModel, Epoch, Kepler, Phasing, PlacedShell, Planes, Preset, Shell, Walker,
    preset,
};
use skyhop_scenario::{self as scenario, Files};
use skyhop_topology::fleet::common_earth;
use skyhop_topology::{
    CrossSeam, Defaults, Failing, Fibre, Fleet, Handover, LinkId, NodeId, Outage, Reliability, Rules,
    Station, Topology, defaults, failed_share,
};
use skyhop_units::Span;

/// A scenario's satellites and their rules, before terminals are added.
#[derive(Debug, Clone)]
pub struct Satellites {
    /// The satellites.
    pub constellation: Constellation,
    /// Rules of their links: the defaults, overridden by the scenario.
    pub rules: Rules,
    /// Default rules of the constellation.
    pub defaults: Defaults,
}

impl Satellites {
    /// The satellites of a scenario's `[constellation]`.
    ///
    /// # Errors
    ///
    /// Impossible orbits, unreadable elements, rules out of range.
    pub fn of(model: &scenario::Constellation, files: &Files) -> Result<Self, BuildError> {
        Self::at("constellation", model, files)
    }

    /// The satellites of the table `model` with key `at`.
    ///
    /// # Errors
    ///
    /// As for [`Satellites::of`].
    pub fn at(at: &str, model: &scenario::Constellation, files: &Files) -> Result<Self, BuildError> {
        let (preset, constellation) = constellation(at, model, files)?;
        let defaults = Defaults::of(preset, &constellation);
        let mut rules = defaults.rules;
        apply(model, &mut rules, defaults.seam);
        rules.check().map_err(|e| BuildError::new(at, e))?;
        Ok(Self { constellation, rules, defaults })
    }

    /// Number of satellites that a terminal holds at once.
    pub fn antennas(&self, model: &scenario::Constellation, terminal: &scenario::Terminal) -> u16 {
        match terminal.antennas {
            Some(scenario::Antennas::Count(count)) => count,
            Some(scenario::Antennas::All) => Station::ALL_IN_VIEW,
            None if terminal.gateway => defaults::GATEWAY_ANTENNAS,
            None if model.handover.is_some() => defaults::ANTENNAS_WITH_POLICY,
            None => self.defaults.antennas,
        }
    }

    /// The network of these satellites and the scenario's terminals, with its failures; all links are down.
    ///
    /// # Errors
    ///
    /// Invalid terminals, failures of unknown objects, a handover policy that no terminal follows.
    pub fn topology(
        self,
        scenario: &scenario::Scenario,
        files: &Files,
        seed: Seed,
    ) -> Result<Topology, BuildError> {
        let (mut topology, outages) =
            without_failures(vec![self], scenario, files, GroundGraph::default(), seed)?;
        topology.schedule(outages);
        Ok(topology)
    }

    /// Fails if a handover policy is given that no terminal follows.
    fn check_handover(
        &self,
        fleet: &scenario::PlacedFleet<'_>,
        scenario: &scenario::Scenario,
    ) -> Result<(), BuildError> {
        let Some(policy) = fleet.model.handover.filter(|_| self.rules.handover.only_chooses()) else {
            return Ok(());
        };
        let sees = |terminal: &&scenario::Terminal| !terminal.gateway && fleet.is_seen_by(terminal);
        let mut terminals = scenario.terminals.values().filter(sees).peekable();
        let all = Some(scenario::Antennas::All);
        if terminals.peek().is_none() || terminals.any(|terminal| terminal.antennas != all) {
            return Ok(());
        }
        Err(BuildError::new(
            &fleet.at.key("handover").to_string(),
            format!(
                "\"{}\" chooses among satellites, and terminals with antennas = \"all\" hold all in view; expected a number of \
                    antennas, or no handover",
                policy.name()
            ),
        ))
    }
}

/// The satellites of all constellations of a scenario, in order.
pub(crate) fn satellites_of(
    scenario: &scenario::Scenario,
    files: &Files,
) -> Result<Vec<Satellites>, BuildError> {
    let all = scenario.fleets().map(|fleet| Satellites::at(&fleet.at.to_string(), fleet.model, files));
    all.collect()
}

/// The network of a scenario without its failures, with `satellites` for its constellations; and the failures.
pub(crate) fn without_failures(
    satellites: Vec<Satellites>,
    scenario: &scenario::Scenario,
    files: &Files,
    ground: GroundGraph,
    seed: Seed,
) -> Result<(Topology, Vec<Outage>), BuildError> {
    let models: Vec<scenario::PlacedFleet<'_>> = scenario.fleets().collect();
    let at = models.first().ok_or_else(|| BuildError::new("constellation", "there is none"))?.at.to_string();
    for (one, fleet) in satellites.iter().zip(&models) {
        one.check_handover(fleet, scenario)?;
    }
    let held = |terminal: &scenario::Terminal| {
        let each = satellites.iter().zip(&models);
        let held = each.map(|(one, fleet)| match fleet.is_seen_by(terminal) {
            true => one.antennas(fleet.model, terminal),
            false => 0,
        });
        held.collect::<Vec<u16>>()
    };
    let antennas: Vec<Vec<u16>> = scenario.terminals.values().map(held).collect();
    let earth = common_earth(satellites.iter().map(|one| &one.constellation));
    let (mut stations, mut courses) = (Vec::new(), Vec::new());
    for (index, ((name, terminal), antennas)) in scenario.terminals.iter().zip(&antennas).enumerate() {
        let (place, course) = place_of(name, terminal, &earth, files)?;
        let most = antennas.iter().copied().max().unwrap_or(0);
        stations.push(Station { terminal: place, antennas: most, gateway: terminal.gateway });
        courses.extend(course.map(|course| (index, course)));
    }
    let fibre = match &models[..] {
        [one] => fibre(one.model, scenario)?,
        // Gateways to several constellations are joined by the scenario's links only.
        _ => Fibre::None,
    };
    let fleet = |(one, fleet): (Satellites, &scenario::PlacedFleet<'_>)| Fleet {
        name: fleet.name.to_owned(),
        constellation: one.constellation,
        rules: one.rules,
    };
    let fleets = satellites.into_iter().zip(&models).map(fleet).collect();
    let wrong = |e| BuildError::new(if models.len() > 1 { "constellations" } else { &at }, e);
    let mut topology = Topology::with_fleets(fleets, stations, &antennas, &fibre).map_err(wrong)?;
    for (terminal, course) in courses {
        topology.follow(terminal, course).map_err(wrong)?;
    }
    let topology = ground.join(topology);
    let outages = outages(scenario, &topology, seed)?;
    Ok((topology, outages))
}

/// The fibre of a scenario.
fn fibre(model: &scenario::Constellation, scenario: &scenario::Scenario) -> Result<Fibre, BuildError> {
    let Some(pairs) = &model.fibre_between else { return Ok(Fibre::Mesh) };
    let index = |name: &String| scenario.terminals.keys().position(|known| known == name);
    let pairs: Option<Vec<_>> = pairs.iter().map(|[a, b]| index(a).zip(index(b))).collect();
    let unknown = || BuildError::new("constellation.fibre_between", "no such terminal");
    Ok(Fibre::Between(pairs.ok_or_else(unknown)?))
}

/// The network of satellites and terminals of a scenario, with its failures; all links are down.
///
/// # Errors
///
/// A scenario without a constellation, or one that cannot be built.
pub fn topology_of(scenario: &scenario::Scenario, files: &Files) -> Result<Topology, BuildError> {
    let satellites = satellites_of(scenario, files)?;
    let (mut topology, outages) =
        without_failures(satellites, scenario, files, GroundGraph::default(), Seed(scenario.seed))?;
    topology.schedule(outages);
    Ok(topology)
}

/// The failures: those of the scenario's list, then random ones.
fn outages(
    scenario: &scenario::Scenario,
    topology: &Topology,
    seed: Seed,
) -> Result<Vec<Outage>, BuildError> {
    let outage = |(index, failure): (usize, &scenario::Failure)| {
        let what = failing(failure, topology)
            .map_err(|(key, message)| BuildError::new(&format!("failures.{index}.{key}"), message))?;
        let to_s = failure.until.map_or(f64::INFINITY, |until| until.as_secs_f64());
        Ok(Outage { what, from_s: failure.from.as_secs_f64(), to_s })
    };
    let mut outages: Vec<Outage> =
        scenario.failures.iter().enumerate().map(outage).collect::<Result<_, BuildError>>()?;
    if let Some(model) = scenario.random_failures {
        let mean_s = |mean: Option<Span>| mean.map_or(f64::INFINITY, Span::as_secs_f64);
        let reliability = Reliability {
            satellite_mtbf_s: mean_s(model.satellite_mtbf),
            isl_mtbf_s: mean_s(model.isl_mtbf),
            station_mtbf_s: mean_s(model.station_mtbf),
            mttr_s: model.mttr.unwrap_or_default().as_secs_f64(),
        };
        let mut chance = seed.stream("constellation/failures");
        outages.extend(reliability.draw(topology, scenario.duration.as_secs_f64(), &mut chance));
        let shares = [model.satellite_share, model.isl_share].map(Option::unwrap_or_default);
        outages.extend(failed_share(topology, shares, &mut seed.stream("constellation/failed-share")));
    }
    Ok(outages)
}

fn failing(failure: &scenario::Failure, topology: &Topology) -> Result<Failing, (&'static str, String)> {
    if let Some(name) = &failure.satellite {
        return satellite_named(topology, name)
            .map(|node| Failing::Satellite(node.0))
            .map_err(|message| ("satellite", message));
    }
    if let Some(name) = &failure.link {
        let links = (0..topology.links().len() as u32).map(LinkId);
        let names: Vec<String> = links.map(|link| topology.name(link)).collect();
        let found = names.iter().position(|known| known == name);
        return found
            .map(|link| Failing::Link(LinkId(link as u32)))
            .ok_or_else(|| ("link", unknown("link", name, &names)));
    }
    let station = failure.station.as_ref().and_then(|name| topology.terminal_named(name));
    let index = station.and_then(|node: NodeId| topology.terminal_index(node));
    index.map(|index| Failing::Station(index as u32)).ok_or(("station", "no such terminal".into()))
}

/// The satellite of a name or a place such as `3.4`; among several constellations `leo:3.4`. With a single one
/// `constellation:3.4` is accepted too.
pub(crate) fn satellite_named(topology: &Topology, name: &str) -> Result<NodeId, String> {
    let all = || (0..topology.constellation().len() as u32).map(NodeId);
    let only = name.strip_prefix("constellation:").filter(|_| topology.fleets().len() == 1);
    let name = only.unwrap_or(name);
    let found = all().find(|&satellite| {
        topology.node_name(satellite) == *name || topology.satellite_place(satellite) == *name
    });
    found.ok_or_else(|| {
        let names: Vec<String> = all().map(|satellite| topology.node_name(satellite)).collect();
        unknown("satellite", name, &names)
    })
}

/// The message for a name that is not among `names`, with the nearest of them.
pub(crate) fn unknown(noun: &str, name: &str, names: &[String]) -> String {
    let hint = skyhop_text::spelling::hint(name, names.iter().map(String::as_str));
    let first = names.first().map_or(String::new(), |first| format!("; expected a name such as \"{first}\""));
    format!("no {noun} \"{name}\" in this constellation{first}{hint}")
}

/// Overrides the default rules by the scenario's keys.
fn apply(model: &scenario::Constellation, rules: &mut Rules, mut seam: CrossSeam) {
    if let Some(mask) = model.elevation_mask {
        rules.elevation_mask_rad = mask.as_rad();
    }
    if let Some(limit) = model.isl_latitude_limit {
        rules.isl_latitude_limit_rad = limit.as_rad();
    }
    if let Some(altitude) = model.grazing_altitude {
        rules.grazing_altitude_m = altitude.as_m();
    }
    rules.max_isl_range_m = model.max_isl_range.map_or(rules.max_isl_range_m, |range| range.as_m());
    rules.max_gsl_range_m = model.max_gsl_range.map_or(rules.max_gsl_range_m, |range| range.as_m());
    rules.intra_plane_neighbours = model.intra_plane_neighbours.unwrap_or(rules.intra_plane_neighbours);
    rules.inter_plane_neighbours = model.inter_plane_neighbours.unwrap_or(rules.inter_plane_neighbours);
    if let Some(threshold) = model.cross_seam_longitude_threshold {
        seam.longitude_threshold_rad = threshold.as_rad();
    }
    seam.first_slot = model.cross_seam_first_slot.or(seam.first_slot);
    let crosses = model.cross_seam_isls.unwrap_or(rules.cross_seam.is_some());
    rules.cross_seam = crosses.then_some(seam);
    *rules = match model.isls {
        Some(true) => rules.with_isls(),
        Some(false) => rules.without_isls(),
        None => *rules,
    };
    rules.inter_shell = model.inter_shell_isls;
    rules.spares_serve = model.spares_serve;
    if let Some(handover) = model.handover {
        rules.handover = policy(handover, model);
    }
    rules.handover_gap_s = model.handover_gap.as_secs_f64();
    rules.handover_loss = model.handover_loss;
    rules.make_before_break = model.make_before_break;
    rules.gsl_acquisition_s = model.gsl_acquisition.as_secs_f64();
    rules.isl_acquisition_s = model.isl_acquisition.as_secs_f64();
    rules.fibre_index = model.fibre_index;
    rules.fibre_detour = model.fibre_detour;
    rules.update_interval_s = model.update_interval.as_secs_f64();
}

/// The satellites, and their preset if they have one.
fn constellation(
    at: &str,
    model: &scenario::Constellation,
    files: &Files,
) -> Result<(Option<&'static Preset>, Constellation), BuildError> {
    if let Some(named) = model.preset {
        let preset = Preset::find(named.name()).map_err(|e| BuildError::new(&format!("{at}.preset"), e))?;
        return Ok((Some(preset), preset.constellation()));
    }
    let epoch = match &model.epoch {
        Some(text) => Some(text.parse::<Epoch>().map_err(|e| BuildError::new(&format!("{at}.epoch"), e))?),
        None => None,
    };
    let built = if let Some(shell) = &model.shell {
        let shell = circular(shell, &format!("{at}.shell"))?;
        Constellation::from_shells(EarthModel::WGS84, &[shell])
            .map_err(|e| BuildError::new(&format!("{at}.shell"), e))?
    } else if let Some(shells) = &model.shells {
        let shells = shells.iter().enumerate();
        let shells: Vec<PlacedShell> = shells
            .map(|(i, shell)| circular(shell, &format!("{at}.shells.{i}")))
            .collect::<Result<_, _>>()?;
        Constellation::from_shells(EarthModel::WGS84, &shells)
            .map_err(|e| BuildError::new(&format!("{at}.shells"), e))?
    } else if let Some(ellipses) = &model.ellipses {
        let orbit = |ellipse: &scenario::Ellipse| Kepler {
            semi_major_axis_m: ellipse.semi_major_axis.as_m(),
            eccentricity: ellipse.eccentricity,
            inclination_rad: ellipse.inclination.as_rad(),
            raan_rad: ellipse.raan.as_rad(),
            argument_of_perigee_rad: ellipse.argument_of_perigee.as_rad(),
            mean_anomaly_rad: ellipse.mean_anomaly.as_rad(),
        };
        let orbits: Vec<Kepler> = ellipses.iter().map(orbit).collect();
        Constellation::from_kepler(EarthModel::WGS84, &orbits, Planes::none(orbits.len()), Drift::None)
            .map_err(|e| BuildError::new(&format!("{at}.ellipses"), e))?
    } else if let Some(longitudes) = &model.geostationary {
        let longitudes: Vec<f64> = longitudes.iter().map(|l| l.as_rad()).collect();
        preset::geo(&longitudes)
    } else if let Some(file) = &model.tle {
        let bytes = bytes_of(files, file, &format!("{at}.tle"))?;
        Constellation::from_tle(bytes, epoch)
            .map_err(|e| BuildError::in_file(&format!("{at}.tle"), file, e))?
    } else if let Some(file) = &model.omm {
        let bytes = bytes_of(files, file, &format!("{at}.omm"))?;
        Constellation::from_omm(bytes, epoch)
            .map_err(|e| BuildError::in_file(&format!("{at}.omm"), file, e))?
    } else {
        return Err(BuildError::new(
            at,
            "neither preset, shell, shells, ellipses, geostationary, tle nor omm is given",
        ));
    };
    Ok((None, built))
}

fn circular(model: &scenario::Shell, key: &str) -> Result<PlacedShell, BuildError> {
    let altitude_m = model.altitude.as_m();
    let mut shell = match &model.walker {
        Some(pattern) => pattern
            .parse::<Walker>()
            .map_err(|e| BuildError::new(&format!("{key}.walker"), e))?
            .delta(altitude_m),
        None => {
            let planes = model.planes.unwrap_or(1).max(1);
            Shell {
                planes,
                satellites_per_plane: model.satellites_per_plane.unwrap_or(1),
                altitude_m,
                inclination_rad: model.inclination.unwrap_or_default().as_rad(),
                raan_spacing_rad: (360.0 / f64::from(planes)).to_radians(),
                phasing: Phasing::OddPlanes(model.stagger.unwrap_or(0.5)),
                argument_decimals: None,
            }
        }
    };
    if let Some(spacing) = model.raan_spacing {
        shell.raan_spacing_rad = spacing.as_deg().to_radians();
    }
    Ok(PlacedShell { raan_rad: model.raan.as_rad(), ..PlacedShell::from(shell) })
}

/// A handover policy with the scenario's parameters, or those of its source.
fn policy(chosen: scenario::Handover, model: &scenario::Constellation) -> Handover {
    use scenario::Handover as Named;
    let policy = match chosen {
        Named::FollowPlane => Handover::FollowPlane,
        Named::HighestOnLoss => Handover::HighestOnLoss,
        Named::Highest => Handover::Highest,
        Named::Nearest => Handover::Nearest,
        Named::LongestVisibility => Handover::LongestVisibility,
        Named::Ascending => Handover::Ascending,
        Named::Descending => Handover::Descending,
        Named::Synchronous => Handover::STARLINK,
        Named::EarthFixedCells => Handover::TELEDESIC_CELLS,
    };
    match (policy, model.handover_period) {
        (Handover::Synchronous { .. }, Some(period)) => {
            Handover::Synchronous { period_s: period.as_secs_f64() }
        }
        (Handover::EarthFixedCells { period_s, cell_deg }, period) => Handover::EarthFixedCells {
            period_s: period.map_or(period_s, |period| period.as_secs_f64()),
            cell_deg: model.handover_cell.map_or(cell_deg, |cell| cell.as_deg()),
        },
        (policy, _) => policy,
    }
}
