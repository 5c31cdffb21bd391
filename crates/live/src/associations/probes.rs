//! The probes of associations that a peer seems to have lost: a restarted peer no longer knows the association, and proves that.
//!
//! Follows the purpose of RFC 9000 §10.3. A sealed packet of an unknown association is answered by a packet that proves nothing;
//! its receiver opens another association with the same key, and asks there about the first. Only that answer ends anything.
//! Leaves out questions by a responder: an initiator that has ended leaves a closed port, which ICMP reports.

use super::open::OpenAssociations;
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;

/// Number of questions, and the interval between them.
const ASKS: u32 = 4;
const ASK_INTERVAL: Span = Span::from_secs(1);
/// Largest number of simultaneous probes.
const PROBES_MAX: usize = 16;

/// A probe.
#[derive(Debug)]
struct Probe {
    /// The association in doubt.
    doubted: u32,
    /// Time of the next question, once the new association is open, and the number of questions.
    ask: Option<(Time, u32)>,
}

/// The probes, by the association that is opened to ask the peer in.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    by_id: BTreeMap<u32, Probe>,
}

impl Probes {
    /// Returns true if there is room for one more.
    pub fn has_room(&self) -> bool {
        self.by_id.len() < PROBES_MAX
    }

    /// Returns true if there is a probe of this association.
    pub fn is_about(&self, doubted: u32) -> bool {
        self.by_id.values().any(|probe| probe.doubted == doubted)
    }

    /// Begins the probe of an association, for which another one is being opened.
    pub fn begin(&mut self, id: u32, doubted: u32) {
        self.by_id.insert(id, Probe { doubted, ask: None });
    }

    /// The association that is opened for a probe is open: its question is due. Returns false if there is no such probe.
    pub fn handle_opened(&mut self, now: Time, id: u32) -> bool {
        self.by_id.get_mut(&id).map(|probe| probe.ask = Some((now, 0))).is_some()
    }

    /// Ends a probe. Returns false if there is none.
    pub fn end(&mut self, id: u32) -> bool {
        self.by_id.remove(&id).is_some()
    }

    /// The questions that are due: the associations in which they are asked, and the peer's indices of those in doubt.
    pub fn handle_timeout(&mut self, now: Time, open: &OpenAssociations) -> Vec<(u32, u32)> {
        let mut questions = Vec::new();
        self.by_id.retain(|&id, probe| {
            let Some((_, asked)) = probe.ask.filter(|(at, _)| *at <= now) else { return true };
            // A probe of an association forgotten meanwhile needs no answer.
            let Some(doubted) = open.get(probe.doubted).filter(|_| asked < ASKS) else { return false };
            questions.push((id, doubted.peer_index()));
            probe.ask = Some((now + ASK_INTERVAL, asked + 1));
            true
        });
        questions
    }

    /// Handles the peer's authenticated answer about the association with this index of its own, which ends a probe: returns the
    /// association that was in doubt.
    pub fn handle_verdict(&mut self, id: u32, index: u32, open: &OpenAssociations) -> Option<u32> {
        let doubted = self.by_id.get(&id)?.doubted;
        open.get(doubted).filter(|association| association.peer_index() == index)?;
        self.by_id.remove(&id);
        Some(doubted)
    }

    /// Time of the next question.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.by_id.values().filter_map(|probe| probe.ask).map(|(at, _)| at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::association::{Association, Sealing};
    use crate::handshake::Secrets;
    use crate::seal::Cipher;

    const NOW: Time = Time::from_nanos(1_000_000_000);

    /// Open associations with the numbers 1 and 2, whose peers' indices are 101 and 102.
    fn open() -> OpenAssociations {
        let sealing = Sealing { cipher: Cipher::default(), replay_window: 64, epoch_bits: 8 };
        let mut open = OpenAssociations::new(4, Span::from_secs(60));
        for id in 1..=2 {
            let secrets = Secrets { forward: Default::default(), back: Default::default() };
            let peer = ([192, 0, 2, 1], 1).into();
            open.insert(id, Association::new(NOW, peer, 100 + id, sealing, &secrets, true), None);
        }
        open
    }

    #[test]
    fn a_question_is_asked_four_times_once_its_association_is_open() {
        let (open, mut probes) = (open(), Probes::default());
        probes.begin(9, 1);
        assert!(probes.is_about(1) && !probes.is_about(9) && !probes.is_about(2));
        assert_eq!((probes.poll_timeout(), probes.handle_timeout(NOW, &open)), (None, vec![]));
        assert!(probes.handle_opened(NOW, 9) && !probes.handle_opened(NOW, 8));
        for _ in 0..4 {
            let at = probes.poll_timeout().expect("a question is due");
            assert_eq!(probes.handle_timeout(at, &open), [(9, 101)]);
            assert_eq!(probes.handle_timeout(at, &open), []);
        }
        assert_eq!(probes.poll_timeout(), Some(NOW + Span::from_secs(4)));
        assert_eq!(probes.handle_timeout(NOW + Span::from_secs(4), &open), []);
        assert!(!probes.is_about(1) && !probes.end(9), "it is over without an answer");
    }

    #[test]
    fn only_the_answer_to_the_question_ends_a_probe() {
        let (open, mut probes) = (open(), Probes::default());
        probes.begin(9, 1);
        assert_eq!(probes.handle_verdict(9, 102, &open), None, "about another association");
        assert_eq!(probes.handle_verdict(2, 101, &open), None, "in another association");
        assert_eq!(probes.handle_verdict(9, 101, &open), Some(1));
        assert_eq!((probes.handle_verdict(9, 101, &open), probes.end(9)), (None, false));
    }

    #[test]
    fn an_association_forgotten_meanwhile_needs_no_answer() {
        let (mut open, mut probes) = (open(), Probes::default());
        probes.begin(9, 1);
        probes.handle_opened(NOW, 9);
        open.remove(1);
        assert_eq!(probes.handle_verdict(9, 101, &open), None);
        assert_eq!((probes.handle_timeout(NOW, &open), probes.poll_timeout()), (vec![], None));
        assert!((0..20).filter(|id| probes.has_room().then(|| probes.begin(*id, 2)).is_some()).count() == 16);
    }
}
