//! Any bytes as a link's trace: it is rejected with its line, or a transfer and pings over that link end.
//!
//! The first byte selects the queue and whether the trace repeats; the rest is the file.
//! Differs from the tests: the only expectation is the conservation of packets.
//! Leaves out speed: runs are short, and stop after a number of events.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_scenario::{Files, parse};
use skyhop_sim::Simulation;
use std::sync::Arc;

const EVENTS: u64 = 20_000;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, file)) = bytes.split_first() else { return };
    let queue = [
        "{ kind = \"drop-tail\", limit = \"20 packets\" }",
        "{ kind = \"codel\", limit = \"20 packets\" }",
        "{ kind = \"fq-codel\", limit = \"20 packets\" }",
        "{ kind = \"drr\", limit = \"20 packets\" }",
    ][choice as usize % 4];
    let repeat =
        ["", "repeat = \"1 s\"", "repeat = \"7 ms\"", "jitter = { kind = \"uniform\", most = \"3 ms\" }"]
            [choice as usize / 4 % 4];
    let text = format!(
        "duration = \"3 s\"\n[links.l]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nqueue = {queue}\ntrace = \"t.csv\"\n{repeat}\n\
         [[flows]]\npath = [\"a\", \"l\", \"b\"]\ntraffic = {{ kind = \"bulk\" }}\ntransport = {{ kind = \"tcp\" }}\n\
         [[flows]]\npath = [\"b\", \"l\", \"a\"]\ntraffic = {{ kind = \"ping\", interval = \"50 ms\", size = \"64 B\" }}\n"
    );
    // A choice that the scenario does not have is not what is looked for.
    let Ok(loaded) = parse(text.as_bytes(), "fuzz.toml", &[]) else { return };
    let files = Files::from([("t.csv".to_owned(), Arc::from(file))]);
    match Simulation::new(&loaded.scenario, &files, 1) {
        Ok(mut simulation) => {
            for _ in 0..EVENTS {
                if !simulation.step() {
                    break;
                }
            }
            simulation.check_conservation().expect("each packet is somewhere");
            simulation.finish();
        }
        Err(e) => {
            let line = e.to_string();
            assert!(!line.is_empty() && !line.contains(['\n', '\u{1b}']), "{line:?}");
        }
    }
});
