//! Uplinks on demand: terminals' links that send in slots, the requests for them, and a controller for each uplink, satellite or beam.
//!
//! Follows `skyhop_link::demand` for requests and plans; a request takes the delay of the link to its far end, a satellite or a gateway,
//! and the delay from there to the controller.
//! Differs: frames begin everywhere at the same instant, where real terminals send earlier by their delay; a frame without a plan, because
//! the delay has grown by a frame, has no slots.
//! Leaves out the capacity used by requests and plans, and their loss.

use crate::error::BuildError;
use crate::wire::Wire;
use skyhop_link::demand::{Assigned, Categories, Controller, FrameShape, Law, Request, Requester, layout};
use skyhop_link::{Medium, SlotShape};
use skyhop_results::UplinkResult;
use skyhop_scenario::{self as scenario, UplinkModel};
use skyhop_topology::{NodeId, Topology};
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An uplink of the scenario.
struct UplinkPlan {
    name: String,
    law: Law,
    shape: FrameShape,
    /// Frames between two requests of a terminal.
    every: u64,
    persistence: u32,
    controller_delay: Span,
}

/// A wire that sends in slots.
struct UplinkWire {
    plan: usize,
    /// Beam of the terminal; `None` for a link between fixed ends.
    beam: Option<u32>,
    requester: Requester,
    categories: Categories,
    /// Its group, and its number in the group.
    at: Option<(u32, u32)>,
}

/// The plan of a frame: the wire of each number, and its slots.
type FramePlan = Vec<(u32, Assigned)>;

/// The terminals of one controller.
struct UplinkGroup {
    plan: usize,
    controller: Controller,
    /// Wires by number.
    wires: Vec<Option<u32>>,
    /// The next frame to begin.
    frame: u64,
    under_way: VecDeque<(Time, u32, Request)>,
    planned: VecDeque<(u64, FramePlan)>,
}

/// Counts of an uplink's slots so far.
#[derive(Default, Clone, Copy)]
struct UplinkTally {
    frames: u64,
    requests: u64,
    assigned: [u64; 4],
}

/// The satellite and the beam of a group; `None` for the group of an uplink's links between fixed ends.
type GroupPlace = Option<(NodeId, u32)>;

/// All uplinks of a network.
pub(crate) struct Uplinks {
    plans: Vec<UplinkPlan>,
    wires: BTreeMap<u32, UplinkWire>,
    groups: Vec<UplinkGroup>,
    numbers: BTreeMap<(usize, GroupPlace), u32>,
    tallies: Vec<UplinkTally>,
}

impl Uplinks {
    /// The uplinks of a scenario; `None` if it has none.
    pub fn of(scenario: &scenario::Scenario) -> Result<Option<Box<Self>>, BuildError> {
        let plan = |(name, uplink): (&String, &scenario::Uplink)| {
            let slot = u32::try_from(uplink.slot.get()).unwrap_or(u32::MAX);
            let shape = FrameShape::new(uplink.rate, uplink.carriers, uplink.frame(), slot);
            let no_room =
                || BuildError::new(&format!("uplinks.{name}.rate"), "no room for a slot in a frame");
            Ok(UplinkPlan {
                name: name.clone(),
                law: match uplink.like {
                    UplinkModel::OpenSand => Law::OpenSand,
                    UplinkModel::Sns3 => Law::Sns3,
                },
                shape: shape.ok_or_else(no_room)?,
                every: uplink.request_frames(),
                persistence: u32::try_from(uplink.persistence()).unwrap_or(u32::MAX),
                controller_delay: uplink.controller_delay,
            })
        };
        let plans: Vec<_> = scenario.uplinks.iter().map(plan).collect::<Result<_, BuildError>>()?;
        let tallies = vec![UplinkTally::default(); plans.len()];
        let new =
            Self { plans, wires: BTreeMap::new(), groups: Vec::new(), numbers: BTreeMap::new(), tallies };
        Ok((!scenario.uplinks.is_empty()).then(|| Box::new(new)))
    }

    /// Number of a terminal's beam, 0 without one.
    pub fn beam(scenario: &scenario::Scenario, terminal: &str) -> u32 {
        let of = |terminal: &scenario::Terminal| terminal.beam.clone();
        let names: BTreeSet<String> = scenario.terminals.values().filter_map(of).collect();
        let own = scenario.terminals.get(terminal).and_then(of);
        own.map_or(0, |own| 1 + names.range(..own).count() as u32)
    }

    /// Makes wire `index` send in slots; `beam` is that of a terminal with a satellite. Wires between fixed ends join at once.
    pub fn add(
        &mut self,
        index: u32,
        wire: &mut Wire,
        on_demand: &scenario::OnDemand,
        model: &scenario::Uplink,
        beam: Option<u32>,
    ) {
        let Some(plan) = self.plans.iter().position(|plan| plan.name == on_demand.name) else { return };
        let UplinkPlan { law, shape, every, .. } = self.plans[plan];
        let own = on_demand.with_defaults(model);
        let categories = Categories {
            most: wire.rate,
            constant: own.constant.map(|rate| rate.min(wire.rate)),
            rate_based: own.rate_based.map(|rate| rate.min(wire.rate)),
            volume_based: own.volume_based,
            free: own.free.map(|rate| rate.min(wire.rate)),
        };
        wire.link.send_in_slots(SlotShape { bytes: shape.slot, time: shape.slot_time });
        let requester = Requester::new(law, shape, categories, shape.frame * every, shape.frame);
        self.wires.insert(index, UplinkWire { plan, beam, requester, categories, at: None });
        if beam.is_none() {
            let delay = wire.delay.unwrap_or(Span::ZERO);
            self.join(index, None, Time::ZERO, delay);
        }
    }

    /// Admits a wire to the group at `place`, from the next frame on. `delay` is that of the wire.
    fn join(&mut self, index: u32, place: GroupPlace, now: Time, delay: Span) {
        let Some(wire) = self.wires.get_mut(&index) else { return };
        let plan = &self.plans[wire.plan];
        let (groups, shape) = (&mut self.groups, plan.shape);
        let group = *self.numbers.entry((wire.plan, place)).or_insert_with(|| {
            groups.push(UplinkGroup {
                plan: wire.plan,
                controller: Controller::new(shape, plan.persistence),
                wires: Vec::new(),
                frame: 0,
                under_way: VecDeque::new(),
                planned: VecDeque::new(),
            });
            groups.len() as u32 - 1
        });
        let at = &mut groups[group as usize];
        if at.controller.is_idle() {
            at.frame = now.as_nanos().div_ceil(shape.frame.as_nanos());
            at.under_way.clear();
            at.planned.clear();
        }
        let number = at.controller.join(wire.categories);
        if at.wires.len() <= number as usize {
            at.wires.resize(number as usize + 1, None);
        }
        at.wires[number as usize] = Some(index);
        let way = delay + plan.controller_delay;
        wire.requester.restart(shape.frame * (frames(way, &shape) + frames(way, &shape).max(1)));
        wire.at = Some((group, number));
    }

    /// Moves wires to the groups of their present satellites after links have changed.
    pub fn follow(&mut self, now: Time, wires: &[Wire], topology: &Topology) {
        let moving: Vec<(u32, u32)> =
            self.wires.iter().filter_map(|(index, wire)| Some((*index, wire.beam?))).collect();
        for (index, beam) in moving {
            let wire = &wires[index as usize];
            let place = wire.link.is_up().then_some((wire.to, beam));
            let Some(own) = self.wires.get_mut(&index) else { continue };
            let there = place.and_then(|place| self.numbers.get(&(own.plan, Some(place))).copied());
            if own.at.map(|(group, _)| group) == there && (there.is_some() || place.is_none()) {
                continue;
            }
            if let Some((group, number)) = own.at.take() {
                let old = &mut self.groups[group as usize];
                old.controller.leave(number);
                old.wires[number as usize] = None;
                // Its requests must not be granted to another terminal that gets its number.
                old.under_way.retain(|(_, of, _)| *of != number);
            }
            if let Some(place) = place {
                let delay = wire.medium(Some(topology)).one_way_delay(now);
                self.join(index, Some(place), now, delay);
            }
        }
    }

    /// Time of the next frame of any group; `None` while no group has terminals.
    pub fn next_frame(&self) -> Option<Time> {
        let busy = self.groups.iter().filter(|group| !group.controller.is_idle());
        busy.map(|group| Time::ZERO + group.controller.shape().frame * group.frame).min()
    }

    /// Begins the frames that are due at `now`. Returns the wires to be scheduled again.
    pub fn begin_frames(&mut self, now: Time, wires: &mut [Wire], topology: Option<&Topology>) -> Vec<u32> {
        let mut awake = Vec::new();
        for number in 0..self.groups.len() {
            let group = &self.groups[number];
            let begins = Time::ZERO + group.controller.shape().frame * group.frame;
            if !group.controller.is_idle() && begins <= now {
                self.begin_frame(number, begins, wires, topology, &mut awake);
            }
        }
        awake
    }

    fn begin_frame(
        &mut self,
        number: usize,
        now: Time,
        wires: &mut [Wire],
        topology: Option<&Topology>,
        awake: &mut Vec<u32>,
    ) {
        let group = &mut self.groups[number];
        let (plan, tally) = (&self.plans[group.plan], &mut self.tallies[group.plan]);
        let shape = plan.shape;
        tally.frames += 1;
        group.planned.retain(|(frame, _)| *frame >= group.frame);
        if let Some((_, frame)) = group.planned.pop_front_if(|(frame, _)| *frame == group.frame) {
            for window in layout(&shape, frame.iter().map(|(_, assigned)| assigned.all())) {
                let (wire, _) = frame[window.terminal as usize];
                // A terminal that has left or rejoined does not know of the slots.
                if group.wires[window.terminal as usize] != Some(wire) {
                    continue;
                }
                let wire = &mut wires[wire as usize];
                let at = now + shape.slot_time * u64::from(window.first);
                let medium = wire.medium(topology);
                wire.link.grant(now, at, window.slots, &medium);
            }
            for (wire, assigned) in frame.iter().filter(|(_, assigned)| assigned.all() > 0) {
                if let Some(own) = self.wires.get_mut(wire) {
                    own.requester.take(assigned);
                    awake.push(*wire);
                }
            }
        }
        let mut longest = Span::ZERO;
        for (of, index) in (0..).zip(&group.wires) {
            let Some(index) = *index else { continue };
            let wire = &mut wires[index as usize];
            let medium = wire.medium(topology);
            let way = medium.one_way_delay(now) + plan.controller_delay;
            longest = longest.max(way);
            if !(group.frame + u64::from(of)).is_multiple_of(plan.every) {
                continue;
            }
            let (waiting, came) = wire.link.demand(now, &medium);
            let Some(own) = self.wires.get_mut(&index) else { continue };
            if let Some(request) = own.requester.request(now, waiting, came) {
                tally.requests += 1;
                let arrives = now + way;
                let place = group.under_way.partition_point(|(at, ..)| *at <= arrives);
                group.under_way.insert(place, (arrives, of, request));
            }
        }
        while let Some((_, of, request)) = group.under_way.pop_front_if(|(at, ..)| *at <= now) {
            group.controller.handle_request(of, request);
        }
        let planned = group.controller.plan();
        for assigned in &planned {
            let Assigned { constant, rate_based, volume_based, free } = *assigned;
            for (sum, slots) in tally.assigned.iter_mut().zip([constant, rate_based, volume_based, free]) {
                *sum += u64::from(slots);
            }
        }
        let of = |(number, assigned): (usize, Assigned)| (group.wires[number].unwrap_or(u32::MAX), assigned);
        let frame = group.frame + frames(longest, &shape).max(1);
        // On a shorter path a plan can overtake an earlier one; the later plan is used.
        group.planned.retain(|(planned, _)| *planned < frame);
        group.planned.push_back((frame, planned.into_iter().enumerate().map(of).collect()));
        group.frame += 1;
    }

    /// Results of all uplinks, in order of name.
    pub fn results(&self, end: Time, wires: &mut [Wire], topology: Option<&Topology>) -> Vec<UplinkResult> {
        let mut found: Vec<UplinkResult> = Vec::new();
        for (number, (plan, tally)) in self.plans.iter().zip(&self.tallies).enumerate() {
            let slots = (tally.frames * u64::from(plan.shape.all_slots())) as f64;
            let share = |of: u64| if slots > 0.0 { of as f64 / slots } else { 0.0 };
            let own = self.wires.iter().filter(|(_, wire)| wire.plan == number);
            let (mut used, mut delay_s, mut packets) = (0, 0.0, 0);
            for (index, _) in own {
                let wire = &mut wires[*index as usize];
                let medium = wire.medium(topology);
                used += wire.link.used_slots();
                if let Some((mean_s, count)) = wire.link.access_delay(end, &medium) {
                    delay_s += mean_s * count as f64;
                    packets += count;
                }
            }
            found.push(UplinkResult {
                name: plan.name.clone(),
                frames: tally.frames,
                capacity_bps: plan.shape.capacity_bps(),
                requests: tally.requests,
                constant_share: share(tally.assigned[0]),
                rate_based_share: share(tally.assigned[1]),
                volume_based_share: share(tally.assigned[2]),
                free_share: share(tally.assigned[3]),
                used_share: share(used),
                access_delay_mean_s: (packets > 0).then(|| delay_s / packets as f64),
            });
        }
        found
    }
}

/// Number of frames that begin within the delay `way`, the last one at its end or later.
fn frames(way: Span, shape: &FrameShape) -> u64 {
    way.as_nanos().div_ceil(shape.frame.as_nanos())
}
