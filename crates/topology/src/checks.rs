//! The times at which terminals check their satellites, each by its own clock.
//!
//! Follows HT 6.2's asynchronous handover, with the period and the random dither of ns-2's handoff timers.
//! Differs: the first check is anywhere within a period, so that terminals do not begin in step.
//! Left out: timers of satellites; ISLs are checked together.

use skyhop_chance::Stream;

use crate::rules::RulesError;

/// The time of each terminal's next check.
#[derive(Debug, Clone)]
pub(crate) struct Checks {
    pub(crate) next_s: Vec<f64>,
    period_s: f64,
    dither_s: f64,
    chance: Stream,
}

impl Checks {
    /// The first checks of `terminals` terminals.
    pub(crate) fn new(
        terminals: usize,
        period_s: f64,
        dither_s: f64,
        mut chance: Stream,
    ) -> Result<Self, RulesError> {
        // Checks at indistinguishable times would never end.
        for (rule, value, low, high) in [
            ("check period (s)", period_s, 1e-3, 86_400.0),
            ("check dither (s)", dither_s, 0.0, 0.9 * period_s),
        ] {
            if !(low..=high).contains(&value) {
                return Err(RulesError { rule, value, low, high });
            }
        }
        let next_s = (0..terminals).map(|_| chance.uniform() * period_s).collect();
        Ok(Self { next_s, period_s, dither_s, chance })
    }

    /// The terminals whose check is due by `t_s`; schedules the next check of each.
    pub(crate) fn take_due(&mut self, t_s: f64) -> Vec<usize> {
        let due: Vec<usize> =
            (0..self.next_s.len()).filter(|&terminal| self.next_s[terminal] <= t_s).collect();
        for &terminal in &due {
            while self.next_s[terminal] <= t_s {
                let dither = self.dither_s * (2.0 * self.chance.uniform() - 1.0);
                self.next_s[terminal] += self.period_s + dither;
            }
        }
        due
    }
}
