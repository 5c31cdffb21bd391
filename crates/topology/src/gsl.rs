//! Ground-satellite links: the choice of the satellite that serves a terminal.
//!
//! Follows HT 6.2 and ns-2 for handover on loss, WP for satellites of one direction, and Starlink's fixed periods.
//! Differs: if no satellite at all could serve, the next choice is the highest that the policy allows.
//! Left out: load, capacity and spot beams of the satellite.

use std::collections::BTreeSet;
use std::ops::Range;

use skyhop_orbit::visibility::elevation_rad;
use skyhop_orbit::{Constellation, Ecef, Planes, Vec3};

use crate::link::{LinkState, NodeId};
use crate::rules::{Handover, Rules};

/// A terminal's position and zenith at a check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    pub(crate) place: Ecef,
    pub(crate) up: Vec3,
}

/// The inputs of a terminal's choice other than the satellite itself.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) site: Site,
    pub(crate) constellation: &'a Constellation,
    pub(crate) rules: &'a Rules,
    /// Positions of the satellites that may serve, of all constellations.
    pub(crate) positions: &'a [Option<Ecef>],
    /// Numbers of the satellites of the constellation in question.
    pub(crate) satellites: &'a Range<u32>,
    pub(crate) t_s: f64,
    /// Time of the terminal's previous check, s; `None` at the first.
    pub(crate) last_s: Option<f64>,
    /// Longest time until the terminal's next check, s.
    pub(crate) next_look_s: f64,
    /// A policy supplied by the caller, which replaces the rules'.
    pub(crate) policy: Option<&'a dyn HandoverPolicy>,
}

/// A satellite in view of a terminal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisibleSatellite {
    /// Number of the satellite.
    pub satellite: u32,
    /// Elevation above the terminal's horizon.
    pub elevation_rad: f64,
    /// Distance in metres.
    pub slant_range_m: f64,
    /// True if the satellite flies north.
    pub northbound: bool,
}

/// A handover policy supplied by the caller, called at each check of a terminal and never per packet. It is called for each
/// antenna in turn, and does not see the satellites that other antennas hold.
///
/// ```
/// use std::sync::Arc;
/// use skyhop_orbit::{Terminal, preset};
/// use skyhop_topology::{HandoverPolicy, Rules, VisibleSatellite, Topology};
///
/// /// Keeps a satellite until another is ten degrees higher.
/// #[derive(Debug)]
/// struct Hysteresis;
///
/// impl HandoverPolicy for Hysteresis {
///     fn choose(&self, seen: &[VisibleSatellite], held: Option<u32>, _t_s: f64) -> Option<u32> {
///         let highest = seen.iter().max_by(|a, b| a.elevation_rad.total_cmp(&b.elevation_rad))?;
///         let present = seen.iter().find(|one| Some(one.satellite) == held);
///         let better = present.is_none_or(|p| highest.elevation_rad > p.elevation_rad + 10f64.to_radians());
///         if better { Some(highest.satellite) } else { held }
///     }
/// }
///
/// let berlin = Terminal::from_degrees("berlin", 52.52, 13.41)?;
/// let mut topology = Topology::new(preset::teledesic(), vec![berlin], Rules::teledesic())?;
/// topology.set_handover_policy(Arc::new(Hysteresis));
/// topology.update(0.0);
/// assert!(topology.link(topology.gsl(0).unwrap()).unwrap().up);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait HandoverPolicy: std::fmt::Debug + Send + Sync {
    /// Chooses one of the satellites above the mask, which are in order of number; `None` for none. `held` is the satellite that
    /// the terminal holds, if it is still among them.
    fn choose(&self, seen: &[VisibleSatellite], held: Option<u32>, t_s: f64) -> Option<u32>;
}

/// The new state of a GSL. `attached` is true if the terminal holds the satellite `link.b`, as it may before the first update.
pub(crate) fn at(link: LinkState, attached: bool, sight: Sight<'_>) -> LinkState {
    let held = (attached && sight.keeps(link.b.0)).then_some(link.b.0);
    if let Some(policy) = sight.policy {
        let seen = sight.seen();
        let known = |satellite: &u32| seen.iter().any(|one| one.satellite == *satellite);
        let chosen = policy.choose(&seen, held, sight.t_s).filter(known);
        return match chosen {
            Some(satellite) => LinkState { b: NodeId(satellite), up: true, ..link },
            None => LinkState { up: false, ..link },
        };
    }
    let chosen = match sight.rules.handover {
        Handover::FollowPlane => held.or_else(|| {
            let next = follower(sight.constellation.planes(), link.b.0).filter(|_| attached);
            next.filter(|&satellite| sight.serves(satellite))
        }),
        Handover::HighestOnLoss | Handover::Ascending | Handover::Descending => held,
        Handover::Highest => None,
        Handover::Nearest => sight.best(|satellite, _| -sight.range_m(satellite)),
        Handover::LongestVisibility => {
            held.or_else(|| sight.best(|satellite, _| sight.remaining_s(satellite)))
        }
        Handover::Synchronous { period_s } => held.filter(|_| !sight.crosses_multiple_of(period_s)),
        Handover::EarthFixedCells { period_s, .. } => {
            let kept = attached && sight.positions[link.b.index()].is_some();
            let cells = if kept && !sight.crosses_multiple_of(period_s) {
                Some(link.b.0)
            } else {
                sight.best_over_cell()
            };
            return match cells {
                Some(satellite) => LinkState { b: NodeId(satellite), up: true, ..link },
                None => LinkState { up: false, ..link },
            };
        }
    };
    let chosen = chosen.or_else(|| sight.best(|_, elevation| elevation));
    match chosen {
        Some(satellite) => LinkState { b: NodeId(satellite), up: true, ..link },
        None => LinkState { up: false, ..link },
    }
}

/// Candidate satellites of a terminal with several antennas, and the ones chosen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Candidates {
    /// For each candidate: true if it will last until it has been acquired; its rank by the policy; its number. Best first.
    ranked: Vec<(bool, f64, u32)>,
    chosen: Vec<LinkState>,
}

impl Candidates {
    /// Chooses for all antennas of a terminal together; no two hold the same satellite.
    pub(crate) fn choose(&mut self, links: &[LinkState], attached: &mut [bool], sight: Sight<'_>) {
        if let Some(policy) = sight.policy {
            return self.ask(policy, links, attached, sight);
        }
        self.rank(sight.over_cell().unwrap_or(sight));
        let wanted = links.len().min(self.ranked.len());
        let among_best = |satellite: u32| self.ranked[..wanted].iter().any(|&(_, _, one)| one == satellite);
        let holds = |satellite: u32| match sight.rules.handover {
            Handover::Highest | Handover::Nearest => sight.keeps(satellite) && among_best(satellite),
            Handover::Synchronous { period_s } if sight.crosses_multiple_of(period_s) => {
                sight.keeps(satellite) && among_best(satellite)
            }
            Handover::EarthFixedCells { period_s, .. } => match sight.crosses_multiple_of(period_s) {
                true => among_best(satellite),
                false => sight.positions[satellite as usize].is_some(),
            },
            _ => sight.keeps(satellite),
        };
        self.chosen.clear();
        for (link, attached) in links.iter().zip(attached.iter_mut()) {
            *attached = *attached && holds(link.b.0);
            self.chosen.push(LinkState { up: *attached, ..*link });
        }
        if sight.rules.handover == Handover::FollowPlane {
            for antenna in 0..links.len() {
                let next = follower(sight.constellation.planes(), links[antenna].b.0);
                let next = next.filter(|&next| links[antenna].up && !attached[antenna] && sight.serves(next));
                if let Some(next) = next.filter(|&next| !self.taken(next)) {
                    attached[antenna] = true;
                    self.chosen[antenna] = LinkState { b: NodeId(next), up: true, ..links[antenna] };
                }
            }
        }
        let mut free: Vec<u32> = self.ranked.iter().map(|&(_, _, satellite)| satellite).collect();
        let taken: BTreeSet<u32> = self.chosen.iter().filter(|link| link.up).map(|link| link.b.0).collect();
        free.retain(|satellite| !taken.contains(satellite));
        let mut free = free.into_iter();
        for (link, attached) in self.chosen.iter_mut().zip(attached).filter(|(link, _)| !link.up) {
            let Some(satellite) = free.next() else { break };
            *attached = true;
            *link = LinkState { b: NodeId(satellite), up: true, ..*link };
        }
    }

    /// Chooses by the caller's policy, antenna by antenna.
    fn ask(
        &mut self,
        policy: &dyn HandoverPolicy,
        links: &[LinkState],
        attached: &mut [bool],
        sight: Sight<'_>,
    ) {
        let mut seen = sight.seen();
        self.chosen.clear();
        for (link, attached) in links.iter().zip(attached.iter_mut()) {
            *attached = *attached && sight.keeps(link.b.0);
            self.chosen.push(LinkState { up: *attached, ..*link });
        }
        // Each antenna may take a satellite that no antenna holds, or keep its own.
        let all = seen.clone();
        for antenna in 0..links.len() {
            let held = attached[antenna].then_some(links[antenna].b.0);
            seen.clear();
            seen.extend(all.iter().filter(|one| Some(one.satellite) == held || !self.taken(one.satellite)));
            let known = |satellite: &u32| seen.iter().any(|one| one.satellite == *satellite);
            let chosen = policy.choose(&seen, held, sight.t_s).filter(known);
            attached[antenna] = chosen.is_some();
            let b = chosen.map_or(links[antenna].b, NodeId);
            self.chosen[antenna] = LinkState { b, up: chosen.is_some(), ..links[antenna] };
        }
    }

    /// The new state of each antenna's link.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = LinkState> + '_ {
        self.chosen.iter().copied()
    }

    fn taken(&self, satellite: u32) -> bool {
        self.chosen.iter().any(|link| link.up && link.b.0 == satellite)
    }

    fn rank(&mut self, sight: Sight<'_>) {
        let Site { place, up } = sight.site;
        self.ranked.clear();
        for (satellite, position) in sight.present() {
            // A satellite below the horizontal plane is below every mask that is not negative; most satellites are.
            if sight.rules.elevation_mask_rad >= 0.0 && (position.0 - place.0).dot(up) < 0.0 {
                continue;
            }
            let elevation = elevation_rad(place, up, position);
            if elevation <= sight.rules.elevation_mask_rad || !sight.allows(satellite, position) {
                continue;
            }
            let measure = match sight.rules.handover {
                Handover::Nearest => -sight.range_m(satellite),
                Handover::LongestVisibility => sight.remaining_s(satellite),
                _ => sight.elevation_then_rad(satellite, elevation),
            };
            let lasts = !sight.rules.make_before_break || sight.keeps(satellite);
            self.ranked.push((lasts, measure, satellite));
        }
        self.ranked.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    }
}

/// Longest remaining visibility that is searched for, s; a longer one counts as endless.
const HORIZON_S: f64 = 86_400.0;

impl Sight<'_> {
    /// Returns true if a held satellite may be kept: it serves now and, with make-before-break, until the next one could be
    /// acquired.
    fn keeps(&self, satellite: u32) -> bool {
        let ahead_s = self.rules.gsl_acquisition_s + self.next_look_s;
        self.serves(satellite)
            && (!self.rules.make_before_break
                || self
                    .constellation
                    .position_ecef(satellite, self.t_s + ahead_s)
                    .is_some_and(|position| self.allows(satellite, position)))
    }

    /// Numbers and positions of the satellites that may serve.
    fn present(&self) -> impl Iterator<Item = (u32, Ecef)> + use<'_> {
        let positions = &self.positions[self.satellites.start as usize..self.satellites.end as usize];
        self.satellites
            .clone()
            .zip(positions)
            .filter_map(|(satellite, position)| Some((satellite, (*position)?)))
    }

    /// The satellites in view that the rules allow.
    fn seen(&self) -> Vec<VisibleSatellite> {
        let Site { place, up } = self.site;
        let of = |(satellite, position): (u32, Ecef)| {
            self.allows(satellite, position).then(|| VisibleSatellite {
                satellite,
                elevation_rad: elevation_rad(place, up, position),
                slant_range_m: position.distance_m(place),
                northbound: self.northbound(satellite) == Some(true),
            })
        };
        self.present().filter_map(of).collect()
    }

    /// The satellite of the terminal's Earth-fixed cell, which is the highest over the centre of the cell.
    fn best_over_cell(&self) -> Option<u32> {
        self.over_cell()?.best(|_, elevation| elevation)
    }

    /// The same inputs for the centre of the terminal's Earth-fixed cell; `None` for policies without cells.
    fn over_cell(&self) -> Option<Self> {
        let Handover::EarthFixedCells { cell_deg, .. } = self.rules.handover else { return None };
        let (lat_deg, lon_deg) = cell_centre_deg(self.site.place, cell_deg);
        let (lat, lon) = (lat_deg.to_radians(), lon_deg.to_radians());
        let up = Vec3::new(lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin());
        Some(Self { site: Site { place: Ecef(up * self.site.place.0.norm()), up }, ..*self })
    }

    /// Returns true if a satellite can serve: it is above the mask, within range, and flies in the direction that the policy wants.
    pub(crate) fn serves(&self, satellite: u32) -> bool {
        self.positions[satellite as usize].is_some_and(|position| self.allows(satellite, position))
    }

    fn allows(&self, satellite: u32, position: Ecef) -> bool {
        let Site { place, up } = self.site;
        elevation_rad(place, up, position) > self.rules.elevation_mask_rad
            && (self.rules.max_gsl_range_m == f64::INFINITY
                || position.distance_m(place) <= self.rules.max_gsl_range_m)
            && match self.rules.handover {
                Handover::Ascending => self.northbound(satellite) == Some(true),
                Handover::Descending => self.northbound(satellite) == Some(false),
                _ => true,
            }
    }

    fn northbound(&self, satellite: u32) -> Option<bool> {
        Some(self.constellation.motion(satellite, self.t_s)?.velocity_m_s.z > 0.0)
    }

    /// The satellite that can serve and maximises `measure`, given its number and elevation; the lowest number among equals. With
    /// make-before-break, satellites that last until acquired come first.
    fn best(&self, measure: impl Fn(u32, f64) -> f64) -> Option<u32> {
        if !self.rules.make_before_break {
            return self.best_of(|_| true, measure);
        }
        let then = |satellite, elevation| measure(satellite, self.elevation_then_rad(satellite, elevation));
        self.best_of(|satellite| self.keeps(satellite), then).or_else(|| self.best_of(|_| true, then))
    }

    fn best_of(&self, may: impl Fn(u32) -> bool, measure: impl Fn(u32, f64) -> f64) -> Option<u32> {
        let Site { place, up } = self.site;
        let mut best: Option<(u32, f64)> = None;
        for (satellite, position) in self.present() {
            let elevation = elevation_rad(place, up, position);
            if elevation <= self.rules.elevation_mask_rad
                || !self.allows(satellite, position)
                || !may(satellite)
            {
                continue;
            }
            let value = measure(satellite, elevation);
            if best.is_none_or(|(_, most)| value > most) {
                best = Some((satellite, value));
            }
        }
        best.map(|(satellite, _)| satellite)
    }

    /// Position of a satellite when it has been acquired, for make-before-break; the present one otherwise.
    fn position_then(&self, satellite: u32) -> Option<Ecef> {
        match self.rules.make_before_break && self.rules.gsl_acquisition_s > 0.0 {
            true => self.constellation.position_ecef(satellite, self.t_s + self.rules.gsl_acquisition_s),
            false => self.positions[satellite as usize],
        }
    }

    fn elevation_then_rad(&self, satellite: u32, now_rad: f64) -> f64 {
        if !self.rules.make_before_break {
            return now_rad;
        }
        let Site { place, up } = self.site;
        self.position_then(satellite).map_or(now_rad, |at| elevation_rad(place, up, at))
    }

    fn range_m(&self, satellite: u32) -> f64 {
        self.position_then(satellite).map_or(f64::INFINITY, |at| at.distance_m(self.site.place))
    }

    /// Remaining visibility of a satellite that serves now, to a tenth of a second, for a terminal that stays where it is.
    fn remaining_s(&self, satellite: u32) -> f64 {
        let serves = |ahead_s: f64| {
            let position = self.constellation.position_ecef(satellite, self.t_s + ahead_s);
            position.is_some_and(|position| self.allows(satellite, position))
        };
        let step_s = 20.0;
        let mut low_s = 0.0;
        while serves(low_s + step_s) {
            low_s += step_s;
            if low_s >= HORIZON_S {
                return low_s;
            }
        }
        let mut high_s = low_s + step_s;
        while high_s - low_s > 0.1 {
            let middle_s = 0.5 * (low_s + high_s);
            if serves(middle_s) { low_s = middle_s } else { high_s = middle_s }
        }
        low_s
    }

    /// Returns true if there is a multiple of `period_s` after the last check and not after this one.
    fn crosses_multiple_of(&self, period_s: f64) -> bool {
        let count = |t_s: f64| (t_s / period_s + 1e-9).floor();
        self.last_s.is_none_or(|last_s| count(self.t_s) > count(last_s))
    }
}

/// Centre of the cell of a place. Bands of equal height are divided evenly into cells of about that width.
fn cell_centre_deg(place: Ecef, cell_deg: f64) -> (f64, f64) {
    let bands = (180.0 / cell_deg).ceil();
    let height_deg = 180.0 / bands;
    let band = ((place.latitude_rad().to_degrees() + 90.0) / height_deg).floor().clamp(0.0, bands - 1.0);
    let lat_deg = -90.0 + (band + 0.5) * height_deg;
    let cells = (360.0 * lat_deg.to_radians().cos() / height_deg).round().max(1.0);
    let width_deg = 360.0 / cells;
    let cell = (place.longitude_rad().to_degrees().rem_euclid(360.0) / width_deg).floor();
    (lat_deg, (cell + 0.5) * width_deg)
}

fn follower(planes: &Planes, satellite: u32) -> Option<u32> {
    let (plane, slot) = planes.plane_slot(satellite)?;
    let members = planes.members(plane);
    Some(members[(slot as usize + members.len() - 1) % members.len()])
}
