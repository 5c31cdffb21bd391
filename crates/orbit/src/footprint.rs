//! The part of the Earth that a satellite serves.
//!
//! Follows HT 2.2.1 and the triangle of centre, terminal and satellite on a sphere.
//! Left out: flattening, and beams narrower than the view.

use std::f64::consts::FRAC_PI_2;

/// The part of a sphere from which a satellite is above a mask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint {
    /// Angle at the Earth's centre from the sub-satellite point to the edge.
    pub half_angle_rad: f64,
    /// Distance from the satellite to the edge in metres, the longest above the mask.
    pub slant_range_m: f64,
    /// Distance over the ground from the sub-satellite point to the edge in metres.
    pub radius_m: f64,
}

impl Footprint {
    /// The footprint of a satellite `orbit_radius_m` from the centre of a sphere of `earth_radius_m`, above a mask.
    pub fn new(earth_radius_m: f64, orbit_radius_m: f64, mask_rad: f64) -> Self {
        let (sin_mask, cos_mask) = mask_rad.clamp(-FRAC_PI_2, FRAC_PI_2).sin_cos();
        let ratio = earth_radius_m / orbit_radius_m.max(earth_radius_m);
        let half_angle_rad = ((ratio * cos_mask).acos() - mask_rad).max(0.0);
        let along_m = earth_radius_m * sin_mask;
        let slant_range_m =
            (orbit_radius_m.powi(2) - earth_radius_m.powi(2) + along_m.powi(2)).max(0.0).sqrt() - along_m;
        Self { half_angle_rad, slant_range_m, radius_m: earth_radius_m * half_angle_rad }
    }

    /// Share of the sphere, 0 to 0.5.
    pub fn area_share(&self) -> f64 {
        // 1 - cos, without loss of digits for small angles.
        (0.5 * self.half_angle_rad).sin().powi(2)
    }
}
