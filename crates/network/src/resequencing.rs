//! Resequencing at the edge of the network: a flow's packets leave it in the order in which they entered.
//!
//! Follows WP's remark that terrestrial gateways can compensate for several paths, and RFC 2890 §2.2 for the method: sequence numbers
//! from the entrance, a buffer at the exit, and a timeout of gaps.
//! Differs: the number is stored beside the packet, and takes no bytes of a tunnel's header.
//! Leaves out a limit of the buffer; a packet that arrives after the timeout of its gap leaves at once.

use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// The edges of all flows with resequencing.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    /// Edges by route and direction.
    edges: BTreeMap<(u32, bool), ResequencingEdge>,
    /// Numbers of the packets in the network, by frame.
    numbers: BTreeMap<u32, u64>,
    /// Packets that may leave.
    ready: VecDeque<u32>,
    held: usize,
}

#[derive(Debug)]
struct ResequencingEdge {
    /// Longest time for which a packet waits for those before it.
    wait: Span,
    /// Number of the next packet that enters, and of the next that leaves.
    enters: u64,
    leaves: u64,
    /// Packets behind a gap, by number: frame, and the time at which they are released.
    held: BTreeMap<u64, (u32, Time)>,
}

impl Edges {
    /// Puts an edge at both ends of a route.
    pub fn add(&mut self, route: u32, wait: Span) {
        for backward in [false, true] {
            self.edges.insert(
                (route, backward),
                ResequencingEdge { wait, enters: 0, leaves: 0, held: BTreeMap::new() },
            );
        }
    }

    /// Numbers a packet that enters the network.
    pub fn enter(&mut self, id: u32, route: u32, backward: bool) {
        if let Some(edge) = self.edges.get_mut(&(route, backward)) {
            self.numbers.insert(id, edge.enters);
            edge.enters += 1;
        }
    }

    /// Removes the number of frame `id`, which has become another packet: a copy, or a router's error.
    pub fn forget(&mut self, id: u32) {
        self.numbers.remove(&id);
    }

    /// Handles a packet at the end of its route.
    pub fn leave(&mut self, now: Time, id: u32, route: u32, backward: bool) {
        let Some(edge) = self.edges.get_mut(&(route, backward)) else { return self.ready.push_back(id) };
        match self.numbers.remove(&id) {
            Some(number) if number > edge.leaves => {
                edge.held.insert(number, (id, now + edge.wait));
                self.held += 1;
            }
            number => {
                self.ready.push_back(id);
                if number == Some(edge.leaves) {
                    edge.leaves += 1;
                    self.held -= edge.release(&mut self.ready);
                }
            }
        }
    }

    /// Gives up gaps whose timeout has expired.
    pub fn handle_timeout(&mut self, now: Time) {
        for edge in self.edges.values_mut() {
            let due = edge.held.iter().rev().find(|(_, (_, at))| *at <= now);
            let Some((&last, _)) = due else { continue };
            while let Some(entry) = edge.held.first_entry() {
                if *entry.key() > last {
                    break;
                }
                self.ready.push_back(entry.remove().0);
                self.held -= 1;
            }
            edge.leaves = last + 1;
            self.held -= edge.release(&mut self.ready);
        }
    }

    /// The next packet that leaves.
    pub fn poll(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    /// Time at which the next gap is given up.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.edges.values().flat_map(|edge| edge.held.values().map(|(_, at)| *at)).min()
    }

    /// Number of packets held.
    pub fn held(&self) -> usize {
        self.held + self.ready.len()
    }
}

impl ResequencingEdge {
    /// Releases the packets that follow without a gap. Returns their number.
    fn release(&mut self, ready: &mut VecDeque<u32>) -> usize {
        let before = ready.len();
        while let Some((id, _)) = self.held.remove(&self.leaves) {
            ready.push_back(id);
            self.leaves += 1;
        }
        ready.len() - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Edges of route 0 with a wait of 50 ms, and frames 10 to 19 in the network.
    fn edges() -> Edges {
        let mut edges = Edges::default();
        edges.add(0, Span::from_millis(50));
        (10..20).for_each(|id| edges.enter(id, 0, false));
        edges
    }

    fn leave(edges: &mut Edges, ms: u64, ids: &[u32]) -> Vec<u32> {
        ids.iter().for_each(|id| edges.leave(at(ms), *id, 0, false));
        std::iter::from_fn(|| edges.poll()).collect()
    }

    #[test]
    fn packets_leave_in_the_order_in_which_they_entered() {
        let mut edges = edges();
        assert_eq!(leave(&mut edges, 0, &[10]), [10]);
        assert_eq!(leave(&mut edges, 1, &[13, 12]), [0; 0]);
        assert_eq!((edges.held(), edges.poll_timeout()), (2, Some(at(51))));
        assert_eq!(leave(&mut edges, 2, &[11]), [11, 12, 13]);
        assert_eq!((edges.held(), edges.poll_timeout()), (0, None));
    }

    #[test]
    fn a_gap_is_given_up_in_time_and_what_comes_after_it_leaves_at_once() {
        let mut edges = edges();
        assert_eq!(leave(&mut edges, 0, &[10, 12]), [10]);
        assert_eq!(leave(&mut edges, 10, &[13, 15]), [0; 0]);
        edges.handle_timeout(at(49));
        assert_eq!(leave(&mut edges, 49, &[]), [0; 0]);
        edges.handle_timeout(at(50));
        assert_eq!(leave(&mut edges, 50, &[]), [12, 13]);
        assert_eq!(leave(&mut edges, 55, &[11]), [11], "late");
        assert_eq!(edges.poll_timeout(), Some(at(60)));
        assert_eq!(leave(&mut edges, 56, &[14]), [14, 15]);
    }

    #[test]
    fn copies_and_other_routes_pass() {
        let mut edges = edges();
        edges.forget(12);
        assert_eq!(leave(&mut edges, 0, &[12]), [12]);
        edges.leave(at(0), 77, 5, true);
        assert_eq!(edges.poll(), Some(77));
    }
}
