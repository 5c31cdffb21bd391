//! Vectors in metres, and the inertial and rotating frames, as separate types.
//!
//! Follows the usual convention: x to Greenwich (rotating) or the node reference (inertial), z to the north pole.
//! Differs: TEME, SGP4's frame, counts as the inertial frame here.
//! Left out: precession, nutation and polar motion.

use std::ops::{Add, Mul, Sub};

/// A vector; in metres where it is a position.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Vec3 {
    /// Towards longitude zero.
    pub x: f64,
    /// Towards longitude 90 degrees east.
    pub y: f64,
    /// Towards the north pole.
    pub z: f64,
}

impl Vec3 {
    /// A vector from its components.
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// Scalar product.
    pub fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Vector product.
    pub fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    /// Length.
    pub fn norm(self) -> f64 {
        self.dot(self).sqrt()
    }
}

impl Add for Vec3 {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl Sub for Vec3 {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Mul<f64> for Vec3 {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor)
    }
}

/// A position in the inertial frame, in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eci(pub Vec3);

impl Eci {
    /// The same position in the rotating frame, given the sine and cosine of Greenwich's angle.
    pub fn to_ecef(self, (sin, cos): (f64, f64)) -> Ecef {
        let Vec3 { x, y, z } = self.0;
        Ecef(Vec3::new(cos * x + sin * y, cos * y - sin * x, z))
    }
}

/// Position and velocity in the rotating frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// Position.
    pub position: Ecef,
    /// Velocity, m/s; zero for an object on the ground.
    pub velocity_m_s: Vec3,
}

impl Motion {
    /// The motion for a position and velocity in the inertial frame, the sine and cosine of Greenwich's angle, and the Earth's
    /// rotation.
    pub fn from_eci(position: Eci, velocity_m_s: Vec3, greenwich: (f64, f64), rotation_rad_s: f64) -> Self {
        let position = position.to_ecef(greenwich);
        let Ecef(turned) = Eci(velocity_m_s).to_ecef(greenwich);
        // In the rotating frame the velocity has the term minus rotation x position.
        let ground = Vec3::new(-position.0.y, position.0.x, 0.0) * rotation_rad_s;
        Self { position, velocity_m_s: turned - ground }
    }
}

/// A position in the frame that rotates with the Earth, in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ecef(pub Vec3);

impl Ecef {
    /// Straight-line distance in metres.
    pub fn distance_m(self, other: Self) -> f64 {
        (self.0 - other.0).norm()
    }

    /// Geocentric latitude, -pi/2 to pi/2.
    pub fn latitude_rad(self) -> f64 {
        self.0.z.atan2(self.0.x.hypot(self.0.y))
    }

    /// East longitude, -pi to pi.
    pub fn longitude_rad(self) -> f64 {
        self.0.y.atan2(self.0.x)
    }

    /// Distance from the Earth's centre to the nearest point of the straight line to `other`, in metres.
    ///
    /// For two satellites of one altitude that point is the middle of the chord.
    pub fn grazing_radius_m(self, other: Self) -> f64 {
        let along = other.0 - self.0;
        let length2 = along.dot(along);
        if length2 == 0.0 {
            return self.0.norm();
        }
        let fraction = (-self.0.dot(along) / length2).clamp(0.0, 1.0);
        (self.0 + along * fraction).norm()
    }
}
