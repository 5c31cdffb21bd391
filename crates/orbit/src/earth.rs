//! Earth models: size, gravity, rotation, and the speed of light that goes with them.
//!
//! Follows WGS 84 (NIMA TR8350.2) for the real Earth and ns-2's satellite module for its sphere.
//! Differs: the speed of light is part of the model, because ns-2 rounds it and its published delays depend on that.
//! Left out: J2 for circular shells, and ns-2's thirteen-digit pi, whose effect is below a nanosecond.

use std::f64::consts::TAU;

use crate::vec3::{Ecef, Vec3};

/// Constants of one Earth, in SI units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EarthModel {
    /// Equatorial radius in metres.
    pub radius_m: f64,
    /// Flattening; zero for a sphere, on which geodetic and geocentric latitude agree.
    pub flattening: f64,
    /// Gravitational parameter in m^3/s^2.
    pub mu_m3_s2: f64,
    /// Length of a sidereal day in seconds.
    pub rotation_period_s: f64,
    /// Speed of light in m/s.
    pub c_m_s: f64,
}

impl EarthModel {
    /// The sphere of ns-2's satellite module, which HT's and WP's figures rest on.
    pub const NS2: Self = Self {
        radius_m: 6_378_000.0,
        flattening: 0.0,
        mu_m3_s2: 398_601.2e9,
        rotation_period_s: 86_164.0,
        c_m_s: 299_793_000.0,
    };

    /// The WGS 84 ellipsoid, for terminals with geodetic coordinates and heights.
    pub const WGS84: Self = Self {
        radius_m: 6_378_137.0,
        flattening: 1.0 / 298.257_223_563,
        mu_m3_s2: 3.986_004_418e14,
        rotation_period_s: 86_164.090_54,
        c_m_s: 299_792_458.0,
    };

    /// The WGS 72 ellipsoid, which elements are fitted with, for comparison with programs that use it throughout.
    pub const WGS72: Self = Self {
        radius_m: 6_378_135.0,
        flattening: 1.0 / 298.26,
        mu_m3_s2: 3.986_008e14,
        rotation_period_s: 86_164.090_54,
        c_m_s: 299_792_458.0,
    };

    /// A sphere with the WGS 84 equatorial radius: the default for synthetic constellations.
    pub const SPHERE: Self = Self { flattening: 0.0, ..Self::WGS84 };

    /// Angular rate of the Earth's rotation in rad/s.
    pub fn rotation_rad_s(&self) -> f64 {
        TAU / self.rotation_period_s
    }

    /// Mean motion in rad/s of a circular orbit of the given radius in metres.
    pub fn mean_motion_rad_s(&self, orbit_radius_m: f64) -> f64 {
        (self.mu_m3_s2 / orbit_radius_m.powi(3)).sqrt()
    }

    /// Radius in metres of the circular orbit whose period is one sidereal day.
    pub fn geostationary_radius_m(&self) -> f64 {
        (self.mu_m3_s2 / self.rotation_rad_s().powi(2)).cbrt()
    }

    /// Radius of the sphere on which lengths along the ground are measured, metres: a third of the sum of the axes.
    pub fn mean_radius_m(&self) -> f64 {
        self.radius_m * (1.0 - self.flattening / 3.0)
    }

    /// The position at a height in metres above the point of the surface whose unit normal is `up`.
    pub fn above(&self, up: Vec3, height_m: f64) -> Ecef {
        let e2 = self.flattening * (2.0 - self.flattening);
        let normal_m = self.radius_m / (1.0 - e2 * up.z * up.z).sqrt();
        let across_m = normal_m + height_m;
        Ecef(Vec3::new(across_m * up.x, across_m * up.y, (normal_m * (1.0 - e2) + height_m) * up.z))
    }

    /// The position at a geodetic latitude and longitude in radians, and a height above the surface in metres.
    pub fn surface(&self, latitude_rad: f64, longitude_rad: f64, height_m: f64) -> Ecef {
        let (sin_lat, cos_lat) = latitude_rad.sin_cos();
        let (sin_lon, cos_lon) = longitude_rad.sin_cos();
        let e2 = self.flattening * (2.0 - self.flattening);
        let normal_m = self.radius_m / (1.0 - e2 * sin_lat * sin_lat).sqrt();
        let across_m = (normal_m + height_m) * cos_lat;
        Ecef(Vec3::new(across_m * cos_lon, across_m * sin_lon, (normal_m * (1.0 - e2) + height_m) * sin_lat))
    }
}

impl Default for EarthModel {
    fn default() -> Self {
        Self::SPHERE
    }
}
