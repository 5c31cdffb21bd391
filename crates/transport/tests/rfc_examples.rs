//! The examples printed in RFC 6937, 9937 and 8985, segment by segment.
//!
//! RFC 6937 §3.1 (three of its diagrams), RFC 9937 §6.2 and §8 (6937's successor: the first diagram of PRR), RFC 8985 §3.4, §3.5, §6.2,
//! §7.2 and §9.3.
//! Differs: RFC 6937's text halves 20 segments and its diagrams 22; RFC 5681 §3.2 asks for the text's, see below.
//! Leaves out rate halving and the conservative reduction bound, which are shown there for comparison.

use crate::script::{Script, config};
use skyhop_transport::tcp::{Config, LossRecovery, Variant};
use skyhop_units::Span;

const NONE: [u64; 0] = [];
const RTT: Span = Span::from_millis(100);

/// Twenty segments in flight, the first `lost` of them lost. For each acknowledgment of the others, and then of the segments of
/// limited transmit: the window after it, the flight before sending, and the segments sent, N for new data, R for a repeat.
fn diagram(lost: u64, rate_reduction: bool, acks: usize) -> Vec<(u64, u64, String)> {
    let mut s = Script::with(Config { rate_reduction, limited_transmit: true, ..config(Variant::Sack, 20) });
    assert_eq!(s.send(60).len(), 20);
    let mut rows = Vec::new();
    let mut repeated = 0;
    for n in lost..lost + acks as u64 {
        let sent = s.sack(0, &[(lost, n + 1)]);
        let news = sent.iter().filter(|n| **n >= 20).count() as u64;
        let again = sent.len() as u64 - news;
        repeated += again;
        let signs = "R".repeat(again as usize) + &"N".repeat(news as usize);
        // Once the losses are known: all that was sent, less the lost and not repeated, less what has arrived.
        let known = if rows.len() < 2 { 0 } else { lost };
        let in_flight = s.highest + repeated - known - (n + 1 - lost) - sent.len() as u64;
        rows.push((s.end.cwnd() / 1000, in_flight, signs));
    }
    rows
}

fn sent(rows: &[(u64, u64, String)]) -> Vec<&str> {
    rows.iter().map(|row| if row.2.is_empty() { "-" } else { &row.2[..] }).collect()
}

// The first diagram: one of twenty is lost. RFC 6675 falls silent for half a round trip, until 10 are in flight. The diagram has 11,
// the half of what was in flight with the two segments of limited transmit; RFC 5681 §3.2 leaves those out, as does the text of 6937.
#[test]
fn rfc_6937_3_1_a_single_loss_by_rfc_6675() {
    let rows = diagram(1, false, 19);
    let mut expected = vec!["-"; 19];
    (expected[0], expected[1], expected[2]) = ("N", "N", "R");
    expected[12..].fill("N");
    assert_eq!(sent(&rows), expected);
    assert_eq!(rows[2].0, 10);
}

// PRR's first diagram: it sends for every other acknowledgment, and never twice, until what is in flight has come down to the
// window. That is 11 in the diagram and 10 here, so that the end differs by the one segment that goes at 17, and the two that go at
// 18 and 19.
#[test]
fn rfc_6937_3_1_a_single_loss_by_prr() {
    let rows = diagram(1, true, 19);
    let printed = "N N R - N - N - N - N - N - N - - N N".split(' ').collect::<Vec<_>>();
    let ours = "N N R - N - N - N - N - N - N - N - -".split(' ').collect::<Vec<_>>();
    assert_eq!(printed[..16], ours[..16]);
    assert_eq!(sent(&rows), ours);
    let count = |row: &[&str]| row.iter().filter(|s| **s != "-").count();
    assert_eq!(count(&printed), count(&ours) + 1, "a window of eleven, a window of ten");
}

// The first diagram of PRR in RFC 9937 §8, which has 10 in text and diagram: window and flight after each acknowledgment (20 and 21 tell
// of what limited transmit sent). At 19 the diagram sends though the 10 in flight are not more than the 10 of ssthresh; by §6.2 it
// has to wait, and sends at 20.
#[test]
fn rfc_9937_8_a_single_loss_by_prr() {
    let rows = diagram(1, true, 21);
    let cwnd = [20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11];
    let in_flight = [19, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11];
    let (windows, flights): (Vec<u64>, Vec<u64>) = rows.iter().map(|row| (row.0, row.1)).unzip();
    assert_eq!((&windows[..18], &flights[..18]), (&cwnd[..], &in_flight[..]));
    assert_eq!((&windows[18..], &flights[18..]), (&[10, 10, 10][..], &[10, 9, 9][..]));
}

// The second pair: the first fifteen of twenty are lost. RFC 6675 fills the window in one burst (7 in the diagram, to its 11; here 6 to
// 10), and then sends one for one.
#[test]
fn rfc_6937_3_1_fifteen_losses_by_rfc_6675() {
    let rows = diagram(15, false, 5);
    assert_eq!(sent(&rows), ["N", "N", "RRRRRR", "R", "R"]);
    assert_eq!(rows[2].1, 4);
}

// PRR with the slow-start reduction bound sent two for each. By RFC 9937 §6.2 it does so only for acknowledgments that move forward
// and tell of no further loss; these are duplicates, and get one for one.
#[test]
fn rfc_9937_6_2_fifteen_losses_by_prr() {
    let rows = diagram(15, true, 5);
    assert_eq!(sent(&rows), ["N", "N", "R", "R", "R"]);
    assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>(), [19, 19, 4, 4, 4]);
}

fn rack(initial_segments: u64) -> Script {
    let recovery = Some(LossRecovery::Rack);
    Script::with(Config { recovery, ..config(Variant::Sack, initial_segments) })
}

// The last three of four segments are lost, which only the probe reveals, two round trips later. It is selectively acknowledged,
// which shows that the two before it are lost. The repeat of the first of those is lost again, and detected by the second's.
#[test]
fn rfc_8985_3_4_a_probe_and_a_lost_repeat() {
    let mut s = rack(4);
    assert_eq!(s.send(4), [0, 1, 2, 3]);
    s.now += RTT;
    assert_eq!(s.ack(1), NONE);
    let acknowledged = s.now;
    assert_eq!(s.time_out(), [3]);
    assert_eq!(s.now.since(acknowledged), RTT * 2);
    s.now += RTT;
    assert_eq!(s.sack(1, &[(3, 4)]), [1, 2]);
    s.now += RTT;
    assert_eq!(s.sack(1, &[(2, 4)]), [1]);
    s.now += RTT;
    assert_eq!(s.ack(4), NONE);
    let stats = s.end.stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits, stats.segments_retransmitted), (0, 1, 4));
    assert_eq!(s.now.since(acknowledged), RTT * 5);
}

// Just before the timer of one segment expires, two more are sent; all are late, none is lost. With RFC 6675 the late
// acknowledgment repeats both unnecessarily. RACK considers only the first lost, and waits another timeout for the others.
#[test]
fn rfc_8985_3_5_a_timeout_that_comes_too_early() {
    let late = |mut s: Script| {
        assert_eq!(s.send(1), [0]);
        let mut timer = s.end.poll_timeout().unwrap();
        if s.end.poll_timeout().is_some_and(|at| at.since(s.now) < Span::from_secs(1)) {
            // The probe, which is the same segment, and restarts the timer.
            assert_eq!(s.time_out(), [0]);
            timer = s.end.poll_timeout().unwrap();
        }
        let wait = timer.since(s.now);
        s.now += wait - Span::from_millis(10);
        assert_eq!(s.send(2), [1, 2]);
        assert_eq!(s.end.poll_timeout(), Some(timer));
        assert_eq!(s.time_out(), [0]);
        s.now += Span::from_millis(5);
        let sent = s.ack(1);
        (s, sent)
    };
    let (s, sent) = late(Script::new(Variant::Sack, 10));
    assert_eq!(sent, [1, 2]);
    assert_eq!(s.end.stats().segments_retransmitted, 3);
    let (mut s, sent) = late(rack(10));
    assert_eq!(sent, NONE);
    let wait = s.end.poll_timeout().unwrap().since(s.now);
    assert!((Span::from_secs(1)..=Span::from_secs(4)).contains(&wait), "{wait:?}");
    s.now += RTT;
    assert_eq!(s.ack(3), NONE);
    let stats = s.end.stats();
    assert_eq!((stats.timeouts, stats.segments_retransmitted), (1, 2), "the probe and the timer's");
}

// §6.3: at the timeout, segments older than a round trip are considered lost.
#[test]
fn rfc_8985_6_3_a_timeout_takes_what_is_old_for_lost() {
    let mut s = rack(10);
    assert_eq!(s.send(4), [0, 1, 2, 3]);
    assert_eq!(s.time_out(), [3], "the probe");
    assert_eq!(s.time_out(), [0]);
    s.now += RTT;
    assert_eq!(s.ack(1), [1, 2], "slow start, from the oldest");
}

// §6.2 step 4: while nothing was seen to be late, three segments behind a hole make it lost at once; fewer do when a quarter of
// the smallest round trip has passed, and a segment that comes before that was only late.
#[test]
fn rfc_8985_6_2_a_quarter_of_a_round_trip_for_what_may_be_late() {
    let mut s = rack(5);
    s.send(5);
    s.now += RTT;
    assert_eq!([s.sack(0, &[(1, 2)]), s.sack(0, &[(1, 3)])], [NONE; 2]);
    assert_eq!(s.sack(0, &[(1, 4)]), [0]);

    let mut s = rack(5);
    s.send(5);
    s.now += RTT;
    let arrived = s.now;
    assert_eq!(s.sack(0, &[(1, 2)]), NONE);
    assert_eq!(s.time_out(), [0]);
    assert_eq!(s.now.since(arrived), RTT / 4);

    let mut s = rack(5);
    s.send(5);
    s.now += RTT;
    assert_eq!(s.sack(0, &[(1, 2)]), NONE);
    s.now += RTT / 5;
    assert_eq!(s.ack(5), NONE);
    assert_eq!((s.end.stats().segments_retransmitted, s.end.stats().fast_retransmits), (0, 0));
}

// §6.2 step 4: each round trip in which the receiver reports that a repeat was needless widens the window by a quarter of the smallest
// round trip, to the smoothed one at most; sixteen recoveries without such a report narrow it again.
#[test]
fn rfc_8985_6_2_the_window_follows_needless_repeats() {
    let mut s = rack(2);
    let mut next = 0;
    // One segment is late by more than RACK tolerates, by this time.
    let mut late = |s: &mut Script, report: bool| {
        assert_eq!(s.send(2), [next, next + 1]);
        s.now += RTT;
        let arrived = s.now;
        assert_eq!(s.sack(next, &[(next + 1, next + 2)]), NONE);
        let again = s.time_out();
        assert_eq!(again, [next]);
        let patience = s.now.since(arrived);
        if report {
            // The original arrives just after the repeat: RFC 2883's block names the duplicate, below the acknowledgment.
            s.now += RTT;
            s.sack(next + 2, &[(next, next + 1)]);
        } else {
            s.now += RTT;
            s.ack(next + 2);
        }
        next += 2;
        patience
    };
    let quarters = |patience: Span| (patience.as_secs_f64() / RTT.as_secs_f64() * 4.0).round() as u32;
    let found: Vec<u32> = (0..7).map(|_| quarters(late(&mut s, true))).collect();
    assert_eq!(found[..4], [1, 2, 3, 4]);
    assert!(found[4..].iter().all(|q| (4..=5).contains(q)), "{found:?}: the smoothed round trip at most");
    let found: Vec<u32> = (0..18).map(|_| quarters(late(&mut s, false))).collect();
    assert!(found[..15].iter().all(|q| (4..=5).contains(q)), "{found:?}");
    assert_eq!(found[17], 1, "{found:?}");
}

// §9.3: a window of twenty, ten segments, all of them lost. A timeout repairs them by slow start in four round trips, RTO + 4 RTT. The
// probe, two round trips after them, finds them, and PRR below half the window doubles as slow start does. By RFC 9937 §6.2 the
// acknowledgment that finds them is worth one, so that it takes a round trip more than with RFC 6937, with which §9.3 counts.
#[test]
fn rfc_8985_9_3_ten_losses_of_ten() {
    let repair = |mut s: Script| {
        assert_eq!(s.send(10).len(), 10);
        let began = s.now;
        let mut flight = s.time_out();
        let first = s.now.since(began);
        let (mut sizes, mut held) = (vec![flight.len()], [false; 10]);
        while !flight.is_empty() {
            s.now += RTT;
            let mut next = Vec::new();
            for n in flight {
                held[n as usize] = true;
                let una = held.iter().position(|h| !h).unwrap_or(10) as u64;
                let blocks: Vec<_> = (una..10).filter(|n| held[*n as usize]).map(|n| (n, n + 1)).collect();
                let blocks = blocks.iter().fold(Vec::<(u64, u64)>::new(), |mut all, b| {
                    match all.last_mut() {
                        Some(last) if last.1 == b.0 => last.1 = b.1,
                        _ => all.push(*b),
                    }
                    all
                });
                next.extend(s.sack(una, &blocks[..blocks.len().min(3)]));
            }
            flight = next;
            sizes.push(flight.len());
        }
        sizes.pop();
        (first, s.now.since(began), sizes, s.end.cwnd() / 1000, s.end.stats())
    };
    let (first, all, sizes, _, stats) = repair(Script::new(Variant::Sack, 20));
    assert_eq!((sizes, all - first), (vec![1, 2, 4, 3], RTT * 4));
    assert_eq!((first, stats.timeouts), (Span::from_secs(1), 1));

    let recovery = Some(LossRecovery::Rack);
    let s = Script::with(Config { recovery, rate_reduction: true, ..config(Variant::Sack, 20) });
    let (first, all, sizes, cwnd, stats) = repair(s);
    assert_eq!((sizes, all), (vec![1, 1, 2, 4, 2], RTT * 7));
    assert_eq!((first, stats.timeouts, stats.fast_retransmits), (RTT * 2, 0, 1));
    assert_eq!(cwnd, 10, "the threshold");
}

// §7.2, TLP_calc_PTO: two round trips, but not beyond the timer. After steady round trips of 100 ms the timer is only slightly
// longer, and the probe is sent when it would have expired; then the timer restarts.
#[test]
fn rfc_8985_7_2_a_probe_goes_in_the_place_of_an_earlier_timeout() {
    let recovery = Some(LossRecovery::Rack);
    let ms = Span::from_millis;
    let timers = Config { rto_min: ms(150), rto_granularity: ms(1), ..config(Variant::Sack, 2) };
    let mut s = Script::with(Config { recovery, ..timers });
    for n in 0..40 {
        assert_eq!(s.send(2), [2 * n, 2 * n + 1]);
        s.now += RTT;
        s.ack(2 * n + 2);
    }
    assert_eq!(s.send(2).len(), 2);
    let began = s.now;
    let probe = s.time_out();
    assert_eq!((probe.len(), s.now.since(began), s.end.stats().timeouts), (1, ms(150), 0));
    assert_eq!(s.time_out().len(), 1);
    assert_eq!((s.now.since(began), s.end.stats().timeouts), (ms(300), 1));
}
