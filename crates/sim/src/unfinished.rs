//! Flows that have not finished; a run ends when there are none.
//!
//! A scan stops at the first flow that has not finished and resumes there, which is linear in flows and calls.
//! Differs from counting finished flows: a flow whose last packet is lost finishes without a call, and is still found.
//! Leaves out flows that restart: a finished flow stays finished.

/// The first flow that is not known to have finished; all before it have.
pub(crate) struct Unfinished {
    first: usize,
    flows: usize,
}

impl Unfinished {
    pub fn new(flows: usize) -> Self {
        Unfinished { first: 0, flows }
    }

    /// Skips flows that have finished.
    pub fn advance(&mut self, mut finished: impl FnMut(usize) -> bool) {
        while self.first < self.flows && finished(self.first) {
            self.first += 1;
        }
    }

    /// Returns true if all have finished.
    pub fn none(&self) -> bool {
        self.first == self.flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interval between checks of a flow while `flows` of them finish in an order, each touched three times from then on.
    fn looks(flows: usize, order: impl Iterator<Item = usize>) -> usize {
        let (mut unfinished, mut done) = (Unfinished::new(flows), vec![false; flows]);
        let (mut looks, mut left) = (0, flows);
        for flow in order {
            assert!(!unfinished.none(), "{left} flows have not finished");
            done[flow] = true;
            left -= 1;
            for _ in 0..3 {
                unfinished.advance(|flow| {
                    looks += 1;
                    done[flow]
                });
            }
        }
        assert!(unfinished.none());
        looks
    }

    #[test]
    fn looks_grow_with_flows_and_not_with_their_square() {
        for flows in [1, 4_000, 8_000] {
            for looks in [
                looks(flows, 0..flows),
                looks(flows, (0..flows).rev()),
                looks(flows, (0..flows).step_by(2).chain((1..flows).step_by(2))),
            ] {
                assert!((flows..=4 * flows).contains(&looks), "{looks} looks at {flows} flows");
            }
        }
    }

    #[test]
    fn a_flow_that_finishes_without_a_word_is_found_at_the_next() {
        let mut unfinished = Unfinished::new(3);
        unfinished.advance(|flow| flow == 1);
        assert!(!unfinished.none());
        unfinished.advance(|_| true);
        assert!(unfinished.none());
        assert!(Unfinished::new(0).none());
    }
}
