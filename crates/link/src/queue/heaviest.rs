//! The longest of many queues, by bytes, kept in a tournament tree.
//!
//! Follows RFC 8290 §4.1 and Shreedhar and Varghese's stealing, which both drop from the longest queue when the buffer overflows.
//! Differs: a change costs O(log n) and a query O(1), where a scan looks at all queues.
//! The tree is built at the first overflow and dropped when all queues are empty, so that it costs nothing where no queue overflows.

#[derive(Default)]
pub(crate) struct Heaviest {
    /// Length of each queue, bytes, padded to a power of two; empty while there is no tree.
    bytes: Vec<u64>,
    /// The longer queue of each pair, of each pair of pairs, and so on: node n is the parent of 2 n and 2 n + 1, and the root is 1.
    winners: Vec<u32>,
}

impl Heaviest {
    /// Returns true while there is a tree, which [`Self::set`] must keep up to date.
    pub fn watches(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Builds the tree.
    pub fn begin(&mut self, bytes: impl Iterator<Item = u64>) {
        self.bytes.clear();
        self.bytes.extend(bytes);
        let size = self.bytes.len().next_power_of_two().max(2);
        self.bytes.resize(size, 0);
        self.winners.clear();
        self.winners.resize(size, 0);
        for node in (1..size).rev() {
            self.winners[node] = self.winner(node);
        }
    }

    /// Drops the tree.
    pub fn end(&mut self) {
        self.bytes.clear();
    }

    /// Sets the length of queue `index` to `bytes`.
    pub fn set(&mut self, index: usize, bytes: u64) {
        if index >= self.bytes.len() {
            // A new queue: the tree is built again at twice the size.
            let mut all = std::mem::take(&mut self.bytes);
            all.resize(index + 1, 0);
            self.begin(all.into_iter());
        }
        self.bytes[index] = bytes;
        let mut node = (self.bytes.len() + index) / 2;
        while node > 0 {
            let winner = self.winner(node);
            if std::mem::replace(&mut self.winners[node], winner) == winner && winner as usize != index {
                // Another queue was longer, and still is.
                break;
            }
            node /= 2;
        }
    }

    /// Index of the longest queue, the first of several.
    pub fn first(&self) -> usize {
        self.winners.get(1).map_or(0, |winner| *winner as usize)
    }

    fn winner(&self, node: usize) -> u32 {
        let size = self.bytes.len();
        let of = |child: usize| if child < size { self.winners[child] } else { (child - size) as u32 };
        let (left, right) = (of(2 * node), of(2 * node + 1));
        if self.bytes[right as usize] > self.bytes[left as usize] { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_what_a_scan_would_find() {
        let mut chance = skyhop_chance::Seed(1).stream("heaviest");
        for queues in [1usize, 2, 3, 7, 64, 100] {
            let mut bytes = vec![0u64; queues];
            let mut heaviest = Heaviest::default();
            heaviest.begin(bytes.iter().copied());
            for _ in 0..2000 {
                let index = (chance.uniform() * queues as f64) as usize;
                bytes[index] = (chance.uniform() * 6.0) as u64;
                heaviest.set(index, bytes[index]);
                let scan = (0..queues).max_by_key(|i| (bytes[*i], usize::MAX - i)).unwrap();
                assert_eq!(heaviest.first(), scan, "{bytes:?}");
            }
        }
    }

    #[test]
    fn it_grows_with_the_queues() {
        let mut heaviest = Heaviest::default();
        heaviest.begin([5, 3].into_iter());
        for index in 2..50 {
            heaviest.set(index, 4 + index as u64);
            assert_eq!(heaviest.first(), index);
        }
        heaviest.set(49, 0);
        assert_eq!(heaviest.first(), 48);
        heaviest.end();
        assert!(!heaviest.watches());
    }
}
