//! Many of a kind: terminals from a table or over a region, groups of nodes, and how flows pair them.
//!
//! Follows the keys of what there are many of: a population has those of a terminal, a flow with `count` those of a flow.
//! Differs from a loop in a script: members have names and random streams of their own, so that each is what it would be alone.
//! Leaves out who the members are, which [`crate::expand`] works out when a scenario is read.

use super::radio::OwnGsl;
use super::space::{Antennas, Terminal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Angle, Length};

/// Names: one, or several. Once a scenario is read, the ends of each flow are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group(pub Vec<String>);

impl Group {
    /// The one name, or the first of several.
    pub fn name(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

impl From<&str> for Group {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

impl Serialize for Group {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => serializer.serialize_str(one),
            all => all.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Names {
            One(String),
            Several(Vec<String>),
        }
        Ok(Self(match Names::deserialize(deserializer)? {
            Names::One(name) => vec![name],
            Names::Several(names) => names,
        }))
    }
}

impl JsonSchema for Group {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Group".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "the name of a node or population, a pattern of names such as \"user-*\", or an array of these",
            "oneOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" } },
            ],
        })
    }
}

/// How the flows of a population are paired, sender and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pair {
    /// The first of `from` with the first of `to`, the second with the second; a group that is at its end begins again.
    #[default]
    InTurn,
    /// Both ends drawn from their groups, each flow by itself.
    Random,
}

/// Terminals of a kind: those of a table, or `count` of them at its places or in a region. Each is called by the population and its row's name or its number: `users-lima`, `users-17`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// A table of places beside the scenario: columns name, lat_deg, lon_deg, and height_m and weight if wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The middle of a region, in place of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<Around>,
    /// How many terminals, each at a place drawn by weight; one at each place of the table if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: Option<u32>,
    /// How far from its place a terminal may be, evenly over the area; drawn.
    #[serde(default)]
    pub radius: Length,
    /// Height above the sphere or ellipsoid where the table has none.
    #[serde(default)]
    pub height: Length,
    /// As of a terminal: how many satellites each can hold at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antennas: Option<Antennas>,
    /// As of a terminal: whether each passes on packets that are not for itself.
    #[serde(default)]
    pub gateway: bool,
    /// As of a terminal: the link of each to its satellite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gsl: Option<OwnGsl>,
    /// As of a terminal: the constellations that they see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sees: Option<Vec<String>>,
    /// As of a terminal: the beam that all of them are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beam: Option<String>,
}

impl Population {
    /// The terminal of the population at a place.
    pub(crate) fn terminal(&self, lat: Angle, lon: Angle, height: Length) -> Terminal {
        Terminal {
            lat: Some(lat),
            lon: Some(lon),
            height,
            track: None,
            antennas: self.antennas,
            gateway: self.gateway,
            gsl: self.gsl.clone(),
            sees: self.sees.clone(),
            beam: self.beam.clone(),
        }
    }
}

/// The middle of a region.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Around {
    /// Latitude, north positive.
    pub lat: Angle,
    /// Longitude, east positive.
    pub lon: Angle,
}

/// Flows that stand next to each other in [`crate::Scenario::flows`] because the file has them as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    /// Name of the population; its flows are called by it and their numbers from 1: `web.17`.
    pub name: String,
    /// Where its flows are.
    pub flows: std::ops::Range<usize>,
}
