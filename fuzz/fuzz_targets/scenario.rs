//! Any bytes as a scenario: parse, set, check and resolve must return a result or an error in order.
//!
//! The first line, if it begins with '#', is `--set` text; the rest is the file.
//! Differs from the tests: the only expectation is that errors have a place and a message of one line.
//! Leaves out running valid scenarios.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_scenario::{Scenario, network, parse, parse_set};

fuzz_target!(|bytes: &[u8]| {
    let first = bytes.split(|b| *b == b'\n').next().and_then(|l| l.strip_prefix(b"#"));
    let set = first.and_then(|l| parse_set(&String::from_utf8_lossy(l)).ok());
    for sets in [Vec::new(), Vec::from_iter(set)] {
        match parse(bytes, "fuzz.toml", &sets) {
            Ok(loaded) => {
                let network = network::resolve(&loaded.scenario).expect("what was checked resolves");
                assert_eq!(network.routes.len(), loaded.scenario.flows.len());
                // A scenario that is written reads back as the same scenario.
                let text = toml::to_string(&loaded.scenario).expect("a scenario is TOML");
                let again =
                    parse(text.as_bytes(), "again.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
                same(&loaded.scenario, &again.scenario, &text);
            }
            Err(errors) => {
                assert!(!errors.problems.is_empty());
                for problem in &errors.problems {
                    let line = problem.to_string();
                    assert!(!line.contains(['\n', '\u{1b}']) && !problem.message.is_empty(), "{line:?}");
                    // Serde's own words mean that the shape let something pass that the types refuse.
                    assert!(!line.contains("invalid type") && !line.contains("missing field"), "{line}");
                }
            }
        }
    }
});

// NaN is refused by the checks, so equality is whole.
fn same(a: &Scenario, b: &Scenario, text: &str) {
    assert!(a == b, "{a:?}\n{b:?}\n{text}");
}
