//! The links of a network, including those of satellites, and their updates.
//!
//! Follows the `link` crate's contract: the medium is an argument of each call, and depends on the positions of the ends.
//! Leaves out the meaning of packets.

use crate::mtus::Mtus;
use crate::shared::SharedTransmitters;
use crate::space::Space;
use crate::uplinks::Uplinks;
use crate::wire::{Wire, WireMedium};
use skyhop_results::DirectionResult;
use skyhop_scenario as scenario;
use skyhop_units::Time;

pub(crate) struct Links {
    /// Link k has wires 2k and 2k + 1, forward and reverse.
    pub wires: Vec<Wire>,
    pub names: Vec<String>,
    /// The satellites, whose links come last.
    pub space: Option<Space>,
    /// The transmitters that terminals share.
    pub shared: Option<Box<SharedTransmitters>>,
    /// The uplinks that terminals share on demand.
    pub uplinks: Option<Box<Uplinks>>,
    /// MTUs, for flows that are being built.
    pub mtus: Mtus,
}

/// The changes made by an update of satellites.
pub(crate) struct Moved {
    /// True if all links were updated, false if only those that were due.
    pub whole: bool,
    /// True if a path may have appeared or disappeared.
    pub paths: bool,
    /// Wires to be scheduled again.
    pub awake: Vec<u32>,
    /// Time of the next update.
    pub next: Time,
}

impl Links {
    /// A wire and its medium.
    #[inline(always)]
    pub fn wire(&mut self, index: u32) -> (&mut Wire, WireMedium<'_>) {
        let wire = &mut self.wires[index as usize];
        let topology = self.space.as_ref().map(Space::topology);
        let medium = wire.medium(topology);
        (wire, medium)
    }

    /// Number of packets that wait for a wire.
    pub fn waiting(&mut self, index: u32, now: Time) -> usize {
        let (wire, medium) = self.wire(index);
        wire.link.waiting(now, &medium)
    }

    /// Number of links between fixed ends.
    pub fn fixed(&self) -> usize {
        self.space.as_ref().map_or(self.names.len(), |space| space.wire_numbers().fixed_links())
    }

    /// Updates satellite links to `now`: links come up, go down and change their ends. Packets lost by this are passed to `dropped`.
    pub fn look(&mut self, now: Time, mut dropped: impl FnMut(u32)) -> Option<Moved> {
        let space = self.space.as_mut()?;
        let (changes, whole) = space.update(now);
        let paths = !changes.is_empty() || space.lag();
        for change in &changes {
            space.apply(change, now, &mut self.wires, &mut dropped);
        }
        let mut awake = space.hold(now, &mut self.wires, &mut dropped);
        if let Some(shared) = &mut self.shared {
            awake.extend(shared.follow(&self.wires));
        }
        if let Some(uplinks) = &mut self.uplinks {
            uplinks.follow(now, &self.wires, space.topology());
        }
        Some(Moved { whole, paths, awake, next: space.next_look(now) })
    }

    /// Gives a turn to a wire that shares the transmitter of wire `index`; see [`SharedTransmitters::turn`].
    pub fn turn(&mut self, now: Time, index: u32) -> Option<u32> {
        let topology = self.space.as_ref().map(Space::topology);
        self.shared.as_mut()?.turn(now, index, &mut self.wires, topology)
    }

    /// Makes wire `index` send in the slots of an uplink, if its link does; `beam` is that of a satellite's terminal.
    pub fn on_demand(
        &mut self,
        index: u32,
        on_demand: Option<&scenario::OnDemand>,
        scenario: &scenario::Scenario,
        beam: Option<u32>,
    ) {
        let (Some(uplinks), Some(own)) = (&mut self.uplinks, on_demand) else { return };
        if let Some(model) = scenario.uplinks.get(&own.name) {
            uplinks.add(index, &mut self.wires[index as usize], own, model, beam);
        }
    }

    /// Begins the frames of uplinks that are due. Returns the wires to be scheduled again, and the time of the next frame.
    pub fn begin_frames(&mut self, now: Time) -> (Vec<u32>, Option<Time>) {
        let topology = self.space.as_ref().map(Space::topology);
        let Some(uplinks) = &mut self.uplinks else { return (Vec::new(), None) };
        let awake = uplinks.begin_frames(now, &mut self.wires, topology);
        (awake, uplinks.next_frame())
    }

    /// The result of a wire up to `end`.
    pub fn result(&self, index: usize, end: Time) -> DirectionResult {
        let wire = &self.wires[index];
        let stats = wire.link.stats();
        // Transmission time after the end does not count.
        let busy = stats.busy - wire.link.free_at().since(end);
        let seconds = end.as_secs_f64();
        DirectionResult {
            packets: stats.packets,
            bytes: stats.bytes,
            packets_dropped: stats.packets_dropped + wire.too_large,
            packets_lost: stats.packets_lost,
            packets_corrupted: stats.packets_corrupted,
            packets_duplicated: stats.packets_duplicated,
            packets_filtered: stats.packets_filtered,
            packets_too_large: wire.too_large,
            packets_marked: stats.packets_marked,
            utilisation: if seconds > 0.0 { busy.as_secs_f64() / seconds } else { 0.0 },
            queue_max_packets: stats.queue_max_packets,
        }
    }
}
