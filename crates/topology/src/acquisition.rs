//! The state of each link, and the acquisition that lies between a decision and its effect.
//!
//! Follows the acquisition times, gaps and make-before-break of [`Rules`].
//! Differs from ns-2, whose handovers take effect at once. At the first update every link counts as acquired.
//! Left out: the decisions, which are those of orbits, rules and failures.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::link::{LinkChange, LinkId, LinkKind, LinkState};
use crate::rules::Rules;

/// The states of all links. A link is being acquired exactly while its state in effect is not the decided one, which is then up.
#[derive(Debug, Clone)]
pub(crate) struct LinkStates {
    effective: Vec<LinkState>,
    decided: Vec<LinkState>,
    /// Time at which each link that is being acquired will be up, s.
    due_s: BTreeMap<usize, f64>,
    /// Changes of the states in effect since [`Self::begin`].
    changes: Vec<LinkChange>,
}

impl LinkStates {
    pub fn new(links: Vec<LinkState>) -> Self {
        Self { decided: links.clone(), effective: links, due_s: BTreeMap::new(), changes: Vec::new() }
    }

    /// Numbers further links after the present ones.
    pub fn extend(&mut self, links: impl Iterator<Item = LinkState>) {
        let first = self.effective.len();
        self.effective.extend(links);
        self.decided.extend_from_slice(&self.effective[first..]);
    }

    /// The states in effect, by number.
    pub fn effective(&self) -> &[LinkState] {
        &self.effective
    }

    /// The decided state of a link, which it has once it is acquired.
    pub fn decided(&self, link: usize) -> LinkState {
        self.decided[link]
    }

    /// The decided states of consecutive links.
    pub fn decided_of(&self, links: Range<usize>) -> &[LinkState] {
        &self.decided[links]
    }

    /// Returns true if a link is down because it is being acquired.
    pub fn is_acquiring(&self, link: usize) -> bool {
        self.due_s.contains_key(&link) && !self.effective[link].up
    }

    /// Times at which acquisitions end, s.
    pub fn due_s(&self) -> impl Iterator<Item = f64> {
        self.due_s.values().copied()
    }

    /// Starts the list of changes.
    pub fn begin(&mut self) {
        self.changes.clear();
    }

    /// The changes since [`Self::begin`].
    pub fn changes(&self) -> &[LinkChange] {
        &self.changes
    }

    /// Returns true if the state of a link is `is`, both decided and in effect.
    pub fn is_settled(&self, link: usize, is: LinkState) -> bool {
        is == self.effective[link] && is == self.decided[link]
    }

    /// Sets the decided state of a link to `is` at `t_s`. It takes effect at once, or after an acquisition by `rules`; without rules every
    /// link counts as acquired.
    pub fn decide(&mut self, link: usize, is: LinkState, t_s: f64, rules: Option<&Rules>) {
        let before = std::mem::replace(&mut self.decided[link], is);
        let was = self.effective[link];
        if !is.up || is == was {
            self.due_s.remove(&link);
            return self.set(link, is);
        }
        let acquiring = self.due_s.contains_key(&link);
        if is == before && acquiring {
            return;
        }
        // A change of satellite during a gap is a further handover.
        let moves = acquiring && is.b != before.b;
        let handover = is.kind == LinkKind::Gsl && (was.up || moves);
        let make_before_break = rules.is_some_and(|rules| rules.make_before_break);
        let wait_s = rules.map_or(0.0, |rules| {
            let acquisition_s = match is.kind {
                LinkKind::Gsl => rules.gsl_acquisition_s,
                LinkKind::Fibre | LinkKind::Ground => 0.0,
                _ => rules.isl_acquisition_s,
            };
            let gap_s = if handover && !make_before_break { rules.handover_gap_s } else { 0.0 };
            acquisition_s + gap_s
        });
        if wait_s == 0.0 {
            self.due_s.remove(&link);
            return self.set(link, is);
        }
        self.due_s.insert(link, t_s + wait_s);
        if !(handover && was.up && make_before_break) {
            self.set(link, LinkState { up: false, ..is });
        }
    }

    /// Brings up the links whose acquisition ended by `t_s`.
    pub fn finish(&mut self, t_s: f64) {
        let mut due_s = std::mem::take(&mut self.due_s);
        due_s.retain(|&link, at_s| {
            let waits = *at_s > t_s;
            if !waits {
                self.set(link, self.decided[link]);
            }
            waits
        });
        self.due_s = due_s;
    }

    /// Takes a link down that still has its old state because its new one is being acquired; the acquisition goes on.
    pub fn release_old(&mut self, link: usize) {
        if self.due_s.contains_key(&link) {
            self.set(link, LinkState { up: false, ..self.decided[link] });
        }
    }

    fn set(&mut self, link: usize, is: LinkState) {
        let was = std::mem::replace(&mut self.effective[link], is);
        if was != is {
            self.changes.push(LinkChange { link: LinkId(link as u32), was, is });
        }
    }
}

#[cfg(test)]
mod tests {
    use skyhop_chance::Seed;

    use super::*;
    use crate::link::NodeId;

    fn gsl(satellite: u32, up: bool) -> LinkState {
        LinkState { a: NodeId(9), b: NodeId(satellite), up, kind: LinkKind::Gsl }
    }

    fn rules(make_before_break: bool) -> Rules {
        let rules = Rules::iridium();
        Rules { gsl_acquisition_s: 2.0, handover_gap_s: 1.0, make_before_break, ..rules }
    }

    /// The states in effect of the changes, and the next end of an acquisition.
    fn effects(states: &LinkStates) -> (Vec<LinkState>, Option<f64>) {
        (states.changes().iter().map(|change| change.is).collect(), states.due_s().next())
    }

    #[test]
    fn another_satellite_during_a_gap_is_a_further_handover() {
        let rules = rules(false);
        let mut states = LinkStates::new(vec![gsl(0, false)]);
        states.decide(0, gsl(0, true), 0.0, None);
        assert_eq!(effects(&states), (vec![gsl(0, true)], None), "at first every link is acquired");
        states.begin();
        states.decide(0, gsl(1, true), 10.0, Some(&rules));
        assert_eq!(effects(&states), (vec![gsl(1, false)], Some(13.0)));
        // The same decision again does not extend the acquisition, another satellite does, with a gap of its own.
        states.decide(0, gsl(1, true), 11.5, Some(&rules));
        assert_eq!(effects(&states).1, Some(13.0));
        states.decide(0, gsl(2, true), 12.0, Some(&rules));
        assert_eq!(effects(&states), (vec![gsl(1, false), gsl(2, false)], Some(15.0)));
        states.begin();
        states.finish(15.0);
        assert_eq!(effects(&states), (vec![gsl(2, true)], None));
    }

    #[test]
    fn make_before_break_keeps_the_old_satellite_until_it_is_released() {
        let rules = rules(true);
        let mut states = LinkStates::new(vec![gsl(0, true)]);
        states.decide(0, gsl(1, true), 10.0, Some(&rules));
        assert_eq!(effects(&states), (vec![], Some(12.0)), "without a gap");
        assert!(!states.is_acquiring(0), "packets still have the old satellite");
        states.release_old(0);
        assert_eq!(effects(&states), (vec![gsl(1, false)], Some(12.0)));
        assert!(states.is_acquiring(0));
        states.finish(12.0);
        states.begin();
        states.release_old(0);
        assert_eq!(effects(&states), (vec![], None), "an acquired link has no old state");
    }

    /// Random decisions, ends and releases: a link is due exactly while its two states differ, and the changes lead from the states before
    /// to those after.
    #[test]
    fn a_link_is_acquired_exactly_while_its_states_differ() {
        let mut chance = Seed(7).stream("decisions");
        let kinds = [LinkKind::Gsl, LinkKind::IntraPlane, LinkKind::Fibre];
        let mut draw = |below: u32| (chance.uniform() * f64::from(below)) as u32;
        for run in 0..200 {
            let rules = Rules { isl_acquisition_s: f64::from(run % 3), ..rules(run % 2 == 0) };
            let links: Vec<LinkState> =
                kinds.iter().map(|&kind| LinkState { kind, ..gsl(0, false) }).collect();
            let mut states = LinkStates::new(links.clone());
            let mut told = links;
            for step in 0..100 {
                let (t_s, link) = (f64::from(step) * 0.7, draw(3) as usize);
                states.begin();
                match draw(4) {
                    0 => states.finish(t_s),
                    1 => states.release_old(link),
                    _ => {
                        let is = LinkState { kind: kinds[link], ..gsl(draw(3), draw(3) > 0) };
                        states.decide(link, is, t_s, (step > 5).then_some(&rules));
                    }
                }
                for change in states.changes() {
                    assert_ne!(change.was, change.is);
                    assert_eq!(std::mem::replace(&mut told[change.link.index()], change.is), change.was);
                }
                assert_eq!(told, states.effective());
                for (link, effective) in states.effective().iter().enumerate() {
                    let decided = states.decided(link);
                    assert_eq!(states.due_s.contains_key(&link), *effective != decided);
                    assert!(*effective == decided || decided.up);
                }
            }
            states.finish(f64::INFINITY);
            assert_eq!(states.effective(), states.decided_of(0..3));
        }
    }
}
