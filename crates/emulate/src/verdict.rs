//! Whether what an emulation shows can be trusted: how late it was, and which packets it never saw.
//!
//! Differs from a warning: a run is valid or not, by limits that are told before it begins.
//! Leaves out what the programs did.

use crate::lateness::Histogram;
use skyhop_units::Span;

/// What is tolerated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// How late 99 of 100 packets may leave, and 99 of 100 looks at the clock may come.
    pub late: Span,
    /// How many of the programs' packets may be missed before they are read.
    pub missed: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { late: Span::from_micros(150), missed: 0 }
    }
}

/// What was not the scenario's doing.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    /// Of packets: from when each was due until it was written.
    pub release: Histogram,
    /// Of looks at the clock, a hundred a second: from when each was due until it came. Packets are read as late as that too.
    pub wake: Histogram,
    /// Epochs of satellites that were not there when they were due.
    pub looks: u64,
}

/// Packets that did not come through, for reasons that are not in the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missed {
    /// The kernel dropped them before they were read: `tx_dropped` of the devices.
    pub before_read: u64,
    /// There was no memory for them.
    pub no_room: u64,
    /// The kernel did not take them when they were written.
    pub not_taken: u64,
}

impl Missed {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.before_read + self.no_room + self.not_taken
    }
}

/// Why a run is not valid, in words; none if it is.
pub fn objections(limits: &Limits, lateness: &Lateness, missed: &Missed) -> Vec<String> {
    let mut found = Vec::new();
    let ms = |span: Span| format!("{:.3} ms", span.as_secs_f64() * 1e3);
    for (histogram, what) in
        [(&lateness.release, "packets left"), (&lateness.wake, "looks at the clock came")]
    {
        if let Some(p99) = histogram.quantile(0.99).filter(|p99| *p99 > limits.late) {
            let (worst, limit) = (ms(histogram.max()), ms(limits.late));
            found.push(format!(
                "one in a hundred {what} {} late or later (the worst {worst}); the limit is {limit}",
                ms(p99)
            ));
        }
    }
    if lateness.looks > 0 {
        found.push(format!("satellites were looked at late {} times", lateness.looks));
    }
    if missed.all() > limits.missed {
        let Missed { before_read, no_room, not_taken } = missed;
        found.push(format!(
            "packets were missed that no link has lost: {before_read} before they were read, {no_room} for want of memory, {not_taken} not taken by the kernel; the limit is {}",
            limits.missed
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_valid_up_to_its_limits_and_not_beyond() {
        let limits = Limits::default();
        let mut lateness = Lateness::default();
        assert!(objections(&limits, &lateness, &Missed::default()).is_empty());
        lateness.release.add(Span::from_micros(100), 990);
        lateness.release.add(Span::from_millis(5), 10);
        assert!(
            objections(&limits, &lateness, &Missed::default()).is_empty(),
            "one in a hundred may be later"
        );
        lateness.release.add(Span::from_millis(5), 1);
        let [why] = &objections(&limits, &lateness, &Missed::default())[..] else { panic!() };
        assert!(why.starts_with("one in a hundred packets left 5.000 ms late"), "{why}");
        let missed = Missed { before_read: 1, ..Missed::default() };
        assert_eq!(objections(&limits, &lateness, &missed).len(), 2);
        assert_eq!(
            objections(&Limits { late: Span::from_millis(5), missed: 1 }, &lateness, &missed).len(),
            0
        );
        lateness.looks = 1;
        lateness.wake.add(Span::from_millis(9), 1);
        assert_eq!(objections(&limits, &lateness, &missed).len(), 4);
    }
}
