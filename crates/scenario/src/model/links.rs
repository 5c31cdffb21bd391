//! Links on the ground and in free space: rates, queues, losses.
//!
//! Follows the terms of ns-2's manual and of the RFCs for queues.
//! Differs: one key holds a value for both directions, `reverse` what is different on the way back.
//! Leaves out framing, coding and medium access.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Amount, Rate, Span};

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
