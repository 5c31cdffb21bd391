//! The hosts of a gateway's laboratory: network namespaces without names, wires between them, and programs in them.
//!
//! Follows ip(8) and [`skyhop_emulate::namespace`]. The hosts stand in a row; wire N has the addresses 10.N.0.1 and 10.N.0.2, and
//! fd00:N::1 and fd00:N::2 if the kernel has IPv6.
//! Differs from `ip netns`: nothing has a name, and programs end with this process, so nothing is left behind, also if it is killed.
//! Leaves out what the programs do.

use crate::failure::Failure;
use skyhop_emulate::namespace::{Namespace, set_parameter};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The device of a host towards the one before it, and towards the one behind it.
pub const DEVICES: [&str; 2] = ["left", "right"];

/// Hosts in a row, each joined to the next by a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRow<'a>(pub &'a [&'a str]);

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LabIp {
    V4,
    V6,
}

impl LabIp {
    /// The versions that this kernel has.
    fn all() -> &'static [LabIp] {
        let v6 = Path::new("/proc/sys/net/ipv6").exists();
        if v6 { &[LabIp::V4, LabIp::V6] } else { &[LabIp::V4] }
    }

    /// The option of `ip`.
    fn option(self) -> &'static str {
        if self == LabIp::V4 { "-4" } else { "-6" }
    }

    /// The address of an end of a wire.
    fn address(self, wire: usize, end: usize) -> IpAddr {
        match self {
            LabIp::V4 => Ipv4Addr::new(10, wire as u8, 0, end as u8).into(),
            LabIp::V6 => Ipv6Addr::new(0xfd00, wire as u16, 0, 0, 0, 0, 0, end as u16).into(),
        }
    }

    /// The range of a wire.
    fn range(self, wire: usize) -> String {
        let bits = if self == LabIp::V4 { 24 } else { 64 };
        format!("{}/{bits}", self.address(wire, 0))
    }
}

impl HostRow<'_> {
    /// The IPv4 address of a host on the wire towards the one before it, or behind it (`side` 1).
    pub fn address(host: usize, side: usize) -> String {
        LabIp::V4.address(host + side, 2 - side).to_string()
    }

    /// Its addresses there, of IPv4 and, if this kernel has that, of IPv6.
    pub fn addresses(host: usize, side: usize) -> Vec<IpAddr> {
        LabIp::all().iter().map(|version| version.address(host + side, 2 - side)).collect()
    }

    /// The ranges of the wire behind a host.
    pub fn ranges(host: usize) -> Vec<String> {
        LabIp::all().iter().map(|version| version.range(host + 1)).collect()
    }

    /// The routes of a host: ranges, and the next host on the way.
    fn routes(&self, host: usize, version: LabIp) -> Vec<(String, String)> {
        let last = self.0.len() - 1;
        let next = |host: usize, side: usize| version.address(host + side, 2 - side).to_string();
        let mut routes = Vec::new();
        // All that lies before the host, but for the wire that it is at.
        for wire in 1..host {
            routes.push((version.range(wire), next(host - 1, 1)));
        }
        let far = if host < last { next(host + 1, 0) } else { next(last - 1, 1) };
        routes.push(("default".to_owned(), far));
        routes
    }
}

/// The laboratory.
pub struct LabHosts {
    names: Vec<String>,
    hosts: Vec<Namespace>,
    programs: Vec<(String, Child)>,
    /// A folder for files and logs, which is removed at the end.
    pub folder: PathBuf,
    /// Its lock, which ends with this process.
    _in_use: File,
    skyhop: PathBuf,
}

/// Beginning of the folders' names.
const FOLDER: &str = "skyhop-lab-";

/// Removes the folders of laboratories whose process was killed: nobody has a lock on them. Numbers of processes would not tell, as
/// those of another namespace are not seen.
fn sweep(temporary: &Path) {
    let entries = std::fs::read_dir(temporary).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER));
        if named && File::open(&path).is_ok_and(|folder| folder.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn failed(what: &str, e: impl std::fmt::Display) -> Failure {
    Failure::Run(format!("{what}: {e}"))
}

impl LabHosts {
    /// Makes hosts of these names and the wires between them.
    pub fn new(row: &HostRow<'_>) -> Result<Self, Failure> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        sweep(&std::env::temp_dir());
        let folder = std::env::temp_dir().join(format!("{FOLDER}{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| failed(&folder.display().to_string(), e))?;
        let in_use = File::open(&folder).map_err(|e| failed(&folder.display().to_string(), e))?;
        in_use.try_lock().map_err(|e| failed(&folder.display().to_string(), e))?;
        let skyhop = std::env::current_exe().map_err(|e| failed("this program's own path", e))?;
        let furnish = || {
            set_parameter("ipv4/ip_forward", "1")?;
            set_parameter("ipv6/conf/all/forwarding", "1")
        };
        let made = |_| Namespace::with(furnish).map(|(host, ())| host);
        let hosts: Result<Vec<_>, _> = row.0.iter().map(made).collect();
        let hosts = hosts?;
        let names = row.0.iter().map(|name| (*name).to_owned()).collect();
        let lab = LabHosts { names, hosts, programs: Vec::new(), folder, _in_use: in_use, skyhop };
        for host in 0..row.0.len() {
            lab.ip(host, &["link", "set", "dev", "lo", "up"])?;
        }
        for near in 0..row.0.len() - 1 {
            let [left, right] = DEVICES;
            let far = lab.path_of(near + 1);
            lab.ip(
                near,
                &["link", "add", "dev", right, "type", "veth", "peer", "name", left, "netns", &far],
            )?;
            for (host, side) in [(near, 1), (near + 1, 0)] {
                for address in HostRow::addresses(host, side) {
                    // No other host has the address, and the search for one takes a second.
                    let (bits, more) = if address.is_ipv4() { (24, &[][..]) } else { (64, &["nodad"][..]) };
                    let address = format!("{address}/{bits}");
                    lab.ip(host, &[&["address", "add", &address, "dev", DEVICES[side]], more].concat())?;
                }
                lab.ip(host, &["link", "set", "dev", DEVICES[side], "up"])?;
            }
        }
        for host in 0..row.0.len() {
            for version in LabIp::all() {
                for (to, via) in row.routes(host, *version) {
                    lab.ip(host, &[version.option(), "route", "add", &to, "via", &via])?;
                }
            }
        }
        Ok(lab)
    }

    /// A path by which other programs enter a host while this one runs.
    pub fn path_of(&self, host: usize) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.hosts[host].fd.as_raw_fd())
    }

    /// Has something done in a host. Sockets stay where they were opened.
    pub fn within<T: Send>(&self, host: usize, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
        self.hosts[host].within(work).map_err(|e| failed(&self.names[host], e))
    }

    /// A host to be entered by other threads.
    pub fn host(&self, host: usize) -> Namespace {
        self.hosts[host].clone()
    }

    /// Output of `ip` in a host.
    pub fn ip(&self, host: usize, words: &[&str]) -> Result<String, Failure> {
        let run = || Command::new("ip").args(words).output();
        let output = self.within(host, run)?.map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Failure::Run("there is no program ip: install iproute2".into()),
            _ => failed("ip", e),
        })?;
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(failed(&format!("{}: ip {}", self.names[host], words.join(" ")), said.trim())),
        }
    }

    /// Sets the kernel's congestion control for connections of a host. It is an attribute of the host's routes, since the default of a
    /// namespace is restricted to the algorithms that the system allows to all users.
    pub fn prefer(&self, host: usize, law: &str) -> Result<(), Failure> {
        for version in LabIp::all().iter().map(|version| version.option()) {
            let shown = self.ip(host, &[version, "route", "show"])?;
            for route in shown.lines().filter(|route| !route.starts_with("fe80:")) {
                // A wire whose other end has just come may still be said to be down.
                let words: Vec<&str> = route.split_whitespace().filter(|word| *word != "linkdown").collect();
                self.ip(host, &[&[version, "route", "replace"], &words[..], &["congctl", law]].concat())?;
            }
        }
        Ok(())
    }

    /// Runs a command of skyhop in a host to its end, and returns what it prints.
    pub fn skyhop(&self, host: usize, words: &[&str]) -> Result<String, Failure> {
        let run = || Command::new(&self.skyhop).args(words).current_dir(&self.folder).output();
        let output = self.within(host, run)?.map_err(|e| failed("skyhop", e))?;
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(failed(&format!("skyhop {}", words.join(" ")), said.trim())),
        }
    }

    /// Starts a command of skyhop in a host; its messages go to a file of that name. It ends with the calling thread at the latest.
    pub fn start(&mut self, host: usize, log: &str, words: &[&str]) -> Result<(), Failure> {
        let file = File::create(self.log_of(log)).map_err(|e| failed(log, e))?;
        let mut command = Command::new(&self.skyhop);
        command.args(words).current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let child = self.hosts[host].spawn(&mut command).map_err(|e| failed("skyhop", e))?;
        self.programs.push((log.to_owned(), child));
        Ok(())
    }

    /// Asks a program that was started to end, and waits until it has. Returns what it has said.
    pub fn finish(&mut self, log: &str) -> Result<String, Failure> {
        if let Some(place) = self.programs.iter().position(|(own, _)| own == log) {
            let (_, mut child) = self.programs.remove(place);
            let pid = rustix::process::Pid::from_child(&child);
            // A program that has ended by itself is still to be waited for.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let status = child.wait().map_err(|e| failed(log, e))?;
            if !status.success() {
                return Err(failed(log, format!("{status}: {}", self.said(log))));
            }
        }
        Ok(self.said(log))
    }

    /// Process of a program that was started.
    pub fn process(&self, log: &str) -> Option<u32> {
        self.programs.iter().find(|(own, _)| own == log).map(|(_, child)| child.id())
    }

    /// Messages of a program so far.
    fn said(&self, log: &str) -> String {
        std::fs::read_to_string(self.log_of(log)).unwrap_or_default().trim_end().to_owned()
    }

    fn log_of(&self, log: &str) -> PathBuf {
        self.folder.join(format!("{log}.log"))
    }

    /// Output of a program that has ended too early; `None` while it runs.
    pub fn ended(&mut self) -> Option<String> {
        let ended = |(log, child): &mut (String, Child)| child.try_wait().ok().flatten().map(|_| log.clone());
        let log = self.programs.iter_mut().find_map(ended)?;
        Some(format!("{log} has ended: {}", self.said(&log).trim()))
    }

    /// Bytes that a host's device has received and sent.
    pub fn carried(&self, host: usize, device: &str) -> Result<[u64; 2], Failure> {
        let said = self.ip(host, &["-s", "-j", "link", "show", "dev", device])?;
        let read: serde_json::Value = serde_json::from_str(&said).map_err(|e| failed("ip -j", e))?;
        Ok(["rx", "tx"].map(|way| read[0]["stats64"][way]["bytes"].as_u64().unwrap_or(0)))
    }

    /// Writes a file into the folder, and returns its path.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(|e| failed(&path.display().to_string(), e))?;
        Ok(path)
    }
}

impl Drop for LabHosts {
    fn drop(&mut self) {
        // The gateways first: they take their tables and routes away, though the hosts go with all that is in them.
        for (_, child) in self.programs.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(Path::new(&self.folder));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_of_a_process_that_is_gone_is_removed() {
        let temporary = std::env::temp_dir().join(format!("skyhop-sweep-{}", std::process::id()));
        let [used, left, foreign] =
            ["skyhop-lab-1-0", "skyhop-lab-2-0", "other"].map(|name| temporary.join(name));
        for folder in [&used, &left, &foreign] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let lock = File::open(&used).unwrap();
        lock.try_lock().unwrap();
        sweep(&temporary);
        assert_eq!([&used, &left, &foreign].map(|folder| folder.exists()), [true, false, true]);
        drop(lock);
        std::fs::remove_dir_all(&temporary).unwrap();
    }

    #[test]
    fn every_host_of_a_row_has_a_way_to_every_other() {
        let row = HostRow(&["user", "terminal", "satellite", "hub", "server"]);
        assert_eq!((HostRow::address(0, 1), HostRow::address(4, 0)), ("10.1.0.1".into(), "10.4.0.2".into()));
        let routes = |host| {
            row.routes(host, LabIp::V4)
                .into_iter()
                .map(|(to, via)| format!("{to} via {via}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(routes(0), ["default via 10.1.0.2"]);
        assert_eq!(routes(1), ["default via 10.2.0.2"]);
        assert_eq!(
            routes(3),
            ["10.1.0.0/24 via 10.3.0.1", "10.2.0.0/24 via 10.3.0.1", "default via 10.4.0.2"]
        );
        assert_eq!(
            routes(4),
            [
                "10.1.0.0/24 via 10.4.0.1",
                "10.2.0.0/24 via 10.4.0.1",
                "10.3.0.0/24 via 10.4.0.1",
                "default via 10.4.0.1"
            ]
        );
        let v6 = row.routes(1, LabIp::V6);
        assert_eq!(v6, [("default".to_owned(), "fd00:2::2".to_owned())]);
        assert_eq!(row.routes(3, LabIp::V6)[0], ("fd00:1::/64".to_owned(), "fd00:3::1".to_owned()));
    }
}
