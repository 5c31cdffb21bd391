//! Checks of angles: latitudes, longitudes, inclinations, elevations.
//!
//! Follows the ranges documented for their keys.
//! Leaves out units, which are read before.

use crate::finding::FindingList;
use crate::path::KeyPath;
use skyhop_units::Angle;

/// Requires `angle` to be within `least` and `most` degrees, both included.
pub(super) fn between(
    angle: Angle,
    least: f64,
    most: f64,
    what: &str,
    path: impl FnOnce() -> KeyPath,
    out: &mut FindingList,
) {
    let fine = (least..=most).contains(&angle.as_deg());
    out.require(fine, path, || format!("{what} of {angle} is outside {least} to {most} deg"));
}
