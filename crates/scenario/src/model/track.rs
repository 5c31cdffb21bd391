//! The track of a terminal that moves.
//!
//! Follows great circles: over the ground at an even speed, or through points at given times, as a list or in a file.
//! Differs: heights are those above the ellipsoid or sphere of the constellation, not flight levels.
//! Leaves out turns of a finite radius and climbing by rate; points say both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Angle, Length, Speed, Time};

/// Where a terminal is over time: an aircraft, a ship. Before a track begins it stands at its first point, and after it has ended at its last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Track {
    /// Along the great circle from one place to another, at an even speed and height.
    GreatCircle {
        /// Where it begins.
        from: Coordinates,
        /// Where it ends.
        to: Coordinates,
        /// Over the ground.
        speed: Speed,
        /// Height above the sphere or ellipsoid.
        #[serde(default)]
        height: Length,
        /// When it leaves `from`.
        #[serde(default)]
        start: Time,
    },
    /// Through points in order of time, on great circles, with heights that change evenly.
    Points {
        /// The points.
        points: Vec<TrackPoint>,
    },
    /// Through the points of a table beside the scenario: columns t_s, lat_deg, lon_deg and, if it has heights, height_m.
    File {
        /// Its name.
        file: String,
    },
}

/// A place without a height.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coordinates {
    /// Latitude, north positive, -90 to 90 deg.
    pub lat: Angle,
    /// Longitude, east positive, -180 to 360 deg.
    pub lon: Angle,
}

/// A point of a track.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackPoint {
    /// When the terminal is there.
    pub at: Time,
    /// Latitude, north positive, -90 to 90 deg.
    pub lat: Angle,
    /// Longitude, east positive, -180 to 360 deg.
    pub lon: Angle,
    /// Height above the sphere or ellipsoid.
    #[serde(default)]
    pub height: Length,
}
