//! Delays drawn from distributions, drops by queue length, and losses by packet size, against their definitions.

use skyhop_chance::Seed;
use skyhop_link::{Discipline, DrdConfig, Fixed, Jitter, Label, Limit, Link, Loss, Shape};
use skyhop_units::{Amount, Bytes, Rate, Span, Time};

const MEDIUM: Fixed = Fixed(Span::from_millis(100));
const MEAN: f64 = 0.02;

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// Delays in excess of propagation of `count` packets sent far apart, s, and the order in which packets arrived.
fn delays(jitter: &Jitter, count: u32, gap: Span, seed: u64) -> (Vec<f64>, Vec<u32>) {
    let mut link: Link<u32> = Link::new(Rate::mbit(1_000_000), Limit::packets(u64::MAX), Loss::None, None)
        .with_jitter(jitter.clone(), Seed(seed).stream("jitter"));
    let (mut delays, mut order) = (vec![0.0; count as usize], Vec::new());
    let take = |link: &mut Link<u32>, until: Time, delays: &mut Vec<f64>, order: &mut Vec<u32>| {
        while let Some(at) = link.poll_timeout().filter(|at| *at <= until) {
            while let Some(arrival) = link.poll_arrival(at, &MEDIUM) {
                let sent = Time::ZERO + gap * u64::from(arrival.packet);
                delays[arrival.packet as usize] = at.since(sent).as_secs_f64() - 0.1;
                order.push(arrival.packet);
            }
        }
    };
    for packet in 0..count {
        let now = Time::ZERO + gap * u64::from(packet);
        take(&mut link, now, &mut delays, &mut order);
        link.handle_packet(now, packet, 1, Label::default(), &MEDIUM).unwrap();
    }
    take(&mut link, Time::from_nanos(u64::MAX / 2), &mut delays, &mut order);
    assert_eq!((order.len(), link.held()), (count as usize, 0));
    (delays, order)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// Correlation of each value with the one before.
fn correlation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let both: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    both / values.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
}

fn share_below(values: &[f64], edge: f64) -> f64 {
    values.iter().filter(|x| **x < edge).count() as f64 / values.len() as f64
}

/// A table in the form of netem's: two of three values are low.
fn table() -> Shape {
    Shape::Table { table: [-0.5, -0.5, 1.0].into(), mean: ms(20), deviation: ms(4) }
}

/// A distribution, its deviation, and by its formula the probabilities of lying below its mean and below 30 ms.
fn shapes() -> [(Shape, f64, [f64; 2]); 6] {
    let (mean, deviation) = (ms(20), ms(4));
    // Below x lies 1 - y^-3 of a Pareto of shape 3, where y = 1.5 + 0.866 (x - mean) / deviation.
    let pareto = |x: f64| 1.0 - (1.5 + 0.75f64.sqrt() * (x - 0.02) / 0.004).powi(-3);
    [
        (Shape::Uniform { most: ms(40) }, 0.04 / 12f64.sqrt(), [0.5, 0.75]),
        (Shape::Exponential { mean }, 0.02, [1.0 - (-1.0f64).exp(), 1.0 - (-1.5f64).exp()]),
        (Shape::Normal { mean, deviation }, 0.004, [0.5, 0.993_79]),
        (Shape::Pareto { mean, deviation }, 0.004, [pareto(0.02), pareto(0.03)]),
        // Integrated numerically: Pareto's formula over a normal part of a quarter.
        (Shape::ParetoNormal { mean, deviation }, 0.004, [0.620_6, 0.981_2]),
        (table(), 0.004 * 0.5f64.sqrt(), [2.0 / 3.0, 1.0]),
    ]
}

#[test]
fn distributions_have_their_means_deviations_and_shares() {
    for (shape, expected, shares) in shapes() {
        for rho in [0.0, 0.6] {
            let jitter = Jitter { shape: shape.clone(), correlation: rho, reorders: false };
            let (all, order) = delays(&jitter, 200_000, Span::from_secs(10), 1);
            let found = (mean(&all), deviation(&all));
            // Correlated values are as many as (1 - rho) / (1 + rho) of them alone; a Pareto's deviation comes slowly.
            let many = 200_000.0 * (1.0 - rho) / (1.0 + rho);
            assert!(
                (found.0 - MEAN).abs() < 4.0 * expected / many.sqrt(),
                "{shape:?}, {rho}: mean {}",
                found.0
            );
            let heavy = matches!(shape, Shape::Pareto { .. } | Shape::ParetoNormal { .. });
            let off = (found.1 / expected - 1.0).abs();
            assert!(off < if heavy { 0.12 } else { 0.02 }, "{shape:?}, {rho}: deviation {}", found.1);
            for (edge, share) in [MEAN, 0.03].into_iter().zip(shares) {
                let below = share_below(&all, edge);
                let sigma = (share * (1.0 - share) / many).sqrt() + 1e-4;
                assert!(
                    (below - share).abs() < 4.0 * sigma,
                    "{shape:?}, {rho}: {below} below {edge}, not {share}"
                );
            }
            assert!(order.is_sorted());
        }
    }
}

#[test]
fn each_delay_depends_on_the_one_before_as_much_as_is_asked() {
    for (rho, seed) in [(0.0, 1), (0.3, 2), (0.9, 3), (-0.5, 4)] {
        let normal = Shape::Normal { mean: ms(20), deviation: ms(3) };
        let (all, _) = delays(
            &Jitter { shape: normal, correlation: rho, reorders: false },
            100_000,
            Span::from_secs(1),
            seed,
        );
        assert!((correlation(&all) - rho).abs() < 0.015, "{} against {rho}", correlation(&all));
        // Through a normal copula a uniform's is 6/pi asin(rho/2); the others' is less than asked.
        let uniform = Jitter { shape: Shape::Uniform { most: ms(40) }, correlation: rho, reorders: false };
        let (all, _) = delays(&uniform, 100_000, Span::from_secs(1), seed);
        let expected = 6.0 / std::f64::consts::PI * (rho / 2.0).asin();
        assert!((correlation(&all) - expected).abs() < 0.015, "{} against {expected}", correlation(&all));
        let pareto = Shape::Pareto { mean: ms(20), deviation: ms(3) };
        let (all, _) = delays(
            &Jitter { shape: pareto, correlation: rho, reorders: false },
            100_000,
            Span::from_secs(1),
            seed,
        );
        let found = correlation(&all);
        assert!(found.abs() <= rho.abs() + 0.015 && (rho == 0.0 || found * rho > 0.0), "{found} of {rho}");
    }
}

#[test]
fn packets_pass_each_other_by_it_only_if_asked() {
    // Of two packets 2 ms apart the second comes first if its delay is 2 ms less: the difference of two normal numbers of 4 ms
    // has a deviation of 5.66 ms, so that 36.2 % do.
    let normal = Shape::Normal { mean: ms(40), deviation: ms(4) };
    let turned = |jitter: &Jitter, count: u32| {
        let (delays, order) = delays(jitter, count, ms(2), 5);
        let passed = delays.windows(2).filter(|w| w[0] > w[1] + 0.002).count() as f64 / f64::from(count);
        (passed, order.is_sorted(), delays)
    };
    let mut jitter = Jitter::new(normal);
    let (passed, sorted, _) = turned(&jitter, 50_000);
    assert_eq!((passed, sorted), (0.0, true), "order is kept");
    jitter.reorders = true;
    let (passed, sorted, delays) = turned(&jitter, 50_000);
    assert!((passed - 0.362).abs() < 0.012 && !sorted, "{passed}");
    assert!((mean(&delays) - 0.04).abs() < 1e-4 && (deviation(&delays) - 0.004).abs() < 1e-4);
    // With the delay of each close to that of the one before, fewer do: 5.66 ms * (1 - 0.9)^0.5 = 1.79 ms, 13.2 %.
    jitter.correlation = 0.9;
    let (passed, ..) = turned(&jitter, 50_000);
    assert!((passed - 0.132).abs() < 0.01, "{passed}");
}

#[test]
fn a_packet_never_comes_before_the_distance_allows() {
    let jitter = Jitter { reorders: true, ..Jitter::new(Shape::Normal { mean: ms(1), deviation: ms(10) }) };
    let (all, _) = delays(&jitter, 10_000, Span::from_secs(1), 6);
    // Below nothing lies a share of 46 % of what is drawn.
    let at_once = share_below(&all, 1e-8);
    assert!((at_once - 0.460).abs() < 0.02, "{at_once}");
    assert!(all.iter().all(|delay| *delay > -1e-9));
}

/// Share of packets dropped where each is offered to a link with `waiting` packets of 100 bytes, over `tries` seeds.
fn drops(config: DrdConfig, waiting: u64, tries: u64) -> f64 {
    let mut dropped = 0;
    for seed in 0..tries {
        let chance = Seed(seed).stream("queue");
        let mut link: Link<u32> = Link::new(Rate::mbit(1), Discipline::Drd(config, chance), Loss::None, None);
        let offer =
            |link: &mut Link<u32>| link.handle_packet(Time::ZERO, 1, 100, Label::default(), &MEDIUM).is_err();
        while link.waiting(Time::ZERO, &MEDIUM) < waiting as usize || link.stats().packets == 0 {
            offer(&mut link);
        }
        dropped += u64::from(offer(&mut link));
    }
    dropped as f64 / tries as f64
}

// NIST Net's: nothing up to the first length, a line up to the second, and 95 % beyond.
#[test]
fn drops_rise_with_the_length_of_the_queue() {
    let packets = |n| Amount::Packets(n);
    let bytes = |n| Amount::Bytes(Bytes::new(n));
    let config = DrdConfig { limit: Limit::packets(1000), min: packets(10), max: packets(30), max_p: 0.95 };
    let in_bytes = DrdConfig { min: bytes(1_000), max: bytes(3_000), ..config };
    for config in [config, in_bytes] {
        for (waiting, expected) in [(0, 0.0), (10, 0.0), (15, 0.2375), (20, 0.475), (30, 0.95), (35, 0.95)] {
            let found = drops(config, waiting, 2_000);
            assert!((found - expected).abs() < 0.045, "{waiting} wait: {found} against {expected}");
            assert!(expected > 0.0 || found == 0.0, "{waiting} wait: {found}");
        }
    }
    let full = DrdConfig { limit: Limit::packets(12), max_p: 0.01, ..config };
    assert_eq!(drops(full, 11, 200), 1.0, "the limit holds beside it");
}

#[test]
fn losses_go_by_size() {
    let loss = Loss::BySize { sizes: [(100, 0.01), (600, 0.2), (1500, 0.05)].into() };
    let mut link: Link<u32> =
        Link::new(Rate::mbit(1000), Limit::packets(u64::MAX), loss, Some(Seed(2).stream("loss")));
    let sizes = [(40, 0.01), (100, 0.01), (101, 0.2), (600, 0.2), (1500, 0.05), (9000, 0.05)];
    let mut lost = [0u32; 6];
    let count = 20_000u32;
    for n in 0..count * 6 {
        let which = (n % 6) as usize;
        let now = Time::ZERO + ms(u64::from(n));
        link.handle_packet(now, which as u32, sizes[which].0, Label::default(), &MEDIUM).unwrap();
    }
    while let Some(at) = link.poll_timeout() {
        while let Some(arrival) = link.poll_arrival(at, &MEDIUM) {
            lost[arrival.packet as usize] += u32::from(arrival.lost);
        }
    }
    for ((size, expected), lost) in sizes.into_iter().zip(lost) {
        let (found, sigma) =
            (f64::from(lost) / f64::from(count), (expected * (1.0 - expected) / f64::from(count)).sqrt());
        assert!((found - expected).abs() < 4.0 * sigma, "{size} bytes: {found} against {expected}");
    }
}
