//! The peer's window, and the persist timer that probes a closed one.
//!
//! Follows RFC 9293 §3.8.6.1 (probes of a closed window) and §3.8.6.2.1 (the sender's side of the silly window syndrome).
//! Differs: the right edge never moves back, even if the peer shrinks its window.
//! Leaves out the override timeout of §3.8.6.2.1: a window below half of the largest waits for the peer or the persist timer.

use super::flight::NextSegment;
use skyhop_units::{Span, Time};

#[derive(Debug)]
pub(crate) struct PeerWindow {
    /// SND.WND: the window in the latest acknowledgment.
    pub window: u64,
    /// One past the last byte that the peer allows.
    pub edge: u64,
    /// Largest window that the peer has offered.
    largest: u64,
    /// Time of the next window probe.
    pub persist_at: Option<Time>,
    /// True if a probe of one byte is due.
    probe: bool,
    /// Number of probes since the window closed.
    probes: u32,
}

impl Default for PeerWindow {
    fn default() -> Self {
        Self { window: 0, edge: 1, largest: 0, persist_at: None, probe: false, probes: 0 }
    }
}

impl PeerWindow {
    /// Handles a segment that acknowledges up to `ack` and offers `window`; `nxt` is the next byte to send.
    #[inline]
    pub fn set(&mut self, ack: u64, window: u64, nxt: u64) {
        self.window = window;
        self.largest = self.largest.max(window);
        self.edge = self.edge.max(ack + window);
        if self.edge > nxt {
            (self.persist_at, self.probes) = (None, 0);
        }
    }

    /// §3.8.6.2.1: allows less than a full segment if the window is too small for one but at least half of the largest.
    /// A retransmission, which begins below `snd_max`, is cut to any window: its timer asks for an answer, and nothing else would.
    #[inline]
    pub fn cut(&self, segment: NextSegment, snd_max: u64) -> NextSegment {
        let usable = self.edge.saturating_sub(segment.seq);
        let enough = usable >= self.largest / 2 || segment.seq < snd_max;
        if usable > 0 && usable < segment.len as u64 && enough {
            return NextSegment { len: usable as u32, fin: false, ..segment };
        }
        segment
    }

    /// §3.8.6.1: starts the timer if nothing in flight could bring a new window.
    pub fn ask(&mut self, now: Time, rto: Span) {
        self.persist_at.get_or_insert(now + rto);
    }

    /// Handles the expiry of the persist timer: a byte probes the window, and the interval grows.
    pub fn handle_persist(&mut self, now: Time, rto: Span, most: Span) {
        self.probe = true;
        self.probes = (self.probes + 1).min(16);
        self.persist_at = Some(now + (rto * (1 << self.probes)).min(most));
    }

    /// Returns true, once, if a probe of the window is due.
    #[inline]
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_window_is_asked_for_after_doubling_waits_until_it_opens() {
        let (s, rto, most) = (Span::from_secs, Span::from_secs(1), Span::from_secs(60));
        let mut peer = PeerWindow::default();
        peer.set(1, 4000, 1);
        assert_eq!((peer.edge, peer.persist_at), (4001, None));
        peer.ask(Time::ZERO, rto);
        peer.ask(Time::ZERO + s(1), rto);
        assert_eq!(peer.persist_at, Some(Time::ZERO + s(1)), "the first to ask starts the timer");
        let now = Time::ZERO + s(1);
        for wait in [2, 4, 8, 16, 32, 60, 60] {
            peer.handle_persist(now, rto, most);
            assert_eq!(peer.persist_at, Some(now + s(wait)));
            assert!(peer.take_probe() && !peer.take_probe());
        }
        // A segment that does not open the window leaves the timer; one that does stops it, and the next interval is short again.
        peer.set(4001, 0, 4001);
        assert!(peer.persist_at.is_some());
        peer.set(4001, 500, 4001);
        assert_eq!((peer.edge, peer.persist_at), (4501, None));
        peer.handle_persist(now, rto, most);
        assert_eq!(peer.persist_at, Some(now + s(2)));
    }

    #[test]
    fn the_edge_stays_and_a_part_of_a_segment_goes_into_half_of_the_largest_window() {
        let mut peer = PeerWindow::default();
        peer.set(1, 4000, 1);
        peer.set(1, 1000, 1);
        assert_eq!((peer.window, peer.edge), (1000, 4001));
        let cut = |seq, len| peer.cut(NextSegment { seq, len, fin: true }, seq);
        assert_eq!(cut(1001, 3000), NextSegment { seq: 1001, len: 3000, fin: true });
        assert_eq!(cut(2001, 3000), NextSegment { seq: 2001, len: 2000, fin: false });
        // 1999 bytes are less than half, and an empty window allows nothing.
        assert_eq!(cut(2002, 3000).len, 3000);
        assert_eq!(cut(4001, 3000).len, 3000);
    }

    #[test]
    fn a_retransmission_is_cut_to_any_window() {
        let mut peer = PeerWindow::default();
        peer.set(1, 4000, 1);
        let again = |seq| peer.cut(NextSegment { seq, len: 3000, fin: true }, 4002);
        assert_eq!(again(4000), NextSegment { seq: 4000, len: 1, fin: false });
        assert_eq!(again(4001).len, 3000, "an empty window allows nothing");
    }
}
