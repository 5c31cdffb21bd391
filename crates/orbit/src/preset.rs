//! Constellations that the literature knows by name.
//!
//! Follows HT table 6.1 with the conventions of ns-2's satellite module (stagger, rounding, spherical Earth).
//! Differs: nothing known; angles keep the 32-bit rounding that ns-2's input gives them.
//! Left out: constellations of today, which come as elements, and WP's Spaceway.

use crate::constellation::Constellation;
use crate::earth::EarthModel;
use crate::shell::{Phasing, Shell};

/// Iridium: 6 planes of 11, 780 km, 86.4 degrees, planes 31.6 degrees apart.
pub const IRIDIUM: Shell = Shell {
    planes: 6,
    satellites_per_plane: 11,
    altitude_m: 780e3,
    inclination_rad: ns2_deg(86.4),
    raan_spacing_rad: ns2_deg(31.6),
    phasing: Phasing::OddPlanes(0.5),
    argument_decimals: Some(2),
};

/// Teledesic's 288-satellite design: 12 planes of 24, 1375 km, 84.7 degrees, planes 15 degrees apart.
pub const TELEDESIC: Shell = Shell {
    planes: 12,
    satellites_per_plane: 24,
    altitude_m: 1375e3,
    inclination_rad: ns2_deg(84.7),
    raan_spacing_rad: ns2_deg(15.0),
    phasing: Phasing::OddPlanes(0.5),
    argument_decimals: None,
};

/// Iridium over ns-2's Earth.
pub fn iridium() -> Constellation {
    Constellation::from_shell(EarthModel::NS2, &IRIDIUM).expect("the preset is a valid shell")
}

/// Teledesic over ns-2's Earth.
pub fn teledesic() -> Constellation {
    Constellation::from_shell(EarthModel::NS2, &TELEDESIC).expect("the preset is a valid shell")
}

/// Geostationary satellites at the given east longitudes (radians) over the WGS 84 ellipsoid, named `geo-0` and on.
pub fn geo(longitudes_rad: &[f64]) -> Constellation {
    Constellation::geostationary(EarthModel::WGS84, longitudes_rad)
}

/// Degrees as ns-2 reads them from a script: through a 32-bit float.
const fn ns2_deg(degrees: f32) -> f64 {
    (degrees as f64).to_radians()
}
