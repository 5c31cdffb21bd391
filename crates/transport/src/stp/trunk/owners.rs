//! Memory of an association's streams at the receiving end, in all and for each owner.
//!
//! Follows docs/stp.md §15.4, and dynamic thresholds in switches with shared memory (Choudhury and Hahne 1998): what an owner may have
//! depends on what others leave, so that some memory stays free for those who come later.
//! Leaves out credit, which `incoming` announces.

/// The owner of streams that are nobody's: each counts for itself.
pub(super) const NOBODY: u32 = 0;

/// Memory of a stream, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StreamMemory {
    /// Credit above the initial amount that has been announced and not used up.
    pub promised: u64,
    /// Bytes unread and behind gaps; for a stream that has just been opened, its initial credit at least.
    pub held: u64,
}

#[derive(Debug, Default)]
pub(super) struct SharedMemory {
    pub all: StreamMemory,
    each: Vec<StreamMemory>,
}

impl SharedMemory {
    pub fn of(&self, owner: u32) -> StreamMemory {
        self.each.get(owner as usize).copied().unwrap_or_default()
    }

    /// Replaces a stream's memory by another amount.
    pub fn change(&mut self, owner: u32, before: StreamMemory, after: StreamMemory) {
        if before == after {
            return;
        }
        let place = owner as usize;
        if place >= self.each.len() {
            self.each.resize(place + 1, StreamMemory::default());
        }
        for memory in [&mut self.all, &mut self.each[place]] {
            memory.promised = memory.promised + after.promised - before.promised;
            memory.held = memory.held + after.held - before.held;
        }
    }

    /// Largest window of a stream that has been promised `mine`, out of `memory`: half of what is left by all other streams, so that a
    /// single stream that is no longer read takes a half, two of them two thirds. An owner's streams have three quarters at most of
    /// what other owners leave: the window is also two thirds of what is left of that.
    pub fn window(&self, owner: u32, mine: u64, memory: u64) -> u64 {
        let free = memory.saturating_sub(self.all.promised - mine) / 2;
        if owner == NOBODY {
            return free;
        }
        let owned = self.of(owner).promised;
        let left = memory.saturating_sub(self.all.promised - owned);
        free.min((3 * left).saturating_sub(4 * (owned - mine)) / 6)
    }

    /// Returns true if an owner's memory allows another stream, with an initial credit of `first`: an owner holds at most three quarters
    /// of what other owners leave of `memory`, but may always have a few streams.
    pub fn admits(&self, owner: u32, first: u64, memory: u64) -> bool {
        let mine = if owner == NOBODY { 0 } else { self.of(owner).held };
        let left = memory.saturating_sub(self.all.held - mine);
        mine + first <= (left / 4 * 3).max(memory / 64)
    }
}
