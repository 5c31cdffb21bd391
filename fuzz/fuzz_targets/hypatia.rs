//! Any bytes as a folder of Hypatia: it is rejected with file and line, or its forwarding can be stepped.
//!
//! The texts of the four files, separated by NUL; a file of forwarding state may follow.
//! Differs from the tests: the only expectation is that a network that was read can be written and read again.
//! Leaves out large networks: those that are stepped have few satellites.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_routing::hypatia::{ForwardingState, Hypatia, ReadState};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('\0');
    let mut part = move || parts.next().unwrap_or_default();
    let (tles, isls, stations, description) = (part(), part(), part(), part());
    match Hypatia::read(tles, isls, stations, description) {
        Ok(network) => {
            let again = Hypatia::read(
                tles,
                &network.isls_text(),
                &network.stations_text(),
                &network.description_text(),
            )
            .unwrap_or_else(|e| panic!("what was written does not read: {e}"));
            assert_eq!(again.isls, network.isls);
            assert_eq!(again.stations.len(), network.stations.len());
            if network.nodes() > 64 {
                return;
            }
            let (mut state, mut read) = (ForwardingState::new(&network), ReadState::default());
            for t_s in [0.0, 100.0] {
                read.apply(&state.step(t_s)).expect("what is written reads");
            }
            let satellites = network.constellation.len() as u32;
            for node in 0..network.nodes() as u32 {
                for station in 0..network.stations.len() as u32 {
                    let next = read.next(node, satellites + station);
                    assert!(next.is_none_or(|next| next < network.nodes() as u32), "{next:?}");
                }
            }
            let _ = read.apply(part());
        }
        Err(e) => {
            let line = e.to_string();
            assert!(!line.is_empty() && !line.contains(['\n', '\u{1b}']), "{line:?}");
        }
    }
});
