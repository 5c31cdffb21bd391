//! Hosts in a row for a path that gateways split: each leg is emulated, and where its splices are there are the daemons of
//! `skyhop gateway run`.
//!
//! Follows [`super::split_path`]. Host 0 opens connections, the last one serves them; odd hosts are legs, even ones between are gateways.
//! Differs from an emulation of one path: each leg is a process with a clock of its own, and reports for itself.
//! Leaves out the programs at the ends.

use super::lab::wait;
use super::lab_hosts::{DEVICES, HostRow, LabHosts};
use super::leg_control::LegControl;
use super::split_path::{LabLeg, SplitPath};
use crate::failure::Failure;
use serde_json::Value;
use skyhop_emulate::namespace::{Namespace, require_parameter};
use skyhop_scenario::{Loaded, SpliceUser, Stp};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Settings of the emulated legs and of the kernel's hosts.
pub struct LabSettings<'a> {
    pub seed: u64,
    /// Congestion control of the kernel in all hosts, if not the default.
    pub law: Option<&'a str>,
    /// Parameters of the kernel in all hosts, by their names below /proc/sys/net.
    pub sysctls: &'a [(String, String)],
    /// Further options of each leg's `skyhop emulate`.
    pub options: Vec<String>,
    /// File for captures: each leg's has the leg's number in its name.
    pub pcap: Option<&'a Path>,
}

/// The outcome of a leg.
pub struct LegOutcome {
    /// Its nodes, that towards the opener of connections first.
    pub nodes: [String; 2],
    /// Tables of links and flows, for people.
    pub said: String,
    /// Its `summary.json`.
    pub summary: Value,
    /// Folder of its files, which goes with the laboratory.
    pub folder: PathBuf,
}

impl LegOutcome {
    /// Reasons for which the leg's run is not valid.
    pub fn objections(&self) -> impl Iterator<Item = String> {
        let all = self.summary["emulation"]["objections"].as_array().into_iter().flatten();
        let [near, far] = &self.nodes;
        all.filter_map(Value::as_str).map(move |why| format!("{near} to {far}: {why}"))
    }
}

/// The laboratory of a split path.
pub struct SplitLab<'a> {
    path: &'a SplitPath<'a>,
    lab: LabHosts,
    last: usize,
}

impl<'a> SplitLab<'a> {
    /// Makes the hosts, and starts the legs and then the gateways.
    ///
    /// # Errors
    ///
    /// The system does not allow it, or a program does not come up.
    pub fn new(
        loaded: &Loaded,
        path: &'a SplitPath<'a>,
        settings: &LabSettings<'_>,
    ) -> Result<Self, Failure> {
        let names: Vec<String> = (0..=2 * path.legs.len())
            .map(|host| match (host % 2, host / 2) {
                (1, leg) => format!("leg {}", leg + 1),
                (_, 0) => path.legs[0].in_row()[0].to_owned(),
                (_, node) => path.legs[node - 1].in_row()[1].to_owned(),
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let last = names.len() - 1;
        let mut lab = LabHosts::new(&HostRow(&names))?;
        for host in (0..=last).step_by(2) {
            let set = || settings.sysctls.iter().try_for_each(|(name, value)| require_parameter(name, value));
            lab.within(host, set)??;
            settings.law.map_or(Ok(()), |law| lab.prefer(host, law))?;
        }
        for (number, leg) in path.legs.iter().enumerate() {
            emulate(&mut lab, loaded, path, (number, leg), settings)?;
        }
        for number in 0..path.legs.len() {
            let devices = |lab: &LabHosts| lab.ip(2 * number + 1, &["-br", "link"]);
            wait(&mut lab, "an emulated leg", |lab| Ok(devices(lab)?.matches("sky-").count() >= 2))?;
        }
        gateways(&mut lab, path)?;
        Ok(Self { path, lab, last })
    }

    /// The host that opens connections, and the one that serves them.
    pub fn ends(&self) -> [Namespace; 2] {
        [self.lab.host(0), self.lab.host(self.last)]
    }

    /// The names of all hosts with programs, each with its addresses as the opener of connections sees it.
    pub fn names(&self) -> Vec<(String, Vec<IpAddr>)> {
        let own = (self.path.legs[0].in_row()[0].to_owned(), HostRow::addresses(0, 1));
        let legs = self.path.legs.iter().enumerate();
        let others =
            legs.map(|(number, leg)| (leg.in_row()[1].to_owned(), HostRow::addresses(2 * number + 2, 0)));
        [own].into_iter().chain(others).collect()
    }

    /// Messages of a program of the laboratory that has ended too early.
    pub fn ended(&mut self) -> Option<String> {
        self.lab.ended()
    }

    /// The legs as one emulation to `skyhop emulate set` and `watch`, which are outside of their namespaces.
    pub fn control(&self) -> LegControl {
        let legs = self.path.legs.iter().enumerate().filter_map(|(number, leg)| {
            let process = self.lab.process(&leg_file(number))?;
            Some((self.lab.host(2 * number + 1), process, leg.in_row().map(str::to_owned)))
        });
        LegControl::of(legs.collect())
    }

    /// The status of each gateway as JSON, by its name.
    pub fn status(&self) -> Vec<(String, Value)> {
        let files: &[(usize, &str)] = if self.path.splices.len() == 1 {
            &[(2, "alone.toml")]
        } else {
            &[(2, "home.toml"), (4, "hub.toml")]
        };
        let one = |&(host, file): &(usize, &str)| {
            let said = self.lab.skyhop(host, &["gateway", "status", file, "--json"]).ok()?;
            Some((self.path.legs[host / 2 - 1].in_row()[1].to_owned(), serde_json::from_str(&said).ok()?))
        };
        files.iter().filter_map(one).collect()
    }

    /// Ends the legs, and returns what they have measured. Their files are there until the laboratory is dropped.
    ///
    /// # Errors
    ///
    /// A leg has failed.
    pub fn end(&mut self) -> Result<Vec<LegOutcome>, Failure> {
        let mut outcomes = Vec::new();
        for (number, leg) in self.path.legs.iter().enumerate() {
            let said = self.lab.finish(&leg_file(number))?;
            let folder = self.lab.folder.join(leg_folder(number));
            let text = std::fs::read_to_string(folder.join("summary.json"))
                .map_err(|e| Failure::Run(format!("summary.json of a leg: {e}")))?;
            let summary = serde_json::from_str(&text)
                .map_err(|e| Failure::Run(format!("summary.json of a leg: {e}")))?;
            outcomes.push(LegOutcome { nodes: leg.in_row().map(str::to_owned), said, summary, folder });
        }
        Ok(outcomes)
    }
}

fn leg_file(number: usize) -> String {
    format!("{}.toml", leg_folder(number))
}

/// Name of the folder of a leg's results.
fn leg_folder(number: usize) -> String {
    format!("leg-{}", number + 1)
}

/// The file of a leg's capture.
fn leg_capture(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{}{ending}", leg_folder(number)))
}

/// Starts the emulation of a leg.
fn emulate(
    lab: &mut LabHosts,
    loaded: &Loaded,
    path: &SplitPath<'_>,
    (number, leg): (usize, &LabLeg),
    settings: &LabSettings<'_>,
) -> Result<(), Failure> {
    let (host, file) = (2 * number + 1, leg_file(number));
    let text = toml::to_string(&leg.scenario(&loaded.scenario, &path.flows));
    lab.write(&file, &text.map_err(|e| Failure::Run(format!("{file}: {e}")))?)?;
    lab.skyhop(host, &["check", &file])?;
    let mut words = vec!["emulate".to_owned(), file.clone(), "--out".into(), leg_folder(number)];
    words.extend(["--seed".into(), settings.seed.to_string()]);
    for (node, device) in leg.in_row().iter().zip(DEVICES) {
        words.extend(["--device".into(), format!("{node}={device}")]);
    }
    if let Some(pcap) = settings.pcap {
        let own = std::path::absolute(leg_capture(pcap, number))
            .map_err(|e| Failure::Run(format!("--pcap {}: {e}", pcap.display())))?;
        words.extend(["--pcap".into(), own.display().to_string()]);
    }
    words.extend(settings.options.iter().cloned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    lab.start(host, &file, &words)
}

/// The far end tells connections apart by the clients' ports, as the simulator's far end does.
const SOURCE: &str = "source = \"client\"\n";

/// Starts the gateways, and waits until they are there.
fn gateways(lab: &mut LabHosts, path: &SplitPath<'_>) -> Result<(), Failure> {
    let [near, far] = [2, 4];
    let intercept = format!("\n[intercept]\ninterfaces = [\"{}\"]\n", DEVICES[0]);
    if path.splices.len() == 1 {
        let memory = 4 * path.splices[0].splice.buffer.get().max(1 << 18);
        let text = format!(
            "role = \"alone\"\nmemory = \"{memory} B\"\nmetrics = \"127.0.0.1:9464\"\n{SOURCE}{intercept}"
        );
        lab.write("alone.toml", &text)?;
        lab.start(near, "alone", &["gateway", "run", "alone.toml"])?;
        return wait(lab, "the gateway", |lab| {
            Ok(lab.skyhop(near, &["gateway", "status", "alone.toml", "--json"]).is_ok())
        });
    }
    lab.skyhop(far, &["gateway", "new", "hub.toml"])?;
    let at = HostRow::address(far, 0);
    let words = ["gateway", "add", "home", "--hub", "hub.toml", "--at", &at, "--interface", DEVICES[0]];
    let users = HostRow::ranges(0);
    let users: Vec<&str> = users.iter().flat_map(|range| ["--prefix", range]).collect();
    lab.skyhop(far, &[&words[..], &users].concat())?;
    for (file, own, onwards) in [("home.toml", path.splices[0], true), ("hub.toml", path.splices[1], false)] {
        let mut lines = format!("memory = \"{} B\"\n", own.splice.buffer.get().max(1 << 20));
        if !onwards {
            lines.push_str(SOURCE);
        }
        if let Some(stp) = own.between {
            rate(stp, &mut lines);
        }
        let written = std::fs::read_to_string(lab.folder.join(file))
            .map_err(|e| Failure::Run(format!("{file}: {e}")))?;
        let kept: Vec<&str> = written.lines().filter(|line| !line.starts_with("memory =")).collect();
        let (head, tables) =
            kept.split_at(kept.iter().position(|line| line.starts_with('[')).unwrap_or(kept.len()));
        let mut tables = tables.join("\n");
        if onwards && path.carries {
            tables = tables.replacen("[intercept]", "[intercept]\nudp = \"carry\"", 1);
        }
        if let Some(user) = path.user().filter(|_| onwards) {
            limit(user, &mut tables);
        }
        lab.write(file, &format!("{}\n{lines}{tables}\n", head.join("\n")))?;
    }
    lab.start(far, "hub", &["gateway", "run", "hub.toml"])?;
    lab.start(near, "terminal", &["gateway", "run", "home.toml"])?;
    wait(lab, "an association", |lab| {
        let said = lab.skyhop(near, &["gateway", "status", "home.toml", "--json"]);
        Ok(said.is_ok_and(|said| said.contains("\"up\": true")))
    })
}

/// The rates of the compared connections' user, as a terminal's file has them.
fn limit(user: &SpliceUser, tables: &mut String) {
    let whole = |address: IpAddr| format!("\"{address}/{}\"", if address.is_ipv4() { 32 } else { 128 });
    let addresses: Vec<String> = HostRow::addresses(0, 1).into_iter().map(whole).collect();
    let _ = write!(tables, "\n[[users]]\naddresses = [{}]\n", addresses.join(", "));
    for (key, rate) in [("up", user.up), ("down", user.down)] {
        if let Some(rate) = rate {
            let _ = writeln!(tables, "{key} = \"{rate}\"");
        }
    }
}

/// The rate at which STP sends, as a gateway's file has it.
fn rate(stp: &Stp, lines: &mut String) {
    if let Some(rate) = stp.max_rate {
        let _ = writeln!(lines, "rate = \"{rate}\"");
        if serde_json::to_value(stp.congestion()).is_ok_and(|law| law == "rate") {
            lines.push_str("promised = true\n");
        }
    }
}
