//! The configuration file of a gateway.
//!
//! Follows the scenario's rules: values with units are strings, an unknown key is an error that names the nearest valid key, exit code 2.
//! Differs: key files that it names are read too, relative to its own folder.
//! Leaves out defaults that depend on the machine.

use crate::dscp::{Dscp, DscpRow, DscpTable};
use crate::file_text::{ConfigError, Ports, Text};
use crate::prefix::Prefix;
use crate::quotas::Quota;
use crate::user_limits::UserLimits;
use serde::Deserialize;
use skyhop_live::UDP_PORT;
use skyhop_live::keys::{Keys, PublicKey};
use skyhop_text::spelling;
use skyhop_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::path::Path;
use toml::Spanned;

/// The side of the satellite link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// On the Internet's side, with terminals.
    Hub,
    /// On the users' side.
    Terminal,
    /// On the Internet's side, for users without a terminal gateway.
    Alone,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Hub => "hub",
            Role::Terminal => "terminal",
            Role::Alone => "hub alone",
        })
    }
}

/// Treatment of new connections while they cannot be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fail {
    /// New connections pass unsplit.
    #[default]
    Open,
    /// New connections are refused.
    Closed,
}

/// Treatment of users' QUIC, which cannot be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quic {
    /// QUIC passes beside the association.
    #[default]
    Pass,
    /// QUIC is carried in the association, like other datagrams.
    Carry,
    /// QUIC passes beside the association, limited to `quic_rate` in each direction.
    Limit,
    /// QUIC is refused, so that browsers fall back to TCP.
    Refuse,
}

/// The time at which a client's handshake is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// At once, before the server is asked: a connection costs no round trip over the link.
    #[default]
    AtOnce,
    /// After the server's answer: a connection that the server refuses is refused to the client.
    AfterServer,
}

/// Treatment of users' UDP, except QUIC and DNS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UdpRule {
    /// UDP passes beside the association.
    #[default]
    Pass,
    /// UDP is carried in the association.
    Carry,
}

/// Treatment of users' queries to name servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dns {
    /// Queries are treated like other UDP.
    #[default]
    Pass,
    /// Queries are answered from a cache; the others go to the server in a stream of the highest priority.
    Cache,
}

/// The source address that a server sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceAddress {
    /// The gateway's address.
    #[default]
    Own,
    /// The client's address, if packets to it are routed through this gateway.
    Client,
}

/// Connections that the firewall intercepts.
#[derive(Debug, Clone, PartialEq)]
pub struct Intercept {
    /// Devices on which they arrive.
    pub interfaces: Vec<String>,
    /// Ports of the servers.
    pub ports: Vec<RangeInclusive<u16>>,
    /// Exceptions: ports that pass unsplit.
    pub except_ports: Vec<RangeInclusive<u16>>,
    /// Servers; all of them if empty.
    pub to: Vec<Prefix>,
    /// Exceptions: servers whose connections pass unsplit.
    pub except: Vec<Prefix>,
    /// Marks of the firewall; connections with any mark if empty.
    pub marks: Vec<u32>,
    /// Exceptions: marks of connections that pass unsplit.
    pub except_marks: Vec<u32>,
    /// Treatment of new connections while they cannot be split.
    pub fail: Fail,
    /// The time at which clients' handshakes are completed.
    pub handshake: Handshake,
    /// Treatment of users' QUIC.
    pub quic: Quic,
    /// Limit of QUIC in each direction, if any.
    pub quic_rate: Option<Rate>,
    /// Treatment of users' other UDP.
    pub udp: UdpRule,
    /// Treatment of users' queries to name servers.
    pub dns: Dns,
    /// The local port to which they are redirected.
    pub port: u16,
    /// The mark of their packets, and the number of their routing table.
    pub mark: u32,
}

impl Intercept {
    /// Returns true if datagrams are intercepted too.
    pub fn takes_datagrams(&self) -> bool {
        self.udp == UdpRule::Carry || self.quic == Quic::Carry || self.dns == Dns::Cache
    }
}

/// A local port that is forwarded to a server at the far end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// The local port.
    pub listen: SocketAddr,
    /// Host and port of the server.
    pub to: (String, u16),
}

/// A terminal that a hub serves.
#[derive(Debug, Clone, PartialEq)]
pub struct Terminal {
    /// Its public key.
    pub key: PublicKey,
    /// Addresses of its users.
    pub prefixes: Vec<Prefix>,
    /// The rate limit towards it, in place of the hub's `rate`.
    pub rate: Option<Rate>,
    /// Its quota on the link.
    pub quota: Option<Quota>,
}

/// The configuration of a gateway.
#[derive(Debug, Clone)]
pub struct Config {
    /// The side of the link.
    pub role: Role,
    /// Address of the association's socket.
    pub listen: SocketAddr,
    /// The hub's address, for a terminal.
    pub hub: Option<String>,
    /// Own keys and the peers' public keys.
    pub keys: Keys,
    /// Rate limit of what this end sends.
    pub rate: Option<Rate>,
    /// Congestion control of the kernel's connections towards users, for a hub alone.
    pub congestion: Option<String>,
    /// True if the network guarantees that rate.
    pub promised: bool,
    /// Buffer of an association's connections in each direction, bytes.
    pub memory: u64,
    /// Limit of connections.
    pub connections: usize,
    /// The MTU of the path between the gateways, at the network layer.
    pub mtu: u32,
    /// The timeout of a connection attempt to a server.
    pub connect_timeout: Span,
    /// The time without packets after which a peer is given up and its connections are reset.
    pub silence: Span,
    /// The source address that a server sees.
    pub source: SourceAddress,
    /// Ranges of special-purpose addresses to which connections are allowed.
    pub allow: Vec<Prefix>,
    /// Code points and priorities of connections.
    pub dscp: DscpTable,
    /// Connections that the firewall intercepts.
    pub intercept: Option<Intercept>,
    /// A SOCKS5 proxy, with its password if it has one.
    pub socks: Option<(SocketAddr, Option<(String, String)>)>,
    /// Ports that are forwarded to the far end.
    pub forwards: Vec<Forward>,
    /// Metrics and the status.
    pub metrics: Option<SocketAddr>,
    /// A hub's terminals, by name.
    pub terminals: BTreeMap<String, Terminal>,
    /// Rates and quotas of single users.
    pub users: Vec<UserLimits>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    role: Role,
    listen: Option<Spanned<String>>,
    hub: Option<Spanned<String>>,
    key: Option<Spanned<String>>,
    hub_key: Option<Spanned<String>>,
    rate: Option<Spanned<String>>,
    congestion: Option<Spanned<String>>,
    #[serde(default)]
    promised: bool,
    memory: Option<Spanned<String>>,
    connections: Option<Spanned<i64>>,
    mtu: Option<Spanned<i64>>,
    connect_timeout: Option<Spanned<String>>,
    silence: Option<Spanned<String>>,
    #[serde(default)]
    source: SourceAddress,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
    #[serde(default)]
    dscp: Vec<DscpFile>,
    intercept: Option<InterceptFile>,
    socks: Option<SocksFile>,
    #[serde(default)]
    forward: Vec<ForwardFile>,
    metrics: Option<Spanned<String>>,
    #[serde(default)]
    terminals: BTreeMap<String, TerminalFile>,
    #[serde(default)]
    users: Vec<UsersFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsersFile {
    #[serde(default)]
    addresses: Vec<Spanned<String>>,
    up: Option<Spanned<String>>,
    down: Option<Spanned<String>>,
    quota: Option<Spanned<String>>,
    quota_period: Option<Spanned<String>>,
    connections: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InterceptFile {
    interfaces: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    ports: Vec<Spanned<String>>,
    except_ports: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    to: Vec<Spanned<String>>,
    #[serde(default)]
    except: Vec<Spanned<String>>,
    #[serde(default)]
    marks: Vec<Spanned<i64>>,
    #[serde(default)]
    except_marks: Vec<Spanned<i64>>,
    #[serde(default)]
    fail: Fail,
    handshake: Option<Spanned<Handshake>>,
    #[serde(default)]
    quic: Quic,
    quic_rate: Option<Spanned<String>>,
    udp: Option<Spanned<UdpRule>>,
    dns: Option<Spanned<Dns>>,
    port: Option<Spanned<i64>>,
    mark: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SocksFile {
    listen: Spanned<String>,
    user: Option<String>,
    password: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForwardFile {
    listen: Spanned<String>,
    to: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TerminalFile {
    key: Spanned<String>,
    #[serde(default)]
    prefixes: Vec<Spanned<String>>,
    rate: Option<Spanned<String>>,
    quota: Option<Spanned<String>>,
    quota_period: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DscpFile {
    client: Vec<Spanned<String>>,
    server: Option<Spanned<String>>,
    back: Option<Spanned<String>>,
    priority: Option<Spanned<i64>>,
}

/// Ports of encrypted tunnels, which a split would only delay. SSH is not one of them, so it is split.
const TUNNELS: [RangeInclusive<u16>; 2] = [500..=500, 4500..=4500];
/// The lowest rate of a user, bit/s.
const USER_RATE_LEAST: u64 = 8000;
/// The default mark: the letters "sky" in ASCII.
pub const MARK: u32 = 0x736b79;

/// Host and port, with brackets around an IPv6 address.
pub fn host_and_port(text: &str) -> Option<(String, u16)> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some((address.ip().to_string(), address.port()));
    }
    let (host, port) = text.rsplit_once(':')?;
    let good =
        !host.is_empty() && host.len() <= 255 && host.bytes().all(|b| b.is_ascii_graphic() && b != b':');
    Some((good.then(|| host.to_owned())?, port.parse().ok().filter(|port| *port > 0)?))
}

impl Config {
    /// Reads a file, and the key files that it names.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            let hint = if e.kind() == std::io::ErrorKind::NotFound {
                spelling::hint_of_file(path)
            } else {
                String::new()
            };
            ConfigError::new(format!("{}: {e}{hint}", path.display()))
        })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a file, and the key files that it names, relative to `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let text = Text { path, text };
        let file = text.parse()?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let terminals = terminals(&text, &file)?;
        let keys = keys(&text, &file, folder, &terminals)?;
        let any = match file.role {
            Role::Hub => SocketAddr::from(([0_u16; 8], UDP_PORT)),
            Role::Terminal => SocketAddr::from(([0_u16; 8], 0)),
            // No peer can reach an unused socket.
            Role::Alone => SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        if file.role == Role::Terminal && file.hub.is_none() {
            return Err(text.error(0, "a terminal needs `hub`, the hub's address"));
        }
        if let (Role::Hub, Some(hub)) = (file.role, &file.hub) {
            return Err(text.error(hub.span().start, "hub: this is the hub; terminals name it"));
        }
        alone(&text, &file)?;
        if let Some(hub) = &file.hub
            && host_and_port(&with_port(hub.get_ref())).is_none()
        {
            let message = format!(
                "hub: \"{}\" is no host; \"203.0.113.1\" and \"hub.example:57824\" are",
                hub.get_ref()
            );
            return Err(text.error(hub.span().start, message));
        }
        let memory = match &file.memory {
            Some(memory) => {
                let bytes: Bytes = text.value("memory", memory)?;
                if bytes.get() < 1 << 20 {
                    let message = format!("memory: {bytes} is less than 1 MiB, which one connection needs");
                    return Err(text.error(memory.span().start, message));
                }
                bytes.get()
            }
            None => 64 << 20,
        };
        let config = Config {
            role: file.role,
            listen: file
                .listen
                .as_ref()
                .map_or(Ok(any), |listen| text.address("listen", listen, Some(UDP_PORT)))?,
            hub: file.hub.as_ref().map(|hub| with_port(hub.get_ref())),
            keys,
            rate: file.rate.as_ref().map(|rate| text.value("rate", rate)).transpose()?,
            congestion: file.congestion.as_ref().map(|name| name.get_ref().clone()),
            promised: file.promised,
            memory,
            connections: text.number("connections", &file.connections, 1..=1_000_000, 16_384)? as usize,
            mtu: text.number("mtu", &file.mtu, 576..=65_535, 1500)? as u32,
            connect_timeout: span(&text, "connect_timeout", &file.connect_timeout, 30)?,
            silence: span(&text, "silence", &file.silence, 120)?,
            source: file.source,
            allow: text.values("allow", &file.allow)?,
            dscp: dscp(&text, &file.dscp)?,
            intercept: file.intercept.as_ref().map(|from| intercept(&text, file.role, from)).transpose()?,
            socks: file.socks.as_ref().map(|from| socks(&text, from)).transpose()?,
            forwards: file.forward.iter().map(|from| forward(&text, from)).collect::<Result<_, _>>()?,
            metrics: file.metrics.as_ref().map(|at| text.address("metrics", at, Some(9464))).transpose()?,
            terminals,
            users: users(&text, &file)?,
        };
        if config.promised && config.rate.is_none() {
            return Err(text.error(0, "promised: give the promised rate as `rate`"));
        }
        if let (Some(metrics), Some(value)) = (config.metrics, &file.metrics)
            && !metrics.ip().is_loopback()
        {
            let message = "metrics: expected a loopback address, as metrics show who uses the link";
            return Err(text.error(value.span().start, message));
        }
        Ok(config)
    }

    /// Treatment of queries to name servers.
    pub fn dns(&self) -> Dns {
        self.intercept.as_ref().map_or(Dns::Pass, |intercept| intercept.dns)
    }

    /// Rates of individual terminals.
    pub fn rates(&self) -> BTreeMap<PublicKey, Rate> {
        self.terminals.values().filter_map(|terminal| Some((terminal.key, terminal.rate?))).collect()
    }

    /// The hub's address, resolved.
    pub fn hub_address(&self) -> std::io::Result<Option<SocketAddr>> {
        let Some(hub) = &self.hub else { return Ok(None) };
        let found = hub.to_socket_addrs()?.next();
        found.map(Some).ok_or_else(|| std::io::Error::other(format!("{hub}: no such host")))
    }
}

fn with_port(host: &str) -> String {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(ip) => SocketAddr::new(ip, UDP_PORT).to_string(),
        Err(_) if host.contains(':') => host.to_owned(),
        Err(_) => format!("{host}:{UDP_PORT}"),
    }
}

fn span(
    text: &Text<'_>,
    key: &str,
    value: &Option<Spanned<String>>,
    default_s: u64,
) -> Result<Span, ConfigError> {
    let Some(value) = value else { return Ok(Span::from_secs(default_s)) };
    let span: Span = text.value(key, value)?;
    if span < Span::from_secs(1) {
        return Err(text.error(value.span().start, format_args!("{key}: at least 1 s")));
    }
    Ok(span)
}

fn terminals(text: &Text<'_>, file: &File) -> Result<BTreeMap<String, Terminal>, ConfigError> {
    let mut terminals = BTreeMap::new();
    let mut keys = BTreeMap::new();
    for (name, from) in &file.terminals {
        let at = from.key.span().start;
        if file.role != Role::Hub {
            return Err(text.error(at, format_args!("terminals: a {} has none; a hub does", file.role)));
        }
        let key = PublicKey::parse(from.key.get_ref()).ok_or_else(|| {
            text.error(
                at,
                format_args!("terminals.{name}.key: no public key; \"skyhop gateway add {name}\" makes one"),
            )
        })?;
        if let Some(other) = keys.insert(key, name) {
            return Err(text.error(at, format_args!("terminals.{name}.key: it is that of {other} too")));
        }
        let prefixes = text.values(&format!("terminals.{name}.prefixes"), &from.prefixes)?;
        let rate =
            from.rate.as_ref().map(|rate| text.value(&format!("terminals.{name}.rate"), rate)).transpose()?;
        let quota = quota(text, &format!("terminals.{name}"), &from.quota, &from.quota_period)?;
        terminals.insert(name.clone(), Terminal { key, prefixes, rate, quota });
    }
    Ok(terminals)
}

fn users(text: &Text<'_>, file: &File) -> Result<Vec<UserLimits>, ConfigError> {
    let mut entries: Vec<UserLimits> = Vec::new();
    for from in &file.users {
        let given = from.up.iter().chain(&from.down).chain(&from.quota).chain(&from.addresses).next();
        let given = given.map(Spanned::span).or(from.connections.as_ref().map(Spanned::span));
        let at = given.map_or(0, |span| span.start);
        if file.role == Role::Hub {
            return Err(text.error(
                at,
                "users: of the users' side only; a hub has a `rate` and a `quota` for each terminal",
            ));
        }
        if entries.iter().any(|before| before.addresses.is_empty()) {
            return Err(text.error(at, "users: an entry before this one is for all addresses"));
        }
        let mut rates = [None; 2];
        for (rate, (key, value)) in rates.iter_mut().zip([("users.up", &from.up), ("users.down", &from.down)])
        {
            let Some(value) = value else { continue };
            let parsed: Rate = text.value(key, value)?;
            if parsed.as_bps() < USER_RATE_LEAST {
                let message = format!(
                    "{key}: {parsed} is less than 8 kbit/s, at which a packet takes more than a second"
                );
                return Err(text.error(value.span().start, message));
            }
            *rate = Some(parsed);
        }
        let addresses = text.values("users.addresses", &from.addresses)?;
        let quota = quota(text, "users", &from.quota, &from.quota_period)?;
        let connections =
            text.number("users.connections", &from.connections, 1..=1_000_000, 1_000_000)? as usize;
        entries.push(UserLimits { addresses, rates, quota, connections });
    }
    Ok(entries)
}

/// The quota of the table `of`.
fn quota(
    text: &Text<'_>,
    of: &str,
    quota: &Option<Spanned<String>>,
    period: &Option<Spanned<String>>,
) -> Result<Option<Quota>, ConfigError> {
    let Some(value) = quota else {
        return match period {
            Some(period) => {
                let message = format!("{of}.quota_period: of no `quota`; give the bytes as `quota`");
                Err(text.error(period.span().start, message))
            }
            None => Ok(None),
        };
    };
    let bytes: Bytes = text.value(&format!("{of}.quota"), value)?;
    let period = span(text, &format!("{of}.quota_period"), period, 30 * 86_400)?;
    Ok(Some(Quota { bytes: bytes.get(), period }))
}

fn dscp(text: &Text<'_>, rows: &[DscpFile]) -> Result<DscpTable, ConfigError> {
    let mut table = DscpTable::default();
    for row in rows {
        let client: Vec<Dscp> = text.values("dscp.client", &row.client)?;
        for (dscp, value) in client.iter().zip(&row.client) {
            if table.0.iter().any(|before| before.client.contains(dscp)) {
                let message = format!("dscp.client: {dscp} is in a row before this one too");
                return Err(text.error(value.span().start, message));
            }
        }
        let one = |key: &str, value: &Option<Spanned<String>>| {
            value.as_ref().map(|value| text.value(key, value)).transpose()
        };
        let priority = match &row.priority {
            Some(_) => Some(text.number("dscp.priority", &row.priority, 0..=7, 0)? as u8),
            None => None,
        };
        let (server, back) = (one("dscp.server", &row.server)?, one("dscp.back", &row.back)?);
        table.0.push(DscpRow { client, server, back, priority });
    }
    Ok(table)
}

/// Checks the keys of a hub alone: it accepts intercepted connections only and has no far gateway; a congestion control is set for this
/// role alone.
fn alone(text: &Text<'_>, file: &File) -> Result<(), ConfigError> {
    let forward = file.forward.first().map(|forward| &forward.listen);
    let socks = file.socks.as_ref().map(|socks| &socks.listen);
    if file.role != Role::Alone {
        return file.congestion.as_ref().map_or(Ok(()), |congestion| {
            let message =
                "congestion: of a hub alone only (role = \"alone\"); between two gateways it is STP's";
            Err(text.error(congestion.span().start, message))
        });
    }
    let far = "a hub alone has no far gateway";
    let others = [
        ("hub", &file.hub),
        ("hub_key", &file.hub_key),
        ("listen", &file.listen),
        ("silence", &file.silence),
    ];
    let others = others.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    let more =
        [("forward", forward), ("socks", socks)].into_iter().filter_map(|(key, value)| Some((key, value?)));
    if let Some((key, value)) = others.chain(more).next() {
        return Err(text.error(value.span().start, format_args!("{key}: {far}")));
    }
    if file.intercept.is_none() {
        return Err(text.error(0, "a hub alone needs [intercept] with the devices over which users come in"));
    }
    if file.promised {
        return Err(
            text.error(0, "promised: a hub alone sends by the kernel's TCP, which is promised nothing")
        );
    }
    Ok(())
}

fn keys(
    text: &Text<'_>,
    file: &File,
    folder: &Path,
    terminals: &BTreeMap<String, Terminal>,
) -> Result<Keys, ConfigError> {
    let Some(key) = &file.key else {
        return match file.role {
            Role::Alone => Ok(Keys::generate_pair().0),
            _ => Err(text.error(0, "a hub and a terminal need `key`, the file of their private key")),
        };
    };
    let at = key.span().start;
    let path = folder.join(key.get_ref());
    match file.role {
        Role::Alone => Err(text.error(at, "key: a hub alone has no far gateway, and needs no key")),
        Role::Terminal => {
            let Some(hub_key) = &file.hub_key else {
                return Err(text.error(at, "a terminal needs `hub_key`, the hub's public key"));
            };
            let hub = PublicKey::parse(hub_key.get_ref()).ok_or_else(|| {
                text.error(
                    hub_key.span().start,
                    "hub_key: no public key; it is the line of the hub's file KEY.pub",
                )
            })?;
            Keys::read_own(&path, vec![hub]).map_err(|e| text.error(at, format_args!("key: {e}")))
        }
        Role::Hub => {
            if let Some(hub_key) = &file.hub_key {
                return Err(
                    text.error(hub_key.span().start, "hub_key: a hub has no other hub; its own key is `key`")
                );
            }
            Keys::read_own(&path, terminals.values().map(|terminal| terminal.key).collect())
                .map_err(|e| text.error(at, format_args!("key: {e}")))
        }
    }
}

fn intercept(text: &Text<'_>, role: Role, from: &InterceptFile) -> Result<Intercept, ConfigError> {
    let interfaces: Vec<String> =
        from.interfaces.get_ref().iter().map(|name| name.get_ref().clone()).collect();
    for name in from.interfaces.get_ref() {
        let good = |b: u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'/' | b'\\');
        if name.get_ref().is_empty() || name.get_ref().len() > 15 || !name.get_ref().bytes().all(good) {
            let message = format!("intercept.interfaces: \"{}\" is no name of a device", name.get_ref());
            return Err(text.error(name.span().start, message));
        }
    }
    if interfaces.is_empty() {
        let at = from.interfaces.span().start;
        return Err(text.error(at, "intercept.interfaces: name the devices over which users come in"));
    }
    let ports = |key: &str, values: &[Spanned<String>]| -> Result<Vec<RangeInclusive<u16>>, ConfigError> {
        Ok(text.values::<Ports>(key, values)?.into_iter().map(|ports| ports.0).collect())
    };
    let marks = |key: &str, values: &[Spanned<i64>]| -> Result<Vec<u32>, ConfigError> {
        let numbers = text.numbers(key, values, 0..=i64::from(u32::MAX))?;
        Ok(numbers.into_iter().map(|mark| mark as u32).collect())
    };
    // Datagrams of a hub's users arrive in their terminals' streams, and a hub alone has no far gateway to carry them to.
    if role != Role::Terminal {
        let udp =
            from.udp.as_ref().filter(|udp| *udp.get_ref() != UdpRule::Pass).map(|udp| ("udp", udp.span()));
        let dns = from.dns.as_ref().filter(|dns| *dns.get_ref() != Dns::Pass).map(|dns| ("dns", dns.span()));
        if let Some((key, span)) = udp.or(dns) {
            let message =
                format!("intercept.{key}: of a terminal only, which carries its users' datagrams to the hub");
            return Err(text.error(span.start, message));
        }
        if from.quic == Quic::Carry {
            let at = from.interfaces.span().start;
            return Err(text.error(at, "intercept.quic: \"carry\" is of a terminal only"));
        }
    }
    let handshake = from.handshake.as_ref().map_or(Handshake::default(), |handshake| *handshake.get_ref());
    if let (Role::Alone, Handshake::AfterServer, Some(value)) = (role, handshake, &from.handshake) {
        let message =
            "intercept.handshake: \"after-server\" is for a pair of gateways; a hub alone answers at once";
        return Err(text.error(value.span().start, message));
    }
    let quic_rate =
        from.quic_rate.as_ref().map(|rate| text.value::<Rate>("intercept.quic_rate", rate)).transpose()?;
    let at = from.quic_rate.as_ref().unwrap_or(&from.interfaces.get_ref()[0]).span().start;
    match (from.quic, quic_rate) {
        (Quic::Limit, None) => {
            let message = "intercept.quic: \"limit\" needs `quic_rate`, the most that QUIC takes each way";
            return Err(text.error(at, message));
        }
        (Quic::Limit, Some(rate)) if rate.as_bps() < 8_000 => {
            return Err(text.error(at, format_args!("intercept.quic_rate: {rate}; at least 8 kbit/s")));
        }
        (Quic::Limit, Some(_)) | (_, None) => {}
        (_, Some(_)) => return Err(text.error(at, "intercept.quic_rate: of quic = \"limit\" only")),
    }
    Ok(Intercept {
        interfaces,
        ports: ports("intercept.ports", &from.ports)?,
        except_ports: match &from.except_ports {
            Some(values) => ports("intercept.except_ports", values)?,
            None => TUNNELS.to_vec(),
        },
        to: text.values("intercept.to", &from.to)?,
        except: text.values("intercept.except", &from.except)?,
        marks: marks("intercept.marks", &from.marks)?,
        except_marks: marks("intercept.except_marks", &from.except_marks)?,
        fail: from.fail,
        handshake,
        quic: from.quic,
        quic_rate,
        udp: from.udp.as_ref().map_or(UdpRule::default(), |udp| *udp.get_ref()),
        dns: from.dns.as_ref().map_or(Dns::default(), |dns| *dns.get_ref()),
        port: text.number("intercept.port", &from.port, 1..=65_535, i64::from(UDP_PORT) + 1)? as u16,
        mark: text.number("intercept.mark", &from.mark, 1..=i64::from(u32::MAX), i64::from(MARK))? as u32,
    })
}

fn socks(text: &Text<'_>, from: &SocksFile) -> Result<(SocketAddr, Option<(String, String)>), ConfigError> {
    let listen = text.address("socks.listen", &from.listen, Some(1080))?;
    let at = from.listen.span().start;
    let password = match (&from.user, &from.password) {
        (Some(user), Some(password)) if !user.is_empty() && !password.is_empty() => {
            if user.len() > 255 || password.len() > 255 {
                return Err(text.error(at, "socks: user and password have at most 255 bytes"));
            }
            Some((user.clone(), password.clone()))
        }
        (None, None) if listen.ip().is_loopback() => None,
        (None, None) => {
            return Err(text.error(
                at,
                format_args!("socks.listen: {listen} is open to everybody: give `user` and `password`, or listen on 127.0.0.1"),
            ));
        }
        _ => return Err(text.error(at, "socks: both `user` and `password`, or neither")),
    };
    Ok((listen, password))
}

fn forward(text: &Text<'_>, from: &ForwardFile) -> Result<Forward, ConfigError> {
    let to = host_and_port(from.to.get_ref()).ok_or_else(|| {
        let message =
            format!("forward.to: \"{}\" is no host with a port; \"www.example:80\" is", from.to.get_ref());
        text.error(from.to.span().start, message)
    })?;
    Ok(Forward { listen: text.address("forward.listen", &from.listen, None)?, to })
}
