//! Any bytes as orbital elements: both parsers must return, and accepted elements must be propagated without a panic.
//!
//! Follows the processing of a file named in a scenario.
//! Differs from the tests: positions are only expected to be numbers.
//! Leaves out accuracy.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_orbit::{Constellation, ElementsError};

fuzz_target!(|bytes: &[u8]| {
    look(Constellation::from_tle(bytes, None));
    look(Constellation::from_omm(bytes, None));
});

fn look(constellation: Result<Constellation, ElementsError>) {
    match constellation {
        Ok(constellation) => {
            for satellite in 0..constellation.len().min(4) as u32 {
                for t_s in [0.0, 5_400.0] {
                    if let Some(at) = constellation.position_ecef(satellite, t_s) {
                        assert!(at.latitude_rad().is_finite() && at.longitude_rad().is_finite());
                    }
                }
                assert!(!constellation.name(satellite).is_empty());
            }
        }
        Err(e) => assert!(!e.to_string().is_empty()),
    }
}
