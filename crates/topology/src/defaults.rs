//! What is assumed of satellites about which nothing was said: the one table that commands, Python and runs share.
//!
//! Follows the publication of each preset; FCC orders and 3GPP TR 38.821 for masks, Hypatia (Kassing et al., IMC 2020) for
//! terminals that use whichever satellite in view is on the best path, HT 6.2 and WP for those that hold one.
//! Differs: a file of elements is taken for the system that its satellites' names begin with.
//! Left out: rates and queues, which are the scenario's. docs/constellations.md has the table with its reasons.

use skyhop_orbit::preset::PRESETS;
use skyhop_orbit::{Constellation, Preset};

use crate::rules::{CrossSeam, Handover, Rules};
use crate::station::Station;

/// How satellites are linked and served unless something else is said.
#[derive(Debug, Clone, Copy)]
pub struct Defaults {
    /// The rules for links.
    pub rules: Rules,
    /// What ISLs across the seam are like for who asks for them.
    pub seam: CrossSeam,
    /// How many satellites a terminal holds at once, unless a handover policy was asked for.
    pub antennas: u16,
    /// The published system whose rules these are.
    pub system: Option<&'static Preset>,
}

/// How many satellites a terminal holds at once for which a handover policy was asked for: policies choose one.
pub const ANTENNAS_WITH_POLICY: u16 = 1;

/// How many satellites a gateway holds at once.
pub const GATEWAY_ANTENNAS: u16 = Station::ALL_IN_VIEW;

impl Defaults {
    /// The defaults for a preset's satellites, or for others.
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
            // Lasers are in no file of elements, and satellites on orbits of their own are in no planes.
            false if catalogued || constellation.planes().is_empty() => Rules::default().without_isls(),
            false => Rules::default(),
        };
        Self { rules, seam, antennas: Station::ALL_IN_VIEW, system: None }
    }
}

/// Terminals whose numbers in HT 6.2 and WP rest on it hold one satellite and hand over.
fn antennas_of(preset: &Preset) -> u16 {
    preset.antennas.unwrap_or(Station::ALL_IN_VIEW)
}

/// The system to which more than half of catalogued satellites belong by their names.
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
    /// The same without links between satellites.
    pub fn without_isls(self) -> Self {
        Self { intra_plane_neighbours: 0, inter_plane_neighbours: 0, cross_seam: None, ..self }
    }

    /// The same with links to the neighbours in the plane and in the planes beside it, if it had none at all.
    pub fn with_isls(self) -> Self {
        match (self.intra_plane_neighbours, self.inter_plane_neighbours) {
            (0, 0) => Self { intra_plane_neighbours: 1, inter_plane_neighbours: 1, ..self },
            _ => self,
        }
    }
}

impl Handover {
    /// Whether the policy does nothing but choose among satellites, so that a terminal that holds all has no use for it.
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
