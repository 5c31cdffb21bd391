//! Terminals that move, as results have them: where they are at a look, and the satellite that they hold.
//!
//! Follows the topology's last look for links, and the instant for places.
//! Differs: of several antennas the first that has a satellite counts.
//! Leaves out terminals that stand.

use crate::space::Space;
use skyhop_orbit::visibility::elevation_rad;
use skyhop_units::Time;

/// Where a terminal is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whereabouts {
    /// Latitude, degrees.
    pub latitude_deg: f64,
    /// East longitude, degrees.
    pub longitude_deg: f64,
    /// Height, m.
    pub height_m: f64,
    /// Changes of its satellite so far, of all its antennas.
    pub handovers: u64,
    /// Changes of its address so far.
    pub address_changes: u64,
    /// The satellite that it holds.
    pub held: Option<Held>,
}

/// A satellite as a terminal has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// Its number.
    pub satellite: u32,
    /// Geocentric latitude of the point below it, degrees.
    pub latitude_deg: f64,
    /// East longitude, degrees.
    pub longitude_deg: f64,
    /// Its elevation, degrees.
    pub elevation_deg: f64,
    /// Propagation to it, s.
    pub one_way_delay_s: f64,
}

impl Space {
    /// The terminals that move, by index and name.
    pub fn moving(&self) -> Vec<(usize, String)> {
        let terminals = self.topology.terminals().iter().enumerate();
        let moves = |(index, _): &(usize, _)| self.topology.course(*index).is_some();
        terminals.filter(moves).map(|(index, terminal)| (index, terminal.name.clone())).collect()
    }

    /// Where a terminal is at `now`.
    pub fn whereabouts(&self, terminal: usize, now: Time) -> Option<Whereabouts> {
        let t_s = now.as_secs_f64();
        let place = self.topology.terminal_at(terminal, t_s)?;
        let up = |link| self.topology.link(link).filter(|state| state.up);
        let held = self.topology.gsls(terminal).find_map(up).and_then(|state| {
            let satellite = self.topology.position_ecef(state.b, t_s)?;
            let own = self.topology.position_ecef(state.a, t_s)?;
            Some(Held {
                satellite: state.b.0,
                latitude_deg: satellite.latitude_rad().to_degrees(),
                longitude_deg: satellite.longitude_rad().to_degrees(),
                elevation_deg: elevation_rad(own, place.up(), satellite).to_degrees(),
                one_way_delay_s: self.topology.one_way_delay_s(state.a, state.b, t_s)?,
            })
        });
        Some(Whereabouts {
            latitude_deg: place.latitude_rad.to_degrees(),
            longitude_deg: place.longitude_rad.to_degrees(),
            height_m: place.height_m,
            handovers: self.handovers(terminal),
            address_changes: self.address_changes(terminal),
            held,
        })
    }
}
