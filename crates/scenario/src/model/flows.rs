//! Flows: sender, receiver, traffic and transport.
//!
//! Follows the names that the RFCs give to TCP's parameters.
//! Differs from a kernel's settings: values are not tuned on the way; a run has those of its scenario.
//! Leaves out the application's computation; it offers bytes at times.

use super::{Group, Numbers, Pair, STP_HEADER, Sizes, Stp, Tcp, Times};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Bytes, Rate, Span, Time};

/// The traffic between one pair of hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name in results; "flow-1", "flow-2" in the file's order if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The sender: a terminal, or a node named by a link. A population, a pattern such as "user-*" or an array is a group, and
    /// makes one flow for each member of the larger group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Group>,
    /// The receiver, or a group of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Group>,
    /// The links crossed, in order, between the sender and the receiver: ["server", "satellite", "user"].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// IP version of its packets; the scenario's `ip` if left out.
    #[serde(default, skip_serializing_if = "Ip::is_v4")]
    pub ip: Ip,
    /// Number of flows of this kind; their names are its name and a number: web.1, web.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: Option<u32>,
    /// Rule that pairs the flows' ends; "in-turn" if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// Interval from `start` in which many flows begin, at uniformly drawn instants; 1 s if left out, or the time until `stop` or
    /// the end of the run if that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Span>,
    /// The transport; a ping has none, and cbr and on-off use UDP.
    #[serde(default)]
    pub transport: Transport,
    /// The application's traffic.
    pub traffic: Traffic,
    /// The ends that are left to real programs in an emulation: true for both, "from" or "to" for one, whose other end is
    /// simulated. `traffic` and `transport` of a real end are for the simulator, and for comparisons. If no flow sets it, the first
    /// one is real.
    #[serde(default, skip_serializing_if = "Real::none")]
    pub real: Real,
    /// Band of its packets in queues of kind priority; band 0 is sent first.
    #[serde(default)]
    pub priority: u8,
    /// Longest time for which a packet of the flow waits where it leaves the network for those that entered before it; packets leave
    /// as they come if left out (resequencing at the edge, WP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resequencing: Option<Span>,
    /// Start of the flow.
    #[serde(default)]
    pub start: Time,
    /// Time at which the application stops offering data; the end of the run if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
}

impl Flow {
    /// Names of its ends; of a group, the first member.
    pub fn ends(&self) -> [&str; 2] {
        match &self.path {
            Some(path) => [path.first(), path.last()].map(|end| end.map_or("", String::as_str)),
            None => [&self.from, &self.to].map(|end| end.as_ref().map_or("", |group| group.name())),
        }
    }
}

/// The ends of a flow that are left to real programs in an emulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Real {
    /// Both ends are simulated.
    #[default]
    No,
    /// Both ends are real programs.
    Both,
    /// Its `from` is a real program; its `to` is simulated.
    From,
    /// Its `to` is a real program; its `from` is simulated.
    To,
}

impl Real {
    /// Returns true if both ends are simulated.
    pub fn none(&self) -> bool {
        *self == Real::No
    }

    /// For a flow with one real end, true if its `to` is the simulated one; `None` for other flows.
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
        struct EndsVisitor;
        impl serde::de::Visitor<'_> for EndsVisitor {
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
        deserializer.deserialize_any(EndsVisitor)
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

/// IP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ip {
    /// IPv4 (RFC 791): a header of 20 bytes.
    #[default]
    V4,
    /// IPv6 (RFC 8200): a header of 40 bytes, an MTU of at least 1280 on all links, and an mss of 1440 bytes if left out.
    V6,
}

impl Ip {
    /// Length of the IP header, bytes.
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
    /// Name of the transport's kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Transport::Tcp(_) => "tcp",
            Transport::Stp(_) => "stp",
            Transport::Udp => "udp",
        }
    }

    /// Largest payload of a packet over this IP version, and its headers, bytes; `None` for UDP, whose datagrams are the application's.
    pub fn packet(&self, ip: Ip) -> Option<(u64, u64)> {
        let headers = ip.header_len() + 20;
        match self {
            // The option takes its space from the mss.
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

/// An application's traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Traffic {
    /// A transfer of `size`, or without end.
    Bulk {
        /// Size of the transfer; without end if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Bytes>,
        /// Number of parallel connections, each with an equal part (HT 4.1.6).
        #[serde(default = "one_connection")]
        #[schemars(range(min = 1, max = 1000))]
        connections: u32,
    },
    /// Echo requests, which the receiver answers. The reported delays are one way, from sender to receiver; RTTs are reported beside them.
    Ping {
        /// Time between requests.
        #[serde(default = "default_ping_interval")]
        interval: Span,
        /// Payload of a request.
        #[serde(default = "default_ping_size")]
        size: Bytes,
    },
    /// Web pages of several files, with think times in between. The sender is the browser; goodput counts the receiver's replies.
    Web {
        /// Length of a request.
        #[serde(default = "mah_sizes")]
        request: Sizes,
        /// Length of a reply.
        #[serde(default = "mah_sizes")]
        reply: Sizes,
        /// Number of files of a page; the first names the others.
        #[serde(default = "mah_numbers")]
        files: Numbers,
        /// Number of successive pages from one server, after which persistent connections are closed.
        #[serde(default = "mah_numbers")]
        stay: Numbers,
        /// Time from the end of a page to the next request.
        #[serde(default = "mah_times")]
        think: Times,
        /// Time from the arrival of a request to its reply.
        #[serde(default = "no_time")]
        server_time: Times,
        /// Largest number of simultaneous connections.
        #[serde(default = "default_connections")]
        connections: u32,
        /// True if a connection serves several files in succession.
        #[serde(default)]
        persistent: bool,
        /// True if requests are sent while replies are outstanding.
        #[serde(default)]
        pipelining: bool,
        /// Number of pages after which the browser stops; never if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pages: Option<u64>,
    },
    /// Requests and replies in alternation. The sender is the client.
    RequestResponse {
        /// Length of a request.
        #[serde(default = "default_request")]
        request: Sizes,
        /// Length of a reply.
        reply: Sizes,
        /// Time from the end of a reply to the next request.
        #[serde(default = "default_think")]
        think: Times,
        /// Time from the arrival of a request to its reply.
        #[serde(default = "no_time")]
        server_time: Times,
        /// True if all exchanges use one connection.
        #[serde(default)]
        persistent: bool,
        /// True if the client closes its direction with the request, so that its FIN goes with it (a half-close).
        #[serde(default)]
        half_close: bool,
        /// Number of exchanges; without end if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// Short transfers with Poisson arrivals, each on a connection of its own.
    Poisson {
        /// Mean number of arrivals per second.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arrivals_per_s: Option<f64>,
        /// Load as a share of a link's rate, in place of `arrivals_per_s`; headers of full segments included.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        load: Option<f64>,
        /// The link of `load`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
        /// Payload of a transfer.
        size: Sizes,
        /// Number of transfers; without end if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// Batches of requests by the clock, pipelined over one persistent connection, whatever is outstanding: an open loop (Kota et al.
    /// 1999). The sender is the client; goodput counts the receiver's replies.
    Batches {
        /// Length of a request.
        #[serde(default = "batch_request")]
        request: Sizes,
        /// Length of a reply.
        reply: Sizes,
        /// Number of requests in a batch.
        #[serde(default = "batch_requests")]
        requests: Numbers,
        /// Time between two requests of a batch.
        #[serde(default = "batch_gap")]
        gap: Times,
        /// Time from the beginning of a batch to that of the next, which cuts the one before short.
        #[serde(default = "batch_every")]
        every: Span,
        /// Number of batches; without end if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// A file in pieces, which all flows with this `file` fetch at once, each from its own receiver: always the next piece that was not
    /// requested yet (TH 3.7.1). The sender requests; goodput counts the receiver's replies.
    Fetch {
        /// Name of the file, which its flows share.
        file: String,
        /// Size of the file.
        size: Bytes,
        /// Size of a piece.
        #[serde(default = "default_piece")]
        piece: Bytes,
        /// Length of a request.
        #[serde(default = "default_piece_request")]
        request: Bytes,
    },
    /// Datagrams at a constant rate.
    Cbr {
        /// Payload per second.
        rate: Rate,
        /// Payload of a datagram.
        #[serde(default = "default_datagram")]
        size: Bytes,
    },
    /// On-off datagrams at a constant rate, from one source or many.
    OnOff {
        /// Payload per second of a source while it is on.
        rate: Rate,
        /// Payload of a datagram.
        #[serde(default = "default_datagram")]
        size: Bytes,
        /// Duration of an on period.
        on: Times,
        /// Duration of an off period.
        off: Times,
        /// Number of sources.
        #[serde(default = "one_source")]
        sources: u32,
    },
}

impl Traffic {
    /// Returns true if it is sent in datagrams, without connections.
    pub fn in_datagrams(&self) -> bool {
        matches!(self, Traffic::Cbr { .. } | Traffic::OnOff { .. })
    }

    /// Returns true if it uses connections, which a splice can split.
    pub fn has_connections(&self) -> bool {
        !self.in_datagrams() && !matches!(self, Traffic::Ping { .. })
    }

    /// Returns true if it has requests and replies, so that a cache can answer.
    pub fn asks(&self) -> bool {
        matches!(self, Traffic::Web { .. } | Traffic::RequestResponse { .. })
    }

    /// The files of distributions that it names, by key.
    pub fn files(&self) -> Vec<(&'static str, &str)> {
        let all: Vec<(&'static str, Option<&str>)> = match self {
            Traffic::Bulk { .. } | Traffic::Ping { .. } | Traffic::Cbr { .. } | Traffic::Fetch { .. } => {
                Vec::new()
            }
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
            Traffic::Batches { request, reply, requests, gap, .. } => vec![
                ("request", request.file()),
                ("reply", reply.file()),
                ("requests", requests.file()),
                ("gap", gap.file()),
            ],
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
fn default_piece() -> Bytes {
    Bytes::new(256_000)
}
fn default_piece_request() -> Bytes {
    Bytes::new(100)
}
fn batch_request() -> Sizes {
    Sizes::Fixed { value: Bytes::new(128) }
}
fn batch_requests() -> Numbers {
    Numbers::Fixed { value: 5.0 }
}
fn batch_gap() -> Times {
    Times::Uniform { least: Span::from_millis(100), most: Span::from_millis(500) }
}
fn batch_every() -> Span {
    Span::from_secs(10)
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
