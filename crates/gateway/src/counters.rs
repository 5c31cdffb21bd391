//! The counters of a gateway.
//!
//! Follows the conventions of Prometheus for names: units spelt out, `_total` for counters that only grow.
//! Leaves out the state, which `admin` adds.

use crate::user_counters::UserCounters;
use skyhop_splice::preamble::Answer;
use std::fmt::Write as _;

/// Counters of UDP datagrams.
#[derive(Debug, Clone, Copy, Default)]
pub struct DatagramCounters {
    /// Datagrams sent into an association.
    pub to_link: u64,
    /// Datagrams sent to a client or a server.
    pub from_link: u64,
    /// Datagrams dropped here: no association, no room, or no receiver.
    pub refused: u64,
}

/// Counters of connections and bytes.
#[derive(Debug, Clone, Default)]
pub struct GatewayCounters {
    /// Connections that clients opened here.
    pub opened: u64,
    /// Connections that clients opened at the far end.
    pub accepted: u64,
    /// Connections that both ends closed after complete delivery.
    pub closed: u64,
    /// Connections reset by an end or by the far gateway.
    pub reset: u64,
    /// Connections lost with an association.
    pub lost: u64,
    /// Refused connections, by answer.
    pub refused: [u64; Answer::ALL.len()],
    /// Attempts to connect to a server for which no port of this host was free.
    pub port_waits: u64,
    /// Connections that waited for their user's memory.
    pub memory_waits: u64,
    /// Connections that were reset because they held much of a used-up memory.
    pub memory_resets: u64,
    /// Bytes of finished connections, received from and sent to the satellite link.
    pub bytes: [u64; 2],
    /// UDP datagrams.
    pub datagrams: DatagramCounters,
    /// Finished connections of users here.
    pub users: UserCounters,
}

impl GatewayCounters {
    /// Counts a refused connection.
    pub fn refuse(&mut self, answer: Answer) {
        self.refused[usize::from(answer.number())] += 1;
    }

    /// Number of connections refused by an answer.
    pub fn refused(&self, answer: Answer) -> u64 {
        self.refused[usize::from(answer.number())]
    }

    /// The counters in Prometheus' text format.
    pub fn prometheus(&self, out: &mut String) {
        let mut counter = |name: &str, help: &str, values: &[(&str, u64)]| {
            let _ =
                writeln!(out, "# HELP skyhop_gateway_{name} {help}\n# TYPE skyhop_gateway_{name} counter");
            for (label, value) in values {
                let _ = writeln!(out, "skyhop_gateway_{name}{label} {value}");
            }
        };
        counter(
            "connections_total",
            "Connections, by the end that has opened them.",
            &[("{client=\"here\"}", self.opened), ("{client=\"far\"}", self.accepted)],
        );
        counter(
            "connections_over_total",
            "Connections that are over, by their end.",
            &[
                ("{end=\"closed\"}", self.closed),
                ("{end=\"reset\"}", self.reset),
                ("{end=\"association-lost\"}", self.lost),
            ],
        );
        counter(
            "port_waits_total",
            "Attempts to connect for which no port of this host was free; they are repeated.",
            &[("", self.port_waits)],
        );
        counter(
            "memory_waits_total",
            "New connections that waited because their user's others held that user's part of the memory.",
            &[("", self.memory_waits)],
        );
        counter(
            "memory_resets_total",
            "Connections that were reset because the memory was used up and their user held most of it.",
            &[("", self.memory_resets)],
        );
        counter(
            "connection_bytes_total",
            "Bytes of connections that are over.",
            &[("{direction=\"from-link\"}", self.bytes[0]), ("{direction=\"to-link\"}", self.bytes[1])],
        );
        counter(
            "datagrams_total",
            "Datagrams of UDP, by what became of them here.",
            &[
                ("{to=\"link\"}", self.datagrams.to_link),
                ("{to=\"host\"}", self.datagrams.from_link),
                ("{to=\"nobody\"}", self.datagrams.refused),
            ],
        );
        let labels: Vec<String> =
            Answer::ALL.iter().skip(1).map(|answer| format!("{{reason=\"{}\"}}", answer.name())).collect();
        let refused: Vec<(&str, u64)> =
            labels.iter().zip(&self.refused[1..]).map(|(label, count)| (label.as_str(), *count)).collect();
        counter("refused_total", "Connections that were turned away, by reason.", &refused);
    }
}
