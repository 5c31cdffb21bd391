//! Rates, queues and losses of a constellation's links: by kind, by direction, by terminal, by name.
//!
//! Follows the words of `links.*`: a key stands for both directions, a table of its own says what is different in one.
//! Differs: between a terminal and its satellite the directions are `up` and `down`, and not forward and reverse.
//! Leaves out delays, which follow from positions; only a schedule or trace states one.

use super::links::{Interval, Loss, Queue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Rate, Span};

/// Rate, queue and loss of every link of one kind; its delay follows from the positions of its ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// Rate of each direction.
    pub rate: Rate,
    /// Packets that wait for the transmitter.
    #[serde(default)]
    pub queue: Queue,
    /// What the link loses.
    #[serde(default)]
    pub loss: Loss,
}

/// The link of every terminal and gateway to its satellite; its delay follows from the positions of its ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gsl {
    /// Rate of each direction; needed where `up` or `down` has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Packets that wait for the transmitter.
    #[serde(default)]
    pub queue: Queue,
    /// What the link loses.
    #[serde(default)]
    pub loss: Loss,
    /// What changes by the clock, interval by interval: rates, losses, delays, outages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Vec<Interval>>,
    /// A file with a table of what changes by the clock, beside the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// After this long, schedule or trace begin again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
    /// Differences from the terminal to the satellite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<OneWay>,
    /// Differences from the satellite to the terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<OneWay>,
    /// What the terminals of one satellite, or of one beam of it, have together; gateways are not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
}

/// Capacity of a satellite, or of each of its beams, which its terminals share by deficit round robin; without limit where it is left out.
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

/// Defines a table whose keys may all be left out: the six that say what a link is, which `rate`, `loss` and `repeat` document
/// in its words, between those of its own.
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
            /// Packets that wait for the transmitter.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub queue: Option<Queue>,
            #[doc = $loss]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub loss: Option<Loss>,
            /// Changes by the clock; an empty list is none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub schedule: Option<Vec<Interval>>,
            /// A file with a table of what changes by the clock.
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
    /// The link of one terminal or gateway to its satellite: whatever is left out is as in the constellation's `gsl`.
    #[derive(Default)]
    pub struct OwnGsl;
    rate "Rate of each direction.",
    loss "What the link loses.",
    repeat "After this long, schedule or trace begin again.";
    before {}
    after {
        /// Differences from the terminal to the satellite.
        up: OneWay,
        /// Differences from the satellite to the terminal.
        down: OneWay,
    }
}

link_keys! {
    /// The parameters that one link of a constellation has of its own: whatever is left out is as with all of its kind.
    pub struct Override;
    rate "Rate of each direction.",
    loss "What the link loses.",
    repeat "After this long, schedule or trace begin again.";
    before {
        /// Its name, as results print it: "isl:3.4-3.5", "gsl:london", "fibre:lima-oslo".
        link: String,
    }
    after {
        /// Differences in the reverse direction: from the second end of the name to the first, or from the satellite to the terminal.
        reverse: OneWay,
    }
}

link_keys! {
    /// Differences in one direction: whatever is left out is as in the table around it.
    #[derive(Default)]
    pub struct OneWay;
    rate "Rate.",
    loss "What the direction loses.",
    repeat "After this long, schedule or trace of this direction begin again.";
    before {}
    after {}
}
