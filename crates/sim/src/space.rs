//! The moving part of a network: satellites, their links, and the way through them.
//!
//! Follows HT 6.2: links and routes are looked at anew every `update_interval`, delays at the instant of sending.
//! Differs: routes are worked out when a packet first needs them after a change.
//! Leaves out failures and distributed routing.

use crate::error::BuildError;
use crate::wire::Wire;
use skyhop_orbit::{Constellation, Epoch, Phasing, Preset, Shell, Terminal, preset};
use skyhop_routing::{Metric, Router};
use skyhop_scenario as scenario;
use skyhop_topology::{Change, CrossSeam, NodeId, Rules, Topology};
use skyhop_units::{Span, Time};

pub(crate) struct Space {
    pub topology: Topology,
    router: Router,
    /// When the topology was last looked at, and whether the router has seen it.
    looked_at: Time,
    routed: bool,
    pub update_interval: Span,
    /// Index of the first wire of space link 0; link k has two wires from there.
    pub first_wire: usize,
}

impl Space {
    pub fn build(
        model: &scenario::Constellation,
        scenario: &scenario::Scenario,
        elements: Option<&[u8]>,
        first_wire: usize,
    ) -> Result<Self, BuildError> {
        let (constellation, mut rules, seam) = constellation(model, elements)?;
        if let Some(mask) = model.elevation_mask {
            rules.elevation_mask_rad = mask.as_rad();
        }
        rules.isl_latitude_limit_rad = model.isl_latitude_limit.as_rad();
        rules.update_interval_s = model.update_interval.as_secs_f64();
        if !model.isls {
            (rules.intra_plane_neighbours, rules.inter_plane_neighbours) = (0, 0);
        }
        match model.cross_seam_isls {
            _ if !model.isls => rules.cross_seam = None,
            Some(false) => rules.cross_seam = None,
            Some(true) => rules.cross_seam = rules.cross_seam.or(Some(seam)),
            None => {}
        }
        let terminals = scenario.terminals.iter().map(|(name, terminal)| Terminal {
            name: name.clone(),
            latitude_rad: terminal.lat.as_rad(),
            longitude_rad: terminal.lon.as_rad(),
            height_m: terminal.height.as_m(),
        });
        let topology = Topology::new(constellation, terminals.collect(), rules)
            .map_err(|e| BuildError::new("constellation", e))?;
        let metric = match scenario.routing.metric {
            scenario::Metric::Delay => Metric::Delay,
            scenario::Metric::Hops => Metric::Hops,
        };
        Ok(Self {
            topology,
            router: Router::new(metric),
            looked_at: Time::ZERO,
            routed: false,
            update_interval: model.update_interval,
            first_wire,
        })
    }

    /// Looks at links and handovers at `now`. Wires of links that change are taken along by [`Space::apply`].
    pub fn update(&mut self, now: Time) -> Vec<Change> {
        self.looked_at = now;
        self.routed = false;
        self.topology.update(now.as_secs_f64()).to_vec()
    }

    /// Makes a change of link true of its two wires; `dropped` takes the packets that waited on what went away.
    pub fn apply(&self, change: &Change, now: Time, wires: &mut [Wire], mut dropped: impl FnMut(u32)) {
        let at = self.first_wire + 2 * change.link.index();
        let (was, is) = (change.was, change.is);
        for (index, from, to) in [(at, is.a, is.b), (at + 1, is.b, is.a)] {
            let wire = &mut wires[index];
            let old = wire.medium(Some(&self.topology));
            // Going up, a terminal's packets wait for its next satellite; going down, they wait in the satellite
            // that has lost it.
            let moved = was.up && is.up && (wire.from, wire.to) != (from, to);
            if (was.up && !is.up) || (moved && wire.from != from) {
                wire.link.set_down(now, &old, &mut dropped);
            }
            wire.link.set_peer(now, to.0, &old);
            (wire.from, wire.to) = (from, to);
            if is.up {
                wire.link.set_up();
            }
        }
    }

    /// The wire that leads from `node` towards `destination`.
    pub fn next_wire(&mut self, node: NodeId, destination: NodeId) -> Option<u32> {
        if !self.routed {
            self.router.refresh(&self.topology, self.looked_at.as_secs_f64());
            self.routed = true;
        }
        let hop = self.router.next_hop(node, destination)?;
        let reverse = self.topology.links()[hop.link.index()].a != node;
        Some((self.first_wire + 2 * hop.link.index() + reverse as usize) as u32)
    }

    /// The path as it stands: one-way delay in seconds of propagation, and satellites on it.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> Option<(f64, usize)> {
        self.next_wire(from, to)?;
        let nodes = self.router.path(from, to)?;
        let t_s = self.looked_at.as_secs_f64();
        let delay =
            nodes.windows(2).map(|w| self.topology.one_way_delay_s(w[0], w[1], t_s)).sum::<Option<f64>>()?;
        Some((delay, nodes.len() - 2))
    }
}

/// The satellites, the rules they come with, and what links across their seam would be like.
fn constellation(
    model: &scenario::Constellation,
    elements: Option<&[u8]>,
) -> Result<(Constellation, Rules, CrossSeam), BuildError> {
    if let Some(named) = model.preset {
        let preset = Preset::find(named.name()).map_err(|e| BuildError::new("constellation.preset", e))?;
        return Ok((preset.constellation(), Rules::for_preset(preset), CrossSeam::for_preset(preset)));
    }
    let epoch = match &model.epoch {
        Some(text) => Some(text.parse::<Epoch>().map_err(|e| BuildError::new("constellation.epoch", e))?),
        None => None,
    };
    let bytes = |key: &'static str| elements.ok_or_else(|| BuildError::new(key, "the file was not read"));
    let built = if let Some(shell) = &model.shell {
        let even = 360.0 / f64::from(shell.planes.max(1));
        let shell = Shell {
            planes: shell.planes,
            satellites_per_plane: shell.satellites_per_plane,
            altitude_m: shell.altitude.as_m(),
            inclination_rad: shell.inclination.as_rad(),
            raan_spacing_rad: shell.raan_spacing.map_or(even, |a| a.as_deg()).to_radians(),
            phasing: Phasing::OddPlanes(shell.stagger),
            argument_decimals: None,
        };
        Constellation::from_shell(skyhop_orbit::EarthModel::WGS84, &shell)
            .map_err(|e| BuildError::new("constellation.shell", e))?
    } else if let Some(longitudes) = &model.geostationary {
        let longitudes: Vec<f64> = longitudes.iter().map(|l| l.as_rad()).collect();
        preset::geo(&longitudes)
    } else if let Some(file) = &model.tle {
        let bytes = bytes("constellation.tle")?;
        Constellation::from_tle(bytes, epoch)
            .map_err(|e| BuildError::in_file("constellation.tle", file, e))?
    } else if let Some(file) = &model.omm {
        let bytes = bytes("constellation.omm")?;
        Constellation::from_omm(bytes, epoch)
            .map_err(|e| BuildError::in_file("constellation.omm", file, e))?
    } else {
        return Err(BuildError::new(
            "constellation",
            "neither preset, shell, geostationary, tle nor omm is given",
        ));
    };
    let mut rules = Rules::for_constellation(&built);
    if model.elevation_mask.is_none() {
        rules.elevation_mask_rad = 10f64.to_radians();
    }
    Ok((built, rules, CrossSeam { longitude_threshold_rad: 10f64.to_radians(), first_slot: None }))
}
