//! Splices: gateways that split the connections which cross them.
//!
//! Follows HT 4.3.1's three kinds: splitting, spoofing, and a cache.
//! Differs: a FIN always goes end to end, so that a transfer is complete when the far end has it.
//! Leaves out a gateway's costs in memory and computing, except the bytes that it holds.

use super::{Scenario, Transport};
use crate::expand::pattern::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Bytes, Rate, Span};

/// A gateway that splits connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Splice {
    /// Node of the splice: between two links of a flow's path ("access~satellite" if it has no name), or a terminal of the constellation.
    pub at: String,
    /// Kind of the splice.
    #[serde(default)]
    pub kind: SpliceKind,
    /// Largest number of bytes held for each connection and direction, from their arrival until the far side has acknowledged them.
    /// It is the receive window of both sides; `window` of their transports is not used. With an `association` the default is 64 MB.
    #[serde(default = "default_buffer")]
    pub buffer: Bytes,
    /// Transport of the connection onwards, to the flow's `to`; the flow's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Association whose streams carry the connections between this splice and the other one that names it, in both directions; for
    /// kind split. Both are gateways then: `transport` is that of the association, flows have their own on the other sides, and
    /// `buffer` is the memory of all connections here, in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub association: Option<String>,
    /// Treatment of datagrams of flows that pass both gateways of the association, in either direction; "pass" if left out. Only one
    /// of the two has it, as in the file of a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<SpliceUdp>,
    /// Highest rates of users, which are the hosts that flows have on the side of this splice away from the association; the first
    /// entry with a host holds. Only one of the two splices of an association has them, as in the file of a terminal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<SpliceUser>,
    /// Transport of the connection back to the flow's `from`; the flow's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_back: Option<Transport>,
    /// Share of requests whose answer a cache holds, from 0 to 1; for kind cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_ratio: Option<f64>,
    /// Time at which the connection onwards is opened; for kind split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<SpliceOpens>,
    /// Time after which a side that owes an answer and is silent counts as dead; the other side is then reset.
    #[serde(default = "default_give_up")]
    pub give_up: Span,
    /// Names of the flows that it splices; all that cross its node if left out. Flows through the constellation must be named:
    /// their path then leads through the terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
}

/// Highest rates of users of a gateway. Each host has them for itself, and all of its connections together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpliceUser {
    /// Names of hosts, or patterns of names such as "user-*"; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// Highest rate of the data from the user, without headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Rate>,
    /// Highest rate of the data to the user, without headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Rate>,
}

impl SpliceUser {
    /// Returns true if the entry has a host.
    pub fn has(&self, host: &str) -> bool {
        let is = |name: &String| match Pattern::of(name) {
            Some(pattern) => pattern.stem(host).is_some(),
            None => name == host,
        };
        self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(is))
    }
}

/// The kind of a splice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpliceKind {
    /// Two connections, each with its own handshake, numbers and parameters.
    #[default]
    Split,
    /// Early acknowledgments: the SYN is end to end; addresses, sequence numbers and segments do not change, and the gateway
    /// repairs losses beyond it.
    Spoof,
    /// A web cache: it answers a share of the requests of web and request-response flows, and forwards the others over a connection
    /// of their own.
    Cache,
}

/// The time at which a splice opens the connection onwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpliceOpens {
    /// At the SYN.
    #[default]
    Syn,
    /// At the first data.
    Data,
}

/// The treatment of datagrams at a gateway with an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpliceUdp {
    /// They pass beside the association.
    #[default]
    Pass,
    /// They are datagrams of the association, whose queue is short, and are not retransmitted.
    Carry,
}

/// Default of `buffer` with an `association`: that of a gateway's `memory`.
pub(crate) const GATEWAY_MEMORY: &str = "64 MB";

/// Default of `buffer` without one.
fn default_buffer() -> Bytes {
    Bytes::new(1_000_000)
}
fn default_give_up() -> Span {
    Span::from_secs(100)
}

impl Splice {
    /// The limits of a user: those of the first entry that has the host.
    pub fn user(&self, host: &str) -> Option<&SpliceUser> {
        self.users.iter().find(|entry| entry.has(host))
    }

    /// The key that sets the transport of a side, if one does; otherwise the flow's own does.
    pub fn key_of(&self, side: usize, inner: Option<usize>) -> Option<&'static str> {
        let onwards = self.transport.as_ref().map(|_| "transport");
        match (&self.association, side) {
            (Some(_), _) => onwards.filter(|_| inner == Some(side)),
            (None, 0) => self.transport_back.as_ref().map(|_| "transport_back"),
            (None, _) => onwards,
        }
    }

    /// Transports of its two connections for a flow with transport `flow`: back to `from`, and onwards to `to`. `inner` is the side
    /// of its association, if it has one (0 back, 1 onwards).
    pub fn transports<'a>(&'a self, flow: &'a Transport, inner: Option<usize>) -> [&'a Transport; 2] {
        let onwards = self.transport.as_ref().unwrap_or(flow);
        match (&self.association, inner) {
            (None, _) => [self.transport_back.as_ref().unwrap_or(flow), onwards],
            (Some(_), Some(0)) => [onwards, flow],
            (Some(_), Some(_)) => [flow, onwards],
            (Some(_), None) => [flow; 2],
        }
    }
}

impl Scenario {
    /// For each splice in order, true if datagrams that pass it and the other splice of its association are carried in that.
    pub fn carries_datagrams(&self) -> Vec<bool> {
        let carry = |splice: &&Splice| splice.udp == Some(SpliceUdp::Carry);
        let names: Vec<_> = self.splices.values().filter(carry).map(|splice| &splice.association).collect();
        let carries = |splice: &Splice| splice.association.is_some() && names.contains(&&splice.association);
        self.splices.values().map(carries).collect()
    }
}
