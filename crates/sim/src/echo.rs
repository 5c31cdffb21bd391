//! Pings: echo requests from one end, answers from the other, and their delays.
//!
//! Follows the echo of RFC 792 and RFC 4443; HT 6.3 for the quantities measured.
//! Differs: the delays reported are one way, since both ends share a clock.
//! Leaves out every other ICMP message.

use crate::twins::Twins;
use skyhop_traffic::Ping;
use skyhop_units::Span;
use skyhop_wire::{Echo, Ip, Packet, Transport, Version};
use std::net::SocketAddrV4;

/// Echo requests from end 0, answers from end 1.
pub(crate) struct Pinging {
    pub ping: Ping,
    pub ip: Version,
    pub addresses: [SocketAddrV4; 2],
    pub identifier: u16,
    pub next: u64,
    pub twins: Twins,
    pub forward: SpanStats,
    pub round_trip: SpanStats,
    /// Series of one-way delays, by time of sending.
    pub series: usize,
}

impl Pinging {
    /// The request or answer with number `sequence`.
    pub fn packet(&self, reply: bool, sequence: u16) -> Packet {
        let end = reply as usize;
        Packet {
            ip: Ip {
                identification: sequence,
                ..Ip::new(self.ip, *self.addresses[end].ip(), *self.addresses[1 - end].ip())
            },
            transport: Transport::Icmp(Echo { reply, identifier: self.identifier, sequence }),
            payload_len: self.ping.size,
        }
    }
}

/// Smallest, largest and mean of a sequence of spans.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpanStats {
    pub count: u64,
    sum_ns: u128,
    min: Option<Span>,
    max: Option<Span>,
}

impl SpanStats {
    pub fn add(&mut self, span: Span) {
        self.count += 1;
        self.sum_ns += span.as_nanos() as u128;
        self.min = Some(self.min.map_or(span, |m| m.min(span)));
        self.max = Some(self.max.map_or(span, |m| m.max(span)));
    }

    pub fn min_mean_max_s(&self) -> [Option<f64>; 3] {
        let mean = (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e9);
        [self.min.map(Span::as_secs_f64), mean, self.max.map(Span::as_secs_f64)]
    }
}
