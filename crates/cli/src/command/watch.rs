//! `skyhop emulate watch`: the state of an emulation every second.
//!
//! Follows the answers of [`skyhop_emulate::control`]; rates and delays are those of the last second, and of the last minute.
//! Differs from the summary: values are not exact, as samples are taken when the loop has time.
//! Leaves out links of satellites.

use crate::engine;
use crate::failure::Failure;
use crate::table::{TextTable, count, or_dash, rate, time};
use serde_json::{Value, json};
use skyhop_emulate::control;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::Duration;

/// Number of samples kept: one minute.
const KEPT: usize = 61;

/// Shows the state until the emulation ends.
#[expect(clippy::disallowed_methods, reason = "people look at it by the clock")]
pub fn watch(pid: Option<u32>, lines: bool) -> Result<(), Failure> {
    let pid = control::find(pid)?;
    engine::listen();
    let mut looks: VecDeque<Value> = VecDeque::new();
    let mut first = true;
    while !engine::interrupted() {
        let look = match control::ask(pid, &json!({})) {
            Ok(look) => look,
            Err(why) if first => return Err(why.into()),
            // The emulation has ended.
            Err(_) => return Ok(()),
        };
        first = false;
        if lines {
            super::print(&format!("{look}\n"))?;
        } else if look["now_s"].is_number() {
            looks.push_back(look);
            if looks.len() > KEPT {
                looks.pop_front();
            }
            let clear = if std::io::stdout().is_terminal() { "\x1b[H\x1b[J" } else { "" };
            super::print(&format!("{clear}{}", picture(&looks)))?;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}

/// Tables of the samples, of which the last is the current one.
fn picture(looks: &VecDeque<Value>) -> String {
    let (Some(first), Some(last)) = (looks.front(), looks.back()) else { return String::new() };
    let before = looks.iter().rev().nth(1).unwrap_or(last);
    let number = |of: &Value, pointer: &str| of.pointer(pointer).and_then(Value::as_f64);
    let grown = |from: &Value, pointer: &str| Some(number(last, pointer)? - number(from, pointer)?);
    let names =
        |key: &str| last[key].as_object().into_iter().flat_map(|all| all.keys().cloned()).collect::<Vec<_>>();
    let s = grown(before, "/now_s").filter(|s| *s > 0.0);
    let mut hosts = TextTable::new(["host", "sends", "receives"]);
    for name in names("hosts") {
        let bps = |key: &str| {
            or_dash(
                grown(before, &format!("/hosts/{name}/{key}")).zip(s).map(|(bytes, s)| rate(bytes * 8.0 / s)),
            )
        };
        hosts.row([name.clone(), bps("read_bytes"), bps("written_bytes")]);
    }
    let mut flows = TextTable::new([
        "flow",
        "direction",
        "sent",
        "arrived",
        "delay now",
        "in a minute",
        "propagation",
        "satellites",
    ]);
    for name in names("flows") {
        for way in ["forward", "reverse"] {
            let key = |key: &str| format!("/flows/{name}/{way}/{key}");
            let mean = |from: &Value| {
                let received = grown(from, &key("received")).filter(|received| *received > 0.0)?;
                Some(time(grown(from, &key("delay_sum_s"))? / received))
            };
            let of_path = |key: &str| number(last, &format!("/flows/{name}/{key}"));
            flows.row([
                name.clone(),
                way.to_owned(),
                count(number(last, &key("sent")).unwrap_or(0.0) as u64),
                count(number(last, &key("received")).unwrap_or(0.0) as u64),
                or_dash(mean(before)),
                or_dash(mean(first)),
                or_dash(of_path("path_delay_s").map(time)),
                or_dash(of_path("path_satellites").map(|n| count(n as u64))),
            ]);
        }
    }
    let mut links = TextTable::new(["link", "direction", "waiting", "dropped", "lost"]);
    for name in names("links") {
        for way in ["forward", "reverse"] {
            let of =
                |key: &str| count(number(last, &format!("/links/{name}/{way}/{key}")).unwrap_or(0.0) as u64);
            links.row([
                name.clone(),
                way.to_owned(),
                of("queue_packets"),
                of("packets_dropped"),
                of("packets_lost"),
            ]);
        }
    }
    let late = or_dash(number(last, "/late_p99_s").map(time));
    let now = time(number(last, "/now_s").unwrap_or(0.0));
    let tables: String = [hosts, flows, links].iter().map(|table| format!("{}\n", table.text())).collect();
    format!("{tables}{now}; 99 of 100 packets left at most {late} late\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_delays_are_those_between_looks() {
        let look = |now: f64, bytes: u64, received: u64, delay: f64| {
            let way = json!({ "sent": received, "received": received, "delay_sum_s": delay });
            json!({
                "now_s": now,
                "late_p99_s": 2e-5,
                "hosts": { "user": { "read_bytes": bytes, "written_bytes": 0 } },
                "flows": { "f": { "forward": way, "reverse": way, "path_delay_s": null, "path_satellites": null } },
                "links": {},
            })
        };
        let looks =
            VecDeque::from([look(0.0, 0, 0, 0.0), look(1.0, 1000, 10, 0.1), look(2.0, 126_000, 20, 0.4)]);
        let text = picture(&looks).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("user 1.000 Mbit/s 0.000 bit/s"), "{text}");
        assert!(text.contains("f forward 20 20 30.00 ms 20.00 ms - -"), "{text}");
        assert!(text.contains("20.00 us late"), "{text}");
    }
}
