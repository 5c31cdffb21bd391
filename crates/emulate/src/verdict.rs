//! The verdict on an emulation: valid, too late, or with missed packets.
//!
//! Differs from a warning: a run is valid or not, by limits that are given before it starts.
//! Leaves out the behaviour of programs.

use crate::lateness::Histogram;
use skyhop_units::Span;

/// Limits of a valid run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatenessLimits {
    /// Largest lateness of 99 of 100 packets, and of 99 of 100 wake-ups.
    pub late: Span,
    /// Largest number of packets of programs that may be missed before they are read.
    pub missed: u64,
}

impl RunLateness {
    /// The lateness of a run, with these limits.
    pub fn new(limits: &LatenessLimits) -> Self {
        let of = || Histogram::with_limit(limits.late);
        Self { release: of(), wake: of(), looks: 0 }
    }
}

impl Default for LatenessLimits {
    fn default() -> Self {
        Self { late: Span::from_micros(150), missed: 0 }
    }
}

/// Delays that are not in the scenario.
#[derive(Debug, Clone)]
pub struct RunLateness {
    /// Lateness of packets: from the due time of each until it was written.
    pub release: Histogram,
    /// Lateness of the loop's wake-ups, a hundred a second. Packets are read as late as that too.
    pub wake: Histogram,
    /// Epochs of satellites that were late.
    pub looks: u64,
}

/// Packets that did not get through for reasons outside of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missed {
    /// Dropped by the kernel before they were read: `tx_dropped` of the devices.
    pub before_read: u64,
    /// Dropped for want of memory.
    pub no_room: u64,
    /// Refused by the kernel when they were written.
    pub not_taken: u64,
}

impl Missed {
    /// Number of missed packets.
    pub fn all(&self) -> u64 {
        self.before_read + self.no_room + self.not_taken
    }
}

/// The reasons for which a run is not valid; empty if it is.
pub fn objections(limits: &LatenessLimits, lateness: &RunLateness, missed: &Missed) -> Vec<String> {
    let mut found = Vec::new();
    let ms = |span: Span| format!("{:.3} ms", span.as_secs_f64() * 1e3);
    for (histogram, what) in [(&lateness.release, "packets left"), (&lateness.wake, "clock checks came")] {
        let (beyond, count) = (histogram.beyond(), histogram.count());
        if beyond * 100 > count {
            let (share, worst) = (100.0 * beyond as f64 / count as f64, ms(histogram.max()));
            found.push(format!(
                "{share:.1} % of {count} {what} more than {} late (the worst {worst}); expected at most 1 %",
                ms(limits.late)
            ));
        }
    }
    if lateness.looks > 0 {
        found.push(format!("satellite updates were late {} times", lateness.looks));
    }
    if missed.all() > limits.missed {
        let Missed { before_read, no_room, not_taken } = missed;
        found.push(format!(
            "packets were missed without a loss on a link: {before_read} before they were read, {no_room} for lack of memory, \
                {not_taken} not taken by the kernel; the limit is {}",
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
        let limits = LatenessLimits::default();
        let mut lateness = RunLateness::new(&limits);
        assert!(objections(&limits, &lateness, &Missed::default()).is_empty());
        lateness.release.add(Span::from_micros(150), 990);
        lateness.release.add(Span::from_millis(5), 10);
        assert!(
            objections(&limits, &lateness, &Missed::default()).is_empty(),
            "one in a hundred may be later"
        );
        lateness.release.add(Span::from_millis(5), 1);
        let [why] = &objections(&limits, &lateness, &Missed::default())[..] else { panic!() };
        assert!(
            why.starts_with("1.1 % of 1001 packets left more than 0.150 ms late (the worst 5.000 ms)"),
            "{why}"
        );
        let missed = Missed { before_read: 1, ..Missed::default() };
        assert_eq!(objections(&limits, &lateness, &missed).len(), 2);
        assert_eq!(objections(&LatenessLimits { missed: 1, ..limits }, &lateness, &missed).len(), 1);
        lateness.looks = 1;
        lateness.wake.add(Span::from_millis(9), 1);
        assert_eq!(objections(&limits, &lateness, &missed).len(), 4);
    }
}
