//! Any bytes as a distribution file: it is rejected with its line, or is a distribution.
//!
//! The first byte selects the interpolation between two values; the rest is the file.
//! Differs from the tests: only properties of every distribution are expected.
//! Leaves out draws.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_traffic::{Interpolation, Measured};

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, file)) = bytes.split_first() else { return };
    let between = if choice % 2 == 0 { Interpolation::Step } else { Interpolation::Line };
    match Measured::parse(file, between) {
        Ok(measured) => {
            let points = measured.points();
            let (least, most) = (points[0].0, points[points.len() - 1].0);
            let slack = 1e-9 * most.max(1.0);
            let mean = measured.mean();
            assert!((-slack..=most + slack).contains(&mean), "a mean of {mean} of {least} to {most}");
            let mut last = f64::MIN;
            for u in 0..=16 {
                let value = measured.at(u as f64 / 16.0);
                assert!((least..=most).contains(&value), "{value} of {least} to {most}");
                assert!(value >= last, "draws fall from {last} to {value}");
                last = value;
                let share = measured.share_up_to(value);
                assert!((0.0..=1.0 + 1e-9).contains(&share), "a share of {share} up to {value}");
            }
            assert!(measured.share_up_to(most) >= 1.0 - 1e-9);
            assert_eq!(measured.share_up_to(least - 1.0), 0.0);
        }
        Err(e) => {
            let line = e.to_string();
            assert!(!line.is_empty() && !line.contains(['\n', '\u{1b}']), "{line:?}");
            assert!(
                e.line
                    .is_none_or(|line| line >= 1 && line <= file.iter().filter(|b| **b == b'\n').count() + 1)
            );
        }
    }
});
