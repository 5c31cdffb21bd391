//! `skyhop gateway diagnose`: checks of this host, the path and the file, with the changes to make.
//!
//! Follows docs/gateway.md. Differs from the status: it names faults and remedies.
//! Leaves out the far gateway, where the same command can be run.

use super::status::{ask, limit, pace};
use crate::failure::Failure;
use clap::Args;
use serde_json::Value;
use skyhop_gateway::{Config, Role, SourceAddress};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `skyhop gateway diagnose`.
#[derive(Debug, Args)]
pub struct Diagnose {
    /// The gateway's file.
    pub file: PathBuf,
}

/// The findings: each is right, or has something to be done about it.
#[derive(Default)]
struct Findings {
    text: String,
    wrong: usize,
}

impl Findings {
    fn say(&mut self, good: bool, what: &str, advice: &str) {
        self.wrong += usize::from(!good);
        let _ = writeln!(self.text, "{}  {what}", if good { "ok   " } else { "WRONG" });
        if !good && !advice.is_empty() {
            let _ = writeln!(self.text, "         {advice}");
        }
    }

    fn note(&mut self, what: &str) {
        let _ = writeln!(self.text, "       {what}");
    }
}

/// Runs the command.
pub fn run(args: &Diagnose) -> Result<(), Failure> {
    let config = Config::read(&args.file).map_err(|e| Failure::Scenario(e.to_string()))?;
    let mut findings = Findings::default();
    findings.say(true, &format!("{}: the file of a {}", args.file.display(), config.role), "");
    if config.intercept.is_some() || config.source == SourceAddress::Client {
        host(&config, &mut findings);
    }
    running(&config, &args.file, &mut findings);
    crate::command::print(&findings.text)?;
    match findings.wrong {
        0 => Ok(()),
        1 => Err(Failure::Run("one thing is wrong".into())),
        wrong => Err(Failure::Run(format!("{wrong} things are wrong"))),
    }
}

/// Programs, settings and devices of this host.
fn host(config: &Config, findings: &mut Findings) {
    for (program, option, package) in [("nft", "--version", "nftables"), ("ip", "-V", "iproute2")] {
        let there = Command::new(program).arg(option).output().is_ok();
        findings.say(there, &format!("the program {program}"), &format!("install {package}"));
    }
    for name in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        if let Ok(value) = std::fs::read_to_string(path) {
            let on = value.trim() == "1";
            findings.say(
                on,
                &format!("{name} = {}", value.trim()),
                &format!("sysctl -w {name}=1: traffic that is not split must be forwarded"),
            );
        }
    }
    // Not those of /sys, which are another network namespace's for a program that has entered this one.
    let devices = std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    for device in config.intercept.iter().flat_map(|intercept| &intercept.interfaces) {
        let there = devices.lines().any(|line| line.trim_start().split(':').next() == Some(device));
        findings.say(
            there,
            &format!("the device {device}"),
            "intercept.interfaces: no device of that name is there now",
        );
    }
    if let Ok(rules) = Command::new("nft").args(["list", "table", "inet", "skyhop"]).output() {
        findings.say(
            rules.status.success(),
            "the firewall's table inet skyhop",
            "it is there while the gateway runs; without rights it cannot be seen either",
        );
        for line in
            String::from_utf8_lossy(&rules.stdout).lines().filter(|line| line.contains("passed unsplit"))
        {
            let counted: Vec<&str> = line.split_whitespace().skip_while(|word| *word != "packets").collect();
            let [_, packets, _, bytes, ..] = counted[..] else { continue };
            findings
                .note(&format!("first packets of connections that passed unsplit: {packets} ({bytes} B)"));
        }
    }
}

/// Bytes that have left when the search for the path's MTU is over.
const PROBED: f64 = 100_000.0;

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(0.0)
}

/// The gateway that runs, its associations and connections.
fn running(config: &Config, file: &Path, findings: &mut Findings) {
    let Some(address) = config.metrics else {
        return findings.say(
            false,
            "no `metrics` in the file: no further checks are possible",
            "metrics = \"127.0.0.1:9464\"",
        );
    };
    let status: Value = match ask(address).map(|body| serde_json::from_str(&body)) {
        Ok(Ok(status)) => status,
        _ => {
            let advice = format!("skyhop gateway run {}", file.display());
            return findings.say(false, &format!("no gateway answers at {address}"), &advice);
        }
    };
    findings.say(true, &format!("a gateway runs, with {} connections", status["connections"]), "");
    for peer in status["peers"].as_array().into_iter().flatten() {
        path(config, peer, findings);
    }
    let mut limits: BTreeMap<&str, usize> = BTreeMap::new();
    for flow in status["flows"].as_array().into_iter().flatten() {
        *limits.entry(flow["limited_by"].as_str().unwrap_or("?")).or_default() += 1;
    }
    for (limit, count) in limits {
        let what = match limit {
            "link" => "wait for the satellite link: that is its rate, or other connections' share of it",
            "client" => "wait for their clients, which do not read",
            "server" => "wait for their servers, which do not read",
            _ => "wait for data of their programs",
        };
        findings.note(&format!("{count} connections {what}"));
    }
}

/// Data in flight, of those that were in flight at most, that a learnt rate is believed to need: with too little memory all of it was.
const PROVEN: f64 = 2.0;

/// Memory for the data in flight, at the file's rate or the learnt one. Few data can be taken for a rate that no link has, above all over a
/// short path, so that a learnt rate counts as far as data in flight have proven it.
fn memory(memory: f64, set: Option<f64>, peer: &Value, findings: &mut Findings) {
    let learnt = number(peer, "rate_bps");
    let product = set.unwrap_or(learnt) * number(peer, "rtt_s") / 8.0;
    let (most, proven) = (number(peer, "in_flight_max_bytes"), set.is_some());
    let believed = if proven { product } else { product.min(PROVEN * most) };
    let needed = 2.0 * believed;
    let advice = format!("memory = \"{:.0} MB\", here and at the far gateway", (needed / 1e6).ceil());
    let what = if believed < product {
        let (pace, most) = (pace(learnt), most / 1e6);
        format!("at most {most:.3} MB were in flight, which do not prove a rate of {pace}")
    } else {
        format!("a rate times rtt of {:.3} MB", product / 1e6)
    };
    let what = format!("memory of {:.0} MB for {what}", memory / 1e6);
    findings.say(memory >= needed || believed < 1e5, &what, &advice);
}

/// One association.
fn path(config: &Config, peer: &Value, findings: &mut Findings) {
    let name = peer["name"].as_str().unwrap_or("?");
    if peer["up"] != true {
        let advice = match config.role {
            Role::Terminal => {
                "is the hub running, is its UDP port open, and does its file have this terminal's key?"
            }
            Role::Hub | Role::Alone => {
                "the terminal opens it: does it run, and is its file's `hub` this host?"
            }
        };
        return findings.say(false, &format!("no association with {name}"), advice);
    }
    if peer["quota_bytes"].is_u64() {
        let (used, quota) = (number(peer, "quota_used_bytes"), number(peer, "quota_bytes"));
        let advice = "new connections are refused until the period is over: a larger `quota`";
        let what = format!("{name} has used {:.0} of {:.0} MB of its quota", used / 1e6, quota / 1e6);
        findings.say(used < quota, &what, advice);
    }
    let (rtt, rate, size) = (number(peer, "rtt_s"), number(peer, "rate_bps"), number(peer, "packet_size"));
    let what = format!(
        "association with {name}: rtt {:.0} ms, packets of {size} B, sends at {}",
        rtt * 1e3,
        pace(rate)
    );
    findings.say(true, &what, "");
    if let Some(why) = peer["limited_by"].as_str().and_then(limit) {
        findings.note(&format!("{name}: {why}"));
    }
    let again = number(peer, "packets_retransmitted") / number(peer, "packets_sent").max(1.0);
    let advice = "the path loses packets, or its queue is short: a promised rate (`rate`, `promised`) is not given up for losses";
    findings.say(
        again < 0.02,
        &format!("{:.2} % of the packets had to be sent again", again * 100.0),
        advice,
    );
    memory(config.memory as f64, config.rate.map(|rate| rate.as_bps() as f64), peer, findings);
    let smaller = f64::from(config.mtu) - size > 120.0;
    if smaller && number(peer, "bytes_sent") < PROBED {
        return findings.note("the path's MTU is searched for with data, and few have left yet");
    }
    findings.say(
        !smaller,
        &format!("packets of the size of the file's mtu, {}", config.mtu),
        "the path carries less: `mtu` in the files of both ends, or a larger MTU of the path",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The finding for 64 MB of memory.
    fn said(set: Option<f64>, rate: f64, rtt: f64, in_flight_max: f64) -> (usize, String) {
        let mut findings = Findings::default();
        let peer = json!({ "rate_bps": rate, "rtt_s": rtt, "in_flight_max_bytes": in_flight_max });
        memory(64e6, set, &peer, &mut findings);
        (findings.wrong, findings.text)
    }

    #[test]
    fn a_learnt_rate_is_advice_as_far_as_data_in_flight_have_proven_it() {
        // Seen on a path of namespaces with little to send.
        let (wrong, text) = said(None, 916_480e6, 0.00124, 600e3);
        assert!(wrong == 0 && text.contains("at most 0.600 MB were in flight"), "{text}");
        assert_eq!(said(None, 916_480e6, 0.00124, 0.0).0, 0);
        // 600 Mbit/s over 600 ms are 45 MB, which were in flight.
        let (wrong, text) = said(None, 600e6, 0.6, 45e6);
        assert!(wrong == 1 && text.contains("\"90 MB\""), "{text}");
        // Of ten times as much the memory let no more than itself be in flight.
        let (wrong, text) = said(None, 6e9, 0.6, 60e6);
        assert!(wrong == 1 && text.contains("\"240 MB\""), "{text}");
        assert_eq!(said(None, 200e6, 0.6, 15e6).0, 0);
        // The file's rate needs no proof.
        let (wrong, text) = said(Some(1e9), 1e6, 0.6, 0.0);
        assert!(wrong == 1 && text.contains("\"150 MB\""), "{text}");
    }
}
