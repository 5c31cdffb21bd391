//! The counters of a gateway.
//!
//! Follows the conventions of Prometheus for names: units spelt out, `_total` for what only grows.
//! Leaves out labels of users: their number is not bounded.

use skyhop_splice::preamble::Answer;
use std::fmt::Write as _;

/// Datagrams of UDP so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct DatagramCounters {
    /// Given to an association.
    pub to_link: u64,
    /// Given to a client or a server.
    pub from_link: u64,
    /// Dropped here: no association, no room, nobody who takes them.
    pub refused: u64,
}

/// Connections and bytes so far.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// Connections of clients here.
    pub opened: u64,
    /// Connections of clients at the far end.
    pub accepted: u64,
    /// Both ends have closed, and have everything.
    pub closed: u64,
    /// Reset by an end or by the far gateway.
    pub reset: u64,
    /// Lost with an association.
    pub lost: u64,
    /// Turned away, by answer.
    pub refused: [u64; Answer::ALL.len()],
    /// Bytes of connections that are over, from the satellite link and to it.
    pub bytes: [u64; 2],
    /// Datagrams of UDP.
    pub datagrams: DatagramCounters,
}

impl Counters {
    /// A connection was turned away.
    pub fn refuse(&mut self, answer: Answer) {
        self.refused[usize::from(answer.number())] += 1;
    }

    /// The counters as Prometheus reads them.
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
