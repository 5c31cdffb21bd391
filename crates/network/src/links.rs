//! The links of a network, those between satellites among them, and what moves them.
//!
//! Follows the `link` crate's contract: the medium is handed to a link at each call, and depends on where its ends are.
//! Leaves out what the packets mean.

use crate::mtus::Mtus;
use crate::shared::Shared;
use crate::space::Space;
use crate::wire::{Wire, WireMedium};
use skyhop_results::DirectionResult;
use skyhop_topology::Topology;
use skyhop_units::Time;

pub(crate) struct Links {
    /// Link k has wires 2k and 2k + 1, forward and reverse.
    pub wires: Vec<Wire>,
    pub names: Vec<String>,
    /// The satellites whose links come last.
    pub space: Option<Space>,
    /// What its terminals share.
    pub shared: Option<Box<Shared>>,
    /// MTUs, as flows ask for them when they are built.
    pub mtus: Mtus,
}

/// What a look at satellites has changed.
pub(crate) struct Moved {
    /// All links were looked at, and not only those that were due.
    pub whole: bool,
    /// A path may be there that was not, or the other way about.
    pub paths: bool,
    /// Wires that have something to say again.
    pub awake: Vec<u32>,
    /// When to look again.
    pub next: Time,
}

impl Links {
    /// A wire, and what it crosses.
    #[inline(always)]
    pub fn wire(&mut self, index: u32) -> (&mut Wire, WireMedium<'_>) {
        let wire = &mut self.wires[index as usize];
        let topology: Option<&Topology> = self.space.as_ref().map(|space| &space.topology);
        let medium = wire.medium(topology);
        (wire, medium)
    }

    /// Packets that wait for a wire.
    pub fn waiting(&mut self, index: u32, now: Time) -> usize {
        let (wire, medium) = self.wire(index);
        wire.link.waiting(now, &medium)
    }

    /// Number of the links whose ends stay where the scenario puts them.
    pub fn fixed(&self) -> usize {
        self.space.as_ref().map_or(self.names.len(), |space| space.first_wire / 2)
    }

    /// Satellites have moved: links come, go and change their ends. `dropped` takes the packets that this costs.
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
        Some(Moved { whole, paths, awake, next: space.next_look(now) })
    }

    /// Gives a turn to a wire that shares with wire `index`; see [`Shared::turn`].
    pub fn turn(&mut self, now: Time, index: u32) -> Option<u32> {
        let topology = self.space.as_ref().map(|space| &space.topology);
        self.shared.as_mut()?.turn(now, index, &mut self.wires, topology)
    }

    /// What a wire has carried until `end`.
    pub fn result(&self, index: usize, end: Time) -> DirectionResult {
        let wire = &self.wires[index];
        let stats = wire.link.stats();
        // What the transmitter still has to send after the end does not count.
        let busy = stats.busy - wire.link.free_at().since(end);
        let seconds = end.as_secs_f64();
        DirectionResult {
            packets: stats.packets,
            bytes: stats.bytes,
            dropped_packets: stats.dropped_packets + wire.too_large,
            lost_packets: stats.lost_packets,
            corrupted_packets: stats.corrupted_packets,
            duplicated_packets: stats.duplicated_packets,
            filtered_packets: stats.filtered_packets,
            too_large_packets: wire.too_large,
            marked_packets: stats.marked_packets,
            utilisation: if seconds > 0.0 { busy.as_secs_f64() / seconds } else { 0.0 },
            queue_max_packets: stats.queue_max_packets,
        }
    }
}
