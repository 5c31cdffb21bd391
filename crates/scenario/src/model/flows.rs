//! Flows: who sends what to whom, and over which transport.
//!
//! Follows the names that the RFCs give to TCP's parameters.
//! Differs from a kernel's settings: nothing is tuned on the way, a run has what its scenario says.
//! Leaves out what an application computes; it offers bytes at times.

use super::Tcp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Bytes, Span, Time};

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
    /// Band of its packets in queues of kind priority; 0 goes first.
    #[serde(default)]
    pub priority: u8,
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
