//! Rates, queues and losses of a constellation's links: by kind, by direction, by terminal, by name.
//!
//! Follows the terms of `links.*`: a key is for both directions, a separate table has the differences of one.
//! Differs: between a terminal and its satellite the directions are `up` and `down`, not forward and reverse.
//! Leaves out delays, which follow from positions; only a schedule or trace gives one.

use super::links::{Interval, Loss, Queue};
use super::uplinks::OnDemand;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Rate, Span};

/// Rate, queue and loss of every link of one kind; its delay follows from the positions of its ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// Rate of each direction.
    pub rate: Rate,
    /// Queue in front of the transmitter.
    #[serde(default)]
    pub queue: Queue,
    /// Loss model of the link.
    #[serde(default)]
    pub loss: Loss,
}

/// The link of every terminal and gateway to its satellite; its delay follows from the positions of its ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gsl {
    /// Rate of each direction; required unless both `up` and `down` have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Queue in front of the transmitter.
    #[serde(default)]
    pub queue: Queue,
    /// Loss model of the link.
    #[serde(default)]
    pub loss: Loss,
    /// Changes by the clock, interval by interval: rates, losses, delays, outages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Vec<Interval>>,
    /// Name of a trace file, relative to the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Time after which the schedule or trace repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
    /// Differences of the direction from the terminal to the satellite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<OneWay>,
    /// Differences of the direction from the satellite to the terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<OneWay>,
    /// Uplink in whose slots the terminals of one satellite, or of one of its beams, send, and the capacity that each may have there;
    /// gateways do not take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<OnDemand>,
    /// Capacity that the terminals of one satellite, or of one of its beams, share; gateways do not take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
}

/// Capacity of a satellite, or of each of its beams, which its terminals share by deficit round robin; without limit if left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// From all terminals to the satellite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Rate>,
    /// From the satellite to all terminals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Rate>,
}

/// Defines a table of optional keys: the six of a link, with `rate`, `loss` and `repeat` documented as given, between its own.
macro_rules! link_keys {
    (
        $(#[$meta:meta])* pub struct $name:ident;
        rate $rate:literal, loss $loss:literal, repeat $repeat:literal;
        before { $($(#[$before_meta:meta])* $before:ident: $before_ty:ty,)* }
        after { $($(#[$after_meta:meta])* $after:ident: $after_ty:ty,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$before_meta])* pub $before: $before_ty,)*
            #[doc = $rate]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub rate: Option<Rate>,
            /// Queue in front of the transmitter.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub queue: Option<Queue>,
            #[doc = $loss]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub loss: Option<Loss>,
            /// Changes by the clock; none if the list is empty.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub schedule: Option<Vec<Interval>>,
            /// Name of a trace file.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub trace: Option<String>,
            #[doc = $repeat]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub repeat: Option<Span>,
            $(
                $(#[$after_meta])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $after: Option<$after_ty>,
            )*
        }
    };
}

link_keys! {
    /// The link of one terminal or gateway to its satellite; keys that are left out are as in the constellation's `gsl`.
    #[derive(Default)]
    pub struct OwnGsl;
    rate "Rate of each direction.",
    loss "Loss model of the link.",
    repeat "Time after which the schedule or trace repeats.";
    before {}
    after {
        /// Differences of the direction from the terminal to the satellite.
        up: OneWay,
        /// Differences of the direction from the satellite to the terminal.
        down: OneWay,
        /// Uplink in whose slots the terminal sends, and the capacity that it may have there.
        uplink: OnDemand,
    }
}

link_keys! {
    /// Parameters of a single link of a constellation; keys that are left out are as for its kind.
    pub struct Override;
    rate "Rate of each direction.",
    loss "Loss model of the link.",
    repeat "Time after which the schedule or trace repeats.";
    before {
        /// Name of the link in results: "isl:3.4-3.5", "gsl:london", "fibre:lima-oslo".
        link: String,
    }
    after {
        /// Differences of the reverse direction: from the second end of the name to the first, or from the satellite to the terminal.
        reverse: OneWay,
    }
}

link_keys! {
    /// Differences of one direction; keys that are left out are as in the table around it.
    #[derive(Default)]
    pub struct OneWay;
    rate "Rate.",
    loss "Loss model of the direction.",
    repeat "Time after which the schedule or trace of the direction repeats.";
    before {}
    after {}
}
