//! The distance between the shipped fits and Bruce Mah's measurements.
//!
//! Follows `tools/fit_traffic.py`, which prints the distances that are bounded here on both sides.
//! Differs: a second computation, from the crate's distributions and the same files.
//! The files are looked for beside the repository; without them the test is skipped.

#[path = "../../../tools/testing.rs"]
mod testing;

use skyhop_traffic::{Interpolation, Mah, Measured};

// File, fit, distance, mean of the fit, mean of the data, median of both (the least value that half is at or below).
type TableRow = (&'static str, Mah, f64, f64, f64, [f64; 2]);
const FITS: [TableRow; 5] = [
    ("HttpRequestLength", Mah::Request, 0.0475, 339.63, 337.35, [233.13, 231.0]),
    ("HttpReplyLength", Mah::Reply, 0.0518, 6695.8, 7231.0, [2071.0, 2112.0]),
    ("HttpThinkTime", Mah::Think, 0.0143, 1634.6, 1804.0, [16.794, 16.192]),
    ("HttpConnections", Mah::Files, 0.0237, 2.8885, 2.838, [1.0, 1.0]),
    ("HttpServerStay", Mah::Stay, 0.0133, 4.001, 4.010, [2.0, 2.0]),
];

#[test]
fn the_fits_are_as_far_from_the_data_as_is_printed() {
    for (file, fit, distance, mean, data_mean, [median, data_median]) in FITS {
        let Some(text) = testing::shared_text(&format!("data/http-mah/{file}.cdf")) else { return };
        let data = Measured::parse(text.as_bytes(), Interpolation::Step).unwrap();
        let fit = fit.distribution();
        let whole = matches!(file, "HttpConnections" | "HttpServerStay");
        let (mut before, mut found) = (0.0, 0.0f64);
        let largest = data.points().last().unwrap().0;
        for &(value, share) in data.points() {
            // Nothing of no length is sent. At the largest value the fit is cut, and the step there is the cut's.
            let value: f64 = value.max(1.0);
            let here = fit.share_up_to(value);
            let below = if value < largest { here } else { fit.share_up_to(value * (1.0 - 1e-12)) };
            found = found.max((here - share).abs());
            found = if whole { found } else { found.max((below - before).abs()) };
            before = share;
        }
        println!("{file}: distance {found:.4}, mean {:.2} of {:.2}", fit.mean(), data.mean());
        assert!((found - distance).abs() < 0.0006, "{file}: distance {found}, {distance} printed");
        let near = |ours: f64, printed: f64| (ours / printed - 1.0).abs() < 0.002;
        assert!(near(fit.mean(), mean), "{file}: mean {}, {mean} printed", fit.mean());
        assert!(near(data.mean(), data_mean), "{file}: mean of the data {}", data.mean());
        assert_eq!(data.at(0.5), data_median, "{file}");
        assert!(fit.share_up_to(median * 1.001) >= 0.5, "{file}");
        assert!(fit.share_up_to(median * 0.999) < 0.5, "{file}");
    }
}
