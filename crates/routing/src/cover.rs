//! Set cover: few sets that together contain all points.
//!
//! Follows Chvatal's greedy heuristic, with the irredundant and reduce steps of two-level logic minimisers after it.
//! Differs: redundant points and sets are removed first; after that, points in few sets have more weight.
//! Left out: lower bounds and exact search.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of sets removed together in one improvement step.
const NEIGHBOURHOOD: usize = 8;

/// The indices of the chosen sets, ascending. Each of the `points` is in at least one set. `effort` is the number of improvement
/// steps per chosen set.
pub(crate) fn cover(sets: &[Vec<u32>], points: usize, effort: usize) -> Vec<usize> {
    let core = core(sets, points);
    let mut search = Search::new(&core.sets, core.points);
    search.fill(&(0..core.points as u32).collect::<Vec<_>>(), 0);
    let first: Vec<u32> = search.taken();
    search.drop_redundant(&first);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for attempt in 0..effort * search.count {
        random = scrambled(random, attempt as u64);
        search.try_again((random >> 33) as usize % core.points, random);
    }
    let mut chosen = core.essential;
    chosen.extend(search.taken().into_iter().map(|set| core.names[set as usize] as usize));
    chosen.sort_unstable();
    chosen
}

/// A problem after reduction.
struct Core {
    /// Sets that belong to some best cover.
    essential: Vec<usize>,
    /// The remaining sets, by index in the original problem.
    names: Vec<u32>,
    /// Points of the remaining sets, renumbered.
    sets: Vec<Vec<u32>>,
    points: usize,
}

/// Reduces a problem repeatedly: takes sets that are the only ones of a point, with all their points; removes points that are
/// covered whenever another one is; removes sets contained in another.
fn core(sets: &[Vec<u32>], points: usize) -> Core {
    let mut sets = sets.to_vec();
    let mut essential = Vec::new();
    let mut is_open = vec![true; points];
    loop {
        let holders = transposed(&sets, points);
        let mut changed = false;
        for (point, holders) in holders.iter().enumerate() {
            if let ([only], true) = (&holders[..], is_open[point]) {
                essential.push(*only as usize);
                sets[*only as usize].iter().for_each(|&point| is_open[point as usize] = false);
                changed = true;
            }
        }
        for (point, of_point) in holders.iter().enumerate().filter(|(_, holders)| holders.len() > 1) {
            let Some(smallest) = of_point.iter().min_by_key(|&&set| sets[set as usize].len()) else {
                continue;
            };
            for &other in &sets[*smallest as usize] {
                let others = &holders[other as usize];
                let equal = others.len() == of_point.len();
                let later = !equal || other as usize > point;
                if is_open[point] && is_open[other as usize] && later && is_part(of_point, others) {
                    is_open[other as usize] = false;
                    changed = true;
                }
            }
        }
        sets.iter_mut().for_each(|set| set.retain(|&point| is_open[point as usize]));
        let holders = transposed(&sets, points);
        for set in 0..sets.len() {
            let Some(&rarest) = sets[set].iter().min_by_key(|&&point| holders[point as usize].len()) else {
                continue;
            };
            let wider = |&other: &u32| {
                let other = other as usize;
                let later = sets[other].len() > sets[set].len() || other < set;
                other != set && later && is_part(&sets[set], &sets[other])
            };
            if holders[rarest as usize].iter().any(wider) {
                sets[set].clear();
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut numbers = vec![0; points];
    let open = (0..points).filter(|&point| is_open[point]);
    let points = open.zip(0..).map(|(point, number)| numbers[point] = number).count();
    let names: Vec<u32> =
        (0u32..).zip(&sets).filter(|(_, set)| !set.is_empty()).map(|(set, _)| set).collect();
    let renumbered = |&set: &u32| sets[set as usize].iter().map(|&point| numbers[point as usize]).collect();
    Core { essential, sets: names.iter().map(renumbered).collect(), names, points }
}

/// For each point, the sets that contain it, ascending.
fn transposed(sets: &[Vec<u32>], points: usize) -> Vec<Vec<u32>> {
    let mut holders = vec![Vec::new(); points];
    for (number, set) in (0u32..).zip(sets) {
        set.iter().for_each(|&point| holders[point as usize].push(number));
    }
    holders
}

/// Returns true if `part` is a subset of `whole`; both are ascending.
fn is_part(part: &[u32], whole: &[u32]) -> bool {
    let mut whole = whole.iter();
    part.len() <= whole.len()
        && part.iter().all(|wanted| whole.by_ref().find(|&it| it >= wanted) == Some(wanted))
}

struct Search<'a> {
    sets: &'a [Vec<u32>],
    /// Sets that contain each point.
    holders: Vec<Vec<u32>>,
    /// Weight of each point, larger if fewer sets contain it.
    weights: Vec<u32>,
    /// Number of chosen sets that contain each point.
    covered: Vec<u32>,
    is_taken: Vec<bool>,
    count: usize,
}

impl<'a> Search<'a> {
    fn new(sets: &'a [Vec<u32>], points: usize) -> Self {
        let holders = transposed(sets, points);
        let weights = holders.iter().map(|holders| 1 + 4096 / holders.len().max(1) as u32).collect();
        Self { sets, holders, weights, covered: vec![0; points], is_taken: vec![false; sets.len()], count: 0 }
    }

    fn taken(&self) -> Vec<u32> {
        (0u32..).zip(&self.is_taken).filter(|(_, taken)| **taken).map(|(set, _)| set).collect()
    }

    fn take(&mut self, set: u32) {
        self.is_taken[set as usize] = true;
        self.count += 1;
        self.sets[set as usize].iter().for_each(|&point| self.covered[point as usize] += 1);
    }

    fn drop(&mut self, set: u32) {
        self.is_taken[set as usize] = false;
        self.count -= 1;
        self.sets[set as usize].iter().for_each(|&point| self.covered[point as usize] -= 1);
    }

    /// The gain of adding a set.
    fn gain(&self, set: u32, salt: u64) -> u64 {
        let new = self.sets[set as usize].iter().filter(|&&point| self.covered[point as usize] == 0);
        let gain: u32 = new.map(|&point| self.weights[point as usize]).sum();
        // Each salt gives another order among sets of nearly equal gain.
        let favour = if salt == 0 { 0 } else { scrambled(salt, set.into()) >> 56 };
        u64::from(gain) * (1024 + favour)
    }

    /// Covers these points, by sets of largest gain first. Returns the sets added.
    fn fill(&mut self, points: &[u32], salt: u64) -> Vec<u32> {
        let mut useful: Vec<u32> = points
            .iter()
            .filter(|&&point| self.covered[point as usize] == 0)
            .flat_map(|&point| self.holders[point as usize].iter().copied())
            .collect();
        useful.sort_unstable();
        useful.dedup();
        let mut queue: BinaryHeap<(u64, Reverse<u32>)> =
            useful.into_iter().map(|set| (self.gain(set, salt), Reverse(set))).collect();
        let mut added = Vec::new();
        while let Some((gain, Reverse(set))) = queue.pop() {
            // Gains only decrease, so a current one at the top is the largest.
            let now = self.gain(set, salt);
            if now == gain && gain > 0 {
                self.take(set);
                added.push(set);
            } else if now > 0 {
                queue.push((now, Reverse(set)));
            }
        }
        added
    }

    /// Drops those of the sets whose points are all in others too, the smallest first. Returns the ones dropped.
    fn drop_redundant(&mut self, among: &[u32]) -> Vec<u32> {
        let mut among = among.to_vec();
        among.sort_by_key(|&set| (self.sets[set as usize].len(), set));
        among.retain(|&set| {
            let redundant = self.sets[set as usize].iter().all(|&point| self.covered[point as usize] > 1);
            if redundant {
                self.drop(set);
            }
            redundant
        });
        among
    }

    /// Removes sets around a point and covers the points again in another way; keeps the result unless it is worse.
    fn try_again(&mut self, point: usize, salt: u64) {
        let before = self.count;
        let mut out: Vec<u32> = Vec::new();
        let mut reach = vec![point as u32];
        let mut at = 0;
        while at < reach.len() && out.len() < NEIGHBOURHOOD {
            for &holder in &self.holders[reach[at] as usize] {
                if self.is_taken[holder as usize] && !out.contains(&holder) && out.len() < NEIGHBOURHOOD {
                    out.push(holder);
                }
                // The neighbours are those sets, among the ones not chosen, that compete.
                if reach.len() < 64 {
                    reach.extend(self.sets[holder as usize].iter().take(8));
                }
            }
            at += 1;
        }
        out.iter().for_each(|&set| self.drop(set));
        let mut open: Vec<u32> =
            out.iter().flat_map(|&set| self.sets[set as usize].iter().copied()).collect();
        open.sort_unstable();
        open.dedup();
        let added = self.fill(&open, salt | 1);
        let mut around: Vec<u32> = open
            .iter()
            .flat_map(|&point| self.holders[point as usize].iter().copied())
            .filter(|&set| self.is_taken[set as usize])
            .collect();
        around.sort_unstable();
        around.dedup();
        let dropped = self.drop_redundant(&around);
        if self.count > before {
            dropped.iter().for_each(|&set| self.take(set));
            added.iter().for_each(|&set| self.drop(set));
            out.iter().for_each(|&set| self.take(set));
        }
    }
}

/// Mixes two numbers with splitmix64's finaliser.
fn scrambled(salt: u64, number: u64) -> u64 {
    let mixed = salt.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::scrambled;

    // The first outputs of splitmix64 from state 0, as printed by its author's program; the state grows by a constant at each draw.
    #[test]
    fn the_mixture_is_splitmix64s() {
        let outputs =
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f, 0xf88b_b8a8_724c_81ec];
        assert_eq!([1, 2, 3, 4].map(|draw| scrambled(0, draw)), outputs);
    }
}
