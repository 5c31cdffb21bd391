//! Flows: who sends what to whom, and over which transport.
//!
//! Follows the names that the RFCs give to TCP's parameters.
//! Differs from a kernel's settings: nothing is tuned on the way, a run has what its scenario says.
//! Leaves out what an application computes; it offers bytes at times.

use super::{Group, Numbers, Pair, STP_HEADER, Sizes, Stp, Tcp, Times};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Bytes, Rate, Span, Time};

/// What one pair of hosts sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What the results call it; "flow-1", "flow-2" in the file's order if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The sender: a terminal, or a node named by a link. A population, a pattern such as "user-*" and an array are many, and make one flow for each of the larger group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Group>,
    /// The receiver, or many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Group>,
    /// The links crossed in order, between the sender and the receiver: ["server", "satellite", "user"].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// Version of IP whose headers its packets have. The scenario's `ip` if left out.
    #[serde(default, skip_serializing_if = "Ip::is_v4")]
    pub ip: Ip,
    /// How many flows of this kind, called by its name and their numbers: web.1, web.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: Option<u32>,
    /// How many flows are paired; "in-turn" if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// Many flows begin at instants drawn evenly from `start` until so long after; 1 s if left out, or what is left until `stop` or the end of the run if that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Span>,
    /// The transport; a ping has none, and cbr and on-off go over UDP.
    #[serde(default)]
    pub transport: Transport,
    /// What the application offers.
    pub traffic: Traffic,
    /// Which of its ends are left to programs where the scenario is emulated: true for both, "from" or "to" for one, whose other end is simulated. `traffic` and `transport` of an end that is left to programs are for the simulator, and for whoever compares. Where no flow says so, the first one is.
    #[serde(default, skip_serializing_if = "Real::none")]
    pub real: Real,
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

impl Flow {
    /// Names of its ends; of many, the first.
    pub fn ends(&self) -> [&str; 2] {
        match &self.path {
            Some(path) => [path.first(), path.last()].map(|end| end.map_or("", String::as_str)),
            None => [&self.from, &self.to].map(|end| end.as_ref().map_or("", |group| group.name())),
        }
    }
}

/// Ends of a flow that are left to programs where a scenario is emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Real {
    /// Both ends are simulated.
    #[default]
    No,
    /// Programs have both ends.
    Both,
    /// Programs have its `from`; its `to` is simulated.
    From,
    /// Programs have its `to`; its `from` is simulated.
    To,
}

impl Real {
    /// True if neither end is left to programs.
    pub fn none(&self) -> bool {
        *self == Real::No
    }

    /// The end that is simulated of a flow whose other end is left to programs: true for its `to`.
    pub fn simulated_to(self) -> Option<bool> {
        match self {
            Real::From => Some(true),
            Real::To => Some(false),
            Real::No | Real::Both => None,
        }
    }
}

impl Serialize for Real {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Real::No => serializer.serialize_bool(false),
            Real::Both => serializer.serialize_bool(true),
            Real::From => serializer.serialize_str("from"),
            Real::To => serializer.serialize_str("to"),
        }
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Real;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true, false, \"from\" or \"to\"")
            }
            fn visit_bool<E: serde::de::Error>(self, both: bool) -> Result<Real, E> {
                Ok(if both { Real::Both } else { Real::No })
            }
            fn visit_str<E: serde::de::Error>(self, end: &str) -> Result<Real, E> {
                match end {
                    "from" => Ok(Real::From),
                    "to" => Ok(Real::To),
                    other => Err(E::unknown_variant(other, &["from", "to"])),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Real {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RealEnd".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "the ends that are left to programs: true is both, false is none",
            "oneOf": [
                { "type": "boolean" },
                { "type": "string", "enum": ["from", "to"] },
            ],
        })
    }
}

/// Version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ip {
    /// IPv4 (RFC 791): a header of 20 bytes.
    #[default]
    V4,
    /// IPv6 (RFC 8200): a header of 40 bytes, links that carry 1280, and an mss of 1440 bytes where it is left out.
    V6,
}

impl Ip {
    /// Bytes of its header.
    pub fn header_len(self) -> u64 {
        match self {
            Ip::V4 => 20,
            Ip::V6 => 40,
        }
    }

    pub(super) fn is_v4(&self) -> bool {
        *self == Ip::V4
    }
}

/// The transport protocol and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp(Box<Tcp>),
    /// STP, the satellite transport protocol (HT chapter 5; docs/stp.md).
    Stp(Box<Stp>),
    /// UDP (RFC 768), for cbr and on-off.
    Udp,
}

impl Transport {
    /// Its `kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Transport::Tcp(_) => "tcp",
            Transport::Stp(_) => "stp",
            Transport::Udp => "udp",
        }
    }

    /// The most data of a packet of this IP and the headers around it, bytes; `None` for UDP, whose datagrams are the application's.
    pub fn packet(&self, ip: Ip) -> Option<(u64, u64)> {
        let headers = ip.header_len() + 20;
        match self {
            // The option has its place in the mss.
            Transport::Tcp(tcp) if tcp.timestamps => {
                Some((tcp.mss.get().saturating_sub(12).max(1), headers + 12))
            }
            Transport::Tcp(tcp) => Some((tcp.mss.get(), headers)),
            Transport::Stp(stp) => Some((stp.max_payload(), STP_HEADER + stp.headers_beneath(ip))),
            Transport::Udp => None,
        }
    }
}

impl Default for Transport {
    fn default() -> Self {
        Transport::Tcp(Box::default())
    }
}

/// What an application offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Traffic {
    /// A transfer of `size`, or without end.
    Bulk {
        /// How much; without end if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Bytes>,
        /// Connections side by side, each with an equal part (HT 4.1.6).
        #[serde(default = "one_connection")]
        #[schemars(range(min = 1, max = 1000))]
        connections: u32,
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
    /// Pages of several files, with thinking between them. The sender is the browser; what the receiver sends back is what counts.
    Web {
        /// Length of a request.
        #[serde(default = "mah_sizes")]
        request: Sizes,
        /// Length of a reply.
        #[serde(default = "mah_sizes")]
        reply: Sizes,
        /// Files of a page; the first names the others.
        #[serde(default = "mah_numbers")]
        files: Numbers,
        /// Pages in a row from one server; then persistent connections are closed.
        #[serde(default = "mah_numbers")]
        stay: Numbers,
        /// From the end of a page to the next request.
        #[serde(default = "mah_times")]
        think: Times,
        /// From a request's arrival to its reply.
        #[serde(default = "no_time")]
        server_time: Times,
        /// The most connections at once.
        #[serde(default = "default_connections")]
        connections: u32,
        /// Whether a connection serves one file after another.
        #[serde(default)]
        persistent: bool,
        /// Whether requests are sent while replies are due.
        #[serde(default)]
        pipelining: bool,
        /// After how many pages the browser rests; never if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pages: Option<u64>,
    },
    /// A request and its reply, again and again. The sender asks.
    RequestResponse {
        /// Length of a request.
        #[serde(default = "default_request")]
        request: Sizes,
        /// Length of a reply.
        reply: Sizes,
        /// From the end of a reply to the next request.
        #[serde(default = "default_think")]
        think: Times,
        /// From a request's arrival to its reply.
        #[serde(default = "no_time")]
        server_time: Times,
        /// Whether all go over one connection.
        #[serde(default)]
        persistent: bool,
        /// How many; without end if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// Short transfers that arrive as a Poisson process, each on a connection of its own.
    Poisson {
        /// Arrivals a second, on average.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arrivals_per_s: Option<f64>,
        /// Or the share of a link's rate that they come to, headers of full segments included.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        load: Option<f64>,
        /// Of which link.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
        /// Payload of a transfer.
        size: Sizes,
        /// How many; without end if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// Datagrams at a constant rate.
    Cbr {
        /// Payload a second.
        rate: Rate,
        /// Payload of a datagram.
        #[serde(default = "default_datagram")]
        size: Bytes,
    },
    /// Datagrams at a constant rate by turns, from one source or many.
    OnOff {
        /// Payload a second of a source while it sends.
        rate: Rate,
        /// Payload of a datagram.
        #[serde(default = "default_datagram")]
        size: Bytes,
        /// How long a source sends.
        on: Times,
        /// How long it does not.
        off: Times,
        /// How many sources there are.
        #[serde(default = "one_source")]
        sources: u32,
    },
}

impl Traffic {
    /// Whether it goes in datagrams, and not over a connection.
    pub fn in_datagrams(&self) -> bool {
        matches!(self, Traffic::Cbr { .. } | Traffic::OnOff { .. })
    }

    /// Whether it goes over connections, which can be split.
    pub fn has_connections(&self) -> bool {
        !self.in_datagrams() && !matches!(self, Traffic::Ping { .. })
    }

    /// Whether it asks and is answered, so that a cache can.
    pub fn asks(&self) -> bool {
        matches!(self, Traffic::Web { .. } | Traffic::RequestResponse { .. })
    }

    /// The files of distributions that it names, by key.
    pub fn files(&self) -> Vec<(&'static str, &str)> {
        let all: Vec<(&'static str, Option<&str>)> = match self {
            Traffic::Bulk { .. } | Traffic::Ping { .. } | Traffic::Cbr { .. } => Vec::new(),
            Traffic::Web { request, reply, files, stay, think, server_time, .. } => vec![
                ("request", request.file()),
                ("reply", reply.file()),
                ("files", files.file()),
                ("stay", stay.file()),
                ("think", think.file()),
                ("server_time", server_time.file()),
            ],
            Traffic::RequestResponse { request, reply, think, server_time, .. } => vec![
                ("request", request.file()),
                ("reply", reply.file()),
                ("think", think.file()),
                ("server_time", server_time.file()),
            ],
            Traffic::Poisson { size, .. } => vec![("size", size.file())],
            Traffic::OnOff { on, off, .. } => vec![("on", on.file()), ("off", off.file())],
        };
        all.into_iter().filter_map(|(key, file)| Some((key, file?))).collect()
    }
}

fn default_ping_interval() -> Span {
    Span::from_secs(1)
}
fn default_ping_size() -> Bytes {
    Bytes::new(56)
}
fn mah_sizes() -> Sizes {
    Sizes::Mah
}
fn mah_numbers() -> Numbers {
    Numbers::Mah
}
fn mah_times() -> Times {
    Times::Mah
}
fn no_time() -> Times {
    Times::Fixed { value: Span::ZERO }
}
fn one_connection() -> u32 {
    1
}
fn default_connections() -> u32 {
    4
}
fn default_request() -> Sizes {
    Sizes::Fixed { value: Bytes::new(100) }
}
fn default_think() -> Times {
    Times::Fixed { value: Span::from_secs(1) }
}
fn default_datagram() -> Bytes {
    Bytes::new(1000)
}
fn one_source() -> u32 {
    1
}
