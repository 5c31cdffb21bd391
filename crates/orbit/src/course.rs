//! The course of a moving terminal, such as an aircraft or a ship.
//!
//! Follows n-vectors (Gade, 2010): between two waypoints the surface normal turns evenly along a great circle, and the height
//! changes evenly.
//! Differs: lengths are those on a sphere of the mean radius, within 0.6 % of the WGS 84 geodesic.
//! Left out: wind, turns of finite radius, and the loss of ground speed in a climb.

use std::fmt;

use crate::earth::EarthModel;
use crate::terminal::Terminal;
use crate::vec3::{Ecef, Vec3};

/// A position at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waypoint {
    /// Time after the start, s.
    pub t_s: f64,
    /// Geodetic latitude, -pi/2 to pi/2.
    pub latitude_rad: f64,
    /// East longitude, -pi to 2 pi.
    pub longitude_rad: f64,
    /// Height above the Earth model's surface in metres.
    pub height_m: f64,
}

/// A path over the Earth as a function of time: at the first waypoint before its time, at the last one after its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    waypoints: Vec<Waypoint>,
    /// The zenith at each waypoint.
    ups: Vec<Vec3>,
    /// Angle from each waypoint to the next, rad, and its sine.
    legs: Vec<(f64, f64)>,
}

/// Highest speed between waypoints, m/s. A higher one is a mistake in the list: aircraft stay below 1 km/s, and satellites do not
/// follow a course.
pub const MOST_SPEED_M_S: f64 = 5e3;

/// Waypoints closer than this to antipodes, rad, have no unique great circle.
const OPPOSITE_RAD: f64 = 1e-6;

impl Course {
    /// A course through waypoints whose times increase.
    ///
    /// ```
    /// use skyhop_orbit::{Course, Waypoint};
    ///
    /// let at = |t_s, latitude_deg: f64, longitude_deg: f64| Waypoint {
    ///     t_s,
    ///     latitude_rad: latitude_deg.to_radians(),
    ///     longitude_rad: longitude_deg.to_radians(),
    ///     height_m: 0.0,
    /// };
    /// // Over the dateline, the short way round.
    /// let ship = Course::new(vec![at(0.0, 0.0, 179.0), at(7200.0, 0.0, -179.0)])?;
    /// assert!((ship.terminal("ship", 3600.0).longitude_rad.to_degrees().abs() - 180.0).abs() < 1e-9);
    /// # Ok::<(), skyhop_orbit::CourseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No waypoint, an invalid position, a time that is not after the one before, a speed above [`MOST_SPEED_M_S`], two
    /// successive waypoints at antipodes.
    pub fn new(waypoints: Vec<Waypoint>) -> Result<Self, CourseError> {
        if waypoints.is_empty() {
            return Err(CourseError::Empty);
        }
        for (index, waypoint) in waypoints.iter().enumerate() {
            if waypoint.terminal("").check().is_err() || !waypoint.t_s.is_finite() {
                return Err(CourseError::Place { index });
            }
        }
        let ups: Vec<Vec3> = waypoints.iter().map(|waypoint| waypoint.terminal("").up()).collect();
        let angle = |pair: &[Vec3]| pair[0].cross(pair[1]).norm().atan2(pair[0].dot(pair[1]));
        let legs: Vec<(f64, f64)> = ups.windows(2).map(angle).map(|angle| (angle, angle.sin())).collect();
        for (index, pair) in (1..).zip(waypoints.windows(2)) {
            let (before, after) = (pair[0], pair[1]);
            let (angle_rad, _) = legs[index - 1];
            let span_s = after.t_s - before.t_s;
            if span_s <= 0.0 {
                return Err(CourseError::Time { index, t_s: after.t_s, before_s: before.t_s });
            }
            let along_m = angle_rad * EarthModel::WGS84.mean_radius_m();
            let speed_m_s = along_m.hypot(after.height_m - before.height_m) / span_s;
            if speed_m_s > MOST_SPEED_M_S {
                return Err(CourseError::Jump { index, speed_m_s });
            }
            if std::f64::consts::PI - angle_rad < OPPOSITE_RAD {
                return Err(CourseError::Opposite { index });
            }
        }
        Ok(Self { waypoints, ups, legs })
    }

    /// A course along a great circle from `from`, at its time and height, to another place, at constant speed over the ground.
    ///
    /// # Errors
    ///
    /// As for [`Course::new`]; a speed that is zero or NaN.
    pub fn great_circle(
        earth: &EarthModel,
        from: Waypoint,
        (latitude_rad, longitude_rad): (f64, f64),
        speed_m_s: f64,
    ) -> Result<Self, CourseError> {
        if !(speed_m_s > 0.0 && speed_m_s <= MOST_SPEED_M_S) {
            return Err(CourseError::Speed { speed_m_s });
        }
        let to = Waypoint { latitude_rad, longitude_rad, ..from };
        let (a, b) = (from.terminal("").up(), to.terminal("").up());
        let length_m = a.cross(b).norm().atan2(a.dot(b)) * earth.mean_radius_m();
        if length_m == 0.0 {
            return Self::new(vec![from]);
        }
        Self::new(vec![from, Waypoint { t_s: from.t_s + length_m / speed_m_s, ..to }])
    }

    /// The waypoints in order of time.
    pub fn waypoints(&self) -> &[Waypoint] {
        &self.waypoints
    }

    /// Returns true if there is a single waypoint.
    pub fn stands(&self) -> bool {
        self.waypoints.len() == 1
    }

    /// Zenith, and height in metres, at `t_s`.
    pub fn at(&self, t_s: f64) -> (Vec3, f64) {
        let next = self.waypoints.partition_point(|waypoint| waypoint.t_s <= t_s);
        let Some(leg) = next.checked_sub(1) else { return (self.ups[0], self.waypoints[0].height_m) };
        let before = self.waypoints[leg];
        let Some(after) = self.waypoints.get(next) else { return (self.ups[leg], before.height_m) };
        let share = (t_s - before.t_s) / (after.t_s - before.t_s);
        let height_m = before.height_m + share * (after.height_m - before.height_m);
        let (angle_rad, sine) = self.legs[leg];
        if sine == 0.0 {
            return (self.ups[leg], height_m);
        }
        let weights = (((1.0 - share) * angle_rad).sin() / sine, (share * angle_rad).sin() / sine);
        (self.ups[leg] * weights.0 + self.ups[next] * weights.1, height_m)
    }

    /// Position at `t_s`.
    pub fn position_ecef(&self, earth: &EarthModel, t_s: f64) -> Ecef {
        let (up, height_m) = self.at(t_s);
        earth.above(up, height_m)
    }

    /// Velocity at `t_s` in the rotating frame, m/s: the difference over a second.
    pub fn velocity_m_s(&self, earth: &EarthModel, t_s: f64) -> Vec3 {
        self.position_ecef(earth, t_s + 0.5).0 - self.position_ecef(earth, t_s - 0.5).0
    }

    /// A terminal named `name` at the position of the course at `t_s`.
    pub fn terminal(&self, name: impl Into<String>, t_s: f64) -> Terminal {
        let (up, height_m) = self.at(t_s);
        let place = Ecef(up);
        Terminal {
            name: name.into(),
            latitude_rad: place.latitude_rad(),
            longitude_rad: place.longitude_rad(),
            height_m,
        }
    }

    /// Length of the course over the ground, metres.
    pub fn length_m(&self, earth: &EarthModel) -> f64 {
        self.legs.iter().map(|(angle_rad, _)| angle_rad).sum::<f64>() * earth.mean_radius_m()
    }
}

impl Waypoint {
    /// A terminal named `name` at this position.
    pub fn terminal(&self, name: impl Into<String>) -> Terminal {
        Terminal {
            name: name.into(),
            latitude_rad: self.latitude_rad,
            longitude_rad: self.longitude_rad,
            height_m: self.height_m,
        }
    }
}

/// The error for waypoints that form no course.
#[derive(Debug, Clone, PartialEq)]
pub enum CourseError {
    /// There is no waypoint.
    Empty,
    /// A waypoint with an invalid position.
    Place {
        /// Index of the waypoint.
        index: usize,
    },
    /// A waypoint that is not after the one before it.
    Time {
        /// Index of the waypoint.
        index: usize,
        /// Time of the waypoint, s.
        t_s: f64,
        /// Time of the waypoint before, s.
        before_s: f64,
    },
    /// A waypoint that would need too high a speed.
    Jump {
        /// Index of the waypoint.
        index: usize,
        /// Speed from the waypoint before, m/s.
        speed_m_s: f64,
    },
    /// A waypoint at the antipode of the one before it.
    Opposite {
        /// Index of the waypoint.
        index: usize,
    },
    /// A speed of zero, or above [`MOST_SPEED_M_S`].
    Speed {
        /// The speed, m/s.
        speed_m_s: f64,
    },
}

impl CourseError {
    /// Index of the waypoint in error.
    pub fn index(&self) -> Option<usize> {
        match *self {
            Self::Empty | Self::Speed { .. } => None,
            Self::Place { index }
            | Self::Time { index, .. }
            | Self::Jump { index, .. }
            | Self::Opposite { index } => Some(index),
        }
    }
}

impl fmt::Display for CourseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most_km_s = MOST_SPEED_M_S / 1e3;
        match self {
            Self::Empty => write!(f, "no point; expected at least 1"),
            Self::Place { .. } => write!(f, "no place on the Earth"),
            Self::Time { t_s, before_s, .. } => {
                write!(f, "time of {t_s} s is not after {before_s} s, the time of the preceding point")
            }
            Self::Jump { speed_m_s, .. } => write!(
                f,
                "{:.1} km/s from the preceding point; expected at most {most_km_s} km/s",
                speed_m_s / 1e3
            ),
            Self::Opposite { .. } => write!(
                f,
                "opposite the preceding point, so that the great circle is not unique; expected a point between them"
            ),
            Self::Speed { speed_m_s } => {
                write!(f, "speed of {speed_m_s} m/s; expected more than 0 and at most {most_km_s} km/s")
            }
        }
    }
}

impl std::error::Error for CourseError {}
