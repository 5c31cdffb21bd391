//! Common options of `skyhop stp`: keys, sizes, rates, addresses.
//!
//! Follows docs/stp-hosts.md.
//! Differs from a scenario: these are real hosts, so a mistake ends the command before a packet is sent.
//! Leaves out configuration files.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use skyhop_live::associations::Config as Associations;
use skyhop_live::keys::Keys;
use skyhop_live::seal::Cipher;
use skyhop_live::socket::Carrier;
use skyhop_live::{Notice, Options, Security};
use skyhop_units::{Bytes, Rate, Span};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

/// The congestion control of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CongestionArg {
    /// Learn the path's rate, and back off when the round-trip time grows.
    Delay,
    /// TCP's window.
    Window,
    /// Always send at the rate given by --rate.
    Rate,
}

/// Options of every command that opens a socket.
#[derive(Debug, Args)]
pub struct Common {
    /// Key file: one shared by both hosts, or this host's own.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub key: Option<PathBuf>,
    /// The other host's public key, for a key of this host's own; may be repeated by a server.
    #[arg(long = "peer", value_name = "FILE", requires = "key")]
    pub peers: Vec<PathBuf>,
    /// Use no encryption and no authentication; for measurement only.
    #[arg(long)]
    pub insecure: bool,
    /// Cipher of the associations that this host opens: aes-128-gcm or chacha20-poly1305.
    #[arg(long, value_name = "CIPHER", default_value = "aes-128-gcm")]
    pub cipher: Cipher,
    /// MTU of the path in bytes; if left out it is probed, from 1280 to 1500.
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// Highest sending rate; with --congestion rate the exact rate.
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// Congestion control; `rate` if --rate is given, else `delay`.
    #[arg(long, value_enum, value_name = "HOW")]
    pub congestion: Option<CongestionArg>,
    /// Largest amount of received data held in memory, for the application and after gaps.
    #[arg(long, value_name = "SIZE", default_value = "64 MB")]
    pub window: Bytes,
    /// Largest amount of data that all connections hold in memory together, received or to be sent.
    #[arg(long, value_name = "SIZE", default_value = "512 MB")]
    pub memory: Bytes,
    /// Number of packets by which one may be late before it counts as a replay.
    #[arg(long, value_name = "PACKETS", default_value_t = 65_536, value_parser = crate::command::values::whole::<u32>(64..=1 << 24))]
    pub replay_window: u32,
    /// Protocol number for STP directly over IPv4 in place of UDP; needs the privilege for raw sockets.
    #[arg(long, value_name = "PROTOCOL", num_args = 0..=1, default_missing_value = "253")]
    pub ip: Option<u8>,
    /// New file for the secrets of each association, so that captures can be decrypted.
    #[arg(long, value_name = "FILE")]
    pub key_log: Option<PathBuf>,
    /// Print neither progress nor warnings.
    #[arg(long, short)]
    pub quiet: bool,
}

impl Common {
    /// The endpoint's options. With `moment` a temporary key is used if none is given, as both ends are here.
    pub fn options(&self, moment: bool) -> Result<Options, Failure> {
        let keys = match &self.key {
            Some(key) => {
                Some(Keys::read(key, &self.peers).map_err(|e| Failure::Scenario(format!("--key: {e}")))?)
            }
            None if self.insecure => None,
            None if moment => Some(Keys::generate_shared()),
            None => {
                let message = "no key: give one with --key (\"skyhop stp key --out link.key\" makes it), or measure with \
                               --insecure";
                return Err(Failure::Scenario(message.into()));
            }
        };
        if keys.is_none() {
            self.warn(
                "INSECURE: anybody on the path can read, alter and forge packets; for measurements only",
            );
        }
        let security = match keys {
            Some(keys) => {
                let mut config = Associations::new(keys);
                config.sealing.cipher = self.cipher;
                config.sealing.replay_window = self.replay_window;
                config.key_log = self.key_log.is_some();
                Security::Sealed(Box::new(config))
            }
            None if self.key_log.is_some() => {
                return Err(Failure::Scenario("--key-log: without encryption there are no secrets".into()));
            }
            None => Security::Insecure,
        };
        if self.key_log.is_some() {
            self.warn("anyone with the key log can decrypt all traffic");
        }
        let mut options = Options::new(security);
        options.key_log = self.key_log.clone();
        if !self.quiet {
            options.notices = Some(Arc::new(|notice: &Notice| {
                if let Notice::Unanswered(..) = notice {
                    eprintln!("skyhop: {notice}");
                }
            }));
        }
        options.carrier = self.ip.map_or(Carrier::Udp, Carrier::Ip);
        if let Some(mtu) = self.mtu {
            (options.mtu, options.mtu_base) = (mtu, None);
        }
        if self.window.get() < 2 * u64::from(options.mtu) {
            return Err(Failure::Scenario(format!("--window: {} is less than two packets", self.window)));
        }
        if self.memory.get() < skyhop_live::MEMORY_LEAST {
            return Err(Failure::Scenario(format!(
                "--memory: {} is too small for one stream: at least {}",
                self.memory,
                Bytes::new(skyhop_live::MEMORY_LEAST)
            )));
        }
        options.memory = self.memory.get();
        options.stp.window = self.window.get();
        options.stp.max_rate = self.rate;
        // A side that has sent everything and waits for the other's word asks whether there still is another side.
        options.stp.keep_alive = Some(KEEP_ALIVE);
        options.stp.congestion = match (self.congestion, self.rate) {
            (Some(CongestionArg::Rate), None) => {
                return Err(Failure::Scenario(
                    "--congestion rate: give the promised rate with --rate".into(),
                ));
            }
            (Some(CongestionArg::Rate), _) | (None, Some(_)) => skyhop_live::Congestion::Rate,
            (Some(CongestionArg::Window), _) => skyhop_live::Congestion::Window,
            (Some(CongestionArg::Delay) | None, _) => skyhop_live::Congestion::Delay,
        };
        Ok(options)
    }

    /// Prints a warning.
    pub fn warn(&self, message: &str) {
        // A warning of insecurity is printed even with --quiet.
        if !self.quiet || message.starts_with("INSECURE") {
            eprintln!("warning: {message}");
        }
    }
}

/// Interval of questions to a silent peer.
const KEEP_ALIVE: Span = Span::from_secs(15);

/// Parses a host and a port; STP's port by default.
pub fn address(text: &str) -> Result<SocketAddr, Failure> {
    let failed = |e: String| Failure::Scenario(format!("address \"{text}\": {e}"));
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let bare = inside.parse::<std::net::IpAddr>().map(|ip| SocketAddr::new(ip, skyhop_live::UDP_PORT));
    if let Ok(address) = bare {
        return Ok(address);
    }
    let found = match text.rsplit_once(':') {
        Some(_) => text.to_socket_addrs(),
        None => (text, skyhop_live::UDP_PORT).to_socket_addrs(),
    };
    found.map_err(|e| failed(e.to_string()))?.next().ok_or_else(|| failed("no such host".into()))
}

/// The failure for a socket that cannot be opened, which the user can correct; later errors are the network's.
pub fn bind_failure(address: SocketAddr, e: std::io::Error) -> Failure {
    use std::io::ErrorKind::*;
    match e.kind() {
        AddrInUse => Failure::Scenario(format!("{address}: the port is in use; choose another")),
        AddrNotAvailable => Failure::Scenario(format!("{address}: not an address of this host")),
        PermissionDenied => {
            Failure::Scenario(format!("{address}: not allowed: {e} (raw sockets and low ports need root)"))
        }
        AlreadyExists => Failure::Scenario("--key-log: the file exists and is not overwritten".into()),
        InvalidInput | Unsupported => Failure::Scenario(e.to_string()),
        _ => Failure::Run(format!("{address}: {e}")),
    }
}
