//! Satellites on elliptical orbits about a spherical Earth.
//!
//! Follows Vallado, "Fundamentals of Astrodynamics", 2.2 (Kepler's equation) and 9.6 (secular effects of J2).
//! Differs: Kepler's equation is solved by Newton's method inside a bracket, so that it converges for every eccentricity.
//! Left out: drag, the Sun and Moon, and the periodic effects of J2; use elements and SGP4 for those.

use std::f64::consts::{PI, TAU};
use std::fmt;

use crate::earth::EarthModel;
use crate::vec3::{Ecef, Eci, Motion, Vec3};

/// An orbit by Kepler's elements at t = 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kepler {
    /// Semi-major axis in metres.
    pub semi_major_axis_m: f64,
    /// Eccentricity, from 0 (a circle) to below 1.
    pub eccentricity: f64,
    /// Inclination, 0 to pi.
    pub inclination_rad: f64,
    /// Angle of the ascending node from Greenwich at t = 0.
    pub raan_rad: f64,
    /// Angle from the node to the perigee.
    pub argument_of_perigee_rad: f64,
    /// Mean anomaly at t = 0.
    pub mean_anomaly_rad: f64,
}

/// The secular drift of orbits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drift {
    /// No drift, as over a perfect sphere.
    #[default]
    None,
    /// Node, perigee and mean anomaly drift at the rates that the Earth's oblateness (J2) gives them.
    J2,
}

/// The second zonal harmonic of WGS 84.
const J2: f64 = 1.082_629_8e-3;

/// Satellites on individual ellipses. At t = 0 Greenwich lies on the inertial x axis.
#[derive(Debug, Clone)]
pub struct EllipticOrbits {
    rotation_rad_s: f64,
    mu_m3_s2: f64,
    orbits: Vec<Orbit>,
}

#[derive(Debug, Clone, Copy)]
struct Orbit {
    at_start: Kepler,
    mean_anomaly_rad_s: f64,
    raan_rad_s: f64,
    perigee_rad_s: f64,
}

impl EllipticOrbits {
    /// Satellites on `orbits`, which are given at t = 0.
    pub fn new(earth: &EarthModel, orbits: &[Kepler], drift: Drift) -> Result<Self, KeplerError> {
        if orbits.len() > MAX_SATELLITES {
            return Err(KeplerError::Count { satellites: orbits.len() });
        }
        let orbits = orbits.iter().map(|orbit| Orbit::new(earth, *orbit, drift)).collect::<Result<_, _>>()?;
        Ok(Self { rotation_rad_s: earth.rotation_rad_s(), mu_m3_s2: earth.mu_m3_s2, orbits })
    }

    /// Number of satellites.
    pub fn len(&self) -> usize {
        self.orbits.len()
    }

    /// Returns true if there are no satellites.
    pub fn is_empty(&self) -> bool {
        self.orbits.is_empty()
    }

    /// The elements of an orbit at t = 0.
    pub fn orbit(&self, satellite: usize) -> Option<&Kepler> {
        self.orbits.get(satellite).map(|orbit| &orbit.at_start)
    }

    /// Orbital period from perigee to perigee, s.
    pub fn period_s(&self, satellite: usize) -> Option<f64> {
        self.orbits.get(satellite).map(|orbit| TAU / orbit.mean_anomaly_rad_s)
    }

    /// Position of a satellite at `t_s` seconds.
    pub fn position_ecef(&self, satellite: usize, t_s: f64) -> Option<Ecef> {
        let (position, _) = self.orbits.get(satellite)?.state(self.mu_m3_s2, t_s);
        Some(Eci(position).to_ecef((self.rotation_rad_s * t_s).sin_cos()))
    }

    /// Position and velocity of a satellite at `t_s` seconds. The velocity of the drift, metres per second at most, is not
    /// included.
    pub fn motion(&self, satellite: usize, t_s: f64) -> Option<Motion> {
        let (position, velocity_m_s) = self.orbits.get(satellite)?.state(self.mu_m3_s2, t_s);
        let greenwich = (self.rotation_rad_s * t_s).sin_cos();
        Some(Motion::from_eci(Eci(position), velocity_m_s, greenwich, self.rotation_rad_s))
    }

    /// Appends the positions of all satellites at `t_s` seconds to `out`, in index order.
    pub fn positions_ecef(&self, t_s: f64, out: &mut Vec<Option<Ecef>>) {
        let greenwich = (self.rotation_rad_s * t_s).sin_cos();
        out.extend(
            self.orbits.iter().map(|orbit| Some(Eci(orbit.state(self.mu_m3_s2, t_s).0).to_ecef(greenwich))),
        );
    }
}

impl Orbit {
    fn new(earth: &EarthModel, orbit: Kepler, drift: Drift) -> Result<Self, KeplerError> {
        let Kepler { semi_major_axis_m: a, eccentricity: e, inclination_rad: i, .. } = orbit;
        if !(0.0..=MAX_ECCENTRICITY).contains(&e) {
            return Err(KeplerError::Eccentricity { eccentricity: e });
        }
        let perigee_m = a * (1.0 - e) - earth.radius_m;
        if !(MIN_PERIGEE_M..=MAX_PERIGEE_M).contains(&perigee_m) {
            return Err(KeplerError::Perigee { perigee_m });
        }
        if !(0.0..=PI).contains(&i) {
            return Err(KeplerError::Inclination { inclination_rad: i });
        }
        let angles = [orbit.raan_rad, orbit.argument_of_perigee_rad, orbit.mean_anomaly_rad];
        if let Some(&angle_rad) = angles.iter().find(|angle| !angle.is_finite()) {
            return Err(KeplerError::Angle { angle_rad });
        }
        let n = earth.mean_motion_rad_s(a);
        let still = Self { at_start: orbit, mean_anomaly_rad_s: n, raan_rad_s: 0.0, perigee_rad_s: 0.0 };
        match drift {
            Drift::None => Ok(still),
            Drift::J2 => {
                let p = a * (1.0 - e * e);
                let factor = 1.5 * J2 * n * (earth.radius_m / p).powi(2);
                let (sin_i, cos_i) = i.sin_cos();
                let sin2_i = sin_i * sin_i;
                Ok(Self {
                    mean_anomaly_rad_s: n + factor * (1.0 - e * e).sqrt() * (1.0 - 1.5 * sin2_i),
                    raan_rad_s: -factor * cos_i,
                    perigee_rad_s: factor * (2.0 - 2.5 * sin2_i),
                    ..still
                })
            }
        }
    }

    /// Position (m) and velocity (m/s) in the inertial frame.
    fn state(&self, mu_m3_s2: f64, t_s: f64) -> (Vec3, Vec3) {
        let Kepler { semi_major_axis_m: a, eccentricity: e, inclination_rad, .. } = self.at_start;
        let anomaly =
            eccentric_anomaly_rad(self.at_start.mean_anomaly_rad + self.mean_anomaly_rad_s * t_s, e);
        let (sin_e, cos_e) = anomaly.sin_cos();
        let squeeze = (1.0 - e * e).sqrt();
        let (sin_raan, cos_raan) = (self.at_start.raan_rad + self.raan_rad_s * t_s).sin_cos();
        let (sin_w, cos_w) = (self.at_start.argument_of_perigee_rad + self.perigee_rad_s * t_s).sin_cos();
        let (sin_i, cos_i) = inclination_rad.sin_cos();
        let node = Vec3::new(cos_raan, sin_raan, 0.0);
        let ahead = Vec3::new(-sin_raan * cos_i, cos_raan * cos_i, sin_i);
        // Unit vectors towards the perigee, and a quarter of a turn ahead of it.
        let (p, q) = (node * cos_w + ahead * sin_w, ahead * cos_w - node * sin_w);
        let position = p * (a * (cos_e - e)) + q * (a * squeeze * sin_e);
        let speed = (mu_m3_s2 / a).sqrt() / (1.0 - e * cos_e);
        (position, (q * (squeeze * cos_e) - p * sin_e) * speed)
    }
}

/// Solves Kepler's equation E - e sin E = M for E, to double precision.
pub fn eccentric_anomaly_rad(mean_anomaly_rad: f64, eccentricity: f64) -> f64 {
    let turns = (mean_anomaly_rad / TAU).round() * TAU;
    let mean = mean_anomaly_rad - turns;
    let e = eccentricity;
    // E and M have the same sign and lie within e of one another.
    let (mut low, mut high) = if mean >= 0.0 { (mean, mean + e) } else { (mean - e, mean) };
    let mut anomaly = (mean + e * mean.sin()).clamp(low, high);
    for _ in 0..64 {
        let off = anomaly - e * anomaly.sin() - mean;
        if off > 0.0 {
            high = anomaly
        } else {
            low = anomaly
        }
        let newton = anomaly - off / (1.0 - e * anomaly.cos());
        let next = if (low..=high).contains(&newton) { newton } else { 0.5 * (low + high) };
        if (next - anomaly).abs() <= 4.0 * f64::EPSILON * anomaly.abs().max(1e-3) {
            anomaly = next;
            break;
        }
        anomaly = next;
    }
    anomaly + turns
}

const MAX_SATELLITES: usize = 1_000_000;
const MAX_ECCENTRICITY: f64 = 0.999;
const MIN_PERIGEE_M: f64 = 100e3;
const MAX_PERIGEE_M: f64 = 1000e6;

/// The error for an orbit that cannot exist.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeplerError {
    /// Too many satellites.
    Count {
        /// Number of satellites requested.
        satellites: usize,
    },
    /// An eccentricity that is not an ellipse's.
    Eccentricity {
        /// Eccentricity given.
        eccentricity: f64,
    },
    /// The perigee is in the atmosphere, or beyond the Moon.
    Perigee {
        /// Height of the perigee, metres.
        perigee_m: f64,
    },
    /// An inclination out of range.
    Inclination {
        /// Inclination given, radians.
        inclination_rad: f64,
    },
    /// An angle that is not finite.
    Angle {
        /// Angle given, radians.
        angle_rad: f64,
    },
}

impl fmt::Display for KeplerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count { satellites } => {
                write!(f, "{satellites} satellites; expected {MAX_SATELLITES} at most")
            }
            Self::Eccentricity { eccentricity } => {
                write!(f, "eccentricity of {eccentricity}; expected 0 to {MAX_ECCENTRICITY}")
            }
            Self::Perigee { perigee_m } => write!(
                f,
                "perigee at {} km; expected {} to {} km",
                perigee_m / 1e3,
                MIN_PERIGEE_M / 1e3,
                MAX_PERIGEE_M / 1e3
            ),
            Self::Inclination { inclination_rad } => {
                write!(f, "inclination of {} deg; expected 0 to 180 deg", inclination_rad.to_degrees())
            }
            Self::Angle { angle_rad } => write!(f, "angle of {angle_rad}; expected a finite number"),
        }
    }
}

impl std::error::Error for KeplerError {}
