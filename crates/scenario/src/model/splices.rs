//! Splices: gateways that split the connections which cross them.
//!
//! Follows HT 4.3.1's three ways: splitting, spoofing, and a cache.
//! Differs: a FIN always goes end to end, so that a transfer is complete when the far end has it.
//! Leaves out what a gateway costs in memory and computing beside the bytes that it holds.

use super::Transport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Bytes, Span};

/// A gateway that splits connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Splice {
    /// Where it is: a node between two links of a flow's path ("access~satellite" if nobody named it), or a terminal of the constellation.
    pub at: String,
    /// How it goes between the ends.
    #[serde(default)]
    pub kind: SpliceKind,
    /// The most that it holds of each connection and direction, from when it arrives until the far side has acknowledged it. It is the receive window of both sides: `window` of their transports is not used.
    #[serde(default = "default_buffer")]
    pub buffer: Bytes,
    /// The transport of the connection onwards, to the flow's `to`; the flow's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The transport of the connection back to the flow's `from`; the flow's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_back: Option<Transport>,
    /// The share of requests that a cache holds the answer to, from 0 to 1; for kind cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_ratio: Option<f64>,
    /// When the connection onwards is opened; for kind split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<SpliceOpens>,
    /// A side that owes an answer and says nothing for so long is dead, and the other side is reset.
    #[serde(default = "default_give_up")]
    pub give_up: Span,
    /// The flows that it splices, by name; all that cross its node if left out. Flows through the constellation have to be named: their way then leads through the terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
}

/// How a splice goes between the ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpliceKind {
    /// Two connections, each with its own handshake, numbers and parameters.
    #[default]
    Split,
    /// Early acknowledgments: the SYN goes end to end, addresses, sequence numbers and segments stay as they are, and the gateway repairs losses beyond it.
    Spoof,
    /// A web cache: of the requests of web and request-response flows it answers a share itself, the others go on over a connection of their own.
    Cache,
}

/// When a splice opens the connection onwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpliceOpens {
    /// When the SYN arrives.
    #[default]
    Syn,
    /// With the first data.
    Data,
}

fn default_buffer() -> Bytes {
    Bytes::new(1_000_000)
}
fn default_give_up() -> Span {
    Span::from_secs(100)
}

impl Splice {
    /// The transports of its two connections for a flow whose own is `flow`: back to `from`, and onwards to `to`.
    pub fn transports<'a>(&'a self, flow: &'a Transport) -> [&'a Transport; 2] {
        [self.transport_back.as_ref().unwrap_or(flow), self.transport.as_ref().unwrap_or(flow)]
    }
}
