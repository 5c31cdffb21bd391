//! The buffers of a connection, in each direction: bytes that may be written, the window for received data, and memory for both.
//!
//! Follows docs/stp-hosts.md: a buffer grows with use, within the budgets of `memory`.
//! Leaves out the data themselves, which the machine holds.

use crate::memory::{Holding, HostMemory, PACKET_COST};
use bytes::Bytes;
use skyhop_transport::stp;
use skyhop_wire::stp::Packet;
use std::sync::Arc;

/// Bytes that may be written at the beginning, before use shows the need for more.
const FIRST_WRITTEN: u64 = 256 << 10;
/// Maximum number of bytes dropped from a connection that the application has released.
const DROPPED_MAX: u64 = 4 << 20;
/// Bytes after which the peer is informed of free space: reads are small relative to the window.
const TELL_AFTER: u64 = 1 << 20;
/// Bytes of an application's data in one allocation.
pub(crate) const PIECE: usize = 16 << 10;

type Machine = stp::Connection<Bytes>;

/// Upper bounds of the memory of a connection, whatever is free.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// Received data, bytes.
    pub received: u64,
    /// Written data, bytes.
    pub written: u64,
}

/// The buffer of data that the application has written.
#[derive(Debug)]
pub(crate) struct WriteMemory {
    holding: Holding,
    most: u64,
    /// Bytes written so far.
    written: u64,
}

impl WriteMemory {
    /// A buffer that keeps `least` bytes of memory, and takes at most `most`; `None` if they are not there.
    pub fn begin(memory: &Arc<HostMemory>, least: u64, most: u64) -> Option<Self> {
        Some(WriteMemory { holding: Holding::begin(memory, least)?, most, written: 0 })
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Bytes written and not acknowledged.
    pub fn outstanding(&self, machine: &Machine) -> u64 {
        self.written - machine.acknowledged().min(self.written)
    }

    /// Hands data of the application to the machine.
    pub fn write(&mut self, machine: &mut Machine, data: Bytes) {
        self.written += data.len() as u64;
        machine.write(data);
    }

    /// Bytes that the application may write now, which are kept for it until the next [`WriteMemory::recount`].
    pub fn take_room(&mut self, machine: &Machine, unproven: bool) -> u64 {
        let (room, cost) = (self.room(machine, unproven), self.cost(machine, 0));
        let kept = self.holding.ask(cost, self.cost(machine, room) - cost, false);
        if self.cost(machine, room) <= kept {
            return room;
        }
        // The part kept for data, without the cost of their packets.
        let left = kept.saturating_sub(self.cost(machine, 0) + 2 * PACKET_COST);
        room.min(left - left / 4)
    }

    /// Returns true if there is room enough to wake who waits for some.
    pub fn has_room(&self, machine: &Machine, unproven: bool) -> bool {
        self.room(machine, unproven) >= (self.usable(machine) / 4).max(1)
    }

    /// Updates the count of the bytes held.
    pub fn recount(&mut self, machine: &Machine) {
        self.holding.set(self.cost(machine, 0));
    }

    /// The bytes count in another budget from now on.
    pub fn count_in(&mut self, memory: &Arc<HostMemory>) {
        self.holding.move_to(memory.clone());
    }

    /// Bytes that the application may write now, if they are free.
    fn room(&self, machine: &Machine, unproven: bool) -> u64 {
        let outstanding = self.outstanding(machine);
        if unproven || outstanding == 0 {
            // Little for an unproven address, and always some, so that each connection proceeds.
            let fair = if unproven { 0 } else { self.usable(machine) };
            return fair.max(self.holding.least()).min(self.most).saturating_sub(outstanding);
        }
        self.usable(machine).saturating_sub(outstanding)
    }

    /// Bytes that may be written and not acknowledged: so many that what is sent need not wait for the application, if they are free.
    fn usable(&self, machine: &Machine) -> u64 {
        let used = FIRST_WRITTEN + 2 * machine.in_flight();
        let fair = self.holding.memory().fair() + self.outstanding(machine).min(FIRST_WRITTEN / 4);
        used.min(fair).min(self.most)
    }

    /// Bytes that written data take with the packets that they are, and will be, in.
    fn cost(&self, machine: &Machine, more: u64) -> u64 {
        let bytes = self.outstanding(machine) + more;
        let (payload, piece) = (u64::from(machine.packet_size()), PIECE as u64);
        let packets = bytes.div_ceil(payload) + bytes.div_ceil(piece);
        let held = machine.held().0 as u64 + more.div_ceil(payload) + more.div_ceil(piece);
        bytes + PACKET_COST * packets.max(held)
    }
}

/// The buffer of data that the application has not read.
#[derive(Debug)]
pub(crate) struct ReadMemory {
    holding: Holding,
    most: u64,
    /// Bytes read since the last check whether the peer needs an update of credit.
    read_since: u64,
}

impl ReadMemory {
    /// A buffer that keeps `least` bytes of memory, and takes at most `most`; `None` if they are not there.
    pub fn begin(memory: &Arc<HostMemory>, least: u64, most: u64) -> Option<Self> {
        Some(ReadMemory { holding: Holding::begin(memory, least)?, most, read_since: 0 })
    }

    /// The next data in order, at most so many bytes.
    pub fn read(&mut self, machine: &mut Machine, most: usize) -> Option<Bytes> {
        let data = machine.read(most)?;
        self.read_since += data.len() as u64;
        Some(data)
    }

    /// Returns true once so much has been read that the peer may need an update of credit.
    pub fn has_space_to_tell(&mut self, machine: &Machine) -> bool {
        let much = self.read_since >= TELL_AFTER.min(machine.receive_window() / 2) || machine.readable() == 0;
        if much {
            self.read_since = 0;
        }
        much
    }

    /// Drops all data in order, so that the peer can finish. Returns false if the peer sends too much for that.
    pub fn drain(&mut self, machine: &mut Machine) -> bool {
        while self.read(machine, usize::MAX).is_some() {}
        self.read_since <= DROPPED_MAX
    }

    /// Grants a window for received data: the present fair share, and at most `most`.
    pub fn widen(&self, machine: &mut Machine, most: u64) {
        let fair = self.holding.memory().fair().max(self.holding.least());
        let window = fair.min(most).min(self.most);
        let now = machine.receive_window();
        // Small changes are not worth a packet, and a window that is used up may be made smaller.
        if window > now + now / 2 || window < now / 2 || (window > now && window == self.most) {
            machine.set_receive_window(window);
        }
    }

    /// Keeps memory for a packet, if it is free. A packet that exceeds what is kept counts as lost.
    pub fn keep_for(&mut self, machine: &mut Machine, packet: &Packet<Bytes>) {
        let held = machine.held_with_cost(PACKET_COST);
        let (more, urgent) = machine.would_hold(packet, PACKET_COST);
        let most = self.holding.ask(held, more, urgent);
        machine.hold_at_most(most, PACKET_COST);
    }

    /// Updates the count of the bytes held.
    pub fn recount(&mut self, machine: &Machine) {
        self.holding.set(machine.held_with_cost(PACKET_COST));
    }

    /// The bytes count in another budget from now on.
    pub fn count_in(&mut self, memory: &Arc<HostMemory>) {
        self.holding.move_to(memory.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        stp::Connection::connect(stp::Config::default(), stp::Ends::default(), 1)
    }

    #[test]
    fn written_data_count_with_their_packets_until_they_are_acknowledged() {
        let (memory, mut machine) = (HostMemory::new(8 << 20), machine());
        let mut written = WriteMemory::begin(&memory, 8 << 10, 1 << 20).expect("there is memory");
        let room = written.take_room(&machine, false);
        assert_eq!(room, FIRST_WRITTEN);
        (0..3).for_each(|_| written.write(&mut machine, Bytes::from_static(&[0; 10_000])));
        written.recount(&machine);
        assert_eq!((written.written(), written.outstanding(&machine)), (30_000, 30_000));
        assert!((30_000..40_000).contains(&memory.used()), "{}", memory.used());
        assert!(written.has_room(&machine, false));
        drop(written);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn an_unproven_address_may_be_written_the_least() {
        let memory = HostMemory::new(8 << 20);
        let mut machine = machine();
        let mut written = WriteMemory::begin(&memory, 8 << 10, 1 << 20).expect("there is memory");
        assert_eq!(written.room(&machine, true), 8 << 10);
        written.write(&mut machine, Bytes::from_static(&[0; 8 << 10]));
        assert_eq!((written.room(&machine, true), written.has_room(&machine, true)), (0, false));
        assert!(written.has_room(&machine, false));
    }

    #[test]
    fn a_window_changes_with_what_is_free_and_not_a_little() {
        let memory = HostMemory::new(8 << 20);
        let mut machine = machine();
        let read = ReadMemory::begin(&memory, 8 << 10, 1 << 20).expect("there is memory");
        let mut granted = |most| {
            read.widen(&mut machine, most);
            machine.receive_window()
        };
        assert_eq!(
            [100_000, 140_000, 160_000, 90_000, 70_000].map(&mut granted),
            [100_000, 100_000, 160_000, 160_000, 70_000]
        );
        assert_eq!(granted(u64::MAX), 1 << 20, "all that this connection may have");
        let mut greedy = Holding::begin(&memory, 10).expect("there is memory");
        greedy.ask(0, (7 << 20) - (16 << 10), false);
        assert_eq!(granted(u64::MAX), 8 << 10, "nothing is free but the least");
    }
}
