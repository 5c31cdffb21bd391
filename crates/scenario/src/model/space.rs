//! Satellites, terminals and routing.
//!
//! Follows HT 6.2 and table 6.1; published constellations go by their names.
//! Differs: orbits may come from a file of elements, so that a constellation that flies is as good as one on paper.
//! Leaves out what only a library user can say: a link rule or routing scheme of one's own.

use super::links::{Loss, Queue};
use super::named::named;
use super::radio::{Gsl, Override, OwnGsl, Radio};
use super::track::Track;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_orbit::preset::{PRESETS, PresetError};
use skyhop_units::{Angle, Length, Rate, Span, Time};

/// Satellites: a preset, circular shells, ellipses, geostationary longitudes, or real elements. Exactly one of these is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constellation {
    /// A published constellation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Circular orbits in evenly spaced planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Shell>,
    /// Several shells, numbered one after another; links between satellites stay within a shell but for `inter_shell_isls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shells: Option<Vec<Shell>>,
    /// Satellites on ellipses, one by one, without links between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ellipses: Option<Vec<Ellipse>>,
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
    /// Lowest elevation at which a terminal keeps a satellite; the preset's if left out, else 10 deg (5 deg for geostationary satellites). A file's satellites are those of a preset if they are called so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elevation_mask: Option<Angle>,
    /// Links between satellites; without them a packet comes down where it went up. If left out the preset's, else true for shells and false for elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isls: Option<bool>,
    /// Links between the counter-rotating planes on both sides of the seam; if left out the preset's (Teledesic has them, Iridium has none), else none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_seam_isls: Option<bool>,
    /// Links across the seam are off while the longitudes of their ends differ by less; the preset's if left out, else 10 deg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_seam_longitude_threshold: Option<Angle>,
    /// At first, satellite 0.s links across the seam to this slot less s; the preset's if left out, else the nearest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_seam_first_slot: Option<u32>,
    /// How many satellites ahead in its plane a satellite links to, and as many behind; the preset's if left out, else 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intra_plane_neighbours: Option<u32>,
    /// How many planes to the east a satellite links to, and as many to the west; the preset's if left out, else 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inter_plane_neighbours: Option<u32>,
    /// Links between neighbouring shells of `shells`: each satellite of the smaller one holds one of the other, and takes the nearest that is free when it loses that.
    #[serde(default)]
    pub inter_shell_isls: bool,
    /// Links between planes are switched off above this latitude; the preset's if left out, else 90 deg, which is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isl_latitude_limit: Option<Angle>,
    /// Links between satellites are off while they pass lower over the Earth than this; the preset's if left out, else 80 km.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grazing_altitude: Option<Length>,
    /// Longest link between satellites; without limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_isl_range: Option<Length>,
    /// Longest link between a terminal and its satellite; without limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_gsl_range: Option<Length>,
    /// Whether catalogued satellites outside the planes serve terminals.
    #[serde(default)]
    pub spares_serve: bool,
    /// How a terminal chooses its satellite; the preset's if left out, else highest-on-loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
    /// When all terminals choose together with the handovers "synchronous" (15 s if left out) and "earth-fixed-cells" (60 s): at multiples of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover_period: Option<Span>,
    /// Height of a cell with the handover "earth-fixed-cells"; 1.44 deg, which is 160 km, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover_cell: Option<Angle>,
    /// Each terminal looks at its satellite at times of its own, this long apart (HT's asynchronous handover); at every update if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover_check: Option<Span>,
    /// How much earlier or later at random each of these looks may come.
    #[serde(default)]
    pub handover_check_dither: Span,
    /// How long a terminal that changes its satellite hears nothing; packets wait.
    #[serde(default)]
    pub handover_gap: Span,
    /// Probability that a packet that waits or travels on the link of a terminal is lost when it changes its satellite.
    #[serde(default)]
    pub handover_loss: f64,
    /// Keep the old satellite while the new one is being acquired; there is no gap then.
    #[serde(default)]
    pub make_before_break: bool,
    /// How long a terminal needs to acquire a satellite.
    #[serde(default)]
    pub gsl_acquisition: Span,
    /// How long two satellites need to acquire one another.
    #[serde(default)]
    pub isl_acquisition: Span,
    /// How often links, handovers and routes are looked at anew.
    #[serde(default = "default_update_interval")]
    pub update_interval: Span,
    /// Who works out routes within it where there are several constellations; as `routing.scheme` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// Links between satellites.
    #[serde(default = "default_isl")]
    pub isl: Radio,
    /// Links between a terminal and its satellite.
    #[serde(default = "default_gsl")]
    pub gsl: Gsl,
    /// Fibre between gateways.
    #[serde(default = "default_fibre")]
    pub fibre: Radio,
    /// The pairs of terminals that fibre joins; every gateway with every other if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fibre_between: Option<Vec<[String; 2]>>,
    /// Refractive index of the fibre.
    #[serde(default = "default_fibre_index")]
    pub fibre_index: f64,
    /// Length of the fibre over that of the great circle between its ends.
    #[serde(default = "default_fibre_detour")]
    pub fibre_detour: f64,
    /// Single links with rates, queues, losses, schedules or traces of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
}

fn default_update_interval() -> Span {
    Span::from_secs(10)
}
fn default_isl() -> Radio {
    Radio { rate: Rate::mbit(25), queue: Queue::default(), loss: Loss::None }
}
fn default_gsl() -> Gsl {
    Gsl {
        rate: Rate::from_bps(1_500_000),
        queue: Queue::default(),
        loss: Loss::None,
        schedule: None,
        trace: None,
        repeat: None,
        up: None,
        down: None,
        shared: None,
    }
}

fn default_fibre() -> Radio {
    Radio { rate: Rate::mbit(10_000), queue: Queue::default(), loss: Loss::None }
}
fn default_fibre_index() -> f64 {
    1.468
}
fn default_fibre_detour() -> f64 {
    1.0
}

named! {
    /// How a terminal chooses its satellite. Whatever the policy, a satellite below the mask is let go.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Handover {
        /// Keep the satellite; then the one that follows in its plane; then the highest (HT, ns-2).
        FollowPlane = "follow-plane",
        /// Keep the satellite; then the highest.
        HighestOnLoss = "highest-on-loss",
        /// Always the highest.
        Highest = "highest",
        /// Always the nearest.
        Nearest = "nearest",
        /// Keep the satellite; then the one that will be visible longest.
        LongestVisibility = "longest-visibility",
        /// Keep the satellite while it flies north; then the highest that does (WP).
        Ascending = "ascending",
        /// Keep the satellite while it flies south; then the highest that does (WP).
        Descending = "descending",
        /// All terminals together at multiples of `handover_period`: the highest.
        Synchronous = "synchronous",
        /// Cells that stand still on the Earth: at multiples of `handover_period` a cell gets the satellite that is highest over its centre, with all its terminals.
        EarthFixedCells = "earth-fixed-cells",
    }
}

/// A constellation that a publication describes, by its name or its other name; [`skyhop_orbit::preset`] has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset(&'static str);

impl Preset {
    /// The preset of this name, however its capitals and spaces are written.
    pub fn find(name: &str) -> Result<Self, PresetError> {
        skyhop_orbit::Preset::find(name).map(|preset| Self(preset.name))
    }

    /// Its name, whichever it was found by.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl Serialize for Preset {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Preset {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::find(&name).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Preset {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Preset".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        names.extend(PRESETS.iter().filter_map(|preset| preset.alias));
        schemars::json_schema!({
            "description": "a constellation that a publication describes, by its name or its other name",
            "type": "string",
            "enum": names,
        })
    }
}

/// Circular orbits of one height: a pattern in Walker's notation, or planes, satellites in each, and inclination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Walker's notation i: t/p/f, such as "53: 1584/72/39": inclination in degrees, satellites, planes, phasing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walker: Option<String>,
    /// Number of orbital planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planes: Option<u32>,
    /// Satellites in each plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellites_per_plane: Option<u32>,
    /// Height above the sphere.
    pub altitude: Length,
    /// Inclination to the equator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inclination: Option<Angle>,
    /// Right ascension from one plane to the next; 360 deg / planes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raan_spacing: Option<Angle>,
    /// Right ascension of the first plane.
    #[serde(default)]
    pub raan: Angle,
    /// How far each odd plane is ahead, as a fraction of the spacing within a plane; 0.5 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stagger: Option<f64>,
}

/// A satellite's ellipse.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ellipse {
    /// Half the long axis.
    pub semi_major_axis: Length,
    /// 0 for a circle, below 1.
    #[serde(default)]
    pub eccentricity: f64,
    /// Inclination to the equator.
    pub inclination: Angle,
    /// Ascending node, from Greenwich at the start of the run.
    #[serde(default)]
    pub raan: Angle,
    /// From the node to the perigee.
    #[serde(default)]
    pub argument_of_perigee: Angle,
    /// From the perigee at the start of the run, as if the motion were even.
    #[serde(default)]
    pub mean_anomaly: Angle,
}

/// A place on the ground, or something that moves over it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// Latitude, north positive, -90 to 90 deg; needed without a track.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lat: Option<Angle>,
    /// Longitude, east positive, -180 to 360 deg; needed without a track.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lon: Option<Angle>,
    /// Height above the sphere or ellipsoid.
    #[serde(default)]
    pub height: Length,
    /// Where it is over time, in place of latitude, longitude and height.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track: Option<Track>,
    /// How many satellites of a constellation it can hold at once, each on a link of its own; "all" is all in view. If left out "all", but 1 with a `handover`, over Iridium, Teledesic and Spaceway NGSO.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antennas: Option<Antennas>,
    /// Whether it passes on packets that are not for itself, between satellites and over fibre.
    #[serde(default)]
    pub gateway: bool,
    /// The constellations whose satellites it can hold, of `constellations`; all of them if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sees: Option<Vec<String>>,
    /// Its own link to its satellite, of which each antenna has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gsl: Option<OwnGsl>,
    /// The beam that it is in: with `shared` of the constellation's `gsl`, terminals of one beam share what one has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beam: Option<String>,
}

/// A number of antennas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Antennas {
    /// So many.
    Count(u16),
    /// Enough for all satellites in view.
    All,
}

impl Serialize for Antennas {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u16(*count),
            Self::All => serializer.serialize_str("all"),
        }
    }
}

impl<'de> Deserialize<'de> for Antennas {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Antennas;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number from 1 to 65535 or \"all\"")
            }
            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Antennas, E> {
                let count = u16::try_from(n).ok().filter(|count| *count > 0);
                count
                    .map(Antennas::Count)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(n), &self))
            }
            fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Antennas, E> {
                self.visit_i64(n.min(i64::MAX as u64) as i64)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Antennas, E> {
                match text {
                    "all" => Ok(Antennas::All),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Antennas {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Antennas".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "a number of antennas, or \"all\" for all satellites in view",
            "oneOf": [
                { "type": "integer", "minimum": 1, "maximum": 65535 },
                { "type": "string", "const": "all" },
            ],
        })
    }
}

/// Something of the constellation that does not work for a while: exactly one of `satellite`, `link` and `station`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// A satellite with all its links: plane and slot as "3.4", or its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellite: Option<String>,
    /// A link by its name, such as "isl:3.4-3.5" or "gsl:london".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// A terminal or gateway with all its links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub station: Option<String>,
    /// When it fails.
    #[serde(default)]
    pub from: Time,
    /// When it is repaired; never if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// Failures at random: mean times between a repair and the next failure, exponential and independent. What is left out never fails.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomFailures {
    /// Of each satellite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellite_mtbf: Option<Span>,
    /// Of each link between satellites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isl_mtbf: Option<Span>,
    /// Of each terminal and gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub station_mtbf: Option<Span>,
    /// Mean time to repair; needed with any of the three above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mttr: Option<Span>,
    /// Share of the satellites that have failed from the beginning to the end, drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellite_share: Option<f64>,
    /// Share of the links between satellites that have failed from the beginning to the end, drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isl_share: Option<f64>,
}

/// How packets find their way through the constellation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// Who works out routes, and from what.
    pub scheme: Scheme,
    /// What a path's length is; for the scheme "shortest". The paths of "multipath" are short by links.
    pub metric: Metric,
    /// Constellations, the most wanted first: a path over satellites of a later one, or of one that is not named, is taken only where there is no other, however short it is; for the scheme "shortest".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefer: Vec<String>,
    /// What takes turns, or is shared out, among several paths; for the scheme "multipath".
    pub spread: Spread,
    /// How far from a failed link satellites know of it, in hops; for the scheme "geographic". At 1 it is its two ends.
    pub failure_radius: u32,
    /// How long after a change of the network nodes still route as before it.
    pub convergence: Span,
    /// How packets find a terminal that has come into another cell, which is another address; for the schemes "hybrid", "geographic" and "central". "database" if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mobility: Option<Mobility>,
    /// How long after it has done so senders still write its old address; 0 s if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_delay: Option<Span>,
    /// Let announcements of changes spread from satellite to satellite, each taking propagation and this long at a hop; nodes route by a change when all who are told have heard. Announcements are counted then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flooding_hop_delay: Option<Span>,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            metric: Metric::default(),
            prefer: Vec::new(),
            spread: Spread::default(),
            failure_radius: 1,
            convergence: Span::ZERO,
            mobility: None,
            address_delay: None,
            flooding_hop_delay: None,
        }
    }
}

named! {
    /// Who works out routes, and from what.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum Scheme {
        /// Shortest paths over the whole network, which every node knows (HT 6.3).
        #[default]
        Shortest = "shortest",
        /// All paths with the fewest links at once, each node choosing among its next hops (WP); over `links` too.
        Multipath = "multipath",
        /// Greedy far away, link states near by, a zone at each pole (HT 6.5.2); it has dead ends.
        Hybrid = "hybrid",
        /// Paths on the map that published orbits promise; failed links travel in the packet.
        Geographic = "geographic",
        /// Tables of cells that one place computes for all satellites (HT 6.6.2).
        Central = "central",
    }
}

named! {
    /// How packets find a terminal whose address has changed (HT 6.4.1).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum Mobility {
        /// Senders look in a database that the terminal keeps up to date; what comes to the old cell and finds it gone is lost.
        #[default]
        Database = "database",
        /// The satellites of the old cell know the new address and send packets on, as the agents of Mobile IP do.
        Satellites = "satellites",
    }
}

impl Scheme {
    /// Whether it knows the whole network, gateways included, whatever that is made of.
    pub fn knows_all(self) -> bool {
        matches!(self, Self::Shortest | Self::Multipath)
    }
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

/// What is spread over several paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Packets, in turn: each node sends one on each of its next hops, whatever flow it belongs to (WP).
    #[default]
    Packets,
    /// Flows, by a hash of addresses and ports: the packets of a connection stay on one path (ECMP, RFC 2992).
    Flows,
}
