//! Checks of links: names, queues, losses, and whether the packets of flows fit their queues.
//!
//! Follows the model's word that a queue's limit counts the packet on the transmitter.
//! Differs from the check of a single value: a queue in bytes is held against the packets that cross it.
//! Leaves out rates and delays, which no value makes wrong.

use super::{Findings, name_is_plain};
use crate::error::{expected, quoted};
use crate::model::{Loss, Queue, Scenario, Traffic, Transport};
use crate::network::{Direction, Network, Route};
use crate::path::KeyPath;
use skyhop_units::{Amount, Bytes};

pub(super) fn check(scenario: &Scenario, out: &mut Findings) {
    let links = KeyPath::default().key("links");
    for (name, link) in &scenario.links {
        let at = links.key(name);
        name_is_plain(name, || at.clone(), out);
        queue(link.queue, &at, out);
        loss(link.loss, &at, out);
        if let Some(reverse) = &link.reverse {
            let at = at.key("reverse");
            reverse.queue.iter().for_each(|q| queue(*q, &at, out));
            reverse.loss.iter().for_each(|l| loss(*l, &at, out));
        }
        for (i, node) in link.between.iter().flatten().enumerate() {
            name_is_plain(node, || at.key("between").index(i), out);
        }
    }
    pcap(scenario, out);
}

pub(super) fn queue(queue: Queue, at: &KeyPath, out: &mut Findings) {
    let Queue::DropTail { limit } = queue;
    out.require(
        limit.in_bytes(1) > 0,
        || at.key("queue").key("limit"),
        || {
            format!(
                "limit of {limit} lets nothing pass; expected at least 1 packet, which is the one being sent"
            )
        },
    );
}

pub(super) fn loss(loss: Loss, at: &KeyPath, out: &mut Findings) {
    let (key, p) = match loss {
        Loss::None => return,
        Loss::BitErrors { bit_error_rate } => ("bit_error_rate", bit_error_rate),
        Loss::Packets { probability } => ("probability", probability),
    };
    out.require(
        (0.0..=1.0).contains(&p),
        || at.key("loss").key(key),
        || format!("probability {p} is outside 0 to 1"),
    );
}

/// A link of a constellation is named by its kind and its ends: `isl:0.1-0.2`, `gsl:new-york`.
fn pcap(scenario: &Scenario, out: &mut Findings) {
    let space = scenario.constellation.is_some();
    for (i, name) in scenario.record.pcap.iter().enumerate() {
        let isl = name.strip_prefix("isl:").filter(|_| space);
        let gsl = name.strip_prefix("gsl:").filter(|_| space);
        let at = || KeyPath::default().key("record").key("pcap").index(i);
        let fibre = name.strip_prefix("fibre:").filter(|_| space);
        if fibre.is_some() {
            // Which terminals fibre joins is known when the network is built.
        } else if let Some(terminal) = gsl {
            // The second of several antennas is gsl:new-york.1.
            let antenna = terminal.rsplit_once('.').filter(|(_, n)| n.parse::<u16>().is_ok());
            let whole = scenario.terminals.contains_key(terminal);
            let terminal = antenna.filter(|_| !whole).map_or(terminal, |(terminal, _)| terminal);
            let names = scenario.terminals.keys().map(String::as_str);
            out.require(scenario.terminals.contains_key(terminal), at, || {
                format!("unknown terminal {}{}", quoted(terminal), expected(terminal, names))
            });
        } else if let Some(ends) = isl {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            out.require(!ends.is_empty() && ends.chars().all(plain), at, || {
                format!("{} does not name two satellites; expected a name such as isl:0.1-0.2", quoted(name))
            });
        } else if name != "*" && !scenario.links.contains_key(name) {
            let patterns: &[&str] =
                if space { &["*", "isl:0.1-0.2", "gsl:TERMINAL", "fibre:GATEWAY-GATEWAY"] } else { &["*"] };
            let names = scenario.links.keys().map(String::as_str).chain(patterns.iter().copied());
            out.push(at, || format!("unknown link {}{}", quoted(name), expected(name, names)));
        }
    }
}

/// A queue that is smaller than one packet of a flow drops all of them.
pub(super) fn check_fit(scenario: &Scenario, network: &Network, out: &mut Findings) {
    let links: Vec<_> = scenario.links.iter().collect();
    for (i, (flow, route)) in scenario.flows.iter().zip(&network.routes).enumerate() {
        let size = match (&flow.traffic, &flow.transport) {
            (Traffic::Ping { size, .. }, _) => size.get() + 28,
            (Traffic::Bulk { .. }, Transport::Tcp(tcp)) => {
                tcp.mss.get() + if tcp.timestamps { 52 } else { 40 }
            }
        };
        let Route::Links { hops, .. } = route else { continue };
        for (link, direction) in hops {
            let (name, link) = links[*link];
            let own =
                link.reverse.as_ref().and_then(|r| r.queue).filter(|_| *direction == Direction::Reverse);
            let Queue::DropTail { limit: Amount::Bytes(limit) } = own.unwrap_or(link.queue) else { continue };
            let at = KeyPath::default().key("links").key(name);
            let at = if own.is_some() { at.key("reverse") } else { at };
            out.require(
                limit.get() >= size,
                || at.key("queue").key("limit"),
                || {
                    let size = Bytes::new(size);
                    format!(
                        "limit of {limit} is less than a packet of flow \"{}\" ({size})",
                        scenario.flow_name(i)
                    )
                },
            );
        }
    }
}
