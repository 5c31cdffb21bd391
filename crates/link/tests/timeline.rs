//! Rates, losses and delays that change by the clock, jitter and reordering, compared with values worked out by hand.
//!
//! Follows the documentation of `Timeline`, `Jitter` and `Reordering`.
//! Differs from the simulator's tests: one link, packets are numbers.
//! Leaves out files, which the scenario reads.

use skyhop_chance::Seed;
use skyhop_link::{Fixed, Jitter, Label, Limit, Link, Loss, Outage, Reordering, Shape, Step, Timeline};
use skyhop_units::{Rate, Span, Time};

const FAR: Fixed = Fixed(Span::from_millis(100));

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

/// 1 Mbit/s: 1250 bytes take 10 ms.
fn link() -> Link<u64> {
    Link::new(Rate::mbit(1), Limit::packets(1000), Loss::None, Some(Seed(2).stream("loss")))
}

fn offer(link: &mut Link<u64>, at: Time, packets: std::ops::Range<u64>) {
    for packet in packets {
        link.handle_packet(at, packet, 1250, Label::default(), &FAR).unwrap();
    }
}

/// All arrivals: packet, time in us, and true if lost.
fn drain(link: &mut Link<u64>) -> Vec<(u64, u64, bool)> {
    let mut all = Vec::new();
    while let Some(next) = link.poll_timeout() {
        while let Some(a) = link.poll_arrival(next, &FAR) {
            all.push((a.packet, next.as_nanos() / 1000, a.lost));
        }
    }
    all
}

#[test]
fn a_packet_on_the_transmitter_goes_on_at_the_new_rate() {
    // Half of it at 1 Mbit/s in 5 ms, the other 5000 bits at 250 kbit/s in 20 ms; the next from 25 to 55 ms at
    // 250 kbit/s (7500 bits), and its last 2500 bits at 1 Mbit/s again in 2.5 ms.
    let slow = Step { from: ms(5), rate: Rate::from_bps(250_000), ..Step::default() };
    let again = Step { from: ms(55), ..Step::default() };
    let mut link = link().with_timeline(Timeline::new(vec![again, slow], None));
    offer(&mut link, Time::ZERO, 0..2);
    assert_eq!(drain(&mut link), [(0, 125_000, false), (1, 157_500, false)]);
}

#[test]
fn an_outage_loses_or_waits() {
    let outage = |outage| {
        let steps = vec![
            Step { from: ms(15), outage: Some(outage), ..Step::default() },
            Step { from: ms(35), ..Step::default() },
        ];
        let mut link = link().with_timeline(Timeline::new(steps, None));
        offer(&mut link, Time::ZERO, 0..5);
        drain(&mut link)
    };
    // Packets take 0-10, 10-20, 20-30, 30-40, 40-50 ms.
    let lost: Vec<bool> = outage(Outage::Lose).iter().map(|a| a.2).collect();
    assert_eq!(lost, [false, true, true, true, false]);
    let arrivals: Vec<u64> = outage(Outage::Wait).iter().map(|a| a.1).collect();
    assert_eq!(arrivals, [110_000, 140_000, 150_000, 160_000, 170_000]);
}

#[test]
fn a_link_that_waits_in_every_round_never_sends() {
    let wait = |from| Step { from: ms(from), outage: Some(Outage::Wait), ..Step::default() };
    let mut link = link().with_timeline(Timeline::new(vec![wait(5), wait(7)], Some(Span::from_millis(20))));
    offer(&mut link, Time::ZERO, 0..1);
    // 5 ms of every 20 are enough, in two rounds.
    assert_eq!(drain(&mut link), [(0, 125_000, false)]);
    for steps in [vec![wait(0)], vec![wait(0), wait(7)]] {
        for period in [None, Some(Span::from_millis(20))] {
            let mut link = self::link().with_timeline(Timeline::new(steps.clone(), period));
            offer(&mut link, Time::ZERO, 0..1);
            let years = link.poll_timeout().map_or(f64::MAX, |at| at.as_secs_f64() / 31_557_600.0);
            assert!(years > 100.0, "{years} years");
        }
    }
}

#[test]
fn a_timeline_with_a_period_begins_again() {
    // Of every 100 ms the last 20 are lost; the delay they then have is what they always have.
    let steps = vec![Step {
        from: ms(80),
        outage: Some(Outage::Lose),
        delay: Some(Span::from_millis(100)),
        ..Step::default()
    }];
    let mut link = link().with_timeline(Timeline::new(steps, Some(Span::from_millis(100))));
    offer(&mut link, Time::ZERO, 0..1000);
    let arrived = drain(&mut link);
    for (packet, at, lost) in &arrived {
        // Packet n takes 10 n to 10 n + 10 ms.
        assert_eq!(*lost, packet % 10 >= 8, "packet {packet}");
        assert_eq!(*at, (packet + 1) * 10_000 + 100_000);
    }
    assert_eq!(arrived.len(), 1000);
}

#[test]
fn losses_of_a_step_are_its_own() {
    let lossy = |probability| Some(Loss::Packets { probability });
    let steps = vec![
        Step { from: ms(2000), loss: lossy(0.5), ..Step::default() },
        Step { from: ms(6000), loss: lossy(1.0), ..Step::default() },
        Step { from: ms(7000), ..Step::default() },
    ];
    let mut link = link().with_timeline(Timeline::new(steps, None));
    offer(&mut link, Time::ZERO, 0..1000);
    let arrived = drain(&mut link);
    let lost = |range: std::ops::Range<usize>| arrived[range].iter().filter(|a| a.2).count();
    assert_eq!((lost(0..199), lost(600..699), lost(700..1000)), (0, 99, 0));
    let half = lost(200..600);
    assert!((160..=240).contains(&half), "{half} of 400, four standard deviations are 40");
}

#[test]
fn a_list_loses_its_packets_and_within_a_step_those_counted_in_it() {
    let steps = vec![
        Step { from: ms(2000), loss: Some(Loss::list([2, 3])), ..Step::default() },
        Step { from: ms(4000), ..Step::default() },
    ];
    let mut link = Link::new(
        Rate::mbit(1),
        Limit::packets(1000),
        Loss::list([1, 17, 300]),
        Some(Seed(2).stream("loss")),
    )
    .with_timeline(Timeline::new(steps, None));
    offer(&mut link, Time::ZERO, 0..1000);
    let lost: Vec<u64> = drain(&mut link).iter().filter(|a| a.2).map(|a| a.0).collect();
    // Packet n leaves after 10 (n + 1) ms. The step's own list has those that leave from 2 s on, the link's all others: 200 of them
    // pass it by, so that its packet 300 is the one after 499.
    assert_eq!(lost, [0, 16, 200, 201, 499]);
}

#[test]
fn jitter_keeps_order_and_has_its_mean() {
    for (jitter, mean_us) in [
        (Jitter::new(Shape::Uniform { most: Span::from_millis(4) }), 2000.0),
        (Jitter::new(Shape::Exponential { mean: Span::from_millis(2) }), 2000.0),
    ] {
        // Packets so far apart that none is held by the one before.
        let mut link = link().with_jitter(jitter.clone(), Seed(3).stream("jitter"));
        let n = 4000u64;
        let mut late = Vec::new();
        for packet in 0..n {
            let at = Time::ZERO + Span::from_millis(100) * packet;
            link.handle_packet(at, packet, 1250, Label::default(), &FAR).unwrap();
            let next = link.poll_timeout().unwrap();
            link.poll_arrival(next, &FAR).unwrap();
            late.push(next.since(at).as_secs_f64() * 1e6 - 110_000.0);
        }
        let mean = late.iter().sum::<f64>() / n as f64;
        assert!((mean - mean_us).abs() < 130.0, "{jitter:?}: {mean} us");
        assert!(late.iter().all(|l| *l >= 0.0));
    }
    let mut link = link()
        .with_jitter(Jitter::new(Shape::Exponential { mean: Span::from_millis(50) }), Seed(3).stream("j"));
    offer(&mut link, Time::ZERO, 0..900);
    let order: Vec<u64> = drain(&mut link).iter().map(|a| a.0).collect();
    assert!(order.is_sorted(), "packets 10 ms apart and 50 ms late do not pass each other");
}

#[test]
fn a_packet_that_is_held_back_is_passed_by_those_behind() {
    let reordering = Reordering { probability: 0.1, delay: Span::from_millis(35) };
    let mut link = link().with_reordering(reordering, Seed(3).stream("reordering"));
    offer(&mut link, Time::ZERO, 0..900);
    let arrived = drain(&mut link);
    assert_eq!(arrived.len(), 900);
    let mut late = 0;
    for (packet, at, _) in &arrived {
        let usual = (packet + 1) * 10_000 + 100_000;
        assert!(*at == usual || *at == usual + 35_000, "packet {packet} at {at}");
        late += u64::from(*at != usual);
    }
    assert!((54..=126).contains(&late), "{late} of 900");
    assert!(arrived.is_sorted_by_key(|a| a.1));
    let (first, _) = arrived.iter().enumerate().find(|(i, a)| a.0 > *i as u64).unwrap();
    let held = arrived.iter().position(|a| a.0 == first as u64).unwrap();
    assert_eq!(held - first, 3, "35 ms are three packets, and a half");
}

#[test]
fn outages_are_told_before_they_come() {
    let s = |n: u64| Time::ZERO + Span::from_secs(n);
    let step = |from: u64, outage: Option<Outage>| Step { from: s(from), outage, ..Step::default() };
    let timeline =
        Timeline::new(vec![step(2, Some(Outage::Lose)), step(3, Some(Outage::Wait)), step(5, None)], None);
    assert_eq!(
        [0, 1, 2, 3, 4, 5, 9].map(|t| timeline.out(s(t))),
        [false, false, true, true, true, false, false]
    );
    // From one kind of outage to another is no change.
    assert_eq!([0, 2, 3, 4].map(|t| timeline.next_outage(s(t))), [2, 5, 5, 5].map(|t| Some(s(t))));
    assert_eq!(timeline.next_outage(s(5)), None);
    // Again and again; the last step of a round may go on into the next.
    let round = Timeline::new(vec![step(2, Some(Outage::Lose)), step(5, None)], Some(Span::from_secs(10)));
    assert_eq!([0, 2, 5, 12, 17].map(|t| round.next_outage(s(t))), [2, 5, 12, 15, 22].map(|t| Some(s(t))));
    let ends_out = Timeline::new(vec![step(4, Some(Outage::Lose))], Some(Span::from_secs(10)));
    assert_eq!([0, 4, 10, 14].map(|t| ends_out.next_outage(s(t))), [4, 10, 14, 20].map(|t| Some(s(t))));
    // All packets lost is an outage, half of them is not; a step that says nothing of either never is.
    let lossy = |probability: f64| {
        let step = Step { from: s(1), loss: Some(Loss::Packets { probability }), ..Step::default() };
        Timeline::new(vec![step], None).next_outage(Time::ZERO)
    };
    assert_eq!((lossy(1.0), lossy(0.5)), (Some(s(1)), None));
    assert_eq!(
        Timeline::new(vec![step(1, None), step(2, None)], Some(Span::from_secs(3))).next_outage(s(0)),
        None
    );
    assert_eq!(Timeline::default().next_outage(s(0)), None);
}
