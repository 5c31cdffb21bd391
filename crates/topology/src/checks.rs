//! The times at which terminals check their satellites: at updates, or each by its own clock.
//!
//! Follows HT 6.2's synchronous and asynchronous handover, with the period and the random dither of ns-2's handoff timers.
//! Differs: the first check is anywhere within a period, so that terminals do not begin in step.
//! Left out: timers of satellites; ISLs are checked together.

use skyhop_chance::Stream;

use crate::rules::RulesError;

/// The last check of each terminal, and the next one if terminals have clocks.
#[derive(Debug, Clone)]
pub(crate) struct Checks {
    /// Time of each terminal's last check, s; `None` before the first.
    last_s: Vec<Option<f64>>,
    /// Longest time between two checks of a terminal, s.
    longest_s: f64,
    clocks: Option<CheckClocks>,
}

/// The time of each terminal's next check.
#[derive(Debug, Clone)]
struct CheckClocks {
    next_s: Vec<f64>,
    period_s: f64,
    dither_s: f64,
    chance: Stream,
}

impl Checks {
    /// Checks of `terminals` terminals at updates, which are this long apart at most.
    pub fn at_updates(terminals: usize, update_interval_s: f64) -> Self {
        Self { last_s: vec![None; terminals], longest_s: update_interval_s, clocks: None }
    }

    /// Gives each terminal a clock.
    pub fn set_clocks(&mut self, period_s: f64, dither_s: f64, mut chance: Stream) -> Result<(), RulesError> {
        // Checks at indistinguishable times would never end.
        for (rule, value, low, high) in [
            ("check period (s)", period_s, 1e-3, 86_400.0),
            ("check dither (s)", dither_s, 0.0, 0.9 * period_s),
        ] {
            if !(low..=high).contains(&value) {
                return Err(RulesError { rule, value, low, high });
            }
        }
        let next_s = self.last_s.iter().map(|_| chance.uniform() * period_s).collect();
        self.longest_s = period_s + dither_s;
        self.clocks = Some(CheckClocks { next_s, period_s, dither_s, chance });
        Ok(())
    }

    /// Returns true if terminals have clocks, and so check nothing at updates.
    pub fn have_clocks(&self) -> bool {
        self.clocks.is_some()
    }

    /// Longest time between two checks of a terminal, s.
    pub fn longest_s(&self) -> f64 {
        self.longest_s
    }

    /// Records a terminal's check at `t_s`. Returns the time of the one before, `None` at the first.
    pub fn look(&mut self, terminal: usize, t_s: f64) -> Option<f64> {
        self.last_s[terminal].replace(t_s)
    }

    /// Makes a terminal's next check count as its first.
    pub fn forget(&mut self, terminal: usize) {
        self.last_s[terminal] = None;
    }

    /// Times of the next checks by clocks, s.
    pub fn next_s(&self) -> impl Iterator<Item = f64> {
        self.clocks.iter().flat_map(|clocks| &clocks.next_s).copied()
    }

    /// The terminals whose check by a clock is due by `t_s`; schedules the next check of each.
    pub fn take_due(&mut self, t_s: f64) -> Vec<usize> {
        self.clocks.as_mut().map_or(Vec::new(), |clocks| clocks.take_due(t_s))
    }
}

impl CheckClocks {
    fn take_due(&mut self, t_s: f64) -> Vec<usize> {
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

#[cfg(test)]
mod tests {
    use skyhop_chance::Seed;

    use super::*;

    /// A check's policy looks ahead by the longest time to the next one: no terminal may be checked later.
    #[test]
    fn no_two_checks_are_further_apart_than_the_longest_time() {
        let mut checks = Checks::at_updates(5, 15.0);
        assert_eq!((checks.longest_s(), checks.next_s().count(), checks.take_due(1e9)), (15.0, 0, vec![]));
        assert!(checks.set_clocks(10.0, 9.5, Seed(3).stream("checks")).is_err());
        assert_eq!(
            (checks.longest_s(), checks.have_clocks()),
            (15.0, false),
            "a refused clock changes nothing"
        );
        checks.set_clocks(10.0, 4.0, Seed(3).stream("checks")).unwrap();
        let mut counts = [0; 5];
        while let Some(at_s) = checks.next_s().min_by(f64::total_cmp).filter(|at_s| *at_s < 1000.0) {
            for terminal in checks.take_due(at_s) {
                let apart_s = checks.look(terminal, at_s).map(|last_s| at_s - last_s);
                assert!(apart_s.is_none_or(|apart_s| (6.0..=checks.longest_s()).contains(&apart_s)));
                counts[terminal] += 1;
            }
            assert!(checks.next_s().all(|next_s| next_s > at_s));
        }
        assert!(counts.iter().all(|count| (85..=115).contains(count)), "{counts:?}");
        checks.forget(2);
        assert_eq!((checks.look(2, 1000.0), checks.look(2, 1001.0)), (None, Some(1000.0)));
    }
}
