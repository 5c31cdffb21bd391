//! `skyhop stp proxy`: unchanged programs of this host over STP, without privileges.
//!
//! Follows HT §5.1 ("the same API") by a SOCKS5 proxy and forwarded ports; the daemon is that of `skyhop gateway`, docs/gateway.md.
//! Differs from `skyhop gateway run` with the same file: nothing is intercepted.
//! Leaves out UDP.

use crate::failure::Failure;
use crate::gateway::{LogForm, daemon};
use clap::Args;
use skyhop_gateway::{Config, Forward, Role, SourceAddress, host_and_port};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Address of the SOCKS5 proxy, if neither file nor command name one.
const SOCKS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1080);

/// `skyhop stp proxy`.
#[derive(Debug, Args)]
pub struct Proxy {
    /// The file of a terminal, which "skyhop gateway add" has written at the hub; its key is beside it.
    pub file: PathBuf,
    /// Address of the SOCKS5 proxy: by default the file's, or 127.0.0.1:1080. Others than loopback need the file's password.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub socks: Option<SocketAddr>,
    /// A local port that leads to a server at the far end, for programs without SOCKS; may be repeated.
    #[arg(long, value_name = "[ADDRESS:]PORT=HOST:PORT", value_parser = forward)]
    pub forward: Vec<Forward>,
}

/// A forwarded port, on loopback unless an address is named.
fn forward(text: &str) -> Result<Forward, String> {
    let told = || "expected such as 8080=www.example:80, or 127.0.0.1:8080=www.example:80".to_owned();
    let (listen, to) = text.split_once('=').ok_or_else(told)?;
    let on_loopback = || listen.parse().ok().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let listen = listen.parse().ok().or_else(on_loopback).ok_or_else(told)?;
    Ok(Forward { listen, to: host_and_port(to).ok_or_else(told)? })
}

/// Runs the proxy until SIGTERM or SIGINT.
pub fn run(args: &Proxy) -> Result<(), Failure> {
    let wrong = |message: String| Failure::Scenario(format!("{}: {message}", args.file.display()));
    let mut config = Config::read(&args.file).map_err(|e| Failure::Scenario(e.to_string()))?;
    if config.role != Role::Terminal {
        return Err(wrong(format!("role: a proxy is a terminal, and this is the file of a {}", config.role)));
    }
    // Interception and clients' addresses need privileges.
    (config.intercept, config.source) = (None, SourceAddress::Own);
    let password = config.socks.take().map(|(address, password)| (Some(address), password));
    let (named, password) = password.unwrap_or_default();
    let address = args.socks.or(named).unwrap_or(SOCKS);
    if !address.ip().is_loopback() && password.is_none() {
        return Err(Failure::Scenario(format!(
            "--socks: {address} is open to everybody: give `user` and `password` in the file's [socks], or 127.0.0.1"
        )));
    }
    config.socks = Some((address, password));
    config.forwards.extend(args.forward.iter().cloned());
    let shown = config.socks.iter().map(|(address, _)| format!("SOCKS5 on {address}"));
    let forwards = config
        .forwards
        .iter()
        .map(|forward| format!("{} to {}:{}", forward.listen, forward.to.0, forward.to.1));
    let shown: Vec<String> = shown.chain(forwards).collect();
    eprintln!("skyhop stp proxy: {}", shown.join(", "));
    daemon(&args.file, config, None, (LogForm::Text, "skyhop stp proxy"))
}
