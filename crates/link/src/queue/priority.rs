//! Strict priority: a packet is sent when no packet of a lower band waits.
//!
//! Follows Linux's `prio`: band 0 is sent first, and each band is a FIFO with a limit of its own.
//! Differs: the band is the flow's, and not read from the header.
//! Leaves out protection of the later bands from starvation.

use super::{Discarded, Fifo, Limit, Next, Waiting};

/// Parameters of strict priority.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorityConfig {
    /// Capacity of each band.
    pub limit: Limit,
    /// Number of bands; packets of a higher band number wait in the last.
    pub bands: u8,
}

pub(crate) struct Priority<T> {
    limit: Limit,
    bands: Vec<Fifo<T>>,
}

impl<T: Copy> Priority<T> {
    pub fn new(config: PriorityConfig) -> Self {
        let bands = (0..config.bands.max(1)).map(|_| Fifo::default()).collect();
        Priority { limit: config.limit, bands }
    }

    pub fn bytes(&self) -> u64 {
        self.bands.iter().map(|band| band.bytes).sum()
    }

    pub fn len(&self) -> usize {
        self.bands.iter().map(Fifo::len).sum()
    }

    fn band(&mut self, packet: &Waiting<T>) -> &mut Fifo<T> {
        let last = self.bands.len() - 1;
        &mut self.bands[usize::from(packet.label.band).min(last)]
    }

    pub fn filter(&mut self, packet: &mut Waiting<T>, out: &mut Discarded<T>) -> bool {
        self.band(packet).filter(packet, out)
    }

    pub fn offer(&mut self, packet: Waiting<T>, sending: Option<u32>) -> bool {
        let limit = self.limit;
        let band = self.band(&packet);
        let fits = limit.admits(band.len() as u64, band.bytes, packet.size, sending);
        if fits {
            band.push(packet);
        }
        fits
    }

    pub fn pop(&mut self) -> Option<Next<T>> {
        self.bands.iter_mut().find_map(Fifo::pop).map(Next::from)
    }

    pub fn retain(&mut self, lost: &mut dyn FnMut() -> bool, dropped: &mut dyn FnMut(T)) {
        self.bands.iter_mut().for_each(|band| band.retain(lost, dropped));
    }
}
