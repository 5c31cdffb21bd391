//! Satellites, terminals and routing.
//!
//! Follows HT 6.2 and table 6.1; published constellations go by their names.
//! Differs: orbits may come from a file of elements, so that a constellation that flies is as good as one on paper.
//! Leaves out what only a library user can say: a link rule or routing scheme of one's own.

use super::links::{Loss, Queue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Angle, Length, Rate, Span};

/// Satellites: a preset, circular shells, geostationary longitudes, or real elements. Exactly one of these is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constellation {
    /// A published constellation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Circular orbits in evenly spaced planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Shell>,
    /// Geostationary satellites, by their longitudes (east positive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geostationary: Option<Vec<Angle>>,
    /// A file of two- or three-line elements, beside the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tle: Option<String>,
    /// A file of orbit mean-elements messages (JSON), beside the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omm: Option<String>,
    /// UTC instant of the start of the run, such as "2025-10-07T12:00:00Z"; the newest epoch of the elements if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// Lowest elevation at which a terminal keeps a satellite; the preset's if left out, else 10 deg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elevation_mask: Option<Angle>,
    /// Links between satellites; without them a packet comes down where it went up.
    #[serde(default = "yes")]
    pub isls: bool,
    /// Links between the counter-rotating planes on both sides of the seam; if left out the preset's (Teledesic has them, Iridium has none), else none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_seam_isls: Option<bool>,
    /// Links between planes are switched off above this latitude.
    #[serde(default = "default_isl_latitude_limit")]
    pub isl_latitude_limit: Angle,
    /// How often links, handovers and routes are looked at anew.
    #[serde(default = "default_update_interval")]
    pub update_interval: Span,
    /// Links between satellites.
    #[serde(default = "default_isl")]
    pub isl: Radio,
    /// Links between a terminal and its satellite.
    #[serde(default = "default_gsl")]
    pub gsl: Radio,
}

fn yes() -> bool {
    true
}
fn default_isl_latitude_limit() -> Angle {
    Angle::from_deg(60.0)
}
fn default_update_interval() -> Span {
    Span::from_secs(10)
}
fn default_isl() -> Radio {
    Radio { rate: Rate::mbit(25), queue: Queue::default(), loss: Loss::None }
}
fn default_gsl() -> Radio {
    Radio {
        rate: Rate::from_bps(1_500_000).unwrap_or(Rate::mbit(1)),
        queue: Queue::default(),
        loss: Loss::None,
    }
}

/// A constellation that a publication describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Iridium: 6 planes of 11, 780 km, 86.4 deg (HT table 6.1).
    Iridium,
    /// Teledesic as redesigned in 1997: 12 planes of 24, 1375 km, 84.7 deg (HT table 6.1).
    Teledesic,
    /// Celestri: 7 planes of 9, 1400 km, 48 deg (KG table 1; SaVi).
    Celestri,
    /// Three geostationary satellites at 30, 150 and 270 deg east (Clarke 1945; SaVi).
    #[serde(rename = "geo-3")]
    Geo3,
    /// Globalstar: 8 planes of 6, 1406 km, 52 deg, no ISLs (HT table 1.1; SaVi).
    Globalstar,
    /// ICO: 2 planes of 5, 10,390 km, 45 deg, no ISLs (HT table 1.1; SaVi).
    Ico,
    /// Kuiper: three shells, 3236 satellites, 590 to 630 km (FCC 20-102).
    Kuiper,
    /// Kuiper's first shell: 34 planes of 34, 630 km, 51.9 deg (Kassing et al., IMC 2020).
    #[serde(rename = "kuiper-630")]
    Kuiper630,
    /// Molniya: three half-day ellipses over the north, no ISLs (SaVi).
    Molniya,
    /// O3b: 20 satellites above the equator, 8062 km, no ISLs (SaVi).
    O3b,
    /// OneWeb: 18 planes of 40, 1200 km, 87.9 deg, no ISLs (FCC 17-77; SaVi).
    Oneweb,
    /// SkyBridge: 20 planes of 4, 1469 km, 53 deg, no ISLs (KG table 1; SaVi).
    Skybridge,
    /// SkyBridge as first proposed: 64 satellites, 1457 km, 55 deg, no ISLs (SaVi).
    #[serde(rename = "skybridge-64")]
    Skybridge64,
    /// Spaceway NGSO: 4 planes of 5, 10,352 km, 55 deg (WP; SaVi).
    SpacewayNgso,
    /// Starlink's first shell: 72 planes of 22, 550 km, 53 deg (Kassing et al., IMC 2020).
    #[serde(rename = "starlink-550")]
    Starlink550,
    /// Starlink generation 1: five shells, 4408 satellites, 540 to 570 km (FCC 21-48).
    StarlinkGen1,
    /// Teledesic as first filed: 21 planes of 40, 750 to 760 km, 98.7 deg (SaVi).
    #[serde(rename = "teledesic-840")]
    Teledesic840,
}

impl Preset {
    /// The name that a scenario calls it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iridium => "iridium",
            Self::Teledesic => "teledesic",
            Self::Celestri => "celestri",
            Self::Geo3 => "geo-3",
            Self::Globalstar => "globalstar",
            Self::Ico => "ico",
            Self::Kuiper => "kuiper",
            Self::Kuiper630 => "kuiper-630",
            Self::Molniya => "molniya",
            Self::O3b => "o3b",
            Self::Oneweb => "oneweb",
            Self::Skybridge => "skybridge",
            Self::Skybridge64 => "skybridge-64",
            Self::SpacewayNgso => "spaceway-ngso",
            Self::Starlink550 => "starlink-550",
            Self::StarlinkGen1 => "starlink-gen1",
            Self::Teledesic840 => "teledesic-840",
        }
    }
}

/// Circular orbits of one height and inclination.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Number of orbital planes.
    pub planes: u32,
    /// Satellites in each plane.
    pub satellites_per_plane: u32,
    /// Height above the sphere.
    pub altitude: Length,
    /// Inclination to the equator.
    pub inclination: Angle,
    /// Right ascension from one plane to the next; 360 deg / planes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raan_spacing: Option<Angle>,
    /// How far each odd plane is ahead, as a fraction of the spacing within a plane.
    #[serde(default = "default_stagger")]
    pub stagger: f64,
}

fn default_stagger() -> f64 {
    0.5
}

/// Rate, queue and loss of every link of one kind; its delay follows from the positions of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// Rate of each direction.
    pub rate: Rate,
    /// What waits for the transmitter.
    #[serde(default)]
    pub queue: Queue,
    /// What the link loses.
    #[serde(default)]
    pub loss: Loss,
}

/// A place on the ground.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// Latitude, north positive, -90 to 90 deg.
    pub lat: Angle,
    /// Longitude, east positive, -180 to 360 deg.
    pub lon: Angle,
    /// Height above the sphere or ellipsoid.
    #[serde(default)]
    pub height: Length,
}

/// How packets find their way through the constellation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// What a path's length is.
    #[serde(default)]
    pub metric: Metric,
}

/// What a path's length is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The sum of propagation delays.
    #[default]
    Delay,
    /// The number of links.
    Hops,
}
