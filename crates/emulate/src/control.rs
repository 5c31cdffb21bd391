//! Control of a running emulation by another process of the same user: its state, and changes of its links.
//!
//! A socket in Linux's abstract namespace, `skyhop-emulate-PID`, takes a line of JSON and answers with one: it leaves no file, and
//! vanishes with its process. Requests pass the same checks as the scenario.
//! Leaves out all other keys: only rate, delay and losses of links may change while packets wait for them.

use crate::driver::{Latest, LinkUpdate, LoopState};
use crate::error::{Error, Tried};
use crate::plan::HostPlan;
use serde_json::{Value, json};
use skyhop_scenario::{Loaded, parse_set};
use skyhop_units::Rate;
use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const PREFIX: &str = "skyhop-emulate-";

fn address(pid: u32) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{PREFIX}{pid}"))
}

/// The control socket of an emulation.
pub struct ControlSocket {
    over: Arc<AtomicBool>,
}

impl ControlSocket {
    /// Listens for other processes, which may change rates to `fastest` at most, if given. `None` if that is impossible, for example
    /// with a second emulation in this process.
    pub fn listen(
        loaded: Loaded,
        plan: HostPlan,
        shared: Arc<LoopState>,
        fastest: Option<Rate>,
    ) -> Option<Self> {
        let mut ear = Ear { loaded, plan, shared, fastest };
        Self::with(move |asked| ear.answer(asked))
    }

    /// Listens for other processes, whose requests are answered by `answer`. `None` as for [`Self::listen`].
    pub fn with(mut answer: impl FnMut(&Value) -> Value + Send + 'static) -> Option<Self> {
        let listener = UnixListener::bind_addr(&address(std::process::id()).ok()?).ok()?;
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let Ok(stream) = stream else { return };
                let own = rustix::process::geteuid();
                let theirs = rustix::net::sockopt::socket_peercred(&stream).map(|peer| peer.uid);
                if theirs.is_ok_and(|uid| uid == own || uid.is_root()) {
                    // A client that disconnects after its request gets no answer.
                    let _ = converse(&stream, &mut answer);
                }
            }
        });
        Some(Self { over })
    }
}

/// Reads a request, and writes its answer.
fn converse(stream: &UnixStream, answer: &mut impl FnMut(&Value) -> Value) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut line = String::new();
    // A client that only checks the owner of this socket sends no request.
    if BufReader::new(stream).read_line(&mut line)? == 0 {
        return Ok(());
    }
    let asked: Value = serde_json::from_str(&line).unwrap_or_default();
    let mut out = stream;
    writeln!(out, "{}", answer(&asked))
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // Wakes the thread, which sees that it must end.
        let _ = address(std::process::id()).and_then(|own| UnixStream::connect_addr(&own));
    }
}

struct Ear {
    loaded: Loaded,
    plan: HostPlan,
    shared: Arc<LoopState>,
    /// Rate of the slowest interface of a host.
    fastest: Option<Rate>,
}

impl Ear {
    fn answer(&mut self, asked: &Value) -> Value {
        match asked["set"].as_array() {
            Some(sets) => {
                let sets: Vec<&str> = sets.iter().filter_map(Value::as_str).collect();
                self.set(&sets).map_or_else(|error| json!({ "error": error }), |()| json!({}))
            }
            None => self.shared.look().map_or(json!({}), |latest| status(&self.plan, &self.loaded, &latest)),
        }
    }

    /// Changes links: all requested changes, or none.
    fn set(&mut self, sets: &[&str]) -> Result<(), String> {
        let sets = sets
            .iter()
            .map(|set| parse_set(set))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| e.to_string())?;
        let next = self.loaded.with(&sets).map_err(|e| e.to_string())?;
        let (before, mut after) = (&self.loaded.scenario, next.scenario.clone());
        let mut changes = Vec::new();
        for (index, (name, was)) in before.links.iter().enumerate() {
            let Some(is) = next.scenario.links.get(name).filter(|is| *is != was) else { continue };
            let rate =
                is.reverse.as_ref().and_then(|back| back.rate).map_or(is.rate, |back| back.max(is.rate));
            if let Some(most) = self.fastest.filter(|most| rate > *most) {
                return Err(format!(
                    "links.{name}.rate: {rate} is more than the interfaces of this run's hosts carry; expected at most {most}, or a \
                     run that begins with such a link"
                ));
            }
            let mut rest = is.clone();
            (rest.rate, rest.delay, rest.loss) = (was.rate, was.delay, was.loss.clone());
            if !was.schedule.is_empty() || was.trace.is_some() {
                return Err(format!("links.{name}: its schedule or trace cannot be changed in a run"));
            }
            // A reverse direction without keys of its own is omitted.
            let old = was.reverse.clone().unwrap_or_default();
            if let Some(back) = &mut rest.reverse {
                (back.rate, back.delay, back.loss) = (old.rate, old.delay, old.loss.clone());
            }
            if rest.reverse.as_ref() == Some(&old) {
                rest.reverse.clone_from(&was.reverse);
            }
            after.links.insert(name.clone(), rest);
            changes.push(LinkUpdate { index, links: [Box::new(was.clone()), Box::new(is.clone())] });
        }
        if after != *before {
            let keys = sets.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(", ");
            return Err(format!("{keys}: only rate, delay and loss of a link can be changed while it runs"));
        }
        self.loaded = next;
        self.shared.change(changes, sets.iter().map(|(path, value)| format!("{path}={value}")).collect());
        Ok(())
    }
}

/// State of the run as JSON.
fn status(plan: &HostPlan, loaded: &Loaded, latest: &Latest) -> Value {
    let hosts = plan.hosts.iter().zip(&latest.ports).map(|(host, port)| {
        let counts = json!({ "read_bytes": port.read_bytes, "written_bytes": port.written_bytes });
        (host.name.clone(), counts)
    });
    let flows = plan.ways().into_iter().enumerate().map(|(place, (flow, _))| {
        let path = latest.paths.get(place).copied().flatten();
        let ways = latest.flows.get(place).copied().unwrap_or_default();
        let way = |(sent, received, delay_s): (u64, u64, f64)| json!({ "sent": sent, "received": received, "delay_sum_s": delay_s });
        let one = json!({
            "forward": way(ways[0]),
            "reverse": way(ways[1]),
            "path_delay_s": path.map(|(delay_s, _)| delay_s),
            "path_satellites": path.map(|(_, satellites)| satellites),
        });
        (loaded.scenario.flow_name(flow), one)
    });
    let way = |[waiting, dropped, lost]: [u64; 3]| json!({ "queue_packets": waiting, "packets_dropped": dropped, "packets_lost": lost });
    let links = latest
        .links
        .iter()
        .map(|(name, ways)| (name.clone(), json!({ "forward": way(ways[0]), "reverse": way(ways[1]) })));
    json!({
        "now_s": latest.now.as_secs_f64(),
        "late_p99_s": latest.late.map(|late| late.as_secs_f64()),
        "hosts": hosts.collect::<serde_json::Map<_, _>>(),
        "flows": flows.collect::<serde_json::Map<_, _>>(),
        "links": links.collect::<serde_json::Map<_, _>>(),
    })
}

/// User of the process at the other end. Any process may take a name in this namespace.
fn user(stream: &UnixStream) -> std::io::Result<rustix::process::Uid> {
    Ok(rustix::net::sockopt::socket_peercred(stream)?.uid)
}

/// Connects to an emulation of this user, or, for root, of any user.
fn connect(pid: u32) -> std::io::Result<(UnixStream, bool)> {
    let stream = UnixStream::connect_addr(&address(pid)?)?;
    let (theirs, own) = (user(&stream)?, rustix::process::geteuid());
    match theirs == own || own.is_root() {
        true => Ok((stream, theirs == own)),
        false => Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, "it is another user's")),
    }
}

/// Processes of this user that emulate, as far as they are visible.
pub fn running() -> Vec<u32> {
    let text = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = text
        .lines()
        .filter_map(|line| line.split_whitespace().last()?.strip_prefix('@')?.strip_prefix(PREFIX));
    let mut found: Vec<u32> = names.filter_map(|pid| pid.parse().ok()).collect();
    found.sort_unstable();
    found.dedup();
    found.retain(|pid| connect(*pid).is_ok_and(|(_, own)| own));
    found
}

/// The only process that emulates, or `pid` if it is given.
///
/// # Errors
///
/// No process emulates, or several do.
pub fn find(pid: Option<u32>) -> Result<u32, Error> {
    match (pid, running().as_slice()) {
        (Some(pid), _) => Ok(pid),
        (None, [one]) => Ok(*one),
        (None, []) => Err(Error::Lacking(
            "no emulation is running here; from inside an emulated host it is not seen: use another terminal"
                .into(),
        )),
        (None, several) => {
            let all: Vec<_> = several.iter().map(u32::to_string).collect();
            Err(Error::Lacking(format!(
                "{} emulations run; say which by --pid: {}",
                several.len(),
                all.join(", ")
            )))
        }
    }
}

/// Requests the state of an emulation.
///
/// # Errors
///
/// The process does not answer.
pub fn ask(pid: u32, question: &Value) -> Result<Value, Error> {
    let tried = || format!("process {pid} does not answer as an emulation");
    let (stream, _) = connect(pid).tried(tried)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).tried(tried)?;
    let mut out = &stream;
    writeln!(out, "{question}").tried(tried)?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).tried(tried)?;
    serde_json::from_str(&line).map_err(|_| Error::Lacking(tried()))
}

/// Requests changes of links from an emulation.
///
/// # Errors
///
/// The process does not answer, or refuses the changes.
pub fn set(pid: u32, sets: &[String]) -> Result<(), Error> {
    let answer = ask(pid, &json!({ "set": sets }))?;
    answer["error"].as_str().map_or(Ok(()), |error| Err(Error::Refused(error.to_owned())))
}
