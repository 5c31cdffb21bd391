//! Options that few links use: changes with time, additional delays, copies and flipped bits.
//!
//! Follows `timeline`, `lateness` and `faults`, each of which has its own sources.
//! Differs from fields of a link: they are kept apart, so that other links do not pay for them.
//! Leaves out packets, for which only the outcome is determined.

use crate::errors::LinkErrors;
use crate::faults::{Corruption, Duplication, FlippedBit};
use crate::lateness::{Delays, Jitter, Reordering};
use crate::{Medium, Timeline};
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};

/// The options of a link, with their state.
#[derive(Default)]
pub(crate) struct Extras {
    timeline: Timeline,
    jitter: Option<Delays>,
    reordering: Option<(Reordering, Stream)>,
    duplication: Option<(Duplication, Stream)>,
    corruption: Option<(Corruption, Stream)>,
    /// Arrival time of the last packet that keeps its order.
    in_order: Time,
}

/// A packet that leaves a link.
pub(crate) struct Leaving {
    /// Time at which its last bit leaves.
    pub at: Time,
    pub size: u32,
    /// Bytes by which errors spoil it.
    pub exposed: u32,
    /// True if it is lost already.
    pub out: bool,
}

/// The outcome for a packet that leaves a link.
pub(crate) struct LinkOutcome {
    pub arrives: Time,
    pub lost: bool,
    pub duplicated: bool,
    pub corrupted: Option<FlippedBit>,
}

impl Extras {
    /// Changes of the link with time.
    #[inline]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Changes of the link with time, mutably.
    pub fn timeline_mut(&mut self) -> &mut Timeline {
        &mut self.timeline
    }

    /// Adds a random delay to each packet.
    pub fn set_jitter(&mut self, jitter: Jitter, chance: Stream) {
        self.jitter = Some(Delays::new(jitter, chance));
    }

    /// Holds some packets back while others pass.
    pub fn set_reordering(&mut self, reordering: Reordering, chance: Stream) {
        self.reordering = Some((reordering, chance));
    }

    /// Lets some packets arrive twice.
    pub fn set_duplication(&mut self, duplication: Duplication, chance: Stream) {
        self.duplication = Some((duplication, chance));
    }

    /// Lets some packets arrive corrupted.
    pub fn set_corruption(&mut self, corruption: Corruption, chance: Stream) {
        self.corruption = Some((corruption, chance));
    }

    /// Time between a packet and its copy; `None` if there are no copies.
    pub fn copy_delay(&self) -> Option<Span> {
        self.duplication.as_ref().map(|(duplication, _)| duplication.delay)
    }

    /// Determines the outcome for the next packet.
    #[inline]
    pub fn leave(&mut self, packet: Leaving, errors: &mut LinkErrors, medium: &impl Medium) -> LinkOutcome {
        let Leaving { at, size, exposed, out } = packet;
        let spoilt = errors.spoil_by(self.timeline.loss(at), at, exposed);
        let corrupted = match &mut self.corruption {
            Some((corruption, chance)) => corruption.draw(size, chance).filter(|_| !(out || spoilt)),
            None => None,
        };
        let lost = out || spoilt || corrupted.is_some();
        let duplicated = match &mut self.duplication {
            Some((duplication, chance)) => chance.happens(duplication.probability) && !lost,
            None => false,
        };
        let delay = self.timeline.delay(at).unwrap_or_else(|| medium.one_way_delay(at));
        let mut arrives = at + delay;
        if let Some(delays) = &mut self.jitter {
            arrives += delays.draw();
        }
        let passes = self.jitter.as_ref().is_some_and(Delays::reorders);
        if !passes {
            arrives = arrives.max(self.in_order);
        }
        let held_back = match &mut self.reordering {
            Some((reordering, chance)) if reordering.probability > 0.0 => {
                chance.happens(reordering.probability).then_some(reordering.delay)
            }
            _ => None,
        };
        match held_back {
            Some(delay) => arrives += delay,
            None => self.in_order = arrives,
        }
        LinkOutcome { arrives, lost, duplicated, corrupted }
    }
}
