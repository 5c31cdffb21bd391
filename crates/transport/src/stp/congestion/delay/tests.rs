//! Tests of the rate by delay: the law without the machine.
//!
//! Follows docs/stp.md §8.3.
//! Leaves out paths, which `stp_demand` and the simulator's tests have.

use super::super::answer::PollAnswer;
use super::super::feedback::Feedback;
use super::*;

fn ms(n: u64) -> Time {
    Time::from_nanos(n * 1_000_000)
}

/// An answer to a POLL that was sent at `sent_ms`, when so many packets had been sent and had arrived.
fn answer(sent_ms: u64, rtt_ms: u64, sent: u64, arrived: u64) -> AnswerSignals {
    let answer = PollAnswer { arrived, ..PollAnswer::of(ms(sent_ms), Span::from_millis(rtt_ms), sent) };
    let feedback = Feedback { answer: Some(answer), ..Feedback::default() };
    let srtt = Some(Span::from_millis(600));
    AnswerSignals {
        now: ms(sent_ms + rtt_ms),
        feedback,
        srtt,
        acked: sent,
        next: sent,
        bytes: 1000.0 * sent as f64,
        in_flight: 0,
        waiting: 0,
        repeats: 0,
        busy: true,
        held_back: false,
    }
}

fn cruising(rate: f64) -> Delay {
    let mut delay = Delay::new(&Config::default());
    delay.rate = rate;
    delay.confirmed.replace(rate);
    delay.phase = RatePhase::Cruise { since: Time::ZERO };
    delay
}

/// docs/stp.md §8.3 rule 6: eight packets are judged, and Reno adds one in each of the round trips that they take.
#[test]
fn where_few_packets_are_in_a_round_trip_a_step_adds_what_reno_adds() {
    let factor = |packets: f64, step| {
        let mut delay = cruising(1.0);
        let rtt = Span::from_millis(100);
        delay.path.add(ms(100), PollAnswer::of(ms(0), rtt, 1), TellingLosses::Overloads);
        delay.rate = packets * delay.mss / 0.1;
        delay.factor(step)
    };
    assert_eq!(factor(2.0, 0), 2.0);
    assert_eq!(factor(4.0, 0), 1.5);
    assert_eq!(factor(4.0, 2), 1.6);
    // From here on the step by itself is larger.
    assert_eq!(factor(9.0, 0), 1.1);
    assert!((factor(400.0, 0) - 1.05).abs() < 1e-9);
}

/// docs/stp.md §8.3 rule 6: with two packets in a round trip, two that have come without loss and queue are enough for the next doubling.
#[test]
fn a_doubling_goes_on_after_a_round_trip_of_few_packets() {
    let grown = |lost: u64, rtt_ms: u64, step: usize| {
        let mut delay = cruising(1.0);
        delay.path.add(ms(100), PollAnswer::of(ms(0), Span::from_millis(100), 1), TellingLosses::Overloads);
        let rate = 2.0 * delay.mss / 0.1;
        delay.begin_climb(&answer(100, 100, 1, 1), rate, None, step);
        delay.on_feedback(&answer(210, 100, 2, 2));
        delay.on_feedback(&answer(260, 100, 3, 3 - lost));
        delay.on_feedback(&answer(310, rtt_ms, 4, 4 - lost));
        delay.rate / rate
    };
    assert_eq!(grown(0, 100, 3), 2.0);
    assert_eq!(grown(1, 100, 3), 1.0);
    assert_eq!(grown(0, 118, 3), 1.0);
    // Other steps need eight packets.
    assert_eq!(grown(0, 100, 0), 1.0);
}

/// docs/stp.md §8.3: until the rate is known, the window grows by each acknowledged byte.
#[test]
fn the_start_opens_the_window_by_what_arrives() {
    let mut delay = Delay::new(&Config { initial_window: 10_000, ..Config::default() });
    let mut expected = 10_000;
    for (n, acked) in [1_000, 1, 0, 2_500, 10_000].into_iter().enumerate() {
        expected += acked;
        let feedback = Feedback { acked, ..Feedback::default() };
        let n = n as u64;
        let signals = AnswerSignals {
            now: ms(n),
            feedback,
            srtt: None,
            acked: n,
            next: n + 1,
            bytes: 1000.0 * (n + 1) as f64,
            in_flight: 0,
            waiting: 0,
            repeats: 0,
            busy: true,
            held_back: false,
        };
        assert!(!delay.on_feedback(&signals));
        assert_eq!((delay.window(), delay.rate()), (expected, None));
    }
}

/// docs/stp.md §8.3 rule 5: little data, a pause, and then more: the first train are the packets after the pause, and not later ones.
#[test]
fn the_first_train_begins_after_a_pause() {
    let mut delay = Delay::new(&Config::default());
    let packets = delay.opening.first_packets;
    for next in 1..=packets + 1 {
        // A packet alone, and the others 700 ms later.
        let mut signals = answer(if next == 1 { 0 } else { 700 + next }, 600, next, next);
        let answer = signals.feedback.answer.as_mut().unwrap();
        answer.unused = Span::from_millis(if next == 1 { 0 } else { 690 });
        signals.next = 30;
        delay.on_feedback(&signals);
        if next == 1 {
            delay.resume_data(next);
        }
        assert_eq!(matches!(delay.phase, RatePhase::Proof { .. }), next > packets, "{next}");
    }
}

/// docs/stp.md §8.3 rule 5: with the answer to the POLL in the middle lost, one part was measured: a long train follows, as if both had
/// agreed; four times the packets follow if they do not.
#[test]
fn a_part_that_nothing_disagrees_with_is_followed_by_a_long_train() {
    let after = |heard: &[(u64, u64)]| {
        let mut delay = Delay::new(&Config::default());
        for &(number, arrived_ms) in heard {
            let mut signals = answer(0, 600 + arrived_ms, number, number);
            signals.next = 10;
            delay.on_feedback(&signals);
        }
        let RatePhase::Proof { train, .. } = delay.phase else { panic!("{:?}", delay.phase) };
        train.packets()
    };
    assert_eq!(after(&[(1, 0), (6, 2), (10, 4)]), 120);
    assert_eq!(after(&[(1, 0), (10, 4)]), 120);
    assert_eq!(after(&[(1, 0), (6, 1), (10, 4)]), 40);
}

/// A trial of a saved rate that lost packets: the rate before the longer round trip is not restored when its cause is known, but what
/// the losses leave of it. The part that was lost is that of the packets up to the last one reported, in whatever order reports come.
#[test]
fn losses_end_the_hope_for_the_rate_before() {
    let mut delay = cruising(1e6);
    delay.held = Some(4e6);
    delay.phase = RatePhase::Climb { aim: Some(8e6), since: Time::ZERO, step: 0 };
    delay.trial.rate = 4e6;
    let lose = |delay: &mut Delay, last: u64, packets: u32| {
        let mut signals = answer(0, 600, 100, 50);
        let lost = u64::from(packets) * 300;
        signals.feedback =
            Feedback { lost_number: Some(last), lost, lost_on_trial: packets, ..Feedback::default() };
        delay.on_feedback(&signals)
    };
    assert!(!lose(&mut delay, 999, 100));
    assert!(lose(&mut delay, 199, 100));
    assert_eq!((delay.rate, delay.held), (1e6, Some(3.2e6)));
}

/// docs/stp.md §8.3: with six packets and three POLLs in a round trip, a sample takes several round trips; the rate still rises.
#[test]
fn a_low_rate_is_not_a_trap() {
    let mut delay = cruising(10_000.0);
    for n in 0..40u64 {
        delay.on_feedback(&answer(200 * n, 600, 100 + 2 * n, 100 + 2 * n));
    }
    assert!(delay.rate > 10_500.0, "{}", delay.rate);
}

/// docs/stp.md §8.3: unanswered POLLs do not change the confirmed rate; half of it is tried, then all of it.
#[test]
fn after_silence_the_proven_rate_is_tried() {
    let mut delay = cruising(1e6);
    delay.on_feedback(&answer(0, 600, 1000, 1000));
    for _ in 0..10 {
        delay.on_silence();
    }
    delay.on_feedback(&answer(60_000, 600, 2000, 1100));
    assert_eq!(delay.rate, 0.5e6);
    assert!(
        matches!(delay.phase, RatePhase::Climb { aim: Some(aim), .. } if aim == 1e6),
        "{:?}",
        delay.phase
    );
}

/// docs/stp.md §8.3, rule 9: what comes together has waited for the end of an outage; what comes as it left is looked at.
#[test]
fn the_end_of_an_outage_is_no_queue() {
    let after = |apart_ms: u64| {
        let mut delay = cruising(1e6);
        for n in 0..30 {
            delay.on_feedback(&answer(33 * n, 100, 20 * n, 20 * n));
        }
        let rate = delay.rate;
        for n in 30..34 {
            // Answers to POLLs that left 33 ms apart.
            let came_ms = 2100 + apart_ms * (n - 30);
            delay.on_feedback(&answer(33 * n, came_ms - 33 * n, 20 * n, 20 * n));
        }
        delay.rate / rate
    };
    assert_eq!(after(0), 1.0);
    assert_eq!(after(33), 0.25);
}

/// docs/stp.md §8.3: the target delay is inversely proportional to the square root of the rate, so the only equilibrium is equal rates.
#[test]
fn the_target_falls_as_the_root_of_the_rate() {
    let target = |rate: f64| {
        let mut delay = cruising(rate);
        delay.on_feedback(&answer(0, 600, 1000, 1000));
        delay.rate = rate;
        delay.fair_target()
    };
    let (slow, fast) = (target(1e6), target(4e6));
    assert!((slow / fast - 2.0).abs() < 0.01 && fast > 0.01, "{slow} {fast}");
}

/// docs/stp.md §8.3 rule 4: losses shorten the target to a quarter, but to no less than two packets.
#[test]
fn losses_shorten_the_target_to_two_packets_at_least() {
    let shortened = |packets: f64| {
        let mut delay = cruising(1e6);
        delay.on_feedback(&answer(0, 600, 1000, 1000));
        delay.rate = packets * delay.mss / 0.6;
        let whole = delay.fair_target();
        (0..10).for_each(|_| delay.losses.wants_shorter());
        (delay.fair_target() / whole, delay.fair_target() * packets / 0.6)
    };
    let (part, _) = shortened(400.0);
    assert!((part - 0.25).abs() < 1e-9, "{part}");
    let (part, in_packets) = shortened(12.0);
    assert!(part > 0.25 && (in_packets - 2.0).abs() < 1e-9, "{part} {in_packets}");
    // A target that is shorter without losses stays as it is.
    let (part, _) = shortened(3.0);
    assert!((part - 1.0).abs() < 1e-9, "{part}");
}

/// docs/stp.md §8.3: flows through one fluid queue, each with its share of the output and its own target, and feedback delayed by a
/// round trip.
#[test]
fn the_fluid_model_comes_to_equal_rates() {
    let (path, d) = (12.5e6, 0.6);
    let mut flows: Vec<Delay> = [1, 2, 3, 5, 7, 10, 15, 20, 25, 30]
        .map(|part| {
            let mut delay = cruising(1e6);
            delay.on_feedback(&answer(0, 600, 1000, 1000));
            delay.rate = path * f64::from(part) / 118.0;
            delay
        })
        .into();
    let (mut queue, mut heard) = (0.0f64, 0.0f64);
    for _ in 0..120 {
        let sum: f64 = flows.iter().map(|flow| flow.rate).sum();
        for flow in &mut flows {
            flow.rate = pulled(path * flow.rate / sum, (flow.fair_target() - heard) / d);
        }
        heard = queue;
        let sum: f64 = flows.iter().map(|flow| flow.rate).sum();
        queue = (queue + (sum / path - 1.0) * d).max(0.0);
    }
    let sum: f64 = flows.iter().map(|flow| flow.rate).sum();
    let jain = sum * sum / (10.0 * flows.iter().map(|flow| flow.rate * flow.rate).sum::<f64>());
    assert!(jain > 0.99 && (0.95..1.05).contains(&(sum / path)), "{jain} {sum}");
    assert!((queue / flows[0].fair_target() - 1.0).abs() < 0.1, "{queue}");
}

/// docs/stp.md §8.3 rule 1: packets that wait for the most delayed one come together, and the rate is not what they came at.
#[test]
fn what_arrives_together_shows_no_rate() {
    let mut delay = cruising(1e6);
    let (mut at, mut sent) = (0, 100);
    let mut hear = |delay: &mut Delay, after_ms: u64, rtt_ms: u64| {
        (at, sent) = (at + after_ms, sent + 7 * after_ms / 10);
        delay.on_feedback(&answer(at, rtt_ms, sent, sent));
    };
    for rtt_ms in [30, 34, 38].into_iter().chain([40; 20]).chain([45, 50, 55, 60]) {
        hear(&mut delay, 10, rtt_ms);
    }
    let before = delay.rate;
    hear(&mut delay, 20, 40);
    assert!(delay.rate <= 3.1 * before, "{} after {before}", delay.rate);
}

/// docs/stp.md §8.3 rule 6: at the highest rate that is allowed there is nothing to climb to.
#[test]
fn at_the_highest_rate_there_is_no_climb() {
    for (highest, climbs) in [(1e6, false), (2e6, true)] {
        let mut delay = cruising(1e6);
        delay.bounds.highest = highest;
        let mut climbed = false;
        for n in 0..100 {
            // 10,000 bytes in 10 ms, and no queue.
            delay.on_feedback(&answer(10 * n, 600, 100 + 10 * n, 100 + 10 * n));
            climbed |= matches!(delay.phase, RatePhase::Climb { .. });
        }
        assert_eq!(climbed, climbs, "{highest}");
    }
}
