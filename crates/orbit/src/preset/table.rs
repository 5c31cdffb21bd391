//! The table of presets.
//!
//! Follows the publication in each doc line; SaVi stands for the parameters of SaVi 1.5.1's constellation scripts.
//! Differs: a system that several publications describe differently is kept once, with the difference in its source.
//! Left out: systems whose satellites no publication places; see [`UNDESCRIBED`].

use super::{Isls, Layout, Preset};
use crate::earth::EarthModel;
use crate::elliptic::Kepler;
use crate::shell::{Phasing, PlacedShell, Shell};

/// All presets, by name.
pub const PRESETS: &[Preset] = &[
    CELESTRI,
    GEO_3,
    GLOBALSTAR,
    ICO,
    IRIDIUM_66,
    KUIPER,
    KUIPER_630,
    MOLNIYA,
    O3B,
    ONEWEB,
    SKYBRIDGE,
    SKYBRIDGE_64,
    SPACEWAY_NGSO,
    STARLINK_550,
    STARLINK_GEN1,
    TELEDESIC_288,
    TELEDESIC_840,
];

/// Systems of KG table 1 that cannot be presets, and the parameters that are missing.
pub const UNDESCRIBED: &[(&str, &str)] = &[
    ("astrolink", "KG table 1 has 9 geostationary satellites and no longitudes"),
    (
        "spaceway",
        "KG table 1 has 20 geostationary satellites and no longitudes; its other half is spaceway-ngso",
    ),
    ("ge-star", "KG table 1 has 9 geostationary satellites and no longitudes"),
    ("panamsat", "KG table 1 has 9 geostationary satellites and no longitudes"),
];

/// Iridium: 6 planes of 11, 780 km, 86.4 degrees, planes 31.6 degrees apart (HT table 6.1).
pub const IRIDIUM: Shell = Shell {
    planes: 6,
    satellites_per_plane: 11,
    altitude_m: 780e3,
    inclination_rad: ns2_deg(86.4),
    raan_spacing_rad: ns2_deg(31.6),
    phasing: Phasing::OddPlanes(0.5),
    argument_decimals: Some(2),
};

/// Teledesic's 288-satellite design: 12 planes of 24, 1375 km, 84.7 degrees, planes 15 degrees apart (HT table 6.1).
pub const TELEDESIC: Shell = Shell {
    planes: 12,
    satellites_per_plane: 24,
    altitude_m: 1375e3,
    inclination_rad: ns2_deg(84.7),
    raan_spacing_rad: ns2_deg(15.0),
    phasing: Phasing::OddPlanes(0.5),
    argument_decimals: None,
};

const NONE: Isls = Isls { intra_plane: 0, inter_plane: 0, cross_seam: false };
/// ISLs to two satellites in the plane and one on each side.
const GRID: Isls = Isls { intra_plane: 1, inter_plane: 1, cross_seam: false };

/// Celestri: 63 satellites, 48: 63/7/5 at 1400 km (KG table 1; SaVi, whose eccentricity of 0.0013 is left out).
const CELESTRI: Preset = Preset {
    name: "celestri",
    alias: None,
    about: "Motorola's broadband proposal of 1997: 7 planes of 9 at 1400 km",
    source: "KG table 1; SaVi for inclination, phasing and mask; ISLs as a grid, which is an assumption",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 16.0,
    isls: GRID,
    antennas: None,
    catalogued: None,
    layout: Layout::Shells(&[placed(delta(7, 9, 1400.0, 48.0, 5.0))]),
};

/// Three geostationary satellites in view of all but the poles (Clarke 1945; longitudes as in SaVi).
const GEO_3: Preset = Preset {
    name: "geo-3",
    alias: Some("clarke"),
    about: "three geostationary satellites at 30, 150 and 270 degrees east",
    source: "A. C. Clarke, Wireless World, October 1945; longitudes and mask as in SaVi",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 5.0,
    isls: NONE,
    antennas: None,
    catalogued: None,
    layout: Layout::Ring(&[30.0, 150.0, 270.0]),
};

/// Globalstar: 48 satellites, 52: 48/8/1 at 1406 km (SaVi; HT table 1.1 rounds to 1410 km).
const GLOBALSTAR: Preset = Preset {
    name: "globalstar",
    alias: None,
    about: "voice and messaging by repeaters: 8 planes of 6 at 1406 km",
    source: "HT table 1.1 (1410 km); SaVi for altitude, inclination, phasing and mask",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 10.0,
    isls: NONE,
    antennas: None,
    catalogued: Some("GLOBALSTAR"),
    layout: Layout::Shells(&[placed(delta(8, 6, 1406.0, 52.0, 1.0))]),
};

/// ICO: 10 satellites in 2 planes, 45 degrees, 10,390 km (SaVi; HT table 1.1 rounds to 10,400 km).
const ICO: Preset = Preset {
    name: "ico",
    alias: None,
    about: "medium Earth orbit telephony: 2 planes of 5 at 10,390 km",
    source: "HT table 1.1 (10,400 km); SaVi for altitude, inclination, phasing and mask",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 10.0,
    isls: NONE,
    antennas: None,
    catalogued: None,
    layout: Layout::Shells(&[placed(delta(2, 5, 10_390.0, 45.0, 0.0))]),
};

/// Iridium as HT has it (HT tables 1.1 and 6.1), over ns-2's Earth.
const IRIDIUM_66: Preset = Preset {
    name: "iridium",
    alias: Some("iridium-66"),
    about: "polar star pattern: 6 planes of 11 at 780 km, 4 ISLs each",
    source: "HT tables 1.1 and 6.1, with the phasing and rounding of ns-2's example",
    earth: EarthModel::NS2,
    elevation_mask_deg: 8.2,
    isls: GRID,
    antennas: Some(1),
    catalogued: Some("IRIDIUM"),
    layout: Layout::Shells(&[placed(IRIDIUM)]),
};

/// Kuiper: three shells, 3236 satellites (FCC 20-102, Kuiper Systems, 2020).
const KUIPER: Preset = Preset {
    name: "kuiper",
    alias: None,
    about: "three inclined shells at 590, 610 and 630 km",
    source: "FCC order 20-102 (2020); phasing half a slot and ISLs as a grid, as Hypatia has them",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 35.0,
    isls: GRID,
    antennas: None,
    catalogued: Some("KUIPER"),
    layout: Layout::Shells(&[
        placed(staggered(34, 34, 630.0, 51.9)),
        placed(staggered(36, 36, 610.0, 42.0)),
        placed(staggered(28, 28, 590.0, 33.0)),
    ]),
};

/// The shell of Kuiper that Hypatia's papers use (Kassing et al., IMC 2020).
const KUIPER_630: Preset = Preset {
    name: "kuiper-630",
    alias: None,
    about: "Kuiper's first shell alone: 34 planes of 34 at 630 km",
    source: "Hypatia (Kassing et al., IMC 2020): mask 30 degrees, ISLs as a grid",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 30.0,
    isls: GRID,
    antennas: None,
    catalogued: None,
    layout: Layout::Shells(&[placed(staggered(34, 34, 630.0, 51.9))]),
};

/// Molniya: three half-day ellipses over the north (SaVi: a 26,556 km, e 0.71, 63.44 degrees).
const MOLNIYA: Preset = Preset {
    name: "molniya",
    alias: None,
    about: "three satellites on half-day ellipses with their apogees in the north",
    source: "SaVi; the mask is SaVi's too",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 5.0,
    isls: NONE,
    antennas: None,
    catalogued: None,
    layout: Layout::Orbits { planes: 3, satellites_per_plane: 1, orbits: molniya },
};

/// O3b: 20 satellites on the equator at 8062 km (SaVi's full O3b network without its inclined planes).
const O3B: Preset = Preset {
    name: "o3b",
    alias: None,
    about: "20 satellites in one equatorial plane at 8062 km",
    source: "SaVi, the equatorial plane of its full O3b network; O3b flew 20 from 2019 on",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 15.0,
    isls: NONE,
    antennas: None,
    catalogued: Some("O3B"),
    layout: Layout::Shells(&[placed(Shell {
        planes: 1,
        satellites_per_plane: 20,
        altitude_m: 8062e3,
        inclination_rad: 0.0,
        raan_spacing_rad: 0.0,
        phasing: Phasing::OddPlanes(0.0),
        argument_decimals: None,
    })]),
};

/// OneWeb's first application: 18 planes of 40, 87.9 degrees, 1200 km (FCC 17-77; SaVi).
const ONEWEB: Preset = Preset {
    name: "oneweb",
    alias: None,
    about: "polar star pattern without ISLs: 18 planes of 40 at 1200 km",
    source: "FCC order 17-77 (2017); SaVi for spacing, phasing and mask",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 50.0,
    isls: NONE,
    antennas: None,
    catalogued: Some("ONEWEB"),
    layout: Layout::Shells(&[placed(shell(18, 40, 1200.0, 87.9, 10.0, Phasing::OddPlanes(-0.5)))]),
};

/// SkyBridge: 80 satellites, 53: 80/20/5 at 1469 km (KG table 1; SaVi).
const SKYBRIDGE: Preset = Preset {
    name: "skybridge",
    alias: Some("skybridge-80"),
    about: "Alcatel's access network by repeaters: 20 planes of 4 at 1469 km",
    source: "KG table 1; SaVi for inclination, planes, phasing and mask (HT table 1.1 has 8 planes at 1450 km)",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 10.0,
    isls: NONE,
    antennas: None,
    catalogued: None,
    layout: Layout::Shells(&[placed(delta(20, 4, 1469.0, 53.0, 5.0))]),
};

/// SkyBridge as first proposed: two groups of 8 planes of 4, 55 degrees, 1457 km (SaVi).
const SKYBRIDGE_64: Preset = Preset {
    name: "skybridge-64",
    alias: None,
    about: "SkyBridge as first proposed: 64 satellites in 8 pairs of planes at 1457 km",
    source: "SaVi, but for the mask, which is that of the later design",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 10.0,
    isls: NONE,
    antennas: None,
    catalogued: None,
    layout: Layout::Shells(&[
        placed(delta(8, 4, 1457.0, 55.0, 3.0)),
        PlacedShell {
            raan_rad: 10f64.to_radians(),
            argument_rad: 14f64.to_radians(),
            ..placed(delta(8, 4, 1457.0, 55.0, 3.0))
        },
    ]),
};

/// Spaceway NGSO: 4 planes of 5, 55 degrees, 10,352 km, a toroidal mesh (WP; SaVi).
const SPACEWAY_NGSO: Preset = Preset {
    name: "spaceway-ngso",
    alias: None,
    about: "Hughes's medium Earth orbit proposal: 4 planes of 5 at 10,352 km, 4 ISLs each",
    source: "WP for the mesh; SaVi for altitude, inclination, phasing and mask",
    earth: EarthModel::NS2,
    elevation_mask_deg: 30.0,
    isls: GRID,
    antennas: Some(1),
    catalogued: None,
    layout: Layout::Shells(&[placed(delta(4, 5, 10_352.0, 55.0, 0.0))]),
};

/// Starlink's first shell as Hypatia has it: 72 planes of 22, 53 degrees, 550 km (Kassing et al., IMC 2020).
const STARLINK_550: Preset = Preset {
    name: "starlink-550",
    alias: None,
    about: "Starlink's first shell alone: 72 planes of 22 at 550 km",
    source: "Hypatia (Kassing et al., IMC 2020): mask 25 degrees, ISLs as a grid",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 25.0,
    isls: GRID,
    antennas: None,
    catalogued: None,
    layout: Layout::Shells(&[placed(staggered(72, 22, 550.0, 53.0))]),
};

/// Starlink generation 1: five shells, 4408 satellites (FCC 21-48, SpaceX's third modification, 2021).
const STARLINK_GEN1: Preset = Preset {
    name: "starlink-gen1",
    alias: Some("starlink"),
    about: "five shells at 540 to 570 km",
    source: "FCC order 21-48 (2021); phasing half a slot, planes all the way round and ISLs as a grid are assumptions",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 25.0,
    isls: GRID,
    antennas: None,
    catalogued: Some("STARLINK"),
    layout: Layout::Shells(&[
        placed(staggered(72, 22, 550.0, 53.0)),
        placed(staggered(72, 22, 540.0, 53.2)),
        placed(staggered(36, 20, 570.0, 70.0)),
        placed(staggered(6, 58, 560.0, 97.6)),
        placed(staggered(4, 43, 560.0, 97.6)),
    ]),
};

/// Teledesic as redesigned in 1997 (HT table 6.1), over ns-2's Earth.
const TELEDESIC_288: Preset = Preset {
    name: "teledesic-288",
    alias: Some("teledesic"),
    about: "polar star pattern: 12 planes of 24 at 1375 km, 8 ISLs each",
    source: "HT tables 1.1 and 6.1, with the phasing of ns-2's example (KG table 1 rounds to 1400 km)",
    earth: EarthModel::NS2,
    elevation_mask_deg: 40.0,
    isls: Isls { intra_plane: 2, inter_plane: 2, cross_seam: true },
    antennas: Some(1),
    catalogued: None,
    layout: Layout::Shells(&[placed(TELEDESIC)]),
};

/// Teledesic as first filed: 21 planes of 40, 98.7 degrees, 750 to 760 km, each plane half a km higher (SaVi).
const TELEDESIC_840: Preset = Preset {
    name: "teledesic-840",
    alias: None,
    about: "Teledesic as first filed: 21 planes of 40, each half a km above the one before",
    source: "SaVi; planes drift apart, so ISLs are kept within planes and phasing is left at zero",
    earth: EarthModel::WGS84,
    elevation_mask_deg: 40.0,
    isls: Isls { intra_plane: 2, inter_plane: 0, cross_seam: false },
    antennas: None,
    catalogued: None,
    layout: Layout::Orbits { planes: 21, satellites_per_plane: 40, orbits: teledesic_840 },
};

fn molniya(_: &EarthModel) -> Vec<Kepler> {
    let orbit = |turn_deg: f64| Kepler {
        semi_major_axis_m: 26_556e3,
        eccentricity: 0.71,
        inclination_rad: 63.435f64.to_radians(),
        raan_rad: turn_deg.to_radians(),
        argument_of_perigee_rad: 270f64.to_radians(),
        mean_anomaly_rad: (100.0 + turn_deg).to_radians(),
    };
    [0.0, 120.0, 240.0].map(orbit).to_vec()
}

fn teledesic_840(earth: &EarthModel) -> Vec<Kepler> {
    let orbit = |plane: u32, slot: u32| Kepler {
        semi_major_axis_m: earth.radius_m + 750e3 + 500.0 * f64::from(plane),
        eccentricity: 0.001_18,
        inclination_rad: 98.7f64.to_radians(),
        raan_rad: (9.5 * f64::from(plane)).to_radians(),
        argument_of_perigee_rad: 0.0,
        mean_anomaly_rad: (9.0 * f64::from(slot)).to_radians(),
    };
    (0..21).flat_map(|plane| (0..40).map(move |slot| orbit(plane, slot))).collect()
}

const fn placed(shell: Shell) -> PlacedShell {
    PlacedShell { shell, raan_rad: 0.0, argument_rad: 0.0 }
}

/// A Walker delta pattern with phasing `f`.
const fn delta(planes: u32, per_plane: u32, altitude_km: f64, inclination_deg: f64, f: f64) -> Shell {
    shell(planes, per_plane, altitude_km, inclination_deg, 360.0 / planes as f64, Phasing::Walker(f))
}

/// Planes evenly spaced over 360 degrees; odd ones are half a slot ahead.
const fn staggered(planes: u32, per_plane: u32, altitude_km: f64, inclination_deg: f64) -> Shell {
    shell(planes, per_plane, altitude_km, inclination_deg, 360.0 / planes as f64, Phasing::OddPlanes(0.5))
}

const fn shell(
    planes: u32,
    satellites_per_plane: u32,
    altitude_km: f64,
    inclination_deg: f64,
    spacing_deg: f64,
    phasing: Phasing,
) -> Shell {
    Shell {
        planes,
        satellites_per_plane,
        altitude_m: altitude_km * 1e3,
        inclination_rad: inclination_deg.to_radians(),
        raan_spacing_rad: spacing_deg.to_radians(),
        phasing,
        argument_decimals: None,
    }
}

/// Degrees as ns-2 reads them from a script, through a 32-bit float.
const fn ns2_deg(degrees: f32) -> f64 {
    (degrees as f64).to_radians()
}
