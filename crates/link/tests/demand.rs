//! Bandwidth on demand: terminals, their requests and a controller, against arithmetic.
//!
//! Follows the timing of a request: to the controller, to the beginning of a frame there, back, and to the beginning of a frame again.
//! Differs from a network: a loop of frames hands requests on after a fixed delay.
//! Leaves out what `network` does with moving ends.

use skyhop_chance::{Seed, Stream};
use skyhop_link::demand::{Assigned, Categories, Controller, FrameShape, Law, Request, Requester, layout};
use skyhop_link::{Discipline, Fixed, Label, Limit, Link, Loss, SlotShape};
use skyhop_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

const CELL: u32 = 53;
const MEDIUM: Fixed = Fixed(Span::ZERO);

fn kbit(kbps: u64) -> Rate {
    Rate::from_bps(1000 * kbps).unwrap()
}

fn none(most: Rate) -> Categories {
    Categories { most, constant: None, rate_based: None, volume_based: None, free: None }
}

/// An uplink, the terminals on it, and the way to its controller.
struct Uplink {
    shape: FrameShape,
    controller: Controller,
    terminals: Vec<(Link<u32>, Requester)>,
    /// Frames between two requests of a terminal.
    every: u64,
    /// Delay to the controller, and back.
    delay: Span,
    under_way: VecDeque<(Time, u32, Request)>,
    plans: VecDeque<(u64, Vec<Assigned>)>,
    frame: u64,
    assigned: Vec<Assigned>,
}

impl Uplink {
    fn new(law: Law, shape: FrameShape, every: u64, delay: Span, terminals: &[Categories]) -> Self {
        let mut controller = Controller::new(shape, 1 + every as u32);
        let slots = SlotShape { bytes: shape.slot, time: shape.slot_time };
        let steps = delay.as_nanos().div_ceil(shape.frame.as_nanos());
        let terminal = |categories: &Categories| {
            controller.join(*categories);
            let queue: Discipline = Limit::packets(100_000).into();
            let mut link = Link::new(categories.most, queue, Loss::None, None);
            link.send_in_slots(slots);
            let period = shape.frame * every;
            (link, Requester::new(law, shape, *categories, period, shape.frame * (steps + steps.max(1))))
        };
        let terminals: Vec<_> = terminals.iter().map(terminal).collect();
        let assigned = vec![Assigned::default(); terminals.len()];
        Self {
            shape,
            controller,
            terminals,
            every,
            delay,
            under_way: VecDeque::new(),
            plans: VecDeque::new(),
            frame: 0,
            assigned,
        }
    }

    /// Frames from a plan to the frame that it is for.
    fn lead(&self) -> u64 {
        self.delay.as_nanos().div_ceil(self.shape.frame.as_nanos()).max(1)
    }

    fn begins(&self, frame: u64) -> Time {
        Time::ZERO + self.shape.frame * frame
    }

    /// Begins the next frame: slots are granted, requests are made and heard, a later frame is planned.
    fn step(&mut self) {
        let now = self.begins(self.frame);
        while let Some((_, plan)) = self.plans.pop_front_if(|(frame, _)| *frame == self.frame) {
            for window in layout(&self.shape, plan.iter().map(Assigned::all)) {
                let at = now + self.shape.slot_time * u64::from(window.first);
                self.terminals[window.terminal as usize].0.grant(now, at, window.slots, &MEDIUM);
            }
            for (number, assigned) in plan.iter().enumerate() {
                self.terminals[number].1.take(assigned);
                let sum = &mut self.assigned[number];
                sum.constant += assigned.constant;
                sum.rate_based += assigned.rate_based;
                sum.volume_based += assigned.volume_based;
                sum.free += assigned.free;
            }
        }
        for (number, (link, requester)) in (0..).zip(&mut self.terminals) {
            if !(self.frame + u64::from(number)).is_multiple_of(self.every) {
                continue;
            }
            let (waiting, came) = link.demand(now, &MEDIUM);
            if let Some(request) = requester.request(now, waiting, came) {
                self.under_way.push_back((now + self.delay, number, request));
            }
        }
        while let Some((_, number, request)) = self.under_way.pop_front_if(|(at, ..)| *at <= now) {
            self.controller.handle_request(number, request);
        }
        let plan = self.controller.plan();
        self.plans.push_back((self.frame + self.lead(), plan));
        self.frame += 1;
    }
}

/// Traffic of packets of one size, at random times, into each of the terminals.
struct Poisson {
    chance: Stream,
    gap_s: f64,
    size: u32,
    next: Vec<Time>,
}

impl Poisson {
    fn new(seed: u64, load_bps: f64, size: u32, terminals: usize) -> Self {
        let gap_s = f64::from(8 * size) / load_bps;
        let mut new = Self { chance: Seed(seed).stream("poisson"), gap_s, size, next: Vec::new() };
        for _ in 0..terminals {
            let first = new.gap();
            new.next.push(Time::ZERO + first);
        }
        new
    }

    fn gap(&mut self) -> Span {
        Span::from_secs_f64(-self.gap_s * (1.0 - self.chance.uniform()).ln())
    }
}

/// The packets of each terminal: bytes that arrived, and the sum of their delays.
#[derive(Default, Clone, Copy)]
struct Carried {
    packets: u64,
    bytes: u64,
    delay_s: f64,
}

fn run(uplink: &mut Uplink, traffic: &mut Poisson, duration: Span) -> Vec<Carried> {
    let mut sent_at = Vec::new();
    let mut carried = vec![Carried::default(); uplink.terminals.len()];
    let end = Time::ZERO + duration;
    while uplink.begins(uplink.frame) < end {
        let until = uplink.begins(uplink.frame + 1);
        uplink.step();
        for (number, sum) in carried.iter_mut().enumerate() {
            let link = &mut uplink.terminals[number].0;
            loop {
                let (arrives, comes) = (link.poll_timeout(), traffic.next[number]);
                if arrives.is_none_or(|at| at > comes) && comes < until {
                    let id = sent_at.len() as u32;
                    sent_at.push(comes);
                    link.handle_packet(comes, id, traffic.size, Label::default(), &MEDIUM).unwrap();
                    traffic.next[number] = comes + traffic.gap();
                } else if let Some(at) = arrives.filter(|at| *at < until) {
                    while let Some(arrival) = link.poll_arrival(at, &MEDIUM) {
                        let delay = at.since(sent_at[arrival.packet as usize]).as_secs_f64();
                        sum.packets += 1;
                        sum.bytes += u64::from(traffic.size);
                        sum.delay_s += delay;
                    }
                } else {
                    break;
                }
            }
        }
    }
    carried
}

fn mean_delay_s(carried: &[Carried]) -> f64 {
    let packets: u64 = carried.iter().map(|c| c.packets).sum();
    carried.iter().map(|c| c.delay_s).sum::<f64>() / packets as f64
}

/// Frames of OpenSAND and of SNS3, with a carrier of 2,048 kbit/s and cells in the slots.
fn shapes() -> [FrameShape; 2] {
    [26_500, 100_000].map(|us| FrameShape::new(kbit(2048), 1, Span::from_micros(us), CELL).unwrap())
}

#[test]
fn a_frame_of_26_5_ms_has_a_cell_for_each_16_kbit() {
    // KG 3.2: 16 to 2,048 kbit/s.
    for (kbps, slots) in [(16, 1), (144, 9), (384, 24), (2048, 128)] {
        let shape = FrameShape::new(kbit(kbps), 1, Span::from_micros(26_500), CELL).unwrap();
        assert_eq!(shape.slots, slots);
        assert!((shape.capacity_bps() / 1e3 - kbps as f64).abs() < 1e-9);
    }
    assert_eq!(FrameShape::new(kbit(15), 1, Span::from_micros(26_500), CELL), None);
}

#[test]
fn a_light_load_waits_for_its_slot_under_constant_assignment() {
    for (shape, kbps) in shapes().into_iter().flat_map(|shape| [(shape, 16), (shape, 384), (shape, 1024)]) {
        let categories = Categories { constant: Some(kbit(kbps)), ..none(kbit(2048)) };
        let mut uplink = Uplink::new(Law::OpenSand, shape, 10, Span::from_millis(250), &[categories]);
        let mut traffic = Poisson::new(1, 0.005 * kbps as f64 * 1e3, CELL, 1);
        let ours = mean_delay_s(&run(&mut uplink, &mut traffic, Span::from_secs(60_000 * 16 / kbps)));
        // n slots in a row at the beginning of a frame: who comes among them waits for the next, all others for the next frame.
        // A share of a slot more, such as of 16 kbit/s in 100 ms, is every so many frames.
        let (frame, slot) = (shape.frame.as_secs_f64(), shape.slot_time.as_secs_f64());
        let slots = kbps as f64 * 1e3 * frame / f64::from(8 * CELL);
        let wait = |n: f64| {
            let gap = frame - (n - 1.0) * slot;
            ((n - 1.0) * slot * slot / 2.0 + gap * gap / 2.0) / frame
        };
        let (less, part) = (slots.floor(), slots.fract());
        let analytic = (1.0 - part) * wait(less) + part * wait(less + 1.0) + slot;
        let off = ours / analytic - 1.0;
        println!(
            "constant, {kbps} kbit/s, frame {frame} s: {ours:.5} s, analytic {analytic:.5} s, {off:+.4}"
        );
        assert!(off.abs() < 0.03, "{off}");
    }
}

/// Mean access delay of packets of `size` under light load over a path of `delay` to the controller, ours and by arithmetic.
fn light(shape: FrameShape, every: u64, delay: Span, size: u32, categories: Categories) -> (f64, f64) {
    let mut uplink = Uplink::new(Law::OpenSand, shape, every, delay, &[categories]);
    // One packet in 40 requests, so that hardly any two meet.
    let load = f64::from(8 * size) / (40.0 * (shape.frame * every).as_secs_f64()).max(20.0);
    let mut traffic = Poisson::new(3, load, size, 1);
    let ours = mean_delay_s(&run(&mut uplink, &mut traffic, Span::from_secs(60_000)));
    let frame = shape.frame.as_secs_f64();
    let steps = (delay.as_secs_f64() / frame - 1e-9).ceil();
    let cells = f64::from(size.div_ceil(CELL));
    // Half a period until it asks, to the controller and back in whole frames, at least one for the plan, and its slots at the
    // beginning of the frame.
    let analytic =
        every as f64 * frame / 2.0 + (steps + steps.max(1.0)) * frame + cells * shape.slot_time.as_secs_f64();
    (ours, analytic)
}

#[test]
fn a_light_load_waits_for_request_and_grant_under_assignment_by_volume() {
    let categories = Categories { volume_based: Some(Bytes::new(384_000)), ..none(kbit(2048)) };
    for shape in shapes() {
        for (every, delay_ms, cells) in [(1, 250, 1), (10, 250, 32), (38, 125, 5), (1, 20, 32), (4, 0, 100)] {
            let (ours, analytic) = light(shape, every, Span::from_millis(delay_ms), CELL * cells, categories);
            let off = ours / analytic - 1.0;
            println!(
                "by volume, {:?}, each {every} frames, {delay_ms} ms, {cells} cells: {ours:.5} s, analytic {analytic:.5} s, {off:+.4}",
                shape.frame
            );
            assert!(off.abs() < 0.03, "{off}");
        }
    }
}

#[test]
fn a_light_load_waits_as_long_under_assignment_by_rate_if_a_frame_holds_the_packet() {
    // A cell in a period is a rate that gives at least a slot in the first frame: the requested rate is rounded up by the agent.
    let categories = Categories { rate_based: Some(kbit(1024)), ..none(kbit(2048)) };
    for shape in shapes() {
        for (every, delay_ms) in [(1, 250), (1, 125), (1, 20)] {
            let (ours, analytic) = light(shape, every, Span::from_millis(delay_ms), CELL, categories);
            let off = ours / analytic - 1.0;
            println!(
                "by rate, frame {:?}, {delay_ms} ms: {ours:.5} s, analytic {analytic:.5} s, {off:+.4}",
                shape.frame
            );
            assert!(off.abs() < 0.03, "{off}");
        }
    }
}

/// Four carriers of 2,048 kbit/s for twelve terminals.
fn crowd(law: Law, categories: Categories) -> Uplink {
    // Frames and requests as these programs have them.
    let (frame_us, every) = match law {
        Law::OpenSand => (26_500, 38),
        Law::Sns3 => (100_000, 1),
    };
    let shape = FrameShape::new(kbit(8192), 4, Span::from_micros(frame_us), CELL).unwrap();
    Uplink::new(law, shape, every, Span::from_millis(250), &[categories; 12])
}

#[test]
fn a_load_up_to_the_capacity_is_carried_and_no_more() {
    let volume = Categories { volume_based: Some(Bytes::new(384_000)), ..none(kbit(2048)) };
    let rate = Categories { rate_based: Some(kbit(2048)), ..none(kbit(2048)) };
    let both = Categories { constant: Some(kbit(100)), ..rate };
    let constant = Categories { constant: Some(kbit(8192 / 12)), ..none(kbit(2048)) };
    for (name, law, categories, least) in [
        ("constant", Law::OpenSand, constant, 0.97),
        ("by volume", Law::OpenSand, volume, 0.97),
        ("by volume", Law::Sns3, volume, 0.97),
        ("by rate", Law::OpenSand, rate, 0.97),
        ("by rate", Law::Sns3, rate, 0.97),
        ("constant and by rate", Law::OpenSand, both, 0.97),
    ] {
        for load in [0.5, 0.95, 1.5] {
            let mut uplink = crowd(law, categories);
            let capacity = uplink.shape.capacity_bps();
            let size = 10 * CELL;
            let mut traffic = Poisson::new(5, load * capacity / 12.0, size, 12);
            let seconds = 400;
            let carried = run(&mut uplink, &mut traffic, Span::from_secs(seconds));
            let bytes: u64 = carried.iter().map(|c| c.bytes).sum();
            let share = bytes as f64 * 8.0 / seconds as f64 / capacity;
            let [fewest, most] =
                [u64::min, u64::max].map(|pick| carried.iter().map(|c| c.bytes).reduce(pick).unwrap());
            println!(
                "{name}, {law:?}, load {load}: {share:.4} of the capacity, mean delay {:.3} s",
                mean_delay_s(&carried)
            );
            // What is under way at the end is not carried yet.
            assert!((least * load.min(1.0)..=load.min(1.0) * 1.01).contains(&share), "{share}");
            if load > 1.0 {
                assert!(most as f64 / fewest as f64 <= 1.02, "{fewest} to {most}");
            }
        }
    }
}

#[test]
fn what_nobody_asks_for_is_free() {
    let categories = Categories { free: Some(kbit(256)), ..none(kbit(2048)) };
    let mut uplink = crowd(Law::OpenSand, categories);
    let mut traffic = Poisson::new(7, 100e3, CELL, 12);
    let carried = run(&mut uplink, &mut traffic, Span::from_secs(100));
    // Nothing is requested, so nothing waits for an answer.
    let delay = mean_delay_s(&carried);
    assert!((0.01..0.04).contains(&delay), "{delay}");
    let frames = uplink.frame - uplink.lead();
    for assigned in &uplink.assigned {
        let bps = f64::from(assigned.free * 8 * CELL) / (frames as f64 * 0.0265);
        assert!((bps / 256e3 - 1.0).abs() < 0.01 && assigned.all() == assigned.free, "{bps}");
    }
}

#[test]
fn no_plan_exceeds_the_frame_a_terminal_or_what_it_may_have() {
    let mut chance = Seed(9).stream("plans");
    for case in 0..500 {
        let mut below = |n: u64| chance.bits() % n;
        let shape =
            FrameShape::new(kbit(500 + below(8000)), 1 + below(5) as u32, Span::from_millis(40), CELL);
        let shape = shape.unwrap();
        let mut controller = Controller::new(shape, 1 + below(20) as u32);
        let mut categories = Vec::new();
        for _ in 0..1 + below(30) {
            let some = |n: u64| (n > 100).then(|| kbit(n));
            let given = Categories {
                constant: some(below(400)),
                rate_based: some(below(3000)),
                volume_based: Some(Bytes::new(below(100_000))).filter(|b| b.get() > 30_000),
                free: some(below(300)),
                ..none(kbit(16 + below(2048)))
            };
            controller.join(given);
            categories.push(given);
        }
        let mut sums = vec![(0u64, 0u64); categories.len()];
        let frames = 200;
        for _ in 0..frames {
            let number = below(categories.len() as u64);
            let request = match below(3) {
                0 => Request::Rate(below(4_000_000)),
                _ => Request::Volume(below(5000)),
            };
            controller.handle_request(number as u32, request);
            let plan = controller.plan();
            let all: u32 = plan.iter().map(Assigned::all).sum();
            assert!(all <= shape.all_slots(), "case {case}");
            for (number, assigned) in plan.iter().enumerate() {
                assert!(assigned.all() <= shape.slots);
                sums[number].0 += u64::from(assigned.all());
                sums[number].1 += u64::from(assigned.constant);
                let given = categories[number];
                assert!(given.rate_based.is_some() || assigned.rate_based == 0);
                assert!(given.volume_based.is_some() || assigned.volume_based == 0);
                assert!(given.free.is_some() || assigned.free == 0);
            }
        }
        let bits = |slots: u64| slots * 8 * u64::from(CELL) * 1000;
        let of = |rate: Rate| rate.as_bps() * 40 * frames;
        let total: u64 = categories.iter().filter_map(|given| given.constant).map(of).sum();
        for ((all, constant), given) in sums.iter().zip(&categories) {
            assert!(bits(*all) <= of(given.most), "case {case}: {all} slots");
            let promised = given.constant.map_or(0, |rate| of(rate.min(given.most)));
            assert!(bits(*constant) <= promised);
            // Where there is room for all constant assignments, each has its own but for what a carrier cannot hold in a frame.
            let fits = total <= bits(u64::from(shape.all_slots())) * frames
                && given.most.as_bps() * 40 < bits(u64::from(shape.slots));
            assert!(
                !fits || bits(constant + frames + 1) >= promised,
                "case {case}: {constant} of {promised}"
            );
        }
    }
}

#[test]
fn packets_leave_in_slots_only_and_in_order() {
    let mut link: Link<u32> = Link::new(kbit(424), Limit::packets(50), Loss::None, None);
    link.send_in_slots(SlotShape { bytes: CELL, time: Span::from_millis(1) });
    let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
    // 80 bytes are two slots, of which the second has room for 26 bytes of the next packet.
    for (id, size) in [(1, 80), (2, 26), (3, 27)] {
        link.handle_packet(at(0), id, size, Label::default(), &MEDIUM).unwrap();
    }
    assert_eq!(link.poll_timeout(), None, "nothing is granted");
    assert_eq!(link.demand(at(1), &MEDIUM), (133, 133));
    link.grant(at(1), at(5), 1, &MEDIUM);
    link.grant(at(1), at(9), 4, &MEDIUM);
    assert_eq!(link.poll_timeout(), Some(at(5)));
    assert!(link.poll_arrival(at(5), &MEDIUM).is_none());
    assert_eq!((link.held(), link.demand(at(5), &MEDIUM)), (3, (80, 133)));
    let mut arrivals = Vec::new();
    while let Some(now) = link.poll_timeout() {
        arrivals.extend(link.poll_arrival(now, &MEDIUM).map(|arrival| (arrival.packet, now)));
    }
    assert_eq!(arrivals, [(1, at(10)), (2, at(10)), (3, at(11))]);
    assert_eq!((link.used_slots(), link.stats().busy), (3, Span::from_millis(3)));
    // The slots at 11 and 12 pass: one who comes at 11.5 has the last of them, one who comes later none.
    link.handle_packet(at(11) + Span::from_micros(500), 4, 53, Label::default(), &MEDIUM).unwrap();
    assert_eq!(link.poll_timeout(), Some(at(12)));
    assert!(link.poll_arrival(at(12), &MEDIUM).is_none());
    assert_eq!(link.poll_timeout(), Some(at(13)));
    assert_eq!(link.poll_arrival(at(13), &MEDIUM).map(|a| a.packet), Some(4));
    link.handle_packet(at(13), 5, 53, Label::default(), &MEDIUM).unwrap();
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn a_change_of_the_far_end_takes_the_slots_back_and_spoils_what_was_cut() {
    let mut link: Link<u32> = Link::new(kbit(424), Limit::packets(50), Loss::None, None);
    link.send_in_slots(SlotShape { bytes: CELL, time: Span::from_millis(1) });
    let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
    for id in [1, 2] {
        link.handle_packet(at(0), id, 100, Label::default(), &MEDIUM).unwrap();
    }
    link.grant(at(0), at(1), 9, &MEDIUM);
    assert!(link.poll_arrival(at(1), &MEDIUM).is_none());
    link.set_peer(at(1), 7, &MEDIUM);
    assert_eq!((link.poll_timeout(), link.held()), (None, 2), "its slots were the old satellite's");
    link.grant(at(1), at(20), 9, &MEDIUM);
    let mut arrivals = Vec::new();
    while let Some(now) = link.poll_timeout() {
        arrivals.extend(link.poll_arrival(now, &MEDIUM).map(|a| (a.packet, a.peer, a.lost)));
    }
    assert_eq!(arrivals, [(1, 7, true), (2, 7, false)]);
    // Down: the packet that is half sent is dropped with those that wait.
    link.handle_packet(at(40), 3, 100, Label::default(), &MEDIUM).unwrap();
    link.handle_packet(at(40), 4, 100, Label::default(), &MEDIUM).unwrap();
    link.grant(at(40), at(41), 1, &MEDIUM);
    assert!(link.poll_arrival(at(41), &MEDIUM).is_none());
    let mut dropped = Vec::new();
    link.set_down(at(42), &MEDIUM, |packet| dropped.push(packet));
    assert_eq!((dropped, link.held()), (vec![3, 4], 0));
}
