//! The firewall's table that intercepts connections: a table of its own, installed and removed as a whole.
//!
//! Follows nft(8) and the kernel's tproxy: a SYN goes to the listener if there is one, and passes otherwise.
//! Differs from iptables scripts: it reads and writes only the table `inet skyhop`, and a killed gateway leaves at most that behind.
//! Leaves out routes (`routing`).

use crate::config::{Config, Dns, Fail, Handshake, Intercept, Quic, Role, SourceAddress, UdpRule};
use crate::prefix::{Prefix, SPECIAL};
use crate::syn::SynVerdict;
use crate::{syn_device, syn_log};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};

/// The table in the syntax of nft. `None` if the file needs no table.
pub fn ruleset(config: &Config) -> Option<String> {
    if config.intercept.is_none() && config.source == SourceAddress::Own {
        return None;
    }
    let mark = config.intercept.as_ref().map_or(crate::config::MARK, |intercept| intercept.mark);
    let mut out = String::from("table inet skyhop\ndelete table inet skyhop\ntable inet skyhop {\n");
    out.push_str("  chain prerouting {\n    type filter hook prerouting priority mangle; policy accept;\n");
    // Packets of intercepted connections, and replies to those that have a client's source address.
    let _ = writeln!(
        out,
        "    meta l4proto tcp socket transparent 1 meta mark set {mark:#x} counter accept comment \"split\""
    );
    if let Some(intercept) = &config.intercept {
        if intercept.handshake == Handshake::AfterServer {
            answered(intercept, &mut out);
        }
        selection(config, intercept, &mut out);
        datagrams(intercept, &mut out);
        if intercept.handshake == Handshake::AfterServer {
            held(intercept, &mut out);
        }
        let (port, refused) = (intercept.port, intercept.fail == Fail::Closed);
        for family in ["ip", "ip6"] {
            let version = if family == "ip" { "ipv4" } else { "ipv6" };
            let _ = writeln!(
                out,
                "    meta nfproto {version} tcp flags & (fin | syn | rst | ack) == syn tproxy {family} to :{port} meta mark set \
                 {mark:#x} counter accept comment \"new, {version}\""
            );
        }
        if refused {
            out.push_str("    tcp flags & (fin | syn | rst | ack) == syn counter reject with tcp reset comment \"refused\"\n");
        } else {
            out.push_str(
                "    tcp flags & (fin | syn | rst | ack) == syn counter comment \"passed unsplit\"\n",
            );
        }
    }
    out.push_str("  }\n");
    if let Some(intercept) = &config.intercept {
        quic(intercept, &mut out);
    }
    out.push_str("}\n");
    Some(out)
}

/// Rules for SYNs that were held, and that the daemon writes to its device once the server has answered. The hop limit says how.
fn answered(intercept: &Intercept, out: &mut String) {
    let (port, mark, device) = (intercept.port, intercept.mark, syn_device::NAME);
    let reject = |verdict: SynVerdict| match verdict {
        SynVerdict::Accept => None,
        SynVerdict::Reset => Some("tcp reset"),
        SynVerdict::Unreachable => Some("icmpx host-unreachable"),
        SynVerdict::Prohibited => Some("icmpx admin-prohibited"),
    };
    for verdict in SynVerdict::ALL {
        let Some(with) = reject(verdict) else { continue };
        for limit in ["ip ttl", "ip6 hoplimit"] {
            let _ = writeln!(
                out,
                "    iifname \"{device}\" meta l4proto tcp {limit} {} counter reject with {with} comment \"refused by the far end\"",
                verdict.hop_limit()
            );
        }
    }
    for (family, version) in [("ip", "ipv4"), ("ip6", "ipv6")] {
        let _ = writeln!(
            out,
            "    iifname \"{device}\" meta nfproto {version} meta l4proto tcp tproxy {family} to :{port} meta mark set {mark:#x} \
             counter accept comment \"answered, {version}\""
        );
    }
    let _ = writeln!(out, "    iifname \"{device}\" drop");
}

/// Rules that give new SYNs to the daemon instead of the kernel, if it listens: without a listener `tproxy` ends the rule. SYNs behind
/// extension headers are answered at once.
fn held(intercept: &Intercept, out: &mut String) {
    let port = intercept.port;
    for (family, version, plain) in [("ip", "ipv4", "meta nfproto ipv4"), ("ip6", "ipv6", "ip6 nexthdr tcp")]
    {
        let _ = writeln!(
            out,
            "    {plain} tcp flags & (fin | syn | rst | ack) == syn tproxy {family} to :{port} log group {} snaplen {} counter drop \
             comment \"held, {version}\"",
            syn_log::GROUP,
            syn_log::LENGTH
        );
    }
}

/// Rules for QUIC that passes beside the association.
fn quic(intercept: &Intercept, out: &mut String) {
    let devices = names(&intercept.interfaces);
    let rules = match (intercept.quic, intercept.quic_rate) {
        (Quic::Refuse, _) => {
            vec![format!(
                "iifname {devices} udp dport 443 counter reject with icmpx port-unreachable comment \"QUIC refused\""
            )]
        }
        (Quic::Limit, Some(rate)) => {
            let bytes = (rate.as_bps() / 8).max(1);
            // A burst of a tenth of a second, and at least of a few packets.
            let burst = (bytes / 10).max(15_000);
            let over = format!(
                "limit rate over {bytes} bytes/second burst {burst} bytes counter drop comment \"QUIC over its rate\""
            );
            vec![
                format!("iifname {devices} udp dport 443 {over}"),
                format!("oifname {devices} udp sport 443 {over}"),
            ]
        }
        _ => return,
    };
    out.push_str("  chain quic {\n    type filter hook forward priority filter; policy accept;\n");
    for rule in rules {
        let _ = writeln!(out, "    {rule}");
    }
    out.push_str("  }\n");
}

/// UDP tunnels, which encrypt and carry TCP with its own congestion control: L2TP, OpenVPN, WireGuard.
const UDP_TUNNELS: [RangeInclusive<u16>; 3] = [1194..=1194, 1701..=1701, 51_820..=51_820];

/// Rules that intercept datagrams, after those that pass.
fn datagrams(intercept: &Intercept, out: &mut String) {
    if !intercept.takes_datagrams() {
        return;
    }
    let tunnels = [intercept.except_ports.as_slice(), &UDP_TUNNELS].concat();
    let _ = writeln!(out, "    udp dport {} counter accept comment \"tunnels\"", ports(&tunnels));
    let dns = intercept.dns == Dns::Cache;
    match (intercept.udp, intercept.quic, dns) {
        (UdpRule::Carry, Quic::Carry, _) => {}
        (UdpRule::Carry, ..) => out.push_str("    udp dport 443 accept\n"),
        (UdpRule::Pass, Quic::Carry, true) => out.push_str("    udp dport != { 53, 443 } accept\n"),
        (UdpRule::Pass, Quic::Carry, false) => out.push_str("    udp dport != 443 accept\n"),
        (UdpRule::Pass, ..) => out.push_str("    udp dport != 53 accept\n"),
    }
    let (port, mark) = (intercept.port, intercept.mark);
    for (family, version) in [("ip", "ipv4"), ("ip6", "ipv6")] {
        let _ = writeln!(
            out,
            "    meta nfproto {version} meta l4proto udp tproxy {family} to :{port} meta mark set {mark:#x} counter accept \
             comment \"datagrams, {version}\""
        );
    }
    // Reached without a listener.
    out.push_str(match intercept.fail {
        Fail::Open => "    meta l4proto udp accept\n",
        Fail::Closed => {
            "    meta l4proto udp counter reject with icmpx port-unreachable comment \"datagrams refused\"\n"
        }
    });
}

/// Rules that pass packets unsplit.
fn selection(config: &Config, intercept: &Intercept, out: &mut String) {
    let _ = writeln!(out, "    iifname != {} accept", names(&intercept.interfaces));
    out.push_str("    meta l4proto { esp, ah } counter accept comment \"IPsec\"\n");
    out.push_str(match intercept.takes_datagrams() {
        true => "    meta l4proto != { tcp, udp } accept\n",
        false => "    meta l4proto != tcp accept\n",
    });
    out.push_str("    fib daddr type { local, broadcast, multicast } accept\n");
    // Tunnels are counted, to explain why they are not accelerated.
    let tunnels = [intercept.except_ports.as_slice(), &[1194..=1194, 1723..=1723]].concat();
    let _ = writeln!(out, "    tcp dport {} counter accept comment \"tunnels\"", ports(&tunnels));
    if !intercept.except_marks.is_empty() {
        let _ = writeln!(
            out,
            "    meta mark {} counter accept comment \"except_marks\"",
            marks(&intercept.except_marks)
        );
    }
    if !intercept.marks.is_empty() {
        let _ = writeln!(out, "    meta mark != {} accept", marks(&intercept.marks));
    }
    if !intercept.ports.is_empty() {
        let _ = writeln!(out, "    tcp dport != {} accept", ports(&intercept.ports));
    }
    let special: Vec<Prefix> = SPECIAL.iter().map(|text| text.parse().expect("a range")).collect();
    let special = special.into_iter().filter(|prefix| !config.allow.contains(prefix));
    let except: Vec<Prefix> = special.chain(intercept.except.iter().copied()).collect();
    addresses("daddr", "", &except, out);
    let terminals = config.terminals.values().flat_map(|terminal| terminal.prefixes.iter().copied());
    let to: Vec<Prefix> = match config.role {
        Role::Hub => terminals.collect(),
        Role::Terminal | Role::Alone => intercept.to.clone(),
    };
    if config.role == Role::Hub || !to.is_empty() {
        addresses("daddr", "!= ", &to, out);
    }
}

/// Passes packets whose address is in one of these ranges, or with `not` in none of them.
fn addresses(which: &str, not: &str, prefixes: &[Prefix], out: &mut String) {
    for (family, version, v4) in [("ip", "ipv4", true), ("ip6", "ipv6", false)] {
        let own: Vec<String> =
            prefixes.iter().filter(|prefix| prefix.is_ipv4() == v4).map(Prefix::to_string).collect();
        match (own.is_empty(), not.is_empty()) {
            (false, _) => _ = writeln!(out, "    {family} {which} {not}{{ {} }} accept", own.join(", ")),
            (true, true) => {}
            (true, false) => _ = writeln!(out, "    meta nfproto {version} accept"),
        }
    }
}

fn marks(marks: &[u32]) -> String {
    let written: BTreeSet<String> = marks.iter().map(|mark| format!("{mark:#x}")).collect();
    format!("{{ {} }}", written.into_iter().collect::<Vec<_>>().join(", "))
}

fn names(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("{{ {} }}", quoted.join(", "))
}

fn ports(ports: &[RangeInclusive<u16>]) -> String {
    let mut sorted: Vec<(u16, u16)> = ports.iter().map(|ports| (*ports.start(), *ports.end())).collect();
    sorted.sort_unstable();
    // nft refuses overlapping ranges.
    let mut merged: Vec<(u16, u16)> = Vec::new();
    for (first, last) in sorted {
        match merged.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    let written = merged.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    format!("{{ {} }}", written.collect::<Vec<_>>().join(", "))
}

/// Replaces the table in one transaction.
pub fn apply(ruleset: &str) -> io::Result<()> {
    nft(ruleset)
}

/// Removes the table, if it exists.
pub fn remove() -> io::Result<()> {
    nft("table inet skyhop\ndelete table inet skyhop\n")
}

fn nft(commands: &str) -> io::Result<()> {
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => io::Error::new(
                e.kind(),
                "there is no program nft, by which connections are intercepted: install nftables",
            ),
            _ => e,
        })?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(commands.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("no reason given").trim();
    let hint = if first.contains("Operation not permitted") { " (needs CAP_NET_ADMIN)" } else { "" };
    Err(io::Error::other(format!("nft: {first}{hint}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_sorted_and_merged() {
        assert_eq!(ports(&[443..=443, 80..=80]), "{ 80, 443 }");
        assert_eq!(ports(&[500..=600, 550..=700, 701..=701, 9..=9]), "{ 9, 500-701 }");
    }
}
