//! Ground-satellite links by terminal, constellation and antenna, and the antennas that hold a satellite.
//!
//! Follows the order of [`LinkId`](crate::LinkId): terminal by terminal, for each constellation by constellation.
//! Differs from the links: a terminal may hold a satellite before the first update, and while the link to it has failed.
//! Left out: the choice of the satellites (`gsl`).

use std::ops::Range;

/// The numbers of all GSLs, which follow those of the ISLs.
#[derive(Debug, Clone)]
pub(crate) struct AntennaLinks {
    fleets: usize,
    /// First link of each terminal to each constellation, and last the link after all of them.
    firsts: Vec<usize>,
    /// For each link, true if the terminal holds the satellite at its far end.
    attached: Vec<bool>,
}

impl AntennaLinks {
    /// No links yet, to so many constellations; the first will have the number `first`.
    pub fn new(first: usize, fleets: usize) -> Self {
        Self { fleets, firsts: vec![first], attached: Vec::new() }
    }

    /// Numbers `count` links of the next terminal and constellation: all constellations of a terminal, then the next terminal. The first
    /// of them holds its satellite if `attached` is true.
    pub fn push(&mut self, count: usize, attached: bool) {
        self.firsts.push(self.all().end + count);
        self.attached.extend((0..count).map(|antenna| attached && antenna == 0));
    }

    /// The links of all terminals.
    pub fn all(&self) -> Range<usize> {
        self.firsts[0]..self.firsts[self.firsts.len() - 1]
    }

    /// The links of a terminal.
    pub fn of(&self, terminal: usize) -> Range<usize> {
        self.firsts[terminal * self.fleets]..self.firsts[(terminal + 1) * self.fleets]
    }

    /// The links of a terminal to one constellation.
    pub fn to(&self, terminal: usize, fleet: usize) -> Range<usize> {
        let place = terminal * self.fleets + fleet;
        self.firsts[place]..self.firsts[place + 1]
    }

    /// The constellation of a link.
    pub fn fleet(&self, link: usize) -> usize {
        // A constellation that a terminal does not use has an empty range there.
        let place = self.firsts.partition_point(|first| *first <= link).saturating_sub(1);
        place % self.fleets
    }

    /// For each of these links, true if the terminal holds the satellite.
    pub fn attached(&mut self, links: Range<usize>) -> &mut [bool] {
        let first = self.firsts[0];
        &mut self.attached[links.start - first..links.end - first]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Antennas of three terminals for two constellations, also none of either.
    #[test]
    fn each_number_belongs_to_one_terminal_and_constellation() {
        let counts = [[2, 0], [0, 1], [0, 0], [1, 3]];
        let mut antennas = AntennaLinks::new(5, 2);
        for (terminal, counts) in counts.iter().enumerate() {
            for count in counts {
                antennas.push(*count, terminal != 1);
            }
        }
        assert_eq!(antennas.all(), 5..12);
        let mut next = 5;
        for (terminal, counts) in counts.iter().enumerate() {
            assert_eq!(antennas.of(terminal), next..next + counts.iter().sum::<usize>());
            for (fleet, count) in counts.iter().enumerate() {
                let links = antennas.to(terminal, fleet);
                assert_eq!(links, next..next + count);
                next = links.end;
                for (antenna, link) in links.clone().enumerate() {
                    assert_eq!(antennas.fleet(link), fleet, "link {link}");
                    assert_eq!(antennas.attached(links.clone())[antenna], antenna == 0 && terminal != 1);
                }
            }
        }
        let released = antennas.of(3);
        antennas.attached(released).fill(false);
        assert_eq!(antennas.attached(5..12), [true, false, false, false, false, false, false]);
    }
}
