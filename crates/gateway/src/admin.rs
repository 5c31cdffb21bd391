//! Metrics and the status, over HTTP on loopback.
//!
//! Follows RFC 9112 as far as `curl` and Prometheus need it, and Prometheus' text format 0.0.4.
//! Differs from a web server: one request per connection, and read-only.
//! Leaves out encryption, since the address is on loopback.

use crate::config::Role;
use crate::gateway::Gateway;
use crate::kernel::{KernelSocket, Listener};
use crate::rule_counters::{RuleCounters, RuleCounts};
use bytes::BytesMut;
use polling::{Event as PollEvent, PollMode, Poller};
use serde_json::{Value, json};
use skyhop_live::engine::Link;
use skyhop_units::Time;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;

/// Limit of a request's head, bytes.
const HEAD_MAX: usize = 4096;
/// Limit of simultaneous connections.
const MOST: usize = 32;
/// Limit of users' connections that the status lists.
const LISTED: usize = 200;

/// A connection of an HTTP client.
struct Asking {
    socket: KernelSocket,
    head: Vec<u8>,
    answer: Option<bytes::Bytes>,
    /// The counters of the firewall are being read for it.
    waits: bool,
}

/// The server.
pub struct Admin {
    listener: Listener,
    first_key: usize,
    asking: BTreeMap<usize, Asking>,
    rules: Option<RuleCounters>,
}

impl Admin {
    /// Listens; the poller's keys are `first_key` for the listener, and the next ones for connections.
    pub fn bind(poller: &Poller, address: SocketAddr, first_key: usize) -> io::Result<Self> {
        let listener = Listener::bind(address)?;
        // SAFETY: the listener lives as long as the poller is used.
        unsafe { poller.add_with_mode(&listener, PollEvent::readable(first_key), PollMode::Level)? };
        Ok(Admin { listener, first_key, asking: BTreeMap::new(), rules: None })
    }

    /// Number of keys that it uses.
    pub const KEYS: usize = MOST + 1;

    /// Handles an event of the listener or a connection.
    pub fn handle_ready(&mut self, poller: &Poller, event: &PollEvent, now: Time, gateway: &Gateway) {
        if event.key == self.first_key {
            while let Ok((socket, ..)) = self.listener.accept() {
                let free =
                    (self.first_key + 1..=self.first_key + MOST).find(|key| !self.asking.contains_key(key));
                let Some(key) = free else { continue };
                // SAFETY: the socket is removed from the poller before it is closed.
                if unsafe { poller.add_with_mode(&socket, PollEvent::all(key), PollMode::Edge) }.is_ok() {
                    self.asking.insert(key, Asking { socket, head: Vec::new(), answer: None, waits: false });
                }
            }
            return;
        }
        let Some(asking) = self.asking.get_mut(&event.key) else { return };
        asking.socket.readable |= event.readable;
        asking.socket.writable |= event.writable;
        if !asking.advance(now, gateway, self.rules.as_ref()) {
            self.close(poller, event.key);
        }
    }

    /// From now on the metrics have the counters of the firewall's rules.
    pub fn count_rules(&mut self, rules: RuleCounters) {
        self.rules = Some(rules);
    }

    /// Answers those that wait for the firewall's counters, once these have been read.
    pub fn answer(&mut self, poller: &Poller, now: Time, gateway: &Gateway) {
        let Some(counts) = self.rules.as_ref().and_then(RuleCounters::read) else { return };
        let waiting: Vec<usize> =
            self.asking.iter().filter(|(_, asking)| asking.waits).map(|(key, _)| *key).collect();
        for key in waiting {
            let Some(asking) = self.asking.get_mut(&key) else { continue };
            asking.waits = false;
            asking.answer = Some(answer(&asking.head, now, gateway, Some(&counts)).into());
            if !asking.advance(now, gateway, None) {
                self.close(poller, key);
            }
        }
    }

    fn close(&mut self, poller: &Poller, key: usize) {
        if let Some(asking) = self.asking.remove(&key) {
            let _ = poller.delete(&asking.socket);
            asking.socket.close();
        }
    }
}

impl Asking {
    /// Returns false once the connection is over.
    fn advance(&mut self, now: Time, gateway: &Gateway, rules: Option<&RuleCounters>) -> bool {
        while self.answer.is_none() {
            match self.socket.read(HEAD_MAX as u64, &mut BytesMut::new()) {
                Ok(Some(bytes)) if bytes.is_empty() => return false,
                Ok(Some(bytes)) => self.head.extend_from_slice(&bytes),
                Ok(None) => return true,
                Err(_) => return false,
            }
            if self.waits {
                continue;
            }
            if self.head.windows(4).any(|end| end == b"\r\n\r\n") {
                if let Some(rules) = rules.filter(|_| self.head.starts_with(b"GET /metrics ")) {
                    rules.ask();
                    self.waits = true;
                    continue;
                }
                self.answer = Some(answer(&self.head, now, gateway, None).into());
            } else if self.head.len() > HEAD_MAX {
                return false;
            }
        }
        self.answer = self.answer.take().and_then(|answer| self.socket.write(answer));
        let done = self.answer.is_none() || self.socket.has_failed();
        if done && !self.socket.has_failed() {
            self.socket.shutdown();
        }
        !done
    }
}

fn answer(head: &[u8], now: Time, gateway: &Gateway, rules: Option<&RuleCounts>) -> String {
    let line = String::from_utf8_lossy(head);
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let (status, kind, body) = match (method, path) {
        ("GET", "/metrics") => ("200 OK", "text/plain; version=0.0.4", metrics(now, gateway, rules)),
        ("GET", "/status") => ("200 OK", "application/json", format!("{:#}\n", status(now, gateway))),
        ("GET", _) => ("404 Not Found", "text/plain", "/metrics and /status\n".into()),
        _ => ("405 Method Not Allowed", "text/plain", "GET only\n".into()),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn metrics(now: Time, gateway: &Gateway, rules: Option<&RuleCounts>) -> String {
    let mut out = String::new();
    gateway.core.journal.counters.prometheus(&mut out);
    let _ = writeln!(
        out,
        "# HELP skyhop_gateway_connections Connections now.\n# TYPE skyhop_gateway_connections gauge\n\
         skyhop_gateway_connections {}\n\
         # HELP skyhop_gateway_users Users with connections.\n# TYPE skyhop_gateway_users gauge\n\
         skyhop_gateway_users {}",
        gateway.core.flows.len(),
        gateway.users.len()
    );
    let mut users = gateway.core.journal.counters.users.clone();
    for (_, flow) in gateway.core.flows.iter() {
        if let Some(user) = flow.claims.here {
            users.add(user, flow.join.carried());
        }
    }
    users.prometheus(&mut out);
    gateway.users.quotas.prometheus(&gateway.core.config.users, &mut out);
    rule_metrics(rules, &mut out);
    let dns = &gateway.udp.name_servers.cache;
    for (name, kind, help, value) in [
        (
            "handshakes_held",
            "gauge",
            "Clients' handshakes that wait for servers.",
            gateway.handshakes.len() as u64,
        ),
        (
            "handshakes_ignored_total",
            "counter",
            "SYNs that were not held, as too many were; clients repeat them.",
            gateway.handshakes.ignored,
        ),
        ("udp_flows", "gauge", "Flows of UDP now.", gateway.udp.flows.len() as u64),
        ("dns_kept", "gauge", "Answers of name servers in the cache.", dns.len() as u64),
        ("dns_known_total", "counter", "Questions answered out of the cache.", dns.counters.known),
        ("dns_asked_total", "counter", "Questions that were sent to name servers.", dns.counters.asked),
    ] {
        let _ = writeln!(
            out,
            "# HELP skyhop_gateway_{name} {help}\n# TYPE skyhop_gateway_{name} {kind}\nskyhop_gateway_{name} {value}"
        );
    }
    let sealed = gateway.core.links.engine.counters();
    let _ = writeln!(
        out,
        "# HELP skyhop_gateway_packets_dropped_total Packets that were not of an association.\n\
         # TYPE skyhop_gateway_packets_dropped_total counter"
    );
    for (why, count) in [
        ("forged", sealed.forged),
        ("replayed", sealed.replayed),
        ("unknown", sealed.unknown),
        ("garbage", sealed.garbage),
        ("refused", sealed.refused),
    ] {
        let _ = writeln!(out, "skyhop_gateway_packets_dropped_total{{reason=\"{why}\"}} {count}");
    }
    let peers: Vec<Value> =
        gateway.core.links.peers.iter().map(|(name, link)| peer(now, gateway, name, link)).collect();
    for (key, kind, help) in [
        ("up", "gauge", "1 if the peer's association is open."),
        ("rtt_s", "gauge", "Smoothed round trip of the association, seconds."),
        ("rate_bps", "gauge", "Sending rate of the association, bits of the network layer per second."),
        ("quota_bytes", "gauge", "Bytes of the link that the terminal may use in its period."),
        ("quota_used_bytes", "gauge", "Bytes of the link that the terminal has used in its period."),
        ("streams", "gauge", "Connections inside the association."),
        ("in_flight_bytes", "gauge", "Bytes sent and not acknowledged."),
        ("held_bytes", "gauge", "Bytes received that connections here have not taken."),
        ("queue_bytes", "gauge", "Bytes of connections that wait to be sent."),
        (
            "return_share",
            "gauge",
            "Bytes from the users' side for each byte to it, packets of the association.",
        ),
        ("bytes_sent", "counter", "Bytes of the association's packets sent."),
        ("bytes_received", "counter", "Bytes of the association's packets received."),
        ("packets_sent", "counter", "Packets sent."),
        ("packets_received", "counter", "Packets received."),
        ("packets_retransmitted", "counter", "Packets sent again."),
    ] {
        let _ =
            writeln!(out, "# HELP skyhop_gateway_peer_{key} {help}\n# TYPE skyhop_gateway_peer_{key} {kind}");
        for peer in &peers {
            if let (Some(value), Some(name)) =
                (peer.get(key).filter(|value| !value.is_null()), peer["name"].as_str())
            {
                let value = value.as_bool().map_or_else(|| value.to_string(), |up| u8::from(up).to_string());
                let _ = writeln!(out, "skyhop_gateway_peer_{key}{{peer=\"{name}\"}} {value}");
            }
        }
    }
    out
}

fn rule_metrics(rules: Option<&RuleCounts>, out: &mut String) {
    let Some(rules) = rules else { return };
    for (unit, of) in [("packets", 0), ("bytes", 1)] {
        let _ = writeln!(
            out,
            "# HELP skyhop_gateway_rule_{unit}_total {} that a rule of the firewall's table has counted since it was installed.\n\
             # TYPE skyhop_gateway_rule_{unit}_total counter",
            if of == 0 { "Packets" } else { "Bytes" }
        );
        for (rule, counts) in rules {
            let count = if of == 0 { counts.0 } else { counts.1 };
            let _ = writeln!(out, "skyhop_gateway_rule_{unit}_total{{rule=\"{rule}\"}} {count}");
        }
    }
}

fn peer(now: Time, gateway: &Gateway, name: &str, link: Option<u32>) -> Value {
    let quota = gateway.core.links.peers.quota(name);
    let (quota, used) = (quota.map(|(quota, _)| quota), quota.map(|(_, used)| used));
    let Some(link) = link.and_then(|id| gateway.core.links.engine.link(id)) else {
        return json!({ "name": name, "up": false, "quota_bytes": quota, "quota_used_bytes": used });
    };
    let (trunk, path) = (&link.trunk, link.trunk.path_stats());
    json!({
        "name": name,
        "up": true,
        "quota_bytes": quota,
        "quota_used_bytes": used,
        "address": link.peer.to_string(),
        "since_s": now.since(link.since).as_secs_f64(),
        "rtt_s": trunk.srtt().map(|rtt| rtt.as_secs_f64()),
        "rate_bps": trunk.rate_bps(),
        "limited_by": trunk.limited_by(),
        "window_bytes": trunk.window(),
        "in_flight_bytes": trunk.in_flight(),
        "in_flight_max_bytes": trunk.in_flight_max(),
        "held_bytes": trunk.held_bytes(),
        "queue_bytes": trunk.unsent_bytes(),
        "return_share": return_share(gateway.core.config.role, link),
        "packet_size": trunk.packet_size(),
        "streams": trunk.streams(),
        "packets_sent": link.traffic.packets_sent,
        "packets_received": link.traffic.packets_received,
        "packets_retransmitted": path.packets_retransmitted,
        "bytes_sent": link.traffic.bytes_sent,
        "bytes_received": link.traffic.bytes_received,
    })
}

/// Bytes from the users' side for each byte to it; nothing before there are any.
fn return_share(role: Role, link: &Link) -> Option<f64> {
    let [sent, received] = [link.traffic.bytes_sent, link.traffic.bytes_received].map(|bytes| bytes as f64);
    let (back, forward) = if role == Role::Hub { (received, sent) } else { (sent, received) };
    (forward > 0.0).then_some(back / forward)
}

/// The current status of the gateway.
fn status(now: Time, gateway: &Gateway) -> Value {
    let flows = gateway.core.flows.iter().take(LISTED).map(|(_, flow)| {
        let unsent =
            flow.stream.and_then(|(link, id)| Some(gateway.core.links.engine.link(link)?.trunk.unsent(id)));
        let unread =
            flow.stream.and_then(|(link, id)| Some(gateway.core.links.engine.link(link)?.trunk.readable(id)));
        let [up, down] = flow.join.carried();
        let blocked = flow.socket.as_ref().is_some_and(|socket| !socket.writable);
        // The current bottleneck of the connection, as seen from this gateway.
        let crowded = flow.user.as_ref().is_some_and(|user| !user.writable);
        let limit = match (unsent.unwrap_or(0) > 0 || crowded, blocked, flow.opener) {
            (true, ..) => "link",
            (_, true, true) => "client",
            (_, true, false) => "server",
            _ => "application",
        };
        json!({
            "client": flow.client.map(|client| client.to_string()),
            "destination": flow.destination.as_ref().map(ToString::to_string),
            "state": flow.phase.name(),
            "age_s": now.since(flow.since).as_secs_f64(),
            "bytes_to_server": up,
            "bytes_to_client": down,
            "unsent_bytes": unsent,
            "unread_bytes": unread,
            "limited_by": limit,
        })
    });
    json!({
        "role": gateway.core.config.role.to_string(),
        "version": env!("CARGO_PKG_VERSION"),
        "peers": gateway.core.links.peers.iter().map(|(name, link)| peer(now, gateway, name, link)).collect::<Vec<_>>(),
        "user_quotas": gateway
            .users
            .quotas
            .shown(&gateway.core.config.users)
            .map(|(user, quota, used)| json!({ "user": user.to_string(), "quota_bytes": quota, "quota_used_bytes": used }))
            .collect::<Vec<_>>(),
        "connections": gateway.core.flows.len(),
        "connections_opened": gateway.core.journal.counters.opened,
        "connections_accepted": gateway.core.journal.counters.accepted,
        "connections_closed": gateway.core.journal.counters.closed,
        "connections_reset": gateway.core.journal.counters.reset,
        "connections_lost": gateway.core.journal.counters.lost,
        "flows": flows.collect::<Vec<_>>(),
    })
}
