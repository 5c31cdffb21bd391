//! `skyhop gateway status`: a running gateway, read from its metrics' address.
//!
//! Follows docs/gateway.md. Differs from the metrics: it lists connections, and the limit of each.
//! Leaves out history, which Prometheus keeps.

use crate::failure::Failure;
use clap::Args;
use serde_json::Value;
use skyhop_gateway::Config;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

/// `skyhop gateway status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The gateway's file, which has the address of its metrics.
    pub file: PathBuf,
    /// Print it again each second, until interrupted.
    #[arg(long)]
    pub watch: bool,
    /// Print everything as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(args: &StatusArgs) -> Result<(), Failure> {
    let config = Config::read(&args.file).map_err(|e| Failure::Scenario(e.to_string()))?;
    let address = config.metrics.ok_or_else(|| {
        Failure::Scenario(format!(
            "{}: no `metrics` in the file, so there is no status; write metrics = \"127.0.0.1:9464\"",
            args.file.display()
        ))
    })?;
    loop {
        let body = ask(address).map_err(|e| {
            Failure::Run(format!("no gateway answers at {address}: {e}; \"skyhop gateway run\" runs one"))
        })?;
        let mut out = String::new();
        if args.watch {
            out.push_str("\x1b[H\x1b[2J");
        }
        if args.json {
            out.push_str(&body);
        } else {
            let status = serde_json::from_str(&body).map_err(|e| Failure::Run(format!("{address}: {e}")))?;
            table(&status, &mut out);
        }
        crate::command::print(&out)?;
        if !args.watch {
            return Ok(());
        }
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "a person looks at it once a second")]
fn pause() {
    std::thread::sleep(Duration::from_secs(1));
}

/// The body of a gateway's status.
pub fn ask(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| io::Error::other("no answer of HTTP"))?;
    if !head.starts_with("HTTP/1.1 200") {
        return Err(io::Error::other(head.lines().next().unwrap_or("").to_owned()));
    }
    Ok(body.to_owned())
}

/// The reason for which an association does not send faster now; none if it has nothing to send.
pub fn limit(cause: &str) -> Option<&'static str> {
    Some(match cause {
        "pacing" => "sends at its rate, the link's or the file's; more data wait",
        "turn" => "sends at the file's rate, in turn with other associations; more data wait",
        "receive_window" => {
            "waits for the far gateway's memory: connections there do not read, or its `memory` is short"
        }
        "congestion_window" => {
            "waits for answers of the path, whose rate is not known yet or has become lower"
        }
        "recovery" => "waits for packets that were lost, or the path has an outage",
        "handshake" => "is being opened",
        _ => return None,
    })
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(0.0)
}

/// The rate at which an association may send now, bit/s: little, while it has not had much to send.
pub fn pace(rate: f64) -> String {
    match rate {
        r if r >= 1e6 => format!("{:.1} Mbit/s", r / 1e6),
        r if r > 0.0 => format!("{:.1} kbit/s", r / 1e3),
        _ => "a rate not known yet".into(),
    }
}

fn bytes(count: f64) -> String {
    match count {
        c if c >= 1e9 => format!("{:.2} GB", c / 1e9),
        c if c >= 1e6 => format!("{:.1} MB", c / 1e6),
        c if c >= 1e3 => format!("{:.1} kB", c / 1e3),
        c => format!("{c:.0} B"),
    }
}

fn table(status: &Value, out: &mut String) {
    let _ = writeln!(
        out,
        "{}  {} connections now, {} closed, {} reset, {} lost with an association",
        status["role"].as_str().unwrap_or("?"),
        status["connections"],
        status["connections_closed"],
        status["connections_reset"],
        status["connections_lost"],
    );
    for of in status["user_quotas"].as_array().into_iter().flatten() {
        let (used, quota) = (number(of, "quota_used_bytes"), number(of, "quota_bytes"));
        if used >= quota {
            let user = of["user"].as_str().unwrap_or("?");
            let _ = writeln!(
                out,
                "  {user}: {} of a quota of {}: new connections are refused",
                bytes(used),
                bytes(quota)
            );
        }
    }
    for peer in status["peers"].as_array().into_iter().flatten() {
        let name = peer["name"].as_str().unwrap_or("?");
        if peer["up"] != true {
            let _ =
                writeln!(out, "  {name}: no association; \"skyhop gateway diagnose\" looks for the cause");
            continue;
        }
        if peer["quota_bytes"].is_u64() {
            let (used, quota) = (number(peer, "quota_used_bytes"), number(peer, "quota_bytes"));
            let over = if used >= quota { ": new connections are refused" } else { "" };
            let _ = writeln!(out, "  {name}: {} of a quota of {}{over}", bytes(used), bytes(quota));
        }
        let sent = number(peer, "packets_sent").max(1.0);
        let _ = writeln!(
            out,
            "  {name} at {}: up {:.0} s, rtt {:.0} ms, sends at {}, {} out, {} in, {:.2} % again, packets of {} B",
            peer["address"].as_str().unwrap_or("?"),
            number(peer, "since_s"),
            number(peer, "rtt_s") * 1e3,
            pace(number(peer, "rate_bps")),
            bytes(number(peer, "bytes_sent")),
            bytes(number(peer, "bytes_received")),
            100.0 * number(peer, "packets_retransmitted") / sent,
            peer["packet_size"],
        );
        if let Some(why) = peer["limited_by"].as_str().and_then(limit) {
            let _ = writeln!(out, "  {name}: {why}");
        }
    }
    let flows: Vec<&Value> = status["flows"].as_array().into_iter().flatten().collect();
    if flows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n  {:<24} {:<28} {:<10} {:>8} {:>10} {:>10}  held up by",
        "client", "server", "state", "age", "up", "down"
    );
    for flow in flows {
        let _ = writeln!(
            out,
            "  {:<24} {:<28} {:<10} {:>6.0} s {:>10} {:>10}  {}",
            flow["client"].as_str().unwrap_or("-"),
            flow["destination"].as_str().unwrap_or("-"),
            flow["state"].as_str().unwrap_or("?"),
            number(flow, "age_s"),
            bytes(number(flow, "bytes_to_server")),
            bytes(number(flow, "bytes_to_client")),
            flow["limited_by"].as_str().unwrap_or("?"),
        );
    }
}
