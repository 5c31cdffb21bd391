//! The rules that decide which links exist.
//!
//! Follows HT 6.2 and table 6.1 for values, ns-2's satellite module for their exact meaning.
//! Differs: an ISL within a plane must clear the atmosphere too, which matters only where a plane has holes.
//! Left out: beams, and the capacity of a satellite.

use std::fmt;

use skyhop_orbit::Preset;

/// The rules of the links of a constellation. `default` suits a pattern without a seam at any altitude; [`crate::Defaults`] has
/// the rules of a given constellation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Interplane and cross-seam ISLs are down while an end is beyond this geocentric latitude.
    pub isl_latitude_limit_rad: f64,
    /// ISLs are down while they pass lower than this over the Earth's (equatorial) radius.
    pub grazing_altitude_m: f64,
    /// ISLs longer than this are down; infinite for no limit.
    pub max_isl_range_m: f64,
    /// Satellites further away than this do not serve a terminal; infinite for no limit.
    pub max_gsl_range_m: f64,
    /// ISLs across the seam of a star pattern, if there are any.
    pub cross_seam: Option<CrossSeam>,
    /// Number of satellites ahead in the plane that a satellite links to (and as many behind).
    pub intra_plane_neighbours: u32,
    /// Number of planes to the east that a satellite links to (and as many to the west).
    pub inter_plane_neighbours: u32,
    /// True if satellites of neighbouring shells link to one another; see [`crate::LinkKind::InterShell`].
    pub inter_shell: bool,
    /// A satellite can serve a terminal while its elevation is greater than this.
    pub elevation_mask_rad: f64,
    /// True if catalogued satellites outside the planes serve terminals. They have no ISLs, so in a constellation that relies on
    /// ISLs they lead nowhere. Where there are no planes, every satellite serves.
    pub spares_serve: bool,
    /// The policy by which a terminal chooses its satellite.
    pub handover: Handover,
    /// Time for which a terminal receives nothing after a change of satellite, s.
    pub handover_gap_s: f64,
    /// Probability that a packet that waits or travels on the link is lost when a terminal changes its satellite; applied by the
    /// simulator, not here.
    pub handover_loss: f64,
    /// True to keep the old satellite while the new one is acquired, if it lasts that long; there is then no gap. The need for
    /// another satellite is foreseen by [`Rules::gsl_acquisition_s`] and one update.
    pub make_before_break: bool,
    /// Time that a terminal needs to acquire a satellite, s.
    pub gsl_acquisition_s: f64,
    /// Time that two satellites need to acquire one another, s.
    pub isl_acquisition_s: f64,
    /// Refractive index of fibre between stations.
    pub fibre_index: f64,
    /// Length of fibre relative to the great circle between its ends.
    pub fibre_detour: f64,
    /// Time between updates, s; the caller of [`crate::Topology::update`] keeps it.
    pub update_interval_s: f64,
}

/// ISLs between plane 0 and the last plane of a star pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrossSeam {
    /// ISLs are down while the ends' longitudes differ by less, since antennas cannot turn that fast near the poles.
    pub longitude_threshold_rad: f64,
    /// Initial peers: satellite 0.s links to slot `first_slot` - s of the last plane; `None` takes the nearest.
    pub first_slot: Option<u32>,
}

/// The policy by which a terminal chooses its satellite at each check. Under every policy, a satellite that is no longer above
/// the mask and within range is released.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Handover {
    /// Keeps the satellite while it is above the mask; then takes its follower in the plane; then the highest. Terminals begin on
    /// satellite 0, as in ns-2's scripts, which matters if that is above the mask at first.
    FollowPlane,
    /// Keeps the satellite while it is above the mask; then takes the highest.
    HighestOnLoss,
    /// Takes the highest at every check.
    Highest,
    /// Takes the nearest at every check. In a single shell over a sphere that is the highest.
    Nearest,
    /// Keeps the satellite while it is above the mask; then takes the one that will stay above it longest.
    LongestVisibility,
    /// Keeps the satellite while it is above the mask and northbound; then takes the highest northbound one (WP).
    Ascending,
    /// As [`Self::Ascending`], for southbound satellites (WP).
    Descending,
    /// Takes the highest at multiples of a period, for all terminals together (15 s for Starlink), and in between only if the
    /// satellite is lost. The period should be a multiple of the update interval.
    Synchronous {
        /// Period, s.
        period_s: f64,
    },
    /// Earth-fixed cells (HT cites Restrepo and Maral): at multiples of the period a cell gets the satellite that is highest over
    /// its centre, and all terminals of the cell change together, whatever each of them sees.
    EarthFixedCells {
        /// Period, s.
        period_s: f64,
        /// Height of a cell in degrees of latitude; its width is about the same length on the ground.
        cell_deg: f64,
    },
}

impl Handover {
    /// All policies; `Synchronous` with Starlink's 15 s, `EarthFixedCells` with a minute and Teledesic's cells of 160 km.
    pub const ALL: [Self; 9] = [
        Self::FollowPlane,
        Self::HighestOnLoss,
        Self::Highest,
        Self::Nearest,
        Self::LongestVisibility,
        Self::Ascending,
        Self::Descending,
        Self::STARLINK,
        Self::TELEDESIC_CELLS,
    ];

    /// All terminals change together every 15 s.
    pub const STARLINK: Self = Self::Synchronous { period_s: 15.0 };

    /// Cells of 160 km that change every minute.
    pub const TELEDESIC_CELLS: Self = Self::EarthFixedCells { period_s: 60.0, cell_deg: 1.44 };
}

/// The rules of a preset whose publication gives more than a [`Preset`] holds.
struct Published {
    rules: Rules,
    /// These rules with links across the seam.
    with_seam: Rules,
    /// Rules for the system's satellites in orbit today.
    catalogued: Rules,
}

impl Published {
    fn of(preset: &Preset) -> Option<Self> {
        Some(match preset.name {
            "iridium" => Self {
                rules: Rules::iridium(),
                with_seam: Rules::iridium_cross_seam(),
                // Differs from HT's Iridium: another latitude limit, and no terminal that begins on satellite 0.
                catalogued: Rules::iridium_next(),
            },
            "teledesic-288" => Self {
                rules: Rules::teledesic(),
                with_seam: Rules::teledesic(),
                catalogued: Rules::teledesic(),
            },
            _ => return None,
        })
    }
}

impl CrossSeam {
    /// The seam rules of a preset, present or assumed: longitude threshold 10 degrees and the nearest peer, unless HT has other
    /// values.
    pub fn for_preset(preset: &Preset) -> Self {
        let nearest = Self { longitude_threshold_rad: 10f64.to_radians(), first_slot: None };
        Published::of(preset).and_then(|published| published.with_seam.cross_seam).unwrap_or(nearest)
    }
}

impl Rules {
    /// HT's Iridium as ns-2 runs it: latitude limit 60 degrees, mask 8.2 degrees, no ISLs across the seam.
    pub fn iridium() -> Self {
        Self {
            isl_latitude_limit_rad: 60f64.to_radians(),
            grazing_altitude_m: 150e3,
            max_isl_range_m: f64::INFINITY,
            max_gsl_range_m: f64::INFINITY,
            cross_seam: None,
            intra_plane_neighbours: 1,
            inter_plane_neighbours: 1,
            inter_shell: false,
            elevation_mask_rad: 8.2f64.to_radians(),
            spares_serve: false,
            handover: Handover::FollowPlane,
            handover_gap_s: 0.0,
            handover_loss: 0.0,
            make_before_break: false,
            gsl_acquisition_s: 0.0,
            isl_acquisition_s: 0.0,
            fibre_index: 1.468,
            fibre_detour: 1.0,
            update_interval_s: 10.0,
        }
    }

    /// HT's Iridium with cross-seam ISLs, longitude threshold 10 degrees.
    pub fn iridium_cross_seam() -> Self {
        let seam = CrossSeam { longitude_threshold_rad: 10f64.to_radians(), first_slot: Some(5) };
        Self { cross_seam: Some(seam), ..Self::iridium() }
    }

    /// HT's Teledesic: eight ISLs, mask 40 degrees, cross-seam ISLs with longitude threshold 8 degrees.
    pub fn teledesic() -> Self {
        let seam = CrossSeam { longitude_threshold_rad: 8f64.to_radians(), first_slot: Some(11) };
        Self {
            cross_seam: Some(seam),
            intra_plane_neighbours: 2,
            inter_plane_neighbours: 2,
            elevation_mask_rad: 40f64.to_radians(),
            ..Self::iridium()
        }
    }

    /// Geostationary satellites as bent pipes: no ISLs, mask 5 degrees (47 CFR 25.205).
    pub fn geo() -> Self {
        Self {
            intra_plane_neighbours: 0,
            inter_plane_neighbours: 0,
            elevation_mask_rad: 5f64.to_radians(),
            ..Self::default()
        }
    }

    /// Iridium NEXT from its elements: four ISLs, none across the seam, mask 8.2 degrees, links between planes off above
    /// 68 degrees (between HT's typical 70 and ns-2's 60).
    pub fn iridium_next() -> Self {
        Self {
            isl_latitude_limit_rad: 68f64.to_radians(),
            elevation_mask_rad: 8.2f64.to_radians(),
            ..Self::default()
        }
    }

    /// The rules of a preset by its publication: mask and ISLs, and links across the seam only if the publication has them.
    pub fn for_preset(preset: &Preset) -> Self {
        Published::of(preset).map_or_else(|| Self::as_listed(preset), |published| published.rules)
    }

    /// The rules for the catalogued satellites of a preset's system.
    pub fn for_catalogued(preset: &Preset) -> Self {
        Published::of(preset).map_or_else(|| Self::as_listed(preset), |published| published.catalogued)
    }

    fn as_listed(preset: &Preset) -> Self {
        Self {
            cross_seam: preset.isls.cross_seam.then_some(CrossSeam::for_preset(preset)),
            intra_plane_neighbours: preset.isls.intra_plane,
            inter_plane_neighbours: preset.isls.inter_plane,
            elevation_mask_rad: preset.elevation_mask_deg.to_radians(),
            ..Self::default()
        }
    }

    /// Fails if a value is out of range; topologies call it on the rules that they are given.
    pub fn check(&self) -> Result<(), RulesError> {
        let seam = self.cross_seam.map_or(0.0, |seam| seam.longitude_threshold_rad);
        let degrees = |radians: f64| radians.to_degrees();
        let period_s = match self.handover {
            Handover::Synchronous { period_s } | Handover::EarthFixedCells { period_s, .. } => period_s,
            _ => self.update_interval_s,
        };
        let cell_deg = match self.handover {
            Handover::EarthFixedCells { cell_deg, .. } => cell_deg,
            _ => 1.0,
        };
        for (rule, value, low, high) in [
            ("cell (deg)", cell_deg, 0.01, 90.0),
            ("isl latitude limit (deg)", degrees(self.isl_latitude_limit_rad), 0.0, 90.0),
            ("grazing altitude (km)", self.grazing_altitude_m / 1e3, -100.0, 100e3),
            ("cross-seam longitude threshold (deg)", degrees(seam), 0.0, 180.0),
            ("intra-plane neighbours", f64::from(self.intra_plane_neighbours), 0.0, MAX_NEIGHBOURS),
            ("inter-plane neighbours", f64::from(self.inter_plane_neighbours), 0.0, MAX_NEIGHBOURS),
            ("elevation mask (deg)", degrees(self.elevation_mask_rad), -90.0, 90.0),
            ("update interval (s)", self.update_interval_s, 1e-3, 86_400.0),
            ("handover period (s)", period_s, 1e-3, 86_400.0),
            ("maximum isl range (km)", self.max_isl_range_m / 1e3, 1.0, f64::INFINITY),
            ("handover gap (s)", self.handover_gap_s, 0.0, 3600.0),
            ("handover loss", self.handover_loss, 0.0, 1.0),
            ("gsl acquisition (s)", self.gsl_acquisition_s, 0.0, 3600.0),
            ("isl acquisition (s)", self.isl_acquisition_s, 0.0, 3600.0),
            ("fibre index", self.fibre_index, 1.0, 10.0),
            ("fibre detour", self.fibre_detour, 1.0, 10.0),
            ("maximum gsl range (km)", self.max_gsl_range_m / 1e3, 1.0, f64::INFINITY),
        ] {
            // A small tolerance: 90 degrees may not survive conversion exactly.
            if !(low - 1e-9..=high + 1e-9).contains(&value) {
                return Err(RulesError { rule, value, low, high });
            }
        }
        Ok(())
    }
}

const MAX_NEIGHBOURS: f64 = 16.0;

impl Default for Rules {
    fn default() -> Self {
        Self {
            isl_latitude_limit_rad: 90f64.to_radians(),
            grazing_altitude_m: 80e3,
            max_isl_range_m: f64::INFINITY,
            max_gsl_range_m: f64::INFINITY,
            cross_seam: None,
            intra_plane_neighbours: 1,
            inter_plane_neighbours: 1,
            inter_shell: false,
            elevation_mask_rad: 10f64.to_radians(),
            spares_serve: false,
            handover: Handover::HighestOnLoss,
            handover_gap_s: 0.0,
            handover_loss: 0.0,
            make_before_break: false,
            gsl_acquisition_s: 0.0,
            isl_acquisition_s: 0.0,
            fibre_index: 1.468,
            fibre_detour: 1.0,
            update_interval_s: 10.0,
        }
    }
}

/// A rule whose value is out of range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RulesError {
    /// Name of the rule, with its unit.
    pub rule: &'static str,
    /// Value of the rule.
    pub value: f64,
    /// Lowest value allowed.
    pub low: f64,
    /// Highest value allowed.
    pub high: f64,
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, value, low, high } = self;
        write!(f, "{rule} of {value}; expected {low} to {high}")
    }
}

impl std::error::Error for RulesError {}
