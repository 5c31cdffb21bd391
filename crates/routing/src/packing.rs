//! Packing: as many items as possible of which no two overlap.
//!
//! Follows HT 6.6.3: combinatorial maximisation where the problem is small.
//! Differs: larger problems are greedy, with items that overlap the fewest others first, where the thesis suggests annealing.
//! Left out: weights.

/// Largest problem of one exhaustive search: one bit for each item.
const EXHAUSTIVE: usize = 64;
/// Number of steps after which a search returns its best result.
const STEPS: u32 = 20_000;

/// Indices of the chosen items, ascending. Each item lists the places that it needs.
pub(crate) fn pack(things: &[Vec<u32>]) -> Vec<usize> {
    let overlaps = overlaps(things);
    let mut taken = Vec::new();
    for group in groups(&overlaps) {
        let greedy = fewest_overlaps_first(&group, &overlaps);
        taken.extend(if group.len() <= EXHAUSTIVE { search(&group, &overlaps, greedy) } else { greedy });
    }
    taken.sort_unstable();
    taken
}

/// For each item, the others that need one of its places, ascending.
fn overlaps(things: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let places = things.iter().flatten().max().map_or(0, |&place| place as usize + 1);
    let mut users = vec![Vec::new(); places];
    for (thing, places) in (0u32..).zip(things) {
        places.iter().for_each(|&place| users[place as usize].push(thing));
    }
    let of = |(thing, places): (u32, &Vec<u32>)| {
        let mut others: Vec<u32> =
            places.iter().flat_map(|&place| users[place as usize].iter().copied()).collect();
        others.sort_unstable();
        others.dedup();
        others.retain(|&other| other != thing);
        others
    };
    (0u32..).zip(things).map(of).collect()
}

/// Items that overlap directly or through others, as groups.
fn groups(overlaps: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut seen = vec![false; overlaps.len()];
    let mut groups = Vec::new();
    for first in 0..overlaps.len() {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        let mut group = vec![first as u32];
        let mut at = 0;
        while let Some(&thing) = group.get(at) {
            at += 1;
            for &other in &overlaps[thing as usize] {
                if !std::mem::replace(&mut seen[other as usize], true) {
                    group.push(other);
                }
            }
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups
}

fn fewest_overlaps_first(group: &[u32], overlaps: &[Vec<u32>]) -> Vec<usize> {
    let place = |thing: u32| group.binary_search(&thing).expect("overlapping things are of one group");
    let mut degree: Vec<usize> = group.iter().map(|&thing| overlaps[thing as usize].len()).collect();
    let mut free = vec![true; group.len()];
    // Items are in a list for each number of overlaps; an entry whose number has changed since is stale.
    let most = degree.iter().copied().max().unwrap_or_default();
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); most + 1];
    (0..group.len()).rev().for_each(|index| waiting[degree[index]].push(index));
    let mut taken = Vec::new();
    let mut least = 0;
    while least <= most {
        let Some(index) = waiting[least].pop() else {
            least += 1;
            continue;
        };
        if !free[index] || degree[index] != least {
            continue;
        }
        free[index] = false;
        taken.push(group[index] as usize);
        for &lost in &overlaps[group[index] as usize] {
            if !std::mem::replace(&mut free[place(lost)], false) {
                continue;
            }
            for &other in &overlaps[lost as usize] {
                let other = place(other);
                degree[other] -= 1;
                if free[other] {
                    waiting[degree[other]].push(other);
                    least = least.min(degree[other]);
                }
            }
        }
    }
    taken
}

/// The largest packing of a group, if the steps suffice; never smaller than `known`.
fn search(group: &[u32], overlaps: &[Vec<u32>], known: Vec<usize>) -> Vec<usize> {
    let bit = |thing: u32| 1u64 << group.binary_search(&thing).expect("overlapping things are of one group");
    let near: Vec<u64> = group
        .iter()
        .map(|&thing| {
            overlaps[thing as usize].iter().map(|&other| bit(other)).fold(0, |bits, bit| bits | bit)
        })
        .collect();
    let all = if group.len() == 64 { u64::MAX } else { (1 << group.len()) - 1 };
    let mut best = Best { near: &near, taken: 0, count: known.len() as u32, steps: STEPS };
    best.extend(all, 0, 0);
    if best.taken == 0 {
        return known;
    }
    (0..group.len()).filter(|index| best.taken >> index & 1 == 1).map(|index| group[index] as usize).collect()
}

struct Best<'a> {
    near: &'a [u64],
    taken: u64,
    count: u32,
    steps: u32,
}

impl Best<'_> {
    fn extend(&mut self, free: u64, taken: u64, count: u32) {
        if count > self.count {
            (self.taken, self.count) = (taken, count);
        }
        if self.steps == 0 || count + free.count_ones() <= self.count {
            return;
        }
        self.steps -= 1;
        let things = (0..self.near.len()).filter(|thing| free >> thing & 1 == 1);
        let Some(thing) = things.min_by_key(|&thing| (self.near[thing] & free).count_ones()) else { return };
        let near = self.near[thing] & free;
        self.extend(free & !(near | 1 << thing), taken | 1 << thing, count + 1);
        // An item with at most one overlap can always be taken.
        if near.count_ones() > 1 {
            self.extend(free & !(1 << thing), taken, count);
        }
    }
}
