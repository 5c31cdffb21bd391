//! Catalogued satellites, propagated with SGP4.
//!
//! Follows Vallado et al., "Revisiting Spacetrack Report #3" (AIAA 2006-6753): WGS 72, which TLEs are fitted with.
//! Differs: TEME is turned to the rotating frame by GMST alone, with UTC for UT1: up to 0.4 km at the equator.
//! Left out: polar motion (metres), and newer elements during a run.

use crate::earth::EarthModel;
use crate::elements::{ElementSet, ElementsError};
use crate::epoch::Epoch;
use crate::vec3::{Ecef, Eci, Motion, Vec3};

/// Satellites of a file of elements, on a common time axis.
#[derive(Debug, Clone)]
pub struct Catalogue {
    epoch: Epoch,
    greenwich_rad: f64,
    rotation_rad_s: f64,
    satellites: Vec<CatalogueSatellite>,
}

#[derive(Debug, Clone)]
struct CatalogueSatellite {
    set: ElementSet,
    constants: sgp4::Constants,
    /// Time from the epoch of the elements to t = 0, minutes.
    age_min: f64,
}

/// The elements of an orbit at t = 0 from which planes are recognised. Angles in radians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrbitAtEpoch {
    /// Mean motion of the elements in revolutions per day.
    pub mean_motion_rev_day: f64,
    /// Inclination.
    pub inclination_rad: f64,
    /// Right ascension of the ascending node, 0 to 2 pi.
    pub raan_rad: f64,
    /// Angle from the ascending node to the satellite, 0 to 2 pi.
    pub argument_rad: f64,
}

impl Catalogue {
    /// Prepares propagation from `epoch`, which is t = 0; by default the newest epoch of the elements.
    ///
    /// # Errors
    ///
    /// [`ElementsError::Empty`], and [`ElementsError::Decayed`] for elements that are below the ground at their own epoch.
    pub fn new(sets: Vec<ElementSet>, epoch: Option<Epoch>) -> Result<Self, ElementsError> {
        let newest = sets.iter().map(|set| set.epoch).max().ok_or(ElementsError::Empty)?;
        let epoch = epoch.unwrap_or(newest);
        let satellites =
            sets.into_iter().map(|set| CatalogueSatellite::new(set, epoch)).collect::<Result<_, _>>()?;
        Ok(Self {
            epoch,
            greenwich_rad: epoch.greenwich_rad(),
            rotation_rad_s: EarthModel::WGS84.rotation_rad_s(),
            satellites,
        })
    }

    /// UTC of t = 0.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Number of satellites, unavailable ones included.
    pub fn len(&self) -> usize {
        self.satellites.len()
    }

    /// Returns true if there are no satellites; never, for a catalogue that [`Self::new`] has returned.
    pub fn is_empty(&self) -> bool {
        self.satellites.is_empty()
    }

    /// The elements of a satellite.
    pub fn elements(&self, satellite: usize) -> Option<&ElementSet> {
        self.satellites.get(satellite).map(|satellite| &satellite.set)
    }

    /// Position of a satellite at `t_s`; `None` once its elements no longer give an orbit above the ground.
    pub fn position_ecef(&self, satellite: usize, t_s: f64) -> Option<Ecef> {
        let (position, _) = self.satellites.get(satellite)?.teme(t_s)?;
        Some(Eci(position).to_ecef(self.greenwich(t_s)))
    }

    /// Position and velocity of a satellite at `t_s`; `None` as in [`Self::position_ecef`].
    pub fn motion(&self, satellite: usize, t_s: f64) -> Option<Motion> {
        let (position, velocity_m_s) = self.satellites.get(satellite)?.teme(t_s)?;
        Some(Motion::from_eci(Eci(position), velocity_m_s, self.greenwich(t_s), self.rotation_rad_s))
    }

    /// The reason why a satellite has no position at `t_s`, in SGP4's words where SGP4 fails.
    pub fn trouble(&self, satellite: usize, t_s: f64) -> Option<String> {
        let satellite = self.satellites.get(satellite)?;
        satellite.teme(t_s).is_none().then(|| satellite.reason(t_s))
    }

    /// Longest time between the epoch of a satellite's elements and t = 0, s.
    pub fn greatest_age_s(&self) -> f64 {
        self.satellites.iter().map(|satellite| satellite.age_min.abs() * 60.0).fold(0.0, f64::max)
    }

    /// Appends the positions of all satellites at `t_s` to `out`, in index order.
    pub fn positions_ecef(&self, t_s: f64, out: &mut Vec<Option<Ecef>>) {
        let greenwich = self.greenwich(t_s);
        out.extend(self.satellites.iter().map(|s| s.teme(t_s).map(|(p, _)| Eci(p).to_ecef(greenwich))));
    }

    /// The orbits at t = 0, computed from position and velocity, so that they include the drift since each element's epoch.
    pub fn orbits_at_epoch(&self) -> Vec<Option<OrbitAtEpoch>> {
        self.satellites.iter().map(CatalogueSatellite::orbit_at_epoch).collect()
    }

    fn greenwich(&self, t_s: f64) -> (f64, f64) {
        (self.greenwich_rad + self.rotation_rad_s * t_s).sin_cos()
    }
}

impl CatalogueSatellite {
    fn new(set: ElementSet, epoch: Epoch) -> Result<Self, ElementsError> {
        let constants = sgp4::Constants::from_elements_afspc_compatibility_mode(&set.mean)
            .map_err(|error| ElementsError::Field { place: set.place, problem: error.to_string() })?;
        let age_min = epoch.seconds_since(set.epoch) / 60.0;
        let satellite = Self { set, constants, age_min };
        if satellite.teme(-age_min * 60.0).is_none() {
            let reason = satellite.reason(-age_min * 60.0);
            let ElementSet { place, name, .. } = satellite.set;
            return Err(ElementsError::Decayed { place, name, reason });
        }
        Ok(satellite)
    }

    /// Position (m) and velocity (m/s) in TEME.
    fn teme(&self, t_s: f64) -> Option<(Vec3, Vec3)> {
        let since = sgp4::MinutesSinceEpoch(self.age_min + t_s / 60.0);
        let state = self.constants.propagate_afspc_compatibility_mode(since).ok()?;
        let [x, y, z] = state.position;
        let [vx, vy, vz] = state.velocity;
        let position = Vec3::new(x, y, z) * 1e3;
        // The condition is written so that NaN is unavailable too.
        (position.norm() >= EarthModel::WGS84.radius_m).then_some((position, Vec3::new(vx, vy, vz) * 1e3))
    }

    fn reason(&self, t_s: f64) -> String {
        let since = sgp4::MinutesSinceEpoch(self.age_min + t_s / 60.0);
        match self.constants.propagate_afspc_compatibility_mode(since) {
            Err(error) => error.to_string().to_lowercase(),
            Ok(_) => "sgp4 puts it below the ground".into(),
        }
    }

    fn orbit_at_epoch(&self) -> Option<OrbitAtEpoch> {
        let (position, velocity) = self.teme(0.0)?;
        let momentum = position.cross(velocity);
        // An equatorial orbit has no node; the x axis stands in for it.
        let node = match Vec3::new(-momentum.y, momentum.x, 0.0) {
            node if node.norm() > 1e-9 * momentum.norm() => node,
            _ => Vec3::new(1.0, 0.0, 0.0),
        };
        let ahead = momentum.cross(node) * (1.0 / momentum.norm());
        let turn = std::f64::consts::TAU;
        Some(OrbitAtEpoch {
            mean_motion_rev_day: self.set.mean_motion_rev_day(),
            inclination_rad: momentum.x.hypot(momentum.y).atan2(momentum.z),
            raan_rad: node.y.atan2(node.x).rem_euclid(turn),
            argument_rad: position.dot(ahead).atan2(position.dot(node)).rem_euclid(turn),
        })
    }
}
