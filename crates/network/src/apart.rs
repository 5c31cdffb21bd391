//! Explanations for the case that two ends hold satellites and yet have no path, and for doubtful elements.
//!
//! Follows the possible links, up or down: shells without links between them, a bent pipe without a common satellite.
//! Differs from routing: no path is searched for, since there was none.
//! Leaves out ends that see no satellite, for which the mask and the orbits are the reason.

use skyhop_orbit::{Catalogue, Constellation};
use skyhop_topology::{Topology, isl};

/// The reason why two terminals with satellites may have no path.
pub fn why_apart(topology: &Topology) -> String {
    let shells = topology.constellation().planes().shells().len();
    let none = topology
        .fleets()
        .iter()
        .all(|fleet| (fleet.rules.intra_plane_neighbours, fleet.rules.inter_plane_neighbours) == (0, 0));
    let one = (0..topology.terminals().len()).any(|end| topology.gsls(end).count() == 1);
    let held = if one { " (a terminal with one antenna holds one satellite)" } else { "" };
    let gateways = topology.gateways().iter().any(|gateway| *gateway);
    match (none, isl::groups(topology.constellation().len(), topology.links()) > 1) {
        (true, _) if gateways => "there are no ISLs, and no gateway that both ends can reach".into(),
        (true, _) => format!("there are no ISLs, no gateways, and no satellite that both hold{held}"),
        (false, true) if topology.fleets().len() > 1 => {
            format!("constellations meet only in terminals and gateways that see both{held}")
        }
        (false, true) if shells > 1 => {
            format!("ISLs stay within a shell, and nothing joins the {shells} shells to one another{held}")
        }
        (false, true) => format!("ISLs do not join all satellites{held}"),
        (false, false) => "the ISLs that could join them are down".into(),
    }
}

/// A warning if the elements are far from t = 0.
pub fn stale(constellation: &Constellation) -> Option<String> {
    let days = constellation.catalogue().map_or(0.0, Catalogue::greatest_age_s) / 86_400.0;
    let age = if days < 365.25 { format!("{days:.0} days") } else { format!("{:.1} years", days / 365.25) };
    let far = days > 30.0;
    far.then(|| format!("elements up to {age} from t = 0; positions are off by kilometres after days"))
}
