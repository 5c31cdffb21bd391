//! Random errors of a link: a model of losses, and the stream from which it draws.
//!
//! Follows [`crate::Loss`] for the models.
//! Differs: a timeline may have another model for some time, which draws from the same stream.
//! Leaves out flipped bits and copies (`faults`).

use crate::Loss;
use skyhop_chance::Stream;
use skyhop_units::Time;

/// The errors of a link.
pub(crate) struct LinkErrors {
    loss: Loss,
    chance: Option<Stream>,
}

impl LinkErrors {
    /// `chance` is required if `loss` is not [`Loss::None`].
    pub fn new(loss: Loss, chance: Option<Stream>) -> Self {
        Self { loss, chance }
    }

    /// Changes the model; `chance` is required if there was no stream before.
    pub fn change(&mut self, loss: Loss, chance: Option<Stream>) {
        self.loss = loss;
        self.chance = self.chance.take().or(chance);
    }

    /// Returns true if a packet that leaves at `at` is lost; `exposed` is its length, bytes.
    #[inline(always)]
    pub fn spoil(&mut self, at: Time, exposed: impl FnOnce() -> u32) -> bool {
        match &mut self.chance {
            Some(chance) => self.loss.spoils(at, exposed(), chance),
            None => false,
        }
    }

    /// Like [`Self::spoil`], by another model if there is one.
    pub fn spoil_by(&mut self, other: Option<&mut Loss>, at: Time, exposed: u32) -> bool {
        let loss = other.unwrap_or(&mut self.loss);
        self.chance.as_mut().is_some_and(|chance| loss.spoils(at, exposed, chance))
    }
}
