//! Positions of moving terminals for results, and the satellites that they hold.
//!
//! Follows the last update of the topology for links, and the instant for positions.
//! Differs: of several antennas, the first with a satellite counts.
//! Leaves out terminals that do not move.

use skyhop_orbit::visibility::elevation_rad;
use skyhop_topology::Topology;
use skyhop_units::Time;

/// Position and satellite of a terminal at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whereabouts {
    /// Latitude, degrees.
    pub latitude_deg: f64,
    /// East longitude, degrees.
    pub longitude_deg: f64,
    /// Height, m.
    pub height_m: f64,
    /// Number of handovers so far, over all antennas.
    pub handovers: u64,
    /// Number of address changes so far.
    pub address_changes: u64,
    /// The satellite that it holds, if any.
    pub held: Option<HeldSatellite>,
}

/// A satellite held by a terminal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldSatellite {
    /// Number of the satellite.
    pub satellite: u32,
    /// Geocentric latitude of the sub-satellite point, degrees.
    pub latitude_deg: f64,
    /// East longitude of the sub-satellite point, degrees.
    pub longitude_deg: f64,
    /// Elevation above the terminal's horizon, degrees.
    pub elevation_deg: f64,
    /// Propagation delay to the satellite, s.
    pub one_way_delay_s: f64,
}

/// Index and name of each moving terminal.
pub(crate) fn moving_terminals(topology: &Topology) -> Vec<(usize, String)> {
    let terminals = topology.terminals().iter().enumerate();
    let moves = |(index, _): &(usize, _)| topology.course(*index).is_some();
    terminals.filter(moves).map(|(index, terminal)| (index, terminal.name.clone())).collect()
}

impl Whereabouts {
    /// Position and satellite of a terminal at `now`, after so many `handovers` and `address_changes`; `None` if there is no such
    /// terminal.
    pub(crate) fn of(
        terminal: usize,
        topology: &Topology,
        now: Time,
        handovers: u64,
        address_changes: u64,
    ) -> Option<Self> {
        let t_s = now.as_secs_f64();
        let place = topology.terminal_at(terminal, t_s)?;
        let up = |link| topology.link(link).filter(|state| state.up);
        let held = topology.gsls(terminal).find_map(up).and_then(|state| {
            let satellite = topology.position_ecef(state.b, t_s)?;
            let own = topology.position_ecef(state.a, t_s)?;
            Some(HeldSatellite {
                satellite: state.b.0,
                latitude_deg: satellite.latitude_rad().to_degrees(),
                longitude_deg: satellite.longitude_rad().to_degrees(),
                elevation_deg: elevation_rad(own, place.up(), satellite).to_degrees(),
                one_way_delay_s: topology.one_way_delay_s(state.a, state.b, t_s)?,
            })
        });
        Some(Self {
            latitude_deg: place.latitude_rad.to_degrees(),
            longitude_deg: place.longitude_rad.to_degrees(),
            height_m: place.height_m,
            handovers,
            address_changes,
            held,
        })
    }
}
