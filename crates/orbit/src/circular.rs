//! Satellites on circular orbits.
//!
//! Follows HT 3.2.3: circular planes fixed in inertial space while the Earth turns underneath.
//! Differs: an orbit is kept as two vectors; a position is `p cos nt + q sin nt`, without trigonometry of its own.
//! Left out: ellipses, and several altitudes in one set; another shell is another set with its own mean motion.

use crate::earth::EarthModel;
use crate::vec3::{Ecef, Eci, Motion, Vec3};

/// Circular orbits of one radius. At t = 0 Greenwich lies on the inertial x axis.
#[derive(Debug, Clone)]
pub struct CircularOrbits {
    mean_motion_rad_s: f64,
    rotation_rad_s: f64,
    /// For each satellite, its inertial positions at t = 0 and a quarter of a revolution later, metres.
    axes: Vec<(Vec3, Vec3)>,
}

impl CircularOrbits {
    /// An empty set of orbits of `radius_m`, with the mean motion that gravity gives them.
    pub fn new(earth: &EarthModel, radius_m: f64) -> Self {
        Self::with_mean_motion(earth, earth.mean_motion_rad_s(radius_m))
    }

    /// An empty set of orbits that turn exactly with the Earth.
    pub fn geostationary(earth: &EarthModel) -> Self {
        Self::with_mean_motion(earth, earth.rotation_rad_s())
    }

    fn with_mean_motion(earth: &EarthModel, mean_motion_rad_s: f64) -> Self {
        Self { mean_motion_rad_s, rotation_rad_s: earth.rotation_rad_s(), axes: Vec::new() }
    }

    /// Adds a satellite by its orbit's radius (m), inclination, RAAN and argument of latitude at t = 0 (rad).
    pub fn push(&mut self, radius_m: f64, inclination_rad: f64, raan_rad: f64, argument_rad: f64) {
        let (sin_i, cos_i) = inclination_rad.sin_cos();
        let (sin_raan, cos_raan) = raan_rad.sin_cos();
        let (sin_u, cos_u) = argument_rad.sin_cos();
        let node = Vec3::new(cos_raan, sin_raan, 0.0) * radius_m;
        let ahead = Vec3::new(-sin_raan * cos_i, cos_raan * cos_i, sin_i) * radius_m;
        self.axes.push((node * cos_u + ahead * sin_u, ahead * cos_u - node * sin_u));
    }

    /// Number of satellites.
    pub fn len(&self) -> usize {
        self.axes.len()
    }

    /// Returns true if there are no satellites.
    pub fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }

    /// Position of a satellite at `t_s` seconds.
    pub fn position_ecef(&self, satellite: usize, t_s: f64) -> Option<Ecef> {
        let (p, q) = *self.axes.get(satellite)?;
        let (sin, cos) = (self.mean_motion_rad_s * t_s).sin_cos();
        Some(Eci(p * cos + q * sin).to_ecef((self.rotation_rad_s * t_s).sin_cos()))
    }

    /// Position and velocity of a satellite at `t_s` seconds.
    pub fn motion(&self, satellite: usize, t_s: f64) -> Option<Motion> {
        let (p, q) = *self.axes.get(satellite)?;
        let (sin, cos) = (self.mean_motion_rad_s * t_s).sin_cos();
        let velocity_m_s = (q * cos - p * sin) * self.mean_motion_rad_s;
        let greenwich = (self.rotation_rad_s * t_s).sin_cos();
        Some(Motion::from_eci(Eci(p * cos + q * sin), velocity_m_s, greenwich, self.rotation_rad_s))
    }

    /// Orbital period, s.
    pub fn period_s(&self) -> f64 {
        std::f64::consts::TAU / self.mean_motion_rad_s
    }

    /// Appends the positions of all satellites at `t_s` seconds to `out`, in index order.
    pub fn positions_ecef(&self, t_s: f64, out: &mut Vec<Option<Ecef>>) {
        let (sin, cos) = (self.mean_motion_rad_s * t_s).sin_cos();
        let greenwich = (self.rotation_rad_s * t_s).sin_cos();
        out.extend(self.axes.iter().map(|&(p, q)| Some(Eci(p * cos + q * sin).to_ecef(greenwich))));
    }
}
