//! A hash table from a flow's number to its queue, which allocates only when it grows.
//!
//! Follows linear probing with the deletion of Knuth's algorithm R (The Art of Computer Programming 3, section 6.4).
//! Differs: the table holds indices only; the caller maps an index to its flow.
//! Leaves out a choice of hash.

const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct FlowIndex {
    table: Vec<u32>,
    held: usize,
}

impl FlowIndex {
    fn home(&self, id: u32) -> usize {
        spread(id) as usize & (self.table.len() - 1)
    }

    /// Index of flow `id`; `None` if it has none. `id_at` returns the flow of an index.
    pub fn find(&self, id: u32, id_at: impl Fn(u32) -> u32) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        let mask = self.table.len() - 1;
        let mut at = self.home(id);
        loop {
            match self.table[at] {
                NONE => return None,
                place if id_at(place) == id => return Some(place),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Adds the index of a flow that is not in the table.
    pub fn insert(&mut self, place: u32, id_at: impl Fn(u32) -> u32) {
        if 2 * (self.held + 1) > self.table.len() {
            let larger = vec![NONE; (2 * self.table.len()).max(16)];
            for place in std::mem::replace(&mut self.table, larger) {
                if place != NONE {
                    self.put(place, &id_at);
                }
            }
        }
        self.put(place, &id_at);
        self.held += 1;
    }

    fn put(&mut self, place: u32, id_at: impl Fn(u32) -> u32) {
        let mask = self.table.len() - 1;
        let mut at = self.home(id_at(place));
        while self.table[at] != NONE {
            at = (at + 1) & mask;
        }
        self.table[at] = place;
    }

    /// Removes an index that is in the table.
    pub fn remove(&mut self, place: u32, id_at: impl Fn(u32) -> u32) {
        let mask = self.table.len() - 1;
        let mut hole = self.home(id_at(place));
        while self.table[hole] != place {
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let next = self.table[at];
            if next == NONE {
                break;
            }
            // An entry may move into the hole if its home is not after it.
            let home = self.home(id_at(next));
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.table[hole] = next;
                hole = at;
            }
        }
        self.table[hole] = NONE;
        self.held -= 1;
    }
}

/// Murmur3's finaliser, which scatters consecutive flow numbers.
pub(crate) fn spread(mut flow: u32) -> u32 {
    flow ^= flow >> 16;
    flow = flow.wrapping_mul(0x85eb_ca6b);
    flow ^= flow >> 13;
    flow = flow.wrapping_mul(0xc2b2_ae35);
    flow ^ flow >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_holds_what_a_map_holds() {
        let mut chance = skyhop_chance::Seed(1).stream("index");
        let mut index = FlowIndex::default();
        let (mut map, mut ids) = (BTreeMap::new(), Vec::<u32>::new());
        for _ in 0..20_000 {
            // Few numbers, some of them with the same home.
            let id = ((chance.uniform() * 300.0) as u32).wrapping_mul(0x1000_0001);
            let found = index.find(id, |place| ids[place as usize]);
            assert_eq!(found, map.get(&id).copied());
            match found {
                Some(place) => {
                    index.remove(place, |place| ids[place as usize]);
                    map.remove(&id);
                }
                None if map.len() < 200 => {
                    let place = ids.len() as u32;
                    ids.push(id);
                    index.insert(place, |place| ids[place as usize]);
                    map.insert(id, place);
                }
                None => {}
            }
            assert_eq!(index.held, map.len());
        }
        for (id, place) in &map {
            assert_eq!(index.find(*id, |place| ids[place as usize]), Some(*place));
        }
    }
}
