//! The scenario as types: what a file may say, with the default of everything it may leave out.
//!
//! Follows the field's words; one spelling serves Rust field, TOML key, Python keyword and column.
//! Differs from a settings file: every dimensioned value is a string with a unit, and unknown keys are errors.
//! Leaves out meaning across keys (does this link exist, is that start before the end), which [`crate::check`] holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Amount, Angle, Bytes, Length, Rate, Span, Time};
use std::collections::BTreeMap;

/// A scenario: a network, what is sent through it, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the results are called; the file's name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A sentence for the reader of the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How long to simulate. A run ends earlier when every flow has completed.
    pub duration: Span,
    /// The seed of every random stream.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Links by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, Link>,
    /// Satellites and the links between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constellation: Option<Constellation>,
    /// Places on the ground by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub terminals: BTreeMap<String, Terminal>,
    /// How packets find their way through the constellation.
    #[serde(default)]
    pub routing: Routing,
    /// What is sent, from where to where.
    pub flows: Vec<Flow>,
    /// What to write besides the summary.
    #[serde(default)]
    pub record: Record,
}

fn default_seed() -> u64 {
    1
}

/// A link with two directions. Forward is the direction in which the first path crosses it, or from the first to the second of `between`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The two nodes at its ends; found from the paths if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Span,
    /// What waits for the transmitter.
    #[serde(default)]
    pub queue: Queue,
    /// What the link loses.
    #[serde(default)]
    pub loss: Loss,
    /// What is different in the reverse direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Reverse>,
}

/// The reverse direction of a link: whatever is left out is as in the forward direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// Rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// What waits for the transmitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// What the direction loses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
}

/// A queue discipline and its limit. The limit counts what waits and what is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// First in, first out; an arriving packet that does not fit is dropped.
    DropTail {
        /// The most that may wait, counting the packet on the transmitter: packets, or bytes with headers.
        #[serde(default = "default_queue_limit")]
        limit: Amount,
    },
}

fn default_queue_limit() -> Amount {
    Amount::Packets(100)
}

impl Default for Queue {
    fn default() -> Self {
        Queue::DropTail { limit: default_queue_limit() }
    }
}

/// How a link loses packets, after they have used its time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// Nothing is lost.
    #[default]
    None,
    /// Independent bit errors; a packet with one is lost: 1 - (1 - bit_error_rate)^bits.
    BitErrors {
        /// Probability that a bit is wrong, from 0 to 1.
        bit_error_rate: f64,
    },
    /// Independent packet losses, whatever the size.
    Packets {
        /// Probability that a packet is lost, from 0 to 1.
        probability: f64,
    },
}

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

/// What one pair of hosts sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What the results call it; "flow-1", "flow-2" in the file's order if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The sender: a terminal, or a node named by a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The links crossed in order, between the sender and the receiver: ["server", "satellite", "user"].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// The transport; a ping has none.
    #[serde(default)]
    pub transport: Transport,
    /// What the application offers.
    pub traffic: Traffic,
    /// When it begins.
    #[serde(default)]
    pub start: Time,
    /// When the application stops offering; the end of the run if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
}

/// The transport protocol and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp(Tcp),
}

impl Default for Transport {
    fn default() -> Self {
        Transport::Tcp(Tcp::default())
    }
}

/// TCP's parameters. The defaults suit one bulk flow over a 1.5 Mbit/s geostationary path of 600 ms (112.5 kB in flight), with room for its queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Loss recovery and congestion avoidance.
    pub variant: Variant,
    /// Largest payload of a segment.
    pub mss: Bytes,
    /// Receive window: the buffer of each end. A faster path wants rate times RTT and its queue.
    pub window: Bytes,
    /// Congestion window after the handshake: segments or bytes.
    pub initial_window: Amount,
    /// First slow-start threshold; without limit if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Amount>,
    /// Duplicate acknowledgments that signal a loss.
    pub dupack_threshold: u32,
    /// Send new data on the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// When recovery ends, reopen the window to ssthresh at once, and not to what is outstanding plus one segment (RFC 6582 step 3, option 2 and not 1). HT figure 4.16 shows what that does.
    pub burst_after_recovery: bool,
    /// The most new segments that one acknowledgment may release during fast recovery; without limit if left out (ns-2's NewReno takes 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_burst: Option<u32>,
    /// Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// SACK blocks in an acknowledgment, 1 to 4 (3 with timestamps).
    pub sack_blocks: u8,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Timeout before the first RTT sample (RFC 6298).
    pub rto_initial: Span,
    /// Smallest timeout.
    pub rto_min: Span,
    /// Largest timeout.
    pub rto_max: Span,
    /// Step in which the sender's clock measures RTTs.
    pub rto_granularity: Span,
}

impl Default for Tcp {
    fn default() -> Self {
        Tcp {
            variant: Variant::default(),
            mss: Bytes::new(1460),
            window: Bytes::new(256_000),
            initial_window: Amount::Packets(2),
            initial_ssthresh: None,
            dupack_threshold: 3,
            limited_transmit: true,
            burst_after_recovery: false,
            recovery_burst: None,
            timestamps: false,
            sack_blocks: 3,
            delayed_ack: DelayedAck::default(),
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_max: Span::from_secs(60),
            rto_granularity: Span::from_millis(10),
        }
    }
}

/// A TCP by its loss recovery and congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Fast retransmit and fast recovery that ends with the first new acknowledgment (RFC 2001).
    Reno,
    /// Recovery lasts until all that was outstanding is acknowledged; the timer restarts at the first partial acknowledgment only (RFC 6582, "impatient").
    Newreno,
    /// As `newreno`, but the timer restarts at each partial acknowledgment (HT 4.2.3).
    NewrenoSlowButSteady,
    /// Selective acknowledgments with NewReno's recovery: the seven rules of HK's appendix.
    #[default]
    SackNewreno,
}

/// When a receiver acknowledges data that arrived in order. Out-of-order data and gap fillers are acknowledged at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DelayedAck {
    /// Every segment at once.
    None,
    /// Every second segment, or a lone one when `timeout` has passed since it arrived.
    OneShot {
        /// How long a lone segment waits.
        #[serde(default = "default_delack")]
        timeout: Span,
    },
    /// Every second segment, or a lone one at the next beat of a clock that ticks every `period` (BSD).
    Heartbeat {
        /// The beat.
        #[serde(default = "default_delack")]
        period: Span,
    },
}

fn default_delack() -> Span {
    Span::from_millis(200)
}

impl Default for DelayedAck {
    fn default() -> Self {
        DelayedAck::OneShot { timeout: default_delack() }
    }
}

/// What an application offers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Traffic {
    /// A transfer of `size`, or without end.
    Bulk {
        /// How much; without end if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Bytes>,
    },
    /// Echo requests, answered by the receiver. The delays reported are one way, from sender to receiver; RTTs are reported beside them.
    Ping {
        /// From one request to the next.
        #[serde(default = "default_ping_interval")]
        interval: Span,
        /// Payload of a request.
        #[serde(default = "default_ping_size")]
        size: Bytes,
    },
}

fn default_ping_interval() -> Span {
    Span::from_secs(1)
}
fn default_ping_size() -> Bytes {
    Bytes::new(56)
}

/// What to write besides the summary.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// How often windows and queues are sampled; chosen for about two thousand samples of each if left out. Path delays are sampled at each `update_interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_interval: Option<Span>,
    /// Links whose packets are written to `packets.pcapng`, one interface per link and direction, by name; "*" is all of them.
    pub pcap: Vec<String>,
}
