//! `skyhop gateway run`, `check` and `rules`.
//!
//! Follows docs/gateway.md. Leaves out the daemon's work.

use super::capture;
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use serde_json::json;
use skyhop_gateway::{Config, DaemonError, Dns, Fail, Quic, Role, SourceAddress, UdpRule, ruleset};
use skyhop_live::engine::PacketTap;
use skyhop_units::Bytes;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// `skyhop gateway run`.
#[derive(Debug, Args)]
pub struct GatewayRun {
    /// The gateway's file.
    pub file: PathBuf,
    /// Only check the file, as `skyhop gateway check` does.
    #[arg(long)]
    pub check: bool,
    /// Write the packets of all associations in the clear to this file (pcapng), for "skyhop wireshark".
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// The capture ends when its file has this size.
    #[arg(long, value_name = "SIZE", default_value = "100 MB", requires = "capture")]
    pub capture_size: Bytes,
    /// Form of the log on standard error: sentences, or an object of JSON in each line.
    #[arg(long, value_enum, default_value_t = LogForm::Text)]
    pub log: LogForm,
}

/// Form of a daemon's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    Text,
    Json,
}

impl LogForm {
    /// A line: the daemon's sentence, with the command, or with the time, the gateway's role and the sentence's subject.
    fn line(self, (command, role): (&str, Role), time_s: f64, sentence: &str) -> String {
        if self == LogForm::Text {
            return format!("{command}: {sentence}");
        }
        let (of, message) = match sentence.split_once(": ") {
            Some((of, message)) if !of.contains(' ') => (Some(of), message),
            _ => (None, sentence),
        };
        json!({ "time_s": time_s, "role": role.to_string(), "of": of, "message": message }).to_string()
    }
}

fn read(file: &Path) -> Result<Config, Failure> {
    Config::read(file).map_err(|e| Failure::Scenario(e.to_string()))
}

/// Runs the daemon.
pub fn run(args: &GatewayRun) -> Result<(), Failure> {
    let config = read(&args.file)?;
    if args.check {
        return check(&args.file);
    }
    let tap = args.capture.as_deref().map(|path| capture::tap(path, args.capture_size)).transpose()?;
    daemon(&args.file, config, tap, (args.log, "skyhop gateway"))
}

/// Runs the daemon with this configuration; its log has this form, and names the command.
pub fn daemon(
    file: &Path,
    config: Config,
    tap: Option<PacketTap>,
    (form, command): (LogForm, &'static str),
) -> Result<(), Failure> {
    let role = config.role;
    let log =
        Box::new(move |sentence: &str| eprintln!("{}", form.line((command, role), unix_time(), sentence)));
    skyhop_gateway::run(file.to_path_buf(), config, tap, log).map_err(|e| match e {
        DaemonError::Config(message) => Failure::Scenario(format!("{}: {message}", file.display())),
        DaemonError::Run(message) => Failure::Run(message),
    })
}

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "a log has the time of day")]
fn unix_time() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Prints the firewall's table.
pub fn rules(file: &Path) -> Result<(), Failure> {
    let config = read(file)?;
    match ruleset(&config) {
        Some(rules) => crate::command::print(&rules),
        None => crate::command::print(
            "# no table: this gateway neither intercepts nor uses its clients' addresses\n",
        ),
    }
}

/// Prints a summary of a gateway's file.
pub fn check(file: &Path) -> Result<(), Failure> {
    let config = read(file)?;
    let mut out = String::new();
    match &config.hub {
        Some(hub) => _ = writeln!(out, "terminal of the hub at {hub}"),
        None if config.role == Role::Alone => _ = writeln!(out, "hub alone: its users have no gateway"),
        None => _ = writeln!(out, "hub at {}", config.listen),
    }
    let rate = match (config.rate, config.promised) {
        (Some(rate), _) if config.role == Role::Alone => format!("at most {rate}, each connection"),
        (None, _) if config.role == Role::Alone => {
            let law = config.congestion.as_deref().unwrap_or("the kernel's congestion control");
            format!("as {law} finds")
        }
        (Some(rate), true) => format!("{rate}, promised"),
        (Some(rate), false) => format!("learnt, at most {rate}"),
        (None, _) => "learnt".into(),
    };
    let _ = writeln!(out, "  sending rate        {rate}");
    let memory = match config.role {
        Role::Alone => format!("{} MB, of which a connection has up to a quarter", config.memory / 1_000_000),
        _ => format!("{} MB for each association, each way", config.memory / 1_000_000),
    };
    let _ = writeln!(out, "  memory              {memory}");
    let _ = writeln!(out, "  connections         {} at most", config.connections);
    if let Some(intercept) = &config.intercept {
        let fail = match intercept.fail {
            Fail::Open => "pass unsplit",
            Fail::Closed => "are refused",
        };
        let _ = writeln!(out, "  intercepts          TCP of {}", intercept.interfaces.join(", "));
        let _ = writeln!(out, "  without the link    new connections {fail}");
        let quic = match (intercept.quic, intercept.quic_rate) {
            (Quic::Refuse, _) => "refused, so that browsers use TCP".to_owned(),
            (Quic::Limit, Some(rate)) => format!("passes outside, at most {rate} in each direction"),
            (Quic::Carry, _) => "datagrams in the association".to_owned(),
            _ => "passes outside".to_owned(),
        };
        let _ = writeln!(out, "  QUIC                {quic}");
        let udp =
            if intercept.udp == UdpRule::Carry { "datagrams in the association" } else { "passes outside" };
        let _ = writeln!(out, "  other UDP           {udp}");
        if intercept.dns == Dns::Cache {
            let _ = writeln!(out, "  DNS                 answered from a cache");
        }
    }
    if let Some((address, password)) = &config.socks {
        let with = if password.is_some() { ", with a password" } else { "" };
        let _ = writeln!(out, "  SOCKS5              {address}{with}");
    }
    for forward in &config.forwards {
        let _ =
            writeln!(out, "  forwards            {} to {}:{}", forward.listen, forward.to.0, forward.to.1);
    }
    if config.source == SourceAddress::Client {
        let _ = writeln!(out, "  servers see         the clients' addresses");
    }
    if let Some(metrics) = config.metrics {
        let _ = writeln!(out, "  metrics             http://{metrics}/metrics");
    }
    for (name, terminal) in &config.terminals {
        let prefixes: Vec<String> = terminal.prefixes.iter().map(ToString::to_string).collect();
        let users = if prefixes.is_empty() { "users of any address".into() } else { prefixes.join(", ") };
        let _ = writeln!(out, "  terminal            {name}: {users}");
    }
    crate::command::print(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_json_has_the_subject_of_the_sentence_apart() {
        let line = |sentence| {
            let line = LogForm::Json.line(("skyhop gateway", Role::Hub), 0.25, sentence);
            serde_json::from_str::<serde_json::Value>(&line).expect("an object in one line")
        };
        let up = line("home: association open with [::1]:7");
        assert_eq!((&up["of"], &up["role"]), (&json!("home"), &json!("hub")));
        assert_eq!(up["message"], "association open with [::1]:7");
        assert_eq!(up["time_s"], 0.25);
        let refused = line("192.0.2.1:5: refused: \"a\"\nb");
        assert_eq!(
            (&refused["of"], &refused["message"]),
            (&json!("192.0.2.1:5"), &json!("refused: \"a\"\nb"))
        );
        let ending = line("not reloaded: hub.toml:3: x");
        assert_eq!(
            (&ending["of"], &ending["message"]),
            (&json!(null), &json!("not reloaded: hub.toml:3: x"))
        );
        assert_eq!(LogForm::Text.line(("skyhop gateway", Role::Hub), 0.25, "a: b"), "skyhop gateway: a: b");
    }
}
