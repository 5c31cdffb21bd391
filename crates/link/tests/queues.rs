//! Queue disciplines against the texts that define them.
//!
//! Follows Floyd and Jacobson 1993, RFC 8289, RFC 8290, Shreedhar and Varghese 1995; numbers worked out by hand or by a second program.
//! Differs from the simulator's tests: packets are numbers and there is no transport.
//! Leaves out drop-tail, which `link.rs` tests.

use skyhop_chance::Seed;
use skyhop_link::{
    Ack, CodelConfig, Discipline, DrrConfig, Fixed, FqCodelConfig, Label, Limit, Link, Loss, PriorityConfig,
    RedConfig,
};
use skyhop_units::{Amount, Bytes, Rate, Span, Time};

const NEAR: Fixed = Fixed(Span::ZERO);
/// 1000 bytes take 1 ms.
const RATE: Rate = Rate::mbit(8);

fn at(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

fn of(flow: u32) -> Label {
    Label { flow, ..Label::default() }
}

fn link(queue: impl Into<Discipline>) -> Link<u64> {
    Link::new(RATE, queue, Loss::None, None)
}

/// All arrivals up to `until`, with time in us and mark.
fn drain(link: &mut Link<u64>, until: Time) -> Vec<(u64, u64, bool)> {
    let mut all = Vec::new();
    while let Some(next) = link.poll_timeout().filter(|t| *t <= until) {
        while let Some(arrival) = link.poll_arrival(next, &NEAR) {
            all.push((arrival.packet, next.as_nanos() / 1000, arrival.marked));
        }
    }
    all
}

fn red(config: impl FnOnce(&mut RedConfig)) -> Link<u64> {
    let mut red = RedConfig {
        limit: Limit::packets(1000),
        min: Amount::Packets(5),
        max: Amount::Packets(15),
        weight: 1.0,
        max_p: 0.1,
        gentle: false,
        wait: false,
        ecn: true,
        mean_packet: Bytes::new(1000),
    };
    config(&mut red);
    link(Discipline::Red(red, Seed(5).stream("red")))
}

/// Offers packets while exactly `length` wait; returns for each whether it was marked or dropped.
fn steady(link: &mut Link<u64>, length: u64, count: u64) -> Vec<bool> {
    let label = Label { ecn: true, ..Label::default() };
    // One is sent at once, and one leaves as each of the others comes.
    let first = length + 2;
    let mut hit = vec![false; count as usize];
    let mut now = Time::ZERO;
    for packet in 0..first + count {
        if packet >= first {
            now += Span::from_millis(1);
        }
        let taken = link.handle_packet(now, packet, 1000, label, &NEAR).is_ok();
        if packet >= first {
            hit[(packet - first) as usize] |= !taken;
        }
    }
    for (packet, _, marked) in drain(link, Time::MAX) {
        if marked && packet >= first {
            hit[(packet - first) as usize] = true;
        }
    }
    hit
}

#[test]
fn red_marks_at_the_rate_of_its_line_and_evenly() {
    // With w_q = 1 the average is the length: 10 wait, so p = 0.1 * (10 - 5) / (15 - 5) = 0.05. Floyd and Jacobson §8:
    // p / (1 - count p), count from 1, makes gaps uniform on 1 to 1/p - 1 = 19, so their mean is 10.
    let mut link = red(|_| {});
    let hit = steady(&mut link, 10, 40_000);
    let gaps: Vec<usize> = gaps(&hit);
    let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
    assert!((mean - 10.0).abs() < 0.4, "{mean}");
    assert_eq!(gaps.iter().max(), Some(&19));
    assert_eq!(gaps.iter().min(), Some(&1));
    // With wait, 1/p packets pass first: p / (2 - count p) on 20 to 39, 29.5 on average.
    let mut link = red(|red| red.wait = true);
    let waits = self::gaps(&steady(&mut link, 10, 40_000));
    let mean = waits.iter().sum::<usize>() as f64 / waits.len() as f64;
    assert!((mean - 29.5).abs() < 0.6, "{mean}");
    assert!(*waits.iter().min().unwrap() == 20 && *waits.iter().max().unwrap() == 39);
}

fn gaps(hit: &[bool]) -> Vec<usize> {
    let places: Vec<usize> = (0..hit.len()).filter(|i| hit[*i]).collect();
    places.windows(2).map(|w| w[1] - w[0]).collect()
}

#[test]
fn red_drops_all_above_max_and_none_below_min() {
    let count = |length, config: fn(&mut RedConfig)| {
        let hit = steady(&mut red(config), length, 2000);
        hit.iter().filter(|h| **h).count()
    };
    assert_eq!(count(4, |_| {}), 0);
    // Above max nothing is marked: all that come are dropped until the length has fallen to 15, which then stays.
    let many = count(20, |_| {});
    assert!((6..=400).contains(&many), "{many}");
    // Gentle at 20 of 15: p = 0.1 + 0.9 * 5 / 15 = 0.4; a gap is 1 with p / (1 - p) = 2/3, else 2: three marks in four packets.
    let gentle = count(20, |red| red.gentle = true) as f64 / 2000.0;
    assert!((0.72..0.78).contains(&gentle), "{gentle}");
}

#[test]
fn the_average_of_red_decays_while_nothing_is_sent() {
    // w_q = 0.01: 400 packets at once bring the average to about 300 of 400 waiting, above max = 200; all are then
    // dropped. After an idle second, 1000 packet times, the average is 300 * 0.99^1000 = 0.013.
    let config = |red: &mut RedConfig| {
        red.weight = 0.01;
        red.min = Amount::Packets(100);
        red.max = Amount::Packets(200);
        red.ecn = false;
    };
    let mut link = red(config);
    let burst = |link: &mut Link<u64>, now: Time| {
        (0..400).filter(|p| link.handle_packet(now, *p, 1000, Label::default(), &NEAR).is_ok()).count()
    };
    let first = burst(&mut link, Time::ZERO);
    assert!((200..400).contains(&first), "{first}");
    drain(&mut link, at(1_000_000));
    let soon = burst(&mut link, at(first as u64 * 1000 + 20_000));
    assert!(soon < first, "the average remembers: {soon} of {first}");
    drain(&mut link, at(2_000_000));
    let later = burst(&mut link, at(3_000_000));
    assert!(later.abs_diff(first) <= 12, "the average has forgotten: {later} of {first}");
}

/// Floyd and Jacobson 1993, section 4: after an idle time the average has seen m = floor(idle / s) empty queues, whatever the
/// remainder. The average comes from a second program and is exact, as nothing is random.
#[test]
fn idle_times_count_in_whole_packets_and_their_rest_does_not() {
    let config = |red: &mut RedConfig| {
        red.weight = 0.01;
        red.min = Amount::Packets(199);
        red.max = Amount::Packets(200);
        red.max_p = 0.0;
        red.ecn = false;
    };
    let burst = |link: &mut Link<u64>, now: Time, count: u64| {
        (0..count).filter(|p| link.handle_packet(now, *p, 1000, Label::default(), &NEAR).is_ok()).count()
    };
    // The first goes to the transmitter; packets are taken while the average is below 200 and at most one waits.
    let model = |average: &mut f64, count: u64| {
        let mut taken = 0u64;
        for _ in 0..count {
            let waits = taken.saturating_sub(1);
            *average += 0.01 * (waits as f64 - *average);
            taken += u64::from(*average < 200.0 || waits <= 1);
        }
        taken as usize
    };
    let mut verdicts = [0; 2];
    for idle_us in (20_000..70_000).step_by(700) {
        let (mut link, mut average) = (red(config), 0.0);
        let first = burst(&mut link, Time::ZERO, 500);
        assert_eq!(first, model(&mut average, 500));
        assert!(average > 250.0 && average < 400.0, "{average}");
        drain(&mut link, at(1_000_000));
        let taken = burst(&mut link, at(first as u64 * 1000 + idle_us), 4);
        average *= 0.99f64.powi((idle_us / 1000) as i32);
        let expected = model(&mut average, 4);
        assert_eq!(taken, expected, "idle for {idle_us} us: an average of {average}");
        verdicts[expected - 3] += 1;
    }
    assert!(verdicts.iter().all(|n| *n >= 10), "{verdicts:?} refused and taken");
}

#[test]
fn codel_drops_by_the_square_root_law() {
    // Packets come twice as fast as they go. The delay passes the target of 5 ms and stays; the first drop is an interval
    // later, and the n-th follows the one before by 100 ms / sqrt(n): RFC 8289 §5.4.
    let config = CodelConfig {
        limit: Limit::packets(100_000),
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        ecn: false,
    };
    let mut link = link(Discipline::Codel(config));
    let mut drops = Vec::new();
    for n in 0..4000u64 {
        let now = at(n * 500);
        link.handle_packet(now, n, 1000, Label::default(), &NEAR).unwrap();
        while link.poll_arrival(now, &NEAR).is_some() {}
        while link.poll_discarded().is_some() {
            drops.push(n as f64 * 0.5);
        }
    }
    // Packet k waits k / 2 ms: the delay is 5 ms for k = 10, which leaves at 10 ms; the first drop is at 110 ms.
    let mut expected = vec![110.0];
    for n in 1..12 {
        expected.push(expected[n - 1] + 100.0 / (n as f64).sqrt());
    }
    for (drop, expected) in drops.iter().zip(&expected) {
        assert!((drop - expected).abs() <= 1.6, "{:?} against {expected:?}", &drops[..12]);
    }
    assert_eq!(link.stats().packets_dropped, drops.len() as u64);
}

#[test]
fn codel_marks_what_may_be_marked() {
    let config = CodelConfig {
        limit: Limit::packets(100_000),
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        ecn: true,
    };
    let mut link = link(Discipline::Codel(config));
    let label = Label { ecn: true, ..Label::default() };
    for n in 0..600u64 {
        link.handle_packet(at(n * 500), n, 1000, label, &NEAR).unwrap();
    }
    let arrived = drain(&mut link, Time::MAX);
    assert_eq!((arrived.len(), link.stats().packets_dropped), (600, 0));
    let marked = arrived.iter().filter(|a| a.2).count() as u64;
    // As many as would have been dropped by the law while they leave, a millisecond each; none is taken out, so the delay stays.
    let mut law = vec![110.0];
    while law[law.len() - 1] < 600.0 {
        law.push(law[law.len() - 1] + 100.0 / (law.len() as f64).sqrt());
    }
    assert!(marked.abs_diff(law.len() as u64 - 1) <= 1, "{marked}: {law:?}");
    assert_eq!(link.stats().packets_marked, marked);
    let times = arrived.iter().filter(|a| a.2).map(|a| a.1 as f64 / 1e3);
    for (mark, expected) in times.zip(&law) {
        // The mark is on the packet that begins to leave then, and arrives a millisecond later.
        assert!((mark - expected - 1.0).abs() <= 2.0, "{mark} ms, not {expected}");
    }
}

fn fq(limit: u64) -> Link<u64> {
    link(Discipline::FqCodel(FqCodelConfig {
        limit: Limit::packets(limit),
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        ecn: false,
        quantum: 1500,
        queues: 1024,
    }))
}

#[test]
fn a_sparse_flow_does_not_wait_behind_a_full_one() {
    // RFC 8290 §1.2: a flow that sends less than a quantum a round is treated as new and goes first.
    let mut link = fq(10_000);
    for n in 0..60 {
        link.handle_packet(Time::ZERO, n, 1000, of(1), &NEAR).unwrap();
    }
    let mut now = at(10_500);
    for n in 0..5 {
        drain(&mut link, now);
        link.handle_packet(now, 1000 + n, 100, of(2), &NEAR).unwrap();
        let waited = drain(&mut link, now + Span::from_millis(5)).iter().find(|a| a.0 == 1000 + n).unwrap().1;
        let waited = waited - now.as_nanos() / 1000;
        // The packet on the transmitter, at most, and its own 0.1 ms.
        assert!((100..=1100).contains(&waited), "{waited} us");
        now += Span::from_millis(8);
    }
}

#[test]
fn the_fattest_flow_makes_room() {
    let mut link = fq(100);
    for n in 0..95 {
        link.handle_packet(Time::ZERO, n, 1000, of(1), &NEAR).unwrap();
    }
    for n in 0..30 {
        link.handle_packet(Time::ZERO, 1000 + n, 1000, of(2), &NEAR).unwrap();
    }
    let thrown: Vec<u64> = std::iter::from_fn(|| link.poll_discarded()).collect();
    assert_eq!(thrown.len(), 25, "99 wait and one is being sent");
    assert!(thrown.iter().all(|p| *p < 1000), "{thrown:?}");
}

#[test]
fn deficit_round_robin_shares_by_bytes() {
    // Flows of 1500, 500 and 100 byte packets, all backlogged: each gets a third of the bytes, within a quantum and a
    // packet of it at any time (Shreedhar and Varghese, theorem 2: |sent/n - share| < 2 quanta and a packet).
    let quantum = 1500;
    let mut link = link(Discipline::Drr(DrrConfig { limit: Limit::packets(100_000), quantum }));
    let sizes = [1500u32, 500, 100];
    for (flow, size) in sizes.iter().enumerate() {
        for n in 0..(600_000 / size) {
            let packet = flow as u64 * 1_000_000 + u64::from(n);
            link.handle_packet(Time::ZERO, packet, *size, of(flow as u32), &NEAR).unwrap();
        }
    }
    let mut sent = [0i64; 3];
    for (packet, at_us, _) in drain(&mut link, at(1_200_000)) {
        let flow = (packet / 1_000_000) as usize;
        sent[flow] += i64::from(sizes[flow]);
        let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
        assert!(spread <= 2 * i64::from(quantum) + 1500, "{sent:?} at {at_us} us");
    }
    assert!(sent.iter().sum::<i64>() > 1_100_000);
}

#[test]
fn the_longest_queue_pays_for_a_full_buffer() {
    let mut link = link(Discipline::Drr(DrrConfig { limit: Limit::packets(20), quantum: 1000 }));
    let taken = (0..50).filter(|n| link.handle_packet(Time::ZERO, *n, 1000, of(1), &NEAR).is_ok()).count();
    assert_eq!(taken, 20, "alone it may have all");
    let taken =
        (0..8).filter(|n| link.handle_packet(Time::ZERO, 100 + n, 1000, of(2), &NEAR).is_ok()).count();
    let thrown = std::iter::from_fn(|| link.poll_discarded()).count();
    assert_eq!((taken, thrown), (8, 8));
    let order: Vec<u64> = drain(&mut link, Time::MAX).iter().map(|a| a.0 / 100).collect();
    assert_eq!(order[..5], [0, 0, 1, 0, 1], "then they take turns");
}

#[test]
fn a_better_band_goes_first() {
    let mut link = link(Discipline::Priority(PriorityConfig { limit: Limit::packets(5), bands: 3 }));
    let band = |band| Label { band, ..Label::default() };
    for (packet, label) in
        [(1, band(2)), (2, band(2)), (3, band(1)), (4, band(200)), (5, band(0)), (6, band(1))]
    {
        link.handle_packet(Time::ZERO, packet, 1000, label, &NEAR).unwrap();
    }
    let order: Vec<u64> = drain(&mut link, Time::MAX).iter().map(|a| a.0).collect();
    assert_eq!(order, [1, 5, 3, 6, 2, 4]);
    for packet in 0..10 {
        let _ = link.handle_packet(at(1_000_000), packet, 1000, band(1), &NEAR);
    }
    assert_eq!(link.stats().packets_dropped, 5, "one is being sent, four wait");
}

#[test]
fn what_is_held_is_what_came_and_has_not_left() {
    // Bursts of four flows into every discipline, with disturbances: nothing is lost track of.
    let limit = Limit::packets(30);
    let (target, interval) = (Span::from_millis(2), Span::from_millis(10));
    let disciplines = [
        Discipline::Codel(CodelConfig { limit, target, interval, ecn: true }),
        Discipline::FqCodel(FqCodelConfig { limit, target, interval, ecn: false, quantum: 300, queues: 3 }),
        Discipline::Drr(DrrConfig { limit, quantum: 300 }),
        Discipline::Priority(PriorityConfig { limit, bands: 2 }),
        Discipline::Red(
            RedConfig {
                limit,
                min: Amount::Packets(5),
                max: Amount::Packets(20),
                weight: 0.1,
                max_p: 0.2,
                gentle: true,
                wait: true,
                ecn: true,
                mean_packet: Bytes::new(700),
            },
            Seed(1).stream("red"),
        ),
    ];
    for discipline in disciplines {
        let name = format!("{discipline:?}");
        let mut link = link(discipline);
        let mut chance = Seed(9).stream("burst");
        let (mut came, mut arrived, mut dropped) = (0u64, 0u64, 0u64);
        for step in 0..20_000u64 {
            let now = at(step * 300);
            if chance.happens(0.4) {
                let label = Label {
                    flow: (chance.uniform() * 4.0) as u32,
                    band: (step % 3) as u8,
                    ecn: step % 2 == 0,
                    ack: Ack::No,
                };
                let size = 40 + (chance.uniform() * 1400.0) as u32;
                came += 1;
                dropped += link.handle_packet(now, step, size, label, &NEAR).is_err() as u64;
            }
            while link.poll_arrival(now, &NEAR).is_some() {
                arrived += 1;
            }
            while link.poll_discarded().is_some() {
                dropped += 1;
            }
            if step % 1000 == 999 {
                link.disturb(now, &NEAR, || chance.happens(0.3), |_| dropped += 1);
            }
            assert_eq!(came, arrived + dropped + link.held() as u64, "{name} at {now}");
        }
        assert!(dropped > 50 && arrived > 3000, "{name}: {arrived} arrived, {dropped} dropped");
        assert_eq!(link.stats().packets_dropped, dropped, "{name}");
    }
}
