//! The track of a moving terminal.
//!
//! Follows great circles: at constant ground speed, or through points at given times, from a list or a file.
//! Differs: heights are above the ellipsoid or sphere of the constellation, not flight levels.
//! Leaves out turns of finite radius and climb rates; a list of points can express both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Angle, Length, Speed, Time};

/// The position of a moving terminal, such as an aircraft or a ship, over time. Before a track begins it is at its first point, and
/// after its end at its last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Track {
    /// Along the great circle from one place to another, at constant speed and height.
    GreatCircle {
        /// Start of the track.
        from: Coordinates,
        /// End of the track.
        to: Coordinates,
        /// Ground speed.
        speed: Speed,
        /// Height above the sphere or ellipsoid.
        #[serde(default)]
        height: Length,
        /// Time of departure from `from`.
        #[serde(default)]
        start: Time,
    },
    /// Through points in order of time, along great circles, with linear changes of height.
    Points {
        /// Points in order of time.
        points: Vec<TrackPoint>,
    },
    /// Through the points of a table: columns t_s, lat_deg, lon_deg and, if it has heights, height_m.
    File {
        /// Name of the file, relative to the scenario's folder.
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
    /// Time at which the terminal is there.
    pub at: Time,
    /// Latitude, north positive, -90 to 90 deg.
    pub lat: Angle,
    /// Longitude, east positive, -180 to 360 deg.
    pub lon: Angle,
    /// Height above the sphere or ellipsoid.
    #[serde(default)]
    pub height: Length,
}
