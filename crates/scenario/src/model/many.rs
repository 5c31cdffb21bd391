//! Populations: terminals from a table or in a region, groups of nodes, and the pairing of flows.
//!
//! Follows the keys of single items: a population has those of a terminal, a flow with `count` those of a flow.
//! Differs from a loop in a script: members have their own names and random streams, as if each were written alone.
//! Leaves out the members, which [`crate::expand`] determines when a scenario is read.

use super::radio::OwnGsl;
use super::space::{Antennas, Terminal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Angle, Length};

/// One or several names. Once a scenario is read, the ends of each flow have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group(pub Vec<String>);

impl Group {
    /// The only name, or the first of several.
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
        enum NameSet {
            One(String),
            Several(Vec<String>),
        }
        Ok(Self(match NameSet::deserialize(deserializer)? {
            NameSet::One(name) => vec![name],
            NameSet::Several(names) => names,
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

/// The rule by which the flows of a population are paired, sender and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pair {
    /// The first of `from` with the first of `to`, the second with the second; a group that is exhausted starts again.
    #[default]
    InTurn,
    /// Both ends drawn from their groups, for each flow independently.
    Random,
}

/// A population of terminals: those of a table, or `count` of them at its places or in a region. Their names are that of the
/// population with that of the row or a number: `users-lima`, `users-17`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// Name of a table of places, relative to the scenario's folder: columns name, lat_deg, lon_deg, and optionally height_m and weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Centre of a region, in place of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<Around>,
    /// Number of terminals, each at a place drawn by weight; one at each place of the table if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: Option<u32>,
    /// Largest distance of a terminal from its place; drawn uniformly over the area.
    #[serde(default)]
    pub radius: Length,
    /// Height above the sphere or ellipsoid, where the table has none.
    #[serde(default)]
    pub height: Length,
    /// Number of satellites that each can hold at once, as of a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antennas: Option<Antennas>,
    /// True if each forwards packets of others, as of a terminal.
    #[serde(default)]
    pub gateway: bool,
    /// Link of each to its satellite, as of a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gsl: Option<OwnGsl>,
    /// Constellations that they see, as of a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sees: Option<Vec<String>>,
    /// Beam of all members, as of a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beam: Option<String>,
}

impl Population {
    /// The terminal of the population at a given place.
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

/// The centre of a region.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Around {
    /// Latitude, north positive.
    pub lat: Angle,
    /// Longitude, east positive.
    pub lon: Angle,
}

/// Consecutive flows in [`crate::Scenario::flows`] that the file defines together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    /// Name of the population; its flows' names are this and a number from 1: `web.17`.
    pub name: String,
    /// Indices of its flows.
    pub flows: std::ops::Range<usize>,
}
