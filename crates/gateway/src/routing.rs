//! The route by which intercepted packets reach this host, whatever their destination.
//!
//! Follows the kernel's tproxy.txt: a rule for the mark, and a table in which everything is local.
//! Differs: the rule and the table have the mark's number, so those of a killed run are found and reused.
//! Leaves out setting the mark (`rules`).

use std::io;
use std::process::Command;

/// Adds rule and route for both versions of IP, unless they exist.
pub fn add(mark: u32) -> io::Result<()> {
    for family in ["-4", "-6"] {
        let (mark, table) = (format!("{mark:#x}"), mark.to_string());
        // A duplicate rule would have to be removed twice.
        let _ = ip(&[family, "rule", "del", "fwmark", &mark, "lookup", &table]);
        ip(&[family, "rule", "add", "fwmark", &mark, "lookup", &table])?;
        ip(&[family, "route", "replace", "local", "default", "dev", "lo", "table", &table])?;
    }
    Ok(())
}

/// Removes rule and route.
pub fn remove(mark: u32) {
    for family in ["-4", "-6"] {
        let (mark, table) = (format!("{mark:#x}"), mark.to_string());
        let _ = ip(&[family, "rule", "del", "fwmark", &mark, "lookup", &table]);
        let _ = ip(&[family, "route", "del", "local", "default", "dev", "lo", "table", &table]);
    }
}

/// Runs the program ip.
pub fn ip(args: &[&str]) -> io::Result<()> {
    let output = Command::new("ip").args(args).output().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => io::Error::new(e.kind(), "there is no program ip: install iproute2"),
        _ => e,
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("no reason given").trim();
    let hint = if first.contains("not permitted") { " (needs CAP_NET_ADMIN)" } else { "" };
    Err(io::Error::other(format!("ip {}: {first}{hint}", args.join(" "))))
}
