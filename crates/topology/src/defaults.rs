//! Defaults for the links and the service of a constellation, shared by commands, Python and runs.
//!
//! Follows the publication of each preset; FCC orders and 3GPP TR 38.821 for masks, Hypatia (Kassing et al., IMC 2020) for
//! terminals that use whichever satellite in view is on the best path, HT 6.2 and WP for those that hold one.
//! Differs: a file of elements is taken for the system named at the beginning of its satellites' names.
//! Left out: rates and queues, which are the scenario's. docs/constellations.md has the table with its reasons.

use skyhop_orbit::preset::PRESETS;
use skyhop_orbit::{Constellation, Preset};

use crate::rules::{CrossSeam, Handover, Rules};
use crate::station::Station;

/// The default rules of a constellation.
#[derive(Debug, Clone, Copy)]
pub struct Defaults {
    /// The rules for links.
    pub rules: Rules,
    /// Rules of ISLs across the seam, for scenarios that ask for them.
    pub seam: CrossSeam,
    /// Number of satellites that a terminal holds at once if no handover policy is given.
    pub antennas: u16,
    /// The published system to which these rules belong.
    pub system: Option<&'static Preset>,
}

/// Number of satellites that a terminal holds at once if a handover policy is given, since a policy chooses one.
pub const ANTENNAS_WITH_POLICY: u16 = 1;

/// Number of satellites that a gateway holds at once.
pub const GATEWAY_ANTENNAS: u16 = Station::ALL_IN_VIEW;

impl Defaults {
    /// The defaults of `preset`, or of `constellation` if it is no preset.
    pub fn of(preset: Option<&'static Preset>, constellation: &Constellation) -> Self {
        if let Some(preset) = preset {
            return Self {
                rules: Rules::for_preset(preset),
                seam: CrossSeam::for_preset(preset),
                antennas: antennas_of(preset),
                system: Some(preset),
            };
        }
        let seam = CrossSeam { longitude_threshold_rad: 10f64.to_radians(), first_slot: None };
        if let Some(system) = system_of(constellation) {
            let rules = Rules::for_catalogued(system);
            return Self { rules, seam, antennas: antennas_of(system), system: Some(system) };
        }
        let catalogued = (0..constellation.len() as u32).any(|s| constellation.elements(s).is_some());
        let rules = match constellation.is_geostationary() {
            true => Rules::geo(),
            // Files of elements do not list lasers, and satellites on separate orbits form no planes.
            false if catalogued || constellation.planes().is_empty() => Rules::default().without_isls(),
            false => Rules::default(),
        };
        Self { rules, seam, antennas: Station::ALL_IN_VIEW, system: None }
    }
}

/// One for the presets whose numbers in HT 6.2 and WP depend on it, where terminals hand over; all in view otherwise.
fn antennas_of(preset: &Preset) -> u16 {
    preset.antennas.unwrap_or(Station::ALL_IN_VIEW)
}

/// The system that more than half of the catalogued satellites belong to by name.
fn system_of(constellation: &Constellation) -> Option<&'static Preset> {
    let mut counts = [0; PRESETS.len()];
    for set in (0..constellation.len() as u32).filter_map(|satellite| constellation.elements(satellite)) {
        let begins = |start: &str| set.name.get(..start.len()).is_some_and(|n| n.eq_ignore_ascii_case(start));
        if let Some(system) = PRESETS.iter().position(|preset| preset.catalogued.is_some_and(begins)) {
            counts[system] += 1;
        }
    }
    let most = counts.iter().position(|count| 2 * count > constellation.len())?;
    Some(&PRESETS[most])
}

impl Rules {
    /// These rules without ISLs.
    pub fn without_isls(self) -> Self {
        Self { intra_plane_neighbours: 0, inter_plane_neighbours: 0, cross_seam: None, ..self }
    }

    /// These rules; if they have no ISLs, with links to the neighbours in the plane and to the two neighbouring planes.
    pub fn with_isls(self) -> Self {
        match (self.intra_plane_neighbours, self.inter_plane_neighbours) {
            (0, 0) => Self { intra_plane_neighbours: 1, inter_plane_neighbours: 1, ..self },
            _ => self,
        }
    }
}

impl Handover {
    /// Returns true if the policy only ranks satellites, so that it has no effect on a terminal that holds all.
    pub fn only_chooses(self) -> bool {
        !matches!(self, Self::Ascending | Self::Descending | Self::EarthFixedCells { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_keep_what_their_publication_says() {
        for one in PRESETS {
            let defaults = Defaults::of(Some(one), &one.constellation());
            let holds_one = ["iridium", "teledesic-288", "spaceway-ngso"].contains(&one.name);
            assert_eq!(defaults.antennas == 1, holds_one, "{}", one.name);
            assert_eq!(defaults.rules, Rules::for_preset(one), "{}", one.name);
            assert!((defaults.rules.elevation_mask_rad.to_degrees() - one.elevation_mask_deg).abs() < 1e-9);
        }
    }

    #[test]
    fn others_have_a_mask_of_ten_degrees_and_geostationary_ones_of_five() {
        let mask = |constellation: &Constellation| {
            Defaults::of(None, constellation).rules.elevation_mask_rad.to_degrees().round()
        };
        let named = |name: &str| Preset::find(name).expect("a preset").constellation();
        assert_eq!(
            (mask(&named("starlink-550")), mask(&named("geo-3")), mask(&named("molniya"))),
            (10.0, 5.0, 10.0)
        );
        let own = Defaults::of(None, &named("starlink-550"));
        assert_eq!((own.rules.intra_plane_neighbours, own.antennas), (1, Station::ALL_IN_VIEW));
        assert_eq!(Defaults::of(None, &named("geo-3")).rules.intra_plane_neighbours, 0);
    }
}
