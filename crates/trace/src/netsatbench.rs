//! Epochs of NetSatBench: files of JSON, each an instant at which links are added, updated and deleted.
//!
//! Follows docs/configuration.md of mSvcBench/NetSatBench: rates and delays use units of `tc`, in which mbps are bytes per second;
//! losses are in percent; files are ordered by the last number in their names. Differs: one link is read from them, and while it
//! does not exist everything is lost.
//! Leaves out limits, commands and antennas.

use crate::{HIGHEST_RATE_BPS, LATEST, LONGEST_DELAY, Losses, Pieces, Read, Sample, Trace, decimal};
use serde_json::{Map, Value, json};
use skyhop_orbit::Epoch;
use skyhop_text::{spelling, table::shown};
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Largest number of epochs written.
const MOST: usize = 100_000;

/// The two ends of a link, in order of name: the link is the same in both directions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkEnds(String, String);

impl LinkEnds {
    /// The link between two nodes.
    pub fn new(a: &str, b: &str) -> Self {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        LinkEnds(a.into(), b.into())
    }
}

impl std::fmt::Display for LinkEnds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{}", self.0, self.1)
    }
}

/// A file of epochs: its name and its bytes.
pub type EpochFile<'a> = (&'a str, &'a [u8]);

/// Values of a link in an epoch; `None` leaves a value unchanged.
#[derive(Debug, Clone, Copy, Default)]
struct LinkValues {
    rate_bps: Option<u64>,
    delay: Option<Span>,
    loss: Option<f64>,
    limit: bool,
}

/// An epoch: the changes of each link.
struct Instant {
    at: Epoch,
    /// Links by list: added, deleted, updated, in the order in which NetSatBench applies the lists.
    lists: [Vec<(LinkEnds, LinkValues)>; 3],
}

const LISTS: [&str; 3] = ["links-add", "links-del", "links-update"];

/// Reads the trace of one link, which need not be named if there is only one.
pub fn read(files: &[EpochFile], link: Option<&LinkEnds>) -> Result<Read, String> {
    let mut files = files.to_vec();
    files.sort_by_key(|(name, _)| last_number(name));
    let mut epochs: Vec<Instant> = Vec::new();
    for (name, bytes) in &files {
        let epoch = instant(bytes).map_err(|e| format!("{name}: {e}"))?;
        if let Some(before) = epochs.last().filter(|before| before.at > epoch.at) {
            return Err(format!("{name}: time: {} is before {}, the file before", epoch.at, before.at));
        }
        epochs.push(epoch);
    }
    let Some(begin) = epochs.first().map(|first| first.at) else { return Err("no files".into()) };
    let all: BTreeSet<&LinkEnds> =
        epochs.iter().flat_map(|e| e.lists.iter().flatten().map(|(ends, _)| ends)).collect();
    let link = chosen(&all, link)?;
    let (mut trace, mut now, mut limit) = (Trace::default(), None::<LinkValues>, false);
    for epoch in &epochs {
        for (list, said) in epoch.lists.iter().zip(LISTS) {
            for (_, news) in list.iter().filter(|(ends, _)| *ends == link) {
                limit |= news.limit;
                now = match (said, now) {
                    ("links-add", _) => Some(*news),
                    ("links-del", _) => None,
                    (_, was) => was.map(|was| LinkValues {
                        rate_bps: news.rate_bps.or(was.rate_bps),
                        delay: news.delay.or(was.delay),
                        loss: news.loss.or(was.loss),
                        limit: was.limit,
                    }),
                };
            }
        }
        let from = Span::from_secs_f64(epoch.at.seconds_since(begin));
        if from > LATEST {
            return Err(format!("goes on for {from}; expected {LATEST} at most"));
        }
        trace.put(sample(Time::ZERO + from, now));
    }
    let mut notes = vec![format!("{link}, from {begin} on; where it is deleted every packet is lost")];
    if limit {
        notes.push("limit is left out: it is the key queue of a link".into());
    }
    Ok(Read { trace, notes })
}

fn sample(from: Time, now: Option<LinkValues>) -> Sample {
    match now {
        None => Sample { from, losses: Some(Losses::Packets(1.0)), ..Sample::default() },
        Some(said) => Sample {
            from,
            rate_bps: said.rate_bps,
            delay: said.delay,
            losses: said.loss.map(Losses::Packets),
        },
    }
}

/// The requested link, or the only one.
fn chosen(all: &BTreeSet<&LinkEnds>, link: Option<&LinkEnds>) -> Result<LinkEnds, String> {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    match link {
        Some(link) if all.contains(link) => Ok(link.clone()),
        Some(link) => {
            let near = spelling::hint(&link.to_string(), names.iter().map(String::as_str));
            Err(format!("--link: no link {link}; expected one of {}{near}", some(&names)))
        }
        None if all.len() == 1 => Ok((*all.first().unwrap_or_else(|| unreachable!())).clone()),
        None if all.is_empty() => Err("no links are added".into()),
        None => Err(format!("{} links; choose one with --link: {}", names.len(), some(&names))),
    }
}

fn some(names: &[String]) -> String {
    let more = if names.len() > 8 { " ..." } else { "" };
    format!("{}{more}", names.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// The last number in a file's name.
fn last_number(path: &str) -> Option<u64> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let digits = name.split(|c: char| !c.is_ascii_digit()).rfind(|digits| !digits.is_empty())?;
    digits.parse().ok()
}

fn instant(bytes: &[u8]) -> Result<Instant, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| format!("is not JSON: {e}"))?;
    let Value::Object(epoch) = value else { return Err("is not an object of JSON".into()) };
    let time = epoch.get("time").and_then(Value::as_str).ok_or("time: missing; expected UTC in a string")?;
    let at = time.parse::<Epoch>().map_err(|e| format!("time: {e}"))?;
    let mut lists = [vec![], vec![], vec![]];
    for (list, name) in lists.iter_mut().zip(LISTS) {
        let said = match epoch.get(name) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(said)) => said,
            Some(_) => return Err(format!("{name}: expected a list")),
        };
        for (i, link) in said.iter().enumerate() {
            let at = |e: String| format!("{name}[{i}]{e}");
            let link = link.as_object().ok_or_else(|| at(": expected an object".into()))?;
            // Values of a deleted link have no effect.
            list.push(entry(link, name != "links-del").map_err(|e| at(format!(".{e}")))?);
        }
    }
    Ok(Instant { at, lists })
}

fn entry(link: &Map<String, Value>, values: bool) -> Result<(LinkEnds, LinkValues), String> {
    let end = |key: &str| {
        link.get(key).and_then(Value::as_str).ok_or_else(|| format!("{key}: missing; expected a node's name"))
    };
    let ends = LinkEnds::new(end("endpoint1")?, end("endpoint2")?);
    let mut said = LinkValues::default();
    if values {
        said.limit = link.contains_key("limit");
        said.rate_bps = link.get("rate").map(rate_bps).transpose().map_err(|e| format!("rate: {e}"))?;
        said.delay = link.get("delay").map(delay).transpose().map_err(|e| format!("delay: {e}"))?;
        said.loss = link.get("loss").map(share).transpose().map_err(|e| format!("loss: {e}"))?;
    }
    Ok((ends, said))
}

/// A number and its unit. A JSON number has no unit.
fn words(value: &Value) -> Option<(f64, String)> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number = number.parse::<f64>().ok()?;
    Some((number, unit.trim().to_ascii_lowercase()))
}

/// A rate in tc's units: bits without a unit and with bit, bytes with bps.
fn rate_bps(value: &Value) -> Result<u64, String> {
    let wrong = || format!("{}; expected a rate of tc's, like \"10mbit\"", shown(&value.to_string()));
    let (number, unit) = words(value).ok_or_else(wrong)?;
    let (prefix, bits) = match (unit.strip_suffix("bit"), unit.strip_suffix("bps")) {
        (Some(prefix), _) => (prefix, 1.0),
        (_, Some(prefix)) => (prefix, 8.0),
        _ if unit.is_empty() => ("", 1.0),
        _ => return Err(wrong()),
    };
    let factor = match prefix {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1024.0,
        "mi" => 1024_f64.powi(2),
        "gi" => 1024_f64.powi(3),
        "ti" => 1024_f64.powi(4),
        _ => return Err(wrong()),
    };
    let bps = number * factor * bits;
    if (0.0..=HIGHEST_RATE_BPS as f64).contains(&bps) { Ok(bps.round() as u64) } else { Err(wrong()) }
}

/// A time in tc's units: microseconds without a unit.
fn delay(value: &Value) -> Result<Span, String> {
    let wrong = || format!("{}; expected a time of tc's, like \"5ms\"", shown(&value.to_string()));
    let (number, unit) = words(value).ok_or_else(wrong)?;
    let nanos = match unit.as_str() {
        "s" | "sec" | "secs" => 1e9,
        "ms" | "msec" | "msecs" => 1e6,
        "" | "us" | "usec" | "usecs" => 1e3,
        "ns" | "nsec" | "nsecs" => 1.0,
        _ => return Err(wrong()),
    };
    let nanos = number * nanos;
    let fits = (0.0..=LONGEST_DELAY.as_nanos() as f64).contains(&nanos);
    if fits { Ok(Span::from_nanos(nanos.round() as u64)) } else { Err(wrong()) }
}

fn share(value: &Value) -> Result<f64, String> {
    let wrong = || format!("{}; expected percent, 0 to 100", shown(&value.to_string()));
    let (percent, unit) = words(value).ok_or_else(wrong)?;
    let fits = (0.0..=100.0).contains(&percent) && (unit.is_empty() || unit == "%");
    if fits { Ok(percent / 100.0) } else { Err(wrong()) }
}

/// Files of epochs by name, and notes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Epochs {
    /// Names and texts.
    pub files: Vec<(String, String)>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Writes the epochs of one link, the first at `start`.
pub fn write(pieces: &Pieces, link: &LinkEnds, start: Epoch) -> Result<Epochs, String> {
    let mut notes =
        vec![format!("{link}, from {start} on; that it ends after {} is not in it", pieces.end())];
    // An update can leave a rate unchanged but cannot remove it: either all pieces have one, or none.
    if pieces.all.iter().any(|piece| piece.rate_bps.is_some()) {
        pieces.rates_bps()?;
    }
    // Its clock has whole seconds.
    let mut by_second = BTreeMap::new();
    let (mut moved, mut waits) = (0, false);
    for piece in &pieces.all {
        let second = (piece.from.as_nanos() + 500_000_000) / 1_000_000_000;
        moved += usize::from(piece.from.as_nanos() % 1_000_000_000 != 0);
        by_second.insert(second, piece);
    }
    let dropped = pieces.all.len() - by_second.len();
    if by_second.len() > MOST {
        return Err(format!("makes {} epochs; expected {MOST} at most", by_second.len()));
    }
    let mut files = Vec::new();
    for (number, (second, piece)) in by_second.into_iter().enumerate() {
        let time = Epoch::new(start.utc() + Duration::from_secs(second)).map_err(|e| e.to_string())?;
        let mut said = json!({ "endpoint1": link.0, "endpoint2": link.1 });
        let out = piece.rate_bps == Some(0);
        waits |= out;
        if let Some(bps) = piece.rate_bps.filter(|bps| *bps > 0) {
            said["rate"] = json!(format!("{bps}bit"));
        }
        said["loss"] = json!(if out { 100.0 } else { piece.loss * 100.0 });
        said["delay"] = json!(format!("{}us", decimal(piece.delay.as_nanos(), 3)));
        let list = if number == 0 { LISTS[0] } else { LISTS[2] };
        let epoch = json!({ "time": time.to_string(), list: [said] });
        files.push((format!("NetSatBench-epoch{number}.json"), format!("{epoch:#}\n")));
    }
    if moved > 0 {
        notes.push(format!(
            "changes moved to whole seconds: {moved}, of which {dropped} give way to a later one"
        ));
    }
    if waits {
        notes.push("where the rate is 0 packets are lost, since netem cannot make them wait".into());
    }
    if pieces.all.iter().any(|piece| piece.rate_bps.is_none()) {
        notes.push("times without a rate have none, which is no limit; --rate sets one".into());
    }
    Ok(Epochs { files, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Own, pieces, table};

    const ADD: &str = r#"{"time": "2024-06-01T12:00:00Z", "links-add": [
        {"endpoint1": "grd1", "endpoint2": "sat6", "rate": "10mbit", "loss": 0, "delay": "1ms", "limit": 100},
        {"endpoint1": "usr1", "endpoint2": "sat6", "rate": "20mbit", "loss": 0.5, "delay": "5ms"}]}"#;
    const UPDATE: &str = r#"{"time": "2024-06-01T12:00:05Z", "links-update": [
        {"endpoint1": "sat6", "endpoint2": "usr1", "delay": "5500us"}], "run": {"grd1": ["true"]}}"#;
    const DELETE: &str = r#"{"time": "2024-06-01T12:02:00Z", "links-add": [], "links-del": [
        {"endpoint1": "usr1", "endpoint2": "sat6", "rate": "nonsense"}]}"#;

    fn three() -> [EpochFile<'static>; 3] {
        // In the order of a shell's star.
        [("x/e1.json", ADD.as_bytes()), ("x/e10.json", DELETE.as_bytes()), ("x/e2.json", UPDATE.as_bytes())]
    }

    #[test]
    fn a_link_is_added_updated_and_deleted() {
        let Read { trace, notes } = read(&three(), Some(&LinkEnds::new("usr1", "sat6"))).unwrap();
        let text = table::write(&trace);
        assert_eq!(
            text,
            "t_s,rate_bps,delay_s,loss\n0,20000000,0.005,0.005\n5,20000000,0.0055,0.005\n120,,,1\n"
        );
        assert!(notes[0].starts_with("sat6,usr1, from 2024-06-01T12:00:00Z on"), "{notes:?}");
        let Read { notes, .. } = read(&three(), Some(&LinkEnds::new("sat6", "grd1"))).unwrap();
        assert!(notes[1].contains("limit"), "{notes:?}");
    }

    #[test]
    fn what_is_written_reads_as_it_was() {
        let text =
            "t_s,rate_bps,delay_s,loss\n0,10000001,0.123456789,0\n7,5000000,0.2,0.25\n20,5000000,0.2,1\n";
        let trace = table::read(text.as_bytes()).unwrap();
        let (link, start) = (LinkEnds::new("a", "b"), "2025-01-01T00:00:00Z".parse().unwrap());
        let Epochs { files, notes } =
            write(&pieces(&trace, Own::default(), None).unwrap(), &link, start).unwrap();
        assert_eq!(notes, ["a,b, from 2025-01-01T00:00:00Z on; that it ends after 33 s is not in it"]);
        let files: Vec<EpochFile> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        assert_eq!(files[1].0, "NetSatBench-epoch1.json");
        assert_eq!(table::write(&read(&files, None).unwrap().trace), text);
    }

    #[test]
    fn what_it_cannot_hold_is_said() {
        let trace = table::read(b"t_s,rate_bps\n0,5\n0.6,6\n1.1,0\n2,\n").unwrap();
        let (link, start) = (LinkEnds::new("a", "b"), "2025-01-01T00:00:00Z".parse().unwrap());
        let none = pieces(&trace, Own::default(), None).unwrap();
        assert!(write(&none, &link, start).unwrap_err().contains("no rate at t_s 2"));
        let own = Own { rate_bps: Some(9), ..Own::default() };
        let Epochs { files, notes } = write(&pieces(&trace, own, None).unwrap(), &link, start).unwrap();
        assert_eq!(files.len(), 3);
        assert!(files[1].1.contains("00:00:01Z") && files[1].1.contains("\"loss\": 100.0"), "{}", files[1].1);
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[1].starts_with("changes moved to whole seconds: 2, of which 1 give way"), "{notes:?}");
    }

    #[test]
    fn units_are_those_of_tc() {
        let bps = |text: &str| rate_bps(&json!(text)).unwrap();
        assert_eq!(
            [bps("10mbit"), bps("1.5Gbit"), bps("8kbps"), bps("1mibit"), bps("7")],
            [10_000_000, 1_500_000_000, 64_000, 1_048_576, 7]
        );
        let time = |text: &str| delay(&json!(text)).unwrap().as_nanos();
        assert_eq!(
            [time("5ms"), time("1.5s"), time("20"), time("7usec")],
            [5_000_000, 1_500_000_000, 20_000, 7_000]
        );
    }

    #[test]
    fn mistakes_are_told_with_their_file_and_key() {
        let add = |rate: &str| ADD.replace("\"20mbit\"", rate);
        for (text, expected) in [
            (String::new(), "e1.json: is not JSON"),
            ("[]".into(), "e1.json: is not an object"),
            ("{}".into(), "e1.json: time: missing"),
            (
                ADD.replace("2024-06-01T", "tomorrow "),
                "e1.json: time: epoch \"tomorrow 12:00:00Z\"; expected UTC",
            ),
            (
                ADD.replace("2024", "2025"),
                "e2.json: time: 2024-06-01T12:00:05Z is before 2025-06-01T12:00:00Z",
            ),
            (add("\"20 Mb\""), "e1.json: links-add[1].rate: \\\"20 Mb\\\"; expected a rate of tc's"),
            (add("\"-20mbit\""), "links-add[1].rate: "),
            (add("true"), "links-add[1].rate: true; expected a rate"),
            (ADD.replace("\"5ms\"", "\"-5ms\""), "links-add[1].delay: \\\"-5ms\\\"; expected a time of tc's"),
            (ADD.replace("0.5", "101"), "links-add[1].loss: 101; expected percent, 0 to 100"),
            (ADD.replace("endpoint2", "end2"), "links-add[0].endpoint2: missing"),
        ] {
            let files = [("e1.json", text.as_bytes()), ("e2.json", UPDATE.as_bytes())];
            let error = read(&files, None).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = read(&three(), None).unwrap_err();
        assert_eq!(error, "2 links; choose one with --link: grd1,sat6 sat6,usr1");
        let error = read(&three(), Some(&LinkEnds::new("usr1", "sat5"))).unwrap_err();
        assert!(
            error.contains("no link sat5,usr1") && error.contains("did you mean \"sat6,usr1\"?"),
            "{error}"
        );
    }
}
