//! Satellites, terminals and routing.
//!
//! Follows HT 6.2 and table 6.1; published constellations have names.
//! Differs: orbits may come from a file of elements, so that real constellations can be used like published ones.
//! Leaves out extensions by a library user: custom link rules and routing schemes.

use super::links::{Loss, Queue};
use super::named::named;
use super::radio::{Gsl, Override, OwnGsl, Radio};
use super::track::Track;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_orbit::preset::{PRESETS, PresetError};
use skyhop_units::{Angle, Bytes, Length, Rate, Span, Time};

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
    /// Several shells, numbered consecutively; links between satellites stay within a shell, except for `inter_shell_isls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shells: Option<Vec<Shell>>,
    /// Satellites on individual ellipses, without links between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ellipses: Option<Vec<Ellipse>>,
    /// Geostationary satellites, by their longitudes (east positive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geostationary: Option<Vec<Angle>>,
    /// Name of a file of two- or three-line elements, relative to the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tle: Option<String>,
    /// Name of a file of orbit mean-elements messages (JSON), relative to the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omm: Option<String>,
    /// UTC instant of the start of the run, such as "2025-10-07T12:00:00Z"; the newest epoch of the elements if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// Lowest elevation at which a terminal keeps a satellite; the preset's if left out, else 10 deg (5 deg for geostationary
    /// satellites). Satellites of a file have the preset of their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elevation_mask: Option<Angle>,
    /// True for links between satellites; without them a packet comes down from the satellite that it went up to. If left out the
    /// preset's, else true for shells and false for elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isls: Option<bool>,
    /// True for links between the counter-rotating planes on both sides of the seam; if left out the preset's (Teledesic has them,
    /// Iridium has none), else none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_seam_isls: Option<bool>,
    /// Difference of longitude below which links across the seam are off; the preset's if left out, else 10 deg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_seam_longitude_threshold: Option<Angle>,
    /// Slot to which satellite 0.0 links across the seam at first; satellite 0.s links to this slot less s. The preset's if left
    /// out, else the nearest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_seam_first_slot: Option<u32>,
    /// Number of satellites ahead in its plane that a satellite links to, and as many behind; the preset's if left out, else 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intra_plane_neighbours: Option<u32>,
    /// Number of planes to the east that a satellite links to, and as many to the west; the preset's if left out, else 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inter_plane_neighbours: Option<u32>,
    /// True for links between neighbouring shells of `shells`: each satellite of the smaller one holds one of the other, and takes
    /// the nearest free one when it loses that.
    #[serde(default)]
    pub inter_shell_isls: bool,
    /// Latitude above which links between planes are off; the preset's if left out, else 90 deg, which is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isl_latitude_limit: Option<Angle>,
    /// Altitude below which a link between satellites may not pass; the preset's if left out, else 80 km.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grazing_altitude: Option<Length>,
    /// Longest link between satellites; without limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_isl_range: Option<Length>,
    /// Longest link between a terminal and its satellite; without limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_gsl_range: Option<Length>,
    /// True if catalogued satellites outside the planes serve terminals.
    #[serde(default)]
    pub spares_serve: bool,
    /// Policy by which a terminal chooses its satellite; the preset's if left out, else highest-on-loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
    /// Period at whose multiples all terminals choose together, for the handovers "synchronous" (15 s if left out) and
    /// "earth-fixed-cells" (60 s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover_period: Option<Span>,
    /// Height of a cell with the handover "earth-fixed-cells"; 1.44 deg, which is 160 km, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover_cell: Option<Angle>,
    /// Interval at which each terminal checks its satellite, at times of its own (HT's asynchronous handover); at every update if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover_check: Option<Span>,
    /// Largest random deviation of each of these checks, earlier or later.
    #[serde(default)]
    pub handover_check_dither: Span,
    /// Time for which a terminal receives nothing after a change of satellite; packets wait.
    #[serde(default)]
    pub handover_gap: Span,
    /// Probability that a packet that waits or travels on the link of a terminal is lost when it changes its satellite.
    #[serde(default)]
    pub handover_loss: f64,
    /// True to keep the old satellite while the new one is being acquired; there is no gap then.
    #[serde(default)]
    pub make_before_break: bool,
    /// Time that a terminal needs to acquire a satellite.
    #[serde(default)]
    pub gsl_acquisition: Span,
    /// Time that two satellites need to acquire one another.
    #[serde(default)]
    pub isl_acquisition: Span,
    /// Interval at which links, handovers and routes are updated.
    #[serde(default = "default_update_interval")]
    pub update_interval: Span,
    /// Routing scheme within this constellation, among several; `routing.scheme` if left out.
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
    /// Length of the fibre relative to the great circle between its ends.
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
        uplink: None,
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
    /// The policy by which a terminal chooses its satellite. Under every policy, a satellite below the mask is released.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Handover {
        /// Keeps the satellite; then takes the one that follows in its plane; then the highest (HT, ns-2).
        FollowPlane = "follow-plane",
        /// Keeps the satellite; then takes the highest.
        HighestOnLoss = "highest-on-loss",
        /// Takes the highest at every check.
        Highest = "highest",
        /// Takes the nearest at every check.
        Nearest = "nearest",
        /// Keeps the satellite; then takes the one that will be visible longest.
        LongestVisibility = "longest-visibility",
        /// Keeps the satellite while it flies north; then takes the highest that does (WP).
        Ascending = "ascending",
        /// Keeps the satellite while it flies south; then takes the highest that does (WP).
        Descending = "descending",
        /// Takes the highest at multiples of `handover_period`, for all terminals together.
        Synchronous = "synchronous",
        /// Earth-fixed cells: at multiples of `handover_period` a cell gets the satellite that is highest over its centre, for all
        /// its terminals.
        EarthFixedCells = "earth-fixed-cells",
    }
}

/// A published constellation, by its name or second name; [`skyhop_orbit::preset`] has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset(&'static str);

impl Preset {
    /// The preset of this name; capitals, spaces and hyphens do not matter.
    pub fn find(name: &str) -> Result<Self, PresetError> {
        skyhop_orbit::Preset::find(name).map(|preset| Self(preset.name))
    }

    /// Name of the preset, not its second name.
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

/// Circular orbits of one altitude: a pattern in Walker's notation, or planes, satellites per plane, and inclination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Walker's notation i: t/p/f, such as "53: 1584/72/39": inclination in degrees, satellites, planes, phasing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walker: Option<String>,
    /// Number of orbital planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planes: Option<u32>,
    /// Number of satellites in each plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellites_per_plane: Option<u32>,
    /// Altitude above the sphere.
    pub altitude: Length,
    /// Inclination to the equator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inclination: Option<Angle>,
    /// Difference of right ascension between successive planes; 360 deg / planes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raan_spacing: Option<Angle>,
    /// Right ascension of the first plane.
    #[serde(default)]
    pub raan: Angle,
    /// Phase by which each odd plane is ahead, as a fraction of the spacing within a plane; 0.5 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stagger: Option<f64>,
}

/// The elliptic orbit of one satellite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ellipse {
    /// Semi-major axis.
    pub semi_major_axis: Length,
    /// Eccentricity, from 0 (a circle) to below 1.
    #[serde(default)]
    pub eccentricity: f64,
    /// Inclination to the equator.
    pub inclination: Angle,
    /// Longitude of the ascending node from Greenwich at the start of the run.
    #[serde(default)]
    pub raan: Angle,
    /// Angle from the node to the perigee.
    #[serde(default)]
    pub argument_of_perigee: Angle,
    /// Mean anomaly at the start of the run.
    #[serde(default)]
    pub mean_anomaly: Angle,
}

/// A place on the ground, or an object that moves over it.
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
    /// Track of a moving terminal, in place of latitude, longitude and height.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track: Option<Track>,
    /// Number of satellites of a constellation that it can hold at once, each on a link of its own; "all" is all in view. If left
    /// out "all", but 1 with a `handover`, and over Iridium, Teledesic and Spaceway NGSO.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antennas: Option<Antennas>,
    /// True if it forwards packets of others, between satellites and over fibre.
    #[serde(default)]
    pub gateway: bool,
    /// Names of the constellations, of `constellations`, whose satellites it can hold; all of them if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sees: Option<Vec<String>>,
    /// Link to its satellite, where it differs from the constellation's; each antenna has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gsl: Option<OwnGsl>,
    /// Name of its beam: with `shared` of the constellation's `gsl`, terminals of one beam share the beam's capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beam: Option<String>,
}

/// A number of antennas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Antennas {
    /// A given number.
    Count(u16),
    /// A number sufficient for all satellites in view.
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
        struct AntennasVisitor;
        impl serde::de::Visitor<'_> for AntennasVisitor {
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
        deserializer.deserialize_any(AntennasVisitor)
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

/// The failure of one object of the constellation: exactly one of `satellite`, `link` and `station`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// A satellite with all its links: plane and slot such as "3.4", or its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellite: Option<String>,
    /// A link by its name, such as "isl:3.4-3.5" or "gsl:london".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// A terminal or gateway with all its links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub station: Option<String>,
    /// Time of the failure.
    #[serde(default)]
    pub from: Time,
    /// Time of the repair; never if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// Random failures: mean times between a repair and the next failure, exponential and independent. Objects whose key is left out
/// never fail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomFailures {
    /// Mean time between failures of each satellite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellite_mtbf: Option<Span>,
    /// Mean time between failures of each link between satellites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isl_mtbf: Option<Span>,
    /// Mean time between failures of each terminal and gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub station_mtbf: Option<Span>,
    /// Mean time to repair; required with any of the three above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mttr: Option<Span>,
    /// Share of the satellites, drawn at random, that have failed for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellite_share: Option<f64>,
    /// Share of the links between satellites, drawn at random, that have failed for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isl_share: Option<f64>,
}

/// Routing of packets through the constellation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// Routing scheme: the nodes that compute routes, and the knowledge that they use.
    pub scheme: Scheme,
    /// Metric of a path, for the scheme "shortest". Paths of "multipath" have the fewest links.
    pub metric: Metric,
    /// Constellations in order of preference: a path over satellites of a later one, or of one that is not listed, is taken only if
    /// there is no other, however short it is; for the scheme "shortest".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefer: Vec<String>,
    /// Unit that is spread over several paths, for the scheme "multipath".
    pub spread: Spread,
    /// Number of packets that wait for a link at which a node sends on another, for the spread "congestion"; 10 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divert_at: Option<u32>,
    /// Number of hops within which satellites know of a failed link, for the scheme "geographic". At 1 only its two ends know.
    pub failure_radius: u32,
    /// Time after a change of the network during which nodes still route as before.
    pub convergence: Span,
    /// Way in which packets find a terminal that has moved to another cell, and so to another address; for the schemes "hybrid",
    /// "geographic" and "central". "database" if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mobility: Option<Mobility>,
    /// Time after that move during which senders still use its old address; 0 s if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_delay: Option<Span>,
    /// Time that each hop adds to propagation when announcements of changes spread from satellite to satellite; nodes use a change
    /// when all its recipients have heard of it. Announcements are then counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flooding_hop_delay: Option<Span>,
    /// Size of an entry in the uploads of the central controller, for the scheme "central". Entries that change from one update of
    /// the network to the next are then counted, for all satellites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upload_entry: Option<Bytes>,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            metric: Metric::default(),
            prefer: Vec::new(),
            spread: Spread::default(),
            divert_at: None,
            failure_radius: 1,
            convergence: Span::ZERO,
            mobility: None,
            address_delay: None,
            flooding_hop_delay: None,
            upload_entry: None,
        }
    }
}

named! {
    /// The routing scheme: the nodes that compute routes, and the knowledge that they use.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum Scheme {
        /// Shortest paths over the whole network, which every node knows (HT 6.3).
        #[default]
        Shortest = "shortest",
        /// All minimum-hop paths at once, with a choice of next hops at each node (WP); over `links` too.
        Multipath = "multipath",
        /// Greedy at a distance, link states nearby, a zone at each pole (HT 6.5.2); it has dead ends.
        Hybrid = "hybrid",
        /// Paths on the map that published orbits give; failed links are recorded in the packet.
        Geographic = "geographic",
        /// Tables of cells that one controller computes for all satellites (HT 6.6.2).
        Central = "central",
    }
}

named! {
    /// The way in which packets find a terminal whose address has changed (HT 6.4.1).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum Mobility {
        /// Senders query a database that the terminal keeps up to date; packets that reach the old cell too late are lost.
        #[default]
        Database = "database",
        /// The satellites of the old cell know the new address and forward packets, as Mobile IP's agents do.
        Satellites = "satellites",
    }
}

impl Scheme {
    /// Returns true if it uses global knowledge of the network, including gateways and ground links.
    pub fn knows_all(self) -> bool {
        matches!(self, Self::Shortest | Self::Multipath)
    }
}

/// The metric of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Sum of the propagation delays.
    #[default]
    Delay,
    /// Number of links.
    Hops,
}

/// The unit that is spread over several paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Packets: each node sends one on each of its next hops in turn, whatever flow they belong to (WP).
    #[default]
    Packets,
    /// Flows, by a hash of addresses and ports: the packets of a connection stay on one path (ECMP, RFC 2992).
    Flows,
    /// Congestion: a node sends on its first next hop, and on the one with fewest packets waiting while `divert_at` or more wait there
    /// (WP).
    Congestion,
}
